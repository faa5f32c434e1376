"""`Decimator`: every n-th row as a tick, for the published method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import TimeTable
from causewatch.preprocess.ticks import FullTick, PlainTick, plain, tick_table

__all__ = ["Decimator"]

Floats = NDArray[np.float64]


class Decimator:
    """Takes every `step`-th row as it is, as the published scripts do: missing becomes **zero**.

    Time plays no part and stretches are joined. Kept for the `paper` preset only.
    """

    def __init__(self, signals: int, *, step: int) -> None:
        self.held, self.wild = np.zeros((2, signals), dtype=np.int64)
        self._step = step
        self._seen = 0

    def rows(self, table: TimeTable) -> TimeTable:
        """See `Ticker`."""
        first = self._seen == 0
        kept = slice((-self._seen) % self._step, None, self._step)
        self._seen += len(table)
        values = np.nan_to_num(table.values[kept], posinf=0.0, neginf=0.0)
        part = (table.time[kept], values, first)
        return tick_table([part], table, table.interval * self._step, len(self.held))

    def row(self, time: int, values: Floats, new_stretch: bool = False) -> list[PlainTick]:
        """See `Ticker`."""
        return plain(self.take(time, values, new_stretch))

    def flush(self) -> list[PlainTick]:
        """See `Ticker`."""
        return []

    def take(self, time: int, values: Floats, new_stretch: bool = False) -> list[FullTick]:
        """See `Ticker`."""
        first = self._seen == 0
        wanted = self._seen % self._step == 0
        self._seen += 1
        if not wanted:
            return []
        kept = np.nan_to_num(values, posinf=0.0, neginf=0.0)
        return [FullTick(time, kept, first, np.isfinite(values), 1, kept, kept)]

    def finish(self) -> list[FullTick]:
        """See `Ticker`."""
        return []

    def snapshot(self) -> dict[str, Any]:
        """See `Ticker`."""
        return {"seen": self._seen}

    def restore(self, state: dict[str, Any]) -> None:
        """See `Ticker`."""
        self._seen = int(state["seen"])
