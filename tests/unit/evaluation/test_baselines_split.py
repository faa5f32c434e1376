"""Normal operation is cut once, in the same way for everyone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import causewatch as cw
from causewatch.data import read_table
from causewatch.data.table import TimeTable
from causewatch.errors import NotEnoughDataError, SettingError, UnknownNameError
from causewatch.evaluation.baselines.split import joined, make_split
from causewatch.simulate import random_system

SECOND = 1_000_000_000


def recording(rows=2000, *, seed=2, signals=4, clock="rows"):
    values = random_system(signals, seed=1).simulate(rows, seed=seed).values
    time = np.arange(rows) * SECOND
    names = tuple(f"x{k}" for k in range(signals))
    return TimeTable(names, values, time, np.array([0]), 1.0, clock)


def rows_of(tables):
    return np.concatenate([table.values for table in tables])


def test_the_first_rows_are_for_learning_and_the_rest_for_limits():
    table = recording()
    split = make_split([table])
    assert sum(map(len, split.learn)) == 1400
    assert np.array_equal(rows_of([*split.learn, *split.limits]), table.values)
    assert split.limits[0].time[0] == table.time[1400]
    half = make_split([table], share=0.5)
    assert sum(map(len, half.learn)) == 1000


def test_over_several_tables_the_cut_counts_all_rows():
    tables = [recording(1000, seed=2), recording(1000, seed=3), recording(500, seed=4)]
    split = make_split(tables)
    assert [len(one) for one in split.learn] == [1000, 750]
    assert [len(one) for one in split.limits] == [250, 500]
    assert np.array_equal(rows_of([*split.learn, *split.limits]), rows_of(tables))


def test_stretches_stay_where_they_were():
    table = replace(recording(), starts=np.array([0, 700, 1400, 1700]))
    split = make_split([table])
    assert split.learn[0].starts.tolist() == [0, 700]
    assert split.limits[0].starts.tolist() == [0, 300]
    assert joined([*split.learn, *split.limits]).starts.tolist() == [0, 700, 1700]


def test_joining_the_two_halves_of_a_table_gives_the_table():
    table = recording()
    split = make_split([table])
    whole = joined([*split.learn, *split.limits])
    assert np.array_equal(whole.values, table.values)
    assert whole.starts.tolist() == [0]
    apart = joined([recording(100), recording(100)])  # both count from 0: not one stretch
    assert apart.starts.tolist() == [0, 100]


def test_interval_and_lag_are_those_that_learn_chooses_for_the_learning_part():
    values = random_system(3, seed=7).simulate(700, seed=8).values
    table = read_table(np.repeat(values, 4, axis=0))  # slow enough for longer ticks
    split = make_split([table])
    plan = cw.learn(joined(split.learn)).preprocessing
    assert (split.every, split.max_lag) == (plan.every, plan.max_lag)
    given = make_split([table], every=8.0, max_lag=3)
    assert (given.every, given.max_lag) == (8.0, 3)


def test_a_start_up_is_left_out_as_learn_does():
    table = recording(2000, seed=3)
    values = table.values.copy()
    fading = np.maximum(0.0, 1.0 - np.arange(2000) / 150)
    values[:, 0] += 40.0 * values[:, 0].std() * fading
    table = replace(table, values=values)
    left = cw.learn(table).provenance.rows
    assert left < 2000
    split = make_split([table])
    assert sum(map(len, [*split.learn, *split.limits])) == left
    assert sum(map(len, split.learn)) == round(0.7 * left)


def test_time_between_false_alarms():
    assert make_split([recording(clock="rows")]).false_alarm_every == 1000.0
    assert make_split([recording(clock="elapsed")]).false_alarm_every == 86_400.0
    assert make_split([recording()], false_alarm_every=50.0).false_alarm_every == 50.0


def test_columns_follow_the_first_table_and_labels_are_gone():
    one, two = recording(1000), recording(1000, seed=5)
    turned = replace(two, signals=two.signals[::-1], values=two.values[:, ::-1])
    turned = replace(turned, labels=np.zeros(1000))
    split = make_split([one, turned])
    tables = [*split.learn, *split.limits]
    assert np.array_equal(rows_of(tables), rows_of([one, two]))
    assert {table.signals for table in tables} == {one.signals}
    assert all(table.labels is None for table in tables)
    other = replace(two, signals=("a", "b", "c", "d"))
    with pytest.raises(UnknownNameError, match="x0"):
        make_split([one, other])


@pytest.mark.parametrize("rows", [10, 60])
def test_too_short_a_recording_is_said_to_be(rows):
    with pytest.raises(NotEnoughDataError, match="longer recording"):
        make_split([recording(rows)])


def test_nothing_at_all():
    with pytest.raises(NotEnoughDataError, match="no rows"):
        make_split([])


def test_too_long_ticks_are_said_to_be():
    with pytest.raises(NotEnoughDataError, match="20 ticks of 30 s"):
        make_split([recording()], every=30.0)


@pytest.mark.parametrize("setting", [{"share": 0.0}, {"share": 1.0}, {"false_alarm_every": -1.0}])
def test_settings_that_make_no_sense(setting):
    with pytest.raises(SettingError):
        make_split([recording(200)], **setting)
