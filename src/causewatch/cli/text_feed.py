"""Rows of CSV text, line by line as they arrive.

Cells and times are understood as in a recording that a model is learnt from. But a recording is
refused if a line of it makes no sense, while a watch must not end because of one: such lines are
counted and left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from causewatch.cli.batches import Batch, Reading, no_signals, nothing
from causewatch.cli.incoming import Lines
from causewatch.data import Clock
from causewatch.data.cells import read_numbers
from causewatch.data.columns import TIME_NAMES, TimeColumn, find_time, plain
from causewatch.data.dialect import BLANKS, Dialect, detect_dialect
from causewatch.data.frames import FrameTable
from causewatch.data.notes import Tally
from causewatch.data.raw import clean_names
from causewatch.data.records import collapse_blanks, count_cells
from causewatch.data.table import NANOSECONDS
from causewatch.data.times import detect_format
from causewatch.errors import CausewatchError, TableError, UnknownNameError

__all__ = ["TextFeed"]

FIRST_ROWS = 3
"""Rows of a live stream that are waited for before it is decided what its columns are."""


class TextFeed:
    """Rows of CSV text, in any of its dialects.

    Parameters
    ----------
    lines
        The text.
    name
        What messages call it.
    columns
        What the monitor wants, in its order.
    reading
        What the user says.
    counted
        Seconds per row if rows are to be counted whatever their times; None if times matter.
    interval
        Seconds per row where there is no time column.
    sample
        The beginning of the text, if it is known; by it the columns are judged. Without, the first
        rows that come in must do.
    rows
        Rows of the text that were watched before.
    head
        Gives a checksum of the first bytes, by which a file is known again.
    """

    def __init__(
        self,
        lines: Lines,
        name: str,
        columns: Sequence[str],
        reading: Reading,
        *,
        counted: bool,
        interval: float,
        sample: bytes = b"",
        rows: int = 0,
        head: Callable[[int], str] | None = None,
    ) -> None:
        self._lines = lines
        self._name = name
        self._columns = tuple(columns)
        self._reading = reading
        self._counted = counted
        self._interval = round(interval * NANOSECONDS)
        self._head = head
        self._rows = rows
        self._bad_lines = self._bad_times = self._text_cells = self._infinite = 0
        self._dialect: Dialect | None = None
        self._time: TimeColumn | None = None
        self.clock: Clock | None = None
        self.missing: tuple[str, ...] = ()
        self._header = b""  # lines above the data, as they were
        self._above = 0  # lines above the data that are still to come
        self._held = 0  # bytes that wait until it is known what they are
        # Lines that were read in an earlier run help to know what the columns are.
        self._before = self._cleaned(sample[: lines.taken])
        if head is not None and (_lines_of(sample) > FIRST_ROWS or not lines.endless):
            try:
                self._begin(self._cleaned(sample))
            except BaseException:
                lines.close()
                raise
            self._bad_lines = 0  # they are counted when they are read
            self._above = 0 if lines.taken else self._skip

    def position(self) -> dict[str, Any]:
        """See `Feed`."""
        found: dict[str, Any] = {"name": self._name, "rows": self._rows}
        if self._head is not None:
            taken = self._lines.taken - self._held
            found |= {"bytes": taken, "head": self._head(taken)}
        return found

    def close(self) -> None:
        """See `Feed`."""
        self._lines.close()

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Feed`."""
        found = {
            "bad_lines": self._bad_lines + self._lines.too_long,
            "bad_times": self._bad_times,
            "text_cells": self._text_cells,
            "infinite": self._infinite,
        }
        return {kind: count for kind, count in found.items() if count}

    def batches(self) -> Iterator[Batch]:
        """See `Feed`."""
        none = nothing(len(self._columns))
        first, files, new = b"", self._lines.files, self._dialect is None
        while not self._lines.ended:
            raw = self._lines.read()
            if self._lines.files != files:  # another file has taken the place of the former one
                files, new = self._lines.files, True
                first, self._held, self._above, self._before = b"", 0, 0, b""
            data = self._cleaned(raw)
            if new:
                first, self._held = first + data, self._held + len(raw)
                few = _lines_of(self._before + first) <= FIRST_ROWS
                if self._dialect is not None and first.startswith(self._header):
                    self._above = self._skip  # the columns are what they were
                elif not self._lines.ended and few:
                    yield none
                    continue
                else:
                    self._begin_file(self._before + first)
                data, first, self._held, new = first, b"", 0, False
            while data and self._above:
                end = data.find(b"\n") + 1
                self._above -= bool(data[:end].strip())
                data = data[end:]
            yield self._rows_of(data) if data else none
        if self._dialect is None:
            self._begin(self._before + first)  # which says that there is nothing to begin with

    def _begin_file(self, data: bytes) -> None:
        """Find out what the columns are; of a further file, which may go on without a header."""
        if self._dialect is None:
            self._begin(data)
            self._above = 0 if self._before else self._skip
            return
        kept = vars(self).copy()
        try:
            self._begin(data)
            fits = self.clock == kept["clock"]
        except CausewatchError:
            fits = False
        if fits:
            self._above = self._skip
        else:
            vars(self).update(kept)  # the columns are taken to be what they were

    def _begin(self, data: bytes) -> None:
        """Find out what the columns are."""
        if not data.strip():
            msg = (
                f"{self._name} holds no line that could be read; CSV with a header or JSON lines"
                " are expected."
            )
            raise TableError(msg)
        texts = data[: data.rfind(b"\n") + 1].decode().splitlines()
        dialect = detect_dialect(texts, self._name, self._reading.separator, self._reading.decimal)
        self._names = clean_names(dialect.names, self._name, Tally())
        self._dialect, self._skip = dialect, dialect.skip
        if len(self._names) != dialect.cells:
            msg = (
                f"{self._name} has {len(self._names)} names in its header but {dialect.cells} cells"
                " in most rows; repair the header or give the separator."
            )
            raise TableError(msg)
        for name in self._reading.ignore:
            if name not in self._names:
                raise UnknownNameError(name, "column", self._names)
        rows, bad = _without_lines(data, dialect.skip), self._bad_lines
        self._header = data[: len(data) - len(rows)]
        head = self._frame(rows, self._names)
        self._bad_lines = bad  # they are counted when they are read
        self._time = self._find_time(head)
        used = {*self._reading.ignore, *(self._time.columns if self._time else ())}
        self._wanted = [
            (place, name)
            for place, name in enumerate(self._columns)
            if name in self._names and name not in used
        ]
        present = {name for _, name in self._wanted}
        self.missing = tuple(name for name in self._columns if name not in present)
        if not present:
            raise no_signals(self._name, self._names, self._columns)
        if self._counted:
            self._time, self.clock = None, "rows"
        else:
            self.clock = self._time.format.clock if self._time else "elapsed"

    def _find_time(self, head: pl.DataFrame) -> TimeColumn | None:
        said = self._reading
        raw = FrameTable(head, self._name)
        found = find_time(raw, head, said.time, said.time_format, said.ignore, Tally())
        if found is None and len(head):
            # Times that do not move in the first few rows are times all the same.
            for name in self._names:
                if plain(name) in TIME_NAMES and name not in (*said.ignore, *self._columns):
                    form, _ = detect_format(head[name], name, raw.decimal)
                    if form is not None:
                        return TimeColumn((name,), form)
        return found

    def _rows_of(self, data: bytes) -> Batch:
        """Whole lines as numbers."""
        time = self._time
        names = [name for _, name in self._wanted]
        frame = self._frame(data, [*names, *(time.columns if time else ())])
        if time is None:
            first = self._rows
            times = np.arange(first, first + len(frame), dtype=np.int64) * self._interval
        self._rows += len(frame)
        if time is not None:
            found = time.parse(frame)
            times = found.ns
            bad = len(frame) - int(found.ok.sum())
            if bad:
                self._bad_times += bad
                times = times[found.ok]
                frame = frame.filter(found.ok)
        values = np.full((len(frame), len(self._columns)), np.nan)
        assert self._dialect is not None
        for place, name in self._wanted:
            numbers = read_numbers(frame[name], self._dialect.decimal)
            values[:, place] = numbers.values
            self._text_cells += len(numbers.bad)
            self._infinite += len(numbers.infinite)
        return Batch(values, times)

    def _frame(self, data: bytes, names: Sequence[str]) -> pl.DataFrame:
        """Cells as text; lines with too few or too many cells are left out."""
        assert self._dialect is not None
        separator, wanted = self._dialect.separator, self._dialect.cells
        if separator == BLANKS:
            data = collapse_blanks(data)
        empty = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
        if not data:
            return empty
        cells, blank, stops = count_cells(data, separator)
        good = (cells == wanted) & ~blank
        if not good.all():
            self._bad_lines += int(np.count_nonzero(~good & ~blank))
            starts = np.concatenate([[0], stops[:-1] + 1])
            data = b"".join(data[a : b + 1] for a, b in zip(starts[good], stops[good], strict=True))
        if not data:
            return empty
        place = {name: k for k, name in enumerate(self._names)}
        order = sorted({place[name] for name in names})
        try:
            frame = pl.read_csv(
                io.BytesIO(data),
                has_header=False,
                columns=order,
                separator=separator,
                infer_schema=False,
            )
        except pl.exceptions.PolarsError:
            frame = pl.DataFrame()
        if len(frame) != int(good.sum()):
            frame = self._one_by_one(data, order)
        frame.columns = [self._names[k] for k in order]
        return frame.select(names)

    def _one_by_one(self, data: bytes, order: Sequence[int]) -> pl.DataFrame:
        """Lines among which some have misplaced quotation marks."""
        assert self._dialect is not None
        kept = []
        for line in data.decode().splitlines():
            try:
                cells = next(csv.reader([line], delimiter=self._dialect.separator, strict=True), [])
            except csv.Error:
                cells = []
            if len(cells) == self._dialect.cells:
                kept.append([cells[k] for k in order])
            else:
                self._bad_lines += 1
        schema = {str(k): pl.String for k in order}
        return pl.DataFrame(kept, schema=schema, orient="row")

    def _cleaned(self, data: bytes) -> bytes:
        """Lines as UTF-8; those with NUL bytes or quotation marks that never close are left out."""
        if not data:
            return data
        data = data.removeprefix(b"\xef\xbb\xbf")
        if b"\0" in data:
            data = self._drop(data, lambda line: b"\0" in line)
        if b'"' in data:
            data = self._drop(data, lambda line: line.count(b'"') % 2 == 1)
        if data.isascii():
            return data
        try:
            data.decode()
        except UnicodeDecodeError:
            return data.decode("cp1252", "replace").encode()
        return data

    def _drop(self, data: bytes, bad: Any) -> bytes:
        lines = data.splitlines(keepends=True)
        kept = [line for line in lines if not bad(line)]
        self._bad_lines += len(lines) - len(kept)
        return b"".join(kept)


def _lines_of(data: bytes) -> int:
    return sum(bool(line.strip()) for line in data.split(b"\n", 40))


def _without_lines(data: bytes, count: int) -> bytes:
    """`data` without its first `count` lines that are not blank, and blank ones before these."""
    begin = 0
    while count and begin < len(data):
        end = data.find(b"\n", begin) + 1 or len(data)
        count -= bool(data[begin:end].strip())
        begin = end
    return data[begin:]
