"""The oracle against networkx on a long unrolled graph."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from causewatch.discovery.oracle import OracleTest
from causewatch.errors import SettingError
from causewatch.graph import CausalGraph, Link, Strength

Links = list[tuple[int, int, int]]

CONNECTED, SEPARATED = (1.0, 0.0), (0.0, 1.0)


def graph_of(signals: int, links: Links) -> CausalGraph:
    names = [f"s{k}" for k in range(signals)]
    return CausalGraph(
        names, {Link(names[i], names[j], lag): Strength(1, 0) for i, j, lag in links}
    )


def unrolled(signals: int, links: Links, ticks: int) -> nx.DiGraph:
    dag = nx.DiGraph()
    dag.add_nodes_from(itertools.product(range(signals), range(ticks)))
    dag.add_edges_from(
        ((i, age + lag), (j, age)) for i, j, lag in links for age in range(ticks - lag)
    )
    assert nx.is_directed_acyclic_graph(dag)
    return dag


def random_links(rng: np.random.Generator, signals: int, auto: float) -> Links:
    links = []
    for i, j in itertools.product(range(signals), repeat=2):
        if rng.random() < (auto if i == j else 0.3):
            # Links at lag 0 lead to higher numbers only, so they form no cycle.
            links.append((i, j, int(rng.integers(0 if i < j else 1, 4))))
    return links


@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_networkx_on_a_long_window(seed):
    rng = np.random.default_rng(seed)
    signals, max_lag = int(rng.integers(2, 5)), 2
    links = random_links(rng, signals, auto=rng.choice([0.0, 0.5, 1.0]))
    oracle = OracleTest(graph_of(signals, links), max_lag)
    dag = unrolled(signals, links, ticks=40)
    nodes = list(itertools.product(range(signals), range(2 * max_lag + 1)))
    for _ in range(40):
        drawn = [nodes[k] for k in rng.choice(len(nodes), size=rng.integers(2, 7), replace=False)]
        x, y, *z = drawn
        separated = nx.is_d_separator(dag, {x}, {y}, set(z))
        assert oracle.test(x, y, z) == (SEPARATED if separated else CONNECTED), (links, x, y, z)


def test_a_larger_window_changes_nothing():
    rng = np.random.default_rng(5)
    for _ in range(10):
        links = random_links(rng, 4, auto=0.5)
        small, large = (OracleTest(graph_of(4, links), max_lag) for max_lag in (1, 6))
        nodes = list(itertools.product(range(4), range(3)))
        for x, y in itertools.combinations(nodes, 2):
            z = [node for node in nodes if node not in (x, y) and rng.random() < 0.3]
            assert small.test(x, y, z) == large.test(x, y, z)


def test_a_common_cause_far_before_the_window_is_found():
    # b and c share the cause a; only after 3·5 ticks do their own pasts meet at the same a.
    links = [(0, 1, 1), (0, 2, 2), (1, 1, 3), (2, 2, 5)]
    oracle = OracleTest(graph_of(3, links), max_lag=1)
    dag = unrolled(3, links, ticks=40)
    for lag in range(3):
        assert not nx.is_d_separator(dag, {(1, 0)}, {(2, lag)}, set())
        assert oracle.test((1, 0), (2, lag), []) == CONNECTED
    short = unrolled(3, links, ticks=5)
    assert nx.is_d_separator(short, {(1, 0)}, {(2, 0)}, set())


def test_periods_that_never_meet_stay_separate():
    # Even ticks of a only ever depend on even ticks.
    oracle = OracleTest(graph_of(1, [(0, 0, 2)]), max_lag=2)
    assert oracle.test((0, 0), (0, 1), []) == SEPARATED
    assert oracle.test((0, 0), (0, 2), []) == CONNECTED
    assert oracle.test((0, 0), (0, 4), [(0, 2)]) == SEPARATED


def test_colliders_open_by_their_effects():
    oracle = OracleTest(graph_of(4, [(0, 2, 1), (1, 2, 1), (2, 3, 1)]), max_lag=2)
    assert oracle.test((0, 2), (1, 2), []) == SEPARATED
    assert oracle.test((0, 2), (1, 2), [(2, 1)]) == CONNECTED
    assert oracle.test((0, 2), (1, 2), [(3, 0)]) == CONNECTED
    assert oracle.test((0, 2), (1, 2), [(3, 1)]) == SEPARATED


def test_a_condition_that_holds_an_end_separates():
    oracle = OracleTest(graph_of(2, [(0, 1, 1)]), max_lag=1)
    assert oracle.test((0, 1), (1, 0), [(0, 1)]) == SEPARATED
    assert oracle.test((0, 1), (1, 0), [(1, 0)]) == SEPARATED


def test_bad_questions_are_refused():
    oracle = OracleTest(graph_of(2, [(0, 1, 1)]), max_lag=1)
    with pytest.raises(SettingError, match="lags from 0 to 2"):
        oracle.test((0, 3), (1, 0), [])
    with pytest.raises(SettingError, match="signals go from 0 to 1"):
        oracle.test((0, 1), (2, 0), [])
    with pytest.raises(SettingError, match="itself"):
        oracle.test((0, 1), (0, 1), [])
    with pytest.raises(SettingError, match="at least 1"):
        OracleTest(graph_of(1, []), max_lag=0)


def test_a_cycle_within_one_tick_is_named():
    with pytest.raises(SettingError, match=r"s0 → s1 → s0|s1 → s0 → s1"):
        OracleTest(graph_of(2, [(0, 1, 0), (1, 0, 0)]), max_lag=1)
