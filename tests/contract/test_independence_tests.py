"""What every independence test promises."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.discovery.independence import OneByOne, PartialCorrelation
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.nonlinear import ConditionalMutualInformation
from causewatch.discovery.oracle import OracleTest
from causewatch.discovery.pcmci import run_pcmci
from causewatch.graph import CausalGraph, Link, Strength
from recordings import quiet

SIGNALS, MAX_LAG, STILL = 4, 2, 1


def recording():
    """Signal 0 drives signal 2 a tick later; signal 1 never moves."""
    values = quiet(1, rows=250, level=20.0)
    rng = np.random.default_rng(2)
    values[:, [0, 3]] = rng.normal(size=(250, 2))
    values[1:, 2] = values[:-1, 0] + 0.3 * rng.normal(size=249)
    return values


def linear():
    return PartialCorrelation(LaggedMoments(SIGNALS, max_lag=MAX_LAG).update(recording()))


def nonlinear():
    return ConditionalMutualInformation(recording(), max_lag=MAX_LAG, permutations=60)


def oracle():
    links = {Link("a", "c", 1): Strength(1.0, 0.0)}
    return OracleTest(CausalGraph("abcd", links), max_lag=MAX_LAG)


@pytest.fixture(params=[linear, nonlinear, oracle])
def make(request):
    return request.param


@pytest.fixture
def test(make):
    return make()


def questions(count=15):
    rng = np.random.default_rng(3)
    nodes = [(k, lag) for k in range(SIGNALS) for lag in range(2 * MAX_LAG + 1)]
    for _ in range(count):
        x, y, *z = (nodes[k] for k in rng.permutation(len(nodes))[: rng.integers(2, 6)])
        yield x, y, z


def test_it_says_what_it_is_about(test):
    assert test.signals == SIGNALS
    assert test.max_lag == MAX_LAG


def test_values_and_p_values_are_plain_numbers_in_range(test):
    for x, y, z in questions():
        value, p_value = test.test(x, y, z)
        assert type(value) is float
        assert type(p_value) is float
        assert np.isfinite(value)
        assert 0.0 <= p_value <= 1.0
        if isinstance(test, PartialCorrelation | OracleTest):
            assert abs(value) <= 1.0


def test_asking_twice_gives_the_same_answer(test, make):
    again = make()
    for x, y, z in questions():
        answer = test.test(x, y, z)
        assert test.test(x, y, z) == answer
        assert again.test(x, y, z) == answer  # whatever was asked before


def test_x_and_y_may_change_places(test):
    for x, y, z in questions():
        (value, p_value), (other, other_p) = test.test(x, y, z), test.test(y, x, z)
        assert other == pytest.approx(value, abs=1e-12)
        if not isinstance(test, ConditionalMutualInformation):  # which shuffles x only
            assert other_p == pytest.approx(p_value, abs=1e-12)


def test_the_order_of_the_condition_does_not_matter(test):
    for x, y, z in questions():
        assert test.test(x, y, z[::-1]) == pytest.approx(test.test(x, y, z), abs=1e-12)


def test_a_signal_that_never_moves_depends_on_nothing(test):
    for z in ([], [(3, 1)], [(3, 1), (2, 2)]):
        assert test.test((STILL, 1), (0, 0), z) == (0.0, 1.0)
        assert test.test((0, 2), (STILL, 0), z) == (0.0, 1.0)


def test_a_condition_that_never_moves_changes_no_value(test):
    for x, y in [((0, 1), (2, 0)), ((3, 1), (2, 0))]:
        plain, given = test.test(x, y, []), test.test(x, y, [(STILL, 1)])
        assert given[0] == pytest.approx(plain[0], abs=1e-12)


def test_a_plain_dependence_is_seen_and_conditioned_away(test):
    value, p_value = test.test((0, 1), (2, 0), [])
    assert abs(value) > 0.2
    assert p_value <= 0.05
    assert test.test((3, 1), (2, 0), [])[1] > 0.05
    # Shifted in time it is the same dependence.
    assert test.test((0, 3), (2, 2), [])[1] <= 0.05
    assert test.test((0, 1), (2, 0), [(0, 1)])[1] > 0.05


def test_discovery_runs_on_it(test):
    result = run_pcmci(OneByOne(test, windows=246), "abcd", alpha=0.02)
    assert Link("a", "c", 1) in result.graph
    assert not [link for link in result.graph if "b" in (link.source, link.target)]
