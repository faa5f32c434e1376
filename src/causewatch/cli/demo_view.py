"""Playing a recording at speed, and looking on: attacks, signals and alarms as they come."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from causewatch.cli.batches import Batch, Feed
from causewatch.cli.live import LiveView, event_text
from causewatch.cli.output import shown
from causewatch.data import Clock, format_time
from causewatch.explain.describe import with_beginning

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from causewatch.cli.session import Session
    from causewatch.explain.story import Chapter
    from causewatch.monitor import Alarm
    from causewatch.monitor.alarms import Event

__all__ = ["Collected", "PlainView", "PlayedFeed", "PlayedView"]

PICTURE = 0.1
"""Seconds between two batches of a recording that is played at a given speed."""
MOST_ROWS = 600
"""Rows of a batch at most, so that there is something to see in between."""
WIDTH = 48
"""Signs of a signal's course."""
BARS = "▁▂▃▄▅▆▇█"


class PlayedFeed:
    """A feed in small batches, at a given speed, that remembers how some signals went.

    Parameters
    ----------
    feed
        Where the rows come from.
    columns
        Names of its columns.
    keys
        Signals to remember.
    interval
        Seconds between two rows.
    speed
        How many times faster than time they are played; 0 for as fast as possible.
    every
        Seconds of the recording for each remembered point.
    now, sleep
        The time in seconds, and how to wait.
    """

    def __init__(
        self,
        feed: Feed,
        columns: Sequence[str],
        keys: Sequence[str],
        interval: float,
        speed: float,
        *,
        every: float = 300.0,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._feed = feed
        self._keys = {name: columns.index(name) for name in keys if name in columns}
        self._interval = interval
        self._speed = speed
        self._point = max(1, round(every / interval))
        self._now, self._sleep = now, sleep
        self._rows = 0
        self.course: dict[str, deque[float]] = {name: deque(maxlen=WIDTH) for name in self._keys}
        self.last: dict[str, float] = {}

    @property
    def clock(self) -> Clock | None:
        """See `Feed`."""
        return self._feed.clock

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Feed`."""
        return self._feed.missing

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Feed`."""
        return self._feed.problems

    def position(self) -> dict[str, Any]:
        """See `Feed`."""
        return self._feed.position()

    def close(self) -> None:
        """See `Feed`."""
        self._feed.close()

    def batches(self) -> Iterator[Batch]:
        """See `Feed`."""
        size = MOST_ROWS
        if self._speed > 0:
            size = min(MOST_ROWS, max(1, round(self._speed * PICTURE / self._interval)))
        started = self._now()
        for batch in self._feed.batches():
            for begin in range(0, len(batch.values), size):
                part = slice(begin, begin + size)
                yield Batch(batch.values[part], batch.times[part])
                self._remember(batch.values[part])
                if self._speed > 0:
                    due = started + self._rows * self._interval / self._speed
                    self._sleep(max(0.0, due - self._now()))

    def _remember(self, values: Any) -> None:
        before, self._rows = self._rows, self._rows + len(values)
        first = -before % self._point
        for name, column in self._keys.items():
            self.course[name].extend(values[first :: self._point, column].tolist())
            if len(values):
                self.last[name] = float(values[-1, column])


class Collected:
    """Keeps every alarm as it stood last, with the ticks that show how it began."""

    def __init__(self) -> None:
        self.alarms: dict[str, Alarm] = {}

    def event(self, session: Session, event: Event, alarm: Alarm, line: str) -> None:
        """See `causewatch.cli.session.View`."""
        self.alarms[alarm.id] = with_beginning(alarm, self.alarms.get(alarm.id))

    def look(self, session: Session) -> None:
        """See `causewatch.cli.session.View`."""


class _Truth:
    """Lines about attacks, each once, when its time has come."""

    def __init__(self, chapters: Sequence[Chapter], clock: Clock) -> None:
        moments = [(one.start, "attack begins", one) for one in chapters]
        moments += [(one.end, "attack ends", one) for one in chapters]
        self._waiting = deque(sorted(moments, key=lambda moment: moment[0]))
        self._chapters = chapters
        self._clock = clock

    def due(self, until: int | None) -> Iterator[Text]:
        """What began or ended up to a time."""
        from rich.text import Text

        while until is not None and self._waiting and self._waiting[0][0] <= until:
            when, what, one = self._waiting.popleft()
            text = Text(f"{format_time(when, self._clock)}  ", style="dim")
            text.append(f"{what:15}", "bold magenta" if what == "attack begins" else "magenta")
            text.append(f"{shown(one.name)}", "magenta")
            text.append(f": {shown(one.description)}" if what == "attack begins" else "", "magenta")
            yield text

    def now(self, when: int | None) -> list[Chapter]:
        """The attacks that are going on."""
        if when is None:
            return []
        return [one for one in self._chapters if one.start <= when < one.end]


def _is_told(event: Event, alarm: Alarm) -> bool:
    """Whether there is a line about it: many signals get well again at the same time."""
    return event == "raised" or (event == "cleared" and alarm.kind == "anomaly")


class PlainView:
    """One line for every attack and for every alarm that is raised or cleared: no terminal."""

    def __init__(self, out: Console, chapters: Sequence[Chapter], clock: Clock) -> None:
        self._out = out
        self._truth = _Truth(chapters, clock)

    def event(self, session: Session, event: Event, alarm: Alarm, line: str) -> None:
        """See `causewatch.cli.session.View`."""
        self._say(alarm.updated_at)
        if _is_told(event, alarm):
            self._out.print(event_text(session, event, alarm))

    def look(self, session: Session) -> None:
        """See `causewatch.cli.session.View`."""
        self._say(None if session.last is None else session.last.time)

    def _say(self, until: int | None) -> None:
        for text in self._truth.due(until):
            self._out.print(text)


class PlayedView(LiveView):
    """The live view of a watch, with the attack that is going on and how some signals go."""

    def __init__(
        self,
        console: Console,
        chapters: Sequence[Chapter],
        clock: Clock,
        units: Mapping[str, str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(console, now)
        self._truth = _Truth(chapters, clock)
        self._units = units

    def event(self, session: Session, event: Event, alarm: Alarm, line: str) -> None:
        """See `causewatch.cli.session.View`."""
        self._announce(alarm.updated_at)
        if _is_told(event, alarm):
            super().event(session, event, alarm, line)

    def look(self, session: Session) -> None:
        """See `causewatch.cli.session.View`."""
        self._announce(None if session.last is None else session.last.time)
        super().look(session)

    def more(self, session: Session) -> list[RenderableType]:
        """See `LiveView`."""
        from rich.text import Text

        parts: list[RenderableType] = []
        feed = session.feed
        if isinstance(feed, PlayedFeed):
            for name, course in feed.course.items():
                text = Text(f"{shown(name):11}", no_wrap=True, overflow="ellipsis")
                text.append(f"{sparks(course):{WIDTH}}", "cyan")
                if name in feed.last:
                    text.append(f"  {feed.last[name]:.4g} {self._units.get(name, '')}".rstrip())
                parts.append(text)
        going_on = self._truth.now(None if session.last is None else session.last.time)
        names = ", ".join(shown(one.name) for one in going_on)
        said = f"Truth      attack {names} is going on" if going_on else "Truth      no attack"
        parts.append(Text(f"{said} (the watch does not know)", style="magenta" if names else "dim"))
        return parts

    def _announce(self, until: int | None) -> None:
        for text in self._truth.due(until):
            self.say(text)


def sparks(values: Sequence[float] | deque[float]) -> str:
    """A row of little bars, from the lowest to the highest value; a blank where there is none."""
    row = np.array(values, dtype=np.float64)
    known = row[np.isfinite(row)]
    if not len(known):
        return " " * len(row)
    low, size = float(known.min()), float(known.max() - known.min())
    scaled = np.zeros(len(row)) if size == 0.0 else (row - low) / size * (len(BARS) - 1)
    return "".join(
        BARS[round(float(bar))] if np.isfinite(value) else " "
        for value, bar in zip(row, scaled, strict=True)
    )
