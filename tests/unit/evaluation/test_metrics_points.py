"""Pointwise figures: equal to scikit-learn and TSB-AD, and one sentence for what cannot be."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn

from causewatch.errors import SettingError
from causewatch.evaluation.metrics.affiliation import affiliation
from causewatch.evaluation.metrics.points import (
    auc_pr,
    auc_roc,
    best_f1,
    pointwise,
    precision_recall_curve,
)
from causewatch.evaluation.metrics.volume import range_auc_pr, range_auc_roc, vus_pr, vus_roc

FROZEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "metrics" / "scores.json").read_text(encoding="utf-8")
)
OF_SCORES = [auc_pr, auc_roc, best_f1, precision_recall_curve]
OF_SCORES += [range_auc_pr, range_auc_roc, vus_pr, vus_roc]
OF_ALARMS = [affiliation, pointwise]
NEED_BOTH = [auc_roc, range_auc_pr, range_auc_roc, vus_pr, vus_roc]


@st.composite
def judged(draw):
    """Labels with both values and scores with many ties."""
    rows = draw(st.integers(2, 40))
    labels = np.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows)))
    labels[draw(st.integers(1, rows - 1))] = not labels[0]
    values = st.one_of(st.integers(-2, 2).map(float), st.floats(-5, 5))
    return labels, np.array(draw(st.lists(values, min_size=rows, max_size=rows)))


@settings(max_examples=60)
@given(judged())
def test_areas_and_curve_are_those_of_scikit_learn(case):
    labels, score = case
    assert auc_pr(labels, score) == pytest.approx(
        sklearn.average_precision_score(labels, score), abs=1e-12
    )
    assert auc_roc(labels, score) == pytest.approx(sklearn.roc_auc_score(labels, score), abs=1e-12)
    ours, theirs = (
        precision_recall_curve(labels, score),
        sklearn.precision_recall_curve(labels, score),
    )
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@given(judged())
def test_best_f1_is_reached_at_its_limit_and_at_no_other_exceeded(case):
    labels, score = case
    found, limit = best_f1(labels, score)
    every = {x: pointwise(labels, score >= x).f1 for x in score.tolist()}
    assert found == pytest.approx(max(every.values()), abs=1e-12)
    assert limit == max(x for x, f1 in every.items() if f1 == pytest.approx(found, abs=1e-12))


@settings(max_examples=40)
@given(judged())
def test_pointwise_is_that_of_scikit_learn(case):
    labels, score = case
    alarm = score > 0
    found = pointwise(labels, alarm)
    precision, recall, _, _ = sklearn.precision_recall_fscore_support(
        labels, alarm, average="binary", zero_division=np.nan
    )
    assert found.precision == pytest.approx(precision, abs=1e-12, nan_ok=True)
    assert found.recall == pytest.approx(recall, abs=1e-12)
    assert found.f1 == pytest.approx(sklearn.f1_score(labels, alarm), abs=1e-12)
    table = sklearn.confusion_matrix(labels, alarm, labels=[False, True])
    assert [[found.tn, found.fp], [found.fn, found.tp]] == table.tolist()


@pytest.mark.parametrize("name", list(FROZEN["cases"]))
def test_they_agree_with_tsb_ad(name):
    case, tolerance = FROZEN["cases"][name], FROZEN["about"]["tolerance"]
    labels = np.array([flag == "1" for flag in case["labels"]])
    alarm = np.array([flag == "1" for flag in case["alarm"]])
    score, expected = np.array(case["score"]), case["expected"]
    assert auc_pr(labels, score) == pytest.approx(expected["auc_pr"], abs=tolerance)
    assert auc_roc(labels, score) == pytest.approx(expected["auc_roc"], abs=tolerance)
    # TSB-AD adds 1e-5 to the denominator of F1 at each limit.
    best = best_f1(labels, score)[0]
    assert expected["standard_f1"] <= best <= expected["standard_f1"] + 1e-5
    found = pointwise(labels, alarm)
    undefined = float("nan") if expected["precision"] is None else expected["precision"]
    assert found.precision == pytest.approx(undefined, abs=tolerance, nan_ok=True)
    assert found.recall == pytest.approx(expected["recall"], abs=tolerance)


def test_silence_is_worth_nothing():
    found = pointwise([0, 1, 1], [0, 0, 0])
    assert math.isnan(found.precision)
    assert (found.recall, found.f1) == (0.0, 0.0)


def test_a_score_that_says_nothing_gets_the_level_of_chance():
    labels = np.arange(50) % 5 == 0
    assert auc_pr(labels, np.zeros(50)) == pytest.approx(0.2)
    assert auc_roc(labels, np.zeros(50)) == 0.5
    assert best_f1(labels, np.zeros(50)) == (pytest.approx(1 / 3), 0.0)


def test_infinite_scores_are_scores():
    score = np.array([np.inf, -np.inf, np.inf, 0.0])
    assert auc_roc([1, 0, 1, 0], score) == 1.0
    assert best_f1([1, 0, 1, 0], score) == (1.0, np.inf)


def test_counts_are_exact_for_long_recordings():
    rows = 400_000
    labels = np.arange(rows) % 2
    assert auc_roc(labels, labels) == 1.0
    assert auc_roc(labels, 1 - labels) == 0.0


@pytest.mark.parametrize("measure", OF_SCORES + OF_ALARMS)
def test_no_positive_label_is_told(measure):
    with pytest.raises(SettingError, match=r"None of the 4 labels is 1.*label the events"):
        measure(np.zeros(4), np.zeros(4))


@pytest.mark.parametrize("measure", OF_SCORES + OF_ALARMS)
def test_other_lengths_are_told(measure):
    with pytest.raises(SettingError, match=r"3 labels and 4 values of (score|alarm)"):
        measure([0, 1, 0], np.zeros(4))


@pytest.mark.parametrize("measure", OF_SCORES + OF_ALARMS)
def test_labels_other_than_0_and_1_are_told(measure):
    with pytest.raises(SettingError, match=r"labels holds 2 in row 1"):
        measure([0, 2, 1], np.zeros(3))


@pytest.mark.parametrize("measure", OF_SCORES)
def test_missing_scores_are_told(measure):
    with pytest.raises(SettingError, match=r"1 of 3 scores are missing.*first in row 2"):
        measure([0, 1, 0], [0.0, 1.0, np.nan])


@pytest.mark.parametrize("measure", OF_ALARMS)
def test_alarms_other_than_0_and_1_are_told(measure):
    with pytest.raises(SettingError, match=r"alarm holds nan in row 0"):
        measure([0, 1, 0], [np.nan, 1.0, 0.0])


@pytest.mark.parametrize("measure", NEED_BOTH)
def test_no_normal_row_is_told_where_one_is_needed(measure):
    with pytest.raises(SettingError, match="All of the 3 labels are 1"):
        measure([1, 1, 1], [0.0, 1.0, 2.0])


@pytest.mark.parametrize("measure", OF_SCORES + OF_ALARMS)
def test_tables_are_told(measure):
    with pytest.raises(SettingError, match="dimensions; give one value per row"):
        measure(np.zeros((3, 2)), np.zeros((3, 2)))


@pytest.mark.parametrize("measure", OF_SCORES)
def test_inputs_stay_as_they_are(measure):
    labels, score = np.array([0, 1, 0, 1]), np.array([3.0, 1.0, 2.0, 4.0])
    measure(labels, score)
    assert labels.tolist() == [0, 1, 0, 1]
    assert score.tolist() == [3.0, 1.0, 2.0, 4.0]
