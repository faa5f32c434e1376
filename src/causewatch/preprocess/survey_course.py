"""Whether a recording behaves the same from beginning to end.

Everything here works on about a hundred blocks. A block is compared with other blocks of the same
length, never with single rows, so slow signals have wide block means and are judged mildly. How
many of the blocks count as independent is estimated per signal, and every threshold is a Student
quantile at that number, shared among all comparisons: `ALPHA` is the chance of one false finding
of a kind per recording, whatever the number of signals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from causewatch.preprocess.survey import Blocks, SurveyResult

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
MOST_BLOCKS = 128
LEAST_BLOCKS = 48
LEAST_ROWS = 4  # per block
FEWEST = 8.0  # independent blocks below which a signal is too slow to judge

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Course:
    """Block means, log standard deviations and log largest deviations: blocks × signals.

    `columns` are the signals' places in the survey, `usual` is each signal's usual spread of rows.
    """

    columns: tuple[int, ...]
    blocks: Blocks
    level: Floats
    spread: Floats
    reach: Floats
    usual: Floats

    def __len__(self) -> int:
        return len(self.level)

    @classmethod
    def of(cls, result: SurveyResult, columns: list[int]) -> Course | None:
        """The course of the given signals, or None if the recording is too short for one."""
        blocks = result.blocks
        while len(blocks.rows) >= MOST_BLOCKS:
            blocks = blocks.paired()
        if len(blocks.rows) and blocks.rows[-1] < 0.75 * blocks.rows[0]:
            blocks = blocks.part(slice(0, len(blocks.rows) - 1))
        if len(blocks.rows) < LEAST_BLOCKS or blocks.rows[0] < LEAST_ROWS or not columns:
            return None
        thin = blocks.count[:, columns] < 0.5 * blocks.rows[:, None]
        level = np.where(thin, np.nan, blocks.mean[:, columns])
        keep = np.count_nonzero(~thin, axis=0) >= LEAST_BLOCKS
        if not keep.any():
            return None
        level = level[:, keep]
        columns = [c for c, k in zip(columns, keep.tolist(), strict=True) if k]
        thin = thin[:, keep]
        centre = np.nanmedian(level, axis=0)
        std = np.where(thin, np.nan, blocks.std[:, columns])
        usual = np.hypot(np.nanmedian(std, axis=0), _scale(level - centre))
        usual = np.where(usual > 0, usual, np.nanmax(std, axis=0))
        usual = np.where(usual > 0, usual, 1.0)
        far = np.fmax(blocks.high[:, columns] - centre, centre - blocks.low[:, columns])
        return cls(
            columns=tuple(columns),
            blocks=blocks,
            level=(level - centre) / usual,
            spread=np.log(np.maximum(std / usual, 0.01)),
            reach=np.where(thin, np.nan, np.log(np.maximum(far / usual, 0.01))),
            usual=usual,
        )


@dataclass(frozen=True, slots=True)
class Modes:
    """A signal that stays at one of two levels: block numbers of the higher one, and the levels."""

    column: int
    levels: tuple[float, float]
    upper: Flags
    switches: int


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
            and count >= FEWEST
        ):
            flags = np.zeros(len(course), dtype=bool)
            flags[there] = upper
            found.append(Modes(k, (low, high), flags, switches))
    return found


def startup(course: Course) -> Stretch | None:
    """The first part of the recording, if it is unlike the later two thirds and goes over to it."""
    third = len(course) // 3
    z, limits = _compare(course.level, slice(third, None), comparisons=2)
    strong = np.nanmax(np.abs(z[:2]), axis=0, initial=0.0) > limits
    if not strong.any():
        return None
    ends = [_first_calm(np.abs(z[:, k])) for k in np.flatnonzero(strong)]
    concerned = [
        (float(np.nanmax(np.abs(z[:2, k]) / limits[k])), int(k), end)
        for k, end in zip(np.flatnonzero(strong), ends, strict=True)
        if end <= third
    ]
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


def outlying(course: Course, begin: int, explained: dict[int, Floats]) -> list[Stretch]:
    """Stretches unlike the rest, worst first; `explained` is the known course of some levels."""
    level = course.level.copy()
    for k, fitted in explained.items():
        level[:, k] -= fitted
    views = [level, course.spread, course.reach]
    n, signals = level[begin:].shape
    ratio = np.zeros((n, signals))
    wide = np.zeros((n, signals), dtype=bool)
    for place, view in enumerate(views):
        z, limits = _compare(view[begin:], slice(None), comparisons=3 * n, peaks=place == 2)
        size = np.nan_to_num(np.abs(z) / limits if place < 2 else np.maximum(z, 0) / limits)
        ratio = np.maximum(ratio, size)
        wide |= size > 0.6
    flagged = ratio.max(axis=1) > 1
    out = []
    for a, b in _runs(flagged, joined=1):
        worst = ratio[a:b].max(axis=0)
        names = [int(k) for k in np.argsort(-worst) if worst[k] > 1]
        while a > 0 and wide[a - 1, names].any():
            a -= 1
        while b < n and wide[b, names].any():
            b += 1
        out.append(Stretch(begin + a, begin + b, float(worst.max()), tuple(names)))
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
    low, middle, high = np.nanquantile(values, [0.1, 0.5, 0.9], axis=0)
    near = np.nanmedian(np.abs(values - middle), axis=0) * 1.4826
    return np.asarray(np.maximum(near, (high - low) / 2.563))


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
    freedom = max(1.0, 0.5 * (count - 1))
    return float(stats.t.isf(ALPHA / (2 * comparisons), freedom))


def _compare(
    values: Floats, reference: slice, comparisons: int, peaks: bool = False
) -> tuple[Floats, Floats]:
    """Robust z of each block against the reference blocks, and each column's limit for |z|."""
    base = values[reference]
    centre = np.nanmedian(base, axis=0)
    scale = np.hypot(_scale(base), 0.15)
    limits = np.full(values.shape[1], np.inf)
    tests = comparisons * values.shape[1]
    for k in range(values.shape[1]):
        column = base[:, k]
        count = _independent(column[np.isfinite(column)], fitted=1)
        if count >= FEWEST:
            limits[k] = _limit(count, tests)
            if peaks:  # largest deviations have an exponential tail, not a normal one
                tail = (np.log(tests / ALPHA) - 0.577) / 1.28
                limits[k] *= tail / stats.norm.isf(ALPHA / (2 * tests))
    return (values - centre) / scale, limits


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
    if count < FEWEST:
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


def _first_calm(size: Floats) -> int:
    """The first block from which two in a row are inconspicuous."""
    calm = ~(size > 2.5)
    for b in range(len(size) - 1):
        if calm[b] and calm[b + 1]:
            return b
    return len(size)


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
