"""Looking on while a watch runs: a live view in a terminal, lines otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from causewatch.cli.health_text import UNWELL, health_text
from causewatch.cli.output import shown
from causewatch.data import format_time
from causewatch.monitor.health import STREAM
from causewatch.streaming.source import is_away
from causewatch.streaming.views import View

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from causewatch.monitor import Alarm
    from causewatch.monitor.alarms import Event
    from causewatch.streaming.runner import Watch

__all__ = ["LinesOut", "LiveView", "event_text"]

REFRESH = 0.1
"""Seconds between two pictures."""
BAR = 40
"""Width of the score's bar; the limit stands at half of it."""
MOST = 8
"""Alarms and unwell signals shown at most."""
SHOWN = frozenset({"raised", "cleared", "acknowledged", "shelved"})
"""Events that people are told; that evidence grows says nothing new."""
STYLES = {"raised": "bold red", "updated": "yellow", "cleared": "green"}


class LinesOut(View):
    """Writes what happens to alarms to stdout, at once: lines for people, or every event as JSON.

    Parameters
    ----------
    as_json
        Whether they are JSON.
    """

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self.broken = False  # whether nobody reads any more

    def event(self, watch: Watch, event: Event, alarm: Alarm, line: str) -> None:
        """See `causewatch.streaming.runner.View`."""
        if self.broken or not (self._as_json or event in SHOWN):
            return
        try:
            print(line if self._as_json else event_text(watch, event, alarm).plain, flush=True)
        except BrokenPipeError:
            self.broken = True

    def look(self, watch: Watch) -> None:
        """Stop when the reader is gone."""
        if self.broken:
            watch.stop = True


class LiveView(View):
    """The state of affairs in a terminal, and above it a line for whatever happens to alarms.

    Parameters
    ----------
    console
        The terminal.
    now
        The time in seconds.
    """

    def __init__(self, console: Console, now: Callable[[], float] = time.monotonic) -> None:
        from rich.live import Live

        self._now = now
        self._drawn = -1.0
        self._pace = 0.0
        self._before = (now(), 0)
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._live.stop()

    def event(self, watch: Watch, event: Event, alarm: Alarm, line: str) -> None:
        """See `causewatch.streaming.runner.View`."""
        if event in SHOWN:
            self.say(event_text(watch, event, alarm))

    def say(self, text: Text) -> None:
        """Print a line above the picture."""
        self._live.console.print(text)

    def more(self, watch: Watch) -> list[RenderableType]:
        """What else belongs to the picture, below the score; for views that know more."""
        return []

    def look(self, watch: Watch) -> None:
        """See `causewatch.streaming.runner.View`."""
        now = self._now()
        if now - self._drawn < REFRESH:
            return
        self._drawn = now
        since, rows = self._before
        if now - since >= 1.0:
            self._pace = (watch.counts.rows - rows) / (now - since)
            self._before = (now, watch.counts.rows)
        self._live.update(self._picture(watch), refresh=True)

    def _picture(self, watch: Watch) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        monitor, counts, last = watch.monitor, watch.counts, watch.last
        at = "no tick yet"
        if last is not None and last.time is not None:
            at = format_time(last.time, monitor.clock)
        parts: list[RenderableType] = [
            Text(
                f"{shown(watch.source.name)}   {at}   {counts.rows:,} rows,"
                f" {self._pace:,.0f} rows/s",
                style="bold",
                no_wrap=True,
                overflow="ellipsis",
            ),
            _score(None if last is None else last.score, counts.rows),
            *self.more(watch),
        ]
        active = monitor.alarms.active
        anomalies = [alarm for alarm in active if alarm.kind == "anomaly"]
        status = watch.source.status
        stream = monitor.health.get(STREAM)
        if watch.trouble:
            parts.append(Text(shown(watch.trouble), style="bold red"))
        if is_away(status):
            parts.append(Text(f"No rows: {shown(status)}", style="bold red"))
        elif last is None:
            parts.append(Text(f"Source: {shown(status)}", style="dim"))
        elif stream is not None and stream.state == "not_judged":
            parts.append(Text(shown(stream.detail), style="bold red"))
        elif not anomalies:
            parts.append(Text("No alarm is on.", style="green"))
        for alarm in anomalies[:MOST]:
            parts.append(_alarm(alarm, format_time(alarm.raised_at, monitor.clock)))
        if len(anomalies) > MOST:
            parts.append(Text(f"and {len(anomalies) - MOST} more alarms", style="dim"))
        unwell = list(monitor.health.values())
        for health in unwell[:MOST]:
            what = health_text(health.signal, health.state, ": ")
            parts.append(Text(f"{UNWELL} {what}", style="yellow"))
        if len(unwell) > MOST:
            parts.append(Text(f"and {len(unwell) - MOST} more signals not well", style="dim"))
        return Group(*parts)


def event_text(watch: Watch, event: Event, alarm: Alarm) -> Text:
    """One line about what happened to an alarm."""
    from rich.text import Text

    text = Text(f"{format_time(alarm.updated_at, watch.monitor.clock)}  ", style="dim")
    what = event if alarm.kind == "anomaly" else f"health {event}"
    text.append(f"{what:15}", STYLES.get(event, ""))
    text.append(f"{alarm.id}  ", "dim")
    text.append(shown(alarm.headline))
    return text


def _score(score: float | None, rows: int) -> Text:
    """The score as a bar; its middle is the limit. `rows` is how many have come."""
    from rich.text import Text

    if score is None:
        return Text(f"Score      {'warming up' if rows else 'no rows yet'}", style="dim")
    half = BAR // 2
    filled = min(BAR, round(half * min(score, 2.0)))
    style = "red" if score > 1.0 else "yellow" if score > 0.8 else "green"
    bar = Text("Score      ")
    bar.append("█" * min(filled, half), style)
    bar.append("░" * max(0, half - filled), "dim")
    bar.append("│")
    bar.append("█" * max(0, filled - half), style)
    bar.append("░" * (BAR - max(filled, half)), "dim")
    bar.append(f"  {score:.2f}", style)
    bar.append("  (alarm limit 1)", "dim")
    return bar


def _alarm(alarm: Alarm, raised: str) -> Text:
    from rich.text import Text

    shelved = alarm.shelved_until is not None
    text = Text("▲ ", style="dim" if shelved else "bold red")
    text.append(f"{alarm.id}  since {raised}", "bold")
    if alarm.peak_score is not None:
        text.append(f"  peak {alarm.peak_score:.1f}")
    if alarm.acknowledged is not None:
        text.append(f"  seen by {shown(alarm.acknowledged.by)}", "cyan")
    if shelved:
        text.append("  shelved", "cyan")
    text.append(f"\n  {shown(alarm.headline)}")
    return text
