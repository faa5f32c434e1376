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
from causewatch.detectors.settings import DetectorSettings

__all__ = [
    "MeanSquare",
    "Observed",
    "Standstill",
    "Statistic",
    "WeightedMean",
    "changed",
    "cuts_of",
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
        Innovations are cut here, by signal.
    """

    def __init__(self, memory: int, most: Floats) -> None:
        self.state: Floats = np.ones(len(most))
        self._gain, self._most = 1.0 / memory, most

    def step(self, tick: Observed) -> Floats:
        """See `Statistic`."""
        size = np.minimum(np.abs(tick.innovation), self._most)
        self.state += (size * size - self.state) * (self._gain * tick.known)
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


def cuts_of(limits: Floats, settings: DetectorSettings) -> Floats:
    """Where innovations are cut before they enter each statistic, in spreads.

    At a multiple of the limit (squares: of the squared limit), or at so many spreads where there is
    none: while limits are learnt. A mean of one tick has nothing to forget and takes everything.

    Parameters
    ----------
    limits
        Of means and squares (rows), by signal.
    settings
        What they remember, and the multiple.
    """
    means = np.arange(len(limits)) < len(settings.means)
    times = np.where(means, settings.memory_cut, np.sqrt(settings.memory_cut))
    cuts = np.where(np.isfinite(limits), times[:, None] * limits, settings.clip)
    cuts[means & (np.array([*settings.means, *settings.squares]) == 1)] = np.inf
    return np.asarray(cuts)


def statistics_of(limits: Limits) -> tuple[Sequence[Statistic], Standstill]:
    """The statistics of innovations, and the standstill, which comes last in every table."""
    means, squares = limits.settings.means, limits.settings.squares
    cuts = iter(cuts_of(limits.statistics[:-1], limits.settings))
    statistics: list[Statistic] = [
        *(WeightedMean(memory, next(cuts)) for memory in means),
        *(MeanSquare(memory, next(cuts)) for memory in squares),
    ]
    return statistics, Standstill(limits.mobile, limits.moving)
