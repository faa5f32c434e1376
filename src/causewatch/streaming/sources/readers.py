"""The rows of one file that is open, whatever it is.

Text (CSV and its relatives, JSON lines) is read line by line as it arrives. Other files (Parquet,
spreadsheets, lists of events) are read as tables. Which it is, is told by the content.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from causewatch.data import Clock, Writing
from causewatch.data.files import SPREADSHEETS, open_file, unreadable
from causewatch.data.long import is_long
from causewatch.data.raw import file_name
from causewatch.data.text import TextTable
from causewatch.errors import SettingError, TableError
from causewatch.streaming.source import Batch, Reading, Wanted, nothing
from causewatch.streaming.sources.followed import FileText
from causewatch.streaming.sources.json_lines import JsonRows, is_json
from causewatch.streaming.sources.lines import Lines, StdinText
from causewatch.streaming.sources.tables import TableReader
from causewatch.streaming.sources.text import CsvRows

__all__ = ["LOOK", "LineReader", "Reader", "is_text", "open_reader"]

log = logging.getLogger(__name__)

LOOK = 0.05
"""Seconds between two looks at a file that grows."""
SAMPLE_BYTES = 1 << 20
"""How much of a text file is looked at to know what its columns are."""
ARCHIVES = (b"PK\x03\x04", b"7z\xbc\xaf", b"BZh", b"\x28\xb5\x2f\xfd", b"PAR1")
"""How files begin that are no text."""


class Reader(Protocol):
    """The rows of one file that is open."""

    @property
    def rows(self) -> int:
        """Rows of the file so far, also those of earlier runs."""

    @property
    def example(self) -> bytes:
        """Its first lines, for a file after it that has no header, or few rows as yet."""

    @property
    def idle(self) -> bool:
        """Whether the last look found nothing new."""

    @property
    def clock(self) -> Clock | None:
        """See `Source`."""

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Source`."""

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""

    @property
    def ended(self) -> bool:
        """See `Source`."""

    def read(self, wait: float = 0.0) -> Batch:
        """The next rows, if there are any at present."""

    def finish(self) -> None:
        """Nothing will be added to it any more."""

    def position(self) -> dict[str, Any]:
        """See `Source`."""

    def close(self) -> None:
        """See `Source`."""


class LineReader:
    """Rows of text, line by line.

    Parameters
    ----------
    text
        The text: a file's, or standard input.
    name
        What messages call it.
    wanted
        What the watch wants.
    after
        Where an earlier run stopped, if it was in this text.
    first_row
        Number of the first row, where rows are counted.
    example
        First lines of an earlier file, for one that has no header, or few rows as yet.
    """

    def __init__(
        self,
        text: FileText | StdinText,
        name: str,
        wanted: Wanted,
        after: Mapping[str, Any],
        *,
        first_row: int = 0,
        example: bytes = b"",
    ) -> None:
        if isinstance(text, FileText) and not text.known:
            after = {}  # it is another file now
        self._after = after  # what the position is until something is read
        self._text = text
        self._name = name
        self._wanted = wanted
        self._first_row = first_row
        self._example = str(after["example"]).encode() if "example" in after else example
        self._before = int(after.get("rows", 0))
        self._decoder: CsvRows | JsonRows | None = None
        self._sample, self._taken = b"", 0
        if isinstance(text, FileText):
            judged = int(after.get("judged", 0))
            self._sample = text.sample(judged or SAMPLE_BYTES)
            self._sample = self._sample[:judged] if judged else self._sample
            self._taken = text.at
            if self._sample.strip() or not text.endless:
                self._begin(self._sample)
        self._lines = Lines(text, self._taken)
        self._files = self._lines.files

    def _begin(self, first: bytes) -> CsvRows | JsonRows:
        """Decide by the `first` lines how rows are written."""
        if is_json(first):
            rows = JsonRows(self._name, self._wanted, rows=self._before)
            rows.begin(self._sample)
            self._decoder = rows
            return rows
        cells = CsvRows(
            self._name,
            self._wanted,
            rows=self._before,
            first_row=self._first_row,
            former=self._example,
            moved=bool(self._after.get("moved")),
        )
        cells.begin(self._sample, self._taken, whole=not self._text.endless)
        self._decoder = cells
        return cells

    @property
    def rows(self) -> int:
        """See `Reader`."""
        return self._before if self._decoder is None else self._decoder.rows

    @property
    def clock(self) -> Clock | None:
        """See `Source`."""
        return None if self._decoder is None else self._decoder.clock

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Source`."""
        return () if self._decoder is None else self._decoder.missing

    @property
    def example(self) -> bytes:
        """See `Reader`."""
        return self._example if self._decoder is None else self._decoder.example

    @property
    def idle(self) -> bool:
        """See `Reader`."""
        return self._lines.idle

    @property
    def ended(self) -> bool:
        """See `Source`."""
        return self._lines.ended

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        found = dict(self._decoder.problems) if self._decoder is not None else {}
        bad = self._lines.too_long + self._lines.cut
        if bad:
            found["bad_lines"] = found.get("bad_lines", 0) + bad
        if isinstance(self._text, FileText):
            found |= {"damaged": self._text.damaged, "position_lost": int(self._text.lost)}
        return {kind: count for kind, count in found.items() if count}

    @property
    def dropped(self) -> int:
        """Lines that are no rows so far: each of these problems is one."""
        return sum(self.problems.get(kind, 0) for kind in ("bad_lines", "bad_times"))

    def read(self, wait: float = 0.0) -> Batch:
        """See `Reader`; waits at most `wait` seconds, and for a file not at all."""
        if self._lines.ended:
            return nothing(len(self._wanted.columns))
        lines = self._lines.read(wait)
        rows = self._decoder
        if rows is None:
            if not lines.strip() and not self._lines.ended:
                return nothing(len(self._wanted.columns))
            rows = self._begin(lines)
        if self._lines.files != self._files:
            self._files = self._lines.files
            rows.new_file()
        return rows.take(lines, self._lines.ended)

    def finish(self) -> None:
        """See `Reader`."""
        if isinstance(self._text, FileText):
            self._text.endless = False

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        found: dict[str, Any] = {"name": self._name, "rows": self.rows}
        if isinstance(self._text, FileText):
            held = 0 if self._decoder is None else self._decoder.held
            found |= {"bytes": self._lines.taken - held, **self._text.mark()}
            if all(self._after.get(kind) == found[kind] for kind in ("rows", "bytes", "inode")):
                return dict(self._after)  # though more may be known of it by now
            if self._decoder is not None:
                found |= self._decoder.extra()
        return found

    def close(self) -> None:
        """See `Source`."""
        self._lines.ended = True
        self._lines.close()


def open_reader(
    path: Path,
    wanted: Wanted,
    after: Mapping[str, Any],
    *,
    follow: bool = False,
    rotates: bool = True,
    first_row: int = 0,
    example: bytes = b"",
) -> Reader:
    """The rows of a file, whatever it is; parameters as for `LineReader` and `FileText`.

    Raises
    ------
    SettingError
        If it is to be followed and cannot grow.
    TableError
        If it cannot be read, or has none of the signals.
    """
    name = file_name(path)
    # A text that was followed may be away for a moment, or lie next to it under another name.
    if not (follow and "bytes" in after) and not is_text(path, wanted.reading, wanted.usual):
        if follow and path.is_file():
            msg = f"{name} is not a text file that grows; watch it without --follow."
            raise SettingError(msg)
        return TableReader(path, wanted, after, first_row=first_row)
    text = FileText(path, follow, after, rotates=rotates)
    if text.lost:
        log.warning("What was read of %s before is not there any more; it is read anew.", name)
    try:
        return LineReader(text, name, wanted, after, first_row=first_row, example=example)
    except BaseException:
        text.close()
        raise


def is_text(path: Path, reading: Reading, usual: Writing | None = None) -> bool:
    """Whether a file is to be read line by line: no Parquet, no spreadsheet, no list of events."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise unreadable(file_name(path), error) from error
    if not start or is_json(start):
        return True
    if path.suffix.lower() in SPREADSHEETS or start.startswith(ARCHIVES):
        return False  # what is no table at all is refused with a sentence when read as one
    try:
        raw = open_file(path, reading.separator, reading.decimal, usual)
        return isinstance(raw, TextTable) and not is_long(raw, reading.time)
    except TableError:
        return True
