"""What a watch has seen so far, and the summary at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from causewatch.cli.batches import Feed
from causewatch.data import format_duration, format_time, lasting
from causewatch.errors import listing
from causewatch.monitor import Alarm, Monitor, Tick
from causewatch.monitor.alarms import Event

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Counts"]

DROPPED = ("bad_lines", "bad_times", "late_rows")
"""Kinds of problems that cost a row."""


class Counts:
    """Rows, ticks, alarms and problems of one run.

    Parameters
    ----------
    monitor, feed
        What problems are asked from.
    """

    def __init__(self, monitor: Monitor, feed: Feed) -> None:
        self._monitor = monitor
        self._feed = feed
        self._before = dict(monitor.problems)  # those of earlier runs
        self._first_row = int(feed.position().get("rows", 0))
        self.rows = 0
        self.ticks = 0
        self.judged = 0
        self.alarm_ticks = 0
        self.alarms = 0
        self.health: dict[str, dict[str, None]] = {}  # what was wrong, by signal
        self.first: int | None = None
        self.last: int | None = None

    def tick(self, tick: Tick) -> None:
        """One more tick."""
        self.ticks += 1
        self.judged += tick.score is not None
        self.alarm_ticks += tick.alarm
        if self.first is None:
            self.first = tick.time
        self.last = tick.time

    def event(self, event: Event, alarm: Alarm) -> None:
        """Something happened to an alarm."""
        if alarm.kind == "health":
            if event in ("raised", "updated") and alarm.problem:
                for name in alarm.signals:
                    self.health.setdefault(name, {})[alarm.problem] = None
        elif event == "raised":
            self.alarms += 1

    @property
    def problems(self) -> dict[str, int]:
        """What was wrong with rows in this run, by kind."""
        found = {
            kind: count - self._before.get(kind, 0)
            for kind, count in self._monitor.problems.items()
        }
        for kind, count in self._feed.problems.items():
            found[kind] = found.get(kind, 0) + count
        return {kind: count for kind, count in sorted(found.items()) if count}

    def to_dict(self, seconds: float, ended: bool) -> dict[str, Any]:
        """The summary as plain data."""
        clock, every = self._monitor.clock, self._monitor.model.preprocessing.every
        return {
            "event": "ended" if ended else "interrupted",
            "rows": self.rows,
            "ticks": self.ticks,
            "ticks_judged": self.judged,
            "first": None if self.first is None else format_time(self.first, clock),
            "last": None if self.last is None else format_time(self.last, clock),
            "alarms_raised": self.alarms,
            "alarms_on": sum(alarm.kind == "anomaly" for alarm in self._monitor.alarms.active),
            "under_alarm_s": self.alarm_ticks * every,
            "under_alarm_share": self.alarm_ticks / self.ticks if self.ticks else 0.0,
            "health": {name: list(what) for name, what in self.health.items()},
            "problems": self.problems,
            "dropped_rows": sum(self.problems.get(kind, 0) for kind in DROPPED),
            "seconds": round(seconds, 3),
        }

    def show(self, name: str, seconds: float, out: Console) -> None:
        """The summary for people."""
        said = self.to_dict(seconds, True)
        since = f" after the first {self._first_row:,}" if self._first_row else ""
        span = f", {said['first']} to {said['last']}" if self.ticks else ""
        out.print(f"Source     {name}: {_some(self.rows, 'row')}{since}{span}")
        every = self._monitor.model.preprocessing.every
        pace = f"; {self.rows / seconds:,.0f} rows/s" if seconds > 0 and self.rows else ""
        out.print(f"Ticks      {self.ticks:,} of {format_duration(every)}{pace}")
        if self.ticks and not self.judged:
            why = "too many values are missing, or too few ticks follow each other"
            out.print(f"             none could be judged: {why}")
        still = f", {said['alarms_on']} still on" if said["alarms_on"] else ""
        under = f"; on for {lasting(said['under_alarm_s'])}" if self.alarm_ticks else ""
        share = f" ({said['under_alarm_share']:.1%} of the time)" if self.alarm_ticks else ""
        out.print(f"Alarms     {self.alarms} raised{still}{under}{share}")
        if self.health:
            found = [f"{name} {' and '.join(what)}" for name, what in self.health.items()]
            out.print(f"Health     {listing(found).replace('_', ' ')}")
        dropped = {kind: count for kind, count in self.problems.items() if kind in DROPPED}
        if dropped:
            out.print(f"Dropped    {_some(sum(dropped.values()), 'row')}: {_kinds(dropped)}")
        noted = {kind: count for kind, count in self.problems.items() if kind not in DROPPED}
        if noted:
            out.print(f"Noted      {_kinds(noted)}")


def _some(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _kinds(counts: dict[str, int]) -> str:
    return ", ".join(f"{kind.replace('_', ' ')} {count:,}" for kind, count in counts.items())
