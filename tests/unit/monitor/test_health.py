"""Health: each state by itself, nothing else beside it, and restarts that change nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.detectors.habits import habits_of
from causewatch.errors import SettingError
from causewatch.monitor.health import CALM, LEAST_FROZEN, OUTSIDE, STREAM, HealthWatch
from causewatch.monitor.intake import Intake
from causewatch.preprocess import Preprocessing

NAN = np.nan
HOLD = 5
NAMES = ("level", "flow", "pump", "fixed")


def normal(rows=600, seed=0):
    """Two measured signals, an on/off one and one that never moves."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 4))
    values[:, 0] += 50.0
    values[:, 2] = np.arange(rows) // 40 % 2
    values[:, 3] = 3.0
    return values


HABITS = habits_of([normal()])


def watch(habits=HABITS, **more):
    return HealthWatch(NAMES, habits, hold=HOLD, **more)


def run(target, values, fresh=None, begin=0):
    """All changes, as (tick, signal, state)."""
    fresh = ~np.isnan(values) if fresh is None else fresh
    found = []
    for k in range(len(values)):
        for change in target.update(begin + k, values[k], fresh[k]):
            found.append((begin + k, change.now.signal, change.now.state))
    return found


def held(values):
    """Ticks as the averager would give them: missing values held for `HOLD` ticks."""
    out = values.copy()
    for column in out.T:
        age = 0
        for k in range(1, len(column)):
            age = age + 1 if np.isnan(column[k]) else 0
            if 0 < age <= HOLD:
                column[k] = column[k - 1]
    return out


# Habits


def test_habits_are_what_the_recording_shows():
    one = np.array([[1.0, NAN, 5.0], [2.0, 4.0, 5.0], [2.0, NAN, 5.0], [2.0, NAN, NAN]])
    two = np.array([[-1.0, NAN, 5.0]])
    found = habits_of([one, np.empty((0, 3)), two], rows_per_tick=9.5)
    assert found.ticks == 5
    assert found.low.tolist() == [-1, 4, 5]
    assert found.high.tolist() == [2, 4, 5]
    assert found.longest_still.tolist() == [2, 0, 2]
    assert found.still.tolist() == [0.4, 0, 0.4]
    assert found.longest_missing.tolist() == [0, 2, 1]
    assert found.missing.tolist() == [0, 0.8, 0.2]
    assert found.rows_per_tick == 9.5


def test_habits_of_a_signal_without_values():
    found = habits_of([np.full((3, 1), NAN)])
    assert np.isnan(found.low).all()
    assert found.longest_missing.tolist() == [3]
    assert run(HealthWatch(["x"], found, hold=1), np.array([[NAN], [5.0], [5.0]])) == []


def test_habits_of_parts_merge_to_those_of_the_whole():
    values = normal()
    values[5:9, 1] = NAN
    whole = habits_of([values[:200], values[200:]], rows_per_tick=8.0)
    parts = habits_of([values[:200]], 8.0).merged(habits_of([values[200:]], 8.0))
    for name in ("ticks", "low", "high", "longest_still", "still", "longest_missing", "missing"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name))
    assert parts.rows_per_tick == 8.0
    assert np.isnan(habits_of([values]).merged(habits_of([values])).rows_per_tick)


def test_runs_survive_the_last_digit_of_a_mean():
    value = 0.1
    means = np.array([[sum([value] * n) / n] for n in (9, 10, 7, 3)])
    assert len(set(means[:, 0].tolist())) > 1
    assert habits_of([means]).longest_still.tolist() == [3]


# States


def test_normal_data_are_well():
    target = watch()
    assert run(target, normal(2_000, seed=1)) == []
    assert target.now == {}


def test_a_dead_sensor_becomes_missing_and_nothing_else_changes():
    values = normal(100, seed=2)
    values[40:, 1] = NAN
    target = watch()
    assert run(target, held(values), ~np.isnan(values)) == [
        (41, "flow", "stale"),
        (40 + HOLD, "flow", "missing"),
    ]
    assert list(target.now) == ["flow"]
    assert target.now["flow"].since == 45
    back = normal(20, seed=3)
    assert run(target, back, begin=100) == [(99 + CALM, "flow", "ok")]


def test_a_dead_sensor_through_the_intake():
    recipe = Preprocessing(NAMES, {}, 5.0, 1, None, HOLD, "", NAMES)
    intake, target = Intake(recipe, 1.0, "elapsed"), watch()
    changes = []
    for k, row in enumerate(np.repeat(normal(100, seed=2), 5, axis=0)):
        if k >= 203:
            row[0] = NAN
        for tick in intake.row(dict(zip(NAMES, row.tolist(), strict=True)), float(k)):
            changes += target.update(
                tick.time, tick.values, tick.fresh, new_stretch=tick.new_stretch, pace=intake.pace
            )
    assert [(one.now.signal, one.now.state) for one in changes] == [
        ("level", "stale"),
        ("level", "missing"),
    ]


def test_missing_from_the_first_tick_on():
    values = normal(10)
    values[:, 0] = NAN
    assert run(watch(), values) == [(0, "level", "missing")]


def test_one_missing_tick_is_no_news():
    values = normal(50)
    values[[10, 20, 30], 0] = NAN
    assert run(watch(), held(values), ~np.isnan(values)) == []


def test_what_is_often_missing_must_be_missing_for_clearly_longer():
    usual = normal()
    usual[100:104, 0] = NAN
    values = normal(60, seed=4)
    values[10:40, 0] = NAN
    found = run(watch(habits_of([usual])), values)
    assert found == [(10 + 3 * 4, "level", "missing"), (39 + CALM, "level", "ok")]


def test_an_on_off_signal_whose_values_are_held_is_not_stale():
    values = normal(60)
    values[10 : 10 + HOLD, 2] = NAN
    assert run(watch(), held(values), ~np.isnan(values)) == []


def test_a_stuck_sensor_becomes_frozen_and_nothing_else():
    values = normal(100, seed=5)
    values[30:60, 0] = values[30, 0]
    target = watch()
    assert run(target, values[:60]) == [(30 + LEAST_FROZEN, "level", "frozen")]
    assert "stood still at" in target.now["level"].detail
    assert run(target, values[60:], begin=60) == [(59 + CALM, "level", "ok")]


def test_standing_still_is_left_to_a_detector_that_takes_it_for_evidence():
    values = normal(200)
    values[30:, 0] = values[30, 0]
    assert run(HealthWatch(NAMES, HABITS, hold=3, frozen=False), values) == []


def test_frozen_means_clearly_longer_than_ever():
    usual = normal()
    usual[100:121, 0] = usual[100, 0]  # unchanged at 20 ticks
    values = normal(120, seed=6)
    values[30:, 0] = values[30, 0]
    assert run(watch(habits_of([usual])), values) == [(30 + 3 * 20, "level", "frozen")]


def test_on_off_and_constant_signals_are_never_frozen():
    values = normal(2_000, seed=7)
    values[:, 2] = 1.0
    assert run(watch(), values) == []


def test_a_value_that_is_held_or_missing_does_not_count_as_standing_still():
    values = normal(60, seed=8)
    values[10:19, 0] = values[10, 0]
    values[19:, 0] = NAN
    states = [state for _, _, state in run(watch(), held(values), ~np.isnan(values))]
    assert states == ["stale", "missing"]


def test_ticks_without_a_value_do_not_bring_a_signal_nearer_to_frozen():
    values = normal(60, seed=8)
    values[10 : 10 + LEAST_FROZEN + 3, 0] = values[10, 0]
    values[13:17, 0] = NAN
    found = run(watch(), held(values), ~np.isnan(values))
    assert [state for _, _, state in found] == ["stale", "ok"]


def test_a_gap_ends_a_run_but_not_a_state():
    values = normal(40, seed=9)
    values[:, 0] = values[0, 0]
    target, fresh = watch(), np.ones(4, dtype=bool)
    for k in range(40):
        assert target.update(k, values[k], fresh, new_stretch=k % 8 == 0) == []
    target = watch()
    assert run(target, values[:20]) == [(LEAST_FROZEN, "level", "frozen")]
    assert target.update(20, values[20], fresh, new_stretch=True) == []
    assert target.now["level"].state == "frozen"


def test_a_change_of_unit_is_out_of_range_and_nothing_else():
    values = normal(60, seed=10)
    values[20:40, 0] *= 1_000.0
    target = watch()
    assert run(target, values) == [
        (19 + OUTSIDE, "level", "out_of_range"),
        (39 + CALM, "level", "ok"),
    ]


def test_out_of_range_has_a_margin_and_a_narrower_way_back():
    low, high = HABITS.low[0], HABITS.high[0]
    width = high - low
    spike, outside, between, inside = [9.0, 0.51], [0.51, 9.0, 0.52], [0.49, 0.26], [0.24] * CALM
    beyond = np.array([*spike, *between, *outside, *between, *inside[1:], *between, *inside])
    values = normal(len(beyond), seed=11)
    values[:, 0] = high + width * beyond
    assert run(watch(), values) == [
        (6, "level", "out_of_range"),
        (len(beyond) - 1, "level", "ok"),
    ]
    values[:, 0] = low - 0.6 * width * (1 + 0.1 * np.arange(len(values)))
    assert run(watch(), values) == [(OUTSIDE - 1, "level", "out_of_range")]


def test_a_constant_signal_that_moves_is_left_to_the_guards():
    values = normal(20)
    values[10:, 3] = 1e6
    assert run(watch(), values) == []


def test_missing_is_worse_than_out_of_range():
    values = normal(20)
    values[5:, 0] = 1e6
    values[10:, 0] = NAN
    found = run(watch(), values)
    assert found == [(4 + OUTSIDE, "level", "out_of_range"), (10, "level", "missing")]


def test_zero_in_place_of_a_missing_value_is_still_missing():
    """As the published preset gives it: nothing is held, and missing is zero."""
    values, fresh = normal(20), np.ones((20, 4), dtype=bool)
    values[10:, 0], fresh[10:, 0] = 0.0, False
    target = HealthWatch(NAMES, HABITS, hold=0)
    assert run(target, values, fresh) == [(10, "level", "missing")]


def test_that_a_signal_is_not_as_learnt_is_told_from_outside():
    target = watch()
    (change,) = target.mark_unlike("flow", 7, "flow began elsewhere.")
    assert (change.before, change.now.state, change.now.since) == ("ok", "unlike", 7)
    assert target.mark_unlike("flow", 9, "flow has been off alone.") == []
    assert target.now["flow"].detail == "flow has been off alone."
    assert target.now["flow"].since == 7  # one finding, since the first time
    values = normal(40)
    values[10:20, 1] = 1e3
    found = run(target, values, begin=10)
    assert found == [(19 + OUTSIDE, "flow", "out_of_range"), (30, "flow", "unlike")]
    assert target.now["flow"].since == 7
    (change,) = target.unmark("flow", 60)
    assert change.now.state == "ok"
    assert target.now == {}
    assert target.unmark("flow", 61) == []


def test_the_mark_lasts_until_it_is_taken_back_however_well_the_signal_is():
    target = watch()
    target.mark_unlike("flow", 7, "flow has been off alone.")
    assert run(target, normal(500)) == []
    assert target.now["flow"].state == "unlike"


def test_a_mark_made_while_something_worse_holds_shows_afterwards():
    target = watch()
    values = normal(30)
    values[:10, 1] = 1e3
    run(target, values[:10])
    assert target.mark_unlike("flow", 3, "unlike") == []
    assert run(target, values[10:], begin=10) == [(10, "flow", "unlike")]


@pytest.mark.parametrize(
    ("pace", "word"), [(2.0, "more than 2 times as slowly"), (0.1, "more than 10 times as fast")]
)
def test_rows_that_come_at_another_rate_concern_the_stream(pace, word):
    target = watch()
    assert target.rate(1, 1.3) == []
    (change,) = target.rate(2, pace)
    assert change.now.signal == STREAM
    assert change.now.state == "rate_wrong"
    assert word in change.now.detail
    assert target.rate(3, 1.3) == []
    assert target.now[STREAM].since == 2
    (change,) = target.rate(4, 1.1)
    assert (change.now.state, target.now) == ("ok", {})


def test_rows_that_are_usually_missing_are_no_news():
    values = normal()
    target = watch(habits_of([values], rows_per_tick=5.0), rows_expected=10.0)
    assert target.rate(1, 2.0) == []
    assert len(target.rate(1, 1.0)) == 1


# Restarts


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 80))
def test_a_restart_changes_nothing(seed, cut):
    rng = np.random.default_rng(seed)
    values = normal(80, seed=seed)
    stuck = rng.integers(0, 60)
    values[stuck : stuck + 25, 0] = values[stuck, 0]
    values[rng.random(values.shape) < 0.1] = NAN
    values[rng.random(values.shape) < 0.05] = 1e4
    fresh = ~np.isnan(values)
    values, begins = held(values), rng.random(80) < 0.05

    def go(target, span):
        changes = []
        for k in span:
            changes += target.update(
                k, values[k], fresh[k], new_stretch=bool(begins[k]), pace=1.0 + k / 80
            )
            if k % 30 == 7:
                changes += target.mark_unlike("flow", k, f"unlike at {k}")
            if k % 30 == 20:
                changes += target.unmark("flow", k)
        return changes

    whole = watch()
    expected = go(whole, range(80))
    before, after = watch(), watch()
    changes = go(before, range(cut))
    state = before.snapshot()
    go(before, range(cut, 80))  # must not reach into the snapshot
    after.restore(state)
    assert changes + go(after, range(cut, 80)) == expected
    assert after.now == whole.now
    states = dict.fromkeys(NAMES, "ok")
    for change in expected:  # each change begins where the one before ended
        if change.now.signal in states:
            assert states[change.now.signal] == change.before
            states[change.now.signal] = change.now.state


def test_the_state_is_plain_and_does_not_grow():
    target = watch()
    values = normal(4_000, seed=12)
    values[np.random.default_rng(1).random(values.shape) < 0.1] = NAN
    run(target, held(values[:2_000]), ~np.isnan(values[:2_000]))
    plain = lambda one: one.tolist()  # noqa: E731
    size = len(json.dumps(target.snapshot(), default=plain))
    run(target, held(values[2_000:]), ~np.isnan(values[2_000:]))
    assert len(json.dumps(target.snapshot(), default=plain)) < size + 500


def test_a_state_or_habits_of_other_signals_are_refused():
    other = HealthWatch(["x"], habits_of([normal()[:, :1]]), hold=1)
    with pytest.raises(SettingError, match="same model"):
        watch().restore(other.snapshot())
    with pytest.raises(SettingError, match="habits of the same signals"):
        HealthWatch(["x"], HABITS, hold=1)
