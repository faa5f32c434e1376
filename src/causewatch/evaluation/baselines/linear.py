"""Linear detectors without causes: principal components, and regressions on the past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.signal import lfilter

from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.evaluation.baselines.scored import Judgement, Scored
from causewatch.evaluation.verdicts import Progress
from causewatch.monitor import AlarmSettings

__all__ = ["DynamicPca", "OwnPast", "Pca", "Var"]

Floats = NDArray[np.float64]

VARIANCE = 0.9
"""Share of the variance that the principal components are to hold."""
RIDGE = 1e-3
"""Ridge of the regressions, per tick, signals having variance 1."""
MOST_COLUMNS = 2000
"""Lagged columns of a detector, at most: their moments are a matrix of that size squared."""
MOST_PCA_LAG = 5
"""Lags of dynamic principal components, at most; the literature uses 1 to 3."""
LEAST_SPREAD = 1e-6
"""Least spread of what a regression leaves, signals having variance 1: a signal that is known to
the last digit would else raise an alarm at every rounding."""
FORGOTTEN = 8
"""After so many times its memory a weighted mean has forgotten a tick (weight e⁻⁸)."""


class _Linear(Scored):
    """What the linear detectors share: lagged columns and, if wanted, smoothing.

    Parameters
    ----------
    memory
        Ticks of an exponentially weighted mean that is taken of what is judged; 1: none.
    settings
        When alarms come and go.
    """

    lag: int = 0

    def __init__(self, *, memory: float = 1.0, settings: AlarmSettings | None = None) -> None:
        super().__init__(settings=settings)
        if not 1.0 <= memory < float("inf"):
            msg = f"The memory is {memory:g} ticks; it must be a number of at least 1."
            raise SettingError(msg)
        keep = 1.0 - 1.0 / memory
        count = ceil(FORGOTTEN * memory) if keep else 1
        weights = keep ** np.arange(count)
        # A window with an end, not a recursion: what is said then depends on `reach` ticks only.
        self._weights = weights / weights.sum()

    def _look_back(self, lag: int) -> None:
        self.lag, self.reach = lag, lag + len(self._weights) - 1

    def _smoothed(self, values: Floats) -> Floats:
        """Weighted mean over the last ticks; before the first one there was nothing odd."""
        if len(self._weights) == 1:
            return values
        return np.asarray(lfilter(self._weights, [1.0], values, axis=0))

    def _moments(self, ticks: Sequence[Floats], progress: Progress) -> tuple[Floats, int]:
        """Products of the lagged columns summed over all windows, and the number of windows."""
        width = (self.lag + 1) * len(self.signals)
        total, count = np.zeros((width, width)), 0
        for k, rows in enumerate(ticks):
            for start in range(self.lag, len(rows), 4096):
                wide = lagged(rows[start - self.lag : start + 4096], self.lag)
                total += wide.T @ wide
                count += len(wide)
            progress("learning", (k + 1) / len(ticks))
        if count < 2:
            msg = (
                f"{self.name}: {sum(map(len, ticks))} ticks are too few to look back"
                f" {self.lag} ticks; give a longer recording or a shorter --max-lag."
            )
            raise NotEnoughDataError(msg)
        return total, count


def lagged(ticks: Floats, lag: int) -> Floats:
    """Each tick from number `lag` on, followed by the `lag` ticks before it, latest first."""
    if lag == 0:
        return ticks
    windows = sliding_window_view(ticks, lag + 1, axis=0)  # ticks × signals × lags, oldest first
    wide = windows[:, :, ::-1].transpose(0, 2, 1)
    return np.ascontiguousarray(wide).reshape(len(windows), -1)


class Pca(_Linear):
    """Principal components of the signals: Hotelling's T² inside them, Q (residual) outside.

    The score is the larger of √T² and √Q, each in units of its limit on ``split.limits``; the root
    makes it an amplitude, as the product's score is. Contributions are the complete decomposition
    of Alcala and Qin: with a statistic x'Mx, that of column j is the square of the j-th entry of
    M^½ x, and they add up to the statistic; those of a signal's lags are added.
    """

    name = "pca"

    def _learn(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> None:
        del seed  # nothing is random
        self._look_back(self._lags())
        total, count = self._moments(ticks, progress)
        # Ticks are standardised over all stretches: their mean is 0, but for a few lagged ones.
        sizes, axes = np.linalg.eigh(total / count)
        sizes, axes = np.maximum(sizes[::-1], 0.0), axes[:, ::-1]
        held = np.cumsum(sizes) / max(sizes.sum(), 1e-300)
        number = int(np.searchsorted(held, VARIANCE - 1e-12)) + 1
        number = min(number, int(np.count_nonzero(sizes > 1e-12 * max(sizes[0], 1e-300))) or 1)
        self._axes, self._sizes = axes[:, :number], np.maximum(sizes[:number], 1e-300)
        self._levels = np.ones(2)

    def _lags(self) -> int:
        return 0

    def _statistics(self, ticks: Floats) -> tuple[Floats, Floats]:
        """T² and Q of each whole window, split up by signal (2 × windows × signals), and summed."""
        wide = lagged(self._smoothed(ticks), self.lag)
        along = wide @ self._axes
        inside = (along / np.sqrt(self._sizes)) @ self._axes.T
        outside = wide - along @ self._axes.T
        both = np.stack([inside, outside]) ** 2
        parts = both.reshape(2, len(wide), self.lag + 1, len(self.signals)).sum(axis=2)
        return parts, parts.sum(axis=2)

    def _learn_levels(self, ticks: Sequence[Floats], level: Callable[[Floats], float]) -> None:
        found = [self._statistics(rows)[1] for rows in ticks if len(rows) > self.lag]
        if found:
            both = np.sqrt(np.concatenate(found, axis=1))
            self._levels = np.array([level(both[0]), level(both[1])])

    def _judge(self, ticks: Floats) -> Judgement:
        score = np.full(len(ticks), np.nan)
        contributions = np.full(ticks.shape, np.nan)
        if len(ticks) > self.lag:
            parts, sums = self._statistics(ticks)
            heights = np.sqrt(sums) / self._levels[:, None]
            larger = heights.argmax(axis=0)
            every = np.arange(len(larger))
            score[self.lag :] = heights[larger, every]
            contributions[self.lag :] = np.sqrt(parts[larger, every])
        return score, contributions


class DynamicPca(Pca):
    """Principal components of the signals and their past: each tick with the ones before it."""

    name = "dynamic_pca"

    def _lags(self) -> int:
        room = MOST_COLUMNS // len(self.signals) - 1
        return max(1, min(self.max_lag, MOST_PCA_LAG, room))


class Var(_Linear):
    """A vector autoregression: each signal from all signals at all lags, with a small ridge.

    The score is the largest residual in units of the residuals' standard deviation on
    ``split.learn``; that of each signal is its contribution. The same as the default detector's
    first step, without choosing causes.
    """

    name = "var"

    def _learn(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> None:
        del seed  # nothing is random
        number = len(self.signals)
        self._look_back(max(1, min(self.max_lag, MOST_COLUMNS // number - 1)))
        total, count = self._moments(ticks, progress)
        now, past = slice(0, number), slice(number, None)
        self._weight = self._fitted(total[past, past], total[past, now], RIDGE * count)
        rest = (
            total[now, now].diagonal()
            - 2.0 * np.einsum("ij,ij->j", self._weight, total[past, now])
            + np.einsum("ij,ij->j", self._weight, total[past, past] @ self._weight)
        )
        spread = np.sqrt(np.maximum(rest, 0.0) / count)
        # A signal that never moved leaves no residual; its own unit has to do (see `scored`).
        still = total[now, now].diagonal() <= LEAST_SPREAD**2 * count
        self._spread = np.where(still, 1.0, np.maximum(spread, LEAST_SPREAD))

    def _fitted(self, past: Floats, across: Floats, ridge: float) -> Floats:
        """Coefficients of every signal (past columns × signals)."""
        return np.asarray(solve(past + ridge * np.eye(len(past)), across, assume_a="pos"))

    def _judge(self, ticks: Floats) -> Judgement:
        sizes = np.full(ticks.shape, np.nan)
        if len(ticks) > self.lag:
            wide = lagged(ticks, self.lag)
            number = len(self.signals)
            rest = (wide[:, :number] - wide[:, number:] @ self._weight) / self._spread
            sizes[self.lag :] = np.abs(self._smoothed(rest))
        return sizes.max(axis=1), sizes


class OwnPast(Var):
    """Each signal from its own past alone: what is left of `var` without the other signals."""

    name = "own_past"

    def _fitted(self, past: Floats, across: Floats, ridge: float) -> Floats:
        number = len(self.signals)
        weight = np.zeros_like(across)
        for k in range(number):
            own = np.arange(k, len(past), number)
            moments = past[np.ix_(own, own)] + ridge * np.eye(len(own))
            weight[own, k] = solve(moments, across[own, k], assume_a="pos")
        return weight
