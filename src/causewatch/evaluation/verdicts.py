"""What a detector said about a recording, in the one form that everything here counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import TimeTable
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import Alarm, AlarmSettings, Monitor
from causewatch.monitor.recorded import RowCover, ticks_of_table

__all__ = ["AlarmSpan", "Progress", "Verdicts", "watch"]

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
    cover, last = RowCover(table), dict[str, Alarm]()
    steps: list[float] = []
    every = max(1, len(table) // 100)
    next_told = 0
    began = before = time.perf_counter()
    for tick in ticks_of_table(monitor, table):
        steps.append(time.perf_counter() - before)
        if tick.time is not None:
            cover.add(tick.time, tick.score, tick.alarm)
        for _, alarm in tick.events:
            if alarm.kind == "anomaly":
                last[alarm.id] = alarm
        if progress is not None and cover.done >= next_told:
            progress("watching", cover.done / len(table))
            next_told = cover.done + every
        before = time.perf_counter()
    spans = sorted((_span(alarm) for alarm in last.values()), key=lambda span: span.raised_at)
    return Verdicts(
        cover.score,
        cover.alarm,
        tuple(spans),
        np.array(steps),
        time.perf_counter() - began,
    )


def _span(alarm: Alarm) -> AlarmSpan:
    return AlarmSpan(
        alarm.raised_at,
        alarm.cleared_at,
        tuple(cause.signal for cause in alarm.causes),
        alarm.abstained,
        alarm.headline,
    )
