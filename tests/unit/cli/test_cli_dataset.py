"""``causewatch dataset``: what it lists, says, writes and refuses."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer
import typer.main

from causewatch.cli import dataset as command
from causewatch.data import read_table
from causewatch.data.datasets import DATASETS, Dataset, Event, Recording
from causewatch.data.table import Clock, Note, TimeTable
from causewatch.errors import SettingError, UnknownNameError

SECOND = 1_000_000_000
START = 1_451_296_800 * SECOND  # 2015-12-28T10:00:00


def run(*arguments: str | Path) -> None:
    """The command by itself, as the program calls it."""
    app = typer.Typer()
    app.callback()(lambda: None)
    command.register(app)
    group: Any = typer.main.get_command(app)
    with group.make_context("causewatch", ["dataset", *map(str, arguments)]) as context:
        group.invoke(context)


def series(folder: Path, number: int = 1, first: int = 30) -> Path:
    """A small series of TSB-AD: the smallest dataset there is."""
    path = folder / f"00{number}_NAB_id_{number}_Facility_tr_20_1st_{first}.csv"
    rows = [f"{0.1 * row:.1f},{int(first <= row < first + 5)}" for row in range(60)]
    path.write_text("\n".join(["Data,Label", *rows]) + "\n")
    return path


def recording(
    name: str, clock: Clock = "naive", labels: list[float] | None = None, events: int = 1
) -> Recording:
    values = np.array([[1.0, 0.25], [2.0, np.nan], [3.0, 1e300], [4.0, -1.5]])
    begin = START if clock in ("naive", "utc") else 0
    table = TimeTable(
        signals=("valve", "flow"),
        values=values,
        time=begin + np.arange(4, dtype=np.int64) * SECOND,
        starts=np.zeros(1, dtype=np.intp),
        interval=1.0,
        clock=clock,
        labels=None if labels is None else np.array(labels),
        notes=(Note("gaps", 1, "A gap."),),
    )
    found = [Event(f"e{n}", begin + SECOND, begin + 3 * SECOND, ("flow",)) for n in range(events)]
    return Recording(name, table, tuple(found), "kind")


def stand_in(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> None:
    made = Dataset("swat", "A version.", **{"normal": (recording("n", events=0),), **parts})
    monkeypatch.setattr("causewatch.data.datasets.load_dataset", lambda name, *paths: made)


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    run()
    text = capsys.readouterr().out
    for entry in DATASETS.values():
        assert f"{entry.name}: {entry.title}\n  {entry.about}\n  From: {entry.origin}\n" in text
    run("--json")
    found = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in found] == list(DATASETS)
    assert set(found[0]) == {"name", "title", "about", "origin", "files"}


def test_describe_one(capsys: pytest.CaptureFixture[str]) -> None:
    run("wadi")
    text = capsys.readouterr().out
    assert text.startswith("wadi: WADI\n")
    assert "swat" not in text.split("From:")[0]


def test_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("tsb-ad", series(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    name = "001_NAB_id_1_Facility_tr_20_1st_30"
    assert lines == [
        "TSB-AD-U by their names: 1 series (NAB 1).",
        "To learn from:",
        f"  {name}-train: 20 rows, 1 signal, row 0 to row 19",
        "To watch:",
        f"  {name}: 60 rows, 1 signal, row 0 to row 59, 1 event",
    ]


def test_written_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "folder"
    run("tsb-ad", series(tmp_path), "--out", out, "--json")
    found = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in out.iterdir()) == ["causes.json", "normal.csv", "test.csv"]
    assert found["files"] == [str(out / n) for n in ("normal.csv", "test.csv", "causes.json")]
    test = pl.read_csv(out / "test.csv")
    assert test.columns == ["Data", "label"]
    assert test["label"].to_list() == [0] * 30 + [1] * 5 + [0] * 25
    assert pl.read_csv(out / "normal.csv").columns == ["Data"]
    causes = json.loads((out / "causes.json").read_text(encoding="utf-8"))
    assert causes == [{"name": "run 1", "start": 30, "end": 35, "signals": [], "description": ""}]
    assert found["causes"] == causes
    assert found["test"][0]["anomalous_rows"] == 5
    assert len(found["test"][0]["sources"][0]["sha256"]) == 64


def test_several_recordings(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("tsb-ad", series(tmp_path, 1), series(tmp_path, 2, first=40), "--out", out)
    tests = [f"00{n}_NAB_id_{n}_Facility_tr_20_1st_{f}.csv" for n, f in ((1, 30), (2, 40))]
    assert sorted(path.name for path in out.iterdir()) == [
        *tests, "causes.json", "normal-1.csv", "normal-2.csv",
    ]  # fmt: skip
    causes = json.loads((out / "causes.json").read_text(encoding="utf-8"))
    assert [cause["file"] for cause in causes] == tests


def test_times_numbers_and_missing_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, test=(recording("t", labels=[0, 1, 1, float("nan")]),))
    run("swat", "x", "--out", tmp_path)
    assert (tmp_path / "test.csv").read_text() == (
        "time,valve,flow,label\n"
        "2015-12-28T10:00:00,1,0.25,0\n"
        "2015-12-28T10:00:01,2,,1\n"
        "2015-12-28T10:00:02,3,1e+300,1\n"
        "2015-12-28T10:00:03,4,-1.5,\n"
    )
    assert (tmp_path / "normal.csv").read_text().startswith("time,valve,flow\n")
    [cause] = json.loads((tmp_path / "causes.json").read_text(encoding="utf-8"))
    assert (cause["start"], cause["end"]) == ("2015-12-28T10:00:01", "2015-12-28T10:00:03")


@pytest.mark.parametrize("clock", ["naive", "utc", "elapsed", "rows"])
def test_files_read_back_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    given = recording("t", clock)  # no labels: they follow from the events
    stand_in(monkeypatch, test=(given,))
    run("swat", "x", "--out", tmp_path)
    back = read_table(tmp_path / "test.csv", labels="label")
    assert (back.clock, back.signals) == (clock, given.table.signals)
    np.testing.assert_array_equal(back.time, given.table.time)
    kept = np.where(np.abs(given.table.values) > 1e100, np.nan, given.table.values)
    np.testing.assert_array_equal(back.values, kept)
    assert back.labels is not None
    assert back.labels.tolist() == [0, 1, 1, 0]


def test_fractions_of_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = recording("t", "utc")
    table = given.table
    shifted = Recording("t", TimeTable(**{**_fields(table), "time": table.time + 250_000_000}))
    stand_in(monkeypatch, test=(shifted,))
    run("swat", "x", "--out", tmp_path)
    back = read_table(tmp_path / "test.csv", labels="label")
    np.testing.assert_array_equal(back.time, table.time + 250_000_000)


def test_nanoseconds_and_holes_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # An hour without rows in a night when clocks are set: it must stay a hole.
    autumn = np.datetime64("2016-10-30T01:24", "ns").astype(np.int64) + 163
    time = autumn + 60 * SECOND * np.array([*range(10), *range(70, 80)])
    labels = np.array([0.0, 1.0] * 10)
    table = TimeTable(
        signals=("flow",),
        values=np.arange(20.0).reshape(20, 1),
        time=time,
        starts=np.array([0, 10]),
        interval=60.0,
        clock="naive",
        labels=labels,
    )
    stand_in(monkeypatch, test=(Recording("a", table),))
    run("swat", "x", "--out", tmp_path)
    back = read_table(tmp_path / "test.csv", labels="label")
    np.testing.assert_array_equal(back.time, time)
    np.testing.assert_array_equal(back.values, table.values)
    np.testing.assert_array_equal(back.labels, labels)
    assert back.starts.tolist() == [0, 10]


def _fields(table: TimeTable) -> dict[str, Any]:
    return {name: getattr(table, name) for name in TimeTable.__dataclass_fields__}


def test_names_become_file_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("valve1/0", "valve1 0", "../normal", "normal", "ä b")
    stand_in(monkeypatch, test=tuple(recording(name) for name in names))
    run("swat", "x", "--out", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "causes.json", "normal-2.csv", "normal-3.csv", "normal.csv", "valve1-0-2.csv",
        "valve1-0.csv", "ä-b.csv",
    ]  # fmt: skip


def test_notes_of_one_kind_are_shown_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, test=(recording("t"),), notes=(Note("x", 1, "Odd."),))
    run("swat", "x")
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["Note: Odd.", "Note: A gap. (1 more of this kind)"]


def test_refuses_to_overwrite(tmp_path: Path) -> None:
    path, out = series(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "causes.json").write_text("mine")
    with pytest.raises(SettingError, match=r"causes\.json' exists already; use --force"):
        run("tsb-ad", path, "--out", out)
    assert [file.name for file in out.iterdir()] == ["causes.json"]
    run("tsb-ad", path, "--out", out, "--force")
    assert (out / "causes.json").read_text() != "mine"


def test_refuses_other_files_before_writing_any(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    second = series(tmp_path, 2)
    (out / second.name).write_text("mine")
    with pytest.raises(SettingError, match="exists already"):
        run("tsb-ad", series(tmp_path, 1), second, "--out", out)
    assert len(list(out.iterdir())) == 1


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'swat'"):
        run("swatt")
    with pytest.raises(SettingError, match="nothing to write to --out"):
        run("swat", "--out", tmp_path)


def test_swat_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from causewatch.data.datasets.swat import TAGS

    for name, begin, marks in (
        ("Normal_v1", datetime(2015, 12, 22, 16, 30), ["Normal"] * 30),
        ("Attack_v0", datetime(2015, 12, 28, 13, 10), ["Normal"] * 10 + ["Attack"] * 20),
    ):
        lines = [",".join([" Timestamp", *TAGS, "Normal/Attack"])]
        for row, mark in enumerate(marks):
            time = (begin + timedelta(seconds=row)).strftime(" %d/%m/%Y %I:%M:%S %p")
            lines.append(",".join([time, *[str(row % 7 + 0.5)] * 51, mark]))
        (tmp_path / f"SWaT_Dataset_{name}.csv").write_text("\n".join(lines) + "\n")
    run("swat", tmp_path, "--out", tmp_path / "out", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["stages"]["6"] == ["FIT601", "P601", "P602", "P603"]
    assert found["causes"] == [
        {
            "name": "8",
            "start": "2015-12-28T13:10:10",
            "end": "2015-12-28T13:26:14",
            "signals": ["DPIT301"],
            "description": "pressure difference set too high",
        }
    ]
    test = pl.read_csv(tmp_path / "out" / "test.csv")
    assert test.columns == ["time", *TAGS, "label"]
    assert test["label"].to_list() == [0] * 10 + [1] * 20


@pytest.mark.parametrize("inside", [False, True], ids=["file", "folder"])
def test_a_dataset_is_never_written_over_itself(
    inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, test=())
    own = tmp_path / "normal.csv"
    own.write_text("somebody's own")
    with pytest.raises(SettingError, match="lies where the dataset itself is read from"):
        run("swat", tmp_path if inside else own, "--out", tmp_path, "--force")
    assert own.read_text() == "somebody's own"
    assert [path.name for path in tmp_path.iterdir()] == ["normal.csv"]
