"""An independence test that reads its answers off a known graph, without sampling noise."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import combinations

from causewatch.discovery.independence import Node
from causewatch.errors import SettingError
from causewatch.graph import CausalGraph

__all__ = ["OracleTest"]


class OracleTest:
    """Answers every question as a perfect test on endless data from `graph` would.

    Two nodes are independent given others if these d-separate them in the graph unrolled over all
    times. That graph has no beginning, but only a window of it has to be drawn. Its nodes are the
    signals at lag 0 to ``2·max_lag``, which are all the nodes a test can name:

    - What comes *after* lag 0 is never conditioned on and causes nothing in the window, so no open
      path leads through it.
    - What comes *before* the window is never conditioned on either, and all its causes are older
      still. So a path through it enters and leaves the window by links that point into the
      window, and is open exactly if the two nodes where it does so have a common cause in the past
      (including one that causes the other). Such pairs get a hidden common cause in the window.
      Which pairs they are depends only on their signals and the time between them, and the time
      between them never needs to exceed the longest lag: replacing the later of two nodes by each
      of its causes, again and again, runs through finitely many combinations.

    So the answers are exact, and no bound on how far back to unroll is needed.

    Parameters
    ----------
    graph
        The truth. Links at lag 0 are allowed if they form no cycle.
    max_lag
        Longest lag of discovery; it may differ from the longest lag in the graph.

    Examples
    --------
    >>> from causewatch.graph import Link, Strength
    >>> links = [Link("a", "b", 1), Link("b", "c", 1)]
    >>> chain = CausalGraph("abc", dict.fromkeys(links, Strength(1.0, 0.0)))
    >>> oracle = OracleTest(chain, max_lag=2)
    >>> oracle.test((0, 2), (2, 0), [])
    (1.0, 0.0)
    >>> oracle.test((0, 2), (2, 0), [(1, 1)])
    (0.0, 1.0)
    """

    def __init__(self, graph: CausalGraph, max_lag: int) -> None:
        if max_lag < 1:
            msg = f"max_lag is {max_lag}; it must be at least 1."
            raise SettingError(msg)
        self.signals = len(graph.signals)
        self.max_lag = max_lag
        number = {name: k for k, name in enumerate(graph.signals)}
        causes: list[list[Node]] = [[] for _ in graph.signals]
        for link in graph:
            causes[number[link.target]].append((number[link.source], link.lag))
        self._parents = _unrolled(causes, 2 * max_lag, _rank_within_tick(causes, graph.signals))
        self._children: list[list[int]] = [[] for _ in self._parents]
        for child, parents in enumerate(self._parents):
            for parent in parents:
                self._children[parent].append(child)
        self._walk: tuple[tuple[int, frozenset[int]], set[int]] = ((-1, frozenset()), set())

    def test(self, x: Node, y: Node, z: Sequence[Node]) -> tuple[float, float]:
        """(1, 0) if `x` and `y` are connected given `z`, (0, 1) if they are separated.

        Parameters
        ----------
        x, y
            Two different nodes: (signal number, lag), the lag from 0 to ``2·max_lag``.
        z
            The condition. If it holds x or y, they are separated.
        """
        if x == y:
            msg = f"Node {x} was to be tested against itself; x and y must differ."
            raise SettingError(msg)
        start, goal = self._number(y), self._number(x)
        given = frozenset(self._number(node) for node in z)
        if start in given or goal in given:
            return 0.0, 1.0
        # Discovery asks about many x for the same y and z in a row; one walk answers them all.
        if self._walk[0] != (start, given):
            self._walk = (start, given), self._reached(start, given)
        return (1.0, 0.0) if goal in self._walk[1] else (0.0, 1.0)

    def _reached(self, start: int, given: frozenset[int]) -> set[int]:
        """Bayes ball: the nodes to which an open path leads from `start`."""
        opened = set(given)  # where two arrows may meet: the condition and all that causes it
        waiting = list(given)
        while waiting:
            new = [node for node in self._parents[waiting.pop()] if node not in opened]
            opened.update(new)
            waiting.extend(new)
        came_up, came_down = {start}, set[int]()  # reached against an arrow, or along one
        steps = [(start, True)]
        while steps:
            node, up = steps.pop()
            free = node not in given
            if free if up else node in opened:
                new = [parent for parent in self._parents[node] if parent not in came_up]
                came_up.update(new)
                steps.extend((parent, True) for parent in new)
            if free:
                new = [child for child in self._children[node] if child not in came_down]
                came_down.update(new)
                steps.extend((child, False) for child in new)
        return came_up | came_down

    def _number(self, node: Node) -> int:
        signal, lag = node
        if not (0 <= signal < self.signals and 0 <= lag <= 2 * self.max_lag):
            msg = (
                f"There is no node {node}; signals go from 0 to {self.signals - 1}, lags from 0"
                f" to {2 * self.max_lag}."
            )
            raise SettingError(msg)
        return lag * self.signals + signal


def _rank_within_tick(causes: Sequence[Sequence[Node]], names: Sequence[str]) -> list[int]:
    """The place of each signal in an order in which causes at lag 0 come first."""
    sorter = TopologicalSorter(
        {
            signal: [source for source, lag in found if lag == 0]
            for signal, found in enumerate(causes)
        }
    )
    try:
        order = list(sorter.static_order())
    except CycleError as error:
        cycle = " → ".join(names[signal] for signal in error.args[1])
        msg = f"The links at lag 0 form a cycle: {cycle}; remove one of them."
        raise SettingError(msg) from None
    rank = [0] * len(order)
    for place, signal in enumerate(order):
        rank[signal] = place
    return rank


def _unrolled(causes: Sequence[Sequence[Node]], reach: int, rank: Sequence[int]) -> list[list[int]]:
    """Parents of every node of the window; nodes after it are its hidden common causes."""
    signals = len(causes)
    parents: list[list[int]] = []
    outside: list[tuple[int, Node]] = []  # nodes of the window with a cause before it
    for lag in range(reach + 1):
        for found in causes:
            past = [(source, lag + back) for source, back in found]
            inside = [node for node in past if node[1] <= reach]
            outside += [(len(parents), node) for node in past if node[1] > reach]
            parents.append([age * signals + source for source, age in inside])
    related = _sharing_a_cause(causes, rank)
    pairs = {
        (one, other)
        for one, (i, age_i) in outside
        for other, (j, age_j) in outside
        if one < other and (i, j, age_j - age_i) in related
    }
    for clique in _cliques(pairs):
        for node in clique:
            parents[node].append(len(parents))
        parents.append([])
    return parents


def _cliques(pairs: set[tuple[int, int]]) -> list[list[int]]:
    """Sets of numbers, few and large, that hold exactly the given pairs (smaller number first)."""
    numbers = sorted({number for pair in pairs for number in pair})
    left = set(pairs)
    cliques = []
    while left:
        clique = list(min(left))
        for number in numbers:
            if all((min(number, one), max(number, one)) in pairs for one in clique):
                clique.append(number)
        left -= set(combinations(sorted(clique), 2))
        cliques.append(clique)
    return cliques


def _sharing_a_cause(
    causes: Sequence[Sequence[Node]], rank: Sequence[int]
) -> set[tuple[int, int, int]]:
    """All (i, j, d) for which i at lag 0 and j at lag d are equal or have a common ancestor.

    The later of two nodes cannot cause the other one, so the two are related exactly if one of
    its causes is related to the other node. Read backwards, from the pairs of equal nodes, this
    finds every related pair. Starting with d at most the longest lag, replacing the later node by
    a cause never makes d longer than that, so pairs further apart can be left out.
    """
    effects: list[list[Node]] = [[] for _ in causes]
    longest = 0
    for target, found in enumerate(causes):
        for source, lag in found:
            effects[source].append((target, lag))
            longest = max(longest, lag)

    related = {(i, i, 0) for i in range(len(causes))}
    waiting = list(related)
    while waiting:
        i, j, d = waiting.pop()
        for k, lag in effects[i]:
            apart = d + lag  # an effect of i comes `lag` ticks after it
            is_later = apart > 0 or (apart == 0 and rank[k] > rank[j])
            if is_later and apart <= longest and (k, j, apart) not in related:
                related |= {(k, j, apart), (j, k, -apart)}
                waiting += [(k, j, apart), (j, k, -apart)]
    return related
