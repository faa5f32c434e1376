"""What a picture shows, and what its caption says."""

import pytest

from causewatch.explain.view import auto_values, bundle, clean, lags_text, listing, select
from causewatch.graph import CausalGraph, Link, Strength


def graph_of(*rows, signals="abcd"):
    return CausalGraph(signals, {Link(s, t, lag): Strength(v, 0.01) for s, t, lag, v in rows})


def test_several_lags_of_a_pair_are_one_arrow():
    view = select(graph_of(("a", "b", 3, 0.5), ("a", "b", 1, -0.7), ("a", "b", 2, 0.1)), 0.3)
    (arrow,) = view.arrows
    assert (lags_text(arrow.lags), arrow.value, arrow.links, arrow.directed) == (
        "1, 3",
        -0.7,
        2,
        True,
    )
    assert view.alone == ("c", "d")
    assert view.caption == "2 of 3 links between signals, |value| > 0.3"


def test_many_lags_are_cut_short():
    view = select(graph_of(*(("a", "b", lag, 0.5) for lag in range(1, 6))), 0.3)
    assert lags_text(view.arrows[0].lags) == "1, 2, 3, …"


def test_lag_zero_in_both_directions_is_a_line():
    graph = graph_of(("a", "b", 0, 0.5), ("b", "a", 0, 0.5), ("b", "a", 1, 0.6), ("c", "d", 0, 0.4))
    arrows = {
        (a.source, a.target, lags_text(a.lags)): a.directed for a in select(graph, 0.3).arrows
    }
    assert arrows == {("b", "a", "1"): True, ("a", "b", "0"): False, ("c", "d", "0"): True}


def test_links_to_oneself_are_no_arrows():
    graph = graph_of(("a", "a", 1, 0.9), ("a", "a", 2, -0.95), ("b", "b", 1, float("nan")))
    assert select(graph, 0.3).caption == "No links between signals"
    assert auto_values(graph) == {"a": -0.95, "b": 0.0, "c": 0.0, "d": 0.0}


def test_the_strongest_where_none_is_strong():
    view = select(graph_of(("a", "b", 1, 0.1), ("b", "c", 1, -0.2)), 0.3)
    assert [arrow.value for arrow in view.arrows] == [-0.2, 0.1]
    expected = "No link has |value| > 0.3; the strongest 2 of 2 links between signals"
    assert view.caption == expected


def test_at_most_so_many_arrows():
    graph = graph_of(
        ("a", "b", 1, 0.5), ("a", "b", 2, 0.4), ("b", "c", 1, 0.9), ("c", "d", 1, 0.45)
    )
    view = select(graph, 0.3, most=2)
    assert [(arrow.source, arrow.links) for arrow in view.arrows] == [("b", 1), ("a", 2)]
    assert view.caption == "The strongest 3 of 4 links between signals (4 have |value| > 0.3)"
    assert view.alone == ("d",)


def test_groups_bundle_the_links_between_them():
    graph = graph_of(
        ("a", "c", 1, 0.5), ("b", "d", 2, -0.6), ("a", "b", 1, 0.9), ("d", "a", 1, 0.4)
    )
    arrows = bundle(graph, graph.links, {"a": "A", "b": "A", "c": "C", "d": "C"})
    assert [(k.source, k.target, k.links, k.value) for k in arrows] == [
        ("A", "C", 2, -0.6),
        ("C", "A", 1, 0.4),
    ]
    assert arrows[0].total == pytest.approx(1.1)


def test_clean_keeps_text_and_replaces_the_unprintable():
    assert clean("a\x00b \n\u202ec\ud800<é>") == "a�b �c�<é>"


def test_listing_says_how_many_more():
    assert listing(["aa", "bb", "cc"], 100) == "aa, bb, cc"
    assert listing(["aa", "bb", "cc"], 6) == "aa, bb and 1 more"
    assert listing(["a" * 50, "b"], 6) == "a" * 50 + " and 1 more"
