"""What holds for the default detector as a whole, whatever a stream brings.

Here it is put together by hand: innovations and statistics, guards beside them, lifts over both.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import causewatch as cw
from causewatch.detectors import (
    DetectorSettings,
    Equations,
    GuardRanges,
    Guards,
    InnovationDetector,
    Lifts,
    Limits,
    calibrate,
    cross_fitted,
)
from causewatch.simulate import random_system

sys.path.insert(0, str(Path(__file__).parents[1]))
from naive_detector import NaiveDetector, NaiveGuard, NaiveLifts

SIGNALS, TICKS, EVERY = 4, 200, 3600.0
LINKS = ((0, 0, 1, 0.6), (0, 1, 1, 0.8), (1, 2, 2, -0.7), (3, 3, 1, 0.4), (0, 2, 0, 0.05))
LOW, HIGH = np.array([3.0, 0.0]), np.array([3.0, 1.0])
"""Ranges of two guarded signals."""


def equations_of(links, signals=SIGNALS):
    links = sorted(links, key=lambda link: (link[1], link[0], link[2]))
    source, target, lag, coefficient = (np.array(part) for part in zip(*links, strict=True))
    return Equations(
        signals, 2, source, target, lag, coefficient, np.zeros(signals), np.ones(signals)
    )


EQUATIONS = equations_of(LINKS)


def plant(seed, ticks):
    """Normal ticks of the mechanisms."""
    noise = np.random.default_rng(seed).normal(size=(ticks + 10, SIGNALS))
    rows = np.zeros_like(noise)
    for t in range(2, len(rows)):
        rows[t] = noise[t]
        for source, target, lag, coefficient in LINKS:
            rows[t, target] += coefficient * rows[t - lag, source]
    return rows[10:]


@cache
def learnt():
    rows = plant(0, 600)
    parts = cross_fitted(EQUATIONS, [rows])
    return calibrate(
        parts, centre=rows.mean(axis=0), scale=rows.std(axis=0), false_alarm_every=1000.0
    )


@st.composite
def streams(draw):
    """Ticks of the plant with offsets, stuck and missing values, gaps, and guarded signals."""
    rows = np.hstack([plant(draw(st.integers(0, 10**6)), TICKS), np.tile(LOW, (TICKS, 1))])
    for _ in range(draw(st.integers(0, 5))):
        start, length = draw(st.integers(0, TICKS - 1)), draw(st.integers(1, 80))
        column, span = draw(st.integers(0, SIGNALS + 1)), slice(start, start + length)
        what = draw(st.sampled_from(["offset", "wild", "stuck", "missing", "all missing"]))
        if what == "offset":
            rows[span, column] += draw(st.sampled_from([-6.0, 1.5, 4.0, 30.0]))
        elif what == "wild":
            rows[start, column] = draw(st.sampled_from([1e300, -1e300, np.inf, 1e12]))
        elif what == "stuck":
            rows[span, column] = rows[start, column]
        else:
            rows[span, slice(None) if what == "all missing" else column] = np.nan
    new = np.zeros(TICKS, dtype=bool)
    new[[0, *draw(st.lists(st.integers(0, TICKS - 1), max_size=3))]] = True
    return rows, new


class Whole:
    """All stages, as a monitor puts them together."""

    def __init__(self, equations=EQUATIONS, limits=None, ranges=None):
        limits = learnt() if limits is None else limits
        ranges = GuardRanges(LOW, HIGH) if ranges is None else ranges
        self.detector = InnovationDetector(equations, limits)
        self.guards = Guards(ranges, limits.settings)
        self.lifts = Lifts(equations, len(self.guards), EVERY, limits.settings)
        self.parts = (self.detector, self.guards, self.lifts)

    def update(self, row, begins):
        """Evidence, heights under the limits as they are, and what was expected."""
        evidence = self.detector.update(row[:SIGNALS], begins)
        beside = self.guards.update(row[SIGNALS:], row[:SIGNALS])
        every = np.concatenate([evidence.signals, beside])
        heights, full = self.lifts.step(every)
        return every, heights, evidence.expected, full

    def run(self, rows, new):
        return [self.update(row, begins) for row, begins in zip(rows, new.tolist(), strict=True)]


def same(one_way, other_way):
    """Whether two courses are the same to the last bit."""
    for tick, again in zip(one_way, other_way, strict=True):
        for array, twin in zip(tick, again, strict=True):
            assert (array is None) == (twin is None)
            assert array is None or array.tobytes() == twin.tobytes()


@settings(max_examples=25)
@given(streams())
def test_it_is_its_naive_twin(stream):
    rows, new = stream
    whole, slow = Whole(), NaiveDetector(EQUATIONS, learnt())
    guards = [NaiveGuard(*pair) for pair in zip(LOW.tolist(), HIGH.tolist(), strict=True)]
    lifts = NaiveLifts(EQUATIONS, 2, EVERY)
    for row, begins in zip(rows, new.tolist(), strict=True):
        every, heights, expected, full = whole.update(row, begins)
        _, evidence, wanted = slow.update(row[:SIGNALS], begins)
        beside = row[SIGNALS:].tolist()
        evidence += [guard.update(value) for guard, value in zip(guards, beside, strict=True)]
        lifted, filled = lifts.step(evidence)
        assert_allclose(every, evidence, rtol=1e-9, atol=1e-11)
        assert_allclose(expected, wanted, rtol=1e-9, atol=1e-11)
        assert_allclose(heights, lifted, rtol=1e-9, atol=1e-11)
        assert filled == (set() if full is None else set(np.flatnonzero(full).tolist()))
        assert whole.guards.unlike.tolist() == [guard.unlike for guard in guards]


@settings(max_examples=25)
@given(streams(), st.integers(0, TICKS - 1), st.integers(-1, SIGNALS - 1))
def test_a_restored_detector_has_bitwise_the_same_future(stream, stop, accepted):
    rows, new = stream
    whole, again = Whole(), Whole()
    whole.run(rows[:stop], new[:stop])
    if accepted >= 0:
        whole.detector.accept(accepted)
        whole.lifts.reset(accepted)
    again.run(rows[::-1][:7], new[:7])  # what it saw before leaves no trace
    for part, other in zip(whole.parts, again.parts, strict=True):
        other.restore(part.snapshot())
    same(whole.run(rows[stop:], new[stop:]), again.run(rows[stop:], new[stop:]))
    links, others = whole.detector.links(), again.detector.links()
    assert links.observed.tobytes() == others.observed.tobytes()


@settings(max_examples=25)
@given(streams(), st.permutations(range(SIGNALS)), st.permutations(range(2)))
def test_signals_in_another_order_give_the_same_in_that_order(stream, order, guarded):
    rows, new = stream
    order, guarded = list(order), list(guarded)
    place, limits = np.argsort(order), learnt()
    turned = equations_of([(place[i], place[j], lag, c) for i, j, lag, c in LINKS])
    moved = replace(
        limits,
        statistics=limits.statistics[:, order],
        centre=limits.centre[order],
        scale=limits.scale[order],
        low=limits.low[order],
        high=limits.high[order],
    )
    ranges = GuardRanges(LOW[guarded], HIGH[guarded])
    columns = [*order, *(SIGNALS + k for k in guarded)]
    plain = Whole().run(rows, new)
    other = Whole(turned, moved, ranges).run(rows[:, columns], new)
    for (every, heights, expected, _), (*both, known, _) in zip(plain, other, strict=True):
        assert_allclose(both[0], every[columns], rtol=1e-9, atol=1e-11)
        assert_allclose(both[1], heights[columns], rtol=1e-9, atol=1e-11)
        assert_allclose(known, expected[order], rtol=1e-9, atol=1e-11)


@settings(max_examples=25)
@given(streams())
def test_causes_beyond_their_range_at_most_halve_what_a_tick_counts_and_change_nothing_else(stream):
    rows, new = stream
    limits = learnt()
    nowhere = np.full(SIGNALS, np.nan)
    ranged = InnovationDetector(EQUATIONS, limits)
    plain = InnovationDetector(EQUATIONS, replace(limits, low=nowhere, high=nowhere))
    for row, begins in zip(rows[:, :SIGNALS], new.tolist(), strict=True):
        evidence, other = ranged.update(row, begins), plain.update(row, begins)
        assert evidence.expected.tobytes() == other.expected.tobytes()
        assert ranged.innovation.tobytes() == plain.innovation.tobytes()
        known = np.isfinite(ranged.innovation)
        assert (ranged.sizes[0] <= plain.sizes[0])[known].all()
        assert (ranged.sizes[0] >= plain.sizes[0] / 2.0)[known].all()
        alone = np.array([True, False, False, True])  # those with no cause but themselves
        assert_array_equal(ranged.sizes[:, alone], plain.sizes[:, alone])
        assert_array_equal(ranged.sizes[-1], plain.sizes[-1])
    assert_array_equal(ranged.links().observed, plain.links().observed)


@settings(max_examples=25)
@given(streams())
def test_no_memory_is_ever_fuller_than_three_times_its_limit(stream):
    rows, new = stream
    limits = learnt()
    detector = InnovationDetector(EQUATIONS, limits)
    for row, begins in zip(rows[:, :SIGNALS], new.tolist(), strict=True):
        detector.update(row, begins)
        assert (detector.sizes[1] <= 3.0 * limits.statistics[1] * (1 + 1e-12)).all()
        assert (detector.sizes[2] <= 3.0**0.5 * limits.statistics[2] * (1 + 1e-12)).all()


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(5, TICKS - 60))
def test_when_the_whole_plant_stands_still_that_is_no_evidence(seed, start):
    detector = InnovationDetector(EQUATIONS, learnt())
    rows = plant(seed, TICKS)
    rows[start:] = rows[start]
    for t, row in enumerate(rows):
        detector.update(row, t == 0)
        if t == start:
            before = detector.sizes[-1].copy()
    assert (before < 10).all()
    assert_array_equal(detector.sizes[-1], before)
    # A signal that stands still alone is something else.
    stuck = plant(seed, TICKS)
    stuck[start:, 3] = stuck[start, 3]
    evidence = [detector.update(row, t == 0).signals[3] for t, row in enumerate(stuck)]
    assert max(evidence[start + 30 :]) > 1.0


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12), st.booleans())
def test_a_guard_that_begins_elsewhere_is_unlike_and_no_evidence(learnt_value, first, pause):
    ranges = GuardRanges(np.full(1, learnt_value), np.full(1, learnt_value))
    guards = Guards(ranges)
    margin = float(ranges.margin(DetectorSettings())[0])
    if pause:
        assert np.isnan(guards.update(np.full(1, np.nan)))
    evidence = guards.update(np.full(1, first))
    assert guards.unlike[0] == (abs(first - learnt_value) / margin > 1.0)
    assert evidence[0] == (0.0 if guards.unlike[0] else abs(first - learnt_value) / margin)
    for value in (first, learnt_value):
        assert guards.update(np.full(1, value))[0] <= 1.0
        assert not guards.unlike[0]
    beyond = max(first, learnt_value) + 3.0 * margin
    assert guards.update(np.full(1, beyond))[0] > 1.0


@given(st.floats(1.01, 1.99), st.floats(1.05, 50.0))
def test_limits_are_lifted_twofold_at_most_and_real_trouble_passes_again(mild, worse):
    lifts = Lifts(EQUATIONS, 0, EVERY, DetectorSettings())
    evidence = np.array([mild, 0.0, 0.0, 0.0])
    full = None
    for _ in range(500):
        if full is None:
            heights, full = lifts.step(evidence)
    assert full.tolist() == [True, False, False, False]
    assert 1.0 < lifts.lift[0] <= 2.0
    assert lifts.step(evidence)[0][0] <= 1.0
    lift = lifts.lift[0]
    heights, _ = lifts.step(np.array([2.0 * worse, 0.0, 1.5, 0.0]))
    assert heights[0] == 2.0 * worse / lift > 1.0
    assert heights[2] == 1.5


@given(
    st.integers(0, 2),
    st.floats(0.01, 8.9),
    st.floats(0.001, 1000.0),
)
def test_evidence_is_exactly_one_at_the_limit(row, left, spread):
    equations = Equations(
        1, 1, *np.empty((3, 0), dtype=np.intp), np.empty(0), np.zeros(1), np.full(1, spread)
    )
    table = np.full((4, 1), np.inf)
    zero, one = np.zeros(1), np.ones(1)
    blind = Limits(table, 1.0, np.empty(0), zero, one, -one, one, 100.0, 100.0)
    value = np.full(1, left * spread)

    def after_four(detector):
        """The score at the last of four equal ticks: of one, a memory takes in less."""
        return [detector.update(value, tick == 0).score for tick in range(4)][-1]

    detector = InnovationDetector(equations, blind)
    assert after_four(detector) == 0.0
    table[row] = detector.sizes[row]
    for factor, above in ((1.0, False), (1.0 - 1e-9, True), (1.0 + 1e-9, False)):
        exact = replace(blind, statistics=factor * table)
        score = after_four(InnovationDetector(equations, exact))
        assert (score == 1.0) == (factor == 1.0)
        assert (score > 1.0) == above


# Names


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 2, 0)])
def test_neither_names_nor_the_order_of_columns_matter(order):
    system = random_system(3, links=3, seed=4)
    rows = np.column_stack([system.simulate(700, seed=1).values, np.full(700, 3.0)])
    odd = rows[:200].copy()
    odd[100:, 1] += 9.0
    odd[150:, 3] = 4.0
    names, others = ["a", "b", "c", "k"], ["Z 9", "flow", "ä/°C", "A"]
    columns = [3, *order]

    def scores(named, kept):
        table = pl.DataFrame({named[k]: rows[:, k] for k in kept})
        monitor = cw.Monitor(cw.learn(table, every=1.0, max_lag=2))
        course = []
        for row in odd:
            tick = monitor.update({named[k]: row[k] for k in kept})
            course.append([tick.score or 0.0, *(tick.signals.get(named[k], 0.0) for k in range(4))])
        return np.array(course)

    plain, other = scores(names, range(4)), scores(others, columns)
    assert plain[:, 0].max() > 1.0
    assert_allclose(other, plain, rtol=1e-6, atol=1e-9)
