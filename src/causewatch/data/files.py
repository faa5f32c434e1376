"""Opening a path: which kind of file it is, and the Parquet and spreadsheet readers."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from causewatch.data.apart import NotReadableError, book_cells, parquet_rows, parquet_shape
from causewatch.data.dialect import find_header
from causewatch.data.frames import FrameTable
from causewatch.data.notes import Tally
from causewatch.data.raw import RawTable, block_rows, clean_names, file_name, hash_file
from causewatch.data.table import SourceFile
from causewatch.data.text import TextTable
from causewatch.data.writing import Writing
from causewatch.errors import TableError, shorten

__all__ = ["ParquetTable", "open_file", "open_spreadsheet", "unreadable"]

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
SAMPLE_ROWS = 100
MOST_BOOK = 2 << 30
"""Unpacked size above which a spreadsheet is refused."""
MOST_RATIO = 200
"""Compression above which a spreadsheet is refused."""


class ParquetTable:
    """A Parquet file as a raw table (see :class:`causewatch.data.raw.RawTable`)."""

    decimal = "."
    separator = None
    time_hint = None

    def __init__(self, path: Path) -> None:
        self.name = file_name(path)
        self.tally = Tally()
        self._path = path
        self.file: SourceFile | None = None
        with _sentence(self.name, "as Parquet", "write it again"):
            names, self.rows = parquet_shape(path)
        self.columns = clean_names(names, self.name, self.tally)
        self._place = {name: place for place, name in enumerate(self.columns)}

    def head(self) -> pl.DataFrame:
        """The first rows."""
        return self._slice(self.columns, 0)

    def blocks(self, columns: Sequence[str], tally: Tally) -> Iterator[pl.DataFrame]:
        """All rows of `columns`, in slices."""
        for start in range(0, self.rows, block_rows(len(columns))):
            yield self._slice(columns, start)
        self.file = SourceFile(self.name, hash_file(self._path), self.rows)

    def place(self, row: int) -> str:
        """The number of a row."""
        return f"row {row}"

    def _slice(self, columns: Sequence[str], start: int) -> pl.DataFrame:
        places = [self._place[column] for column in columns]
        count = min(block_rows(len(columns)), self.rows - start)
        with _sentence(self.name, "as Parquet", "write it again"):
            rows = parquet_rows(self._path, places, start, count)
            if rows.shape != (count, len(places)):
                msg = f"it has fewer than the {self.rows:,} rows it tells of"
                raise NotReadableError(msg)
        rows.columns = list(columns)
        return rows


def open_spreadsheet(path: Path) -> FrameTable:
    """The first sheet of a spreadsheet as a raw table; title rows above the header are skipped."""
    tally, name = Tally(), file_name(path)
    size = _unfolded(path, name)
    with _sentence(name, "as a spreadsheet", "save it as CSV"):
        sample = book_cells(path, size, text=SAMPLE_ROWS)
        rows = [["" if cell is None else cell for cell in row] for row in sample.rows()]
        if not rows:
            message = f"The first sheet of {name} is empty; a table is needed."
            raise TableError(message)
        layout = find_header(rows)
        frame = book_cells(path, size, skip=layout.skip)
    tally.add(
        "title_rows",
        f"Rows above the header of {name}, skipped: {{count}}.",
        layout.skip - int(layout.has_header),
        name,
    )
    names = (*layout.names, *[""] * (frame.width - len(layout.names)))[: frame.width]
    frame.columns = list(clean_names(names, name, tally))
    source = SourceFile(name, hash_file(path), len(frame))
    return FrameTable(frame, name, source=source, first_row=layout.skip + 1, tally=tally)


@contextmanager
def _sentence(name: str, how: str, remedy: str) -> Iterator[None]:
    """Turn what cannot be read into one sentence."""
    try:
        yield
    except (NotReadableError, pl.exceptions.PolarsError) as error:
        reason = shorten(str(error).split("\n")[0], 120)
        message = f"{name} cannot be read {how} ({reason}); {remedy}."
        raise TableError(message) from error


def _unfolded(path: Path, name: str) -> int:
    """Bytes of a spreadsheet, mostly a zip file, when unfolded; raises if it becomes huge."""
    try:
        with zipfile.ZipFile(path) as book:
            size = sum(member.file_size for member in book.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return path.stat().st_size  # of an older kind, or damaged: the reader will see
    if size > MOST_BOOK or size > MOST_RATIO * path.stat().st_size:
        message = f"{name} would unfold to {size:,} bytes; save it as CSV."
        raise TableError(message)
    return size


def open_file(
    path: Path, separator: str | None, decimal: str | None, usual: Writing | None = None
) -> RawTable:
    """A file as a raw table; its kind is told by its first bytes, then by its ending."""
    if not path.exists():
        message = f"There is no file {shorten(str(path), 200)!r}."
        raise TableError(message)
    name = file_name(path)
    if path.is_dir():
        message = f"{shorten(str(path), 200)!r} is a folder; name the files in it instead."
        raise TableError(message)
    if not path.is_file():
        message = f"{name} is a device or a pipe; a file that can be read more than once is needed."
        raise TableError(message)
    with path.open("rb") as stream:
        start = stream.read(8)
    if not start:
        message = f"{name} is empty; a table with at least two rows is needed."
        raise TableError(message)
    if start.startswith(b"PAR1"):
        return ParquetTable(path)
    if path.suffix.lower() in SPREADSHEETS:
        return open_spreadsheet(path)
    if start.startswith((b"PK\x03\x04", b"7z\xbc\xaf", b"BZh", b"\x28\xb5\x2f\xfd")):
        message = f"{name} is an archive; unpack it first (only gzip is read directly)."
        raise TableError(message)
    return TextTable(path, separator, decimal, usual)


def unreadable(name: str, error: OSError) -> TableError:
    """The error for a file the system does not let us read."""
    return TableError(f"{shorten(name, 200)} cannot be read: {error.strerror or error}.")
