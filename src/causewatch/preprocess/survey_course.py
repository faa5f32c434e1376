"""Whether a recording behaves the same from beginning to end.

Everything here works on about a hundred blocks. A block is compared with other blocks of the same
length, never with single rows, so slow signals have wide block means and are judged mildly. How
many of the blocks count as independent is estimated per signal, and every threshold is a Student
quantile at that number, shared among all comparisons: `ALPHA` is the chance of one false finding
of a kind per recording, whatever the number of signals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from causewatch.preprocess.survey import SurveyResult

__all__ = [
    "Change",
    "Course",
    "Modes",
    "Stretch",
    "changes",
    "modes",
    "outlying",
    "slow",
    "startup",
]

ALPHA = 0.005
GROUP = 8  # blocks of the survey that make up a block of the course
LEAST_BLOCKS = 48
FEWEST = 8.0  # independent blocks below which a signal is too slow to judge
ENOUGH = 16.0  # the same, where a change of level has been fitted
RECURRING = 3  # separate stretches of one signal beyond which standing out is its nature

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Course:
    """The signals' course in units of their usual spread of rows: blocks × signals.

    Attributes
    ----------
    columns
        The signals' places in the survey.
    first, last
        Times of each block's first and last row.
    centre, usual
        By signal, in its own unit: the middle of the levels, and the usual spread of rows.
    level, spread, reach
        Of each block: the middle of its parts' means, the logarithm of its parts' usual standard
        deviation, and the logarithm of the largest deviation of a single row. The first two do not
        mind a few wild rows; the third is about nothing else.
    """

    columns: tuple[int, ...]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    centre: Floats
    usual: Floats
    level: Floats
    spread: Floats
    reach: Floats

    def __len__(self) -> int:
        return len(self.level)

    @classmethod
    def of(cls, result: SurveyResult, columns: list[int]) -> Course | None:
        """The course of the given signals, or None if the recording is too short for one."""
        fine = result.blocks
        n = len(fine.rows) // GROUP
        if n < LEAST_BLOCKS:
            return None
        thin = fine.count < 0.5 * fine.rows[:, None]
        thin = np.count_nonzero(thin[: n * GROUP].reshape(n, GROUP, -1), axis=1) > GROUP / 2
        columns = [k for k in columns if np.count_nonzero(~thin[:, k]) >= LEAST_BLOCKS]
        if not columns:
            return None
        thin = thin[:, columns]

        def grouped(array: Floats) -> Floats:
            return array[: n * GROUP, columns].reshape(n, GROUP, -1)

        means = grouped(fine.mean)
        means[thin.nonzero()[0], :, thin.nonzero()[1]] = np.nan
        with np.errstate(invalid="ignore"):
            level = _median(means, axis=1)
            inner = _median(grouped(fine.std), axis=1)
            around = 1.4826 * _median(np.abs(means - level[:, None]), axis=1)
            high = np.fmax.reduce(grouped(fine.high), axis=1)
            low = np.fmin.reduce(grouped(fine.low), axis=1)
        centre = np.nanmedian(level, axis=0)
        std = np.hypot(inner, around)
        usual = np.hypot(np.nanmedian(std, axis=0), _scale(level - centre))
        usual = np.where(usual > 0, usual, np.nanmax(std, axis=0))
        usual = np.where(usual > 0, usual, 1.0)
        far = np.fmax(high - centre, centre - low)
        return cls(
            columns=tuple(columns),
            first=fine.first[: n * GROUP : GROUP],
            last=fine.last[GROUP - 1 : n * GROUP : GROUP],
            centre=centre,
            usual=usual,
            level=(level - centre) / usual,
            spread=np.log(np.maximum(std / usual, 0.01)),
            reach=np.where(thin, np.nan, np.log(np.maximum(far / usual, 0.01))),
        )

    def value(self, k: int, blocks: Flags) -> float:
        """Middle level of a signal over the given blocks, in its own unit."""
        chosen = self.level[blocks, k]
        chosen = chosen[np.isfinite(chosen)]
        return float(self.centre[k] + self.usual[k] * np.median(chosen))

    def without(self, k: int, fitted: Floats) -> Course:
        """The course with the known course of one level taken off, its jumps left out."""
        level, spread, reach = self.level.copy(), self.spread.copy(), self.reach.copy()
        level[:, k] -= fitted
        steps = np.abs(np.diff(fitted))
        jumps = np.flatnonzero(steps > 0.5)
        for near in (jumps, jumps + 1):
            for view in (level, spread, reach):
                view[near, k] = np.nan
        return replace(self, level=level, spread=spread, reach=reach)


@dataclass(frozen=True, slots=True)
class Modes:
    """A signal that stays at one of two levels; `fitted` is the level it is at, by block."""

    column: int
    size: float
    upper_share: float
    switches: int
    fitted: Floats


@dataclass(frozen=True, slots=True)
class Change:
    """A lasting change of level or spread; `size` in usual spreads, or as a ratio of spreads."""

    column: int
    kind: Literal["drift", "shift", "spread"]
    size: float
    at: int
    fitted: Floats


@dataclass(frozen=True, slots=True)
class Stretch:
    """Blocks `begin` up to `end` (exclusive) unlike the rest; `columns` the worst signals first."""

    begin: int
    end: int
    score: float
    columns: tuple[int, ...]


def modes(course: Course) -> list[Modes]:
    """Signals that visit two well separated levels and stay there for a while, again and again."""
    found = []
    for k in range(len(course.columns)):
        series = course.level[:, k]
        there = np.flatnonzero(np.isfinite(series))
        x = series[there]
        low, high = _two_means(x)
        middle = (low + high) / 2
        upper = x > middle
        share = upper.mean()
        if not 0.1 < share < 0.9:
            continue
        rest = x - np.where(upper, high, low)
        within = float(np.sqrt(np.mean(rest**2)))
        inner = np.exp(np.nanmedian(course.spread[:, k]))
        between = np.mean(np.abs(x - middle) < (high - low) / 6)
        switches = int(np.count_nonzero(upper[1:] != upper[:-1]))
        count = _independent(rest, fitted=2)
        if (
            high - low > max(5 * within, 1.5 * np.hypot(within, inner))
            and between <= 0.1
            and 2 <= switches <= len(x) / 5
            and count >= ENOUGH
        ):
            fitted = np.where(course.level[:, k] > middle, high, low)
            found.append(Modes(k, (high - low), float(share), switches, fitted))
    return found


def startup(course: Course) -> Stretch | None:
    """The first part of the recording, if it is unlike the later two thirds and goes over to it."""
    third = len(course) // 3
    z, limits = _compare(course.level, slice(third, None), comparisons=2)
    size = np.nan_to_num(np.abs(z))
    begin = np.where(_recurring(course.reach)[:2], 0, size[:2]).max(axis=0)
    later = np.count_nonzero(size[third:] > 0.6 * begin, axis=0)
    concerned = []
    for k in np.flatnonzero((begin > limits) & (later <= 1)).tolist():
        end = _first_calm(z[:, k] * np.sign(z[np.argmax(size[:2, k]), k]))
        if end <= third:
            concerned.append((float(begin[k] / limits[k]), k, end))
    if not concerned:
        return None
    concerned.sort(reverse=True)
    end = max(end for _, _, end in concerned)
    return Stretch(0, end, concerned[0][0], tuple(k for _, k, _ in concerned))


def changes(course: Course, begin: int) -> list[Change]:
    """Signals whose level or spread lastingly changes, the blocks before `begin` aside."""
    found = []
    for k in range(len(course.columns)):
        for kind, series, least in (
            ("level", course.level[:, k], 1.0),
            ("spread", course.spread[:, k], np.log(1.5)),
        ):
            change = _change(series[begin:], len(course.columns))
            if change is None:
                continue
            shape, size, at, fitted = change
            rest = series[begin:] - fitted
            inner = np.exp(np.nanmedian(course.spread[:, k]))
            unit = np.hypot(inner, _scale(rest[:, None])[0]) if kind == "level" else 1.0
            if abs(size) / unit < least:
                continue
            whole = np.concatenate([np.full(begin, fitted[0]), fitted])
            if kind == "level":
                found.append(Change(k, shape, size / unit, begin + at, whole))
            else:
                found.append(Change(k, "spread", float(np.exp(size)), begin + at, whole))
    return found


def outlying(course: Course, begin: int) -> list[Stretch]:
    """Stretches unlike the rest, worst first, the blocks before `begin` aside."""
    level, spread, reach = course.level[begin:], course.spread[begin:], course.reach[begin:]
    n, signals = level.shape
    ratio = np.zeros((n, signals))
    for view, signed in ((level, False), (spread, False), (reach, True)):
        z, limits = _compare(view, slice(None), comparisons=4 * n)
        size = z / (1.5 * limits) if signed else np.abs(z) / limits
        ratio = np.maximum(ratio, np.nan_to_num(size))
    ratio[_recurring(reach)] = 0
    for k in range(signals):
        if len(_runs(ratio[:, k] > 1, joined=2)) > RECURRING:
            ratio[:, k] = 0
    together = _together(np.where(_recurring(reach), np.nan, level), 4 * n)
    out = []
    for a, b in _runs((ratio.max(axis=1) > 1) | (together > 1), joined=1):
        worst = ratio[a:b].max(axis=0)
        names = [int(k) for k in np.argsort(-worst) if worst[k] > min(1.0, 0.7 * worst.max())]
        near = ratio[:, names].max(axis=1) > 0.6
        while a > 0 and near[a - 1]:
            a -= 1
        while b < n and near[b]:
            b += 1
        score = max(float(worst.max()), float(together[a:b].max()))
        out.append(Stretch(begin + a, begin + b, score, tuple(names)))
    return sorted(_united(out), key=lambda stretch: -stretch.score)


def slow(course: Course) -> list[tuple[int, float]]:
    """Signals too slow to tell a drift from wandering, with the independent parts there are."""
    out = []
    for k in range(len(course.columns)):
        series = course.level[:, k]
        count = _independent(series[np.isfinite(series)], fitted=1)
        if count < FEWEST:
            out.append((k, count))
    return sorted(out, key=lambda pair: pair[1])


def _scale(values: Floats) -> Floats:
    """Robust standard deviation per column: the larger of two, so that skew reads as width."""
    empty = np.isnan(values).all(axis=0)
    filled = np.where(empty, 0.0, values)
    low, middle, high = np.nanquantile(filled, [0.1, 0.5, 0.9], axis=0)
    near = np.nanmedian(np.abs(filled - middle), axis=0) * 1.4826
    return np.where(empty, np.nan, np.maximum(near, (high - low) / 2.563))


def _median(values: Floats, axis: int) -> Floats:
    """Median of what is present, NaN where nothing is."""
    empty = np.isnan(values).all(axis=axis)
    filled = np.where(np.expand_dims(empty, axis), 0.0, values)
    return np.asarray(np.where(empty, np.nan, np.nanmedian(filled, axis=axis)))


def _independent(series: Floats, fitted: int) -> float:
    """How many independent values the series is worth, from its autocorrelation.

    The estimate is corrected for the bias that `fitted` estimated parameters bring (Kendall 1954),
    and is the smaller of what an autoregression of order one and the sum of autocorrelations say.
    """
    n = len(series)
    x = series - np.median(series)
    scale = _scale(x[:, None])[0]
    if scale > 0:
        x = np.clip(x, -3 * scale, 3 * scale)
    x = x - x.mean()
    power = float(x @ x)
    if power <= 0:
        return float(n)
    most = n // 4
    acf = np.array([x[k:] @ x[:-k] for k in range(1, most + 1)]) / power
    acf = np.minimum(acf + (fitted + (fitted + 2) * np.maximum(acf, 0)) / n, 0.999)
    first = max(acf[0], 0.0)
    time = (1 + first) / (1 - first)
    total = 1.0
    for lag, value in enumerate(acf, start=1):
        if lag > 5 * total or value < 1 / np.sqrt(n):
            break
        total += 2 * value
    return float(n / max(time, total, 1.0))


def _limit(count: float, comparisons: float) -> float:
    """Student quantile for a robust scale estimated from `count` independent values."""
    freedom = max(1.0, 0.7 * (count - 1))
    return float(stats.t.isf(ALPHA / (2 * comparisons), freedom))


def _compare(values: Floats, reference: slice, comparisons: int) -> tuple[Floats, Floats]:
    """Robust z of each block against the reference blocks, and each column's limit for |z|.

    The limit is the larger of the Student quantile and an exponential tail laid through the 80 %
    and 95 % quantiles of |z|, which is what signals with wilder tails ask for.
    """
    base = values[reference]
    centre = np.nanmedian(base, axis=0)
    scale = np.hypot(_scale(base), 0.15)
    z = (values - centre) / scale
    near, far = np.nanquantile(np.abs(z[reference]), [0.8, 0.95], axis=0)
    tests = comparisons * values.shape[1]
    tails = near + (far - near) / np.log(4) * np.log(0.2 * tests / ALPHA)
    limits = np.full(values.shape[1], np.inf)
    for k in range(values.shape[1]):
        column = base[:, k]
        count = _independent(column[np.isfinite(column)], fitted=1)
        if count >= FEWEST:
            limits[k] = max(_limit(count, tests), tails[k])
    return z, limits


def _recurring(reach: Floats) -> Flags:
    """Blocks whose wildest row is far out, and yet matched in several other stretches."""
    known = np.nan_to_num(reach, nan=-np.inf)
    out = np.zeros(known.shape, dtype=bool)
    for b, k in np.argwhere(known > np.log(6)).tolist():
        matched = known[:, k] > known[b, k] - 0.25
        out[b, k] = len(_runs(matched, joined=2)) > RECURRING
    return out


def _together(level: Floats, comparisons: int) -> Floats:
    """How far all signals together are from where they usually are, in units of the limit."""
    scale = np.hypot(_scale(level), 0.15)
    z = (level - _median(level, 0)) / scale
    there = np.maximum(np.count_nonzero(np.isfinite(z), axis=1), 1)
    size = np.log(np.sqrt(np.nansum(z**2, axis=1) / there) + 0.1)[:, None]
    z, limits = _compare(size, slice(None), comparisons)
    return np.nan_to_num(z / limits)[:, 0]


def _change(
    series: Floats, signals: int
) -> tuple[Literal["drift", "shift"], float, int, Floats] | None:
    """The better of a line and a step through the series, if it is significant."""
    there = np.flatnonzero(np.isfinite(series))
    x = series[there]
    n = len(x)
    if n < LEAST_BLOCKS / 2:
        return None
    centre, scale = np.median(x), _scale(x[:, None])[0]
    if scale <= 0:
        return None
    x = np.clip(x, centre - 4 * scale, centre + 4 * scale)
    time = (there - there.mean()) / len(series)
    slope = float(time @ x / (time @ time))
    line = x.mean() + slope * time
    edge = int(np.ceil(0.15 * n))
    totals = np.cumsum(x)
    cuts = np.arange(edge, n - edge)
    left = totals[cuts - 1] / cuts
    right = (totals[-1] - totals[cuts - 1]) / (n - cuts)
    gain = cuts * (n - cuts) / n * (right - left) ** 2
    best = int(np.argmax(gain))
    step = np.where(np.arange(n) < cuts[best], left[best], right[best])
    stepped = float(np.sum((x - step) ** 2)) < float(np.sum((x - line) ** 2))
    rest = x - (step if stepped else line)
    count = _independent(rest, fitted=3 if stepped else 2)
    if count < ENOUGH:
        return None
    noise = float(np.sqrt(np.sum(rest**2) / n * count / (count - 3)))
    if stepped:
        size = float(right[best] - left[best])
        error = noise * np.sqrt(n / count * (1 / cuts[best] + 1 / (n - cuts[best])))
        tests = 2 * signals * 10  # about ten independent places for a step
    else:
        size = slope
        error = noise * np.sqrt(n / count / (time @ time))
        tests = 2 * signals * 2
    if abs(size) <= error * stats.t.isf(ALPHA / (2 * tests), count - 3):
        return None
    places = np.arange(len(series))
    if stepped:
        at = int(there[cuts[best]])
        return "shift", size, at, np.where(places < at, left[best], right[best])
    return "drift", size, 0, x.mean() + slope * (places - there.mean()) / len(series)


def _two_means(x: Floats) -> tuple[float, float]:
    """Centres of the best split of the values into a lower and an upper group."""
    ordered = np.sort(x)
    totals = np.cumsum(ordered)
    n = len(x)
    cuts = np.arange(1, n)
    left = totals[:-1] / cuts
    right = (totals[-1] - totals[:-1]) / (n - cuts)
    best = int(np.argmax(cuts * (n - cuts) * (right - left) ** 2))
    return float(left[best]), float(right[best])


def _first_calm(z: Floats) -> int:
    """The first block that is back to normal, together with the next one."""
    for b in range(len(z) - 1):
        ahead = z[b : b + 2]
        ahead = ahead[np.isfinite(ahead)]
        if not len(ahead) or float(ahead.mean()) < 0.75:
            return b
    return len(z)


def _runs(flags: Flags, joined: int) -> list[tuple[int, int]]:
    """Ranges of set flags; ranges at most `joined` apart are one."""
    out: list[tuple[int, int]] = []
    for place in np.flatnonzero(flags).tolist():
        if out and place - out[-1][1] <= joined:
            out[-1] = (out[-1][0], place + 1)
        else:
            out.append((place, place + 1))
    return out


def _united(found: list[Stretch]) -> list[Stretch]:
    """Stretches that touch, as one."""
    out: list[Stretch] = []
    for stretch in sorted(found, key=lambda s: s.begin):
        if out and stretch.begin <= out[-1].end:
            last = out.pop()
            first, second = sorted((last, stretch), key=lambda s: -s.score)
            columns = tuple(dict.fromkeys(first.columns + second.columns))
            end = max(last.end, stretch.end)
            stretch = Stretch(last.begin, end, first.score, columns)
        out.append(stretch)
    return out
