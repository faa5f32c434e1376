"""What a simulated machine gives: a recording, and the truth about what was done to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Change", "Episode", "Run"]


@dataclass(frozen=True, slots=True)
class Episode:
    """Something that was done to a machine during rows `start` to `end` (half-open).

    Attributes
    ----------
    name
        Name in ``causes.json`` and of ``--attacks``.
    start, end
        Rows of the recording, counted from 0.
    signals
        The signals that were attacked.
    description
        What was done and what comes of it, for people.
    """

    name: str
    start: int
    end: int
    signals: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change in the life of a machine that is part of normal operation.

    Attributes
    ----------
    name
        Name in ``changes.json``.
    kind
        What sort of change it is.
    start
        First row, counted from 0.
    end
        Row after the last, or None if the change lasts.
    signals
        The signals in which it begins.
    description
        What was changed and what comes of it, for people.
    """

    name: str
    kind: str
    start: int
    end: int | None
    signals: tuple[str, ...]
    description: str


@dataclass(frozen=True, eq=False)
class Run:
    """A recording of a simulated machine, and the truth about it.

    Attributes
    ----------
    signals
        Column names.
    values
        Rows × signals as the control system shows them.
    interval
        Seconds between two rows.
    episodes
        What was done to the machine, by start.
    hidden
        Quantities that no sensor shows, by name, one number per row: for checks and for teaching.
    life
        What changed in normal operation, by start.
    """

    signals: tuple[str, ...]
    values: NDArray[np.float64]
    interval: float
    episodes: tuple[Episode, ...] = ()
    hidden: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    life: tuple[Change, ...] = ()

    @property
    def labels(self) -> NDArray[np.int8]:
        """One number per row: 1 while something is done to the machine, 0 otherwise."""
        labels = np.zeros(len(self.values), dtype=np.int8)
        for episode in self.episodes:
            labels[episode.start : episode.end] = 1
        return labels

    @property
    def causes(self) -> list[dict[str, Any]]:
        """The episodes as ``causes.json`` has them: name, start, end (half-open rows), signals."""
        return [_entry(episode) for episode in self.episodes]

    @property
    def changes(self) -> list[dict[str, Any]]:
        """What changed in normal operation, as ``changes.json`` has it."""
        return [_entry(change) for change in self.life]


def _entry(truth: Change | Episode) -> dict[str, Any]:
    return {**asdict(truth), "signals": list(truth.signals)}
