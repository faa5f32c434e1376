"""`HealthAlarms`: the alarms about signals that cannot be trusted, at most one for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from causewatch.errors import UnknownNameError
from causewatch.monitor.book import AlarmBook
from causewatch.monitor.tracks import Track

__all__ = ["HealthAlarms", "Pending"]


@dataclass(slots=True)
class Pending:
    """A health problem that has not lasted long enough for an alarm."""

    problem: str
    onset: int
    ticks: int = 0


class HealthAlarms:
    """Raises, updates and clears the health alarms of a book.

    An alarm is raised once its problem has lasted `health_after` ticks, and cleared once the signal
    has been well for `clear_after` ticks.
    """

    def __init__(self, book: AlarmBook) -> None:
        self._book = book
        self.pending: dict[str, Pending] = {}

    def snapshot(self) -> dict[str, Any]:
        """What waits, as plain values."""
        return {"pending": {name: list(astuple(wait)) for name, wait in self.pending.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `snapshot`."""
        self.pending = {name: Pending(*fields) for name, fields in state["pending"].items()}

    def note(self, time: int, problems: Mapping[str, str | None]) -> None:
        """Take note of what is wrong with signals, None if nothing is."""
        book = self._book
        for name, problem in problems.items():
            if name not in book.index:
                raise UnknownNameError(name, "signal", book.names)
            if name in book.health:
                book.health[name].problem = problem
            elif problem is None:
                self.pending.pop(name, None)
            elif name in self.pending:
                self.pending[name].problem = problem
            else:
                self.pending[name] = Pending(problem, int(time))

    def step(self) -> None:
        """Go on by one tick."""
        book, rules = self._book, self._book.settings
        for track in list(book.health.values()):
            track.below = track.below + 1 if track.problem is None else 0
            if track.below >= rules.clear_after:
                book.close(track)
            else:
                self._tell_problem(track)
        for name, pending in list(self.pending.items()):
            pending.ticks += 1
            if pending.ticks >= rules.health_after:
                self._raise(name)

    def raise_now(self, name: str) -> None:
        """Raise the alarm for a problem without waiting, or bring it up to date."""
        if name in self._book.health:
            self._tell_problem(self._book.health[name])
        else:
            self._raise(name)

    def _raise(self, name: str) -> None:
        """Raise the alarm for a problem that has been waiting, unless it is shelved."""
        book, place = self._book, self._book.index[name]
        if book.shelves.muted["health"][place]:
            return
        pending = self.pending.pop(name)
        signal = np.arange(len(book.names)) == place
        event, track = book.open("health", signal, pending.onset, name)
        track.problem = pending.problem
        book.health[name] = track
        book.tell(event, track, problem=pending.problem)

    def _tell_problem(self, track: Track) -> None:
        """Update an alarm whose problem has changed since its last event."""
        alarm = track.alarm
        if track.problem not in (None, alarm.problem) and alarm.shelved_until is None:
            self._book.tell("updated", track, problem=track.problem)
