"""The recordings that benchmarks learn from: seeded, so that every run has the same ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from causewatch.simulate import random_system

__all__ = ["plant_like", "random_linear"]

Floats = NDArray[np.float64]


def random_linear(signals: int, rows: int, lag: int, seed: int = 1) -> Floats:
    """A random stable vector autoregression: 1.5 links per signal, lags up to `lag`."""
    return random_system(signals, max_lag=lag, seed=seed).simulate(rows, seed=seed + 1).values


def plant_like(signals: int, rows: int, lag: int, seed: int = 1) -> Floats:
    """The same, made sluggish and partly two-valued, as plants are.

    Each signal is smoothed with a time constant between 10 and 200 rows, every fourth one is then
    cut to on and off, and the others carry measurement noise of a hundredth of their spread.
    """
    random = np.random.default_rng(seed)
    values = random_linear(signals, rows + 1000, lag, seed)
    for column in range(signals):
        keep = 1.0 - 1.0 / random.uniform(10.0, 200.0)
        values[:, column] = lfilter([1.0 - keep], [1.0, -keep], values[:, column])
    values = values[1000:]
    on_off = np.arange(signals) % 4 == 3
    noisy = values + 0.01 * values.std(axis=0) * random.normal(size=values.shape)
    return np.where(on_off, values > np.median(values, axis=0), noisy).astype(np.float64)
