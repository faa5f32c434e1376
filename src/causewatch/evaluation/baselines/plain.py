"""Plain watching of innovations: what a causal graph is worth with hardly a rule on top.

`Plain` is the yardstick for the rules of the default detector: a rule that does not beat it on
recordings of real plants is not worth its lines. `P2` adds squares, standing still and the bucket.
Both learn from all of normal operation, and their limits do not depend on
``split.false_alarm_every``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import TimeTable
from causewatch.detectors.equations import LEAST_SPREAD, Equations
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.bucket import Bucket
from causewatch.evaluation.baselines.mechanisms import Mechanisms, learn_mechanisms
from causewatch.evaluation.baselines.ticks import StretchTicks, ticks_of
from causewatch.evaluation.verdicts import AlarmSpan, Progress, Verdicts
from causewatch.kernels.averages import weighted_mean
from causewatch.monitor.recorded import RowCover

__all__ = ["P2", "Plain", "PlainSettings", "standstill"]

Floats = NDArray[np.float64]

SMALLEST = 1e-12


@dataclass(frozen=True, slots=True)
class PlainSettings:
    """What `Plain` is made of.

    Attributes
    ----------
    means
        Memories of the weighted means of innovations, in ticks.
    squares
        Memories of the weighted means of their squares, in ticks.
    margin
        A limit is this many times the largest value in normal operation.
    clip
        Innovations are cut here, in standard deviations.
    square_clip
        Squares are cut here.
    guards
        Whether signals without a mechanism are held against their normal range.
    standstill
        Whether a signal that stands still for longer than ever before is evidence.
    bucket
        Whether a signal that is loud alone for long, or again and again, loses its say.
    hold
        Ticks for which an alarm stays on after the last evidence above its limit.
    opening
        Ticks from the raise within which the largest evidence ranks the causes.
    """

    means: tuple[int, ...] = (1, 8)
    squares: tuple[int, ...] = ()
    margin: float = 1.5
    clip: float = 20.0
    square_clip: float = 80.0
    guards: bool = True
    standstill: bool = False
    bucket: bool = False
    hold: int = 3
    opening: int = 12


STILL_LEAST = 5.0
"""Ticks of standing still that are never evidence."""
STILL_CHANGES = 0.3
"""Standing still says something of signals that change in at least this share of normal ticks."""
GUARD_MARGIN = 0.5
"""How far beyond its normal range a guarded signal is at evidence 1, as a share of the range …"""
LEAST_GUARD_MARGIN = 5e-4
"""… and at least, as a share of its size, or of 1 where that is larger."""
MOST_CAUSES = 10
"""How many signals an alarm names."""


class Plain:
    """Innovations given causal parents, weighted means over 1 and 8 ticks, guards, nothing else.

    Parameters
    ----------
    settings
        What it is made of.
    """

    name = "plain"

    def __init__(self, settings: PlainSettings | None = None) -> None:
        self.settings = settings or PlainSettings()
        self._learnt: Mechanisms | None = None
        self._factor = 1.0

    def fit(self, split: Split, progress: Progress | None = None) -> None:
        """Learn causes and mechanisms, then limits by judging each half by the other one."""
        tell = progress or (lambda what, share: None)
        self._learnt = learnt = learn_mechanisms(split, tell)
        number = len(learnt.signals)
        tell("learning alarm limits", None)
        normal = [part.values[:, :number] for part in learnt.ticks]
        residuals = _cross_fitted(learnt.equations, normal)
        self._spread = _spread(residuals, normal)
        highest = np.zeros((len(self.settings.means) + len(self.settings.squares), number))
        for rest in residuals:
            for k, series in enumerate(self._statistics(self._innovations(rest))):
                np.fmax(highest[k], np.abs(series).max(axis=0, initial=0.0), out=highest[k])
        self._limits = np.where(highest > SMALLEST, self.settings.margin * highest, np.inf)
        self._longest = self._longest_standstill(split, learnt)

    def move_limit(self, factor: float) -> None:
        """Multiply the alarm limits learnt, to see what depends on them."""
        self._factor = factor

    def watch(self, table: TimeTable, progress: Progress | None = None) -> Verdicts:
        """Judge a recording; what is said of a row depends on its tick and earlier ones only."""
        del progress
        learnt = self._learnt
        if learnt is None:
            msg = f"{self.name} has not learnt anything yet; call fit first."
            raise SettingError(msg)
        began = time.perf_counter()
        names = (*learnt.signals, *learnt.guarded)
        bucket = None
        if self.settings.bucket:
            bucket = Bucket(
                len(learnt.signals), len(learnt.guarded), learnt.neighbours, learnt.every
            )
        parts = ticks_of(table, names, learnt.every)
        fresh = ticks_of(table, names, learnt.every, hold=0)
        times, heights = [np.empty(0, dtype=np.int64)], [np.empty((0, len(names)))]
        for part, own in zip(parts, fresh, strict=True):
            evidence = self._evidence(part, own, learnt) / self._factor
            if bucket is not None:
                evidence = bucket.lifted(evidence)
            times.append(part.time)
            heights.append(evidence)
        when, height = np.concatenate(times), np.concatenate(heights)
        verdicts = self._verdicts(table, when, height, names)
        spent = time.perf_counter() - began
        # Judged at once and not tick by tick: each tick gets its share.
        steps = np.full(len(when), spent / max(1, len(when)))
        return replace(verdicts, step_seconds=steps, seconds=spent)

    def _innovations(self, residuals: Floats) -> Floats:
        clip = self.settings.clip
        return np.asarray(np.clip(residuals / self._spread, -clip, clip))

    def _statistics(self, innovations: Floats) -> list[Floats]:
        """Every statistic at every tick (ticks × signals)."""
        squares = np.minimum(innovations**2, self.settings.square_clip) - 1.0
        return [
            *(weighted_mean(innovations, memory) for memory in self.settings.means),
            *(weighted_mean(squares, memory) for memory in self.settings.squares),
        ]

    def _evidence(self, part: StretchTicks, fresh: StretchTicks, learnt: Mechanisms) -> Floats:
        """Evidence of each signal, then of each guarded one, at each tick; 0 where unknown."""
        number = len(learnt.signals)
        rows = part.values[:, :number]
        innovations = self._innovations(learnt.equations.innovations(rows) * learnt.spread)
        ratios = [
            np.abs(series) / limit
            for series, limit in zip(self._statistics(innovations), self._limits, strict=True)
        ]
        evidence = np.where(np.isnan(innovations), 0.0, np.max(ratios, axis=0))
        if self.settings.standstill:
            shown = fresh.values[:, :number]
            still = np.where(np.isnan(shown), 0.0, standstill(shown) / self._longest)
            evidence = np.maximum(evidence, still)
        guard = np.zeros((len(rows), len(learnt.guarded)))
        if self.settings.guards:
            guard = _beyond(part.values[:, number:], learnt)
        return np.concatenate([evidence, guard], axis=1)

    def _longest_standstill(self, split: Split, learnt: Mechanisms) -> Floats:
        """Ticks without change that are evidence 1; infinite for signals that seldom move."""
        longest = np.zeros(len(learnt.signals))
        changes, known = np.zeros_like(longest), np.zeros_like(longest)
        for table in (*split.learn, *split.limits):
            for part in ticks_of(table, learnt.signals, learnt.every, hold=0):
                runs = standstill(part.values)
                np.maximum(longest, runs.max(axis=0, initial=0.0), out=longest)
                valid = np.isfinite(part.values)
                changes += ((runs == 0) & valid).sum(axis=0)
                known += valid.sum(axis=0)
        moving = changes >= STILL_CHANGES * np.maximum(known, 1)
        least = np.maximum(STILL_LEAST, self.settings.margin * longest)
        return np.where(moving, least, np.inf)

    def _verdicts(
        self, table: TimeTable, when: NDArray[np.int64], height: Floats, names: Sequence[str]
    ) -> Verdicts:
        score = height.max(axis=1, initial=0.0)
        on = _held(score > 1.0, self.settings.hold)
        cover = RowCover(table)
        for moment, value, alarm in zip(when.tolist(), score.tolist(), on.tolist(), strict=True):
            cover.add(moment, value, alarm)
        spans = []
        edges = np.flatnonzero(np.diff(on.astype(np.int8), prepend=0, append=0))
        for first, end in edges.reshape(-1, 2).tolist():
            top = height[first : min(end, first + self.settings.opening)].max(axis=0)
            order = np.argsort(-top, kind="stable")[:MOST_CAUSES].tolist()
            causes = tuple(names[k] for k in order if top[k] > 0.0)
            cleared = int(when[end]) if end < len(when) else None
            spans.append(AlarmSpan(int(when[first]), cleared, causes))
        return Verdicts(cover.score, cover.alarm, tuple(spans))


class P2(Plain):
    """`Plain` with squares over 8 ticks, standing still as evidence, and the bucket."""

    name = "p2"

    def __init__(self, settings: PlainSettings | None = None) -> None:
        super().__init__(settings or PlainSettings(squares=(8,), standstill=True, bucket=True))


def standstill(values: Floats) -> Floats:
    """For how many ticks each signal has shown the same value; a missing one adds nothing."""
    runs = np.zeros(values.shape)
    for column in range(values.shape[1]):
        known = np.isfinite(values[:, column])
        shown = values[known, column]
        place = np.arange(len(shown))
        moved = np.append(True, shown[1:] != shown[:-1]) if len(shown) else np.empty(0, dtype=bool)
        own = place - np.maximum.accumulate(np.where(moved, place, 0)) if len(shown) else place
        runs[:, column] = np.append(0.0, own)[np.cumsum(known)]
    return runs


def _held(loud: NDArray[np.bool_], hold: int) -> NDArray[np.bool_]:
    """On at a loud tick and for `hold` ticks after it."""
    place = np.arange(len(loud))
    last = np.maximum.accumulate(np.where(loud, place, -hold - 1)) if len(loud) else place
    return np.asarray(place - last <= hold)


def _cross_fitted(equations: Equations, normal: Sequence[Floats]) -> list[Floats]:
    """What each half of normal operation leaves over, judged by the fit to the other half."""
    half = sum(map(len, normal)) // 2
    first, second, before = [], [], 0
    for rows in normal:
        cut = min(max(half - before, 0), len(rows))
        before += len(rows)
        first += [rows[:cut]] if cut else []
        second += [rows[cut:]] if cut < len(rows) else []
    residuals = []
    for mine, others in ((first, second), (second, first)):
        fitted = equations.refitted(others)
        residuals += [fitted.innovations(rows) * fitted.spread for rows in mine]
    if not any(np.isfinite(rest).any() for rest in residuals):
        msg = (
            f"{sum(map(len, normal))} ticks of normal operation are too few to learn alarm limits"
            " from; give a longer recording or a shorter --every."
        )
        raise NotEnoughDataError(msg)
    return residuals


def _spread(residuals: Sequence[Floats], normal: Sequence[Floats]) -> Floats:
    """Standard deviation of what is left, at least a small share of the signal's own."""
    rest, rows = np.concatenate(residuals), np.concatenate(normal)
    known = np.isfinite(rest)
    count = np.maximum(known.sum(axis=0), 1)
    own = np.sqrt((np.where(known, rest, 0.0) ** 2).sum(axis=0) / count)
    size = np.nanstd(rows, axis=0)
    return np.asarray(np.maximum(own, np.maximum(LEAST_SPREAD * size, SMALLEST)))


def _beyond(values: Floats, learnt: Mechanisms) -> Floats:
    """How far guarded signals are beyond their normal range, in margins; compressed above 1."""
    size = np.maximum(1.0, np.maximum(np.abs(learnt.low), np.abs(learnt.high)))
    margin = np.maximum(GUARD_MARGIN * (learnt.high - learnt.low), LEAST_GUARD_MARGIN * size)
    outside = np.maximum(learnt.low - values, values - learnt.high) / margin
    outside = np.maximum(np.nan_to_num(outside), 0.0)
    return np.asarray(np.where(outside > 1.0, 1.0 + np.log(np.maximum(outside, 1.0)), outside))
