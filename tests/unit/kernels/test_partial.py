"""Partial correlations from a matrix, against sequential projection on the rows."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from causewatch.discovery.moments import LaggedMoments
from causewatch.kernels import partial
from recordings import SINGULAR, singular, stable

MAX_LAG = 2


class Case:
    """The matrix of a recording and its lagged columns, under the same numbers."""

    def __init__(self, values):
        moments = LaggedMoments(values.shape[1], max_lag=MAX_LAG).update(values)
        self.matrix, self.varies = moments.scatter()
        columns = naive.lagged_columns(values, MAX_LAG)
        lags = range(2 * MAX_LAG + 1)
        self.columns = [columns[k, lag] for lag in lags for k in range(values.shape[1])]

    def truth(self, x, y, z):
        of = self.columns
        return naive.partial_correlation(of[x], of[y], [of[k] for k in z if k >= 0])


def recordings():
    yield "ordinary", stable(3, 5, 200)
    for kind in SINGULAR:
        yield kind, singular(4, kind)


@pytest.fixture(params=list(recordings()), ids=lambda item: item[0])
def case(request):
    return Case(request.param[1])


def test_given_others_at_many_depths(case):
    rng = np.random.default_rng(8)
    nodes = rng.permutation(np.arange(5, 15))
    for target in (0, 2):
        for depth in (0, 1, 2, 5, 9):
            found = partial.given_others(case.matrix, target, nodes, depth)
            for place, x in enumerate(nodes):
                others = np.delete(nodes, place)[:depth]
                assert found[place] == pytest.approx(case.truth(x, target, others), abs=1e-9)


def test_given_sets_with_and_without_a_common_part(case):
    rng = np.random.default_rng(9)
    for size in (0, 1, 4):
        nodes = rng.permutation(25)
        shared, others = nodes[:size], nodes[size:]
        sets = np.array([rng.permutation(others)[:6] for _ in range(30)])
        sets[:, :4][rng.random((30, 4)) < 0.3] = -1
        found = partial.given_sets(case.matrix, shared, sets)
        for value, row in zip(found, sets, strict=True):
            z = [*shared, *row[:-2]]
            assert value == pytest.approx(case.truth(row[-2], row[-1], z), abs=1e-9)


def test_small_batches_change_nothing(case, monkeypatch):
    rng = np.random.default_rng(10)
    sets = np.array([rng.permutation(25)[:5] for _ in range(20)])
    shared = np.empty(0, dtype=np.intp)
    whole = partial.given_sets(case.matrix, shared, sets)
    monkeypatch.setattr(partial, "MOST_NUMBERS", 60)
    np.testing.assert_allclose(partial.given_sets(case.matrix, shared, sets), whole, 0, 1e-14)


def test_the_exact_way_agrees_with_the_fast_one(monkeypatch):
    case = Case(stable(11, 5, 200))
    nodes = np.arange(5, 15)
    rng = np.random.default_rng(11)
    sets = np.array([rng.permutation(25)[:7] for _ in range(20)])
    shared = np.empty(0, dtype=np.intp)
    fast = [partial.given_others(case.matrix, 1, nodes, 4)]
    fast.append(partial.given_sets(case.matrix, shared, sets))
    monkeypatch.setattr(partial, "DELICATE", 2.0)
    exact = [partial.given_others(case.matrix, 1, nodes, 4)]
    exact.append(partial.given_sets(case.matrix, shared, sets))
    for one, two in zip(fast, exact, strict=True):
        np.testing.assert_allclose(one, two, 0, 1e-14)


def test_a_residual_without_variance_has_correlation_zero():
    case = Case(singular(12, "other unit"))
    none = np.empty(0, dtype=np.intp)
    # Signal 2 is signal 0 in another unit: given either, nothing is left of the other.
    assert partial.given_sets(case.matrix, none, np.array([[0, 2, 1]])).tolist() == [0.0]
    assert partial.given_sets(case.matrix, np.array([0]), np.array([[1, 2]])).tolist() == [0.0]
    assert partial.given_sets(case.matrix, none, np.array([[0, 2]])) == pytest.approx([1.0])


def test_no_value_is_beyond_one():
    none = np.empty(0, dtype=np.intp)
    for seed in range(20):
        values = stable(seed, 6, 100)
        values[:, 2] = 3.7 * values[:, 0] + 273.15
        values[:, 5] = -1.3 * values[:, 4]
        matrix = LaggedMoments(6, max_lag=MAX_LAG).update(values).scatter()[0]
        pairs = np.array([[6 * lag + 4, 6 * lag + 5] for lag in range(2 * MAX_LAG + 1)])
        given = np.column_stack([np.tile([0, 2], (len(pairs), 1)), pairs])
        for found in (
            partial.given_sets(matrix, np.array([0, 2]), pairs),
            partial.given_sets(matrix, none, given),
        ):
            assert found == pytest.approx(np.full(len(pairs), -1.0))
            assert found.min() >= -1.0
            assert not partial.p_values(found, np.full(len(pairs), 90)).any()


def test_matrix_and_indices_are_left_as_they_were():
    case = Case(singular(13, "sum"))
    nodes, sets = np.arange(5, 15), np.array([[0, 1, 2, 3], [-1, 5, 6, 7]])
    before = [case.matrix[0].copy(), case.matrix[1].copy(), nodes.copy(), sets.copy()]
    partial.given_others(case.matrix, 0, nodes, 3)
    partial.given_sets(case.matrix, np.array([10]), sets)
    after = [*case.matrix, nodes, sets]
    for one, two in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, two)


def test_p_values_follow_student():
    values = np.array([0.0, 0.1, -0.3, 0.5, 0.999, 1e-12])
    for freedom in (1, 2, 10, 1000, 10**6):
        found = partial.p_values(values, np.full(len(values), freedom))
        expected = [naive.p_value(value, freedom) for value in values]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


def test_p_values_at_the_edges():
    values = np.array([1.0, -1.0, 0.5, 0.5])
    assert partial.p_values(values, np.array([5, 1, 0, -3])).tolist() == [0.0, 0.0, 1.0, 1.0]
