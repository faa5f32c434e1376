"""The test of features: what it sees, how sure it is, and that it is made of sums."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_discoverers import discover

import naive
from causewatch.discovery import (
    BlockCorrelation,
    FeatureMoments,
    LaggedMoments,
    Pcmci,
    feature_maps,
    pcmci,
)
from causewatch.discovery.features import (
    FEWEST_TICKS,
    MOST_KNOTS,
    MOST_SAMPLED,
    FeatureMap,
    sampled,
)
from causewatch.errors import ModelFileError, NotEnoughDataError, SettingError
from causewatch.simulate import random_system


def bent(seed=0, rows=800):
    """Each signal drives the next one by its size alone: no straight line shows it."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, 4))
    for t in range(1, rows):
        values[t, 1] += 0.7 * (values[t - 1, 0] ** 2 - 1)
        values[t, 2] += np.abs(values[t - 1, 1])
        values[t, 3] += 0.4 * values[t - 1, 3] - 0.6 * values[t - 1, 2]
    return values


def moments_of(values, max_lag=2, maps=None):
    maps = feature_maps(values) if maps is None else maps
    return FeatureMoments(values.shape[1], max_lag=max_lag, maps=maps).update(values)


def test_it_sees_what_no_straight_line_shows():
    values = bent()
    links = {str(link) for link in pcmci(values, max_lag=2, alpha=1e-3, test="features").graph}
    straight = {str(link) for link in pcmci(values, max_lag=2, alpha=1e-3).graph}
    assert {"x0 →(1) x1", "x1 →(1) x2", "x2 →(1) x3", "x3 →(1) x3"} <= links
    assert "x0 →(1) x1" not in straight


def test_a_value_is_signed_where_the_dependence_is_straight():
    result = pcmci(bent(), max_lag=2, alpha=1e-3, test="features")
    assert result.value[2, 3, 1] < -0.4
    assert result.value[0, 1, 1] > 0.4


def test_it_agrees_with_least_squares_on_the_features():
    values = bent(1, rows=150)
    values[:, 3] = np.sign(values[:, 3])
    test = BlockCorrelation(moments_of(values))
    maps = feature_maps(values)
    nodes = {
        node: maps[node[0]](column.astype(float))
        for node, column in naive.lagged_columns(values, 2).items()
    }
    for x, y, z in [
        ((0, 1), (1, 0), []),
        ((3, 1), (1, 0), [(0, 1), (2, 2)]),
        ((1, 1), (3, 0), [(3, 1), (2, 1), (0, 3)]),
    ]:
        parts = [nodes[node] for node in (*z, x, y)]
        ends = np.cumsum([part.shape[1] for part in parts])
        given, own = range(ends[-3] if z else 0), range(ends[-3] if z else 0, ends[-2])
        expected = naive.log_wilks(
            np.hstack(parts), list(given), list(own), list(range(ends[-2], ends[-2] + 1))
        )
        value, p_value = test.test(x, y, z)
        assert value**2 == pytest.approx(-np.expm1(expected), rel=1e-6)
        assert 0.0 <= p_value <= 1.0


def test_given_others_asks_the_same_as_single_questions():
    values = bent(2, rows=200)
    test = BlockCorrelation(moments_of(values))
    ordered = np.array([4, 5, 6, 7, 8])  # lag 1 of all, lag 2 of the first
    for depth in (0, 1, 3):
        values_, dependent = test.given_others(2, ordered, depth, 0.01)
        for place, node in enumerate(ordered):
            others = [other for other in ordered[: depth + 1] if other != node][:depth]
            value, p_value = test.test(
                (node % 4, node // 4), (2, 0), [(other % 4, other // 4) for other in others]
            )
            assert values_[place] == pytest.approx(value, rel=1e-7)
            assert dependent[place] == (p_value <= 0.01)


def test_two_valued_signals_are_tested_as_the_linear_test_does():
    values = (np.random.default_rng(3).random((400, 3)) < 0.3).astype(float)
    values[1:, 1] = np.where(
        np.random.default_rng(4).random(399) < 0.8, values[:-1, 0], values[1:, 1]
    )
    ours, linear = (pcmci(values, max_lag=2, test=test) for test in ("features", "linear"))
    assert_allclose(ours.p_value, linear.p_value, rtol=1e-5)
    signed = linear.p_value <= 0.01
    assert_allclose(ours.value[signed], linear.value[signed], rtol=1e-5)


@pytest.mark.parametrize("tails", ["normal", "heavy", "two values"])
def test_independent_signals_are_linked_as_often_as_was_asked(tails):
    count = tested = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        values = np.zeros((400, 5))
        noise = random.standard_t(2, size=values.shape) if tails == "heavy" else None
        noise = random.normal(size=values.shape) if noise is None else noise
        flips = random.random(values.shape) < 0.15
        for t in range(1, len(values)):
            before = values[t - 1]
            values[t] = (
                np.where(flips[t], 1 - before, before)
                if tails == "two values"
                else 0.8 * before + noise[t]
            )
        p_values = pcmci(values, max_lag=2, test="features").p_value[:, :, 1:]
        others = p_values[~np.eye(5, dtype=bool)]
        count, tested = count + np.count_nonzero(others <= 0.05), tested + others.size
    # 480 tests: three standard errors about one and a half times the level.
    assert count / tested < 1.5 * 0.05 + 3 * np.sqrt(0.05 * 0.95 / tested)


def test_long_recordings_of_linear_systems_make_no_false_links():
    """The square of a sum of causes holds their products, which single conditions do not."""
    wrong = tested = 0
    for seed in range(2):
        system = random_system(8, max_lag=3, seed=seed)
        values = system.simulate(20_000, seed=seed + 100).values
        result = pcmci(values, max_lag=3, alpha=0.001, parents_alpha=0.2, test="features")
        others = np.ones(result.value.shape, dtype=bool)
        others[:, :, 0] = False
        for edge in system.edges:
            others[edge.source, edge.target, edge.lag] = False
            assert result.p_value[edge.source, edge.target, edge.lag] <= 0.001
        wrong += np.count_nonzero(result.p_value[others] <= 0.001)
        tested += np.count_nonzero(others)
    assert wrong / tested < 0.01


def test_pieces_and_stretches_add_up_to_the_whole():
    values = bent(5, rows=300)
    values[120, 2] = np.nan
    maps = feature_maps(values)
    whole = moments_of(values, maps=maps)
    pieces = FeatureMoments(4, max_lag=2, maps=maps)
    for start in range(0, 300, 37):
        pieces.update(values[start : start + 37])
    first, second = moments_of(values[:150], maps=maps), moments_of(values[146:], maps=maps)
    expected = pcmci(whole)
    for other in (pieces, first.merge(second)):
        assert other.windows == whole.windows
        assert_allclose(pcmci(other, test="features").value, expected.value, atol=1e-9)


def test_moments_of_other_features_do_not_merge():
    values = bent(6)
    with pytest.raises(SettingError, match="other features cannot be merged"):
        moments_of(values).merge(moments_of(values * 2))


def test_stored_moments_go_on(tmp_path):
    values = bent(7, rows=300)
    maps = feature_maps(values)
    first = moments_of(values[:200], maps=maps)
    first.save(tmp_path / "features.npz")
    again = FeatureMoments.load(tmp_path / "features.npz").update(values[200:])
    assert_allclose(pcmci(again).value, pcmci(moments_of(values, maps=maps)).value, atol=1e-12)


def test_what_is_no_file_of_features_says_so(tmp_path):
    LaggedMoments(2, max_lag=1).save(tmp_path / "linear.npz")
    with pytest.raises(ModelFileError):
        FeatureMoments.load(tmp_path / "linear.npz")


def test_features_are_uncorrelated_and_of_variance_one():
    values = np.random.default_rng(8).standard_t(2, size=(5000, 1))
    (feature,) = feature_maps(values)
    table = feature(values[:, 0])
    assert len(feature.knots) <= MOST_KNOTS
    assert_allclose(table.mean(axis=0), 0.0, atol=0.01)
    assert_allclose(np.cov(table.T), np.eye(4), atol=0.02)
    order = np.argsort(values[:, 0])
    assert (np.diff(table[order, 0]) >= 0).all()


def test_a_signal_with_few_values_has_a_feature_for_each_but_one():
    values = np.repeat([3.0, 1.0, 7.0], [50, 30, 20])
    (feature,) = feature_maps(values[:, None])
    table = feature(np.array([1.0, 3.0, 7.0]))
    assert table.shape == (3, 2)
    assert np.linalg.matrix_rank(np.column_stack([table, np.ones(3)])) == 3


def test_a_rare_value_has_no_feature_of_its_own():
    values = np.repeat([0.0, 1.0, 2.0], [50, 50, FEWEST_TICKS - 1])
    assert feature_maps(values[:, None])[0].table.shape[1] == 2  # the rank, and 0 or 1


def test_constants_and_gaps_change_nothing():
    values = bent(9)
    wider = np.column_stack([values, np.full(len(values), 3.0)])
    plain, other = (pcmci(rows, max_lag=1, test="features") for rows in (values, wider))
    assert_allclose(other.value[:4, :4], plain.value, atol=1e-9)
    assert (other.p_value[4] == 1).all()
    assert (other.p_value[:, 4] == 1).all()
    wider[100, 4] = np.nan
    assert pcmci(wider, max_lag=1, test="features").windows == plain.windows - 3


def test_a_copy_of_a_signal_is_sound():
    values = bent(10)
    result = pcmci(np.column_stack([values, 2 * values[:, 0]]), max_lag=1, test="features")
    assert np.isfinite(result.value).all()
    assert np.isfinite(result.p_value).all()


def test_too_little_is_an_error_that_says_so():
    with pytest.raises(NotEnoughDataError, match="Only 1 windows of 5 ticks"):
        pcmci(np.random.default_rng(0).normal(size=(5, 2)), max_lag=2, test="features")
    with pytest.raises(SettingError, match="1 dimension"):
        feature_maps([1.0, 2.0])
    with pytest.raises(SettingError, match="There are 1 feature maps for 2 signals"):
        FeatureMoments(2, max_lag=1, maps=[FeatureMap(np.zeros(1), np.empty((1, 0)))])
    with pytest.raises(SettingError, match="any number of rows × 2 signals"):
        moments_of(np.zeros((50, 2))).update(np.zeros((3, 5)))


def test_moments_have_a_test_of_their_own():
    moments = LaggedMoments(2, max_lag=1).update(np.random.default_rng(0).normal(size=(50, 2)))
    with pytest.raises(SettingError, match="those of the test 'linear'"):
        pcmci(moments, test="features")


def test_pcmci_takes_every_test_by_name():
    values = random_system(4, kind="linear", seed=1).simulate(300, seed=2).values
    for name in ("linear", "features", "rank"):
        expected = discover(Pcmci(alpha=0.05, test=name), values, max_lag=2)
        assert pcmci(values, max_lag=2, test=name).graph == expected


def test_rows_are_sampled_evenly_from_any_pieces():
    rows = np.arange(5 * MOST_SAMPLED, dtype=float)[:, None]
    whole = sampled([rows])
    pieces = sampled(np.array_split(rows, 77))
    assert MOST_SAMPLED <= len(pieces) <= 2 * MOST_SAMPLED
    assert len(np.unique(np.diff(pieces[:, 0]))) == 1
    assert len(np.unique(np.diff(whole[:, 0]))) == 1
    assert len(sampled([])) == 0
