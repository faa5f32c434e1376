"""`Vigil`: notices that no rows come, or that those that come are not judged."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import numpy as np

from causewatch.data import Clock
from causewatch.data.table import NANOSECONDS
from causewatch.monitor import Alarm, Monitor, Tick
from causewatch.monitor.alarms import Event
from causewatch.monitor.health import STREAM
from causewatch.streaming.counts import Counts
from causewatch.streaming.liveness import Liveness
from causewatch.streaming.silence import Silence
from causewatch.streaming.source import Source

__all__ = ["Vigil"]

log = logging.getLogger(__name__)


class Vigil:
    """Tells the monitor what it cannot know of its stream, and notes the alarms about it.

    Parameters
    ----------
    monitor, source, counts
        Of the watch.
    silence
        When it is an alarm that no rows come.
    note
        Takes what happens to alarms.
    begun
        Time of the last tick of an earlier run; 0 if there was none.
    now, wall
        The time in seconds: any that never goes back, and since 1970.

    Attributes
    ----------
    liveness
        Whether the rows that come are judged.
    """

    def __init__(
        self,
        monitor: Monitor,
        source: Source,
        counts: Counts,
        silence: Silence,
        note: Callable[[Event, Alarm], None],
        begun: int,
        now: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._monitor, self._source, self._counts = monitor, source, counts
        self._silence, self._note, self._wall = silence, note, wall
        before = monitor.health.get(STREAM)
        self.liveness = Liveness(
            monitor.model.preprocessing.every / monitor.model.interval,
            monitor.model.preprocessing.max_lag + 1,
            monitor.model.preprocessing.every,
            blind=before is not None and before.state == "not_judged",
            now=now,
        )
        self._time = begun
        self._left_out = 0  # messages that the source had left out when the last row came
        self._no_rows = False  # whether none of those that came since could be used

    @property
    def time(self) -> int:
        """Time of the last tick; before the first one, what it would be now."""
        if self._time == 0:
            self._time = _clock_time(self._wall(), self._monitor.clock)
        return self._time

    @property
    def present(self) -> int:
        """The time of the stream; where no rows come, what it would be if they did."""
        silence = self._silence
        return self._time + (round(silence.lasted * NANOSECONDS) if silence.on else 0)

    def waited(self, seconds: float) -> None:
        """No row has come for so long; it is an alarm if there should have been some.

        It is one about messages that make none, if such have come, else about the silence.
        """
        silent, lasted = self._silence.waited(seconds), self._silence.lasted
        if silent or lasted >= self.liveness.patience:
            messages = self._counts.left_out - self._left_out
            self._left_out = self._counts.left_out
            if messages:
                self._counts.made_no_row(messages)
                self.came(messages, lasted)
                self._no_rows = self.liveness.blind
        if not silent or self._no_rows:  # the alarm says what about the messages
            return
        detail = self._silence.sentence(self._source.name, self._source.status, self._wall())
        for event, alarm in self._monitor.silent(detail, self.time, lasted):
            self._note(event, alarm)

    def heard(self) -> None:
        """Something has come."""
        self._silence.heard()
        self._left_out, self._no_rows = self._counts.left_out, False

    def came(self, rows: int, lasted: float = 0.0, later: int = 0) -> None:
        """Rows have come, for so many seconds; says so if they are not judged.

        Of the rows dropped so far some are still to come.
        """
        blind, dropped = self.liveness.blind, self._counts.dropped - later
        self.liveness.came(rows, dropped, lambda: self._counts.problems, lasted)
        if self.liveness.blind and not blind:
            log.warning("%s", self.see())

    def incomplete(self, fault: str) -> None:
        """What an earlier run left is not whole: an alarm; the watch goes on all the same."""
        for event, alarm in self._monitor.incomplete(fault, self.time):
            self._note(event, alarm)

    def see(self) -> str:
        """Raise the alarm that rows are not judged, if they are not; gives why."""
        if not self.liveness.blind:
            return ""
        detail = self.liveness.sentence(self._source.name, self._counts.problems, self._wall())
        for event, alarm in self._monitor.not_judged(detail, self.time):
            self._note(event, alarm)
        return detail

    def judged(self, tick: Tick) -> None:
        """A tick is complete."""
        if tick.time is not None:
            self._time = tick.time
        blind = self.liveness.blind
        empty = tick.score is None and bool(np.isnan(tick.values.array).all())
        thin = tick.rows < self._monitor.model.watching.habits.least_rows
        self.liveness.tick(tick.score is not None, empty, thin)
        if blind and not self.liveness.blind:
            self._monitor.judged_again()


def _clock_time(wall: float, clock: Clock) -> int:
    """The present time in nanoseconds on the clock of a stream; 0 where that cannot be known."""
    if clock == "naive":
        wall += time.localtime(wall).tm_gmtoff
    return int(wall * 1e9) if clock in ("utc", "naive") else 0
