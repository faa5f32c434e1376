"""Products of lagged columns, taken in pieces, against the obvious computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.kernels import regression
from causewatch.kernels.regression import lagged_scatter


def obvious(stretches, max_lag):
    """All whole windows in one table."""
    windows = [
        np.concatenate([rows[t - lag] for lag in range(max_lag + 1)])
        for rows in stretches
        for t in range(max_lag, len(rows))
    ]
    table = np.array([one for one in windows if np.isfinite(one).all()])
    centred = table - table.mean(axis=0)
    return centred.T @ centred, table.mean(axis=0), len(table)


def same(stretches, max_lag, rtol=1e-9):
    scatter, means, count = lagged_scatter(stretches, max_lag)
    expected, averages, number = obvious(stretches, max_lag)
    assert count == number
    assert_allclose(means, averages, rtol=rtol, atol=1e-9)
    assert_allclose(scatter, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    assert_array_equal(scatter, scatter.T)


@settings(max_examples=50)
@given(
    st.integers(0, 10_000),
    st.lists(st.integers(0, 30), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.02]),
)
def test_it_is_the_obvious_computation(seed, lengths, max_lag, piece, missing):
    rng = np.random.default_rng(seed)
    stretches = [rng.normal(size=(length, 3)) + 5.0 for length in [*lengths, 12]]
    for rows in stretches[:-1]:
        rows[rng.random(rows.shape) < missing] = np.nan
    kept = regression.PIECE
    regression.PIECE = piece
    try:
        same(stretches, max_lag)
    finally:
        regression.PIECE = kept


def test_pieces_of_the_usual_size():
    rng = np.random.default_rng(0)
    rows = np.cumsum(rng.normal(size=(regression.PIECE * 2 + 7, 2)), axis=0)
    same([rows, rows[:100]], 2)


def test_lags_do_not_reach_across_stretches():
    one, two = np.zeros((4, 1)), np.ones((4, 1))
    scatter, means, count = lagged_scatter([one, two], 1)
    assert count == 6
    assert_allclose(means, 0.5)
    assert_allclose(scatter, 1.5)  # now and before are always the same


def test_the_order_of_columns():
    rows = np.arange(10.0)[:, None] * [1.0, 100.0]
    _, means, _ = lagged_scatter([rows], 2)
    assert_allclose(means, [5.5, 550.0, 4.5, 450.0, 3.5, 350.0])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_windows_with_a_missing_value_are_left_out(value):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(20, 2))
    rows[9, 1] = value
    scatter, means, count = lagged_scatter([rows], 2)
    cut, cut_means, cut_count = lagged_scatter([rows[:9], rows[10:]], 2)
    assert count == cut_count == 7 + 8
    assert_allclose(scatter, cut, rtol=1e-9, atol=1e-12)
    assert_allclose(means, cut_means, rtol=1e-9)


def test_large_offsets_do_not_eat_the_digits():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(500, 2))
    scatter, means, _ = lagged_scatter([rows + 1e8], 1)
    expected, averages, _ = obvious([rows], 1)
    assert_allclose(scatter, expected, rtol=1e-5, atol=1e-4)
    assert_allclose(means - 1e8, averages, atol=1e-6)


def test_nothing_to_go_by():
    for stretches in ([np.ones((2, 3))], [np.full((9, 3), np.nan)], [np.empty((0, 3))]):
        scatter, means, count = lagged_scatter(stretches, 2)
        assert count == 0
        assert_array_equal(scatter, np.zeros((9, 9)))
        assert_array_equal(means, np.zeros(9))
    assert lagged_scatter([], 2)[2] == 0


def test_it_does_not_touch_the_rows():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    kept = rows.copy()
    lagged_scatter([rows], 1)
    assert_array_equal(rows, kept)
