"""Links that are given: the files they come in, and the model fitted on them."""

from __future__ import annotations

import numpy as np
import pytest
from test_discoverers import chain, discover

import causewatch as cw
from causewatch.discovery import GivenGraph, read_links
from causewatch.errors import KnowledgeError, SettingError, UnknownNameError
from causewatch.graph import CausalGraph, Link, Strength

LINKS = frozenset({Link("x0", "x1", 1), Link("x1", "x2", 2), Link("x2", "x2", 1)})


def test_links_are_taken_and_given_their_partial_correlation():
    values = chain()
    graph = discover(GivenGraph(LINKS), values)
    assert set(graph) == LINKS
    assert graph[Link("x0", "x1", 1)].value > 0.5
    assert graph[Link("x0", "x1", 1)].p_value < 1e-9
    # The windows of lag 2: x2 now, x1 two ticks ago, and their causes.
    effect, cause = values[4:, 2], values[2:-2, 1]
    given = np.column_stack([np.ones(len(effect)), values[3:-1, 2], values[1:-3, 0]])
    left = [c - given @ np.linalg.lstsq(given, c, rcond=None)[0] for c in (effect, cause)]
    expected = np.corrcoef(*left)[0, 1]
    assert graph[Link("x1", "x2", 2)].value == pytest.approx(expected, abs=1e-9)


def test_a_model_has_these_links_and_no_other():
    model = cw.learn(chain(), every=1.0, max_lag=2, method=GivenGraph(LINKS))
    assert set(model.graph) == LINKS
    assert set(model.mechanisms["x0"].coefficients) == set()
    assert model.mechanisms["x1"].coefficients[Link("x0", "x1", 1)] == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("suffix", [".json", ".gml", ".dot"])
def test_what_the_program_writes_is_read(tmp_path, suffix):
    names = ("x0", 'a "quoted" name', "LIT 301", "µ")
    links = {
        Link("x0", "LIT 301", 3): Strength(0.5, 0.0),
        Link('a "quoted" name', "µ", 1): Strength(-0.2, 0.01),
        Link("µ", "µ", 12): Strength(0.9, 0.0),
    }
    graph = CausalGraph(names, links)
    path = tmp_path / f"graph{suffix}"
    text = {".json": graph.to_json, ".gml": graph.to_gml, ".dot": graph.to_dot}[suffix]()
    path.write_text(text, encoding="utf-8")
    assert read_links(path) == frozenset(links)


@pytest.mark.parametrize(
    "text",
    [
        "source,target,lag\nx0,x1,1\nx1,x2,2\nx2,x2,1\n",
        "Target;Source;Lag;note\nx1;x0;1;a\nx2;x1;2;b\nx2;x2;;c\n",
        "\ufeffsource,target,lag\r\nx0, x1 ,1\r\nx1,x2, 2\r\nx2,x2,1\r\n",
    ],
)
def test_tables_of_edges(tmp_path, text):
    path = tmp_path / "edges.csv"
    path.write_text(text, encoding="utf-8")
    assert read_links(path) == LINKS


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", r"must end in \.csv, \.json, \.gml, \.dot"),
        ("a.csv", "from,to\na,b\n", "needs the columns source, target and lag"),
        ("a.csv", "", "needs the columns source, target and lag"),
        ("a.csv", "source,target,lag\n", "holds no link"),
        ("a.csv", "source,target,lag\na,,1\n", "lacks its source or target"),
        ("a.csv", "source,target,lag\na,b,soon\n", "The lag of a → b is 'soon'"),
        ("a.csv", "source,target,lag\na,b,0\n", "a cause must lie at least a tick before"),
        ("a.json", "[1]", "is not understood"),
        ("a.gml", "nonsense", "is not understood"),
        ("a.dot", "digraph { a; }", "holds no link"),
        ("a.dot", "digraph {\na -> b -> c\n}", "Line 2 of the graph file is not one link"),
        ("a.dot", "digraph {\n// a -> b\n}", "Line 2 of the graph file is not one link"),
        ("a.dot", "digraph {\na-1 -> b\n}", "Line 2 of the graph file is not one link"),
        ("a.dot", "digraph {\na -> {b c}\n}", "Line 2 of the graph file is not one link"),
        ("a.dot", "digraph {\na -> b [lag=2.7]\n}", "no lag in whole ticks"),
        ("a.dot", "digraph {\na -> b [lag=-2]\n}", "no lag in whole ticks"),
        ("a.dot", 'digraph {\na -> b [label="10 min"]\n}', "no lag in whole ticks"),
        ("a.dot", "a" * 200_000 + " -> b", "Line 1 of the graph file is not one link"),
        ("a.csv", "source,target,lag\na,b," + "9" * 5000 + "\n", "that is too long"),
    ],
)
def test_what_is_no_graph_says_so(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KnowledgeError, match=message):
        read_links(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(KnowledgeError, match="cannot be read: No such file"):
        read_links(tmp_path / "none.csv")


def test_links_that_the_recording_does_not_have():
    with pytest.raises(UnknownNameError, match="no signal in the model 'flow'"):
        discover(GivenGraph(frozenset({Link("flow", "x1", 1)})), chain())
    with pytest.raises(SettingError, match="give --max-lag 7"):
        discover(GivenGraph(frozenset({Link("x0", "x1", 7)})), chain())


def test_the_graph_that_was_found_gives_the_same_model(tmp_path):
    values = chain()
    first = cw.learn(values, every=1.0, max_lag=2)
    path = tmp_path / "graph.json"
    path.write_text(first.graph.to_json(), encoding="utf-8")
    again = cw.learn(values, every=1.0, max_lag=2, method=GivenGraph(read_links(path)))
    for name in first.signals:
        assert again.mechanisms[name].coefficients == first.mechanisms[name].coefficients
