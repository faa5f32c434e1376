"""Every real recording can be read. The recordings are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from causewatch.data import format_time, read_table

FOLDER = Path(os.environ.get("CAUSEWATCH_DATA", Path(__file__).parents[4] / "shared" / "data"))

pytestmark = pytest.mark.data


def recordings(folder, pattern):
    found = sorted((FOLDER / folder).glob(pattern))
    if not found:
        pytest.skip(f"no recordings of {folder}: set CAUSEWATCH_DATA to the folder that holds them")
    return found


def test_skab():
    for path in recordings("skab", "*/*.csv"):
        labels = None if path.parent.name == "anomaly-free" else "anomaly"
        table = read_table(path, labels=labels, ignore=["changepoint"] if labels else ())
        assert table.values.shape[1] == 8
        assert table.interval == 1
        assert table.clock == "naive"
        assert table.files[0].rows == len(table)


def test_tennessee_eastman():
    for path in recordings("tep", "*.dat"):
        table = read_table(path)
        assert table.clock == "rows"
        assert table.values.shape in [(52, 500), (480, 52), (960, 52)]
        assert not np.isnan(table.values).any()


def test_batadal():
    for path in recordings("batadal", "*.csv"):
        table = read_table(path, labels="ATT_FLAG")
        assert table.values.shape[1] == 43
        assert table.interval == 3600
        assert table.starts.tolist() == [0]
        assert table.notes == ()
    third = read_table(FOLDER / "batadal" / "dataset03.csv", labels="ATT_FLAG")
    assert format_time(int(third.time[0]), "naive") == "2014-01-06T00:00:00"


@pytest.mark.parametrize(
    ("path", "labels", "signals"),
    [
        ("lbnl/SZVAV.csv", ["Fault Detection Ground Truth"], 14),
        ("gecco/geccoIC2018Train.csv", ["EVENT"], 9),
        ("cobotops/dataset_02052023.csv", ["Robot_ProtectiveStop", "grip_lost"], 21),
        ("skab/valve1/0.csv", ["anomaly", "changepoint"], 8),
        ("skab/anomaly-free/anomaly-free.csv", [], 8),
        ("batadal/dataset04.csv", ["ATT_FLAG"], 43),
        ("carobd/drive1.csv", [], 27),
    ],
)
def test_labels_that_nobody_named_are_no_signals(path, labels, signals):
    [file] = recordings(*path.split("/", 1))
    table = read_table(file)
    notes = [note.text for note in table.notes if note.kind == "possible_label"]
    assert len(table.signals) == signals
    assert [note.split("'")[1] for note in notes] == labels


def test_causrca():
    paths = recordings("causrca", "real_op/*.csv")[:10]
    table = read_table(paths)
    assert table.clock == "elapsed"
    assert len(table.starts) == 10
    assert "CBC_Closed" in table.signals
    assert "Prog_Name" not in table.signals
    closed = table.values[:, table.signals.index("CBC_Closed")]
    assert set(np.unique(closed[np.isfinite(closed)])) <= {0.0, 1.0}


def test_voraus():
    (path,) = recordings("voraus", "*.parquet")
    table = read_table(path, labels="anomaly", ignore=["index", "sample", "category", "setting"])
    assert len(table.starts) == 4  # one for each run of the robot
    assert table.interval == pytest.approx(0.01, rel=0.02)
    assert set(table.labels) <= {0.0, 1.0}
