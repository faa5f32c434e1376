"""Preparing a model for watching: limits above all that normal operation shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import DetectorSettings, Equations, Judged, cross_fitted, scores_of
from causewatch.errors import NotEnoughDataError
from causewatch.model.watching import prepare


def equations_of(signals, links, max_lag=1):
    table = np.array(links, dtype=float).reshape(-1, 4)
    source, target, lag = table[:, :3].T.astype(np.intp)
    return Equations(
        signals,
        max_lag,
        source,
        target,
        lag,
        table[:, 3].copy(),
        np.zeros(signals),
        np.ones(signals),
    )


PLAIN = equations_of(2, [(0, 0, 1, 0.0), (0, 1, 1, 0.0)])


def prepared(equations, stretches, apart=(), every=100.0, **options):
    number = equations.signals
    return prepare(
        equations,
        stretches,
        apart,
        centre=np.zeros(number),
        scale=np.ones(number),
        false_alarm_every=every,
        **options,
    )


def same_equations(one, two):
    for name in ("coefficient", "intercept", "spread"):
        assert_array_equal(getattr(one, name), getattr(two, name))


def numbered(lengths):
    """Rows whose first column counts them through, and noise beside it."""
    rng = np.random.default_rng(sum(lengths))
    rows = np.column_stack([np.arange(sum(lengths), dtype=float), rng.normal(size=sum(lengths))])
    return np.split(rows, np.cumsum(lengths)[:-1])


@given(st.lists(st.integers(2, 40), min_size=1, max_size=5))
def test_halves_cover_every_tick_once_and_are_fitted_to_the_other_one(lengths):
    stretches = numbered(lengths)
    rows, half = np.concatenate(stretches), sum(lengths) // 2
    try:
        parts = cross_fitted(PLAIN, stretches)
    except NotEnoughDataError:
        assert max(lengths) <= 3  # no tick has a lag before it
        return
    pieces = [piece for part in parts for piece in part.stretches]
    assert_array_equal(np.concatenate(pieces), rows)
    begins = {0, *np.cumsum(lengths).tolist()}
    for piece in pieces:  # none reaches from one stretch into the next
        assert not begins & set(piece[1:, 0].astype(int).tolist())
    halves = [[piece for piece in pieces if (piece[0, 0] < half) == first] for first in (1, 0)]
    for part, others in zip(parts, halves[::-1], strict=True):
        fit = PLAIN.refitted(others)
        assert_array_equal(part.equations.coefficient, fit.coefficient)
        assert_array_equal(part.equations.intercept, fit.intercept)
        assert_array_equal(part.equations.spread, parts[0].equations.spread)


def test_a_half_is_not_fitted_to_itself():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    rows[1:200, 1] += 2.0 * rows[:199, 0]
    rows[201:, 1] -= 2.0 * rows[200:-1, 0]
    found = [part.equations.coefficient[1] for part in cross_fitted(PLAIN, [rows])]
    assert found == pytest.approx([-2.0, 2.0], abs=0.2)


def test_it_is_prepared_from_one_recording():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    equations, limits, fared = prepared(PLAIN, [rows[:150], rows[150:]])
    assert_array_equal(equations.coefficient, PLAIN.coefficient)
    assert equations.spread == pytest.approx([1.0, 1.0], abs=0.1)  # that of ticks not fitted to
    assert fared is None
    assert limits.supported == 200.0
    assert limits.statistics.shape == (4, 2)
    assert np.nanmax(scores_of(Judged(equations, [rows]), limits)) < 1.0


def test_settings_and_the_usual_time_are_handed_on():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    settings = DetectorSettings(means=(1,), squares=())
    _, limits, _ = prepared(PLAIN, [rows], settings=settings)
    assert limits.settings is settings
    assert limits.statistics.shape == (2, 2)
    _, wider, _ = prepared(PLAIN, [rows], settings=settings, usual_every=10.0)
    assert_allclose(wider.statistics[0], limits.statistics[0] * 10**0.05)


def test_short_stretches_are_left_out():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    _, limits, _ = prepared(PLAIN, [rows])
    _, with_crumbs, _ = prepared(PLAIN, [rows[:1], rows, rows[:1]])
    assert_array_equal(limits.statistics, with_crumbs.statistics)
    _, _, fared = prepared(PLAIN, [rows], [rows[:1]])
    assert fared is None  # a second recording without a usable stretch is none


@pytest.mark.parametrize("lengths", [[], [29], [1] * 100, [10, 10, 9]])
def test_too_few_ticks_are_an_error(lengths):
    stretches = [np.random.default_rng(0).normal(size=(length, 2)) for length in lengths]
    with pytest.raises(NotEnoughDataError, match="too few"):
        prepared(PLAIN, stretches)


def test_a_like_second_recording_fares_well():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(500, 2)), rng.normal(size=(400, 2))
    _, limits, fared = prepared(PLAIN, [first], [second])
    assert (fared.ticks, fared.alarms, fared.share) == (400, 0, 0.0)
    assert 1.0 <= fared.factor < 1.5
    assert limits.supported == 450.0


def test_limits_with_a_second_recording_are_the_larger_of_both():
    rng = np.random.default_rng(0)
    calm, loud = rng.normal(size=(500, 2)), 3.0 * rng.normal(size=(400, 2))
    equations, alone, _ = prepared(PLAIN, [calm])
    together, limits, fared = prepared(PLAIN, [calm], [loud])
    assert fared.share > 0.5
    assert fared.alarms >= 1
    assert 2.0 < fared.factor < 4.5  # by so much they moved
    assert (limits.statistics >= alone.statistics).all()
    assert (limits.links >= alone.links).all()
    assert_array_equal(alone.low, calm.min(axis=0))
    assert_array_equal(alone.high, calm.max(axis=0))
    assert_array_equal(limits.low, np.minimum(calm.min(axis=0), loud.min(axis=0)))
    assert_array_equal(limits.high, np.maximum(calm.max(axis=0), loud.max(axis=0)))
    same_equations(equations, together)
    for rows in (calm, loud):
        assert np.nanmax(scores_of(Judged(together, [rows]), limits)) < 1.0
    _, unmoved, fared = prepared(PLAIN, [calm], [0.1 * loud])
    assert_array_equal(unmoved.statistics[:-1], alone.statistics[:-1])
    assert (fared.alarms, fared.factor) == (0, 1.0)


def test_longer_times_between_false_alarms_are_wider_limits():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    allowed = [
        prepared(PLAIN, [rows], every=every, usual_every=100.0)[1].statistics[:-1]
        for every in (10.0, 100.0, 10_000.0)
    ]
    assert (allowed[0] < allowed[1]).all()
    np.testing.assert_allclose(allowed[2], 100.0**0.05 * allowed[1])
    assert_array_equal(prepared(PLAIN, [rows])[1].statistics[:-1], allowed[1])


def test_progress_is_told_in_order():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2))
    for apart in ([], [rows]):  # limits are learnt twice where there is a second recording
        told = []
        prepared(PLAIN, [rows], apart, progress=told.append)
        assert told[-1] == pytest.approx(1.0)
        assert told == sorted(told)
        assert told[0] < 0.5


@pytest.mark.parametrize(("ticks", "max_lag"), [(36, 6), (60, 10)])
def test_parts_that_cannot_be_judged_are_an_error_or_give_sound_limits(ticks, max_lag):
    equations = equations_of(1, [(0, 0, max_lag, 0.0)], max_lag)
    rows = np.random.default_rng(0).normal(size=(ticks, 1))
    try:
        _, limits, _ = prepared(equations, [rows], every=10.0)
    except NotEnoughDataError:
        return
    assert (limits.statistics > 0.1).all()


def test_a_sensor_missing_for_half_the_recording_does_not_spoil_the_limits_of_others():
    rows = 10.0 + np.random.default_rng(0).normal(size=(400, 3))
    equations = equations_of(3, [(1, 1, 1, 0.0)]).refitted([rows])
    _, whole, _ = prepared(equations, [rows])
    rows[200:, 0] = np.nan
    _, found, _ = prepared(equations, [rows])
    allowed = [limits.statistics[0, 1:].max() for limits in (whole, found)]
    assert allowed[1] < 1.5 * allowed[0]
