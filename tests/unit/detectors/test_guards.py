"""Signals that stood still are held against their range."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import DetectorSettings, GuardRanges, Guards

sys.path.insert(0, str(Path(__file__).parents[2]))
from naive_detector import NaiveGuard


def unseen(low, high, **settings):
    """Guards of a stream that has not begun."""
    ranges = GuardRanges(np.array(low, dtype=float), np.array(high, dtype=float))
    return Guards(ranges, DetectorSettings(**settings))


def guards(low, high, **settings):
    """Guards of a stream that has begun as it should."""
    watch = unseen(low, high, **settings)
    assert not np.nan_to_num(watch.update(np.array(low, dtype=float))).any()
    assert not watch.unlike.any()
    return watch


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
    # A two-thousandth of its size, or of 1 where that is larger.
    assert_allclose(watch.update(np.array([1000.5, 5e-4, -50.025])), 1.0)
    assert_allclose(watch.update(np.array([999.75, 1e-3, -49.95])), [0.5, beyond(2.0), beyond(2.0)])


def test_a_step_from_nothing_counts_as_much_as_one_to_nothing():
    watch = guards([0.0, 1.0], [0.0, 1.0])
    assert_allclose(watch.update(np.array([1.0, 0.0])), beyond(2000.0))
    assert_allclose(watch.update(np.array([0.5, 0.5])), beyond(1000.0))  # averaged over a tick


def test_missing_is_nan_and_no_guards_is_nothing():
    watch = guards([0.0, 0.0], [1.0, 1.0])
    assert_allclose(watch.update(np.array([np.nan, 3.0])), [np.nan, beyond(4.0)])
    assert len(watch) == 2
    empty = guards([], [])
    assert len(empty) == 0
    assert empty.update(np.empty(0)).shape == (0,)
    assert empty.expected().shape == (0,)


def test_accepting_takes_the_last_value_seen_and_only_for_that_signal():
    watch = unseen([0.0, 0.0], [0.0, 0.0])
    five, three, below = (pytest.approx(beyond(far / 5e-4)) for far in (5.0, 3.0, 1.0))
    watch.accept(0)  # nothing was seen yet
    watch.update(np.zeros(2))
    assert watch.update(np.array([5.0, 5.0])).tolist() == [five, five]
    watch.update(np.array([np.nan, np.nan]))
    watch.accept(0)
    assert watch.update(np.array([5.0, 5.0])).tolist() == [0.0, five]
    assert watch.update(np.array([0.0, 0.0])).tolist() == [0.0, 0.0]  # what was normal still is
    assert watch.update(np.array([3.0, 3.0])).tolist() == [0.0, three]
    assert watch.update(np.array([-1.0, 6.0]))[0] == below
    watch.accept(0)
    assert watch.update(np.array([-1.0, 6.0]))[0] == 0.0
    assert watch.update(np.array([5.0, 6.0]))[0] == 0.0


def test_accepting_does_not_touch_the_ranges_it_was_given():
    ranges = GuardRanges(np.zeros(1), np.zeros(1))
    watch = Guards(ranges)
    watch.update(np.array([5.0]))
    watch.update(np.array([7.0]))
    watch.accept(0)
    assert watch.expected()[0] == 3.5
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
        evidence = watch.update(np.full(2, value))
        assert evidence[0] == FARTHEST
        assert np.isfinite(evidence).all()
    widest = unseen([-1.7e308, 0.0], [1.7e308, 0.0])
    for value in (1.7e308, -1.7e308, 0.0):
        assert np.isfinite(widest.update(np.full(2, value))).all()
        assert np.isfinite(widest.expected()).all()
    twin = Guards(GuardRanges(np.full(1, -1.7e308), np.full(1, 1.7e308), np.array([0])))
    assert np.isfinite(twin.update(np.array([1.7e308]), np.array([-1.7e308])))


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
        evidence = []
        for value, accepted in ticks:
            evidence.append(watch.update(np.array([value])).tolist())
            if accepted:
                watch.accept(0)
        return evidence

    whole, again = guards([0.0], [1.0]), guards([0.0], [1.0])
    run(whole, before)
    again.restore(whole.snapshot())
    assert_array_equal(run(whole, after), run(again, after))
    assert_array_equal(whole.expected(), again.expected())


# The beginning


def test_another_constant_at_the_beginning_is_no_evidence_but_unlike():
    watch = unseen([3.0, 3.0, 0.0], [3.0, 3.0, 10.0])
    assert_array_equal(watch.update(np.array([5.0, 3.0, 14.0])), [0.0, 0.0, 0.8])
    assert watch.unlike.tolist() == [True, False, False]
    for _ in range(3):
        assert watch.update(np.array([5.0, 3.0, 14.0]))[0] == 0.0
        assert not watch.unlike.any()  # once is enough
    assert watch.update(np.array([5.0, 5.0, 14.0]))[1] > 1.0  # what changes is evidence
    assert watch.update(np.array([6.0, 3.0, 14.0]))[0] > 1.0
    assert watch.update(np.array([2.0, 3.0, 14.0]))[0] > 1.0
    assert watch.update(np.array([3.0, 3.0, 14.0]))[0] == 0.0  # what was learnt is normal
    assert not watch.unlike.any()


def test_a_signal_that_is_missing_at_first_begins_when_it_comes():
    watch = unseen([3.0], [3.0])
    for value in (np.nan, np.inf, np.nan):
        assert np.isnan(watch.update(np.array([value])))
        assert not watch.unlike.any()
    assert watch.update(np.array([5.0])) == 0.0
    assert watch.unlike.all()
    assert np.isnan(watch.update(np.array([np.nan])))
    assert watch.update(np.array([7.0])) > 1.0  # a pause is no beginning
    assert not watch.unlike.any()


def test_a_restored_guard_has_begun():
    watch = unseen([3.0], [3.0])
    watch.update(np.array([5.0]))
    again = unseen([3.0], [3.0])
    again.restore(watch.snapshot())
    assert again.update(np.array([7.0])) == watch.update(np.array([7.0])) > 1.0
    assert not again.unlike.any()


def test_guards_can_be_left_out():
    watch = unseen([3.0, 0.0], [3.0, 1.0], guards=False)
    for value in (3.0, 9.0, -1e9):
        assert_array_equal(watch.update(np.array([value, value])), 0.0)
        assert not watch.unlike.any()
    assert np.isnan(watch.update(np.full(2, np.nan))).all()
    paired = Guards(
        GuardRanges(np.zeros(1), np.ones(1), np.zeros(1, dtype=np.int64)),
        DetectorSettings(guards=False),
    )
    assert paired.update(np.array([0.0]), np.array([1.0])) == 0.0


# The twin in plain Python


wild = st.sampled_from([-1e9, -2.0, 0.0, 0.4, 0.4 + 1e-9, 1.0, 3.0, 1e300, np.inf, np.nan])


@given(st.lists(st.tuples(wild, wild, wild), max_size=30), st.permutations(range(3)))
def test_it_equals_the_naive_twin_in_any_order(ticks, order):
    low, high, twin = np.array([[0.0, 0.0, 0.4], [1.0, 0.0, 0.4], [-1, 1, 2]])
    order = list(order)

    def make(which):
        return Guards(GuardRanges(low[which], high[which], twin[which].astype(np.int64)))

    watch, turned = make([0, 1, 2]), make(order)
    slow = [NaiveGuard(float(low[k]), float(high[k])) for k in range(3)]
    others = np.array([7.0, 0.0, 0.4])
    for row in ticks:
        others[1] = row[0]
        given = np.array(row)
        evidence = watch.update(given, others)
        pairs = [math.nan, *others[1:].tolist()]
        wanted = [guard.update(*pair) for guard, *pair in zip(slow, row, pairs, strict=True)]
        assert_allclose(evidence, wanted, rtol=1e-12)
        assert watch.unlike.tolist() == [guard.unlike for guard in slow]
        assert_array_equal(turned.update(given[order], others), evidence[order])
        assert_array_equal(turned.unlike, watch.unlike[order])
        assert not np.isinf(evidence).any()


# Twins


def test_a_twin_is_held_against_the_signal_it_was_always_equal_to():
    ranges = GuardRanges(np.array([1.0, 0.0]), np.array([2.0, 0.0]), np.array([3, -1]))
    watch = Guards(ranges)
    others = np.array([9.0, 9.0, 9.0, 2.0])
    together = watch.update(np.array([2.0, 0.0]), others)
    assert_array_equal(together, [0.0, 0.0])
    assert_array_equal(watch.expected(), [2.0, 0.0])
    # Inside its range, but not where its twin is: twenty times the margin of a twentieth.
    assert_allclose(watch.update(np.array([1.0, 0.0]), others), [beyond(20.0), 0.0])
    for missing in (np.nan, np.inf):
        others[3] = missing  # a twin that is missing says nothing
        assert_array_equal(watch.update(np.array([1.0, 0.0]), others), [0.0, 0.0])
        assert watch.expected()[0] == 1.5


def test_an_accepted_twin_is_one_no_more():
    watch = Guards(GuardRanges(np.array([1.0]), np.array([2.0]), np.array([0])))
    apart = watch.update(np.array([1.0]), np.array([2.0]))
    assert apart[0] > 1.0
    saved = watch.snapshot()
    watch.accept(0)
    assert_array_equal(watch.update(np.array([1.0]), np.array([2.0])), [0.0])
    watch.restore(saved)
    assert_array_equal(watch.update(np.array([1.0]), np.array([2.0])), apart)
