"""Day or month first: what files tell, what others beside them tell, and what is usual."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import permutations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.data import Writing, open_table, open_together, read_table, text
from causewatch.data.day_order import format_of, other_order
from causewatch.data.table import format_time
from causewatch.data.times import CustomTimes, TextTimes

DAY, MONTH = "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"
MONTH_FIRST = Writing("time", "month first", ",", ".", date_sign="/")
DAY_FIRST = Writing("time", "day first", ",", ".", date_sign="/")


def lines(start, form, rows=4, step=timedelta(minutes=1)):
    moments = [start + k * step for k in range(rows)]
    return "time,a\n" + "".join(f"{when.strftime(form)},{k}\n" for k, when in enumerate(moments))


def first_of(table):
    return format_time(int(table.time[0]), "naive")


def test_what_a_file_leaves_open_is_read_as_usual(write, noted):
    path = write(lines(datetime(2009, 5, 8), MONTH))
    assert first_of(read_table(path, usual=MONTH_FIRST)) == "2009-05-08T00:00:00"
    assert first_of(read_table(path, usual=DAY_FIRST)) == "2009-08-05T00:00:00"
    (note,) = read_table(path, usual=MONTH_FIRST).notes
    assert note.kind == "usual_order"
    assert note.text == (
        "The times of table.csv do not tell day and month apart and were read month first, as other"
        " recordings of this plant are written; give --time-format '%d/%m/%Y %H:%M' if that is"
        " wrong."
    )
    assert noted(read_table(path, usual=Writing("time", "year first"))) == {"day_or_month_first": 1}
    writing = read_table(path, usual=MONTH_FIRST).writing
    assert writing == replace(MONTH_FIRST, guessed=True)


def test_a_file_that_says_otherwise_is_read_as_it_says_and_that_is_noted(write):
    path = write(lines(datetime(2009, 12, 25), DAY))
    table = read_table(path, usual=MONTH_FIRST)
    assert first_of(table) == "2009-12-25T00:00:00"
    (note,) = table.notes
    assert note.kind == "other_order"
    assert note.text == (
        "The times of table.csv are written day first ('25/12/2009 00:00'), but those of other"
        " recordings of this plant month first; they were read day first. If that is wrong, rows"
        " such as '25/12/2009 00:00' are, too: correct them, and give --time-format"
        " '%m/%d/%Y %H:%M'."
    )
    steady = write(lines(datetime(2009, 5, 8, 23, 58), DAY))
    table = read_table(steady, usual=MONTH_FIRST)
    assert first_of(table) == "2009-05-08T23:58:00"
    assert "are written day first, as only that makes them steady, but" in table.notes[0].text
    assert read_table(path, usual=DAY_FIRST).notes == ()


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%S", "%d-%b-%Y %H:%M:%S", "%Y%m%dT%H%M%S"])
def test_another_format_that_tells_is_fine(write, form):
    table = read_table(write(lines(datetime(2009, 5, 8), form)), usual=MONTH_FIRST)
    assert first_of(table) == "2009-05-08T00:00:00"
    assert table.notes == ()


def test_the_user_goes_before_what_is_usual(write):
    path = write(lines(datetime(2009, 5, 8), MONTH))
    table = read_table(path, usual=MONTH_FIRST, time_format=DAY)
    assert first_of(table) == "2009-08-05T00:00:00"
    assert table.notes == ()


@settings(deadline=None, max_examples=40)
@given(
    start=st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)),
    month_first=st.booleans(),
    rows=st.integers(3, 60),
)
def test_files_written_as_usual_are_read_as_they_were_written(
    tmp_path_factory, start, month_first, rows
):
    start = start.replace(second=0, microsecond=0)
    path = tmp_path_factory.mktemp("days") / "t.csv"
    path.write_text(lines(start, MONTH if month_first else DAY, rows, timedelta(hours=1)))
    table = read_table(path, usual=MONTH_FIRST if month_first else DAY_FIRST)
    moments = [(start + timedelta(hours=k)).isoformat() for k in range(rows)]
    assert [format_time(time, "naive") for time in table.time.tolist()] == moments or any(
        note.kind == "daylight_saving" for note in table.notes
    )
    assert not any(note.kind in ("other_order", "day_or_month_first") for note in table.notes)


@pytest.mark.parametrize("order", list(permutations(["open", "also", "told"])))
def test_a_file_of_the_run_that_tells_decides_for_those_that_do_not(write, noted, order):
    paths = {
        "open": write(lines(datetime(2009, 5, 8), MONTH), "open.csv"),
        "also": write(lines(datetime(2009, 5, 9), MONTH), "also.csv"),
        "told": write(lines(datetime(2009, 5, 14), MONTH), "told.csv"),
    }
    table = read_table([paths[name] for name in order])
    assert first_of(table) == "2009-05-08T00:00:00"
    assert format_time(int(table.time[-1]), "naive") == "2009-05-14T00:03:00"
    assert noted(table) == {}
    assert table.writing == MONTH_FIRST
    against = read_table([paths[name] for name in order], usual=DAY_FIRST)
    assert (against.time == table.time).all()
    assert "other_order" in noted(against)


def test_later_rows_of_the_same_file_tell_what_its_first_rows_leave_open(write, noted, monkeypatch):
    monkeypatch.setattr(text, "HEAD_BYTES", 500)
    monkeypatch.setattr(text, "BLOCK_BYTES", 700)
    path = write(lines(datetime(2009, 5, 12), MONTH, 2000))
    table = read_table(path)
    assert first_of(table) == "2009-05-12T00:00:00"
    assert noted(table) == {}
    path = write(lines(datetime(2009, 5, 8), MONTH, 2000))  # 9 May: only steadiness tells
    assert first_of(read_table(path)) == "2009-05-08T00:00:00"


def test_recordings_of_one_run_are_tables_of_their_own_read_alike(write):
    paths = [
        write(lines(datetime(2009, 5, 8), MONTH), "open.csv"),
        write(lines(datetime(2009, 5, 14), MONTH), "told.csv"),
        write(lines(datetime(2009, 5, 9), "%Y-%m-%d %H:%M"), "iso.csv"),
    ]
    tables = [read_table(table) for table in open_together(paths, {"ignore": []})]
    assert [first_of(table)[:10] for table in tables] == ["2009-05-08", "2009-05-14", "2009-05-09"]
    alone = [read_table(table) for table in open_together(paths[:1], {"usual": MONTH_FIRST})]
    assert first_of(alone[0]) == "2009-05-08T00:00:00"


def test_lists_of_events_are_read_alike(write, noted):
    events = "time,tag,value\n" + "".join(
        f"5/8/2009 10:{k // 2:02}:00,{'ab'[k % 2]},{k}\n" for k in range(40)
    )
    path = write(events)
    table = read_table(path, usual=MONTH_FIRST)
    assert first_of(table) == "2009-05-08T10:00:00"
    assert table.writing.time_format == "month first"
    assert "day_or_month_first" in noted(read_table(path))


def test_a_format_that_was_given_once_is_tried_again(write):
    path = write(lines(datetime(2009, 5, 8), MONTH))
    learnt = open_table(path, time_format=MONTH)
    assert learnt.writing == Writing("time", MONTH, ",", ".")
    later = write(lines(datetime(2009, 6, 8), MONTH), "later.csv")
    assert first_of(read_table(later, usual=learnt.writing)) == "2009-06-08T00:00:00"
    seconds = write(lines(datetime(2009, 6, 8), MONTH + ":%S"), "seconds.csv")
    assert first_of(read_table(seconds, usual=learnt.writing)) == "2009-06-08T00:00:00"
    other = write(lines(datetime(2009, 6, 28), DAY), "other.csv")
    table = read_table(other, usual=learnt.writing)
    assert first_of(table) == "2009-06-28T00:00:00"
    assert [note.kind for note in table.notes] == ["other_order"]


def test_the_usual_time_column_separator_and_decimal_mark_are_looked_for_first(write):
    usual = Writing("When", "month first", "~", ",")
    path = write("When~time~a\n5/8/2009 10:00~1~7\n5/8/2009 10:01~2~8\n")
    table = read_table(path, usual=usual)
    assert table.signals == ("a",)  # "time" is another time, and left out
    assert first_of(table) == "2009-05-08T10:00:00"
    assert table.writing == Writing("When", "month first", "~", ",", True, "/")
    other = write("time;a\n2009-05-08 10:00;1.5\n2009-05-08 10:01;2.5\n", "other.csv")
    table = read_table(other, usual=usual)  # which says itself how it is written
    assert table.values[:, 0].tolist() == [1.5, 2.5]
    assert (table.writing.separator, table.writing.decimal) == (";", ".")


@pytest.mark.parametrize(
    ("form", "order"),
    [
        ("%m/%d/%Y %H:%M", "month first"),
        ("%d.%m.%y", "day first"),
        ("%D %T", "month first"),
        ("%-d/%-m/%Y", "day first"),
        ("%Y-%m-%d", None),
        ("%d-%b-%Y", None),
        ("%H:%M %d/%m/%Y", "day first"),
        ("month first", "month first"),
        ("year first", None),
        (None, None),
    ],
)
def test_a_strptime_format_tells_its_order(form, order):
    assert Writing("t", form).order == order


def test_how_a_recording_is_written_is_said_in_words():
    assert str(Writing("When", "month first", ";", ",", guessed=True)) == (
        "times in 'When', month first (a guess: no date tells), semicolon between columns, decimal"
        " comma"
    )
    assert str(Writing()) == ""


@pytest.mark.parametrize("names", list(permutations(["month", "day", "open"])))
def test_files_that_contradict_each_other_tell_nothing_about_others(write, noted, names):
    paths = {
        "month": write(lines(datetime(2009, 5, 14), MONTH), "month.csv"),
        "day": write(lines(datetime(2009, 6, 14), DAY), "day.csv"),
        "open": write(lines(datetime(2009, 5, 8), MONTH), "open.csv"),
    }
    run = [paths[name] for name in names]
    moments = {  # of the open file, by what is usual
        None: "2009-08-05T00:00:00",
        MONTH_FIRST: "2009-05-08T00:00:00",
        DAY_FIRST: "2009-08-05T00:00:00",
    }
    for usual, moment in moments.items():
        joined = read_table(run, usual=usual)
        times = [format_time(int(time), "naive") for time in joined.time]
        assert moment in times
        assert noted(joined)["contrary_orders"] == 1
        (text,) = (note.text for note in joined.notes if note.kind == "contrary_orders")
        assert "month.csv are written month first and those of day.csv day first" in text
        apart = [read_table(table) for table in open_together(run, {"usual": usual})]
        own = apart[names.index("open")]
        assert first_of(own) == moment
        assert noted(own)["contrary_orders"] == 1
        assert all("contrary_orders" not in noted(table) for table in apart if table is not own)


def test_a_file_whose_later_rows_tell_is_read_as_they_say_whatever_the_first_file_is(
    write, monkeypatch
):
    monkeypatch.setattr(text, "HEAD_BYTES", 500)
    monkeypatch.setattr(text, "BLOCK_BYTES", 700)
    told = write(lines(datetime(2009, 5, 14), MONTH), "told.csv")
    later = write(lines(datetime(2009, 8, 12), DAY, 2000), "later.csv")
    table = read_table([told, later])
    assert first_of(table) == "2009-05-14T00:00:00"
    assert format_time(int(table.time[4]), "naive") == "2009-08-12T00:00:00"


def test_the_usual_order_holds_only_for_dates_with_the_same_sign(write, noted):
    dotted = write(
        "time;a\n" + "".join(f"08.05.2009 13:{k:02};{k},5\n" for k in range(5, 20)), "dotted.csv"
    )
    table = read_table(dotted, usual=MONTH_FIRST)
    assert first_of(table) == "2009-05-08T13:05:00"
    assert noted(table) == {"day_or_month_first": 1}
    assert table.writing.date_sign == "."
    against = write(lines(datetime(2009, 5, 20), "%d.%m.%Y %H:%M"), "against.csv")
    assert read_table(against, usual=MONTH_FIRST).notes == ()
    unknown = replace(MONTH_FIRST, date_sign=None)
    assert first_of(read_table(dotted, usual=unknown)) == "2009-08-05T13:05:00"


@pytest.mark.parametrize(
    "strays", [{300: "25/12/2009 3:00"}, {0: "25/12/2009 3:00", 9: "13/1/2009"}]
)
def test_a_stray_date_does_not_overturn_what_is_usual(write, noted, strays):
    rows = lines(datetime(2009, 5, 8), "%-m/%-d/%Y %-H:%M", 600).splitlines()
    for row, cell in strays.items():
        rows[row + 1] = f"{cell},7"
    table = read_table(write("\n".join(rows)), usual=MONTH_FIRST)
    assert format_time(int(table.time[-1]), "naive") == "2009-05-08T09:59:00"
    assert len(table) == 600 - len(strays)
    assert noted(table) == {"bad_times": len(strays), "other_order": 1}
    (said,) = (note.text for note in table.notes if note.kind == "other_order")
    assert "were read month first, but '25/12/2009 3:00' cannot be: rows like it are left" in said


def test_a_stray_date_further_down_does_not_overturn_what_is_usual(write, noted, monkeypatch):
    monkeypatch.setattr(text, "HEAD_BYTES", 500)
    monkeypatch.setattr(text, "BLOCK_BYTES", 700)
    rows = lines(datetime(2009, 5, 8), "%-m/%-d/%Y %-H:%M", 600).splitlines()
    rows[300] = "25/12/2009 3:00,7"
    table = read_table(write("\n".join(rows)), usual=MONTH_FIRST)
    assert first_of(table) == "2009-05-08T00:00:00"
    assert noted(table) == {"usual_order": 1, "bad_times": 1, "other_order": 1}


@pytest.mark.parametrize("rows", [2, 36, 48, 1000])
def test_dates_that_follow_the_others_are_not_stray(write, noted, rows):
    start = datetime(2009, 5, 13) - timedelta(hours=rows - 1)  # the last row alone tells
    table = read_table(write(lines(start, DAY, rows, timedelta(hours=1))), usual=MONTH_FIRST)
    assert first_of(table) == start.isoformat()
    assert noted(table) == {"other_order": 1}


@pytest.mark.parametrize(
    "cell",
    [
        "5/8/2009",
        "5/8/09 3:00",
        "05.08.2009 13:05",
        "5-8-2009 03:00:07",
        "05/08/2009T03:00:07.25",
        "05.08.2009 03:00:07,250",
        "5/8/2009 3:05 PM",
        "5/8/2009 03:05:09 +01:00",
    ],
)
@pytest.mark.parametrize("order", ["day first", "month first"])
def test_the_time_format_that_is_named_reads_such_times(cell, order):
    cells = pl.Series([cell])
    zoned = cell.endswith("+01:00")
    form = format_of(cell, order)
    expected = TextTimes(order, zoned).parse(cells)
    assert CustomTimes(form).parse(cells).ok.all()
    assert CustomTimes(form).parse(cells).ns.tolist() == expected.ns.tolist()
    assert format_of(cell, other_order(order)) != form
