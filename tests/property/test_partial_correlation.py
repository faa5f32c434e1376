"""Partial correlation: free of units, symmetric, and the same however it is computed."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from causewatch.discovery.independence import PartialCorrelation
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.pcmci import pcmci
from recordings import stable

MAX_LAG = 1
SIGNALS = 4
NODES = [(k, lag) for k in range(SIGNALS) for lag in range(2 * MAX_LAG + 1)]


def linear(values):
    return PartialCorrelation(LaggedMoments(values.shape[1], max_lag=MAX_LAG).update(values))


seeds = st.integers(0, 10**6)
questions = st.permutations(NODES).flatmap(
    lambda nodes: st.integers(2, 8).map(lambda count: (nodes[0], nodes[1], nodes[2:count]))
)
units = st.lists(
    st.tuples(st.sampled_from([-1.0, 1.0]), st.floats(-6, 6), st.floats(-1e3, 1e3)),
    min_size=SIGNALS,
    max_size=SIGNALS,
)
tables = st.lists(
    st.lists(st.integers(-2, 2), min_size=SIGNALS, max_size=SIGNALS), min_size=6, max_size=14
).map(lambda rows: np.array(rows, dtype=float))


NEAR_ONE = 1e-7
"""With one degree of freedom, a last bit in a value of 1 is a p-value of 1e-8."""


def rescaled(values, unit):
    sign, power, level = np.array(unit).T
    return sign * 10.0**power * (values + level), sign


@settings(max_examples=40)
@given(seeds, questions)
def test_it_matches_the_naive_twin(seed, question):
    values = stable(seed, SIGNALS, 40)
    found = linear(values).test(*question)
    truth = naive.Answers(naive.lagged_columns(values, MAX_LAG)).test(*question)
    np.testing.assert_allclose(found, truth, 0, 1e-11)


@settings(max_examples=40)
@given(tables, questions)
def test_it_matches_the_naive_twin_on_tiny_coarse_tables(values, question):
    """Few rows of few values: full of ties, constants and exact linear dependence."""
    found = linear(values).test(*question)
    truth = naive.Answers(naive.lagged_columns(values, MAX_LAG)).test(*question)
    assert abs(found[0] - truth[0]) < 1e-9
    assert abs(found[1] - truth[1]) < NEAR_ONE


@settings(max_examples=40)
@given(seeds, questions, units)
def test_units_only_change_the_sign(seed, question, unit):
    values = stable(seed, SIGNALS, 40)
    other, sign = rescaled(values, unit)
    (x, _), (y, _), _ = question
    value, p_value = linear(values).test(*question)
    other_value, other_p = linear(other).test(*question)
    assert abs(sign[x] * sign[y] * other_value - value) < 1e-9
    assert abs(other_p - p_value) < 1e-8


@settings(max_examples=40)
@given(seeds, questions)
def test_it_is_symmetric_and_ignores_the_order_of_conditions(seed, question):
    test = linear(stable(seed, SIGNALS, 40))
    x, y, z = question
    answer = test.test(x, y, z)
    np.testing.assert_allclose(test.test(y, x, z), answer, 0, 1e-12)
    np.testing.assert_allclose(test.test(x, y, z[::-1]), answer, 0, 1e-12)


@settings(max_examples=30)
@given(tables)
def test_discovery_on_tiny_coarse_tables_matches_the_naive_twin(values):
    assume(len(values) >= 2 * MAX_LAG + 3)
    found = pcmci(values, max_lag=MAX_LAG, min_lag=0, alpha=0.3)
    value, p_value, parents = naive.pcmci(values, MAX_LAG, 0, 0.3)
    np.testing.assert_allclose(found.value, value, 0, 1e-9)
    np.testing.assert_allclose(found.p_value, p_value, 0, NEAR_ONE)
    assert [[(int(i[1:]), lag) for i, lag in nodes] for nodes in found.parents.values()] == parents


@settings(max_examples=20)
@given(seeds, st.permutations(range(SIGNALS)))
def test_renaming_and_permuting_signals_permutes_the_result(seed, order):
    values = stable(seed, SIGNALS, 80)
    names = [f"s{k}" for k in range(SIGNALS)]
    plain = pcmci(values, max_lag=2, min_lag=0, signals=names)
    moved = pcmci(values[:, order], max_lag=2, min_lag=0, signals=[names[k] for k in order])
    np.testing.assert_allclose(moved.value, plain.value[np.ix_(order, order)], 0, 1e-12)
    assert moved.parents == plain.parents
