"""Tables taken from others: the same signals, fewer rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from causewatch.data.notes import Tally
from causewatch.data.opened import Cutter, Excluder
from causewatch.data.reader import Piece
from causewatch.data.spans import Span
from causewatch.data.table import Clock, Note, SourceFile, TableSource, TimeTable
from causewatch.data.writing import Writing
from causewatch.errors import TableError

__all__ = ["Derived", "NormalRows", "Without"]


class Derived:
    """What two tables have in common of which one is taken from the other.

    Parameters
    ----------
    source
        The table that rows are taken from.
    """

    def __init__(self, source: TableSource) -> None:
        self._source = source

    @property
    def signals(self) -> Sequence[str]:
        """Column names."""
        return self._source.signals

    @property
    def interval(self) -> float:
        """Usual time between two rows, in seconds."""
        return self._source.interval

    @property
    def clock(self) -> Clock:
        """What times count."""
        return self._source.clock

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """Where the rows come from."""
        return self._source.files

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was found and done; complete once the rows have been read to their end."""
        return self._source.notes

    @property
    def writing(self) -> Writing | None:
        """How the text that the rows are read from is written."""
        return self._source.writing


class Without(Derived):
    """What a table holds outside of some spans; a :class:`causewatch.data.TableSource`.

    Parameters
    ----------
    source
        The table.
    spans
        What to leave out.
    """

    def __init__(self, source: TableSource, spans: Sequence[Span]) -> None:
        super().__init__(source)
        self._spans = tuple(spans)
        self._excluded: tuple[Note, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was found and done, the rows left out included."""
        return (*super().notes, *self._excluded)

    def chunks(self, rows: int = 1 << 16) -> Iterator[TimeTable]:
        """The rows that are left, in order."""
        tally, excluder = Tally(), Excluder(self._spans, self.clock)
        for chunk in self._source.chunks(rows):
            kept = excluder.apply(Piece.of(chunk))
            if len(kept):
                yield _rows_of(chunk, kept)
        excluder.finish(tally)
        self._excluded = tally.notes()


class NormalRows(Derived):
    """The rows of a table that are not labelled anomalous; a :class:`causewatch.data.TableSource`.

    Rows without a label stay, and so does a table without labels.
    """

    def __init__(self, source: TableSource) -> None:
        super().__init__(source)
        self._left_out: tuple[Note, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was found and done, the rows left out included."""
        return (*super().notes, *self._left_out)

    def chunks(self, rows: int = 1 << 16) -> Iterator[TimeTable]:
        """The rows that are left, in order."""
        tally, cutter = Tally(), Cutter()
        total = left = 0
        for chunk in self._source.chunks(rows):
            total += len(chunk)
            if chunk.labels is None:
                left += len(chunk)
                yield chunk
                continue
            kept = cutter.cut(Piece.of(chunk), chunk.labels != 1)
            left += len(kept)
            if len(kept):
                yield _rows_of(chunk, kept)
        if left < 2 and left < total:
            msg = (
                f"{total - left:,} of {total:,} rows are labelled anomalous, so nothing normal is"
                " left to learn from; name another column of labels, or give --keep-labelled."
            )
            raise TableError(msg)
        share = (total - left) / max(1, total)
        tally.add(
            "anomalous_rows",
            f"Rows labelled anomalous, left out: {{count}} of {total:,} ({share:.1%}).",
            total - left,
        )
        self._left_out = tally.notes()


def _rows_of(chunk: TimeTable, kept: Piece) -> TimeTable:
    """What is kept of a chunk."""
    return replace(
        chunk,
        values=kept.values,
        time=kept.time,
        labels=kept.labels,
        starts=np.flatnonzero(kept.start),
        continues=not kept.start[0],
        file_rows=kept.row,
    )
