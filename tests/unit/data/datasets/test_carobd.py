"""carOBD: healthy trips, and times made from a counter of seconds."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer
import typer.main

from causewatch.cli import dataset as command
from causewatch.data import read_table
from causewatch.data.datasets import carobd
from causewatch.errors import TableError

PACE = 0.49


def write(path, counter, header=carobd.NEEDED):
    """A trip as published: a blank before every number, a comma at the end of every row."""
    lines = [",".join(header)]
    for row, seconds in enumerate(counter):
        cells = [seconds, 800 + row % 50, row % 30, 81, 8260 + row // 120, 255]
        lines.append(", ".join(f"{cell:f}" for cell in cells) + ",")
    path.write_text("\r\n".join(lines) + "\r\n")


def steady(rows):
    """A counter that stands still at first and then moves by one or two seconds."""
    return np.maximum(0, np.floor(PACE * np.arange(rows) / 2) * 2 - 4)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "drive2.csv", steady(400))
    write(tmp_path / "drive10.csv", steady(300))
    write(tmp_path / "long1.csv", steady(500))
    return tmp_path


def test_all_trips_are_to_learn_from_at_an_even_pace(folder):
    dataset = carobd.load([folder])
    assert dataset.test == ()
    assert [recording.name for recording in dataset.normal] == ["drive2", "drive10", "long1"]
    assert [recording.category for recording in dataset.normal] == ["drive", "drive", "long"]
    for recording in dataset.normal:
        assert recording.table.clock == "elapsed"
        assert recording.table.interval == pytest.approx(PACE, rel=0.02)
        assert carobd.COUNTER not in recording.table.signals
        assert recording.table.time[0] == 0
        steps = np.diff(recording.table.time) / 1e9
        np.testing.assert_allclose(steps, recording.table.interval, atol=1e-8)
    notes = {note.kind: note.count for note in dataset.notes}
    assert notes == {"made_times": 3, "counters": 2, "no_faults": 3}
    assert "3 trips (2 of kind drive, 1 of kind long)" in dataset.version


@pytest.mark.parametrize("how", ["falls", "pauses", "stands still"])
def test_a_counter_that_keeps_no_pace_is_no_time(tmp_path, how):
    counter = steady(400)
    if how == "falls":
        counter[200:] -= 50
    elif how == "pauses":
        counter[200:] += 60
    else:
        counter[:] = 7
    write(tmp_path / "drive1.csv", counter)
    dataset = carobd.load([tmp_path])
    assert dataset.normal[0].table.clock == "rows"
    assert "made_times" not in {note.kind for note in dataset.notes}


def test_nothing_to_watch_is_written_as_such(folder, tmp_path_factory, capsys):
    out = tmp_path_factory.mktemp("out")
    app = typer.Typer()
    app.callback()(lambda: None)
    command.register(app)
    typer.main.get_command(app)(
        ["dataset", "carobd", str(folder), "--out", str(out)], "x", standalone_mode=False
    )
    assert "To watch: nothing\n" in capsys.readouterr().out
    names = ["causes.json", "normal-1.csv", "normal-2.csv", "normal-3.csv"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert json.loads((out / "causes.json").read_text()) == []
    assert read_table(out / "normal-1.csv").interval == pytest.approx(PACE, rel=0.02)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_text("a,b\n1,2\n3,4\n"), "drive2.csv is not a file of carOBD: it"),
        (lambda path: path.write_text(""), "drive2.csv is empty"),
        (
            lambda path: path.write_text(path.read_text().replace("81.000000", "hot")),
            "no numbers in COOLANT_TEMPERATURE",
        ),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder / "drive2.csv")
    with pytest.raises(TableError, match=words) as caught:
        carobd.load([folder])
    assert "\n" not in str(caught.value)


@pytest.mark.data
def test_the_published_trips(data_folder):
    dataset = carobd.load([data_folder / "carobd"])
    assert len(dataset.normal) == 25
    for recording in dataset.normal:
        assert recording.table.clock == "elapsed"
        assert recording.table.interval == pytest.approx(0.492, abs=0.003)
        assert len(recording.table.signals) == 26
