"""Limits from normal ticks: a margin above all they show, judged by what was not fitted to them."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import (
    DetectorSettings,
    Equations,
    InnovationDetector,
    Judged,
    calibrate,
    count_alarms,
    cross_fitted,
    scores_of,
)
from causewatch.detectors.reestimate import reestimate
from causewatch.errors import NotEnoughDataError

sys.path.insert(0, str(Path(__file__).parents[2]))
from naive_detector import NaiveDetector

MARGIN, KEPT = 1.5, 1.05


def equations_of(signals=2, links=((0, 0, 1, 0.0), (0, 1, 1, 0.0))):
    table = np.array(links, dtype=float).reshape(-1, 4)
    source, target, lag = table[:, :3].T.astype(np.intp)
    return Equations(
        signals, 1, source, target, lag, table[:, 3].copy(), np.zeros(signals), np.ones(signals)
    )


def noise(seed, ticks, signals=2, parts=4, size=1.0):
    """White noise in parts, each judged by the true mechanisms (nothing causes anything)."""
    rows = size * np.random.default_rng(seed).normal(size=(ticks, signals))
    equations = equations_of(signals)
    return [Judged(equations, [piece]) for piece in np.array_split(rows, parts)]


def limits_from(normal, every=100.0, **options):
    signals = normal[0].equations.signals
    given = {"centre": np.zeros(signals), "scale": np.ones(signals)} | options
    return calibrate(normal, false_alarm_every=every, **given)


def plant(seed, ticks):
    """Three signals, two of which follow the first."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(ticks, 3))
    for t in range(1, ticks):
        rows[t] += rows[t - 1, 0] * np.array([0.7, 0.8, -0.5])
    return rows


PLANT = equations_of(3, [(0, 0, 1, 0.0), (0, 1, 1, 0.0), (0, 2, 1, 0.0)])


# Two halves


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_halves_cover_every_tick_once_and_are_fitted_to_the_other_one(lengths):
    total = sum(lengths)
    rng = np.random.default_rng(total)
    rows = np.column_stack([np.arange(total, dtype=float), rng.normal(size=total)])
    begins = {0, *np.cumsum(lengths).tolist()}
    stretches = np.split(rows, np.cumsum(lengths)[:-1])
    equations = equations_of()
    try:
        parts = cross_fitted(equations, stretches)
    except NotEnoughDataError:
        assert total < 4 or max(lengths) < 4
        return
    half = total // 2
    seen = np.concatenate([piece[:, 0] for part in parts for piece in part.stretches])
    assert_array_equal(seen, np.arange(total))
    for part in parts:
        mine = {int(row) < half for piece in part.stretches for row in piece[:, 0]}
        assert len(mine) == 1
        first, stop = (half, total) if mine.pop() else (0, half)
        bounds = sorted({first, stop} | {k for k in begins if first < k < stop})
        fit = equations.refitted([rows[a:b] for a, b in pairwise(bounds)])
        assert_array_equal(part.equations.coefficient, fit.coefficient)
        assert_array_equal(part.equations.intercept, fit.intercept)
        for piece in part.stretches:  # none reaches from one stretch into the next
            assert_array_equal(np.diff(piece[:, 0]), 1.0)
            assert not begins & set(piece[1:, 0].astype(int).tolist())


def test_innovations_are_in_units_of_what_is_left_of_ticks_not_fitted_to():
    rows = plant(0, 600)
    first, second = cross_fitted(PLANT, [rows[:350], rows[350:]])
    assert_array_equal(first.equations.spread, second.equations.spread)
    left = [
        part.equations.innovations(piece) for part in (first, second) for piece in part.stretches
    ]
    assert [len(piece) for piece in left] == [300, 50, 250]
    left = np.concatenate(left)
    assert np.isnan(left[[0, 300, 350]]).all()
    assert_allclose(np.nanmean(left**2, axis=0), 1.0)


def test_a_half_is_not_fitted_to_itself():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    rows[1:200, 1] += 2.0 * rows[:199, 0]
    rows[201:, 1] -= 2.0 * rows[200:-1, 0]
    first, second = cross_fitted(equations_of(), [rows])
    assert first.equations.coefficient[1] == pytest.approx(-2.0, abs=0.2)
    assert second.equations.coefficient[1] == pytest.approx(2.0, abs=0.2)
    assert first.equations.spread[1] > 3.0  # and so neither fits well


def test_an_exact_mechanism_keeps_some_spread_and_an_unknown_signal_its_own():
    rows = plant(0, 200)
    rows[1:, 1] = 3.0 * rows[:-1, 0]
    rows[:, 2] = np.nan
    parts = cross_fitted(PLANT, [rows])
    spread = parts[0].equations.spread
    assert 1e-4 * 0.99 * rows[:, 1].std() <= spread[1]
    assert spread[2] == 1.0
    still = plant(0, 200)
    still[:, 2] = 7.0
    assert cross_fitted(PLANT, [still])[0].equations.spread[2] == pytest.approx(1e-12, rel=1e3)


@pytest.mark.parametrize("stretches", [[], [np.ones((1, 2))], [np.ones((1, 2))] * 30])
def test_too_few_ticks_are_refused(stretches):
    with pytest.raises(NotEnoughDataError, match=f"{len(stretches)} ticks"):
        cross_fitted(equations_of(), stretches)


# Limits


def test_limits_are_a_margin_above_the_largest_that_the_detector_saw():
    rows = plant(1, 400)
    rows[np.random.default_rng(2).random(rows.shape) < 0.01] = np.nan
    parts = cross_fitted(PLANT, [rows[:150], rows[150:]])
    centre, scale = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
    limits = limits_from(parts, centre=centre, scale=scale)
    largest = np.zeros((4, 3))
    for part in parts:
        slow = NaiveDetector(part.equations, limits, calibrating=True)
        for piece in part.stretches:
            for k, row in enumerate(piece):
                slow.update(row, k == 0)
                for j in range(3):
                    if math.isfinite(slow.innovation[j]):
                        sizes = [statistic[j] for statistic in slow.sizes]
                        largest[:, j] = np.maximum(largest[:, j], sizes)
    assert_allclose(limits.statistics[:3], MARGIN * largest[:3], rtol=1e-9)
    assert_allclose(limits.statistics[3], np.maximum(MARGIN * largest[3], 10.0), rtol=1e-9)


def test_normal_operation_stays_below_its_limits():
    parts = cross_fitted(PLANT, [plant(1, 500)])
    limits = limits_from(parts)
    for part in parts:
        assert np.nanmax(scores_of(part, limits)) <= 1.0 / MARGIN + 1e-12
    fresh = np.nan_to_num(scores_of(Judged(parts[0].equations, [plant(5, 3000)]), limits))
    assert count_alarms(fresh, 10) < 4
    odd = plant(6, 200)
    odd[100:, 1] += 12.0
    assert np.nanmax(scores_of(Judged(parts[0].equations, [odd]), limits)[100:]) > 1.0


@pytest.mark.parametrize("size", [12.0, 20.0, 50.0])
@pytest.mark.parametrize("ticks", [1, 2, 3, 4, 8, 20, 100])
def test_a_spell_that_normal_operation_showed_stays_below_its_limits(ticks, size):
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    rows[3000 : 3000 + ticks, 0] += size
    parts = cross_fitted(equations_of(), [rows])
    limits = limits_from(parts)
    for part in parts:
        assert np.nanmax(scores_of(part, limits)) <= 1.0 / KEPT + 1e-12


def test_margins_grow_slowly_with_the_time_that_is_asked_for():
    normal = noise(0, 800)
    asked = (50.0, 200.0, 400.0, 5000.0)
    limits = [limits_from(normal, every, usual_every=400.0) for every in asked]
    for less, more in pairwise(limits):
        assert (less.statistics[:3] < more.statistics[:3]).all()
        assert (less.statistics[3] <= more.statistics[3]).all()
        assert (less.links < more.links).all()
    ratio = limits[3].statistics / limits[2].statistics
    assert_allclose(ratio[:3], 12.5**0.05)
    assert [some.false_alarm_every for some in limits] == list(asked)
    assert {some.supported for some in limits} == {400.0}
    plain = limits_from(normal, 400.0)
    assert_array_equal(plain.statistics, limits[2].statistics)


def test_limits_are_never_below_what_normal_operation_shows():
    normal = noise(0, 400)
    wide = limits_from(normal, settings=DetectorSettings(margin=2.0))
    bare = limits_from(normal, settings=DetectorSettings(margin=0.3))
    assert_allclose(wide.statistics[0], 2.0 / KEPT * bare.statistics[0])
    assert_allclose(wide.statistics[1], 2.0 / KEPT * bare.statistics[1], rtol=0.1)
    for part in normal:
        assert np.nanmax(scores_of(part, bare)) <= 1.0 / KEPT + 1e-12


def test_one_loud_part_raises_the_limits():
    quiet, loud = noise(0, 600, parts=3), noise(1, 200, parts=1, size=3.0)
    plain, raised = limits_from(quiet), limits_from([*quiet, *loud])
    assert raised.statistics[:3].min() > 1.5 * plain.statistics[:3].min()
    assert (raised.statistics[:3] > 1.3 * plain.statistics[:3]).all()
    assert raised.supported == 400.0


def test_a_wild_value_puts_no_limit_out_of_reach_but_that_of_a_single_tick():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    plain = limits_from([Judged(equations_of(), [rows])])
    rows[200, 0] = 1e6  # in spreads
    wild = limits_from([Judged(equations_of(), [rows])])
    assert wild.statistics[0, 0] == MARGIN * 1e6  # whatever was seen is normal
    # Nine spreads, and as many squared, are what enters a memory at most.
    assert wild.statistics[1, 0] <= MARGIN * (9.0 + 7.0 * plain.statistics[1, 0]) / 8.0
    assert wild.statistics[1, 0] > MARGIN * (9.0 / 8.0 - plain.statistics[1, 0])
    assert wild.statistics[2, 0] <= MARGIN * math.sqrt(
        (81.0 + 7.0 * plain.statistics[2, 0] ** 2) / 8
    )
    assert wild.statistics[2, 0] > MARGIN * 9.0 / math.sqrt(8.0)
    assert_array_equal(wild.statistics[:, 1], plain.statistics[:, 1])


@pytest.mark.parametrize("cut", [1.5, 3.0])
@pytest.mark.parametrize("clip", [9.0, 4.0])
def test_limits_of_memories_take_one_wild_value_as_the_clip_whatever_is_cut_later(clip, cut):
    numbers = DetectorSettings(clip=clip, memory_cut=cut, means=(1, 4), squares=(4,))
    rows = np.zeros((50, 1))
    rows[20] = 1e9
    limits = limits_from([Judged(equations_of(1, ()), [rows])], settings=numbers)
    squares = (3 * (3 / 4) ** 20 + clip**2) / 4
    wanted = [MARGIN * 1e9, MARGIN * clip / 4, MARGIN * math.sqrt(squares)]
    assert_allclose(limits.statistics[:3, 0], wanted, rtol=1e-12)


@pytest.mark.parametrize("size", [1e2, 1e6])
def test_a_loud_spell_in_normal_operation_sets_limits_as_large_as_it_is(size):
    rows = np.zeros((100, 1))
    rows[40:80] = size
    limits = limits_from([Judged(equations_of(1, ()), [rows])])
    filled = 1 - (7 / 8) ** 40
    uncut = [size * filled, math.sqrt(size**2 * filled + (7 / 8) ** 80)]
    assert limits.statistics[0, 0] == MARGIN * size
    assert (limits.statistics[1:3, 0] >= KEPT * np.array(uncut)).all()
    assert (limits.statistics[1:3, 0] <= KEPT**2 * np.array(uncut) * (1 + 1e-12)).all()


def test_the_range_of_each_signal_is_where_it_was_in_any_part():
    rows = plant(1, 300)
    rows[np.random.default_rng(2).random(rows.shape) < 0.05] = np.nan
    rows[:, 2] = np.nan
    rows[:100, 1] = np.nan
    parts = [
        Judged(equations_of(3, ()), [rows[:60], rows[60:100]]),
        Judged(equations_of(3, ()), [rows[100:200], rows[200:]]),
    ]
    limits = limits_from(parts)
    assert_array_equal(limits.low[:2], np.nanmin(rows[:, :2], axis=0))
    assert_array_equal(limits.high[:2], np.nanmax(rows[:, :2], axis=0))
    assert np.isnan([limits.low[2], limits.high[2]]).all()  # never seen
    assert (limits.low.shape, limits.high.shape) == ((3,), (3,))


def test_nothing_is_beyond_its_range_while_limits_are_learnt():
    parts = cross_fitted(PLANT, [plant(1, 400)])
    narrow = limits_from(parts, settings=DetectorSettings(widen_most=1.0))
    wide = limits_from(parts, settings=DetectorSettings(widen_most=50.0))
    assert_array_equal(narrow.statistics, wide.statistics)
    assert_array_equal(narrow.links, wide.links)


def test_units_play_no_part():
    rows = np.random.default_rng(3).normal(size=(400, 2))
    plain = limits_from([Judged(equations_of(), [half]) for half in np.split(rows, 2)])
    units = np.array([1e6, 1e-6])
    scaled = replace(equations_of(), spread=units)
    parts = [Judged(scaled, [half * units]) for half in np.split(rows, 2)]
    limits = limits_from(parts, scale=units)
    assert_allclose(limits.statistics, plain.statistics, rtol=1e-6)
    assert_allclose(limits.links, plain.links * units[[0, 1]] / units[0], rtol=1e-6)
    assert_allclose(limits.low, plain.low * units)
    assert_allclose(limits.high, plain.high * units)


@examples(max_examples=15)
@given(st.integers(0, 1000), st.permutations(range(3)))
def test_the_order_of_signals_plays_no_part(seed, order):
    order = list(order)
    place = np.argsort(order)
    rows = np.round(plant(seed, 120), 1)
    links = [(0, 0), (0, 1), (2, 1)]
    turned = sorted((place[b], place[a], k) for k, (a, b) in enumerate(links))

    def system(pairs):
        return equations_of(3, [(a, b, 1, 0.0) for a, b in pairs])

    plain = limits_from(cross_fitted(system(links), [rows]))
    parts = cross_fitted(system([(a, b) for b, a, _ in turned]), [rows[:, order]])
    other = limits_from(parts)
    assert_allclose(other.statistics, plain.statistics[:, order], rtol=1e-9)
    assert_allclose(other.links, plain.links[[k for _, _, k in turned]], rtol=1e-6)
    assert other.moving == plain.moving
    assert_array_equal(other.low, plain.low[order])
    assert_array_equal(other.high, plain.high[order])
    for part, same in zip(parts, cross_fitted(system(links), [rows]), strict=True):
        assert_allclose(scores_of(part, other), scores_of(same, plain), rtol=1e-9)


def test_what_is_never_judged_has_no_limit():
    rows = plant(0, 200)
    rows[:, 1] = np.nan
    limits = limits_from(cross_fitted(PLANT, [rows]))
    assert np.isinf(limits.statistics[:, 1]).all()
    assert np.isfinite(limits.statistics[:, [0, 2]]).all()


# Standing still


def stuck(seed, ticks, signals=3, chance=0.3):
    """Signals that keep their value with some chance."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(ticks, signals))
    for t in range(1, ticks):
        rows[t] = np.where(rng.random(signals) < chance, rows[t - 1], rows[t])
    return [Judged(equations_of(signals, ()), [rows])]


def test_signals_that_hardly_ever_change_may_stand_still():
    rows = np.random.default_rng(0).normal(size=(400, 3))
    rows[:, 1] = np.arange(400) * 2 // 5  # changes in two fifths of the ticks
    rows[:, 2] = np.arange(400) * 4 // 7
    limits = limits_from([Judged(equations_of(3, ()), [rows])])
    assert np.isfinite(limits.statistics[-1]).tolist() == [True, False, True]
    assert limits.mobile.tolist() == [True, False, True]
    assert limits.moving == 2.0


def test_standing_still_says_something_of_what_changes_in_half_of_the_ticks():
    rows = np.random.default_rng(0).normal(size=(401, 3))
    for column, changes in ((1, 200), (2, 201)):  # of 401 values
        rows[:, column] = np.minimum(np.arange(401), changes)
    limits = limits_from([Judged(equations_of(3, ()), [rows])])
    assert limits.mobile.tolist() == [True, False, True]
    half = DetectorSettings(still_changes=0.4)
    assert limits_from([Judged(equations_of(3, ()), [rows])], settings=half).mobile.all()


def test_a_standstill_counts_from_ten_ticks_and_a_margin_above_the_longest():
    short = limits_from(noise(0, 400))
    assert_array_equal(short.statistics[-1], 10.0)
    rows = np.random.default_rng(0).normal(size=(400, 20))
    rows[100:141, 0] = 7.0
    limits = limits_from([Judged(equations_of(20, ()), [rows])])
    assert limits.moving == 20.0
    assert limits.statistics[-1, 0] == pytest.approx(MARGIN * 40 * 19 / 20)
    assert_array_equal(limits.statistics[-1, 1:], 10.0)


def test_standing_still_can_be_left_out():
    limits = limits_from(noise(0, 400), settings=DetectorSettings(standstill=False))
    assert np.isinf(limits.statistics[-1]).all()
    assert not limits.mobile.any()


def test_a_stuck_sensor_is_noticed_and_a_plant_at_rest_is_not():
    parts = stuck(0, 600, signals=4)
    limits = limits_from(parts)
    rows = stuck(1, 200, signals=4)[0].stretches[0].copy()
    rows[100:, 2] = 0.1
    assert scores_of(Judged(parts[0].equations, [rows]), limits)[100:].max() > 1.0
    rest = rows.copy()
    rest[100:] = 0.1
    assert scores_of(Judged(parts[0].equations, [rest]), limits)[100:].max() < 1.0


# Links


def test_link_limits_hold_normal_changes():
    limits = limits_from(noise(0, 1500, parts=2))
    fresh = np.random.default_rng(9).normal(size=(1500, 2))
    left = equations_of().innovations(fresh)
    changes = np.array(
        [
            reestimate(
                equations_of(), fresh[k : k + 129], left[k : k + 129], np.zeros(2), np.ones(2),
                limits.settings,
            )
            for k in range(0, 1300, 40)
        ]
    )  # fmt: skip
    above = np.abs(changes) > limits.links
    assert above.mean() < 0.05
    assert (np.abs(changes).max(axis=0) > 0.3 * limits.links).all()  # nor are they far away


def test_a_link_may_always_change_by_what_moves_its_target_by_a_hundredth():
    rows = np.zeros((200, 2))
    equations = replace(equations_of(), spread=np.array([3.0, 5.0]))
    limits = limits_from([Judged(equations, [rows])], scale=np.array([0.5, 1.0]))
    assert_allclose(limits.links, [0.01 * 3.0 / 0.5, 0.01 * 5.0 / 0.5])


# Around


def test_scores_are_those_of_the_detector_stretch_by_stretch():
    equations = equations_of(2, ((0, 0, 1, 0.5), (0, 1, 1, 0.5)))
    rows = np.random.default_rng(3).normal(size=(60, 2))
    rows[40:45] = np.nan
    part = Judged(equations, [rows[:30], rows[30:]])
    assert len(part) == 60
    limits = limits_from(noise(0, 400))
    scores = scores_of(part, limits)
    detector = InnovationDetector(equations, limits)
    expected = [detector.update(row, new_stretch=k in (0, 30)).score for k, row in enumerate(rows)]
    assert_array_equal(scores, [np.nan if score is None else score for score in expected])
    assert np.isnan(scores[[0, 30]]).all()
    assert np.isnan(scores[40:45]).all()
    assert np.isfinite(scores[1:30]).all()


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_progress_is_told_in_order(parts):
    shares = []
    limits_from(noise(0, 200, parts=parts), progress=shares.append)
    assert len(shares) == parts + 1
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert 0.0 < shares[0] <= 0.5


def test_alarms_that_are_near_each_other_are_one():
    scores = np.zeros(60)
    assert count_alarms(scores, 10) == 0
    scores[[5, 6, 16, 40]] = 2.0
    assert count_alarms(scores, 10) == 2
    assert count_alarms(scores, 9) == 3
    scores[[0, 59]] = 1.0, np.nan  # at the limit is not above it
    assert count_alarms(scores, 10) == 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "kind",
    ["holes", "no values", "constant", "all constant", "two-valued", "spikes", "half of it holes"],
)
@pytest.mark.parametrize("cut", [(), (100,), (1, 2, 199)])
def test_poor_recordings_still_give_limits(seed, kind, cut):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(200, 2))
    second = np.arange(2) == 1
    values = {
        "holes": np.where(rng.random(rows.shape) < 0.3, np.nan, rows),
        "no values": np.where(second, np.nan, rows),
        "constant": np.where(second, 0.0, rows),
        "all constant": np.full_like(rows, 3.0),
        "two-valued": np.sign(rows),
        "spikes": np.where(rng.random(rows.shape) < 0.01, 1e9, 0.0),
        "half of it holes": np.where(np.arange(200)[:, None] < 100, np.nan, rows),
    }[kind]
    scale = np.maximum(np.nan_to_num(np.where(second & (kind == "constant"), 0, 1.0)), 1e-300)
    for links in ((), ((0, 0, 1, 0.0), (0, 1, 1, 0.0), (1, 0, 1, 0.0))):
        if kind == "no values" and links:  # of which all mechanisms make use
            with pytest.raises(NotEnoughDataError, match="what is missing"):
                cross_fitted(equations_of(2, links), [values])
            continue
        parts = cross_fitted(equations_of(2, links), np.split(values, list(cut)))
        limits = limits_from(parts, scale=scale)
        assert (limits.statistics > 0).all()
        assert not np.isnan(limits.statistics).any()
        assert np.isfinite(limits.links).all()
        assert (limits.links > 0).all()
        assert math.isfinite(limits.moving)
        for part in parts:
            assert np.nanmax(np.nan_to_num(scores_of(part, limits))) < 1.0


@pytest.mark.parametrize("ticks", [2, 4, 30])
def test_few_ticks_give_limits_all_the_same(ticks):
    limits = limits_from([Judged(equations_of(), [plant(0, ticks)[:, :2]])])
    assert np.isfinite(limits.statistics).all()
    assert limits.supported == ticks / 2


def test_without_links_and_with_one_part():
    rows = np.random.default_rng(0).normal(size=(1000, 1))
    normal = [Judged(equations_of(1, ()), [rows])]
    limits = limits_from(normal, 200.0)
    assert limits.links.shape == (0,)
    scores = scores_of(normal[0], limits)
    assert count_alarms(scores, 10) == 0
    assert np.isfinite(limits.statistics).all()


def odd_column(rng, column):
    """What recordings may hold: constants, holes, huge and tiny units, a sensor that dies."""
    kind, ticks = rng.integers(0, 8), len(column)
    if kind == 0:
        column[:] = rng.choice([0.0, 3.0, 1e30, -1e-30])
    elif kind == 1:
        column[:] = np.nan
    elif kind == 2:
        column[rng.random(ticks) < 0.1] = np.nan
    elif kind == 3:
        column[rng.integers(ticks)] = rng.choice([1e30, -1e30])
    elif kind == 4:
        column *= rng.choice([1e-20, 1e20])
    elif kind == 5:
        column[:] = np.round(column)
    elif kind == 6:
        column[ticks // 2 :] = 7.0


@examples(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_whatever_a_recording_holds_its_limits_are_sound_or_refused(seed):
    rng = np.random.default_rng(seed)
    signals, ticks = int(rng.integers(1, 5)), int(rng.integers(1, 200))
    places = [(i, j, k) for j in range(signals) for i in range(signals) for k in range(i >= j, 2)]
    links = [(*place, rng.normal()) for place in places if rng.random() < 0.3]
    rows = rng.normal(size=(ticks, signals))
    for column in rows.T:
        odd_column(rng, column)
    cuts = np.sort(rng.integers(0, ticks + 1, size=rng.integers(0, 4)))
    try:
        parts = cross_fitted(equations_of(signals, links), np.split(rows, cuts))
    except NotEnoughDataError:
        return
    known = [column[np.isfinite(column)] for column in rows.T]
    limits = limits_from(
        parts,
        float(rng.choice([2, 100, 1e6])),
        usual_every=100.0,
        centre=np.array([column.mean() if len(column) else 0.0 for column in known]),
        scale=np.array([max(column.std(), 1e-300) if len(column) else 1.0 for column in known]),
    )
    assert (limits.statistics > 0).all()
    assert np.isfinite(limits.links).all()
    assert (limits.links > 0).all()
    for part in parts:
        assert not (scores_of(part, limits) > 1.0).any()
