"""``causewatch simulate random``: the files it writes and what it refuses."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from causewatch.cli import main
from causewatch.graph import CausalGraph
from causewatch.simulate import FAULT_KINDS, SYSTEM_KINDS, random_system

FILES = ["causes.json", "graph.json", "normal.csv", "test.csv"]


def simulate(out: Path, *more: str) -> int:
    return main(
        ["simulate", "random", "--out", str(out), "--rows", "300", "--test-rows", "900", *more]
    )


def test_files_agree_with_each_other(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    assert simulate(out, "--seed", "3", "--signals", "6") == 0
    assert sorted(path.name for path in out.iterdir()) == FILES
    normal = pl.read_csv(out / "normal.csv", try_parse_dates=True)
    test = pl.read_csv(out / "test.csv", try_parse_dates=True)
    signals = [f"S{k:02d}" for k in range(1, 7)]
    assert normal.columns == ["time", *signals]
    assert test.columns == ["time", *signals, "label"]
    start = datetime(2026, 1, 1)
    assert normal["time"].to_list() == [start + timedelta(seconds=k) for k in range(300)]
    assert test["time"].to_list() == [start + timedelta(seconds=300 + k) for k in range(900)]

    causes = json.loads((out / "causes.json").read_text(encoding="utf-8"))
    assert [set(cause) for cause in causes] == [{"name", "start", "end", "signals"}] * 9
    assert {cause["name"].split()[0] for cause in causes} == set(FAULT_KINDS)
    truth = np.zeros(900, dtype=int)
    for cause in causes:
        truth[cause["start"] : cause["end"]] = 1
    np.testing.assert_array_equal(test["label"].to_numpy(), truth)

    graph = CausalGraph.from_dict(json.loads((out / "graph.json").read_text(encoding="utf-8")))
    assert graph == random_system(6, seed=3).graph


def test_numbers_keep_single_precision_and_dropouts_are_empty(tmp_path: Path) -> None:
    assert simulate(tmp_path, "--attacks", "dropout", "--kind", "binary", "--seed", "1") == 0
    seed = int(np.random.SeedSequence(1).generate_state(2)[0])
    exact = random_system(kind="binary", seed=1).simulate(300, seed=seed).values
    normal = pl.read_csv(tmp_path / "normal.csv")
    read = normal.drop("time").to_numpy().astype(np.float32)
    np.testing.assert_array_equal(read, exact.astype(np.float32))
    assert normal["A01"].dtype == pl.Int64
    [cause] = json.loads((tmp_path / "causes.json").read_text(encoding="utf-8"))
    test = pl.read_csv(tmp_path / "test.csv")
    missing = np.flatnonzero(test[cause["signals"][0]].is_null().to_numpy())
    np.testing.assert_array_equal(missing, np.arange(cause["start"], cause["end"]))
    assert sum(test.null_count().row(0)) == len(missing)


@pytest.mark.parametrize("kind", SYSTEM_KINDS)
def test_same_options_same_files(kind: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert simulate(tmp_path / name, "--kind", kind, "--links", "12", "--max-lag", "2") == 0
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_attacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def names(attacks: str, *more: str) -> list[str]:
        assert simulate(tmp_path, "--attacks", attacks, "--force", "--json", *more) == 0
        causes = json.loads(capsys.readouterr().out)["causes"]
        return sorted(cause["name"].split()[0] for cause in causes)

    assert names("none") == []
    assert names("bias, stuck,bias") == ["bias", "bias", "stuck"]
    assert names("all") == sorted(FAULT_KINDS)
    assert "broken_link" not in names("all", "--links", "0")


def test_json_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(tmp_path, "--json", "--seed", "2") == 0
    shown = capsys.readouterr()
    result = json.loads(shown.out)
    assert shown.err == ""
    assert [Path(file).name for file in result["files"]] == [
        "normal.csv",
        "test.csv",
        "causes.json",
        "graph.json",
    ]
    assert (result["rows"], result["test_rows"], result["seed"]) == (300, 900, 2)
    assert len(result["signals"]) == 10
    assert result["causes"] == json.loads((tmp_path / "causes.json").read_text(encoding="utf-8"))


def test_existing_files_need_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "causes.json").write_text("mine", encoding="utf-8")
    assert simulate(tmp_path) == 2
    assert "causes.json' exists already; use --force" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["causes.json"]
    assert simulate(tmp_path, "--force") == 0
    assert (tmp_path / "causes.json").read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--attacks", "biass"], "Did you mean 'bias'?"),
        (["--attacks", ""], "Available: all, none, mechanism"),
        (["--kind", "cubic"], "Available: linear, nonlinear"),
        (["--signals", "0"], "at least 1 signal"),
        (["--links", "1000"], "0 to 90 links"),
        (["--max-lag", "0"], "must be 1 or more"),
        (["--seed", "-1"], "0 or larger"),
        (["--test-rows", "100"], "9 faults need at least 180 rows"),
        (["--rows", "-5"], "at least 1 row"),
    ],
)
def test_bad_settings_write_nothing(
    more: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(tmp_path / "out", *more) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert simulate(tmp_path / "file") == 2
    assert "file': File exists." in capsys.readouterr().err


def test_help_says_everything(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["simulate", "random", "--help"]) == 0
    text = capsys.readouterr().out
    for word in (*FAULT_KINDS, *SYSTEM_KINDS, "[default: 20000]", "Examples:", *FILES):
        assert word in text
