"""The base of every detector that gives a score per tick: all but the causal ones.

What is done here is the same for all of them, so that only what they learn differs:

- rows are averaged to ticks of ``split.every`` seconds, as the product does it; all signals of the
  recording are used, those that never move included;
- signals are standardised on ``split.learn``. A signal that is constant there keeps its own unit
  (scale 1, as scikit-learn's scalers do). A missing value is first held as in the product, then
  put at 0, which after standardising is the signal's mean: these methods have no word for missing;
- the limit comes from ``split.limits`` alone, by the rule of the product: extreme values, at one
  false alarm in ``split.false_alarm_every`` seconds. Scores are divided by it;
- alarms come and go by the product's own `AlarmPolicy`.

To add a detector, give `Scored` a subclass with a `name`, `_learn` and `_judge`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import NANOSECONDS, TimeTable
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.tails import level_of_peaks
from causewatch.evaluation.baselines.ticks import StretchTicks, ticks_of
from causewatch.evaluation.verdicts import AlarmSpan, Progress, Verdicts
from causewatch.model.learning import MOST_EXTRAPOLATED
from causewatch.model.watching import MERGE
from causewatch.monitor import Alarm, AlarmPolicy, AlarmSettings
from causewatch.monitor.monitor import REFILLED
from causewatch.monitor.recorded import RowCover, columns_of
from causewatch.preprocess.ticks import Averager

__all__ = ["Judgement", "Scored"]

Floats = NDArray[np.float64]
Judgement = tuple[Floats, Floats | None]
"""Score per tick (NaN: not warmed up), and what each signal contributed to it (ticks × signals), or
None if a detector cannot tell. Only the proportions of contributions in a tick matter."""

CAUTION = 1.25
"""Limits are set for this many times the interval asked for: a finite recording does not show all
that normal operation does."""
LEAST_LEVEL = 1e-6
MOST_CAUSES = 10
"""How many signals an alarm names."""
PIECE = 8192
"""Ticks judged at a time: keeps long recordings out of memory."""
TIMED, TIMED_FOR = 200, 0.5
"""Ticks of a recording of which the time of a single step is measured, at most, and the seconds
after which no more are."""
NO_SPREAD = 1e-12
"""A spread below this share of the signal's size is what averaging leaves of a constant."""


class Scored(ABC):
    """A detector that is a score per tick.

    A subclass sets `name` and gives:

    ``_learn(ticks, seed, progress)``
        Learns from the standardised ticks of ``split.learn``, one array (ticks × signals) per
        stretch, free of missing values. `signals` and `max_lag` (``split.max_lag``) are set by
        then. It must set `reach`, unless that is 0.
    ``_judge(ticks)``
        Judges ticks of one stretch that follow each other, in order. Must not change anything:
        the score of a tick may depend on that tick and on the `reach` ticks before it, on nothing
        else. Ticks with fewer than `reach` before them may get NaN.
    ``_learn_levels(ticks, level)`` (optional)
        For a score that is made of several statistics: gets the ticks of ``split.limits``, and the
        rule that gives the limit of a statistic, to bring them to one scale.
    ``_begin(table)`` (optional)
        Called before a recording is judged.

    A score that has a largest value, which the oddest normal ticks may come close to, also sets
    `saturates`: its limit is then at most the highest score in ``split.limits``, since a limit
    beyond all that it can say would never be passed.

    Parameters
    ----------
    settings
        When alarms come and go.
    """

    name: str = ""
    saturates: bool = False
    reach: int = 0
    signals: tuple[str, ...] = ()
    max_lag: int = 1

    def __init__(self, *, settings: AlarmSettings | None = None) -> None:
        self._settings = settings or AlarmSettings()
        self._limit: float | None = None

    @abstractmethod
    def _learn(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> None:
        """Learn what is normal; see the class."""

    @abstractmethod
    def _judge(self, ticks: Floats) -> Judgement:
        """Score ticks that follow each other; see the class."""

    def _learn_levels(self, ticks: Sequence[Floats], level: Callable[[Floats], float]) -> None:
        """Bring several statistics to one scale; see the class."""
        del ticks, level

    def _begin(self, table: TimeTable) -> None:
        """A recording is about to be judged; see the class."""
        del table

    def fit(self, split: Split, progress: Progress | None = None) -> None:
        """Learn from ``split.learn``, and freeze the alarm limit on ``split.limits``."""
        tell = progress or _silent
        self.signals, self.max_lag = split.learn[0].signals, split.max_lag
        self._every = split.every
        self._centre, self._scale = np.zeros(len(self.signals)), np.ones(len(self.signals))
        raw = [part.values for table in split.learn for part in self._averaged(table)]
        if not raw:
            msg = (
                f"The recording to learn from has no whole tick of {split.every:g} s; give a longer"
                " one or a shorter --every."
            )
            raise NotEnoughDataError(msg)
        self._centre, self._scale = _centre_and_scale(np.concatenate(raw))
        self._learn([self._standardised(rows) for rows in raw], split.seed, tell)

        tell("learning alarm limits", None)
        tables = [(table, self._ticks(table)) for table in split.limits]
        length = sum(len(part.values) for _, parts in tables for part in parts)
        # As the product: never for a time much longer than the recording can speak of.
        aim = min(split.false_alarm_every / split.every, MOST_EXTRAPOLATED * length)
        every = CAUTION * max(2.0, aim)

        def level(series: Floats) -> float:
            return max(level_of_peaks(series, every, MERGE), LEAST_LEVEL)

        self._learn_levels([part.values for _, parts in tables for part in parts], level)
        series = []
        for table, parts in tables:
            self._begin(table)
            series += [self._judged(part.values)[0] for part in parts]
        heights = np.concatenate(series) if series else np.empty(0)
        if not np.isfinite(heights).any():
            msg = (
                f"{self.name}: the part of the recording that decides alarm limits ({length} ticks"
                f" of {split.every:g} s) is too short for a detector that looks back"
                f" {self.reach} ticks; give a longer recording or a shorter --max-lag."
            )
            raise NotEnoughDataError(msg)
        self._limit = level(heights)
        if self.saturates:
            self._limit = max(min(self._limit, float(np.nanmax(heights))), LEAST_LEVEL)

    def move_limit(self, factor: float) -> None:
        """Multiply the alarm limit learnt, to see what depends on it."""
        if self._limit is not None:
            self._limit *= factor

    def watch(self, table: TimeTable, progress: Progress | None = None) -> Verdicts:
        """Judge a recording; what is said of a row depends on its tick and earlier ones only."""
        if self._limit is None:
            msg = f"{self.name} has not learnt anything yet; call fit first."
            raise SettingError(msg)
        tell = progress or _silent
        began = time.perf_counter()
        self._begin(table)
        policy = self._policy(table)
        cover, last = RowCover(table), dict[str, Alarm]()
        parts = self._ticks(table)
        whole, done = max(1, sum(len(part.values) for part in parts)), 0
        unknown = np.full(len(self.signals), np.nan)
        abstains = False
        for part in parts:
            score, contributions = self._judged(part.values)
            abstains = contributions is None
            for k, (when, height) in enumerate(
                zip(part.time.tolist(), (score / self._limit).tolist(), strict=True)
            ):
                known = height == height
                shares = unknown if contributions is None else contributions[k]
                # The product too clears nothing in the first ticks after a gap.
                told = policy.update(when, height if known else None, shares, k < REFILLED)
                last.update((alarm.id, alarm) for _, alarm in told)
                cover.add(when, height if known else None, policy.on)
                if k % PIECE == 0:
                    tell("watching", (done + k) / whole)
            done += len(score)
        spans = sorted((_span(one, abstains) for one in last.values()), key=lambda x: x.raised_at)
        seconds = time.perf_counter() - began
        return Verdicts(
            cover.score, cover.alarm, tuple(spans), self._step_seconds(table, parts), seconds
        )

    def _policy(self, table: TimeTable) -> AlarmPolicy:
        return AlarmPolicy(self._settings, self.signals, self.name, "", table.clock)

    def _judged(self, ticks: Floats) -> Judgement:
        """Judge a stretch piece by piece, each with the ticks before it that it needs."""
        scores, contributions = [np.empty(0)], []
        for start in range(0, len(ticks), PIECE):
            first = max(0, start - self.reach)
            score, parts = self._judge(ticks[first : start + PIECE])
            scores.append(score[start - first :])
            if parts is not None:
                contributions.append(parts[start - first :])
        return np.concatenate(scores), np.concatenate(contributions) if contributions else None

    def _ticks(self, table: TimeTable) -> list[StretchTicks]:
        return [
            StretchTicks(part.time, self._standardised(part.values))
            for part in self._averaged(table)
        ]

    def _averaged(self, table: TimeTable) -> list[StretchTicks]:
        return ticks_of(table, self.signals, self._every)

    def _standardised(self, values: Floats) -> Floats:
        """Missing values are put at 0: the mean."""
        return np.nan_to_num((values - self._centre) / self._scale, nan=0.0)

    def _step_seconds(self, table: TimeTable, parts: Sequence[StretchTicks]) -> Floats:
        """How long single steps take online: averaging a tick's rows, judging it, alarms.

        Measured for ticks spread over the longest stretch, one by one, with nothing shared between
        them and only the ticks before that the detector needs; a first step warms up.
        """
        if not parts or self._limit is None:
            return np.empty(0)
        part = max(parts, key=lambda one: len(one.values))
        first = min(self.reach, len(part.values) - 1)
        places = np.unique(np.linspace(first, len(part.values) - 1, TIMED).astype(int))
        values = columns_of(table, self.signals)
        policy, unknown = self._policy(table), np.full(len(self.signals), np.nan)
        seconds = []
        # In no order, so that a slow detector is not timed at the beginning alone.
        order = np.random.default_rng(0).permutation(places).tolist()
        for place in [order[0], *order]:
            when = int(part.time[place])
            since = when - round(self._every * NANOSECONDS)
            rows = slice(*np.searchsorted(table.time, [since, when], side="right").tolist())
            times, wanted = table.time[rows].tolist(), values[rows]
            averager = Averager(len(self.signals), every=self._every, interval=table.interval)
            before = part.values[max(0, place - self.reach) : place]
            tick = part.values[place]
            begin = time.perf_counter()
            for row_time, row in zip(times, wanted, strict=True):
                done = averager.take(row_time, row)
                if done:
                    tick = done[-1].values
            window = np.concatenate([before, self._standardised(tick)[None]])
            score, contributions = self._judge(window)
            shares = unknown if contributions is None else contributions[-1]
            policy.update(when, float(score[-1]) / self._limit, shares)
            seconds.append(time.perf_counter() - begin)
            if sum(seconds) > TIMED_FOR:
                break
        return np.array(seconds[1:])


def _silent(what: str, share: float | None) -> None:
    """Nobody wants to know."""


def _centre_and_scale(ticks: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of every signal; a constant one keeps its unit."""
    present = np.isfinite(ticks)
    count = np.maximum(present.sum(axis=0), 1)
    centre = np.where(present, ticks, 0.0).sum(axis=0) / count
    distance = np.where(present, ticks - centre, 0.0)
    scale = np.sqrt((distance**2).sum(axis=0) / count)
    return centre, np.where(scale > NO_SPREAD * np.abs(centre), scale, 1.0)


def _span(alarm: Alarm, abstains: bool) -> AlarmSpan:
    """The alarm as it is counted; its signals by their largest contribution are its causes."""
    causes = () if abstains else tuple(alarm.signals)[:MOST_CAUSES]
    return AlarmSpan(alarm.raised_at, alarm.cleared_at, causes, abstains)
