"""Rows that come at another rate than learnt, or not at all now and then."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.signal import lfilter

import causewatch as cw
from causewatch.detectors import habits_of
from causewatch.monitor.tick_rows import TickRows
from recordings import stable

SECOND = 10**9
LEARNT = 6000
NAMES = tuple("abcdef")


def sluggish():
    """A plant whose signals move slowly, with noisy sensors: rows held constant are no rows."""
    values = stable(4, 6, LEARNT + 3000)
    values = lfilter([0.2], [1.0, -0.8], values, axis=0)
    noise = np.random.default_rng(5).normal(size=values.shape)
    return values + np.array([0, 0, 0.3, 0, 0.3, 0.3]) * values.std(axis=0) * noise


VALUES = sluggish()


def learnt(every, step=1):
    rows = pl.DataFrame(dict(zip(NAMES, VALUES[:LEARNT:step].T, strict=True)))
    return cw.learn(rows.with_columns(time=pl.arange(0.0, LEARNT, step)), every=every)


@pytest.fixture(scope="module", params=[1.0, 5.0, 10.0])
def model(request):
    return learnt(request.param)


def watched(model, times, values):
    """The alarms that rows at these times raise, as kind and problem, and all ticks."""
    monitor = cw.Monitor(model)
    monitor.use_clock("elapsed")
    answers = [
        monitor.update_ns(row, time) for row, time in zip(values, times.tolist(), strict=True)
    ]
    ticks = [tick for answer in answers if answer.complete for tick in answer.all]
    alarms = [(a.kind, a.problem, list(a.signals)) for answer in answers for a in answer.raised]
    return alarms, ticks


ROWS = VALUES[LEARNT:]
TIMES = np.arange(len(ROWS)) * SECOND


def dropped(seed, share=0.3):
    return np.random.default_rng(seed).random(len(ROWS)) >= share


@pytest.mark.parametrize("step", [2, 3, 4])
def test_fewer_rows_are_one_finding_and_no_alarm_about_the_plant(model, step):
    alarms, _ = watched(model, TIMES[::step], ROWS[::step])
    assert alarms == [("health", "rate_wrong", ["(stream)"])]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rows_that_are_missing_at_random_raise_no_alarm_about_the_plant(model, seed):
    kept = dropped(seed)
    alarms, ticks = watched(model, TIMES[kept], ROWS[kept])
    assert {problem for _, problem, _ in alarms} <= {"rate_wrong"}
    assert sum(tick.score is not None for tick in ticks) > 0.4 * len(ticks)


def test_a_fault_is_still_seen_among_them(model):
    rows, kept = ROWS.copy(), dropped(1)
    rows[1500:, 0] += 8.0 * VALUES[:, 0].std()
    alarms, _ = watched(model, TIMES[kept], rows[kept])
    assert ("anomaly", None, ["a"]) in alarms


@pytest.mark.parametrize("every", [2.0, 10.0])
def test_more_rows_are_one_finding(every):
    alarms, ticks = watched(learnt(every, step=2), TIMES, ROWS)
    assert alarms == [("health", "rate_wrong", ["(stream)"])]
    assert sum(tick.score is not None for tick in ticks) > 0.9 * len(ticks)


@pytest.mark.parametrize("step", [2, 4])
def test_rows_of_a_real_plant(data_folder, step):
    """One learnt and watched in the same order of rows, of which the first half is quiet."""
    file = sorted((data_folder / "3w" / "normal").glob("WELL-00003*.parquet"))[0]
    values = pl.read_parquet(file).drop("class").select(pl.selectors.float()).to_numpy()
    values = values[:, np.isfinite(values).all(axis=0)]
    names = [f"x{k}" for k in range(values.shape[1])]
    table = pl.DataFrame(dict(zip(names, values.T, strict=True)))
    model = cw.learn(table.with_columns(time=pl.arange(0.0, len(values))), every=1.0)
    rows = values[:, [names.index(name) for name in model.watched]]
    alarms, _ = watched(model, np.arange(0, len(rows), step) * SECOND, rows[::step])
    assert alarms == [("health", "rate_wrong", ["(stream)"])]


# The rule


def usual(rows):
    return TickRows(habits_of([np.zeros((2, 1))], rows))


def test_ticks_of_too_few_rows_are_not_judged_and_others_are_noisier():
    rule = usual(10.0)
    assert [rule.noise(rows) for rows in (0, 1, 4)] == [None] * 3
    assert [rule.noise(rows) for rows in (10, 11, 30)] == [1.0] * 3
    assert rule.noise(5) == pytest.approx(np.sqrt(2.0))
    assert [usual(1.0).noise(rows) for rows in (0, 1)] == [None, 1.0]


def test_ticks_without_rows_are_judged_where_they_are_usual():
    assert usual(0.9).noise(0) == 1.0


def test_a_tick_of_far_more_rows_than_those_before_it_is_not_judged():
    rule = usual(2.0)
    assert [rule.noise(rows) for rows in (2, 9, 2, 200, 2)] == [1.0, None, 1.0, None, 1.0]
    faster = [rule.noise(120) for _ in range(20)]
    assert faster == sorted(faster, key=lambda noise: noise is not None)
    assert faster[-10:] == [1.0] * 10
