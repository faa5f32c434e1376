"""eTaPR from its definition, and what the authors' package says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import CausewatchError, SettingError
from causewatch.evaluation.metrics.etapr import Etapr, etapr

GOLDEN = Path(__file__).parents[2] / "golden" / "metrics" / "ranges.json"


def rows(count, ranges):
    flags = np.zeros(count, dtype=np.int64)
    for start, stop in ranges:
        flags[start:stop] = 1
    return flags


def slow_runs(flags):
    found, run = [], []
    for row, flag in enumerate([*flags, 0]):
        if flag:
            run.append(row)
        elif run:
            found.append(run)
            run = []
    return found


def slow(labels, alarm, theta_p, theta_r, delta):
    """Strike out one event or alarm at a time, alarms first, until nothing falls short."""
    events, alarms = slow_runs(labels), slow_runs(alarm)
    if not alarms:
        return float("nan"), 0.0, 0.0
    worth = []  # of each row, for each event
    for number, event in enumerate(events):
        credit = dict.fromkeys(event, 1.0)
        last = event[-1] + 1 + int(delta * (len(event) - 1))
        if number + 1 < len(events) and last > events[number + 1][0]:
            last = events[number + 1][0] - 1
        after = range(event[-1] + 1, last + 1)
        if len(after) > 1:
            for k, row in enumerate(after):
                credit[row] = 1 / (1 + math.exp(-6 + 12 * k / (len(after) - 1)))
        worth.append(credit)
    shared = [[sum(credit.get(row, 0.0) for row in one) for one in alarms] for credit in worth]
    detected, correct = set(range(len(events))), set(range(len(alarms)))

    def covered(i):
        return sum(shared[i][j] for j in correct) / len(events[i])

    def inside(j):
        return sum(shared[i][j] for i in detected) / len(alarms[j])

    while True:
        short_alarms = [j for j in sorted(correct) if inside(j) < theta_p - 1e-9]
        short_events = [i for i in sorted(detected) if covered(i) < theta_r - 1e-9]
        if short_alarms:
            correct.remove(short_alarms[0])
        elif short_events:
            detected.remove(short_events[-1])
        else:
            break
    recall = sum((1 + min(1.0, covered(i))) / 2 for i in detected) / len(events)
    weight = [math.sqrt(len(one)) for one in alarms]
    precision = sum(weight[j] * (1 + inside(j)) / 2 for j in correct) / sum(weight)
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


@st.composite
def recordings(draw, most=60):
    """Labels and alarms made of runs, so that they overlap in many ways."""
    count = draw(st.integers(1, most))
    both = []
    for _ in range(2):
        lengths = draw(st.lists(st.integers(1, 12), min_size=count, max_size=count))
        first = draw(st.booleans())
        both.append(np.repeat([(k + first) % 2 == 1 for k in range(count)], lengths)[:count])
    both[0][draw(st.integers(0, count - 1))] = True
    return both


@given(
    recordings(),
    st.sampled_from([0.2, 0.5, 0.8, 1.0]),
    st.sampled_from([0.1, 0.45, 1.0]),
    st.sampled_from([0.0, 0.1, 0.35, 1.0]),
)
def test_it_is_the_slow_twin(recording, theta_p, theta_r, delta):
    labels, alarm = recording
    found = etapr(labels, alarm, theta_p=theta_p, theta_r=theta_r, delta=delta)
    expected = slow(labels, alarm, theta_p, theta_r, delta)
    np.testing.assert_allclose([found.precision, found.recall, found.f1], expected, 0, 1e-9)


@given(recordings())
def test_an_alarm_like_the_labels_is_perfect_and_backwards_is_the_same(recording):
    labels, alarm = recording
    assert etapr(labels, labels) == Etapr(1.0, 1.0, 1.0)
    there, back = etapr(labels, alarm), etapr(labels[::-1], alarm[::-1])
    np.testing.assert_allclose([there.recall, there.f1], [back.recall, back.f1], 0, 1e-12)


def test_it_says_what_the_authors_say():
    frozen, compared = json.loads(GOLDEN.read_text()), 0
    for case in frozen["recordings"]:
        labels, alarm = (rows(case["rows"], case[name]) for name in ("events", "alarms"))
        for entry in case["etapr"]:
            theta_p, theta_r, delta = entry["settings"]
            found = etapr(labels, alarm, theta_p=theta_p, theta_r=theta_r, delta=delta)
            np.testing.assert_allclose(
                [found.precision, found.recall, found.f1],
                entry["said"],
                0,
                frozen["about"]["tolerance"],
            )
            compared += 1
    assert compared > 100


def test_a_chain_is_struck_out_link_by_link():
    # The first alarm lies too far outside; without it the event has too little cover; and without
    # the event the second alarm is not right either, though all of it lies in the event.
    labels = rows(60, [(10, 30)])
    alarm = rows(60, [(0, 14), (29, 30)])
    assert etapr(labels, alarm) == Etapr(0.0, 0.0, 0.0)
    assert etapr(labels, alarm, theta_r=0.05).recall == pytest.approx((1 + 1 / 20) / 2)


def test_always_on_is_worth_nothing_and_one_long_false_alarm_less_than_many_short_ones():
    labels = rows(400, [(100, 120), (200, 220)])
    assert etapr(labels, np.ones(400)) == Etapr(0.0, 0.0, 0.0)
    long = etapr(labels, labels | rows(400, [(300, 340)]))
    short = etapr(labels, labels | rows(400, [(k, k + 2) for k in range(300, 380, 4)]))
    assert long.recall == short.recall == 1.0
    assert short.precision < long.precision < 1.0


def test_the_first_row_of_the_next_event_may_count_twice_as_the_authors_count_it():
    # An event of 5 rows and delta 1: its late rows are the 5 after it, the last of which is the
    # first row of the next event. The share of the alarm in events is above 1 for that.
    labels, alarm = rows(20, [(0, 5), (9, 14)]), rows(20, [(9, 10)])
    found = etapr(labels, alarm, delta=1.0)
    twice = 1 + 1 / (1 + math.exp(6))
    # The first event is struck out: a row that counts 0.0025 covers too little of it.
    assert found.precision == 1.0
    assert etapr(labels, alarm, delta=1.0, theta_r=1e-4).precision == pytest.approx((1 + twice) / 2)


def test_a_share_that_is_just_the_limit_reaches_it():
    # Credits of late rows are symmetric, so those of the two in the middle of four sum to 1: half
    # of the alarm. In the authors' package rounding decides.
    labels, alarm = rows(20, [(3, 7)]), rows(20, [(8, 10)])
    found = etapr(labels, alarm, delta=1.0, theta_r=0.25)
    assert found.precision == pytest.approx(0.75)
    assert found.recall == pytest.approx((1 + 1 / 4) / 2)
    assert etapr(labels, alarm, delta=1.0, theta_p=0.51).f1 == 0.0


def test_without_an_alarm_nothing_was_claimed_or_found():
    # The authors' package stops here.
    found = etapr([0, 1, 1], [0, 0, 0])
    assert np.isnan(found.precision)
    assert (found.recall, found.f1) == (0.0, 0.0)


def test_long_recordings_with_thousands_of_events():
    random = np.random.default_rng(0)
    labels, alarm = np.cumsum(random.random((2, 450_000)) < 0.02, axis=1) % 2
    labels.flags.writeable = alarm.flags.writeable = False
    assert 0 < etapr(labels, alarm, delta=0.3).f1 < 1
    few = etapr(labels[:3000], alarm[:3000], delta=0.3)
    expected = slow(labels[:3000], alarm[:3000], 0.5, 0.1, 0.3)
    np.testing.assert_allclose([few.precision, few.recall, few.f1], expected, 0, 1e-9)


@pytest.mark.parametrize(
    ("labels", "alarm", "options", "kind", "words"),
    [
        ([0, 1], [0, 1, 1], {}, SettingError, "2 labels"),
        ([0, 0], [0, 1], {}, CausewatchError, "nothing to detect"),
        ([0, 1], [0, 1], {"theta_p": 0.0}, SettingError, "theta_p is 0"),
        ([0, 1], [0, 1], {"theta_r": 1.1}, SettingError, "theta_r is 1.1"),
        ([0, 1], [0, 1], {"delta": -0.1}, SettingError, "delta is -0.1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(labels, alarm, options, kind, words):
    with pytest.raises(kind, match=words):
        etapr(labels, alarm, **options)
