"""Patience: what is odd alone, for hours, is a new normal and not an emergency."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Patience"]

Floats = NDArray[np.float64]

HOURS = 8.0
LEAST_TICKS = 500
"""A signal may be odd alone for this long: at least so many hours and so many ticks."""


class Patience:
    """Counts for how long one signal has been above its limit with nothing else wrong.

    Parameters
    ----------
    signals
        How many.
    every
        Length of a tick in seconds.
    """

    def __init__(self, signals: int, every: float) -> None:
        self._most = max(LEAST_TICKS, round(HOURS * 3600 / every))
        self._signal = -1
        self._ticks = 0

    def update(self, score: float, signals: Floats) -> int | None:
        """The signal whose time is up at this tick, if there is one."""
        if score <= 1.0:
            self._signal, self._ticks = -1, 0
            return None
        known = np.nan_to_num(signals)
        loudest = int(np.argmax(known))
        company = np.count_nonzero(known > 1.0) > 1
        if company or loudest != self._signal:
            self._signal, self._ticks = -1 if company else loudest, 0
            return None
        self._ticks += 1
        if self._ticks < self._most:
            return None
        self._signal, self._ticks = -1, 0
        return loudest

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on."""
        return {"signal": self._signal, "ticks": self._ticks}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self._signal, self._ticks = int(state["signal"]), int(state["ticks"])
