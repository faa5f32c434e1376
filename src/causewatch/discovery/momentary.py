"""What momentary tests are given: the parents of the target, and those of the source as it was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.discovery.independence import BulkTest

__all__ = ["MomentaryConditions", "given_uneven_sets", "in_sizes", "packed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
NONE = np.empty(0, dtype=np.intp)
FEW_NUMBERS = 1 << 17
"""Numbers gathered for one call rather than for several."""
MOST_TESTS = 1 << 14
"""Tests written down at a time."""


class MomentaryConditions:
    """The conditions of momentary tests, as numbers of nodes; −1 is none.

    Parameters
    ----------
    parents
        Of every signal; those of the source of a link are shifted by the lag of the link.
    max_lag
        Longest lag of a parent.
    """

    def __init__(self, parents: Sequence[Ints], max_lag: int) -> None:
        self._signals = len(parents)
        self._parents = np.full((len(parents), max(map(len, parents))), -1, dtype=np.intp)
        nodes = len(parents) * (2 * max_lag + 1)
        self._is_parent = np.zeros((len(parents), nodes + 1), dtype=bool)  # the last one: none
        for signal, own in enumerate(parents):
            self._parents[signal, : len(own)] = own
            self._is_parent[signal, own] = True

    def are_parents(self, nodes: Ints, target: int) -> NDArray[np.bool_]:
        """Which of the nodes are parents of the target."""
        return np.asarray(self._is_parent[target, nodes])

    def of_target(self, x: Ints, target: Ints) -> Ints:
        """For each link from x its target's parents other than x."""
        own = self._parents[target]
        return np.where(own == x[:, None], -1, own)

    def of_source(self, source: Ints, lag: Ints, target: Ints | int) -> Ints:
        """For each link its source's parents, shifted, other than those that the target has."""
        own = self._parents[source]
        shifted = np.where(own >= 0, own + (lag * self._signals)[:, None], -1)
        shifted[self._is_parent[np.reshape(target, (-1, 1)), shifted]] = -1
        return shifted


def given_uneven_sets(test: BulkTest, sets: Ints) -> tuple[Floats, Floats]:
    """``test.given_sets`` for sets of very different sizes, nothing shared."""
    value, p_value = np.empty(len(sets)), np.empty(len(sets))
    for start in range(0, len(sets), MOST_TESTS):
        part = np.arange(start, min(start + MOST_TESTS, len(sets)))
        few = len(part) * sets.shape[1] ** 2 < FEW_NUMBERS
        for rows in [part] if few else in_sizes(sets, part):
            value[rows], p_value[rows] = test.given_sets(NONE, packed(sets[rows]))
    return value, p_value


def in_sizes(sets: Ints, rows: Ints) -> list[Ints]:
    """`rows` in groups with about equally many conditions, so that little is padded."""
    size = ((sets[rows] >= 0).sum(axis=1) + 3) // 4
    return [rows[size == one] for one in np.unique(size)]


def packed(sets: Ints) -> Ints:
    """Rows with their conditions moved together, without columns that no row needs."""
    width = int((sets >= 0).sum(axis=1).max())
    order = np.argsort(sets[:, :-2] < 0, axis=1, kind="stable")[:, : width - 2]
    return np.column_stack([np.take_along_axis(sets[:, :-2], order, axis=1), sets[:, -2:]])
