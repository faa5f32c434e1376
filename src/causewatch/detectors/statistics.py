"""The statistics that the default detector keeps of each signal: small objects, one beside another.

A statistic takes in a tick and says how large it is by now (its *size*, never negative). Sizes are
held against limits that normal operation has set. All of them start from nothing after a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.habits import UNCHANGED
from causewatch.detectors.limits import Limits

__all__ = [
    "MeanSquare",
    "Observed",
    "Standstill",
    "Statistic",
    "WeightedMean",
    "changed",
    "statistics_of",
]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Observed(NamedTuple):
    """One tick as statistics see it, by signal.

    Attributes
    ----------
    values
        What the signals show; NaN where missing.
    fresh
        Which of them have a value of their own and not one that is held.
    innovation
        What the mechanisms leave, in spreads; 0 where not known.
    known
        Where it is known.
    """

    values: Floats
    fresh: Flags
    innovation: Floats
    known: Flags


class Statistic(Protocol):
    """Something that is small in normal operation and grows when a mechanism changes."""

    state: Floats

    def step(self, tick: Observed) -> Floats:
        """Take in a tick; the size by now, by signal."""

    def reset(self, signals: Flags) -> None:
        """Begin again for some signals."""


class WeightedMean:
    """Exponentially weighted mean of the innovations: ``m ← m + (z − m) / memory``.

    Parameters
    ----------
    memory
        In ticks.
    most
        Innovations are cut here, by signal.
    """

    def __init__(self, memory: int, most: Floats) -> None:
        self.state: Floats = np.zeros(len(most))
        self._gain, self._most = 1.0 / memory, most

    def step(self, tick: Observed) -> Floats:
        """See `Statistic`."""
        gain = self._gain * tick.known
        innovation = np.minimum(np.maximum(tick.innovation, -self._most), self._most)
        # Not m + (z − m) · gain: the rounding of a wild value would stay.
        self.state *= 1.0 - gain
        self.state += innovation * gain
        return np.abs(self.state)

    def reset(self, signals: Flags) -> None:
        """See `Statistic`."""
        self.state[signals] = 0.0


class MeanSquare:
    """Root of the exponentially weighted mean square: about 1 in normal operation.

    The root makes it an amplitude, as the mean is, so that one margin suits both.

    Parameters
    ----------
    memory
        In ticks.
    most
        Squares are cut here, by signal.
    """

    def __init__(self, memory: int, most: Floats) -> None:
        self.state: Floats = np.ones(len(most))
        self._gain, self._most = 1.0 / memory, most

    def step(self, tick: Observed) -> Floats:
        """See `Statistic`."""
        squares = np.minimum(tick.innovation * tick.innovation, self._most)
        self.state += (squares - self.state) * (self._gain * tick.known)
        return np.sqrt(self.state)

    def reset(self, signals: Flags) -> None:
        """See `Statistic`."""
        self.state[signals] = 1.0


class Standstill:
    """For how long a signal has shown the same value while the rest of the plant moved.

    Each tick counts as the number of other moving signals that changed in it, in units of the
    usual number, at most 1: when the whole plant stands still no single signal is stuck.

    Parameters
    ----------
    moving
        Signals whose standing still says something.
    usual
        How many of them change in a usual tick.
    """

    def __init__(self, moving: Flags, usual: float) -> None:
        self.state: Floats = np.zeros(len(moving))
        self.last: Floats = np.full(len(moving), np.nan)
        self._moving, self._usual = moving, max(usual, 1.0)

    def step(self, tick: Observed) -> Floats:
        """See `Statistic`."""
        shown = tick.fresh & np.isfinite(tick.values)
        moved = changed(tick.values, self.last) & shown
        moving = moved & self._moving
        others = np.count_nonzero(moving) - moving
        self.state += np.where(shown, np.minimum(others / self._usual, 1.0), 0.0)
        self.state[moved | (shown & np.isnan(self.last))] = 0.0
        self.last = np.where(shown, tick.values, self.last)
        return np.where(shown, self.state, 0.0)

    def reset(self, signals: Flags) -> None:
        """See `Statistic`."""
        self.state[signals] = 0.0
        self.last[signals] = np.nan


def changed(values: Floats, before: Floats) -> Flags:
    """Where a value is another one than before, by more than rounding; never where one is missing.

    A mean over nine rows and one over ten differ in the last digit even if all rows are the same.
    """
    return np.asarray(np.abs(values - before) > UNCHANGED * np.abs(values))


def statistics_of(limits: Limits) -> tuple[Sequence[Statistic], Standstill]:
    """The statistics of innovations, and the standstill, which comes last in every table.

    What enters a memory is cut at a multiple of its limit, and nowhere later than when limits were
    learnt: what normal operation showed must not pass. A memory of one tick has nothing to forget
    and takes everything.
    """
    settings = limits.settings
    rows = iter(limits.statistics)
    statistics: list[Statistic] = []
    for memory in settings.means:
        most = np.minimum(settings.memory_cut * next(rows), settings.clip)
        statistics.append(WeightedMean(memory, most if memory > 1 else np.full_like(most, np.inf)))
    for memory in settings.squares:
        most = np.minimum(settings.memory_cut * next(rows) ** 2, settings.clip**2)
        statistics.append(MeanSquare(memory, most))
    return statistics, Standstill(limits.mobile, limits.moving)
