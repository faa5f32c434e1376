"""A whole recording shown to a monitor, and what that says about each of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import TimeTable
from causewatch.monitor.monitor import Monitor
from causewatch.monitor.tick import Tick

__all__ = ["RowCover", "columns_of", "ticks_of_table"]

Floats = NDArray[np.float64]


def ticks_of_table(monitor: Monitor, table: TimeTable) -> Iterator[Tick]:
    """Every tick of a recording, row by row to its end; a signal that it lacks is missing."""
    monitor.use_clock(table.clock, put_right=True)
    values = columns_of(table, monitor.model.watched)
    for when, row in zip(table.time.tolist(), values, strict=True):
        tick = monitor.update_ns(row, when)
        if tick.complete:
            yield from tick.all
    last = monitor.flush()
    if last.complete:
        yield from last.all


def columns_of(table: TimeTable, names: Sequence[str]) -> Floats:
    """Some columns of a table in this order; those that it lacks are missing."""
    place = {name: k for k, name in enumerate(table.signals)}
    values = np.full((len(table), len(names)), np.nan)
    for k, name in enumerate(names):
        if name in place:
            values[:, k] = table.values[:, place[name]]
    return values


class RowCover:
    """Spreads what is said tick by tick over the rows that each tick averaged.

    Parameters
    ----------
    table
        The recording.
    """

    def __init__(self, table: TimeTable) -> None:
        self._time = table.time
        self.score = np.full(len(table), np.nan)
        self.alarm = np.zeros(len(table), dtype=np.bool_)
        self.done = 0
        """Rows covered so far."""

    def add(self, time: int, score: float | None, alarm: bool) -> None:
        """One tick, known by the time of the last row in it."""
        stop = int(np.searchsorted(self._time, time, side="right"))
        rows = slice(self.done, stop)
        self.score[rows] = np.nan if score is None else score
        self.alarm[rows] = alarm
        self.done = max(self.done, stop)
