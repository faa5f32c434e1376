"""UR3 CobotOps: sessions, rows with a flag, and cycles without one."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from causewatch.data.datasets import cobotops
from causewatch.errors import TableError

HEADER = ("Num", "Timestamp", *cobotops.SIGNALS, "cycle ", "Robot_ProtectiveStop", "grip_lost")
START = datetime(2022, 10, 26, 8, 17, 21, 847_000)
STOPS, LOST, EMPTY = {15, 16, 17, 75}, {17, 18, 44}, {5, 52}


def write(path, rows=100, header=HEADER, first=50):
    """A file as published: decimal commas, empty columns at the end, rows without values."""
    lines = [";".join(header) + ";" * 11]
    values = np.random.default_rng(2).normal(1, 0.1, size=(rows, 19)).round(6)
    for row in range(rows):
        late = timedelta(hours=5) if row >= first else timedelta(0)
        time = (START + timedelta(seconds=1.005 * row) + late).isoformat(timespec="milliseconds")
        cells = [f"{value}".replace(".", ",") for value in values[row]]
        stop = str(row in STOPS)
        if row in EMPTY:
            cells, stop = [""] * 19, ""
        about = [str(1 + row // 10), stop, str(row in LOST)]
        lines.append(";".join([str(row + 1), f"{time}Z", *cells, *about]) + ";" * 11)
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "dataset_02052023.csv")
    return tmp_path


def test_sessions_are_parted_by_pauses_and_flags_are_labels(folder):
    dataset = cobotops.load([folder])
    first, second = dataset.test
    assert [recording.name for recording in dataset.test] == ["session 1", "session 2"]
    assert [len(recording.table) for recording in dataset.test] == [50, 50]
    assert first.table.signals == cobotops.SIGNALS
    assert first.table.clock == "utc"
    rows = np.arange(100)
    flagged = np.isin(rows, [*STOPS, *LOST]).astype(float)
    labels = np.where(np.isin(rows, [*EMPTY]), np.nan, flagged)
    np.testing.assert_array_equal(first.table.labels, labels[:50])
    np.testing.assert_array_equal(second.table.labels, labels[50:])
    names = [event.name for recording in dataset.test for event in recording.events]
    assert names == ["protective stop and grip lost", "grip lost", "protective stop"]
    assert first.events[0].start == first.table.time[15]
    notes = {note.kind: note.count for note in dataset.notes}
    assert notes["not_labelled"] == 2
    assert notes["trailing_separators"] == 11
    assert notes["padded_names"] == 1


def test_cycles_without_a_flag_are_to_learn_from(folder):
    normal = cobotops.load([folder]).normal
    first, second = (recording.table for recording in normal)
    # cycles of ten rows; 10 to 19 and 40 to 49 hold a flag, row 5 has no values
    assert len(first) == 9 + 20
    assert first.starts.tolist() == [0, 5, 9]
    assert len(second) == 9 + 10 + 20
    assert second.starts.tolist() == [0, 2, 19]
    for recording in normal:
        assert not recording.table.labels.any()
        assert np.isfinite(recording.table.values).all()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_text("a;b\n1;2\n3;4\n"), "is not a file of UR3 CobotOps: it lack"),
        (lambda path: write(path, rows=8, header=["x", *HEADER[1:-1], "gone"]), "grip_lost"),
        (lambda path: write(path.with_name("b.csv")), "2 tables were found; name one"),
        (lambda path: path.write_text(path.read_text().replace("False", "True")), "holds no cycle"),
        (lambda path: path.write_text(path.read_text().replace("False", "x")), "no numbers in Rob"),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder / "dataset_02052023.csv")
    with pytest.raises(TableError, match=words) as caught:
        cobotops.load([folder])
    assert "\n" not in str(caught.value)


def test_what_is_no_table_is_no_file_of_it(folder):
    for name in ("causes.json", "README.md"):
        (folder / name).write_text("[]\n")
        with pytest.raises(TableError, match=f"{name} is no file of UR3 CobotOps: it is no table"):
            cobotops.load([folder / name])


@pytest.mark.data
def test_the_published_file(data_folder):
    dataset = cobotops.load([data_folder / "cobotops"])
    assert [len(recording.table) for recording in dataset.test] == [2869, 4540]
    labels = np.concatenate([recording.table.labels for recording in dataset.test])
    assert np.isnan(labels).sum() == 54
    assert not any(recording.table.labels.any() for recording in dataset.normal)
    assert {event.name for recording in dataset.test for event in recording.events} >= {
        "protective stop",
        "grip lost",
    }
