"""Which links of a graph a picture shows, as arrows, and the sentence that says so."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from causewatch.data import Clock, format_duration
from causewatch.graph import CausalGraph, Link, Strength

__all__ = [
    "Arrow",
    "View",
    "auto_values",
    "bundle",
    "clean",
    "cross_links",
    "interval",
    "lags_text",
    "later",
    "listing",
    "select",
]

FEW = 20
"""How many links are shown when none is strong enough."""

MOST_LAGS = 3
"""How many lags an arrow's label names."""

NEARLY = 0.01
"""Intervals that differ by no more than this share are said alike."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """All shown links from one node to another, drawn as one arrow.

    Attributes
    ----------
    source, target
        Where it starts and ends: signals, or groups of signals in an overview.
    value
        The value of its strongest link.
    lags
        The lags of its links, ascending.
    links
        How many links it stands for.
    total
        Sum of the absolute values of those links.
    directed
        False for a link at lag 0 that the graph holds in both directions: a line, not an arrow.
    """

    source: str
    target: str
    value: float
    lags: tuple[int, ...]
    links: int
    total: float
    directed: bool = True


@dataclass(frozen=True, slots=True)
class View:
    """What a picture shows of a graph.

    Attributes
    ----------
    links
        The links shown, none from a signal to itself.
    arrows
        The same bundled by pair of signals, strongest first.
    alone
        The signals without a shown link.
    caption
        How many of the links are shown, and by which rule.
    """

    links: Mapping[Link, Strength]
    arrows: tuple[Arrow, ...]
    alone: tuple[str, ...]
    caption: str


def select(graph: CausalGraph, min_strength: float, most: int | None = None) -> View:
    """Choose the links with an absolute value above `min_strength`, in at most `most` arrows.

    Where no link is that strong the strongest few are shown instead. The caption counts each lag
    of a pair of signals as one link.
    """
    every = cross_links(graph)
    passing = {link: s for link, s in every.items() if abs(s.value) > min_strength}
    total = _plural(len(every), "link")
    limit = f"|value| > {min_strength:g}"
    if passing:
        shown = passing
        caption = f"{len(shown)} of {total} between signals, {limit}"
    elif every:
        strongest = sorted(every, key=lambda link: -abs(every[link].value))[:FEW]
        shown = {link: every[link] for link in strongest}
        caption = f"No link has {limit}; the strongest {len(shown)} of {total} between signals"
    else:
        shown = {}
        caption = "No links between signals"
    arrows = bundle(graph, shown)
    if most is not None and len(arrows) > most:
        arrows = arrows[:most]
        kept = {(arrow.source, arrow.target, arrow.directed) for arrow in arrows}
        shown = {link: s for link, s in shown.items() if _key(graph, link) in kept}
        caption = (
            f"The strongest {len(shown)} of {total} between signals ({len(passing)} have {limit})"
        )
    linked = {name for link in shown for name in (link.source, link.target)}
    alone = tuple(name for name in graph.signals if name not in linked)
    return View(shown, arrows, alone, caption)


def cross_links(graph: CausalGraph) -> dict[Link, Strength]:
    """The links between different signals that have a finite value."""
    return {
        link: strength
        for link, strength in graph.links.items()
        if not link.is_auto and math.isfinite(strength.value)
    }


def bundle(
    graph: CausalGraph,
    links: Mapping[Link, Strength],
    node_of: Mapping[str, str] | None = None,
) -> tuple[Arrow, ...]:
    """One arrow per direction and pair of nodes, the one with the strongest link first.

    A link at lag 0 that `graph` holds in both directions asserts none and becomes a line. With
    `node_of`, signals are replaced by the group they belong to, links within a group are left out,
    and the arrow with the greatest sum comes first.
    """
    found: dict[tuple[str, str, bool], list[tuple[int, float]]] = {}
    for link, strength in links.items():
        key = _key(graph, link, node_of)
        if key[0] != key[1]:
            found.setdefault(key, []).append((link.lag, strength.value))
    arrows = []
    for (source, target, directed), entries in found.items():
        sizes = [abs(value) for _, value in entries]
        arrows.append(
            Arrow(
                source,
                target,
                value=max((value for _, value in entries), key=abs),
                lags=tuple(sorted({lag for lag, _ in entries})),
                links=len(entries),
                total=sum(sizes),
                directed=directed,
            )
        )
    if node_of is None:
        arrows.sort(key=lambda arrow: -abs(arrow.value))
    else:
        arrows.sort(key=lambda arrow: -arrow.total)
    return tuple(arrows)


def auto_values(graph: CausalGraph) -> dict[str, float]:
    """Auto-dependence by signal: the strongest link to its own future, 0 without one."""
    found = dict.fromkeys(graph.signals, 0.0)
    for link, strength in graph.links.items():
        if link.is_auto and abs(strength.value) > abs(found[link.source]):
            found[link.source] = strength.value if math.isfinite(strength.value) else 0.0
    return found


def lags_text(lags: Sequence[int], every: float | None = None) -> str:
    """Lags as text, in ticks, or as times if the length of a tick is known.

    >>> lags_text([1, 3]), lags_text([1, 3], every=10.0), lags_text([1, 12], every=10.0)
    ('1, 3', '10, 30 s', '10 s, 2 min')
    """
    shown = [str(lag) if every is None else interval(lag * every) for lag in lags[:MOST_LAGS]]
    units = {text.partition(" ")[2] for text in shown}
    if len(units) == 1:
        shown = [*(text.partition(" ")[0] for text in shown[:-1]), *shown[-1:]]
    return ", ".join(shown) + (", …" if len(lags) > MOST_LAGS else "")


def interval(seconds: float, clock: Clock | None = None) -> str:
    """A time between two things as people say it: 2.01 s is 2 s; rows where `clock` counts these.

    >>> interval(2.01), interval(103), interval(360), interval(3, "rows")
    ('2 s', '103 s', '6 min', '3 rows')
    """
    for digits in range(1, 4):
        plain = float(f"{seconds:.{digits}g}")
        if abs(plain - seconds) <= NEARLY * abs(seconds):
            break
    return format_duration(plain, clock)


def later(lag: int, every: float) -> str:
    """How much later an effect with this lag follows, where ticks have this length.

    >>> later(2, 10.0), later(0, 10.0)
    ('20 s', 'at once')
    """
    return interval(lag * every) if lag else "at once"


def clean(text: str) -> str:
    """`text` on one line, with what cannot be printed (controls, surrogates) replaced by `�`."""
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)


def listing(names: Iterable[str], most: int) -> str:
    """Names for a caption, at most about `most` characters of them."""
    every = [clean(name) for name in names]
    text = ""
    for k, name in enumerate(every):
        longer = f"{text}, {name}" if text else name
        if len(longer) > most and text:
            return f"{text} and {len(every) - k} more"
        text = longer
    return text


def _key(
    graph: CausalGraph, link: Link, node_of: Mapping[str, str] | None = None
) -> tuple[str, str, bool]:
    """Ends of the arrow a link belongs to, and whether the arrow has a direction."""
    directed = link.lag > 0 or Link(link.target, link.source, 0) not in graph
    source, target = link.source, link.target
    if node_of is not None:
        source, target = node_of[source], node_of[target]
    if not directed and source > target:
        source, target = target, source
    return source, target, directed


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
