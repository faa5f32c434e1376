"""SWaT: every shape its files are found in, what the loader says about them and what it refuses."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xlsxwriter

from causewatch.data import TimeTable, format_time
from causewatch.data.datasets import Dataset, load_dataset, swat
from causewatch.data.datasets.swat_attacks import attacks
from causewatch.errors import SettingError, TableError

NORMAL_START = datetime(2015, 12, 22, 16, 30)
ATTACK_START = datetime(2015, 12, 28, 13, 9, 30)  # attack 8 begins 40 s later

PAPER = {
    "8": ("2015-12-28T13:10:10", "2015-12-28T13:26:14", ("DPIT301",)),
    "17": ("2015-12-29T14:38:12", "2015-12-29T14:50:09", ("MV303",)),
    "21": ("2015-12-29T18:30:00", "2015-12-29T18:42:01", ("MV101", "LIT101")),
    "23": ("2015-12-30T01:42:34", "2015-12-30T01:54:11", ("P602", "DPIT301", "MV302")),
    "25": ("2015-12-30T10:01:50", "2015-12-30T10:12:02", ("LIT401", "P401")),
    "26": ("2015-12-30T17:04:56", "2015-12-30T17:29:01", ("P101", "LIT301")),
    "27": ("2015-12-31T01:17:08", "2015-12-31T01:45:19", ("P302", "LIT401")),
    "28": ("2015-12-31T01:45:19", "2015-12-31T11:15:28", ("P302",)),
    "30": ("2015-12-31T15:47:40", "2015-12-31T16:07:11", ("LIT101", "P101", "MV201")),
}


def cells(start: datetime, rows: int, attacked: range = range(0)) -> list[list[str | float]]:
    """Rows as SWaT writes them: time with a leading blank, 51 numbers, the label."""
    numbers = np.random.default_rng(rows).normal(500, 20, (rows, 51)).round(4)
    numbers[:, 2] = np.arange(rows) % 3  # MV101
    found: list[list[str | float]] = []
    for row in range(rows):
        time = start + timedelta(seconds=row)
        label = "Normal" if row not in attacked else ("A ttack" if row % 7 == 0 else "Attack")
        text = time.strftime(" %d/%m/%Y %I:%M:%S %p").replace(" 0", " ")
        found.append([text, *numbers[row].tolist(), label])
    return found


HEADER = [" Timestamp", *(f" {t}" if t.startswith("MV") else t for t in swat.TAGS), "Normal/Attack"]


def write_csv(
    path: Path,
    rows: list[list[str | float]],
    separator: str = ",",
    decimal: str = ".",
    header: list[str] = HEADER,
) -> Path:
    lines = [separator.join(header)]
    for row in rows:
        lines.append(separator.join(str(c).replace(".", decimal) for c in row))
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8")
    return path


def write_xlsx(path: Path, rows: list[list[str | float]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 1, ["P1", "", "", "", "", "P2"])
        sheet.write_row(1, 0, HEADER)
        for number, row in enumerate(rows, start=2):
            sheet.write_row(number, 0, row)
    return path


NORMAL = cells(NORMAL_START, 300)
ATTACK = cells(ATTACK_START, 400, range(40, 400))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return (
        write_csv(tmp_path / "SWaT_Dataset_Normal_v1.csv", NORMAL),
        write_csv(tmp_path / "SWaT_Dataset_Attack_v0.csv", ATTACK),
    )


def check(dataset: Dataset) -> tuple[TimeTable, TimeTable]:
    """What holds for the pair of small files in every shape."""
    [normal], [test] = dataset.normal, dataset.test
    for table, rows, start in (
        (normal.table, NORMAL, NORMAL_START),
        (test.table, ATTACK, ATTACK_START),
    ):
        assert table.signals == swat.TAGS
        np.testing.assert_array_equal(table.values, [row[1:-1] for row in rows])
        assert table.clock == "naive"
        assert format_time(int(table.time[0]), "naive") == start.isoformat()
        assert table.interval == 1.0
        assert table.starts.tolist() == [0]
    assert normal.table.labels is not None
    assert not normal.table.labels.any()
    assert test.table.labels is not None
    np.testing.assert_array_equal(test.table.labels, [0] * 40 + [1] * 360)
    [event] = test.events
    assert (event.name, event.signals) == ("8", ("DPIT301",))
    return normal.table, test.table


@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), (";", "."), (";", ",")])
def test_text_shapes(tmp_path: Path, separator: str, decimal: str) -> None:
    write_csv(tmp_path / "SWaT_Dataset_Normal_v0.csv", NORMAL, separator, decimal)
    write_csv(tmp_path / "SWaT_Dataset_Attack_v0.csv", ATTACK, separator, decimal)
    check(load_dataset("swat", tmp_path))


def test_spreadsheets_with_a_title_row(tmp_path: Path) -> None:
    normal = write_xlsx(tmp_path / "SWaT_Dataset_Normal_v1.xlsx", NORMAL)
    attack = write_xlsx(tmp_path / "SWaT_Dataset_Attack_v0.xlsx", ATTACK)
    check(load_dataset("swat", attack, normal))


def test_order_and_names_do_not_matter(pair: tuple[Path, Path], tmp_path: Path) -> None:
    one, two = pair[0].rename(tmp_path / "b.csv"), pair[1].rename(tmp_path / "a.csv")
    check(load_dataset("swat", one, two))
    dataset = load_dataset("swat", str(two), str(one))
    check(dataset)
    assert (dataset.normal[0].name, dataset.test[0].name) == ("b", "a")


def test_labels_win_over_names(pair: tuple[Path, Path], tmp_path: Path) -> None:
    normal, attack = pair
    other = tmp_path / "other"
    other.mkdir()
    check(
        load_dataset(
            "swat",
            normal.rename(other / "SWaT_Attack.csv"),
            attack.rename(other / "SWaT_Normal.csv"),
        )
    )


def test_stages() -> None:
    assert [len(swat.STAGES[stage]) for stage in "123456"] == [5, 11, 9, 9, 13, 4]
    assert sorted(tag for tags in swat.STAGES.values() for tag in tags) == sorted(swat.TAGS)
    assert "DPIT301" in swat.STAGES["3"]


def test_version_by_rows(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    version = load_dataset("swat", *pair).version
    assert "its 300 rows are none of the known versions: 496,800 (v0) or 495,000 (v1)" in version
    assert "its 400 rows are none of the known versions: 449,919 (v0)" in version
    monkeypatch.setitem(swat.ROWS["normal"], 300, "SWaT_Dataset_Normal_v1")
    monkeypatch.setitem(swat.ROWS["attack"], 400, "SWaT_Dataset_Attack_v0")
    assert load_dataset("swat", *pair).version == (
        "SWaT_Dataset_Normal_v1.csv is SWaT_Dataset_Normal_v1 of December 2015 (300 rows). "
        "SWaT_Dataset_Attack_v0.csv is SWaT_Dataset_Attack_v0 of December 2015 (400 rows)."
    )


def test_newest_version_and_text_are_preferred(pair: tuple[Path, Path], tmp_path: Path) -> None:
    write_csv(tmp_path / "SWaT_Dataset_Normal_v0.csv", cells(NORMAL_START, 50))
    (tmp_path / "SWaT_Dataset_Attack_v0.xlsx").write_bytes(b"never read")
    (tmp_path / "List_of_attacks_Final.xlsx").write_bytes(b"never read")
    dataset = load_dataset("swat", tmp_path)
    check(dataset)
    [note] = [note for note in dataset.notes if note.kind == "other_versions"]
    assert note.count == 2
    assert "SWaT_Dataset_Attack_v0.xlsx, SWaT_Dataset_Normal_v0.csv" in note.text


def test_start_up_is_pointed_out(pair: tuple[Path, Path]) -> None:
    [note] = [n for n in load_dataset("swat", *pair).notes if n.kind == "start_up"]
    assert "--exclude 2015-12-22T16:30:00..2015-12-22T21:00:00" in note.text


def test_published_attacks() -> None:
    events = attacks()
    assert len(events) == 35
    assert [e.start for e in events] == sorted(e.start for e in events)
    assert all(one.end <= two.start for one, two in pairwise(events))
    assert {tag for event in events for tag in event.signals} <= set(swat.TAGS)
    found = {e.name: e for e in events}
    for name, (start, end, signals) in PAPER.items():
        event = found[name]
        assert format_time(event.start, "naive") == start
        assert format_time(event.end, "naive") == end
        assert event.signals == signals


def test_labelled_run_that_is_no_published_attack(tmp_path: Path) -> None:
    write_csv(tmp_path / "normal.csv", NORMAL)
    quiet = datetime(2015, 12, 28, 10, 0)
    write_csv(tmp_path / "attack.csv", cells(quiet, 100, range(30, 60)))
    dataset = load_dataset("swat", tmp_path)
    [event] = dataset.test[0].events
    assert (event.name, event.signals) == ("labelled run 1", ())
    assert format_time(event.start, "naive") == "2015-12-28T10:00:30"
    assert format_time(event.end, "naive") == "2015-12-28T10:01:00"
    assert any(note.kind == "unknown_runs" for note in dataset.notes)
    assert not any(note.kind == "labels_differ" for note in dataset.notes)


def test_labels_that_differ_from_the_windows(tmp_path: Path) -> None:
    write_csv(tmp_path / "normal.csv", NORMAL)
    write_csv(tmp_path / "attack.csv", cells(ATTACK_START, 400, range(47, 400)))
    dataset = load_dataset("swat", tmp_path)
    [note] = [note for note in dataset.notes if note.kind == "labels_differ"]
    assert note.count == 7
    [event] = dataset.test[0].events
    assert format_time(event.start, "naive") == "2015-12-28T13:10:10"


def test_without_label_column(tmp_path: Path) -> None:
    for name, rows in (("swat_normal.csv", NORMAL), ("swat_attack.csv", ATTACK)):
        write_csv(tmp_path / name, [row[:-1] for row in rows], header=HEADER[:-1])
    dataset = load_dataset("swat", tmp_path)
    labels = dataset.test[0].table.labels
    assert labels is not None
    np.testing.assert_array_equal(labels, [0] * 40 + [1] * 360)
    assert any(note.kind == "labels_from_windows" for note in dataset.notes)


def test_missing_and_extra_columns_are_named(tmp_path: Path) -> None:
    header = ["index", *HEADER]
    header[-3] = "XYZ"  # instead of P602
    rows = [[number, *row] for number, row in enumerate(NORMAL)]
    write_csv(tmp_path / "normal.csv", rows, header=header)
    write_csv(tmp_path / "attack.csv", ATTACK)
    dataset = load_dataset("swat", tmp_path)
    texts = {note.kind: note.text for note in dataset.notes}
    assert texts["missing_tags"] == "Tags that normal.csv does not have: P602."
    assert "left out: index, XYZ." in texts["extra_columns"]
    assert "P602" not in dataset.normal[0].table.signals


@pytest.mark.parametrize("half", ["Normal_v1", "Attack_v0"])
def test_one_half_alone(pair: tuple[Path, Path], half: str) -> None:
    [path] = [path for path in pair if half in path.name]
    with pytest.raises(TableError, match=f"{half}.csv .*there is no other file; SWaT consists of"):
        load_dataset("swat", path)


def test_two_normal_recordings(pair: tuple[Path, Path], tmp_path: Path) -> None:
    second = write_csv(tmp_path / "x.csv", NORMAL)
    with pytest.raises(TableError, match="are normal recordings; SWaT consists of"):
        load_dataset("swat", pair[0], second)


def test_extract_of_attacks_only(pair: tuple[Path, Path], tmp_path: Path) -> None:
    extract = write_csv(tmp_path / "attack.csv", ATTACK[40:])
    with pytest.raises(TableError, match=r"Every row of attack\.csv is labelled an attack"):
        load_dataset("swat", pair[0], extract)


def test_truncated_file(pair: tuple[Path, Path]) -> None:
    content = pair[1].read_bytes()
    pair[1].write_bytes(content[: len(content) // 2])
    with pytest.raises(
        TableError, match=r"SWaT_Dataset_Attack_v0\.csv that make no sense.*cut short"
    ):
        load_dataset("swat", *pair)


def test_foreign_columns(pair: tuple[Path, Path], tmp_path: Path) -> None:
    foreign = tmp_path / "normal.csv"
    foreign.write_text("time,a,b\n1,2,3\n2,3,4\n")
    with pytest.raises(TableError, match="does not have the tags of SWaT; expected FIT101"):
        load_dataset("swat", pair[1], foreign)


def test_later_release(pair: tuple[Path, Path], tmp_path: Path) -> None:
    header = ["GMT +0", *(f"{tag[:-3]} {tag[-3:]}" for tag in swat.TAGS)]
    later = write_csv(tmp_path / "later.csv", [row[:-1] for row in NORMAL], header=header)
    with pytest.raises(TableError, match="is of a later release of SWaT"):
        load_dataset("swat", pair[1], later)


def test_wrong_places(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="There is no file or folder"):
        load_dataset("swat", tmp_path / "nowhere")
    with pytest.raises(TableError, match="No table was found in"):
        load_dataset("swat", tmp_path)
    with pytest.raises(SettingError, match="No file or folder of SWaT was given"):
        load_dataset("swat")
