"""Where to put the signals of a causal graph so that a person can read it.

Signals stand in columns. With plant stages the columns are the stages, in process order from left
to right; without stages the columns follow the direction of the stronger links, so that causes tend
to stand left of their effects. Within a column, signals stand near what they are linked to.

Coordinates are in rows: x grows to the right, y grows **downwards** (as in a browser; a plot with y
upwards has to flip it), both start at 0, and no two signals are nearer to each other than
`SPACING`. Every step is deterministic: the same graph always gets the same picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.graph import CausalGraph

__all__ = ["LARGE", "OTHER", "SPACING", "positions", "stages", "usual_strength"]

SPACING = 1.0
"""The least distance between two signals; also the distance between the rows of a column."""

COLUMN = 2.0
"""Distance between two columns."""

GAP = 0.5
"""Additional room between two stages."""

STAGGER = 0.25
"""Every second signal stands this far left, the others right, so links can pass in between."""

ASPECT = 1.7
"""Width over height the layout aims for."""

LARGE = 60
"""With more signals than this and no stages given, communities of signals serve as stages."""

OTHER = "other"
"""Name of the stage of the signals that belong to no other."""

SMALL_COMMUNITY = 3
"""Communities with fewer signals than this join the stage `OTHER`."""

PER_SIGNAL = 2
"""Pairs of signals for each signal, which pictures show unless asked for others."""

Floats = NDArray[np.float64]


def usual_strength(graph: CausalGraph) -> float:
    """The strength above which links are shown: two for each signal, all if there are fewer.

    A round hundredth; the links of a pair of signals count once.

    Examples
    --------
    >>> from causewatch.graph import CausalGraph, Link, Strength
    >>> chain = CausalGraph(["b", "a"], {Link("a", "b", 1): Strength(0.5, 0.0)})
    >>> usual_strength(chain)
    0.0
    """
    pairs: dict[tuple[str, str], float] = {}
    for link, strength in graph.links.items():
        size = abs(strength.value)
        if not link.is_auto and np.isfinite(size):
            pair = (link.source, link.target)
            pairs[pair] = max(size, pairs.get(pair, 0.0))
    wanted = PER_SIGNAL * len(graph.signals)
    if len(pairs) <= wanted:
        return 0.0
    sizes = np.sort(list(pairs.values()))
    hundredths = int(100 * sizes[-wanted])
    return min(
        (hundredths / 100, (hundredths + 1) / 100),
        key=lambda least: abs(int(np.count_nonzero(sizes > least)) - wanted),
    )


def positions(
    graph: CausalGraph,
    groups: Mapping[str, Sequence[str]] | None = None,
    *,
    min_strength: float = 0.3,
) -> dict[str, tuple[float, float]]:
    """Place every signal of `graph`.

    Parameters
    ----------
    graph
        The signals and links; links of a signal to itself play no part.
    groups
        Stages in process order, each with its signals; see :func:`stages`.
    min_strength
        Only links with an absolute value above this count, or all if there is none.

    Returns
    -------
    dict
        ``(x, y)`` by signal, in the order of ``graph.signals``; the unit is described above.

    Examples
    --------
    >>> from causewatch.graph import CausalGraph, Link, Strength
    >>> chain = CausalGraph(["b", "a"], {Link("a", "b", 1): Strength(0.5, 0.0)})
    >>> positions(chain)
    {'b': (2.0, 0.0), 'a': (0.0, 0.0)}
    """
    if not graph.signals:
        return {}
    weight = _weights(graph, min_strength)
    index = {name: k for k, name in enumerate(graph.signals)}
    blocks: list[list[list[int]]]
    named = stages(graph, groups, min_strength=min_strength)
    if named:
        members = [[index[name] for name in names] for names in named.values()]
        rows = _rows_for([len(block) for block in members])
        blocks = [_chop(_causal_order(weight, block), rows) for block in members]
    else:
        blocks = [_layers(weight)]
    columns = [column for block in blocks for column in block]
    columns = _order_columns(columns, weight)

    x, y = np.zeros(len(index)), np.zeros(len(index))
    left, k = 0.0, 0
    for block in blocks:
        for column in columns[k : k + len(block)]:
            staggered = STAGGER if len(column) > 2 else 0.0
            for row, node in enumerate(column):
                x[node] = left + (staggered if row % 2 else -staggered)
            y[column] = _row_places(len(column))
            left += COLUMN
        k += len(block)
        left += GAP
    x, y = x - x.min(), y - y.min()
    return {name: (float(x[i]), float(y[i])) for name, i in index.items()}


def stages(
    graph: CausalGraph,
    groups: Mapping[str, Sequence[str]] | None = None,
    *,
    min_strength: float = 0.3,
) -> dict[str, tuple[str, ...]]:
    """The stages by which the signals of `graph` are placed; every signal is in exactly one.

    Given `groups` keep their order. Names the graph does not hold are passed over, a signal named
    twice belongs to the first of its groups, and signals without a group form the last one,
    `OTHER`. Without `groups` a graph of more than `LARGE` signals is cut into communities of
    closely linked signals, each named after its best-linked one and ordered from causes to
    effects; a smaller graph has no stages, and the result is empty.
    """
    if groups:
        return _given_stages(graph, groups)
    if len(graph.signals) <= LARGE:
        return {}
    return _communities(graph, _weights(graph, min_strength))


def _given_stages(
    graph: CausalGraph, groups: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    left = dict.fromkeys(graph.signals)
    staged: dict[str, list[str]] = {}
    for group, names in groups.items():
        for name in names:
            if name in left:
                del left[name]
                staged.setdefault(group, []).append(name)
    if left:
        staged[OTHER] = [*staged.pop(OTHER, []), *left]
    return {group: tuple(names) for group, names in staged.items()}


def _communities(graph: CausalGraph, weight: Floats) -> dict[str, tuple[str, ...]]:
    import networkx as nx

    near = weight + weight.T
    network: nx.Graph[int] = nx.Graph()
    network.add_nodes_from(range(len(near)))
    network.add_weighted_edges_from(
        (int(i), int(j), float(near[i, j])) for i, j in np.argwhere(np.triu(near) > 0)
    )
    communities = [sorted(part) for part in nx.community.louvain_communities(network, seed=0)]
    parts = [part for part in communities if len(part) >= SMALL_COMMUNITY]
    rest = sorted(i for part in communities if len(part) < SMALL_COMMUNITY for i in part)

    between = np.array([[weight[np.ix_(a, b)].sum() for b in parts] for a in parts])
    out: dict[str, tuple[str, ...]] = {}
    for k in _causal_order(between, range(len(parts))):
        part = parts[k]
        best = part[int(np.argmax(near[np.ix_(part, part)].sum(axis=1)))]
        out[f"around {graph.signals[best]}"] = tuple(graph.signals[i] for i in part)
    if rest:
        out[OTHER] = tuple(graph.signals[i] for i in rest)
    return out


def _weights(graph: CausalGraph, min_strength: float) -> Floats:
    """Sum of the absolute values of the links from row to column."""
    index = {name: k for k, name in enumerate(graph.signals)}
    strong = np.zeros((len(index), len(index)))
    every = np.zeros_like(strong)
    for link, strength in graph.links.items():
        size = abs(strength.value)
        if link.is_auto or not np.isfinite(size):
            continue
        place = index[link.source], index[link.target]
        every[place] += size
        if size > min_strength:
            strong[place] += size
    return strong if strong.any() else every


def _causal_order(weight: Floats, nodes: Sequence[int]) -> list[int]:
    """`nodes` with causes before effects as far as cycles allow.

    The greedy rule of Eades, Lin and Smyth (1993): what has no effects left goes to the end, what
    has no causes left to the front, and where only cycles remain, what causes most for what it
    suffers goes to the front.
    """
    left = list(nodes)
    front: list[int] = []
    back: list[int] = []
    while left:
        part = weight[np.ix_(left, left)]
        out, into = part.sum(axis=1), part.sum(axis=0)
        if not out.any():
            front += left
            break
        if (sinks := (out == 0) & (into > 0)).any():
            k = int(np.argmax(sinks))
            back.append(left.pop(k))
        else:
            k = int(np.argmax(np.where(into == 0, np.where(out > 0, np.inf, -np.inf), out - into)))
            front.append(left.pop(k))
    return front + back[::-1]


def _layers(weight: Floats) -> list[list[int]]:
    """Columns by causal direction: each signal right of its causes, links against the order aside.

    Signals without a link come last. A graph too deep for that (long chains of feedback) is cut
    into columns of equal height in causal order instead.
    """
    linked = [int(i) for i in np.flatnonzero((weight + weight.T).any(axis=1))]
    alone = [i for i in range(len(weight)) if i not in set(linked)]
    rows = _rows_for([len(weight)])
    order = _causal_order(weight, linked)
    layer: dict[int, int] = {}
    for k, node in enumerate(order):
        layer[node] = max((layer[c] + 1 for c in order[:k] if weight[c, node] > 0), default=0)
    for k in reversed(range(len(order))):
        node = order[k]
        effects = [layer[e] for e in order[k + 1 :] if weight[node, e] > 0]
        if effects and not weight[order[:k], node].any():
            layer[node] = min(effects) - 1
    depth = max(layer.values(), default=-1) + 1
    if depth > max(5, -(-len(linked) // rows) + 2):
        columns = _chop(order, rows)
    else:
        columns = []
        for level in range(depth):
            columns += _chop([i for i in order if layer[i] == level], rows + 2)
    return columns + (_chop(alone, rows) if alone else [])


def _rows_for(sizes: Sequence[int]) -> int:
    """Height of a column that gives blocks of these sizes, side by side, the wanted aspect."""

    def off(rows: int) -> float:
        columns = sum(-(-size // rows) for size in sizes)
        width = columns * COLUMN + (len(sizes) - 1) * GAP
        return abs(float(np.log(width / rows / ASPECT)))

    return min(range(1, max(sizes) + 1), key=off)


def _chop(nodes: Sequence[int], rows: int) -> list[list[int]]:
    """`nodes` in as few columns as hold at most `rows` each, evenly filled."""
    count = max(1, -(-len(nodes) // rows))
    return [part.tolist() for part in np.array_split(np.asarray(nodes, dtype=np.intp), count)]


def _row_places(count: int) -> Floats:
    return np.arange(count, dtype=np.float64) - (count - 1) / 2


def _order_columns(columns: list[list[int]], weight: Floats) -> list[list[int]]:
    """Order each column so that links are short: barycentre sweeps, then swaps of neighbours."""
    place = np.zeros(len(weight))
    at = np.zeros(len(weight))
    for k, column in enumerate(columns):
        at[column] = k
        place[column] = _row_places(len(column))
    pull = (weight + weight.T) / (1.0 + np.abs(at[:, None] - at[None, :]))
    degree = pull.sum(axis=1)

    def length() -> float:
        return float((pull * np.abs(place[:, None] - place[None, :])).sum())

    best, shortest = [list(column) for column in columns], length()
    for sweep in range(16):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            centre = np.where(degree[column] > 0, 0.0, place[column])
            centre += (pull[column] @ place) / np.maximum(degree[column], 1e-12)
            column[:] = [column[k] for k in np.argsort(centre, kind="stable")]
            place[column] = _row_places(len(column))
        if (now := length()) < shortest:
            best, shortest = [list(column) for column in columns], now
    for column in best:
        place[column] = _row_places(len(column))
    _swap_neighbours(best, pull, place)
    return best


def _swap_neighbours(columns: list[list[int]], pull: Floats, place: Floats) -> None:
    """Swap vertical neighbours as long as that shortens the links; changes its arguments."""
    for _ in range(12):
        swapped = False
        for column in columns:
            for k in range(len(column) - 1):
                up, down = column[k], column[k + 1]
                diff = pull[up] - pull[down]
                diff[[up, down]] = 0.0
                gain = diff @ (np.abs(place - place[up]) - np.abs(place - place[down]))
                if gain > 1e-9:
                    column[k], column[k + 1] = down, up
                    place[up], place[down] = place[down], place[up]
                    swapped = True
        if not swapped:
            return
