"""The parts of the report of an evaluation, ready for its template: plain text and places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from causewatch.data import lasting
from causewatch.data.datasets.base import Recording
from causewatch.data.table import NANOSECONDS, Clock, format_time
from causewatch.evaluation.card import EventOutcome, ReportCard
from causewatch.evaluation.judging import JudgedAlarm
from causewatch.evaluation.paper_counting import Counts
from causewatch.evaluation.paper_words import in_words
from causewatch.evaluation.report.chart import recording_chart
from causewatch.evaluation.report.words import NOTHING, base_rate, number, percent, rate
from causewatch.evaluation.verdicts import Verdicts
from causewatch.explain.view import clean

__all__ = [
    "MOST_DRAWN",
    "BothCountings",
    "both_countings",
    "counting_rules",
    "event_labels",
    "event_row",
    "false_alarm_row",
    "first_facts",
    "timelines",
]

MOST_DRAWN = 20
"""Recordings that have a timeline."""
MOST_NAMED = 5
"""Named causes shown of each alarm; a true one further down is shown, too."""

SHORT = 8
"""Names of events up to so long are written over them in a timeline."""


class Figures(Protocol):
    """One counting of one detector."""

    @property
    def precision(self) -> float:
        """Share of the alarms that were right."""

    @property
    def recall(self) -> float:
        """Share of what was to be found."""

    @property
    def f1(self) -> float:
        """Harmonic mean of the two."""


class BothCountings(Protocol):
    """The published counting beside the strict one, and what the difference means."""

    @property
    def published(self) -> Figures:
        """As the paper counts."""

    @property
    def strict(self) -> Figures:
        """Every step."""

    @property
    def meaning(self) -> str:
        """For people."""


def first_facts(card: ReportCard) -> list[tuple[str, str]]:
    """The figures to see first."""
    late = card.median_delay_s
    return [
        ("events noticed", f"{card.events_detected} of {card.events}"),
        ("median delay", NOTHING if late is None else lasting(late)),
        ("false alarms a day", rate(card.false_alarms_per_day)),
        ("normal time under alarm", percent(card.false_alarm_time_share)),
        ("F1 by row", number(card.f1)),
        ("VUS-PR", number(card.vus_pr)),
        ("true cause first", percent(card.ac_at_1)),
    ]


def timelines(
    card: ReportCard,
    recordings: Sequence[Recording],
    verdicts: Sequence[Verdicts],
    judged: Sequence[Sequence[JudgedAlarm]],
) -> list[dict[str, Any]]:
    """A timeline for each of the first recordings."""
    drawn: list[dict[str, Any]] = []
    labels = event_labels(card)
    before = false_before = 0
    for recording, said, alarms in zip(recordings, verdicts, judged, strict=True):
        # The card has the events of one recording after those of the one before.
        own = card.per_event[before : before + len(recording.events)]
        vain = sum(one.kind == "false" for one in alarms)
        found = [one.detected for one in own]
        if len(drawn) < MOST_DRAWN:
            chart = recording_chart(
                recording,
                said,
                alarms,
                range(before + 1, before + len(own) + 1),
                labels[before : before + len(own)],
                found,
                range(false_before + 1, false_before + vain + 1),
            )
            about = [f"{sum(found)} of {len(found)} events noticed"] if found else ["no event"]
            about.append("1 false alarm" if vain == 1 else f"{vain or 'no'} false alarms")
            drawn.append(
                {
                    "name": clean(recording.name),
                    "span": _span(recording),
                    "about": ", ".join(about),
                    "chart": chart,
                }
            )
        before += len(own)
        false_before += vain
    return drawn


def event_labels(card: ReportCard) -> list[str]:
    """What is written over events: their names where all are short, else their places."""
    names = [clean(one.event.name) for one in card.per_event]
    if len(set(names)) == len(names) and all(0 < len(name) <= SHORT for name in names):
        return names
    return [str(place) for place in range(1, len(names) + 1)]


def _span(recording: Recording) -> str:
    table = recording.table
    if not len(table):
        return "no rows"
    first, last = (_moment(int(table.time[k]), table.clock) for k in (0, -1))
    return f"{first} to {last}"


def event_row(place: int, one: EventOutcome) -> dict[str, Any]:
    """A line of the table of events."""
    alarm = one.alarm
    return {
        "place": place,
        "name": clean(one.event.name),
        "description": clean(one.event.description),
        "recording": clean(one.recording),
        "start": _moment(one.event.start, one.clock),
        "lasted": lasting((one.event.end - one.event.start) / NANOSECONDS),
        "truth": [clean(name) for name in one.event.signals],
        "detected": one.detected,
        "already_on": one.already_on,
        "delay": "" if one.delay is None else lasting(one.delay),
        "causes": _named(one.causes, one.event.signals),
        "abstained": alarm is not None and alarm.abstained,
        "rank": one.rank,
        "headline": "" if alarm is None else clean(alarm.headline),
    }


def _named(causes: Sequence[str], truth: Sequence[str]) -> list[dict[str, Any]]:
    """The first causes, and the first true one if it comes later."""
    shown = list(enumerate(causes[:MOST_NAMED], 1))
    if not any(name in truth for _, name in shown):
        later = ((k, name) for k, name in enumerate(causes, 1) if name in truth)
        shown += [one for one in later][:1]
    return [
        {"name": clean(name), "hit": name in truth, "later": place if place > MOST_NAMED else 0}
        for place, name in shown
    ]


def false_alarm_row(place: int, recording: Recording, one: JudgedAlarm) -> dict[str, Any]:
    """A line of the table of false alarms."""
    span = one.span
    lasted = lasting((one.end - span.raised_at) / NANOSECONDS)
    return {
        "place": place,
        "recording": clean(recording.name),
        "raised": _moment(span.raised_at, recording.table.clock),
        "lasted": f"{lasted}, still on at the end" if span.cleared_at is None else lasted,
        "causes": [clean(name) for name in span.causes[:MOST_NAMED]],
        "abstained": span.abstained,
        "headline": clean(span.headline),
    }


def both_countings(paper: Counts | BothCountings) -> dict[str, Any]:
    """The two countings and what they mean; of our own counts the words are made here."""
    words = in_words(paper) if isinstance(paper, Counts) else (paper.meaning,)
    return {
        "countings": [
            {
                "name": name,
                "figures": [number(one.precision), number(one.recall), number(one.f1)],
            }
            for name, one in (("published", paper.published), ("strict", paper.strict))
        ],
        "words": [clean(text) for text in words],
    }


def counting_rules(card: ReportCard, recordings: Sequence[Recording]) -> list[str]:
    """How it was counted, as sentences."""
    uncounted = sum(len(one.table) for one in recordings) - card.rows
    said = [
        f"{card.rows:,} rows were counted, {lasting(card.days * 86_400)} of"
        f" {len(recordings)} recording{'s' if len(recordings) > 1 else ''};"
        f" {card.anomalous_rows:,} of them ({percent(base_rate(card))}) are anomalous."
    ]
    if uncounted > 0:
        said.append(f"{uncounted:,} rows have no label and were not counted.")
    late = f", or up to {lasting(card.grace_s)} after its end" if card.grace_s else ""
    said += [
        f"An event is noticed if an alarm is raised while it lasts{late}. An alarm that was on"
        " before it began notices nothing.",
        "A false alarm is one that overlaps no event"
        f"{', not even in that time after it' if card.grace_s else ''}, however long it lasts.",
        "Causes are those of the last word of the first alarm raised in the event. Any true signal"
        " is a hit; a missed event counts 0; events of unknown cause are left out.",
        "Rows are counted one by one, without adjustment: a row that was not under alarm is not"
        " credited for its neighbours. What was said of a tick counts for all rows in it.",
        "The alarm limit is that of the model, frozen before these recordings were opened."
        " Best F1 alone is chosen with the labels.",
        f"VUS-PR has buffers of up to {card.vus_window} rows.",
    ]
    if any(one.table.clock == "rows" for one in recordings):
        said.append("No times are known: a row counts as one second.")
    return said


def _moment(time: int, clock: Clock) -> str:
    return format_time(time, clock).replace("T", " ")
