"""What PCMCI asks of an independence test, and the linear test that answers from moments.

A *node* is a signal at a lag, written ``(signal, lag)`` with the signal's number and the lag in
ticks. PCMCI asks in bulk, in two patterns; `BulkTest` names them. A test that knows only single
questions (`IndependenceTest`) is turned into one by `OneByOne`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import NotEnoughDataError
from causewatch.kernels import partial
from causewatch.kernels.doubled import Doubled

__all__ = ["BulkTest", "IndependenceTest", "Node", "OneByOne", "PartialCorrelation"]

Node = tuple[int, int]
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
NONE = np.empty(0, dtype=np.intp)
Answer = tuple[Floats, Floats]
"""Values and p-values."""


class IndependenceTest(Protocol):
    """Tells whether x is independent of y, given z."""

    @property
    def signals(self) -> int:
        """Number of signals."""

    @property
    def max_lag(self) -> int:
        """Longest lag of a cause; windows reach back twice as far."""

    def test(self, x: Node, y: Node, z: Sequence[Node]) -> tuple[float, float]:
        """Value (0: no dependence) and p-value of: x independent of y, given z."""


class BulkTest(Protocol):
    """The two patterns in which PCMCI asks. Nodes are numbers: ``lag·signals + signal``."""

    @property
    def signals(self) -> int:
        """Number of signals."""

    @property
    def max_lag(self) -> int:
        """Longest lag of a cause."""

    @property
    def windows(self) -> int:
        """Number of samples each test rests on."""

    def given_others(
        self, target: int, ordered: Ints, depth: int, alpha: float
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Each candidate of `ordered` against the target, given the first `depth` others.

        Returns
        -------
        values
            As of a single test.
        dependent
            Whether the p-value is at most `alpha`.
        """

    def given_sets(self, shared: Ints, sets: Ints) -> Answer:
        """One test for each row: further conditions (−1: none), then x, then y.

        `shared` are conditions common to all tests.
        """


class Moments(Protocol):
    """What partial correlation needs of `LaggedMoments`."""

    signals: tuple[str, ...]
    max_lag: int
    windows: int

    @property
    def reach(self) -> int:
        """How many rows before its own a window reaches back."""

    def scatter(self) -> tuple[Doubled, NDArray[np.bool_]]:
        """Centred products of all lagged signals, and which of them vary."""


class PartialCorrelation:
    """The linear test: partial correlation, with a p-value from Student's t.

    Parameters
    ----------
    moments
        Of the signals to test.

    Notes
    -----
    The value is the correlation of what is left of x and y after regression on z; its p-value has
    ``windows − dim(z) − 2`` degrees of freedom, a signal without variance in z not counted. A
    residual without variance has value 0 and p-value 1, whatever the units
    (`causewatch.kernels.partial`).
    """

    def __init__(self, moments: Moments) -> None:
        self.signals = len(moments.signals)
        self.max_lag = moments.max_lag
        self.windows = moments.windows
        if self.windows < 3:
            msg = (
                f"Only {self.windows} windows of {moments.reach + 1} ticks without a gap or missing"
                " value are left; give a longer recording, a shorter --max-lag, or leave out the"
                " signals that are mostly missing."
            )
            raise NotEnoughDataError(msg)
        self._matrix, self._varies = moments.scatter()

    def test(self, x: Node, y: Node, z: Sequence[Node]) -> tuple[float, float]:
        """See `IndependenceTest`."""
        row = [lag * self.signals + signal for signal, lag in [*z, x, y]]
        values, p_values = self.given_sets(NONE, np.array([row], dtype=np.intp))
        return float(values[0]), float(p_values[0])

    def given_others(
        self, target: int, ordered: Ints, depth: int, alpha: float
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """See `BulkTest`."""
        values = np.zeros(len(ordered))
        varies = self._varies[ordered]
        if self._varies[target] and varies.any():
            # A signal without variance drops out at depth 0, unless knowledge requires it.
            among, depth = ordered[varies], min(depth, int(varies.sum()) - 1)
            values[varies] = partial.given_others(self._matrix, target, among, depth)
        limit = partial.critical_value(self.windows - depth - 2, alpha)
        return values, np.abs(values) >= limit

    def given_sets(self, shared: Ints, sets: Ints) -> Answer:
        """See `BulkTest`."""
        alive = self._varies[sets[:, -2]] & self._varies[sets[:, -1]]
        conditions = sets[:, :-2]
        used = (conditions >= 0) & self._varies[conditions]
        shared = shared[self._varies[shared]]
        sets = np.concatenate([np.where(used, conditions, -1), sets[:, -2:]], axis=1)
        values = np.zeros(len(sets))
        values[alive] = partial.given_sets(self._matrix, shared, sets[alive])
        freedom = self.windows - len(shared) - used.sum(axis=1) - 2
        return values, self._settle(values, freedom)

    @staticmethod
    def _settle(values: Floats, freedom: NDArray[np.int64]) -> Floats:
        p_values = partial.p_values(values, freedom)
        p_values[values == 0.0] = 1.0
        return p_values


class OneByOne:
    """Makes a `BulkTest` of an `IndependenceTest` by asking one question after the other."""

    def __init__(self, test: IndependenceTest, windows: int) -> None:
        self.signals = test.signals
        self.max_lag = test.max_lag
        self.windows = windows
        self._test = test

    def given_others(
        self, target: int, ordered: Ints, depth: int, alpha: float
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """See `BulkTest`."""
        rows = [
            [*[other for other in ordered[: depth + 1] if other != one][:depth], one, target]
            for one in ordered
        ]
        sets = np.array(rows, dtype=np.intp).reshape(-1, depth + 2)
        values, p_values = self.given_sets(NONE, sets)
        return values, p_values <= alpha

    def given_sets(self, shared: Ints, sets: Ints) -> Answer:
        """See `BulkTest`."""
        answers = [self._one(np.concatenate([shared, row[row >= 0]])) for row in sets]
        values, p_values = np.array(answers, dtype=np.float64).reshape(-1, 2).T
        return values, p_values

    def _one(self, row: Ints) -> tuple[float, float]:
        nodes = [(int(node % self.signals), int(node // self.signals)) for node in row]
        return self._test.test(nodes[-2], nodes[-1], nodes[:-2])
