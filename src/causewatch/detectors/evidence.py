"""What a detector says about one tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Detector", "Evidence", "LinkChanges"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """What one tick says, by column number.

    Attributes
    ----------
    score
        1.0 is the alarm limit, higher is more anomalous; None until the detector is warmed up.
    signals
        Evidence against each signal's mechanism in units of its limit; NaN where it cannot be
        judged (its value or a cause's value is missing).
    expected
        What each signal's causes said it should be, in its own units; NaN where unknown.
    """

    score: float | None
    signals: Floats
    expected: Floats


@dataclass(frozen=True, eq=False, slots=True)
class LinkChanges:
    """How each link behaves now, in the order of `Equations`.

    Attributes
    ----------
    observed
        Coefficients re-estimated from what was seen lately, in the signals' own units.
    deviation
        Distance from the normal coefficient in units of its limit: above 1 the link is broken.
    """

    observed: Floats
    deviation: Floats


class Detector(Protocol):
    """Judges ticks one after the other; one object watches one stream."""

    def update(self, values: Floats, new_stretch: bool = False) -> Evidence:
        """Take in one tick (NaN: missing); with `new_stretch` it does not follow the last one."""

    def links(self) -> LinkChanges:
        """The links as they behave now: computed when asked for."""

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Everything the future depends on, as arrays."""

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Go on from a snapshot: the future is bitwise the same as without interruption."""
