"""Positions: deterministic, without overlap, stages and causes from left to right."""

from itertools import pairwise

import numpy as np
import pytest

from causewatch.graph import CausalGraph, Link, Strength
from causewatch.model.layout import LARGE, OTHER, SPACING, positions, stages


def random_graph(count, links, seed=0, blocks=1):
    rng = np.random.default_rng(seed)
    names = [f"S{k}" for k in range(count)]
    found = {}
    while len(found) < links:
        a, b = rng.integers(count, size=2)
        if a % blocks == b % blocks or rng.random() < 0.02:
            value = float(rng.uniform(-1, 1))
            found[Link(names[a], names[b], int(rng.integers(1, 5)))] = Strength(value, 0.0)
    return CausalGraph(names, found)


def chain(*names, value=0.5):
    links = {Link(a, b, 1): Strength(value, 0.0) for a, b in pairwise(names)}
    return CausalGraph(sorted(names, reverse=True), links)


def least_distance(places):
    points = np.array(list(places.values()))
    far = np.hypot(*np.moveaxis(points[:, None] - points[None], -1, 0))
    return far[~np.eye(len(points), dtype=bool)].min()


@pytest.mark.parametrize(
    ("count", "links"), [(2, 1), (7, 0), (10, 25), (33, 120), (61, 0), (90, 900)]
)
def test_every_signal_has_its_own_place(count, links):
    graph = random_graph(count, links)
    places = positions(graph)
    assert list(places) == list(graph.signals)
    assert least_distance(places) >= SPACING - 1e-9
    assert np.min(list(places.values()), axis=0).tolist() == [0.0, 0.0]


def test_same_graph_same_places():
    assert positions(random_graph(80, 400, blocks=4)) == positions(random_graph(80, 400, blocks=4))


def test_degenerate_graphs():
    assert positions(CausalGraph([], {})) == {}
    assert positions(CausalGraph(["a"], {})) == {"a": (0.0, 0.0)}


def test_causes_stand_left_of_effects():
    places = positions(chain("a", "b", "c", "d"))
    assert places["a"][0] < places["b"][0] < places["c"][0] < places["d"][0]


def test_a_weak_link_back_does_not_turn_the_order():
    graph = chain("a", "b", "c")
    graph = CausalGraph(graph.signals, {**graph.links, Link("c", "a", 2): Strength(0.31, 0.0)})
    places = positions(graph)
    assert places["a"][0] < places["b"][0] < places["c"][0]


def test_weak_links_count_only_where_there_are_no_strong_ones():
    weak = chain("a", "b", value=0.1)
    assert positions(weak)["a"][0] < positions(weak)["b"][0]
    strong = CausalGraph(weak.signals, {**weak.links, Link("b", "a", 1): Strength(0.4, 0.0)})
    assert positions(strong)["b"][0] < positions(strong)["a"][0]


def test_values_that_are_not_numbers_do_no_harm():
    graph = CausalGraph(["a", "b"], {Link("a", "b", 1): Strength(float("nan"), 1.0)})
    assert np.isfinite(list(positions(graph).values())).all()


def test_groups_stand_in_process_order():
    graph = random_graph(12, 30)
    groups = {"late": ["S0", "S1", "S2"], "early": ["S3", "S4", "S5"]}
    places = positions(graph, groups)
    right = max(places[name][0] for name in groups["late"])
    left = min(places[name][0] for name in groups["early"])
    others = min(places[f"S{k}"][0] for k in range(6, 12))
    assert right < left < others
    assert max(places[name][0] for name in groups["early"]) < others


def test_linked_signals_face_each_other():
    links = {Link(f"a{k}", f"b{2 - k}", 1): Strength(0.9, 0.0) for k in range(3)}
    names = [f"{side}{k}" for side in "ab" for k in range(3)]
    groups = {"A": names[:3], "B": names[3:]}
    places = positions(CausalGraph(names, links), groups)
    for link in links:
        assert places[link.source][1] == places[link.target][1]


def test_stages_hold_every_signal_once():
    graph = CausalGraph(["a", "b", "c"], {})
    groups = {OTHER: ["b"], "first": ["a", "gone"], "twice": ["a"]}
    assert stages(graph, groups) == {"first": ("a",), OTHER: ("b", "c")}
    assert stages(graph) == {}


def test_communities_of_a_large_graph_follow_its_blocks():
    graph = random_graph(LARGE + 20, 1200, blocks=4)
    found = stages(graph)
    assert sorted(name for names in found.values() for name in names) == sorted(graph.signals)
    assert len(found) == 4
    for names in found.values():
        assert len({int(name[1:]) % 4 for name in names}) == 1


def test_a_large_dense_graph_keeps_its_distances():
    places = positions(random_graph(240, 5000, blocks=12))
    assert len(places) == 240
    assert least_distance(places) >= SPACING - 1e-9
