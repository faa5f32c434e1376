"""What every kind of source offers to the reader: named columns of cells, block by block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from causewatch.data.notes import Tally
from causewatch.data.table import SourceFile
from causewatch.errors import TableError, listing, shorten

__all__ = ["RawTable", "block_rows", "clean_names", "hash_file"]

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


def clean_names(names: Sequence[str], source: str, tally: Tally) -> tuple[str, ...]:
    """Column names without surrounding blanks, made unique and never empty."""
    if len(names) > MOST_COLUMNS:
        message = (
            f"{source} has {len(names):,} columns, at most {MOST_COLUMNS:,} can be read; is it "
            "stored with rows and columns exchanged?"
        )
        raise TableError(message)
    taken: set[str] = set()
    found: list[str] = []
    repeated: list[str] = []
    unnamed: list[str] = []
    for position, given in enumerate(names):
        name = " ".join(given.split())
        if len(name) > LONGEST_NAME or any(ord(letter) < 32 for letter in name):
            message = (
                f"The header of {source} holds the name {shorten(name)!r}, which is too long or "
                "not text; a table with short column names in its first row is needed."
            )
            raise TableError(message)
        if not name:
            name = f"column_{position + 1}"
            unnamed.append(name)
        unique, number = name, 0
        while unique in taken:
            number += 1
            unique = f"{name}.{number}"
        if unique != name:
            repeated.append(unique)
        taken.add(unique)
        found.append(unique)
    tally.add(
        "duplicate_names",
        f"Repeated column names of {source} became {listing(repeated)}.",
        len(repeated),
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
