"""The last ticks of a stream, kept so that an alarm can be explained and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Course", "Recorder"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Course:
    """A run of ticks as the monitor saw them; time is axis 0, signals are axis 1.

    Attributes
    ----------
    signals
        Column names: the model's signals, then the guarded ones.
    time
        Of each tick, in nanoseconds.
    values
        What was seen (NaN: missing).
    expected
        What each signal's causes said it should be (NaN: unknown).
    innovation
        The difference in units of the mechanism's spread, drift taken off (NaN: unknown).
    evidence
        Against each signal, in units of its limit (NaN: unknown).
    score
        Of each tick (NaN: none); above 1 is above the alarm limit.
    """

    signals: tuple[str, ...]
    time: Ints
    values: Floats
    expected: Floats
    innovation: Floats
    evidence: Floats
    score: Floats

    def __len__(self) -> int:
        return len(self.time)

    def to_state(self) -> dict[str, Any]:
        """The arrays."""
        return {name: getattr(self, name) for name in ("time", "score", *FIELDS)}

    @classmethod
    def from_state(cls, signals: tuple[str, ...], state: dict[str, Any]) -> Course:
        """See `to_state`."""
        return cls(signals, **state)


FIELDS = ("values", "expected", "innovation", "evidence")


class Recorder:
    """A ring of the last ticks.

    Parameters
    ----------
    signals
        Column names.
    ticks
        How many are kept.
    """

    def __init__(self, signals: tuple[str, ...], ticks: int) -> None:
        self._signals = signals
        self._size = ticks
        self._time = np.zeros(ticks, dtype=np.int64)
        self._score = np.full(ticks, np.nan)
        self._rows = np.full((len(FIELDS), ticks, len(signals)), np.nan)
        self._count = 0

    def add(
        self,
        time: int,
        score: float | None,
        values: Floats,
        expected: Floats,
        innovation: Floats,
        evidence: Floats,
    ) -> None:
        """Keep one tick; the oldest one is forgotten.

        Where the clock was set back, all before it is: it would count as what is still to come.
        """
        if self._count and time < self._time[(self._count - 1) % self._size]:
            self._count = 0
        at = self._count % self._size
        self._time[at] = time
        self._score[at] = np.nan if score is None else score
        rows = self._rows
        rows[0, at], rows[1, at], rows[2, at], rows[3, at] = values, expected, innovation, evidence
        self._count += 1

    def course(self, since: int | None = None) -> Course:
        """A copy of what is kept, oldest first; with `since` only ticks from that time on."""
        kept = min(self._count, self._size)
        order = np.arange(self._count - kept, self._count) % self._size
        if since is not None:
            order = order[self._time[order] >= since]
        rows = self._rows[:, order]
        return Course(
            self._signals, self._time[order], rows[0], rows[1], rows[2], rows[3], self._score[order]
        )

    def snapshot(self) -> dict[str, Any]:
        """Everything kept."""
        return {
            "time": self._time.copy(),
            "score": self._score.copy(),
            "rows": self._rows.copy(),
            "count": self._count,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self._time[:] = state["time"]
        self._score[:] = state["score"]
        self._rows[:] = state["rows"]
        self._count = int(state["count"])
