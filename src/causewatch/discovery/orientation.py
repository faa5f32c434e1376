"""Which way links within one tick point: colliders, and what follows from them.

Runge, "Discovering contemporaneous and lagged causal relations in autocorrelated nonlinear time
series datasets", UAI 2020; the rules are those of the PC algorithm. Every step looks at the graph
as it was before the step, and links that it would turn both ways are marked as a conflict, so that
the order of the signals does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_LINK", "Triples", "oriented", "unshielded"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]
Marks = NDArray[np.str_]
NO_LINK, FORWARD, BACKWARD, OPEN, CONFLICT = "", "-->", "<--", "o-o", "x-x"


@dataclass(frozen=True)
class Triples:
    """Links from `source`, `lag` ticks ago, to `middle`, which is linked with `target` at lag 0.

    Source and target are not linked at that lag. Each array has one entry per triple.
    """

    source: Ints
    lag: Ints
    middle: Ints
    target: Ints

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, chosen: Bools) -> Triples:
        return Triples(
            self.source[chosen], self.lag[chosen], self.middle[chosen], self.target[chosen]
        )


def unshielded(linked: Bools) -> Triples:
    """All unshielded triples of the links ``[i, j, lag]`` that end in a link within one tick."""
    found: list[tuple[Ints, ...]] = []
    for middle in range(len(linked)):
        source, lag = np.nonzero(linked[:, middle, :])
        near = np.flatnonzero(linked[middle, :, 0])
        target = np.tile(near, len(source))
        source, lag = source.repeat(len(near)), lag.repeat(len(near))
        apart = ~linked[source, target, lag] & ((lag > 0) | (source != target))
        found.append((source[apart], lag[apart], np.full(apart.sum(), middle), target[apart]))
    return Triples(*(np.concatenate(part) for part in zip(*found, strict=True)))


def oriented(linked: Bools, colliders: Triples, others: Triples) -> Marks:
    """Marks ``[i, j, lag]``: links of later ticks point forward, those within one as they must.

    Parameters
    ----------
    linked
        The links ``[i, j, lag]``, those at lag 0 in both directions.
    colliders
        Triples whose middle is an effect of both ends.
    others
        Triples whose middle is not. Triples in neither decide nothing.
    """
    within = _Within(linked[:, :, 0].copy())
    to_middle = np.zeros_like(within.open)
    to_middle[colliders.target, colliders.middle] = True
    same_tick = colliders[colliders.lag == 0]
    to_middle[same_tick.source, same_tick.middle] = True
    within.turn(to_middle)
    rules = (_away_from_collider, _no_cycle, _between_two_ways)
    while any([within.turn(rule(within, others)) for rule in rules]):
        pass
    marks = np.where(linked, FORWARD, NO_LINK).astype("<U3")
    marks[:, :, 0] = np.select(
        [within.points, within.points.T, within.open, within.conflict],
        [FORWARD, BACKWARD, OPEN, CONFLICT],
        NO_LINK,
    )
    return marks


class _Within:
    """Links within one tick, ``[i, j]``: still open, pointing from i to j, or in conflict."""

    def __init__(self, linked: Bools) -> None:
        self.open = linked
        self.points = np.zeros_like(linked)
        self.conflict = np.zeros_like(linked)

    def turn(self, wanted: Bools) -> bool:
        """Point open links as wanted; whether any of them did."""
        wanted = wanted & self.open
        both = wanted & wanted.T
        self.points |= wanted & ~both
        self.conflict |= both
        self.open = self.open & ~(wanted | wanted.T)
        return bool(wanted.any())


def _away_from_collider(within: _Within, others: Triples) -> Bools:
    """Links k → j, where i → k o-o j and k is no collider."""
    wanted = np.zeros_like(within.open)
    into = (others.lag > 0) | within.points[others.source, others.middle]
    wanted[others.middle[into], others.target[into]] = True
    return wanted


def _no_cycle(within: _Within, others: Triples) -> Bools:
    """Links i → j, where i → k → j."""
    return within.points @ within.points


def _between_two_ways(within: _Within, others: Triples) -> Bools:
    """Links i → j, where i o-o k → j and i o-o l → j, k and l are apart and i is no collider."""
    wanted = np.zeros_like(within.open)
    ways = others[
        (others.lag == 0)
        & within.open[others.source, others.middle]
        & within.open[others.target, others.middle]
    ]
    np.logical_or.at(wanted, ways.middle, within.points[ways.source] & within.points[ways.target])
    return wanted
