"""What a detector said about a recording, in the one form that everything here counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import TimeTable
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import Alarm, AlarmSettings, Monitor, Tick

__all__ = ["AlarmSpan", "Progress", "RowCover", "Verdicts", "columns_of", "watch"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Progress = Callable[[str, float | None], None]
"""Told what is being done and the share of it that is done (None: not known)."""


@dataclass(frozen=True, slots=True)
class AlarmSpan:
    """An alarm as it is counted.

    Attributes
    ----------
    raised_at, cleared_at
        Nanoseconds on the clock of the recording; `cleared_at` is None if it was never cleared.
    causes
        Signals named as causes by its last line, best first.
    abstained
        Whether that line says that the origin cannot be told; `causes` are candidates then.
    headline
        The sentence for people; empty for detectors that have none.
    """

    raised_at: int
    cleared_at: int | None
    causes: tuple[str, ...] = ()
    abstained: bool = False
    headline: str = ""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a detector said about one recording.

    Attributes
    ----------
    score
        By row: 1.0 is the alarm limit, higher is more anomalous; NaN where nothing was said. The
        score of a tick is that of all rows averaged in it.
    alarm
        By row: whether an alarm was on.
    alarms
        By the time they were raised.
    step_seconds
        How long each step (tick) took; empty if it was not measured.
    seconds
        How long the whole recording took.
    """

    score: Floats
    alarm: Bools
    alarms: tuple[AlarmSpan, ...]
    step_seconds: Floats = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0

    @property
    def judged(self) -> int:
        """Rows that something was said about."""
        return int(np.count_nonzero(np.isfinite(self.score)))


class RowCover:
    """Spreads what is said tick by tick over the rows that each tick averaged.

    Parameters
    ----------
    table
        The recording.
    """

    def __init__(self, table: TimeTable) -> None:
        self._time = table.time
        self.score = np.full(len(table), np.nan)
        self.alarm = np.zeros(len(table), dtype=np.bool_)
        self._done = 0

    def add(self, time: int, score: float | None, alarm: bool) -> None:
        """One tick, known by the time of the last row in it."""
        stop = int(np.searchsorted(self._time, time, side="right"))
        rows = slice(self._done, stop)
        self.score[rows] = np.nan if score is None else score
        self.alarm[rows] = alarm
        self._done = max(self._done, stop)


def watch(
    model: NormalModel,
    table: TimeTable,
    *,
    settings: AlarmSettings | None = None,
    progress: Progress | None = None,
) -> Verdicts:
    """Show a recording to a fresh monitor, row by row.

    Parameters
    ----------
    model
        What is normal.
    table
        The recording; a signal that it lacks is missing.
    settings
        How alarms come and go.
    progress
        Told the share of rows done.
    """
    monitor = Monitor(model, settings=settings, describe=describe)
    monitor.use_clock(table.clock, put_right=True)
    values = columns_of(table, monitor.columns)
    cover, last = RowCover(table), dict[str, Alarm]()
    steps: list[float] = []

    def take(tick: Tick) -> None:
        for one in tick.all:
            if one.complete and one.time is not None:
                cover.add(one.time, one.score, one.alarm)
                for _, alarm in one.events:
                    if alarm.kind == "anomaly":
                        last[alarm.id] = alarm

    began = time.perf_counter()
    spent = 0.0
    every = max(1, len(values) // 100)
    for row, (when, now) in enumerate(zip(table.time.tolist(), values, strict=True)):
        before = time.perf_counter()
        tick = monitor.update_ns(now, when)
        spent += time.perf_counter() - before
        if tick.complete:
            steps.append(spent)
            spent = 0.0
            take(tick)
        if progress is not None and row % every == 0:
            progress("watching", row / len(values))
    take(monitor.flush())
    spans = sorted((_span(alarm) for alarm in last.values()), key=lambda one: one.raised_at)
    return Verdicts(
        cover.score,
        cover.alarm,
        tuple(spans),
        np.array(steps),
        time.perf_counter() - began,
    )


def columns_of(table: TimeTable, names: Sequence[str]) -> Floats:
    """Some columns of a table in this order; those that it lacks are missing."""
    place = {name: k for k, name in enumerate(table.signals)}
    values = np.full((len(table), len(names)), np.nan)
    for k, name in enumerate(names):
        if name in place:
            values[:, k] = table.values[:, place[name]]
    return values


def _span(alarm: Alarm) -> AlarmSpan:
    return AlarmSpan(
        alarm.raised_at,
        alarm.cleared_at,
        tuple(cause.signal for cause in alarm.causes),
        alarm.abstained,
        alarm.headline,
    )
