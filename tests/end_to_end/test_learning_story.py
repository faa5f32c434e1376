"""The story from a recording to a picture of causes, as a user would type it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import causewatch as cw
from causewatch.simulate import random_system

PROGRAM = [sys.executable, "-m", "causewatch"]


def run(*arguments, folder):
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_from_the_shell(tmp_path):
    run("simulate", "random", "--out", "data", "--rows", 4000, "--test-rows", 100, "--attacks",
        "none", "--seed", 5, folder=tmp_path)  # fmt: skip
    text = run("learn", "data/normal.csv", "--out", "plant.cwm", folder=tmp_path)
    assert "Saved      plant.cwm" in text
    assert "Traceback" not in text
    said = json.loads(
        run("inspect", "plant.cwm", "--json", "--graph", "plant.svg", folder=tmp_path)
    )
    assert (tmp_path / "plant.svg").read_text().startswith("<?xml")

    # The causes found are the causes that were built in.
    truth = random_system(10, seed=5).graph
    found = {cw.Link(row["source"], row["target"], row["lag"]) for row in said["links"]}
    strong = {link for link in truth if abs(truth[link].value) >= 0.2}
    assert set(said["signals"]) == set(truth.signals)
    assert len(strong & found) >= 0.9 * len(strong)
    assert len(found & set(truth)) >= 0.8 * len(found)

    # A program reads the same from the file.
    model = cw.load(tmp_path / "plant.cwm")
    assert set(model.graph) == found
    assert model.provenance.files[0]["name"] == "normal.csv"


@pytest.mark.data
def test_a_water_circuit(data_folder, tmp_path):
    """SKAB: a real testbed, with a separator, times and labels of its own."""
    path = data_folder / "skab" / "anomaly-free" / "anomaly-free.csv"
    model = cw.learn(path)
    assert 7 <= len(model.signals) <= 8
    assert model.interval == 1.0
    assert model.clock == "naive"
    assert 10 <= len(model.graph) <= 200
    model.save(tmp_path / "skab.cwm")
    cw.draw(cw.load(tmp_path / "skab.cwm").graph, tmp_path / "skab.svg")
    paper = cw.learn(path, preset="paper")
    assert (paper.preprocessing.step, paper.preprocessing.max_lag) == (1, 3)
    assert any(link.lag == 0 for link in paper.graph)


@pytest.mark.data
def test_a_chemical_process(data_folder):
    """Tennessee Eastman: 52 signals in 960 rows, so there is not much to rely on."""
    import numpy as np

    rows = np.loadtxt(data_folder / "tep" / "d00_te.dat")
    model = cw.learn(rows)
    assert len(model.signals) > 45
    assert {"enough_rows", "too_few_rows"} & {one.kind for one in model.report}
    # Flow controllers act on their own flow; the strongest links are of that sort.
    assert len(model.graph) > 52
