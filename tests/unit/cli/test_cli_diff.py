"""``causewatch diff``: models and recordings, words, data and picture."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from causewatch.cli import main


@pytest.fixture
def run(capsys):
    """The command, its exit code and what it printed."""

    def call(*words):
        try:
            code = main([str(word) for word in words])
        except SystemExit as leaving:
            code = leaving.code
        printed = capsys.readouterr()
        return SimpleNamespace(exit_code=code or 0, stdout=printed.out, stderr=printed.err)

    return call


def write(path, seed, flow):
    random = np.random.default_rng(seed)
    values = random.normal(size=(1500, 2))
    values[1:, 1] += flow * values[:-1, 0]
    lines = [f"{t},{a:.6f},{b:.6f}" for t, (a, b) in enumerate(values)]
    path.write_text("time,pump,flow\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    return {
        name: write(folder / f"{name}.csv", seed, flow)
        for name, seed, flow in (("before", 1, 0.8), ("after", 2, 0.3), ("same", 3, 0.8))
    }


def test_two_recordings(run, files):
    result = run("diff", files["before"], files["after"])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("1 link changed (")
    assert "- the dependence of flow on pump after 1 s is weaker (" in result.stdout


def test_nothing_changed(run, files, tmp_path):
    picture = tmp_path / "none.svg"
    result = run("diff", files["before"], files["same"], "--graph", picture)
    assert result.stdout.startswith("Nothing changed (")
    assert result.stdout.rstrip().endswith(f"{picture} was not written.")
    assert not picture.exists()
    wrong = run("diff", files["before"], files["same"], "--graph", tmp_path / "none.exe")
    assert wrong.exit_code == 2
    assert "expected one of .svg" in wrong.stderr


def test_a_model_and_a_recording_as_data_and_picture(run, files, tmp_path):
    model, picture = tmp_path / "before.cwm", tmp_path / "changes.svg"
    assert run("learn", files["before"], "--out", model).exit_code == 0
    result = run("diff", model, files["after"], "--json", "--graph", picture)
    assert result.exit_code == 0, result.stderr
    (change,) = json.loads(result.stdout)["changes"]
    assert (change["source"], change["target"], change["kind"]) == ("pump", "flow", "weaker")
    assert "pump" in picture.read_text(encoding="utf-8")
    again = run("diff", model, files["after"], "--graph", picture)
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_a_file_that_is_not_there(run, files, tmp_path):
    result = run("diff", files["before"], tmp_path / "none.cwm")
    assert result.exit_code == 2
    assert "none.cwm" in result.stderr
