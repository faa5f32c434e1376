"""The recursion behind a random system: arrays and edges in, values out.

Every signal is ``intercept + Σ coefficient · function(source, lag rows ago) + noise``; a two-valued
signal is 1 where that is positive and 0 elsewhere. The only loop is the one over rows, which the
feedback from past to present demands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FUNCTIONS", "Edge", "Hold", "Reading", "growth", "levels", "run"]

Floats = NDArray[np.float64]

CHUNK = 4096
"""Most rows computed with one history buffer."""


def _bend(x: Floats) -> Floats:
    return x * np.abs(x) / (1 + x * x)


def _switch(x: Floats) -> Floats:
    return 2 * x - 1


FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda x: x,
    "tanh": np.tanh,
    "bend": _bend,
    "sine": lambda x: np.sin(x / 2),
    "switch": _switch,
}
"""How a source's value enters. All but ``linear`` are bounded by 1; ``switch`` is for 0 and 1."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A link by column numbers, with one coefficient per operating mode."""

    source: int
    target: int
    lag: int
    function: str
    coefficients: tuple[float, ...]

    @property
    def strongest(self) -> float:
        """The coefficient of largest size over the modes."""
        return max(self.coefficients, key=abs)

    def times(self, factor: float) -> Edge:
        """The same edge with its coefficients multiplied by `factor`."""
        return replace(self, coefficients=tuple(c * factor for c in self.coefficients))


@dataclass(frozen=True, slots=True)
class Hold:
    """From `start` to `end`, the true value of `column` is ``place(value just before start)``."""

    column: int
    start: int
    end: int
    place: Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Reading:
    """From `start` to `end`, `column` is measured as ``gain * true + offset(value before)``."""

    column: int
    start: int
    end: int
    gain: float
    offset: Callable[[float], Floats]

    def __call__(self, true: Floats) -> Floats:
        """Measured values of rows `start` to `end` from the true values of the whole recording."""
        values = true[self.start : self.end, self.column]
        before = float(true[self.start - 1, self.column])
        return self.gain * values + self.offset(before)


def levels(edges: Sequence[Edge], signals: int) -> list[int]:
    """How many lag-0 links in a row lead to each signal; the links must not form a circle."""
    depth = [0] * signals
    now = [edge for edge in edges if edge.lag == 0]
    for _ in range(signals):
        for edge in now:
            depth[edge.target] = max(depth[edge.target], depth[edge.source] + 1)
    return depth


def growth(edges: Sequence[Edge], bounded: NDArray[np.bool_], max_lag: int) -> float:
    """Largest factor by which the system grows per row, over its modes; stable below 1.

    It is the spectral radius of the companion matrix. A link through a curve counts as a straight
    line where it is steepest: a curve cannot grow without bound, but too steep a loop would come to
    rest far out, where the curve is flat and nothing can be seen of the link. Links into and out of
    a bounded (two-valued) signal count for nothing.
    """
    size = len(bounded)
    steepest = {"linear": 1.0, "tanh": 1.0, "bend": 0.65, "sine": 0.5}
    counted = [e for e in edges if not bounded[e.source] and not bounded[e.target]]
    largest = 0.0
    for mode in range(len(edges[0].coefficients) if edges else 0):
        weights = np.zeros((max_lag + 1, size, size))
        for edge in counted:
            weights[edge.lag, edge.target, edge.source] += (
                steepest[edge.function] * edge.coefficients[mode]
            )
        lagged = np.linalg.solve(np.eye(size) - weights[0], np.hstack(list(weights[1:])))
        companion = np.eye(size * max_lag, k=-size)
        companion[:size] = lagged
        largest = max(largest, float(np.abs(np.linalg.eigvals(companion)).max()))
    return largest


class _Effects:
    """Sums of ``coefficient · function(value)`` per target, for edges of one mode."""

    def __init__(self, edges: Sequence[Edge], mode: int, size: int, max_lag: int) -> None:
        ordered = sorted(edges, key=lambda e: e.function)
        own = [0 if e.source == e.target else size for e in ordered]
        self.size = size
        self.index = np.array(
            [
                (max_lag - e.lag) * 2 * size + k + e.source
                for e, k in zip(ordered, own, strict=True)
            ],
            dtype=np.intp,
        )
        self.target = np.array([e.target for e in ordered], dtype=np.intp)
        self.weight = np.array([e.coefficients[mode] for e in ordered], dtype=np.float64)
        self.bent: list[tuple[slice, Callable[[Floats], Floats]]] = []
        start = 0
        for name, group in groupby(ordered, key=lambda e: e.function):
            stop = start + len(list(group))
            if name != "linear":
                self.bent.append((slice(start, stop), FUNCTIONS[name]))
            start = stop

    def __call__(self, history: Floats) -> NDArray[Any]:
        values = history.take(self.index)
        for part, function in self.bent:
            values[part] = function(values[part])
        values *= self.weight
        return np.bincount(self.target, values, self.size)


def run(
    drive: Floats,
    *,
    first: int,
    edges: Callable[[int], Sequence[Edge]],
    changes: Sequence[int],
    modes: NDArray[np.intp],
    two_valued: NDArray[np.bool_],
    max_lag: int,
    holds: Sequence[Hold] = (),
    readings: Sequence[Reading] = (),
) -> Floats:
    """Compute the true values of all rows.

    Parameters
    ----------
    drive
        Noise plus intercept, rows × signals; overwritten by the result and returned.
    first
        The first row to compute; the rows before it, at least `max_lag`, are the initial state.
    edges
        The links that act at a given row; they may differ only from one of `changes` to the next.
    changes
        Rows at which links, holds or readings start or end.
    modes
        Operating mode by row.
    two_valued
        Which signals only take 0 and 1.
    max_lag
        Largest lag of any edge.
    holds
        True values that are held.
    readings
        Wrong measured values that the other signals react to.
    """
    rows, size = drive.shape
    switches = np.flatnonzero(two_valued)
    switched = (np.flatnonzero(np.diff(modes)) + 1).tolist()
    cuts = sorted({first, rows, *range(first, rows, CHUNK), *changes, *switched})
    for start, stop in pairwise(cut for cut in cuts if first <= cut <= rows):
        mode = int(modes[start])
        acting = edges(start)
        lagged = _Effects([e for e in acting if e.lag], mode, size, max_lag)
        depth = levels(acting, size)
        stages: list[_Effects | None] = [None]
        for level in range(1, max(depth) + 1):
            instant = [e for e in acting if e.lag == 0 and depth[e.target] == level]
            stages.append(_Effects(instant, mode, size, 0))
        held = [h for h in holds if h.start <= start < h.end]
        columns = [h.column for h in held]
        kept = [h.place(float(drive[h.start - 1, h.column])) for h in held]
        wrong = [
            (r.column, r.gain, r.offset(float(drive[r.start - 1, r.column]))[start - r.start :])
            for r in readings
            if r.start <= start < r.end
        ]
        # Each row of the history holds the true values, then the values the other signals see.
        history = np.empty((max_lag + stop - start, 2 * size))
        before = slice(start - max_lag, start)
        history[:max_lag, :size] = drive[before]
        history[:max_lag, size:] = drive[before]
        for r in readings:
            a, b = max(r.start, before.start), min(r.end, before.stop)
            if a < b:
                seen = r(drive)[a - r.start : b - r.start]
                history[a - before.start : b - before.start, size + r.column] = seen
        flat = history.ravel()
        width = 2 * size
        for k in range(stop - start):
            inner = drive[start + k]
            inner += lagged(flat[k * width : (k + max_lag) * width])
            now = history[max_lag + k]
            for effect in stages:
                if effect is not None:
                    inner += effect(now)
                now[:size] = inner
                if len(switches):
                    now[switches] = inner[switches] > 0
                if held:
                    now[columns] = kept
                now[size:] = now[:size]
                for column, gain, offset in wrong:
                    now[size + column] = gain * now[column] + offset[k]
            inner[:] = now[:size]
    return drive
