"""Cranfield: windows of faults from the list beside the files, and the rows before them."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from causewatch.data.datasets import cranfield
from causewatch.errors import TableError

SECOND = 1_000_000_000
CAUSES = [
    {"name": "5: slugging", "start": 150, "end": 200, "signals": [], "file": "case5_1.parquet"},
    {"name": "5: slugging", "start": 60, "end": 90, "signals": [], "file": "case5_1.parquet"},
    {
        "name": "1: air line blockage",
        "start": 100,
        "end": 300,
        "signals": ["VC302 valve position"],
        "file": "case1_1.parquet",
        "evolution": [40.0, 30.0],
    },
]


def write(path, rows, **more):
    values = np.random.default_rng(rows).normal(1, 0.1, size=(rows, 24))
    columns = {"t": np.arange(rows)}
    columns |= {name: values[:, place] for place, name in enumerate(cranfield.SIGNALS)}
    pl.DataFrame({**columns, **more}).write_parquet(path)  # more may be other times, t


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "case1_1.parquet", 300)
    write(tmp_path / "case5_1.parquet", 250)
    (tmp_path / "causes.json").write_text(json.dumps(CAUSES))
    return tmp_path


def test_windows_of_faults_are_events(folder):
    dataset = cranfield.load([folder])
    first, fifth = dataset.test
    assert first.table.clock == "elapsed"
    assert first.table.signals == cranfield.SIGNALS
    (event,) = first.events
    assert (event.start, event.end) == (100 * SECOND, 300 * SECOND)
    assert event.signals == ("VC302 valve position",)
    assert [event.start // SECOND for event in fifth.events] == [60, 150]
    assert fifth.events[0].signals == ()
    for recording in dataset.test:
        rows = [row for cause in recording.causes for row in range(cause["start"], cause["end"])]
        assert np.flatnonzero(recording.table.labels).tolist() == rows
    assert first.category == "1: air line blockage"
    assert "a part of it: 2 recordings with 3 windows" in dataset.version
    notes = {note.kind: note.text for note in dataset.notes}
    assert "a new operating point is no anomaly" in notes["operating_points"]
    assert notes["no_causes"] == "Faults of which no tag is known: 5: slugging."


def test_one_recording_with_one_window_is_told_as_one(folder):
    (folder / "case5_1.parquet").unlink()
    assert "1 recording with 1 window of" in cranfield.load([folder]).version


def test_what_comes_before_the_first_fault_is_to_learn_from(folder):
    normal = cranfield.load([folder]).normal
    assert [recording.name for recording in normal] == [
        "case1_1 before the first fault",
        "case5_1 before the first fault",
    ]
    assert [len(recording.table) for recording in normal] == [100, 60]
    assert not any(recording.table.labels.any() for recording in normal)


def entry(**parts):
    return json.dumps([{**CAUSES[2], **parts}, *CAUSES[:2]])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "causes.json").unlink(), "No causes.json beside the recordings of Cranf"),
        (lambda f: (f / "causes.json").write_text(json.dumps(CAUSES[:2])), "wrong in case1_1.par"),
        (
            lambda f: (f / "causes.json").write_text(entry(end=301)),
            "an event of case1_1.parquet from 100 to 301",
        ),
        (
            lambda f: (f / "causes.json").write_text(entry(start="now")),
            "an event of case1_1.parquet from 'now' to 300",
        ),
        (
            lambda f: (f / "causes.json").write_text(entry(signals=["PT1"])),
            "names PT1 of case1_1.parquet, which",
        ),
        (
            lambda f: write(f / "case1_1.parquet", 400, t=np.tile(np.arange(200), 2)),
            "The times of 'case1_1.parquet' go back after row 199",
        ),
        (lambda f: [p.unlink() for p in f.glob("case*")], "No table was found"),
        (
            lambda f: pl.DataFrame({"t": [0, 1], "a": [1, 2]}).write_parquet(f / "case1_1.parquet"),
            "case1_1.parquet is not a file of Cranfield: it lacks the columns PT312",
        ),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder)
    with pytest.raises(TableError, match=words) as caught:
        cranfield.load([folder])
    assert "\n" not in str(caught.value)


def test_other_tables_are_no_recordings(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="No recording of Cranfield was found"):
        cranfield.load([tmp_path])


@pytest.mark.data
def test_the_published_files(data_folder):
    dataset = cranfield.load([data_folder / "cranfield"])
    assert "complete: 6 recordings with 7 windows" in dataset.version
    assert [len(recording.table) for recording in dataset.normal] == [
        1565,
        2399,
        1135,
        953,
        684,
        1722,
    ]
    located = {
        event.name[0] for recording in dataset.test for event in recording.events if event.signals
    }
    assert located == set("1236")
