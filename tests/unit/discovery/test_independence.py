"""The linear test, single and in bulk."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from causewatch.discovery.independence import OneByOne, PartialCorrelation
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.pcmci import pcmci, run_pcmci
from causewatch.errors import NotEnoughDataError
from recordings import quiet, singular, stable

MAX_LAG = 2
NONE = np.empty(0, dtype=np.intp)


def linear(values):
    return PartialCorrelation(LaggedMoments(values.shape[1], max_lag=MAX_LAG).update(values))


@pytest.fixture(params=["ordinary", "constant", "constant later", "sum", "own past"])
def values(request):
    if request.param == "ordinary":
        return stable(1, 4, 120)
    if request.param.startswith("constant"):
        return quiet(2, rows=120, level=0.1, noisy=4 * (request.param == "constant later"))
    return singular(3, request.param, rows=120)


def test_single_questions_match_the_naive_twin(values):
    test = linear(values)
    truth = naive.Answers(naive.lagged_columns(values, MAX_LAG))
    rng = np.random.default_rng(4)
    nodes = [(k, lag) for k in range(values.shape[1]) for lag in range(2 * MAX_LAG + 1)]
    for _ in range(60):
        drawn = [nodes[k] for k in rng.permutation(len(nodes))[: rng.integers(2, 9)]]
        x, y, *z = drawn
        assert test.test(x, y, z) == pytest.approx(truth.test(x, y, z), abs=1e-9)


def test_bulk_questions_match_single_ones(values):
    bulk = linear(values)
    single = OneByOne(bulk, bulk.windows)
    rng = np.random.default_rng(5)
    size = values.shape[1] * (2 * MAX_LAG + 1)
    sets = np.array([rng.permutation(size)[:6] for _ in range(25)])
    sets[:, :4][rng.random((25, 4)) < 0.4] = -1
    sets[:, :4][np.isin(sets[:, :4], [7, 9])] = -1
    for shared in (NONE, np.array([7, 9])):
        outside = ~np.isin(sets[:, -2:], shared).any(axis=1)
        for one, two in zip(
            bulk.given_sets(shared, sets[outside]),
            single.given_sets(shared, sets[outside]),
            strict=True,
        ):
            np.testing.assert_allclose(one, two, 0, 1e-12)


def test_one_by_one_runs_the_same_discovery(values):
    bulk = linear(values)
    names = [f"x{k}" for k in range(values.shape[1])]
    fast = pcmci(values, max_lag=MAX_LAG, min_lag=0)
    slow = run_pcmci(OneByOne(bulk, bulk.windows), names, min_lag=0)
    np.testing.assert_allclose(fast.value, slow.value, 0, 1e-9)
    np.testing.assert_allclose(fast.p_value, slow.p_value, 0, 1e-9)
    assert fast.parents == slow.parents


def test_a_discovery_with_one_signal_has_no_questions_left_over():
    bulk = linear(stable(6, 1, 60))
    result = run_pcmci(OneByOne(bulk, bulk.windows), ["x"], min_lag=0)
    assert result.value.shape == (1, 1, MAX_LAG + 1)


def test_constant_conditions_cost_no_degree_of_freedom():
    values = quiet(7, rows=60, level=3.0)
    test = linear(values)
    assert test.test((0, 1), (2, 0), [(1, 0), (1, 2)]) == test.test((0, 1), (2, 0), [])
    assert test.test((1, 1), (2, 0), []) == (0.0, 1.0)
    assert test.test((2, 1), (1, 0), [(0, 0)]) == (0.0, 1.0)


def test_no_degrees_of_freedom_mean_no_evidence():
    values = stable(8, 6, 2 * MAX_LAG + 8)  # eight windows
    z = [(k, lag) for k in range(3) for lag in (1, 2)]
    assert linear(values).test((4, 1), (5, 0), z)[1] == 1.0
    assert linear(values).test((4, 1), (5, 0), z[:5])[1] < 1.0


@pytest.mark.parametrize("windows", [0, 1, 2])
def test_fewer_than_three_windows_are_refused(windows):
    with pytest.raises(NotEnoughDataError, match=f"Only {windows} windows"):
        linear(stable(9, 2, 2 * MAX_LAG + windows))
