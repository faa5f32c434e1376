"""The different values of a signal: all of them while they are few, else those farthest out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEVELS", "OUTERMOST", "Far", "Values"]

LEVELS = 8
"""Up to this many distinct values of a signal are remembered …"""
OUTERMOST = 128
"""… and of signals with more so many at each end."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counted = dict[float, tuple[int, int]]


class Far(NamedTuple):
    """One value of a signal, in how many rows it occurs, and when it did first."""

    value: float
    rows: int
    first: int


class Values:
    """Counts the values of one signal; the result does not depend on how rows were cut."""

    def __init__(self) -> None:
        self._all: Counted | None = {}
        self._high = self._low = NOTHING

    def add(self, values: Floats, time: Ints) -> None:
        """Take in the next values, none of them missing."""
        while len(values) and self._all is not None:
            value = float(values[0])
            same = values == value
            _count(self._all, value, int(np.count_nonzero(same)), int(time[0]))
            values, time = values[~same], time[~same]
            if len(self._all) > LEVELS:
                known = [(value, *seen) for value, seen in self._all.items()]
                self._high = self._low = Outer(*map(np.array, zip(*known, strict=True)))
                self._all = None
        if len(values):
            self._high = _extended(self._high, values, time, 1)
            self._low = _extended(self._low, values, time, -1)

    @property
    def known(self) -> tuple[tuple[float, int], ...] | None:
        """Distinct values with their counts, ascending; None if there are more than `LEVELS`."""
        if self._all is None:
            return None
        return tuple((value, count) for value, (count, _) in sorted(self._all.items()))

    @property
    def highest(self) -> tuple[Far, ...]:
        """The largest distinct values, the largest first."""
        return self._farthest(self._high, 1)

    @property
    def lowest(self) -> tuple[Far, ...]:
        """The smallest distinct values, the smallest first."""
        return self._farthest(self._low, -1)

    def _farthest(self, outer: Outer, sign: int) -> tuple[Far, ...]:
        if self._all is not None:
            known = self._all
            order = sorted(known, key=lambda value: -sign * value)
            return tuple(Far(value, *known[value]) for value in order)
        columns = (column[np.argsort(-sign * outer.value)].tolist() for column in outer)
        return tuple(map(Far, *columns))


class Outer(NamedTuple):
    """Distinct values, in how many rows each occurs, and when it did first."""

    value: Floats
    rows: Ints
    first: Ints


NOTHING = Outer(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))


def _count(held: Counted, value: float, count: int, first: int) -> None:
    before, began = held.get(value, (0, first))
    held[value] = (before + count, began)


def _extended(held: Outer, values: Floats, time: Ints, sign: int) -> Outer:
    """`held` with the values that are as far out, or farther; sign -1: the smallest."""
    if len(held.value) >= OUTERMOST:
        # What was let go never comes back, since the limit only moves outwards: no count is cut.
        limit = (sign * held.value).min()
        if (values.max() if sign > 0 else -values.min()) < limit:
            return held
        out = sign * values >= limit
        values, time = values[out], time[out]
    levels = np.concatenate([held.value, values])
    different, first, place = np.unique(levels, return_index=True, return_inverse=True)
    rows = np.zeros(len(different), dtype=np.int64)
    np.add.at(rows, place, np.concatenate([held.rows, np.ones(len(values), dtype=np.int64)]))
    kept = slice(-OUTERMOST, None) if sign > 0 else slice(OUTERMOST)
    times = np.concatenate([held.first, time])[first]
    return Outer(different[kept], rows[kept], times[kept])
