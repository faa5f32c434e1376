"""Affiliation: equal to a slow twin and to the authors' program, and what luck is worth."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.errors import SettingError
from causewatch.evaluation.metrics.affiliation import affiliation

FROZEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "metrics" / "scores.json").read_text(encoding="utf-8")
)
CELL = 0.25
"""Everything is straight between quarters of a row, so the middle of a quarter stands for it."""


def events_in(flags):
    edges = np.diff(np.r_[0, np.asarray(flags, dtype=int), 0])
    return list(zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True))


def slow_affiliation(labels, alarm):
    """Precision and recall, moment by moment."""
    events, rows = events_in(labels), len(labels)
    middles = [(one[1] + other[0]) / 2 for one, other in pairwise(events)]
    borders = [0.0, *middles, float(rows)]
    precisions, recalls = [], []
    for (start, stop), (low, high) in zip(events, pairwise(borders), strict=True):
        moments = np.arange(low + CELL / 2, high, CELL)
        on = [x for x in moments if alarm[int(x)]]
        worth = []
        for x in on:
            d = max(start - x, x - stop, 0)
            nearer = min(high, stop + d) - max(low, start - d)
            worth.append(1 - nearer / (high - low) if d else 1.0)
        if on:
            precisions.append(np.mean(worth))
        gained = []
        for y in moments[(moments > start) & (moments < stop)]:
            if not on:
                gained.append(0.0)
                continue
            closest = min(on, key=lambda x, y=y: abs(x - y))
            # To the border of the alarm, not to the middle of its last quarter.
            d = 0.0 if alarm[int(y)] else abs(closest - y) - CELL / 2
            gained.append(1 - (min(high, y + d) - max(low, y - d)) / (high - low))
        recalls.append(np.mean(gained))
    return np.mean(precisions) if precisions else math.nan, np.mean(recalls)


def spans(least=1):
    """One bool per row: runs of all lengths."""
    return st.tuples(st.lists(st.integers(1, 7), min_size=least, max_size=9), st.booleans()).map(
        lambda drawn: np.repeat((np.arange(len(drawn[0])) + drawn[1]) % 2, drawn[0])
    )


@st.composite
def judged(draw):
    labels = draw(spans(least=2))
    alarm = np.resize(draw(spans()), labels.size)
    return labels, alarm


@settings(max_examples=40)
@given(judged())
def test_it_is_what_the_definition_says(case):
    labels, alarm = case
    found = affiliation(labels, alarm)
    precision, recall = slow_affiliation(labels, alarm)
    assert found.precision == pytest.approx(precision, abs=1e-9, nan_ok=True)
    assert found.recall == pytest.approx(recall, abs=1e-9)


@pytest.mark.parametrize("name", list(FROZEN["cases"]))
def test_it_agrees_with_the_authors_program(name):
    case, tolerance = FROZEN["cases"][name], FROZEN["about"]["tolerance"]
    labels, alarm = ([int(flag) for flag in case[key]] for key in ("labels", "alarm"))
    found, expected = affiliation(labels, alarm), case["expected"]
    undefined = expected["affiliation_precision"] is None
    precision = float("nan") if undefined else expected["affiliation_precision"]
    assert found.precision == pytest.approx(precision, abs=tolerance, nan_ok=True)
    assert found.recall == pytest.approx(expected["affiliation_recall"], abs=tolerance)


def test_no_alarm_has_no_precision_and_finds_nothing():
    found = affiliation([0, 1, 0], [0, 0, 0])
    assert math.isnan(found.precision)
    assert math.isnan(found.chance_precision)
    assert (found.recall, found.f1, found.chance_recall) == (0.0, 0.0, 0.0)


def test_an_exact_alarm_is_perfect():
    labels = np.repeat([0, 1, 0, 1, 0], 20)
    found = affiliation(labels, labels)
    assert (found.precision, found.recall, found.f1) == (1.0, 1.0, 1.0)
    assert found.chance_precision < 0.7


@settings(max_examples=30)
@given(spans(least=2))
def test_an_always_on_alarm_is_worth_its_chance_level(labels):
    found = affiliation(labels, np.ones(labels.size))
    assert found.precision == pytest.approx(found.chance_precision, abs=1e-12)
    assert found.recall == found.chance_recall == 1.0


@settings(max_examples=30)
@given(st.integers(0, 30), st.integers(1, 30), st.integers(0, 30))
def test_luck_of_one_row_and_one_event_is_as_derived(before, length, after):
    labels = np.repeat([0, 1, 0], [before, length, after])
    alarm = np.arange(labels.size) == 0
    share = length / labels.size
    found = affiliation(labels, alarm)
    assert found.chance_precision == pytest.approx((1 + share**2) / 2, abs=1e-12)
    # A moment gets 1/2; a row is a little more than a moment.
    assert 0.5 <= found.chance_recall <= 0.5 + 2 / labels.size


def test_chance_is_the_mean_over_all_shifts():
    labels = np.repeat([0, 1, 0, 1, 0], [13, 7, 20, 4, 9])
    alarm = np.repeat([0, 1, 0, 1], [9, 6, 30, 8])
    every = [slow_affiliation(labels, np.roll(alarm, by)) for by in range(labels.size)]
    found = affiliation(labels, alarm)
    assert found.chance_precision == pytest.approx(np.mean([one[0] for one in every]), abs=1e-9)
    assert found.chance_recall == pytest.approx(np.mean([one[1] for one in every]), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_few_shifts_tell_the_chance_level_of_a_long_recording(seed):
    random, rows = np.random.default_rng(seed), 1000
    labels, alarm = np.zeros(rows), np.zeros(rows)
    for flags, longest in ((labels, 100), (alarm, 30)):
        for first in random.integers(0, rows - longest, 6):
            flags[first : first + random.integers(1, longest)] = 1
    exact, told = affiliation(labels, alarm, shifts=rows), affiliation(labels, alarm)
    assert told.chance_precision == pytest.approx(exact.chance_precision, abs=0.01)
    assert told.chance_recall == pytest.approx(exact.chance_recall, abs=0.01)
    assert told == affiliation(labels, alarm)


def test_random_rows_get_no_more_than_chance():
    random, rows = np.random.default_rng(5), 20_000
    labels = np.repeat([0, 1], 500)[np.arange(rows) % 1000].astype(bool) & (
        np.arange(rows) % 5000 < 1000
    )
    found = affiliation(labels, random.random(rows) < 0.02)
    assert found.precision == pytest.approx(found.chance_precision, abs=0.03)
    assert found.recall == pytest.approx(found.chance_recall, abs=0.01)
    assert found.recall > 0.98  # which is why recall means nothing without it


def test_alarms_that_flicker_are_judged_in_bounded_work():
    rows = 60_000
    labels = np.arange(rows) // 1000 % 10 == 3
    found = affiliation(labels, np.arange(rows) % 2)
    assert found.precision == pytest.approx(found.chance_precision, abs=1e-3)


@pytest.mark.parametrize("shifts", [0, 1.5])
def test_a_number_of_shifts_that_makes_no_sense_is_told(shifts):
    with pytest.raises(SettingError, match="give a whole number, 1 or more"):
        affiliation([0, 1], [1, 0], shifts=shifts)
