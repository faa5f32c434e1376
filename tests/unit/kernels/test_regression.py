"""Least squares from covariances and from rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from causewatch.kernels.regression import fit_from_covariance, fit_from_rows, lagged_columns


def drawn(seed, rows=400, columns=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns))


def covariance(rows):
    centred = rows - rows.mean(axis=0)
    return centred.T @ centred / len(rows)


def on_the_rows(rows, target, columns):
    design = np.column_stack([rows[:, columns], np.ones(len(rows))])
    scale = np.append(rows[:, columns].std(axis=0), 1.0)
    solution = np.linalg.lstsq(design / scale, rows[:, target], rcond=None)[0] / scale
    return solution[:-1], float(np.var(rows[:, target] - design @ solution))


@pytest.mark.parametrize("seed", range(5))
def test_it_is_least_squares_on_the_rows(seed):
    rows = drawn(seed)
    for columns in ([1], [3, 1], [5, 4, 3, 2, 1]):
        chosen = np.array(columns)
        weights, left = fit_from_covariance(covariance(rows), 0, chosen)
        expected, variance = on_the_rows(rows, 0, chosen)
        assert_allclose(weights, expected, rtol=1e-8)
        assert left == pytest.approx(variance, rel=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_units_play_no_part(seed):
    rows = drawn(seed)
    units = 10.0 ** np.array([3, -9, 9, 0, 6, -6])
    chosen = np.array([1, 2, 4, 5])
    plain, left = fit_from_covariance(covariance(rows), 0, chosen)
    scaled, left_scaled = fit_from_covariance(covariance(rows * units), 0, chosen)
    assert_allclose(scaled, plain * units[0] / units[chosen], rtol=1e-7)
    assert left_scaled == pytest.approx(left * units[0] ** 2, rel=1e-9)


def test_collinear_columns_share_the_weight_whatever_their_units():
    rng = np.random.default_rng(8)
    cause, noise = rng.normal(size=(2, 1000))
    rows = np.column_stack([2 * cause + 0.1 * noise, cause, 1000 * cause + 5, -cause])
    for chosen in ([1, 2], [1, 2, 3]):
        weights, left = fit_from_covariance(covariance(rows), 0, np.array(chosen))
        assert np.isfinite(weights).all()
        shares = weights * rows[:, chosen].std(axis=0)
        assert_allclose(np.abs(shares), np.abs(shares[0]), rtol=1e-6)  # least norm: equal shares
        single, left_single = fit_from_covariance(covariance(rows), 0, np.array([1]))
        assert left == pytest.approx(left_single, rel=1e-6)
        assert rows[:, chosen] @ weights == pytest.approx(
            rows[:, 1] * single[0] + (rows[:, chosen] @ weights - rows[:, 1] * single[0]).mean(),
            abs=1e-6,
        )


@pytest.mark.parametrize("seed", range(5))
def test_a_ridge_is_rows_that_ask_for_nothing(seed):
    rows, chosen = drawn(seed), np.array([1, 2, 4, 5])
    ridge = np.array([0.0, 0.01, 1.0, 0.5])
    weights, left = fit_from_covariance(covariance(rows), 0, chosen, ridge)
    centred = rows - rows.mean(axis=0)
    size = rows[:, chosen].std(axis=0)
    design = np.concatenate([centred[:, chosen] / size, np.diag(np.sqrt(ridge * len(rows)))])
    wanted = np.concatenate([centred[:, 0], np.zeros(len(chosen))])
    expected = np.linalg.lstsq(design, wanted, rcond=None)[0] / size
    assert_allclose(weights, expected, rtol=1e-8)
    assert left == pytest.approx(np.var(rows[:, 0] - rows[:, chosen] @ expected), rel=1e-8)
    plain, least = fit_from_covariance(covariance(rows), 0, chosen)
    assert left > least
    none, same = fit_from_covariance(covariance(rows), 0, chosen, np.zeros(4))
    assert_allclose(none, plain, rtol=1e-9)
    assert same == pytest.approx(least)


def test_a_ridge_keeps_nearly_collinear_columns_small():
    rng = np.random.default_rng(3)
    cause, noise, other = rng.normal(size=(3, 200))
    rows = np.column_stack([cause + 0.1 * noise, cause, cause + 1e-4 * other])
    chosen = np.array([1, 2])
    wild, least = fit_from_covariance(covariance(rows), 0, chosen)
    tame, left = fit_from_covariance(covariance(rows), 0, chosen, np.full(2, 0.01))
    assert np.abs(wild).max() > 5
    assert_allclose(tame, 0.5, atol=0.01)
    assert left < 1.1 * least


def test_nothing_to_fit():
    rows = drawn(1)
    weights, left = fit_from_covariance(covariance(rows), 2, np.array([], dtype=np.intp))
    assert len(weights) == 0
    assert left == pytest.approx(rows[:, 2].var())


def test_a_constant_column_gets_no_weight_and_a_perfect_fit_leaves_nothing():
    rows = drawn(2)
    rows[:, 1] = 4.0
    rows[:, 0] = 3 * rows[:, 2]
    weights, left = fit_from_covariance(covariance(rows), 0, np.array([1, 2]))
    assert_allclose(weights, [0, 3], atol=1e-9)
    assert 0 <= left < 1e-9


def test_rows_in_raw_units_with_an_intercept():
    rows = drawn(3)
    weights, intercept = fit_from_rows(7 + rows[:, 1] - 2 * rows[:, 2], rows[:, 1:3])
    assert_allclose(weights, [1, -2])
    assert intercept == pytest.approx(7)
    none, mean = fit_from_rows(rows[:, 0], rows[:, :0])
    assert len(none) == 0
    assert mean == pytest.approx(rows[:, 0].mean())


def test_lagged_columns_reach_back():
    rows = np.arange(20.0).reshape(10, 2)
    found = lagged_columns(rows, np.array([0, 1, 0]), np.array([0, 2, 3]), start=3)
    assert found.shape == (7, 3)
    for t in range(3, 10):
        assert found[t - 3].tolist() == [rows[t, 0], rows[t - 2, 1], rows[t - 3, 0]]
    nothing = np.array([], dtype=np.intp)
    assert lagged_columns(rows, nothing, nothing, start=3).shape == (7, 0)
