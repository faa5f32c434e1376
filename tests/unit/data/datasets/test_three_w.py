"""3W: recordings sorted by their labels, sensors that are dead, rows that are not labelled."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from causewatch.data import format_time
from causewatch.data.datasets import three_w
from causewatch.errors import TableError

START = datetime(2017, 2, 1, 2, 2, 7)
NAN = float("nan")


def write(path, kinds, dead=(), constant=(), **more):
    """A recording as published; `kinds` gives class and number of rows, one run after the other."""
    classes = [kind for kind, rows in kinds for _ in range(rows)]
    values = np.random.default_rng(len(classes)).normal(1e6, 1e3, size=(len(classes), 8))
    columns = {"timestamp": [START + timedelta(seconds=row) for row in range(len(classes))]}
    for place, signal in enumerate(three_w.SIGNALS):
        column = values[:, place].tolist()
        column = [None] * len(column) if signal in dead else column
        columns[signal] = [0.0] * len(column) if signal in constant else column
    columns["class"] = [None if np.isnan(kind) else float(kind) for kind in classes]
    columns |= {name: [value] * len(classes) for name, value in more.items()}
    schema = {"timestamp": pl.Datetime("us"), **dict.fromkeys(three_w.SIGNALS, pl.Float64)}
    schema = {name: kind for name, kind in schema.items() if name not in more}
    path.parent.mkdir(exist_ok=True)
    pl.DataFrame(columns, schema_overrides=schema).write_parquet(path)
    return path


CAUSES = [
    {
        "name": "2",
        "start": "2017-02-01 02:04:07",
        "end": "2017-02-01 02:05:47",
        "signals": ["P-PDG", "T-JUS-CKGL"],
        "file": "events/2_WELL-00003_20170201020207.parquet",
    }
]


def causes(folder, more=(), **parts):
    (folder / "causes.json").write_text(json.dumps([{**CAUSES[0], **parts}, *more]))


@pytest.fixture
def folder(tmp_path):
    normal, events = tmp_path / "normal", tmp_path / "events"
    lacks = ("T-JUS-CKGL", "QGL")
    write(normal / "WELL-00001_20170201020207.parquet", [(0, 300)], ["T-JUS-CKGL"], ["P-PDG"])
    write(normal / "WELL-00001_20170202020207.parquet", [(0, 200)], ["T-JUS-CKGL"])
    run = [(0, 100), (NAN, 20), (102, 60), (NAN, 10), (2, 30), (NAN, 5)]
    write(events / "2_WELL-00003_20170201020207.parquet", run, lacks, event=True, value=1.0)
    write(events / "WELL-00003_20170203020207.parquet", [(0, 50), (105, 50)], lacks)
    (tmp_path / "causes.json").write_text(json.dumps(CAUSES))
    return tmp_path


def test_recordings_are_sorted_by_what_their_rows_say(folder):
    dataset = three_w.load([folder])
    assert [recording.name for recording in dataset.normal] == [
        "WELL-00001_20170201020207",
        "WELL-00001_20170202020207",
    ]
    assert [recording.category for recording in dataset.test] == ["WELL-00003"] * 2
    signals = tuple(signal for signal in three_w.SIGNALS if signal != "T-JUS-CKGL")
    for recording in (*dataset.normal, *dataset.test):
        assert recording.table.signals == signals
    test = dataset.test[0]
    assert np.isnan(test.table.values[:, signals.index("QGL")]).all()
    (event,) = test.events
    assert event.name == "2: spurious closure of the downhole safety valve (DHSV)"
    assert format_time(event.start, "naive") == (START + timedelta(seconds=120)).isoformat()
    assert format_time(event.end, "naive") == (START + timedelta(seconds=220)).isoformat()
    assert event.signals == ("P-PDG",)  # the other has no value in any recording
    assert "not an official label" in event.description
    assert dataset.test[1].events[0].name == "5: rapid productivity loss"
    assert dataset.test[1].events[0].signals == ()


def test_rows_without_a_label_are_neither(folder):
    dataset = three_w.load([folder])
    labels = dataset.test[0].table.labels
    np.testing.assert_array_equal(
        np.isnan(labels), np.repeat([0, 1, 0, 1, 0, 1], [100, 20, 60, 10, 30, 5]) == 1
    )
    assert np.nansum(labels) == 90
    notes = {note.kind: note for note in dataset.notes}
    assert notes["not_labelled"].count == 35


def test_dead_sensors_are_named_by_well(folder):
    notes = three_w.load([folder]).notes
    first, second = (note for note in notes if note.kind == "dead_sensors")
    assert first.text == (
        "Dead sensors of WELL-00001: P-PDG (never changes in 1 of 2), T-JUS-CKGL (no value)."
    )
    assert second.text == "Dead sensors of WELL-00003: T-JUS-CKGL (no value), QGL (no value)."
    (left,) = (note for note in notes if note.kind == "left_out")
    assert left.count == 1


def test_without_a_list_of_causes_events_name_no_signals(folder):
    (folder / "causes.json").unlink()
    assert all(
        event.signals == ()
        for recording in three_w.load([folder]).test
        for event in recording.events
    )


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: [p.unlink() for p in f.glob("normal/*")], "No normal recording of 3W was found"),
        (lambda f: [p.unlink() for p in f.glob("events/*")], "No recording with an event of 3W"),
        (
            lambda f: pl.DataFrame({"a": [1, 2]}).write_parquet(
                f / "WELL-1_20170203020207.parquet"
            ),
            "is not a file of 3W: it lacks the columns timestamp, class",
        ),
        (
            lambda f: write(f / "normal" / "WELL-00001_20170209020207.parquet", [(NAN, 30)]),
            "No row of WELL-00001_20170209020207.parquet is labelled",
        ),
        (
            lambda f: write(f / "normal" / "WELL-00001_20170209020207.parquet", [(-999, 30)]),
            "No row of WELL-00001_20170209020207.parquet is labelled",
        ),
        (
            lambda f: write(f / "normal" / "WELL-00001_20170209020207.parquet", [(0, 30)], QGL="x"),
            "WELL-00001_20170209020207.parquet holds no numbers in QGL",
        ),
        (lambda f: (f / "causes.json").write_text("{"), "'causes.json' is not JSON"),
        (lambda f: causes(f, signals=["P-XYZ"]), "causes.json names P-XYZ of 2_WELL-00003_"),
        (lambda f: causes(f, signals=["QGL"], more=CAUSES), "2 different lists of signals for its"),
        (lambda f: causes(f, file="WELL-00001_20170202020207.parquet"), "no row of it is labelled"),
        (lambda f: causes(f, file=None), "not say of which of 4 recordings the event '2' is"),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder)
    with pytest.raises(TableError, match=words) as caught:
        three_w.load([folder])
    assert "\n" not in str(caught.value)


@pytest.mark.data
def test_the_published_files(data_folder):
    dataset = three_w.load([data_folder / "3w"])
    assert (len(dataset.normal), len(dataset.test)) == (132, 25)
    causes = json.loads((data_folder / "3w" / "causes.json").read_text())
    by_file = {cause["file"].split("/")[1].split(".")[0]: cause for cause in causes}
    for recording in dataset.test:
        cause, (event,) = by_file[recording.name], recording.events
        assert event.name == cause["name"]
        assert event.signals == tuple(cause["signals"])
        assert format_time(event.start, "naive") == cause["start"].replace(" ", "T")
        assert format_time(event.end, "naive") == cause["end"].replace(" ", "T")
    assert not any(recording.table.labels.any() for recording in dataset.normal)
