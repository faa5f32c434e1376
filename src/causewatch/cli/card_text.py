"""A report card in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from causewatch.cli.output import shown

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.evaluation.card import EventOutcome, ReportCard
    from causewatch.evaluation.paper_counting import Counts
    from causewatch.evaluation.thresholds import LimitRow

__all__ = [
    "figure",
    "per_day",
    "print_card",
    "print_events",
    "print_limits",
    "print_paper",
    "share",
]

MOST_EVENTS = 60
MOST_CAUSES = 3


def figure(value: float | None) -> str:
    """A figure between 0 and 1; a dash where it is not defined."""
    return "–" if value is None else f"{value:.3f}"


def per_day(value: float | None) -> str:
    """False alarms a day; a dash where no row is normal."""
    return "–" if value is None else f"{value:.2f}"


def share(value: float | None) -> str:
    """A share in per cent; a dash where it is not defined."""
    return "–" if value is None else f"{value:.1%}"


def _line(text: str, out: Console) -> None:
    """A line that goes on under its text, not under its heading, where it is too long."""
    if out.is_terminal:
        import textwrap

        text = textwrap.fill(text, out.width, subsequent_indent=" " * 11, drop_whitespace=True)
    out.print(text)


def print_card(card: ReportCard, title: str, out: Console) -> None:
    """The figures, one line for each question."""
    from causewatch.data import lasting

    def said(text: str) -> None:
        _line(text, out)

    base = card.anomalous_rows / card.rows
    out.print(shown(title), style="bold")
    said(f"Counted    {card.rows:,} rows, {lasting(card.days * 86_400)}; {base:.1%} anomalous")
    late = "" if card.median_delay_s is None else f"; median delay {lasting(card.median_delay_s)}"
    said(
        f"Noticed    {card.events_detected} of {card.events} events"
        f" ({share(card.event_recall)}){late}"
    )
    said(
        f"Seen       {card.events_seen} of {card.events} events, counting alarms that were on"
        f" before; on average {share(card.coverage)} of an event is under alarm"
    )
    on = ""
    if card.false_alarm_time_share is not None:
        on = f"; an alarm was on for {share(card.false_alarm_time_share)} of the normal time"
    a_day = ""
    if card.false_alarms_per_day is not None:
        a_day = f", {card.false_alarms_per_day:.2g} in a day of normal operation"
    said(f"In vain    {card.false_alarms} false alarm{'s' * (card.false_alarms != 1)}{a_day}{on}")
    said(
        f"Rows       F1 {card.f1:.3f} (precision {figure(card.precision)}, recall"
        f" {card.recall:.3f}) at the model's limit; an alarm that is always on has"
        f" {2 * base / (1 + base):.3f}"
    )
    said(
        f"Score      VUS-PR {figure(card.vus_pr)}, AUC-PR {figure(card.auc_pr)} (chance"
        f" {base:.3f}); best F1 {figure(card.f1_best)}, its limit chosen with the labels"
    )
    said(
        f"Ranges     affiliation precision {figure(card.affiliation_precision)} (chance"
        f" {figure(card.affiliation_chance)}), recall {figure(card.affiliation_recall)};"
        f" eTaPR F1 {figure(card.etapr_f1)}"
    )
    if card.ac_at_1 is None:
        out.print("Causes     not known, so not counted (--causes)")
        return
    said(
        f"Causes     a true one first in {share(card.ac_at_1)} (chance"
        f" {share(card.chance_ac_at_1)}), in the first three in {share(card.ac_at_3)}, in the"
        f" first five in {share(card.ac_at_5)} of events"
    )
    shy = ""
    if card.abstained is not None:
        shy = f"; could not tell in {share(card.abstained)} of alarms"
    said(f"             MAP@3 {figure(card.map_at_3)}, MRR {figure(card.mrr)}{shy}")


def print_events(events: Sequence[EventOutcome], out: Console) -> None:
    """What became of each event."""
    from rich.table import Table
    from rich.text import Text

    from causewatch.data import format_time, lasting

    several = len({one.recording for one in events}) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = ["event", "start", "noticed", "true cause", "named, best first"]
    for name in (["recording"] if several else []) + names:
        table.add_column(name, overflow="fold", no_wrap=name in ("start", "noticed"))
    for one in events[:MOST_EVENTS]:
        if one.delay is not None:
            noticed = f"after {lasting(one.delay)}"
        else:
            noticed = "alarm was on" if one.already_on else "missed"
        named = Text()
        for k, name in enumerate(one.causes[:MOST_CAUSES]):
            named.append(", " if k else "")
            named.append(shown(name), style="bold green" if name in one.event.signals else "")
        cells: list[str | Text] = [shown(one.recording)] if several else []
        cells += [
            shown(one.event.name),
            _short(format_time(one.event.start, one.clock)),
            Text(noticed, style="" if one.detected else "red"),
            shown(", ".join(one.event.signals)) or "–",
            named,
        ]
        table.add_row(*cells)
    out.print()
    out.print(table)
    if len(events) > MOST_EVENTS:
        out.print(f"and {len(events) - MOST_EVENTS} more events: --json shows all.")


def _short(time: str) -> str:
    """A time without its year."""
    return time[5:].replace("T", " ") if "T" in time else time


def print_limits(rows: Sequence[LimitRow], out: Console) -> None:
    """The card at other limits; which is best can be told only with the labels."""
    from rich.table import Table

    from causewatch.data import lasting

    table = Table(box=None, pad_edge=False, header_style="bold")
    names = ("limit ×", "precision", "recall", "F1", "noticed", "delay", "false/day", "on in vain")
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        card = row.card
        late = "–" if card.median_delay_s is None else lasting(card.median_delay_s)
        table.add_row(
            f"{row.factor:g}",
            figure(card.precision),
            figure(card.recall),
            figure(card.f1),
            f"{card.events_detected}/{card.events}",
            late,
            per_day(card.false_alarms_per_day),
            share(card.false_alarm_time_share),
        )
    out.print()
    out.print(table)
    out.print(
        "An alarm that was on before an event does not notice it: a low limit may notice less."
    )


def print_paper(counts: Counts, words: Sequence[str], out: Console) -> None:
    """The published counting, and the strict one over the same steps."""
    out.print()
    for name, one in (("published", counts.published), ("strict", counts.strict)):
        out.print(
            f"Counting   {name:10} precision {one.precision:.3f}, recall {one.recall:.3f},"
            f" F1 {one.f1:.3f}"
        )
    for sentence in words:
        _line(f"           {sentence}", out)
