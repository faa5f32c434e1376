"""The page of ``compare``: detectors side by side, figure by figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from causewatch.data import format_duration, lasting
from causewatch.evaluation.card import ReportCard
from causewatch.evaluation.report.chart import dots
from causewatch.evaluation.report.page import render
from causewatch.evaluation.report.words import (
    NOTHING,
    always_on,
    at_chance,
    base_rate,
    number,
    outcome,
    percent,
    rate,
    warnings,
)
from causewatch.explain.view import clean

if TYPE_CHECKING:
    from causewatch.evaluation.comparison import ComparisonRow

__all__ = ["comparison_page"]

MOST_WINNERS = 3
"""Detectors that are named as the best in something; more are counted."""

Value = Callable[["ComparisonRow"], float | None]
Show = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of all detectors.

    Attributes
    ----------
    name, about
        For the head of the column, and what it says.
    value, show
        The figure of a row, and how it is written.
    low
        Whether less is better.
    alarms
        Whether silence or an alarm that is always on can be the best here; detectors whose alarms
        say nothing are then not marked.
    plain
        Whether none is marked at all.
    hindsight
        Whether choosing it took the labels.
    """

    name: str
    about: str
    value: Value
    show: Show
    low: bool = False
    alarms: bool = False
    plain: bool = False
    hindsight: bool = False


SAME = 1e-9
"""A spread below this share of the mean: steps that were not timed one by one."""

COLUMNS: dict[str, tuple[Column, ...]] = {
    "Noticing and false alarms": (
        Column("Events noticed", "share of events in which an alarm was raised",
               lambda row: row.card.event_recall, percent, alarms=True),
        Column("Events seen", "share of events in which an alarm was on, be it one raised before",
               lambda row: row.card.events_seen / row.card.events if row.card.events else None,
               percent, alarms=True),
        Column("Coverage", "mean share of an event under alarm",
               lambda row: row.card.coverage, percent, alarms=True),
        Column("Median delay", "from the start of an event to its alarm, of those noticed",
               lambda row: row.card.median_delay_s, lasting, low=True, alarms=True),
        Column("False alarms a day", "alarms that overlap no event, per day of normal operation",
               lambda row: row.card.false_alarms_per_day, rate, low=True, alarms=True),
        Column("Normal time under alarm", "share of the normal rows",
               lambda row: row.card.false_alarm_time_share, percent, low=True, alarms=True),
    ),
    "Rows at the shipped limit": (
        Column("F1", "harmonic mean of precision and recall", lambda row: row.card.f1, number,
               alarms=True),
        Column("Precision", "share of rows under alarm that are anomalous",
               lambda row: row.card.precision, number, alarms=True),
        Column("Recall", "share of anomalous rows under alarm", lambda row: row.card.recall, number,
               alarms=True),
        Column("Affiliation precision", "nearness of alarms to events; its chance is far from 0",
               lambda row: row.card.affiliation_precision, number, alarms=True),
        Column("Chance of it", "affiliation precision of alarms at random places",
               lambda row: row.card.affiliation_chance, number, plain=True),
        Column("Affiliation recall", "nearness of events to alarms",
               lambda row: row.card.affiliation_recall, number, alarms=True),
        Column("eTaPR F1", "time-aware F1", lambda row: row.card.etapr_f1, number, alarms=True),
    ),
    "Score, whatever the limit": (
        Column("VUS-PR", "volume under the precision–recall surface",
               lambda row: row.card.vus_pr, number),
        Column("AUC-PR", "average precision", lambda row: row.card.auc_pr, number),
        Column("Best F1", "what the best limit would have reached",
               lambda row: row.card.f1_best, number, hindsight=True),
    ),
    "Causes": (
        Column("AC@1", "a true cause is named first", lambda row: row.card.ac_at_1, number),
        Column("AC@3", "one is among the first three", lambda row: row.card.ac_at_3, number),
        Column("AC@5", "one is among the first five", lambda row: row.card.ac_at_5, number),
        Column("MAP@3", "precision among the first three, averaged over places",
               lambda row: row.card.map_at_3, number),
        Column("MRR", "one over the place of the first true cause, averaged",
               lambda row: row.card.mrr, number),
        Column("Chance of AC@1", "what guessing reaches", lambda row: row.card.chance_ac_at_1,
               number, plain=True),
        Column("Cannot tell", "share of noticed events whose alarm says so",
               lambda row: row.card.abstained, percent, plain=True),
    ),
}  # fmt: skip


def comparison_page(
    *, title: str, subtitle: str, rows: Sequence[ComparisonRow], notes: Sequence[str] = ()
) -> str:
    """The page as text."""
    return render(
        "comparison.html",
        title=title,
        subtitle=clean(subtitle),
        leads=_leads(rows),
        panels=_panels(rows),
        tables=[_table(name, columns, rows) for name, columns in COLUMNS.items()],
        costs=[_cost(row) for row in rows],
        rows=[
            {
                "name": clean(row.name),
                "description": clean(row.description),
                "outcome": outcome(row.card),
                "warnings": warnings(row.card),
            }
            for row in rows
        ],
        counted=_counted(rows),
        notes=[clean(text) for text in notes],
    )


def says_something(card: ReportCard) -> bool:
    """Whether the alarms carry news: some event was noticed, and rows under alarm are no sample."""
    return bool(card.events_detected) and not (
        card.precision is None or at_chance(card.precision, base_rate(card))
    )


def _best(column: Column, rows: Sequence[ComparisonRow]) -> set[int]:
    """Which rows have the best figure of a column, as it is written."""
    if column.plain or len(rows) < 2:
        return set()
    known = {
        k: value
        for k, row in enumerate(rows)
        if (value := column.value(row)) is not None
        and not math.isnan(value)
        and (not column.alarms or says_something(row.card))
    }
    if not known:
        return set()
    best = (min if column.low else max)(known.values())
    # Figures that read alike are alike.
    return {k for k, value in known.items() if column.show(value) == column.show(best)}


def _table(name: str, columns: Sequence[Column], rows: Sequence[ComparisonRow]) -> dict[str, Any]:
    best = [_best(column, rows) for column in columns]
    return {
        "name": name,
        "columns": columns,
        "rows": [
            {
                "name": clean(row.name),
                "cells": [
                    {"text": _written(column, row), "best": k in winners}
                    for column, winners in zip(columns, best, strict=True)
                ],
            }
            for k, row in enumerate(rows)
        ],
    }


def _written(column: Column, row: ComparisonRow) -> str:
    value = column.value(row)
    return NOTHING if value is None or math.isnan(value) else column.show(value)


def _panels(rows: Sequence[ComparisonRow]) -> list[dict[str, Any]]:
    """The figures that decide, each on an axis of its own."""
    by_name = {column.name: column for group in COLUMNS.values() for column in group}
    panels = []
    # All detectors were held against the same rows, so these levels are the same for all.
    level = base_rate(rows[0].card) if rows else None
    constant = always_on(rows[0].card) if rows else None
    for name, title, logarithmic, unit, chance in (
        ("VUS-PR", "VUS-PR", False, "", level),
        ("F1", "F1 at the shipped limit", False, "", constant),
        ("Events noticed", "Events noticed", False, "", None),
        ("False alarms a day", "False alarms a day", True, "", None),
        ("Normal time under alarm", "Normal time under alarm, in %", True, "%", None),
        ("AC@3", "True cause among the first three", False, "", None),
    ):
        column = by_name[name]
        best = _best(column, rows)
        values = [column.value(row) for row in rows]
        if all(value is None for value in values):
            continue
        scaled = [None if v is None else (100.0 * v if unit else v) for v in values]
        axis = dots(scaled, logarithmic=logarithmic)
        panels.append(
            {
                "title": title,
                "low": column.low,
                "logarithmic": logarithmic,
                "ticks": axis["ticks"],
                "chance": None if chance is None else round(100.0 * chance, 2),
                "rows": [
                    {
                        "name": clean(row.name),
                        "x": axis["places"][k],
                        "text": _written(column, row),
                        "best": k in best,
                        "hollow": column.alarms and not says_something(row.card),
                    }
                    for k, row in enumerate(rows)
                ],
            }
        )
    return panels


def _leads(rows: Sequence[ComparisonRow]) -> list[str]:
    """Who is ahead in what, as sentences."""
    said = []
    by_name = {column.name: column for group in COLUMNS.values() for column in group}
    for name, text in (
        ("VUS-PR", "the highest VUS-PR"),
        ("F1", "the highest F1 at its shipped limit"),
        ("Events noticed", "the most events noticed"),
        ("False alarms a day", "the fewest false alarms a day of those that notice something"),
        ("AC@3", "most often a true cause among the first three"),
    ):
        column = by_name[name]
        winners = sorted(_best(column, rows))
        if winners:
            names = " and ".join(clean(rows[k].name) for k in winners[:MOST_WINNERS])
            if len(winners) > MOST_WINNERS:
                names = f"{len(winners)} detectors"
            have = "has" if len(winners) == 1 else "have"
            said.append(f"{names} {have} {text} ({_written(column, rows[winners[0]])}).")
    return said


def _cost(row: ComparisonRow) -> dict[str, str]:
    step = f"{row.step_ms_mean:.3g}" if row.step_ms_mean else NOTHING
    if row.step_ms_std > SAME * row.step_ms_mean:
        step += f" ± {row.step_ms_std:.2g}"
    return {"name": clean(row.name), "learn": format_duration(row.learn_s), "step": step}


def _counted(rows: Sequence[ComparisonRow]) -> list[str]:
    """What the figures rest on; all detectors were held against the same rows."""
    if not rows:
        return []
    card = rows[0].card
    grace = f"; alarms up to {lasting(card.grace_s)} late still count" if card.grace_s else ""
    return [
        f"{card.rows:,} rows, {lasting(card.days * 86_400)}, {percent(base_rate(card))} of them"
        f" anomalous; {card.events} events{grace}.",
        "All detectors learnt from the same normal recording, froze their limits before the test"
        " was opened, and were counted in the same way. Limits come from the last 30 % of the"
        " normal recording; paper, plain and p2 have rules of their own for them.",
        "In columns that a silent or an always-on alarm would win, only detectors whose alarms say"
        " something are marked as best: those that noticed an event and whose rows under alarm are"
        " more often anomalous than any row. The others have hollow dots.",
        "Dashed lines: the share of anomalous rows, which a score that knows nothing reaches at"
        " least in VUS-PR, and the F1 of an alarm that is always on.",
    ]
