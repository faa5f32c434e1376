"""`Limits`: what the default detector holds its statistics against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.statistics import Layout

__all__ = ["Limits"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of the default detector, learnt from normal operation.

    Attributes
    ----------
    layout
        Which statistics there are.
    statistics
        Level of each statistic that normal operation reaches about once in the asked time.
    overall
        The same for the largest ratio of a statistic to its level: the score's unit.
    links
        Of each link: the change of its coefficient that counts as broken, in its own units.
    centre, scale
        Mean and standard deviation of every signal.
    false_alarm_every
        Expected time between two false alarms, in ticks.
    supported
        The longest such time that the normal recording supports, in ticks.
    recent
        Ticks kept for re-estimating links.
    """

    layout: Layout
    statistics: Floats
    overall: float
    links: Floats
    centre: Floats
    scale: Floats
    false_alarm_every: float
    supported: float
    recent: int = 128
