"""`Feed`: what a running watch tells those who look on.

The watch calls it from its own thread and must not be held up: ticks go into the trail, and what
else there is to know is put down as plain data that others read without asking the watch.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from causewatch.data import Clock, format_time
from causewatch.monitor import Alarm, Tick
from causewatch.monitor.alarms import Event
from causewatch.server.album import Album
from causewatch.server.plant import seconds_of
from causewatch.server.trail import Trail
from causewatch.streaming.runner import Watch
from causewatch.streaming.source import is_away
from causewatch.streaming.views import View

__all__ = ["Feed"]

LOOK_EVERY = 0.5
"""Seconds between two notes on how the watch stands."""
PACE_OVER = 2.0
"""Seconds over which rows per second are counted."""
MOST_WAITING = 1000
"""Events that wait for being sent; if there are more, viewers are told everything anew."""


class Feed(View):
    """What is known about a watch at present.

    Parameters
    ----------
    columns
        Names of the signals, in the order of the monitor.
    album
        Where alarms with their ticks go.
    now
        Seconds on a clock that never goes back.

    Attributes
    ----------
    trail
        The last ticks.
    status
        How the watch stands, as plain data.
    alarms
        The alarms that are on, as in their JSON lines, latest raised first.
    last_time
        When the last tick was, be it in an earlier run; None if there never was any.
    waiting
        Events that have not been sent yet, oldest first: what happened to which alarm, and its JSON
        line.
    anew
        Whether viewers are to be told everything anew: events had to be dropped from `waiting`, or
        some viewers came before it was known what an earlier run left.
    """

    def __init__(
        self, columns: tuple[str, ...], album: Album, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.trail = Trail(len(columns))
        self.album = album
        self.clock: Clock = "rows"
        self.status: dict[str, Any] = {
            "clock": "rows", "rows": 0, "ticks": 0, "pace": 0.0, "lag": None, "source": "beginning",
            "away": False, "trouble": "", "ended": False, "problems": {}, "unwell": {}, "peaks": {},
        }  # fmt: skip
        self.alarms: list[dict[str, Any]] = []
        self.last_time: int | None = None
        self.waiting: deque[tuple[tuple[Event, str], str]] = deque()
        self.anew = False
        self.wake: Callable[[], None] = lambda: None
        self._now = now
        self._looked_at: float | None = None
        self._pace = (now(), 0, 0.0)
        self._on: dict[str, tuple[int, dict[str, Any]]] = {}  # when raised, and what is told

    @property
    def age(self) -> float | None:
        """Seconds since the watch last gave a sign of life; None if it never did."""
        return None if self._looked_at is None else self._now() - self._looked_at

    def moment(self, time: int | None) -> str | None:
        """A time of the stream as text."""
        return None if time is None else format_time(time, self.clock)

    def with_peak(self, alarm: dict[str, Any]) -> dict[str, Any]:
        """An alarm of the store; of one that is on, with its peak by now."""
        # An event is told only now and then; the peak goes on in between.
        peak = None if alarm["cleared_at"] else self.status["peaks"].get(alarm["id"])
        if peak is None or peak <= (alarm["peak_score"] or 0.0):
            return alarm
        return {**alarm, "peak_score": peak}

    # Called by the watch

    def tick(self, watch: Watch, tick: Tick) -> None:
        """See `View`."""
        # The first row settles what times count; until then it is not known.
        self.clock = watch.monitor.clock
        self.trail.add(tick)
        self.last_time = tick.time
        self.wake()

    def event(self, watch: Watch, event: Event, alarm: Alarm, line: str) -> None:
        """See `View`."""
        self.album.add(event, alarm)
        self.clock = watch.monitor.clock
        self._note(alarm)
        self._show_alarms()
        if len(self.waiting) >= MOST_WAITING:
            self.anew = True
        else:
            self.waiting.append(((event, alarm.id), line))
        self.wake()

    def look(self, watch: Watch) -> None:
        """See `View`."""
        now = self._now()
        self.clock = watch.monitor.clock
        if self._looked_at is None:
            self._take_over(watch)
        elif now - self._looked_at < LOOK_EVERY:
            return
        self._looked_at = now
        since, rows, pace = self._pace
        if now - since >= PACE_OVER:
            pace = (watch.counts.rows - rows) / (now - since)
            self._pace = (now, watch.counts.rows, pace)
        status = watch.status()
        health = watch.monitor.health
        self.status = {
            "clock": self.clock,
            "rows": status.rows,
            "ticks": status.ticks,
            "pace": round(pace, 1),
            "lag": None if status.lag is None else round(status.lag, 3),
            "source": status.source,
            "away": is_away(status.source),
            "trouble": watch.trouble,
            "ended": watch.ended,
            "problems": dict(status.problems),
            "unwell": {
                name: {
                    "state": one.state,
                    "since": self.moment(one.since),
                    "t": seconds_of(one.since),
                    "detail": one.detail,
                }
                for name, one in health.items()
            },
            # An event is told only now and then; the peak of an alarm goes on in between.
            "peaks": {alarm["id"]: alarm["peak_score"] for alarm in status.alarms},
        }
        self.wake()

    def _take_over(self, watch: Watch) -> None:
        """What an earlier run left: the time of its last tick, and alarms that are still on."""
        self.last_time = watch.last_time
        for alarm in watch.monitor.alarms.active:
            self._note(alarm)
        self._show_alarms()
        if self.last_time is not None or self._on:
            self.anew = True

    # Only the alarm that something happened to is looked at: if a plant goes silent, hundreds are
    # raised at once.

    def _note(self, alarm: Alarm) -> None:
        if alarm.on:
            self._on[alarm.id] = (alarm.raised_at, alarm.to_dict("updated", self.clock))
        else:
            self._on.pop(alarm.id, None)

    def _show_alarms(self) -> None:
        latest = sorted(self._on.values(), key=lambda one: one[0], reverse=True)
        self.alarms = [told for _, told in latest]
