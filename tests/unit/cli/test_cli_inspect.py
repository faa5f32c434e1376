"""``causewatch inspect``: what a model knows, and its graph as a file."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import causewatch as cw
from causewatch.cli import main
from causewatch.explain.picture import SUFFIXES

NAMES = ("P101", "LIT101", "FIT201", "lonely")


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    """A model file: P101 drives LIT101, LIT101 drives FIT201."""
    values = np.random.default_rng(1).normal(size=(1500, 4))
    values[1:, 1] += 0.9 * values[:-1, 0]
    values[2:, 2] -= 0.9 * values[:-2, 1]
    known = cw.Knowledge.from_dict(
        {
            "groups": {"Stage 1": ["P101", "LIT101"], "Stage 2": ["FIT201"]},
            "roles": {"P*": "actuator"},
            "units": {"LIT101": "mm"},
            "labels": {"LIT101": "raw-water level"},
            "required": ["lonely -> P101 (1)"],
        }
    )
    table = pl.DataFrame({name: values[:, k] for k, name in enumerate(NAMES)})
    path = tmp_path_factory.mktemp("model") / "plant.cwm"
    cw.learn(table, knowledge=known, max_lag=2).save(path)
    return path


def inspect(*arguments):
    return main(["inspect", *map(str, arguments)])


def sentence(shown):
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert len(lines) == 1, shown.err
    assert lines[0].startswith("causewatch: ")
    assert lines[0].endswith(".")
    return lines[0]


def test_a_model_is_described(plant, capsys):
    assert inspect(plant) == 0
    shown = capsys.readouterr().out
    model = cw.load(plant)
    assert "1,500 rows, row 0 to row 1499" in shown
    assert "4 in the model" in shown
    assert f"Links      {len(model.graph)}" in shown
    assert model.preprocessing.reason in shown
    rows = [line.split() for line in shown.splitlines()]
    assert ["P101", "LIT101", "1"] in [row[:3] for row in rows]
    assert ["LIT101", "FIT201", "2"] in [row[:3] for row in rows]


def test_one_signal(plant, capsys):
    assert inspect(plant, "--signal", "LIT101") == 0
    shown = capsys.readouterr().out
    model = cw.load(plant)
    link = cw.Link("P101", "LIT101", 1)
    assert shown.startswith("LIT101 (raw-water level, Stage 1)\n")
    assert f"± {model.scale['LIT101']:.3g} mm" in shown
    assert f"explain {model.mechanisms['LIT101'].explained:.1%} of its variance" in shown
    caused, acts = shown.split("Acts on")
    assert f"P101 →(1 row) LIT101   strength {model.graph[link].value:+.2f}" in caused
    assert f"coefficient {model.mechanisms['LIT101'].coefficients[link]:.6g}" in caused
    assert "LIT101 →(2 rows) FIT201" in acts


def test_one_signal_as_json(plant, capsys):
    assert inspect(plant, "--signal", "LIT101", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["signal"] == "LIT101"
    assert {row["target"] for row in said["causes"]} <= {"LIT101"}
    assert all(row["source"] == "LIT101" != row["target"] for row in said["effects"])
    model = cw.load(plant)
    assert len(said["causes"]) == len(model.graph.parents("LIT101"))


def test_a_signal_without_causes_or_effects(plant, capsys):
    assert inspect(plant, "--signal", "lonely") == 0
    shown = capsys.readouterr().out
    model = cw.load(plant)
    assert ("Caused by nothing in the model" in shown) == (not model.graph.parents("lonely"))
    assert inspect(plant, "--signal", "FIT201") == 0
    assert "Acts on nothing in the model" in capsys.readouterr().out


def test_json_is_the_model(plant, capsys):
    assert inspect(plant, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    model = cw.load(plant)
    assert said["signals"] == list(NAMES)
    assert len(said["links"]) == len(model.graph)
    assert {row["signal"]: row["spread"] for row in said["mechanisms"]} == {
        name: one.spread for name, one in model.mechanisms.items()
    }
    assert said["report"] == [one.to_dict() for one in model.report]
    assert said["provenance"]["created"] == model.provenance.created


def test_links_and_notes(plant, capsys):
    assert inspect(plant, "--links", "1") == 0
    assert "weaker links are not shown" in capsys.readouterr().out
    assert inspect(plant, "--links", "0") == 0
    assert "ticks later" not in capsys.readouterr().out
    assert inspect(plant, "--notes", "-v") == 0
    shown = capsys.readouterr().out
    for one in cw.load(plant).report:
        assert one.text in shown


def checked(path):
    """The text of a graph file, after a look at whether it is what its suffix says."""
    data = path.read_bytes()
    if path.suffix == ".png":
        assert data.startswith(b"\x89PNG")
        return ""
    text = data.decode()
    if path.suffix == ".svg":
        ElementTree.fromstring(text)
    elif path.suffix == ".html":
        assert "<html" in text
    elif path.suffix == ".gml":
        assert text.startswith("graph [")
    elif path.suffix == ".dot":
        assert text.startswith("digraph")
    else:
        assert json.loads(text)["signals"] == list(NAMES)
    return text


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_graph_is_drawn(plant, tmp_path, suffix, capsys):
    assert len(SUFFIXES) == 6
    path = tmp_path / f"graph{suffix}"
    assert inspect(plant, "--graph", path) == 0
    assert f"Graph      {path}" in capsys.readouterr().out
    text = checked(path)
    if suffix != ".png":
        assert "FIT201" in text
    if suffix in (".svg", ".html"):
        assert "raw-water level" in text
    assert list(tmp_path.iterdir()) == [path]
    before = path.read_bytes()
    assert inspect(plant, "--graph", path) == 2
    assert "use --force" in sentence(capsys.readouterr())
    assert inspect(plant, "--graph", path, "--force", "--json") == 0
    json.loads(capsys.readouterr().out)
    assert path.read_bytes() == before


def test_min_strength_hides_weak_links(plant, tmp_path):
    some, none = tmp_path / "some.svg", tmp_path / "none.svg"
    assert inspect(plant, "--graph", some, "--min-strength", "0.3") == 0
    assert inspect(plant, "--graph", none, "--min-strength", "1") == 0
    assert some.read_bytes() != none.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{folder}/none.cwm"], "There is no file 'none.cwm'"),
        (["{folder}"], "folder"),
        (["{damaged}"], "damaged.cwm"),
        (["{plant}", "--signal", "LIT102"], "no signal 'LIT102'. Did you mean 'LIT101'"),
        (["{plant}", "--graph", "{folder}/graph.jpg"], "found '.jpg', expected one of .svg, .png"),
        (["{plant}", "--graph", "{folder}/graph"], "no suffix"),
        (["{plant}", "--graph", "{folder}/no/graph.svg"], "graph.svg"),
        (["{plant}", "--min-strength", "2"], "Invalid value for '--min-strength'"),
        (["{plant}", "--links", "-2"], "Invalid value for '--links'"),
        ([], "Missing argument 'MODEL.cwm'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(arguments, words, plant, tmp_path, capsys):
    folder = tmp_path / "folder"
    folder.mkdir()
    damaged = tmp_path / "damaged.cwm"
    damaged.write_bytes(plant.read_bytes()[:-40])
    filled = [one.format(plant=plant, folder=folder, damaged=damaged) for one in arguments]
    assert inspect(*filled) == 2
    assert words in sentence(capsys.readouterr())
    assert list(folder.iterdir()) == []
