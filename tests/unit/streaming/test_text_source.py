"""Rows of text files and of standard input, in every dialect, cut short at any time."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import random
import shutil
import sys
import types
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.data import Writing
from causewatch.errors import SettingError, TableError, UnknownNameError
from causewatch.streaming.source import Reading, Wanted
from causewatch.streaming.sources.files import FileSource, open_file_source
from causewatch.streaming.tags import Tag, TagMap
from causewatch.testing import FakeClock

COLUMNS = ("a", "b")
WANTED = Wanted(COLUMNS, 1.0)
START = datetime(2026, 1, 1)
SECOND = 1_000_000_000


def moment(k):
    return int((START + timedelta(seconds=k)).replace(tzinfo=UTC).timestamp()) * SECOND


def csv_lines(first, last):
    return [
        f"{(START + timedelta(seconds=k)).isoformat()},{k}.5,{-k}\n" for k in range(first, last)
    ]


def csv_text(first, last, header="time,a,b\n"):
    return header + "".join(csv_lines(first, last))


def expected(first, last):
    return [(moment(k), k + 0.5, float(-k)) for k in range(first, last)]


def rows_of(batch):
    found = [
        (int(when), *row) for when, row in zip(batch.times, batch.values.tolist(), strict=True)
    ]
    for values, when in batch.named:
        at = datetime.fromisoformat(when).replace(tzinfo=UTC)
        found.append((int(at.timestamp()) * SECOND, values["a"], values["b"]))
    return found


def drained(source, polls=12):
    """What there is at present, or to the end."""
    found = []
    for _ in range(polls):
        found += rows_of(source.poll(0.0))
    return found


@pytest.fixture
def opened():
    """Open a source; all are closed in the end."""
    sources = []

    def start(path, after=None, wanted=WANTED, **options):
        source = open_file_source(str(path), wanted, **options)
        sources.append(source)
        source.open(after or {})
        return source

    yield start
    for source in sources:
        source.close()


def feed_stdin(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))


# What is read


@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        "gzip",
        "utf16",
        "utf16 without mark",
        "utf16 big end first",
        "bom",
        "windows",
        "old mac",
        "semicolons",
        "blanks",
        "json",
    ],
)
def test_every_dialect_gives_the_same_rows(kind, tmp_path, opened):
    text = csv_text(0, 30)
    rows = [
        dict(zip(("time", *COLUMNS), line.split(","), strict=True)) for line in csv_lines(0, 30)
    ]
    for row in rows:
        row["a"], row["b"] = float(row["a"]), float(row["b"])
    data = {
        "gzip": gzip.compress(text.encode()),
        "utf16": codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
        "utf16 without mark": text.encode("utf-16-le"),
        "utf16 big end first": text.encode("utf-16-be"),
        "bom": codecs.BOM_UTF8 + text.encode(),
        "windows": text.replace("\n", "\r\n").encode(),
        "old mac": text.replace("\n", "\r").encode(),
        "semicolons": text.replace(",", ";").replace(".", ",").encode(),
        "blanks": text.replace(",", "   ").encode(),
        "json": "\n".join(map(json.dumps, rows)).encode(),
    }.get(kind, text.encode())
    path = tmp_path / "file"
    path.write_bytes(data)
    source = opened(path)
    found = drained(source, 3)
    assert found == expected(0, 30)
    assert source.ended
    assert (source.status, source.problems, source.missing) == ("ended", {}, ())
    assert source.clock == (None if kind == "json" else "naive")
    assert source.guarantee == "replayed"
    # And again from any place.
    after = source.position()
    assert opened(path, after).position() == after
    assert drained(opened(path, after), 3) == []


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_standard_input(kind, monkeypatch, opened):
    data = csv_text(0, 5)
    if kind == "json":
        data = '{"time": "2026-01-01T00:00:00", "a": 0.5, "b": 0}\n'
    feed_stdin(monkeypatch, data.encode())
    source = opened("-")
    found = []
    while not source.ended:
        found += rows_of(source.poll(1.0))
    assert found == expected(0, 5 if kind == "csv" else 1)
    assert (source.name, source.guarantee) == ("standard input", "lost")
    assert source.position() == {"name": "standard input", "rows": len(found)}
    with pytest.raises(SettingError, match="followed anyway"):
        open_file_source("-", WANTED, follow=True)


@pytest.mark.parametrize("data", [b"", b"\n", b"\0" * 100, b"x" * 6_000_000])
def test_streams_without_a_line_are_refused(data, monkeypatch, opened):
    feed_stdin(monkeypatch, data)
    source = opened("-")
    with pytest.raises(TableError, match="holds no line that could be read"):
        source.poll(20.0)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no line"),
        (b"\n\n", "holds no line"),
        (b"time,x,y\n2026-01-01T00:00:00,1,2\n2026-01-01T00:00:01,1,2\n", "none of the model's"),
        (b'{"time": 1, "x": 2}\n', "none of the model's"),
        (bytes(range(256)) * 20, "holds no line"),
        (b"PK\x03\x04" + b"x" * 100, "is an archive"),
    ],
)
def test_files_that_are_refused_when_they_are_opened(data, words, tmp_path, opened):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(TableError, match=words):
        opened(path)


def test_what_else_is_refused(tmp_path, opened):
    path = tmp_path / "log.csv"
    with pytest.raises(TableError, match="There is no file"):
        opened(path)
    path.write_text(csv_text(0, 9))
    for reading in (Reading(time="x"), Reading(ignore=("x",))):
        with pytest.raises(UnknownNameError, match="There is no column 'x'"):
            opened(path, wanted=Wanted(COLUMNS, 1.0, reading=reading))
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(SettingError, match="watch it without --follow"):
        opened(path, follow=True)


def test_names_are_found_as_they_stand_in_the_file(tmp_path, opened):
    path = tmp_path / "log.csv"
    path.write_text(csv_text(0, 30, header="Local  time, a,b\n"))
    reading = Reading(time="Local  time", ignore=(" a",))
    source = opened(path, wanted=Wanted(("b",), 1.0, reading=reading))
    assert source.clock == "naive"


def test_bad_lines_cost_themselves_only(tmp_path, opened):
    lines = [line.encode() for line in csv_lines(0, 200)]
    lines[100:100] = [b"\xff\xfe\x00garbage\n", b"a,b\n", b'"2026,never closed\n', b"\n"]
    lines[150:150] = [b"x" * 5_000_000 + b"\n", b"not a time,1,2\n", b"time,a,b\n"]
    lines[170:170] = [b"2026-01-01T00:00:00,inf,broken\n"]
    path = tmp_path / "log.csv"
    path.write_bytes(b"time,a,b\n" + b"".join(lines))
    source = opened(path)
    found = drained(source, 40)
    good = [row for row in found if not np.isnan(row[1])]
    assert good == expected(0, 200)
    assert source.problems == {"bad_lines": 4, "bad_times": 2, "infinite": 1, "text_cells": 1}


def test_bad_json_lines_are_counted_as_lines(tmp_path, opened):
    path = tmp_path / "rows.jsonl"
    good = '{"time": "2026-01-01T00:00:00", "values": {"a": 0.5, "b": 0, "note": "x"}}\n'
    path.write_text(good + "{\n[1, 2]\nnonsense\n\n" + good)
    source = opened(path)
    assert drained(source, 3) == expected(0, 1) * 2
    assert source.problems == {"bad_lines": 3}


def test_columns_that_are_missing_and_rows_that_are_counted(tmp_path, opened):
    path = tmp_path / "log.csv"
    path.write_text("b,x\n" + "1,2\n" * 10)
    source = opened(path)
    times = [row[0] for row in drained(source, 3)]
    assert (source.clock, source.missing) == ("elapsed", ("a",))
    assert times == [k * SECOND for k in range(10)]
    counted = Wanted(COLUMNS, 2.0, counted=True)
    path.write_text(csv_text(0, 4))
    source = opened(path, wanted=counted)
    assert [row[0] for row in drained(source, 3)] == [2 * k * SECOND for k in range(4)]
    assert source.clock == "rows"


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_tags_have_other_names_and_units(kind, tmp_path, opened):
    tags = TagMap(
        {
            "TI 7": Tag("TI 7", "a", factor=0.5, offset=-16.0),
            "b": Tag("b", "elsewhere"),
            "t": Tag("t", "b", factor=1e90),
        }
    )
    path = tmp_path / "log"
    text = "time,TI 7,b,t\n" + "".join(f"2026-01-01T00:00:0{k},{k},99,{k}\n" for k in range(5))
    if kind == "json":
        text = "".join(
            json.dumps({"time": f"2026-01-01T00:00:0{k}", "TI 7": k, "b": 99, "t": k}) + "\n"
            for k in range(5)
        )
    path.write_text(text)
    source = opened(path, wanted=Wanted(COLUMNS, 1.0, tags=tags))
    assert drained(source, 3) == [(moment(k), 0.5 * k - 16, k * 1e90) for k in range(5)]
    if kind == "csv":
        large = TagMap({"TI 7": Tag("TI 7", "a", factor=1e200)})
        source = opened(path, wanted=Wanted(COLUMNS, 1.0, tags=large))
        assert np.isnan([row[1] for row in drained(source, 3)]).sum() == 4
        assert source.problems == {"infinite": 4}


# How it is read


def test_a_poll_waits_for_no_longer_than_it_may(tmp_path):
    path, clock = tmp_path / "log.csv", FakeClock()
    path.write_text(csv_text(0, 5))
    source = FileSource(str(path), WANTED, follow=True, now=clock, sleep=clock.sleep)
    assert (source.status, source.ended, source.position()) == ("not open", False, {})
    source.open({})
    assert len(source.poll(10.0)) == 5
    assert clock() == 0.0
    assert source.status == "reading"
    assert len(source.poll(0.0)) == 0
    assert clock() == 0.0
    assert len(source.poll(0.12)) == 0
    assert clock() == pytest.approx(0.12)
    assert (source.status, source.ended) == ("waiting for more", False)

    def write(seconds):
        clock.sleep(seconds)
        with path.open("a") as file:
            file.writelines(csv_lines(5, 6))

    source._sleep = write
    assert rows_of(source.poll(60.0)) == expected(5, 6)
    assert clock() < 1.0
    source.close()
    assert source.ended
    assert len(source.poll(0.0)) == 0


def test_batches_are_not_large(tmp_path, opened):
    path = tmp_path / "log.csv"
    path.write_text("a,b\n" + "1,2\n" * 20_000)
    source, sizes = opened(path), []
    while not source.ended:
        sizes.append(len(source.poll(0.0)))
    assert sum(sizes) == 20_000
    assert max(sizes) <= 4096


def test_a_header_may_come_late_and_rows_one_by_one(tmp_path, opened):
    path = tmp_path / "log.csv"
    path.write_text("")
    source = opened(path, follow=True)
    assert drained(source) == []
    assert source.clock is None
    found, after = [], {}
    for k, line in enumerate(["time,a,b\n", *csv_lines(0, 8)]):
        with path.open("a") as file:
            file.write(line[:7])
            file.flush()
            found += drained(source)
            file.write(line[7:])
        if k in (2, 5):  # also while it waits to know the columns
            after = source.position()
            source.close()
            source = opened(path, after, follow=True)
        found += drained(source)
    assert found == expected(0, 8)
    assert source.clock == "naive"


def test_first_rows_that_have_nothing_to_do_with_the_model(tmp_path, opened):
    path = tmp_path / "log.csv"
    path.write_text("")
    source = opened(path, follow=True)
    with path.open("a") as file:
        file.write("time,x\n" + "2026-01-01T00:00:00,1\n" * 9)
    with pytest.raises(TableError, match="none of the model's signals"):
        drained(source)


def test_another_file_under_the_same_name_is_read_from_its_beginning(tmp_path, opened):
    path = tmp_path / "log.csv"
    path.write_text(csv_text(0, 9))
    source = opened(path)
    drained(source, 3)
    path.write_text(csv_text(20, 40))
    again = opened(path, source.position())
    assert drained(again, 3) == expected(20, 40)
    assert again.position()["rows"] == 20
    assert again.problems == {}
    path.write_text(csv_text(50, 60))
    again = opened(path, source.position(), follow=True)
    assert drained(again) == expected(50, 60)
    assert again.problems == {"position_lost": 1}
    other = tmp_path / "other.csv"
    other.write_text(csv_text(0, 9))
    assert drained(opened(other, source.position()), 3) == expected(0, 9)


def test_columns_are_judged_alike_in_a_later_run(tmp_path, opened):
    """Days and months cannot be told apart by the first rows, but by later ones."""
    path = tmp_path / "log.csv"
    lines = [f"{k:02}/02/2026 00:00:00,1,2\n" for k in range(1, 12)]
    path.write_text("time,a,b\n" + "".join(lines[:5]))
    source = opened(path, follow=True)
    first = drained(source)
    with path.open("a") as file:
        file.writelines([*lines[5:], "12/31/2026 00:00:00,1,2\n"])
    again = opened(path, source.position(), follow=True)
    assert drained(again) == drained(source)
    assert len(first) == 5


@pytest.mark.parametrize(
    "kind", ["same header", "other order", "no header", "other times", "other signals"]
)
def test_a_followed_file_is_replaced(kind, tmp_path, opened):
    path, other = tmp_path / "log.csv", tmp_path / "new.csv"
    path.write_text(csv_text(0, 9))
    rows = [line.strip().split(",") for line in csv_text(9, 19).splitlines()]
    if kind == "other order":
        rows = [[row[2], row[0], row[1]] for row in rows]
    if kind == "no header":
        rows = rows[1:]
    if kind == "other times":
        rows = [rows[0], *([str(k), *row[1:]] for k, row in enumerate(rows[1:]))]
    if kind == "other signals":
        rows[0] = ["time", "x", "y"]
    other.write_text("".join(",".join(row) + "\n" for row in rows))
    source = opened(path, follow=True)
    assert drained(source) == expected(0, 9)
    path.unlink()
    assert source.position()["rows"] == 9  # there is no file at present
    assert drained(source) == []
    other.replace(path)
    if kind in ("other times", "other signals"):
        assert drained(source) == []
        bad = {"bad_times": 10} if kind == "other times" else {"bad_lines": 11}
        assert source.problems == bad
        return
    assert drained(source) == expected(9, 19)
    after = source.position()
    assert (after["bytes"], after["rows"]) == (path.stat().st_size, 19)
    assert source.problems == {}
    # A later run knows the columns, too.
    with path.open("a") as file:
        file.writelines(
            f"{b},{t},{a}\n" if kind == "other order" else f"{t},{a},{b}\n"
            for t, a, b in (line.strip().split(",") for line in csv_lines(19, 25))
        )
    again = opened(path, after, follow=True)
    assert again.position() == after
    assert drained(again) == expected(19, 25)


def test_a_file_is_rotated_while_no_watch_runs(tmp_path, opened):
    path = tmp_path / "log.csv"
    path.write_text(csv_text(0, 9))
    source = opened(path, follow=True)
    drained(source)
    after = source.position()
    source.close()
    with path.open("a") as file:
        file.writelines(csv_lines(9, 15))
    path.rename(tmp_path / "log.csv.1")
    again = opened(path, after, follow=True)  # there is no new file yet
    assert drained(again) == expected(9, 15)
    path.write_text(csv_text(15, 20))
    assert drained(again) == expected(15, 20)
    assert again.position()["rows"] == 20


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_kills_and_rotations_at_any_time_change_nothing(seed, tmp_path_factory):
    """Text that is added in pieces cut anywhere, and read by runs that are killed at any time.

    It is rotated, too, and the files after the first have a header or not.
    """
    chance = random.Random(seed)
    folder = tmp_path_factory.mktemp("log")
    path, count = folder / "log.csv", chance.randint(5, 120)
    path.touch()
    end, header = chance.choice(["\n", "\r\n"]), chance.random() < 0.5
    text = csv_text(0, count).replace("\n", end).encode()
    source = open_file_source(str(path), WANTED, follow=True)
    source.open({})
    kept, saved = [], ({}, 0)
    try:
        while text:
            step = chance.choice(
                ["bytes", "lines", "lines", "poll", "poll", "save", "kill", "turn"]
            )
            if step in ("bytes", "lines"):  # somebody writes
                lines = text.splitlines(keepends=True)[: chance.randint(1, 8)]
                size = len(b"".join(lines)) if step == "lines" else chance.randint(1, 150)
                with path.open("ab") as file:
                    file.write(text[:size])
                text = text[size:]
            elif step == "poll":
                kept += rows_of(source.poll(0.0))
            elif step == "save":
                saved = (json.loads(json.dumps(source.position())), len(kept))
            elif step == "kill":
                source.close()
                source = open_file_source(str(path), WANTED, follow=True)
                source.open(saved[0])
                assert not saved[0] or source.position() == saved[0]
                kept = kept[: saved[1]]
            elif saved[0].get("bytes") and path.read_bytes().count(b"\n") > 4:
                if path.read_bytes().endswith(b"\n"):
                    # A file that is written anew is known again by two lines.
                    known = min(saved[0]["seen"], source.position()["seen"]) > 80
                    rotate(path, chance, ["rename", *["compress", "copy"] * known])
                    text = (f"time,a,b{end}".encode() if header else b"") + text
        kept += drained(source, 60)
        # A few rows of a new file may wait until it is known what its columns are.
        after = source.position()
        source.close()
        source = open_file_source(str(path), WANTED)
        source.open(after)
        kept += drained(source, 10)
        assert kept == expected(0, count)
        assert source.problems == {}
    finally:
        source.close()


def rotate(path, chance, ways):
    """As some program would: renamed, renamed and compressed, or copied and cut."""
    number = 20260101 + len(list(path.parent.iterdir()))
    older = path.with_name(f"log-{number}.csv")
    how = chance.choice(ways)
    if how == "copy":
        shutil.copy(path, older)
        os.truncate(path, 0)
    else:
        path.rename(older)
        path.touch()
    if how == "compress":
        data = older.read_bytes()
        older.unlink()
        older = older.with_name(older.name + ".gz")
        older.write_bytes(gzip.compress(data))
    os.utime(older, (number, number))


# Day and month

USUAL = Wanted(COLUMNS, 1.0, usual=Writing("time", "month first", ",", "."))


def dates(*days):
    return "time,a,b\n" + "".join(f"{day} 10:00:0{k},{k},1\n" for k, day in enumerate(days))


@pytest.mark.parametrize("ending", ["csv", "stdin"])
def test_what_rows_leave_open_is_read_as_the_model_was_learnt(
    ending, monkeypatch, tmp_path, opened, caplog
):
    text = dates(*["5/8/2009"] * 6)
    (tmp_path / "t.csv").write_text(text)
    feed_stdin(monkeypatch, text.encode())
    where = "-" if ending == "stdin" else tmp_path / "t.csv"
    found = drained(opened(where, wanted=USUAL))
    when = datetime(2009, 5, 8, 10, tzinfo=UTC)
    assert [time for time, *_ in found] == [(int(when.timestamp()) + k) * SECOND for k in range(6)]
    (record,) = caplog.records
    assert "were read month first, as other recordings of this plant" in record.message


def test_rows_that_say_otherwise_are_read_as_they_say_with_one_warning(tmp_path, opened, caplog):
    (tmp_path / "t.csv").write_text(dates(*["25/12/2009"] * 6))
    found = drained(opened(tmp_path / "t.csv", wanted=USUAL))
    assert datetime.fromtimestamp(found[0][0] / SECOND, UTC).day == 25
    (record,) = caplog.records
    assert "t.csv are written day first ('25/12/2009 10:00:00')" in record.message


def test_rows_that_cannot_be_what_those_before_were_taken_for_are_said_once(
    tmp_path, opened, caplog
):
    path = tmp_path / "t.csv"
    path.write_text(dates(*["5/8/2009"] * 6))
    source = opened(path, wanted=USUAL, follow=True)
    assert len(drained(source)) == 6
    caplog.clear()
    with path.open("a") as file:
        file.write("13/8/2009 10:00:00,1,1\n" * 3)
    drained(source)
    assert source.problems == {"bad_times": 3}
    (record,) = caplog.records
    assert record.message == (
        "The rows of t.csv were read month first, but '13/8/2009 10:00:00' cannot be: rows like it"
        " are left out. If all are written day first, others are on wrong days: give --time-format"
        " '%d/%m/%Y %H:%M:%S'."
    )


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("counted", [False, True])
def test_times_that_are_lost_are_said(counted, follow, tmp_path, opened, caplog):
    """A model that knows times would judge these rows with alarms dated in seconds."""
    path = tmp_path / "rows.csv"
    bad = "".join(f"yesterday,{k}.5,{-k}\n" for k in range(3, 20))
    path.write_text(csv_text(0, 3) + bad)
    usual = Writing("time", "year first", ",", ".")
    wanted = Wanted(COLUMNS, 1.0, counted, usual=usual)
    source = opened(path, wanted=wanted, follow=follow)
    assert len(drained(source)) == 20
    said = [record for record in caplog.records if "'yesterday'" in record.message]
    assert len(said) == (not counted)
    caplog.clear()
    other = Wanted(COLUMNS, 1.0, usual=Writing("when", "year first", ",", "."))
    drained(opened(path, wanted=other))
    assert not caplog.records


@pytest.mark.parametrize("counted", [False, True])
def test_a_guess_is_said_where_times_matter(counted, tmp_path, opened, caplog):
    (tmp_path / "t.csv").write_text(dates(*["5/8/2009"] * 6))
    found = drained(opened(tmp_path / "t.csv", wanted=Wanted(COLUMNS, 1.0, counted)))
    assert len(found) == 6
    assert ("do not tell day and month apart" in caplog.text) == (not counted)


# A header in the middle

SWAPPED = "".join(f"{t},{b},{a}\n" for t, a, b in (x.strip().split(",") for x in csv_lines(9, 19)))
GAINED = "".join(f"{line.strip()},7\n" for line in csv_lines(9, 19))


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("time,b,a\n", SWAPPED),
        ("time,a,b,c\n", GAINED),
        ("time, a ,b,c\r\n", GAINED.replace("\n", "\r\n")),
    ],
    ids=["swapped", "gained", "blanks"],
)
@pytest.mark.parametrize("pieces", [1, 3])
def test_a_header_in_the_middle_names_the_columns_from_there_on(
    header, rows, pieces, tmp_path, opened
):
    path = tmp_path / "log.csv"
    path.write_bytes(csv_text(0, 9).encode())
    source, text = opened(path, follow=True), (header + rows).encode()
    size = len(text) // pieces + 1
    found, after = drained(source), {}
    for begin in range(0, len(text), size):
        with path.open("ab") as file:
            file.write(text[begin : begin + size])
        found += drained(source)
        after = source.position()
        source.close()
        source = opened(path, after, follow=True)  # a later run knows it, too
        assert source.position() == after
    assert found == expected(0, 19)
    assert source.problems == {}
    assert drained(opened(path)) == expected(0, 19)
    # Another one is gone by as well, and the file may be replaced.
    with path.open("ab") as file:
        file.write(b"b,a,time\n-19,19.5,2026-01-01T00:00:19\n")
    assert drained(source, 2) == []  # it might be a header of something else
    with path.open("ab") as file:
        text = "-20,20.5,2026-01-01T00:00:20\n" + csv_text(21, 30)
        file.write(text.encode())
    assert drained(source) == expected(19, 30)
    path.unlink()
    path.write_bytes(csv_text(30, 40).encode())
    assert drained(source) == expected(30, 40)
    assert "moved" not in source.position()


def test_text_that_only_looks_like_a_header_is_a_bad_line(tmp_path, opened):
    path = tmp_path / "log.csv"
    path.write_text(csv_text(0, 9) + "time to check a pump\ntime,x,y\n" + "".join(csv_lines(9, 19)))
    source = opened(path)
    assert drained(source) == expected(0, 19)
    assert source.problems == {"bad_lines": 1, "bad_times": 1}
