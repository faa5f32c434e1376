"""Averages that forget, down the columns of a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

__all__ = ["weighted_mean"]

Floats = NDArray[np.float64]


def weighted_mean(values: Floats, memory: int) -> Floats:
    """``m ← m + (x − m) / memory`` down each column, from 0; a missing value changes nothing."""
    gain = 1.0 / memory
    means = np.zeros_like(values)
    missing = np.isnan(values)
    whole = ~missing.any(axis=0)
    if len(values) and whole.any():
        means[:, whole] = lfilter([gain], [1.0, gain - 1.0], values[:, whole], axis=0)
    for column in np.flatnonzero(~whole).tolist():
        known = ~missing[:, column]
        if known.any():
            own = lfilter([gain], [1.0, gain - 1.0], values[known, column])
            latest = np.cumsum(known)
            means[:, column] = np.append(0.0, own)[latest]
    return means
