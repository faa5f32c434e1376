"""Extreme-value tails: how high a quantity rises once in a given time, from a normal recording."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cluster_peaks", "level_of_peaks"]

Floats = NDArray[np.float64]

PEAKS = 40
"""How many of the highest peaks the tail is fitted to, at most."""
LEAST_PEAKS = 8
HEAVIEST, LIGHTEST = 0.3, -0.3
"""Bounds of the tail's shape; beyond them a few peaks decide too much."""


def cluster_peaks(series: Floats, threshold: float, apart: int) -> Floats:
    """Highest value of each excursion above `threshold`; closer than `apart` ticks is one."""
    above = np.flatnonzero(series > threshold)
    if not len(above):
        return np.empty(0)
    starts = np.flatnonzero(np.diff(above, prepend=above[0] - apart - 1) > apart)
    return np.asarray(np.maximum.reduceat(series[above], starts))


def level_of_peaks(series: Floats, every: float, apart: int) -> float:
    """Level above which `series` starts an excursion once in `every` ticks on average.

    Peaks over a threshold: excursions closer than `apart` ticks count as one, as alarms do. Their
    heights above the threshold follow a generalised Pareto tail (L-moments, the shape pulled
    towards zero where peaks are few).
    """
    series = series[np.isfinite(series)]
    ticks = len(series)
    if ticks == 0:
        return 1.0
    peaks = np.empty(0)
    threshold = float(series.max())
    # The number of excursions first grows as the threshold falls, then they run together.
    for share in (0.999, 0.998, 0.995, 0.99, 0.98, 0.97, 0.95, 0.93, 0.9, 0.87, 0.83, 0.8, 0.75):
        candidate = float(np.quantile(series, share))
        found = cluster_peaks(series, candidate, apart)
        if len(found) < len(peaks):
            break
        peaks, threshold = found, candidate
        if len(peaks) >= max(PEAKS, ticks / every):
            break
    count = len(peaks)
    if count < LEAST_PEAKS:
        # Too few excursions to speak of a tail: an exponential one through what there is.
        excess = np.maximum(peaks - threshold, 0.0) if count else np.array([0.0])
        return float(threshold + excess.mean() * max(0.0, np.log(every * max(count, 1) / ticks)))
    excess = np.sort(peaks - threshold)
    mean = excess.mean()
    second = 2.0 * (excess * np.arange(count) / (count - 1)).mean() - mean
    if not second > 0:
        return float(peaks.max())
    shape = np.clip((2.0 - mean / second) * count / (count + PEAKS), LIGHTEST, HEAVIEST)
    size = mean * (1.0 - shape)
    times = every * count / ticks
    if times <= 1.0:
        return threshold  # more often than there are excursions to look at
    if abs(shape) < 1e-9:
        return float(threshold + size * np.log(times))
    return float(threshold + size / shape * (times**shape - 1.0))
