"""A signal that is loud alone for long loses its say for a while, and no other does."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import DetectorSettings, Equations, Lifts

sys.path.insert(0, str(Path(__file__).parents[2]))
from naive_detector import NaiveLifts

HOUR = 3600.0
CAPACITY = 500
"""Ticks of an hour that a signal may be loud alone."""
BEFORE = 375
"""With the raise itself, which counts for a quarter."""
FADING = 24 * CAPACITY
"""Ticks within the learnt limit in which a lift loses all but a third of itself."""


def equations_of(signals, pairs=()):
    """Links between signals; nothing else of them matters here."""
    source, target = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    zero = np.zeros(signals)
    return Equations(
        signals, 1, source, target, np.ones(len(pairs), dtype=np.intp), np.ones(len(pairs)), zero,
        zero + 1.0,
    )  # fmt: skip


def lifts_of(signals=3, pairs=(), guarded=0, every=HOUR, **settings):
    return Lifts(equations_of(signals, pairs), guarded, every, DetectorSettings(**settings))


def fed(lifts, evidence, ticks):
    """The same tick again and again; the heights at the last one, and when limits were lifted."""
    when = []
    for tick in range(ticks):
        heights, full = lifts.step(np.array(evidence, dtype=float))
        if full is not None:
            when.append((tick, np.flatnonzero(full).tolist()))
    return heights, when


def chattered(lifts, loud, ticks, quiet, gap, most=100):
    """How many spells of loudness, with a gap after each, it took until limits were lifted."""
    for spell in range(1, most + 1):
        _, when = fed(lifts, loud, ticks)
        when += fed(lifts, quiet, gap)[1]
        if when:
            return spell, when[0][1]
    return None


def test_a_signal_that_is_loud_alone_for_long_is_lifted_over_what_it_does():
    lifts = lifts_of()
    heights, when = fed(lifts, [1.2, 0.3, np.nan], BEFORE)
    assert_array_equal(heights, [1.2, 0.3, np.nan])
    assert when == [(BEFORE - 1, [0])]
    assert_allclose(lifts.lift, [1.3 * 1.2, 1.0, 1.0])
    heights, when = fed(lifts, [1.2, 0.3, np.nan], 2000)
    assert when == []
    assert heights[0] < 1.0
    assert heights[1] == 0.3


def test_it_is_lifted_over_the_highest_it_did():
    lifts = lifts_of()
    fed(lifts, [1.1, 0, 0], 100)
    fed(lifts, [1.4, 0, 0], 1)
    fed(lifts, [1.2, 0, 0], BEFORE - 101)
    assert_allclose(lifts.lift[0], 1.3 * 1.4)


def test_limits_are_lifted_twofold_at_most_and_worse_trouble_passes_again():
    lifts = lifts_of()
    fed(lifts, [9.0, 0.0, 0.0], BEFORE)
    assert lifts.lift[0] == 2.0
    heights, when = fed(lifts, [9.0, 0.0, 0.0], 1)
    assert heights[0] == 4.5
    assert when == []
    milder = lifts_of()
    fed(milder, [1.5, 0.0, 0.0], BEFORE)
    heights, _ = fed(milder, [1.9, 0.0, 0.0], 1)
    assert heights[0] < 1.0
    heights, _ = fed(milder, [2.1, 0.0, 0.0], 1)
    assert heights[0] > 1.0


def test_what_stays_loud_is_lifted_again_after_as_long():
    lifts = lifts_of()
    _, when = fed(lifts, [9.0, 0.0, 0.0], 5000)
    times = [tick for tick, _ in when]
    assert times[0] == BEFORE - 1
    assert_array_equal(np.diff(times), CAPACITY)  # it was never quiet, so there is no other raise
    assert len(times) == 4  # 2, 4, 8 and above 9
    assert fed(lifts, [9.0, 0.0, 0.0], 1)[0][0] < 1.0


def test_a_guarded_signal_is_lifted_over_its_peak():
    lifts = lifts_of(signals=1, guarded=2)
    fed(lifts, [0.0, 7.0, 0.0], BEFORE)
    assert_allclose(lifts.lift, [1.0, 1.3 * 7.0, 1.0])


def test_others_go_on_as_before():
    lifts = lifts_of()
    fed(lifts, [9.0, 0.5, 0.9], BEFORE)
    heights, _ = fed(lifts, [9.0, 1.5, 0.9], 1)
    assert_array_equal(heights[1:], [1.5, 0.9])


def test_a_lift_decays_while_the_signal_is_within_its_learnt_limit():
    lifts = lifts_of()
    fed(lifts, [9.0, 0.0, 0.0], BEFORE)
    fed(lifts, [0.5, 0.0, 0.0], FADING // 2)
    assert_allclose(lifts.lift[0], 2.0 * math.exp(-0.5), rtol=1e-6)
    fed(lifts, [1.0, 0.0, 0.0], FADING // 10)  # at the limit is within it
    assert_allclose(lifts.lift[0], 2.0 * math.exp(-0.6), rtol=1e-6)
    fed(lifts, [0.0, 0.0, 0.0], FADING)
    assert_array_equal(lifts.lift, 1.0)  # never below the learnt limit


def test_a_lift_stays_while_the_signal_is_above_its_learnt_limit():
    lifts = lifts_of()
    fed(lifts, [9.0, 0.0, 0.0], BEFORE)
    heights, when = fed(lifts, [1.9, 0.0, 0.0], FADING)
    assert lifts.lift[0] == 2.0
    assert heights[0] == 0.95
    assert when == []
    fed(lifts, [1.0 + 1e-9, 0.0, 0.0], FADING)
    assert lifts.lift[0] == 2.0
    fed(lifts, [1.0, 0.0, 0.0], 1)
    assert lifts.lift[0] == pytest.approx(2.0 * math.exp(-1 / FADING), rel=1e-12)
    heights, _ = fed(lifts, [2.5, 0.0, 0.0], 100)  # nor while it is loud
    assert lifts.lift[0] == pytest.approx(2.0 * math.exp(-1 / FADING), rel=1e-12)
    assert heights[0] > 1.0


def test_how_fast_a_lift_fades_and_a_bucket_leaks_are_two_settings():
    slow, leaky = lifts_of(lift_fade=0.0), lifts_of(lift_leak=5.0)
    for lifts in (slow, leaky):
        fed(lifts, [9.0, 0.0, 0.0], BEFORE)
        fed(lifts, [0.5, 0.0, 0.0], FADING)
    assert slow.lift[0] == 2.0
    assert leaky.lift[0] == 1.0
    assert chattered(leaky, [1.2, 0, 0], 2, [0.2, 0, 0], 30) is None


def test_signals_that_cannot_be_judged_are_quiet():
    lifts = lifts_of()
    fed(lifts, [9.0, 0.0, 0.0], BEFORE)
    heights, when = fed(lifts, [np.nan] * 3, FADING)
    assert np.isnan(heights).all()
    assert when == []
    assert_allclose(lifts.lift, [1.0, 1.0, 1.0])


@pytest.mark.parametrize("pairs", [[(0, 1)], [(1, 0)]])
def test_neighbours_that_are_loud_together_are_not_alone(pairs):
    lifts = lifts_of(pairs=pairs)
    _, when = fed(lifts, [9.0, 1.5, 0.0], 3000)
    assert when == []
    assert_array_equal(lifts.lift, 1.0)


def test_a_signal_that_causes_itself_is_alone():
    lifts = lifts_of(pairs=[(0, 0), (0, 1)])
    assert fed(lifts, [9.0, 0.0, 0.0], BEFORE)[1] == [(BEFORE - 1, [0])]


def test_one_stranger_may_be_loud_beside_it_but_not_two():
    pair, crowd = lifts_of(4), lifts_of(4)
    assert fed(pair, [9.0, 9.0, 0, 0], BEFORE)[1] == [(BEFORE - 1, [0, 1])]
    assert fed(crowd, [9.0, 9.0, 9.0, 0], 3000)[1] == []
    lonely = lifts_of(4, lift_company=0)
    assert fed(lonely, [9.0, 9.0, 0, 0], 3000)[1] == []


def test_a_chatter_fills_the_bucket_by_its_raises():
    # A quarter for each raise; what twenty quiet ticks take away is more than what two loud ones
    # add.
    assert chattered(lifts_of(), [1.2, 0, 0], 2, [0.2, 0, 0], 20) == (5, [0])
    assert chattered(lifts_of(), [1.2, 0, 0], 8, [0.2, 0, 0], 20) == (4, [0])
    assert chattered(lifts_of(), [1.2, 0, 0], 2, [0.2, 0, 0], 3 * 127) is None  # it runs empty


@pytest.mark.parametrize("pairs", [[], [(0, 1), (1, 2)]])
def test_a_raise_counts_whoever_else_is_loud(pairs):
    lifts = lifts_of(pairs=pairs)
    loud, quiet = [1.2, 1.3, 1.4], [0.2, 0.2, 0.2]
    assert chattered(lifts, loud, 2, quiet, 20) == (5, [0, 1, 2])
    faded = math.exp(-20 / FADING)
    assert_allclose(lifts.lift / faded, [1.3 * 1.2, 1.3 * 1.3, 1.3 * 1.4])
    # Its loud ticks still count only where it is alone: these are eight times as many.
    assert chattered(lifts_of(pairs=pairs), loud, 16, quiet, 20) == (5, [0, 1, 2])
    assert chattered(lifts_of(pairs=pairs), [1.2, 0.2, 0.2], 16, quiet, 20) == (4, [0])


@pytest.mark.parametrize(("gap", "counts"), [(16, False), (17, True)])
def test_a_raise_counts_after_quiet_for_a_thirtieth_of_the_capacity(gap, counts):
    found = chattered(lifts_of(), [1.2, 0, 0], 2, [0.2, 0, 0], gap)
    assert found == ((5, [0]) if counts else None)


@pytest.mark.parametrize(("gap", "counts"), [(6, False), (7, True)])
def test_a_raise_counts_after_more_than_six_ticks_of_quiet_where_few_are_allowed(gap, counts):
    lifts = lifts_of(lift_hours=0.0, lift_ticks=60.0)
    found = chattered(lifts, [1.2, 0, 0], 2, [0.2, 0, 0], gap)
    assert found == ((4, [0]) if counts else None)


def test_ticks_of_a_chatter_fill_the_bucket_where_its_raises_do_not_count():
    lifts = lifts_of()
    spells, _ = chattered(lifts, [1.2, 0, 0], 4, [0.2, 0, 0], 8, most=1000)
    # The first raise counts; each time four are added and eight thirds leak.
    assert spells == pytest.approx((CAPACITY - CAPACITY / 4) / (4 - 8 / 3), rel=0.02)


def test_what_a_signal_did_long_ago_is_forgotten():
    lifts = lifts_of()
    fed(lifts, [1.9, 0.0, 0.0], 1)
    fed(lifts, [0.0, 0.0, 0.0], 400)  # the bucket is empty
    fed(lifts, [1.1, 0.0, 0.0], BEFORE)
    assert_allclose(lifts.lift[0], 1.3 * 1.1)
    lifts = lifts_of()
    fed(lifts, [1.5, 0.0, 0.0], 1)
    fed(lifts, [0.0, 0.0, 0.0], 360)  # a third of a tick for each: it is not
    fed(lifts, [1.1, 0.0, 0.0], BEFORE)
    assert_allclose(lifts.lift[0], 1.3 * 1.5)


def test_what_it_did_among_others_belongs_to_its_peak_while_its_bucket_is_not_empty():
    lifts = lifts_of(pairs=[(0, 1)])
    fed(lifts, [1.2, 0.0, 0.0], 1)
    fed(lifts, [1.4, 1.5, 0.0], 10)  # not alone
    assert fed(lifts, [1.2, 0.0, 0.0], BEFORE - 1)[1] == [(BEFORE - 2, [0])]
    assert_allclose(lifts.lift[0], 1.3 * 1.4)


def test_what_it_did_among_others_is_forgotten_while_its_bucket_is_empty():
    lifts = lifts_of(pairs=[(0, 1)])
    fed(lifts, [9.0, 0.0, 0.0], BEFORE)  # lifted: the bucket is empty, and it goes on being loud
    assert lifts.lift[0] == 2.0
    assert fed(lifts, [9.0, 1.5, 0.0], 1000)[1] == []  # it neither raises nor is alone
    assert fed(lifts, [3.0, 0.0, 0.0], CAPACITY)[1] == [(CAPACITY - 1, [0])]
    assert_allclose(lifts.lift[0], 1.3 * 3.0)  # of 9 it would be fourfold


def test_short_ticks_take_hours_and_long_ones_hundreds():
    quick = lifts_of(every=10.0)
    assert fed(quick, [3.0, 0, 0], 1440)[1] == [(1440 * 3 // 4 - 1, [0])]
    slow = lifts_of(every=24 * HOUR)
    assert fed(slow, [3.0, 0, 0], 500)[1] == [(BEFORE - 1, [0])]


def test_lifts_can_be_left_out():
    lifts = lifts_of(lifts=False)
    heights, when = fed(lifts, [9.0, 1.0, np.nan], 3000)
    assert when == []
    assert_array_equal(heights, [9.0, 1.0, np.nan])


def test_an_accepted_signal_has_its_learnt_limit_again():
    lifts = lifts_of()
    fed(lifts, [9.0, 9.0, 0.0], BEFORE)
    lifts.reset(0)
    assert_array_equal(lifts.lift, [1.0, 2.0, 1.0])
    assert fed(lifts, [9.0, 0.0, 0.0], BEFORE)[1] == [(BEFORE - 1, [0])]  # as if it were new


def test_it_does_not_touch_what_it_is_given():
    lifts = lifts_of()
    evidence = np.array([9.0, np.nan, 0.5])
    kept = evidence.copy()
    for _ in range(1000):
        lifts.step(evidence)
    assert_array_equal(evidence, kept)


def test_no_signals():
    lifts = lifts_of(0)
    heights, full = lifts.step(np.empty(0))
    assert heights.shape == (0,)
    assert full is None


# Against the twin

PAIRS = [(0, 1), (2, 2), (3, 1)]


def course(seed, signals, ticks):
    """Spells of loudness of each signal, long ones and short ones, and unknown ticks."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(0.0, 0.9, size=(ticks, signals))
    for signal in range(signals):
        start = 0
        while start < ticks:
            length = int(rng.choice([3, 30, 300, 900]))
            if rng.random() < 0.4:
                rows[start : start + length, signal] = rng.choice([0.95, 1.02, 1.5, 4.0, 20.0])
            start += length
    rows[rng.random(rows.shape) < 0.01] = np.nan
    return rows


@examples(max_examples=15)
@given(st.integers(0, 10_000), st.permutations(range(4)), st.integers(0, 1499))
def test_it_equals_the_twin_in_any_order_and_after_a_restart(seed, order, stop):
    order = list(order)
    place = np.argsort(order)
    equations = equations_of(4, PAIRS)
    lifts, slow = Lifts(equations, 2, HOUR, DetectorSettings()), NaiveLifts(equations, 2, HOUR)
    turned = lifts_of(4, [(place[a], place[b]) for a, b in PAIRS], guarded=2)
    columns = [*order, 4, 5]
    for tick, row in enumerate(course(seed, 6, 1500)):
        if tick == stop:
            state = lifts.snapshot()
            kept = state["buckets"].copy()
            again = Lifts(equations, 2, HOUR, DetectorSettings())
            again.step(np.full(6, 3.0))
            again.restore(state)
            lifts.step(np.full(6, 3.0))
            assert_array_equal(state["buckets"], kept)  # a snapshot does not live on
            lifts = again
        heights, full = lifts.step(row)
        wanted, lifted = slow.step(row.tolist())
        assert_allclose(heights, wanted, rtol=1e-12)
        assert_allclose(lifts.lift, slow.lift, rtol=1e-12)
        assert lifted == (set() if full is None else set(np.flatnonzero(full).tolist()))
        other, others = turned.step(row[columns])
        assert_array_equal(other, heights[columns])
        assert (others is None) == (full is None)


def test_the_twin_is_lifted_at_all():
    lifted = set()
    slow = NaiveLifts(equations_of(4, PAIRS), 2, HOUR)
    for row in course(0, 6, 3000):
        lifted |= slow.step(row.tolist())[1]
    assert len(lifted) > 2


@examples(max_examples=15)
@given(st.integers(0, 10_000))
def test_heights_are_never_raised_and_at_most_halved_for_each_lift(seed):
    lifts = lifts_of(6, PAIRS)
    count = np.zeros(6)
    for row in course(seed, 6, 1500):
        before = lifts.lift.copy()
        heights, full = lifts.step(row)
        known = np.isfinite(row)
        assert (heights[known] <= row[known]).all()
        assert (lifts.lift <= 2.0 * before).all()
        count += 0 if full is None else full
        assert (lifts.lift <= 2.0**count).all()
        assert (lifts.lift >= 1.0).all()
