"""Looking on while a recording is played: attacks, signals and alarms as they come."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from causewatch.cli.live import LiveView, event_text
from causewatch.cli.output import shown
from causewatch.data import Clock, format_time
from causewatch.explain.described import with_beginning
from causewatch.streaming.views import View

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from causewatch.explain.story import Chapter
    from causewatch.monitor import Alarm, Tick
    from causewatch.monitor.alarms import Event
    from causewatch.streaming.runner import Watch

__all__ = ["Collected", "PlainView", "PlayedView"]

POINT = 300
"""Seconds of the recording for each point of a course."""
WIDTH = 48
"""Signs of a signal's course."""
BARS = "▁▂▃▄▅▆▇█"
NANOSECONDS = 1_000_000_000


class Collected(View):
    """Keeps every alarm as it stood last, with the ticks that show how it began."""

    def __init__(self) -> None:
        self.alarms: dict[str, Alarm] = {}

    def event(self, watch: Watch, event: Event, alarm: Alarm, line: str) -> None:
        """See `causewatch.streaming.views.View`."""
        self.alarms[alarm.id] = with_beginning(alarm, self.alarms.get(alarm.id))

    def look(self, watch: Watch) -> None:
        """See `causewatch.streaming.views.View`."""


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


class PlainView(View):
    """One line for every attack and for every alarm that is raised or cleared: no terminal."""

    def __init__(self, out: Console, chapters: Sequence[Chapter], clock: Clock) -> None:
        self._out = out
        self._truth = _Truth(chapters, clock)

    def event(self, watch: Watch, event: Event, alarm: Alarm, line: str) -> None:
        """See `causewatch.streaming.views.View`."""
        self._say(alarm.updated_at)
        if _is_told(event, alarm):
            self._out.print(event_text(watch, event, alarm))

    def look(self, watch: Watch) -> None:
        """See `causewatch.streaming.views.View`."""
        self._say(None if watch.last is None else watch.last.time)

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
        self._course: dict[str, deque[float]] = {name: deque(maxlen=WIDTH) for name in units}
        self._last: dict[str, float] = {}
        self._point: int | None = None

    def tick(self, watch: Watch, tick: Tick) -> None:
        """See `causewatch.streaming.views.View`."""
        self._last = {name: tick.values[name] for name in self._course if name in tick.values}
        point = (tick.time or 0) // (POINT * NANOSECONDS)
        if point != self._point:
            self._point = point
            for name, value in self._last.items():
                self._course[name].append(value)

    def event(self, watch: Watch, event: Event, alarm: Alarm, line: str) -> None:
        """See `causewatch.streaming.views.View`."""
        self._announce(alarm.updated_at)
        if _is_told(event, alarm):
            super().event(watch, event, alarm, line)

    def look(self, watch: Watch) -> None:
        """See `causewatch.streaming.views.View`."""
        self._announce(None if watch.last is None else watch.last.time)
        super().look(watch)

    def more(self, watch: Watch) -> list[RenderableType]:
        """See `LiveView`."""
        from rich.text import Text

        parts: list[RenderableType] = []
        for name, value in self._last.items():
            text = Text(f"{shown(name):11}", no_wrap=True, overflow="ellipsis")
            text.append(f"{sparks(self._course[name]):{WIDTH}}", "cyan")
            text.append(f"  {value:.4g} {self._units[name]}".rstrip())
            parts.append(text)
        going_on = self._truth.now(None if watch.last is None else watch.last.time)
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
