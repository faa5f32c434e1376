"""`RowGrid`: which value of a signal stands in which row.

Rows stand on a grid: row ``n`` at the time ``n`` times the interval. A value belongs to the first
row at or after it, and to all that follow until the next one comes or it is stale. Values of rows
that were not yet made wait here; of older ones only the last of each signal is kept.

Signals are known by their numbers here, times in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from causewatch.streaming.source import Batch, Ints

__all__ = ["LONG_AGO", "RowGrid"]

LONG_AGO = -(1 << 61)
"""Time of a signal of which nothing has come; no difference to it is too large for 64 bits."""


class RowGrid:
    """See the module.

    Parameters
    ----------
    every
        Time between two rows.
    stale
        Time after which a last value no longer counts, by signal.

    Attributes
    ----------
    next
        Number of the row that is made next; every call but `row_of` wants one to be set.
    """

    def __init__(self, every: int, stale: Ints) -> None:
        self._every = every
        self._stale = stale
        self._values = np.full(len(stale), np.nan)  # the last at or before the last row, …
        self._times = np.full(len(stale), LONG_AGO, dtype=np.int64)  # … and their times
        self._waiting: dict[int, dict[int, tuple[int, float]]] = {}  # newer ones, by row, by signal
        self.next: int | None = None

    def row_of(self, time: int) -> int:
        """Number of the first row that shows a value of this time."""
        return -(-time // self._every)

    def put(self, signal: int, value: float, time: int) -> bool:
        """Put a value where rows to come will find it; False if its signal had a newer one."""
        assert self.next is not None
        row = -(-time // self._every)
        if row >= self.next:
            waiting = self._waiting.get(row)
            if waiting is None:
                self._waiting[row] = {signal: (time, value)}
            elif signal not in waiting or time >= waiting[signal][0]:
                waiting[signal] = (time, value)
        elif time < self._times[signal]:
            return False
        else:
            self._values[signal], self._times[signal] = value, time
        return True

    def make(self, last: int) -> Iterator[Batch]:
        """Make all rows up to number `last`, in blocks that nothing new comes into."""
        assert self.next is not None
        while self.next <= last:
            row = self.next
            for signal, (time, value) in self._waiting.pop(row, {}).items():
                self._values[signal], self._times[signal] = value, time
            end = row + 1
            while end <= last and end not in self._waiting:
                end += 1
            self.next = end
            times = self._every * np.arange(row, end, dtype=np.int64)
            fresh = times[:, None] - self._times <= self._stale
            yield Batch(np.where(fresh, self._values, np.nan), times)

    def set_back(self, time: int) -> None:
        """Take the last values for values of `time` if they are newer: there are no others."""
        np.minimum(self._times, time, out=self._times)

    def last(self, signal: int) -> tuple[int, float]:
        """Time and value of the last one in rows that were made; NaN, long ago, if none was."""
        return int(self._times[signal]), float(self._values[signal])

    def set_last(self, signal: int, time: int, value: float) -> None:
        """Go on from a `last`."""
        self._times[signal], self._values[signal] = time, value

    def waiting(self) -> Iterator[tuple[int, int, float]]:
        """Signal, time and value of all that wait for their row."""
        for row in self._waiting.values():
            for signal, (time, value) in row.items():
                yield signal, time, value
