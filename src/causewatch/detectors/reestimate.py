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
    mechanisms = equations.mechanisms
    if not len(mechanisms.target):
        return change
    causes, known = mechanisms.causes(standard, rows)
    left = innovation[rows][:, mechanisms.target].T
    known &= np.isfinite(left)
    causes[~known] = 0.0
    weighted = causes * weight[:, None]
    moments = mechanisms.pulled(weighted.transpose(0, 2, 1) @ causes, PULL)
    shared = weighted.transpose(0, 2, 1) @ np.where(known, left, 0.0)[:, :, None]
    found = np.linalg.solve(moments, shared)[:, :-1, 0]
    change[mechanisms.link[mechanisms.there]] = found[mechanisms.there]
    change *= equations.spread[equations.target] / scale[equations.source]
    return change
