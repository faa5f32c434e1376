"""An independence test that sees any kind of dependence, not only straight lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.discovery.independence import Node
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.kernels import neighbours as kernel

__all__ = ["ConditionalMutualInformation"]

SHUFFLE_NEIGHBOURS = 5
"""Among how many points of about the same condition x is shuffled (Runge 2018)."""
FEWEST_SAMPLES = 20
"""Below this, neighbourhoods mean nothing."""


class ConditionalMutualInformation:
    """Conditional mutual information from nearest neighbours, with a shuffle test.

    The value is the information, in nats, that x holds about y when z is known: 0 where they are
    independent, and the larger the stronger they depend, whatever the shape of the dependence
    (`kernels.neighbours` has the estimator). Every variable is replaced by its ranks, so that
    units and outliers do not matter; tied values share their rank.

    The p-value compares the value with those after shuffling x: among samples with nearly the
    same z where there is a condition, among all samples otherwise. Shuffling stops as soon as it
    is settled that the p-value will be above `alpha` (Besag and Clifford 1991): with
    ``h = ⌊alpha·(permutations + 1)⌋``, it stops at the draw m that brings the h-th shuffled value
    at least as large as the observed one, and the p-value is h/m; if that does not happen, it is
    ``(1 + number at least as large) / (1 + permutations)``. Both are valid p-values: where x and y
    are independent, they are at most u with probability at most u.

    A test costs time quadratic in the number of samples: use `max_samples` on long recordings.

    Parameters
    ----------
    values
        Rows × signals; what is not finite is missing.
    max_lag
        Longest lag of discovery, in ticks. A sample is a row with the ``2·max_lag`` rows before
        it, all in one stretch and without a missing value, so that all tests share their samples.
    starts
        Row numbers at which a stretch begins.
    neighbours
        Which nearest neighbour sets the scale: a share of the samples, or a whole number. Larger
        means less noise and a coarser view.
    permutations
        Most shuffles per test.
    alpha
        The significance level the p-values will be compared with.
    seed
        Chooses the shuffles. They depend on it and on the nodes of a test, not on other tests.
    max_samples
        Most samples to use, taken evenly over the recording.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> x = rng.normal(size=300)
    >>> y = np.append(0.0, x[:-1] ** 2) + 0.3 * rng.normal(size=300)
    >>> test = ConditionalMutualInformation(np.column_stack([x, y]), max_lag=1)
    >>> value, p_value = test.test((0, 1), (1, 0), [])
    >>> value > 0.3, p_value < 0.01
    (True, True)

    Notes
    -----
    Shuffling takes samples as exchangeable given z. For strongly autocorrelated signals that
    holds only if z contains their own past, as in the second stage of PCMCI.
    """

    def __init__(
        self,
        values: ArrayLike,
        *,
        max_lag: int,
        starts: Sequence[int] | NDArray[np.integer] = (0,),
        neighbours: float = 0.1,
        permutations: int = 200,
        alpha: float = 0.05,
        seed: int = 0,
        max_samples: int | None = None,
    ) -> None:
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] == 0:
            msg = f"Values have shape {rows.shape}; expected rows × signals."
            raise SettingError(msg)
        if max_lag < 1:
            msg = f"max_lag is {max_lag}; it must be at least 1."
            raise SettingError(msg)
        if not 0 < alpha < 1:
            msg = f"alpha is {alpha}; it must lie between 0 and 1."
            raise SettingError(msg)
        # The tiny factor keeps 0.05 · 20 from falling just short of 1.
        self._enough = int(alpha * (permutations + 1) * (1 + 1e-12))
        if self._enough < 1:
            msg = (
                f"{permutations} permutations cannot give a p-value of {alpha} or less; use at"
                f" least {int(np.ceil(1 / alpha)) - 1}."
            )
            raise SettingError(msg)
        if max_samples is not None and max_samples < FEWEST_SAMPLES:
            msg = f"max_samples is {max_samples}; it must be at least {FEWEST_SAMPLES}."
            raise SettingError(msg)
        if seed < 0:
            msg = f"The seed is {seed}; it must be 0 or more."
            raise SettingError(msg)
        self.signals = rows.shape[1]
        self.max_lag = max_lag
        self.permutations = permutations
        self.seed = seed
        self._rows = rows
        self._times = _sample_times(rows, 2 * max_lag, starts, max_samples)
        self._neighbours = _neighbour_count(neighbours, len(self._times))
        self._ranks: dict[Node, NDArray[np.integer]] = {}

    @property
    def windows(self) -> int:
        """Number of samples each test rests on."""
        return len(self._times)

    def test(self, x: Node, y: Node, z: Sequence[Node]) -> tuple[float, float]:
        """Whether `x` and `y` are independent given `z`.

        Parameters
        ----------
        x, y
            Two different nodes: (signal number, lag), the lag from 0 to ``2·max_lag``.
        z
            The condition; its order does not matter. If it holds x or y, nothing is left to
            explain.

        Returns
        -------
        value
            Conditional mutual information in nats, never below 0.
        p_value
            High where they look independent. A constant x or y gives 0 and 1.
        """
        if x == y:
            msg = f"Node {x} was to be tested against itself; x and y must differ."
            raise SettingError(msg)
        condition = sorted(set(z))
        if x in condition or y in condition:
            return 0.0, 1.0
        shuffled, fixed = self._ranked(x), self._ranked(y)
        if np.ptp(shuffled) == 0 or np.ptp(fixed) == 0:
            return 0.0, 1.0
        given = np.empty((self.windows, len(condition)), dtype=shuffled.dtype)
        for column, node in enumerate(condition):
            given[:, column] = self._ranked(node)
        given = given[:, np.ptp(given, axis=0) > 0]
        value = float(kernel.information(shuffled[None], fixed, given, self._neighbours)[0])
        # The number of conditions comes first: seeds that differ by trailing zeros are the same.
        numbers = [self.seed, len(condition), *x, *y, *(n for node in condition for n in node)]
        generator = np.random.default_rng(numbers)
        return max(value, 0.0), self._p_value(value, shuffled, fixed, given, generator)

    def _p_value(
        self,
        value: float,
        x: NDArray[np.integer],
        y: NDArray[np.integer],
        z: NDArray[np.integer],
        generator: np.random.Generator,
    ) -> float:
        """The sequential p-value described with the class, in batches of draws."""
        exceeded = drawn = 0
        while drawn < self.permutations:
            batch = min(self._enough, self.permutations - drawn)
            if z.shape[1]:
                candidates = kernel.nearest(z, SHUFFLE_NEIGHBOURS, generator)
                xs = x[kernel.local_shuffles(candidates, batch, generator)]
            else:
                xs = generator.permuted(np.broadcast_to(x, (batch, len(x))), axis=1)
            large = np.flatnonzero(kernel.information(xs, y, z, self._neighbours) >= value)
            if exceeded + len(large) >= self._enough:
                last = large[self._enough - exceeded - 1]
                return self._enough / (drawn + int(last) + 1)
            exceeded += len(large)
            drawn += batch
        return (exceeded + 1) / (drawn + 1)

    def _ranked(self, node: Node) -> NDArray[np.integer]:
        """The ranks of a node over the samples."""
        if node not in self._ranks:
            signal, lag = node
            if not (0 <= signal < self.signals and 0 <= lag <= 2 * self.max_lag):
                msg = (
                    f"There is no node {node}; signals go from 0 to {self.signals - 1}, lags from"
                    f" 0 to {2 * self.max_lag}."
                )
                raise SettingError(msg)
            column = self._rows[self._times - lag, signal]
            self._ranks[node] = kernel.doubled_ranks(column[:, None])[:, 0]
        return self._ranks[node]


def _sample_times(
    rows: NDArray[np.float64],
    reach: int,
    starts: Sequence[int] | NDArray[np.integer],
    most: int | None,
) -> NDArray[np.intp]:
    """Rows that have `reach` rows before them in their stretch, none with a missing value."""
    row = np.arange(len(rows))
    fresh = np.zeros(len(rows), dtype=np.bool_)
    fresh[[start for start in starts if start < len(rows)]] = True
    missing = ~np.isfinite(rows).all(axis=1)
    # The first row that may be used: this stretch's first, or the one after the last missing row.
    first = np.maximum.accumulate(np.where(missing, row + 1, np.where(fresh, row, 0)))
    times = np.flatnonzero(row - first >= reach)
    if len(times) < FEWEST_SAMPLES:
        msg = (
            f"Only {len(times)} of {len(rows)} rows have the {reach} rows before them in one"
            f" stretch without missing values; at least {FEWEST_SAMPLES} are needed: use a shorter"
            " lag or a longer recording."
        )
        raise NotEnoughDataError(msg)
    if most is None or len(times) <= most:
        return times
    return times[np.linspace(0, len(times) - 1, most).round().astype(np.intp)]


def _neighbour_count(neighbours: float, samples: int) -> int:
    """The setting `neighbours` as a whole number."""
    count = neighbours if isinstance(neighbours, int) else round(neighbours * samples)
    if (
        not 0 < neighbours
        or (isinstance(neighbours, float) and neighbours >= 1)
        or count >= samples
    ):
        msg = (
            f"neighbours is {neighbours}; expected a share between 0 and 1, or a whole number from"
            f" 1 to {samples - 1}."
        )
        raise SettingError(msg)
    return max(1, count)
