"""When a big event is over, and what counts as a new one after it.

After a big event a plant rarely returns to exactly where it was: it settles nearby, somewhat
outside of what was learnt. Held against the ordinary limits the alarm would stay on for good. So:

- while an event lasts, evidence is held against a share of the event's peak; it is over when all
  evidence has stayed below that for some ticks;
- the jump that an event begins with is not its peak. A signal that is suddenly elsewhere surprises
  once, far more than it does by staying there: held against the jump, a fault would be over while
  it lasts. So the first ticks of an event are held against the ordinary limits;
- after it, each signal's limit is three times the least evidence it has come down to, and at least
  the ordinary one: a signal that went quiet is watched as before, so that the next event is seen;
  one that settled nearby is reported again only if it gets worse. What is left is forgotten slowly,
  so that what stays wrong is reported again in the end;
- after a strong event all limits are up to twice as high for a while. Limits are learnt from a
  plant in its rhythm; one that tanks and controllers bring back to it is not in it yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Settling"]

Floats = NDArray[np.float64]

SHARE = 0.4
"""An event is over when all evidence has stayed below this share of its peak …"""
CALM = 5
"""… for so many ticks."""
ONSET = 10
"""The first ticks of an event, which do not count towards its peak."""
RISE = 3.0
"""By what factor evidence must rise above what an event left it at."""
RECOVERY = 2.0
"""By what factor limits are higher after a strong event …"""
STRONG = 8.0
"""… whose peak is this high; after a weaker one they are so much the lower."""
RECOVERED = 0.9993
"""The rate per tick at which that goes back: in about a thousand ticks."""
DECAY = 0.999
"""Peaks and what is left are forgotten at this rate per tick."""


class Settling:
    """Keeps the limits that evidence is held against, tick by tick.

    Parameters
    ----------
    signals
        How many there are.
    mechanisms
        How many of them, the first ones, have a mechanism. Guarded signals are in their range or
        not, and make no event.
    """

    def __init__(self, signals: int, mechanisms: int) -> None:
        self._left = np.zeros(signals)  # evidence when the last events were over
        self._mechanisms = mechanisms
        self._peak = 0.0  # of the event that is on; 0: none, 1: one that has only begun
        self._age = 0  # ticks since it began, at most `ONSET`
        self._calm = 0  # ticks for which it has been below its share
        self._after = False  # whether some limit is still raised
        self._recovery = 1.0  # what limits are raised to after the last events

    def limits(self, evidence: Floats, score: float | None) -> Floats | float:
        """The limit of each signal for this tick's evidence, or one for all; at least 1.

        Parameters
        ----------
        evidence
            Of each signal, NaN where unknown.
        score
            The largest among mechanisms; None: nothing is known.
        """
        if score is None or (score <= 1.0 and self._peak == 0.0 and not self._after):
            return 1.0  # by far the most frequent case
        now = np.fmax(evidence[: self._mechanisms], 0.0)
        left = self._left[: self._mechanisms]
        left *= DECAY
        self._recovery = max(1.0, self._recovery * RECOVERED)
        if self._peak > 0.0:
            self._age = min(self._age + 1, ONSET)
            if self._age == ONSET:
                self._peak = max(self._peak * DECAY, score)
            limit = max(1.0, SHARE * self._peak)
            self._calm = 0 if score >= limit else self._calm + 1
            if self._calm < CALM:
                return limit
            gone = min(RECOVERY, RECOVERY * self._peak / STRONG)
            self._recovery = max(self._recovery, gone)
            self._peak, self._calm = 0.0, 0
            np.maximum(left, now, out=left)
            self._after = True
        np.fmin(left, evidence[: self._mechanisms], out=left)
        limits = np.maximum(1.0, RISE * self._left)
        np.maximum(limits[: self._mechanisms], self._recovery, out=limits[: self._mechanisms])
        self._after = bool((limits > 1.0).any())
        if score > 1.0 and (now > limits[: self._mechanisms]).any():
            self._peak, self._age = 1.0, 0
        return limits

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on."""
        return {
            "left": self._left.copy(),
            "peak": self._peak,
            "age": self._age,
            "calm": self._calm,
            "after": self._after,
            "recovery": self._recovery,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self._left[:] = state["left"]
        self._peak = float(state["peak"])
        self._age = int(state.get("age", ONSET))
        self._calm = int(state["calm"])
        self._after = bool(state["after"])
        self._recovery = float(state.get("recovery", 1.0))
