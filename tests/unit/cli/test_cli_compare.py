"""``causewatch compare``: detectors side by side."""

from __future__ import annotations

import json

import polars as pl
import pytest
from tests.unit.cli.test_cli_evaluate import EVENTS

from causewatch.cli import main


@pytest.fixture
def files(plant, tmp_path):
    """Normal operation, a recording with faults, and what they are."""
    causes = tmp_path / "causes.json"
    causes.write_text(json.dumps(EVENTS))
    return [str(plant.test.with_name("normal.csv")), str(plant.test), "--causes", str(causes)]


def test_the_bounds_are_where_they_belong(files, tmp_path, capsys):
    names = "default,var,random,always_on,switch"
    assert main(["compare", *files, "--detectors", names, "--json"]) == 0
    told = {row["name"]: row for row in json.loads(capsys.readouterr().out)["detectors"]}
    assert list(told) == names.split(",")
    base = 110 / 700
    for name in ("always_on", "switch"):
        assert told[name]["events_detected"] == 0  # nothing is raised while an event lasts
        assert told[name]["precision"] == pytest.approx(base)
        assert told[name]["false_alarm_time_share"] == 1.0
    assert told["random"]["vus_pr"] < 2.5 * base
    assert told["default"]["events_detected"] == 2
    assert told["default"]["vus_pr"] > 0.6
    assert told["default"]["learn_s"] > 0.0
    assert told["default"]["step_ms_mean"] > 0.0


def test_for_people(files, tmp_path, capsys):
    page = tmp_path / "compared.html"
    assert main(["compare", *files, "--detectors", "own_past,random", "--report", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "own_past" in shown
    assert "VUS-PR" in shown
    assert "own_past" in page.read_text()


def test_what_cannot_learn_does_not_keep_others_from_it(files, capsys):
    """Random systems have no main frequencies: the published rule may give no lag at all."""
    assert main(["compare", *files, "--detectors", "paper,random", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    names = {row["name"] for row in told["detectors"]} | set(told["refused"])
    assert names == {"paper", "random"}


def test_rows_of_the_normal_recording_that_are_labelled_are_not_learnt(files, tmp_path, capsys):
    rows = pl.read_csv(files[0])
    wild = pl.int_range(pl.len()).is_between(1000, 1099)
    rows = rows.with_columns(label=wild.cast(pl.Int8), S02=pl.col("S02") + 99.0 * wild)
    labelled = tmp_path / "labelled.csv"
    rows.write_csv(labelled)
    test = tmp_path / "test.csv"
    off = pl.int_range(pl.len()).is_between(200, 260)
    pl.read_csv(files[1]).with_columns(label=off.cast(pl.Int8)).write_csv(test)
    call = ["compare", str(labelled), str(test), *files[2:], "--detectors", "default"]
    said = "Rows labelled anomalous, left out: 100 of 3,000 (3.3%)."
    assert main([*call, "--labels", "label"]) == 0
    assert said in capsys.readouterr().err
    assert main([*call, "--ignore", "label"]) == 0
    assert said not in capsys.readouterr().err


def test_the_list(capsys):
    assert main(["compare", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "own_past" in shown
    assert "causewatch[baselines]" in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--detectors", "magic"], "magic"),
        (["--detectors", "pca,pca"], "once"),
        (["--detectors", ","], "once"),
        (["--every", "1d"], "1 d"),
        (["--false-alarm-every", "never"], "'never' is not a duration"),
    ],
)
def test_what_makes_no_sense_gets_one_sentence(files, capsys, arguments, says):
    assert main(["compare", *files, *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.strip().splitlines()) == 1
