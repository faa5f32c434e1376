"""What happened to a signal is told by what kind of signal it is."""

from dataclasses import replace

import numpy as np
import pytest
from alarm_story import (
    NAMES,
    ONSET,
    alarm,
    at,
    biased_sensor,
    broken,
    context,
    course,
    equations,
    frozen_signal,
    rows,
)

from causewatch.explain.changes import burst, change_of, offsets
from causewatch.explain.explanation import explain
from causewatch.explain.kinds import kind_of
from causewatch.explain.ranking import rank


def changed(values, column, raised=ONSET, links=(), names=NAMES, **more):
    seen = course(values, names)
    known = context(**more)
    return change_of(seen, known, rank(seen, known, at(raised)), column, links)


def with_column(shape):
    """The plant with a fifth, guarded signal."""
    return np.column_stack([rows(), shape])


def test_the_offset_of_a_sensor_is_named():
    told = explain(alarm(), course=biased_sensor(12.0), context=context()).changes[0]
    assert told.kind == "level"
    assert told.amount == pytest.approx(12.0, abs=2.5)


def test_an_offset_that_would_put_the_truth_where_it_cannot_be_is_not_told():
    """Errors of an integrating signal add up; what is told is the error of a tick."""
    values = rows()
    values[ONSET:, 1] += 12.0
    low, high = np.full(4, -9.0), np.full(4, 9.0)
    wide = changed(values, 1)
    seen = course(values)
    law = replace(equations(), coefficient=np.array([0.5, 0.9, 0.99, 2.0, 0.3, 0.5]))
    known = context(low=low, high=high)
    known = replace(known, equations=law)
    narrow = change_of(seen, known, rank(seen, known, at(ONSET)), 1, ())
    assert wide.kind == "level"
    assert narrow.kind in ("range", "level")


def test_an_excursion_that_was_over_before_is_not_told_again():
    """A spike had an alarm of its own; what comes later is told as what it is."""
    values = rows()
    values[ONSET - 20, 1] += 1e6
    values[ONSET:, 1] += 3.0
    low, high = np.full(4, -50.0), np.full(4, 50.0)
    told = changed(values, 1, low=low, high=high)
    assert told.kind != "range"
    assert abs(told.amount) < 100
    values[ONSET - 2, 1] += 1e6  # this one is part of it
    assert changed(values, 1, low=low, high=high).kind == "range"


def test_leaving_the_normal_range_is_told_with_the_range():
    values = rows()
    values[ONSET:, 3] += 20.0
    told = changed(values, 3, low=np.full(4, -5.0), high=np.full(4, 5.0))
    assert (told.kind, told.at, told.low, told.high) == ("range", at(ONSET), -5, 5)
    assert told.after == values[ONSET : ONSET + 12, 3].max()


def test_a_slow_offset_is_a_drift():
    values = rows(ticks=120)
    values[ONSET - 40 : ONSET + 12, 3] += np.linspace(0.0, 12.0, 52)
    values[ONSET + 12 :, 3] += 12.0
    assert changed(values, 3).kind == "drift"


def test_noise_is_called_noise():
    values = rows()
    values[ONSET:, 3] += np.random.default_rng(3).normal(size=len(values) - ONSET) * 6
    told = changed(values, 3, ONSET + 3, [broken("AIT202", "AIT202", 1, 0.5, 0.0)])
    assert told.kind == "noise"
    assert told.amount > 2


def test_a_surprise_or_two_are_no_noise():
    quiet = np.random.default_rng(5).normal(size=12)
    assert burst(np.append(quiet, 40.0)) == slice(12, 13)
    assert burst(np.append(quiet, [20.0, 25.0])) == slice(12, 14)
    assert burst(np.array([0.3, np.nan, -9.0, np.nan])) == slice(2, 3)
    assert burst(np.array([5.0, -6.0, 7.0])) is None
    assert burst(6.0 * quiet) is None
    assert burst(np.zeros(4)) is None


def test_the_beginning_of_an_offset_is_a_jump():
    """The trouble may seem to have begun some ticks before; the jump is told with its own time."""
    values = rows()[: ONSET + 1]
    values[ONSET, 3] += 60.0
    values[ONSET - 8 : ONSET, 3] *= 2.2
    told = changed(values, 3)
    assert (told.kind, told.at) == ("jump", at(ONSET))
    assert 50 < told.amount < 70


def test_a_signal_is_stuck_once_it_stands_longer_than_it_ever_did():
    seen = frozen_signal()
    for longest, kind in ((3, "stuck"), (200, None)):
        known = context(longest_still=np.full(4, longest))
        told = change_of(seen, known, rank(seen, known, at(ONSET + 12)), 3, ())
        assert (told.kind == "stuck") is (kind == "stuck")
    known = context(longest_still=np.zeros(4, dtype=np.int64))
    told = change_of(seen, known, rank(seen, known, at(ONSET + 12)), 3, ())
    assert told.at == at(ONSET - 1)
    assert told.after == seen.values[ONSET, 3]


def test_a_link_that_no_longer_acts():
    """It is told if it accounts for what happened; one that merely looks broken as well is not."""
    link, other = broken("FIT101", "LIT301", 1, 0.9, 0.0), broken("P101", "LIT301", 1, 0.1, 0.9, 9)
    own = broken("LIT301", "LIT301", 1, 0.5, 0.1, 5.0)
    values = rows()
    values[: ONSET + 1, 0] *= 4.0
    for t in range(ONSET, len(values)):
        values[t, 0] *= 4.0
        values[t, 1] = 0.5 * values[t - 1, 1] + 0.1 * np.sin(t)
    told = changed(values, 1, links=[own, other, link])
    assert (told.kind, told.link) == ("link", link)
    assert changed(rows(), 1, links=[own, other, link]).kind != "link"


def test_a_change_within_a_tick_is_told_by_its_rows():
    """A pump that is switched on within a tick is at 2, though the tick says 1.7."""
    shape = np.ones(ONSET + 1)
    shape[ONSET] = 1.7
    values = np.column_stack([rows()[: ONSET + 1], shape])
    high = values.copy()
    high[ONSET, 4] = 2.0
    low = values.copy()
    low[ONSET, 4] = 1.0
    seen = replace(course(values, (*NAMES, "P203")), low=low, high=high)
    known = context(low=np.array([-9.0] * 4 + [1.0]), high=np.array([9.0] * 4 + [1.0]))
    told = change_of(seen, known, rank(seen, known, at(ONSET)), 4, ())
    assert (told.what, told.before, told.after, told.at) == ("switch", 1.0, 2.0, at(ONSET))


def test_a_wild_value_is_told_as_it_came():
    """One row of 1e9 among five makes a tick of 2e8."""
    values = rows()[: ONSET + 1]
    high = values.copy()
    values[ONSET, 3], high[ONSET, 3] = 2e8, 1e9
    known = context(low=np.full(4, -9.0), high=np.full(4, 9.0))
    seen = replace(course(values), high=high)
    told = change_of(seen, known, rank(seen, known, at(ONSET)), 3, ())
    assert (told.kind, told.after) == ("range", 1e9)


def test_a_signal_that_hardly_ever_moved_and_moves_freely_now_is_a_sensor():
    shape = np.full(110, 18.0)
    shape[ONSET:] += np.random.default_rng(4).uniform(5.0, 10.0, size=30)
    told = changed(with_column(shape), 4, names=(*NAMES, "TIT101"))
    assert (told.kind, told.what, told.before) == ("value", "sensor", 18.0)
    assert told.after == shape[ONSET : ONSET + 12].max()


def test_a_single_surprise_is_a_jump():
    values = rows()[: ONSET + 1]
    values[ONSET, 3] += 9.0
    known = context()
    seen = course(values)
    ranking = replace(rank(seen, known, at(ONSET)), onset=np.full(4, ONSET))
    told = change_of(seen, known, ranking, 3, [broken("AIT202", "AIT202", 1, 0.5, 0.1)])
    assert told.kind == "jump"
    assert told.amount == pytest.approx(9.0, abs=3.0)


@pytest.mark.parametrize(
    ("before", "after", "what", "name"),
    [
        (1.0, 2.0, "switch", "P203"),
        (2.0, 1.0, "valve", "MV203"),
        (0.0, 1.0, "valve", "Drain valve"),
        (30000.0, 60000.0, "setting", "SP203"),
    ],
)
def test_a_constant_that_moved_is_told_with_its_values(before, after, what, name):
    shape = np.full(110, before)
    shape[ONSET + 1 :] = after
    values = with_column(shape)
    told = changed(values, 4, ONSET + 1, names=(*NAMES, name))
    assert (told.kind, told.what) == ("value", what)
    assert (told.before, told.after, told.at) == (before, after, at(ONSET + 1))


def test_a_constant_that_moved_before_all_that_is_known():
    told = changed(with_column(np.full(110, 5.0)), 4, names=(*NAMES, "SP"), low=np.array([0] * 5),
                   high=np.array([3] * 5))  # fmt: skip
    assert told.kind == "value"
    assert np.isnan(told.before)
    assert (told.low, told.after) == (0.0, 5.0)


def test_kinds_of_signals():
    ticks = np.arange(110)
    toggled = (ticks // 20 % 2).astype(float)
    means = toggled.copy()
    means[20] = 0.5  # a tick in which it was switched
    columns = {
        "P1": means, "MV1": 1.0 + toggled, "Count": np.floor(ticks / 3.0),
        "Level": np.sin(ticks / 9.0), "Ramp": 0.1 * ticks,
    }  # fmt: skip
    values = np.column_stack(list(columns.values()))
    names = tuple(columns)
    law = replace(equations(), signals=5, source=np.array([0]), target=np.array([1]),
                  lag=np.array([1]), coefficient=np.array([0.1]), intercept=np.zeros(5),
                  spread=np.ones(5))  # fmt: skip
    seen = course(values, names, law)
    seen = replace(seen, low=np.floor(values), high=np.ceil(values))
    known = replace(context(), equations=law, centre=values.mean(axis=0), scale=values.std(axis=0))
    kinds = [kind_of(seen, known, k) for k in range(5)]
    assert kinds == ["switch", "valve", "counter", "sensor", "sensor"]
    # A throttle from 0 to 1 that is closed at present is no switch: it varies too little for that.
    values[:, 4] = 0.0
    closed = course(values, names, law)
    known = replace(known, low=np.zeros(5), high=np.ones(5), centre=np.full(5, 0.5))
    assert kind_of(closed, replace(known, scale=np.full(5, 0.2)), 4) == "sensor"
    assert kind_of(closed, replace(known, scale=np.full(5, 0.5)), 4) == "switch"


def test_a_switch_is_switched():
    values = rows()
    values[:, 3] = 0.0
    values[ONSET:, 3] = 1.0
    told = changed(values, 3)
    assert (told.kind, told.before, told.after, told.at) == ("switched", 0.0, 1.0, at(ONSET))


def test_offsets_recover_what_a_sensor_is_off_by():
    law = equations()
    values = np.zeros((40, 4))
    values[10:, 1] += 3.5
    off = offsets(law.innovations(values)[10:, 1], law, 1)
    np.testing.assert_allclose(off, 3.5)
