"""What the statistics of a signal see, and what they do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import DetectorSettings, Limits
from causewatch.detectors.statistics import (
    MeanSquare,
    Observed,
    Standstill,
    WeightedMean,
    changed,
    statistics_of,
)


def tick(innovation, known=None):
    """A tick of which only innovations matter."""
    innovation = np.array(innovation, dtype=float)
    everything = np.ones(len(innovation), dtype=bool)
    known = everything if known is None else np.array(known)
    return Observed(innovation, everything, np.where(known, innovation, 0.0), known)


def shown(values, fresh=None):
    """A tick of which only values matter."""
    values = np.array(values, dtype=float)
    fresh = np.ones(len(values), dtype=bool) if fresh is None else np.array(fresh)
    return Observed(values, fresh, np.zeros(len(values)), np.ones(len(values), dtype=bool))


def mean(memory, *most):
    """A mean that takes everything if nothing else is said."""
    return WeightedMean(memory, np.array(most or (np.inf,), dtype=float))


def square(memory, *most):
    return MeanSquare(memory, np.array(most or (np.inf,), dtype=float))


def every_kind(number):
    moving = np.ones(number, dtype=bool)
    return [
        WeightedMean(8, np.full(number, 20.0)),
        MeanSquare(8, np.full(number, 9.0)),
        Standstill(moving, number / 2),
    ]


def limits_of(rows, moving=1.0, **numbers):
    """Limits of which only those of statistics matter."""
    table = np.array(rows, dtype=float)
    signals = table.shape[1]
    unseen = np.full(signals, np.nan)
    return Limits(
        table, moving, np.empty(0), np.zeros(signals), np.ones(signals), unseen, unseen, 100.0,
        100.0, DetectorSettings(**numbers),
    )  # fmt: skip


# Means and squares


@given(st.integers(1, 64), st.integers(1, 50), st.floats(-20, 20))
def test_a_mean_comes_closer_by_the_share_of_its_memory(memory, ticks, value):
    statistic = mean(memory)
    for _ in range(ticks):
        size = statistic.step(tick([value]))
    assert_allclose(size, [abs(value) * (1 - (1 - 1 / memory) ** ticks)], rtol=1e-9, atol=1e-12)


def test_a_mean_over_one_tick_is_the_tick():
    statistic = mean(1, np.inf, np.inf)
    for value in (3.0, -7.0, 0.1):
        assert_allclose(statistic.step(tick([value, -value])), abs(value), rtol=1e-12)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5), st.floats(-20, 20))
@example([1e17], 0.5)
@example([-1e300, 3.0, 1e17], 0.1)
def test_of_a_wild_value_nothing_is_left_after_the_memory(wild, value):
    statistic = mean(1)
    for size in wild:
        assert_array_equal(statistic.step(tick([size])), abs(size))
    assert_array_equal(statistic.step(tick([value])), abs(value))  # to the last digit
    longer = mean(2, 1e17)
    for size in wild:
        longer.step(tick([size]))
    for _ in range(200):
        size = longer.step(tick([value]))
    assert_allclose(size, abs(value), rtol=1e-12, atol=1e-40)


def test_a_mean_square_is_an_amplitude_that_begins_at_one():
    statistic = square(8, 9.0, 9.0)
    for _ in range(30):
        size = statistic.step(tick([1.0, -1.0]))
        assert_allclose(size, 1.0)
    for _ in range(200):
        size = statistic.step(tick([3.0, -3.0]))
    assert_allclose(size, 3.0, rtol=1e-6)


def test_squares_count_up_to_where_they_are_cut_by_signal():
    statistic = square(8, 9.0, 4.0, 9.0)
    sizes = np.sqrt([(7 + 81) / 8, (7 + 16) / 8, (7 + 64) / 8])
    assert_allclose(statistic.step(tick([20.0, -1e150, 8.0])), sizes, rtol=1e-15)


def test_means_count_up_to_where_they_are_cut_by_signal_and_on_both_sides():
    statistic = mean(8, 20.0, 4.0, 20.0)
    assert_array_equal(statistic.step(tick([1e300, -7.0, 8.0])), [2.5, 0.5, 1.0])
    assert_array_equal(statistic.state, [2.5, -0.5, 1.0])


def test_noise_that_doubles_shows_in_squares_and_an_offset_in_means():
    rng = np.random.default_rng(0)
    offset, noisy = mean(8, 20.0, 20.0), square(8, 9.0, 9.0)
    means, squares = [], []
    for noise in rng.normal(size=(400, 2)):
        now = tick([2.5 * noise[0], noise[1] + 1.5])
        means.append(offset.step(now).copy())
        squares.append(noisy.step(now).copy())
    assert np.mean(squares, axis=0)[0] > 2.2
    assert np.mean(means, axis=0)[1] > 1.4


def test_statistics_of_innovations_stay_where_nothing_is_known():
    for statistic in every_kind(2)[:2]:
        before = statistic.step(tick([5.0, 5.0])).copy()
        after = statistic.step(tick([9.0, 9.0], known=[False, True]))
        assert after[0] == before[0]
        assert after[1] > before[1]


def test_resetting_begins_again_for_some_signals():
    for statistic in every_kind(2):
        fresh = statistic.state.copy()
        for value in (5.0, 6.0, 7.0):
            statistic.step(tick([value, -value]))
            statistic.step(tick([value, value + 0.5]))
        before = statistic.state.copy()
        statistic.reset(np.array([True, False]))
        assert_array_equal(statistic.state, [fresh[0], before[1]])


# Standing still


def test_ticks_of_standing_still_count_while_others_move():
    statistic = Standstill(np.ones(3, dtype=bool), 2.0)
    for k in range(6):
        sizes = statistic.step(shown([4.0, k, -k]))
        assert_array_equal(sizes, [k, 0.0, 0.0])
    assert_array_equal(statistic.step(shown([4.5, 9.0, 9.0])), [0.0, 0.0, 0.0])


def test_when_little_moves_a_tick_counts_little():
    statistic = Standstill(np.ones(5, dtype=bool), 4.0)
    statistic.step(shown([0.0] * 5))
    assert_array_equal(statistic.step(shown([0, 1, 0, 0, 0])), [0.25, 0.0, 0.25, 0.25, 0.25])
    assert_array_equal(statistic.step(shown([0, 2, 1, 1, 1]))[0], 1.25)


def test_when_the_whole_plant_stands_still_nothing_is_stuck():
    statistic = Standstill(np.ones(3, dtype=bool), 2.0)
    for _ in range(100):
        assert_array_equal(statistic.step(shown([1.0, 2.0, 3.0])), 0.0)


def test_signals_that_may_stand_still_are_no_movement():
    statistic = Standstill(np.array([True, True, False]), 1.0)
    statistic.step(shown([1.0, 2.0, 0.0]))
    assert_array_equal(statistic.step(shown([1.0, 2.0, 1.0])), 0.0)
    assert_array_equal(statistic.step(shown([1.0, 3.0, 1.0])), [1.0, 0.0, 1.0])


def test_what_is_held_or_missing_neither_moves_nor_stands_still():
    statistic = Standstill(np.ones(2, dtype=bool), 1.0)
    for k in range(4):
        statistic.step(shown([5.0, k]))
    for k in range(4):
        sizes = statistic.step(shown([5.0, 10.0 + k], fresh=[False, True]))
        assert_array_equal(sizes, 0.0)
        sizes = statistic.step(shown([np.nan, 20.0 + k]))
        assert_array_equal(sizes, 0.0)
    assert_array_equal(statistic.step(shown([5.0, 30.0])), [4.0, 0.0])  # it goes on
    assert_array_equal(statistic.step(shown([5.1, 31.0])), [0.0, 0.0])


def test_the_last_digit_is_no_movement():
    statistic = Standstill(np.ones(2, dtype=bool), 1.0)
    rows = np.full(10, 0.1)
    values = [rows[:9].mean(), rows.mean(), rows[:7].mean(), np.nextafter(0.1, 1.0)]
    assert len(set(values)) > 1
    for k, value in enumerate(values):
        sizes = statistic.step(shown([value, k]))
    assert_array_equal(sizes, [3.0, 0.0])


def test_changed_is_never_said_of_what_is_missing():
    values = np.array([1.0, 1.0, np.nan, np.nan, 0.0, 0.0, np.inf])
    before = np.array([1.0, 1.1, 1.0, np.nan, 0.0, 1e-300, 1.0])
    assert_array_equal(changed(values, before), [False, True, False, False, False, True, False])


# All of them


def test_the_standstill_comes_last_and_memories_as_they_are_set():
    limits = limits_of([[9.0, 9.0]] * 6, means=(1, 3, 9), squares=(4, 5))
    others, standstill = statistics_of(limits)
    assert isinstance(standstill, Standstill)
    kinds = [WeightedMean] * 3 + [MeanSquare] * 2
    assert [type(statistic) for statistic in others] == kinds
    sizes = [float(statistic.step(tick([9.0, 9.0]))[0]) for statistic in others]
    assert_allclose(sizes, [9, 3, 1, math.sqrt((3 + 81) / 4), math.sqrt((4 + 81) / 5)])


def test_what_enters_a_memory_is_cut_at_three_times_its_own_limit():
    rows = [[1.0, 2.0], [1.0, 2.0], [2.5, 3.0], [5.0, 4.0], [4.5, 3.5], [1.0, 1.0]]
    limits = limits_of(rows, means=(1, 3, 9), squares=(4, 5))
    others, _ = statistics_of(limits)
    sizes = [statistic.step(tick([1e9, -1e9])) for statistic in others]
    assert_array_equal(sizes[0], 1e9)  # one tick has nothing to forget
    assert_allclose(sizes[1], [3 * 1.0 / 3, 3 * 2.0 / 3])
    assert_allclose(sizes[2], [3 * 2.5 / 9, 3 * 3.0 / 9])
    assert_allclose(sizes[3] ** 2, [(3 + 3 * 5.0**2) / 4, (3 + 3 * 4.0**2) / 4])
    assert_allclose(sizes[4] ** 2, [(4 + 3 * 4.5**2) / 5, (4 + 3 * 3.5**2) / 5])
    for size, row in zip(sizes[1:], rows[1:-1], strict=True):  # one tick passes no limit
        assert (size <= row).all()


def test_where_memories_are_cut_is_a_setting_and_a_single_tick_is_whatever_its_place():
    limits = limits_of([[1.5], [1.5], [np.inf]], means=(4, 1), squares=(), memory_cut=5.0)
    others, _ = statistics_of(limits)
    sizes = [float(statistic.step(tick([100.0]))[0]) for statistic in others]
    assert sizes == [5.0 * 1.5 / 4, 100.0]


def test_without_a_limit_nothing_is_ever_infinite():
    """Of a signal that was never judged, whatever it brings, something finite is said."""
    others, _ = statistics_of(limits_of([[np.inf]] * 4))
    for statistic in others:
        for value in (1e300, -1e300, 1.7e308, -1.7e308, 1e160, 0.0, 1.0):
            with np.errstate(over="ignore"):
                size = statistic.step(tick([value]))
            assert np.isfinite(size).all()
            assert np.isfinite(statistic.state).all()


def test_only_signals_with_a_limit_of_standing_still_are_looked_at():
    _, standstill = statistics_of(limits_of([[9.0] * 3] * 3 + [[1.0, np.inf, 1.0]], moving=2.0))
    for k in range(4):
        sizes = standstill.step(shown([5.0, k, k]))
    assert_array_equal(sizes, [1.5, 0.0, 0.0])  # of two that usually move, one does


@given(
    st.integers(0, 10_000),
    st.permutations(range(5)),
)
def test_signals_are_kept_apart(seed, order):
    """Each is what it is in any order, and of means and squares on its own as well."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(30, 5)), 0)
    values[rng.random(values.shape) < 0.1] = np.nan
    known = np.isfinite(values)
    left = np.where(known, values, 0.0)
    plain, turned = every_kind(5), every_kind(5)
    alone = every_kind(1)[:2]
    for t in range(len(values)):
        now = Observed(values[t], known[t], left[t], known[t])
        other = Observed(*(array[list(order)] for array in now))
        single = Observed(*(array[:1] for array in now))
        sizes = [statistic.step(now) for statistic in plain]
        for size, statistic in zip(sizes, turned, strict=True):
            assert_array_equal(statistic.step(other), size[list(order)])
        for size, statistic in zip(sizes[:2], alone, strict=True):
            assert_array_equal(statistic.step(single), size[:1])
        assert all((size >= 0).all() and np.isfinite(size).all() for size in sizes)


@pytest.mark.parametrize("number", [0, 1])
def test_few_signals(number):
    for statistic in every_kind(number):
        assert statistic.step(tick(np.zeros(number))).shape == (number,)
        assert statistic.step(shown(np.full(number, np.nan))).shape == (number,)
