"""Limits of the default detector from normal operation.

The detector itself is run over normal ticks, so that whatever it does live it also does here. Each
mechanism is judged on ticks it was not fitted to: the recording is cut in two, and each half is
judged by the fit to the other one. A first pass finds how high each statistic rises; a second one,
with each in units of its own level, how high the largest of them rises. A recording set aside for
the purpose (`apart`) decides that last figure alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations
from causewatch.detectors.innovation import DRIFT_RATE, InnovationDetector
from causewatch.detectors.limits import Limits
from causewatch.detectors.reestimate import reestimate
from causewatch.detectors.statistics import Layout, memories_for
from causewatch.detectors.tails import level_of_blocks, level_of_peaks

__all__ = ["Judged", "calibrate", "scores_of"]

Floats = NDArray[np.float64]

MERGE = 10
"""Excursions closer than this many ticks are one alarm."""
BLOCKS = 100
"""Blocks whose maxima give the level of a statistic, where the recording is long enough."""
OVERLAP = 4
LINK_LOOKS = 100
"""How often the coefficients of links are re-estimated to see how far they stray normally."""
CAUTION = 1.25
"""Limits are set for this many times the interval asked for: a finite recording does not show all
that normal operation does, and too quiet is forgiven sooner than too loud."""
LEAST_LEVEL = 1e-6
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Judged:
    """Normal ticks, and the mechanisms they are judged by.

    Attributes
    ----------
    equations
        Fitted to other ticks than these.
    stretches
        Ticks × signals; lags do not reach from one stretch into the next.
    """

    equations: Equations
    stretches: Sequence[Floats]

    def __len__(self) -> int:
        return sum(len(rows) for rows in self.stretches)


def calibrate(
    normal: Sequence[Judged],
    *,
    apart: Sequence[Judged] = (),
    centre: Floats,
    scale: Floats,
    false_alarm_every: float,
    layout: Layout | None = None,
    drift_rate: float = DRIFT_RATE,
    progress: Callable[[float], None] | None = None,
) -> Limits:
    """Limits such that normal operation raises an alarm once in `false_alarm_every` ticks.

    Parameters
    ----------
    normal
        Ticks of the recording the model was learnt from.
    apart
        Ticks of a second normal recording; it alone decides the overall limit.
    centre, scale
        Mean and standard deviation of every signal.
    false_alarm_every
        Expected time between two false alarms, in ticks.
    layout
        The statistics; chosen by the length of the recordings if not given.
    drift_rate
        As for the detector.
    progress
        Told the share that is done.
    """
    tell = progress or (lambda share: None)
    everything = [*normal, *apart]
    ticks = sum(len(part) for part in everything)
    first = everything[0].equations
    if layout is None:
        memories = memories_for(ticks)
        layout = Layout(
            first.signals,
            len(first.source),
            memories["mean"],
            memories["variance"],
            memories["coefficient"] if len(first.source) else (),
        )
    limits = Limits(
        layout,
        statistics=np.ones(layout.size),
        overall=np.inf,
        links=np.ones(len(first.source)),
        centre=centre,
        scale=scale,
        false_alarm_every=false_alarm_every,
        supported=sum(len(part) for part in (apart or normal)) / 2,
    )
    every = CAUTION * false_alarm_every
    piece = max(min(layout.longest, 32), ticks // (OVERLAP * BLOCKS))
    seen = []
    for k, part in enumerate(everything):
        seen.append(_watch(part, limits, piece, drift_rate))
        tell(0.45 * (k + 1) / len(everything))
    limits = replace(
        limits,
        links=_link_levels(everything, centre, scale, limits.recent, every),
        overall=1.0,
    )
    tell(0.55)

    def with_levels_of(parts: Sequence[_Seen]) -> Limits:
        levels = _levels(parts, layout, piece * OVERLAP, every)
        return replace(limits, statistics=levels)

    # No part is judged by levels it had a say in: it would look better than it is.
    own = seen[: len(normal)]
    judged = [(part, own) for part in apart] or [
        (part, [one for k, one in enumerate(own) if k != mine] or own)
        for mine, part in enumerate(normal)
    ]
    series = []
    for k, (part, others) in enumerate(judged):
        series.append(_by_block(part, with_levels_of(others), drift_rate))
        tell(0.55 + 0.45 * (k + 1) / len(judged))
    heights = np.concatenate(series)
    # Each family and memory gets the same share of false alarms, so that none drowns the others.
    shares = np.array([level_of_peaks(one, every, MERGE) for one in heights.T])
    shares = np.maximum(shares, LEAST_LEVEL)
    balanced = with_levels_of(own).statistics.copy()
    for share, (_, _, place) in zip(shares.tolist(), layout.blocks, strict=True):
        balanced[place] *= share
    overall = level_of_peaks((heights / shares).max(axis=1), every, MERGE)
    return replace(limits, statistics=balanced, overall=max(overall, LEAST_LEVEL))


def scores_of(part: Judged, limits: Limits, *, drift_rate: float = DRIFT_RATE) -> Floats:
    """Score of every tick, NaN where there is none."""
    detector = InnovationDetector(part.equations, limits, drift_rate=drift_rate)
    scores = []
    for rows in part.stretches:
        for k, row in enumerate(rows):
            score = detector.update(row, new_stretch=k == 0).score
            scores.append(np.nan if score is None else score)
    return np.array(scores)


def _by_block(part: Judged, limits: Limits, drift_rate: float) -> Floats:
    """Largest ratio in each block of statistics at every tick that can be judged."""
    detector = InnovationDetector(part.equations, limits, drift_rate=drift_rate, lets_go=False)
    heights = []
    for rows in part.stretches:
        for k, row in enumerate(rows):
            if detector.update(row, new_stretch=k == 0).score is not None:
                heights.append(detector.heights())
    return np.array(heights).reshape(len(heights), len(limits.layout.blocks))


@dataclass(frozen=True, eq=False)
class _Seen:
    """What the statistics did in one part: maxima of pieces, sums of squares, number of ticks."""

    maxima: Floats
    given: Floats
    state: Floats
    ticks: int


def _watch(part: Judged, limits: Limits, piece: int, drift_rate: float) -> _Seen:
    """Run the detector over a part."""
    detector = InnovationDetector(part.equations, limits, drift_rate=drift_rate, lets_go=False)
    maxima: list[Floats] = []
    size = limits.layout.size
    highest, given, state = np.zeros(size), np.zeros(size), np.zeros(size)
    ticks = filled = 0
    for rows in part.stretches:
        for k, row in enumerate(rows):
            if detector.update(row, new_stretch=k == 0).score is None:
                continue
            np.maximum(highest, np.abs(detector.state), out=highest)
            given += detector.given**2
            state += detector.state**2
            ticks += 1
            filled += 1
            if filled == piece:
                maxima.append(highest)
                highest, filled = np.zeros_like(highest), 0
    if filled >= piece // 2 or not maxima:
        maxima.append(highest)
    return _Seen(np.stack(maxima), given, state, max(ticks, 1))


def _levels(seen: Sequence[_Seen], layout: Layout, block: int, every: float) -> Floats:
    """How high each statistic rises once in `every` ticks.

    With a long memory a recording holds few independent values of a statistic, and its own record
    would be a poor guide (worse: the recording would be judged by its own accidents). So each is
    pulled towards what its kin, the statistics of the same family and memory, have in common: the
    more, the fewer independent values there are.
    """
    ticks = sum(one.ticks for one in seen)
    given = np.sqrt(sum(one.given for one in seen) / ticks)
    state = np.sqrt(sum(one.state for one in seen) / ticks)
    record = level_of_blocks(np.concatenate([_blocks(one.maxima) for one in seen]), block, every)
    # Rare surprises, such as those of a switch, are no tail of what is usual: what was passed too
    # often already cannot be the level.
    pieces = np.concatenate([one.maxima for one in seen])
    passed = min(len(pieces), max(1, int(ticks / every)))
    record = np.maximum(record, np.partition(pieces, -passed, axis=0)[-passed])
    levels = np.empty(layout.size)
    for _, memory, place in layout.blocks:
        # Were innovations independent in time, this would be the size of the weighted mean.
        plain = given[place] / np.sqrt(2.0 * memory - 1.0)
        size = plain * _pulled(state[place] / np.maximum(plain, TINY), ticks / (2.0 * memory) / 20)
        rise = _pulled(record[place] / np.maximum(state[place], TINY), ticks / block / 30)
        levels[place] = np.maximum(size * rise, record[place])
    return np.maximum(levels, LEAST_LEVEL)


def _pulled(ratios: Floats, weight: float) -> Floats:
    """Ratios pulled towards their median on a log scale; their own say is w / (w + 1)."""
    logs = np.log(np.maximum(ratios, TINY))
    if not len(logs):
        return logs
    common = np.median(logs)
    return np.asarray(np.exp(common + (logs - common) * weight / (weight + 1.0)))


def _blocks(pieces: Floats) -> Floats:
    """Maxima of overlapping blocks of `OVERLAP` pieces: they waste less than separate ones."""
    if len(pieces) <= OVERLAP:
        return np.asarray(pieces.max(axis=0, keepdims=True))
    return np.asarray(sliding_window_view(pieces, OVERLAP, axis=0).max(axis=-1))


def _link_levels(
    parts: Sequence[Judged], centre: Floats, scale: Floats, recent: int, every: float
) -> Floats:
    """How far the coefficient of each link strays in normal operation."""
    changes = []
    stretches = [(part.equations, rows) for part in parts for rows in part.stretches]
    total = sum(len(rows) for _, rows in stretches)
    apart = max(recent // 4, total // LINK_LOOKS)
    for equations, rows in stretches:
        window = recent + equations.max_lag
        innovation = equations.innovations(rows)
        for stop in range(min(window, len(rows)), len(rows) + 1, apart):
            piece = slice(max(0, stop - window), stop)
            changes.append(
                np.abs(reestimate(equations, rows[piece], innovation[piece], centre, scale))
            )
    first = parts[0].equations
    least = 0.01 * first.spread[first.target] / scale[first.source]
    if not changes:
        return np.asarray(np.maximum(least, 1e-12))
    return np.asarray(np.maximum(level_of_blocks(np.stack(changes), apart, every), least))
