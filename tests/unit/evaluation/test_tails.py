"""Return levels of series whose tails are known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from causewatch.evaluation.baselines.tails import cluster_peaks, level_of_peaks

SEEDS = range(12)

# Clusters


def naive_peaks(series, threshold, apart):
    """The rule, one tick at a time."""
    peaks, last = [], None
    for t, value in enumerate(series.tolist()):
        if value > threshold:
            if last is None or t - last > apart:
                peaks.append(value)
            peaks[-1] = max(peaks[-1], value)
            last = t
    return peaks


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, np.nan]), max_size=60), st.integers(1, 12)
)
def test_clusters_are_those_of_the_obvious_loop(values, apart):
    series = np.array(values, dtype=float)
    assert cluster_peaks(series, 1.0, apart).tolist() == naive_peaks(series, 1.0, apart)


def test_cluster_edges():
    assert len(cluster_peaks(np.empty(0), 0.0, 5)) == 0
    assert len(cluster_peaks(np.ones(5), 1.0, 5)) == 0  # above, not at
    assert cluster_peaks(np.array([2.0]), 1.0, 5).tolist() == [2.0]
    assert cluster_peaks(np.array([2.0, 3.0, 2.5]), 1.0, 5).tolist() == [3.0]
    first_and_last = np.array([4.0, 0, 0, 0, 0, 0, 5.0])
    assert cluster_peaks(first_and_last, 1.0, 5).tolist() == [4.0, 5.0]
    assert cluster_peaks(first_and_last, 1.0, 6).tolist() == [5.0]


# Peaks


def mean_level(draw, every, apart=1):
    levels = [level_of_peaks(draw(np.random.default_rng(seed)), every, apart) for seed in SEEDS]
    return np.array(levels)


@pytest.mark.parametrize("every", [1_000.0, 5_000.0, 10_000.0])
def test_peaks_recover_exponential_levels(every):
    levels = mean_level(lambda rng: rng.exponential(size=10_000), every)
    assert levels.mean() == pytest.approx(np.log(every), rel=0.06)
    assert_allclose(levels, np.log(every), rtol=0.25)


@pytest.mark.parametrize("every", [1_000.0, 5_000.0])
def test_peaks_recover_gumbel_levels(every):
    levels = mean_level(lambda rng: rng.gumbel(5.0, 0.5, size=10_000), every)
    assert levels.mean() == pytest.approx(5.0 + 0.5 * np.log(every), rel=0.03)


@pytest.mark.parametrize("every", [1_000.0, 5_000.0])
def test_peaks_recover_pareto_levels(every):
    # Heavy: P(X > x) = x^-5. The shape is pulled towards zero, so that it comes out a little low.
    levels = mean_level(lambda rng: 1.0 + rng.pareto(5.0, size=10_000), every)
    assert levels.mean() == pytest.approx(every**0.2, rel=0.12)


def test_peaks_recover_levels_of_a_bounded_series():
    levels = mean_level(lambda rng: rng.uniform(size=10_000), 5_000.0)
    assert_allclose(levels, 1.0, atol=0.02)


def test_far_out_heavy_tails_lie_far_and_bounded_ones_do_not():
    heavy = mean_level(lambda rng: 1.0 + rng.pareto(5.0, size=10_000), 100_000.0)
    assert heavy.mean() == pytest.approx(10.0, rel=0.25)
    bounded = mean_level(lambda rng: rng.uniform(size=10_000), 1_000_000.0)
    assert bounded.mean() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("heights", ["exponential", "uniform", "pareto"])
def test_the_tail_is_the_one_that_l_moments_give(heights):
    rng = np.random.default_rng(5)
    spikes = rng.pareto(4.0, size=40) if heights == "pareto" else getattr(rng, heights)(size=40)
    series = np.zeros(4_000)
    series[50::100] = spikes
    threshold = np.quantile(series, 0.99)  # just below all spikes
    excess = spikes - threshold
    mean = excess.mean()
    half_gap = np.mean([abs(a - b) for k, a in enumerate(excess) for b in excess[:k]]) / 2
    # Generalised Pareto: mean = size / (1 - shape), half_gap = mean / (2 - shape); half of the
    # shape is believed with as many peaks as this, and never more than 0.3 of it.
    shape = max(-0.3, min(0.3, (2.0 - mean / half_gap) / 2))
    expected = threshold + mean * (1.0 - shape) * ((80.0**shape) - 1.0) / shape
    assert level_of_peaks(series, 8_000.0, 10) == pytest.approx(expected, rel=1e-9)


def test_a_run_of_high_ticks_is_one_peak():
    # Each excursion lasts five ticks: the level is that of the excursions, not of the ticks.
    def draw(rng):
        return np.repeat(rng.exponential(size=4_000), 5)

    levels = mean_level(draw, 10_000.0, apart=4)
    assert levels.mean() == pytest.approx(np.log(2_000.0), rel=0.08)


def test_about_the_asked_number_of_excursions_follows():
    counts = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        level = level_of_peaks(rng.exponential(size=4_000), 2_000.0, 10)
        counts.append(len(cluster_peaks(rng.exponential(size=40_000), level, 10)))
    assert 10 < np.median(counts) < 40  # 20 were asked for


@settings(max_examples=60)
@given(
    st.integers(0, 1000),
    st.sampled_from(["exponential", "gumbel", "normal", "uniform"]),
    st.integers(2, 600),
)
def test_levels_of_peaks_rise_with_the_time_asked_for(seed, kind, ticks):
    series = getattr(np.random.default_rng(seed), kind)(size=ticks)
    # From the rarest excursions that were looked at on; see below for less.
    levels = [level_of_peaks(series, ticks * k, 10) for k in (0.2, 0.3, 0.5, 1, 2, 10, 1000)]
    assert np.isfinite(levels).all()
    assert all(a <= b + 1e-9 for a, b in pairwise(levels))


def test_levels_of_peaks_rise_with_the_time_asked_for_however_short():
    series = np.random.default_rng(0).exponential(size=10_000)
    asked = (20.0, 50.0, 100.0, 150.0, 200.0, 230.0, 260.0, 300.0, 1_000.0)
    levels = [level_of_peaks(series, every, 10) for every in asked]
    assert all(a <= b for a, b in pairwise(levels))


def test_frequent_alarms_come_as_often_as_asked():
    series = np.random.default_rng(0).exponential(size=10_000)
    count = len(cluster_peaks(series, level_of_peaks(series, 100.0, 10), 10))
    assert 50 < count < 200


def test_levels_follow_units():
    series = np.random.default_rng(3).exponential(size=2_000)
    assert level_of_peaks(100 * series + 7, 1_500.0, 10) == pytest.approx(
        100 * level_of_peaks(series, 1_500.0, 10) + 7, rel=1e-9
    )


def test_missing_values_have_no_say():
    series = np.random.default_rng(3).exponential(size=2_000)
    holes = np.insert(series, [3, 700, 1500, 2000], [np.nan, np.inf, -np.inf, np.nan])
    assert level_of_peaks(holes, 1_500.0, 10) == level_of_peaks(series, 1_500.0, 10)


@pytest.mark.parametrize("every", [1.0, 10.0, 1e6])
def test_poor_series(every):
    assert level_of_peaks(np.empty(0), every, 10) == 1.0
    assert level_of_peaks(np.full(5, np.nan), every, 10) == 1.0
    assert level_of_peaks(np.array([2.5]), every, 10) == 2.5
    assert level_of_peaks(np.full(1000, 0.7), every, 10) == 0.7
    assert level_of_peaks(np.zeros(1000), every, 10) == 0.0
    spike = np.zeros(1000)
    spike[400] = 9.0
    assert 0.0 <= level_of_peaks(spike, every, 10)
    assert np.isfinite(level_of_peaks(spike, every, 10))
    two_valued = np.tile([0.0] * 30 + [1.0], 40)  # all peaks are the same
    assert level_of_peaks(two_valued, every, 10) == pytest.approx(1.0)
