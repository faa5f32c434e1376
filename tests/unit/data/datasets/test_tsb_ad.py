"""TSB-AD: what file names say, and whether the content agrees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from causewatch.data.datasets import load_dataset
from causewatch.errors import TableError

ONE = "001_NAB_id_1_Facility_tr_20_1st_30.csv"
MANY = "116_TAO_id_1_Environment_tr_25_1st_3.csv"


def write(path: Path, first: int, signals: int = 1, rows: int = 60, length: int = 5) -> Path:
    values = np.random.default_rng(rows).normal(size=(rows, signals)).round(3).tolist()
    names = ["Data"] if signals == 1 else [f"Col_{n}" for n in range(signals)]
    lines = [",".join([*names, "Label"])]
    for row in range(rows):
        mark = "1" if first <= row < first + length else "0"
        lines.append(",".join([*map(str, values[row]), mark]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_one_series(tmp_path: Path) -> None:
    dataset = load_dataset("tsb-ad", write(tmp_path / ONE, 30))
    [normal], [test] = dataset.normal, dataset.test
    assert dataset.version == "TSB-AD-U by their names: 1 series (NAB 1)."
    assert (len(normal.table), len(test.table)) == (20, 60)
    np.testing.assert_array_equal(normal.table.values, test.table.values[:20])
    assert (test.table.signals, test.table.clock) == (("Data",), "rows")
    assert test.category == "Facility"
    assert normal.name == f"{test.name}-train"
    [cause] = test.causes
    assert (cause["start"], cause["end"], cause["signals"]) == (30, 35, [])
    assert dataset.notes == ()
    assert all(note.kind != "no_time" for note in test.table.notes)


def test_many_series(tmp_path: Path) -> None:
    write(tmp_path / ONE, 30)
    write(tmp_path / MANY, 3, signals=3)
    (tmp_path / "TSB-AD-M.csv").write_text("file_name\n" + MANY + "\n")  # a list, no series
    dataset = load_dataset("tsb-ad", tmp_path)
    assert dataset.version == "TSB-AD-U and TSB-AD-M by their names: 2 series (NAB 1, TAO 1)."
    assert [len(recording.table.signals) for recording in dataset.test] == [1, 3]
    notes = {note.kind: note.text for note in dataset.notes}
    assert "116_TAO" in notes["labelled_training"]
    assert "001_NAB" not in notes["labelled_training"]
    assert "many_systems" in notes


def test_first_anomaly_is_compared(tmp_path: Path) -> None:
    [note] = load_dataset("tsb-ad", write(tmp_path / ONE, 31)).notes
    assert note.text == (
        f"The first anomaly of {ONE} is in row 31, not in row 30 as its name says."
    )
    [note] = load_dataset("tsb-ad", write(tmp_path / ONE, 30, length=0)).notes
    assert note.text.startswith(f"No row of {ONE} is labelled anomalous")


def test_cut_short(tmp_path: Path) -> None:
    with pytest.raises(
        TableError, match="has 30 rows, but by its name 20 are for training and row 30"
    ):
        load_dataset("tsb-ad", write(tmp_path / ONE, 25, rows=30))


def test_other_names(tmp_path: Path) -> None:
    old = write(tmp_path / "001_NAB_data_Traffic_4_20_30.csv", 30)
    with pytest.raises(TableError, match="TSB-AD consists of files named like 001_NAB_id_1"):
        load_dataset("tsb-ad", old)
    with pytest.raises(TableError, match="found 001_NAB_data_Traffic"):
        load_dataset("tsb-ad", tmp_path)


def test_without_labels(tmp_path: Path) -> None:
    (tmp_path / ONE).write_text("Data\n" + "1.5\n2.5\n" * 30)
    with pytest.raises(TableError, match="has no column Label; found Data"):
        load_dataset("tsb-ad", tmp_path)
