"""PCMCI+: which signals cause which others, after what delay or within the same tick.

Runge, "Discovering contemporaneous and lagged causal relations in autocorrelated nonlinear time
series datasets", UAI 2020. The first stage is that of PCMCI. The second one tests each link that
it left, and each pair within one tick, given the parents of both ends and more and more of the
target's neighbours within the tick; what is left within a tick is then oriented where the
tests say which way (`causewatch.discovery.orientation`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, zip_longest

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.discovery.features import FeatureMoments
from causewatch.discovery.independence import BulkTest
from causewatch.discovery.momentary import (
    MOST_TESTS,
    NONE,
    MomentaryConditions,
    given_uneven_sets,
)
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.named import TestName, prepared_test
from causewatch.discovery.orientation import FORWARD, Triples, oriented, unshielded
from causewatch.discovery.pcmci import (
    TIE_DECIMALS,
    check_level,
    find_parents,
    is_large,
    link_masks,
)
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.kernels.parallel import one_thread, spread

__all__ = ["PlusResult", "pcmciplus", "run_pcmciplus"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Links = tuple[Ints, Ints, Ints]
"""Sources, targets and lags."""
Ask = Callable[[Links, Ints], tuple[Floats, Floats]]
"""Values and p-values of links, each given further conditions of the same tick (−1: none)."""
FIRST_SETS = 4
"""Condition sets of a link that are tested at first; later ones are often not needed."""


@dataclass(frozen=True)
class PlusResult:
    """What PCMCI+ found.

    Attributes
    ----------
    signals
        Names, in the order of the arrays.
    value, p_value
        ``[i, j, lag]``: signal i, `lag` ticks ago, against signal j now: of the test with the
        largest p-value, which is the one that a removed link did not pass. 0 and 1 for a signal and
        itself at lag 0. At lag 0 both directions have the same; where a test of j against i was the
        one not passed, and j comes after i, the value is that of the other direction.
    marks
        ``[i, j, lag]``: ``-->`` i causes j; ``<--`` j causes i (lag 0 only); ``o-o`` one of them
        causes the other, and the data do not say which; ``x-x`` they contradict themselves about
        that; empty for no link.
    parents
        For every signal the set that the first stage found, strongest first, as (signal, lag).
    graph
        The links ``-->``, those at lag 0 included.
    alpha, max_lag, windows
        How it was found; `windows` is the number of samples of each test.
    """

    signals: tuple[str, ...]
    value: Floats
    p_value: Floats
    marks: NDArray[np.str_]
    parents: dict[str, list[tuple[str, int]]]
    graph: CausalGraph
    alpha: float
    max_lag: int
    windows: int


def pcmciplus(
    values: ArrayLike | LaggedMoments | FeatureMoments,
    *,
    max_lag: int | None = None,
    alpha: float = 0.01,
    test: TestName = "linear",
    signals: Sequence[str] | None = None,
    starts: Sequence[int] = (0,),
) -> PlusResult:
    """PCMCI+ from rows or from moments.

    Parameters
    ----------
    values
        Ticks × signals (NaN is missing; windows with a missing value are left out), or the moments
        of them, which give the same result: `LaggedMoments` for the linear test, `FeatureMoments`
        for that of features.
    max_lag
        Longest lag in ticks; needed unless moments are given.
    alpha
        Level of all tests.
    test
        The independence test, by name: see `bulk_test`. Moments have theirs already.
    signals
        Names; ``x0``, ``x1``, … if not given.
    starts
        Row numbers at which a new stretch begins.

    Notes
    -----
    Colliders are found by the majority rule; conflicts are marked. The time taken grows
    exponentially with the number of neighbours a signal has within one tick.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(1000, 3))
    >>> rows[:, 1] += rows[:, 0] + rows[:, 2]
    >>> print(pcmciplus(rows, max_lag=1, alpha=1e-4).marks[:, :, 0])
    [['' '-->' '']
     ['<--' '' '<--']
     ['' '-->' '']]
    """
    prepared, names = prepared_test(values, test, max_lag, signals, starts, alpha=alpha)
    return run_pcmciplus(prepared, names, alpha=alpha)


def run_pcmciplus(test: BulkTest, signals: Sequence[str], *, alpha: float = 0.01) -> PlusResult:
    """PCMCI+ with any independence test; see :func:`pcmciplus` for the parameters."""
    check_level("alpha", alpha)
    number = test.signals
    with one_thread():
        parents, value, p_value = _first_stage(test, alpha)
        ask = _momentary_tests(test, parents)
        linked = _skeleton(ask, parents, _Weakest(value, p_value), alpha)
        marks = oriented(linked, *_majority(ask, linked, alpha))
    graph = CausalGraph(
        signals,
        {
            Link(signals[i], signals[j], int(lag)): Strength(
                float(value[i, j, lag]), float(p_value[i, j, lag])
            )
            for i, j, lag in np.argwhere(marks == FORWARD)
        },
    )
    named = {
        signals[j]: [(signals[node % number], int(node // number)) for node in own]
        for j, own in enumerate(parents)
    }
    return PlusResult(
        signals=tuple(signals),
        value=value,
        p_value=p_value,
        marks=marks,
        parents=named,
        graph=graph,
        alpha=alpha,
        max_lag=test.max_lag,
        windows=test.windows,
    )


def _first_stage(test: BulkTest, alpha: float) -> tuple[list[Ints], Floats, Floats]:
    """Parents of all signals, and value and p-value of the tests that candidates did not pass."""
    number = test.signals
    allowed, required = link_masks(test, None, min_lag=1)
    dropped: list[list[Ints]] = [[] for _ in range(number)]
    parents = list(
        spread(
            lambda target: find_parents(test, target, alpha, allowed, required, dropped[target]),
            range(number),
            threads=is_large(test),
        )
    )
    value, p_value = np.zeros(allowed.shape), np.ones(allowed.shape)
    rows = [sets for of_target in dropped for sets in of_target if len(sets)]
    for width in {sets.shape[1] for sets in rows}:
        sets = np.concatenate([these for these in rows if these.shape[1] == width])
        lag, source = np.divmod(sets[:, -2], number)
        index = source, sets[:, -1], lag
        value[index], p_value[index] = test.given_sets(NONE, sets)
    return parents, value, p_value


def _momentary_tests(test: BulkTest, parents: Sequence[Ints]) -> Ask:
    """Tests of links given the parents of both ends, and what else is asked for."""
    conditions = MomentaryConditions(parents, test.max_lag)

    def ask(links: Links, further: Ints) -> tuple[Floats, Floats]:
        source, target, lag = links
        x = lag * test.signals + source
        of_target = conditions.of_target(x, target)
        of_source = conditions.of_source(source, lag, target)
        return given_uneven_sets(test, np.column_stack([of_target, of_source, further, x, target]))

    return ask


class _Weakest:
    """The weakest test of each link so far: that with the largest p-value.

    Attributes
    ----------
    value, p_value
        ``[i, j, lag]``, of that test.
    smallest
        ``[i, j]``: smallest absolute value of all tests of a link within a tick.
    """

    def __init__(self, value: Floats, p_value: Floats) -> None:
        self.value, self.p_value = value, p_value
        self.smallest = np.full(value.shape[:2], np.inf)

    def start(self, linked: Bools) -> None:
        """Forget what is known of these links."""
        self.p_value[linked] = -1.0

    def note(self, links: Links, values: Floats, p_values: Floats) -> None:
        """Take in tests; a link may be among them several times."""
        source, target, lag = links
        # Of p-values too small to be told from 0, the last one counts.
        order = np.lexsort((p_values, lag, target, source))
        same = [part[order][1:] == part[order][:-1] for part in links]
        last = order[np.append(~np.logical_and.reduce(same), True)]
        index = source[last], target[last], lag[last]
        larger = p_values[last] >= self.p_value[index]
        self.value[index] = np.where(larger, values[last], self.value[index])
        self.p_value[index] = np.maximum(p_values[last], self.p_value[index])
        within = lag == 0
        np.minimum.at(self.smallest, (source[within], target[within]), np.abs(values[within]))

    def settle_removed(self, alpha: float) -> None:
        """Give the direction that was not needed to remove a link the p-value of the other one.

        Where both directions remove it, the first one counts: that from the earlier signal.
        """
        now = self.p_value[:, :, 0]
        removed = now > alpha
        first = np.triu(removed)
        second = np.tril(removed) & ~first.T
        now.T[first] = now[first]
        now.T[second] = now[second]

    def join_directions(self) -> None:
        """Give both directions within a tick the test with the larger p-value of the two."""
        value, p_value = self.value[:, :, 0], self.p_value[:, :, 0]
        kept = np.triu(p_value >= p_value.T, 1)
        kept |= np.tril(~kept.T, -1)
        value.T[kept], p_value.T[kept] = value[kept], p_value[kept]


def _skeleton(ask: Ask, parents: Sequence[Ints], weakest: _Weakest, alpha: float) -> Bools:
    """Second stage: the links ``[i, j, lag]`` that no set of neighbours of the target explains.

    Links are tested given none, one, two … neighbours of the target within the tick, strongest
    first, until one of the tests finds them independent. Which are neighbours is settled anew
    when all links have been tested given as many.
    """
    number = len(parents)
    linked = np.zeros(weakest.value.shape, dtype=bool)
    linked[:, :, 0] = ~np.eye(number, dtype=bool)
    for signal, own in enumerate(parents):
        linked[own % number, signal, own // number] = True
    weakest.start(linked)
    for size in range(number):
        source, target, lag = np.nonzero(linked)
        enough = linked[:, :, 0].sum(axis=0)[target] - (lag == 0) >= size
        if not enough.any():
            break
        near = _neighbours(linked, weakest.smallest)
        links = source[enough], target[enough], lag[enough]
        _test_given(ask, links, near, size, weakest, alpha)
        weakest.settle_removed(alpha)
        linked &= weakest.p_value <= alpha
    weakest.join_directions()
    return linked


def _neighbours(linked: Bools, smallest: Floats) -> list[list[int]]:
    """For each signal those it is linked with in the same tick, strongest first."""
    within = linked[:, :, 0]
    strength = np.where(within, np.round(smallest, TIE_DECIMALS), -np.inf)
    ordered = np.argsort(-strength, axis=0, kind="stable")
    counts = within.sum(axis=0).tolist()
    return [nodes[:count].tolist() for nodes, count in zip(ordered.T, counts, strict=True)]


def _test_given(
    ask: Ask,
    links: Links,
    near: Sequence[Sequence[int]],
    size: int,
    weakest: _Weakest,
    alpha: float,
) -> None:
    """Each link given sets of `size` neighbours of its target, until it is found independent."""
    waiting = {
        row: combinations([node for node in near[j] if lag > 0 or node != i], size)
        for row, (i, j, lag) in enumerate(zip(*(part.tolist() for part in links), strict=True))
    }
    most = FIRST_SETS
    while True:
        most = max(1, min(most, MOST_TESTS // max(1, len(waiting))))
        taken = [(row, chosen) for row, sets in waiting.items() for chosen in islice(sets, most)]
        if not taken:
            return
        rows = np.array([row for row, _ in taken])
        further = np.array([chosen for _, chosen in taken], dtype=np.intp)
        asked = links[0][rows], links[1][rows], links[2][rows]
        values, p_values = ask(asked, further.reshape(len(taken), size))
        # What comes after the test that found a link independent does not count.
        place = np.arange(len(rows))
        last = np.full(len(links[0]), len(rows))
        np.minimum.at(last, rows[p_values > alpha], place[p_values > alpha])
        counts = place <= last[rows]
        source, target, lag = (part[counts] for part in asked)
        weakest.note((source, target, lag), values[counts], p_values[counts])
        waiting = {row: sets for row, sets in waiting.items() if last[row] == len(rows)}
        most *= 4


def _majority(ask: Ask, linked: Bools, alpha: float) -> tuple[Triples, Triples]:
    """Unshielded triples whose middle is a collider, and those whose middle is none.

    The ends are tested given each set of their neighbours. A collider is in less than half of the
    sets that separate them, another middle in more than half; what is left decides nothing.
    """
    triples = unshielded(linked)
    ends = np.column_stack([triples.source, triples.lag, triples.target])
    turned = (triples.lag == 0) & (triples.source > triples.target)
    ends[turned] = ends[turned, ::-1]
    ends, pair = np.unique(ends, axis=0, return_inverse=True)
    separating = np.zeros(len(ends), dtype=np.intp)
    holding = np.zeros((len(ends), len(linked) + 1), dtype=np.intp)  # the last one: none
    sets = _sets_of_neighbours(linked[:, :, 0], ends)
    while taken := list(islice(sets, MOST_TESTS)):
        owner = np.array([row for row, _ in taken])
        further = np.array(list(zip_longest(*(nodes for _, nodes in taken), fillvalue=-1)))
        further = further.astype(np.intp).reshape(-1, len(taken)).T
        source, lag, target = ends[owner].T
        _, p_values = ask((source, target, lag), further)
        apart = p_values > alpha
        np.add.at(separating, owner[apart], 1)
        np.add.at(holding, (owner[apart, None], further[apart]), 1)
    twice, of = 2 * holding[pair.ravel(), triples.middle], separating[pair.ravel()]
    return triples[twice < of], triples[twice > of]


def _sets_of_neighbours(near: Bools, ends: Ints) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each set of neighbours of the target of each row of `ends`, and of the source at lag 0."""
    neighbours = [np.flatnonzero(of).tolist() for of in near.T]
    for row, (source, lag, target) in enumerate(ends.tolist()):
        for chosen in _subsets(neighbours[target]):
            yield row, chosen
        if lag == 0:
            known = set(neighbours[target])
            for chosen in _subsets(neighbours[source]):
                if not known.issuperset(chosen):
                    yield row, chosen


def _subsets(nodes: list[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(nodes) + 1):
        yield from combinations(nodes, size)
