"""`Equations`: the mechanisms of a model as arrays, for code that runs at every tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from causewatch.kernels.regression import fit_from_covariance, lagged_scatter

__all__ = ["Equations", "Mechanisms", "ridge_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

RIDGE = 0.01
"""Added to the variance of every standardised cause in fits, a signal's own past excepted. Causes
that say nearly the same (flow and state of a pump) would get huge coefficients of opposite sign,
which the next recording, rounded a little differently, does not bear out."""
LEAST_FREE = 10
"""A fit needs this many ticks more than it has causes."""
LEAST_SPREAD = 1e-4
"""Smallest spread of a mechanism as a share of the signal's own: an exact sum of rounded numbers
is not exact to the last digit."""


class Mechanisms(NamedTuple):
    """The links into each signal as one row, filled up to the length of the longest.

    Attributes
    ----------
    target
        The signal of each row.
    link
        Number of each link.
    source, lag
        Of each link.
    there
        Whether there is such a link; others are fillings: 0.
    """

    target: Ints
    link: Ints
    source: Ints
    lag: Ints
    there: NDArray[np.bool_]

    def causes(self, values: Floats, ticks: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """What the causes of each signal were, and at which ticks all of them are known.

        By row, tick and link, with a constant of 1 as the last; 0 where there is no link, and at
        ticks at which something is missing.
        """
        causes = values[ticks[:, None] - self.lag[:, None, :], self.source[:, None, :]]
        causes[~np.broadcast_to(self.there[:, None, :], causes.shape)] = 0.0
        known = np.isfinite(causes).all(axis=2)
        causes = np.concatenate([causes, np.ones((*known.shape, 1))], axis=2)
        causes[~known] = 0.0
        return causes, known

    def pulled(self, moments: Floats, pull: float) -> Floats:
        """Moments of the causes of each signal with `pull` on the diagonal, and 1 for fillings.

        So they can be solved, and fillings get 0.
        """
        size = moments.shape[-1]
        diagonal = np.full((len(self.target), size), pull)
        diagonal[:, :-1][~self.there] = 1.0
        return moments + diagonal[:, :, None] * np.eye(size)


@dataclass(frozen=True, eq=False)
class Equations:
    """How each signal follows from its causes, by column number.

    One entry of `source`, `target`, `lag` and `coefficient` for each link, in the order of the
    model's graph (by target, then source, then lag):
    ``target[t] = intercept + Σ coefficient · source[t − lag] + what is left``.

    Attributes
    ----------
    signals
        How many there are.
    max_lag
        Longest lag in ticks.
    source, target, lag
        The links.
    coefficient
        Of each link, in the signals' own units.
    intercept, spread
        Of each signal: what is added, and the standard deviation of what is left.
    """

    signals: int
    max_lag: int
    source: Ints
    target: Ints
    lag: Ints
    coefficient: Floats
    intercept: Floats
    spread: Floats

    @cached_property
    def mechanisms(self) -> Mechanisms:
        """The links of all signals side by side, for computing with all of them at once."""
        targets, sizes = np.unique(self.target, return_counts=True)
        order = np.argsort(self.target, kind="stable")
        which = np.repeat(np.arange(len(targets)), sizes)
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        shape = (len(targets), int(sizes.max(initial=0)))
        link, there = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=np.bool_)
        link[which, place], there[which, place] = order, True
        return Mechanisms(
            targets,
            link,
            np.where(there, self.source[link], 0),
            np.where(there, self.lag[link], 0),
            there,
        )

    @cached_property
    def effects(self) -> NDArray[np.bool_]:
        """Which signals (rows) are direct causes of which others (columns)."""
        acts = np.zeros((self.signals, self.signals), dtype=np.bool_)
        acts[self.source, self.target] = self.source != self.target
        return acts

    def links_into(self, target: int) -> Ints:
        """Numbers of the links into a signal."""
        return np.flatnonzero(self.target == target)

    def innovations(self, rows: Floats) -> Floats:
        """What the mechanisms leave of ticks in a row, in spreads; NaN for the first ones."""
        reach = self.max_lag
        left = np.full(rows.shape, np.nan)
        if len(rows) <= reach:
            return left
        expected = np.tile(self.intercept, (len(rows) - reach, 1))
        causes = rows[np.arange(reach, len(rows))[:, None] - self.lag, self.source]
        terms = causes * self.coefficient
        for target in np.unique(self.target):
            expected[:, target] += terms[:, self.target == target].sum(axis=1)
        left[reach:] = (rows[reach:] - expected) / self.spread
        return left

    def refitted(self, stretches: Sequence[Floats]) -> Equations:
        """The same links with coefficients fitted to other ticks; this one if they are too few."""
        scatter, means, count = lagged_scatter(stretches, self.max_lag)
        if count <= np.bincount(self.target, minlength=1).max() + LEAST_FREE:
            return self
        covariance = scatter / count
        coefficient = np.empty(len(self.source))
        intercept, spread = means[: self.signals].copy(), np.empty(self.signals)
        for target in range(self.signals):
            links = self.links_into(target)
            columns = self.lag[links] * self.signals + self.source[links]
            weights, left = fit_from_covariance(
                covariance, target, columns, ridge_of(self.source[links] == target)
            )
            coefficient[links] = weights
            intercept[target] -= weights @ means[columns]
            own = np.sqrt(max(covariance[target, target], 0.0))
            spread[target] = max(
                np.sqrt(left * count / (count - len(links) - 1)), LEAST_SPREAD * own
            )
        spread = np.where(spread > 0, spread, self.spread)
        return replace(self, coefficient=coefficient, intercept=intercept, spread=spread)


def ridge_of(own: NDArray[np.bool_]) -> Floats:
    """What is added to the variance of each cause; `own` says which are the signal's own past."""
    return np.where(own, 0.0, RIDGE)
