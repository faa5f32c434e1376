"""Text tables: CSV and its relatives, read block by block with polars."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.data.csv_lines import cells_of
from causewatch.data.dialect import detect_dialect
from causewatch.data.notes import Tally
from causewatch.data.raw import clean_names, file_name
from causewatch.data.records import BlockReader, record_ends
from causewatch.data.table import SourceFile
from causewatch.data.writing import Writing
from causewatch.errors import TableError

__all__ = ["TextTable"]

HEAD_BYTES = 8 << 20
"""How much of a file is read to judge what its columns are."""

BLOCK_BYTES = 8 << 20
"""How much is parsed at a time; changes memory and speed, never the result."""

MOST_RECORDS, MOST_CELLS = 1 << 18, 8 << 20
"""How many records and cells are parsed at a time, however short they are."""

FIRST_BYTES = 4 << 20
SAMPLE_LINES = 400
MOST_SHOWN = 5
"""Lines that make no sense are named up to so many."""
MOST_BAD = 1 << 19
"""More of them are too many in a file of any length."""


class TextTable:
    """A text file as a raw table (see :class:`causewatch.data.raw.RawTable`).

    Parameters
    ----------
    path
        The file.
    separator, decimal
        How it is written; detected if None.
    usual
        How earlier recordings of the plant are written.
    """

    time_hint = None

    def __init__(
        self,
        path: Path,
        separator: str | None = None,
        decimal: str | None = None,
        usual: Writing | None = None,
    ) -> None:
        self.name = file_name(path)
        self.tally = Tally()
        self._path = path
        self.file: SourceFile | None = None
        self.rows = 0
        self._bad: list[int] = []  # records that make no sense, counted from the first of the data
        self._bad_below: list[int] = []  # of each: how many rows stand before it
        start = self._first_block()
        lines = _lines(start)
        if start and not lines:
            message = f"The first line of {self.name} is longer than {FIRST_BYTES >> 20} MB."
            raise TableError(message)
        nul = [number for number, line in enumerate(lines, start=1) if "\0" in line]
        if nul and (nul[0] == 1 or 2 * len(nul) > len(lines)):
            message = (
                f"{self.name} holds a NUL byte in line {nul[0]}: it is not a text table or it "
                "is damaged; export it again as CSV, Parquet or XLSX."
            )
            raise TableError(message)
        dialect = detect_dialect(lines, self.name, separator, decimal, usual)
        self.decimal = dialect.decimal
        self.separator = dialect.separator
        self._cells = dialect.cells
        # Blank lines above the data are records, too.
        filled = [number for number, line in enumerate(lines, start=1) if line.strip()]
        self._skip = filled[dialect.skip - 1] if dialect.skip else 0
        self._first_line = sum(line.count("\n") + 1 for line in lines[: self._skip]) + 1
        names = dialect.names
        if len(names) != self._cells:
            message = (
                f"{self.name} has {len(names)} names in its header (line {self._first_line - 1}) "
                f"but {self._cells} cells in most rows; repair the header or give the separator."
            )
            raise TableError(message)
        empty = self._empty_at_the_end(names, start)
        names = names[: len(names) - empty]
        self.tally.add(
            "trailing_separators",
            f"Empty columns without a name at the end of the lines of {self.name}, left out: "
            "{count}.",
            empty,
            self.name,
        )
        if not dialect.has_header:
            self.tally.add(
                "no_header",
                f"{self.name} has no header; its columns are called x0 to x{len(names) - 1}.",
                about=self.name,
            )
        self.tally.add(
            "title_rows",
            f"Rows above the header of {self.name}, skipped: {{count}}.",
            dialect.skip - int(dialect.has_header),
            self.name,
        )
        self.columns = clean_names(names, self.name, self.tally)

    def head(self) -> pl.DataFrame:
        """The first `HEAD_BYTES` of the file."""
        data = _drop_records(self._first_block(), self._skip)[0]
        frame, bad = self._parse(next(self._portions(data), b""), self.columns, 0)
        self._refuse_garbage(len(frame), len(bad))
        return frame

    def blocks(self, columns: Sequence[str], tally: Tally) -> Iterator[pl.DataFrame]:
        """All rows of `columns`, in blocks of about `BLOCK_BYTES`."""
        reader = BlockReader(self._path, BLOCK_BYTES, tally)
        skip = self._skip
        rows = bad = 0
        for block in reader:
            data, skip = _drop_records(block, skip)
            for portion in self._portions(data):
                frame, wrong = self._parse(portion, columns, rows + bad)
                rows += len(frame)
                bad += len(wrong)
                self._refuse_garbage(MOST_BAD, bad)
                if len(frame):
                    yield frame
        self._refuse_garbage(rows, bad)
        self.rows = rows
        self.file = SourceFile(self.name, reader.sha256, rows)
        shown = [str(self._first_line + number) for number in self._bad[:MOST_SHOWN]]
        which = f"line{'s' if bad > 1 else ''} {', '.join(shown)}"
        tally.add(
            "bad_lines",
            f"Lines of {self.name} that make no sense, left out: {{count}} ({which}"
            f"{', …' if bad > len(shown) else ''}); {self._cells} cells are expected.",
            bad,
            self.name,
        )

    def place(self, row: int) -> str:
        """The line of a row, as an editor counts."""
        record = row + bisect_right(self._bad_below, row)
        return f"line {self._first_line + record}"

    def _refuse_garbage(self, rows: int, bad: int) -> None:
        """Raise if most lines make no sense."""
        if bad <= rows:
            return
        message = (
            f"{self.name} has {bad:,} lines that do not hold the {self._cells} cells which are "
            f"expected, the first is line {self._first_line + self._bad[0]}; repair it, or give "
            "the separator."
        )
        raise TableError(message)

    def _first_block(self) -> bytes:
        blocks = iter(BlockReader(self._path, HEAD_BYTES, Tally()))
        first = next(blocks, b"")
        # A short file may end in a line without a line end, which is a block of its own.
        return first if len(first) > HEAD_BYTES // 2 else first + next(blocks, b"")

    def _portions(self, data: bytes) -> Iterator[bytes]:
        """Whole records in portions of bounded size as a table.

        A block never holds more cells than bytes, except for blank lines: each is a row, too.
        """
        most = max(1, min(MOST_RECORDS, MOST_CELLS // self._cells))
        many = data.count(b"\n") > most
        begin = 0
        for end in (*(record_ends(data)[most - 1 :: most].tolist() if many else ()), len(data)):
            if portion := data[begin : end + 1]:
                yield portion
            begin = end + 1

    def _empty_at_the_end(self, names: Sequence[str], start: bytes) -> int:
        """How many last columns have no name and, in the first block, no value."""
        named = max((place for place, name in enumerate(names) if name.strip()), default=0)
        positions = list(range(named + 1, len(names)))
        data = next(self._portions(_drop_records(start, self._skip)[0]), b"") if positions else b""
        if not data:
            return len(positions)
        count = 0
        frame, _ = cells_of(data, self.separator, self._cells, positions, blank_rows=True)
        for cells in reversed(frame.get_columns()):
            if (cells.fill_null("").str.strip_chars() != "").any():
                break
            count += 1
        return count

    def _parse(
        self, data: bytes, columns: Sequence[str], record: int
    ) -> tuple[pl.DataFrame, NDArray[np.intp]]:
        """The named columns of whole records, and which records make no sense.

        The first of them is the record of this number.
        """
        places = {column: position for position, column in enumerate(self.columns)}
        positions = sorted(places[column] for column in columns)
        frame, bad = cells_of(data, self.separator, self._cells, positions, blank_rows=True)
        for number in bad.tolist():
            if not self._bad or record + number > self._bad[-1]:
                self._bad_below.append(record + number - len(self._bad))
                self._bad.append(record + number)
        frame.columns = [self.columns[position] for position in positions]
        return frame.select(columns), bad


def _lines(block: bytes) -> list[str]:
    """The first records of a block as text, without line ends."""
    lines: list[str] = []
    begin = 0
    for end in record_ends(block[:FIRST_BYTES])[:SAMPLE_LINES].tolist():
        lines.append(block[begin:end].decode().rstrip("\r"))
        begin = end + 1
    return lines


def _drop_records(block: bytes, count: int) -> tuple[bytes, int]:
    """`block` without its first `count` records, and how many are still to be dropped."""
    if not count:
        return block, 0
    ends = record_ends(block)
    dropped = min(count, len(ends))
    return block[int(ends[dropped - 1]) + 1 :], count - dropped
