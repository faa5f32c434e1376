"""What a simulated machine gives: a recording, and the truth about what was done to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Episode", "Run"]


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
    """

    signals: tuple[str, ...]
    values: NDArray[np.float64]
    interval: float
    episodes: tuple[Episode, ...] = ()
    hidden: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

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
        return [
            {
                "name": episode.name,
                "start": episode.start,
                "end": episode.end,
                "signals": list(episode.signals),
                "description": episode.description,
            }
            for episode in self.episodes
        ]
