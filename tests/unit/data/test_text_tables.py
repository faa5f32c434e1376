"""Text files: separators, headers, encodings, damage."""

from __future__ import annotations

import gzip
import hashlib

import numpy as np
import pytest

from causewatch.data import open_table, read_table, text
from causewatch.data.dialect import LOOKED, find_header
from causewatch.errors import SettingError, TableError, UnknownNameError
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.files import open_file_source


def test_decimal_comma_with_semicolons(write):
    table = read_table(write("time;a;b\n0;1,5;2\n1;-0,25;3e1\n"))
    np.testing.assert_array_equal(table.values, [[1.5, 2], [-0.25, 30]])


def test_thousands_separators_are_not_guessed(write, noted):
    table = read_table(write("a;b;c\n1.234,5;1,5;1\n2.345,5;2,5;2\n"))
    assert table.signals == ("b", "c")
    assert noted(table)["text_column"] == 1


def test_blanks_as_separator_without_header(write, noted):
    table = read_table(write("  1.0e+00   2.5 \n  3.0\t\t4.5\n", "d00.dat"))
    assert table.signals == ("x0", "x1")
    assert table.clock == "rows"
    assert table.interval == 1
    np.testing.assert_array_equal(table.values, [[1, 2.5], [3, 4.5]])
    np.testing.assert_array_equal(table.time, [0, 1_000_000_000])
    assert {"no_header", "no_time"} <= noted(table).keys()


def test_names_are_stripped_unique_and_never_empty(write):
    table = read_table(write(" MV101 ,MV101,,MV101,x\n1,2,3,4,5\n1,2,3,4,5\n"))
    assert table.signals == ("MV101", "MV101.1", "column_3", "MV101.2", "x")


def test_title_rows_are_skipped(write, noted):
    table = read_table(write("Plant 7 export,,\n\ntime,a,b\n0,1,2\n1,3,4\n"))
    assert table.signals == ("a", "b")
    assert noted(table)["title_rows"] == 1
    table = read_table(write("Plant 7 export\ntime,a,b\n0,1,2\n1,3,4\n"))
    assert table.signals == ("a", "b")


@pytest.mark.parametrize("header", ["time,a,", "time,a"])
def test_a_separator_at_line_ends_is_no_column(write, header):
    table = read_table(write(f"{header}\n0,1,\n1,2,\n"))
    assert table.signals == ("a",)
    (note,) = table.notes
    assert (note.kind, note.count) == ("trailing_separators", 1)


def test_a_header_may_end_in_separators_that_no_row_ends_in(write):
    table = read_table(write("time;a;b;;;\n0;1,5;2\n1;2,5;3\n2;3,5;4\n"))
    assert table.signals == ("a", "b")
    np.testing.assert_array_equal(table.values[:, 0], [1.5, 2.5, 3.5])


@pytest.mark.parametrize("header", ["time;a;b;;;", "time;a;b"])
def test_wholly_empty_columns_at_line_ends_are_none(write, noted, header):
    table = read_table(write(f"{header}\n0;1,5;2;;;\n1;2,5;3;;;\n2;3,5;4;; ;\n"))
    assert table.signals == ("a", "b")
    assert noted(table) == {"trailing_separators": 3}
    filled = read_table(write("time;a;;;\n0;1,5;;;\n1;2,5;;7;\n2;3,5;;8;\n"))
    assert filled.signals == ("a", "column_3", "column_4")
    assert noted(filled)["trailing_separators"] == 1


def test_names_with_blanks_are_said(write, noted):
    table = read_table(write("time, Air  Temperature ,b\n0,1,2\n1,3,4\n"))
    assert table.signals == ("Air Temperature", "b")
    assert noted(table) == {"padded_names": 1}


def test_names_are_found_as_they_stand_in_the_file(write):
    path = write(
        "Time, a,Tank  A,c,Is  bad\n" + "".join(f"{k},{k},{k % 3},1,0\n" for k in range(9))
    )
    options = {"time": " Time", "labels": "Is  bad", "ignore": ["Tank  A", " c"]}
    table = read_table(path, **options)
    assert table.signals == ("a",)
    assert table.labels is not None
    assert read_table(read_table(path), labels="Is  bad", ignore="Tank  A").signals == ("a", "c")
    events = "".join(f"{k},{tag},{k}\n" for k in range(9) for tag in ("Tank  A", "b"))
    assert read_table(write(f"time,tag,value\n{events}")).signals == ("Tank A", "b")


def test_failures_in_numbers_are_counted_by_column(write, noted):
    cells = ["#VALUE!", "1", "#DIV/0!", "2", "#N/A", "nan", ""]
    lines = [f"{row},{cell},1" for row, cell in enumerate(cells)]
    table = read_table(write("time,a,b\n" + "\n".join(lines) + "\n"))
    np.testing.assert_array_equal(np.isnan(table.values[:, 0]), [1, 0, 1, 0, 1, 1, 1])
    assert noted(table) == {"failed_cells": 3}
    assert "column 'a'" in table.notes[0].text
    assert "'#VALUE!' in line 2 of table.csv" in table.notes[0].text


def test_rows_without_a_label_are_counted(write, noted):
    lines = [f"{row},{row},{label}" for row, label in enumerate(["0", "", "-999", "1", "nan"])]
    table = read_table(write("time,a,class\n" + "\n".join(lines) + "\n"), labels="class")
    np.testing.assert_array_equal(table.labels, [0, np.nan, np.nan, 1, np.nan])
    assert noted(table) == {"not_labelled": 3}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_with_tabs_is_said(write, noted, encoding):
    text = "time\tLuft °C\tb\t\n2020-01-01 00:00:00\t1,5\t2\t\n2020-01-01 00:00:01\t2,5\t3\t\n"
    table = read_table(write(text.encode(encoding)))
    assert table.signals == ("Luft °C", "b")
    np.testing.assert_array_equal(table.values, [[1.5, 2], [2.5, 3]])
    assert noted(table) == {"trailing_separators": 1, "utf16": 1}


def test_nanoseconds_are_kept(write):
    seconds = [f"2018-09-11T18:48:38.{row}19502163,{row}" for row in range(3)]
    table = read_table(write("time,a\n" + "\n".join(seconds) + "\n"))
    assert table.interval == 0.1
    assert (table.time % 100_000_000 == 19_502_163).all()
    epoch = read_table(write("time,a\n1536691718119502163,1\n1536691718219502163,2\n"))
    np.testing.assert_array_equal(epoch.time, 1536691718119502163 + np.array([0, 100_000_000]))


def test_last_line_without_line_end(write):
    table = read_table(write("a,b\n1,2\n3,4"))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])


def test_quoted_cells(write):
    table = read_table(write('"time","a, b","c ""d"""\n"0","1","2"\n"1","3","4"\n'))
    assert table.signals == ("a, b", 'c "d"')
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])


def test_line_ends_of_old_systems(write):
    table = read_table(write("a,b\r1,2\r3,4\r"))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])


def test_latin1_is_noted(write, noted):
    table = read_table(write("Temp °C,b\n1,2\n3,4\n".encode("latin-1")))
    assert table.signals == ("Temp °C", "b")
    assert noted(table)["latin1"] == 1


def test_gzip_and_checksum(write):
    data = gzip.compress(b"a,b\n1,2\n3,4\n")
    table = read_table(write(data, "t.csv.gz"))
    assert table.files[0].name == "t.csv.gz"
    assert table.files[0].rows == 2
    assert table.files[0].sha256 == hashlib.sha256(data).hexdigest()


def test_truncated_gzip(write):
    data = gzip.compress(b"a,b\n" + bytes(np.random.default_rng(0).integers(48, 57, 5000)) + b"\n")
    with pytest.raises(TableError, match="damaged"):
        read_table(write(data[:-200], "t.csv.gz"))


def test_words_for_numbers_and_missing(write, noted):
    rows = ["1,on,True", "NaN,OFF,false", "N/A,on,true", "Bad,off,False", "No Data,on,-", "-inf,,"]
    table = read_table(write("\n".join(["a,b,c", *rows, "1e400,off,true"])))
    nan = np.nan
    np.testing.assert_array_equal(table.values[:, 0], [1, nan, nan, nan, nan, nan])
    np.testing.assert_array_equal(table.values[:, 1], [1, 0, 1, 0, 1, 0])
    np.testing.assert_array_equal(table.values[:, 2], [1, 0, 1, 0, nan, 1])
    assert noted(table)["infinite"] == 2
    assert noted(table)["empty_rows"] == 1  # the row of -inf alone


def test_text_columns_are_left_out_with_an_example(write):
    table = read_table(write("time,a,operator\n0,1,Miller\n1,2,Smith\n"))
    assert table.signals == ("a",)
    (note,) = table.notes
    assert "operator" in note.text
    assert "'Miller' in line 2" in note.text


def test_text_cells_behind_the_first_rows_are_missing_and_counted(write, monkeypatch):
    monkeypatch.setattr(text, "HEAD_BYTES", 1000)
    rows = [f"{i},{i}" for i in range(1000)]
    rows[700] = "700,broken"
    rows[900] = "900,again"
    table = read_table(write("\n".join(["time,a", *rows])))
    notes = {note.kind: note for note in table.notes}
    assert notes["text_cells"].count == 2
    assert "'broken' in line 702" in notes["text_cells"].text
    assert len(table) == 998  # rows 700 and 900 hold nothing else


def test_empty_rows_are_dropped_and_empty_columns_kept(write, noted):
    table = read_table(write("time,a,b\n0,1,\n\n1,2,\n2,,\n3,4,\n"))
    np.testing.assert_array_equal(table.time, np.array([0, 1, 3]) * 10**9)
    assert noted(table) == {"empty_rows": 2, "empty_columns": 1}


def test_given_separator_and_decimal(write):
    path = write("a:b\n1,5:2\n2,5:3\n")
    assert read_table(path, separator=":", decimal=",").values[0, 0] == 1.5
    with pytest.raises(SettingError, match="one character"):
        read_table(path, separator="::")
    with pytest.raises(SettingError, match="neither"):
        read_table(path, decimal="x")
    with pytest.raises(SettingError, match="both"):
        read_table(path, separator=",", decimal=",")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("time,a,b\n1,2,3\n" + "2,3\n" * 40 + "3,4,5\n" * 42 + "x\n" * 4, "give the separator"),
        ("time,a\n" + "\x00\n" * 3 + "2,3\n", "NUL byte in line 2"),
        ("\x00time,a\n1,2\n2,3\n", "NUL byte in line 1"),
        ("time,a\n", "0 usable rows"),
        ("time,a\n1,2\n", "1 usable rows"),
        ("\n\n", "is empty"),
        ("", "is empty"),
        ("a,b\nx,y\nz,w\n", "no column of numbers"),
        ("a,b\n" + "1,2,3\n" * 5, "2 names in its header"),
        ("x" * 1500 + ",b\n1,2\n3,4\n", "too long"),
        (",".join(f"c{i}" for i in range(20_001)) + "\n" + "1," * 20_000 + "1\n", "20,001 columns"),
        (b"PK\x03\x04 zip", "archive"),
        ("time,a\n5,1\n5,2\n5,3\n", "never increase"),
    ],
)
def test_damage_is_one_sentence(write, content, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(write(content), time="time" if "never" in message else None)
    assert "\n" not in str(caught.value)


GOOD = [f"{second},{second % 7}.5\n" for second in range(300)]


@pytest.mark.parametrize(
    "garbage",
    [
        "2,3,4\n", "2\n", "### restarted\n", "2,\x003\n", '2,"3\n', '"\n', '2,3"4"5"\n',
        "x" * 5_000_000 + "\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("at", [0, 1, 150, 300])
def test_a_line_that_makes_no_sense_costs_itself_only(write, noted, garbage, at):
    lines = [*GOOD[:at], garbage, *GOOD[at:]]
    table = read_table(write("time,a\n" + "".join(lines)))
    assert table.values[:, 0].tolist() == [second % 7 + 0.5 for second in range(300)]
    assert table.starts.tolist() == [0]
    assert noted(table) == {"bad_lines": 1}
    [note] = table.notes
    assert f"left out: 1 (line {at + 2}); 2 cells" in note.text
    assert table.files[0].rows == 300


def test_two_open_quotation_marks_do_not_swallow_what_is_between(write, noted):
    lines = [*GOOD[:100], '7,"8\n', *GOOD[100:200], '7,"8\n', *GOOD[200:]]
    table = read_table(write("time,a\n" + "".join(lines)))
    assert len(table) == 300
    assert noted(table) == {"bad_lines": 2}
    assert "(lines 102, 203)" in table.notes[0].text


def test_many_bad_lines_are_counted_and_most_of_them_refused(write):
    text = "time,a\n" + "".join(f"{line}garbage,more,and more\n" for line in GOOD[:40])
    note = read_table(write(text)).notes[0]
    assert note.count == 40
    assert "left out: 40 (lines 3, 5, 7, 9, 11, …)" in note.text
    with pytest.raises(TableError, match=r"41 lines that do not hold the 2 cells"):
        read_table(write(text + "again\n"))


def test_lines_are_counted_as_in_the_file_after_one_that_makes_no_sense(write):
    lines = [*GOOD[:50], "x\n", *GOOD[50:100], "y,y,y\n", *GOOD[100:200], "200,no number\n"]
    texts = {n.kind: n.text for n in read_table(write("time,a\n" + "".join(lines))).notes}
    assert "in line 204 of" in texts["text_cells"]


def test_what_is_left_out_is_what_a_watch_leaves_out(tmp_path, write):
    lines = [line.encode() for line in GOOD]
    lines[100:100] = [b"\xff\xfe\x00garbage\n", b"a,b,c\n", b'"2026,never closed\n', b"\n"]
    path = write(b"time,a\n" + b"".join(lines))
    source = open_file_source(str(path), Wanted(("a",), 1.0))
    source.open({})
    rows = []
    while not source.ended:
        rows += source.poll(0.0).values.tolist()
    source.close()
    table = read_table(path)
    assert table.values.tolist() == rows
    counts = {note.kind: note.count for note in table.notes}
    assert counts["bad_lines"] == source.problems["bad_lines"] == 3


def test_files_that_cannot_be_opened(tmp_path, write, monkeypatch):
    with pytest.raises(TableError, match="no file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(TableError, match="folder"):
        read_table(tmp_path)
    path = write("a,b\n1,2\n3,4\n")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(TableError, match="cannot be read: Permission denied"):
        read_table(path)


def test_unknown_columns(write):
    path = write("time,a,b\n0,1,2\n1,2,3\n")
    for options in ({"ignore": ["c"]}, {"labels": "c"}, {"time": "c"}):
        with pytest.raises(UnknownNameError, match=r"no column 'c'.*time, a, b"):
            read_table(path, **options)
    assert read_table(path, ignore="a").signals == ("b",)


@pytest.mark.parametrize("word", ["no", "No", "off", "ok", "OK ", "good", "benign", "healthy"])
def test_words_that_say_that_nothing_is_wrong(word, write):
    table = read_table(write(f"t,a,l\n1,1,{word}\n2,2,yes\n3,3,{word}\n"), labels="l")
    np.testing.assert_array_equal(table.labels, [0, 1, 0])


def test_labels(write):
    cells = ["Normal", " normal", "0", "0.0", "False", "Attack", "A ttack", "1", "-999", "", "nan"]
    content = "\n".join(["time,a,label", *[f"{i},{i},{cell}" for i, cell in enumerate(cells)]])
    table = read_table(write(content), labels="label")
    assert table.signals == ("a",)
    np.testing.assert_array_equal(table.labels, [0] * 5 + [1] * 3 + [np.nan] * 3)


def test_memory_does_not_grow_with_the_file(write, monkeypatch):
    monkeypatch.setattr(text, "BLOCK_BYTES", 8000)
    path = write("a,b\n" + "1.5,2.5\n" * 5000)
    sizes = [len(chunk) for chunk in open_table(path).chunks()]
    assert sum(sizes) == 5000
    assert max(sizes) <= 1000


def test_few_cells_of_a_title_tell_what_it_is(monkeypatch):
    looked = []

    def counting(cells, *args):
        looked.append(cells)
        return None, None

    monkeypatch.setattr("causewatch.data.dialect.detect_format", counting)
    title = [f"x{k} y" for k in range(4_000)]
    names = ["time", *(f"c{k}" for k in range(9_999))]
    layout = find_header([title, names, ["1"] * 10_000, ["2"] * 10_000])
    assert (layout.skip, layout.names) == (2, tuple(names))
    assert len(looked) <= 2 * LOOKED
