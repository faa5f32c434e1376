"""What a model needs to watch a stream: limits, habits, guards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors import (
    Equations,
    GuardRanges,
    Judged,
    Limits,
    NormalHabits,
    calibrate,
    scores_of,
)
from causewatch.detectors.curves import choose_curves
from causewatch.detectors.equations import Bends, Rescales
from causewatch.detectors.switches import find_switches
from causewatch.detectors.tails import cluster_peaks
from causewatch.errors import NotEnoughDataError

__all__ = ["Fared", "Watching", "parts_of", "prepare"]

Floats = NDArray[np.float64]

PARTS = 3
"""Parts into which each half of the recording is cut, so that levels and scores are kept apart."""
LEAST_TICKS = 30
"""Fewer normal ticks than this say nothing about what is normal."""
MERGE = 10


@dataclass(frozen=True, slots=True)
class Fared:
    """How a second normal recording fared under limits from the first one alone.

    Attributes
    ----------
    ticks
        How long it is.
    alarms
        Alarms that would have been raised in it.
    share
        Share of its ticks above the limit.
    factor
        By how much the limits were moved because of it.
    """

    ticks: int
    alarms: int
    share: float
    factor: float


@dataclass(frozen=True, eq=False)
class Watching:
    """What watching needs beside the mechanisms.

    Attributes
    ----------
    limits
        Of the default detector; None for the `paper` preset.
    published
        Limit of each link of the published detector; None for the default preset.
    curves, switches
        Mechanisms that are not straight lines, and signals with two values.
    spread
        Standard deviation of what each mechanism leaves, as the detector uses it.
    guarded
        Signals without a mechanism that are held against their range.
    ranges
        Their ranges.
    habits
        Of all signals: the model's, then the guarded ones.
    gap
        Seconds without a row after which a new stretch begins.
    fared
        How a second normal recording fared, if there was one.
    """

    limits: Limits | None
    published: Floats | None
    curves: Bends | None
    switches: Rescales | None
    spread: Floats
    guarded: tuple[str, ...]
    ranges: GuardRanges
    habits: NormalHabits
    gap: float
    fared: Fared | None = None


def parts_of(equations: Equations, stretches: Sequence[Floats]) -> list[Judged]:
    """Normal ticks in parts, each with mechanisms fitted to the other half of the recording."""
    halves = _cut(stretches, 2)
    if len(halves) < 2:
        msg = f"{sum(map(len, stretches))} ticks are too few to learn alarm limits from."
        raise NotEnoughDataError(msg)
    parts = []
    for mine, others in ((halves[0], halves[1]), (halves[1], halves[0])):
        fitted = equations.refitted(others)
        parts += [Judged(fitted, piece) for piece in _cut(mine, PARTS)]
    return parts


def prepare(
    equations: Equations,
    stretches: Sequence[Floats],
    apart: Sequence[Floats],
    *,
    centre: Floats,
    scale: Floats,
    false_alarm_every: float,
    progress: Callable[[float], None] | None = None,
) -> tuple[Equations, Limits, Fared | None]:
    """Limits of the default detector, and the mechanisms as it uses them.

    Parameters
    ----------
    equations
        The mechanisms as straight lines.
    stretches
        Ticks of the recording they were learnt from.
    apart
        Ticks of a second normal recording, which then decides the limits.
    centre, scale
        Mean and standard deviation of every signal.
    false_alarm_every
        Expected time between two false alarms, in ticks.
    progress
        Told the share that is done.
    """
    usable = [rows for rows in stretches if len(rows) > equations.max_lag]
    if sum(map(len, usable)) < LEAST_TICKS:
        msg = (
            f"{sum(map(len, stretches))} ticks are too few to learn alarm limits from; at least"
            f" {LEAST_TICKS} in a row are needed: give a longer recording or a shorter --every."
        )
        raise NotEnoughDataError(msg)
    curves = choose_curves(equations, usable)
    if curves is not None:
        equations = replace(equations, curves=curves, spread=curves.spread)
    equations = replace(equations, switches=find_switches(equations, usable))
    normal = parts_of(equations, usable)
    if not any(len(rows) > equations.max_lag for part in normal for rows in part.stretches):
        msg = (
            f"{sum(map(len, stretches))} ticks are too few to learn alarm limits for lags up to"
            f" {equations.max_lag} ticks from; give a longer recording or a shorter --max-lag."
        )
        raise NotEnoughDataError(msg)

    second = [rows for rows in apart if len(rows) > equations.max_lag]
    tell = progress or (lambda share: None)
    whole = 2 if second else 1  # how often limits are learnt

    def calibrated(judged: Sequence[Judged] = ()) -> Limits:
        done = 1 if judged else 0
        return calibrate(
            normal,
            apart=judged,
            centre=centre,
            scale=scale,
            false_alarm_every=false_alarm_every,
            progress=lambda share: tell((done + share) / whole),
        )

    limits = calibrated()
    if not second:
        return equations, limits, None
    judged = [Judged(equations, second)]
    before = scores_of(judged[0], limits)
    moved = calibrated(judged)
    fared = Fared(
        ticks=len(before),
        alarms=len(cluster_peaks(np.nan_to_num(before), 1.0, MERGE)),
        share=float(np.mean(np.nan_to_num(before) > 1.0)),
        factor=_moved(limits, moved),
    )
    return equations, moved, fared


def _moved(before: Limits, after: Limits) -> float:
    """By what factor limits have moved: the median over the statistics that both have."""
    one, two = (
        {
            (family, memory): limits.statistics[place] * limits.overall
            for family, memory, place in limits.layout.blocks
        }
        for limits in (before, after)
    )
    ratios = [two[key] / one[key] for key in one if key in two]
    return float(np.median(np.concatenate(ratios)))


def _cut(stretches: Sequence[Floats], parts: int) -> list[list[Floats]]:
    """Ticks cut into parts of about equal length; parts without ticks are left out."""
    total = sum(map(len, stretches))
    bounds = np.linspace(0, total, parts + 1).astype(int)
    cut: list[list[Floats]] = [[] for _ in range(parts)]
    start = 0
    for rows in stretches:
        for k in range(parts):
            piece = rows[max(0, bounds[k] - start) : max(0, bounds[k + 1] - start)]
            if len(piece):
                cut[k].append(piece)
        start += len(rows)
    return [piece for piece in cut if piece]
