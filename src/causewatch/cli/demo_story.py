"""What the demo has to tell: which attacks were noticed, which alarms were false."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from causewatch.cli.output import shown
from causewatch.data import Clock, format_time, lasting
from causewatch.explain.story import MOST_NAMED, Chapter, Entry
from causewatch.monitor.alarms import Alarm
from causewatch.simulate.run import Episode

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["Outcome", "chapters_of", "judge", "print_outcome"]

NANOSECONDS = 1_000_000_000
LONGEST = 36
"""Signs in a line about an attack."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the watch fared.

    Attributes
    ----------
    chapters, entries
        The attacks and the alarms, each with what they were.
    grace
        Seconds after an attack in which an alarm is its aftermath, not a false alarm.
    under_alarm
        Seconds spent under alarm during attacks, in their aftermath, and at other times.
    """

    chapters: tuple[Chapter, ...]
    entries: tuple[Entry, ...]
    grace: float
    under_alarm: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def count(self, verdict: str) -> int:
        """Alarms of a kind."""
        return sum(entry.verdict == verdict for entry in self.entries)

    @property
    def detected(self) -> int:
        """Attacks during which an alarm was raised."""
        return sum(one.alarm is not None for one in self.chapters)

    def named_within(self, places: int) -> int:
        """Attacks with an attacked signal among the first `places` causes."""
        return sum(one.place is not None and one.place <= places for one in self.chapters)

    @property
    def sentences(self) -> list[str]:
        """The outcome in words."""
        total = len(self.chapters)
        if total:
            detected = f"{self.detected} of {_some(total, 'attack')} detected"
            named = f"an attacked signal is named first in {self.named_within(1)}"
            said = [f"{detected}; {named}, among the first three in {self.named_within(3)}."]
        else:
            said = ["There was no attack."]
        aftermath, health = self.count("aftermath"), self.count("health")
        alarms = [_some(self.count("false"), "false alarm")]
        if aftermath:
            alarms.append(f"{_some(aftermath, 'alarm')} in the aftermath of an attack")
        if health:
            alarms.append(f"{_some(health, 'finding')} about the health of single signals")
        said.append(f"{', '.join(alarms)}.")
        attack, after, other = (lasting(seconds) for seconds in self.under_alarm)
        said.append(
            f"Under alarm for {attack} during attacks, {after} within {lasting(self.grace)} after"
            f" one, {other} otherwise."
        )
        return said

    @property
    def rules(self) -> list[str]:
        """How it was counted."""
        return [
            "Detected: an alarm was raised while the attack lasted; one that was on before does"
            " not count. Named causes are those of the first such alarm, as it stood at its end;"
            " ✓ marks an attacked one.",
            f"An alarm raised up to {lasting(self.grace)} after an attack, while the plant"
            " recovers, is its aftermath; any other alarm outside the attacks is false.",
        ]

    def to_dict(self, clock: Clock) -> dict[str, Any]:
        """Plain data."""
        return {
            "attacks_total": len(self.chapters),
            "detected": self.detected,
            "missed": len(self.chapters) - self.detected,
            "named_first": self.named_within(1),
            "named_in_three": self.named_within(3),
            "false_alarms": self.count("false"),
            "aftermath_alarms": self.count("aftermath"),
            "health_findings": self.count("health"),
            "under_alarm_s": dict(
                zip(("attack", "aftermath", "other"), self.under_alarm, strict=True)
            ),
            "grace_s": self.grace,
            "attacks": [
                {
                    "name": one.name,
                    "description": one.description,
                    "start": format_time(one.start, clock),
                    "end": format_time(one.end, clock),
                    "signals": list(one.signals),
                    "detected": one.alarm is not None,
                    "detected_after_s": one.after,
                    "alarm": one.alarm,
                    "causes": list(one.causes),
                    "abstained": one.abstained,
                    "place": one.place,
                    "note": one.note,
                }
                for one in self.chapters
            ],
            "alarms": [
                {
                    "id": one.alarm.id,
                    "was": one.verdict,
                    "attack": one.chapter,
                    "raised_at": format_time(one.alarm.raised_at, clock),
                    "cleared_at": None
                    if one.alarm.cleared_at is None
                    else format_time(one.alarm.cleared_at, clock),
                    "headline": one.alarm.headline,
                }
                for one in self.entries
            ],
        }


def chapters_of(episodes: Iterable[Episode], first: int, interval: float) -> tuple[Chapter, ...]:
    """What was done to the plant, before anything is known about alarms.

    Parameters
    ----------
    episodes
        The truth, in rows.
    first
        Time of row 0 in nanoseconds.
    interval
        Seconds between two rows.
    """
    row = round(interval * NANOSECONDS)
    return tuple(
        Chapter(
            one.name,
            one.description,
            tuple(one.signals),
            first + one.start * row,
            first + one.end * row,
        )
        for one in sorted(episodes, key=lambda one: (one.start, one.end))
    )


def judge(
    chapters: Sequence[Chapter],
    alarms: Iterable[Alarm],
    ticks: Sequence[tuple[int, bool]],
    every: float,
    grace: float,
) -> Outcome:
    """Hold the alarms against the truth.

    Parameters
    ----------
    chapters
        What was done, from `chapters_of`.
    alarms
        Every alarm as it stood in the end.
    ticks
        Time of every tick, and whether an alarm was on.
    every
        Seconds of a tick. It belongs to an attack if it ends while the attack lasts, as in
        `causewatch evaluate`.
    grace
        Seconds after an attack that are its aftermath.
    """
    rest = round(grace * NANOSECONDS)
    ordered = sorted(alarms, key=lambda alarm: (alarm.raised_at, alarm.id))
    under = [0.0, 0.0, 0.0]
    for time, on in ticks:
        gone = min(
            (time - chapter.end for chapter in chapters if chapter.start <= time), default=rest
        )
        under[0 if gone < 0 else 1 if gone < rest else 2] += on * every
    return Outcome(
        tuple(_told(chapter, ordered, rest) for chapter in chapters),
        tuple(_entry(alarm, chapters, rest) for alarm in ordered),
        grace,
        (under[0], under[1], under[2]),
    )


def _during(alarm: Alarm, chapter: Chapter) -> bool:
    return chapter.start <= alarm.raised_at < chapter.end


def _after(alarm: Alarm, chapter: Chapter, rest: int) -> bool:
    return chapter.end <= alarm.raised_at < chapter.end + rest


def _entry(alarm: Alarm, chapters: Sequence[Chapter], rest: int) -> Entry:
    """What an alarm was; of several attacks, the one that began last is named."""
    during = [chapter for chapter in chapters if _during(alarm, chapter)]
    after = [chapter for chapter in chapters if _after(alarm, chapter, rest)]
    near = max(during or after, key=lambda chapter: chapter.start, default=None)
    name = None if near is None else near.name
    if alarm.kind == "health":
        return Entry(alarm, "health", name)
    if during:
        return Entry(alarm, "attack", name)
    return Entry(alarm, "aftermath" if after else "false", name)


def _told(chapter: Chapter, alarms: Sequence[Alarm], rest: int) -> Chapter:
    """An attack with what the watch made of it."""
    anomalies = [alarm for alarm in alarms if alarm.kind == "anomaly"]
    first = next((alarm for alarm in anomalies if _during(alarm, chapter)), None)
    if first is not None:
        return replace(
            chapter,
            alarm=first.id,
            after=(first.raised_at - chapter.start) / NANOSECONDS,
            causes=tuple(cause.signal for cause in first.causes),
            abstained=first.abstained,
        )
    notes = []
    if any(
        alarm.raised_at < chapter.start
        and (alarm.cleared_at is None or alarm.cleared_at > chapter.start)
        for alarm in anomalies
    ):
        notes.append("an earlier alarm was still on")
    late = next((alarm for alarm in anomalies if _after(alarm, chapter, rest)), None)
    if late is not None:
        gone = lasting((late.raised_at - chapter.end) / NANOSECONDS)
        notes.append(f"an alarm came {gone} after its end")
    health = (alarm for alarm in alarms if alarm.kind == "health")
    said = next((alarm.headline for alarm in health if _during(alarm, chapter)), None)
    if said is not None:
        notes.append(f"reported as signal health: {said}")
    return replace(chapter, note="; ".join(notes))


def print_outcome(outcome: Outcome, out: Console, clock: Clock) -> None:
    """The table of attacks, false alarms, and the outcome in words."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if outcome.chapters:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("attack", max_width=LONGEST)
        for name in ("detected after", "named causes", "truth"):
            table.add_column(name)
        for one in outcome.chapters:
            if one.after is None:
                found = Text("missed", style="bold red")
                found.append(f"\n{shown(one.note)}" if one.note else "", "dim")
            else:
                found = Text(lasting(one.after), style="green")
            attack = Text(f"{shown(one.name)}  ", style="bold")
            attack.append(shown(one.description), "not bold dim")
            truth = Text(", ".join(shown(name) for name in one.signals))
            table.add_row(attack, found, _causes(one), truth)
        out.print(table)
    for entry in outcome.entries:
        if entry.verdict in ("false", "aftermath"):
            was = "False alarm" if entry.verdict == "false" else f"Aftermath of {entry.chapter}"
            text = Text(f"{shown(was)}  ", style="red" if entry.verdict == "false" else "yellow")
            text.append(f"{format_time(entry.alarm.raised_at, clock)}  ", "dim")
            text.append(shown(entry.alarm.headline), "default not bold")
            out.print(text)
    for sentence in outcome.sentences:
        out.print(sentence)


def _causes(one: Chapter) -> Text:
    from rich.text import Text

    text = Text("cannot tell: " if one.abstained else "", style="dim")
    for k, name in enumerate(one.causes[:MOST_NAMED]):
        text.append(", " if k else "", "default")
        hit = name in one.signals
        text.append(shown(name) + (" ✓" if hit else ""), "bold green" if hit else "default")
    return text if one.causes else Text("–", style="dim")


def _some(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
