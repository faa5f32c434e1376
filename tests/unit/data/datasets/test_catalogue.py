"""The list of datasets, and the helpers all loaders share."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from causewatch.data import TimeTable
from causewatch.data.datasets import DATASETS, Event, load_dataset
from causewatch.data.datasets.files import find_files, natural_order, plain_name
from causewatch.data.datasets.shaping import (
    event_labels,
    keep_rows,
    keep_signals,
    keep_where,
    label_events,
)
from causewatch.errors import SettingError, TableError, UnknownNameError

NAMES = (
    "swat", "pepper", "wadi", "hai", "tsb-ad", "skab", "tep", "batadal", "causrca", "voraus",
    "gecco", "3w", "cranfield", "alfa", "lbnl", "cobotops", "carobd",
)  # fmt: skip
SECOND = 1_000_000_000


def table(labels: list[float], starts: tuple[int, ...] = (0,)) -> TimeTable:
    rows = len(labels)
    return TimeTable(
        signals=("a", "b", "c"),
        values=np.arange(3.0 * rows).reshape(rows, 3),
        time=np.arange(rows, dtype=np.int64) * SECOND,
        starts=np.array(starts, dtype=np.intp),
        interval=1.0,
        labels=np.array(labels),
    )


def spans(events: tuple[Event, ...]) -> list[tuple[int, int]]:
    return [(event.start // SECOND, event.end // SECOND) for event in events]


def test_every_dataset_is_described_and_has_a_module() -> None:
    assert tuple(DATASETS) == NAMES
    for name, entry in DATASETS.items():
        assert entry.name == name
        for text in (entry.title, entry.about, entry.origin, entry.files):
            assert len(text) >= 3
        assert entry.about.endswith(".")
        assert entry.files.endswith(".")
        assert find_spec(f"causewatch.data.datasets.{entry.module}") is not None


@pytest.mark.parametrize("name", NAMES)
def test_no_path_and_wrong_paths(name: str, tmp_path: Path) -> None:
    with pytest.raises((SettingError, TableError)):
        load_dataset(name)
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(TableError) as caught:
            load_dataset(name, path)
        assert "\n" not in str(caught.value)


def test_unknown_name() -> None:
    with pytest.raises(
        UnknownNameError, match=r"There is no dataset 'swatt'\. Did you mean 'swat'"
    ):
        load_dataset("swatt", ".")


def test_files_are_found_once_in_natural_order(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("b10.csv", "b9.CSV", ".hidden.csv", "~$open.xlsx", "notes.md", "inner/c.csv.gz"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    found = find_files([tmp_path, tmp_path / "b9.CSV"], "X", "files")
    assert [path.name for path in found] == ["b9.CSV", "b10.csv", "c.csv.gz"]
    assert [plain_name(path) for path in found] == ["b9", "b10", "c"]
    assert natural_order([Path("x2y10"), Path("x2y9"), Path("x10")]) == [
        Path("x2y9"), Path("x2y10"), Path("x10"),
    ]  # fmt: skip


def test_runs_of_labels() -> None:
    nan = float("nan")
    assert spans(label_events(table([0, 1, 1, 0, nan, 1, 1]))) == [(1, 3), (5, 7)]
    assert spans(label_events(table([1, 1, nan, 1]))) == [(0, 2), (3, 4)]
    assert spans(label_events(table([0, 1, 1, 1, 0], starts=(0, 2)))) == [(1, 2), (2, 4)]
    assert label_events(table([0, 0])) == ()
    assert [event.name for event in label_events(table([1, 0, 1]))] == ["run 1", "run 2"]


def test_labels_and_runs_agree() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        labels = (rng.random(40) < 0.4).astype(float)
        starts = (0, *sorted(set(rng.integers(1, 40, 3).tolist())))
        made = table(labels.tolist(), starts)
        np.testing.assert_array_equal(event_labels(made, label_events(made)), labels)


def test_cutting() -> None:
    made = table([0, 1, 0, 0, 1], starts=(0, 2, 4))
    part = keep_rows(made, 1, 4)
    assert part.starts.tolist() == [0, 1]
    assert part.labels is not None
    assert part.labels.tolist() == [1, 0, 0]
    assert part.time.tolist() == [SECOND, 2 * SECOND, 3 * SECOND]
    chosen = keep_signals(made, ["c", "a"])
    assert chosen.signals == ("c", "a")
    np.testing.assert_array_equal(chosen.values, made.values[:, [2, 0]])
    assert keep_signals(made, made.signals) is made


def test_rows_left_out_part_the_stretches() -> None:
    made = table([0, 1, 0, 0, 0, 1, 0], starts=(0, 3))
    assert made.labels is not None
    part = keep_where(made, made.labels == 0)
    assert part.time.tolist() == [row * SECOND for row in (0, 2, 3, 4, 6)]
    assert part.starts.tolist() == [0, 1, 2, 4]
    np.testing.assert_array_equal(part.values, made.values[[0, 2, 3, 4, 6]])
    assert part.labels is not None
    assert part.labels.tolist() == [0] * 5
    later = keep_where(made, made.labels == 1)
    assert later.starts.tolist() == [0, 1]
    assert len(keep_where(made, np.zeros(7, dtype=np.bool_))) == 0
