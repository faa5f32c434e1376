"""Partial canonical correlation against its definition, and Rao's F against what is exact."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

import naive
from causewatch.kernels import blocks

NONE = np.empty(0, dtype=np.intp)


def correlated(seed, count=200, columns=10):
    random = np.random.default_rng(seed)
    return random.normal(size=(count, columns)) @ random.normal(size=(columns, columns))


@pytest.mark.parametrize("shared", [[], [8], [8, 9, 7]])
def test_it_is_the_ratio_of_determinants(shared):
    rows = correlated(0)
    centred = rows - rows.mean(axis=0)
    sets = np.array([[6, 0, 1, 2, 3, 4, 5], [-1, 0, 1, -1, 3, 4, -1], [6, 5, -1, -1, 0, -1, -1]])
    logarithms, linear = blocks.log_wilks(
        centred.T @ centred, np.array(shared, dtype=np.intp), sets, 3
    )
    for k, row in enumerate(sets):
        z = [*shared, *[column for column in row[:1] if column >= 0]]
        x, y = ([c for c in row[part] if c >= 0] for part in (slice(1, 4), slice(4, 7)))
        assert logarithms[k] == pytest.approx(naive.log_wilks(rows, z, x, y), rel=1e-6)
        first = naive.log_wilks(rows, z, x[:1], y[:1])
        assert linear[k] ** 2 == pytest.approx(-np.expm1(first), rel=1e-6)


def test_one_column_each_is_the_partial_correlation():
    rows = correlated(1, columns=3)
    centred = rows - rows.mean(axis=0)
    (logarithm,), (linear,) = blocks.log_wilks(centred.T @ centred, NONE, np.array([[2, 0, 1]]), 1)
    precision = np.linalg.inv(np.cov(rows.T))
    r = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
    assert linear == pytest.approx(r, rel=1e-6)
    assert logarithm == pytest.approx(np.log1p(-(r**2)), rel=1e-5)


def test_a_block_that_the_conditions_explain_depends_on_nothing():
    rows = correlated(2, columns=4)
    rows = np.column_stack([rows, rows[:, 0] + rows[:, 1]])  # known with the conditions
    centred = rows - rows.mean(axis=0)
    (logarithm,), _ = blocks.log_wilks(centred.T @ centred, np.array([0, 1]), np.array([[4, 2]]), 1)
    assert abs(logarithm) < 1e-3


def test_p_values_of_single_columns_are_those_of_student():
    r, samples, given = np.array([0.05, -0.3, 0.9]), 60, 4
    one = np.ones(3, dtype=np.intp)
    p_values = blocks.wilks_p_values(np.log1p(-(r**2)), one, one, np.full(3, samples - 1 - given))
    freedom = samples - given - 2
    t = np.abs(r) * np.sqrt(freedom / (1 - r**2))
    assert_allclose(p_values, 2 * special.stdtr(freedom, -t), rtol=1e-10)


def test_p_values_of_one_column_and_several_are_those_of_the_f_test():
    logarithms, x = np.array([-0.02, -0.3]), np.array([3, 1])
    y = np.array([1, 3])
    p_values = blocks.wilks_p_values(logarithms, x, y, np.array([49, 49]))
    ratio = (np.exp(-logarithms) - 1) * (49 - 3) / 3
    assert_allclose(p_values, stats.f.sf(ratio, 3, 49 - 3), rtol=1e-10)


@pytest.mark.parametrize(("x", "y"), [(1, 1), (2, 3), (3, 3), (5, 2)])
def test_p_values_of_independent_blocks_are_uniform(x, y):
    random = np.random.default_rng(3)
    sets = np.full((1, 2 * 5), -1)
    sets[0, :x], sets[0, 5 : 5 + y] = np.arange(x), 5 + np.arange(y)
    p_values = []
    for _ in range(800):
        rows = random.normal(size=(30, 10))
        centred = rows - rows.mean(axis=0)
        logarithms, _ = blocks.log_wilks(centred.T @ centred, NONE, sets, 5)
        p_values.append(
            blocks.wilks_p_values(logarithms, np.array([x]), np.array([y]), np.array([29]))[0]
        )
    assert stats.kstest(p_values, "uniform").pvalue > 0.001


def test_nothing_to_test_has_a_p_value_of_one():
    zero, two = np.array([0, 2]), np.array([2, 2])
    p_values = blocks.wilks_p_values(np.array([0.0, -1.0]), zero, two, np.array([50, 2]))
    assert p_values.tolist() == [1.0, 1.0]
