"""Graphs held against each other: a slow twin, and what RCAEval says."""

from __future__ import annotations

import json
from itertools import combinations
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.evaluation.metrics.graphs import compare_adjacency, compare_graphs
from causewatch.graph import CausalGraph, Link, Strength

GOLDEN = Path(__file__).parents[2] / "golden" / "metrics" / "ranges.json"


def graph(signals, *links):
    return CausalGraph(signals, {Link(*link): Strength(0.5, 0.01) for link in links})


def slow(found, true, lags, self_links):
    """Distance and counts from sets of links among the signals that both know."""
    names = set(found.signals) & set(true.signals)

    def links(one):
        return {
            (link.source, link.target, link.lag if lags else 0)
            for link in one
            if {link.source, link.target} <= names and (self_links or link.source != link.target)
        }

    got, want = links(found), links(true)
    distance = 0
    for lag in {link[2] for link in got | want}:
        for a, b in [*combinations(sorted(names), 2), *((name, name) for name in names)]:
            both = {(a, b, lag), (b, a, lag)}
            distance += got & both != want & both
    return distance, len(got & want), len(got - want), len(want - got)


def links(signals):
    return st.sets(
        st.tuples(st.sampled_from(signals), st.sampled_from(signals), st.integers(0, 3)),
        max_size=12,
    )


@given(links("abcd"), links("bcde"), st.booleans(), st.booleans())
def test_it_is_the_slow_twin(ones, others, lags, self_links):
    found, true = graph("abcd", *ones), graph("ebdc", *others)
    score = compare_graphs(found, true, lags=lags, self_links=self_links)
    distance, hits, extra, missing = slow(found, true, lags, self_links)
    assert score.shd == distance
    counts = (score.true_positives, score.false_positives, score.false_negatives)
    assert counts == (hits, extra, missing)
    assert isnan(score.precision) if hits + extra == 0 else score.precision == hits / (hits + extra)
    assert isnan(score.recall) if hits + missing == 0 else score.recall == hits / (hits + missing)
    assert (score.signals, score.left_out) == (3, ("a", "e"))


@settings(max_examples=40)
@given(links("abcd"), links("abcd"), links("abcd"), st.booleans())
def test_it_is_a_distance(ones, twos, threes, lags):
    a, b, c = (graph("abcd", *some) for some in (ones, twos, threes))

    def far(x, y):
        return compare_graphs(x, y, lags=lags, self_links=True).shd

    assert far(a, a) == 0
    assert far(a, b) == far(b, a)
    assert far(a, c) <= far(a, b) + far(b, c)


def test_it_says_what_rcaeval_says():
    frozen = json.loads(GOLDEN.read_text())
    for case in frozen["graphs"]:
        both = []
        for name in ("found", "true"):
            matrix = np.zeros((7, 7))
            matrix[tuple(np.array(case[name]).T)] = 1
            both.append(matrix)
        score = compare_adjacency(*both)
        found = [score.shd, score.precision, score.recall, score.f1]
        np.testing.assert_allclose(found, case["said"], 0, frozen["about"]["tolerance"])
    assert len(frozen["graphs"]) == 12


def test_a_reversed_link_costs_one_and_a_wrong_lag_two():
    true = graph("ab", ("a", "b", 2))
    turned = compare_graphs(graph("ab", ("b", "a", 2)), true)
    assert (turned.shd, turned.false_positives, turned.false_negatives) == (1, 1, 1)
    late = graph("ab", ("a", "b", 1))
    assert compare_graphs(late, true).f1 == 1.0
    strict = compare_graphs(late, true, lags=True)
    assert (strict.shd, strict.f1) == (2, 0.0)


def test_links_both_ways_differ_from_one_by_one():
    both = graph("ab", ("a", "b", 1), ("b", "a", 1))
    assert compare_graphs(both, graph("ab", ("a", "b", 1))).shd == 1
    assert compare_graphs(both, graph("ab")).shd == 1


def test_self_links_count_only_if_asked_for():
    found, true = graph("ab", ("a", "a", 1)), graph("ab", ("a", "a", 1), ("b", "b", 1))
    without = compare_graphs(found, true)
    assert (without.shd, without.true_positives) == (0, 0)
    score = compare_graphs(found, true, self_links=True)
    assert (score.shd, score.true_positives, score.recall) == (1, 1, 0.5)


def test_a_link_of_a_signal_that_only_one_knows_is_not_counted():
    found = graph("abx", ("a", "b", 1), ("x", "a", 1))
    true = graph("yba", ("a", "b", 1), ("y", "b", 1))
    score = compare_graphs(found, true)
    assert (score.f1, score.shd, score.signals, score.left_out) == (1.0, 0, 2, ("x", "y"))


def test_graphs_without_links_have_no_ratios():
    nothing = compare_graphs(graph("ab"), graph("ab"))
    assert nothing.shd == 0
    assert all(map(isnan, (nothing.precision, nothing.recall, nothing.f1)))
    silent = compare_graphs(graph("ab"), graph("ab", ("a", "b", 1)))
    assert isnan(silent.precision)
    assert (silent.recall, silent.f1) == (0.0, 0.0)


@given(st.integers(0, 10**6), st.sampled_from([(5, 5), (4, 4, 3)]))
def test_the_order_of_signals_does_not_matter(seed, shape):
    random = np.random.default_rng(seed)
    found, true = random.random((2, *shape)) < 0.3
    order = random.permutation(shape[0])
    turned = (one[order][:, order] for one in (found, true))
    one, two = compare_adjacency(found, true), compare_adjacency(*turned)
    assert one.shd == two.shd
    assert one.true_positives == two.true_positives


def test_what_makes_no_sense_is_refused_in_a_sentence():
    with pytest.raises(NotEnoughDataError, match="1 signals in common"):
        compare_graphs(graph("ab"), graph("bc"))
    with pytest.raises(SettingError, match=r"shape \(2, 3\)"):
        compare_adjacency(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(SettingError, match="same signals and lags"):
        compare_adjacency(np.zeros((2, 2)), np.zeros((3, 3)))
    with pytest.raises(SettingError, match="missing entries"):
        compare_adjacency([[0, np.nan], [0, 0]], np.zeros((2, 2)))
