"""WADI: both versions as they are written, dates month first, labels of -1 and 1."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from causewatch.data import format_time
from causewatch.data.datasets import load_dataset, wadi
from causewatch.errors import TableError

PREFIX = "\\\\WIN-25J4RO10SBF\\LOG_DATA\\SUTD_WADI\\LOG_DATA\\"
TAGS = [
    "1_AIT_001_PV", "1_FIT_001_PV", "1_MV_001_STATUS", "2_LT_002_PV", "2_MCV_101_CO",
    "2_MCV_201_CO", "2A_AIT_001_PV", "2B_AIT_001_PV", "3_LT_001_PV", "LEAK_DIFF_PRESSURE",
    "PLANT_START_STOP_LOG", "TOTAL_CONS_REQUIRED_FLOW",
]  # fmt: skip
LABEL = '"Attack LABLE (1:No Attack, -1:Attack)"'
TITLES = [
    "Created: 10/9/2017 6:05:57.359 PM Malay Peninsula Standard Time",
    "Number of rows: 1.2096E+6",
    "Interpolation interval: 1 seconds",
    "",
]
NORMAL_START = datetime(2017, 9, 25, 18, 0)
ATTACK_START = datetime(2017, 10, 9, 19, 24, 30)  # attack 1 begins 30 s later


def data(start: datetime, rows: int, labels: list[int] | None = None) -> list[str]:
    values = np.random.default_rng(rows).normal(size=(rows, len(TAGS))).round(3).tolist()
    lines = []
    for row in range(rows):
        time = start + timedelta(seconds=row)
        year = str(time.year) if row % 2 else str(time.year)[2:]  # both in one file
        clock = f"{(time.hour - 1) % 12 + 1}:{time:%M:%S}.000 {'AM' if time.hour < 12 else 'PM'}"
        cells = [str(row + 1), f"{time.month}/{time.day}/{year}", clock, *map(str, values[row])]
        lines.append(",".join([*cells, *([str(labels[row])] if labels else [])]))
    return lines


def write(path: Path, *parts: list[str]) -> Path:
    path.write_text("\n".join(line for part in parts for line in part) + "\n", encoding="utf-8")
    return path


def header(prefix: str = "", label: bool = False) -> str:
    return ",".join(
        ["Row", "Date", "Time", *(prefix + t for t in TAGS), *([LABEL] if label else [])]
    )


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A1: titles, prefixes, no labels."""
    write(tmp_path / "WADI_14days.csv", TITLES, [header(PREFIX)], data(NORMAL_START, 200))
    write(tmp_path / "WADI_attackdata.csv", [header(PREFIX)], data(ATTACK_START, 100))
    return tmp_path


@pytest.fixture(params=["numbers", "blanks"])
def second(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A2: a line above the header, labels, two empty rows at the end."""
    width = len(TAGS) + 4
    above = ",".join(map(str, range(width))) if request.param == "numbers" else "," * (width - 1)
    names = header(label=True).replace("Row,Date,", "Row ,Date ,").replace("Attack, ", "Attack, \n")
    labels = [1] * 35 + [-1] * 60 + [1] * 5
    write(tmp_path / "WADI_14days_new.csv", [header()], data(NORMAL_START, 200))
    write(
        tmp_path / "WADI_attackdataLABLE.csv",
        [above, names],
        data(ATTACK_START, 100, labels),
        ["," * (width - 1)] * 2,
    )
    return tmp_path


def test_first_version(first: Path) -> None:
    dataset = load_dataset("wadi", first)
    [normal], [test] = dataset.normal, dataset.test
    assert normal.table.signals == test.table.signals == tuple(TAGS)
    assert normal.table.interval == test.table.interval == 1.0
    assert format_time(int(normal.table.time[0]), "naive") == "2017-09-25T18:00:00"
    assert format_time(int(test.table.time[0]), "naive") == "2017-10-09T19:24:30"
    assert (len(normal.table), len(test.table)) == (200, 100)
    assert normal.table.starts.tolist() == test.table.starts.tolist() == [0]
    expected = np.random.default_rng(100).normal(size=(100, len(TAGS))).round(3)
    np.testing.assert_array_equal(test.table.values, expected)


def test_labels_of_the_first_version_come_from_the_windows(first: Path) -> None:
    dataset = load_dataset("wadi", first)
    [event] = dataset.test[0].events
    assert (event.name, event.signals) == ("1", ("1_MV_001_STATUS",))
    assert format_time(event.start, "naive") == "2017-10-09T19:25:00"
    labels = dataset.test[0].table.labels
    assert labels is not None
    np.testing.assert_array_equal(labels, [0] * 30 + [1] * 70)
    assert any(note.kind == "labels_from_windows" for note in dataset.notes)


def test_second_version(second: Path) -> None:
    dataset = load_dataset("wadi", second)
    [normal], [test] = dataset.normal, dataset.test
    assert normal.table.signals == test.table.signals == tuple(TAGS)
    assert test.table.labels is not None
    np.testing.assert_array_equal(test.table.labels, [0] * 35 + [1] * 60 + [0] * 5)
    [event] = test.events  # as labelled, not as published
    assert (event.name, event.signals) == ("1", ("1_MV_001_STATUS",))
    assert format_time(event.start, "naive") == "2017-10-09T19:25:05"
    assert format_time(event.end, "naive") == "2017-10-09T19:26:05"
    assert test.table.files[0].rows == 102
    assert len(test.table.files[0].sha256) == 64


def test_labelled_run_that_is_no_published_attack(second: Path) -> None:
    start = datetime(2017, 10, 10, 1, 0)
    labels = [1] * 10 + [-1] * 20 + [1] * 10
    write(second / "WADI_attackdataLABLE.csv", [header(label=True)], data(start, 40, labels))
    dataset = load_dataset("wadi", second)
    [event] = dataset.test[0].events
    assert (event.name, event.signals) == ("labelled run 1", ())
    assert any(note.kind == "unknown_runs" for note in dataset.notes)


def test_labels_of_a_copy(second: Path) -> None:
    names = header() + ",attack"
    labels = [0] * 10 + [1] * 20 + [0] * 10
    write(second / "WADI_attackdataLABLE.csv", [names], data(ATTACK_START, 40, labels))
    test = load_dataset("wadi", second).test[0]
    assert test.table.labels is not None
    assert test.table.labels.tolist() == labels
    assert test.table.signals == tuple(TAGS)


def test_windows_do_not_overlap(first: Path) -> None:
    evening = datetime(2017, 10, 9, 19, 0)
    moments = [evening + timedelta(seconds=second) for second in (0, 1, 2)]
    moments += [evening + timedelta(minutes=minute) for minute in range(1, 45 * 60)]
    minutes = [row for moment in moments for row in data(moment, 1)]
    write(first / "WADI_attackdata.csv", [header(PREFIX)], minutes)
    events = load_dataset("wadi", first).test[0].events
    assert [event.name for event in events] == [
        "1", "2", "3-4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
    ]  # fmt: skip
    assert all(one.end <= two.start for one, two in pairwise(events))


def test_version_by_rows(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = load_dataset("wadi", first).version
    assert "its 200 rows are none of the known versions: 1,209,601 (A1) or 784,571 (A2)" in version
    monkeypatch.setitem(wadi.ROWS["normal"], 200, "A1 (9 Oct 2017)")
    monkeypatch.setitem(wadi.ROWS["attack"], 100, "A1 (9 Oct 2017)")
    assert load_dataset("wadi", first).version == (
        "WADI_14days.csv is of WADI A1 (9 Oct 2017) (200 rows). "
        "WADI_attackdata.csv is of WADI A1 (9 Oct 2017) (100 rows)."
    )


def test_groups_and_number_of_signals(first: Path) -> None:
    dataset = load_dataset("wadi", first)
    assert list(dataset.stages) == ["1", "2", "2A", "2B", "3", "plant"]
    assert any("share 12 signals, where WADI as published has 127" in n.text for n in dataset.notes)


def test_signals_of_one_file_only(first: Path) -> None:
    text = (first / "WADI_attackdata.csv").read_text()
    (first / "WADI_attackdata.csv").write_text(text.replace("3_LT_001_PV", "3_LT_002_PV", 1))
    dataset = load_dataset("wadi", first)
    assert any("left out: 3_LT_001_PV, 3_LT_002_PV." in note.text for note in dataset.notes)
    assert len(dataset.normal[0].table.signals) == 11


def test_two_versions_at_once(first: Path, second: Path) -> None:
    with pytest.raises(TableError, match="more than one version of WADI"):
        load_dataset("wadi", first)


def test_missing_half(first: Path) -> None:
    with pytest.raises(TableError, match=r"WADI consists of .* found WADI_14days\.csv"):
        load_dataset("wadi", first / "WADI_14days.csv")


@pytest.mark.parametrize("name", ["WADI_14days.csv", "WADI_attackdata.csv"])
def test_foreign_columns(first: Path, name: str) -> None:
    (first / name).write_text("Row,Date,Time,a,b\n1,9/25/2017,6:00:00 PM,2,3\n" * 3)
    with pytest.raises(TableError, match=f"{name} does not have the tags of WADI"):
        load_dataset("wadi", first)


def test_header_not_found(first: Path) -> None:
    write(first / "WADI_attackdata.csv", data(ATTACK_START, 30))
    with pytest.raises(TableError, match="has no header that begins with Row, Date, Time"):
        load_dataset("wadi", first)


def test_truncated_file(first: Path) -> None:
    path = first / "WADI_14days.csv"
    path.write_text(path.read_text()[:-80])
    with pytest.raises(TableError, match=r"WADI_14days\.csv that make no sense.*cut short"):
        load_dataset("wadi", first)


def test_dates_that_are_none(first: Path) -> None:
    rows = [row.replace("10/9/", "2017x10x9x") for row in data(ATTACK_START, 30)]
    write(first / "WADI_attackdata.csv", [header(PREFIX)], rows)
    with pytest.raises(TableError, match=r"is not a date \(month first\)"):
        load_dataset("wadi", first)
