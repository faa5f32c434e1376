"""The reports of ``evaluate`` and ``compare``: single HTML files, without network or script.

A report says first what came out, in one sentence, and where that is no better than chance; then
the figures; then everything they were counted from, event by event and alarm by alarm.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from causewatch.data.datasets.base import Recording
from causewatch.errors import SettingError
from causewatch.evaluation.card import ReportCard
from causewatch.evaluation.judging import judge, noticed_by_chance
from causewatch.evaluation.paper_counting import Counts
from causewatch.evaluation.report.chart import cause_places, curve_chart
from causewatch.evaluation.report.comparison import comparison_page
from causewatch.evaluation.report.figures import figure_groups
from causewatch.evaluation.report.page import render, write_page
from causewatch.evaluation.report.parts import (
    MOST_DRAWN,
    BothCountings,
    both_countings,
    counting_rules,
    event_labels,
    event_row,
    false_alarm_row,
    first_facts,
    timelines,
)
from causewatch.evaluation.report.words import number, outcome, warnings
from causewatch.evaluation.verdicts import Verdicts
from causewatch.explain.view import clean, listing

if TYPE_CHECKING:
    from causewatch.evaluation.comparison import ComparisonRow

__all__ = ["BothCountings", "evaluation_page", "write_comparison", "write_evaluation"]

MOST_EVENTS = 1000
MOST_FALSE = 500
"""Events and false alarms that are listed."""
OPEN_FALSE = 25
"""Up to so many false alarms are shown at once; more are folded away."""


def write_evaluation(
    path: str | os.PathLike[str],
    *,
    title: str,
    subtitle: str,
    card: ReportCard,
    recordings: Sequence[Recording],
    verdicts: Sequence[Verdicts],
    notes: Sequence[str] = (),
    paper: Counts | BothCountings | None = None,
    signals: int | None = None,
) -> None:
    """Write the report of ``evaluate``; the file is there whole or not at all.

    Parameters
    ----------
    path
        File to write; an existing one is replaced.
    title, subtitle
        What was held against what.
    card
        The figures, and what became of each event.
    recordings, verdicts
        What they were counted from, one verdict for each recording.
    notes
        What else a reader should know.
    paper
        The published counting, where it was asked for.
    signals
        From how many signals a cause is picked, as given to `report_card`.
    """
    text = evaluation_page(
        title=title,
        subtitle=subtitle,
        card=card,
        recordings=recordings,
        verdicts=verdicts,
        notes=notes,
        paper=paper,
        signals=signals,
    )
    write_page(path, text)


def write_comparison(
    path: str | os.PathLike[str],
    *,
    title: str,
    subtitle: str,
    rows: Sequence[ComparisonRow],
    notes: Sequence[str] = (),
) -> None:
    """Write the report of ``compare``; the file is there whole or not at all.

    Parameters
    ----------
    path
        File to write; an existing one is replaced.
    title, subtitle
        What was held against what.
    rows
        What each detector did.
    notes
        What else a reader should know.
    """
    write_page(path, comparison_page(title=title, subtitle=subtitle, rows=rows, notes=notes))


def evaluation_page(
    *,
    title: str,
    subtitle: str,
    card: ReportCard,
    recordings: Sequence[Recording],
    verdicts: Sequence[Verdicts],
    notes: Sequence[str] = (),
    paper: Counts | BothCountings | None = None,
    signals: int | None = None,
) -> str:
    """The report as text; see `write_evaluation`."""
    if len(recordings) != len(verdicts) or not recordings:
        msg = f"{len(recordings)} recordings and {len(verdicts)} verdicts; one is needed for each."
        raise SettingError(msg)
    events = sum(len(one.events) for one in recordings)
    if events != len(card.per_event):
        msg = (
            f"The report card has {len(card.per_event)} events and the recordings have {events};"
            " give the recordings that the card was made from."
        )
        raise SettingError(msg)
    judged = [
        judge(one, said, card.grace_s) for one, said in zip(recordings, verdicts, strict=True)
    ]
    by_chance = noticed_by_chance(recordings, verdicts, card.grace_s)
    several = len(recordings) > 1
    false = [
        (recording, one)
        for recording, alarms in zip(recordings, judged, strict=True)
        for one in alarms
        if one.kind == "false"
    ]
    charts = timelines(card, recordings, verdicts, judged)
    picked_from = signals or len(recordings[0].table.signals)
    return render(
        "evaluation.html",
        title=title,
        subtitle=clean(subtitle),
        outcome=outcome(card),
        warnings=warnings(card, by_chance),
        facts=first_facts(card),
        groups=figure_groups(card, by_chance=by_chance, signals=picked_from),
        several=several,
        numbered=event_labels(card) != [clean(one.event.name) for one in card.per_event],
        charts=charts,
        shaded=any(one["chart"] and one["chart"]["uncounted"] for one in charts),
        undrawn=listing((one.name for one in recordings[MOST_DRAWN:]), 300),
        events=[event_row(k, one) for k, one in enumerate(card.per_event[:MOST_EVENTS], 1)],
        more_events=max(0, len(card.per_event) - MOST_EVENTS),
        false_alarms=[false_alarm_row(k, *one) for k, one in enumerate(false[:MOST_FALSE], 1)],
        false_total=len(false),
        more_false=max(0, len(false) - MOST_FALSE),
        open_false=len(false) <= OPEN_FALSE,
        curve=curve_chart(card, recordings, verdicts),
        card=card,
        number=number,
        places=cause_places(card, picked_from),
        known=sum(bool(one.event.signals) for one in card.per_event),
        picked_from=picked_from,
        paper=None if paper is None else both_countings(paper),
        rules=counting_rules(card, recordings),
        notes=[clean(text) for text in notes],
    )
