"""What every kind of source offers to the reader: named columns of cells, block by block."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from causewatch.data.notes import Tally
from causewatch.data.spreadsheet import from_text
from causewatch.data.table import SourceFile
from causewatch.errors import HIDDEN, TableError, listing, shorten

__all__ = [
    "RawTable",
    "block_rows",
    "check_columns",
    "check_name",
    "clean_name",
    "clean_names",
    "file_name",
    "hash_file",
]

BLOCK_CELLS = 4_000_000
MOST_COLUMNS = 20_000
LONGEST_NAME = 1_000


class RawTable(Protocol):
    """Cells as they stand in one source, not yet numbers or times."""

    @property
    def name(self) -> str:
        """What messages call it: the file's name, or e.g. ``dataframe``."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Unique column names."""

    @property
    def decimal(self) -> str:
        """The decimal mark of numbers in text cells."""

    @property
    def separator(self) -> str | None:
        """What stands between the columns of a text file; None if it is none."""

    @property
    def time_hint(self) -> str | None:
        """The column that is known to be the time, if the source itself says so."""

    @property
    def tally(self) -> Tally:
        """Notes found while opening."""

    def head(self) -> pl.DataFrame:
        """The first rows, by which columns and times are judged."""

    def blocks(self, columns: Sequence[str], tally: Tally) -> Iterator[pl.DataFrame]:
        """All rows of `columns`, block by block."""

    def place(self, row: int) -> str:
        """Where row number `row` (from 0) is found, e.g. ``line 2``."""

    @property
    def rows(self) -> int:
        """Number of rows, known after :meth:`blocks` came to its end."""

    @property
    def file(self) -> SourceFile | None:
        """The file, known after :meth:`blocks` came to its end; None if there is none."""


def file_name(path: Path) -> str:
    """The name of a file for messages and reports: text that can be shown and stored anywhere."""
    name = os.fsencode(path.name).decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name)


def check_name(name: str, place: str) -> None:
    """Raise if `name`, found in `place`, cannot be the name of a signal."""
    if len(name) > LONGEST_NAME or HIDDEN.search(name):
        message = (
            f"{place} holds the name {shorten(name)!r}, which is too long or not text; short names "
            "without control characters or signs that turn its direction are needed."
        )
        raise TableError(message)


def clean_name(name: str) -> str:
    """The name of a column without superfluous blanks, however it stands in its file."""
    return from_text(" ".join(name.split()))


def check_columns(count: int, source: str) -> None:
    """Raise if a table has more columns than can be read."""
    if count > MOST_COLUMNS:
        message = (
            f"{source} has {count:,} columns, at most {MOST_COLUMNS:,} can be read; perhaps rows "
            "and columns are exchanged."
        )
        raise TableError(message)


def clean_names(names: Sequence[str], source: str, tally: Tally) -> tuple[str, ...]:
    """Column names without surrounding blanks, made unique and never empty."""
    check_columns(len(names), source)
    taken: dict[str, int] = {}  # names, and the last number given to each
    found: list[str] = []
    repeated: list[str] = []
    unnamed: list[str] = []
    padded: list[str] = []
    for position, given in enumerate(names):
        name = clean_name(given)
        check_name(name, f"The header of {source}")
        if not name:
            name = f"column_{position + 1}"
            unnamed.append(name)
        elif name != from_text(given):
            padded.append(name)
        unique, number = name, taken.get(name, 0)
        while unique in taken:
            number += 1
            unique = f"{name}.{number}"
        if unique != name:
            taken[name] = number
            repeated.append(unique)
        taken[unique] = 0
        found.append(unique)
    tally.add(
        "duplicate_names",
        f"Repeated column names of {source} became {listing(repeated)}.",
        len(repeated),
        source,
    )
    tally.add(
        "padded_names",
        f"Names of {source} with superfluous blanks, which were removed: {{count}} "
        f"({listing(padded)}).",
        len(padded),
        source,
    )
    tally.add(
        "empty_names",
        f"Columns of {source} without a name are called {listing(unnamed)}.",
        len(unnamed),
        source,
    )
    return tuple(found)


def block_rows(columns: int) -> int:
    """How many rows of typed columns to read at a time."""
    return max(1_000, BLOCK_CELLS // max(columns, 1))


def hash_file(path: Path) -> str:
    """SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
