"""The published rule, against a slow twin written from the table in `preprocess/paper.py`."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import causewatch as cw
from causewatch.errors import NotEnoughDataError
from causewatch.preprocess import paper_choice


def literal(rows):
    """Step, maximum lag, kept columns and f_max, step by step."""
    rows = [[0.0 if not math.isfinite(v) else v for v in row] for row in rows.tolist()]
    count, columns = len(rows), [list(column) for column in zip(*rows, strict=True)]
    pool = []
    for column in columns:
        if all(float(v).is_integer() for v in column):
            continue
        spectrum = np.fft.rfft(column)
        # Bins of both signs; of two that are equally large the positive one goes first.
        bins = [(abs(spectrum[min(k, count - k)]), k) for k in range(count)]
        bins.sort(key=lambda one: (-one[0], one[1]))
        for _, k in bins[:5]:
            frequency = Fraction(k if k < (count + 1) // 2 else k - count, count)
            if frequency > 0:
                pool.append(frequency)
    highest = max(f for f in pool if sum(g < f for g in pool) < 0.95 * len(pool))
    step = max(1, math.floor(1 / (10 * highest)))
    cut = {f for f in pool if f <= highest}
    max_lag = math.floor(highest / (sum(cut) / len(cut)))
    if max_lag == highest / (sum(cut) / len(cut)) > 1:
        max_lag = None  # on the edge: rounding decides
    kept = []
    for column in columns:
        thinned = column[::step]
        mean = math.fsum(thinned) / len(thinned)
        std = math.sqrt(math.fsum((v - mean) ** 2 for v in thinned) / len(thinned))
        kept.append(std > 0.01 * mean)
    return step, max_lag, kept, highest


def slow_waves(seed, rows=1200, signals=6):
    """Slow and fast movements, levels of both signs, whole-numbered and nearly still columns."""
    rng = np.random.default_rng(seed)
    t = np.arange(rows)[:, None]
    period = rng.uniform(60, 600, signals)
    values = np.sin(2 * np.pi * t / period + rng.uniform(0, 6, signals))
    values += rng.choice([0.02, 0.3], signals) * rng.normal(size=(rows, signals))
    values += rng.choice([-300.0, 0.0, 5.0, 300.0], signals)
    values[:, 0] = rng.integers(0, 3, rows)
    values[rng.random(values.shape) < rng.choice([0.0, 0.01])] = np.nan
    return values


def assert_literal(values):
    choice = paper_choice(values)
    step, max_lag, kept, highest = literal(values)
    assert choice.step == step
    assert max_lag in (None, choice.max_lag)
    assert choice.frequency == pytest.approx(float(highest), rel=1e-12)
    assert choice.kept.tolist() == kept
    return choice


def test_random_recordings_agree_with_the_twin():
    choices = [assert_literal(slow_waves(seed)) for seed in range(25)]
    steps, lags = {one.step for one in choices}, {one.max_lag for one in choices}
    assert len(steps) > 3, steps  # the recordings do put the rule to work
    assert len(lags) > 2, lags
    assert any(not one.kept.all() for one in choices)


@pytest.mark.data
def test_skab_agrees_with_the_twin(data_folder):
    table = cw.read_table(str(data_folder / "skab" / "anomaly-free" / "anomaly-free.csv"))
    choice = assert_literal(table.values[:4000])
    assert choice.step == 1


@pytest.mark.data
def test_tennessee_eastman_agrees_with_the_twin(data_folder):
    choice = assert_literal(np.loadtxt(data_folder / "tep" / "d00.dat").T)
    assert (choice.step, choice.max_lag) == (1, 3)
    assert 20 < choice.kept.sum() < 52
    assert_literal(np.loadtxt(data_folder / "tep" / "d00_te.dat"))


def test_a_pure_wave_gives_a_tenth_of_its_period():
    turn = 2 * np.pi * np.arange(4000) / 200
    wave = 5 + np.sin(turn) + 0.5 * np.sin(3 * turn)
    choice = paper_choice(np.column_stack([wave, -wave]))
    assert choice.step == 6  # f_max is the third harmonic: floor(200 / 3 / 10)
    assert choice.frequency == pytest.approx(3 / 200)
    assert choice.max_lag == 1  # 3 / mean(1, 3)


def test_near_constant_is_judged_without_an_absolute_value():
    noise = np.random.default_rng(1).normal(size=(500, 1))
    values = np.hstack([1000 + noise, -1000 + noise, 50 + noise, noise])
    assert paper_choice(values).kept.tolist() == [False, True, True, True]


def test_near_constant_is_judged_after_the_decimation():
    rows = 4000
    turn = 2 * np.pi * np.arange(rows) / 400
    slow = 0.5 + np.sin(turn) + np.sin(turn / 2)
    spikes = np.full(rows, 100.0)
    spikes[1::40] = 200.0  # never on a row that is taken
    choice = paper_choice(np.column_stack([slow, spikes]))
    assert choice.step == 40
    assert choice.kept.tolist() == [True, False]
    assert paper_choice(np.column_stack([slow, spikes]), step=1).kept.tolist() == [True, True]


def test_missing_is_zero_here():
    values = slow_waves(3)
    values[5:50, 2] = np.nan
    filled = np.where(np.isnan(values), 0.0, values)
    one, other = paper_choice(values), paper_choice(filled)
    assert (one.step, one.max_lag, one.kept.tolist()) == (
        other.step,
        other.max_lag,
        other.kept.tolist(),
    )


def test_what_is_given_is_not_chosen():
    values = slow_waves(4)
    free = paper_choice(values)
    assert paper_choice(values, step=3).step == 3
    assert paper_choice(values, step=3).max_lag == free.max_lag
    assert paper_choice(values, max_lag=9).max_lag == 9


def test_whole_numbers_alone_need_both_to_be_given():
    values = np.random.default_rng(2).integers(0, 9, (300, 3)).astype(float)
    for given in ({}, {"step": 2}, {"max_lag": 2}):
        with pytest.raises(NotEnoughDataError, match="give --every and --max-lag"):
            paper_choice(values, **given)
    choice = paper_choice(values, step=2, max_lag=4)
    assert (choice.step, choice.max_lag, choice.kept.tolist()) == (2, 4, [True] * 3)
