"""The story of a watched recording on one page: the outcome, a timeline, the graph, every alarm.

It is a single HTML file that needs no network and no script; it links to the pages of the alarms.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.data import Clock, format_time, lasting
from causewatch.explain.charts import for_page
from causewatch.explain.filled import filled
from causewatch.explain.story_chart import Bar, Lane, timeline
from causewatch.explain.view import clean
from causewatch.files import write_atomically
from causewatch.monitor.alarms import Alarm

__all__ = ["Chapter", "Entry", "Story", "Verdict", "story", "write_story"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Verdict = Literal["attack", "aftermath", "false", "health"]
"""What an alarm was: raised during an attack, soon after one while the plant recovers, at another
time, or about the health of a signal only."""

VERDICTS: dict[Verdict, str] = {
    "attack": "attack",
    "aftermath": "aftermath",
    "false": "false alarm",
    "health": "signal health",
}
MOST_NAMED = 3
"""Named causes shown for each attack."""
NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class Chapter:
    """Something that was done to the plant, and what the watch made of it.

    Attributes
    ----------
    name, description
        For people.
    signals
        What was attacked: the truth.
    start, end
        Nanoseconds, half-open.
    alarm
        Id of the first alarm raised meanwhile; None if there was none: it was missed.
    after
        Seconds from its start to that alarm.
    causes
        Signals that alarm names in the end, best first.
    abstained
        Whether these are candidates only, because the origin could not be told.
    note
        What else is to be said, e.g. about one that was missed.
    """

    name: str
    description: str
    signals: tuple[str, ...]
    start: int
    end: int
    alarm: str | None = None
    after: float | None = None
    causes: tuple[str, ...] = ()
    abstained: bool = False
    note: str = ""

    @property
    def place(self) -> int | None:
        """Place of the first attacked signal among the named causes, from 1 on."""
        hits = (k for k, name in enumerate(self.causes, 1) if name in self.signals)
        return next(hits, None)


@dataclass(frozen=True, slots=True)
class Entry:
    """An alarm, what it was, and which chapter it belongs to (None: none)."""

    alarm: Alarm
    verdict: Verdict
    chapter: str | None = None


@dataclass(frozen=True, eq=False)
class Story:
    """What happened while a recording was watched.

    Attributes
    ----------
    title
        Heading.
    lead
        Sentences under it: what was done, and how it went.
    facts
        Names and values, shown side by side.
    chapters, entries
        What was done to the plant, and the alarms; each by time.
    rules
        Sentences that say how alarms were counted.
    time, score
        One number per tick; the score is NaN where there is none.
    clock
        What times count.
    lanes
        Signals to show under the score: name to values, one per tick.
    units
        Their units.
    graph
        A picture of the causal graph as SVG, and
    graph_caption
        the text under it.
    pages
        Addresses of the pages of alarms, by id.
    more
        Further files to link to: address and text.
    """

    title: str
    lead: Sequence[str]
    facts: Sequence[tuple[str, str]]
    chapters: Sequence[Chapter]
    entries: Sequence[Entry]
    rules: Sequence[str]
    time: Ints
    score: Floats
    clock: Clock
    lanes: Mapping[str, Floats] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    graph: bytes | None = None
    graph_caption: str = ""
    pages: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[tuple[str, str]] = ()


def write_story(told: Story, path: str | os.PathLike[str]) -> None:
    """Write the page; the file is there whole or not at all."""
    write_atomically(path, story(told).encode())


def story(told: Story) -> str:
    """The page as text.

    Names stand in it as text, whatever they are; its policy allows no script and no request.
    """
    from markupsafe import Markup

    return filled(
        "story.html",
        ["alarm.css", "story.css"],
        title=clean(told.title),
        lead=[clean(text) for text in told.lead],
        facts=told.facts,
        chapters=[_chapter(one, told) for one in told.chapters],
        entries=[_entry(one, told) for one in told.entries if one.verdict != "health"],
        health=[_entry(one, told) for one in told.entries if one.verdict == "health"],
        rules=told.rules,
        chart=_chart(told),
        graph=None if told.graph is None else Markup(for_page(told.graph)),
        graph_caption=told.graph_caption,
        more=told.more,
    )


def _chapter(one: Chapter, told: Story) -> dict[str, Any]:
    return {
        "name": clean(one.name),
        "description": clean(one.description),
        "start": _moment(one.start, told),
        "lasted": lasting((one.end - one.start) / NANOSECONDS),
        "missed": one.alarm is None,
        "after": "" if one.after is None else lasting(one.after),
        "page": told.pages.get(one.alarm or ""),
        "causes": [
            {"name": clean(name), "hit": name in one.signals} for name in one.causes[:MOST_NAMED]
        ],
        "abstained": one.abstained,
        "truth": [clean(name) for name in one.signals],
        "note": clean(one.note),
    }


def _entry(one: Entry, told: Story) -> dict[str, Any]:
    alarm = one.alarm
    lasted = "still on at the end"
    if alarm.cleared_at is not None:
        lasted = lasting((alarm.cleared_at - alarm.raised_at) / NANOSECONDS)
    return {
        "id": alarm.id,
        "page": told.pages.get(alarm.id),
        "raised": _moment(alarm.raised_at, told),
        "lasted": lasted,
        "peak": "" if alarm.peak_score is None else f"{alarm.peak_score:.3g}",
        "verdict": one.verdict,
        "said": VERDICTS[one.verdict],
        "chapter": "" if one.chapter is None else clean(one.chapter),
        "headline": clean(alarm.headline),
    }


def _chart(told: Story) -> dict[str, Any] | None:
    if len(told.time) < 2:
        return None
    last = int(told.time[-1])
    attacks = [
        Bar(one.start, one.end, clean(one.name), "missed" if one.alarm is None else "found")
        for one in told.chapters
    ]
    bars: dict[bool, list[Bar]] = {False: [], True: []}
    for one in told.entries:
        end = last if one.alarm.cleared_at is None else one.alarm.cleared_at
        page, text = told.pages.get(one.alarm.id), clean(one.alarm.headline)
        bar = Bar(one.alarm.raised_at, end, text, one.verdict, page)
        bars[one.verdict == "health"].append(bar)
    lanes = [
        Lane(clean(name), values, told.units.get(name, "")) for name, values in told.lanes.items()
    ]
    return timeline(told.time, told.score, told.clock, attacks, bars[False], bars[True], lanes)


def _moment(time: int, told: Story) -> str:
    """The time of day, or what else times count; the page says the day once."""
    text = format_time(time, told.clock)
    return text.split("T", 1)[1] if "T" in text else text
