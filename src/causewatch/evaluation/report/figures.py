"""The figures of a report card as a table: what each says, and the level that chance reaches."""

from __future__ import annotations

from dataclasses import dataclass

from causewatch.data import lasting
from causewatch.evaluation.card import ReportCard
from causewatch.evaluation.metrics import chance_ac_at_k, chance_map_at_k, chance_mrr
from causewatch.evaluation.report.words import (
    NOTHING,
    always_on,
    base_rate,
    number,
    percent,
    rate,
)

__all__ = ["Figure", "Group", "figure_groups"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the table.

    Attributes
    ----------
    name
        What it is called.
    value
        As text; `NOTHING` if it is not defined.
    chance
        What chance reaches, as text; empty where there is no such level.
    about
        What it says, or why it is not defined.
    hindsight
        Whether choosing it took the labels, so that no operator could have had it.
    """

    name: str
    value: str
    chance: str
    about: str
    hindsight: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Figures that belong together."""

    name: str
    figures: tuple[Figure, ...]


def figure_groups(
    card: ReportCard, *, by_chance: float | None = None, signals: int | None = None
) -> list[Group]:
    """All figures in groups.

    Parameters
    ----------
    card
        The figures.
    by_chance
        See `warnings`.
    signals
        From how many signals a cause is picked; without it only the first place has its chance.
    """
    return [
        Group("Noticing", _noticing(card, by_chance)),
        Group("False alarms", _false_alarms(card)),
        Group("Rows, at the shipped limit", _rows(card)),
        Group("Score, whatever the limit", _score(card)),
        Group("Causes", _causes(card, signals)),
    ]


def _noticing(card: ReportCard, by_chance: float | None) -> tuple[Figure, ...]:
    none = "Not defined: the recordings have no event."
    return (
        Figure(
            "Events noticed",
            NOTHING
            if card.event_recall is None
            else f"{card.events_detected} of {card.events} ({percent(card.event_recall)})",
            "" if by_chance is None else percent(by_chance),
            none
            if card.event_recall is None
            else "An alarm was raised while the event lasted. An alarm that was on before does not"
            " count. Chance: as many alarms at random moments.",
        ),
        Figure(
            "Events seen",
            NOTHING if not card.events else f"{card.events_seen} of {card.events}",
            "",
            "An alarm was on at some time in the event, be it one raised before."
            if card.events
            else none,
        ),
        Figure(
            "Coverage",
            NOTHING if card.coverage is None else percent(card.coverage),
            "",
            none
            if card.coverage is None
            else "Mean share of an event under alarm, whenever that was raised.",
        ),
        Figure(
            "Delay, median",
            NOTHING if card.median_delay_s is None else lasting(card.median_delay_s),
            "",
            (none if not card.events else "Not defined: no event was noticed.")
            if card.median_delay_s is None
            else "From the start of an event to its alarm, over the events that were noticed.",
        ),
    )


def _false_alarms(card: ReportCard) -> tuple[Figure, ...]:
    share = card.false_alarm_time_share
    return (
        Figure("False alarms", f"{card.false_alarms:,}", "", "Alarms that overlap no event."),
        Figure("False alarms a day", rate(card.false_alarms_per_day), "", _days(card)),
        Figure(
            "Normal time under alarm",
            percent(share),
            "",
            "Not defined: no row is normal."
            if share is None
            else "Share of the normal rows; what is left of an event after its end is in it.",
        ),
    )


def _rows(card: ReportCard) -> tuple[Figure, ...]:
    base = number(base_rate(card))
    every = "Not defined: every row is anomalous."
    silent = "Not defined: no row was under alarm."
    one_sided = every if card.anomalous_rows == card.rows else silent
    return (
        Figure("Precision", number(card.precision), base, silent if card.precision is None
               else "Share of rows under alarm that are anomalous."),
        Figure("Recall", number(card.recall), "", "Share of anomalous rows that were under alarm;"
               " an alarm that is always on reaches 1."),
        Figure("F1", number(card.f1), number(always_on(card)), "Harmonic mean of the two. Chance:"
               " an alarm that is always on."),
        Figure("Affiliation precision", number(card.affiliation_precision),
               _or_empty(card.affiliation_chance), one_sided if card.affiliation_precision is None
               else "How near in time alarm rows are to events. Chance is far from 0."),
        Figure("Affiliation recall", number(card.affiliation_recall), "",
               one_sided if card.affiliation_recall is None
               else "How near in time events are to alarm rows; rises with the number of alarms."),
        Figure("eTaPR F1", number(card.etapr_f1), "", silent if card.etapr_f1 is None
               else "Time-aware F1: an event counts once enough of it is covered, an alarm once"
               " enough of it is true."),
    )  # fmt: skip


def _score(card: ReportCard) -> tuple[Figure, ...]:
    base = base_rate(card)
    none = "Not defined: every row is anomalous, so there is nothing to tell apart."
    return (
        Figure("VUS-PR", number(card.vus_pr), "" if card.vus_pr is None else f"≥ {number(base)}",
               none if card.vus_pr is None else "Volume under the precision–recall surface:"
               f" average precision with buffers of up to {card.vus_window} rows around events."),
        Figure("AUC-PR", number(card.auc_pr), "" if card.auc_pr is None else number(base),
               none if card.auc_pr is None else "Average precision over all limits."),
        Figure("Best F1", number(card.f1_best),
               "" if card.f1_best is None else number(always_on(card)),
               none if card.f1_best is None else "What the best limit on the score would have"
               " reached; alarms follow rules over several ticks and may do better.",
               hindsight=True),
    )  # fmt: skip


def _causes(card: ReportCard, signals: int | None) -> tuple[Figure, ...]:
    none = "Not defined: of no event the true cause is known."
    shy = "Not defined: no event with a known cause was noticed."
    sizes = [len(one.event.signals) for one in card.per_event if one.event.signals]
    signals = signals if sizes else None

    def figure(name: str, value: float | None, about: str, chance: float | None) -> Figure:
        return Figure(name, number(value), _or_empty(chance), none if value is None else about)

    def guessed(places: int) -> float | None:
        return chance_ac_at_k(sizes, signals, places) if signals else None

    by_map = chance_map_at_k(sizes, signals, 3) if signals else None
    by_mrr = chance_mrr(sizes, signals) if signals else None
    return (
        figure("AC@1", card.ac_at_1, "A true cause is the first one named; a missed event counts"
               " 0.", card.chance_ac_at_1),
        figure("AC@3", card.ac_at_3, "One is among the first three.", guessed(3)),
        figure("AC@5", card.ac_at_5, "One is among the first five.", guessed(5)),
        figure("MAP@3", card.map_at_3, "Precision among the first three, averaged over places.",
               by_map),
        figure("MRR", card.mrr, "One over the place of the first true cause, averaged.", by_mrr),
        Figure("Cannot tell", percent(card.abstained), "", (none if card.ac_at_1 is None else shy)
               if card.abstained is None
               else "Share of noticed events whose alarm says that the origin cannot be told."),
    )  # fmt: skip


def _days(card: ReportCard) -> str:
    if card.false_alarms_per_day is None:
        return "Not defined: no row is normal."
    normal = card.days * (1.0 - card.anomalous_rows / card.rows)
    return f"In {lasting(normal * 86_400)} of normal operation."


def _or_empty(value: float | None) -> str:
    return "" if value is None else number(value)
