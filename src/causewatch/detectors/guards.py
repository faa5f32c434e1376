"""Guards: signals without a mechanism, because they stood still or were the same as another one.

Discovery drops a signal that never moves, although it is just such signals that attacks and faults
move. A guard holds its value against the range it kept to in normal operation. It also drops the
second of two signals that were always equal; its guard holds it against the first, its twin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
FEW_MARGINS = 2.0
"""What the least departure of a signal that always was 0 counts, in margins. Of such a signal no
size is known. Any departure is one, but how far it goes is measured as if 1 were its size:
a step from 0 to 1 must not count for more than one from 1 to 0."""
TWIN_MARGIN = 0.05
"""How far twins may be apart, as a share of their range: two clocks never agree to the row."""


@dataclass(frozen=True, eq=False)
class GuardRanges:
    """What guarded signals kept to in normal operation, by column number.

    Attributes
    ----------
    low, high
        Their ranges.
    twin
        Place of the signal of the model that each was always equal to; -1 where there is none.
    """

    low: Floats
    high: Floats
    twin: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if len(self.twin) != len(self.low):
            object.__setattr__(self, "twin", np.full(len(self.low), -1, dtype=np.int64))

    @property
    def margin(self) -> Floats:
        """How far outside a signal is at evidence 1."""
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        least = np.maximum(LEAST_MARGIN * size, 1e-9)
        return np.asarray(np.maximum(MARGIN * (self.high - self.low), least))


class Guards:
    """Watches signals that have no mechanism.

    Parameters
    ----------
    ranges
        What is normal.
    """

    def __init__(self, ranges: GuardRanges) -> None:
        self._low, self._high = ranges.low.copy(), ranges.high.copy()
        self._margin = ranges.margin
        self._unsized = (self._low == 0.0) & (self._high == 0.0)
        self._twin = ranges.twin.copy()
        self._apart = np.maximum(TWIN_MARGIN * (self._high - self._low), self._margin / LARGEST)
        self._other = np.full(len(self._low), np.nan)  # what the twins show
        self._value = np.full(len(self._low), np.nan)

    def __len__(self) -> int:
        return len(self._low)

    def update(self, values: Floats, others: Floats | None = None) -> Floats:
        """Evidence of each signal, above 1 outside its range or apart from its twin; NaN: missing.

        Parameters
        ----------
        values
            Of the guarded signals.
        others
            Of the signals of the model; twins are compared with them.
        """
        values = np.where(np.isfinite(values), values, np.nan)
        self._value = np.where(np.isfinite(values), values, self._value)
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = np.maximum(self._low - values, values - self._high)
            outside = beyond / self._margin
            few = np.maximum(beyond / LEAST_MARGIN, np.minimum(outside, FEW_MARGINS))
            outside = np.where(self._unsized & (outside > 1.0), few, outside)
            paired = self._twin >= 0
            if others is not None and paired.any():
                self._other = np.where(paired, others[self._twin], np.nan)
                apart = np.nan_to_num(np.abs(values - self._other) / self._apart)
                outside = np.maximum(outside, apart)
        outside = np.clip(outside, 0.0, LARGEST)
        # Beyond the limit only the order of magnitude counts: a switch from 1 to 2 may be hundreds
        # of margins away.
        return np.asarray(np.where(outside > 1.0, 1.0 + np.log(np.maximum(outside, 1.0)), outside))

    def expected(self) -> Floats:
        """What the twin shows, or the middle of the range."""
        middle = (self._low + self._high) / 2
        return np.asarray(np.where(np.isfinite(self._other), self._other, middle))

    def accept(self, signal: int) -> None:
        """Take the present value of a signal for normal from now on."""
        value = self._value[signal]
        if np.isfinite(value):
            self._low[signal] = min(self._low[signal], value)
            self._high[signal] = max(self._high[signal], value)
        self._twin[signal] = -1
        self._other[signal] = np.nan

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Everything the future depends on."""
        return {
            "low": self._low.copy(),
            "high": self._high.copy(),
            "value": self._value.copy(),
            "twin": self._twin.copy(),
            "other": self._other.copy(),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on from a snapshot."""
        self._low[:] = state["low"]
        self._high[:] = state["high"]
        self._value = np.asarray(state["value"]).copy()
        # States of earlier versions know no twins.
        self._twin[:] = state.get("twin", self._twin)
        self._other[:] = state.get("other", np.nan)
