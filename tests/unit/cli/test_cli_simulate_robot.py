"""``causewatch simulate robot``."""

from __future__ import annotations

import json

import polars as pl
import pytest

from causewatch.cli import main


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot") / "data"
    asked = ["--rows", "600", "--test-rows", "1500", "--attacks", "led,wheels", "--seed", "3"]
    assert main(["simulate", "robot", "--out", str(folder), *asked]) == 0
    return folder


def test_files_hold_what_the_help_says(written):
    normal, test = (pl.read_csv(written / f"{name}.csv") for name in ("normal", "test"))
    causes = json.loads((written / "causes.json").read_text())
    assert (normal.shape, test.shape) == ((600, 256), (1500, 257))
    assert test.columns[-1] == "label"
    assert normal["time"][:2].to_list() == ["2026-01-01T00:00:00.000", "2026-01-01T00:00:00.100"]
    assert test["time"][0] == "2026-01-01T00:01:00.000"
    assert [one["name"] for one in causes] == ["led", "wheels"]
    marked = [k for one in causes for k in range(one["start"], one["end"])]
    assert test.with_row_index().filter(pl.col("label") == 1)["index"].to_list() == marked
    assert all(set(one["signals"]) <= set(normal.columns) for one in causes)


def test_files_are_not_overwritten_by_mistake(written, capsys):
    assert main(["simulate", "robot", "--out", str(written)]) == 2
    assert "--force" in capsys.readouterr().err


def test_an_unknown_attack_is_refused(tmp_path, capsys):
    assert main(["simulate", "robot", "--out", str(tmp_path), "--attacks", "arms"]) == 2
    said = capsys.readouterr().err
    assert "'arms'" in said
    assert "joints" in said
    assert not any(tmp_path.iterdir())


def test_json(tmp_path, capsys):
    asked = ["--rows", "50", "--test-rows", "60", "--attacks", "none", "--json"]
    assert main(["simulate", "robot", "--out", str(tmp_path / "r"), *asked]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["signals"]) == 255
    assert told["causes"] == []
