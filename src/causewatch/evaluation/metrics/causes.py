"""How well causes were named: rankings of signals held against the true ones, event by event.

There is one ranking per event, best signal first, and one set of true signals. A missed event has
an empty ranking, and so has one where the explanation abstains: both count 0 in every figure here.
How often it abstained is a figure of its own (`abstained` of the report card). Events whose cause
nobody knows must be left out. Every figure has its chance level: what a ranking of all signals in
random order would reach on average.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.evaluation.metrics.ranges import check_option

__all__ = [
    "Counting",
    "ac_at_k",
    "avg_at_k",
    "chance_ac_at_k",
    "chance_avg_at_k",
    "chance_map_at_k",
    "chance_mrr",
    "map_at_k",
    "mrr",
]

Bools = NDArray[np.bool_]
Rankings = Sequence[Sequence[str]]
Truths = Sequence[Collection[str]]

Counting = Literal["any", "share"]
"""Whether one true signal among the first k is enough, or their share counts."""


def ac_at_k(rankings: Rankings, truths: Truths, k: int, *, mode: Counting = "any") -> float:
    """Accuracy at k: share of events with a true signal among the first k named.

    Parameters
    ----------
    rankings
        Signals named for each event, best first; empty if missed or abstained.
    truths
        True signals of each event; at least one.
    k
        How many named signals are looked at.
    mode
        `"any"`: any true signal among them is a hit, as somebody who looks there finds the trouble.
        `"share"`: their number over min(k, number of true signals), averaged over events: AC@k of
        RCAEval (Pham et al., WWW 2025), after Li et al. (KDD 2022). The same with one true signal.

    Examples
    --------
    >>> ac_at_k([["a", "b"], []], [{"b", "c"}, {"a"}], k=2)
    0.5
    >>> ac_at_k([["a", "b"], []], [{"b", "c"}, {"a"}], k=2, mode="share")
    0.25
    """
    _check_k(k)
    check_option(mode, "mode", Counting)
    hits, sizes = _hits(rankings, truths)
    found = [int(hit[:k].sum()) for hit in hits]
    if mode == "any":
        return float(np.mean([number > 0 for number in found]))
    return float(np.mean([n / min(k, size) for n, size in zip(found, sizes, strict=True)]))


def avg_at_k(rankings: Rankings, truths: Truths, k: int, *, mode: Counting = "any") -> float:
    """Mean of AC@1, …, AC@k (Avg@k of RCAEval, Pham et al. 2025); see `ac_at_k`."""
    _check_k(k)
    return float(np.mean([ac_at_k(rankings, truths, j, mode=mode) for j in range(1, k + 1)]))


def map_at_k(rankings: Rankings, truths: Truths, k: int) -> float:
    """Mean average precision at k, as causRCA counts it (Fraunhofer IWU, 2025).

    For an event with m true signals, go down the first k named; at every true one take the share of
    true ones up to there; divide the sum of these shares by min(m, k). Average over events. So 1
    means that the first min(m, k) named are all true, and order matters among the first k only.

    Parameters
    ----------
    rankings, truths, k
        See `ac_at_k`.

    Notes
    -----
    causRCA leaves out runs for which nothing was named; here they count 0. The MAP@K of
    LEMMA-RCA is another figure: `avg_at_k` with ``mode="share"``.

    Examples
    --------
    >>> map_at_k([["b", "a", "c"]], [{"b", "c"}], k=3)
    0.8333333333333333
    """
    _check_k(k)
    hits, sizes = _hits(rankings, truths)
    return float(
        np.mean([_precision(hit[:k], min(k, m)) for hit, m in zip(hits, sizes, strict=True)])
    )


def mrr(rankings: Rankings, truths: Truths) -> float:
    """Mean reciprocal rank (Voorhees 1999): mean of one over the rank of the first true signal.

    0 for an event whose ranking holds none.

    Examples
    --------
    >>> mrr([["a", "b"], ["b"], []], [{"b"}, {"b"}, {"a"}])
    0.5
    """
    hits, _ = _hits(rankings, truths)
    return float(np.mean([1 / (int(hit.argmax()) + 1) if hit.any() else 0.0 for hit in hits]))


def chance_ac_at_k(
    truth_sizes: Sequence[int], signals: int | Sequence[int], k: int, *, mode: Counting = "any"
) -> float:
    """AC@k of rankings in random order, on average; exact.

    With m true among n signals, the first k miss them all with the hypergeometric probability
    C(n − m, k) / C(n, k); their expected number is k·m/n.

    Parameters
    ----------
    truth_sizes
        How many true signals each event has.
    signals
        From how many signals causes are named: one number, or one for each event.
    k, mode
        See `ac_at_k`.

    Examples
    --------
    >>> chance_ac_at_k([1, 2], 10, 3)
    0.4166666666666667
    """
    _check_k(k)
    check_option(mode, "mode", Counting)

    def expected(m: int, n: int) -> float:
        drawn = min(k, n)
        if mode == "share":
            return drawn * m / n / min(k, m)
        return 1 - comb(n - m, drawn) / comb(n, drawn)

    return _mean_chance(truth_sizes, signals, expected)


def chance_avg_at_k(
    truth_sizes: Sequence[int], signals: int | Sequence[int], k: int, *, mode: Counting = "any"
) -> float:
    """Avg@k of rankings in random order, on average; exact. See `chance_ac_at_k`."""
    _check_k(k)
    levels = [chance_ac_at_k(truth_sizes, signals, j, mode=mode) for j in range(1, k + 1)]
    return float(np.mean(levels))


def chance_map_at_k(truth_sizes: Sequence[int], signals: int | Sequence[int], k: int) -> float:
    """MAP@k of rankings in random order, on average; exact. See `chance_ac_at_k`.

    Rank r is true with probability m/n, and then each of the r − 1 above it with (m − 1)/(n − 1).
    """
    _check_k(k)

    def expected(m: int, n: int) -> float:
        above = (m - 1) / (n - 1) if n > 1 else 0.0
        shares = [(1 + (r - 1) * above) / r for r in range(1, min(k, n) + 1)]
        return m / n * sum(shares) / min(m, k)

    return _mean_chance(truth_sizes, signals, expected)


def chance_mrr(truth_sizes: Sequence[int], signals: int | Sequence[int]) -> float:
    """MRR of rankings in random order, on average; exact. See `chance_ac_at_k`.

    The first true one is at rank r if the other m − 1 are among the n − r below it.
    """

    def expected(m: int, n: int) -> float:
        return sum(comb(n - r, m - 1) / comb(n, m) / r for r in range(1, n - m + 2))

    return _mean_chance(truth_sizes, signals, expected)


def _mean_chance(
    truth_sizes: Sequence[int],
    signals: int | Sequence[int],
    expected: Callable[[int, int], float],
) -> float:
    sizes = [int(size) for size in truth_sizes]
    if not sizes:
        raise NotEnoughDataError(NO_EVENTS)
    counts = [signals] * len(sizes) if isinstance(signals, int) else [int(n) for n in signals]
    if len(counts) != len(sizes):
        msg = f"There are {len(counts)} numbers of signals for {len(sizes)} events; give one each."
        raise SettingError(msg)
    for event, (m, n) in enumerate(zip(sizes, counts, strict=True)):
        if not 1 <= m <= n:
            msg = (
                f"Event {event} has {m} true signals of {n}; there must be at least one, and not"
                " more than there are signals."
            )
            raise SettingError(msg)
    level = {pair: expected(*pair) for pair in set(zip(sizes, counts, strict=True))}
    return float(np.mean([level[pair] for pair in zip(sizes, counts, strict=True)]))


NO_EVENTS = "There is no event with a known cause to name; count detections instead."


def _check_k(k: int) -> None:
    if not isinstance(k, (int, np.integer)) or k < 1:
        msg = f"k is {k!r}; at least the first signal named must be looked at."
        raise SettingError(msg)


def _hits(rankings: Rankings, truths: Truths) -> tuple[list[Bools], list[int]]:
    """For each event, which named signals are true, and how many true ones there are."""
    if len(rankings) != len(truths):
        msg = (
            f"There are {len(rankings)} rankings for {len(truths)} events; give one for each, empty"
            " where nothing was named."
        )
        raise SettingError(msg)
    if not len(truths):
        raise NotEnoughDataError(NO_EVENTS)
    hits, sizes = [], []
    for event, (ranking, truth) in enumerate(zip(rankings, truths, strict=True)):
        if isinstance(ranking, str) or isinstance(truth, str):
            msg = f"Event {event} has a text where a list of signals is expected; put it in a list."
            raise SettingError(msg)
        true = set(truth)
        if not true:
            msg = f"Event {event} has no true signal; leave out events whose cause is not known."
            raise SettingError(msg)
        if len(set(ranking)) != len(ranking):
            msg = f"The ranking of event {event} names a signal twice; each may have one rank only."
            raise SettingError(msg)
        hits.append(np.array([signal in true for signal in ranking], dtype=np.bool_))
        sizes.append(len(true))
    return hits, sizes


def _precision(hit: Bools, most: int) -> float:
    """Average precision: the shares of true signals down to each true one, over `most`."""
    ranks = np.flatnonzero(hit) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / most)
