"""PCMCI+ against the naive twin, a perfect test and, where it is installed, tigramite."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import naive
import recordings
from causewatch.discovery import (
    ConditionalMutualInformation,
    LaggedMoments,
    OneByOne,
    OracleTest,
    pcmciplus,
    run_pcmciplus,
)
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.graph import CausalGraph, Link, Strength
from recordings import SINGULAR, quiet, singular, stable, with_gaps, within_tick

TOLERANCE = 1e-9


def assert_agrees(result, marks, value, p_value):
    np.testing.assert_array_equal(result.marks, marks)
    np.testing.assert_allclose(result.value, value, 0, TOLERANCE)
    np.testing.assert_allclose(result.p_value, p_value, 0, TOLERANCE)


def assert_as_naive(values, max_lag, alpha=0.05):
    result = pcmciplus(values, max_lag=max_lag, alpha=alpha)
    test = naive.Answers(naive.lagged_columns(values, max_lag)).test
    marks, value, p_value, parents = naive.pcmciplus(test, values.shape[1], max_lag, alpha)
    assert_agrees(result, marks, value, p_value)
    number = {name: k for k, name in enumerate(result.signals)}
    named = [[(number[i], lag) for i, lag in result.parents[name]] for name in result.signals]
    assert named == parents
    return result


@pytest.mark.parametrize("seed", range(8))
def test_random_systems_as_the_naive_twin(seed):
    signals, max_lag = 3 + seed % 3, 1 + seed % 2
    values = within_tick(seed, signals, 150, max_lag, now=1.2, later=0.5, own=0.4)
    assert_as_naive(values, max_lag, alpha=0.1)


@pytest.mark.parametrize("kind", SINGULAR)
def test_exactly_singular_sets_follow_the_rule(kind):
    assert_as_naive(singular(30, kind, rows=60), 1)


@pytest.mark.parametrize(
    "values",
    [
        stable(35, 3, 12),
        stable(36, 6, 14),
        recordings.two_valued(37, 4, 60),
        np.round(stable(38, 4, 60)),
        with_gaps(39, rows=200),
        quiet(40),
        np.zeros((30, 2)),
    ],
    ids=["few windows", "fewer yet", "two-valued", "whole numbers", "gaps", "constant", "all zero"],
)
def test_small_and_coarse_recordings(values):
    assert_as_naive(values, 2, alpha=0.2)


@pytest.mark.parametrize("seed", range(6))
def test_random_systems_as_tigramite(seed):
    pytest.importorskip("tigramite")
    from yardstick import tigramite_pcmciplus

    max_lag, alpha = 1 + seed % 2, (0.01, 0.1)[seed % 2]
    values = within_tick(80 + seed, 5 + seed % 3, 300, max_lag, now=1.5, own=0.5)
    result = pcmciplus(values, max_lag=max_lag, alpha=alpha)
    assert_agrees(result, *tigramite_pcmciplus(values, max_lag, alpha))


def test_links_beyond_the_smallest_p_value_as_tigramite():
    """Of several p-values of 0, the last one says which value is told."""
    pytest.importorskip("tigramite")
    from yardstick import tigramite_pcmciplus

    values = within_tick(90, 3, 3000, 1)
    values[:, 1] += 3 * values[:, 0]
    values[1:, 2] += 3 * values[:-1, 1]
    result = pcmciplus(values, max_lag=1)
    assert (result.p_value == 0).sum() > 2
    assert_agrees(result, *tigramite_pcmciplus(values, 1))


def oracle(signals, links, max_lag):
    names = [f"s{k}" for k in range(signals)]
    strong = {Link(names[i], names[j], lag): Strength(1, 0) for i, j, lag in links}
    return OneByOne(OracleTest(CausalGraph(names, strong), max_lag), windows=100), names


@pytest.mark.parametrize("seed", range(25))
def test_a_perfect_test_gives_the_truth(seed):
    """All links are found and no others; what is oriented points the right way."""
    rng = np.random.default_rng(seed)
    signals, max_lag = 5, 2
    links = {
        (i, j, int(rng.integers(0 if i < j else 1, max_lag + 1)))
        for i, j in product(range(signals), repeat=2)
        if rng.random() < 0.35
    }
    test, names = oracle(signals, links, max_lag)
    marks = run_pcmciplus(test, names).marks
    linked = {(i, j, lag) for i, j, lag in np.argwhere(marks != "").tolist()}
    assert linked == links | {(j, i, 0) for i, j, lag in links if lag == 0}
    assert {tuple(k) for k in np.argwhere(marks == "-->").tolist()} <= links
    assert set(np.unique(marks)) <= {"", "-->", "<--", "o-o"}
    np.testing.assert_array_equal(
        marks, naive.pcmciplus(test._test.test, signals, max_lag, 0.01)[0]
    )


@pytest.mark.parametrize(
    ("links", "directed"),
    [
        # A collider.
        ([(0, 1, 0), (2, 1, 0)], {(0, 1), (2, 1)}),
        # A chain and a fork: nothing tells them apart.
        ([(0, 1, 0), (1, 2, 0)], set()),
        ([(1, 0, 0), (1, 2, 0)], set()),
        # A cause in the past turns the link it leads to.
        ([(0, 1, 1), (1, 2, 0)], {(1, 2)}),
        # Away from a collider.
        ([(0, 2, 0), (1, 2, 0), (2, 3, 0)], {(0, 2), (1, 2), (2, 3)}),
        # No cycle: 0 → 1 → 2 by the past of 1, so 0 → 2.
        ([(3, 1, 1), (0, 1, 0), (1, 2, 0), (0, 2, 0)], {(0, 1), (0, 2), (1, 2)}),
        # Two ways from 0 to the collider 3.
        ([(0, 1, 0), (0, 2, 0), (0, 3, 0), (1, 3, 0), (2, 3, 0)], {(0, 3), (1, 3), (2, 3)}),
    ],
)
def test_each_rule_of_orientation(links, directed):
    marks = run_pcmciplus(*oracle(4, links, 1)).marks
    assert {tuple(k) for k in np.argwhere(marks[:, :, 0] == "-->").tolist()} == directed
    unsure = {(i, j) for i, j, lag in links if lag == 0} - directed
    assert all(marks[i, j, 0] == marks[j, i, 0] == "o-o" for i, j in unsure)
    assert all(marks[j, i, 0] == "<--" for i, j in directed)


class Told:
    """A test without a past: pairs within a tick are dependent where `dependent` says so."""

    max_lag, windows = 1, 100

    def __init__(self, signals, dependent):
        self.signals = signals
        self.dependent = dependent

    def test(self, x, y, z):
        within = x[1] == y[1] == 0
        given = {signal for signal, lag in z}
        return (1.0, 0.0) if within and self.dependent({x[0], y[0]}, given) else (0.0, 1.0)

    def marks(self):
        return run_pcmciplus(OneByOne(self, self.windows), list("abcde")[: self.signals]).marks


def test_contradicting_colliders_are_a_conflict():
    """0 – 1 – 2 – 3 with both inner signals colliders: the link between these points both ways."""
    links = ({0, 1}, {1, 2}, {2, 3})
    marks = Told(4, lambda pair, given: pair in links or given & {1, 2}).marks()
    assert marks[1, 2, 0] == marks[2, 1, 0] == "x-x"
    assert marks[0, 1, 0] == marks[3, 2, 0] == "-->"
    assert marks[1, 0, 0] == marks[2, 3, 0] == "<--"


def test_the_majority_counts_every_set_once():
    """0 and 2 are apart given 1, 3 or 4; 1 is a neighbour of both."""
    links = ({0, 1}, {1, 2}, {2, 3}, {0, 4})

    def dependent(pair, given):
        return pair in links or (pair == {0, 2} and given not in ({1}, {3}, {4}))

    marks = Told(5, dependent).marks()
    assert marks[0, 1, 0] == marks[2, 1, 0] == "-->"
    assert marks[2, 3, 0] == marks[0, 4, 0] == "o-o"


def test_ends_that_nothing_separates_decide_nothing():
    """What 0 was a tick ago has to do with 2 as soon as the past of 2 is known."""

    class WithPast(Told):
        def test(self, x, y, z):
            if x[1] == 1 and y[1] == 0:
                dependent = (x[0], y[0]) in {(0, 1), (2, 2)} or ((x[0], y[0]) == (0, 2) and z)
                return (1.0, 0.0) if dependent else (0.0, 1.0)
            return super().test(x, y, z)

    marks = WithPast(3, lambda pair, given: pair == {1, 2}).marks()
    assert marks[0, 1, 1] == marks[2, 2, 1] == "-->"
    assert marks[0, 2, 1] == ""
    assert marks[1, 2, 0] == "o-o"


def test_rows_and_moments_give_the_same_result():
    values = within_tick(61, 4, 200)
    rows = pcmciplus(values, max_lag=2, signals=list("abcd"))
    moments = pcmciplus(LaggedMoments("abcd", max_lag=2).update(values))
    np.testing.assert_array_equal(moments.value, rows.value)
    np.testing.assert_array_equal(moments.marks, rows.marks)
    assert moments.graph == rows.graph
    assert rows.windows == 196
    assert rows.signals == ("a", "b", "c", "d")


def test_stretches_are_kept_apart():
    values = within_tick(62, 4, 200)
    apart = pcmciplus(values, max_lag=2, starts=(0, 90))
    moments = LaggedMoments(4, max_lag=2).update(values[:90])
    moments.merge(LaggedMoments(4, max_lag=2).update(values[90:]))
    np.testing.assert_allclose(apart.value, pcmciplus(moments).value, 0, 1e-12)
    assert apart.windows == 192


def test_the_graph_holds_what_is_directed():
    result = pcmciplus(within_tick(63, 6, 400), max_lag=2, alpha=0.05)
    directed = {(f"x{i}", f"x{j}", lag) for i, j, lag in np.argwhere(result.marks == "-->")}
    assert {(link.source, link.target, link.lag) for link in result.graph} == directed
    assert {link.lag for link in result.graph} == {0, 1, 2}
    for link, strength in result.graph.links.items():
        index = int(link.source[1:]), int(link.target[1:]), link.lag
        assert strength == Strength(result.value[index], result.p_value[index])


def test_another_test_will_do():
    rng = np.random.default_rng(64)
    values = rng.normal(size=(300, 3)) * [1.0, 0.3, 1.0]
    values[:, 1] += values[:, 0] ** 2 + values[:, 2] ** 2
    test = ConditionalMutualInformation(values, max_lag=1, alpha=0.01, permutations=100)
    result = run_pcmciplus(OneByOne(test, test.windows), ["a", "b", "c"], alpha=0.01)
    assert set(result.graph) == {Link("a", "b", 0), Link("c", "b", 0)}


def test_a_copy_hides_links_but_breaks_nothing():
    """A signal given its copy has nothing left: only the copies are linked with each other."""
    values = within_tick(65, 3, 200)
    result = pcmciplus(np.column_stack([values, values[:, 0], 2 * values[:, 0] + 1]), max_lag=1)
    assert np.isfinite(result.value).all()
    assert ((result.p_value >= 0) & (result.p_value <= 1)).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_that_is_none(alpha):
    with pytest.raises(SettingError, match=r"^alpha is .*; it must lie between 0 and 1\.$"):
        pcmciplus(stable(66, 3, 50), max_lag=1, alpha=alpha)


def test_too_few_rows():
    with pytest.raises(NotEnoughDataError, match=r"^Only 2 windows of 5 ticks "):
        pcmciplus(stable(67, 3, 6), max_lag=2)
    with pytest.raises(NotEnoughDataError, match=r"^Only 0 windows of 5 ticks "):
        pcmciplus(np.full((50, 3), np.nan), max_lag=2)


def test_a_longest_lag_is_needed():
    with pytest.raises(SettingError, match="max_lag is needed"):
        pcmciplus(stable(68, 3, 50))
    with pytest.raises(SettingError, match=r"max_lag is 0; it must be at least 1\."):
        pcmciplus(stable(68, 3, 50), max_lag=0)


def test_one_signal_alone():
    result = pcmciplus(stable(69, 1, 200), max_lag=1)
    assert result.marks.tolist() == [[["", "-->"]]]


def test_another_test_sees_links_that_no_straight_line_shows():
    random = np.random.default_rng(3)
    rows = random.normal(size=(1500, 2))
    rows[1:, 1] += rows[:-1, 0] ** 2
    linear, bent = (pcmciplus(rows, max_lag=1, test=name).marks for name in ("linear", "features"))
    assert linear[0, 1, 1] == ""
    assert bent[0, 1, 1] == "-->"
