"""The page that lists the pages about alarms: when, what, and where to read on."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass

from causewatch.data import Clock, format_moment
from causewatch.explain.explanation import Explanation
from causewatch.explain.filled import filled
from causewatch.explain.view import clean

__all__ = ["Entry", "alarm_index", "entry_mark", "entry_of", "is_alarm_index", "read_entry"]

HEAD = 16_384
"""Characters of a page within which its mark stands."""
MARK = re.compile(r'<meta name="causewatch-alarm" content="([^"]*)">')
INDEX = '<meta name="generator" content="causewatch alarms">'
"""What makes `alarms.html` known as ours."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the list.

    Attributes
    ----------
    raised_at
        When the alarm was raised, in nanoseconds on the clock of the stream.
    id
        Of the alarm; its page has that name.
    kind
        ``anomaly`` or ``health``.
    raised, cleared
        When, for people; `cleared` is empty while it is on.
    headline
        What happened.
    """

    raised_at: int
    id: str
    kind: str
    raised: str
    cleared: str
    headline: str


def entry_of(explanation: Explanation) -> Entry:
    """The line about an alarm."""
    alarm, context = explanation.alarm, explanation.context
    clock: Clock = "naive" if context is None else context.clock
    every = 1.0 if context is None else context.every
    raised, cleared = (
        "" if time is None else format_moment(time, clock, every)
        for time in (alarm.raised_at, alarm.cleared_at)
    )
    headline = clean(explanation.headline)
    return Entry(alarm.raised_at, alarm.id, alarm.kind, raised, cleared, headline)


def entry_mark(entry: Entry) -> str:
    """What the page of an alarm holds for `read_entry`."""
    return json.dumps(asdict(entry))


def read_entry(page: str) -> Entry | None:
    """The line that the page of an alarm holds; None if it is another page."""
    mark = MARK.search(page[:HEAD])
    try:
        entry = None if mark is None else Entry(**json.loads(html.unescape(mark[1])))
    except (ValueError, TypeError, RecursionError):  # whoever wrote it
        return None
    if entry is None or not isinstance(entry.raised_at, int):
        return None
    return entry if all(isinstance(text, str) for text in astuple(entry)[1:]) else None


def is_alarm_index(page: str) -> bool:
    """Whether this is a page that `alarm_index` made."""
    return INDEX in page[:HEAD]


def alarm_index(entries: Sequence[Entry], older: bool, source: str) -> str:
    """The page as text.

    Parameters
    ----------
    entries
        Its lines, in their order.
    older
        Whether there are pages beyond these.
    source
        What is watched.
    """
    return filled(
        "alarms.html",
        ["alarm.css"],
        entries=entries,
        on=sum(not entry.cleared for entry in entries),
        older=older,
        source=clean(source),
    )
