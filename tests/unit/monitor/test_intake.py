"""Live rows: each rule by itself, and all of them against the way recordings are read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.data.notes import Tally
from causewatch.data.order import GAP, LATE_ROWS, Orderer, Pace
from causewatch.data.table import NANOSECONDS, TimeTable
from causewatch.errors import SettingError, TableError
from causewatch.monitor.intake import Intake
from causewatch.monitor.intake_cells import MOST_EXTRA
from causewatch.preprocess import MOST_HELD, Averager, Decimator, Preprocessing, TickSource

NAN = np.nan
START = datetime(2024, 5, 6, 10)


def plan(signals=("a", "b"), every=1.0, **changes):
    told = {"dropped": {}, "max_lag": 1, "step": None, "hold": MOST_HELD, "reason": ""}
    told["columns"] = tuple(signals)
    return Preprocessing(signals=tuple(signals), every=every, **(told | changes))


def intake(signals=("a", "b"), every=1.0, clock="naive", interval=1.0, extra=(), **changes):
    changes = {"columns": (*signals, *extra)} | changes
    return Intake(plan(signals, every, **changes), interval, clock, extra)


def at(seconds):
    return START + timedelta(seconds=seconds)


def feed(target, rows, times):
    ticks = []
    for row, time in zip(rows, times, strict=True):
        ticks += target.row(row, time)
    return ticks


def values_of(ticks):
    return [tick.values.tolist() for tick in ticks]


def assert_same(one, other):
    """Bitwise, NaN equal to NaN."""
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        for a, b in zip(left, right, strict=True):
            np.testing.assert_array_equal(a, b)


# Cells


def test_a_row_is_read_by_name_whatever_its_order():
    (tick,) = intake().row({"b": 2, "a": 1.5}, at(0))
    assert tick.values.tolist() == [1.5, 2.0]
    assert tick.fresh.tolist() == [True, True]
    assert tick.new_stretch


def test_rows_without_names_are_in_the_order_of_the_recording():
    left_out = {"c": "constant", "empty": "empty"}
    target = intake(extra=("c",), dropped=left_out, columns=("c", "a", "empty", "b"))
    (tick,) = target.row([3, 1, NAN, 2], at(0))
    assert tick.values.tolist() == [1, 2, 3]
    (tick,) = target.row(np.array([6, 4, NAN, 5], dtype=np.float32), at(1))
    assert tick.values.tolist() == [4, 5, 6]
    (tick,) = target.row(np.ma.array([9.0, 7.0, 0.0, 8.0], mask=[0, 0, 1, 1]), at(2))
    assert tick.fresh.tolist() == [True, False, True]
    with pytest.raises(TableError, match=r"3 values, but 4 values in the order .*c, a, empty, b"):
        target.row([1, 2, 3], at(3))


@pytest.mark.parametrize("row", [[1.0], [1.0, 2.0, 3.0], "12", 5, np.zeros((2, 2)), None])
def test_a_row_that_nobody_can_understand_is_an_error(row):
    with pytest.raises(TableError, match="2 values in the order of the recording"):
        intake().row(row, at(0))


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (True, 1.0), (np.bool_(False), 0.0), (3, 3.0), (np.int8(3), 3.0), ("1.5", 1.5),
        (" 1e2 ", 100.0), ("ON", 1.0), ("closed", 0.0), (Decimal("0.25"), 0.25),
        (np.str_("7"), 7.0), (np.float32(0.5), 0.5), (2**70, 2.0**70),
    ],
)  # fmt: skip
def test_numbers_may_be_written_in_many_ways(cell, number):
    target = intake()
    assert values_of(target.row({"a": cell, "b": 1.0}, at(0))) == [[number, 1.0]]
    assert target.problems == {}


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (None, None), (NAN, None), ("", None), ("n/a", None), ("Bad", None), ("nan", None),
        (np.inf, "infinite"), (-np.inf, "infinite"), (1e101, "infinite"), (10**400, "infinite"),
        ("inf", "infinite"), ("abc", "text_cells"), ("1_0", "text_cells"), ("1,5", "text_cells"),
        ([1.0], "text_cells"), ({}, "text_cells"), (b"1", "text_cells"), (1j, "text_cells"),
        (START, "text_cells"), (np.datetime64("2020-01-01"), "text_cells"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_missing_and_counted_never_zero(cell, kind):
    target = intake()
    (tick,) = target.row({"a": cell, "b": 1.0}, at(0))
    np.testing.assert_array_equal(tick.values, [NAN, 1.0])
    assert tick.fresh.tolist() == [False, True]
    assert target.problems == {"missing": 1} | ({kind: 1} if kind else {})
    assert [note.kind for note in target.drain()] == ([kind] if kind else [])


def test_a_column_that_is_not_there_is_missing_and_said_once():
    target = intake(hold=0)
    ticks = feed(target, [{"b": 1.0}] * 5, map(at, range(5)))
    assert all(np.isnan(tick.values[0]) and tick.values[1] == 1 for tick in ticks)
    assert target.problems == {"missing_columns": 5, "missing": 5}
    assert [note.text for note in target.drain()] == [
        "Column a is not in the stream; it is missing, not zero."
    ]
    assert target.drain() == ()


def test_blanks_around_names_play_no_part():
    target = intake(signals=("a", "b", "c"), hold=0)
    rows = [{" a": 1.0, "b ": 2.0}] * 3 + [{" a": 1.0, "b ": 2.0, " c ": 3.0}] + [{"c": 4.0}]
    found = values_of(feed(target, rows, map(at, range(5))))
    np.testing.assert_array_equal(found, [[1, 2, NAN]] * 3 + [[1, 2, 3], [NAN, NAN, 4]])


def test_further_columns_are_ignored_and_said_once():
    target = intake(dropped={"known": "constant"}, columns=("a", "known", "b"))
    feed(target, [{"a": 1, "b": 2, "new": 3, "known": 4, None: [5]}] * 3, map(at, range(3)))
    assert target.problems == {"extra_columns": 2}
    assert [note.count for note in target.drain()] == [2]


def test_hostile_names_and_cells_take_bounded_memory():
    target = intake(signals=("a",))
    sizes = []
    for k in range(4 * MOST_EXTRA):
        row = {"a": "x" * 1_000} | {f"{k}/{j}/{'y' * 1_000}": j for j in range(1 + k % 5)}
        target.row(row, at(k))
        sizes.append(len(json.dumps(target.snapshot(), default=str)))
    assert target.problems["extra_columns"] == MOST_EXTRA
    assert sizes[-1] < sizes[2 * MOST_EXTRA] + 100
    assert sum(len(note.text) for note in target.drain()) < 1_000


def test_a_row_without_any_value_keeps_the_stream_alive():
    target = intake(hold=1)
    rows = [{"a": 1.0, "b": 1.0}] + [{"a": None, "b": None}] * 9 + [{"a": 2.0, "b": 2.0}]
    ticks = feed(target, rows, map(at, range(11)))
    assert len(ticks) == 11
    assert [tick.new_stretch for tick in ticks] == [True] + [False] * 10
    assert target.problems["empty_rows"] == 9


# Times


def seconds_of(ticks):
    return [tick.time / NANOSECONDS for tick in ticks]


@pytest.mark.parametrize(
    ("times", "clock", "first"),
    [
        ([START, at(1)], "naive", 1_714_989_600),
        ([t.replace(tzinfo=UTC) for t in (START, at(1))], "utc", 1_714_989_600),
        ([t.replace(tzinfo=timezone(timedelta(hours=2))) for t in (START, at(1))], "utc",
         1_714_982_400),
        (["2024-05-06T10:00:00", "2024-05-06 10:00:01"], "naive", 1_714_989_600),
        (["2024-05-06T10:00:00Z", "2024-05-06T12:00:01+02:00"], "utc", 1_714_989_600),
        ([1_714_989_600, 1_714_989_601], "utc", 1_714_989_600),
        ([1_714_989_600_000.0, 1_714_989_601_000], "utc", 1_714_989_600),
        ([1_714_989_600 * NANOSECONDS, 1_714_989_601 * NANOSECONDS], "utc", 1_714_989_600),
        (["1714989600", "1714989601.0"], "utc", 1_714_989_600),
        ([5, 6.0], "elapsed", 5),
        ([np.datetime64(START), np.datetime64(at(1))], "naive", 1_714_989_600),
        ([None, None], "elapsed", 0),
    ],
)  # fmt: skip
def test_the_first_time_says_what_times_count(times, clock, first):
    target = intake()
    ticks = feed(target, [{"a": 1.0, "b": 1.0}] * 2, times)
    assert target.clock == clock
    assert seconds_of(ticks) == [first, first + 1]
    assert target.problems == {}


def test_a_model_that_counts_rows_counts_rows():
    target = intake(clock="rows")
    ticks = feed(target, [[1, 1]] * 4, [None, at(0), at(3600), "?"])
    assert seconds_of(ticks) == [0, 1, 2, 3]
    assert target.clock == "rows"
    assert target.problems == {"times_not_used": 1}
    assert seconds_of(target.row([1, 1], 4.0)) == [4]
    assert target.row([1, 1], 10.0)[0].new_stretch


def test_a_time_after_rows_without_any_begins_anew():
    target = intake()
    ticks = feed(target, [[1, 1]] * 4, [None, None, at(0), at(1)])
    assert [tick.new_stretch for tick in ticks] == [True, False, True, False]
    assert target.clock == "naive"


@pytest.mark.parametrize(
    "time", [None, "soon", NAN, np.inf, 5.0, datetime(9999, 1, 1), b"", 10**400, True,
             np.datetime64("NaT"), Decimal("NaN")],
)  # fmt: skip
def test_rows_without_a_readable_time_are_dropped_until_there_are_too_many(time):
    target = intake()
    target.row([0, 0], at(0))
    assert all(target.row([1, 1], time) == [] for _ in range(LATE_ROWS))
    assert target.problems == {"bad_times": LATE_ROWS}
    ticks = feed(target, [[2, 2], [3, 3]], [time, time])
    assert [tick.new_stretch for tick in ticks] == [True, False]
    assert target.problems["lost_time"] == 2
    assert ticks[1].time - ticks[0].time == NANOSECONDS
    (tick,) = target.row([4, 4], at(3))
    assert (tick.new_stretch, tick.values[0]) == (False, 4)


def test_zones_may_be_mixed_and_that_is_said_once():
    target = intake()
    ticks = feed(target, [[1, 1]] * 3, [at(0), at(1).replace(tzinfo=UTC), at(2)])
    assert [tick.new_stretch for tick in ticks] == [True, False, False]
    assert target.problems == {"mixed_zones": 1}


# Order


def test_late_rows_are_dropped_and_equal_times_kept():
    target = intake()
    ticks = feed(target, [[k, k] for k in range(5)], map(at, [0, 1, 0.5, 1, 2]))
    assert [tick.values[0] for tick in ticks] == [0, 1, 3.5]  # the second row of 1 s goes with 2 s
    assert target.problems == {"late_rows": 1, "duplicate_times": 1}


@pytest.mark.parametrize(("late", "jumps"), [(LATE_ROWS, False), (LATE_ROWS + 1, True)])
def test_so_many_late_rows_and_no_more(late, jumps):
    target = intake()
    times = [20, 21, *range(late), 22, 23]
    ticks = feed(target, [[k, k] for k in range(len(times))], map(at, times))
    expected = set(range(len(times))) - (set() if jumps else set(range(2, 2 + late)))
    assert {int(tick.values[0]) for tick in ticks if tick.rows} == expected
    assert ("clock_jumps" in target.problems, "late_rows" in target.problems) == (jumps, not jumps)


def test_a_step_as_long_as_a_gap_is_none_after_late_rows_either():
    target = intake()
    ticks = feed(target, [[1, 1]] * 3, map(at, [1, 0, 1 + GAP]))
    assert [tick.new_stretch for tick in ticks if tick.rows] == [True, False]


def test_a_gap_begins_a_new_stretch():
    target = intake()
    ticks = feed(target, [[1, 1]] * 4, map(at, [0, GAP, GAP + 1, 2 * GAP + 1.1]))
    assert [tick.new_stretch for tick in ticks if tick.rows] == [True, False, False, True]
    assert target.problems == {"gaps": 1}


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("after", ["in order", "late", "1970", "nothing"])
def test_a_single_time_in_the_far_future_costs_itself_only(after, saved):
    target = intake()
    ticks = feed(target, [[k, k] for k in range(5)], map(at, range(5)))
    ticks += target.row([99, 99], datetime(2100, 1, 1))
    if saved:
        state, target = target.snapshot(), intake()
        target.restore(state)
    expected = list(range(5))
    if after != "nothing":
        if after == "late":
            ticks += target.row([-1, -1], at(2))
        if after == "1970":
            ticks += target.row([-1, -1], datetime(1970, 1, 1))
        ticks += feed(target, [[k, k] for k in range(5, 30)], map(at, range(5, 30)))
        expected = list(range(30))
    ticks += target.flush()
    assert [tick.values[0] for tick in ticks] == expected
    assert [tick.new_stretch for tick in ticks] == [True] + [False] * (len(expected) - 1)
    late = {"late_rows": 1} if after in ("late", "1970") else {}
    assert target.problems == {"odd_times": 1, **late}


def test_rows_far_ahead_every_now_and_then_do_not_hide_a_clock_set_back():
    target = intake()
    feed(target, [[k, k] for k in range(100, 120)], map(at, range(100, 120)))
    times = [datetime(2100, 1, 1) if k % 7 == 3 else at(k) for k in range(60)]
    feed(target, [[k, k] for k in range(60)], times)
    target.flush()
    assert target.problems["clock_jumps"] == 1
    assert target.problems["odd_times"] == sum(time.year == 2100 for time in times)
    assert "late_rows" not in target.problems


@pytest.mark.parametrize("wrong", [datetime(1970, 1, 1), datetime(2100, 1, 1)])
def test_a_clock_that_jumps_far_begins_a_new_stretch_and_is_reported(wrong):
    target = intake()
    jumped = [wrong + timedelta(seconds=k) for k in range(20)]
    times = [*map(at, range(5)), *jumped, *map(at, range(30, 50))]
    ticks = feed(target, [[k, k] for k in range(45)], times)
    assert [tick.values[0] for tick in ticks] == list(range(45))  # nothing is lost
    assert [tick.values[0] for tick in ticks if tick.new_stretch] == [0, 5, 25]
    assert target.problems == {"clock_jumps": 2}
    assert any("1970" in note.text or "2100" in note.text for note in target.drain())


def test_summer_time_is_neither_gap_nor_overlap():
    night = datetime(2024, 3, 31, 1, 59, 50)
    spring = [night + timedelta(seconds=k + 3600 * (k >= 10)) for k in range(20)]
    target = intake()
    assert [tick.new_stretch for tick in feed(target, [[1, 1]] * 20, spring)].count(True) == 1
    night = datetime(2024, 10, 27, 2, 59, 50)
    autumn = [night + timedelta(seconds=k - 3600 * (k >= 10)) for k in range(20)]
    target = intake()
    ticks = feed(target, [[1, 1]] * 20, autumn)
    assert (len(ticks), [tick.new_stretch for tick in ticks].count(True)) == (20, 1)
    assert target.problems == {"daylight_saving": 1}


@pytest.mark.parametrize("saved", [False, True])
def test_times_put_right_are_not_put_right_again(saved):
    """A table that was read has a gap where such a night has no rows, and no change of clocks."""
    night = np.datetime64("2024-03-31T01:59:50", "ns").astype(np.int64)
    seconds = [*range(10), *range(3610, 3620)]
    target = intake()
    target.settle("naive", put_right=True)
    ticks = []
    for row, second in enumerate(seconds):
        if saved and row == 5:
            state, target = target.snapshot(), intake()
            target.restore(state)
        ticks += target.row_ns(np.array([1.0, 1.0]), int(night + second * NANOSECONDS))
    ticks += target.flush()
    assert [tick.time for tick in ticks] == [int(night + k * NANOSECONDS) for k in seconds]
    assert [tick.new_stretch for tick in ticks].count(True) == 2
    assert "daylight_saving" not in target.problems


@pytest.mark.parametrize("saved", [False, True])
def test_winter_time_with_the_last_row_of_all(saved):
    target = intake()
    feed(
        target, [[1, 1]] * 2, [datetime(2024, 10, 27, 2, 59, 58), datetime(2024, 10, 27, 2, 59, 59)]
    )
    assert target.row([2, 2], datetime(2024, 10, 27, 2, 0)) == []  # late, or the clock set back?
    if saved:
        state, target = target.snapshot(), intake()
        target.restore(state)
    (tick,) = target.flush()
    assert (tick.values[0], tick.new_stretch) == (2, False)
    assert target.problems == {"daylight_saving": 1}


def test_the_pace_of_rows_is_measured_even_where_no_tick_is_made():
    target = intake(every=10.0)
    feed(target, [[1, 1]] * 300, map(at, range(300)))
    assert target.pace == 1.0
    feed(target, [[1, 1]] * 300, (at(300 + k / 4) for k in range(300)))
    assert target.pace == pytest.approx(0.25, abs=0.02)
    assert feed(target, [[1, 1]] * 300, (at(400 + 8 * k) for k in range(300)))[1:] == []
    assert target.pace == pytest.approx(8, abs=0.2)


def test_one_gap_says_nothing_about_the_pace():
    target = intake()
    feed(target, [[1, 1]] * 3, map(at, [0, 1, 1_000]))
    assert target.pace == 1.0


# As learning does it

STEPS = [0.0, 0.1, 0.9, 1.0, 1.0, 1.0, 1.0, 1.1, 2.0, 4.9, 5.1, 9.0, -1.0, -3.0, -30.0, 40.0,
         3600.0, -3600.0, 3599.0, -3599.0, 4e7, -4e7, 3.1e7, -3.1e7, 8e7]  # fmt: skip
BEGINNINGS = [START, datetime(2024, 10, 27, 2, 30), datetime(2024, 3, 31, 1, 30)]


@st.composite
def streams(draw):
    """Times and rows: mostly in order, with jitter, late rows, gaps, jumps, summer time."""
    rows = draw(st.integers(1, 70))
    rough = draw(st.booleans())
    step = st.sampled_from(STEPS) if rough else st.sampled_from([1.0, 1.0, 1.0, 0.9, 1.1])
    odd = draw(st.lists(st.tuples(st.integers(0, rows - 1), step), max_size=20))
    years = draw(st.dictionaries(st.integers(0, rows - 1), st.sampled_from([-3, -1, 2, 74])))
    steps = np.ones(rows)
    for place, size in odd:
        steps[place] = size
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = 1e3 + rng.normal(size=(rows, 2))
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.1, 0.5]))] = np.nan
    begin = draw(st.sampled_from(BEGINNINGS))
    times = [begin + timedelta(milliseconds=round(1000 * s)) for s in np.cumsum(steps)]
    if rough:
        times = [time + timedelta(days=365 * years.get(k, 0)) for k, time in enumerate(times)]
    return times, values, draw(st.sampled_from([1.0, 2.0, 5.0]))


def as_learning_does(times, values, every, ticker=None):
    """The rows through the order of recordings, then the ticks of the whole table."""
    ns = np.array(times, dtype="datetime64[ns]").astype(np.int64)
    found = Orderer(Pace(NANOSECONDS, 5 * NANOSECONDS), "naive", Tally()).push(ns, final=True)
    table = TimeTable(
        signals=("a", "b"),
        values=values[found.keep],
        time=found.time[found.keep],
        starts=np.flatnonzero(found.start[found.keep]),
        interval=1.0,
    )
    ticker = ticker or Averager(2, every=every, interval=1.0)
    ticks = ticker.rows(table)
    begins = np.isin(np.arange(len(ticks)), ticks.starts)
    parts = list(zip(ticks.time.tolist(), ticks.values, begins.tolist(), strict=True))
    return parts + ticker.flush()


@settings(max_examples=200, deadline=None)
@given(streams())
def test_live_rows_make_the_ticks_that_learning_made(stream):
    times, values, every = stream
    target = intake(every=every)
    ticks = feed(target, values, times) + target.flush()
    found = [(tick.time, tick.values, tick.new_stretch) for tick in ticks]
    assert_same(found, as_learning_does(times, values, every))


@settings(max_examples=50, deadline=None)
@given(streams(), st.integers(1, 7))
def test_decimated_rows_as_well(stream, step):
    times, values, _ = stream
    target = intake(every=float(step), step=step, hold=0)
    ticks = feed(target, values, times) + target.flush()
    found = [(tick.time, tick.values, tick.new_stretch) for tick in ticks]
    assert_same(found, as_learning_does(times, values, 1.0, Decimator(2, step=step)))


def test_an_orderly_recording_gives_the_ticks_of_its_tick_source():
    values = np.random.default_rng(3).normal(size=(1_000, 3))
    values[200:240, 1] = NAN
    recipe = plan(("x2", "x0"), every=3.0, columns=("x0", "x1", "x2"))
    time = (1_451_296_800 + np.arange(1_000)) * NANOSECONDS
    table = TimeTable(("x0", "x1", "x2"), values, time, np.array([0]), 1.0, "naive")
    source = TickSource(table, recipe)
    expected = np.concatenate([chunk.values for chunk in source.chunks(100)])
    target = Intake(recipe, 1.0, "naive", ("x1",))
    target.settle("naive")
    ticks = []
    for row, when in zip(values[:, [2, 0, 1]], time.tolist(), strict=True):
        ticks += target.row_ns(row, when)
    ticks += target.flush()
    np.testing.assert_array_equal([tick.values[:2] for tick in ticks], expected)
    assert target.clock == "naive"
    alone = TickSource(table, plan(("x1",), every=3.0))
    (further,) = [chunk.values for chunk in alone.chunks() if len(chunk)]
    np.testing.assert_array_equal([tick.values[2:] for tick in ticks], further)
    assert target._ticker.held.tolist() == [0, 0, MOST_HELD]


# Anything at all

CELLS = st.sampled_from(
    [1.0, 2, True, None, NAN, np.inf, "3.5", "off", "", "junk", 1e200, [1], {}, object, 2**80]
)
ROWS = st.one_of(
    st.dictionaries(st.sampled_from(["a", "b", " a", "x", "", 5, None]), CELLS),
    st.fixed_dictionaries({"a": CELLS, "b": CELLS}),
    st.lists(CELLS, max_size=3),
)
TIMES = st.one_of(
    st.none(),
    st.integers(0, 60).map(at),
    st.integers(0, 60).map(lambda k: at(k).replace(tzinfo=UTC)),
    st.sampled_from(["2024-05-06T10:00:30", "?", 12.5, 7, NAN, 1_714_989_600, True, object()]),
    st.sampled_from([datetime(1, 1, 1), datetime(9999, 12, 31), datetime(2100, 1, 1)]),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(ROWS, TIMES), max_size=50),
    st.integers(0, 50),
    st.sampled_from(["naive", "utc", "elapsed", "rows"]),
    st.sampled_from([None, 3]),
    st.floats(1.0, 4.0),
)
def test_no_row_is_too_odd_and_a_restart_changes_nothing(stream, cut, clock, step, every):
    def fresh():
        return intake(clock=clock, step=step, every=every)

    def run(target, rows):
        ticks = []
        for row, time in rows:
            try:
                ticks += target.row(row, time)
            except TableError:
                assert not isinstance(row, dict)
        return ticks

    whole = fresh()
    expected = run(whole, stream) + whole.flush()
    before, after = fresh(), fresh()
    ticks = run(before, stream[:cut])
    state = before.snapshot()
    after.restore(state)
    run(before, stream[cut:])  # what goes on must not reach into the snapshot
    again = fresh()
    again.restore(state)
    rest = run(after, stream[cut:]) + after.flush()
    assert_same(ticks + rest, expected)
    assert_same(run(again, stream[cut:]) + again.flush(), rest)
    assert after.problems == whole.problems
    assert after.clock == whole.clock
    for tick in expected:
        assert np.isfinite(tick.values[tick.fresh]).all()


def test_a_state_of_another_model_is_refused():
    state = intake(signals=("a", "c")).snapshot()
    with pytest.raises(SettingError, match="same model"):
        intake().restore(state)


def test_rows_stay_as_they_are():
    target = intake()
    row = np.array([np.inf, 1.0])
    (tick,) = target.row(row, at(0))
    assert row.tolist() == [np.inf, 1.0]
    tick.values[:] = 7.0
    (tick,) = target.row({"b": 2.0}, at(1))
    np.testing.assert_array_equal(tick.values, [NAN, 2.0])
    (tick,) = target.row([3.0, 4.0], at(2))
    tick.values[:] = 7.0  # what is given out is not what is held
    (tick,) = target.row([None, 5.0], at(3))
    assert tick.values.tolist() == [3.0, 5.0]
