"""`Limits`: what the default detector holds its statistics against."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.settings import DetectorSettings

__all__ = ["Limits"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of the default detector, learnt from normal operation.

    Attributes
    ----------
    statistics
        Size of each statistic (means, squares, standstill) at which a signal's evidence is 1; by
        statistic and signal. Infinite where a statistic says nothing.
    moving
        How many of the signals whose standing still says something change in a usual tick.
    links
        Of each link: the change of its coefficient that counts as broken, in its own units.
    centre, scale
        Mean and standard deviation of every signal.
    low, high
        Its smallest and largest value: mechanisms were learnt from causes within these.
    false_alarm_every
        Time between two false alarms that was asked for, in ticks.
    supported
        The longest such time that the normal recording bears out, in ticks.
    settings
        The numbers that statistics and limits come from.
    """

    statistics: Floats
    moving: float
    links: Floats
    centre: Floats
    scale: Floats
    low: Floats
    high: Floats
    false_alarm_every: float
    supported: float
    settings: DetectorSettings = field(default_factory=DetectorSettings)

    @property
    def mobile(self) -> NDArray[np.bool_]:
        """Signals whose standing still says something."""
        return np.asarray(np.isfinite(self.statistics[-1]))
