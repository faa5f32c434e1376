"""Pepper: times in milliseconds, names that stand twice, files that are attacked as a whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from causewatch.data.datasets import load_dataset, pepper
from causewatch.errors import TableError

START = 1_571_000_000_000  # milliseconds since 1970
HEADER = ["timestamp", *(column.removesuffix(".1") for column in pepper.COLUMNS)]
ATTACKS = ("JointControl", "LedsControl", "WheelsControl")


def write(path: Path, rows: int, start: int = START, header: list[str] = HEADER) -> Path:
    values = np.random.default_rng(rows).normal(size=(rows, len(header) - 1)).round(3)
    lines = [",".join(header)]
    for row in range(rows):
        lines.append(",".join([str(start + 100 * row), *map(str, values[row].tolist())]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "normal.csv", 60)
    for number, name in enumerate(ATTACKS):
        write(tmp_path / f"{name}.csv", 20 + number, START + 10**7)
    return tmp_path


def test_recordings(folder: Path) -> None:
    dataset = load_dataset("pepper", folder)
    [normal] = dataset.normal
    assert normal.table.signals == pepper.COLUMNS
    assert len(set(normal.table.signals)) == 255
    assert (len(normal.table), normal.table.interval, normal.table.clock) == (60, 0.1, "utc")
    assert int(normal.table.time[0]) == START * 1_000_000
    assert [recording.name for recording in dataset.test] == list(ATTACKS)
    assert "60 normal rows and 63 rows in 3 files with attacks, where the published" in (
        dataset.version
    )


def test_an_attack_is_the_whole_file(folder: Path) -> None:
    dataset = load_dataset("pepper", folder)
    signals = {}
    for recording in dataset.test:
        [event] = recording.events
        table = recording.table
        assert event.start == table.time[0]
        assert event.end == table.time[-1] + 100_000_000
        assert table.labels is not None
        assert table.labels.all()
        signals[recording.name] = event.signals
    assert signals["WheelsControl"] == ("WheelFLSpeed", "WheelFRSpeed", "WheelBSpeed")
    assert len(signals["JointControl"]) == 17
    assert "KneePicth" in signals["JointControl"]
    assert len(signals["LedsControl"]) == 71
    assert all(name.startswith("Led") for name in signals["LedsControl"])


def test_version_as_published(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pepper, "ROWS", 60)
    monkeypatch.setattr(pepper, "ATTACK_ROWS", 63)
    assert load_dataset("pepper", folder).version.startswith("Pepper as published: 60 normal rows")


def test_milliseconds_since_the_start(tmp_path: Path) -> None:
    write(tmp_path / "normal.csv", 30, start=0)
    write(tmp_path / "LedsControl.csv", 10, start=0)
    dataset = load_dataset("pepper", tmp_path)
    table = dataset.normal[0].table
    assert (table.clock, table.interval) == ("elapsed", 0.1)
    assert int(table.time[-1]) == 2_900_000_000
    assert dataset.test[0].events[0].end == 1_000_000_000


def test_parts_hold_every_signal_once(folder: Path) -> None:
    stages = load_dataset("pepper", folder).stages
    assert sorted(s for part in stages.values() for s in part) == sorted(pepper.COLUMNS)


def test_missing_and_extra_columns(folder: Path) -> None:
    header = [*HEADER]
    header[5] = "Battery"  # instead of LElbowYaw
    write(folder / "normal.csv", 40, header=header)
    dataset = load_dataset("pepper", folder)
    texts = {note.kind: note.text for note in dataset.notes}
    assert texts["missing_columns"] == "Columns that normal.csv does not have: LElbowYaw."
    assert "left out: Battery." in texts["extra_columns"]


def test_missing_half(tmp_path: Path) -> None:
    normal = write(tmp_path / "normal.csv", 10)
    with pytest.raises(
        TableError, match=r"Pepper consists of normal\.csv and .* found normal\.csv"
    ):
        load_dataset("pepper", tmp_path)
    attack = normal.rename(tmp_path / "LedsControl.csv")
    with pytest.raises(TableError, match=r"found LedsControl\.csv"):
        load_dataset("pepper", attack)


def test_foreign_files(folder: Path) -> None:
    foreign = folder / "other.csv"
    foreign.write_text("timestamp,a\n1,2\n2,3\n")
    with pytest.raises(TableError, match=r"other\.csv is no file of Pepper"):
        load_dataset("pepper", folder / "normal.csv", foreign)
    load_dataset("pepper", folder)  # in a folder, other tables do not matter
    foreign.rename(folder / "normal.csv")
    with pytest.raises(TableError, match="does not have the columns of Pepper; expected HeadYaw"):
        load_dataset("pepper", folder)


def test_without_timestamp(folder: Path) -> None:
    write(folder / "normal.csv", 10, header=["first", *HEADER[1:]])
    with pytest.raises(TableError, match="has no column timestamp"):
        load_dataset("pepper", folder)


@pytest.mark.data
def test_columns_are_those_of_the_real_file(data_folder: Path) -> None:
    text = (data_folder / "pepper" / "columns.txt").read_text(encoding="utf-8")
    assert tuple(text.split()) == pepper.COLUMNS
