"""Ways of writing times, and finding the column that holds them."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from causewatch.data import read_table, replay
from causewatch.errors import SettingError, TableError


def table_of(write, cells, name="time", **options):
    lines = [f"{name};a", *[f"{cell};{i}" for i, cell in enumerate(cells)]]
    return read_table(write("\n".join(lines)), **options)


def moments(table):
    return table.time.astype("datetime64[ns]").astype("datetime64[ms]").astype(str).tolist()


@pytest.mark.parametrize(
    ("first", "second", "clock", "expected"),
    [
        ("2015-12-28 10:00:00", "2015-12-28 10:00:01", "naive", "2015-12-28T10:00:00.000"),
        ("2015-12-28T10:00:00.25", "2015-12-28T10:00:01", "naive", "2015-12-28T10:00:00.250"),
        ("2015-12-28T10:00:00,25", "2015-12-28T10:00:01,25", "naive", "2015-12-28T10:00:00.250"),
        ("2015-12-28T10:00Z", "2015-12-28T10:01Z", "utc", "2015-12-28T10:00:00.000"),
        ("2015-12-28T10:00+01:30", "2015-12-28T10:01+0130", "utc", "2015-12-28T08:30:00.000"),
        ("2015-12-28T10:00-05", "2015-12-28T10:01-05", "utc", "2015-12-28T15:00:00.000"),
        (" 28/12/2015 1:00:00 PM", " 28/12/2015 1:00:01 PM", "naive", "2015-12-28T13:00:00.000"),
        ("12/28/2015 12:30 AM", "12/28/2015 12:31 AM", "naive", "2015-12-28T00:30:00.000"),
        ("28.12.15 10:00", "28.12.15 10:01", "naive", "2015-12-28T10:00:00.000"),
        ("28-Dec-15 10:00:00", "28-Dec-15 10:00:01", "naive", "2015-12-28T10:00:00.000"),
        ("28/12/15 00", "28/12/15 01", "naive", "2015-12-28T00:00:00.000"),
        ("20151228T100000", "20151228T100001", "naive", "2015-12-28T10:00:00.000"),
        ("20151228100000", "20151228100001", "naive", "2015-12-28T10:00:00.000"),
        ("2015/12/28 24:00", "2015/12/29 00:01", "naive", "2015-12-29T00:00:00.000"),
        ("1451296800", "1451296801", "utc", "2015-12-28T10:00:00.000"),
        ("1451296800.5", "1451296801.5", "utc", "2015-12-28T10:00:00.500"),
        ("1451296800123", "1451296800124", "utc", "2015-12-28T10:00:00.123"),
        ("1451296800123000", "1451296800124000", "utc", "2015-12-28T10:00:00.123"),
        ("1451296800123000000", "1451296800124000000", "utc", "2015-12-28T10:00:00.123"),
    ],
)
def test_accepted_times(write, first, second, clock, expected):
    table = table_of(write, [first, second])
    assert table.clock == clock
    assert moments(table)[0] == expected
    assert table.notes == ()


def test_nanoseconds_are_read_exactly(write):
    table = table_of(write, ["1451296800123456789", "1451296800123456790"])
    np.testing.assert_array_equal(table.time, [1451296800123456789, 1451296800123456790])


@pytest.mark.parametrize(
    ("name", "cells", "interval"),
    [("time", ["0", "0.5", "1.0"], 0.5), ("time_ms", ["0", "10", "20"], 0.01),
     ("Time [min]", ["0", "1", "2"], 60), ("t", ["10", "12", "14"], 2)],
)  # fmt: skip
def test_elapsed_times(write, name, cells, interval):
    table = table_of(write, cells, name, time=name)
    assert table.clock == "elapsed"
    assert table.interval == interval


def test_time_of_day_alone_counts_from_midnight(write):
    table = table_of(write, ["10:00:00", "10:00:01"])
    assert table.clock == "elapsed"
    assert table.time[0] == 36_000 * 10**9


def test_day_and_month_are_told_apart_by_steadiness(write, noted):
    table = table_of(write, ["05/06/2020 23:59", "06/06/2020 00:00", "06/06/2020 00:01"])
    assert moments(table)[0] == "2020-06-05T23:59:00.000"
    table = table_of(write, ["05/06/2020 23:59", "05/07/2020 00:00", "05/07/2020 00:01"])
    assert moments(table)[0] == "2020-05-06T23:59:00.000"
    assert noted(table) == {}


def test_day_first_where_nothing_tells(write, noted):
    cells = ["05/06/2020 10:00", "05/06/2020 10:01"]
    table = table_of(write, cells)
    assert moments(table)[0] == "2020-06-05T10:00:00.000"
    assert noted(table) == {"day_or_month_first": 1}
    table = table_of(write, cells, time_format="%m/%d/%Y %H:%M")
    assert moments(table)[0] == "2020-05-06T10:00:00.000"
    assert noted(table) == {}


def test_time_format_with_an_hour_alone_and_with_a_zone(write):
    table = table_of(write, ["2014 06 01 00", "2014 06 01 01"], time_format="%Y %m %d %H")
    assert moments(table)[1] == "2014-06-01T01:00:00.000"
    table = table_of(
        write, ["14.6.1 1:00 +0100", "14.6.1 1:01 +0100"], time_format="%y.%m.%d %H:%M %z"
    )
    assert table.clock == "utc"
    assert moments(table)[0] == "2014-06-01T00:00:00.000"


def test_time_formats_that_do_not_fit(write):
    with pytest.raises(TableError, match="written as '%Y'"):
        table_of(write, ["1.1.2020", "2.1.2020"], time_format="%Y")
    with pytest.raises(SettingError, match="not understood"):
        table_of(write, ["1.1.2020", "2.1.2020"], time_format="%d.%m.%Y %M")


def test_date_and_time_columns_are_joined(write):
    table = read_table(write("Time;x;Date\n10:00:00;1;28.12.2015\n10:00:01;2;28.12.2015\n"))
    assert table.signals == ("x",)
    assert moments(table) == ["2015-12-28T10:00:00.000", "2015-12-28T10:00:01.000"]
    path = write("Time;x;Date\n10:00:00;1;28.12.2015\n10:00:01;2;28.12.2015\n")
    assert moments(read_table(path, time="Date")) == moments(table)


GERMAN = "Datum;Uhrzeit;a\n02.03.2026;10:00:00;1,5\n02.03.2026;10:00:10;2,5\n"
AMERICAN = "Date,Time,a\n03/02/2026,10:00:00 PM,1\n03/02/2026,10:00:10 PM,2\n"


@pytest.mark.parametrize("time", [None, 0, 1])
@pytest.mark.parametrize(
    ("lines", "form", "first"),
    [
        (GERMAN, "%d.%m.%Y %H:%M:%S", "2026-03-02T10:00:00.000"),
        (GERMAN, "%m.%d.%Y %H:%M:%S", "2026-02-03T10:00:00.000"),
        (GERMAN, "%d.%m.%Y", "2026-03-02T10:00:00.000"),
        (GERMAN, "%m.%d.%Y", "2026-02-03T10:00:00.000"),
        (AMERICAN, "%m/%d/%Y %I:%M:%S %p", "2026-03-02T22:00:00.000"),
        (AMERICAN, "%d/%m/%Y %I:%M:%S %p", "2026-02-03T22:00:00.000"),
        (AMERICAN, "%m/%d/%Y", "2026-03-02T22:00:00.000"),
    ],
)
def test_a_given_format_is_that_of_date_and_time_of_day_together(write, lines, form, first, time):
    names = lines.split("\n")[0].replace(";", ",").split(",")
    path = write(lines)
    table = read_table(path, time=None if time is None else names[time], time_format=form)
    assert moments(table)[0] == first
    assert table.interval == 10.0
    assert table.signals == ("a",)
    assert not table.notes
    assert f"times in '{names[0]}' and '{names[1]}', {form}" in str(table.writing)
    assert moments(read_table(path, usual=table.writing)) == moments(table)


@pytest.mark.parametrize(("lines", "other"), [(GERMAN, "2026-02-03"), (AMERICAN, "2026-03-02")])
def test_the_advice_about_day_and_month_of_a_date_column_can_be_followed(write, lines, other):
    path = write(lines)
    (note,) = read_table(path).notes
    advised = note.text.split("--time-format '")[1].split("'")[0]
    table = read_table(path, time_format=advised)
    assert moments(table)[0][:10] == other


def test_a_time_of_day_that_is_ignored_is_not_read(write):
    path = write("Datum;Uhrzeit;a\n02.03.2026;10:00:00;1,5\n03.03.2026;10:00:10;2,5\n")
    table = read_table(path, time="Datum", time_format="%d.%m.%Y", ignore=["Uhrzeit"])
    assert moments(table) == ["2026-03-02T00:00:00.000", "2026-03-03T00:00:00.000"]


def test_a_first_column_of_times_is_the_time(write):
    table = table_of(write, ["2015-12-28 10:00:00", "2015-12-28 10:00:01"], "Messung")
    assert table.clock == "naive"
    table = table_of(write, ["1", "2"], "counter")
    assert table.clock == "rows"
    assert table.signals == ("counter", "a")


def test_a_temperature_called_t_is_no_time(write):
    table = table_of(write, ["20.5", "20.1", "20.7", "20.2"], "T")
    assert table.clock == "rows"
    assert table.signals == ("T", "a")


def test_a_second_time_column_is_left_out(write, noted):
    rows = "\n".join(f"2020-01-01 00:00:0{i},{1577836800 + i},{i}" for i in range(3))
    table = read_table(write(f"time,epoch,a\n{rows}\n"))
    assert table.signals == ("a",)
    assert noted(table) == {"second_time": 1}


def test_unreadable_times_are_an_error(write):
    with pytest.raises(
        TableError, match=r"table.csv, line 4: 'foo' in column 'time' is not a time"
    ):
        table_of(write, ["2020-01-01", "2020-01-02", "foo"])
    with pytest.raises(TableError, match=r"does not hold times, e\.g\. 'abc'"):
        table_of(write, ["abc", "def"], time="time")
    with pytest.raises(TableError, match="'2020-02-30' in column"):
        table_of(write, ["2020-02-28", "2020-02-29", "2020-02-30"])


def test_a_handful_of_unreadable_times_is_dropped(write, noted):
    cells = [f"2020-01-01 {i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}" for i in range(3000)]
    cells[500] = "foo"
    table = table_of(write, cells)
    assert len(table) == 2999
    assert noted(table) == {"bad_times": 1}


def test_replay_gives_times_of_the_right_kind(write):
    (first, _) = replay(write("time,a,b\n2020-01-01T00:00:00,1,\n2020-01-01T00:00:01,2,3\n"))
    assert first.time == datetime(2020, 1, 1)
    assert first.values["a"] == 1
    assert np.isnan(first.values["b"])
    (first, _) = replay(write("time,a\n2020-01-01T00:00:00Z,1\n2020-01-01T00:00:01Z,2\n"))
    assert first.time == datetime(2020, 1, 1, tzinfo=UTC)
    assert [s.time for s in replay(write("time,a\n0.5,1\n1.5,2\n"))] == [0.5, 1.5]
    assert [s.time for s in replay(write("a\n5\n6\n"))] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("name", "seconds"), [("t [min]", 60), ("Time (h)", 3600), ("time [ms]", 0.001), ("T_h", None)]
)
def test_a_name_with_its_unit_in_brackets_is_that_of_a_time(write, name, seconds):
    table = read_table(write(f"{name},a\n" + "".join(f"{k},{k % 7}\n" for k in range(50))))
    if seconds is None:
        assert table.signals == (name, "a")
    else:
        assert (table.signals, table.clock) == (("a",), "elapsed")
        assert table.interval == pytest.approx(seconds)


def days_of(seconds, count=40, digits=10):
    """A time every so many seconds, as a spreadsheet that is saved as text has it."""
    return [f"{45_000.25 + k * seconds / 86_400:.{digits}f}" for k in range(count)]


@pytest.mark.parametrize(
    ("seconds", "digits"), [(1, 10), (60, 10), (60, 6), (900, 6), (3600, 7), (7200, 6)]
)
@pytest.mark.parametrize("comma", [False, True])
def test_days_of_a_spreadsheet_are_dates(write, noted, seconds, digits, comma):
    cells = [day.replace(".", ",") if comma else day for day in days_of(seconds, digits=digits)]
    table = table_of(write, cells, name="Time")
    assert (table.clock, table.interval) == ("naive", seconds)
    assert moments(table)[0] == "2023-03-15T06:00:00.000"
    assert np.all(np.diff(table.time) == seconds * 10**9)
    assert noted(table) == {"serial_days": 1}
    assert "holds days as spreadsheets count them (45000.25)" in table.notes[0].text
    assert table.writing.time_format == "excel"


@pytest.mark.parametrize(
    ("cells", "interval"),
    [
        (days_of(6 * 3600, digits=2), 0.25),  # could be rows four times a second
        (days_of(60, digits=5), 0.0007),
        ([f"{45_000.25 + k / 50:.2f}" for k in range(40)], 0.02),
    ],
)
def test_where_days_cannot_be_told_from_seconds_a_note_says_so(write, noted, cells, interval):
    table = table_of(write, cells)
    assert table.clock == "elapsed"
    assert table.interval == pytest.approx(interval, rel=0.1)
    assert noted(table) == {"perhaps_serial_days": 1}
    assert table.notes[0].text.endswith("give --time-format excel.")
    told = table_of(write, cells, time_format="excel")
    assert (told.clock, moments(told)[0]) == ("naive", "2023-03-15T06:00:00.000")
    # A model that was told so reads later files alike.
    assert table_of(write, cells, usual=told.writing).clock == "naive"


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("time", [str(45_000 + k) for k in range(40)]),
        ("time_s", days_of(60)),
        ("time [h]", days_of(60)),
        ("time", [f"{12_000 + k / 1440:.8f}" for k in range(40)]),
    ],
)
def test_other_numbers_are_no_days(write, name, cells):
    table = table_of(write, cells, name=name)
    assert table.clock == "elapsed"
    assert not [note for note in table.notes if "serial" in note.kind]
    assert (
        table_of(write, [str(45_000 + k) for k in range(9)], time_format="excel").interval == 86_400
    )


def test_a_first_column_of_measurements_is_no_time(write):
    """A counter that grows, beside an energy meter: numbers as large as days."""
    for cells in (
        [f"{45_000 + k / 4:.2f}" for k in range(40)],
        [str(45_000 + k) for k in range(9)],
    ):
        assert table_of(write, cells, name="meter").clock == "rows"
