"""Point adjustment: a slow twin, what the authors' scripts say, and how much it flatters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import CausewatchError, SettingError
from causewatch.evaluation.metrics.adjusted import Flattering, pa_k, pa_k_area, point_adjusted
from causewatch.evaluation.metrics.points import pointwise

GOLDEN = Path(__file__).parents[2] / "golden" / "metrics" / "ranges.json"


def rows(count, ranges):
    flags = np.zeros(count, dtype=np.int64)
    for start, stop in ranges:
        flags[start:stop] = 1
    return flags


def slow(labels, alarm, k):
    """Adjust a copy of the alarm event by event, then count row by row."""
    adjusted, row = list(alarm), 0
    while row < len(labels):
        stop = row
        while stop < len(labels) and labels[stop]:
            stop += 1
        if stop > row and 100 * sum(map(bool, alarm[row:stop])) > k * (stop - row):
            adjusted[row:stop] = [True] * (stop - row)
        row = stop + 1
    hit = sum(bool(a and b) for a, b in zip(labels, adjusted, strict=True))
    told, true = sum(map(bool, adjusted)), sum(map(bool, labels))
    return hit / told if told else float("nan"), hit / true, 2 * hit / (told + true)


def numbers(score):
    return [score.precision, score.recall, score.f1]


@st.composite
def recordings(draw, most=40):
    """Labels with at least one anomalous row, and alarms, maybe none."""
    count = draw(st.integers(1, most))
    flags = st.lists(st.booleans(), min_size=count, max_size=count)
    labels, alarm = np.array(draw(flags)), np.array(draw(flags))
    start = draw(st.integers(0, count - 1))
    labels[start : start + draw(st.integers(1, count))] = True
    return labels, alarm


@given(recordings(), st.integers(0, 100))
def test_it_is_the_slow_twin(recording, k):
    np.testing.assert_allclose(numbers(pa_k(*recording, k)), slow(*recording, k), 0, 1e-12)


@given(recordings(most=15))
def test_the_area_is_that_of_the_slow_twin(recording):
    # Between any two shares that events of up to 15 rows can have, nothing changes.
    labels, alarm = recording
    steps = np.unique([0.0, 100.0, *(100 * a / b for b in range(1, 16) for a in range(b + 1))])
    middle = (steps[1:] + steps[:-1]) / 2
    values = np.array([slow(labels, alarm, k) for k in middle])
    expected = np.diff(steps) @ values / 100
    np.testing.assert_allclose(numbers(pa_k_area(labels, alarm)), expected, 0, 1e-9)


@given(recordings())
def test_it_flatters_less_the_larger_k_and_not_at_all_at_100(recording):
    f1 = [pa_k(*recording, k).f1 for k in (0, 20, 50, 90, 100)]
    assert f1 == sorted(f1, reverse=True)
    assert f1[0] == point_adjusted(*recording).f1
    assert f1[-1] == pytest.approx(pointwise(*recording).f1, abs=1e-12)
    assert f1[-1] - 1e-12 <= pa_k_area(*recording).f1 <= f1[0] + 1e-12


def test_it_says_what_the_authors_say():
    frozen, compared = json.loads(GOLDEN.read_text()), 0
    for case in frozen["recordings"]:
        labels, alarm = (rows(case["rows"], case[name]) for name in ("events", "alarms"))
        for entry in case["pa_k"]:
            found = pa_k(labels, alarm, *entry["settings"])
            np.testing.assert_allclose(
                numbers(found), entry["said"], 0, frozen["about"]["tolerance"]
            )
            compared += 1
        if case["tsb_ad"] is not None:
            found = point_adjusted(labels, alarm)
            assert found.f1 == pytest.approx(case["tsb_ad"]["pa_f1"], abs=1e-9)
    assert compared > 100


def test_exactly_k_per_cent_is_not_more():
    # The authors' script compares 29 with 28.999999999999996 and adjusts.
    labels, alarm = np.ones(100), rows(100, [(0, 29)])
    assert pa_k(labels, alarm, 29).recall == 0.29
    assert pa_k(labels, alarm, 28).recall == 1.0


def test_an_event_in_the_first_row_is_adjusted_too():
    # TSB-AD leaves the first row as it is.
    assert point_adjusted([1, 1, 0], [0, 1, 0]) == Flattering(1.0, 1.0, 1.0)


def test_random_alarms_look_good():
    random = np.random.default_rng(3)
    labels = rows(20_000, [(start, start + 300) for start in range(500, 20_000, 2000)])
    alarm = random.random(20_000) < 0.01
    assert pointwise(labels, alarm).f1 < 0.03
    assert point_adjusted(labels, alarm).f1 > 0.9
    assert pa_k(labels, alarm, 20).f1 < 0.03
    assert pa_k_area(labels, alarm).f1 < 0.05


def test_without_an_alarm_nothing_was_claimed_or_found():
    for found in (point_adjusted([0, 1], [0, 0]), pa_k_area([0, 1], [0, 0])):
        assert np.isnan(found.precision)
        assert (found.recall, found.f1) == (0.0, 0.0)


def test_a_long_recording_is_left_alone():
    random = np.random.default_rng(0)
    labels, alarm = np.cumsum(random.random((2, 450_000)) < 0.02, axis=1) % 2
    labels.flags.writeable = alarm.flags.writeable = False
    np.testing.assert_allclose(numbers(pa_k(labels, alarm, 40)), slow(labels, alarm, 40))
    assert pa_k(labels, alarm, 100).f1 < pa_k_area(labels, alarm).f1 < pa_k(labels, alarm, 0).f1


@pytest.mark.parametrize("metric", [point_adjusted, lambda a, b: pa_k(a, b, 20), pa_k_area])
def test_what_makes_no_sense_is_refused_in_a_sentence(metric):
    with pytest.raises(SettingError, match="2 labels"):
        metric([0, 1], [0, 1, 1])
    with pytest.raises(CausewatchError, match="nothing to detect"):
        metric([0, 0], [0, 1])
    with pytest.raises(SettingError, match=r"0\.7"):
        metric([0, 1], [0, 0.7])


@pytest.mark.parametrize("k", [-1, 100.5, float("nan")])
def test_k_is_in_per_cent(k):
    with pytest.raises(SettingError, match="from 0 to 100"):
        pa_k([0, 1], [0, 1], k)
