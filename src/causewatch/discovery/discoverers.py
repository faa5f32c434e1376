"""Discoverers: anything that turns ticks into a `CausalGraph`.

`Pcmci` is the one causewatch stands on; `Granger` is another, to show that the rest of the product
asks for nothing but the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import TableSource
from causewatch.discovery.independence import BulkTest, PartialCorrelation
from causewatch.discovery.knowledge import Constraints
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.named import TestName, bulk_test
from causewatch.discovery.pcmci import Progress, link_masks, run_pcmci
from causewatch.errors import SettingError
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.kernels.parallel import spread

__all__ = ["Discoverer", "Granger", "Pcmci"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Discoverer(Protocol):
    """Finds the causal graph of ticks."""

    def discover(
        self,
        ticks: TableSource,
        moments: LaggedMoments,
        *,
        constraints: Constraints | None = None,
        progress: Progress | None = None,
    ) -> CausalGraph:
        """The graph.

        Parameters
        ----------
        ticks
            The recording, for discoverers that need every value.
        moments
            Its lagged moments, which hold the names of the signals and the maximum lag.
        constraints
            Links that knowledge forbids or requires.
        progress
            Told the share of the work done.
        """


@dataclass(frozen=True)
class Pcmci:
    """PCMCI with one of the independence tests.

    Attributes
    ----------
    alpha
        A link needs a p-value of at most this.
    parents_alpha
        The same for staying a candidate in the first stage; `alpha` if not given.
    test
        See `bulk_test`.
    min_lag
        1, or 0 to look for links within one tick too.
    fdr
        Correct p-values for the number of tests (Benjamini–Hochberg).
    above_mean
        Keep only links stronger than the mean strength of all links tested. With long recordings
        nearly everything is significant; this keeps what matters.
    seed, max_samples
        For ``knn``: the shuffles, and how many ticks it looks at.
    """

    alpha: float = 0.05
    parents_alpha: float | None = None
    test: TestName = "linear"
    min_lag: int = 1
    fdr: bool = False
    above_mean: bool = False
    seed: int = 0
    max_samples: int = 500

    def discover(
        self,
        ticks: TableSource,
        moments: LaggedMoments,
        *,
        constraints: Constraints | None = None,
        progress: Progress | None = None,
    ) -> CausalGraph:
        """See `Discoverer`."""
        result = run_pcmci(
            bulk_test(
                self.test,
                ticks,
                moments,
                alpha=max(self.alpha, self.parents_alpha or 0.0),
                seed=self.seed,
                max_samples=self.max_samples,
            ),
            moments.signals,
            min_lag=self.min_lag,
            alpha=self.alpha,
            parents_alpha=self.parents_alpha,
            fdr=self.fdr,
            constraints=constraints,
            progress=progress,
        )
        if not self.above_mean:
            return result.graph
        mean = np.abs(result.value[:, :, self.min_lag :]).mean()
        return CausalGraph(
            result.graph.signals,
            {
                link: strength
                for link, strength in result.graph.links.items()
                if abs(strength.value) > mean
                or (constraints is not None and constraints.requires(link))
            },
        )


@dataclass(frozen=True)
class Granger:
    """Granger causality by stepwise regression: what improves a prediction is a cause.

    For every signal, candidates (all signals at all lags) are added one by one, each time the one
    with the strongest partial correlation given those chosen already, as long as it is
    significant after correction for the number of candidates; then those that the later ones have
    made superfluous are taken out again. A sparse vector autoregression, in other words.

    Attributes
    ----------
    alpha
        Chance of one false link per signal that is accepted.
    most_parents
        Where to stop for one signal.
    """

    alpha: float = 0.01
    most_parents: int = 40

    def discover(
        self,
        ticks: TableSource,
        moments: LaggedMoments,
        *,
        constraints: Constraints | None = None,
        progress: Progress | None = None,
    ) -> CausalGraph:
        """See `Discoverer`."""
        if not 0.0 < self.alpha < 1.0:
            msg = f"alpha is {self.alpha:g}; it must lie between 0 and 1."
            raise SettingError(msg)
        test = PartialCorrelation(moments)
        allowed, required = link_masks(test, constraints, min_lag=1)
        names = moments.signals
        links: dict[Link, Strength] = {}
        found = spread(
            lambda target: self._causes(test, target, allowed[:, target], required[:, target]),
            range(test.signals),
        )
        for target, (nodes, values, p_values) in enumerate(found):
            for node, value, p_value in zip(nodes, values, p_values, strict=True):
                lag, source = divmod(int(node), test.signals)
                link = Link(names[source], names[target], lag)
                links[link] = Strength(float(value), float(p_value))
            if progress is not None:
                progress((target + 1) / test.signals)
        return CausalGraph(names, links)

    def _causes(
        self,
        test: BulkTest,
        target: int,
        allowed: NDArray[np.bool_],
        required: NDArray[np.bool_],
    ) -> tuple[Ints, Floats, Floats]:
        source, lag = np.nonzero(allowed)
        candidates = np.asarray(lag * test.signals + source, dtype=np.intp)
        fixed = candidates[required[source, lag]]
        level = self.alpha / max(1, len(candidates))
        chosen = fixed
        while len(chosen) < min(self.most_parents, len(candidates), test.windows // 2):
            rest = np.setdiff1d(candidates, chosen)
            pairs = np.column_stack([rest, np.full_like(rest, target)])
            values, p_values = test.given_sets(chosen, pairs)
            best = int(np.argmax(np.abs(values)))
            if p_values[best] > level:
                break
            chosen = np.append(chosen, rest[best])
        while True:
            values, p_values = self._given_the_others(test, target, chosen)
            loose = np.where(np.isin(chosen, fixed), 0.0, p_values)
            if len(chosen) == 0 or loose.max() <= level:
                return chosen, values, p_values
            chosen = np.delete(chosen, int(np.argmax(loose)))

    @staticmethod
    def _given_the_others(test: BulkTest, target: int, chosen: Ints) -> tuple[Floats, Floats]:
        if len(chosen) == 0:
            return np.empty(0), np.empty(0)
        rows = [[*chosen[chosen != one], one, target] for one in chosen]
        return test.given_sets(chosen[:0], np.array(rows, dtype=np.intp))
