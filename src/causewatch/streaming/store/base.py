"""`Store`: what a watch must not forget, in a database.

One transaction holds the state of the monitor, where its source stands and the events that these
rows led to. So whenever a watch is killed, the three belong together: no alarm is lost, and none is
raised twice. SQLite (a folder) and PostgreSQL (a server) have the same tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from causewatch.streaming.sink import Notice

__all__ = ["Asked", "Checkpoint", "Retention", "Store"]


@dataclass
class Checkpoint:
    """What is kept between two runs.

    Attributes
    ----------
    monitor
        A snapshot of the monitor.
    clock
        What the times of the stream count.
    settings
        How alarms come and go.
    source
        The position of the source, and under ``address`` what it is.
    outputs
        Bytes that belong to this state in further files that the watch writes, by path.
    unwritten
        What belongs to the file of scores behind those bytes, and could not be written.
    counts
        Rows and whatever else is counted over all runs.
    saved_at
        When, in seconds since 1970.
    """

    monitor: dict[str, Any]
    clock: str
    settings: dict[str, Any]
    source: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    saved_at: float = 0.0
    unwritten: str = ""


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of the history is kept. Alarms that are on are never forgotten.

    Attributes
    ----------
    days
        Alarms whose last event was written longer ago are forgotten; None keeps them for ever. Of
        the time between two saves a day counts at most, whatever the clock says.
    events
        At most so many events are kept, the latest; None for any number.
    """

    days: float | None = 400.0
    events: int | None = 1_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """Something that a person wants done about alarms (`causewatch.monitor.actions`)."""

    number: int
    action: Mapping[str, Any]


class Store(Protocol):
    """The memory of one watch. Safe to use from several threads.

    The watch itself holds the `lock`; whoever looks at alarms, or asks for something, needs none.
    """

    @property
    def name(self) -> str:
        """What people call it, without secrets."""

    @property
    def watch(self) -> str:
        """Name of the watch, as those know it who are told of its events."""

    @property
    def series(self) -> str:
        """Random text that tells the events of this store from those of others."""

    def lock(self) -> AbstractContextManager[None]:
        """Be the only watch that writes here; raises `InUseError` if another one does."""

    def check(self) -> None:
        """Raise `SettingError` unless a watch has kept something here."""

    def faults(self) -> str:
        """What of an earlier run's saves and events is missing or damaged, as a sentence.

        Empty if nothing is. Asked by the watch that holds the lock, before it writes anything; what
        is missing is told once.
        """

    def load(self) -> Checkpoint | None:
        """The state that was saved last; raises `ModelFileError` if it is damaged."""

    def save(
        self,
        checkpoint: Checkpoint | None,
        events: Sequence[Mapping[str, Any]],
        answers: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> None:
        """Keep a state, the events since the last one (as in the JSON lines of alarms), and the
        answers to what was asked: all of it or nothing, and on disk when this returns. Without a
        checkpoint (a watch that keeps no state) the events alone."""  # noqa: D205, D209

    @property
    def last(self) -> int:
        """Number of the last event; 0 if there is none."""

    @property
    def newest(self) -> int:
        """Number of the last event that was written here, or seen by `last`.

        Known without asking the database, so that nobody waits for it.
        """

    def notices(self, after: int, most: int = 256) -> list[Notice]:
        """Events after this number, oldest first."""

    def events(self, id: str | None = None) -> Iterator[dict[str, Any]]:
        """The history, oldest first; of one alarm if `id` is given."""

    def alarms(self, *, on: bool | None = None) -> list[dict[str, Any]]:
        """Every alarm as it was at its last event, the latest raised first."""

    def history(
        self, before: int | None = None, most: int = 100
    ) -> list[tuple[int, dict[str, Any]]]:
        """Some alarms as they were at their last event, the latest raised first.

        Each comes with a number; given as `before`, the alarms raised before it follow.
        """

    def alarm(self, id: str) -> dict[str, Any] | None:
        """One alarm as it was at its last event; None if it is not known, or forgotten."""

    def attach(self, id: str, content: bytes) -> None:
        """Keep something with an alarm, instead of what was kept with it before.

        At most 16 MiB. It goes when its alarm is forgotten, and also, the oldest first, when there
        is too much of it. The watch does not have to wait for this. Raises `StreamError` if it is
        too large, or there is no such alarm.
        """

    def attached(self, id: str) -> bytes | None:
        """What is kept with an alarm; None if nothing is, or no longer."""

    def delivered(self, sink: str) -> tuple[int, Any] | None:
        """Number of the last event that a sink has got, and its mark; None if it is new here."""

    def deliver(self, sink: str, number: int, mark: Any = None) -> None:
        """Remember that."""

    def expect(self, sinks: Collection[str]) -> None:
        """These are all the sinks there are now: history is not kept for others any longer."""

    def ask(self, action: Mapping[str, Any]) -> int:
        """Leave something to be done by the running watch; gives the number to ask about it."""

    def asked(self) -> list[Asked]:
        """What was asked for and not yet answered, oldest first.

        Whoever holds the lock takes it with this, and is to answer it: nobody can take it back any
        more. After a kill the next holder finds it here again.
        """

    def answer(self, number: int) -> Mapping[str, Any] | None:
        """What came of it: ``{"events": […]}`` or ``{"error": "…"}``; None if nothing yet."""

    def withdraw(self, number: int) -> bool:
        """Take back what was asked for: then it is not done.

        False if it has been answered already, or a watch has taken it and will do it as soon as it
        can.
        """

    def forget(self, keep: Retention, now: float) -> int:
        """Forget the oldest history; gives how many events went.

        Nothing goes that a sink has still to get. Only a store in memory, which must not grow for
        as long as a sink is away, lets the oldest of that go when there is too much of it.
        """

    def close(self) -> None:
        """No more; safe to call twice."""
