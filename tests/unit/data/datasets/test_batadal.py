"""BATADAL: disclosed attacks, labels that say "not labelled", and files without labels."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta

import numpy as np
import pytest

from causewatch.data.datasets import batadal
from causewatch.errors import TableError

BEGIN = {
    "dataset03": datetime(2014, 1, 6),
    "dataset04": datetime(2016, 7, 4),
    "test_dataset": datetime(2017, 1, 4),
}
SIGNALS = sorted(batadal.SIGNALS)


def attacked(moment):
    return any(
        datetime.fromisoformat(f"{attack.first}:00")
        <= moment
        <= datetime.fromisoformat(f"{attack.last}:00")
        for attack in batadal.ATTACKS
    )


def write(path, flag=lambda moment: int(attacked(moment)), rows=None, blanks=False, digits=2):
    """A file as published; `flag` None leaves the label column out."""
    name = path.stem.removeprefix("BATADAL_")
    blank = " " if blanks else ""
    header = ["DATETIME", *(f"{blank}{signal}" for signal in SIGNALS)]
    lines = [",".join([*header, *([f"{blank}ATT_FLAG"] if flag else [])])]
    level = [f"{v:.{digits}f}" for v in np.random.default_rng(7).uniform(1, 9, 97)]
    for row in range(rows or batadal.ROWS[name]):
        moment = BEGIN[name] + timedelta(hours=row)
        cells = [level[(row * 43 + k) % 97] for k in range(43)]
        label = [str(flag(moment))] if flag else []
        lines.append(",".join([moment.strftime("%d/%m/%y %H"), *cells, *label]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("batadal")
    write(folder / "BATADAL_dataset03.csv", lambda _: 0, digits=9)
    first = datetime(2016, 9, 14)

    def partly(moment):
        return 1 if first <= moment < first + timedelta(hours=42) else -999

    write(folder / "BATADAL_dataset04.csv", partly, blanks=True)
    write(folder / "BATADAL_test_dataset.csv", None)
    return folder


@pytest.fixture(scope="module")
def dataset(pristine):
    return batadal.load([pristine])


@pytest.fixture
def folder(pristine, tmp_path):
    """A copy that a test may spoil."""
    shutil.copytree(pristine, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_times_are_day_first_and_hourly(dataset):
    (normal,) = dataset.normal
    assert normal.name == "dataset03"
    assert normal.table.interval == 3600
    assert normal.table.clock == "naive"
    assert normal.table.time[0] == np.datetime64("2014-01-06T00", "ns").astype(np.int64)
    assert normal.table.time[-1] == np.datetime64("2015-01-06T00", "ns").astype(np.int64)
    assert sorted(normal.table.signals) == SIGNALS
    assert normal.events == ()


def test_rows_that_are_not_labelled_are_neither_normal_nor_attacked(dataset):
    partly = dataset.test[0]
    assert np.nansum(partly.table.labels) == 42
    assert np.isnan(partly.table.labels).sum() == 4177 - 42
    assert [event.name for event in partly.events] == list("1234567")
    notes = {note.kind: note for note in (*dataset.notes, *partly.table.notes)}
    assert notes["not_labelled"].count == 4177 - 42
    assert "dataset04, labelled in part, with 7 attacks" in dataset.version
    assert "labels_differ" not in notes


def test_without_a_label_column_labels_come_from_the_disclosed_attacks(dataset):
    test = dataset.test[1]
    assert [event.name for event in test.events] == ["8", "9", "10", "11", "12", "13", "14"]
    assert test.table.labels.sum() == 407
    assert np.flatnonzero(np.diff(test.table.labels) == 1)[0] + 1 == 297
    first = test.causes[0]
    assert first["start"] == "2017-01-16T09:00:00"
    assert first["end"] == "2017-01-19T07:00:00"  # the last attacked hour belongs to it
    assert first["signals"] == ["L_T3", "F_PU4", "S_PU4", "F_PU5", "S_PU5"]
    assert "labels_from_list" in {note.kind for note in dataset.notes}


def test_rounding_is_said(dataset):
    text = {note.kind: note.text for note in dataset.notes}["rounding"]
    assert "dataset04, test_dataset are rounded" in text


def test_stages_are_the_controllers(dataset):
    assert len(dataset.stages) == 9
    assert sorted(sum(dataset.stages.values(), ())) == SIGNALS
    for attack in batadal.ATTACKS:
        assert set(attack.signals) <= set(SIGNALS)


def test_labels_that_contradict_the_attacks_are_counted(folder):
    write(folder / "BATADAL_test_dataset.csv", lambda moment: int(moment.day == 5))
    notes = {note.kind: note for note in batadal.load([folder]).notes}
    days = 24 * 3  # 5 January, February and March; no attack on any of them
    assert notes["labels_differ"].count == 407 + days


def test_one_of_the_attacked_recordings_may_be_missing(folder):
    (folder / "BATADAL_dataset04.csv").unlink()
    assert [one.name for one in batadal.load([folder]).test] == ["test_dataset"]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "BATADAL_dataset03.csv").unlink(), r"dataset03\.csv not found"),
        (
            lambda f: [p.unlink() for p in f.glob("*dataset0[34].csv")],
            r"dataset03\.csv, dataset04\.csv not found",
        ),
        (
            lambda f: write(f / "BATADAL_test_dataset.csv", rows=900),
            "900 rows, 2,089 were published",
        ),
        (
            lambda f: (f / "BATADAL_dataset04.csv").write_text("DATETIME,x\n01/01/16 00,1\n"),
            "not a file of BATADAL: it lacks the columns",
        ),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder)
    with pytest.raises(TableError, match=words):
        batadal.load([folder])


def test_a_file_cut_inside_a_line(folder):
    path = folder / "BATADAL_test_dataset.csv"
    path.write_bytes(path.read_bytes()[:200_000])
    with pytest.raises(TableError, match=r"make no sense.*44 cells are expected.*cut short"):
        batadal.load([folder])


@pytest.mark.data
def test_the_published_files(data_folder):
    dataset = batadal.load([data_folder / "batadal"])
    assert len(dataset.normal[0].table) == 8761
    for one in dataset.test:
        assert len(one.events) == 7
        # the labels of this copy and the publisher's list of attacks say the same
        inside = np.zeros(len(one.table))
        for event in one.events:
            inside[(one.table.time >= event.start) & (one.table.time < event.end)] = 1
        np.testing.assert_array_equal(one.table.labels, inside)
    assert {note.kind for note in dataset.notes} == {"rounding"}


@pytest.mark.data
def test_replayed_signals_are_those_of_the_attack(data_folder):
    """Attacks 1, 2, 12 and 13 repeat recorded hours: the places of attacks can be checked."""
    found = batadal.load([data_folder / "batadal"])
    for recording, number, signal, hours in (
        (found.test[0], "1", "L_T7", 48),
        (found.test[0], "2", "F_PU10", 48),
        (found.test[1], "12", "L_T2", 24),
        (found.test[1], "13", "F_PU10", 48),
    ):
        event = next(event for event in recording.events if event.name == number)
        assert signal in event.signals
        table = recording.table
        rows = np.flatnonzero((table.time >= event.start) & (table.time < event.end))
        column = table.values[:, table.signals.index(signal)]
        assert np.mean(np.abs(column[rows] - column[rows - hours]) < 0.006) > 0.9
