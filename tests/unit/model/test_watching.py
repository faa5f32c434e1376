"""Preparing a model for watching: parts that are not judged by themselves, and limits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from causewatch.detectors import Equations, Judged, scores_of
from causewatch.errors import NotEnoughDataError
from causewatch.model.watching import parts_of, prepare


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


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_parts_cover_every_tick_once_and_are_fitted_to_the_other_half(lengths):
    total = sum(lengths)
    stretches = numbered(lengths)
    if total < 2:
        with pytest.raises(NotEnoughDataError):
            parts_of(PLAIN, stretches)
        return
    parts = parts_of(PLAIN, stretches)
    seen = np.concatenate([rows[:, 0] for part in parts for rows in part.stretches])
    assert_array_equal(seen, np.arange(total))
    assert len(parts) <= 6
    rows = np.concatenate(stretches)
    begins = {0, *np.cumsum(lengths).tolist()}
    half = total // 2
    fits = {}
    for first, stop in ((0, half), (half, total)):
        bounds = sorted({first, stop} | {k for k in begins if first < k < stop})
        pieces = [rows[a:b] for a, b in pairwise(bounds)]
        fits[first] = PLAIN.refitted(pieces)
    for part in parts:
        mine = {int(row) < half for piece in part.stretches for row in piece[:, 0]}
        assert len(mine) == 1  # a part does not reach into the other half
        same_equations(part.equations, fits[half] if mine.pop() else fits[0])
        for piece in part.stretches:  # nor from one stretch into the next
            assert_array_equal(np.diff(piece[:, 0]), 1.0)
            assert not begins & set(piece[1:, 0].astype(int).tolist())


def test_a_part_is_not_fitted_to_itself():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    rows[1:200, 1] += 2.0 * rows[:199, 0]
    rows[201:, 1] -= 2.0 * rows[200:-1, 0]
    parts = parts_of(PLAIN, [rows])
    found = [part.equations.coefficient[1] for part in parts]
    assert found[:3] == pytest.approx([-2.0] * 3, abs=0.2)
    assert found[3:] == pytest.approx([2.0] * 3, abs=0.2)


def test_it_is_prepared_from_one_recording():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    equations, limits, fared = prepared(PLAIN, [rows[:150], rows[150:]])
    same_equations(equations, PLAIN)
    assert equations.curves is equations.switches is None  # there is nothing to bend
    assert fared is None
    assert limits.supported == 200.0
    scores = scores_of(Judged(PLAIN, [rows]), limits)
    assert np.nanmean(scores > 1.0) < 0.1


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
    _, limits, fared = prepared(PLAIN, [rng.normal(size=(500, 2))], [rng.normal(size=(400, 2))])
    assert fared.ticks == 400
    assert fared.alarms < 20  # four were asked for
    assert fared.share < 0.1
    assert 0.5 < fared.factor < 2.0
    assert limits.supported == 200.0


def test_an_unlike_second_recording_fares_badly_and_decides():
    rng = np.random.default_rng(0)
    loud = 3.0 * rng.normal(size=(400, 2))
    _, limits, fared = prepared(PLAIN, [rng.normal(size=(500, 2))], [loud])
    assert fared.share > 0.5
    assert fared.alarms >= 1
    assert np.nanmean(scores_of(Judged(PLAIN, [loud]), limits) > 1.0) < 0.1


def test_the_factor_says_by_how_much_limits_moved():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 2))
    _, _, fared = prepared(PLAIN, [rows], [3.0 * rng.normal(size=(400, 2))])
    assert 2.0 < fared.factor < 4.5


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
    assert (limits.statistics * limits.overall > 0.1).all()


def test_a_sensor_missing_for_half_the_recording_does_not_spoil_the_limits_of_others():
    rows = 10.0 + np.random.default_rng(0).normal(size=(400, 3))
    equations = equations_of(3, [(1, 1, 1, 0.0)]).refitted([rows])
    _, whole, _ = prepared(equations, [rows])
    rows[200:, 0] = np.nan
    _, found, _ = prepared(equations, [rows])
    place = slice(1, 3)  # the newest innovations of the others
    allowed = [(one.statistics * one.overall)[place].max() for one in (whole, found)]
    assert allowed[1] < 1.5 * allowed[0]
