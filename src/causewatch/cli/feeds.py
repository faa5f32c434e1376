"""Rows as they come in, from files and standard input, ready for the monitor.

Text (CSV and its relatives, JSON lines) is read line by line as it arrives, and a line that makes
no sense is counted and left out: a watch does not end because of it. Cells and times are understood
as in a recording that a model is learnt from. Other files (Parquet, spreadsheets, lists of events)
are read as tables.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.cli.incoming import HEAD, FileText, Lines
from causewatch.data import Clock, open_table
from causewatch.data.cells import read_numbers
from causewatch.data.columns import TIME_NAMES, TimeColumn, find_time, plain
from causewatch.data.dialect import BLANKS, Dialect, detect_dialect
from causewatch.data.frames import FrameTable
from causewatch.data.notes import Tally
from causewatch.data.raw import clean_names
from causewatch.data.records import collapse_blanks, count_cells
from causewatch.data.table import NANOSECONDS
from causewatch.errors import TableError, UnknownNameError, listing

__all__ = ["Batch", "Feed", "JsonFeed", "Reading", "TableFeed", "TextFeed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST_ROWS = 3
"""Rows of a live stream that are waited for before it is decided what its columns are."""
SAMPLE_BYTES = 1 << 20
NEWLINE, QUOTE = 10, 34


@dataclass(frozen=True, slots=True)
class Reading:
    """What the user says about the source; see `causewatch.open_table`."""

    time: str | None = None
    time_format: str | None = None
    ignore: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: an array with times in nanoseconds, or mappings with times as they were written.

    All of it is empty where nothing has come in for a while.
    """

    values: Floats
    times: Ints
    named: Sequence[tuple[Mapping[str, Any], Any]] = ()


class Feed(Protocol):
    """Rows from some source."""

    @property
    def clock(self) -> Clock | None:
        """What times count; None if each row tells."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns that the source does not have."""

    @property
    def problems(self) -> Mapping[str, int]:
        """What was left out, by kind."""

    def batches(self) -> Iterator[Batch]:
        """All rows in order; clock and missing columns are known from the first batch on."""

    def position(self) -> dict[str, Any]:
        """Where to go on after the last batch."""


def nothing(columns: int) -> Batch:
    """No rows."""
    return Batch(np.empty((0, columns)), np.empty(0, dtype=np.int64))


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
    live
        Whether rows come as they happen, so that the first ones must do to know the columns.
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
        live: bool,
    ) -> None:
        self._lines = lines
        self._name = name
        self._columns = tuple(columns)
        self._reading = reading
        self._counted = counted
        self._interval = round(interval * NANOSECONDS)
        self._live = live
        self._header = b""  # the lines that say how the text is written, when going on in it
        self._rows = 0
        self._bad_lines = self._bad_times = self._text_cells = self._infinite = 0
        self._dialect: Dialect | None = None
        self._time: TimeColumn | None = None
        self.clock: Clock | None = None
        self.missing: tuple[str, ...] = ()

    def resume(self, header: bytes, rows: int) -> None:
        """Go on in a text whose first lines were `header`, after `rows` rows."""
        self._header, self._rows = header, rows

    def position(self) -> dict[str, Any]:
        """See `Feed`."""
        return {"bytes": self._lines.taken, "rows": self._rows}

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
        if self._header:
            self._begin(self._cleaned(self._header))
        first = b""
        while not self._lines.ended:
            data = self._cleaned(self._lines.read())
            if self._dialect is None:
                first += data
                if not self._lines.ended and not self._enough(first):
                    yield nothing(len(self._columns))
                    continue
                data = self._begin(first)
            if data:
                yield self._rows_of(data)
            else:
                yield nothing(len(self._columns))

    def _enough(self, data: bytes) -> bool:
        rows = data.count(b"\n") - data.count(b"\n\n")
        return rows > FIRST_ROWS if self._live else len(data) > SAMPLE_BYTES

    def _begin(self, data: bytes) -> bytes:
        """Find out what the columns are; gives the text without its header."""
        sample = data[:SAMPLE_BYTES]
        texts = sample[: sample.rfind(b"\n") + 1].decode().splitlines()
        dialect = detect_dialect(texts, self._name, self._reading.separator, self._reading.decimal)
        self._names = clean_names(dialect.names, self._name, Tally())
        self._dialect = dialect
        for name in self._reading.ignore:
            if name not in self._names:
                raise UnknownNameError(name, "column", self._names)
        rest = _without_lines(data, dialect.skip)
        head = self._frame(rest[: rest.rfind(b"\n", 0, SAMPLE_BYTES) + 1], self._names)
        raw = FrameTable(head, self._name)
        self._time = find_time(
            raw,
            head,
            self._reading.time,
            self._reading.time_format,
            self._reading.ignore,
            Tally(),
        )
        used = {*self._reading.ignore, *(self._time.columns if self._time else ())}
        self._wanted = [
            (place, name)
            for place, name in enumerate(self._columns)
            if name in self._names and name not in used
        ]
        present = {name for _, name in self._wanted}
        self.missing = tuple(name for name in self._columns if name not in present)
        if not present:
            msg = (
                f"{self._name} has none of the model's signals (columns:"
                f" {listing(self._names)}; signals: {listing(self._columns)}); is it another plant,"
                " or has it no header?"
            )
            raise TableError(msg)
        if self._counted:
            self._time, self.clock = None, "rows"
        else:
            self.clock = self._time.format.clock if self._time else "elapsed"
        return rest

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
            data = b"".join(
                data[a : b + 1] for a, b in zip(starts[good], stops[good], strict=True)
            )
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


class JsonFeed:
    """Rows of JSON lines: objects with a time and one value per signal.

    Parameters are as for `TextFeed`.
    """

    clock: Clock | None = None

    def __init__(self, lines: Lines, columns: Sequence[str], reading: Reading) -> None:
        self._lines = lines
        self._columns = tuple(columns)
        self._reading = reading
        self._time_name = reading.time
        self._rows = 0
        self._bad_lines = 0
        self._seen: set[str] = set()
        self.missing: tuple[str, ...] = ()

    def resume(self, header: bytes, rows: int) -> None:
        """Go on after `rows` rows."""
        self._rows = rows

    def position(self) -> dict[str, Any]:
        """See `Feed`."""
        return {"bytes": self._lines.taken, "rows": self._rows}

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Feed`."""
        bad = self._bad_lines + self._lines.too_long
        return {"bad_lines": bad} if bad else {}

    def batches(self) -> Iterator[Batch]:
        """See `Feed`."""
        none = nothing(len(self._columns))
        first = True
        while not self._lines.ended:
            rows = [row for row in map(self._row, self._lines.read().splitlines()) if row]
            self._rows += len(rows)
            if first and rows:
                first = False
                present = {str(name).strip() for values, _ in rows for name in values}
                self.missing = tuple(name for name in self._columns if name not in present)
            yield Batch(none.values, none.times, rows)

    def _row(self, line: bytes) -> tuple[Mapping[str, Any], Any] | None:
        if not line.strip():
            return None
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self._bad_lines += 1
            return None
        if self._time_name is None or self._time_name not in found:
            self._find_time(found)
        when = found.pop(self._time_name, None) if self._time_name is not None else None
        inner = found.get("values")
        row = inner if isinstance(inner, dict) else found
        for name in self._reading.ignore:
            row.pop(name, None)
        return row, when

    def _find_time(self, row: Mapping[str, Any]) -> None:
        if self._reading.time is None:
            usual = (name for name in row if plain(name) in TIME_NAMES and name not in self._columns)
            self._time_name = next(usual, self._time_name)


class TableFeed:
    """Rows of a file that is read as a table: Parquet, a spreadsheet, a list of events.

    Parameters are as for `TextFeed`; `skip` rows were watched before.
    """

    def __init__(
        self,
        path: Path,
        columns: Sequence[str],
        reading: Reading,
        *,
        counted: bool,
        interval: float,
        skip: int = 0,
    ) -> None:
        self._columns = tuple(columns)
        self._skip = skip
        self._rows = skip
        self._interval = round(interval * NANOSECONDS)
        self._table = open_table(
            path,
            time=reading.time,
            time_format=reading.time_format,
            ignore=reading.ignore,
            separator=reading.separator,
            decimal=reading.decimal,
        )
        self._count = counted or self._table.clock == "rows"
        self.clock: Clock | None = "elapsed" if self._count else self._table.clock
        self.clock = "rows" if counted else self.clock
        place = {name: k for k, name in enumerate(self._table.signals)}
        self.missing = tuple(name for name in columns if name not in place)
        if len(self.missing) == len(columns):
            msg = (
                f"{path.name} has none of the model's signals (columns:"
                f" {listing(place)}; signals: {listing(columns)}); is it another plant?"
            )
            raise TableError(msg)
        pairs = [(k, place[name]) for k, name in enumerate(columns) if name in place]
        self._to = [pair[0] for pair in pairs]
        self._from = [pair[1] for pair in pairs]

    problems: Mapping[str, int] = {}

    def position(self) -> dict[str, Any]:
        """See `Feed`."""
        return {"rows": self._rows}

    def batches(self) -> Iterator[Batch]:
        """See `Feed`."""
        seen = 0
        try:
            for chunk in self._table.chunks(rows=4096):
                skip = min(len(chunk), max(0, self._skip - seen))
                seen += len(chunk)
                if skip == len(chunk):
                    continue
                values = np.full((len(chunk) - skip, len(self._columns)), np.nan)
                values[:, self._to] = chunk.values[skip:, self._from]
                times = chunk.time[skip:]
                if self._count:
                    first = seen - len(values)
                    times = np.arange(first, seen, dtype=np.int64) * self._interval
                self._rows = seen
                yield Batch(values, times)
        except TableError:
            if seen < 2:  # a table of one row is no recording, but may be watched
                raise
            raise


def open_feed(
    path: Path,
    columns: Sequence[str],
    reading: Reading,
    *,
    counted: bool,
    interval: float,
    follow: bool = False,
    position: Mapping[str, Any] | None = None,
) -> tuple[Feed, dict[str, Any]]:
    raise NotImplementedError


def _without_lines(data: bytes, count: int) -> bytes:
    """`data` without its first `count` lines that are not blank, and blank ones before these."""
    begin = 0
    while count and begin < len(data):
        end = data.find(b"\n", begin) + 1 or len(data)
        count -= bool(data[begin:end].strip())
        begin = end
    return data[begin:]
