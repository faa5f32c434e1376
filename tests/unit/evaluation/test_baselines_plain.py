"""`plain` and `p2` against their definitions, spelled out tick by tick."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.data import read_table
from causewatch.evaluation.baselines.bucket import Bucket
from causewatch.evaluation.baselines.plain import (
    P2,
    Plain,
    PlainSettings,
    standstill,
)
from causewatch.evaluation.baselines.split import make_split
from causewatch.simulate import random_system

SYSTEM = random_system(4, seed=21)  # a seed for development; nothing is reported from here
cells = st.one_of(st.just(float("nan")), st.sampled_from([0.0, 1.0, -3.0, 7.5]))


def slow_standstill(column):
    run, last, runs = 0, None, []
    for value in column:
        if not np.isnan(value):
            run = 0 if last is None or value != last else run + 1
            last = value
        runs.append(run)
    return runs


@given(st.lists(st.tuples(cells, cells), max_size=40))
def test_standstills_follow_their_definition(rows):
    values = np.array(rows, dtype=np.float64).reshape(len(rows), 2)
    for column in range(2):
        assert standstill(values)[:, column].tolist() == slow_standstill(values[:, column])


@cache
def normal():
    values = SYSTEM.simulate(3000, seed=22).values
    values = np.column_stack([values, np.full(len(values), 5.0)])
    return make_split([read_table(values)], seed=5)


@cache
def fitted(kind):
    detector = kind()
    detector.fit(normal())
    return detector


def recording(change=None, rows=800):
    values = SYSTEM.simulate(rows, seed=33).values
    values = np.column_stack([values, np.full(rows, 5.0)])
    if change is not None:
        change(values)
    return read_table(values)


def signal_of(table, column):
    return table.signals[column]


def test_normal_operation_itself_stays_below_two_thirds_of_the_limit():
    """The limit is 1.5 × the largest cross-fitted value; the fit to everything is no worse."""
    detector = fitted(Plain)
    for table in (*normal().learn, *normal().limits):
        assert np.nanmax(detector.watch(table).score) < 0.8


@pytest.mark.parametrize("kind", [Plain, P2])
def test_an_offset_raises_and_names_its_signal_first(kind):
    def offset(values):
        values[400:460, 1] += 12.0 * values[:, 1].std()

    table = recording(offset)
    verdicts = fitted(kind).watch(table)
    first = verdicts.alarms[0]
    assert first.raised_at == table.time[400]
    assert first.causes[0] == signal_of(table, 1)
    assert verdicts.alarm[400]
    assert not verdicts.alarm[:400].any()


def test_a_constant_that_moves_is_seen_by_its_guard_only_while_guards_are_on():
    def moved(values):
        values[500:520, 4] = 9.0

    table = recording(moved)
    verdicts = fitted(Plain).watch(table)
    assert verdicts.alarms[0].causes[0] == signal_of(table, 4)
    assert verdicts.alarm[500:523].all()
    assert not verdicts.alarm[523:].any()
    # Distance 4 in margins of 0.0005 × 5 is 1600, compressed to 1 + ln 1600.
    assert verdicts.score[510] == pytest.approx(1.0 + np.log(4.0 / (5e-4 * 5.0)))
    unguarded = Plain(PlainSettings(guards=False))
    unguarded.fit(normal())
    assert not unguarded.watch(table).alarm.any()


def test_a_frozen_signal_is_evidence_for_p2_alone():
    def frozen(values):
        values[400:480, 2] = values[400, 2]

    table = recording(frozen)
    still = fitted(P2).watch(table)
    assert any(span.causes[0] == signal_of(table, 2) for span in still.alarms)
    # A standstill of 6 ticks is more than 5, the least limit there is.
    assert still.score[406] >= 6 / 5
    awake = P2(PlainSettings(squares=(8,), bucket=True))
    awake.fit(normal())
    assert np.nanmax(still.score[400:480]) > np.nanmax(awake.watch(table).score[400:480])


def test_a_missing_value_is_neither_evidence_nor_a_standstill():
    def gone(values):
        values[400:480, 2] = np.nan

    verdicts = fitted(P2).watch(recording(gone))
    assert not verdicts.alarm.any()


def test_a_standstill_is_over_once_the_signal_is_missing():
    def frozen_then_gone(values):
        values[400:460, 2] = values[400, 2]
        values[460:, 2] = np.nan

    verdicts = fitted(P2).watch(recording(frozen_then_gone))
    assert verdicts.alarm[440]
    assert not verdicts.alarm[480:].any()


def test_what_is_said_of_a_tick_depends_on_earlier_ones_only():
    def offset(values):
        values[300:, 1] += 9.0 * values[:, 1].std()

    table = recording(offset)
    whole = fitted(P2).watch(table)
    cut = replace(table, values=table.values[:500], time=table.time[:500])
    part = fitted(P2).watch(cut)
    assert part.score == pytest.approx(whole.score[:500], abs=1e-12)
    assert (part.alarm == whole.alarm[:500]).all()


def slow_bucket(evidence, guarded, neighbours, capacity):
    """The rules of `bucket.py`, one signal after the other."""
    number = evidence.shape[1]
    level, peak, lift, quiet = [0.0] * number, [0.0] * number, [1.0] * number, [7] * number
    out = []
    for row in evidence.tolist():
        height = [value / lift[k] for k, value in enumerate(row)]
        out.append(height)
        loud = [value > 1.0 for value in height]
        for k in range(number):
            others = [j for j in range(number) if j != k and loud[j]]
            if loud[k]:
                alone = len(others) <= 1 and not any(neighbours[k][j] for j in others)
                if alone:
                    level[k] += 1.0 + (capacity / 4 if quiet[k] > 6 else 0.0)
                    peak[k] = max(peak[k], row[k])
                quiet[k] = 0
            else:
                quiet[k] += 1
                level[k] = max(0.0, level[k] - 1 / 24)
                lift[k] = max(1.0, lift[k] * exp(-1 / (24 * capacity)))
            if level[k] >= capacity:
                over = 1.3 * peak[k]
                lift[k] = max(1.0, over if guarded[k] else min(over, 2.0 * lift[k]))
                level[k] = peak[k] = 0.0
    return np.array(out)


@given(st.integers(0, 2**32 - 1))
def test_the_bucket_follows_its_rules(seed):
    random = np.random.default_rng(seed)
    evidence = random.exponential(0.6, size=(1500, 4))
    evidence[200:1300, 0] += 4.0
    evidence[::70, 3] += 30.0
    neighbours = np.zeros((3, 3), dtype=bool)
    neighbours[0, 1] = neighbours[1, 0] = True
    bucket = Bucket(3, 1, neighbours, every=60.0)
    assert bucket.capacity == 500
    wide = np.zeros((4, 4), dtype=bool)
    wide[:3, :3] = neighbours
    expected = slow_bucket(evidence, [False] * 3 + [True], wide.tolist(), bucket.capacity)
    halves = [bucket.lifted(evidence[:700]), bucket.lifted(evidence[700:])]
    assert np.concatenate(halves) == pytest.approx(expected, rel=1e-9)


def test_four_hours_alone_lift_the_limit_at_most_twofold_at_a_time():
    evidence = np.full((1100, 2), 0.1)
    evidence[:, 0] = 5.0
    bucket = Bucket(2, 0, np.zeros((2, 2), dtype=bool), every=60.0)
    lifted = bucket.lifted(evidence)
    # A raise counts a quarter: 375 ticks fill the first bucket, 500 each further one.
    assert lifted[374, 0] == 5.0
    assert lifted[375, 0] == pytest.approx(2.5)
    assert lifted[880, 0] == pytest.approx(1.25)
