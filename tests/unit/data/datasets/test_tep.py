"""Tennessee Eastman: orientation, onset and places of the faults."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from causewatch.data.datasets import tep
from causewatch.errors import TableError


def numbers(rows, seed=0):
    return np.random.default_rng(seed).normal(50.0, 3.0, (rows, 52))


def write(path, values):
    """A file as published: blanks between numbers, no header."""
    lines = ["".join(f"   {value:.7e}" for value in row) for row in values]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tep")
    write(folder / "d00.dat", numbers(500).T)
    write(folder / "d00_te.dat", numbers(960, 1))
    write(folder / "d04_te.dat", numbers(960, 2))
    write(folder / "d04.dat", numbers(480, 3))
    write(folder / "d16_te.dat", numbers(960, 4))
    (folder / "LICENSE").write_text("free")
    return folder


@pytest.fixture(scope="module")
def dataset(pristine):
    return tep.load([pristine])


@pytest.fixture
def folder(pristine, tmp_path):
    """A copy that a test may spoil."""
    shutil.copytree(pristine, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_normal_data_stored_transposed_are_put_back(dataset, folder):
    (normal,) = dataset.normal
    assert normal.table.signals[0] == "XMEAS_1"
    assert normal.table.signals[40:42] == ("XMEAS_41", "XMV_1")
    assert normal.table.signals[-1] == "XMV_11"
    np.testing.assert_allclose(normal.table.values, numbers(500), rtol=1e-6)
    assert normal.table.files[0].rows == 500
    assert "transposed" in {note.kind for note in normal.table.notes}
    write(folder / "d00.dat", numbers(500))
    (straight,) = tep.load([folder / "d00.dat", folder / "d04_te.dat"]).normal
    np.testing.assert_array_equal(straight.table.values, normal.table.values)
    assert "transposed" not in {note.kind for note in straight.table.notes}


def test_rows_are_three_minutes_apart_and_the_fault_begins_after_row_160(dataset):
    assert [one.name for one in dataset.test] == ["d00_te", "d04_te", "d16_te"]
    normal, fault, unknown = dataset.test
    assert fault.table.clock == "elapsed"
    assert fault.table.interval == 180
    assert fault.table.time[1] == 180 * 10**9
    assert normal.events == ()
    assert not normal.table.labels.any()
    assert np.flatnonzero(fault.table.labels).tolist() == list(range(160, 960))
    (cause,) = fault.causes
    assert (cause["start"], cause["end"]) == (160, 960)
    assert cause["signals"] == ["XMEAS_9", "XMV_10"]
    assert unknown.events[0].signals == ()
    assert fault.category == "fault 4"


def test_training_faults_only_on_request_and_from_their_first_row(dataset, pristine):
    assert {note.kind: note.count for note in dataset.notes}["training_faults"] == 1
    dataset = tep.load([pristine], training_faults=True)
    last = dataset.test[-1]
    assert last.name == "d04"
    assert last.table.labels.all()
    assert (last.causes[0]["start"], last.causes[0]["end"]) == (0, 480)
    assert "training_faults" not in {note.kind for note in dataset.notes}


def test_places_of_the_faults():
    assert set(tep.FAULTS) == set(range(1, 22))
    assert tep.FAULTS[1].signals == ("XMEAS_4", "XMV_3", "XMV_4", "XMEAS_1")
    assert tep.FAULTS[14].signals == ("XMEAS_9", "XMEAS_21", "XMV_10")
    assert tep.FAULTS[21].signals == ("XMV_4",)
    for number in (3, 9, 13, 16, 17, 18, 19, 20):
        assert tep.FAULTS[number].signals == ()
    assert sorted(sum(tep.STAGES.values(), ())) == sorted(tep.SIGNALS)


def test_the_version_names_what_is_missing(dataset, pristine):
    version = dataset.version
    assert "in part: 2 faults" in version
    assert "d03_te.dat" in version
    assert "d04_te.dat" not in version
    two = [pristine / "d00.dat", pristine / "d04_te.dat"]
    assert "without d00_te.dat" in tep.load(two).version


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "d00.dat").unlink(), "No recording of the normal process, d00.dat,"),
        (lambda f: [p.unlink() for p in f.glob("*_te.dat")], "No _te file was found"),
        (lambda f: write(f / "d04_te.dat", numbers(700)), "700 rows and 52 columns; 960 rows"),
        (lambda f: write(f / "d04_te.dat", numbers(960)[:, :40]), "960 rows and 40 columns"),
        (lambda f: (f / "d04_te.dat").write_text("not\nnumbers\nat all\n"), "d04_te.dat"),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder)
    with pytest.raises(TableError, match=words):
        tep.load([folder])


def test_another_folder(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="No recording of the normal process"):
        tep.load([tmp_path])


@pytest.mark.data
def test_the_published_files(data_folder):
    dataset = tep.load([data_folder / "tep"])
    assert "complete: 21 faults and two normal recordings" in dataset.version
    assert len(dataset.test) == 22
    found = {one.name: one for one in dataset.test}
    normal, level = dataset.normal[0].table, found["d00_te"].table
    middle, spread = level.values.mean(axis=0), level.values.std(axis=0)
    # the same plant: only with rows and columns the right way round do the levels agree
    assert np.all(np.abs(normal.values.mean(axis=0) - middle) < 1.5 * spread)
    for name in ("d04_te", "d06_te", "d07_te", "d14_te"):
        far = np.abs((found[name].table.values - middle) / spread).max(axis=1)
        assert far[160] > 5
        assert far[130:160].max() < 5
    # analysers hold their value
    feed, product = level.values[:, 22], level.values[:, 36]
    assert set(np.diff(np.flatnonzero(np.diff(feed)))) == {2}
    assert set(np.diff(np.flatnonzero(np.diff(product)))) == {5}


@pytest.mark.data
def test_published_training_faults_act_from_their_first_row(data_folder):
    files = [data_folder / "tep" / f"{name}.dat" for name in ("d00", "d00_te", "d04", "d07")]
    level, *faults = tep.load(files, training_faults=True).test
    middle, spread = level.table.values.mean(axis=0), level.table.values.std(axis=0)
    for fault in faults:
        assert np.abs((fault.table.values[0] - middle) / spread).max() > 10
        assert fault.table.labels[0] == 1
