"""Averaging and decimating rows: each rule by itself; `test_ticks_streaming` compares the paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from causewatch.data.table import NANOSECONDS, TimeTable
from causewatch.preprocess import MOST_HELD, Averager, Decimator, Preprocessing, TickSource

NAN = np.nan


def table(values, time=None, starts=(0,), interval=1.0, **more):
    values = np.atleast_2d(np.asarray(values, dtype=float).T).T
    seconds = np.arange(len(values)) * interval if time is None else np.asarray(time, dtype=float)
    return TimeTable(
        signals=tuple(f"x{k}" for k in range(values.shape[1])),
        values=values,
        time=np.rint(seconds * NANOSECONDS).astype(np.int64),
        starts=np.asarray(starts, dtype=np.intp),
        interval=interval,
        **more,
    )


def ticks_of(rows, *, every, hold=MOST_HELD, flush=True):
    """Values and times in seconds of all ticks of a table of one signal, and how many were held."""
    ticker = Averager(rows.values.shape[1], every=every, interval=rows.interval, hold=hold)
    done = ticker.rows(rows)
    rest = ticker.flush() if flush else []
    values = [*done.values[:, 0].tolist(), *(one[1][0] for one in rest)]
    times = [*done.time.tolist(), *(one[0] for one in rest)]
    return values, [time / NANOSECONDS for time in times], int(ticker.held[0])


def test_rows_are_averaged_and_a_tick_has_the_time_of_its_last_row():
    assert ticks_of(table([1, 2, 3, 4, 5, 6]), every=2) == ([1.5, 3.5, 5.5], [1, 3, 5], 0)


def test_one_row_per_tick_changes_nothing():
    values = np.random.default_rng(1).normal(size=50)
    ticks, times, _ = ticks_of(table(values), every=1)
    assert ticks == values.tolist()
    assert times == list(range(50))


def test_a_tick_is_complete_with_its_last_row_and_not_later():
    ticker = Averager(1, every=3, interval=1)
    sizes = [len(ticker.row(k * NANOSECONDS, np.array([1.0]))) for k in range(7)]
    assert sizes == [0, 0, 1, 0, 0, 1, 0]


def test_half_an_interval_of_jitter_is_allowed():
    late, early = 0.4, -0.4
    time = [0, 1 + late, 2 + early, 3 + late, 4 + early, 5 + late, 6 + early, 7]
    values, _, _ = ticks_of(table(range(8), time), every=2)
    assert values == [0.5, 2.5, 4.5, 6.5]


def test_a_row_for_a_complete_tick_counts_towards_the_next_one():
    time = [0, 1, 1, 2, 3, 4, 5]  # the third row comes when its tick is complete
    values, _, _ = ticks_of(table([0, 1, 100, 2, 3, 4, 5], time), every=2)
    assert values == [0.5, (100 + 2 + 3) / 3, 4.5]


def test_values_present_are_averaged_and_missing_ones_play_no_part():
    values, _, held = ticks_of(table([2, NAN, NAN, 6, np.inf, 8]), every=2)
    assert values == [2, 6, 8]
    assert held == 0


def test_missing_is_held_for_so_long_and_then_missing_never_zero():
    rows = table([7] + [NAN] * 8 + [5, NAN])
    values, _, held = ticks_of(rows, every=1, hold=3)
    np.testing.assert_array_equal(values, [7] * 4 + [NAN] * 5 + [5, 5])
    assert held == 4


def test_nothing_is_held_before_the_first_value_or_across_stretches():
    values, _, held = ticks_of(table([NAN, 4, NAN, NAN, 6], starts=[0, 3]), every=1)
    np.testing.assert_array_equal(values, [NAN, 4, 4, NAN, 6])
    assert held == 1


def test_no_hold_means_no_hold():
    values, _, held = ticks_of(table([1, NAN, 2]), every=1, hold=0)
    np.testing.assert_array_equal(values, [1, NAN, 2])
    assert held == 0


def test_missing_rows_make_missing_ticks_at_their_place():
    """Five rows are missing, too few to end a stretch: the ticks are there, without values."""
    values, times, held = ticks_of(table([0, 1, 2, 8, 9], [0, 1, 2, 8, 9]), every=2, hold=1)
    np.testing.assert_array_equal(values, [0.5, 2, 2, NAN, 8.5])
    assert times == [1, 2, 5, 7, 9]
    assert held == 1


@pytest.mark.parametrize(
    ("every", "rows_left", "kept"),
    [(2, 1, True), (3, 1, False), (3, 2, True), (4, 1, False), (4, 2, True), (5, 2, False),
     (5, 3, True), (10, 4, False), (10, 5, True)],
)  # fmt: skip
def test_the_last_tick_is_kept_if_it_has_half_of_its_rows(every, rows_left, kept):
    values, _, _ = ticks_of(table(np.ones(every + rows_left)), every=every)
    assert len(values) == 1 + kept


def test_the_same_rule_holds_at_the_end_of_every_stretch():
    rows = table(range(9), starts=[0, 4])  # 3 + 1 rows, then 3 + 2
    assert ticks_of(rows, every=3)[0] == [1, 5, 7.5]


def test_each_stretch_counts_from_its_own_first_row():
    ticker = Averager(1, every=2, interval=1)
    done = ticker.rows(table([0, 1, 2, 3, 10, 11, 12, 13], starts=[0, 3]))
    assert done.values[:, 0].tolist() == [0.5, 2, 6.5, 11.5]
    assert done.starts.tolist() == [0, 2]
    assert not done.continues


def test_ticks_carry_what_their_table_says():
    ticker = Averager(1, every=2, interval=1)
    done = ticker.rows(table([0, 1], clock="utc"))
    assert (done.signals, done.interval, done.clock, done.labels) == (("x0",), 2.0, "utc", None)


def test_intervals_that_are_no_whole_number_of_nanoseconds_do_not_drift():
    rows = 3_000
    third = table(np.arange(rows), np.arange(rows) / 3, interval=1 / 3)
    values, _, _ = ticks_of(third, every=1)
    np.testing.assert_array_equal(values, np.arange(rows).reshape(-1, 3).mean(axis=1))


def test_decimation_takes_rows_as_they_are_and_zero_for_missing():
    ticker = Decimator(1, step=3)
    first = ticker.rows(table([0, 1, 2, NAN]))
    second = ticker.rows(table([4, 5, 6, 7], starts=[2]))
    assert first.values[:, 0].tolist() == [0.0, 0.0]
    assert second.values[:, 0].tolist() == [6.0]
    assert first.starts.tolist() == [0]
    assert second.starts.tolist() == []  # stretches are joined
    assert second.continues
    assert first.interval == 3.0
    assert ticker.flush() == []
    assert ticker.held.tolist() == [0]


def plan(**changes):
    settings = {
        "signals": ("x2", "x0"),
        "dropped": {},
        "every": 2.0,
        "max_lag": 1,
        "step": None,
        "hold": MOST_HELD,
        "reason": "",
        "columns": ("x0", "x1", "x2"),
    }
    return Preprocessing(**(settings | changes))


def test_a_tick_source_picks_columns_and_can_be_read_again():
    values = np.random.default_rng(3).normal(size=(21, 3))
    values[4:6, 0] = NAN
    source = TickSource(table(values), plan())
    assert source.signals == ("x2", "x0")
    assert source.interval == 2.0
    first = np.concatenate([chunk.values for chunk in source.chunks()])
    again = np.concatenate([chunk.values for chunk in source.chunks(4)])
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first[:10, 0], values[:20, 2].reshape(-1, 2).mean(axis=1))
    assert len(first) == 11  # the last tick has one row of two
    assert first[2, 1] == first[1, 1]
    assert source.held.tolist() == [0, 1]


def test_a_tick_source_may_decimate():
    values = np.random.default_rng(4).normal(size=(20, 3))
    source = TickSource(table(values), plan(step=4, every=4.0))
    found = np.concatenate([chunk.values for chunk in source.chunks(7)])
    np.testing.assert_array_equal(found, values[::4, [2, 0]])


@pytest.mark.parametrize("at_once", [0, 1, 4, 5])
def test_a_tick_knows_the_smallest_and_largest_of_its_rows(at_once):
    rows = table([[1, 5], [9, NAN], [3, np.inf], [4, 4], [2, NAN], [8, NAN], [7, NAN], [7, NAN]])
    ticker = Averager(2, every=3, interval=1, hold=9)
    ticker.rows(replace(rows, time=rows.time[:at_once], values=rows.values[:at_once]))
    done = []
    for time, values in zip(rows.time[at_once:], rows.values[at_once:], strict=True):
        done += ticker.take(int(time), values)
    done += ticker.finish()
    wanted = [([1, 5], [9, 5]), ([2, 4], [8, 4]), ([7, 4], [7, 4])]  # the last 4 is held
    assert [(tick.low.tolist(), tick.high.tolist()) for tick in done] == wanted[-len(done) :]
    assert len(done) == (2 if at_once > 2 else 3)
