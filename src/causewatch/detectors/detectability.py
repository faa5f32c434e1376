"""Detectability: the smallest change of each signal that the default detector would notice in time.

Three changes are looked at, one signal at a time, beginning at some tick of normal operation:

- a *bias*: the sensor shows so much too much from then on, and the plant does not react to it;
- a *drift*: what it shows too much grows by so much at every tick;
- a *mechanism* change: the signal follows its causes more weakly, by so large a share.

The figure is the size that passes a limit in time **in half of the cases**. For that the model
itself is run as a plant: normal ticks drawn from its mechanisms, cut into windows. In each window
the change moves the innovations of the signal and of what it acts on by an amount that follows from
the coefficients; the statistics of the moved innovations, clipped as in the detector, are held
against their limits.

Taken for simple: mechanisms count as straight lines; a bias or drift is looked for only in the few
mechanisms where it shows most, and there only in the coefficients of the links from the signal at
fault; the change of a mechanism only in the coefficients of its strongest links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import stdtrit

from causewatch.detectors.equations import Equations
from causewatch.detectors.innovation import CAUSE_CLIP, CLIP, SQUARE_CLIP, own_past
from causewatch.detectors.limits import Limits
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
LINKS = 8
"""Links into a signal whose coefficients are looked at when its mechanism changes, at most."""
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
        Share of their effect that all causes of the signal lose: 1 is all of it, 2 the opposite
        effect; larger than 3 counts as infinite. Effects are counted from the causes' normal
        means.
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
    found = np.full((3, equations.signals), np.nan)
    for signal in range(equations.signals) if signals is None else signals:
        found[0, signal] = _sensor(windows, signal, np.ones(within))
        found[1, signal] = _sensor(windows, signal, np.arange(1.0, within + 1))
        found[2, signal] = _mechanism(windows, signal)
    return Detectability(within, *found)


class _Windows:
    """Normal ticks drawn from a model, cut into windows, and the statistics in them."""

    def __init__(
        self, equations: Equations, limits: Limits, within: int, random: np.random.Generator
    ) -> None:
        self.equations, self.limits, self.within = equations, limits, within
        starts = BURN_IN + np.arange(WINDOWS) * (within + APART)
        size = int(starts[-1]) + within
        self.innovation = np.stack(
            [_draw(random, freedom, size) for freedom in _freedoms(limits)], axis=1
        )
        self.starts = starts
        self.ticks = starts[:, None] + np.arange(within)
        self.allowed = limits.statistics * limits.overall
        self.own = own_past(equations)
        self._places: dict[int, _Place] = {}

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

    def place(self, target: int) -> _Place:
        """The statistics of one signal."""
        if target not in self._places:
            self._places[target] = _Place(self, target)
        return self._places[target]


class _Place:
    """The statistics of one signal in all windows, as linear functions of what is taken in."""

    def __init__(self, windows: _Windows, target: int) -> None:
        self._windows, self._target = windows, target
        whole = _clip(windows.innovation[:, target], CLIP)
        self.innovation = windows.innovation[windows.ticks, target]
        layout, allowed = windows.limits.layout, windows.allowed
        means, variances = [], []
        for family, memory, place in layout.blocks:
            if family == "mean":
                means.append(_Statistic.weighted(windows, whole, memory, allowed[place][target]))
            elif family == "variance":
                squares = _squares(whole)
                one = _Statistic.weighted(windows, squares, memory, allowed[place][target])
                variances.append(one)
            elif family == "level":
                own = windows.own[:, target]
                means.append(_Statistic.level(windows, whole, own, allowed[place][target]))
        self._means, self._variances = _Statistic.joined(means), _Statistic.joined(variances)

    def passed(self, shift: Floats, links: Ints, causes: Floats) -> NDArray[np.bool_]:
        """In which windows a limit is passed if innovations move by `shift`.

        Parameters
        ----------
        shift
            By window and tick, or by tick.
        links
            Those into the signal whose coefficient statistics are looked at.
        causes
            Their causes by link, window and tick, counted from the mean, in standard deviations.
        """
        moved = _clip(self.innovation + shift, CLIP)
        passed = self._means.passed(moved) | self._variances.passed(_squares(moved))
        windows = self._windows
        products = _clip(causes, CAUSE_CLIP) * moved
        for family, memory, place in windows.limits.layout.blocks:
            if family == "coefficient" and len(links):
                allowed = windows.allowed[place][links]
                # The products start from zero: what was before hardly matters in a few ticks.
                states = products @ _kernel(memory, windows.within)
                passed |= (np.abs(states).max(axis=-1) > allowed[:, None]).any(axis=0)
        return passed


@dataclass(frozen=True, eq=False)
class _Statistic:
    """One or several statistics: ``taken in @ kernel + before``, held against `allowed`."""

    kernel: Floats
    before: Floats
    allowed: Floats

    @classmethod
    def weighted(cls, windows: _Windows, whole: Floats, memory: int, allowed: float) -> _Statistic:
        """An exponentially weighted mean of `whole`."""
        weight = 1.0 / memory
        state = lfilter([weight], [1.0, weight - 1.0], whole)[windows.starts - 1]
        fading = (1.0 - weight) ** np.arange(1, windows.within + 1)
        kernel = _kernel(memory, windows.within)
        return cls(kernel, np.outer(state, fading), np.full(windows.within, allowed))

    @classmethod
    def level(cls, windows: _Windows, whole: Floats, own: Floats, allowed: float) -> _Statistic:
        """How far a signal is from where its own past should have left it."""
        within = windows.within
        back = np.concatenate([[1.0], -own])
        response = lfilter([1.0], back, np.eye(within, 1).ravel())
        kernel = np.array(
            [[response[t - i] if t >= i else 0.0 for t in range(within)] for i in range(within)]
        )
        levels = lfilter([1.0], back, whole)[windows.ticks]
        # Linear: what the window itself did not bring was there before.
        return cls(kernel, levels - whole[windows.ticks] @ kernel, np.full(within, allowed))

    @classmethod
    def joined(cls, several: Sequence[_Statistic]) -> _Statistic:
        """Several side by side."""
        return cls(
            np.concatenate([one.kernel for one in several], axis=1),
            np.concatenate([one.before for one in several], axis=1),
            np.concatenate([one.allowed for one in several]),
        )

    def passed(self, taken: Floats) -> NDArray[np.bool_]:
        """In which windows a limit is passed."""
        states = taken @ self.kernel
        states += self.before
        return np.asarray((np.abs(states) > self.allowed).any(axis=1))


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
    places = []
    for target in most:
        here = equations.target[acts] == target
        links, errors = acts[here], late[here] / windows.limits.scale[signal]
        places.append((windows.place(target), shifts[target], links, errors))
    causes = {id(place): windows.causes(links) for place, _, links, _ in places}

    def passed(size: float) -> NDArray[np.bool_]:
        found = [
            place.passed(size * shift, links, causes[id(place)] + size * errors[:, None, :])
            for place, shift, links, errors in places
        ]
        return np.asarray(np.any(found, axis=0))

    tried = np.geomspace(*SIZES, round(np.log2(SIZES[1] / SIZES[0])) + 1) / largest
    return _smallest(passed, tried.tolist())


def _mechanism(windows: _Windows, signal: int) -> float:
    """Smallest share of its causes' effect whose loss is noticed."""
    equations, limits = windows.equations, windows.limits
    links = equations.links_into(signal)
    if not len(links):
        return float("inf")
    place, ticks = windows.place(signal), windows.ticks
    source = equations.source[links]
    weight = equations.coefficient[links] * limits.scale[source]
    after = _effects(windows, signal)
    ways = _late(after[:, source].T, equations.lag[links]) / limits.scale[source][:, None]
    back = weight @ ways  # by which ways what the signal has lost comes back to it
    normal = np.tensordot(weight, windows.causes(links), axes=1)
    strong = np.sort(np.argsort(-np.abs(weight))[:LINKS])
    causes = windows.causes(links[strong])

    def passed(size: float) -> NDArray[np.bool_]:
        shift, error = np.empty(ticks.shape), np.zeros(ticks.shape)
        moved = causes.copy()
        for t in range(windows.within):
            # What the signal has lost so far is missing in its causes, too: its own past, and
            # whatever it acts on.
            missing = error[:, :t] @ back[t:0:-1]
            moved[:, :, t] += ways[strong, t:0:-1] @ error[:, :t].T
            shift[:, t] = -size * (normal[:, t] + missing)
            error[:, t] = shift[:, t] + missing
        return place.passed(shift / equations.spread[signal], links[strong], moved)

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


def _kernel(memory: int, ticks: int) -> Floats:
    """Weight of what is taken in at one tick (row) in the mean at a later one (column)."""
    later = np.arange(ticks)[None, :] - np.arange(ticks)[:, None]
    return np.where(later >= 0, (1.0 - 1.0 / memory) ** np.maximum(later, 0) / memory, 0.0)


def _freedoms(limits: Limits) -> list[float]:
    """How heavy the tails of each innovation are: degrees of freedom of Student's t.

    Read off the level that one of all single innovations passes once in the asked time.
    """
    layout = limits.layout
    once = [place for family, memory, place in layout.blocks if (family, memory) == ("mean", 1)]
    if not once:
        return [FREEDOMS[0]] * layout.signals
    chance = min(0.5, 0.5 / (limits.false_alarm_every * layout.signals))
    levels = np.array([_unit(freedom) * stdtrit(freedom, 1.0 - chance) for freedom in FREEDOMS])
    return [FREEDOMS[int(np.abs(levels - level).argmin())] for level in limits.statistics[once[0]]]


def _draw(random: np.random.Generator, freedom: float, size: int) -> Floats:
    drawn = random.standard_t(freedom, size)
    return np.asarray(drawn / drawn.std())


def _unit(freedom: float) -> float:
    """What brings Student's t to unit variance."""
    return float(np.sqrt((freedom - 2.0) / freedom))


def _clip(values: Floats, most: float) -> Floats:
    return np.minimum(np.maximum(values, -most), most)


def _squares(clipped: Floats) -> Floats:
    return np.minimum(clipped * clipped, SQUARE_CLIP) - 1.0
