"""Detectability: the smallest change of each signal that the default detector would notice in time.

Three changes are looked at, one signal at a time, beginning at some tick of normal operation:

- a *bias*: the sensor shows so much too much from then on, and the plant does not react to it;
- a *drift*: what it shows too much grows by so much at every tick;
- a *mechanism* change: the signal follows its causes more weakly, by so large a share. Its own past
  is none of them: what is slow stays slow when its heater is weak.

The figure is the size that passes a limit in time **in half of the cases**. For that the model
itself is run as a plant: normal ticks drawn from its mechanisms, cut into windows. In each window
the change moves the innovations of the signal and of what it acts on by an amount that follows from
the coefficients; the detector's own statistics take these in and are held against their limits.

Taken for simple: a bias or drift is looked for only in the few mechanisms where it shows most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from causewatch.detectors.equations import Equations
from causewatch.detectors.limits import Limits
from causewatch.detectors.statistics import Observed, statistics_of
from causewatch.errors import SettingError

__all__ = ["WITHIN", "Detectability", "detectability"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

WITHIN = 10
"""Ticks within which a change is to be noticed."""
HALF = 0.5
"""Share of the cases in which it is noticed."""
WINDOWS = 160
"""Cases that are looked at."""
APART = 40
"""Ticks between two of them."""
BURN_IN = 300
"""Ticks before the first window: long memories must be full."""
BOUND = 5.0
"""Simulated signals stay within so many standard deviations, even if the model is unstable."""
PLACES = 4
"""Mechanisms in which the change of a sensor is looked for, at most."""
SIZES = (0.125, 2048.0)
"""Smallest and largest change tried, as the largest innovation it makes."""
SHARES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
"""Changes of a mechanism that are tried first."""
HALVINGS = 8
FREEDOMS = (1000.0, 30.0, 12.0, 8.0, 6.0, 5.0, 4.0, 3.0)
"""Tails that innovations may have, from Gaussian to heavy."""


@dataclass(frozen=True, eq=False)
class Detectability:
    """Smallest changes that are noticed in time in half of the cases, by signal.

    Infinite means: no such change is noticed in time, however large.

    Attributes
    ----------
    within
        Ticks within which they are noticed.
    bias
        Offset of the sensor, in the signal's unit.
    drift
        Growth of an offset per tick, in the signal's unit.
    mechanism
        Share of their effect that all causes of the signal but its own past lose: 1 is all of it,
        2 the opposite effect; larger than 3 counts as infinite. Effects are counted from the
        causes' normal means.
    """

    within: int
    bias: Floats
    drift: Floats
    mechanism: Floats


def detectability(
    equations: Equations,
    limits: Limits,
    within: int = WITHIN,
    *,
    signals: Sequence[int] | None = None,
    seed: int = 0,
) -> Detectability:
    """The smallest changes that are noticed within `within` ticks in half of the cases.

    Parameters
    ----------
    equations, limits
        Of the model.
    within
        Ticks, the one at which the change begins included.
    signals
        Columns to look at; all if not given. The others stay NaN.
    seed
        Of the normal ticks that are drawn.
    """
    if within < 1:
        msg = f"Changes are to be noticed within {within} ticks; at least 1 is needed."
        raise SettingError(msg)
    windows = _Windows(equations, limits, within, np.random.default_rng(seed))
    figures = np.full((3, equations.signals), np.nan)
    for signal in range(equations.signals) if signals is None else signals:
        figures[0, signal] = _sensor(windows, signal, np.ones(within))
        figures[1, signal] = _sensor(windows, signal, np.arange(1.0, within + 1))
        figures[2, signal] = _mechanism(windows, signal)
    return Detectability(within, *figures)


class _Windows:
    """Normal ticks drawn from a model, cut into windows, and the statistics before each of them."""

    def __init__(
        self, equations: Equations, limits: Limits, within: int, random: np.random.Generator
    ) -> None:
        self.equations, self.limits, self.within = equations, limits, within
        starts = BURN_IN + np.arange(WINDOWS) * (within + APART)
        size = int(starts[-1]) + within
        self.innovation = np.stack(
            [_draw(random, freedom, size) for freedom in _freedoms(limits)], axis=1
        )
        self.ticks = starts[:, None] + np.arange(within)
        # By statistic, window and signal. A sensor at fault goes on moving: no standstill.
        self.before = self._states(starts)

    def _states(self, starts: Ints) -> Floats:
        """What the statistics hold just before each window."""
        statistics = statistics_of(self.limits)[0]
        states = np.empty((len(statistics), len(starts), self.equations.signals))
        window = 0
        for t, row in enumerate(self.innovation):
            if window < len(starts) and t == starts[window]:
                states[:, window] = [statistic.state for statistic in statistics]
                window += 1
            tick = _observed(row)
            for statistic in statistics:
                statistic.step(tick)
        return states

    @cached_property
    def values(self) -> Floats:
        """The ticks themselves."""
        equations, limits = self.equations, self.limits
        low, high = (limits.centre + side * BOUND * limits.scale for side in (-1.0, 1.0))
        values = np.tile(limits.centre, (len(self.innovation), 1))
        lag = np.maximum(equations.lag, 1)  # what acts at once is one tick late here
        added = self.innovation * equations.spread + equations.intercept
        linked, firsts = np.unique(equations.target, return_index=True)
        for t in range(equations.max_lag, len(values)):
            row = added[t].copy()
            if len(linked):
                terms = values[t - lag, equations.source] * equations.coefficient
                row[linked] += np.add.reduceat(terms, firsts)
            values[t] = np.minimum(np.maximum(row, low), high)
        return values

    def causes(self, links: Ints) -> Floats:
        """Causes by link, window and tick, counted from the mean, in standard deviations."""
        source, lag = self.equations.source[links], self.equations.lag[links]
        values = self.values[self.ticks[None] - lag[:, None, None], source[:, None, None]]
        centre, scale = self.limits.centre[source], self.limits.scale[source]
        return np.asarray((values - centre[:, None, None]) / scale[:, None, None])

    def passed(self, target: int, shift: Floats) -> NDArray[np.bool_]:
        """In which windows a limit is passed if the innovations of a signal move by `shift`.

        `shift` is by window and tick, or by tick.
        """
        moved = self.innovation[self.ticks, target] + shift
        mine = np.repeat(self.limits.statistics[:, [target]], len(moved), axis=1)
        statistics = statistics_of(replace(self.limits, statistics=mine))[0]
        for statistic, before in zip(statistics, self.before[:, :, target], strict=True):
            statistic.state[:] = before
        allowed = self.limits.statistics[: len(statistics), target]
        passed = np.zeros(len(moved), dtype=np.bool_)
        for innovation in moved.T:
            tick = _observed(innovation)
            for statistic, limit in zip(statistics, allowed.tolist(), strict=True):
                passed |= statistic.step(tick) > limit
        return passed


def _observed(innovation: Floats) -> Observed:
    """A tick at which everything is known."""
    everything = np.ones(len(innovation), dtype=np.bool_)
    return Observed(innovation, everything, innovation, everything)


def _sensor(windows: _Windows, signal: int, course: Floats) -> float:
    """Smallest multiple of a `course` of sensor errors that is noticed."""
    equations = windows.equations
    acts = np.flatnonzero(equations.source == signal)
    late = _late(np.tile(course, (len(acts), 1)), equations.lag[acts])
    shifts = {signal: course.copy()}
    for link, error in zip(acts.tolist(), late, strict=True):
        target = int(equations.target[link])
        shifts.setdefault(target, np.zeros(windows.within))
        shifts[target] -= equations.coefficient[link] * error
    shifts = {target: shift / equations.spread[target] for target, shift in shifts.items()}
    most = sorted(shifts, key=lambda target: -np.abs(shifts[target]).sum())[:PLACES]
    largest = max(np.abs(shifts[target]).max() for target in most)

    def passed(size: float) -> NDArray[np.bool_]:
        return np.asarray(
            np.any([windows.passed(target, size * shifts[target]) for target in most], axis=0)
        )

    tried = np.geomspace(*SIZES, round(np.log2(SIZES[1] / SIZES[0])) + 1) / largest
    return _smallest(passed, tried.tolist())


def _mechanism(windows: _Windows, signal: int) -> float:
    """Smallest share of its causes' effect whose loss is noticed."""
    equations, limits = windows.equations, windows.limits
    links = equations.links_into(signal)
    source = equations.source[links]
    others = source != signal
    if not others.any():
        return float("inf")
    weight = equations.coefficient[links] * limits.scale[source]
    after = _effects(windows, signal)
    ways = _late(after[:, source].T, equations.lag[links]) / limits.scale[source][:, None]
    # By which ways what the signal has lost comes back to it: in all, and not by its own past.
    back, around = weight @ ways, weight[others] @ ways[others]
    normal = np.tensordot(weight[others], windows.causes(links[others]), axes=1)

    def passed(size: float) -> NDArray[np.bool_]:
        shift, error = np.zeros((2, *windows.ticks.shape))
        for t in range(windows.within):
            # What the signal has lost so far is missing in its causes, too.
            shift[:, t] = -size * (normal[:, t] + error[:, :t] @ around[t:0:-1])
            error[:, t] = shift[:, t] + error[:, :t] @ back[t:0:-1]
        return windows.passed(signal, shift / equations.spread[signal])

    return _smallest(passed, SHARES)


def _smallest(passed: Callable[[float], NDArray[np.bool_]], tried: Sequence[float]) -> float:
    """Smallest size that is noticed in half of the cases, from the first tried one that is.

    Windows in which a limit is passed without any change are no such cases.
    """
    quiet = ~passed(0.0)

    def share(size: float) -> float:
        return float(passed(size)[quiet].mean()) if quiet.any() else 0.0

    first = next((k for k, size in enumerate(tried) if share(size) >= HALF), None)
    if first is None:
        return float("inf")
    low, high = (tried[first - 1] if first else 0.0), tried[first]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if share(middle) >= HALF else (middle, high)
    return high


def _effects(windows: _Windows, signal: int) -> Floats:
    """What all signals do, tick by tick, after this one was moved by 1 for one tick.

    Effects through the signal's own mechanism are left out: they are what is being changed.
    """
    equations = windows.equations
    others = equations.target != signal
    source, target = equations.source[others], equations.target[others]
    lag, weight = np.maximum(equations.lag[others], 1), equations.coefficient[others]
    moved = np.zeros((windows.within, equations.signals))
    moved[0, signal] = 1.0
    for t in range(1, windows.within):
        terms = np.where(lag <= t, moved[np.maximum(t - lag, 0), source] * weight, 0.0)
        np.add.at(moved[t], target, terms)
    return moved


def _late(courses: Floats, lags: Ints) -> Floats:
    """Each course as it arrives after its lag."""
    ticks = np.arange(courses.shape[1]) - lags[:, None]
    return np.where(ticks >= 0, np.take_along_axis(courses, np.maximum(ticks, 0), axis=1), 0.0)


def _freedoms(limits: Limits) -> list[float]:
    """How heavy the tails of each innovation are: degrees of freedom of Student's t.

    Read off the largest innovation in the normal recording, which the first limit is a multiple of.
    """
    settings = limits.settings
    if settings.means[0] != 1:
        return [FREEDOMS[0]] * limits.statistics.shape[1]
    chance = min(HALF, HALF / (2.0 * limits.supported))
    levels = np.array([_unit(freedom) * stdtrit(freedom, 1.0 - chance) for freedom in FREEDOMS])
    largest = limits.statistics[0] / settings.margin
    return [FREEDOMS[int(np.abs(levels - level).argmin())] for level in largest.tolist()]


def _draw(random: np.random.Generator, freedom: float, size: int) -> Floats:
    drawn = random.standard_t(freedom, size)
    return np.asarray(drawn / drawn.std())


def _unit(freedom: float) -> float:
    """What brings Student's t to unit variance."""
    return float(np.sqrt((freedom - 2.0) / freedom))
