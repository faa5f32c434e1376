"""Links and graphs: order, neighbours, exports."""

from __future__ import annotations

import json
import re

import networkx as nx
import pytest

from causewatch.errors import UnknownNameError
from causewatch.graph import CausalGraph, Link, Strength

ODD_NAMES = (
    "plain",
    "two words",
    'quo"te',
    "back\\slash",
    "ends in \\",
    "Füllstand →(1) °C",
    "&amp; &lt; <b>",
    "[0] {x};",
    "-> }",
    "12",
    "1.5",
    "NaN",
    "#comment",
    "日本",
)


def graph_of(names, *links):
    return CausalGraph(names, {Link(*link[:3]): Strength(*link[3:]) for link in links})


@pytest.fixture
def graph():
    return graph_of(
        ["level", "pump", "valve"],
        ("valve", "level", 2, -0.5, 1e-6),
        ("level", "level", 1, 0.9, 1e-300),
        ("pump", "level", 1, 0.7, 0.0),
        ("level", "pump", 1, -0.2, 0.04),
        ("valve", "level", 1, 0.1, 0.01),
        ("level", "level", 3, -0.3, 0.02),
    )


@pytest.fixture
def odd():
    """Odd names in a ring, with two links between each pair."""
    ring = list(zip(ODD_NAMES, ODD_NAMES[1:] + ODD_NAMES[:1], strict=True))
    return graph_of(
        ODD_NAMES,
        *[(a, b, 1, 0.25, 1e-5) for a, b in ring],
        *[(a, b, 2, -1.0, 5e-324) for a, b in ring],
        *[(a, a, 0, 1e-7, 1.0) for a in ODD_NAMES[:2]],
    )


def test_a_link_prints_itself():
    link = Link("P101", "LIT301", 2)
    assert str(link) == "P101 →(2) LIT301"
    assert not link.is_auto
    assert Link("a", "a", 1).is_auto
    assert len({link, Link("P101", "LIT301", 2)}) == 1
    with pytest.raises(AttributeError):
        link.lag = 3


def test_links_are_ordered_by_target_source_and_lag(graph):
    assert [(k.target, k.source, k.lag) for k in graph] == [
        ("level", "level", 1),
        ("level", "level", 3),
        ("level", "pump", 1),
        ("level", "valve", 1),
        ("level", "valve", 2),
        ("pump", "level", 1),
    ]


def test_the_order_links_arrive_in_does_not_matter(graph):
    backwards = CausalGraph(graph.signals, dict(reversed(list(graph.links.items()))))
    assert backwards == graph
    assert hash(backwards) == hash(graph)
    assert list(backwards) == list(graph)


def test_graphs_that_differ_are_not_equal(graph):
    assert graph != graph.filtered(0.15)
    assert graph != CausalGraph(reversed(graph.signals), graph.links)
    weaker = {**graph.links, Link("pump", "level", 1): Strength(0.6, 0.0)}
    assert graph != CausalGraph(graph.signals, weaker)
    assert graph != "graph"


def test_it_is_a_collection_of_links(graph):
    link = Link("pump", "level", 1)
    assert len(graph) == 6
    assert link in graph
    assert Link("pump", "level", 2) not in graph
    assert graph[link] == Strength(0.7, 0.0)
    assert repr(graph) == "CausalGraph(3 signals, 6 links)"
    with pytest.raises(KeyError):
        graph[Link("pump", "level", 2)]


def test_it_cannot_be_changed(graph):
    with pytest.raises(TypeError):
        graph.links[Link("pump", "level", 1)] = Strength(0.0, 1.0)


def test_it_does_not_follow_changes_of_what_it_was_made_from():
    links = {Link("a", "b", 1): Strength(0.5, 0.0)}
    graph = CausalGraph(["a", "b"], links)
    links.clear()
    assert len(graph) == 1


def test_parents_and_children_come_strongest_first(graph):
    assert [(k.source, k.lag) for k in graph.parents("level")] == [
        ("level", 1),
        ("pump", 1),
        ("valve", 2),
        ("level", 3),
        ("valve", 1),
    ]
    assert [(k.target, k.lag) for k in graph.children("level")] == [
        ("level", 1),
        ("level", 3),
        ("pump", 1),
    ]
    assert graph.parents("valve") == []
    assert graph.children("pump") == [Link("pump", "level", 1)]


def test_auto_value_is_the_strongest_own_link(graph):
    assert graph.auto_value("level") == 0.9
    assert graph.auto_value("pump") == 0.0
    falling = graph_of("a", ("a", "a", 1, 0.2, 0.0), ("a", "a", 2, -0.4, 0.0))
    assert falling.auto_value("a") == -0.4


def test_filtered_keeps_what_is_above_the_strength_and_among_the_signals(graph):
    assert [abs(s.value) for s in graph.filtered(0.5).links.values()] == [0.9, 0.7]
    part = graph.filtered(signals=["valve", "level"])
    assert part.signals == ("valve", "level")
    assert {k.source for k in part} == {"valve", "level"}
    assert len(part) == 4
    assert graph.filtered() == graph


@pytest.mark.parametrize(
    "action",
    [
        lambda graph: graph.parents("levle"),
        lambda graph: graph.children("levle"),
        lambda graph: graph.auto_value("levle"),
        lambda graph: graph.filtered(signals=["levle"]),
        lambda graph: CausalGraph(graph.signals, {Link("levle", "pump", 1): Strength(1, 0)}),
    ],
)
def test_an_unknown_signal_is_named_with_those_that_exist(graph, action):
    with pytest.raises(UnknownNameError, match=r"'levle'.*'level'.*level, pump, valve"):
        action(graph)


def edges_of(network):
    return {
        (a, b, data["lag"], data["value"], data["p_value"])
        for a, b, data in network.edges(data=True)
    }


def expected_edges(graph):
    return {(k.source, k.target, k.lag, s.value, s.p_value) for k, s in graph.links.items()}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_links_are_a_dataframe(odd, library):
    for graph in (odd, CausalGraph(["a"], {})):
        frame = getattr(graph, f"to_{library}")()
        assert type(frame).__module__.startswith(library)
        assert list(frame.columns) == ["source", "target", "lag", "value", "p_value"]
        rows = list(zip(*(frame[name].to_list() for name in frame.columns), strict=True))
        assert rows == [
            (link.source, link.target, link.lag, strength.value, strength.p_value)
            for link, strength in graph.links.items()
        ]


def test_networkx_gets_everything(odd):
    network = odd.to_networkx()
    assert tuple(network.nodes) == odd.signals
    assert edges_of(network) == expected_edges(odd)
    assert network["plain"]["two words"][2]["value"] == -1.0  # keyed by lag


def test_gml_survives_a_round_trip(odd):
    network = nx.parse_gml(odd.to_gml())
    assert tuple(network.nodes) == odd.signals
    assert edges_of(network) == expected_edges(odd)


def test_gml_of_a_graph_without_links():
    network = nx.parse_gml(graph_of(["a", "b"]).to_gml())
    assert tuple(network.nodes) == ("a", "b")


def test_json_survives_a_round_trip(odd):
    text = odd.to_json()
    assert CausalGraph.from_dict(json.loads(text)) == odd
    assert "日本" in text
    assert json.loads(text)["links"][0].keys() == {"source", "target", "lag", "value", "p_value"}


QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def test_dot_quotes_every_name(odd):
    text = odd.to_dot()
    bare = QUOTED.sub("_", text)
    # What is left outside quotes is ours: no name can become markup.
    assert set(re.findall(r"[^\s\w]", bare)) <= set("{}[]=,;->.")
    assert bare.count("->") == len(odd)
    assert bare.count("{") == bare.count("}") == 1
    names = [re.sub(r"\\(.)", r"\1", found) for found in QUOTED.findall(text)]
    assert names[: len(odd.signals)] == list(odd.signals)
    assert set(names) - set(odd.signals) == {"1: 0.25", "2: -1.00", "0: 0.00"}


def test_dot_of_a_name_with_line_breaks_stays_on_one_line():
    text = graph_of(["a\nb"], ("a\nb", "a\nb", 1, 0.5, 0.0)).to_dot()
    assert '"a b" -> "a b" [label="1: 0.50", penwidth=2.00];' in text
