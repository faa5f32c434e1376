"""Rows of a file that is read as a table, and how columns of any table become signals."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data import Clock, TableSource, TimeTable, open_table
from causewatch.data.cells import LARGEST
from causewatch.data.day_order import DOUBTS
from causewatch.data.raw import file_name
from causewatch.data.table import NANOSECONDS
from causewatch.errors import TableError
from causewatch.streaming.source import Batch, Wanted, no_signals, nothing
from causewatch.streaming.sources.signs import other_signs

__all__ = ["Column", "TableReader", "matching", "not_in"]

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]

ROWS = 4096
"""Rows given out at once."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table that is a signal: `place` is that of the signal."""

    place: int
    name: str
    factor: float
    offset: float

    def convert(self, values: Floats) -> tuple[Floats, int]:
        """Values of the plant in the unit of the model, and how many are too large to be true."""
        if self.factor == 1.0 and self.offset == 0.0:
            return values, 0
        with np.errstate(over="ignore"):
            values = self.factor * values + self.offset
        large = np.abs(values) > LARGEST
        values[large] = np.nan
        return values, int(np.count_nonzero(large))


def matching(names: Sequence[str], wanted: Wanted, without: Collection[str] = ()) -> list[Column]:
    """The columns among `names` that are signals, by the tag map or by their own name."""
    place = {signal: k for k, signal in enumerate(wanted.columns)}
    found: dict[int, Column] = {}
    for name in names:
        if name in place and name not in wanted.tags.tags and name not in without:
            found[place[name]] = Column(place[name], name, 1.0, 0.0)
    for name in names:  # what the map says counts more
        tag = wanted.tags.tags.get(name)
        if tag is not None and tag.signal in place and name not in without:
            at = place[tag.signal]
            found[at] = Column(at, name, tag.factor, tag.offset)
    return [found[at] for at in sorted(found)]


def not_in(columns: Sequence[Column], wanted: Wanted) -> tuple[str, ...]:
    """The signals for which there is no column."""
    places = {column.place for column in columns}
    return tuple(name for k, name in enumerate(wanted.columns) if k not in places)


class TableReader:
    """Rows of a table: Parquet, a spreadsheet, a list of events.

    Parameters
    ----------
    path
        The file.
    wanted
        What the watch wants.
    after
        Where an earlier run stopped. If there is another table under this name now, it is read
        from its beginning; one that only became longer is not another one.
    first_row
        Number of its first row, where rows are counted.
    """

    idle = False
    example = b""

    def __init__(
        self, path: Path, wanted: Wanted, after: Mapping[str, Any], *, first_row: int = 0
    ) -> None:
        said = wanted.reading
        self._name = file_name(path)
        self._size = len(wanted.columns)
        self._first_row = first_row
        self.rows = self._skip = int(after.get("rows", 0))
        # By what it is known again: time of the first row and, of late, a checksum of some more.
        self._mark: dict[str, Any] = {"first": after.get("first")}
        self._mark |= {part: after[part] for part in ("seen", "head") if part in after}
        self._interval = round(wanted.interval * NANOSECONDS)
        table = open_table(
            path,
            time=said.time,
            time_format=said.time_format,
            ignore=said.ignore,
            # What a tag or signal of the model is called like is no label, whatever it looks like.
            keep=(*wanted.columns, *wanted.tags.tags),
            separator=said.separator,
            decimal=said.decimal,
            usual=wanted.usual,
        )
        for note in table.notes:
            if note.kind in DOUBTS and not wanted.counted:
                log.warning("%s", note.text)
        sentence = other_signs(
            self._name,
            wanted.usual,
            table.writing,
            separator=said.separator,
            decimal=said.decimal,
        )
        if sentence:
            log.warning("%s", sentence)
        if self._skip and not _is_known(table, self._mark):
            self.rows, self._skip, self._mark = 0, 0, {"first": None}
        self._count = wanted.counted or table.clock == "rows"
        clock: Clock = "elapsed" if self._count else table.clock
        self.clock: Clock | None = "rows" if wanted.counted else clock
        self._columns = matching(table.signals, wanted)
        if not self._columns:
            raise no_signals(self._name, table.signals, wanted.columns)
        self.missing = not_in(self._columns, wanted)
        order = {name: k for k, name in enumerate(table.signals)}
        self._from = [order[column.name] for column in self._columns]
        self._chunks: Iterator[TimeTable] = table.chunks(rows=ROWS)
        self._seen = 0
        self._large = self._damaged = 0
        self.ended = False

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        found = {"infinite": self._large, "damaged": self._damaged}
        return {kind: count for kind, count in found.items() if count}

    def read(self, wait: float = 0.0) -> Batch:
        """The next rows; never waits."""
        while True:
            try:
                chunk = next(self._chunks, None)
            except TableError as error:  # rows before it were given out already
                if not self._seen:
                    raise
                log.warning("%s", error)
                self._damaged += 1
                chunk = None
            if chunk is None:
                self.ended = True
                return nothing(self._size)
            if not self._seen:
                self._mark = _mark_of(chunk, len(chunk))
            skip = min(len(chunk), max(0, self._skip - self._seen))
            self._seen += len(chunk)
            if skip < len(chunk):
                return self._batch(chunk, skip)

    def _batch(self, chunk: TimeTable, skip: int) -> Batch:
        values = np.full((len(chunk) - skip, self._size), np.nan)
        for column, origin in zip(self._columns, self._from, strict=True):
            values[:, column.place], large = column.convert(chunk.values[skip:, origin])
            self._large += large
        times = chunk.time[skip:]
        if self._count:
            last = self._first_row + self._seen
            times = np.arange(last - len(values), last, dtype=np.int64) * self._interval
        self.rows = self._seen
        return Batch(values, times)

    def finish(self) -> None:
        """Nothing is added to it any more; tables are whole anyway."""

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        return {"name": self._name, "rows": self.rows, **self._mark}

    def close(self) -> None:
        """No more is wanted."""
        self._chunks = iter(())
        self.ended = True


def _mark_of(chunk: TimeTable, rows: int) -> dict[str, Any]:
    """By what a table is known again: the time of its first row, a checksum of its first `rows`."""
    head = hashlib.sha256("\n".join(chunk.signals).encode())
    head.update(chunk.values[:rows].tobytes())
    return {"first": int(chunk.time[0]), "seen": rows, "head": head.hexdigest()}


def _is_known(table: TableSource, mark: Mapping[str, Any]) -> bool:
    """Whether a table begins as it did; positions of earlier releases have no checksum."""
    chunk = next(iter(table.chunks(rows=ROWS)), None)
    if chunk is None or not len(chunk):
        return False
    if "head" not in mark:
        return bool(int(chunk.time[0]) == mark["first"])
    rows = int(mark.get("seen", 0))
    return len(chunk) >= rows and _mark_of(chunk, rows) == mark
