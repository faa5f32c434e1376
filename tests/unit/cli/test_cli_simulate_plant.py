"""``causewatch simulate plant``: the files it writes and what it refuses."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from causewatch.cli import main
from causewatch.simulate import (
    PAPER_ATTACKS,
    PLANT_ATTACKS,
    PLANT_CHANGES,
    WaterPlant,
    plant_attacks,
    plant_life,
    sparse_attacks,
)
from causewatch.simulate.plant.tags import TAGS

FILES = ["causes.json", "normal.csv", "test.csv"]
SIZE = ("--rows", "300", "--test-rows", "3100")


def simulate(out: Path, *more: str) -> int:
    return main(["simulate", "plant", "--out", str(out), *SIZE, *more])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plant") / "new" / "folder"
    assert simulate(out, "--seed", "3", "--attacks", "2") == 0
    return out


def test_files_agree_with_each_other(written: Path) -> None:
    assert sorted(path.name for path in written.iterdir()) == FILES
    normal = pl.read_csv(written / "normal.csv", try_parse_dates=True)
    test = pl.read_csv(written / "test.csv", try_parse_dates=True)
    assert normal.columns == ["time", *TAGS]
    assert test.columns == ["time", *TAGS, "label"]
    start = datetime(2026, 1, 1)
    assert normal["time"].to_list() == [start + timedelta(seconds=k) for k in range(300)]
    assert test["time"].to_list() == [start + timedelta(seconds=300 + k) for k in range(3100)]
    (cause,) = json.loads((written / "causes.json").read_text(encoding="utf-8"))
    (placed,) = plant_attacks(3100, ["2"], 3)
    assert cause == {
        "name": "2",
        "start": placed.start,
        "end": placed.end,
        "signals": ["P102"],
        "description": PLANT_ATTACKS["2"].description,
    }
    truth = np.zeros(3100, dtype=int)
    truth[cause["start"] : cause["end"]] = 1
    np.testing.assert_array_equal(test["label"].to_numpy(), truth)
    assert (test["P102"].to_numpy()[cause["start"] + 1 : cause["end"] + 1] == 2).all()


def test_they_hold_every_digit_of_the_plant(written: Path) -> None:
    first = int(np.random.SeedSequence(3).generate_state(2)[0])
    run = WaterPlant(first).simulate(300, start_up=True)
    normal = pl.read_csv(written / "normal.csv")
    np.testing.assert_allclose(normal.drop("time").to_numpy(), run.values, rtol=0, atol=1e-9)
    assert normal["LIT101"][0] < 200.0
    assert normal["MV101"].dtype == pl.Int64


def test_the_same_seed_writes_the_same_and_no_start_up_a_plant_in_operation(
    written: Path, tmp_path: Path
) -> None:
    assert simulate(tmp_path, "--seed", "3", "--attacks", "2", "--no-start-up") == 0
    for name in ("test.csv", "causes.json"):
        assert (tmp_path / name).read_bytes() == (written / name).read_bytes()
    normal = pl.read_csv(tmp_path / "normal.csv")
    assert normal["LIT101"][0] > 400.0
    assert (normal["P501"] == 2).all()


def test_json_tells_what_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(tmp_path, "--attacks", "none", "--json", "--test-rows", "60") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == [str(tmp_path / name) for name in ("normal.csv", "test.csv", FILES[0])]
    assert (said["rows"], said["test_rows"], said["seed"]) == (300, 60, 0)
    assert said["signals"] == list(TAGS)
    assert said["causes"] == said["did_not_take_place"] == []
    assert (tmp_path / "causes.json").read_text() == "[]\n"
    assert pl.read_csv(tmp_path / "test.csv")["label"].sum() == 0


def test_attacks_that_never_found_their_moment_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    never = replace(PLANT_ATTACKS["2"], waits_for=("P603", 2.0))
    monkeypatch.setitem(PLANT_ATTACKS, "2", never)
    assert simulate(tmp_path, "--attacks", "2") == 0
    out = capsys.readouterr().out
    assert "51 tags, 0 attacks." in out
    assert "What these attacks wait for did not happen: 2." in out


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("life")
    options = ("--seed", "3", "--test-rows", "33000", "--life", "--attacks-per-day", "4")
    assert simulate(out, *options) == 0
    return out


def test_life_is_told_and_labelled_normal(lived: Path) -> None:
    assert sorted(path.name for path in lived.iterdir()) == sorted([*FILES, "changes.json"])
    changes = json.loads((lived / "changes.json").read_text(encoding="utf-8"))
    life = plant_life(33_000, 3)
    assert changes == [
        {
            "name": change.name,
            "kind": change.intervention.kind,
            "start": change.start,
            "end": change.end,
            "signals": list(change.signals),
            "description": change.description,
        }
        for change in life
    ]
    causes = json.loads((lived / "causes.json").read_text(encoding="utf-8"))
    names = [attack.name for attack in sparse_attacks(33_000, 4, seed=3, life=life)]
    assert names
    assert [cause["name"] for cause in causes] == names
    test = pl.read_csv(lived / "test.csv")
    truth = np.zeros(33_000, dtype=int)
    for cause in causes:
        truth[cause["start"] : cause["end"]] = 1
    np.testing.assert_array_equal(test["label"].to_numpy(), truth)


def test_the_plant_that_is_learnt_from_has_no_life(lived: Path, written: Path) -> None:
    normal = (lived / "normal.csv").read_bytes()
    assert normal == (written / "normal.csv").read_bytes()


def test_no_account_of_changes_stays_beside_a_recording_without_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "changes.json").write_text("old")
    short = ("--attacks", "none", "--test-rows", "60")
    assert simulate(tmp_path, *short) == 2
    assert "exists already; use --force" in capsys.readouterr().err
    assert simulate(tmp_path, *short, "--force") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


def test_changes_without_room_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("--attacks", "none", "--test-rows", "22000", "--life")
    assert simulate(tmp_path, *command) == 0
    out = capsys.readouterr().out
    first, *others = PLANT_CHANGES
    assert "1 change in normal operation." in out
    assert f"no room in a recording so short: {', '.join(others)}." in out
    assert simulate(tmp_path, *command, "--force", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert [change["name"] for change in summary["changes"]] == [first]
    assert summary["changes_left_out"] == others
    assert summary["files"][-1] == str(tmp_path / "changes.json")


def test_the_list_has_every_attack(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "plant", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(PLANT_ATTACKS) + 1
    for line, one in zip(lines, PLANT_ATTACKS.values(), strict=False):
        assert line.split()[0].rstrip("*") == one.name
        assert ("*" in line) == (one.name in PAPER_ATTACKS)
        assert line.endswith(one.description)
    assert main(["simulate", "plant", "--list", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in said] == list(PLANT_ATTACKS)
    assert [one["name"] for one in said if one["paper"]] == list(PAPER_ATTACKS)
    assert said[0]["signals"] == ["MV101"]


def test_files_are_not_overwritten(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (written / "test.csv").read_bytes()
    assert simulate(written, "--attacks", "none") == 2
    assert "exists already; use --force" in capsys.readouterr().err
    assert (written / "test.csv").read_bytes() == before


def test_force_overwrites(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_text("old")
    assert simulate(tmp_path, "--attacks", "none", "--test-rows", "60", "--force") == 0
    assert "old" not in {(tmp_path / name).read_text() for name in FILES}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--attacks", "99"], "no attack '99'"),
        (["--attacks", "8,,9"], "no attack ''"),
        (["--attacks", "8"], "but the recording has"),
        (["--attacks", "paper", "--test-rows", "7200"], "9 attacks with pauses need 32,220 rows"),
        (["--rows", "0", "--attacks", "none"], "0 rows"),
        (["--seed", "-1", "--attacks", "none"], "-1"),
        (["--life", "--attacks", "none"], "at least 21,600 rows, but it has 3,000"),
        (["--attacks-per-day", "3", "--attacks", "none"], "none is named to draw from"),
        (["--attacks-per-day", "2.5"], "for '--attacks-per-day': write a whole number; see"),
        (["--attacks-per-day", "0"], "0 attacks a day were asked for; give 1 to 13"),
        (["--attacks-per-day", "3"], "needs 6,600"),
        (
            ["--attacks-per-day", "3", "--attacks", "8,17", "--life", "--test-rows", "97200"],
            "Every attack named is in a stage",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["simulate", "plant", "--out", str(tmp_path / "x"), "--test-rows", "3000", *options]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error
    assert not (tmp_path / "x").exists()


def test_it_has_to_be_told_where_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "plant"]) == 2
    assert "give --out DIR" in capsys.readouterr().err


def test_paper_means_the_nine_and_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {}

    def simulate_little(self: WaterPlant, rows: int, attacks=(), **_):  # type: ignore[no-untyped-def]
        asked[rows] = [attack.name for attack in attacks]
        return WaterPlant.__dict__["real"](self, 30, start_up=True)

    monkeypatch.setattr(WaterPlant, "real", WaterPlant.simulate, raising=False)
    monkeypatch.setattr(WaterPlant, "simulate", simulate_little)
    command = ["simulate", "plant", "--out", str(tmp_path), "--attacks", "paper", "--rows", "30"]
    assert main(command) == 0
    assert asked == {30: [], 172_800: list(PAPER_ATTACKS)}
    assert "did not happen: 8, 17" in capsys.readouterr().out


def test_changes_of_an_earlier_recording_go_only_when_the_new_one_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = tmp_path / "changes.json"
    changes.write_text("[]")
    (tmp_path / "test.csv").mkdir()
    assert simulate(tmp_path, "--force") == 2
    assert "test.csv' is a folder; name another place" in capsys.readouterr().err
    assert changes.read_text() == "[]"
    (tmp_path / "test.csv").rmdir()
    (tmp_path / "normal.csv").symlink_to("/dev/full")
    assert simulate(tmp_path, "--force", "--attacks", "2") == 2
    assert changes.read_text() == "[]"
    (tmp_path / "normal.csv").unlink()
    assert simulate(tmp_path, "--force", "--attacks", "2") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


def test_nothing_is_simulated_where_changes_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "changes.json").mkdir()
    for more in ((), ("--life",)):
        assert simulate(tmp_path, "--force", *more) == 2
        assert "changes.json' is a folder" in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["changes.json"]
