"""Re-estimating the coefficients of links from what was seen lately."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations
from causewatch.detectors.settings import DetectorSettings

__all__ = ["reestimate", "unit_of"]

Floats = NDArray[np.float64]


def reestimate(
    equations: Equations,
    values: Floats,
    innovation: Floats,
    centre: Floats,
    scale: Floats,
    settings: DetectorSettings,
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
    settings
        Memory and pull.
    """
    reach = equations.max_lag
    rows = np.arange(reach, len(values))
    weight = np.exp((rows - len(values) + 1) / settings.link_memory)
    values = np.where(np.isfinite(values), values, np.nan)
    with np.errstate(over="ignore"):
        standard = np.clip((values - centre) / scale, -settings.cause_clip, settings.cause_clip)
    change = np.zeros(len(equations.source))
    mechanisms = equations.mechanisms
    if not len(mechanisms.target):
        return change
    causes, known = mechanisms.causes(standard, rows)
    left = innovation[rows][:, mechanisms.target].T
    known &= np.isfinite(left)
    causes[~known] = 0.0
    weighted = causes * weight[:, None]
    moments = mechanisms.pulled(weighted.transpose(0, 2, 1) @ causes, settings.link_pull)
    shared = weighted.transpose(0, 2, 1) @ np.where(known, left, 0.0)[:, :, None]
    solved = np.linalg.solve(moments, shared)[:, :-1, 0]
    change[mechanisms.link[mechanisms.there]] = solved[mechanisms.there]
    return change * unit_of(equations, scale)


def unit_of(equations: Equations, scale: Floats) -> Floats:
    """How large a change of 1 in standard units is in the signals' own, by link.

    A cause that never moved has next to no scale; the unit stays far from what overflows.
    """
    with np.errstate(over="ignore"):
        unit = equations.spread[equations.target] / scale[equations.source]
    return np.asarray(np.minimum(unit, np.sqrt(np.finfo(np.float64).max)))
