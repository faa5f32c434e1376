"""What a model needs to watch a stream: limits, habits, guards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from causewatch.data.cells import LARGEST
from causewatch.detectors import (
    DetectorSettings,
    Equations,
    GuardRanges,
    Judged,
    Limits,
    NormalHabits,
    calibrate,
    count_alarms,
    cross_fitted,
    scores_of,
)
from causewatch.errors import NotEnoughDataError

__all__ = ["MERGE", "SecondRecording", "Watching", "prepare"]

Floats = NDArray[np.float64]

LEAST_TICKS = 30
"""Fewer normal ticks than this say nothing about what is normal."""
UNREACHABLE = 1e6
"""Usual deviations that nothing in a plant is ever off."""
MERGE = 10
"""Excursions closer than this many ticks are one alarm."""


@dataclass(frozen=True, slots=True)
class SecondRecording:
    """A second normal recording under limits from the first one alone.

    Attributes
    ----------
    ticks
        How long it is.
    alarms
        Alarms that would have been raised in it.
    share
        Share of its ticks above the limit.
    factor
        By how much the limits were moved because of it (median over the statistics).
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
    second
        The second normal recording, if there was one.
    factor
        All limits are multiplied by this.
    """

    limits: Limits | None
    published: Floats | None
    spread: Floats
    guarded: tuple[str, ...]
    ranges: GuardRanges
    habits: NormalHabits
    gap: float
    second: SecondRecording | None = None
    factor: float = 1.0

    def unreachable(self, signals: Sequence[str]) -> list[str]:
        """Those of the model's `signals` and the guarded ones that no limit can hold."""
        deaf: list[str] = []
        if self.limits is not None:
            least = self.limits.statistics.min(axis=0) * self.factor
            deaf = [name for name, limit in zip(signals, least, strict=True) if limit > UNREACHABLE]
        wide = np.abs(self.ranges.high - self.ranges.low) > LARGEST / UNREACHABLE
        return deaf + [name for name, far in zip(self.guarded, wide, strict=True) if far]


def prepare(
    equations: Equations,
    stretches: Sequence[Floats],
    apart: Sequence[Floats],
    *,
    centre: Floats,
    scale: Floats,
    false_alarm_every: float,
    usual_every: float | None = None,
    settings: DetectorSettings | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Equations, Limits, SecondRecording | None]:
    """Limits of the default detector, and the mechanisms with the spread it uses.

    Parameters
    ----------
    equations
        The mechanisms.
    stretches
        Ticks of the recording they were learnt from.
    apart
        Ticks of a second normal recording: limits lie above what it shows, too.
    centre, scale
        Mean and standard deviation of every signal.
    false_alarm_every
        Expected time between two false alarms, in ticks.
    usual_every
        The time that is aimed at if none is asked for, in ticks.
    settings
        The numbers of the detector.
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
    normal = cross_fitted(equations, usable)
    equations = replace(equations, spread=normal[0].equations.spread)
    second = [rows for rows in apart if len(rows) > equations.max_lag]
    tell = progress or (lambda share: None)
    whole = 2 if second else 1  # how often limits are learnt

    def calibrated(parts: Sequence[Judged], done: int) -> Limits:
        return calibrate(
            parts,
            centre=centre,
            scale=scale,
            false_alarm_every=false_alarm_every,
            usual_every=usual_every,
            settings=settings,
            progress=lambda share: tell((done + share) / whole),
        )

    limits = calibrated(normal, 0)
    if not second:
        return equations, limits, None
    judged = Judged(equations, second)
    before = np.nan_to_num(scores_of(judged, limits))
    moved = calibrated([*normal, judged], 1)
    comparison = SecondRecording(
        ticks=len(before),
        alarms=count_alarms(before, MERGE),
        share=float(np.mean(before > 1.0)),
        factor=_moved(limits, moved),
    )
    return equations, moved, comparison


def _moved(before: Limits, after: Limits) -> float:
    """By what factor limits have moved: the median over statistics and signals."""
    known = np.isfinite(before.statistics) & np.isfinite(after.statistics)
    if not known.any():
        return 1.0
    return float(np.median(after.statistics[known] / before.statistics[known]))
