"""What a watch has seen so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from causewatch.data import format_time
from causewatch.data.table import NANOSECONDS
from causewatch.monitor import Alarm, Monitor, Tick, too_little_judged
from causewatch.monitor.alarms import Event
from causewatch.streaming.source import Batch, Source

__all__ = ["DROPPED", "LOST", "NO_ROWS", "Counts"]

DROPPED = (
    "bad_lines",
    "bad_messages",
    "bad_times",
    "compressed",
    "late_rows",
    "not_a_row",
    "not_json",
    "not_sparkplug",
    "odd_times",
    "retained",
    "too_deep",
    "too_large",
)
"""Kinds of problems that cost a row which was there."""
NO_ROWS = (
    *(kind for kind in DROPPED if kind != "bad_lines"),
    "bad_values",
    "duplicates",
    "late_values",
    "no_tag",
    "unknown_aliases",
    "unknown_tags",
)
"""Kinds of problems with messages and values, which may have made rows, or may not be ours."""
LOST = ("lost_messages", "lost_rows", "missed_polls", "overflow", "perhaps_lost_rows")
"""Kinds of rows that never came, or were too many."""


class Counts:
    """Rows, ticks, alarms and problems of one run.

    Parameters
    ----------
    monitor, source
        What problems are asked from.
    """

    def __init__(self, monitor: Monitor, source: Source) -> None:
        self._monitor = monitor
        self._source = source
        self._before = dict(monitor.problems)  # those of earlier runs
        self.rows_before = 0  # of earlier runs
        self._no_rows = 0  # messages that made no row, while none came
        self.rows = 0
        self.ticks = 0
        self.judged = 0
        self.rows_judged = 0
        self.apart: float | None = None  # usual seconds between rows of late, where known
        self.alarm_ticks = 0
        self.alarms = 0  # raised about the plant
        self.health_alarms = 0  # raised about signals, or about the rows as a whole
        self.health: dict[str, dict[str, None]] = {}  # what was wrong, by signal
        self.first: int | None = None
        self.last: int | None = None

    def batch(self, batch: Batch) -> None:
        """Some more rows."""
        self.rows += len(batch)
        if len(batch.times) > 1:
            self.apart = float(np.median(np.diff(batch.times))) / NANOSECONDS

    def tick(self, tick: Tick) -> None:
        """One more tick."""
        self.ticks += 1
        if tick.score is not None:
            self.judged += 1
            self.rows_judged += tick.rows
        self.alarm_ticks += tick.alarm
        if self.first is None:
            self.first = tick.time
        self.last = tick.time

    def event(self, event: Event, alarm: Alarm) -> None:
        """Something happened to an alarm."""
        if alarm.kind == "health":
            self.health_alarms += event == "raised"
            if event in ("raised", "updated") and alarm.problem:
                for name in alarm.signals:
                    self.health.setdefault(name, {})[alarm.problem] = None
        elif event == "raised":
            self.alarms += 1

    @property
    def unwell(self) -> dict[str, str | None]:
        """What is wrong at present, by signal: as far as there is an alarm about it."""
        active = self._monitor.alarms.active
        return {name: one.problem for one in active if one.kind == "health" for name in one.signals}

    @property
    def dropped(self) -> int:
        """Rows that were there and were dropped, by the source or by the monitor."""
        problems = self._monitor.problems
        late = sum(problems.get(kind, 0) - self._before.get(kind, 0) for kind in DROPPED)
        return late + self.dropped_before

    @property
    def dropped_before(self) -> int:
        """Those that the monitor never saw."""
        return int(getattr(self._source, "dropped", 0)) + self._no_rows

    @property
    def left_out(self) -> int:
        """Messages and values that the source has left out."""
        problems = self._source.problems
        return sum(problems.get(kind, 0) for kind in NO_ROWS)

    def made_no_row(self, messages: int) -> None:
        """Take messages for rows that were dropped, as no row comes at all."""
        self._no_rows += messages

    def unjudged(self, *, in_parts: bool) -> str:
        """Why less than half of the rows were judged, as a sentence; empty if it was not so.

        A run that is one of several `in_parts` may have too few rows to be judged.
        """
        model, dropped = self._monitor.model, self.dropped
        rows = self.rows + self.dropped_before - dropped  # those that the monitor kept
        plan = model.preprocessing
        least = (plan.max_lag + 2) * max(1.0, plan.every / model.interval)
        if in_parts and rows + dropped < least:
            return ""
        return too_little_judged(
            model,
            rows,
            self.rows_judged,
            dropped=dropped,
            apart=self.apart,
            missing=self._source.missing,
        )

    @property
    def problems(self) -> dict[str, int]:
        """What was wrong with rows in this run, by kind."""
        found = {
            kind: count - self._before.get(kind, 0)
            for kind, count in self._monitor.problems.items()
        }
        for kind, count in self._source.problems.items():
            found[kind] = found.get(kind, 0) + count
        return {kind: count for kind, count in sorted(found.items()) if count}

    def to_dict(self, seconds: float, ended: bool) -> dict[str, Any]:
        """The summary as plain data."""
        clock, every = self._monitor.clock, self._monitor.model.preprocessing.every
        return {
            "event": "ended" if ended else "interrupted",
            "rows": self.rows,
            "ticks": self.ticks,
            "rows_judged": self.rows_judged,
            "ticks_judged": self.judged,
            "first": None if self.first is None else format_time(self.first, clock),
            "last": None if self.last is None else format_time(self.last, clock),
            "alarms_raised": self.alarms,
            "health_alarms_raised": self.health_alarms,
            "alarms_on": sum(alarm.kind == "anomaly" for alarm in self._monitor.alarms.active),
            "under_alarm_s": self.alarm_ticks * every,
            "under_alarm_share": self.alarm_ticks / self.ticks if self.ticks else 0.0,
            "health": {name: list(what) for name, what in self.health.items()},
            "problems": self.problems,
            "dropped_rows": self.dropped,
            "seconds": round(seconds, 3),
        }
