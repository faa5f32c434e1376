"""How far a causal graph that was found is from the true one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.errors import NotEnoughDataError, SettingError, listing
from causewatch.graph import CausalGraph

__all__ = ["GraphScore", "compare_adjacency", "compare_graphs"]

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class GraphScore:
    """A graph that was found, held against the true one.

    Attributes
    ----------
    precision
        Share of found links that are true; NaN if none was found.
    recall
        Share of true links that were found; NaN if there is none.
    f1
        2·TP / (2·TP + FP + FN); NaN if neither graph has a link.
    shd
        Structural Hamming distance; see `compare_adjacency`.
    true_positives, false_positives, false_negatives
        Links found and true, found but not true, true but not found. A reversed link is one false
        positive and one false negative.
    signals
        How many signals were compared.
    left_out
        Signals that only one of the graphs knows; their links are not counted.
    """

    precision: float
    recall: float
    f1: float
    shd: int
    true_positives: int
    false_positives: int
    false_negatives: int
    signals: int
    left_out: tuple[str, ...] = ()


def compare_graphs(
    found: CausalGraph, true: CausalGraph, *, lags: bool = False, self_links: bool = False
) -> GraphScore:
    """Hold a found graph against the true one, link by link.

    Only signals that both graphs know are compared; `left_out` of the answer names the others. Look
    at it: a graph that leaves out a signal does not lose by the links of that signal.

    Parameters
    ----------
    found, true
        The graphs; strengths do not matter.
    lags
        Whether the lag must be right too: then a link at another lag is one false positive and one
        false negative. Otherwise all links from one signal to another count as one.
    self_links
        Whether links from a signal to its own future count. Most signals have one, so they make
        every graph look good.

    Examples
    --------
    >>> from causewatch.graph import Link, Strength
    >>> one = CausalGraph("abc", {Link("a", "b", 2): Strength(0.5, 0.0)})
    >>> two = CausalGraph("abc", {Link("a", "b", 1): Strength(0.5, 0.0)})
    >>> compare_graphs(one, two).shd, compare_graphs(one, two, lags=True).shd
    (0, 2)
    """
    known = set(true.signals)
    names = [name for name in found.signals if name in known]
    if len(names) < 2:
        msg = (
            f"The graphs have {len(names)} signals in common, so there is no link to compare; the"
            f" found one has {listing(found.signals)}, the true one {listing(true.signals)}."
        )
        raise NotEnoughDataError(msg)
    both = set(names)
    depth = 1 + max((link.lag for graph in (found, true) for link in graph), default=0)
    score = compare_adjacency(
        _array(found, names, depth if lags else 1),
        _array(true, names, depth if lags else 1),
        self_links=self_links,
    )
    others = [name for name in (*found.signals, *true.signals) if name not in both]
    return replace(score, left_out=tuple(others))


def compare_adjacency(found: ArrayLike, true: ArrayLike, *, self_links: bool = False) -> GraphScore:
    """Hold a found adjacency matrix against the true one.

    The structural Hamming distance (Tsamardinos, Brown, Aliferis 2006) is the number of pairs of
    signals whose links differ: add a link, take one away or turn one round, each costs 1. A pair
    with links both ways differs by 1 from a pair with one link, and by 1 from a pair with none.
    With lags, pairs are compared lag by lag. Each self link that differs costs 1, if they count.

    Parameters
    ----------
    found, true
        Entry [i, j], or [i, j, lag], is nonzero if signal i is a cause of signal j.
    self_links
        Whether entries [i, i] count.

    Notes
    -----
    This is the distance of RCAEval and of `SHD(…, double_for_anticausal=False)` of cdt. gcastle
    takes links both ways for a link without direction and does not count them against a true one.

    Examples
    --------
    >>> compare_adjacency([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 0, 1], [1, 0, 0], [0, 0, 0]]).shd
    1
    """
    got, want = _square(found, "found"), _square(true, "true")
    if got.shape != want.shape:
        msg = (
            f"The found matrix has shape {got.shape} and the true one {want.shape}; they must be of"
            " the same signals and lags."
        )
        raise SettingError(msg)
    signals = got.shape[0]
    if not self_links:
        elsewhere = ~np.eye(signals, dtype=np.bool_)[:, :, None]
        got, want = got & elsewhere, want & elsewhere
    hits = int((got & want).sum())
    extra, missing = int((got & ~want).sum()), int((want & ~got).sum())
    differs = got != want
    either = differs | differs.transpose(1, 0, 2)
    # A pair is counted once, in the upper triangle; the diagonal holds the self links.
    distance = int((either & np.triu(np.ones((signals, signals), np.bool_))[:, :, None]).sum())
    return GraphScore(
        precision=_ratio(hits, hits + extra),
        recall=_ratio(hits, hits + missing),
        f1=_ratio(2 * hits, 2 * hits + extra + missing),
        shd=distance,
        true_positives=hits,
        false_positives=extra,
        false_negatives=missing,
        signals=signals,
    )


def _array(graph: CausalGraph, names: Sequence[str], depth: int) -> Bools:
    """The links among `names` as an array; all in one layer if `depth` is 1."""
    place = {name: k for k, name in enumerate(names)}
    there = np.zeros((len(names), len(names), depth), dtype=np.bool_)
    for link in graph:
        if link.source in place and link.target in place:
            there[place[link.source], place[link.target], min(link.lag, depth - 1)] = True
    return there


def _square(matrix: ArrayLike, name: str) -> Bools:
    """An adjacency matrix with an axis for lags."""
    array = np.asarray(matrix)
    if array.ndim not in (2, 3) or array.shape[0] != array.shape[1]:
        msg = (
            f"The {name} matrix has shape {array.shape}; it must be signals by signals, or signals"
            " by signals by lags."
        )
        raise SettingError(msg)
    if array.dtype.kind == "f" and np.isnan(array).any():
        msg = f"The {name} matrix has missing entries; say 0 where there is no link."
        raise SettingError(msg)
    return np.asarray(array != 0).reshape(*array.shape[:2], -1)


def _ratio(part: int, whole: int) -> float:
    """NaN of nothing: missing is not zero."""
    return part / whole if whole else float("nan")
