"""`Outage`: the alarm that says that what a watch writes cannot be written.

It is none of the monitor's: the rows that lead to its alarms may come again after a kill, and must
lead to the same ones. While it is on, sinks are told of it beside the events, which the store may
not take; the event that ends it is one like any other, and tells all of it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from causewatch.monitor import Alarm
from causewatch.monitor.alarms import Event, alarm_id
from causewatch.monitor.health import STREAM, HealthState

__all__ = ["Outage"]

NOT_KEPT: HealthState = "not_kept"


class Outage:
    """Whether all that is written can be written.

    Parameters
    ----------
    watch
        Name of the watch.
    """

    def __init__(self, watch: str) -> None:
        self._watch = watch
        self._what: tuple[bool, ...] = ()
        self._since = 0.0
        self.alarm: Alarm | None = None  # while it is on

    def step(
        self, reasons: tuple[str, ...], time: int, wall: float, losses: str = ""
    ) -> tuple[Event, Alarm] | None:
        """Say how outputs stand; gives what happens to the alarm, None if nothing does.

        Parameters
        ----------
        reasons
            For each output a sentence why it cannot be written; empty if it can.
        time
            Of the last tick.
        wall
            The present time in seconds since 1970.
        losses
            What could not be kept at all, as a sentence.
        """
        what, before = tuple(map(bool, reasons)), self.alarm
        if not any(what):
            if before is None:
                return None
            span = f"{_moment(self._since)} to {_moment(wall)} UTC"
            headline = f"Not all could be written from {span}. {before.headline} It can now."
            self.alarm, self._what = None, ()
            headline = " ".join(filter(None, (headline, losses)))
            return "cleared", replace(before, updated_at=time, cleared_at=time, headline=headline)
        if what == self._what:
            return None
        self._what = what
        headline = " ".join(filter(None, reasons))
        if before is None:
            self._since = wall
            id = alarm_id(str(wall), self._watch, time, NOT_KEPT)
            self.alarm = Alarm(
                id, "health", time, time, time,
                signals={STREAM: None}, problem=NOT_KEPT, headline=headline,
            )  # fmt: skip
            return "raised", self.alarm
        self.alarm = replace(before, updated_at=time, headline=headline)
        return "updated", self.alarm


def _moment(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S")
