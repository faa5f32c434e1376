"""SKAB: one event per experiment, what was done by folder, and clear words for wrong folders."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta

import numpy as np
import pytest

from causewatch.data.datasets import skab
from causewatch.errors import TableError

START = datetime(2020, 3, 9, 10, 14, 33)
HEADER = ("datetime", *skab.SIGNALS)


def write(path, rows, anomaly=None, gap=None, more=()):
    """A file as published: semicolons, labels with a decimal point."""
    labelled = anomaly is not None
    lines = [";".join((*HEADER, *(("anomaly", "changepoint") if labelled else ()), *more))]
    rng = np.random.default_rng(rows)
    for row, values in enumerate(rng.normal(size=(rows, 8)).round(6).tolist()):
        late = 60 if gap is not None and row >= gap else 0
        cells = [str(START + timedelta(seconds=row + late)), *map(str, values)]
        if labelled:
            cells += [str(float(anomaly[0] <= row < anomaly[1])), str(float(row in anomaly))]
        lines.append(";".join([*cells, *("7" for _ in more)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("SKAB")
    data = folder / "data"
    write(data / "anomaly-free" / "anomaly-free.csv", 9405)
    write(data / "valve1" / "0.csv", 1147, (573, 974))
    write(data / "valve1" / "10.csv", 1146, (573, 974))
    write(data / "valve1" / "2.csv", 1075, (566, 903), gap=700)
    write(data / "other" / "2.csv", 780, (104, 488))
    return folder


@pytest.fixture(scope="module")
def dataset(pristine):
    return skab.load([pristine])


@pytest.fixture
def folder(pristine, tmp_path):
    """A copy that a test may spoil."""
    shutil.copytree(pristine, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_experiments_have_one_event_each_and_their_order_is_by_number(dataset):
    assert [one.name for one in dataset.test] == ["other-2", "valve1-0", "valve1-2", "valve1-10"]
    assert [one.category for one in dataset.test] == ["other", *["valve1"] * 3]
    (normal,) = dataset.normal
    assert normal.table.signals == skab.SIGNALS
    assert normal.events == ()
    assert normal.table.labels is None
    for one in dataset.test:
        (cause,) = one.causes
        labelled = np.flatnonzero(one.table.labels == 1)
        assert one.events[0].start == one.table.time[labelled[0]]
        assert one.table.time[labelled[-1]] < one.events[0].end
        assert one.events[0].end <= one.table.time[labelled[-1] + 1]
        assert cause["signals"] == []
        assert cause["file"] == f"{one.name}.csv"
    assert "inlet" in dataset.test[1].events[0].description
    assert "leaks" in dataset.test[0].events[0].description


def test_a_gap_inside_the_anomaly_does_not_make_two_of_it(dataset):
    gapped = dataset.test[2]
    assert len(gapped.table.starts) == 2
    assert len(gapped.events) == 1


def test_the_version_says_that_files_are_missing(dataset):
    assert "not version 0.9 as a whole" in dataset.version
    assert "4 experiments with 4,148 rows" in dataset.version
    early = {note.kind: note.text for note in dataset.notes}["early_anomaly"]
    assert "other-2" in early
    assert "valve1" not in early


def test_single_files_can_be_given(pristine):
    data = pristine / "data"
    dataset = skab.load([data / "anomaly-free" / "anomaly-free.csv", data / "valve1" / "0.csv"])
    assert [one.name for one in dataset.test] == ["valve1-0"]


def test_further_columns_are_no_signals(folder):
    write(folder / "data" / "valve2" / "0.csv", 1125, (562, 956), more=["note"])
    assert skab.load([folder]).test[-1].table.signals == skab.SIGNALS


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: (data / "anomaly-free" / "anomaly-free.csv").unlink(), "folder anomaly-free"),
        (lambda data: [p.unlink() for p in data.glob("[vo]*/*.csv")], "folder valve1, valve2"),
        (lambda data: write(data / "valve1" / "0.csv", 800, (573, 800)), "800 rows, 1,147 were"),
        (lambda data: write(data / "valve1" / "0.csv", 1147), "lacks the columns anomaly"),
        (
            lambda data: (data / "valve1" / "0.csv").write_text("a;b\n1;2\n3;4\n"),
            "0.csv is not a file of SKAB",
        ),
        (lambda data: (data / "valve1" / "0.csv").write_text(""), "0.csv is empty"),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder / "data")
    with pytest.raises(TableError, match=words):
        skab.load([folder])


def test_a_folder_that_is_not_there_or_not_skab(tmp_path):
    with pytest.raises(TableError, match="no file or folder"):
        skab.load([tmp_path / "absent"])
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="give the folder that holds anomaly-free"):
        skab.load([tmp_path])


@pytest.mark.data
def test_the_published_files(data_folder):
    dataset = skab.load([data_folder / "skab"])
    assert dataset.version.startswith("SKAB version 0.9, complete")
    assert len(dataset.test) == 34
    hits = false = missed = 0
    for one in dataset.test:
        truth = one.table.labels == 1
        assert len(one.events) == 1
        assert truth.any()
        late = np.arange(len(truth)) >= 570
        hits += int((late & truth).sum())
        false += int((late & ~truth).sum())
        missed += int((~late & truth).sum())
    # the figure in the module's text and note
    assert 2 * hits / (2 * hits + false + missed) == pytest.approx(0.808, abs=0.0005)
    second = next(one for one in dataset.test if one.name == "other-2")
    assert np.argmax(second.table.labels) == 104
