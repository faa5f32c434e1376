"""Rows as they come in, from files and standard input, ready for the monitor.

Text (CSV and its relatives, JSON lines) is read line by line as it arrives. Other files (Parquet,
spreadsheets, lists of events) are read as tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from causewatch.cli.batches import Batch, Feed, Reading, no_signals, nothing
from causewatch.cli.incoming import FileText, Lines, StdinText, sample_of
from causewatch.cli.text_feed import TextFeed
from causewatch.data import Clock, open_table
from causewatch.data.columns import TIME_NAMES, plain
from causewatch.data.files import SPREADSHEETS, open_file
from causewatch.data.long import is_long
from causewatch.data.raw import file_name
from causewatch.data.table import NANOSECONDS
from causewatch.data.text import TextTable
from causewatch.errors import SettingError, TableError

__all__ = ["JsonFeed", "TableFeed", "open_feed"]

SAMPLE_BYTES = 1 << 20
"""How much of a text file is looked at to know what its columns are."""
ARCHIVES = (b"PK\x03\x04", b"7z\xbc\xaf", b"BZh", b"\x28\xb5\x2f\xfd", b"PAR1")
"""How files begin that are no text."""


class JsonFeed:
    """Rows of JSON lines: objects with a time and one value per signal.

    Parameters are as for `TextFeed`.
    """

    clock: Clock | None = None

    def __init__(
        self,
        lines: Lines,
        name: str,
        columns: Sequence[str],
        reading: Reading,
        *,
        rows: int = 0,
        head: Callable[[int], str] | None = None,
    ) -> None:
        self._lines = lines
        self._name = name
        self._columns = tuple(columns)
        self._reading = reading
        self._time_name = reading.time
        self._rows = rows
        self._head = head
        self._bad_lines = 0
        self.missing: tuple[str, ...] = ()

    def position(self) -> dict[str, Any]:
        """See `Feed`."""
        found: dict[str, Any] = {"name": self._name, "rows": self._rows}
        if self._head is not None:
            taken = self._lines.taken
            found |= {"bytes": taken, "head": self._head(taken)}
        return found

    def close(self) -> None:
        """See `Feed`."""
        self._lines.close()

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
                if len(self.missing) == len(self._columns):
                    raise no_signals(self._name, sorted(present), self._columns)
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
        if isinstance(when, str) and self._reading.time_format is not None:
            with suppress(ValueError):  # else it is a bad time, and counted as one
                when = datetime.strptime(when.strip(), self._reading.time_format)
        inner = found.get("values")
        row = inner if isinstance(inner, dict) else found
        for name in self._reading.ignore:
            row.pop(name, None)
        return row, when

    def _find_time(self, row: Mapping[str, Any]) -> None:
        if self._reading.time is None:
            usual = (
                name for name in row if plain(name) in TIME_NAMES and name not in self._columns
            )
            self._time_name = next(usual, self._time_name)


class TableFeed:
    """Rows of a file that is read as a table: Parquet, a spreadsheet, a list of events.

    Parameters are as for `TextFeed`; `after` is where an earlier watch stopped.
    """

    def __init__(
        self,
        path: Path,
        columns: Sequence[str],
        reading: Reading,
        *,
        counted: bool,
        interval: float,
        after: Mapping[str, Any],
    ) -> None:
        self._name = file_name(path)
        self._columns = tuple(columns)
        self._rows = self._skip = int(after.get("rows", 0))
        self._first: int | None = after.get("first")  # time of the first row, to know it again
        self._interval = round(interval * NANOSECONDS)
        self._table = open_table(
            path,
            time=reading.time,
            time_format=reading.time_format,
            ignore=reading.ignore,
            separator=reading.separator,
            decimal=reading.decimal,
        )
        if self._first is not None:
            chunk = next(iter(self._table.chunks(rows=4096)), None)
            if chunk is None or int(chunk.time[0]) != self._first:
                self._rows, self._skip, self._first = 0, 0, None  # another one under this name
        self._count = counted or self._table.clock == "rows"
        self.clock: Clock | None = "elapsed" if self._count else self._table.clock
        self.clock = "rows" if counted else self.clock
        place = {name: k for k, name in enumerate(self._table.signals)}
        self.missing = tuple(name for name in columns if name not in place)
        if len(self.missing) == len(columns):
            raise no_signals(path.name, tuple(place), columns)
        pairs = [(k, place[name]) for k, name in enumerate(columns) if name in place]
        self._to = [pair[0] for pair in pairs]
        self._from = [pair[1] for pair in pairs]

    problems: Mapping[str, int] = {}

    def position(self) -> dict[str, Any]:
        """See `Feed`."""
        return {"name": self._name, "rows": self._rows, "first": self._first}

    def close(self) -> None:
        """See `Feed`."""

    def batches(self) -> Iterator[Batch]:
        """See `Feed`."""
        seen = 0
        for chunk in self._table.chunks(rows=4096):
            if not seen:
                self._first = int(chunk.time[0])
            skip = min(len(chunk), max(0, self._skip - seen))
            seen += len(chunk)
            if skip == len(chunk):
                continue
            values = np.full((len(chunk) - skip, len(self._columns)), np.nan)
            values[:, self._to] = chunk.values[skip:, self._from]
            times = chunk.time[skip:]
            if self._count:
                times = np.arange(seen - len(values), seen, dtype=np.int64) * self._interval
            self._rows = seen
            yield Batch(values, times)


def open_feed(
    source: str,
    columns: Sequence[str],
    reading: Reading,
    *,
    counted: bool,
    interval: float,
    follow: bool = False,
    after: Mapping[str, Any] | None = None,
) -> Feed:
    """Rows of a file, or of standard input if `source` is ``-``.

    Parameters
    ----------
    source
        Path or ``-``; for the latter this waits for the first line.
    columns, reading, counted, interval
        As for `TextFeed`.
    follow
        Whether to wait for more at the end of the file.
    after
        Where an earlier watch of this source stopped (`Feed.position`). If the source is another
        one now, it is watched from its beginning.
    """
    if source == "-":
        lines = Lines(StdinText())
        if _is_json(lines):
            return JsonFeed(lines, "standard input", columns, reading)
        return TextFeed(
            lines, "standard input", columns, reading, counted=counted, interval=interval
        )
    path, name = Path(source), file_name(Path(source))
    after = after if after and after.get("name") == name else {}
    if not _is_text(path, reading):
        if follow:
            msg = f"{name} is not a text file that grows; watch it without --follow."
            raise SettingError(msg)
        return TableFeed(
            path,
            columns,
            reading,
            counted=counted,
            interval=interval,
            after=after,
        )
    sample = sample_of(path, SAMPLE_BYTES)
    text = FileText(path, follow)
    size = int(after.get("bytes", 0))
    if size and not text.is_known(size, str(after.get("head"))):
        size, after = 0, {}
    text.skip(size)
    lines = Lines(text, size)
    rows = int(after.get("rows", 0))
    if sample.lstrip().startswith(b"{"):
        return JsonFeed(lines, name, columns, reading, rows=rows, head=text.head)
    return TextFeed(
        lines,
        name,
        columns,
        reading,
        counted=counted,
        interval=interval,
        sample=sample,
        rows=rows,
        head=text.head,
    )


def _is_json(lines: Lines) -> bool:
    """Whether the first line is an object of JSON; waits for it."""
    while not lines.ended:
        data = lines.read()
        if data.strip():
            lines.unread(data)
            return data.lstrip().startswith(b"{")
    return False


def _is_text(path: Path, reading: Reading) -> bool:
    """Whether a file is to be read line by line: no Parquet, no spreadsheet, no list of events."""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(8)
        if start.lstrip().startswith(b"{") or not start:
            return True
        try:
            raw = open_file(path, reading.separator, reading.decimal)
        except TableError:
            # What is no text at all is refused with a sentence of its own when read as a table.
            return path.suffix.lower() not in SPREADSHEETS and not start.startswith(ARCHIVES)
        if not isinstance(raw, TextTable):
            return False
        try:
            return not is_long(raw, reading.time)
        except TableError:
            return True
    return False
