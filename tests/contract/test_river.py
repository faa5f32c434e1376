"""What a river anomaly detector promises."""

from __future__ import annotations

import copy
import inspect
import logging
import math
import pickle
from datetime import datetime, timedelta

import numpy as np
import pytest
from river import anomaly, checks

import causewatch as cw
from causewatch.adapters import RiverDetector
from causewatch.errors import SettingError
from recordings import stable

NAMES = ("pump", "level", "flow", "valve", "pressure")
ROWS, FAULT, WARM_UP = 300, 250, 120


def labelled(rows, seed=3):
    """Rows of a plant with a label: one signal is off for the last rows of every three hundred."""
    values = stable(seed, len(NAMES), rows)
    odd = np.arange(rows) % ROWS >= FAULT
    values[odd, 1] += 6.0
    return [
        (dict(zip(NAMES, row, strict=True)), int(label))
        for row, label in zip(values.tolist(), odd, strict=True)
    ]


class Plant:
    """In place of the data set that river's checks would fetch from the network."""

    def __init__(self, rows):
        self._rows = labelled(rows)

    def __iter__(self):
        return iter(copy.deepcopy(self._rows))


DATASETS = {scale: Plant(ROWS * scale) for scale in (1, 10)}


def all_checks():
    saved = checks._yield_datasets
    checks._yield_datasets = lambda model, scale=1: iter([DATASETS[scale]])
    try:
        return list(checks.yield_checks(RiverDetector(warm_up=WARM_UP)))
    finally:
        checks._yield_datasets = saved


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.__name__)
def test_checks_of_river(check):
    detector = RiverDetector(warm_up=WARM_UP)
    assert not detector._unit_test_skips()
    check(detector)


def rows(count, seed=3):
    values = stable(seed, len(NAMES), count)
    return [dict(zip(NAMES, row, strict=True)) for row in values.tolist()]


@pytest.fixture(scope="module")
def stream():
    return rows(500)


@pytest.fixture(scope="module")
def packed(stream):
    """A detector that has learnt from 300 rows, to be taken a copy of."""
    detector = RiverDetector(warm_up=300)
    for row in stream[:300]:
        detector.learn_one(row)
    return pickle.dumps(detector)


@pytest.fixture
def detector(packed):
    return pickle.loads(packed)


def test_it_learns_after_the_warm_up_and_lets_the_rows_go(stream):
    detector = RiverDetector(warm_up=200)
    for row in stream[:199]:
        detector.learn_one(row)
        assert detector.score_one(row) == 0.0
    assert detector.model is None
    assert detector.monitor is None
    detector.learn_one(stream[199])
    assert set(detector.model.signals) == set(NAMES)
    assert detector._first == []
    assert detector.score_one(stream[200]) > 0.0


def test_scores_are_those_of_a_monitor(detector, stream):
    monitor = cw.Monitor(detector.model)
    for row in stream[:300]:
        monitor.update(row)
    for row in stream[300:]:
        score = detector.score_one(row)
        detector.learn_one(row)
        assert score == monitor.update(row).score


def same(one, two):
    """Whether two snapshots are equal in every part."""
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, (np.ndarray, float)):
        return np.array_equal(one, two, equal_nan=True)
    return one == two


def test_scoring_changes_nothing(detector, stream):
    """Also where other rows are scored than learnt, and none or several at a time."""
    undisturbed = copy.deepcopy(detector)
    rng = np.random.default_rng(1)
    for k in range(300, 400):
        for _ in range(rng.integers(0, 3)):
            strange = {name: value + rng.normal(0, 5) for name, value in stream[k].items()}
            first = detector.score_one(strange)
            assert detector.score_one(strange) == first
        if rng.random() < 0.7:
            assert detector.score_one(stream[k]) == undisturbed.score_one(stream[k])
        detector.learn_one(stream[k])
        undisturbed.learn_one(stream[k])
    assert same(undisturbed.monitor.snapshot(), detector.monitor.snapshot())


def test_the_monitor_shows_only_what_was_learnt(detector, stream):
    for row in stream[300:320]:
        detector.learn_one(row)
    time = detector.monitor.snapshot()["time"]
    assert detector.score_one({name: 1e3 for name in NAMES}) > 1.0
    assert detector.monitor.snapshot()["time"] == time
    assert not detector.monitor.alarms.on


def test_a_row_may_be_changed_after_it_was_scored(detector, stream):
    row = dict(stream[300])
    calm = detector.score_one(row)
    row["level"] += 100.0
    detector.learn_one(row)  # not the row that was scored
    assert detector.score_one(stream[301]) > 1.0 > calm


def test_what_is_not_there_is_missing_and_not_zero(detector, stream):
    absent = {name: value for name, value in stream[300].items() if name != "flow"}
    score = detector.score_one(absent)
    assert score == detector.score_one({**absent, "flow": None})
    assert score == detector.score_one({**absent, "flow": math.nan})
    assert score == detector.score_one({**absent, "flow": math.nan, "news": 3.0})
    assert detector.score_one({**absent, "flow": 40.0}) > 1.0 > score


def test_keys_that_come_late_in_the_warm_up_are_learnt(stream):
    detector = RiverDetector(warm_up=300, max_lag=2)
    for k, row in enumerate(stream[:300]):
        detector.learn_one({n: v for n, v in row.items() if k >= 60 or n != "valve"})
    assert set(detector.model.signals) == set(NAMES)


def test_keys_need_not_be_text(stream):
    detector = RiverDetector(warm_up=100)
    for row in stream[:100]:
        detector.learn_one(dict(enumerate(row.values())))
    assert set(detector.model.signals) == {"0", "1", "2", "3", "4"}


def test_rows_from_which_nothing_can_be_learnt_are_dropped(stream, caplog):
    detector = RiverDetector(warm_up=60)
    with caplog.at_level(logging.WARNING):
        for _ in range(60):
            detector.learn_one({"pump": 1.0, "level": 2.0})
        for _ in range(60):
            detector.learn_one({})
    assert detector.model is None
    assert detector._first == []
    assert [record.getMessage()[:20] for record in caplog.records] == ["60 rows were dropped"] * 2
    for row in stream[:60]:
        detector.learn_one(row)
    assert detector.model is not None


def test_rows_may_have_times(stream):
    begin = datetime(2024, 5, 1)
    detector = RiverDetector(warm_up=400, time="when", every="20s", max_lag=2)
    scores = []
    for k, row in enumerate(stream[:440]):
        timed = {**row, "when": begin + timedelta(seconds=10 * k)}
        if k >= 400:
            scores.append(detector.score_one(timed))
        detector.learn_one(timed)
    assert detector.model.interval == 10
    assert detector.model.clock == "naive"
    assert "when" not in detector.model.signals
    assert dict(detector.monitor.problems) == {}
    assert scores[1:-1:2] == scores[2::2]  # between ticks the score stays


def test_parameters_are_those_of_learning():
    learnable = set(inspect.signature(cw.learn).parameters)
    learnable -= {"normal", "calibrate", "progress", "now", "reading", "keep_labelled"}
    assert set(RiverDetector()._get_params()) == learnable | {"warm_up", "time"}
    with pytest.raises(SettingError, match="warm_up is 5"):
        RiverDetector(warm_up=5)


def test_a_setting_that_makes_no_sense_is_told():
    detector = RiverDetector(warm_up=50, alpha=3.0)
    first = rows(50)
    for row in first[:-1]:
        detector.learn_one(row)
    with pytest.raises(SettingError, match="alpha"):
        detector.learn_one(first[-1])


def test_a_pickle_goes_on_where_it_was(detector, stream):
    detector.score_one(stream[300])  # also with a row that was only scored
    again = pickle.loads(pickle.dumps(detector))
    for row in stream[300:340]:
        assert again.score_one(row) == detector.score_one(row)
        again.learn_one(row)
        detector.learn_one(row)


def test_it_works_inside_a_filter(detector, stream):
    guard = anomaly.ThresholdFilter(detector, threshold=1.0)
    odd = {**stream[300], "level": stream[300]["level"] + 30}
    assert guard.classify(guard.score_one(odd))
    time = detector.monitor.snapshot()["time"]
    guard.learn_one(odd)  # protected: it is not learnt
    assert detector.monitor.snapshot()["time"] == time
    guard.learn_one(stream[300])
    assert detector.monitor.snapshot()["time"] > time
