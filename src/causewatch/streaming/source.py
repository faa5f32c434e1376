"""`Source`: rows from a plant, whatever it speaks.

A source never blocks for longer than it is told to, goes on after the last row of an earlier run
where its transport allows that, and closes cleanly. `causewatch.testing.SourceContract` is the test
suite that says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from causewatch.data import Clock, Writing
from causewatch.errors import TableError, listing
from causewatch.streaming.tags import TagMap

__all__ = [
    "GUARANTEES",
    "Batch",
    "Guarantee",
    "Limits",
    "Reading",
    "Source",
    "Wanted",
    "is_away",
    "is_connected",
    "joined",
    "no_signals",
    "nothing",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Guarantee = Literal["replayed", "redelivered", "lost"]
"""What becomes of rows that were taken in after the last checkpoint when a watch is killed."""

GUARANTEES: Mapping[Guarantee, str] = {
    "replayed": (
        "Rows are read again from where the checkpoint stands: nothing is lost, and the result is"
        " that of an undisturbed run."
    ),
    "redelivered": (
        "Rows are acknowledged only after the checkpoint that holds them, so whoever sends them"
        " keeps them and sends them again: nothing is lost as long as the sender keeps them."
    ),
    "lost": (
        "Rows that come while no watch runs, or after the last checkpoint before a kill, are lost;"
        " the monitor sees a gap and begins a new stretch."
    ),
}
"""What each guarantee means, for people."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the user says about the rows; see `causewatch.open_table`."""

    time: str | None = None
    time_format: str | None = None
    ignore: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None


MOST_PAYLOAD, MOST_QUEUE = 1 << 30, 1_000_000
"""The largest limits that a configuration may set; beyond them they would limit nothing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a source may bring.

    Attributes
    ----------
    payload
        Bytes of one message; a longer one is counted and left out.
    queue
        Messages that wait between a connector and the watch. When so many do, the connector stops
        reading, or counts what it must leave out where its transport cannot wait.
    """

    payload: int = 1 << 20
    queue: int = 10_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a watch wants of its source.

    Attributes
    ----------
    columns
        Names of the signals, in the order of `NormalModel.watched`.
    interval
        Usual time between two rows of the normal recording, in seconds.
    counted
        Whether the model counts rows, whatever their times.
    reading
        What the user says about the rows.
    tags
        Which tag of the plant is which signal, in which unit.
    limits
        How much may come.
    usual
        How the recordings are written that the model was learnt from.
    """

    columns: tuple[str, ...]
    interval: float
    counted: bool = False
    reading: Reading = field(default_factory=Reading)
    tags: TagMap = field(default_factory=TagMap)
    limits: Limits = field(default_factory=Limits)
    usual: Writing | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: an array with times in nanoseconds, or mappings with times as they were written.

    All of it is empty where nothing has come in for a while.
    """

    values: Floats
    times: Ints
    named: Sequence[tuple[Mapping[str, Any], Any]] = ()

    def __len__(self) -> int:
        return len(self.times) + len(self.named)


class Source(Protocol):
    """Rows from somewhere, for one watch and one thread.

    A connector whose library has threads of its own hands over through an
    `causewatch.streaming.inbox.Inbox`. Trouble with the transport is never an exception once `open`
    has returned: the source goes on trying, counts it in `problems` and says it in `status`.
    """

    @property
    def name(self) -> str:
        """What people call it; without secrets."""

    @property
    def guarantee(self) -> Guarantee:
        """What becomes of rows when the watch is killed."""

    @property
    def clock(self) -> Clock | None:
        """What the times in arrays count; None if each row tells. Known after the first rows."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns that the source does not have, as far as is known after the first rows."""

    @property
    def problems(self) -> Mapping[str, int]:
        """What was left out or went wrong so far, counted by kind."""

    @property
    def status(self) -> str:
        """How it stands, in a few words: ``connected``, ``trying again: connection refused``."""

    @property
    def ended(self) -> bool:
        """Whether there will be no more rows."""

    def open(self, after: Mapping[str, Any]) -> None:
        """Begin after a `position` of an earlier run; from the beginning if it is empty.

        Raises a `causewatch.errors.CausewatchError` for what trying again cannot mend (a file that
        is not there, an option that makes no sense), never because a server does not answer yet.
        """

    def poll(self, wait: float) -> Batch:
        """Rows that have come in, at most a few thousand; waits for the first ones at most `wait`
        seconds and then gives none."""  # noqa: D205, D209

    def position(self) -> dict[str, Any]:
        """Where to go on after the rows polled so far: plain JSON."""

    def committed(self) -> None:
        """All rows polled so far are in a checkpoint: they may be acknowledged."""

    def close(self) -> None:
        """No more rows are wanted; safe to call twice, and before `open`."""


def nothing(columns: int) -> Batch:
    """No rows."""
    return Batch(np.empty((0, columns)), np.empty(0, dtype=np.int64))


def joined(batches: Sequence[Batch]) -> Batch:
    """Batches of arrays as one; there must be at least one of them."""
    if len(batches) == 1:
        return batches[0]
    values = np.concatenate([batch.values for batch in batches])
    return Batch(values, np.concatenate([batch.times for batch in batches]))


def is_away(status: str) -> bool:
    """Whether a source whose status this is cannot give rows at present."""
    return status.startswith(("trying again", "connecting"))


def is_connected(status: str) -> bool:
    """Whether a source whose status this is has a connection, and it stands."""
    return status.startswith("connected")


def no_signals(name: str, found: Sequence[str], wanted: Sequence[str]) -> TableError:
    """The error for a source that has nothing to do with the model."""
    return TableError(
        f"{name} has none of the model's signals: is it of another plant, or without a header? Its"
        f" columns are {listing(found, 6)}. The model's signals are {listing(wanted, 6)}."
    )
