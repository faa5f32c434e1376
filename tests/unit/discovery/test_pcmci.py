"""PCMCI against the naive twin and, where it is installed, against tigramite."""

from __future__ import annotations

import threading
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import naive
import recordings
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.pcmci import pcmci
from causewatch.errors import CausewatchError, NotEnoughDataError, SettingError
from causewatch.graph import Link
from recordings import SINGULAR, nearly, quiet, singular, stable, with_gaps

TOLERANCE = 1e-9


def numbered(result):
    """Parents by number, as the naive twin gives them."""
    number = {name: k for k, name in enumerate(result.signals)}
    return [[(number[i], lag) for i, lag in result.parents[name]] for name in result.signals]


def links_of(p_value, alpha):
    return {tuple(index) for index in np.argwhere(p_value <= alpha).tolist()}


def assert_agrees(found, value, p_value, parents):
    np.testing.assert_allclose(found.value, value, 0, TOLERANCE)
    np.testing.assert_allclose(found.p_value, p_value, 0, TOLERANCE)
    assert links_of(found.p_value, found.alpha) == links_of(p_value, found.alpha)
    assert numbered(found) == parents


@pytest.fixture
def tigramite():
    """A function that compares with tigramite, on the spot."""
    pytest.importorskip("tigramite")
    from yardstick import tigramite_pcmci

    def compare(values, max_lag, min_lag=1, alpha=0.05, **more):
        truth = tigramite_pcmci(values, max_lag, min_lag, alpha, **more)
        found = pcmci(values, max_lag=max_lag, min_lag=min_lag, alpha=alpha, **more)
        assert_agrees(found, truth.value, truth.p_value, truth.parents)

    return compare


@pytest.mark.parametrize("kind", SINGULAR)
@pytest.mark.parametrize("min_lag", [0, 1])
def test_exactly_singular_sets_follow_the_rule(kind, min_lag):
    values = singular(30, kind)
    assert_agrees(pcmci(values, max_lag=2, min_lag=min_lag), *naive.pcmci(values, 2, min_lag))


@pytest.mark.parametrize("kind", SINGULAR)
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_units_do_not_matter_even_for_singular_sets(kind, seed):
    values = singular(seed, kind, rows=150)
    found = pcmci(values, max_lag=2, min_lag=0)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        factor = 10.0 ** rng.uniform(-4, 4, 5) * rng.choice([-1, 1], 5)
        offset = rng.uniform(-100, 100, 5) * np.abs(factor)
        other = pcmci(values * factor + offset, max_lag=2, min_lag=0)
        sign = np.sign(factor)[:, None, None] * np.sign(factor)[None, :, None]
        np.testing.assert_allclose(other.value, sign * found.value, 0, TOLERANCE)
        assert set(other.graph) == set(found.graph)
        assert other.parents == found.parents


@pytest.mark.parametrize("kind", ["copy", "sum", "late copy", "late sum"])
@pytest.mark.parametrize("power", [1, 2, 3, 4, 5, 6])
def test_nearly_collinear_signals(kind, power):
    values = nearly(32, 10.0**-power, kind=kind, rows=200)
    assert_agrees(pcmci(values, max_lag=2, min_lag=0), *naive.pcmci(values, 2, 0))


@pytest.mark.parametrize("noisy", [0, 2, 3, 4, 5])
@pytest.mark.parametrize(("level", "spike"), [(0.0, 1.0), (0.1, 1.0), (0.1, 1e6)])
def test_a_signal_constant_but_for_its_first_rows(noisy, level, spike):
    values = quiet(33, noisy=noisy, level=level, spike=spike)
    expected = naive.pcmci(values, 2, 0)
    assert_agrees(pcmci(values, max_lag=2, min_lag=0), *expected)
    streamed = LaggedMoments(4, max_lag=2)
    for row in values:
        streamed.update(row[None])
    assert_agrees(pcmci(streamed, min_lag=0), *expected)


@pytest.mark.parametrize("spike", [1e3, 1e6])
def test_a_first_row_far_out_costs_no_digits(spike):
    values = stable(34, 4, 200)
    values[0, 0] = spike
    assert_agrees(pcmci(values, max_lag=2, min_lag=0), *naive.pcmci(values, 2, 0))


@pytest.mark.parametrize(
    "values",
    [
        stable(35, 3, 12),
        stable(36, 6, 14),
        recordings.two_valued(37, 5, 40),
        np.round(stable(38, 4, 60)),
        with_gaps(39, rows=200),
    ],
    ids=["few windows", "fewer windows than conditions", "two-valued", "whole numbers", "gaps"],
)
def test_small_and_coarse_recordings(values):
    assert_agrees(
        pcmci(values, max_lag=2, min_lag=0, alpha=0.2), *naive.pcmci(values, 2, 0, alpha=0.2)
    )


@pytest.mark.parametrize(
    ("signals", "rows", "max_lag", "min_lag", "alpha"),
    [(3, 100, 1, 0, 0.05), (5, 200, 5, 1, 0.05), (8, 200, 2, 0, 0.01), (10, 200, 1, 1, 0.05)],
)
def test_random_systems_as_tigramite(tigramite, signals, rows, max_lag, min_lag, alpha):
    tigramite(stable(40 + signals, signals, rows, max_lag), max_lag, min_lag, alpha)


@pytest.mark.parametrize(
    "values",
    [
        recordings.two_valued(50, 5, 300),
        recordings.odd_units(51),
        recordings.offsets(52),
        quiet(53),
        with_gaps(54),
        nearly(55, 1e-3, kind="late sum"),
        nearly(56, 1e-5, kind="late copy"),
    ],
    ids=["two-valued", "units", "offsets", "constant", "gaps", "late sum", "late copy"],
)
def test_awkward_recordings_as_tigramite(tigramite, values):
    tigramite(values, 2, 0)


def test_stretches_as_tigramite(tigramite):
    tigramite(stable(57, 4, 300), 2, 1, starts=(0, 40, 45, 190))


def test_correction_for_many_tests_as_tigramite(tigramite):
    tigramite(stable(58, 6, 200), 2, 1, fdr=True)


@pytest.mark.parametrize("min_lag", [0, 1])
def test_correction_counts_every_test(min_lag):
    values = stable(59, 5, 150)
    plain = pcmci(values, max_lag=2, min_lag=min_lag)
    corrected = pcmci(values, max_lag=2, min_lag=min_lag, fdr=True)
    tested = np.ones(plain.value.shape, dtype=bool)
    tested[:, :, :min_lag] = False
    tested[np.arange(5), np.arange(5), 0] = False
    expected = plain.p_value.copy()
    expected[tested] = naive.benjamini_hochberg(plain.p_value[tested])
    np.testing.assert_allclose(corrected.p_value, expected, rtol=1e-13)
    np.testing.assert_array_equal(corrected.value, plain.value)
    assert set(corrected.graph) < set(plain.graph)


@pytest.mark.data
def test_tennessee_eastman_as_tigramite(tigramite, data_folder):
    values = np.loadtxt(data_folder / "tep" / "d00.dat").T
    assert values.shape == (500, 52)
    tigramite(values[:, 1::3], 1)


@pytest.mark.data
def test_water_circulation_as_tigramite(tigramite, data_folder):
    path = data_folder / "skab" / "anomaly-free" / "anomaly-free.csv"
    values = np.genfromtxt(path, delimiter=";", skip_header=1)[:, 1:9]
    assert values.shape == (9405, 8)
    tigramite(values[:1500], 2, 0)


def test_what_is_not_tested_is_0_and_1():
    result = pcmci(stable(60, 3, 100), max_lag=2)
    assert result.value.shape == result.p_value.shape == (3, 3, 3)
    assert not result.value[:, :, 0].any()
    assert np.all(result.p_value[:, :, 0] == 1)
    assert result.value[:, :, 1:].all()
    same_tick = pcmci(stable(60, 3, 100), max_lag=2, min_lag=0)
    each = np.arange(3)
    assert not same_tick.value[each, each, 0].any()
    np.testing.assert_allclose(same_tick.value[:, :, 0], same_tick.value[:, :, 0].T, 0, 1e-14)


def test_rows_and_moments_give_the_same_result():
    values = stable(61, 4, 200)
    rows = pcmci(values, max_lag=2, min_lag=0, signals=list("abcd"))
    moments = LaggedMoments("abcd", max_lag=2).update(values)
    for max_lag in (None, 2):
        result = pcmci(moments, max_lag=max_lag, min_lag=0)
        np.testing.assert_array_equal(result.value, rows.value)
        assert result.graph == rows.graph
        assert result.parents == rows.parents
    assert rows.windows == 196
    assert rows.signals == ("a", "b", "c", "d")


def test_the_graph_holds_the_significant_links():
    result = pcmci(stable(62, 5, 200), max_lag=2, alpha=0.05)
    found = {(int(k.source[1:]), int(k.target[1:]), k.lag) for k in result.graph}
    assert found == links_of(result.p_value, 0.05)
    for link, strength in result.graph.links.items():
        index = int(link.source[1:]), int(link.target[1:]), link.lag
        assert strength.value == result.value[index]
        assert strength.p_value == result.p_value[index]


def test_permuting_signals_permutes_the_result():
    values = stable(63, 6, 250)
    order = np.random.default_rng(63).permutation(6)
    names = np.array(list("abcdef"))
    plain = pcmci(values, max_lag=3, min_lag=0, signals=names)
    moved = pcmci(values[:, order], max_lag=3, min_lag=0, signals=names[order])
    np.testing.assert_allclose(moved.value, plain.value[np.ix_(order, order)], 0, 1e-13)
    np.testing.assert_allclose(moved.p_value, plain.p_value[np.ix_(order, order)], 0, 1e-12)
    assert moved.parents == plain.parents
    assert set(moved.graph) == set(plain.graph)


def test_the_rows_are_left_as_they_were():
    values = with_gaps(64, rows=150)
    before = values.copy()
    pcmci(values, max_lag=2)
    np.testing.assert_array_equal(values, before)


def test_threads_do_not_change_the_result(monkeypatch):
    from causewatch.kernels import parallel

    values = stable(65, 6, 150)
    monkeypatch.setattr(parallel, "_cores", lambda: 1)
    one = pcmci(values, max_lag=2)
    monkeypatch.setattr(parallel, "_cores", lambda: 4)
    four = pcmci(values, max_lag=2)
    np.testing.assert_array_equal(one.value, four.value)


def test_progress_rises_to_one_in_the_calling_thread():
    seen, threads = [], set()

    def progress(share):
        seen.append(share)
        threads.add(threading.get_ident())

    pcmci(stable(66, 5, 100), max_lag=1, progress=progress)
    assert 0 < seen[0] < seen[-1] == 1
    assert all(a < b for a, b in pairwise(seen))
    assert threads == {threading.get_ident()}


def constraints(signals, max_lag, forbidden=(), required=()):
    allowed = np.ones((signals, signals, max_lag + 1), dtype=bool)
    needed = np.zeros_like(allowed)
    for index in forbidden:
        allowed[index] = False
    for index in required:
        needed[index] = True
    return SimpleNamespace(allowed=allowed, required=needed)


def test_forbidden_links_are_neither_found_nor_conditioned_on():
    values = stable(67, 4, 300)
    free = pcmci(values, max_lag=2, min_lag=0)
    gone = [(i, j, slice(None)) for i in range(4) for j in range(4) if (i, j) in {(0, 1), (2, 2)}]
    bound = pcmci(values, max_lag=2, min_lag=0, constraints=constraints(4, 2, forbidden=gone))
    assert Link("x2", "x2", 1) in free.graph
    for i, j, _ in gone:
        assert not bound.value[i, j].any()
        assert np.all(bound.p_value[i, j] == 1)
        assert not [k for k in bound.graph if (k.source, k.target) == (f"x{i}", f"x{j}")]
        assert not [node for node in bound.parents[f"x{j}"] if node[0] == f"x{i}"]


def test_forbidding_all_links_leaves_an_empty_graph():
    nothing = constraints(3, 2, forbidden=[np.s_[:, :, :]])
    result = pcmci(stable(68, 3, 100), max_lag=2, constraints=nothing)
    assert len(result.graph) == 0
    assert result.parents == {"x0": [], "x1": [], "x2": []}


def test_required_links_are_always_there():
    values = np.random.default_rng(69).normal(size=(200, 3))
    needed = constraints(3, 2, required=[(0, 1, 2), (1, 2, 0)])
    result = pcmci(values, max_lag=2, min_lag=0, alpha=1e-6, constraints=needed)
    assert set(result.graph) == {Link("x0", "x1", 2), Link("x1", "x2", 0)}
    assert result.parents["x1"] == [("x0", 2)]
    assert result.graph[Link("x0", "x1", 2)].p_value == result.p_value[0, 1, 2] > 1e-6


def test_a_required_link_outside_the_lags_under_study_is_passed_over():
    needed = constraints(3, 2, required=[(0, 1, 0)])
    values = np.random.default_rng(70).normal(size=(100, 3))
    assert len(pcmci(values, max_lag=2, alpha=1e-9, constraints=needed).graph) == 0


def test_constraints_as_tigramite():
    pytest.importorskip("tigramite")
    from yardstick import tigramite_pcmci

    values = stable(71, 4, 200)
    rng = np.random.default_rng(71)
    bound = constraints(4, 2)
    bound.allowed[:, :, 1:] = rng.random((4, 4, 2)) < 0.7
    bound.required[:, :, 1:] = bound.allowed[:, :, 1:] & (rng.random((4, 4, 2)) < 0.1)
    assert bound.required.any()
    assumptions = {
        j: {
            (i, -lag): "-->" if bound.required[i, j, lag] else "-?>"
            for i in range(4)
            for lag in (1, 2)
            if bound.allowed[i, j, lag]
        }
        for j in range(4)
    }
    truth = tigramite_pcmci(values, 2, link_assumptions=assumptions)
    found = pcmci(values, max_lag=2, constraints=bound)
    free = bound.allowed & ~bound.required
    np.testing.assert_allclose(found.value[free], truth.value[free], 0, TOLERANCE)
    np.testing.assert_allclose(found.p_value[free], truth.p_value[free], 0, TOLERANCE)
    assert numbered(found) == truth.parents


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "max_lag is needed"),
        ({"max_lag": 0}, "max_lag is 0"),
        ({"max_lag": 1, "min_lag": 2}, "min_lag is 2"),
        ({"max_lag": 1, "min_lag": -1}, "min_lag is -1"),
        ({"max_lag": 1, "alpha": 0.0}, "alpha is 0"),
        ({"max_lag": 1, "alpha": 1.0}, "alpha is 1"),
        ({"max_lag": 1, "alpha": float("nan")}, "alpha is nan"),
        ({"max_lag": 1, "signals": ["a", "b"]}, "2 signals"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(arguments, words):
    with pytest.raises(SettingError, match=words) as caught:
        pcmci(stable(72, 3, 50), **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.zeros(10), SettingError),
        (np.zeros((10, 0)), SettingError),
        (np.zeros((4, 2)), NotEnoughDataError),
        (np.full((100, 2), np.nan), NotEnoughDataError),
    ],
)
def test_values_that_cannot_be_used_are_refused(values, kind):
    with pytest.raises(kind) as caught:
        pcmci(values, max_lag=1)
    assert isinstance(caught.value, CausewatchError)
    assert "\n" not in str(caught.value)


def test_moments_of_another_lag_are_refused():
    with pytest.raises(SettingError, match="taken for 2"):
        pcmci(LaggedMoments(2, max_lag=2).update(stable(73, 2, 50)), max_lag=3)
