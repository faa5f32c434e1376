"""Checking what a dataset's files hold, before they are read as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from causewatch.data.datasets.files import read_columns
from causewatch.data.files import unreadable
from causewatch.data.raw import file_name
from causewatch.data.source import TableOptions, read_table
from causewatch.data.table import TimeTable
from causewatch.errors import TableError, listing

__all__ = ["check_columns", "check_order", "check_rows", "read_published"]


def read_published(source: Any, **options: Unpack[TableOptions]) -> TimeTable:
    """As `causewatch.read_table`, but a line that makes no sense is an error."""
    table = read_table(source, **options)
    for note in table.notes:
        if note.kind == "bad_lines":
            message = (
                f"{note.text.removesuffix('.')}; the file was damaged or cut short, download it"
                " again."
            )
            raise TableError(message)
    return table


def check_columns(path: Path, needed: Iterable[str], title: str) -> tuple[str, ...]:
    """The columns of a file, in which all of `needed` must be.

    Parameters
    ----------
    path
        A table.
    needed
        Names without which the file is not of this dataset.
    title
        What messages call the dataset.
    """
    try:
        columns = read_columns(path)
    except OSError as error:
        raise unreadable(file_name(path), error) from error
    missing = [name for name in needed if name not in columns]
    if missing:
        message = (
            f"{file_name(path)} is not a file of {title}: it lacks the columns "
            f"{listing(missing)}, and has {listing(columns)}."
        )
        raise TableError(message)
    return columns


def check_order(name: str, table: TimeTable) -> None:
    """Raise if the times of a table go back, as those of a file appended to itself do."""
    back = np.flatnonzero(np.diff(table.time) < 0)
    if len(back):
        message = (
            f"The times of {name!r} go back after row {int(back[0]):,}, so that rows and events"
            " cannot be told apart by time; give the parts as files of their own."
        )
        raise TableError(message)


def check_rows(name: str, rows: int, published: int) -> None:
    """Raise if a file has fewer rows than were published."""
    if rows < published:
        message = (
            f"{name} has {rows:,} rows, {published:,} were published; it was cut short, download "
            "it again."
        )
        raise TableError(message)
