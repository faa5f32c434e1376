"""What a feed gives: batches of rows, ready for the monitor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from causewatch.data import Clock
from causewatch.errors import TableError, listing

__all__ = ["Batch", "Feed", "Reading", "no_signals", "nothing"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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

    def close(self) -> None:
        """No more rows are wanted."""


def nothing(columns: int) -> Batch:
    """No rows."""
    return Batch(np.empty((0, columns)), np.empty(0, dtype=np.int64))


def no_signals(name: str, found: Sequence[str], wanted: Sequence[str]) -> TableError:
    """The error for a source that has nothing to do with the model."""
    return TableError(
        f"{name} has none of the model's signals; its columns are {listing(found, 6)}, the"
        f" signals {listing(wanted, 6)}: is it of another plant, or without a header?"
    )
