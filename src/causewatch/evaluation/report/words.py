"""What a report card says, in words: the outcome in one sentence, and what to beware of.

Where a figure is no better than what chance reaches, a sentence says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from causewatch.data import lasting
from causewatch.evaluation.card import EventOutcome, ReportCard

__all__ = [
    "NOTHING",
    "always_on",
    "at_chance",
    "base_rate",
    "number",
    "outcome",
    "percent",
    "rate",
    "warnings",
]

NOTHING = "–"
"""Stands where there is no figure."""

NEAR = 0.05
"""A figure that covers less than this of the way from chance to perfect counts as chance."""

UNLIKELY = 0.05
"""Hits count as luck if chance reaches as many with at least this probability."""

MOSTLY_ON = 0.5
"""Share of the normal time from which on an alarm is called always on."""


def base_rate(card: ReportCard) -> float:
    """Share of anomalous rows: the precision of alarms at random times."""
    return card.anomalous_rows / card.rows


def always_on(card: ReportCard) -> float:
    """F1 of an alarm that is always on."""
    base = base_rate(card)
    return 2.0 * base / (1.0 + base)


def at_chance(value: float, chance: float) -> bool:
    """Whether a figure between 0 and 1 is hardly better than chance.

    >>> at_chance(0.15, 0.14), at_chance(0.4, 0.14)
    (True, False)
    """
    return value - chance <= NEAR * (1.0 - chance)


def outcome(card: ReportCard) -> str:
    """What became of it all, as one sentence."""
    parts = [_noticed(card), _per_day(card)]
    if card.false_alarm_time_share is not None:
        on = percent(card.false_alarm_time_share)
        parts.append(f"the alarm was on for {on} of the normal time")
    if card.ac_at_1 is not None:
        parts.append(f"a true cause was named first for {percent(card.ac_at_1)}")
    return "; ".join(parts) + "."


def warnings(card: ReportCard, by_chance: float | None = None) -> list[str]:
    """What a reader must know before believing the outcome: figures that chance reaches, too.

    Parameters
    ----------
    card
        The figures.
    by_chance
        Share of events that as many alarms at random moments would have noticed.
    """
    said = []
    base = base_rate(card)
    on = card.false_alarm_time_share
    if on is not None and on >= MOSTLY_ON:
        said.append(
            f"The alarm was on for {percent(on)} of the normal time: an alarm that is on most of"
            " the time tells nothing when something happens."
        )
    if not card.recall and not card.events_detected:
        said.append("Nothing labelled was under alarm: the good figures are those of silence.")
    elif card.precision is not None and at_chance(card.precision, base):
        said.append(
            f"{percent(card.precision)} of the rows under alarm are anomalous, and"
            f" {percent(base)} of all rows: by row, this alarm is hardly better than one at random"
            " times."
        )
    if card.auc_pr is not None and at_chance(card.auc_pr, base):
        said.append(
            f"Whatever the limit, the score is no better than chance (average precision"
            f" {number(card.auc_pr)}, a random score {number(base)})."
        )
    near, level = card.affiliation_precision, card.affiliation_chance
    if near is not None and level is not None and at_chance(near, level):
        said.append(
            f"Alarms are no nearer to events than alarms at random places (affiliation precision"
            f" {number(near)}, chance {number(level)})."
        )
    if (
        by_chance
        and card.events_detected
        and _lucky(card.events_detected, card.per_event, by_chance)
    ):
        said.append(
            f"{percent(card.event_recall)} of the events were noticed, and as many alarms at random"
            f" moments notice {percent(by_chance)}: as far as {_events(card.events)} can tell, that"
            " is no better."
        )
    return [*said, *_of_causes(card)]


def number(value: float | None) -> str:
    """A figure between 0 and 1 as tables have it."""
    return NOTHING if value is None or math.isnan(value) else f"{value:.3f}"


def percent(share: float | None) -> str:
    """A share for people; what is not all or nothing never reads so.

    >>> percent(0.021), percent(0.7134), percent(0.0), percent(0.9999), percent(0.00004)
    ('2.1 %', '71 %', '0 %', 'over 99.9 %', 'under 0.1 %')
    """
    if share is None or math.isnan(share):
        return NOTHING
    part = 100.0 * share
    if 0 < part < 0.1:
        return "under 0.1 %"
    if 99.9 < part < 100:
        return "over 99.9 %"
    digits = 1 if 0 < part < 10 or 99 < part < 100 else 0
    return f"{part:.{digits}f}".removesuffix(".0") + " %"


def rate(value: float | None) -> str:
    """False alarms a day: enough digits to tell few from fewer; a dash without normal time.

    >>> rate(0.0), rate(0.314), rate(2.07), rate(41.3), rate(5231.0)
    ('0', '0.31', '2.1', '41', '5,231')
    """
    if value is None:
        return NOTHING
    if not value or value >= 10:
        return f"{value:,.0f}"
    return f"{value:.1f}".removesuffix(".0") if value >= 1 else f"{value:.2g}"


def _per_day(card: ReportCard) -> str:
    if not card.false_alarms:
        return "no false alarm"
    text = rate(card.false_alarms_per_day)
    return f"{text} false alarm{'' if text == '1' else 's'} a day"


def _noticed(card: ReportCard) -> str:
    if not card.events:
        return "There is no event to notice"
    if card.events == 1:
        late = "" if card.median_delay_s is None else f" after {lasting(card.median_delay_s)}"
        return "The one event was " + (f"noticed{late}" if card.events_detected else "missed")
    count = card.events_detected
    text = f"{count} of {card.events} events {'was' if count == 1 else 'were'} noticed"
    if not count or card.median_delay_s is None:
        return text if count else f"None of {card.events} events was noticed"
    late = lasting(card.median_delay_s)
    return f"{text}, after {late}" if count == 1 else f"{text}, half of them within {late}"


def _of_causes(card: ReportCard) -> list[str]:
    """Whether causes were only guessed: a test over events, as there are few of them."""
    hit, chance = card.ac_at_1, card.chance_ac_at_1
    known = [outcome for outcome in card.per_event if outcome.event.signals]
    if hit is None or chance is None or not known or not card.events_detected:
        return []
    if not _lucky(round(hit * len(known)), known, chance):
        return []
    return [
        f"A true cause was named first for {percent(hit)} of the events, guessing reaches"
        f" {percent(chance)}: as far as {_events(len(known))} can tell, causes were"
        " named no better than by chance."
    ]


def _lucky(hits: int, outcomes: Sequence[EventOutcome], chance: float) -> bool:
    """Whether chance alone hits so many of some events too often to rule it out.

    Events that overlap are hit together and count as one trial.
    """
    from scipy.stats import binom

    trials = _apart(outcomes)
    return float(binom.sf(round(hits * trials / len(outcomes)) - 1, trials, chance)) >= UNLIKELY


def _apart(outcomes: Sequence[EventOutcome]) -> int:
    """How many events there are if those that overlap are one."""
    count, ends = 0, dict[str, int]()
    for outcome in sorted(outcomes, key=lambda outcome: outcome.event.start):
        end = ends.get(outcome.recording)
        count += end is None or outcome.event.start >= end
        ends[outcome.recording] = max(outcome.event.end, outcome.event.end if end is None else end)
    return count


def _events(count: int) -> str:
    return "1 event" if count == 1 else f"{count} events"
