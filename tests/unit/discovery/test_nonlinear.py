"""Conditional mutual information as an independence test: windows, calibration, power."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from causewatch.discovery.nonlinear import ConditionalMutualInformation
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.kernels import neighbours as kernel

X, Y, Z = (0, 0), (1, 0), (2, 0)


def common_cause(seed, rows=150):
    rng = np.random.default_rng(10_000 + seed)
    z = rng.normal(size=rows)
    return np.column_stack([z**2 + 0.5 * rng.normal(size=rows), z + 0.5 * rng.normal(size=rows), z])


def test_a_common_cause_explains_dependence_at_the_promised_rate():
    cases, p_values, without = 120, [], []
    for seed in range(cases):
        test = ConditionalMutualInformation(common_cause(seed), max_lag=1, seed=seed)
        p_values.append(test.test(X, Y, [Z])[1])
        if seed < 10:
            without.append(test.test(X, Y, [])[1])
    rejected = sum(p <= 0.05 for p in p_values)
    low, high = binom.ppf([0.005, 0.995], cases, 0.05)
    assert low <= rejected <= high
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.1)
    assert max(without) <= 0.05


@pytest.mark.parametrize("binary", ["x", "z", "both"])
def test_two_valued_signals_are_calibrated_too(binary):
    cases, rejected = 60, 0
    for seed in range(cases):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=150)
        if binary in ("z", "both"):
            z = np.sign(z)
        x, y = z + rng.normal(size=(2, 150))
        if binary in ("x", "both"):
            x = np.sign(x)
        test = ConditionalMutualInformation(np.column_stack([x, y, z]), max_lag=1)
        rejected += test.test(X, Y, [Z])[1] <= 0.05
    assert rejected <= binom.ppf(0.995, cases, 0.05)


def test_a_parabola_is_seen_where_correlation_is_blind():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        z, x, noise = rng.normal(size=(3, 250))
        y = x**2 + z + noise
        test = ConditionalMutualInformation(np.column_stack([x, y, z]), max_lag=1)
        assert test.test(X, Y, [])[1] <= 0.05
        assert test.test(X, Y, [Z])[1] <= 0.05


def test_a_switch_that_acts_is_seen():
    rng = np.random.default_rng(0)
    switch = (rng.random(200) < 0.2).astype(float)
    level = np.append(0.0, switch[:-1]) + 0.5 * rng.normal(size=200)
    test = ConditionalMutualInformation(np.column_stack([switch, level]), max_lag=1)
    assert test.test((0, 1), (1, 0), [(0, 0), (1, 1)])[1] < 0.01
    assert test.test((0, 0), (1, 0), [(0, 1)])[1] > 0.05


def test_samples_are_rows_with_their_whole_past():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2))
    rows[50, 1] = np.nan
    rows[120, 0] = np.inf
    test = ConditionalMutualInformation(rows, max_lag=2, starts=(0, 80))
    reach = 4
    expected = [
        t
        for t in range(200)
        if t - reach >= (80 if t >= 80 else 0) and np.isfinite(rows[t - reach : t + 1]).all()
    ]
    assert test._times.tolist() == expected
    assert test.windows == len(expected)
    x = kernel.doubled_ranks(rows[np.array(expected) - 3, :1])[:, 0]
    y = kernel.doubled_ranks(rows[np.array(expected) - 1, 1:])[:, 0]
    empty = np.empty((len(x), 0), dtype=x.dtype)
    value = kernel.information(x[None], y, empty, round(0.1 * len(x)))[0]
    assert test.test((0, 3), (1, 1), [])[0] == max(value, 0.0)


def test_max_samples_takes_rows_evenly():
    rows = np.random.default_rng(0).normal(size=(1000, 2))
    test = ConditionalMutualInformation(rows, max_lag=1, max_samples=100)
    assert test.windows == 100
    steps = np.diff(test._times)
    assert test._times[0] == 2
    assert test._times[-1] == 999
    assert set(steps) <= {10, 11}


def test_results_depend_on_seed_and_nodes_only():
    rows = common_cause(0)
    first = ConditionalMutualInformation(rows, max_lag=1, seed=3)
    second = ConditionalMutualInformation(rows, max_lag=1, seed=3)
    asked = [(X, Y, [Z]), (X, Y, [Z, (2, 1)]), (X, Y, []), ((0, 1), Y, [Z])]
    forward = [first.test(*question) for question in asked]
    backward = [second.test(*question) for question in asked[::-1]]
    assert forward == backward[::-1]
    assert first.test(X, Y, [(2, 1), Z, Z]) == forward[1]
    other = ConditionalMutualInformation(rows, max_lag=1, seed=4)
    again = [other.test(*question) for question in asked]
    assert [value for value, _ in again] == [value for value, _ in forward]
    assert again != forward


def test_units_and_monotone_scales_do_not_matter():
    rows = common_cause(1)
    bent = np.column_stack([np.exp(rows[:, 0]), 1e6 * rows[:, 1] - 3, rows[:, 2] ** 3])
    tests = [ConditionalMutualInformation(data, max_lag=1) for data in (rows, bent)]
    assert tests[0].test(X, Y, [Z]) == tests[1].test(X, Y, [Z])


def test_stopping_early_takes_the_same_decision(monkeypatch):
    """The p-value is h/m at the h-th large value, else (1 + large)/(1 + draws)."""
    drawn = []
    original = kernel.information

    def recording(xs, *rest):
        values = original(xs, *rest)
        drawn.append(values)
        return values

    monkeypatch.setattr(kernel, "information", recording)
    enough = 5  # 0.05 · 101
    for seed in range(12):
        drawn.clear()
        rows = common_cause(seed)
        rows[:, 1] += 0.1 * seed * rows[:, 0]
        test = ConditionalMutualInformation(rows, max_lag=1, permutations=100, alpha=0.05)
        _, p_value = test.test(X, Y, [Z])
        observed, shuffled = drawn[0][0], np.concatenate(drawn[1:])
        large = np.flatnonzero(shuffled >= observed)
        if len(large) >= enough:
            assert p_value == enough / (large[enough - 1] + 1)
            assert len(shuffled) < large[enough - 1] + 1 + enough
        else:
            assert len(shuffled) == 100
            assert p_value == (len(large) + 1) / 101 <= 0.05


def test_constants_and_known_ends_are_independent():
    rows = common_cause(0)
    rows[:, 0] = 7.0
    test = ConditionalMutualInformation(rows, max_lag=1)
    assert test.test(X, Y, [Z]) == (0.0, 1.0)
    assert test.test(Y, X, []) == (0.0, 1.0)
    assert test.test(Y, Z, [Y]) == (0.0, 1.0)
    # A constant condition is no condition.
    assert test.test(Y, Z, [X])[1] < 0.01


def test_values_are_left_as_they_are():
    rows = common_cause(0)
    before = rows.copy()
    ConditionalMutualInformation(rows, max_lag=1).test(X, Y, [Z])
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_lag": 0}, "max_lag is 0"),
        ({"alpha": 1.5}, "between 0 and 1"),
        ({"permutations": 10}, "use at least 19"),
        ({"neighbours": 1.5}, "share between 0 and 1"),
        ({"neighbours": 0}, "whole number from 1 to"),
        ({"neighbours": 148}, "whole number from 1 to 147"),
        ({"max_samples": 3}, "at least 20"),
        ({"seed": -1}, "0 or more"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        ConditionalMutualInformation(common_cause(0), **({"max_lag": 1} | options))


def test_bad_questions_are_refused():
    test = ConditionalMutualInformation(common_cause(0), max_lag=1)
    with pytest.raises(SettingError, match="lags from 0 to 2"):
        test.test((0, 3), Y, [])
    with pytest.raises(SettingError, match="itself"):
        test.test(X, X, [])
    with pytest.raises(SettingError, match="rows × signals"):
        ConditionalMutualInformation(np.arange(5.0), max_lag=1)


@pytest.mark.parametrize("rows", [0, 10, 21])
def test_too_few_rows_are_refused(rows):
    with pytest.raises(NotEnoughDataError, match="longer recording"):
        ConditionalMutualInformation(np.zeros((rows, 2)), max_lag=1)
