"""The bucket: a signal that is loud alone for long, or again and again, loses its say for a while.

Each signal has a bucket of `capacity` ticks. A tick at which it is loud alone adds 1, a raise after
quiet adds a quarter of the capacity, a quiet tick takes 1/24 away. A full bucket lifts the signal's
limit over what it has been doing, at most twofold each time, and is emptied; the lift decays over
days.
"""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bucket"]

Floats = NDArray[np.float64]

HOURS = 4.0
LEAST_TICKS = 500
RAISE = 0.25
"""What a lone raise adds, as a share of the capacity."""
APART = 6
"""A signal raises anew after more than so many quiet ticks."""
LEAK = 1.0 / 24.0
OVER = 1.3
"""The limit is lifted to this many times the peak …"""
MOST = 2.0
"""… and by at most this factor each time, but for guarded signals."""
COMPANY = 1
"""How many others may be loud while a signal counts as alone."""


class Bucket:
    """The buckets of all signals of one stream.

    Parameters
    ----------
    signals, guarded
        How many signals have a mechanism, and how many are guarded; evidence has the first ones
        first.
    neighbours
        Which signals with a mechanism are cause or effect of which others.
    every
        Length of a tick in seconds.
    """

    def __init__(
        self, signals: int, guarded: int, neighbours: NDArray[np.bool_], every: float
    ) -> None:
        number = signals + guarded
        self.capacity = max(HOURS * 3600.0 / every, LEAST_TICKS)
        self._decay = exp(-LEAK / self.capacity)
        self._guarded = np.arange(number) >= signals
        self._neighbours = np.zeros((number, number), dtype=np.float64)
        self._neighbours[:signals, :signals] = neighbours
        np.fill_diagonal(self._neighbours, 0.0)
        self._level, self._peak = np.zeros(number), np.zeros(number)
        self._lift = np.ones(number)
        self._quiet = np.full(number, APART + 1)

    def lifted(self, evidence: Floats) -> Floats:
        """Evidence (ticks × signals) in units of limits as they are at each tick."""
        out = np.empty_like(evidence)
        for k, row in enumerate(evidence):
            out[k] = self._step(row)
        return out

    def _step(self, evidence: Floats) -> Floats:
        height = evidence / self._lift
        loud = height > 1.0
        if not loud.any():
            self._quiet += 1
            np.maximum(self._level - LEAK, 0.0, out=self._level)
            np.maximum(self._lift * self._decay, 1.0, out=self._lift)
            return height
        alone = loud & (loud.sum() - 1 <= COMPANY) & ~(self._neighbours @ loud > 0)
        raised = alone & (self._quiet > APART)
        self._quiet = np.where(loud, 0, self._quiet + 1)
        self._level += alone + RAISE * self.capacity * raised
        self._level[~loud] = np.maximum(self._level[~loud] - LEAK, 0.0)
        self._lift[~loud] = np.maximum(self._lift[~loud] * self._decay, 1.0)
        self._peak = np.where(alone, np.maximum(self._peak, evidence), self._peak)
        full = self._level >= self.capacity
        if full.any():
            over = OVER * self._peak
            bounded = np.where(self._guarded, over, np.minimum(over, MOST * self._lift))
            self._lift[full] = np.maximum(bounded, 1.0)[full]
            self._level[full] = self._peak[full] = 0.0
        return height
