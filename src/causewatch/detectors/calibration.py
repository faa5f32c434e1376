"""Limits of the default detector from normal operation.

The detector itself is run over normal ticks, so that whatever it does live it also does here. Each
mechanism is judged on ticks it was not fitted to: the recording is cut in two, and each half is
judged by the fit to the other one. The limit of a statistic is the largest size it has there times
a margin. Limits decide where memories are cut, so normal operation is then replayed as it will be
watched, and a limit that it passes is raised.

Extreme-value tails were tried in its place: they put limits out of reach after short recordings,
and are no better after long ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import LEAST_SPREAD, Equations
from causewatch.detectors.innovation import InnovationDetector
from causewatch.detectors.limits import Limits
from causewatch.detectors.reestimate import reestimate, unit_of
from causewatch.detectors.settings import DetectorSettings
from causewatch.detectors.statistics import changed, cuts_of
from causewatch.errors import NotEnoughDataError
from causewatch.kernels.averages import weighted_mean

__all__ = ["Judged", "calibrate", "count_alarms", "cross_fitted", "scores_of"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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


def cross_fitted(
    equations: Equations, stretches: Sequence[Floats], settings: DetectorSettings | None = None
) -> list[Judged]:
    """Each half of normal operation with the mechanisms fitted to the other half.

    Innovations of both are in units of what is left of ticks that were not fitted to. The spread of
    a signal that was always zero or never judged stays as it is.
    """
    smallest = (settings or DetectorSettings()).smallest
    first, second = _halves(stretches)
    parts = [
        Judged(equations.refitted(others), mine)
        for mine, others in ((first, second), (second, first))
        if mine
    ]
    left = [
        part.equations.innovations(rows) * part.equations.spread
        for part in parts
        for rows in part.stretches
    ]
    nothing = np.empty((0, equations.signals))
    rest, rows = np.concatenate([nothing, *left]), np.concatenate([nothing, *stretches])
    known = np.isfinite(rest)
    if not known.any():
        msg = (
            f"{len(rows)} ticks of normal operation, with what is missing in them, are too few to"
            " learn alarm limits from; give a longer recording or a shorter --every."
        )
        raise NotEnoughDataError(msg)
    spread = np.sqrt(_mean(rest**2))
    own, size = np.sqrt(_mean((rows - _mean(rows)) ** 2)), np.sqrt(_mean(rows**2))
    spread = np.maximum(spread, np.maximum(LEAST_SPREAD * own, smallest * size))
    spread = np.where(known.any(axis=0) & (spread > 0), spread, equations.spread)
    return [replace(part, equations=replace(part.equations, spread=spread)) for part in parts]


def calibrate(
    normal: Sequence[Judged],
    *,
    centre: Floats,
    scale: Floats,
    false_alarm_every: float,
    usual_every: float | None = None,
    settings: DetectorSettings | None = None,
    progress: Callable[[float], None] | None = None,
) -> Limits:
    """Limits above all that normal operation shows, by a margin.

    Parameters
    ----------
    normal
        Normal ticks with the mechanisms they are judged by.
    centre, scale
        Mean and standard deviation of every signal.
    false_alarm_every
        Time between two false alarms that is asked for, in ticks.
    usual_every
        The time that is aimed at if none is asked for.
    settings
        The numbers of the detector.
    progress
        Told the share that is done.
    """
    tell = progress or (lambda share: None)
    settings = settings or DetectorSettings()
    first = normal[0].equations
    mobile, usual = _moving(normal, settings)
    # Without limits, what enters the memories is cut at `clip`.
    unknown = np.full((len(settings.means) + len(settings.squares) + 1, first.signals), np.inf)
    unknown[-1, mobile] = 1.0
    limits = Limits(
        statistics=unknown,
        moving=usual,
        links=np.ones(len(first.source)),
        centre=centre,
        scale=scale,
        low=_over(np.fmin, normal),
        high=_over(np.fmax, normal),
        false_alarm_every=false_alarm_every,
        supported=sum(len(part) for part in normal) / 2,
        settings=settings,
    )
    largest = np.zeros_like(limits.statistics)
    innovations: list[Floats] = []
    for k, part in enumerate(normal):
        np.maximum(largest, _replayed(part, limits, innovations), out=largest)
        tell((k + 1) / (len(normal) + 1))
    asked = false_alarm_every / (usual_every or false_alarm_every)
    margin = max(1.0, settings.margin * asked**settings.margin_growth)
    statistics = np.where(largest > settings.smallest, margin * largest, np.inf)
    longest = np.maximum(margin * largest[-1], settings.still_least)
    statistics[-1] = np.where(mobile & settings.standstill, longest, np.inf)
    links = _link_limits(normal, limits, margin)
    tell(1.0)
    return _kept(replace(limits, statistics=statistics, links=links), innovations)


def scores_of(part: Judged, limits: Limits) -> Floats:
    """Score of every tick, NaN where there is none."""
    detector = InnovationDetector(part.equations, limits)
    scores = []
    for rows in part.stretches:
        for k, row in enumerate(rows):
            score = detector.update(row, new_stretch=k == 0).score
            scores.append(np.nan if score is None else score)
    return np.array(scores)


def count_alarms(scores: Floats, apart: int) -> int:
    """Excursions above the limit; those less than `apart` ticks from each other are one."""
    above = np.flatnonzero(scores > 1.0)
    return int(len(above) > 0) + int(np.count_nonzero(np.diff(above) > apart))


def _mean(rows: Floats) -> Floats:
    """Mean of the known values of each column; 0 where there are none."""
    known = np.isfinite(rows)
    return np.asarray(np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def _halves(stretches: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Ticks cut in the middle."""
    half, before = sum(map(len, stretches)) // 2, 0
    first: list[Floats] = []
    second: list[Floats] = []
    for rows in stretches:
        cut = min(max(half - before, 0), len(rows))
        before += len(rows)
        first += [rows[:cut]] if cut else []
        second += [rows[cut:]] if cut < len(rows) else []
    return first, second


def _moving(normal: Sequence[Judged], settings: DetectorSettings) -> tuple[Flags, float]:
    """Signals whose standing still says something, and how many of them change in a usual tick."""
    pieces = [rows for part in normal for rows in part.stretches]
    changes = np.concatenate([changed(rows[1:], rows[:-1]) for rows in pieces])
    known = sum(np.isfinite(rows).sum(axis=0) for rows in pieces)
    mobile = changes.sum(axis=0) >= settings.still_changes * np.maximum(known, 1)
    usual = float(np.median(changes[:, mobile].sum(axis=1))) if len(changes) else 1.0
    return mobile, usual


def _over(extreme: np.ufunc, normal: Sequence[Judged]) -> Floats:
    """The smallest or largest value of each signal; NaN where it was never seen."""
    return np.asarray(
        extreme.reduce([extreme.reduce(rows) for part in normal for rows in part.stretches])
    )


def _replayed(part: Judged, limits: Limits, collected: list[Floats]) -> Floats:
    """Largest size of each statistic in a part, at ticks at which the signal is judged.

    The innovations that the statistics took in are added to `collected`, a table for each stretch.
    """
    detector = InnovationDetector(part.equations, limits)
    largest = np.zeros_like(limits.statistics)
    for rows in part.stretches:
        innovations = np.empty(rows.shape)
        for k, row in enumerate(rows):
            judged = np.isfinite(detector.update(row, new_stretch=k == 0).signals)
            np.maximum(largest, detector.sizes, out=largest, where=judged)
            tick = detector.observed
            assert tick is not None
            innovations[k] = np.where(tick.known, tick.innovation, np.nan)
        collected.append(innovations)
    return largest


def _kept(limits: Limits, stretches: Sequence[Floats]) -> Limits:
    """Limits that normal operation keeps to when memories are cut as in a watch.

    A higher limit cuts later, so this is repeated until nothing comes within `kept_margin` of its
    limit. It ends: a limit is raised by that margin at least, and nothing is cut in the end.
    """
    settings, limit = limits.settings, limits.statistics[:-1].copy()
    signals = np.arange(limit.shape[1])
    while len(signals):
        now = limit[:, signals]
        cuts = cuts_of(now, settings)
        largest = np.zeros_like(now)
        for innovations in stretches:
            np.maximum(largest, _sizes(innovations[:, signals], cuts, settings), out=largest)
        close = settings.kept_margin * largest > now
        limit[:, signals] = np.where(close, settings.kept_margin * np.maximum(largest, now), now)
        signals = signals[close.any(axis=0)]
    return replace(limits, statistics=np.vstack([limit, limits.statistics[-1:]]))


def _sizes(innovations: Floats, cuts: Floats, settings: DetectorSettings) -> Floats:
    """Largest size of each statistic in a stretch, all ticks at once."""
    cut = (np.clip(innovations, -most, most) for most in cuts)
    means = [np.abs(weighted_mean(next(cut), memory)) for memory in settings.means]
    squares = [
        np.sqrt(1.0 + weighted_mean(next(cut) ** 2 - 1.0, memory)) for memory in settings.squares
    ]
    return np.stack([size.max(axis=0) for size in (*means, *squares)])


def _link_limits(normal: Sequence[Judged], limits: Limits, margin: float) -> Floats:
    """How far the coefficient of each link strays in normal operation, times the margin."""
    settings, first = limits.settings, normal[0].equations
    window = settings.link_window + first.max_lag
    largest = np.zeros(len(first.source))
    for part in normal:
        for rows in part.stretches:
            innovation = part.equations.innovations(rows)
            for stop in range(min(window, len(rows)), len(rows) + 1, settings.link_window // 2):
                piece = slice(max(0, stop - window), stop)
                change = reestimate(
                    part.equations, rows[piece], innovation[piece],
                    limits.centre, limits.scale, settings,
                )  # fmt: skip
                np.maximum(largest, np.abs(change), out=largest)
    least = settings.link_least * unit_of(first, limits.scale)
    return np.asarray(np.maximum(margin * largest, least))
