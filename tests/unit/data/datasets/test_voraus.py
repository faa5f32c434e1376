"""voraus-AD: samples as recordings, the published split, axes as places."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from causewatch.data.datasets import voraus
from causewatch.errors import TableError, UnknownNameError

SAMPLES = (  # number, category, setting, rows: as in the complete file, but few and short
    (12, 0, 1, 60),
    (300, 6, 51, 50),
    (755, 12, 72, 55),
    (1702, 12, 72, 60),
    (1703, 12, 73, 58),
)


def frame(samples=SAMPLES, rate=100.0):
    parts = []
    rng = np.random.default_rng(3)
    for number, category, setting, rows in samples:
        times = np.arange(rows) / rate + rng.uniform(0, 0.05 / rate, rows)
        about = {
            "index": np.arange(rows),
            "time": times,
            "sample": np.full(rows, number),
            "anomaly": np.full(rows, category != 12),
            "category": np.full(rows, category),
            "setting": np.full(rows, setting),
            "action": np.zeros(rows, np.uint8),
            "active": np.ones(rows, np.int64),
        }
        values = rng.normal(size=(130, rows)) + number
        parts.append(pl.DataFrame({**about, **dict(zip(voraus.SIGNALS, values, strict=True))}))
    return pl.concat(parts)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("voraus") / "voraus-ad-dataset-100hz.parquet"
    frame().write_parquet(path)
    return path


def test_each_sample_is_a_recording_and_the_split_is_the_published_one(path):
    dataset = voraus.load([path.parent])
    assert [one.name for one in dataset.normal] == ["sample_755", "sample_1702"]
    assert [one.name for one in dataset.test] == ["sample_12", "sample_300", "sample_1703"]
    assert [len(one.table) for one in dataset.test] == [60, 50, 58]
    for one in (*dataset.normal, *dataset.test):
        number = int(one.name.removeprefix("sample_"))
        assert one.table.signals == voraus.SIGNALS
        assert one.table.starts.tolist() == [0]
        assert abs(one.table.values.mean() - number) < 0.2  # the right rows
    assert [truth for _, truth in voraus.samples(dataset)] == [True, True, False]
    assert "at 100 Hz, a part of it: 2 normal samples to learn from" in dataset.version
    assert "1 normal and 2 faulty" in dataset.version
    assert dataset.notes == ()


def test_labels_and_events_cover_whole_samples(path):
    friction, lost, normal = voraus.load([path]).test
    assert friction.table.labels.all()
    assert not normal.table.labels.any()
    assert (friction.category, lost.category, normal.category) == (
        "axis friction",
        "can lost",
        "normal",
    )
    (cause,) = friction.causes
    assert (cause["start"], cause["end"]) == (0, 60)
    assert "motor_torque_1" in cause["signals"]
    assert len(cause["signals"]) == 21
    assert lost.events[0].signals == ()
    assert normal.events == ()


def test_some_signals_only(path):
    dataset = voraus.load([path], signals=["motor_iq_2", "robot_voltage"])
    assert dataset.normal[0].table.values.shape == (55, 2)
    assert dataset.stages == {"robot": ("robot_voltage",), "axis 2": ("motor_iq_2",)}
    assert dataset.test[0].events[0].signals == ()  # none of axis 1 was loaded
    with pytest.raises(UnknownNameError, match="motor_iq_7"):
        voraus.load([path], signals=["motor_iq_7"])


def test_the_rate_is_told_by_the_times(tmp_path):
    fast = tmp_path / "some.parquet"
    frame(rate=500).write_parquet(fast)
    assert "at 500 Hz" in voraus.load([fast]).version
    frame(rate=50).write_parquet(fast)
    assert "an unpublished rate" in voraus.load([fast]).version


def test_every_category_and_axis_is_known():
    assert len(voraus.CATEGORIES) == 13
    assert len(voraus.SIGNALS) == len(set(voraus.SIGNALS)) == 130
    assert set(voraus.AXIS_OF_SETTING) == {*range(32), *range(62, 69)}


def with_column(name, value):
    return lambda table: table.with_columns(pl.lit(value).alias(name))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop("motor_iq_3"), "lacks the columns motor_iq_3"),
        (lambda t: t.drop("sample", "setting"), "lacks the columns sample, setting"),
        (lambda t: t.filter(pl.col("setting") != 72), "no samples to learn from"),
        (lambda t: t.filter(pl.col("setting") == 72), "no samples to test on"),
        (with_column("category", 40), "has category 40"),
        (with_column("anomaly", value=False), "but labelled normal"),
        (
            lambda t: t.with_columns(pl.int_range(pl.len()).alias("setting")),
            "more than one category or setting",
        ),
        (with_column("robot_voltage", "high"), "'robot_voltage' of wrong.parquet holds no numbers"),
        (lambda t: t.select("time", "sample"), "not a file of voraus-AD"),
    ],
)
def test_wrong_files_get_one_clear_sentence(tmp_path, change, words):
    wrong = tmp_path / "wrong.parquet"
    change(frame()).write_parquet(wrong)
    with pytest.raises(TableError, match=words):
        voraus.load([wrong])


def test_a_file_cut_short_and_two_files(path, tmp_path):
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        voraus.load([cut])
    with pytest.raises(TableError, match="2 tables were found; name one"):
        voraus.load([cut, path])


@pytest.mark.data
def test_the_published_sample(data_folder):
    dataset = voraus.load([data_folder / "voraus"])
    assert "at 100 Hz, a part of it" in dataset.version
    assert [one.name for one in dataset.normal] == ["sample_755", "sample_1702"]
    assert [len(one.table) for one in dataset.normal] == [100, 99]
    assert [(one.name, truth) for one, truth in voraus.samples(dataset)] == [
        ("sample_12", True),
        ("sample_1703", False),
    ]
    assert dataset.test[0].category == "axis friction"
    assert "motor_torque_1" in dataset.test[0].events[0].signals
    assert np.isfinite(dataset.test[0].table.values).all()
