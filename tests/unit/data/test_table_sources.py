"""Parquet, spreadsheets, dataframes, arrays, several files, spans to exclude."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xlsxwriter

from causewatch.data import TimeTable, open_table, raw, read_table
from causewatch.errors import SettingError, TableError, UnknownNameError

TIMES = [datetime(2020, 1, 1) + timedelta(seconds=10 * i) for i in range(6)]


def test_parquet(tmp_path, noted):
    path = tmp_path / "t.parquet"
    pl.DataFrame(
        {
            " when ": TIMES,
            "a": [1, None, 3, 4, 5, 6],
            "flag": [True, False, None, True, True, True],
            "f": [0.5, float("inf"), float("nan"), 1, 2, 3],
            "c": pl.Series(["x", "y", "x", "y", "x", "y"], dtype=pl.Categorical),
            "l": [[1], [2], [3], [4], [5], [6]],
        }
    ).write_parquet(path)
    table = read_table(path)
    assert table.signals == ("a", "flag", "f")
    assert table.interval == 10
    assert table.clock == "naive"
    np.testing.assert_array_equal(table.values[:3, 0], [1, np.nan, 3])
    np.testing.assert_array_equal(table.values[:3, 1], [1, 0, np.nan])
    np.testing.assert_array_equal(table.values[:3, 2], [0.5, np.nan, np.nan])
    assert noted(table) == {"padded_names": 1, "text_column": 2, "infinite": 1}
    assert table.files[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert table.files[0].rows == 6


def test_parquet_in_slices(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"time": range(5000), "a": np.arange(5000.0)}).write_parquet(path)
    whole = read_table(path)
    monkeypatch.setattr(raw, "BLOCK_CELLS", 2400)
    opened = open_table(path)
    sizes = [len(chunk) for chunk in opened.chunks()]
    assert max(sizes) <= 1200
    np.testing.assert_array_equal(read_table(path).values, whole.values)
    assert whole.clock == "elapsed"


def test_damaged_parquet(write):
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        read_table(write(b"PAR1 this is not a table PAR1", "t.parquet"))


def spreadsheet(path, title=True):
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        first = 1 if title else 0
        if title:
            sheet.write(0, 2, "P1")
        sheet.write_row(first, 0, [" Timestamp", "FIT101", " LIT101", "Normal/Attack"])
        for i, time in enumerate(TIMES):
            sheet.write_datetime(first + 1 + i, 0, time, moment)
            sheet.write_row(first + 1 + i, 1, [0.1 * i, 100 + i, "Normal" if i < 3 else "Attack"])


@pytest.mark.parametrize("title", [True, False])
def test_spreadsheet(tmp_path, noted, title):
    path = tmp_path / "t.xlsx"
    spreadsheet(path, title)
    table = read_table(path, labels="Normal/Attack")
    assert table.signals == ("FIT101", "LIT101")
    assert table.interval == 10
    np.testing.assert_allclose(table.values[:, 0], 0.1 * np.arange(6))
    np.testing.assert_array_equal(table.labels, [0, 0, 0, 1, 1, 1])
    assert noted(table) == {"padded_names": 2} | ({"title_rows": 1} if title else {})
    assert table.files[0].rows == 6


def test_damaged_spreadsheet(write):
    with pytest.raises(TableError, match="cannot be read as a spreadsheet"):
        read_table(write(b"PK\x03\x04 nothing", "t.xlsx"))


def test_pandas_with_zone_text_and_repeated_names():
    index = pd.DatetimeIndex(TIMES, tz="Europe/Berlin", name="when")
    frame = pd.DataFrame({"a": range(6), "b": ["1", "2", None, "4", "on", "6"]}, index=index)
    frame["c"] = pd.array([1, None, 3, 4, 5, 6], dtype="Int64")
    frame["d"] = [True, False, True, None, True, True]
    frame.columns = ["a", "a", 7, "d"]
    before = frame.copy()
    table = read_table(frame)
    assert table.signals == ("a", "a.1", "7", "d")
    assert table.clock == "utc"
    assert table.time[0] == pd.Timestamp(TIMES[0], tz="Europe/Berlin").value
    np.testing.assert_array_equal(table.values[:, 1], [1, 2, np.nan, 4, 1, 6])
    np.testing.assert_array_equal(table.values[:, 2], [1, np.nan, 3, 4, 5, 6])
    np.testing.assert_array_equal(table.values[:, 3], [1, 0, 1, np.nan, 1, 1])
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_pandas_times_in_any_unit(unit, zone):
    index = pd.DatetimeIndex(TIMES, tz=zone).as_unit(unit)
    wanted = read_table(pd.DataFrame({"a": range(6)}, index=pd.DatetimeIndex(TIMES, tz=zone))).time
    for frame in (
        pd.DataFrame({"a": range(6)}, index=index),
        pd.DataFrame({"a": range(6), "time": index}),
    ):
        np.testing.assert_array_equal(read_table(frame).time, wanted)


def test_arrays():
    table = read_table(np.arange(6).reshape(3, 2))
    assert table.signals == ("x0", "x1")
    assert table.clock == "rows"
    assert table.files == ()
    with pytest.raises(TableError, match="1 dimensions"):
        read_table(np.arange(3))
    with pytest.raises(TableError, match="not numbers"):
        read_table(np.array([["a"]]))


@pytest.mark.parametrize("thing", [5, {"a": [1]}, object()])
def test_things_that_are_no_tables(thing):
    with pytest.raises(TableError, match="not a table"):
        read_table(thing)
    with pytest.raises(TableError, match="No table"):
        read_table([])


def test_several_files_are_separate_stretches(write, noted):
    one = write("time,a,b\n0,1,2\n1,3,4\n", "one.csv")
    two = write("b;time;a;more\n6,5;2;5;0\n8,5;3;7;0\n", "two.csv")
    table = read_table([one, two])
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4], [5, 6.5], [7, 8.5]])
    assert table.starts.tolist() == [0, 2]
    assert [file.name for file in table.files] == ["one.csv", "two.csv"]
    assert noted(table) == {"extra_columns": 1}


def test_several_files_are_read_in_order_of_time_whatever_order_they_are_given_in(write):
    days = {day: write(f"time,a\n2020-12-{day} 10:00,{day}\n2020-12-{day} 10:01,{day}\n",
                       f"{day}.csv") for day in ("07", "05", "06")}  # fmt: skip
    table = read_table(list(days.values()))
    assert table.values[:, 0].tolist() == [5, 5, 6, 6, 7, 7]
    assert (np.diff(table.time) > 0).all()
    assert [file.name for file in table.files] == ["05.csv", "06.csv", "07.csv"]
    assert table.starts.tolist() == [0, 2, 4]
    seconds = [write(f"time,a\n{k},{k}\n{k + 1},{k}\n", f"s{k}.csv") for k in (9, 3)]
    assert read_table(seconds).values[:, 0].tolist() == [9, 9, 3, 3]  # each counts from a start


def test_rows_are_counted_on_over_several_files(write):
    one = write("a\n1\n2\n", "one.csv")
    two = write("a\n3\n4\n", "two.csv")
    table = read_table([one, two])
    np.testing.assert_array_equal(table.time, np.arange(4) * 10**9)
    assert table.starts.tolist() == [0, 2]


def test_several_files_must_fit(write):
    one = write("time,a,b\n0,1,2\n1,3,4\n", "one.csv")
    with pytest.raises(TableError, match=r"two.csv has no column 'b', which one.csv has"):
        read_table([one, write("time,a\n0,1\n1,3\n", "two.csv")])
    with pytest.raises(TableError, match=r"times of two.csv \(naive\).*one.csv \(elapsed\)"):
        read_table([one, write("time,a,b\n2020-01-01,1,2\n2020-01-02,3,4\n", "two.csv")])


def test_other_files_may_write_times_differently(write):
    one = write("time,a\n13/12/2020 10:00,1\n13/12/2020 10:01,3\n", "one.csv")
    two = write("time,a\n05/12/2020 10:00,1\n05/12/2020 10:01,3\n", "two.csv")
    three = write("time,a\n2020-12-05 10:00,1\n2020-12-05 10:01,3\n", "three.csv")
    table = read_table([one, two, three])
    np.testing.assert_array_equal(table.time[:2], table.time[2:4])  # day first, as in one.csv
    assert table.notes == ()


def test_excluded_rows_begin_a_new_stretch(write, noted):
    path = write("\n".join(["time,a", *[f"{t.isoformat()},{i}" for i, t in enumerate(TIMES)]]))
    table = read_table(path, exclude=["2020-01-01T00:00:20..2020-01-01T00:00:40"])
    np.testing.assert_array_equal(table.values[:, 0], [0, 1, 4, 5])
    assert table.starts.tolist() == [0, 2]
    assert noted(table) == {"excluded": 2}
    table = read_table(path, exclude="..2020-01-01T00:00:20")
    assert table.starts.tolist() == [0]
    assert len(table) == 4
    with pytest.raises(TableError, match="covers 2020-01-01T00:00:00 to 2020-01-01T00:00:50"):
        read_table(path, exclude=["2021-01-01.."])
    with pytest.raises(SettingError, match="does not fit"):
        read_table(path, exclude=["row 1.."])
    with pytest.raises(TableError, match="0 usable rows are left"):
        read_table(path, exclude=["2020-01-01.."])


def test_excluding_counted_rows():
    table = read_table(np.arange(10.0).reshape(10, 1), exclude=["row 2..row 4", "6..7"])
    np.testing.assert_array_equal(table.values[:, 0], [0, 1, 4, 5, 7, 8, 9])
    assert table.starts.tolist() == [0, 2, 4]


def test_a_table_is_passed_on_or_narrowed():
    table = read_table(np.arange(12.0).reshape(4, 3))
    assert read_table(table) is table
    narrowed = read_table(table, ignore=["x1"], labels="x0", exclude="row 1..row 2")
    assert isinstance(narrowed, TimeTable)
    assert narrowed.signals == ("x2",)
    np.testing.assert_array_equal(narrowed.values[:, 0], [2, 8, 11])
    np.testing.assert_array_equal(narrowed.labels, [0, 1, 1])
    assert narrowed.starts.tolist() == [0, 1]
    with pytest.raises(SettingError, match="already read"):
        read_table(table, time="x0")
    with pytest.raises(UnknownNameError):
        read_table(table, ignore=["q"])


def test_an_opened_table_can_be_read_again(write):
    opened = open_table(write("time,a\n0,1\n1,2\n"))
    assert opened.signals == ("a",)
    first, second = read_table(opened), read_table(opened)
    np.testing.assert_array_equal(first.values, second.values)
    assert first.files == second.files == opened.files
    with pytest.raises(SettingError, match="when opening"):
        read_table(opened, ignore=["a"])


def test_a_transposed_table_is_noted(noted):
    assert noted(read_table(np.ones((5, 50))))["more_columns_than_rows"] == 1


def test_unlabelled_label_columns_are_noted(write, noted):
    assert noted(read_table(write("time,a,anomaly\n0,1,0\n1,2,1\n2,1,1\n")))["possible_label"] == 1
