"""Nearest-neighbour information against a slow, obvious twin and against tigramite."""

from __future__ import annotations

import importlib.util
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma
from scipy.stats import rankdata

from causewatch.kernels import neighbours as kernel


def naive_counts(x, y, z, neighbours):
    """For each point, how many are strictly closer than its k-th neighbour: xyz, xz, yz, z."""
    points = [[x[i], y[i], *z[i]] for i in range(len(y))]
    subspaces = [range(2 + z.shape[1]), [0, *range(2, 2 + z.shape[1])]]
    subspaces += [range(1, 2 + z.shape[1]), range(2, 2 + z.shape[1])]

    def apart(i, j, axes):
        return max((abs(float(points[i][a]) - float(points[j][a])) for a in axes), default=0.0)

    counts = []
    for i in range(len(points)):
        others = sorted(apart(i, j, subspaces[0]) for j in range(len(points)) if j != i)
        radius = others[neighbours - 1]
        row = []
        for axes in subspaces:
            distances = [apart(i, j, axes) for j in range(len(points))]
            row.append(sum(d < radius or d == 0 for d in distances))
        counts.append(row)
    return np.array(counts)


def naive_information(x, y, z, neighbours):
    xyz, xz, yz, condition = digamma(naive_counts(x, y, z, neighbours)).T
    return np.mean(xyz - xz - yz + condition)


@given(
    seed=st.integers(0, 10_000),
    points=st.integers(4, 24),
    conditions=st.integers(0, 3),
    levels=st.sampled_from([1, 2, 3, 10, 1000]),
    whole=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_information_is_that_of_the_slow_twin(seed, points, conditions, levels, whole):
    rng = np.random.default_rng(seed)
    data = rng.integers(0, levels, size=(points, 2 + conditions)).astype(float)
    data = kernel.doubled_ranks(data) if whole else data * 0.3
    xs = np.stack([data[:, 0], rng.permutation(data[:, 0])])
    neighbours = int(rng.integers(1, points))
    found = kernel.information(xs, data[:, 1], data[:, 2:], neighbours)
    expected = [naive_information(x, data[:, 1], data[:, 2:], neighbours) for x in xs]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_blocks_of_points_change_nothing(monkeypatch):
    data = kernel.doubled_ranks(np.random.default_rng(0).normal(size=(50, 4)))
    whole = kernel.information(data[None, :, 0], data[:, 1], data[:, 2:], 5)
    monkeypatch.setattr(kernel, "MOST_PAIRS", 7 * 50)
    np.testing.assert_allclose(
        kernel.information(data[None, :, 0], data[:, 1], data[:, 2:], 5), whole, atol=1e-14
    )


def test_information_of_a_gaussian_pair_is_close_to_the_formula():
    rng = np.random.default_rng(3)
    x, noise = rng.normal(size=(2, 1500))
    y = 0.8 * x + 0.6 * noise
    found = kernel.information(x[None], y, np.empty((1500, 0)), 5)[0]
    assert found == pytest.approx(-0.5 * np.log(1 - 0.8**2), abs=0.05)


def test_information_of_two_coins_is_close_to_log_2():
    coin = np.random.default_rng(4).integers(0, 2, 400).astype(np.int16)
    found = kernel.information(coin[None], coin, np.empty((400, 0), dtype=np.int16), 40)[0]
    assert found == pytest.approx(np.log(2), abs=0.02)


@given(values=st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_doubled_ranks_are_twice_the_mean_ranks(values):
    column = np.array(values, dtype=float)
    ranks = kernel.doubled_ranks(np.column_stack([column, -column]))
    np.testing.assert_array_equal(ranks[:, 0], 2 * rankdata(column) - 2)
    np.testing.assert_array_equal(ranks[:, 1], 2 * rankdata(-column) - 2)


def test_many_points_need_wider_ranks():
    assert kernel.doubled_ranks(np.arange(20_000.0)[:, None]).max() == 2 * 19_999


def test_nearest_finds_the_nearest_and_breaks_ties_at_random():
    rng = np.random.default_rng(0)
    line = kernel.doubled_ranks(np.arange(30.0)[:, None])
    assert [set(row) for row in kernel.nearest(line, 3, rng)[1:-1]] == [
        {i - 1, i, i + 1} for i in range(1, 29)
    ]
    two = np.repeat([[0], [40]], 20, axis=0)
    found = kernel.nearest(two, 5, rng)
    assert all((row < 20).all() == (i < 20) for i, row in enumerate(found))
    assert len(np.unique(found)) > 35  # not the same five for everybody
    assert all(i in row for i, row in enumerate(found))


def test_local_shuffles_stay_local_and_are_almost_permutations():
    rng = np.random.default_rng(1)
    candidates = kernel.nearest(kernel.doubled_ranks(rng.normal(size=(300, 1))), 5, rng)
    shuffles = kernel.local_shuffles(candidates, 50, rng)
    assert shuffles.shape == (50, 300)
    assert (shuffles[:, :, None] == candidates[None]).any(axis=2).all()
    used = np.mean([len(set(row)) / 300 for row in shuffles])
    assert used > 0.9
    stays = (shuffles == np.arange(300)).mean()
    assert stays == pytest.approx(0.2, abs=0.03)
    assert len({tuple(row) for row in shuffles}) == 50


def test_local_shuffles_among_two_are_swaps():
    pairs = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])
    shuffles = kernel.local_shuffles(pairs, 200, np.random.default_rng(2))
    # Both may ask for the same one first; the loser then gets the other one.
    assert all(set(row[:2]) == {0, 1} and set(row[2:]) == {2, 3} for row in shuffles)
    assert 0.3 < (shuffles[:, 0] == 1).mean() < 0.7


@pytest.fixture
def tigramite_information(monkeypatch):
    """The value of tigramite's test; numba, which only makes it faster, may be absent."""
    if importlib.util.find_spec("numba") is None:
        numba = types.ModuleType("numba")
        numba.jit = lambda **options: lambda function: function
        monkeypatch.setitem(sys.modules, "numba", numba)
    cmiknn = pytest.importorskip("tigramite.independence_tests.cmiknn")

    def value(data, neighbours, transform):
        test = cmiknn.CMIknn(knn=neighbours, transform=transform, workers=1)
        roles = np.array([0, 1] + [2] * (data.shape[1] - 2))
        return test.get_dependence_measure(data.T.copy(), roles)

    return value


@pytest.mark.parametrize("conditions", [0, 1, 3])
def test_information_is_that_of_tigramite(tigramite_information, conditions):
    rng = np.random.default_rng(conditions)
    data = rng.normal(size=(120, 2 + conditions))
    data[:, 1] += data[:, 0] ** 2
    x, y, z = data[:, 0], data[:, 1], data[:, 2:]
    assert kernel.information(x[None], y, z, 12)[0] == pytest.approx(
        tigramite_information(data, 12, False), abs=1e-9
    )
    # Among ranks distances tie. We count the points closer than the k-th neighbour, tigramite
    # takes their number to be k: that is the whole difference.
    ranks = kernel.doubled_ranks(data)
    closer = naive_counts(*ranks.T[:2], ranks[:, 2:], 12)[:, 0]
    assert (closer < 12).any()
    theirs = tigramite_information(data, 12, "ranks") + np.mean(digamma(closer) - digamma(12))
    ours = kernel.information(ranks[None, :, 0], ranks[:, 1], ranks[:, 2:], 12)[0]
    assert ours == pytest.approx(theirs, abs=1e-9)
