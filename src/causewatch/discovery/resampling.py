"""How sure is a link? Block-bootstrap replicas of a recording, as re-weighted sums.

The recording is cut into blocks of time. A replica draws as many blocks with replacement; since
lagged moments are sums, its moments are those of the blocks, each counted as often as it was drawn.
No row is touched again. In each replica the links of the graph are tested given the causes that
the graph has, at all lags: the first stage of PCMCI, which chooses conditions, is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.discovery.independence import PartialCorrelation
from causewatch.discovery.pcmci import Progress, momentary_tests, nodes_of
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.graph import CausalGraph, Link
from causewatch.kernels.doubled import Doubled
from causewatch.kernels.parallel import one_thread

__all__ = ["LinkConfidence", "confidence_of_links"]

Floats = NDArray[np.float64]

MOST_REPLICAS = 10_000
MOST_BLOCKS = 50
FEWEST_BLOCKS = 10
SHORTEST = 4
"""A block is at least so many times as long as a window reaches back."""
MOST_BYTES = 1 << 29
"""The moments of all blocks together take at most so much memory."""
AT_ONCE = 1 << 22
"""Numbers of replicas held at a time."""
RANGE = (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class LinkConfidence:
    """How a link fares when the recording is resampled.

    Attributes
    ----------
    share
        Of the replicas in which the link is found: significant, and of the sign it has.
    low, high
        Range of its value that holds 90 % of the replicas.
    first_lag, last_lag
        Range of the lag at which its cause acts most strongly on its effect, of 90 %.
    """

    share: float
    low: float
    high: float
    first_lag: int
    last_lag: int


class _Resampled:
    """Lagged moments in which each block counts as often as it was drawn."""

    def __init__(self, signals: Sequence[str], max_lag: int, sums: Floats) -> None:
        self.signals, self.max_lag = tuple(signals), max_lag
        self.windows = round(float(sums[-1, -1]))
        mean = sums[-1, :-1] / sums[-1, -1]
        self._products = sums[:-1, :-1] - np.outer(mean, mean) * sums[-1, -1]

    @property
    def reach(self) -> int:
        """See `LaggedMoments.reach`."""
        return 2 * self.max_lag

    def scatter(self) -> tuple[Doubled, NDArray[np.bool_]]:
        """See `LaggedMoments.scatter`."""
        varies = self._products.diagonal() > 1e-12 * self.windows
        matrix = np.where(varies[:, None] & varies, self._products, 0.0)
        return (matrix, np.zeros_like(matrix)), varies


def confidence_of_links(
    stretches: Sequence[Floats],
    graph: CausalGraph,
    *,
    max_lag: int,
    alpha: float,
    replicas: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[Link, LinkConfidence]:
    """How sure each link of a graph is, from replicas of the recording, by the linear test.

    A link that another test has found for its bent shape looks unsure here.

    Parameters
    ----------
    stretches
        Ticks × signals, in the order of the graph's signals; NaN is missing.
    graph
        What was found in them.
    max_lag
        Longest lag in ticks.
    alpha
        A link is found in a replica if its p-value is at most this.
    replicas
        How many.
    seed
        Chooses the blocks.
    progress
        Told the share of the work done.
    """
    if not 1 <= replicas <= MOST_REPLICAS:
        msg = f"There are to be {replicas} replicas; expected 1 to {MOST_REPLICAS:,}."
        raise SettingError(msg)
    if not 0.0 < alpha < 1.0:
        msg = f"alpha is {alpha:g}; it must lie between 0 and 1."
        raise SettingError(msg)
    names = graph.signals
    for rows in stretches:
        if np.ndim(rows) != 2 or np.shape(rows)[1] != len(names):
            msg = f"A stretch has shape {np.shape(rows)}; expected ticks × {len(names)} signals."
            raise SettingError(msg)
    longest = max((link.lag for link in graph), default=1)
    if max_lag < max(1, longest):
        msg = f"max_lag is {max_lag}; the graph has lags up to {longest}."
        raise SettingError(msg)
    if not len(graph):
        return {}
    blocks = _blocks(stretches, max_lag)
    place = {name: k for k, name in enumerate(names)}
    parents = nodes_of(graph, names)
    asked = np.zeros((len(names), len(names), max_lag + 1), dtype=np.bool_)
    for link in graph:
        asked[place[link.source], place[link.target], min(1, link.lag) :] = True
    asked[np.arange(len(names)), np.arange(len(names)), 0] = False
    values = np.empty((replicas, *asked.shape))
    significant = np.empty(values.shape, dtype=np.bool_)
    random = np.random.default_rng(seed)
    drawn = random.multinomial(len(blocks), np.full(len(blocks), 1.0 / len(blocks)), replicas)
    for k, sums in enumerate(_weighted(blocks, drawn.astype(np.float64))):
        test = PartialCorrelation(_Resampled(names, max_lag, sums))
        values[k], p_values = momentary_tests(test, parents, asked, lambda share: None)
        significant[k] = p_values <= alpha
        if progress is not None:
            progress((k + 1) / replicas)
    return {link: _summary(link, graph, place, values, significant) for link in graph}


def _weighted(blocks: Floats, weights: Floats) -> Iterator[Floats]:
    """The sum of the blocks for each row of weights; many at a time are one product."""
    flat = blocks.reshape(len(blocks), -1)
    step = max(1, AT_ONCE // flat.shape[1])
    for start in range(0, len(weights), step):
        with one_thread():
            sums = weights[start : start + step] @ flat
        yield from sums.reshape(-1, *blocks.shape[1:])


def _summary(
    link: Link,
    graph: CausalGraph,
    place: Mapping[str, int],
    values: Floats,
    significant: NDArray[np.bool_],
) -> LinkConfidence:
    at = place[link.source], place[link.target], link.lag
    value = values[:, *at]
    sign = np.sign(value) == np.sign(graph[link].value)
    strongest = np.abs(values[:, at[0], at[1], :]).argmax(axis=1)
    low, high = np.quantile(value, RANGE)
    first, last = np.quantile(strongest, RANGE, method="nearest")
    return LinkConfidence(
        float((significant[:, *at] & sign).mean()), float(low), float(high), int(first), int(last)
    )


def _blocks(stretches: Sequence[Floats], max_lag: int) -> Floats:
    """Products of all lagged columns and a constant, summed over each block of windows."""
    reach = 2 * max_lag
    signals = stretches[0].shape[1] if stretches else 0
    usable = [rows for rows in stretches if len(rows) > reach]
    windows = sum(len(rows) - reach for rows in usable)
    width = (reach + 1) * signals + 1
    most = int(min(MOST_BLOCKS, MOST_BYTES // (8 * width * width), windows // (SHORTEST * reach)))
    if most < FEWEST_BLOCKS:
        msg = (
            f"{windows} ticks of {signals} signals make {most} blocks to resample from; at least"
            f" {FEWEST_BLOCKS} are needed: give a longer recording, a shorter --max-lag, or fewer"
            " signals."
        )
        raise NotEnoughDataError(msg)
    whole = np.concatenate(usable)
    centre = np.nanmean(whole, axis=0)
    spread = np.nanstd(whole, axis=0)
    spread[~(spread > 0)] = 1.0
    sums, before = np.zeros((most, width, width)), 0
    for rows in usable:
        scaled = (rows - centre) / spread
        block = (before + np.arange(len(rows) - reach)) * most // windows
        before += len(rows) - reach
        for number in np.unique(block):
            now = reach + np.flatnonzero(block == number)
            columns = [scaled[now - lag] for lag in range(reach + 1)]
            window = np.concatenate([*columns, np.ones((len(now), 1))], axis=1)
            window = window[np.isfinite(window).all(axis=1)]
            sums[number] += window.T @ window
    return sums
