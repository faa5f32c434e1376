"""Re-estimating the coefficients of links from what was seen lately."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations

__all__ = ["MEMORY", "PULL", "reestimate"]

Floats = NDArray[np.float64]

MEMORY = 32
"""Ticks after which what was seen counts for a third."""
PULL = 5.0
"""Weight, in ticks, that pulls towards no change."""
CAUSE_CLIP = 8.0


def reestimate(
    equations: Equations, values: Floats, innovation: Floats, centre: Floats, scale: Floats
) -> Floats:
    """Change of every coefficient against normal, in the signals' own units.

    With exponentially weighted moments H of the causes (and a constant) and s of causes and
    innovation, the change is ``(H + R)⁻¹ s``: least squares that is pulled towards no change by R.
    Without pull and forgetting it is the published method's difference of coefficients. An offset
    of the target goes into the constant and not into the links.

    Parameters
    ----------
    equations
        The mechanisms.
    values
        The last ticks in order, NaN where not yet seen; what is not finite is missing.
    innovation
        Of the same ticks, in spreads.
    centre, scale
        Mean and standard deviation of every signal in normal operation.
    """
    reach = equations.max_lag
    rows = np.arange(reach, len(values))
    weight = np.exp((rows - len(values) + 1) / MEMORY)
    values = np.where(np.isfinite(values), values, np.nan)
    standard = np.clip((values - centre) / scale, -CAUSE_CLIP, CAUSE_CLIP)
    change = np.zeros(len(equations.source))
    bounds = np.flatnonzero(np.diff(equations.target, prepend=-1, append=-2))
    for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        target = int(equations.target[first])
        lags, sources = equations.lag[first:stop], equations.source[first:stop]
        left = innovation[rows, target]
        causes = standard[rows[:, None] - lags, sources]
        usable = np.isfinite(left) & np.isfinite(causes).all(axis=1)
        if not usable.any():
            continue
        causes = np.column_stack([causes[usable], np.ones(int(usable.sum()))])
        weighted = causes * weight[usable, None]
        moments = weighted.T @ causes + PULL * np.eye(causes.shape[1])
        found = np.linalg.solve(moments, weighted.T @ left[usable])[:-1]
        change[first:stop] = found * equations.spread[target] / scale[sources]
    return change
