"""Guards: signals that stood still in normal operation, and so have no mechanism.

Discovery drops a signal that never moves, although it is just such signals that attacks and faults
move. A guard holds its value against the range it kept to in normal operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GuardRanges", "Guards"]

Floats = NDArray[np.float64]

MARGIN = 0.5
"""How far outside its range a signal may go, as a share of the range."""
LARGEST = 1e12
LEAST_MARGIN = 1e-3
"""The same as a share of the value's size, for signals without any range."""


@dataclass(frozen=True, eq=False)
class GuardRanges:
    """The ranges that guarded signals kept to in normal operation, by column number."""

    low: Floats
    high: Floats

    @property
    def margin(self) -> Floats:
        """How far outside a signal is at evidence 1."""
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        least = np.maximum(LEAST_MARGIN * size, 1e-9)
        return np.asarray(np.maximum(MARGIN * (self.high - self.low), least))


class Guards:
    """Watches signals that stood still in normal operation.

    Parameters
    ----------
    ranges
        What is normal.
    """

    def __init__(self, ranges: GuardRanges) -> None:
        self._low, self._high = ranges.low.copy(), ranges.high.copy()
        self._margin = ranges.margin
        self._value = np.full(len(self._low), np.nan)

    def __len__(self) -> int:
        return len(self._low)

    def update(self, values: Floats) -> Floats:
        """Evidence of each signal: above 1 outside its range; NaN where it is missing."""
        values = np.where(np.isfinite(values), values, np.nan)
        self._value = np.where(np.isfinite(values), values, self._value)
        with np.errstate(over="ignore", invalid="ignore"):
            outside = np.maximum(self._low - values, values - self._high) / self._margin
        outside = np.clip(outside, 0.0, LARGEST)
        # Beyond the limit only the order of magnitude counts: a switch from 1 to 2 may be hundreds
        # of margins away.
        return np.asarray(np.where(outside > 1.0, 1.0 + np.log(np.maximum(outside, 1.0)), outside))

    def expected(self) -> Floats:
        """The middle of each range."""
        return np.asarray((self._low + self._high) / 2)

    def accept(self, signal: int) -> None:
        """Take the present value of a signal for normal from now on."""
        value = self._value[signal]
        if np.isfinite(value):
            self._low[signal] = min(self._low[signal], value)
            self._high[signal] = max(self._high[signal], value)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Everything the future depends on."""
        return {"low": self._low.copy(), "high": self._high.copy(), "value": self._value.copy()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on from a snapshot."""
        self._low[:] = state["low"]
        self._high[:] = state["high"]
        self._value = np.asarray(state["value"]).copy()
