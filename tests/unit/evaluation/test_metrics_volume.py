"""VUS and range AUCs: equal to a slow twin written from the definition, and to TSB-AD."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.errors import SettingError
from causewatch.evaluation.metrics.points import auc_pr, auc_roc
from causewatch.evaluation.metrics.volume import range_auc_pr, range_auc_roc, vus_pr, vus_roc

FROZEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "metrics" / "scores.json").read_text(encoding="utf-8")
)
MEASURES = [range_auc_pr, range_auc_roc, vus_pr, vus_roc]


def events_in(labels):
    """First and last row of each event."""
    padded = [0, *(int(flag) for flag in labels), 0]
    steps = [(row, after - before) for row, (before, after) in enumerate(pairwise(padded))]
    starts, stops = ([row for row, step in steps if step == way] for way in (1, -1))
    return [(first, stop - 1) for first, stop in zip(starts, stops, strict=True)]


def slow_range_aucs(labels, score, window, thresholds, *, older=False):
    """Both areas, row by row and limit by limit; `older`: as ``RangeAUC`` of vus has them."""
    rows, half = len(labels), window // 2
    events = events_in(labels)
    weight = [float(flag) for flag in labels]
    for row in range(rows):
        for first, last in events:
            distance = max(first - row, row - last)
            if 0 < distance <= half:
                weight[row] += (1 - distance / window) ** 0.5
    weight = [min(1.0, one) for one in weight]

    zones = []
    for first, last in events:
        if zones and first - half <= zones[-1][1] + older:
            zones[-1][1] = last + half
        else:
            zones.append([first - half, last + half])

    descending = sorted(score, reverse=True)
    limits = [descending[int(i)] for i in np.linspace(0, rows - 1, thresholds)]
    recalls, rates, precisions = [0.0], [0.0], [1.0]
    for limit in limits:
        alarmed = [i for i in range(rows) if score[i] >= limit]
        hits = sum(weight[i] for i in alarmed)
        beside = sum(weight[i] for i in alarmed if not labels[i])
        positives = (sum(labels) + sum(weight)) / 2 if older else sum(labels) + beside / 2
        seen = [any(a <= i <= b for i in alarmed) for a, b in zones]
        recalls.append(min(1.0, hits / positives) * sum(seen) / len(zones))
        rates.append((len(alarmed) - hits) / (rows - positives))
        precisions.append(hits / len(alarmed))
    height = [(a + b) / 2 for a, b in pairwise(precisions)] if older else precisions[1:]
    pr = sum((b - a) * h for (a, b), h in zip(pairwise(recalls), height, strict=True))
    recalls, rates = [*recalls, 1.0], [*rates, 1.0]
    roc = sum(
        (after - before) * (low + high) / 2
        for (before, after), (low, high) in zip(pairwise(rates), pairwise(recalls), strict=True)
    )
    return pr, roc


@st.composite
def judged(draw):
    """Events of all lengths, also at the ends and close together; scores with many ties."""
    lengths = draw(st.lists(st.integers(1, 9), min_size=2, max_size=9))
    labels = np.repeat((np.arange(len(lengths)) + draw(st.booleans())) % 2, lengths)
    values = st.one_of(st.integers(-2, 2).map(float), st.floats(-5, 5))
    return labels, np.array(draw(st.lists(values, min_size=len(labels), max_size=len(labels))))


@settings(max_examples=40)
@given(judged(), st.integers(0, 24), st.integers(2, 12))
def test_it_is_what_the_definition_says(case, window, thresholds):
    labels, score = case
    slow = np.array([slow_range_aucs(labels, score, w, thresholds) for w in range(window + 1)])
    how = {"window": window, "thresholds": thresholds}
    assert range_auc_pr(labels, score, **how) == pytest.approx(slow[-1, 0], abs=1e-12)
    assert range_auc_roc(labels, score, **how) == pytest.approx(slow[-1, 1], abs=1e-12)
    assert vus_pr(labels, score, **how) == pytest.approx(slow[:, 0].mean(), abs=1e-12)
    assert vus_roc(labels, score, **how) == pytest.approx(slow[:, 1].mean(), abs=1e-12)


@pytest.mark.parametrize("name", list(FROZEN["cases"]))
def test_it_agrees_with_tsb_ad_and_vus(name):
    case, tolerance = FROZEN["cases"][name], FROZEN["about"]["tolerance"]
    labels = np.array([flag == "1" for flag in case["labels"]])
    how = {"window": case["window"], "thresholds": case["thresholds"]}
    for measure in MEASURES:
        expected = case["expected"][measure.__name__]
        assert measure(labels, case["score"], **how) == pytest.approx(expected, abs=tolerance)
    for key in ("vus_pr", "vus_roc"):
        other = case["expected"][f"{key} of vus"]
        assert case["expected"][key] == pytest.approx(other, abs=tolerance)


@pytest.mark.parametrize("name", [n for n in FROZEN["cases"] if n != "as by default"])
def test_how_the_separate_range_auc_of_vus_differs(name):
    # Three things, and no others: see the notes on top of the module.
    case, tolerance = FROZEN["cases"][name], FROZEN["about"]["tolerance"]
    labels = [int(flag) for flag in case["labels"]]
    pr, roc = slow_range_aucs(labels, case["score"], case["window"], 250, older=True)
    assert pr == pytest.approx(case["expected"]["range_auc_pr of vus"], abs=tolerance)
    assert roc == pytest.approx(case["expected"]["range_auc_roc of vus"], abs=tolerance)


@settings(max_examples=40)
@given(judged(), st.integers(0, 24))
def test_order_is_all_that_counts_and_time_may_run_backwards(case, window):
    labels, score = case
    ranks = np.unique(score, return_inverse=True)[1]
    for measure in (vus_pr, vus_roc):
        found = measure(labels, score, window=window)
        assert measure(labels, ranks * 7 - 3, window=window) == pytest.approx(found, abs=1e-12)
        back = measure(labels[::-1], score[::-1], window=window)
        assert back == pytest.approx(found, abs=1e-12)


def test_without_a_buffer_and_with_every_limit_one_event_gives_the_plain_areas():
    random = np.random.default_rng(3)
    labels, score = np.arange(90) // 30 == 1, random.normal(size=90)
    # With one event the share of zones is 0 or 1, and recall is 0 as long as it is 0.
    assert vus_pr(labels, score, window=0, thresholds=90) == pytest.approx(auc_pr(labels, score))
    assert vus_roc(labels, score, window=1, thresholds=90) == pytest.approx(auc_roc(labels, score))


def test_an_alarm_just_beside_an_event_is_forgiven_by_the_buffer_only():
    labels = np.zeros(500)
    labels[200:220] = 1
    late = np.zeros(500)
    late[205:225] = 1
    assert vus_pr(labels, late, window=40) > range_auc_pr(labels, late, window=0) + 0.1


def test_memory_grows_with_rows_but_not_with_windows():
    random = np.random.default_rng(4)
    labels = np.repeat(random.random(100) < 0.3, 500)
    score = random.normal(size=labels.size)
    tracemalloc.start()
    try:
        vus_pr(labels, score)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200 * labels.size  # limits × rows would be 250 bytes per row at the very least


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("window", [-1, 2.5])
def test_a_window_that_makes_no_sense_is_told(measure, window):
    with pytest.raises(SettingError, match="must be a whole number, 0 or more"):
        measure([0, 1], [0.0, 1.0], window=window)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("thresholds", [1, 2.5])
def test_a_number_of_limits_that_makes_no_sense_is_told(measure, thresholds):
    with pytest.raises(SettingError, match="must be a whole number, 2 or more"):
        measure([0, 1], [0.0, 1.0], thresholds=thresholds)
