"""``causewatch watch`` in one process: what it reads, what it writes, what it refuses."""

from __future__ import annotations

import codecs
import gzip
import html
import io
import json
import re
import shutil
import sqlite3
import sys
from contextlib import closing
from types import SimpleNamespace

import polars as pl
import pytest

from causewatch.cli import main
from causewatch.cli.watch_text import unwell_words
from causewatch.monitor.health import STREAM
from causewatch.streaming.reports import INDEX
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.files import open_file_source
from causewatch.streaming.store.sqlite import SqliteStore
from small_plant import ROWS

SIGNALS = ["S01", "S02", "S03", "S04", "S05"]


def watch(plant, source, *arguments):
    return main(["watch", str(plant.model), str(source), *map(str, arguments)])


def test_events_that_nobody_got_are_no_success(plant, capsys):
    """Without a state they are gone."""
    assert watch(plant, plant.test, "--sink", "http://127.0.0.1:1/x") == 1
    assert "events are not delivered to http://127.0.0.1:1/" in capsys.readouterr().err


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def sentence(shown):
    lines = shown.err.splitlines()
    assert len(lines) == 1, shown.err
    assert lines[0].startswith("causewatch: ")
    assert lines[0].endswith((".", "?"))
    return lines[0]


@pytest.fixture(scope="module")
def whole(plant, tmp_path_factory):
    """Alarms and scores of the recording, watched in one go."""
    folder = tmp_path_factory.mktemp("whole")
    alarms, scores = folder / "whole.jsonl", folder / "whole.csv"
    assert watch(plant, plant.test, "--alarms", alarms, "--scores", scores) == 0
    return alarms.read_bytes(), scores.read_bytes()


def history(state):
    """The events in a store, as lines."""
    store = SqliteStore(state, "watch")
    found = [notice.to_json() + "\n" for notice in store.notices(0, 10_000)]
    store.close()
    return "".join(found).encode()


def feed_stdin(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def test_a_pipe_gets_lines_for_people_and_the_summary(plant, capsys):
    assert watch(plant, plant.test) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    lines, _, summary = shown.out.partition("Source     ")
    told = [line.split(maxsplit=3) for line in lines.splitlines()]
    assert [event for _, event, *_ in told[:2]] == ["raised", "cleared"]
    assert {event for _, event, *_ in told} <= {"raised", "cleared", "health"}
    time, _, id, sentence = told[0]
    assert time in {line.split(",")[0] for line in plant.lines[201:206]}
    assert len(id) == 12
    assert sentence.startswith("S02 ")
    assert sentence.endswith(".")
    assert told[1][2] == id
    first, last = (plant.lines[k].split(",")[0] for k in (1, -1))
    raised = sum(event == "raised" for _, event, *_ in told)
    for words in (
        f"faulty.csv: {ROWS} rows\n",
        f"{ROWS}, each of 1 s, the first at {first}, the last at {last}; ",
        f"Alarms     {raised} raised about the plant",
    ):
        assert words in summary


def test_json_lines_hold_every_event(plant, capsys):
    assert watch(plant, plant.test, "--json") == 0
    *found, summary = events(capsys.readouterr().out)
    raised = [one for one in found if one["event"] == "raised" and one["kind"] == "anomaly"]
    assert raised[0]["causes"][0]["signal"] == "S02"
    in_the_end = {one["id"]: one["causes"][0]["signal"] for one in found if one["causes"]}
    assert [in_the_end[one["id"]] for one in raised] == ["S02", "S04"]
    assert "S02" in raised[0]["headline"]
    assert raised[0]["cleared_at"] is None
    last = {one["id"]: one for one in found}[raised[0]["id"]]
    assert last["event"] == "cleared"
    assert last["onset"] <= last["raised_at"] < last["cleared_at"]
    assert last["causes"][0]["signal"] == "S02"
    assert "updated" in {one["event"] for one in found}
    assert summary["alarms_raised"] == len(raised)


def test_files_get_alarms_and_scores(plant, tmp_path, capsys):
    alarms, scores = tmp_path / "a.jsonl", tmp_path / "s.csv"
    assert watch(plant, plant.test, "--alarms", alarms, "--scores", scores) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "\nSource     faulty.csv" in shown.out
    table = pl.read_csv(scores)
    assert table.columns == ["time", "score", "alarm"]
    assert len(table) == ROWS
    assert table["time"][0] == plant.lines[1].split(",")[0]
    assert table["score"][0] is None  # not warmed up
    during = table[205:255]
    assert (during["alarm"] == 1).all()
    assert (during["score"] > 1).mean() > 0.8
    assert table["alarm"][:200].sum() == 0
    found = events(alarms.read_text())
    on = table.filter(pl.col("alarm") == 1)["time"]
    assert on[0] == next(one["time"] for one in found if one["kind"] == "anomaly")


def test_scores_by_signal_and_as_parquet(plant, tmp_path, capsys):
    one, two = tmp_path / "s.csv", tmp_path / "s.parquet"
    assert watch(plant, plant.test, "--scores", one, "--per-signal") == 0
    assert watch(plant, plant.test, "--scores", two, "--per-signal") == 0
    table = pl.read_csv(one)
    assert table.columns == ["time", "score", "alarm", *SIGNALS]
    hit = table.row(230, named=True)
    assert max(SIGNALS, key=lambda name: hit[name]) == "S02"
    assert hit["S02"] == pytest.approx(hit["score"], rel=1e-4)
    assert pl.read_parquet(two).select("score", *SIGNALS).equals(table.select("score", *SIGNALS))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.csv", "s.parquet"]


def test_json_ends_with_a_summary(plant, tmp_path, capsys):
    alarms = tmp_path / "a.jsonl"
    assert watch(plant, plant.test, "--json", "--alarms", alarms) == 0
    shown = capsys.readouterr()
    *lines, last = shown.out.splitlines()
    assert lines == alarms.read_text().splitlines()
    said = json.loads(last)
    assert (said["event"], said["rows"], said["ticks"]) == ("ended", ROWS, ROWS)
    assert said["alarms_raised"] >= 2
    assert said["under_alarm_s"] >= 100
    assert shown.err == ""


@pytest.mark.parametrize("kind", ["csv", "json", "json with inner values", "blocks"])
def test_standard_input(plant, whole, kind, tmp_path, monkeypatch, capsys):
    data = plant.test.read_bytes()
    if kind.startswith("json"):
        rows = []
        for row in pl.read_csv(plant.test).iter_rows(named=True):
            time = row.pop("time")
            rows.append(
                {"timestamp": time, "values": row} if "inner" in kind else {"t": time, **row}
            )
        data = "\n".join(map(json.dumps, rows)).encode()
    feed_stdin(monkeypatch, data)
    if kind == "blocks":  # as a pipe may deliver them
        from causewatch.streaming.sources import lines

        pieces = [data[k : k + 777] for k in range(0, len(data), 777)]
        monkeypatch.setattr(
            lines.StdinText, "read", lambda self, wait=0.0: pieces.pop(0) if pieces else b""
        )
    scores = tmp_path / "s.csv"
    assert watch(plant, "-", "--alarms", tmp_path / "a.jsonl", "--scores", scores) == 0
    assert f"standard input: {ROWS} rows" in capsys.readouterr().out
    assert (tmp_path / "a.jsonl").read_bytes() == whole[0]
    assert scores.read_bytes() == whole[1]


@pytest.mark.parametrize(
    "kind", ["gzip", "utf16", "semicolons", "parquet", "windows", "other times", "events"]
)
def test_files_of_every_kind_give_the_same(plant, whole, kind, tmp_path, capsys):
    text = plant.test.read_text()
    source, more = tmp_path / "source.csv", []
    if kind == "gzip":
        source.write_bytes(gzip.compress(text.encode()))
    elif kind == "utf16":
        source.write_bytes(codecs.BOM_UTF16_LE + text.encode("utf-16-le"))
    elif kind == "semicolons":
        source.write_text(text.replace(",", ";").replace(".", ","))
    elif kind == "parquet":
        source = tmp_path / "source.parquet"
        pl.read_csv(plant.test, try_parse_dates=True).write_parquet(source)
    elif kind == "windows":
        source.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    elif kind == "events":
        table = pl.read_csv(plant.test).unpivot(SIGNALS, index="time", variable_name="tag")
        table.sort("time", maintain_order=True).write_csv(source)
    else:
        day = "2026-01-01T"
        source.write_text(text.replace(day, "1 Jan 2026 at "))
        more = ["--time-format", "%d %b %Y at %H:%M:%S"]
    alarms = tmp_path / "a.jsonl"
    assert watch(plant, source, "--alarms", alarms, *more) == 0
    assert alarms.read_bytes() == whole[0]


def test_bad_lines_cost_themselves_only(plant, tmp_path, capsys):
    lines = [line.encode() for line in plant.lines]
    good = len(lines)
    lines[100:100] = [b"\xff\xfe\x00garbage\n", b"a,b\n", b'"2026,never closed\n', b"\n"]
    lines[300:300] = [b"x" * 5_000_000 + b"\n", b"not a time,1,2,3,4,5\n", lines[0]]
    lines[310:310] = [b"2026-01-01T00:00:00,1,2,3,4,5\n"]
    source = tmp_path / "bad.csv"
    source.write_bytes(b"".join(lines))
    alarms = tmp_path / "a.jsonl"
    assert watch(plant, source, "--json", "--alarms", alarms) == 0
    said = events(capsys.readouterr().out)[-1]
    assert said["ticks"] == good - 1
    assert said["problems"] == {"bad_lines": 4, "bad_times": 2, "late_rows": 1}
    assert said["dropped_rows"] == 7
    raised = {one["causes"][0]["signal"] for one in events(alarms.read_text()) if one["causes"]}
    assert raised >= {"S02", "S04"}


def test_a_cell_that_is_no_number_is_missing(plant, tmp_path, capsys):
    lines = list(plant.lines)
    for k in range(50, 60):
        cells = lines[k].split(",")
        cells[1:3] = ["broken", "inf"]
        lines[k] = ",".join(cells)
    source = tmp_path / "cells.csv"
    source.write_text("".join(lines))
    assert watch(plant, source, "--json") == 0
    said = events(capsys.readouterr().out)[-1]
    assert said["problems"] == {"text_cells": 10, "infinite": 10}
    assert {"S01", "S02"} <= set(said["health"])
    assert said["ticks"] == ROWS
    assert watch(plant, source, "--alarms", tmp_path / "a.jsonl") == 0
    lines = events((tmp_path / "a.jsonl").read_text())
    raised = [one for one in lines if one["event"] == "raised" and one["kind"] == "health"]
    assert said["health_alarms_raised"] == len(raised) >= 2
    health = capsys.readouterr().out.split("Health     ")[1].splitlines()[0]
    assert health.startswith(f"{len(raised)} alarms raised: S01 missing (over), S02 missing (over)")


def test_garbage_among_json_lines(plant, tmp_path, capsys):
    rows = [json.dumps(row) for row in pl.read_csv(plant.test).head(50).iter_rows(named=True)]
    again = json.dumps({"time": json.loads(rows[19])["time"], "S01": {}, "S02": [1]})
    rows[20:20] = ["{", "[1, 2]", "nonsense", "{}", again]
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join(rows))
    assert watch(plant, source, "--json") == 0
    said = events(capsys.readouterr().out)[-1]
    assert said["problems"]["bad_lines"] == 3
    assert said["problems"]["bad_times"] == 1
    assert said["ticks"] == 50


def test_what_is_missing_is_said_once_and_watched_without(plant, tmp_path, capsys):
    source = tmp_path / "less.csv"
    pl.read_csv(plant.test).drop("S05").with_columns(new=1.0).write_csv(source)
    assert watch(plant, source, "--alarms", tmp_path / "a.jsonl") == 0
    shown = capsys.readouterr()
    assert "1 of the 5 signals is not in less.csv: S05" in sentence(shown)
    assert "Health     1 alarm raised: S05 missing\n" in shown.out  # it still is
    raised = events((tmp_path / "a.jsonl").read_text())
    assert {one["signals"].popitem()[0] for one in raised if one["kind"] == "health"} == {"S05"}


def test_silence_has_words_in_the_summary():
    counts = SimpleNamespace(
        health={STREAM: dict.fromkeys(["silent", "rate_wrong"]), "A, b": {"stale": None}},
        unwell={STREAM: "rate_wrong"},
    )
    assert unwell_words(counts) == [
        "no rows come (over) and rows come at another rate",
        "'A, b' stale (over)",
    ]


@pytest.mark.parametrize("key", ["model", "source"])
def test_files_that_a_configuration_names_must_be_there(plant, key, tmp_path, capsys):
    lines = {"model": plant.model, "source": plant.test, key: "line1.any"}
    config = tmp_path / "plant.toml"
    config.write_text("".join(f'{name} = "{path}"\n' for name, path in lines.items()))
    line = 1 + list(lines).index(key)
    for more in ([], ["--check"]):
        assert main(["watch", "--config", str(config), *more]) == 2
        assert sentence(capsys.readouterr()) == (
            f'causewatch: plant.toml, line {line}: {key} is "line1.any", but there is no file'
            f" {str(tmp_path / 'line1.any')!r}; paths are relative to this configuration."
        )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no line"),
        (b"\n\n", "holds no line"),
        (b"time,a,b\n2026-01-01T00:00:00,1,2\n2026-01-01T00:00:01,1,2\n", "none of the model's"),
        (bytes(range(256)) * 20, "holds no line"),
        (b"PK\x03\x04" + b"x" * 100, "is an archive"),
    ],
)
def test_files_that_are_refused(plant, content, words, tmp_path, capsys):
    source = tmp_path / "source.csv"
    source.write_bytes(content)
    assert watch(plant, source, "--alarms", tmp_path / "a.jsonl") == 2
    shown = capsys.readouterr()
    assert words in sentence(shown)
    assert shown.out == ""
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"x" * 6_000_000, b"\0" * 100])
def test_streams_that_are_refused(plant, content, monkeypatch, capsys):
    feed_stdin(monkeypatch, content)
    assert watch(plant, "-") == 2
    assert "no line that could be read" in sentence(capsys.readouterr())


def test_a_header_alone_is_a_short_watch_that_judged_nothing(plant, tmp_path, capsys):
    source = tmp_path / "source.csv"
    source.write_text(plant.lines[0])
    assert watch(plant, source, "--alarms", tmp_path / "a.jsonl") == 1
    shown = capsys.readouterr()
    assert "source.csv: 0 rows" in shown.out
    assert "there was no row" in sentence(shown)
    source.write_text("".join(plant.lines[:2]))
    assert watch(plant, source, "--alarms", tmp_path / "b.jsonl") == 1
    shown = capsys.readouterr()
    assert "source.csv: 1 row" in shown.out
    assert "None of 1 row could be judged" in sentence(shown)


def test_late_rows_are_rows_and_count_once(plant, tmp_path, capsys):
    """Two of three rows are judged, so the watch has not judged too little."""
    header, *lines = plant.lines[:401]
    late = [line for pair in zip(lines[100:300:2], lines[0:200:2], strict=True) for line in pair]
    source = tmp_path / "late.csv"
    source.write_text("".join([header, *lines[:100], *late, *lines[300:]]))
    assert watch(plant, source, "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["dropped_rows"] > 90


def test_what_is_refused(plant, tmp_path, capsys):
    there = tmp_path / "there.jsonl"
    there.write_text("precious")
    (tmp_path / "empty").mkdir()
    copy = tmp_path / "copy.csv"
    shutil.copy(plant.test, copy)
    for arguments, words in [
        ((plant.test, "--alarms", there), "exists already; use --force"),
        ((copy, "--alarms", copy, "--force"), "is read by this watch"),
        ((plant.test, "--alarms", tmp_path), "is a folder"),
        ((plant.test, "--alarms", tmp_path / "no" / "a.jsonl"), "There is no folder"),
        ((plant.test, "--scores", tmp_path / "s.txt"), "must end in .csv or .parquet"),
        ((plant.test, "--scores", tmp_path / "s.parquet", "--state", tmp_path / "st"), "use .csv"),
        ((plant.test, "--per-signal"), "name that file, too"),
        (("-", "--follow"), "Standard input is followed anyway"),
        ((tmp_path / "nowhere.csv",), "There is no file"),
        ((tmp_path / "empty",), "there is none with rows in it"),
        ((plant.test, "--ignore", "Nothing"), "There is no column 'Nothing'"),
        ((plant.test, "--time", "Nothing"), "There is no column 'Nothing'"),
        ((plant.test, "--state", there), "is a file; name a folder"),
        ((plant.model,), "is an archive"),
    ]:
        assert watch(plant, *arguments) == 2
        assert words in sentence(capsys.readouterr())
    assert there.read_text() == "precious"
    assert copy.read_bytes() == plant.test.read_bytes()
    assert main(["watch", str(plant.test), str(plant.test)]) == 2
    assert "not a causewatch model file" in sentence(capsys.readouterr())


def test_the_alarms_of_a_state_that_was_lost_are_not_overwritten(plant, tmp_path, capsys):
    """They may be the only copy: what is said first is how to keep them."""
    alarms, scores, state = tmp_path / "a.jsonl", tmp_path / "s.csv", tmp_path / "state"
    files = ["--alarms", alarms, "--scores", scores, "--state", state]
    assert watch(plant, plant.test, *files) == 0
    before = alarms.read_bytes()
    shutil.rmtree(state)
    capsys.readouterr()
    assert watch(plant, plant.test, *files) == 2
    said = sentence(capsys.readouterr())
    assert f"{str(alarms)!r} exists already, and the state in {str(state)!r} knows nothing" in said
    assert "lost, or is another one. Name another file to keep this one; --force over" in said
    assert alarms.read_bytes() == before


def test_a_page_per_alarm_and_one_that_lists_them(plant, tmp_path, capsys):
    folder, alarms = tmp_path / "reports", tmp_path / "a.jsonl"
    source = tmp_path / "short.csv"
    source.write_text("".join(plant.lines[:230]))  # the alarm is still on at the end
    assert watch(plant, source, "--report", folder, "--alarms", alarms) == 0
    last = {one["id"]: one for one in events(alarms.read_text())}
    assert {path.name for path in folder.iterdir()} == {f"{id}.html" for id in last} | {INDEX}
    headline = events(alarms.read_text())[-1]["headline"]
    pages = [path.read_text() for path in folder.iterdir()]
    assert any(headline.split(";")[0][:20] in page for page in pages)
    assert all(f'<a href="{INDEX}">all alarms</a>' in page for page in pages if "<dt>" in page)
    _check_index(folder, last)


def _check_index(folder, last):
    """Whether the index has a line for each alarm of the history, the latest first."""
    text = (folder / INDEX).read_text()
    listed = re.findall(r'<td class="when">(.*?)</td><td><a href="(.*?).html">(.*?)</a>', text)
    told = {id: (time.replace(" ", "T"), html.unescape(what)) for time, id, what in listed}
    assert told == {id: (one["raised_at"], one["headline"]) for id, one in last.items()}
    assert [time for time, *_ in listed] == sorted((time for time, *_ in listed), reverse=True)
    assert text.count("not yet") == sum(one["cleared_at"] is None for one in last.values())


def test_pages_that_a_kill_kept_from_being_written_are_made_up_for(plant, tmp_path, capsys):
    folder, state = tmp_path / "reports", tmp_path / "state"
    options = ("--report", folder, "--state", state)
    assert watch(plant, plant.test, *options) == 0
    last = {one["id"]: one for one in events(history(state).decode())}
    assert len(last) >= 2
    _check_index(folder, last)
    before = {path.name: path.read_text() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    assert watch(plant, plant.test, *options) == 0
    assert {path.name for path in folder.iterdir()} == set(before)
    assert (folder / INDEX).read_text() == before[INDEX]
    for id, one in last.items():
        page = html.unescape((folder / f"{id}.html").read_text())
        for words in (one["headline"], "from the history alone", one["raised_at"][11:]):
            assert words in page
    # What is there is left as it is.
    (folder / f"{id}.html").write_text(before[f"{id}.html"])
    assert watch(plant, plant.test, *options) == 0
    assert (folder / f"{id}.html").read_text() == before[f"{id}.html"]


def test_an_index_of_somebody_else_is_left_alone(plant, tmp_path, capsys):
    index = tmp_path / INDEX
    index.write_text("<h1>My pages</h1>")
    assert watch(plant, plant.test, "--report", tmp_path) == 2
    assert "lists no alarms; use --force" in sentence(capsys.readouterr())
    assert index.read_text() == "<h1>My pages</h1>"
    assert watch(plant, plant.test, "--report", tmp_path, "--force") == 0
    assert "<h1>Alarms of faulty.csv</h1>" in index.read_text()
    assert watch(plant, plant.test, "--report", tmp_path) == 0


def test_recordings_without_times_are_told_in_rows(plant, tmp_path, capsys):
    """Nobody has measured how long a row lasts."""
    for name in ("normal.csv", "faulty.csv"):
        pl.read_csv(plant.test.with_name(name)).select(SIGNALS).write_csv(tmp_path / name)
    normal, test, model = (str(tmp_path / name) for name in ("normal.csv", "faulty.csv", "m.cwm"))
    pages = tmp_path / "pages"
    for command in (
        ["learn", normal, "--out", model],
        ["inspect", model, "--notes"],
        ["inspect", model, "--signal", "S02"],
        ["watch", model, test, "--report", str(pages)],
        ["explain", model, test, "--from", "row 190", "--to", "row 600"],
    ):
        assert main(command) == 0
    texts = [capsys.readouterr().out]
    for path in pages.iterdir():
        text = re.sub(r"<style>.*?</style>", "", path.read_text(), flags=re.DOTALL)
        texts.append(re.sub(r"<[^>]+>", " ", text))
    assert len(texts) > 2
    words = "\n".join(texts)
    assert re.findall(r".*\d (?:ms|s|min|h|d|seconds)\b.*", words) == []
    assert "seconds from the alarm" not in words
    for part in (
        "3,000 rows, row 0 to row 2999",
        "each of 1 row;",
        "1 row ",
        "rows from the alarm",
    ):
        assert part in words


# State


def test_a_watch_goes_on_where_it_stopped(plant, whole, tmp_path, capsys):
    source, state = tmp_path / "log.csv", tmp_path / "state"
    files = ["--alarms", tmp_path / "a.jsonl", "--scores", tmp_path / "s.csv", "--state", state]
    for stop in (1, 30, 221, 222, 470, ROWS + 1, ROWS + 1):
        source.write_text("".join(plant.lines[:stop]))
        assert watch(plant, source, *files) == 0
    assert "0 rows after the first 700" in capsys.readouterr().out
    assert (tmp_path / "a.jsonl").read_bytes() == whole[0]
    assert history(state) == whole[0]
    # The last tick stays open until a later row closes it, if there is more than one row in it.
    assert (tmp_path / "s.csv").read_bytes() == whole[1]


def test_what_was_written_after_the_last_save_is_found_again(plant, whole, tmp_path, capsys):
    """As after a kill: the files are ahead of the state."""
    source, state = tmp_path / "log.csv", tmp_path / "state"
    files = ["--alarms", tmp_path / "a.jsonl", "--scores", tmp_path / "s.csv", "--state", state]
    source.write_text("".join(plant.lines[:215]))
    assert watch(plant, source, *files) == 0
    early = {name: (state / name).read_bytes() for name in ("watch.db", "saves")}
    source.write_text("".join(plant.lines))
    assert watch(plant, source, *files) == 0
    for name, content in early.items():
        (state / name).write_bytes(content)
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write('{"id": "cut sho')
    assert watch(plant, source, *files) == 0
    assert (tmp_path / "a.jsonl").read_bytes() == whole[0]
    assert (tmp_path / "s.csv").read_bytes() == whole[1]
    assert history(state) == whole[0]


def test_another_file_is_watched_from_its_beginning(plant, whole, tmp_path, capsys):
    state = tmp_path / "state"
    monday, tuesday = tmp_path / "monday.csv", tmp_path / "tuesday.csv"
    monday.write_text("".join(plant.lines[:300]))
    tuesday.write_text(plant.lines[0] + "".join(plant.lines[300:]))
    files = ["--alarms", tmp_path / "a.jsonl", "--state", state]
    assert watch(plant, monday, *files) == 0
    assert watch(plant, tuesday, *files) == 0
    assert (tmp_path / "a.jsonl").read_bytes() == whole[0]
    capsys.readouterr()
    tuesday.write_text("".join(plant.lines[:1] + plant.lines[400:450]))  # same name, other content
    assert watch(plant, tuesday, *files) == 0
    assert "tuesday.csv: 50 rows\n" in capsys.readouterr().out


def test_recordings_without_times_have_alarms_of_their_own(plant, tmp_path):
    """Each counts its rows from 0, so the same fault is at the same time in each."""
    model, state = tmp_path / "rows.cwm", tmp_path / "state"
    normal, monday, tuesday = (tmp_path / f"{name}.csv" for name in ("normal", "mon", "tue"))
    pl.read_csv(plant.test.with_name("normal.csv")).select(SIGNALS).write_csv(normal)
    pl.read_csv(plant.test).select(SIGNALS).write_csv(monday)
    pl.read_csv(plant.test).select(SIGNALS[::-1]).write_csv(tuesday)  # else it is the same file
    assert main(["learn", str(normal), "--out", str(model)]) == 0
    ids = []
    for file in (monday, tuesday):
        assert main(["watch", str(model), str(file), "--state", str(state)]) == 0
        told = events(history(state).decode())
        ids.append({one["id"]: one["raised_at"] for one in told if one["event"] == "raised"})
    first, both = ids
    later = {id: time for id, time in both.items() if id not in first}
    assert set(first.values()) & set(later.values())
    assert [one["event"] for one in told].count("raised") == len(both)


@pytest.mark.parametrize("kind", ["json", "gzip", "utf16"])
def test_every_kind_of_text_is_gone_on_with(plant, whole, kind, tmp_path, capsys):
    """Also where bytes of the file are not bytes of the text."""
    source, alarms, state = tmp_path / "log", tmp_path / "a.jsonl", tmp_path / "state"
    rows = [json.dumps(row) + "\n" for row in pl.read_csv(plant.test).iter_rows(named=True)]
    for stop in (221, ROWS + 1, ROWS + 1):
        text = "".join(rows[: stop - 1] if kind == "json" else plant.lines[:stop])
        if kind == "gzip":  # as the system's own program does: bytes at the beginning stay
            source.write_bytes(gzip.compress("".join(plant.lines[:221]).encode(), mtime=0))
            if stop > 221:
                with source.open("ab") as file:
                    file.write(gzip.compress("".join(plant.lines[221:]).encode(), mtime=0))
        else:
            source.write_bytes(text.encode("utf-16" if kind == "utf16" else "utf-8"))
        assert watch(plant, source, "--state", state, "--alarms", alarms) == 0
    assert f"0 rows after the first {ROWS}" in capsys.readouterr().out
    assert alarms.read_bytes() == whole[0]


def test_a_table_goes_on_after_its_last_row(plant, tmp_path, capsys):
    source, state = tmp_path / "log.parquet", tmp_path / "state"
    table = pl.read_csv(plant.test, try_parse_dates=True)
    table[:400].write_parquet(source)
    assert watch(plant, source, "--state", state) == 0
    table.write_parquet(source)
    capsys.readouterr()
    assert watch(plant, source, "--state", state, "--json") == 0
    assert events(capsys.readouterr().out)[-1]["rows"] == 300
    table[500:].write_parquet(source)  # another one under the same name
    assert watch(plant, source, "--state", state, "--json") == 0
    assert events(capsys.readouterr().out)[-1]["rows"] == 200


def test_the_first_rows_of_a_growing_file_are_not_lost(plant, tmp_path):
    """A watch may be stopped while it waits to know the columns, and before."""
    path = tmp_path / "log.csv"
    taken, after = [], {}
    for stop in (1, 2, 3, 4, 8):
        path.write_text("".join(plant.lines[:stop]))
        source = open_file_source(str(path), Wanted(tuple(SIGNALS), 1.0), follow=stop != 2)
        source.open(after)
        for _ in range(2):
            taken += source.poll(0.0).times.tolist()
        after = source.position()
        source.close()
        assert source.clock in ("naive", None, "elapsed")
    assert len(taken) == 7


def test_a_state_of_another_model_or_a_damaged_one(plant, tmp_path, capsys):
    state, other = tmp_path / "state", tmp_path / "other.cwm"
    assert watch(plant, plant.test, "--state", state) == 0
    normal = str(plant.test.with_name("normal.csv"))
    assert main(["learn", normal, "--out", str(other), "--max-lag", "2"]) == 0
    capsys.readouterr()
    assert main(["watch", str(other), str(plant.test), "--state", str(state)]) == 2
    assert "belongs to another model" in sentence(capsys.readouterr())
    whole = (state / "watch.db").read_bytes()
    (state / "watch.db").write_bytes(b"no database" * 1000)
    assert watch(plant, plant.test, "--state", state) == 2
    assert "watch.db" in sentence(capsys.readouterr())
    assert (state / "watch.db").read_bytes() == b"no database" * 1000
    (state / "watch.db").write_bytes(whole)
    store = SqliteStore(state, "watch")
    saved = store.load()
    del saved.monitor["health"]
    store.save(saved, [])
    store.close()
    assert watch(plant, plant.test, "--state", state) == 2
    assert "start with an empty --state" in sentence(capsys.readouterr())


@pytest.mark.parametrize(
    "change",
    ["delete from watches", "update watches set last_event = 0", "drop table alarms"],
)
def test_a_state_that_contradicts_itself_ends_the_watch(plant, change, tmp_path, capsys):
    """No waiting mends it."""
    state, source = tmp_path / "state", tmp_path / "log.csv"
    source.write_text("".join(plant.lines[:230]))
    assert watch(plant, source, "--state", state) == 0
    with closing(sqlite3.connect(state / "watch.db")) as connection:
        connection.execute(change)
        connection.commit()
    source.write_text("".join(plant.lines))
    capsys.readouterr()
    assert watch(plant, source, "--state", state) == 2
    *before, said = capsys.readouterr().err.splitlines()
    assert "'watch.db' in" in said
    # That saves are missing is told first, where nothing is left that knows of them.
    assert ["is not whole" in line for line in before] == [True] * (change == "delete from watches")


def test_what_does_not_come_again_is_not_taken_back(plant, tmp_path, monkeypatch, capsys):
    state, alarms = tmp_path / "state", tmp_path / "a.jsonl"
    scores = tmp_path / "s.csv"
    files = ["--alarms", alarms, "--scores", scores, "--state", state]
    feed_stdin(monkeypatch, "".join(plant.lines[:215]).encode())
    assert watch(plant, "-", *files) == 0
    early = (state / "watch.db").read_bytes()
    feed_stdin(monkeypatch, "".join([plant.lines[0], *plant.lines[215:400]]).encode())
    assert watch(plant, "-", *files) == 0
    (state / "watch.db").write_bytes(early)  # as after a kill
    written = scores.read_bytes()
    feed_stdin(monkeypatch, "".join([plant.lines[0], *plant.lines[400:420]]).encode())
    assert watch(plant, "-", *files) == 0
    assert scores.read_bytes().startswith(written)


def test_a_file_that_became_shorter_is_added_to(plant, tmp_path, capsys):
    source, state, scores = tmp_path / "log.csv", tmp_path / "state", tmp_path / "s.csv"
    source.write_text("".join(plant.lines[:100]))
    assert watch(plant, source, "--state", state, "--scores", scores) == 0
    short = "".join(scores.read_text().splitlines(keepends=True)[:50])
    scores.write_text(short)
    source.write_text("".join(plant.lines[:110]))
    assert watch(plant, source, "--state", state, "--scores", scores) == 0
    text = scores.read_text()
    assert text.startswith(short)
    assert len(text.splitlines()) == 60
    capsys.readouterr()
    assert watch(plant, source, "--state", state, "--scores", scores, "--per-signal") == 2
    assert "begun with other columns" in sentence(capsys.readouterr())
    assert scores.read_text() == text


@pytest.mark.parametrize("kind", ["same header", "other order", "no header"])
def test_a_followed_file_is_replaced(kind, plant, tmp_path):
    path, other = tmp_path / "log.csv", tmp_path / "new.csv"
    path.write_text("".join(plant.lines[:10]))
    rows = [line.strip().split(",") for line in (plant.lines[0], *plant.lines[10:20])]
    if kind == "other order":
        rows = [[row[0], *row[:0:-1]] for row in rows]
    if kind == "no header":
        rows = rows[1:]
    other.write_text("".join(",".join(row) + "\n" for row in rows))
    source = open_file_source(str(path), Wanted(tuple(SIGNALS), 1.0), follow=True)
    source.open({})
    found = []
    for k in range(60):
        found += source.poll(0.01).values.tolist()
        if k == 4:
            path.unlink()
            source.position()  # there is no file at present
        if k == 8:
            other.replace(path)
        if len(found) == 19:
            break
    after = source.position()
    source.close()
    expected = pl.read_csv(plant.test).select(SIGNALS).rows()[:19]
    assert [tuple(row) for row in found] == expected
    assert source.problems == {}
    again = open_file_source(str(path), Wanted(tuple(SIGNALS), 1.0), follow=True)
    again.open(after)
    assert sum(len(again.poll(0.01)) for _ in range(10)) == 0
    again.close()
