"""The last ticks of a stream, kept so that an alarm can be explained and drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.monitor.stateful import Stateful

__all__ = ["FIELDS", "Course", "Recorder"]

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
    low, high
        The smallest and the largest value of the rows of each tick; unless given, the values, as
        with ticks of one row.
    """

    signals: tuple[str, ...]
    time: Ints
    values: Floats
    expected: Floats
    innovation: Floats
    evidence: Floats
    score: Floats
    low: Floats = field(default_factory=lambda: np.empty(0))
    high: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if len(getattr(self, name)) != len(self.values):
                object.__setattr__(self, name, self.values)

    def __len__(self) -> int:
        return len(self.time)

    def to_state(self) -> dict[str, Any]:
        """The arrays."""
        return {name: getattr(self, name) for name in ("time", "score", *FIELDS)}

    @classmethod
    def from_state(cls, signals: tuple[str, ...], state: dict[str, Any]) -> Course:
        """See `to_state`."""
        return cls(signals, **state)


FIELDS = ("values", "expected", "innovation", "evidence", "low", "high")


class Recorder(Stateful):
    """A ring of the last ticks.

    Parameters
    ----------
    signals
        Column names.
    ticks
        How many are kept.
    """

    STATE = ("_time", "_score", "_rows", "_count")

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
        low: Floats,
        high: Floats,
    ) -> None:
        """Keep one tick; the oldest one is forgotten.

        Where the clock was set back, all before it is: it would count as what is still to come.
        """
        if self._count and time < self._time[(self._count - 1) % self._size]:
            self._count = 0
        at = self._count % self._size
        self._time[at] = time
        self._score[at] = np.nan if score is None else score
        for rows, array in zip(
            self._rows, (values, expected, innovation, evidence, low, high), strict=True
        ):
            rows[at] = array
        self._count += 1

    def course(self) -> Course:
        """A copy of what is kept, oldest first."""
        kept = min(self._count, self._size)
        order = np.arange(self._count - kept, self._count) % self._size
        parts = dict(zip(FIELDS, self._rows[:, order], strict=True))
        return Course(self._signals, self._time[order], score=self._score[order], **parts)
