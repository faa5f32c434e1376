"""Lifts: a signal that is loud alone for hours, or again and again, loses its say for a while.

A sensor that settled elsewhere stands in alarm for days and hides the rest; one that drifts about
its limit chatters. Neither is an emergency, and both are a matter of health. Each signal has a
bucket: a tick at which it is loud alone adds 1, a raise after quiet a share of the capacity, a
quiet tick takes a little away; once it is empty, what the signal did is forgotten. When the bucket
is full the signal's limit is lifted over what it has been doing, but at most twofold, so that worse
trouble on the same signal raises again. The lift decays over days once the signal is back within
the limit that was learnt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations
from causewatch.detectors.settings import DetectorSettings

__all__ = ["Lifts"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Lifts:
    """The buckets of all signals of one stream.

    Parameters
    ----------
    equations
        Whose links say which signals are neighbours: trouble of neighbours is not alone.
    guarded
        How many guarded signals come after the model's.
    every
        Length of a tick in seconds.
    settings
        The numbers.
    """

    def __init__(
        self, equations: Equations, guarded: int, every: float, settings: DetectorSettings
    ) -> None:
        number = equations.signals + guarded
        self._settings = settings
        self._capacity = settings.lift_capacity(every)
        self._apart = max(float(settings.lift_quiet), settings.lift_apart * self._capacity)
        self._decay = float(np.exp(-settings.lift_fade / self._capacity))
        self._guarded = np.arange(number) >= equations.signals
        self._near = np.pad(equations.effects | equations.effects.T, (0, guarded))
        self._level, self._peak = np.zeros((2, number))
        self._quiet = np.full(number, self._apart + 1.0)
        self.lift: Floats = np.ones(number)
        """What each limit is multiplied by at present."""

    def step(self, evidence: Floats) -> tuple[Floats, Flags | None]:
        """Take in one tick.

        Parameters
        ----------
        evidence
            By signal, 1 at the limit that is not lifted; NaN: unknown.

        Returns
        -------
        heights, full
            Evidence in units of the lifted limits, and the signals whose limit was lifted by this
            tick (None: none).
        """
        heights = evidence / self.lift
        loud = heights > 1.0
        calm = ~loud
        np.maximum(self._level - self._settings.lift_leak, 0.0, out=self._level, where=calm)
        np.maximum(self.lift * self._decay, 1.0, out=self.lift, where=~(evidence > 1.0))
        self._peak *= self._level > 0.0
        if not self._settings.lifts or not loud.any():
            self._quiet += 1.0
            return heights, None
        alone = loud & ~self._near[:, loud].any(axis=1)
        alone &= np.count_nonzero(loud) - 1 <= self._settings.lift_company
        raised = loud & (self._quiet > self._apart)
        self._quiet = np.where(loud, 0.0, self._quiet + 1.0)
        self._level += alone + self._settings.lift_raise * self._capacity * raised
        counted = loud & (self._level > 0.0)
        self._peak = np.where(counted, np.maximum(self._peak, evidence), self._peak)
        full = self._level >= self._capacity
        if not full.any():
            return heights, None
        over = self._settings.lift_over * self._peak
        bounded = np.minimum(over, self._settings.lift_most * self.lift)
        lifted = np.maximum(np.where(self._guarded, over, bounded), 1.0)
        self.lift[full] = lifted[full]
        self._level[full] = self._peak[full] = 0.0
        return heights, full

    def reset(self, signal: int) -> None:
        """The signal was accepted as it is: its limit is the learnt one again."""
        self.lift[signal] = 1.0
        self._level[signal] = self._peak[signal] = 0.0
        self._quiet[signal] = self._apart + 1.0

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Everything the future depends on."""
        return {"buckets": np.stack([self._level, self._peak, self._quiet, self.lift])}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on from a snapshot."""
        self._level, self._peak, self._quiet, self.lift = np.asarray(state["buckets"]).copy()
