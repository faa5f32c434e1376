"""A table that is read in pieces, again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from causewatch.data.files import unreadable
from causewatch.data.notes import Tally
from causewatch.data.order import IRREGULAR_SHARE, Pace
from causewatch.data.reader import Piece, Plan, read_pieces
from causewatch.data.spans import Span, format_duration
from causewatch.data.table import NANOSECONDS, Clock, Note, SourceFile, TimeTable, format_time
from causewatch.data.writing import Writing
from causewatch.errors import TableError, listing, shorten

__all__ = ["Cutter", "Excluder", "OpenedTable"]


class Cutter:
    """Removes rows; what follows on them begins a new stretch."""

    def __init__(self) -> None:
        self._cut = False

    def cut(self, piece: Piece, outside: NDArray[np.bool_]) -> Piece:
        """The rows of the next piece that are not to be removed."""
        if not self._cut and outside.all():
            return piece
        kept = np.flatnonzero(outside)
        start = piece.start.copy()
        start[kept[np.diff(kept, prepend=-1) > 1]] = True
        if len(kept) and self._cut:
            start[kept[0]] = True
        self._cut = bool(not outside[-1] or (self._cut and not len(kept)))
        return replace(piece, start=start).take(outside)


class Excluder:
    """Removes the rows of some spans; what follows begins a new stretch.

    Parameters
    ----------
    spans
        What to remove.
    clock
        What the times count.
    """

    def __init__(self, spans: Sequence[Span], clock: Clock) -> None:
        self._spans = spans
        self._bounds = [span.bounds(clock) for span in spans]
        self._hits = [0] * len(spans)
        self._clock: Clock = clock
        self._cutter = Cutter()
        self._covered: tuple[int, int] | None = None

    def apply(self, piece: Piece) -> Piece:
        """The rows of `piece` outside all spans."""
        if not self._spans or not len(piece):
            return piece
        low, high = int(piece.time.min()), int(piece.time.max())
        if self._covered:
            low, high = min(low, self._covered[0]), max(high, self._covered[1])
        self._covered = (low, high)
        outside = np.ones(len(piece), dtype=np.bool_)
        for number, (begin, end) in enumerate(self._bounds):
            inside = (piece.time >= begin) & (piece.time < end)
            self._hits[number] += int(inside.sum())
            outside &= ~inside
        return self._cutter.cut(piece, outside)

    def finish(self, tally: Tally) -> None:
        """Count what was removed; raise if a span removed nothing."""
        for span, hits in zip(self._spans, self._hits, strict=True):
            if not hits and self._covered:
                low, high = (format_time(time, self._clock) for time in self._covered)
                message = (
                    f"The span {shorten(span.text)!r} to exclude holds no row; the table covers "
                    f"{low} to {high}."
                )
                raise TableError(message)
            tally.add(
                "excluded",
                f"Rows excluded by the span {shorten(span.text)!r}: {{count}}.",
                hits,
                span.text,
            )


class OpenedTable:
    """Rows of one or several raw tables; a :class:`causewatch.data.TableSource`.

    Parameters
    ----------
    plans
        How to read each raw table; all have the same signals and clock.
    pace
        The usual interval and what makes a gap.
    exclude
        Spans whose rows are removed.
    tally
        Notes found while opening.
    writing
        How the first of them is written.
    """

    def __init__(
        self,
        plans: Sequence[Plan],
        pace: Pace,
        exclude: Sequence[Span],
        tally: Tally,
        writing: Writing,
    ) -> None:
        self.writing = writing
        self._plans = tuple(plans)
        self._pace = pace
        self._exclude = tuple(exclude)
        self._opening = tally
        self._notes = tally.notes()
        self._files: tuple[SourceFile, ...] = ()
        Excluder(self._exclude, self.clock)  # spans that do not fit the clock fail at once

    @property
    def signals(self) -> tuple[str, ...]:
        """Column names."""
        return self._plans[0].signals

    @property
    def interval(self) -> float:
        """Usual time between two rows, in seconds."""
        return self._pace.interval / NANOSECONDS

    @property
    def clock(self) -> Clock:
        """What times count."""
        return self._plans[0].clock

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """Where the rows come from; complete once :meth:`chunks` has been read to its end."""
        return self._files

    @property
    def rows(self) -> int:
        """How many rows there are with those left out; known as `files` are."""
        return sum(plan.raw.rows for plan in self._plans)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was found and done; complete once :meth:`chunks` has been read to its end."""
        return self._notes

    def chunks(self, rows: int = 1 << 16) -> Iterator[TimeTable]:
        """All rows in order, in tables of at most `rows` rows."""
        tally = Tally()
        tally.extend(self._opening)
        excluder = Excluder(self._exclude, self.clock)
        seen = np.zeros(len(self.signals), dtype=np.bool_)
        anomalous = np.zeros(len(self._plans[0].suspects), dtype=np.int64)
        total = 0
        for piece in self._pieces(excluder, tally):
            seen |= np.isfinite(piece.values).any(axis=0)
            total += len(piece)
            if piece.suspected is not None:
                anomalous += np.count_nonzero(piece.suspected == 1, axis=0)
            for begin in range(0, len(piece), rows):
                yield self._table(piece.take(slice(begin, begin + rows)))
        self._finish(tally, seen, total)
        kind = "labelled_rows" if self._plans[0].labels is None else "second_labelled_rows"
        for name, count in zip(self._plans[0].suspects, anomalous.tolist(), strict=True):
            tally.add(
                kind,
                f"Rows that are anomalous if column {shorten(name)!r} holds labels: {{count}} of "
                f"{total:,}.",
                count,
                name,
            )
        excluder.finish(tally)
        if total < 2:
            names = ", ".join(plan.raw.name for plan in self._plans)
            message = f"{names}: {total} usable rows are left, at least 2 are needed."
            raise TableError(message)
        self._notes = tally.notes()
        files = [plan.raw.file for plan in self._plans]
        self._files = tuple(file for file in files if file is not None)

    def with_note(self, note: Note) -> OpenedTable:
        """The table with one more note."""
        tally = Tally()
        tally.extend(self._opening)
        tally.add(note.kind, note.text, note.count)
        return OpenedTable(self._plans, self._pace, self._exclude, tally, self.writing)

    def _pieces(self, excluder: Excluder, tally: Tally) -> Iterator[Piece]:
        first_row = 0
        for plan in self._plans:
            counter = read_pieces(plan, self._pace, first_row, tally)
            try:
                for piece in counter:
                    if len(kept := excluder.apply(piece)):
                        yield kept
            except OSError as error:
                raise unreadable(plan.raw.name, error) from error
            first_row += plan.raw.rows

    def _table(self, piece: Piece) -> TimeTable:
        return TimeTable(
            signals=self.signals,
            values=piece.values,
            time=piece.time,
            starts=np.flatnonzero(piece.start),
            interval=self.interval,
            clock=self.clock,
            continues=not piece.start[0],
            labels=piece.labels,
            file_rows=piece.row,
        )

    def _finish(self, tally: Tally, seen: NDArray[np.bool_], total: int) -> None:
        """Notes that can only be made at the end."""
        empty = [name for name, found in zip(self.signals, seen, strict=True) if not found]
        tally.add("empty_columns", f"Columns without any value: {listing(empty)}.", len(empty))
        if total < len(self.signals):
            tally.add(
                "more_columns_than_rows",
                f"There are {len(self.signals):,} signals but only {total:,} rows; is the table "
                "stored with rows and columns exchanged?",
            )
        if (gaps := tally.count("gaps")) > IRREGULAR_SHARE * total:
            tally.add(
                "short_stretches",
                f"Gaps between {total:,} rows: {{count}}; the interval of the first rows, "
                f"{format_duration(self.interval)}, does not fit the others.",
                gaps,
            )
