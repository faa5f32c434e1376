"""Range-based precision and recall: a slow twin, and what `prts` and TSB-AD say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import CausewatchError, SettingError, UnknownNameError
from causewatch.evaluation.metrics.ranges import overlaps, range_precision_recall

GOLDEN = Path(__file__).parents[2] / "golden" / "metrics" / "ranges.json"
BIASES = ("flat", "front", "middle", "back")


def golden():
    return json.loads(GOLDEN.read_text())


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


def slow_bias(position, length, bias):
    """Weight of a position, counted from 1 (figure 2 of the paper)."""
    if bias == "flat":
        return 1
    if bias == "front":
        return length - position + 1
    if bias == "back":
        return position
    return position if position <= length / 2 else length - position + 1


def slow_cover(ranges, others, alpha, bias, cardinality):
    scores = []
    for one in ranges:
        total = sum(slow_bias(k, len(one), bias) for k in range(1, len(one) + 1))
        touching = [other for other in others if set(one) & set(other)]
        cover = 0.0
        for other in touching:
            cover += sum(
                slow_bias(k, len(one), bias) for k, row in enumerate(one, 1) if row in other
            )
        factor = 1 / max(1, len(touching)) if cardinality == "reciprocal" else 1
        scores.append(alpha * bool(touching) + (1 - alpha) * factor * cover / total)
    return sum(scores) / len(scores) if scores else float("nan")


def slow(labels, alarm, alpha, bias, cardinality):
    events, alarms = slow_runs(labels), slow_runs(alarm)
    return (
        slow_cover(alarms, events, 0.0, bias, cardinality),
        slow_cover(events, alarms, alpha, bias, cardinality),
    )


@st.composite
def recordings(draw, most=40):
    """Labels with at least one anomalous row, and alarms, maybe none."""
    count = draw(st.integers(1, most))
    flags = st.lists(st.booleans(), min_size=count, max_size=count)
    labels, alarm = np.array(draw(flags)), np.array(draw(flags))
    labels[draw(st.integers(0, count - 1))] = True
    return labels, alarm


@given(
    recordings(),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from(BIASES),
    st.sampled_from(["one", "reciprocal"]),
)
def test_it_is_the_slow_twin(recording, alpha, bias, cardinality):
    labels, alarm = recording
    found = range_precision_recall(labels, alarm, alpha=alpha, bias=bias, cardinality=cardinality)
    precision, recall = slow(labels, alarm, alpha, bias, cardinality)
    np.testing.assert_allclose([found.precision, found.recall], [precision, recall], 0, 1e-12)
    expected = 2 * precision * recall / (precision + recall) if recall else 0.0
    assert found.f1 == pytest.approx(expected, abs=1e-12)


@given(recordings(), st.sampled_from(["one", "reciprocal"]))
def test_backwards_in_time_front_is_back(recording, cardinality):
    labels, alarm = recording
    front = range_precision_recall(labels, alarm, bias="front", cardinality=cardinality)
    back = range_precision_recall(labels[::-1], alarm[::-1], bias="back", cardinality=cardinality)
    np.testing.assert_allclose(
        [front.precision, front.recall], [back.precision, back.recall], 0, 1e-12
    )


@given(recordings())
def test_pairs_are_those_that_share_a_row(recording):
    both = [
        (np.array([run[0] for run in runs]), np.array([run[-1] + 1 for run in runs]), runs)
        for runs in map(slow_runs, recording)
    ]
    (starts, stops, ones), (others, ends, twos) = both
    if len(twos):
        first, second = overlaps(starts, stops, others, ends)
        pairs = list(zip(first.tolist(), second.tolist(), strict=True))
        assert pairs == [
            (i, j)
            for i, one in enumerate(ones)
            for j, two in enumerate(twos)
            if set(one) & set(two)
        ]


def test_it_says_what_prts_says():
    frozen, compared = golden(), 0
    for case in frozen["recordings"]:
        labels, alarm = (rows(case["rows"], case[name]) for name in ("events", "alarms"))
        for entry in case["ranges"]:
            alpha, bias, cardinality = entry["settings"]
            found = range_precision_recall(
                labels, alarm, alpha=alpha, bias=bias, cardinality=cardinality
            )
            np.testing.assert_allclose(
                [found.precision, found.recall], entry["said"], 0, frozen["about"]["tolerance"]
            )
            compared += 1
    assert compared > 400


def test_it_says_what_tsb_ad_says():
    frozen, compared = golden(), 0
    for case in frozen["recordings"]:
        if case["tsb_ad"] is not None:
            labels, alarm = (rows(case["rows"], case[name]) for name in ("events", "alarms"))
            found = range_precision_recall(labels, alarm, alpha=0.2, cardinality="reciprocal")
            assert found.f1 == pytest.approx(case["tsb_ad"]["r_based_f1"], abs=1e-9)
            compared += 1
    assert compared > 10


def test_without_an_alarm_nothing_was_claimed_or_found():
    # prts stops here.
    found = range_precision_recall([0, 1, 1], [0, 0, 0], alpha=0.5)
    assert np.isnan(found.precision)
    assert (found.recall, found.f1) == (0.0, 0.0)


def test_where_all_rows_are_anomalous_there_is_one_range():
    # TSB-AD sees no range here and says 0.
    found = range_precision_recall([1, 1, 1, 1], [0, 1, 1, 0])
    assert (found.precision, found.recall) == (1.0, 0.5)


def test_it_is_quick_on_a_long_recording_and_leaves_it_alone():
    random = np.random.default_rng(0)
    labels, alarm = np.cumsum(random.random((2, 450_000)) < 0.01, axis=1) % 2
    labels.flags.writeable = alarm.flags.writeable = False
    whole = range_precision_recall(labels, alarm, bias="middle", cardinality="reciprocal")
    part = range_precision_recall(labels[:4000], alarm[:4000], bias="middle")
    assert 0 < whole.f1 < 1
    np.testing.assert_allclose(
        [part.precision, part.recall], slow(labels[:4000], alarm[:4000], 0.0, "middle", "one")
    )


@pytest.mark.parametrize(
    ("labels", "alarm", "options", "kind", "words"),
    [
        ([0, 1], [0, 1, 1], {}, SettingError, "2 labels"),
        ([0, 0], [0, 1], {}, CausewatchError, "nothing to detect"),
        ([0, 1], [0.3, 0.9], {}, SettingError, "0.3"),
        ([0, 1], [0, 1], {"alpha": 1.5}, SettingError, "alpha is 1.5"),
        ([0, 1], [0, 1], {"alpha": float("nan")}, SettingError, "alpha is nan"),
        ([0, 1], [0, 1], {"bias": "fornt"}, UnknownNameError, "'front'"),
        ([0, 1], [0, 1], {"cardinality": "two"}, UnknownNameError, "reciprocal"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(labels, alarm, options, kind, words):
    with pytest.raises(kind, match=words):
        range_precision_recall(labels, alarm, **options)
