"""Signals that stood still are held against their range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import GuardRanges, Guards


def guards(low, high):
    return Guards(GuardRanges(np.array(low, dtype=float), np.array(high, dtype=float)))


def beyond(margins):
    """Evidence of a signal so many margins outside its range."""
    return 1.0 + np.log(margins)


FARTHEST = pytest.approx(beyond(1e12))
"""As far outside as is told apart."""


def test_evidence_is_one_at_the_margin():
    watch = guards([2.0, 0.0], [6.0, 1.0])  # half the range is allowed: 2 and 0.5
    assert_array_equal(watch.update(np.array([4.0, 0.5])), [0.0, 0.0])
    assert_array_equal(watch.update(np.array([2.0, 1.0])), [0.0, 0.0])
    assert_array_equal(watch.update(np.array([8.0, -0.5])), [1.0, 1.0])
    # Beyond one it grows with the order of magnitude.
    assert_allclose(watch.update(np.array([7.0, 2.0])), [0.5, beyond(2.0)])
    assert_allclose(watch.update(np.array([26.0, -500.0])), [beyond(10.0), beyond(1000.0)])
    assert_allclose(watch.update(np.array([6.0 + 2e6, -5e8])), [beyond(1e6), beyond(1e9)])
    assert_array_equal(watch.expected(), [4.0, 0.5])


def test_a_signal_without_any_range():
    watch = guards([1000.0, 0.0, -50.0], [1000.0, 0.0, -50.0])
    assert_array_equal(watch.update(np.array([1000.0, 0.0, -50.0])), 0.0)
    assert_allclose(watch.update(np.array([1001.0, 1e-9, -50.05])), 1.0)
    assert_allclose(watch.update(np.array([999.5, 1e-3, -49.9])), [0.5, beyond(2.0), beyond(2.0)])


def test_a_step_from_nothing_counts_as_much_as_one_to_nothing():
    watch = guards([0.0, 1.0], [0.0, 1.0])
    assert_allclose(watch.update(np.array([1.0, 0.0])), beyond(1000.0))
    assert_allclose(watch.update(np.array([0.5, 0.5])), beyond(500.0))  # averaged over a tick
    found = watch.update(np.array([1e-6, 1.0]))
    assert found[0] > 1.0  # any departure is one


def test_missing_is_nan_and_no_guards_is_nothing():
    watch = guards([0.0, 0.0], [1.0, 1.0])
    assert_allclose(watch.update(np.array([np.nan, 3.0])), [np.nan, beyond(4.0)])
    assert len(watch) == 2
    empty = guards([], [])
    assert len(empty) == 0
    assert empty.update(np.empty(0)).shape == (0,)
    assert empty.expected().shape == (0,)


def test_accepting_takes_the_last_value_seen_and_only_for_that_signal():
    watch = guards([0.0, 0.0], [0.0, 0.0])
    five, three, one = (pytest.approx(beyond(far / 1e-3)) for far in (5.0, 3.0, 1.0))
    watch.accept(0)  # nothing was seen yet
    assert watch.update(np.array([5.0, 5.0])).tolist() == [five, five]
    watch.update(np.array([np.nan, np.nan]))
    watch.accept(0)
    assert watch.update(np.array([5.0, 5.0])).tolist() == [0.0, five]
    assert watch.update(np.array([0.0, 0.0])).tolist() == [0.0, 0.0]  # what was normal still is
    assert watch.update(np.array([3.0, 3.0])).tolist() == [0.0, three]
    assert watch.update(np.array([-1.0, 6.0]))[0] == one
    watch.accept(0)
    assert watch.update(np.array([-1.0, 6.0]))[0] == 0.0
    assert watch.update(np.array([5.0, 6.0]))[0] == 0.0


def test_accepting_does_not_touch_the_ranges_it_was_given():
    ranges = GuardRanges(np.zeros(1), np.zeros(1))
    watch = Guards(ranges)
    watch.update(np.array([5.0]))
    watch.accept(0)
    assert ranges.high[0] == 0.0


def test_infinite_values_are_missing_and_never_accepted():
    watch = guards([0.0, 0.0], [1.0, 0.0])
    for value in (np.inf, -np.inf):
        assert np.isnan(watch.update(np.full(2, value))).all()
    watch.accept(0)
    assert watch.update(np.full(2, 1e290)).tolist() == [FARTHEST, FARTHEST]
    assert_array_equal(watch.expected(), [0.5, 0.0])


def test_the_largest_numbers_do_not_overflow():
    watch = guards([0.0, -1.7e308], [0.0, -1.7e308])
    for value in (1.7e308, -1.7e308):
        found = watch.update(np.full(2, value))
        assert found[0] == FARTHEST
        assert np.isfinite(found).all()


def test_a_signal_without_a_known_range_is_unknown():
    watch = guards([np.nan], [np.nan])
    assert np.isnan(watch.update(np.array([1.0])))
    assert np.isnan(watch.expected()).all()


values = st.lists(
    st.tuples(st.sampled_from([-2.0, 0.0, 0.4, 7.0, np.nan]), st.booleans()), max_size=20
)


@given(values, values)
def test_a_restored_guard_has_the_same_future(before, after):
    def run(watch, ticks):
        found = []
        for value, accepted in ticks:
            found.append(watch.update(np.array([value])).tolist())
            if accepted:
                watch.accept(0)
        return found

    whole, again = guards([0.0], [1.0]), guards([0.0], [1.0])
    run(whole, before)
    again.restore(whole.snapshot())
    assert_array_equal(run(whole, after), run(again, after))
    assert_array_equal(whole.expected(), again.expected())


def test_a_twin_is_held_against_the_signal_it_was_always_equal_to():
    ranges = GuardRanges(np.array([1.0, 0.0]), np.array([2.0, 0.0]), np.array([3, -1]))
    watch = Guards(ranges)
    others = np.array([9.0, 9.0, 9.0, 2.0])
    together = watch.update(np.array([2.0, 0.0]), others)
    assert_array_equal(together, [0.0, 0.0])
    assert_array_equal(watch.expected(), [2.0, 0.0])
    # Inside its range, but not where its twin is: twenty times the margin of a twentieth.
    assert_allclose(watch.update(np.array([1.0, 0.0]), others), [beyond(20.0), 0.0])
    others[3] = np.nan  # a twin that is missing says nothing
    assert_array_equal(watch.update(np.array([1.0, 0.0]), others), [0.0, 0.0])


def test_an_accepted_twin_is_one_no_more():
    watch = Guards(GuardRanges(np.array([1.0]), np.array([2.0]), np.array([0])))
    apart = watch.update(np.array([1.0]), np.array([2.0]))
    assert apart[0] > 1.0
    saved = watch.snapshot()
    watch.accept(0)
    assert_array_equal(watch.update(np.array([1.0]), np.array([2.0])), [0.0])
    watch.restore(saved)
    assert_array_equal(watch.update(np.array([1.0]), np.array([2.0])), apart)
