"""Rows averaged to ticks, stretch by stretch, for detectors that judge a recording at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import TimeTable
from causewatch.monitor.recorded import columns_of
from causewatch.preprocess.ticks import MOST_HELD, Averager

__all__ = ["StretchTicks", "ticks_of"]


class StretchTicks(NamedTuple):
    """Ticks of one stretch, and their times."""

    time: NDArray[np.int64]
    values: NDArray[np.float64]


def ticks_of(
    table: TimeTable, signals: Sequence[str], every: float, *, hold: int = MOST_HELD
) -> list[StretchTicks]:
    """The ticks of a recording by the product's own rule, in the signals' own units.

    Parameters
    ----------
    table
        The rows; a signal that it lacks is missing.
    signals
        Columns wanted, in this order.
    every
        Length of a tick in seconds.
    hold
        For how many ticks a missing value is replaced by the last one.
    """
    averager = Averager(len(signals), every=every, interval=table.interval, hold=hold)
    values = columns_of(table, signals)
    stretches = []
    for piece in table.stretches():
        # A fresh table for each stretch: then flushing belongs to it beyond doubt.
        rows = TimeTable(
            tuple(signals),
            values[piece],
            table.time[piece],
            np.zeros(1, dtype=np.intp),
            table.interval,
            table.clock,
        )
        done = averager.rows(rows)
        rest = averager.flush()
        when = np.append(done.time, [tick[0] for tick in rest]).astype(np.int64)
        if len(when):
            means = np.concatenate([done.values, *(tick[1][None] for tick in rest)])
            stretches.append(StretchTicks(when, means))
    return stretches
