"""HAI: the five versions by names, separators and labels."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from causewatch.data import format_time
from causewatch.data.datasets import load_dataset
from causewatch.data.datasets.hai_hashes import PUBLISHED
from causewatch.errors import SettingError, TableError

START = datetime(2019, 9, 11, 20, 0)
ROWS = 40
ATTACK = [0] * 10 + [1] * 8 + [0] * 12 + [1] * 5 + [0] * 5
IN_P1 = [0] * 10 + [1] * 8 + [0] * 22
IN_P3 = [0] * 12 + [1] * 4 + [0] * 14 + [1] * 5 + [0] * 5


def signals(count: int) -> list[str]:
    return [f"P{number % 4 + 1}_X{number:03d}" for number in range(count)]


def table(time: str, names: list[str], marks: Mapping[str, list[int]], separator: str = ",") -> str:
    values = np.random.default_rng(1).normal(size=(ROWS, len(names))).round(4).tolist()
    lines = [separator.join([time, *names, *marks])]
    for row in range(ROWS):
        stamp = (START + timedelta(seconds=row)).strftime("%Y-%m-%d %H:%M:%S")
        cells = [stamp, *map(str, values[row]), *(str(mark[row]) for mark in marks.values())]
        lines.append(separator.join(cells))
    return "\n".join(lines) + "\n"


ZEROS = [0] * ROWS
NOTHING = {"attack": ZEROS, "attack_P1": ZEROS, "attack_P2": ZEROS, "attack_P3": ZEROS}
MARKS = {"attack": ATTACK, "attack_P1": IN_P1, "attack_P2": ZEROS, "attack_P3": IN_P3}


def write_old(folder: Path, count: int, separator: str = ",", packed: bool = False) -> Path:
    for name, marks in (("train1", NOTHING), ("train2", NOTHING), ("test1", MARKS)):
        text = table("time", signals(count), marks, separator)
        if packed:
            (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"{name}.csv").write_text(text)
    return folder


def write_new(folder: Path, prefix: str = "hai-", count: int = 86) -> Path:
    (folder / f"{prefix}train1.csv").write_text(table("timestamp", signals(count), {}))
    (folder / f"{prefix}test1.csv").write_text(table("timestamp", signals(count), {}))
    (folder / "label-test1.csv").write_text(table("timestamp", [], {"label": ATTACK}))
    return folder


@pytest.mark.parametrize(
    ("count", "separator", "packed", "version"),
    [
        (59, ";", True, "HAI 20.07: 59"),
        (59, ";", False, "HAI 20.07: 59"),
        (78, ",", True, "HAI 21.03: 78"),
    ],
)
def test_labels_by_process(
    tmp_path: Path, count: int, separator: str, packed: bool, version: str
) -> None:
    dataset = load_dataset("hai", write_old(tmp_path, count, separator, packed))
    assert dataset.version.startswith(version)
    assert [recording.name for recording in dataset.normal] == ["train1", "train2"]
    [test] = dataset.test
    assert test.table.signals == dataset.normal[0].table.signals == tuple(signals(count))
    assert test.table.labels is not None
    np.testing.assert_array_equal(test.table.labels, ATTACK)
    first, second = test.events
    assert (first.name, first.description) == ("test1 attack 1", "in process P1, P3")
    assert (second.signals, second.description) == ((), "in process P3")
    assert format_time(first.start, "naive") == "2019-09-11T20:00:10"
    assert format_time(first.end, "naive") == "2019-09-11T20:00:18"
    assert not any(recording.events for recording in dataset.normal)


def test_one_label(tmp_path: Path) -> None:
    (tmp_path / "train1.csv").write_text(table("timestamp", signals(86), {"Attack": ZEROS}))
    (tmp_path / "test1.csv").write_text(table("timestamp", signals(86), {"Attack": ATTACK}))
    dataset = load_dataset("hai", tmp_path)
    assert dataset.version == "HAI 22.04: 86 signals, files to learn from: 1, with attacks: 1."
    assert len(dataset.test[0].events) == 2
    assert sorted(dataset.stages) == ["P1", "P2", "P3", "P4"]
    assert sum(len(found) for found in dataset.stages.values()) == 86


@pytest.mark.parametrize(
    ("prefix", "count", "version"),
    [("hai-", 86, "HAI 23.05: 86 signals"), ("end-", 225, "HAIEnd 23.05: 225 signals")],
)
def test_labels_in_a_file_of_their_own(
    tmp_path: Path, prefix: str, count: int, version: str
) -> None:
    dataset = load_dataset("hai", write_new(tmp_path, prefix, count))
    assert dataset.version.startswith(version)
    [test] = dataset.test
    assert test.table.labels is not None
    np.testing.assert_array_equal(test.table.labels, ATTACK)
    assert dataset.normal[0].table.labels is None


def test_number_of_signals_of_no_version(tmp_path: Path) -> None:
    version = load_dataset("hai", write_old(tmp_path, 60)).version
    assert "but there are 60 signals where it has 59" in version


def test_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_old(tmp_path, 59, ";", packed=True)
    notes = {note.kind: note for note in load_dataset("hai", tmp_path).notes}
    assert notes["not_as_published"].count == 3
    sums = {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in ("train1.csv.gz", "test1.csv.gz")
    }
    known = {"20.07": {**PUBLISHED["20.07"], **sums}}
    monkeypatch.setattr("causewatch.data.datasets.hai.PUBLISHED", known)
    notes = {note.kind: note for note in load_dataset("hai", tmp_path).notes}
    assert "to the byte, as published: train1.csv.gz, test1.csv.gz." in notes["as_published"].text
    assert "train2.csv.gz" in notes["not_as_published"].text


def test_natural_order_and_packed_twins(tmp_path: Path) -> None:
    text = table("timestamp", signals(5), {"Attack": ZEROS})
    for name in ("train2.csv", "train10.csv", "train1.csv", "test1.csv"):
        (tmp_path / name).write_text(text)
    (tmp_path / "train2.csv.gz").write_bytes(b"\x1f\x8b never read")
    dataset = load_dataset("hai", tmp_path)
    assert [recording.name for recording in dataset.normal] == ["train1", "train2", "train10"]


def test_training_with_attacks_is_noted(tmp_path: Path) -> None:
    for name in ("train1.csv", "test1.csv"):
        (tmp_path / name).write_text(table("timestamp", signals(4), {"Attack": ATTACK}))
    notes = [note.kind for note in load_dataset("hai", tmp_path).notes]
    assert "labelled_training" in notes


def test_several_versions(tmp_path: Path) -> None:
    for name, count in (("hai-20.07", 59), ("hai-21.03", 78)):
        (tmp_path / name).mkdir()
        write_old(tmp_path / name, count)
    with pytest.raises(SettingError, match=r"more than one version of HAI .*hai-20\.07"):
        load_dataset("hai", tmp_path)


def test_git_pointer(tmp_path: Path) -> None:
    write_new(tmp_path)
    (tmp_path / "hai-test1.csv").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:78c7\nsize 31255559\n"
    )
    with pytest.raises(TableError, match=r"hai-test1\.csv is only a pointer.*git lfs pull"):
        load_dataset("hai", tmp_path)


@pytest.mark.parametrize(("lost", "kind"), [("train1.csv", "train"), ("test1.csv", "test")])
def test_missing_half(tmp_path: Path, lost: str, kind: str) -> None:
    write_new(tmp_path)
    (tmp_path / f"hai-{lost}").unlink()
    with pytest.raises(TableError, match=rf"There is no file {kind}\*\.csv"):
        load_dataset("hai", tmp_path)


def test_missing_labels(tmp_path: Path) -> None:
    write_new(tmp_path)
    (tmp_path / "label-test1.csv").unlink()
    with pytest.raises(TableError, match=r"there is no label-test1\.csv beside it"):
        load_dataset("hai", tmp_path)


def test_labels_of_another_length(tmp_path: Path) -> None:
    labels = write_new(tmp_path) / "label-test1.csv"
    labels.write_text("\n".join(labels.read_text().splitlines()[:-3]) + "\n")
    with pytest.raises(TableError, match=r"has 37 rows, hai-test1\.csv has 40"):
        load_dataset("hai", tmp_path)


def test_different_columns(tmp_path: Path) -> None:
    write_old(tmp_path, 59)
    (tmp_path / "test1.csv").write_text(table("time", [*signals(58), "P9_NEW"], MARKS))
    with pytest.raises(TableError, match="have different columns: P3_X058 and P9_NEW"):
        load_dataset("hai", tmp_path)


def test_no_time(tmp_path: Path) -> None:
    write_old(tmp_path, 59)
    (tmp_path / "train1.csv").write_text("a,b\n1,2\n2,3\n")
    with pytest.raises(TableError, match=r"train1\.csv has no column timestamp or time"):
        load_dataset("hai", tmp_path)
