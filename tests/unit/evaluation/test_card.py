"""The report card, against hand-made recordings whose figures can be told by heart."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.data.datasets.base import Event, Recording
from causewatch.data.datasets.shaping import event_labels
from causewatch.data.table import NANOSECONDS, TimeTable
from causewatch.errors import SettingError
from causewatch.evaluation import AlarmSpan, Verdicts, report_card
from causewatch.evaluation.judging import noticed_by_chance

CONTRACT = (
    "vus_pr", "auc_pr", "f1", "precision", "recall", "f1_best", "affiliation_precision",
    "affiliation_recall", "etapr_f1", "event_recall", "events", "events_detected",
    "events_seen", "coverage", "median_delay_s", "false_alarms_per_day",
    "false_alarm_time_share", "ac_at_1", "ac_at_3", "ac_at_5", "map_at_3", "mrr",
    "chance_ac_at_1", "abstained", "per_event",
)  # fmt: skip
ROWS = 1000


def at(row: int) -> int:
    return row * NANOSECONDS


def a_recording(
    *events: tuple[str, int, int, tuple[str, ...]], rows: int = ROWS, **labels: Any
) -> Recording:
    table = TimeTable(
        signals=("a", "b", "c", "d"),
        values=np.zeros((rows, 4)),
        time=np.arange(rows, dtype=np.int64) * NANOSECONDS,
        starts=np.array([0], dtype=np.intp),
        interval=1.0,
        clock="elapsed",
    )
    found = tuple(Event(name, at(start), at(end), signals) for name, start, end, signals in events)
    truth = labels.get("labels", event_labels(table, found))
    return Recording(
        "made",
        TimeTable(
            table.signals, table.values, table.time, table.starts, 1.0, "elapsed", labels=truth
        ),
        found,
    )


def said(*spans: tuple[int, int | None, tuple[str, ...]], rows: int = ROWS) -> Verdicts:
    alarm = np.zeros(rows, dtype=np.bool_)
    for on, off, _ in spans:
        alarm[on:off] = True
    score = np.where(alarm, 2.0, 0.5)
    score[:10] = np.nan
    alarms = tuple(
        AlarmSpan(at(on), None if off is None else at(off), causes, not causes)
        for on, off, causes in spans
    )
    return Verdicts(score, alarm, alarms)


RECORDING = a_recording(
    ("one", 100, 200, ("a",)), ("two", 400, 500, ("b", "c")), ("three", 700, 720, ())
)


def test_figures_are_those_of_the_definition() -> None:
    card = report_card(
        [RECORDING],
        [
            said(
                (110, 210, ("a", "b")),
                (300, 310, ("d",)),
                (420, 430, ("d", "a", "c")),
                (900, 910, ()),
            )
        ],
    )
    assert (card.events, card.events_detected, card.event_recall) == (3, 2, 2 / 3)
    assert card.median_delay_s == 15.0
    assert card.false_alarms == 2
    assert card.false_alarms_per_day == pytest.approx(2 * 86_400 / (1000 - 220))
    hits, on, true = 90 + 10, 100 + 10 + 10 + 10, 100 + 100 + 20
    assert card.precision == hits / on
    assert card.recall == hits / true
    assert card.false_alarm_time_share == (on - hits) / (1000 - true)
    assert (card.ac_at_1, card.ac_at_3, card.mrr) == (0.5, 1.0, (1 + 1 / 3) / 2)
    assert card.chance_ac_at_1 == (1 / 4 + 2 / 4) / 2
    assert card.abstained == 0.0
    assert [one.rank for one in card.per_event] == [1, 3, None]
    assert card.events_seen == 2
    assert [event.covered for event in card.per_event] == [0.9, 0.1, 0.0]
    assert card.coverage == pytest.approx(1.0 / 3)


def test_the_json_holds_the_contract_and_nothing_that_json_cannot_say() -> None:
    told = report_card([RECORDING], [said((110, 210, ("a",)))]).to_dict()
    assert set(CONTRACT) <= set(told)
    again = json.loads(json.dumps(told, allow_nan=False))
    assert again["per_event"][0]["delay_s"] == 10.0
    assert again["per_event"][0]["causes"] == ["a"]
    assert again["per_event"][1]["detected"] is False


def test_rows_that_are_not_counted_cover_nothing() -> None:
    recording = a_recording(("one", 100, 200, ()), ("two", 400, 500, ()))
    labels = np.array(recording.table.labels)
    labels[150:200] = labels[400:500] = np.nan
    recording = replace(recording, table=replace(recording.table, labels=labels))
    card = report_card([recording], [said((140, 200, ()))])
    assert [event.covered for event in card.per_event] == [0.2, None]
    assert card.coverage == 0.2


def test_an_alarm_that_is_always_on_notices_nothing() -> None:
    card = report_card([RECORDING], [said((0, None, ("a",)))])
    assert card.events_detected == 0
    assert card.event_recall == 0.0
    assert card.median_delay_s is None
    assert card.false_alarm_time_share == 1.0
    assert card.precision == 220 / 1000  # the share of anomalous rows: chance
    assert card.ac_at_1 == 0.0
    assert all(one.already_on for one in card.per_event)
    assert (card.events_seen, card.coverage) == (3, 1.0)


def test_no_alarm_at_all_is_no_error() -> None:
    card = report_card([RECORDING], [said()])
    assert (card.f1, card.precision, card.recall, card.event_recall) == (0.0, None, 0.0, 0.0)
    assert card.false_alarms == 0
    json.dumps(card.to_dict(), allow_nan=False)


def test_figures_of_the_score_are_of_the_score_alone() -> None:
    verdicts = said((110, 210, ("a",)), (420, 430, ("b",)))
    before = report_card([RECORDING], [verdicts])
    silent = Verdicts(verdicts.score, np.zeros(ROWS, dtype=np.bool_), ())
    after = report_card([RECORDING], [silent])
    assert (after.vus_pr, after.auc_pr, after.f1_best) == (
        before.vus_pr,
        before.auc_pr,
        before.f1_best,
    )


def test_grace_lets_late_alarms_count_and_keeps_them_from_being_false() -> None:
    verdicts = said((205, 215, ("a",)))
    strict, kind = (report_card([RECORDING], [verdicts], grace=grace) for grace in (0.0, 10.0))
    assert (strict.events_detected, strict.false_alarms) == (0, 1)
    assert (kind.events_detected, kind.false_alarms) == (1, 0)


def test_grace_ends_where_the_next_event_begins() -> None:
    near = a_recording(("one", 100, 200, ("a",)), ("two", 210, 300, ("b",)))
    card = report_card([near], [said((220, 230, ("b",)))], grace=60.0)
    assert [one.detected for one in card.per_event] == [False, True]


def test_grace_runs_on_through_an_event_that_overlaps() -> None:
    both = a_recording(
        ("long", 100, 300, ("a",)), ("inner", 150, 160, ("b",)), ("next", 320, 400, ("c",))
    )
    spans = [(165, 170, ("b",)), (310, 312, ("a",)), (330, 340, ("c",))]
    card = report_card([both], [said(*spans)], grace=60.0)
    raised = [one.alarm.raised_at if one.alarm else None for one in card.per_event]
    assert raised == [at(165), at(165), at(330)]
    assert [one.rank for one in card.per_event] == [None, 1, 1]
    late = report_card([both], [said((310, 312, ("a",)))], grace=60.0)
    assert [one.detected for one in late.per_event] == [True, False, False]
    assert late.false_alarms == 0


@settings(deadline=None)
@given(
    events=st.lists(st.tuples(st.integers(0, 80), st.integers(1, 40)), min_size=1, max_size=6),
    alarms=st.lists(st.tuples(st.integers(0, 119), st.integers(1, 30)), max_size=6),
    grace=st.sampled_from([0, 1, 7, 50]),
)
def test_overlapping_events_are_counted_as_the_definition_says(
    events: list[tuple[int, int]], alarms: list[tuple[int, int]], grace: int
) -> None:
    rows = 120
    named = [
        (f"e{k}", start, start + size, ("abcd"[k % 4],))
        for k, (start, size) in enumerate(sorted(events))
    ]
    spans = [(on, min(on + size, rows), ("a", "b")) for on, size in sorted(alarms)]
    recording = a_recording(*named, rows=rows)
    card = report_card([recording], [said(*spans, rows=rows)], grace=float(grace))

    attacked = {row for _, start, end, _ in named for row in range(start, end)}
    assert card.anomalous_rows == len(attacked & set(range(rows)))
    windows = []
    for outcome, (name, start, end, signals) in zip(card.per_event, named, strict=True):
        window = set(range(start, end))
        for row in range(end, end + grace):
            if any(begin == row for _, begin, _, _ in named):
                break
            window.add(row)
        windows.append(window)
        inside = [on for on, _, _ in spans if on in window]
        assert outcome.event.name == name
        assert (outcome.alarm.raised_at if outcome.alarm else None) == (
            at(inside[0]) if inside else None
        )
        best = "ab".find(signals[0]) + 1
        assert outcome.rank == (best or None if inside else None)
    vain = [span for span in spans if not any(set(range(*span[:2])) & w for w in windows)]
    assert card.false_alarms == len(vain)
    shares = [1 - (1 - min(1, len(window) / rows)) ** len(spans) for window in windows]
    by_chance = noticed_by_chance([recording], [said(*spans, rows=rows)], float(grace))
    assert by_chance == pytest.approx(np.mean(shares))


def test_rows_without_a_label_are_not_counted_nor_are_alarms_in_them() -> None:
    labels = event_labels(RECORDING.table, RECORDING.events)
    labels[800:] = np.nan
    partly = a_recording(*[("one", 100, 200, ("a",))], labels=labels)
    card = report_card([partly], [said((850, 860, ()), (790, 810, ()))])
    assert card.rows == 800
    assert card.days == 800 / 86_400
    assert card.false_alarms == 1


def test_recordings_are_counted_together_but_never_run_into_each_other() -> None:
    first = a_recording(("one", 100, 200, ("a",)))
    second = a_recording(("two", 0, 50, ("b",)))
    card = report_card([first, second], [said((150, None, ("a",))), said((10, 20, ("b",)))])
    assert (card.events, card.events_detected, card.rows) == (2, 2, 2000)
    assert [one.already_on for one in card.per_event] == [False, False]


def test_what_is_not_defined_is_none() -> None:
    whole = a_recording(("all", 0, ROWS, ()))
    card = report_card([whole], [said((10, None, ()))])
    assert card.vus_pr is None
    assert card.false_alarm_time_share is None
    assert card.ac_at_1 is None
    json.dumps(card.to_dict(), allow_nan=False)


def test_wrong_input_gets_one_sentence() -> None:
    with pytest.raises(SettingError, match="nothing to detect"):
        report_card([a_recording()], [said()])
    with pytest.raises(SettingError, match="1,000 rows, 1,000 labels and 500 scores"):
        report_card([RECORDING], [said(rows=500)])
    with pytest.raises(SettingError, match="999 labels"):
        report_card([a_recording(("x", 1, 2, ()), labels=np.zeros(999))], [said()])
    with pytest.raises(SettingError, match="one is needed for each"):
        report_card([RECORDING], [])
    with pytest.raises(SettingError, match="grace is -1 s"):
        report_card([RECORDING], [said()], grace=-1.0)
