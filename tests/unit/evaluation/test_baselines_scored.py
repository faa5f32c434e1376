"""What every detector that is a score per tick has in common."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.data.table import TimeTable
from causewatch.errors import CausewatchError, NotEnoughDataError, SettingError
from causewatch.evaluation.baselines import scored
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.scored import CAUTION, Scored
from causewatch.evaluation.baselines.tails import level_of_peaks
from causewatch.extras import needed
from causewatch.model.watching import MERGE

SECOND = 1_000_000_000


class Largest(Scored):
    """The largest distance from the mean; keeps what it is shown."""

    name = "largest"

    def _learn(self, ticks, seed, progress):
        self.learnt, self.seed, self.seen = [rows.copy() for rows in ticks], seed, []

    def _judge(self, ticks):
        self.seen.append(ticks.copy())
        size = np.abs(ticks)
        return size.max(axis=1), size


class Step(Largest):
    """The largest change since some ticks ago."""

    name = "step"
    reach = 3

    def _judge(self, ticks):
        size = np.full(ticks.shape, np.nan)
        size[3:] = np.abs(ticks[3:] - ticks[:-3])
        return size.max(axis=1), size


class Blind(Largest):
    """Knows how much, not where."""

    def _judge(self, ticks):
        return np.abs(ticks).max(axis=1), None


def table(values, *, starts=(0,), interval=1.0):
    values = np.asarray(values, dtype=float)
    time = (np.arange(len(values)) * interval * SECOND).astype(np.int64)
    names = tuple(f"x{k}" for k in range(values.shape[1]))
    return TimeTable(names, values, time, np.array(starts), interval, "elapsed")


def noise(rows, signals=3, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, signals))


def split(learn, limits, *, every=1.0, max_lag=2, false_alarm_every=500.0):
    return Split((learn,), (limits,), every, max_lag, false_alarm_every, 7)


def fitted(kind=Largest, **settings):
    detector = kind()
    detector.fit(split(table(5 + 2 * noise(2000)), table(5 + 2 * noise(1000, seed=1)), **settings))
    return detector


def test_signals_are_standardised_on_the_learning_part():
    detector = fitted()
    (rows,) = detector.learnt
    assert rows.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert rows.std(axis=0) == pytest.approx(1, abs=1e-12)
    assert detector.seed == 7
    detector.seen.clear()
    detector.watch(table(np.full((5, 3), 5.0)))
    centre = (5 + 2 * noise(2000)).mean(axis=0)
    scale = (5 + 2 * noise(2000)).std(axis=0)
    assert detector.seen[0] == pytest.approx(np.tile((5 - centre) / scale, (5, 1)))


@pytest.mark.parametrize("level", [0.0, 0.1, -3e7])
def test_a_constant_signal_keeps_its_unit(level):
    learn = noise(1000)
    learn[:, 1] = level
    detector = Largest()
    detector.fit(split(table(learn), table(noise(500)), every=10.0))
    detector.seen.clear()
    live = np.zeros((10, 3))
    live[:, 1] = level + 4.0
    detector.watch(table(live))
    assert detector.seen[0][0, 1] == pytest.approx(4.0)


def test_missing_values_are_held_and_then_put_at_the_mean():
    detector = fitted()
    detector.seen.clear()
    live = np.full((20, 3), 9.0)
    live[4:, 1] = np.nan
    detector.watch(table(live))
    seen = detector.seen[0]
    assert (seen[:9, 1] == seen[0, 1]).all()  # five ticks held
    assert (seen[9:, 1] == 0.0).all()
    assert (seen[:, 0] == seen[0, 0]).all()


def test_a_signal_that_is_not_recorded_is_missing_and_a_new_one_ignored():
    detector = fitted()
    full = 5 + 2 * noise(200, seed=3)
    whole = detector.watch(table(full))
    more = TimeTable(
        ("new", "x2", "x0"),
        np.column_stack([np.full(200, 1e9), full[:, 2], full[:, 0]]),
        table(full).time,
        np.array([0]),
        1.0,
        "elapsed",
    )
    detector.seen.clear()
    part = detector.watch(more)
    assert (detector.seen[0][:, 1] == 0.0).all()
    assert (part.score <= whole.score + 1e-12).all()


def test_the_limit_comes_from_the_limits_part_by_the_rule_of_the_product():
    detector = fitted()
    learn, limits = 5 + 2 * noise(2000), 5 + 2 * noise(1000, seed=1)
    raw = np.abs((limits - learn.mean(axis=0)) / learn.std(axis=0)).max(axis=1)
    level = level_of_peaks(raw, CAUTION * 500.0, MERGE)
    live = 5 + 2 * noise(300, seed=2)
    height = np.abs((live - learn.mean(axis=0)) / learn.std(axis=0)).max(axis=1) / level
    assert detector.watch(table(live)).score == pytest.approx(height)


def test_no_limit_for_a_time_that_the_recording_cannot_speak_of():
    live = table(5 + 2 * noise(300, seed=2))
    longest = fitted(false_alarm_every=10 * 1000.0).watch(live).score
    assert fitted(false_alarm_every=1e9).watch(live).score == pytest.approx(longest)
    assert (fitted(false_alarm_every=5000.0).watch(live).score > longest).all()


def test_rows_of_a_tick_share_its_score():
    detector = fitted(every=10.0)
    verdicts = detector.watch(table(5 + 2 * noise(104, seed=4)))
    whole = verdicts.score[:100].reshape(10, 10)
    assert (whole == whole[:, :1]).all()
    assert len(set(whole[:, 0])) == 10
    assert np.isnan(verdicts.score[100:]).all()  # less than half a tick


def test_stretches_are_judged_apart():
    detector = fitted(Step)
    values = 5 + 2 * noise(60, seed=5)
    verdicts = detector.watch(table(values, starts=(0, 20, 22)))
    unknown = np.flatnonzero(np.isnan(verdicts.score)).tolist()
    assert unknown == [0, 1, 2, 20, 21, 22, 23, 24]
    alone = detector.watch(table(values[22:]))
    assert verdicts.score[22:] == pytest.approx(alone.score, nan_ok=True)


@pytest.mark.parametrize("piece", [1, 7, 64])
def test_judging_in_pieces_changes_nothing(monkeypatch, piece):
    detector = fitted(Step)
    live = table(5 + 2 * noise(150, seed=6))
    whole = detector.watch(live)
    monkeypatch.setattr(scored, "PIECE", piece)
    assert np.array_equal(detector.watch(live).score, whole.score, equal_nan=True)


def faulty():
    values = 5 + 2 * noise(400, seed=8)
    values[100:140, 2] += 40.0
    values[100:140, 0] += 25.0
    return values


def test_alarms_come_and_go_by_the_rules_of_the_product():
    verdicts = fitted().watch(table(faulty()))
    (alarm,) = [one for one in verdicts.alarms if one.causes[0] == "x2"]
    assert alarm.raised_at == 100 * SECOND
    assert alarm.cleared_at == 142 * SECOND  # the third calm tick
    assert alarm.causes == ("x2", "x0")
    assert not alarm.abstained
    assert verdicts.alarm[100:142].all()
    assert not verdicts.alarm[142:150].any()


def test_a_detector_that_cannot_tell_names_no_cause():
    verdicts = fitted(Blind).watch(table(faulty()))
    assert any(one.raised_at == 100 * SECOND for one in verdicts.alarms)
    assert all(one.abstained and not one.causes for one in verdicts.alarms)


def test_at_most_ten_causes_are_named():
    detector = Largest()
    detector.fit(split(table(noise(500, 14)), table(noise(300, 14, seed=1))))
    live = noise(60, 14, seed=2)
    live[40:] += 50.0 + np.arange(14)
    (alarm,) = [one for one in detector.watch(table(live)).alarms if one.raised_at == 40 * SECOND]
    assert len(alarm.causes) == 10
    assert alarm.causes[0] == "x13"
    assert alarm.cleared_at is None


def test_single_steps_are_timed():
    detector = fitted(Step)
    long = detector.watch(table(5 + 2 * noise(400, seed=8)))
    assert len(long.step_seconds) == scored.TIMED
    assert (long.step_seconds > 0).all()
    assert long.seconds > 0
    assert len(detector.watch(table(noise(8))).step_seconds) == 5
    assert len(detector.watch(table(noise(0))).step_seconds) == 0


def test_progress_is_told():
    told = []
    detector = Largest()
    parts = split(table(noise(500)), table(noise(300, seed=1)))
    detector.fit(parts, lambda what, share: told.append(what))
    detector.watch(table(noise(50)), lambda what, share: told.append(what))
    assert told == ["learning alarm limits", "watching"]


def test_watching_before_learning_is_an_error():
    with pytest.raises(SettingError, match="call fit first"):
        Largest().watch(table(noise(50)))


def test_too_short_a_limits_part_is_an_error():
    with pytest.raises(NotEnoughDataError, match="looks back 3 ticks"):
        Step().fit(split(table(noise(500)), table(noise(3))))


def test_a_missing_library_is_said_to_be():
    with pytest.raises(CausewatchError, match=r"pip install 'causewatch\[thing\]'"):
        needed("no_such_library.part", "thing")
    assert needed("math", "thing").pi > 3
