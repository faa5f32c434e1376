"""`TickRows`: whether a tick is made of enough rows, and of rows of its own time, to be judged."""

from __future__ import annotations

import math

from causewatch.detectors import NormalHabits
from causewatch.monitor.stateful import Stateful

__all__ = ["TickRows"]

CROWDED = 4.0
"""A tick with more than so many times the rows of those before it holds more than its own time: its
clock stood still. Rows that come faster for good are usual after a few ticks."""
MEMORY = 4.0
"""Ticks after which it is usual."""


class TickRows(Stateful):
    """Judges ticks by how many rows they were made of.

    Parameters
    ----------
    habits
        What is usual.
    """

    STATE = ("_lately",)

    def __init__(self, habits: NormalHabits) -> None:
        self._usual = max(1.0, habits.rows_per_tick)
        self._least = habits.least_rows
        self._lately = self._usual  # rows in a tick, at least the usual ones

    def noise(self, rows: int) -> float | None:
        """How many times noisier than usual the values of the next tick may be.

        A mean of a quarter of the rows is twice as noisy. None: the tick cannot be judged.
        """
        judged = self._least <= rows <= CROWDED * self._lately
        more = min(rows, CROWDED * self._lately) - self._lately
        self._lately = max(self._usual, self._lately + more / MEMORY)
        if not judged:
            return None
        return math.sqrt(max(1.0, self._usual / max(1, rows)))
