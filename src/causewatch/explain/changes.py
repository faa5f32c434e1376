"""What happened to a signal: what a sentence about it says, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from causewatch.detectors.equations import Equations
from causewatch.explain.kinds import SignalKind, kind_of
from causewatch.explain.ranking import Context, Ranking
from causewatch.monitor.alarms import BrokenLink
from causewatch.monitor.course import Course

__all__ = ["Change", "ChangeKind", "burst", "change_of", "offsets"]

Floats = NDArray[np.float64]

CLIP = 8.0
"""Innovations beyond this count as this where several are compared."""
NOISY = 2.0
"""A signal is called noisier from this factor of its usual spread on."""
OFF = 2.0
"""A level is off if its mean is this many times what chance would make it."""
BEYOND = 0.05
"""A value is outside its normal range from this share of the range on."""
DRIFTS = 3
"""A level drifts if it goes up, or down, from each of so many parts of the ticks to the next."""
LEAST_STILL = 5
"""Ticks of standing still that are worth a word."""
FAR = 5.0
"""A step is far larger than the usual ones from this many times their median on."""
NEARLY_ALL, LONGEST_BURST = 0.8, 3
"""A signal is said to have jumped if so few ticks hold this share of its squared innovations."""
SAME = 1e-6
ACCOUNTS = 0.5
"""A link that acts otherwise is what happened if that accounts for this share of the surprise."""
LEAST_TICKS = 4
"""Ticks that it takes to tell."""
LOUDER = 1.2
"""Noise is told from this factor on where nothing else is."""

ChangeKind = Literal[
    "value", "twin", "stuck", "switched", "range", "link", "drift", "level", "jump", "noise",
    "other",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one signal.

    Attributes
    ----------
    signal
        Which one.
    kind
        ``value``: a signal that never moved has another value; ``twin``: it no longer equals
        another one; ``stuck``: it has not moved for longer than ever; ``switched``: it was switched
        against what its causes say; ``range``: it left its normal range; ``link``: a link acts
        otherwise; ``level``: it is off what its causes say; ``drift``: ever farther; ``jump``: it
        was, all at once; ``noise``: it is noisier; ``other``.
    at
        Since when, in nanoseconds.
    what
        What kind of signal it is.
    link
        The broken link of ``link``.
    before, after
        Values before and after.
    low, high
        The normal range of ``range`` and ``value``.
    amount
        How far a ``level``, a ``drift`` or a ``jump`` is off, in the signal's units; the factor of
        ``noise``.
    """

    signal: str
    kind: ChangeKind
    at: int
    what: SignalKind = "sensor"
    link: BrokenLink | None = None
    before: float = float("nan")
    after: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    amount: float = float("nan")


def change_of(
    course: Course,
    context: Context,
    ranking: Ranking,
    column: int,
    broken_links: Sequence[BrokenLink],
) -> Change:
    """Say what happened to the signal in `column` of the course."""
    name, what = course.signals[column], kind_of(course, context, column)
    if column >= context.equations.signals:
        return _constant(name, what, course, ranking, column, context)
    for change in (
        _stuck(name, what, course, context, ranking, column),
        _switched(name, what, course, ranking, column),
        _out_of_range(name, what, course, context, ranking, column),
    ):
        if change is not None:
            return change
    return _off(name, what, course, context, ranking, column, broken_links)


def offsets(innovation: Floats, equations: Equations, signal: int) -> Floats:
    """By how much a sensor is off, tick by tick, if its innovations come from nothing else.

    A reading that is off is also off in the signal's own past, which its equation uses; this takes
    that into account. The first tick is taken to follow a sound one.
    """
    feedback = np.zeros(equations.max_lag + 1)
    feedback[0] = 1.0
    for link in equations.links_into(signal):
        if equations.source[link] == signal and equations.lag[link] > 0:
            feedback[equations.lag[link]] -= equations.coefficient[link]
    given = np.nan_to_num(innovation) * equations.spread[signal]
    off: Floats = lfilter([1.0], feedback, given)
    return off


def burst(innovation: Floats) -> slice | None:
    """The few ticks in a row that hold nearly all of the surprise, if there are such.

    An offset that has just begun is a surprise or two (it may begin within a tick) behind quiet
    ticks, and no noise.
    """
    squares = np.clip(np.nan_to_num(innovation), -1e9, 1e9) ** 2
    for width in range(1, max(1, min(LONGEST_BURST, len(squares) // 3)) + 1):
        sums = np.convolve(squares, np.ones(width), "valid")
        start = int(sums.argmax())
        if sums[start] > NEARLY_ALL * squares.sum():
            return slice(start, start + width)
    return None


def _constant(
    name: str, what: SignalKind, course: Course, ranking: Ranking, column: int, context: Context
) -> Change:
    """A signal that never moved, or always equalled another one."""
    there = slice(ranking.start, ranking.stop)
    if name in context.twins:
        other = course.signals.index(context.twins[name])
        apart = np.abs(course.values[there, column] - course.values[there, other])
        outside = np.flatnonzero(
            np.nan_to_num(apart) > SAME * max(float(context.scale[other]), SAME * SAME)
        )
        if len(outside):
            return Change(name, "twin", int(course.time[ranking.start + outside[0]]), what)
    known = np.flatnonzero(np.isfinite(course.values[there, column]))
    if not len(known):
        return Change(name, "other", int(course.time[ranking.raised]), what)
    low, high = _range(context, column)
    steps = _steps(course, column, max(ranking.start, _began(ranking, column) - 1), ranking.stop)
    if not steps:  # it moved before the first tick that is left
        at, value = ranking.start + int(known[0]), float(course.values[there, column][known[-1]])
        return Change(name, "value", int(course.time[at]), what, after=value, low=low, high=high)
    first, before, _ = steps[0]
    moved = [after for *_, after in steps if after != before]
    # What is set stays where it was last set to; a reading is told where it was farthest off.
    after = moved[-1] if what != "sensor" else max(moved, key=lambda value: abs(value - before))
    at = int(course.time[first])
    return Change(name, "value", at, what, before=before, after=after, low=low, high=high)


def _began(ranking: Ranking, column: int) -> int:
    """The tick at which trouble of a signal began: never after the alarm."""
    return min(int(ranking.onset[column]), ranking.raised)


def _range(context: Context, column: int) -> tuple[float, float]:
    """The range of a signal in normal operation, as far as known."""
    if column >= len(context.low):
        return float("nan"), float("nan")
    return float(context.low[column]), float(context.high[column])


def _steps(course: Course, column: int, start: int, stop: int) -> list[tuple[int, float, float]]:
    """The moves of a signal: tick, value before and after, by the rows and not by their mean."""
    steps: list[tuple[int, float, float]] = []
    state = float("nan")
    for tick in range(stop):
        ends = (float(course.low[tick, column]), float(course.high[tick, column]))
        if not np.isfinite(ends).all():
            continue
        if np.isnan(state):
            state = ends[0]
        shown = ends[0] if abs(ends[0] - state) > abs(ends[1] - state) else ends[1]
        if shown != state and tick >= start:
            steps.append((tick, state, shown))
        state = shown
    return steps


def _stuck(
    name: str, what: SignalKind, course: Course, context: Context, ranking: Ranking, column: int
) -> Change | None:
    """It stands still, for longer than it ever did in normal operation."""
    values = course.values[: ranking.stop, column]
    if not np.isfinite(values[ranking.raised]):
        return None
    same = values == values[ranking.raised]
    first = ranking.raised - int(np.argmin(same[ranking.raised :: -1]))
    first = 0 if same[: ranking.raised + 1].all() else first + 1
    after = np.flatnonzero(~same[ranking.raised :])
    end = ranking.raised + int(after[0]) if len(after) else ranking.stop
    usual = int(context.longest_still[column]) if column < len(context.longest_still) else 0
    least = max(usual, LEAST_STILL)
    if end - first - 1 <= least:
        return None
    if ranking.raised - first <= least and _jumped_into(values, first):
        return None  # that it went there is the news
    return Change(name, "stuck", int(course.time[first]), what, after=float(values[ranking.raised]))


def _jumped_into(values: Floats, first: int) -> bool:
    """Whether the step before a standstill is far larger than the signal's usual steps."""
    steps = np.abs(np.diff(values[: first + 1]))
    steps = steps[np.isfinite(steps)]
    if not len(steps):
        return False
    usual = steps[:-1][steps[:-1] > 0]
    return bool(steps[-1] > FAR * (np.median(usual) if len(usual) else 0.0))


def _switched(
    name: str, what: SignalKind, course: Course, ranking: Ranking, column: int
) -> Change | None:
    """A switch or valve that changed about when the alarm was raised, or did not when it should."""
    if what not in ("switch", "valve"):
        return None
    onset = _began(ranking, column)
    steps = _steps(course, column, max(0, onset - 1), ranking.stop)
    if not steps:
        after = float(course.values[ranking.raised, column])
        return Change(name, "switched", int(course.time[onset]), what, after=after)
    (at, before, _), (*_, after) = steps[0], steps[-1]
    if after == before:  # there and back
        after = steps[0][2]
    return Change(name, "switched", int(course.time[at]), what, before=before, after=after)


def _out_of_range(
    name: str, what: SignalKind, course: Course, context: Context, ranking: Ranking, column: int
) -> Change | None:
    """A sensor that is where it never was in normal operation."""
    low, high = _range(context, column)
    if np.isnan(low) or what == "counter":
        return None
    margin = BEYOND * (high - low)
    values = course.values[ranking.start : ranking.stop, column]
    out = np.flatnonzero((values < low - margin) | (values > high + margin))
    out = out[out >= _began(ranking, column) - ranking.start]
    if not len(out):
        return None
    distance = np.abs(values[out] - np.clip(values[out], low, high))
    tick = int(out[distance.argmax()])
    farthest = _shown(course, ranking.start + tick, column, low, high)
    at = int(course.time[ranking.start + out[0]])
    return Change(name, "range", at, what, after=farthest, low=low, high=high)


def _shown(course: Course, tick: int, column: int, low: float, high: float) -> float:
    """The value of a tick, or that of its row that is far beyond the normal range."""
    ends = (float(course.low[tick, column]), float(course.high[tick, column]))
    if ends[1] - ends[0] <= high - low:
        return float(course.values[tick, column])
    return ends[0] if low - ends[0] > ends[1] - high else ends[1]


def _off(
    name: str,
    what: SignalKind,
    course: Course,
    context: Context,
    ranking: Ranking,
    column: int,
    broken_links: Sequence[BrokenLink],
) -> Change:
    """A signal that is not what its causes say: by a level, noise, a jump, or a link."""
    onset = _began(ranking, column)
    at = int(course.time[onset]) if len(course) else 0
    raw = course.innovation[onset : ranking.stop, column]
    left = np.clip(raw, -CLIP, CLIP)
    left = left[np.isfinite(left)]
    if not len(left):
        return Change(name, "other", at, what)
    broken = [link for link in broken_links if link.link.target == name and link.deviation > 1.0]
    for link in sorted(broken, key=lambda link: -link.deviation):
        if _accounts(link, course, context, column, slice(onset, ranking.stop)):
            return Change(name, "link", at, what, link=link)
    mean, factor = float(left.mean()), float(np.sqrt(np.mean(left**2)))
    off = _believable(offsets(raw, context.equations, column), course, context, ranking, column)
    when = burst(raw) if factor > NOISY or len(left) == 1 else None
    if when is not None:
        sudden = off[when]
        amount = float(sudden[np.abs(sudden).argmax()])
        return Change(name, "jump", int(course.time[onset + when.start]), what, amount=amount)
    is_level = len(left) * mean**2 > OFF**2 * max(float(left.std()), 1.0) ** 2
    is_level |= abs(float(np.median(off))) > OFF * context.scale[column]
    if is_level or 2 * mean**2 > factor**2:
        kind: ChangeKind = "drift" if _drifts(off) else "level"
        amount = float(off[-1]) if kind == "drift" else _amount(off)
        return Change(name, kind, at, what, amount=amount)
    if factor > LOUDER:
        return Change(name, "noise", at, what, amount=factor)
    return Change(name, "other", at, what)


def _accounts(
    broken: BrokenLink, course: Course, context: Context, column: int, ticks: slice
) -> bool:
    """Whether the trouble of a signal goes if the link acts as it was observed to.

    A link to a signal's own past does not count: noise and offsets break it as well.
    """
    link = broken.link
    if link.is_auto or link.source not in course.signals:
        return False
    source = course.signals.index(link.source)
    at = np.arange(ticks.start, ticks.stop) - link.lag
    surprise, cause = course.innovation[ticks, column], course.values[np.maximum(at, 0), source]
    known = np.isfinite(surprise) & np.isfinite(cause) & (at >= 0)
    if np.count_nonzero(known) < LEAST_TICKS:
        return False
    surprise, cause = surprise[known], cause[known] - context.centre[source]
    moved = (broken.observed - broken.normal) * cause / context.equations.spread[column]
    loud = surprise.var() > max(LOUDER**2, surprise.mean() ** 2)  # more than noise, and no offset
    return bool(loud and (surprise - moved).var() < (1.0 - ACCOUNTS) * surprise.var())


def _believable(
    off: Floats, course: Course, context: Context, ranking: Ranking, column: int
) -> Floats:
    """Offsets of a sensor, or, where they put the true value where it cannot be, plain errors."""
    onset = _began(ranking, column)
    seen = course.values[onset : ranking.stop, column]
    true = seen - off
    if column < len(context.low):
        low, high = context.low[column], context.high[column]
    else:
        low, high = context.centre[column] + np.array([-3, 3]) * context.scale[column]
    room = (high - low) / 2
    known = true[np.isfinite(true)]
    if len(known) and low - room <= known.min() and known.max() <= high + room:
        return off
    return np.nan_to_num(seen - course.expected[onset : ranking.stop, column])


def _drifts(off: Floats) -> bool:
    """Whether an offset grows part by part, rather than being there at once."""
    if len(off) < 2 * DRIFTS:
        return False
    size = [float(np.median(part)) for part in np.array_split(np.abs(off), DRIFTS + 1)]
    steps = np.diff(size)
    return bool((steps > 0).all() and size[0] < size[-1] / 2 and np.abs(np.diff(off)).max() <
                size[-1] / 2)  # fmt: skip


def _amount(off: Floats) -> float:
    """How far a level is off since it went half the way there: the onset may lie a bit before."""
    size = np.abs(off)
    return float(np.median(off[int(np.argmax(size >= size.max() / 2)) :]))
