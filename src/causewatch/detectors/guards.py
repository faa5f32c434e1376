"""Guards: the mechanisms of signals that stood still or were the same as another one.

Discovery drops a signal that never moves, although it is just such signals that attacks and faults
move. Its mechanism is a constant: a guard holds its value against the range it kept to in normal
operation. Discovery also drops the second of two signals that were always equal; its guard holds it
against the first, its twin.

A stream may begin with another constant than the one learnt: a recipe, a counter, a set-point. That
is no event, because nothing has happened: the range is widened to take it in, and it is reported as
a matter of health (`Guards.unlike`). What leaves the range after that is evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.settings import DetectorSettings

__all__ = ["GuardRanges", "Guards"]

Floats = NDArray[np.float64]


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

    def margin(self, settings: DetectorSettings) -> Floats:
        """How far outside a signal is at evidence 1."""
        size = np.maximum(1.0, np.maximum(np.abs(self.low), np.abs(self.high)))
        least = settings.guard_least * size
        with np.errstate(over="ignore"):
            return np.asarray(np.maximum(settings.guard_margin * (self.high - self.low), least))


class Guards:
    """Watches signals that have no mechanism but a constant.

    Parameters
    ----------
    ranges
        What is normal.
    settings
        Margins.
    """

    def __init__(self, ranges: GuardRanges, settings: DetectorSettings | None = None) -> None:
        settings = settings or DetectorSettings()
        self._most = settings.guard_most
        self._low, self._high = ranges.low.copy(), ranges.high.copy()
        self._margin = (
            ranges.margin(settings) if settings.guards else np.full(len(ranges.low), np.inf)
        )
        self._twin = ranges.twin.copy()
        with np.errstate(over="ignore"):
            width = settings.twin_margin * (self._high - self._low)
        self._apart = np.maximum(width, self._margin / self._most)
        self._other = np.full(len(self._low), np.nan)  # what the twins show
        self._value = np.full(len(self._low), np.nan)
        self.unlike: NDArray[np.bool_] = np.zeros(len(self._low), dtype=np.bool_)
        """Signals that began, at the last tick, with another constant than the one learnt."""

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
        with np.errstate(over="ignore", invalid="ignore"):
            outside = self._outside(values)
            first = np.isnan(self._value) & np.isfinite(values)
            self.unlike = first & (outside > 1.0)
            if self.unlike.any():
                for place in np.flatnonzero(self.unlike):
                    self._widen(int(place), float(values[place]))
                outside = self._outside(values)
            self._value = np.where(np.isfinite(values), values, self._value)
            paired = self._twin >= 0
            if others is not None and paired.any():
                other = others[self._twin]
                self._other = np.where(paired & np.isfinite(other), other, np.nan)
                apart = np.nan_to_num(np.abs(values - self._other) / self._apart)
                outside = np.maximum(outside, apart)
        outside = np.clip(outside, 0.0, self._most)
        # Beyond the limit only the order of magnitude counts: a switch from 1 to 2 may be hundreds
        # of margins away.
        return np.asarray(np.where(outside > 1.0, 1.0 + np.log(np.maximum(outside, 1.0)), outside))

    def expected(self) -> Floats:
        """What the twin shows, or the middle of the range."""
        middle = self._low / 2 + self._high / 2
        return np.asarray(np.where(np.isfinite(self._other), self._other, middle))

    def accept(self, signal: int) -> None:
        """Take the present value of a signal for normal from now on."""
        if np.isfinite(self._value[signal]):
            self._widen(signal, float(self._value[signal]))
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
        self._twin[:] = state["twin"]
        self._other[:] = state["other"]

    def _outside(self, values: Floats) -> Floats:
        """How far values are beyond their ranges, in margins."""
        return np.asarray(np.maximum(self._low - values, values - self._high) / self._margin)

    def _widen(self, signal: int, value: float) -> None:
        self._low[signal] = min(self._low[signal], value)
        self._high[signal] = max(self._high[signal], value)
