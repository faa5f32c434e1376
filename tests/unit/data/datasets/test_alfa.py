"""ALFA: healthy flights by name, onset and control channel of the others from their list."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from causewatch.data.datasets import alfa
from causewatch.errors import TableError

HEALTHY = "carbonZ_2018-09-11-14-41-38_no_failure.parquet"
ENGINE = "carbonZ_2018-09-11-14-22-07_1_engine_failure.parquet"
RUDDER = "carbonZ_2018-09-11-15-06-34_2_rudder_right_failure.parquet"
START = 1_536_691_718_119_502_163
TENTH = 100_000_000
CAUSES = [
    {
        "name": "engine_failure",
        "start": 70,
        "end": 100,
        "signals": ["rc-out.channels2", "vfr_hud.throttle"],
        "also_affected": ["nav_info-airspeed.measured"],
        "file": ENGINE,
    },
    {"name": "rudder", "start": 40, "end": 80, "signals": ["rc-out.channels3"], "file": RUDDER},
]


def write(path, rows, signals=alfa.SIGNALS):
    values = np.random.default_rng(rows).normal(size=(rows, len(signals)))
    time = pl.Series(START + TENTH * np.arange(rows)).cast(pl.Datetime("ns"))
    columns = {name: values[:, place] for place, name in enumerate(signals)}
    pl.DataFrame({"time": time, **columns}).write_parquet(path)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / HEALTHY, 60)
    write(tmp_path / ENGINE, 100)
    write(tmp_path / RUDDER, 80)
    (tmp_path / "causes.json").write_text(json.dumps(CAUSES))
    return tmp_path


def test_flights_and_their_faults(folder):
    dataset = alfa.load([folder])
    (normal,) = dataset.normal
    assert (normal.category, normal.events) == ("no_failure", ())
    assert len(normal.table.signals) == 41
    engine, rudder = dataset.test
    assert engine.category == "engine_failure"
    assert rudder.category == "rudder_right_failure"
    (event,) = engine.events
    assert event.start == START + 70 * TENTH  # to the nanosecond
    assert event.end == START + 100 * TENTH
    assert event.signals == ("rc-out.channels2", "vfr_hud.throttle")
    assert engine.table.interval == 0.1
    assert engine.table.labels.tolist() == [0] * 70 + [1] * 30
    assert "a part of it: 1 healthy flights, 2 with a fault" in dataset.version


def test_events_are_in_order_of_their_start(folder):
    later, first = ({**CAUSES[0], "start": 80, "end": 90}, {**CAUSES[0], "start": 20, "end": 30})
    (folder / "causes.json").write_text(json.dumps([later, first, CAUSES[1]]))
    engine, _ = alfa.load([folder]).test
    assert [event.start for event in engine.events] == [START + k * TENTH for k in (20, 80)]


def test_the_only_recording_needs_no_name_in_the_list(folder):
    (folder / RUDDER).unlink()
    (folder / "causes.json").write_text(json.dumps([{**CAUSES[0], "file": None}]))
    (engine,) = alfa.load([folder]).test
    assert engine.events[0].start == START + 70 * TENTH


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / HEALTHY).unlink(), "No healthy flight of ALFA was found"),
        (lambda f: [(f / name).unlink() for name in (ENGINE, RUDDER)], "No flight with a fault of"),
        (lambda f: (f / "causes.json").unlink(), "No causes.json beside the recordings of ALFA"),
        (lambda f: (f / "causes.json").write_text("{}"), "holds no list"),
        (
            lambda f: write(f / RUDDER, 79),
            "event of carbonZ_2018-09-11-15-06-34_2_rudder_right_failure.parquet from 40 to 80",
        ),
        (lambda f: write(f / HEALTHY, 9, ["a"]), "is not a file of ALFA: it lacks the columns"),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder)
    with pytest.raises(TableError, match=words) as caught:
        alfa.load([folder])
    assert "\n" not in str(caught.value)


@pytest.mark.data
def test_the_published_files(data_folder):
    dataset = alfa.load([data_folder / "alfa"])
    assert "complete: 10 healthy flights, 18 with a fault" in dataset.version
    for recording in dataset.test:
        (event,) = recording.events
        assert event.signals
        assert any(signal.startswith("rc-out.") for signal in event.signals)
        assert recording.table.time[-1] < event.end
        assert event.start > recording.table.time[0]
