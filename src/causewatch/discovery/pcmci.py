"""PCMCI: which signals cause which others, and after what delay.

Runge, Nowack, Kretschmer, Flaxman and Sejdinovic, "Detecting and quantifying causal associations in
large nonlinear time series datasets", Science Advances 5 (2019). Two stages: `find_parents` (PC
with one condition set per size) finds for every signal a small set that holds its causes;
`momentary_tests` (MCI) tests every link given the parents of both its ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.discovery.features import FeatureMoments
from causewatch.discovery.independence import BulkTest
from causewatch.discovery.knowledge import Constraints
from causewatch.discovery.momentary import FEW_NUMBERS, MomentaryConditions, in_sizes, packed
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.named import TestName, prepared_test
from causewatch.errors import SettingError
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.kernels.parallel import spread

__all__ = [
    "DiscoveryResult",
    "Progress",
    "check_level",
    "find_parents",
    "is_large",
    "link_masks",
    "nodes_of",
    "pcmci",
    "run_pcmci",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Progress = Callable[[float], None]
"""Told the share of the work done, between 0 and 1."""
TIE_DECIMALS = 12
"""Decimals to which the strengths of two candidates must agree to be a tie."""


@dataclass(frozen=True)
class DiscoveryResult:
    """What discovery found.

    Attributes
    ----------
    signals
        Names, in the order of the arrays.
    value, p_value
        ``[i, j, lag]``: signal i, `lag` ticks ago, against signal j now. The lag axis runs from 0
        to `max_lag`; what is not tested is 0 and 1.
    parents
        For every signal the set that the first stage found, strongest first, as (signal, lag).
    graph
        Links with ``p_value <= alpha``, and those that knowledge requires.
    alpha, max_lag, min_lag, windows
        How it was found; `windows` is the number of samples of each test.
    """

    signals: tuple[str, ...]
    value: Floats
    p_value: Floats
    parents: dict[str, list[tuple[str, int]]]
    graph: CausalGraph
    alpha: float
    max_lag: int
    min_lag: int
    windows: int


def pcmci(
    values: ArrayLike | LaggedMoments | FeatureMoments,
    *,
    max_lag: int | None = None,
    min_lag: int = 1,
    alpha: float = 0.05,
    parents_alpha: float | None = None,
    test: TestName = "linear",
    signals: Sequence[str] | None = None,
    starts: Sequence[int] = (0,),
    fdr: bool = False,
    constraints: Constraints | None = None,
    progress: Progress | None = None,
) -> DiscoveryResult:
    """PCMCI from rows or from moments.

    Parameters
    ----------
    values
        Ticks × signals (NaN is missing; windows with a missing value are left out), or the moments
        of them, which give the same result: `LaggedMoments` for the linear test, `FeatureMoments`
        for that of features.
    max_lag
        Longest lag in ticks; needed unless moments are given.
    min_lag
        1, or 0 to test links within one tick too (found in both directions).
    alpha
        A link needs a p-value of at most this.
    parents_alpha
        The same for staying a candidate in the first stage; `alpha` if not given. A generous
        level there costs time only, a strict one drops true parents.
    test
        The independence test, by name: see `bulk_test`. Moments have theirs already.
    signals
        Names; ``x0``, ``x1``, … if not given.
    starts
        Row numbers at which a new stretch begins.
    fdr
        Correct the p-values for the number of tests (Benjamini–Hochberg).
    constraints
        Links that knowledge forbids or requires.
    progress
        Told the share of the work done.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(1000, 2))
    >>> rows[1:, 1] += 0.8 * rows[:-1, 0]
    >>> [str(link) for link in pcmci(rows, max_lag=2, alpha=1e-4).graph]
    ['x0 →(1) x1']
    """
    prepared, names = prepared_test(
        values, test, max_lag, signals, starts, alpha=max(alpha, parents_alpha or 0.0)
    )
    return run_pcmci(
        prepared,
        names,
        min_lag=min_lag,
        alpha=alpha,
        parents_alpha=parents_alpha,
        fdr=fdr,
        constraints=constraints,
        progress=progress,
    )


def run_pcmci(
    test: BulkTest,
    signals: Sequence[str],
    *,
    min_lag: int = 1,
    alpha: float = 0.05,
    parents_alpha: float | None = None,
    fdr: bool = False,
    constraints: Constraints | None = None,
    progress: Progress | None = None,
) -> DiscoveryResult:
    """PCMCI with any independence test; see :func:`pcmci` for the parameters."""
    if min_lag not in (0, 1):
        msg = f"min_lag is {min_lag}; it must be 0 or 1."
        raise SettingError(msg)
    level = alpha if parents_alpha is None else parents_alpha
    for name, given in (("alpha", alpha), ("parents_alpha", level)):
        check_level(name, given)
    number, max_lag = test.signals, test.max_lag
    allowed, required = link_masks(test, constraints, min_lag)
    report = progress or (lambda share: None)
    parents: list[Ints] = []
    for found in spread(
        lambda target: find_parents(test, target, level, allowed, required),
        range(number),
        threads=is_large(test),
    ):
        parents.append(found)
        report(0.5 * len(parents) / number)
    value, p_value = momentary_tests(test, parents, allowed, lambda s: report(0.5 + 0.5 * s))
    if fdr:
        p_value[allowed] = _benjamini_hochberg(p_value[allowed])
    kept = (allowed & (p_value <= alpha)) | required
    graph = CausalGraph(
        signals,
        {
            Link(signals[i], signals[j], int(lag)): Strength(
                float(value[i, j, lag]), float(p_value[i, j, lag])
            )
            for i, j, lag in np.argwhere(kept)
        },
    )
    named = {
        signals[j]: [(signals[node % number], int(node // number)) for node in parents[j]]
        for j in range(number)
    }
    return DiscoveryResult(
        signals=tuple(signals),
        value=value,
        p_value=p_value,
        parents=named,
        graph=graph,
        alpha=alpha,
        max_lag=max_lag,
        min_lag=min_lag,
        windows=test.windows,
    )


def check_level(name: str, level: float) -> None:
    """Refuse a level of significance that is none."""
    if not 0.0 < level < 1.0:
        msg = f"{name} is {level:g}; it must lie between 0 and 1."
        raise SettingError(msg)


def nodes_of(links: Iterable[Link], signals: Sequence[str]) -> list[Ints]:
    """The causes of each signal among some links, as nodes."""
    place = {name: k for k, name in enumerate(signals)}
    causes: dict[str, list[int]] = {name: [] for name in signals}
    for link in sorted(links):
        causes[link.target].append(link.lag * len(signals) + place[link.source])
    return [np.array(causes[name], dtype=np.intp) for name in signals]


def link_masks(
    test: BulkTest, constraints: Constraints | None, min_lag: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which links ``[i, j, lag]`` are to be tested, and which of them are required."""
    number, max_lag = test.signals, test.max_lag
    allowed = np.ones((number, number, max_lag + 1), dtype=bool)
    required = np.zeros_like(allowed)
    if constraints is not None:
        allowed &= constraints.allowed
        required |= constraints.required
    allowed[:, :, :min_lag] = False
    allowed[np.arange(number), np.arange(number), 0] = False
    return allowed, required & allowed


def find_parents(
    test: BulkTest,
    target: int,
    alpha: float,
    allowed: NDArray[np.bool_],
    required: NDArray[np.bool_],
    dropped: list[Ints] | None = None,
) -> Ints:
    """First stage: the nodes that stay dependent on the target, strongest first.

    Candidates are tested given none, one, two … of the strongest *other* candidates; the
    independent ones drop out after each round, the others are sorted anew by the smallest value
    seen so far. The tests that made candidates drop out are added to `dropped`, as rows of
    ``test.given_sets``.
    """
    number = test.signals
    source, lag = np.nonzero(allowed[:, target, 1:])
    lag += 1
    ordered = np.asarray(lag * number + source, dtype=np.intp)
    fixed = required[source, target, lag]
    smallest = np.full(len(ordered), np.inf)
    place = np.arange(len(ordered))
    depth = 0
    while len(ordered) > depth:
        values, stays = test.given_others(target, ordered, depth, alpha)
        stays = stays | fixed
        if dropped is not None:
            dropped.append(_given_others(target, ordered, depth, np.flatnonzero(~stays)))
        smallest = np.minimum(smallest, np.where(fixed, 1.0, np.abs(values)))
        # Ties (copies of a signal in other units, say) keep their first order; what differs by
        # rounding only is a tie.
        order = np.lexsort((place[stays], -np.round(smallest[stays], TIE_DECIMALS)))
        ordered, smallest, place, fixed = (
            column[stays][order] for column in (ordered, smallest, place, fixed)
        )
        depth += 1
    return ordered


def _given_others(target: int, ordered: Ints, depth: int, places: Ints) -> Ints:
    """The tests of the candidates at `places`, as rows of ``test.given_sets``."""
    sets = np.empty((len(places), depth + 2), dtype=np.intp)
    sets[:, :depth] = ordered[:depth]
    among = np.flatnonzero(places < depth)
    sets[among, places[among]] = ordered[depth]
    sets[:, depth], sets[:, depth + 1] = ordered[places], target
    return sets


def momentary_tests(
    test: BulkTest,
    parents: Sequence[Ints],
    allowed: NDArray[np.bool_],
    progress: Progress,
) -> tuple[Floats, Floats]:
    """Second stage: each link given the parents of its target and the shifted ones of its source.

    Returns
    -------
    value, p_value
        ``[i, j, lag]``; 0 and 1 where a link is not allowed.
    """
    number = test.signals
    value = np.zeros(allowed.shape)
    p_value = np.ones(allowed.shape)
    conditions = MomentaryConditions(parents, test.max_lag)

    def one(target: int) -> None:
        source, lag = np.nonzero(allowed[:, target, :])
        own = parents[target]
        x = np.asarray(lag * number + source, dtype=np.intp)
        shifted = conditions.of_source(source, lag, target)
        sets = np.column_stack([shifted, x, np.full_like(x, target)])
        # A link from one of the parents is tested given the other ones; all other links are
        # tested given all of them, which is what makes the second stage cheap in large systems.
        # In small ones, one call for all of them is cheaper than two.
        few = len(x) * (len(own) + sets.shape[1]) ** 2 < FEW_NUMBERS
        alone = conditions.are_parents(x, target) | few
        for rows in in_sizes(sets, np.flatnonzero(~alone)):
            ask(target, source[rows], lag[rows], own, sets[rows])
        rows = np.flatnonzero(alone)
        if len(rows):
            others = np.where(own == x[rows, None], -1, own)
            ask(target, source[rows], lag[rows], own[:0], np.column_stack([others, sets[rows]]))

    def ask(target: int, source: Ints, lag: Ints, shared: Ints, sets: Ints) -> None:
        answer = test.given_sets(shared, packed(sets))
        value[source, target, lag], p_value[source, target, lag] = answer

    for done, _ in enumerate(spread(one, range(number), threads=is_large(test)), start=1):
        progress(done / number)
    return value, p_value


def is_large(test: BulkTest) -> bool:
    """Whether there is enough work for a target that threads bring something."""
    return test.signals * test.max_lag > 300


def _benjamini_hochberg(p_values: Floats) -> Floats:
    """P-values corrected so that `alpha` bounds the expected share of false links."""
    order = np.argsort(p_values)
    ranks = np.arange(1, len(p_values) + 1)
    steps = p_values[order] * len(p_values) / ranks
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])
    return corrected
