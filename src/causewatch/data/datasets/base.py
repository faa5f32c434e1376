"""What every loader of a public dataset gives: recordings with their truth, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from causewatch.data.table import Note, TimeTable, format_time

__all__ = ["Dataset", "Event", "Recording"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something known to have gone wrong in a recording.

    Attributes
    ----------
    name
        What the publisher calls it, e.g. ``"8"`` or ``"coolant exp_22"``.
    start, end
        Times as in `TimeTable.time` (nanoseconds), half-open.
    signals
        Where it acts; empty where that is not known.
    description
        What was done, for people.
    """

    name: str
    start: int
    end: int
    signals: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """One stretch of a dataset, as one table.

    Attributes
    ----------
    name
        File name without its ending, or what the publisher calls the run.
    table
        The signals; `TimeTable.labels` is set wherever the dataset has labels by row.
    events
        What went wrong in it, by start.
    category
        The publisher's word for what kind of run it is; empty if there is none.
    """

    name: str
    table: TimeTable
    events: tuple[Event, ...] = ()
    category: str = ""

    @property
    def causes(self) -> list[dict[str, Any]]:
        """The events as ``causes.json`` has them, with times as text where the clock has times.

        Where rows are counted, start and end are row numbers.
        """
        return [
            {
                "name": event.name,
                "start": self._moment(event.start),
                "end": self._moment(event.end),
                "signals": list(event.signals),
                "description": event.description,
                "file": f"{self.name}.csv",
            }
            for event in self.events
        ]

    def _moment(self, time: int) -> str | int:
        if self.table.clock in ("naive", "utc"):
            return format_time(time, self.table.clock)
        return int(self.table.time.searchsorted(time))


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public dataset as its publisher means it to be used.

    Attributes
    ----------
    name
        Short name, e.g. ``"swat"``.
    version
        Which version was found, as one sentence for people.
    normal
        Recordings to learn from.
    test
        Recordings to watch.
    stages
        Groups of signals as the publisher has them, e.g. plant stages; may be empty.
    notes
        What else a reader should know.
    """

    name: str
    version: str
    normal: tuple[Recording, ...]
    test: tuple[Recording, ...]
    stages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
