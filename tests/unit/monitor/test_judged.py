"""A run that judged hardly anything says so, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import causewatch as cw
from causewatch.cli import main
from causewatch.monitor import Monitor, too_little_judged
from causewatch.simulate import random_system

PLANT = random_system(4, seed=21)


def rows(count, apart, seed=23, **more):
    """Rows so many seconds apart."""
    values = PLANT.simulate(count, seed=seed).values
    times = np.datetime64("2026-01-01", "ms") + np.arange(count) * np.timedelta64(apart * 1000)
    columns = {name: values[:, k] for k, name in enumerate(PLANT.signals)}
    return pl.DataFrame({"time": times} | columns | more)


@pytest.fixture(scope="module")
def model():
    """Rows of a minute, ticks of five."""
    return cw.learn(rows(4000, 60, seed=22), every="5min", max_lag=2)


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "plant.cwm"
    model.save(path)
    return path


def test_a_run_that_judged_half_of_its_rows_is_as_it_should_be(model):
    assert too_little_judged(model, 100, 50) == ""
    assert too_little_judged(model, 100, 50, dropped=1).startswith("Only 50 of 101 rows")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rows": 0}, "there was no row"),
        ({"rows": 40, "dropped": 60}, "None of 100 rows could be judged: 60 could not be used"),
        (
            {"rows": 40, "apart": 600.0},
            "they are 10 min apart, and those the model was learnt from",
        ),
        ({"rows": 40, "apart": 60.0, "missing": ["S01"]}, "signals are missing (S01)"),
        ({"rows": 40, "apart": 60.0}, "too few ticks of 5 min follow each other"),
    ],
)
def test_the_reason_is_told(model, given, says):
    assert says in too_little_judged(model, judged=0, **given)


def test_without_times_rows_are_never_too_far_apart(model):
    counted = replace(model, clock="rows")
    assert "too few ticks" in too_little_judged(counted, 40, 0, apart=600.0)


def test_rows_are_counted_in_ticks(model):
    monitor = Monitor(model)
    seen = []
    for values, minute in zip(PLANT.simulate(11, seed=1).values, range(11), strict=True):
        seen.append(monitor.update(dict(zip(PLANT.signals, values, strict=True)), 60.0 * minute))
    assert [tick.rows for tick in seen if tick.complete] == [5, 5]
    assert sum(tick.rows for tick in seen) == 10


def test_rows_that_are_farther_apart_than_ticks(saved, tmp_path, capsys):
    path = tmp_path / "slow.csv"
    label = (np.arange(200) > 150).astype(int)
    rows(200, 600, label=label).write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S")
    why = "causewatch: None of 200 rows could be judged: they are 10 min apart, and those the model"
    assert main(["watch", str(saved), str(path)]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(why)
    for more in ([], ["--json"]):
        assert main(["evaluate", str(saved), str(path), "--labels", "label", *more]) == 1
        shown = capsys.readouterr()
        assert shown.err.splitlines()[-1].startswith(why)
        assert shown.out


def test_most_rows_are_dropped(saved, tmp_path, capsys):
    path = tmp_path / "garbage.csv"
    rows(300, 60).write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S")
    path.write_text(path.read_text() + "garbage\n" * 400)
    assert main(["watch", str(saved), str(path), "--json"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(
        "causewatch: Only 295 of 700 rows could be judged: 400 could not be used"
    )


def test_a_run_that_goes_on_may_be_short(saved, tmp_path, capsys):
    path = tmp_path / "log.csv"
    rows(300, 60).write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S")
    lines = path.read_text().splitlines(keepends=True)
    for stop in (1, 4, 200, 203, 203, 301):
        path.write_text("".join(lines[:stop]))
        assert main(["watch", str(saved), str(path), "--state", str(tmp_path / "state")]) == 0
    assert "could be judged" not in capsys.readouterr().err
