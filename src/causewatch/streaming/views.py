"""Who looks on while a watch runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from causewatch.monitor import Alarm, Tick
    from causewatch.monitor.alarms import Event
    from causewatch.streaming.runner import Watch
    from causewatch.streaming.sink import Status

__all__ = ["Observer", "View"]


class View:
    """Somebody who looks on, from the thread of the watch: nothing here may wait.

    Each method does nothing unless a subclass says otherwise.
    """

    def tick(self, watch: Watch, tick: Tick) -> None:
        """A tick is complete; what it leads to may not be in the store yet."""

    def event(self, watch: Watch, event: Event, alarm: Alarm, line: str) -> None:
        """Something happened to an alarm; `line` is what is written about it."""

    def look(self, watch: Watch) -> None:
        """Some rows have been taken in, or some time has passed."""


class Observer(Protocol):
    """Somebody who counts, such as `causewatch.streaming.metrics.Metrics`."""

    def look(self, status: Status) -> None:
        """How the watch stands, about twice a second."""

    def event(self, body: Mapping[str, Any]) -> None:
        """An event of an alarm."""

    def checkpoint(self, seconds: float) -> None:
        """A checkpoint was written, and took so long."""

    def delivery(self, sink: str, errors: int, waiting: int, problems: Mapping[str, int]) -> None:
        """How a sink stands: failed deliveries, events that wait, what was not told whole."""

    def inbox(self, waiting: int, waits: int, turned_away: int) -> None:
        """How the queue of the source stands, if it has one."""
