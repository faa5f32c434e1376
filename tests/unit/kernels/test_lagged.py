"""Sums of lagged products against whole fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import naive
from causewatch.kernels import doubled, lagged


def with_ones(values):
    return np.column_stack([values, np.ones(len(values))])


def summed(values, reach):
    """The sum over windows of one stretch, as `LaggedMoments` puts it together."""
    rows = with_ones(values)
    ends = np.stack([rows[:reach][::-1], rows[-reach:][::-1]])
    return lagged.window_products(
        lagged.row_products(rows, reach), lagged.end_products(ends, np.array([1.0, -1.0]))
    )


def assert_close(found, truth, tolerance):
    """Compare with fractions, relative to the largest of them."""
    largest = max(abs(value) for row in truth for value in row)
    for i, row in enumerate(truth):
        for j, value in enumerate(row):
            got = Fraction(float(found[0][i, j])) + Fraction(float(found[1][i, j]))
            assert abs(got - value) <= Fraction(tolerance) * largest, (i, j)


@pytest.mark.parametrize(("signals", "rows", "reach"), [(1, 3, 2), (1, 30, 2), (3, 40, 4)])
def test_window_products_match_fractions(signals, rows, reach):
    values = np.random.default_rng(rows).normal(size=(rows, signals))
    found = summed(values, reach)
    assert_close(found, naive.window_products(values, reach), 1e-27)
    np.testing.assert_array_equal(found[0], found[0].T)
    np.testing.assert_array_equal(found[1], found[1].T)


def test_the_layout_is_lag_then_signal_with_the_constant_last():
    values = np.arange(10.0)[:, None] * [1.0, 100.0]
    found = summed(values, 2)[0]
    # Windows end at rows 2 to 9; columns are x, 100x, 1 at lags 0, 1 and 2.
    assert found[2, 2] == 8
    assert found[0, 2] == sum(range(2, 10))
    assert found[3, 2] == sum(range(1, 9))
    assert found[6, 1] == sum(100 * t * (t - 2) for t in range(2, 10))


def test_row_products_do_not_depend_on_how_rows_are_packed(monkeypatch):
    rows = with_ones(np.random.default_rng(5).normal(size=(300, 3)))
    whole = lagged.row_products(rows, 4)
    monkeypatch.setattr(doubled, "MOST_ROWS", 37)
    packed = lagged.row_products(rows, 4)
    difference = doubled.subtract(whole, packed)[0]
    assert np.abs(difference).max() <= 1e-26 * np.abs(whole[0]).max()


def test_rows_no_longer_than_the_reach_give_nothing():
    rows = with_ones(np.ones((4, 2)))
    assert not np.any(lagged.row_products(rows, 4)[0])


def test_the_rows_are_left_as_they_were():
    rows = with_ones(np.random.default_rng(6).normal(size=(50, 2)))
    before = rows.copy()
    lagged.row_products(rows, 2)
    np.testing.assert_array_equal(rows, before)


def test_scatter_is_the_covariance_up_to_powers_of_two():
    values = np.random.default_rng(7).normal(size=(60, 3)) * [1e-5, 1.0, 1e5] + [0, 50, 1e6]
    values = np.column_stack([values, np.full(60, 0.1)])
    columns = naive.lagged_columns(values, 1)
    matrix, scale = lagged.scatter(summed(values, 2), 58, 5)
    truth = naive.covariance([columns[signal, lag] for lag in range(3) for signal in range(4)])
    np.testing.assert_array_equal(scale > 0, [True, True, True, False] * 3)
    assert np.all(np.frexp(scale[scale > 0])[0] == 0.5)
    assert not matrix[0][3].any()
    assert not matrix[0][:, 3].any()
    varies = np.flatnonzero(scale)
    found = matrix[0][np.ix_(varies, varies)] / 58
    found /= scale[varies, None] * scale[varies]
    spread = np.sqrt(np.diag(truth))[varies]
    difference = (found - truth[np.ix_(varies, varies)]) / np.outer(spread, spread)
    assert np.abs(difference).max() < 1e-14
    assert np.all((matrix[0].diagonal()[varies] >= 0.5) & (matrix[0].diagonal()[varies] <= 2.0))
