"""The report card: what a detector is worth, counted so that it cannot be talked up.

Everything is counted by input row and by alarm, with limits that were frozen before the recording
was opened. `ReportCard.to_dict` is the contract of ``causewatch evaluate --json``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets.base import Event, Recording
from causewatch.data.table import NANOSECONDS, Clock, format_time
from causewatch.errors import SettingError
from causewatch.evaluation.judging import bounds_of, judge
from causewatch.evaluation.metrics import (
    ac_at_k,
    affiliation,
    auc_pr,
    best_f1,
    chance_ac_at_k,
    etapr,
    false_alarms_per_day,
    first_alarms,
    map_at_k,
    mrr,
    pointwise,
    share_under_alarm,
    vus_pr,
)
from causewatch.evaluation.verdicts import AlarmSpan, Verdicts

__all__ = ["EventOutcome", "ReportCard", "counted_rows", "report_card"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_GRACE = 10 * 366 * 86_400.0
VUS_WINDOW = 100
"""Largest buffer of VUS in rows; TSB-AD's default, so that figures can be compared."""


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """What became of one event.

    Attributes
    ----------
    recording, event, clock
        What happened and where.
    alarm
        The first alarm raised in it; None: it was missed.
    already_on
        Whether an alarm was on already when it began.
    covered
        Share of its counted rows under alarm, whenever that was raised; None without such rows.
    """

    recording: str
    event: Event
    clock: Clock
    alarm: AlarmSpan | None
    already_on: bool
    covered: float | None

    @property
    def seen(self) -> bool:
        """Whether an alarm was on at some time in it, be it one raised before."""
        return self.detected or bool(self.covered)

    @property
    def detected(self) -> bool:
        """Whether an alarm was raised in it."""
        return self.alarm is not None

    @property
    def delay(self) -> float | None:
        """Seconds from its start to the alarm."""
        if self.alarm is None:
            return None
        return (self.alarm.raised_at - self.event.start) / NANOSECONDS

    @property
    def causes(self) -> tuple[str, ...]:
        """Signals named as causes, best first; none if it was missed."""
        return () if self.alarm is None else self.alarm.causes

    @property
    def rank(self) -> int | None:
        """Place of the first true cause among those named, from 1."""
        places = [k for k, name in enumerate(self.causes, 1) if name in self.event.signals]
        return places[0] if places else None

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        alarm = self.alarm
        return {
            "name": self.event.name,
            "recording": self.recording,
            "start": format_time(self.event.start, self.clock),
            "end": format_time(self.event.end, self.clock),
            "signals": list(self.event.signals),
            "detected": self.detected,
            "raised_at": None if alarm is None else format_time(alarm.raised_at, self.clock),
            "delay_s": self.delay,
            "already_on": self.already_on,
            "seen": self.seen,
            "covered": self.covered,
            "causes": list(self.causes),
            "rank": self.rank,
            "abstained": alarm is not None and alarm.abstained,
            "headline": "" if alarm is None else alarm.headline,
        }


@dataclass(frozen=True)
class ReportCard:
    """What a detector is worth on some recordings. None: not defined for them.

    Attributes
    ----------
    vus_pr, auc_pr, f1_best
        Of the score, whatever the limit: volume under the precision–recall surface, average
        precision, and the best F1 that any limit could reach (chosen with the labels, so nothing
        an operator could have had).
    f1, precision, recall
        By row, at the shipped limit; without any alarm the precision is not defined.
    affiliation_precision, affiliation_recall, affiliation_chance
        Nearness in time of alarm rows and labelled rows, and the precision that alarms at random
        places get: it is far from 0.
    etapr_f1
        Enhanced time-aware F1.
    events, events_detected, event_recall, median_delay_s
        Events, and those during which an alarm was raised.
    events_seen, coverage
        Events during which an alarm was on, be it one raised before, and the mean share of an
        event under alarm.
    false_alarms, false_alarms_per_day, false_alarm_time_share
        Alarms that overlap no event, how many of them there are in a day of normal operation, and
        the share of normal rows under alarm.
    ac_at_1, ac_at_3, ac_at_5, map_at_3, mrr, chance_ac_at_1, abstained
        Causes named, over events whose cause is known; a missed event counts 0. `abstained` is
        the share of detected ones for which the alarm says it cannot tell.
    rows, days, anomalous_rows, vus_window, grace_s
        What was counted, and how.
    per_event
        Each event.
    """

    vus_pr: float | None
    auc_pr: float | None
    f1: float
    precision: float | None
    recall: float
    f1_best: float | None
    affiliation_precision: float | None
    affiliation_recall: float | None
    affiliation_chance: float | None
    etapr_f1: float | None
    event_recall: float | None
    events: int
    events_detected: int
    events_seen: int
    coverage: float | None
    median_delay_s: float | None
    false_alarms: int
    false_alarms_per_day: float | None
    false_alarm_time_share: float | None
    ac_at_1: float | None
    ac_at_3: float | None
    ac_at_5: float | None
    map_at_3: float | None
    mrr: float | None
    chance_ac_at_1: float | None
    abstained: float | None
    rows: int
    days: float
    anomalous_rows: int
    vus_window: int
    grace_s: float
    per_event: tuple[EventOutcome, ...]

    def to_dict(self) -> dict[str, Any]:
        """The contract of ``evaluate --json``."""
        told: dict[str, Any] = {
            field.name: getattr(self, field.name) for field in fields(self)[:-1]
        }
        told["per_event"] = [one.to_dict() for one in self.per_event]
        return told


def report_card(
    recordings: Sequence[Recording],
    verdicts: Sequence[Verdicts],
    *,
    grace: float = 0.0,
    signals: int | None = None,
) -> ReportCard:
    """Count what was said of some recordings.

    Rows of several recordings stand one after the other; alarms and events never reach from one
    into the next.

    Parameters
    ----------
    recordings
        With labels by row and events.
    verdicts
        What was said of each.
    grace
        Seconds after its end during which an alarm still counts for an event.
    signals
        From how many signals a cause is picked, for the chance level; those of the recording if
        not given.
    """
    if not 0 <= grace <= MOST_GRACE:
        msg = f"The grace is {grace:g} s; it must be 0 or a positive time of at most ten years."
        raise SettingError(msg)
    labels, score, alarm = counted_rows(recordings, verdicts)
    truth = labels > 0
    # For what looks at neighbouring rows: a quiet row keeps recordings apart.
    apart = counted_rows(recordings, verdicts, seam=True)
    parted, parted_score, parted_alarm = apart[0] > 0, apart[1], apart[2]
    if not truth.any():
        msg = (
            "No row that is counted is labelled anomalous, so there is nothing to detect; give a"
            " recording with events (to count false alarms only, use 'causewatch watch')."
        )
        raise SettingError(msg)
    outcomes, false = _outcomes(recordings, verdicts, grace)
    late = [one.delay for one in outcomes if one.delay is not None]
    at_limit = pointwise(truth, alarm)
    both = not bool(truth.all())
    near = affiliation(parted, parted_alarm) if both else None
    days = sum(_seconds(one) for one in recordings) / 86_400
    normal = sum(_seconds(one, normal=True) for one in recordings)
    caught = [one for one in outcomes if one.detected]
    return ReportCard(
        vus_pr=vus_pr(parted, parted_score, window=VUS_WINDOW) if both else None,
        auc_pr=auc_pr(truth, score) if both else None,
        f1=at_limit.f1,
        precision=_finite(at_limit.precision),
        recall=at_limit.recall,
        f1_best=best_f1(truth, score)[0] if both else None,
        affiliation_precision=_finite(near.precision) if near else None,
        affiliation_recall=_finite(near.recall) if near else None,
        affiliation_chance=_finite(near.chance_precision) if near else None,
        etapr_f1=_finite(etapr(parted, parted_alarm).f1),
        event_recall=len(caught) / len(outcomes) if outcomes else None,
        events=len(outcomes),
        events_detected=len(caught),
        events_seen=sum(event.seen for event in outcomes),
        coverage=_mean([event.covered for event in outcomes]),
        median_delay_s=float(np.median(late)) if late else None,
        false_alarms=false,
        false_alarms_per_day=false_alarms_per_day(false, normal) if normal else None,
        false_alarm_time_share=_finite(share_under_alarm(truth, alarm)),
        rows=len(labels),
        days=days,
        anomalous_rows=int(truth.sum()),
        vus_window=VUS_WINDOW,
        grace_s=grace,
        per_event=tuple(outcomes),
        **_causes(outcomes, signals or len(recordings[0].table.signals)),
    )


def counted_rows(
    recordings: Sequence[Recording], verdicts: Sequence[Verdicts], *, seam: bool = False
) -> tuple[Floats, Floats, Bools]:
    """Labels, scores and alarms of the rows that are counted, one recording after the other.

    Rows without a label are left out. Where a detector said nothing (it was warming up) the score
    is the lowest there is: nothing spoke against the row.

    Parameters
    ----------
    recordings, verdicts
        One of each for the other.
    seam
        Whether a normal row without alarm stands between two recordings, so that an event at the
        end of one and an event at the beginning of the next remain two.
    """
    if len(recordings) != len(verdicts) or not recordings:
        msg = f"{len(recordings)} recordings and {len(verdicts)} verdicts; one is needed for each."
        raise SettingError(msg)
    labels, score, alarm = [], [], []
    for recording, said in zip(recordings, verdicts, strict=True):
        truth = recording.table.labels
        rows = len(recording.table)
        if truth is None:
            msg = f"The recording {recording.name!r} has no labels; give them by row or as events."
            raise SettingError(msg)
        if not len(truth) == len(said.score) == len(said.alarm) == rows:
            msg = (
                f"The recording {recording.name!r} has {rows:,} rows, {len(truth):,} labels and"
                f" {len(said.score):,} scores; there must be one of each for every row."
            )
            raise SettingError(msg)
        known = np.isfinite(truth)
        labels.append(truth[known])
        score.append(said.score[known])
        alarm.append(said.alarm[known])
        if seam and recording is not recordings[-1]:
            labels.append(np.zeros(1))
            score.append(np.full(1, np.nan))
            alarm.append(np.zeros(1, dtype=np.bool_))
    scores = np.concatenate(score)
    scores = np.nan_to_num(scores, nan=float(np.nanmin(scores, initial=0.0)))
    return np.concatenate(labels), scores, np.concatenate(alarm)


def _outcomes(
    recordings: Sequence[Recording], verdicts: Sequence[Verdicts], grace: float
) -> tuple[list[EventOutcome], int]:
    """What became of every event, and how many alarms were false."""
    found: list[EventOutcome] = []
    false = 0
    for recording, said in zip(recordings, verdicts, strict=True):
        judged = judge(recording, said, grace)
        false += sum(one.kind == "false" for one in judged)
        raised = np.array([one.span.raised_at for one in judged], dtype=np.int64)
        cleared = np.array([one.end for one in judged], dtype=np.int64)
        starts, ends = bounds_of(recording, grace)
        first = first_alarms(raised, starts, ends).tolist()
        for event, number in zip(recording.events, first, strict=True):
            found.append(
                EventOutcome(
                    recording.name,
                    event,
                    recording.table.clock,
                    judged[number].span if number >= 0 else None,
                    bool(((raised < event.start) & (cleared > event.start)).any()),
                    _covered(recording, said, event),
                )
            )
    return found, false


def _covered(recording: Recording, verdicts: Verdicts, event: Event) -> float | None:
    """Share of an event's counted rows under alarm."""
    table = recording.table
    assert table.labels is not None
    rows = slice(*np.searchsorted(table.time, [event.start, event.end]).tolist())
    counted = np.isfinite(table.labels[rows])
    return float(verdicts.alarm[rows][counted].mean()) if counted.any() else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _causes(outcomes: Sequence[EventOutcome], signals: int) -> dict[str, float | None]:
    """How well causes were named, over the events whose cause is known."""
    known = [one for one in outcomes if one.event.signals]
    caught = [one for one in known if one.alarm is not None]
    names = ("ac_at_1", "ac_at_3", "ac_at_5", "map_at_3", "mrr", "chance_ac_at_1", "abstained")
    if not known:
        return dict.fromkeys(names)
    rankings = [one.causes for one in known]
    truths = [one.event.signals for one in known]
    sizes = [len(one) for one in truths]
    shy = sum(one.alarm is not None and one.alarm.abstained for one in caught)
    figures = (
        *(ac_at_k(rankings, truths, k) for k in (1, 3, 5)),
        map_at_k(rankings, truths, 3),
        mrr(rankings, truths),
        chance_ac_at_k(sizes, signals, 1),
        shy / len(caught) if caught else None,
    )
    return dict(zip(names, figures, strict=True))


def _seconds(recording: Recording, *, normal: bool = False) -> float:
    """How long the rows of a recording last that are counted, or those that are normal."""
    table = recording.table
    assert table.labels is not None
    counted = table.labels == 0 if normal else np.isfinite(table.labels)
    return int(counted.sum()) * table.interval


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
