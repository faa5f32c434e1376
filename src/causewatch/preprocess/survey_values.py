"""The different values of a signal: all of them while they are few, else those farthest out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEVELS", "Far", "Values"]

LEVELS = 8
"""Up to this many distinct values of a signal are remembered, and of others so many at each end."""

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
        self._high: Counted = {}
        self._low: Counted = {}

    def add(self, values: Floats, time: Ints) -> None:
        """Take in the next values, none of them missing."""
        while len(values) and self._all is not None:
            value = float(values[0])
            same = values == value
            _count(self._all, value, int(np.count_nonzero(same)), int(time[0]))
            values, time = values[~same], time[~same]
            if len(self._all) > LEVELS:
                self._high, self._low = _outermost(self._all, 1), _outermost(self._all, -1)
                self._all = None
        if len(values):
            _extend(self._high, values, time, 1)
            _extend(self._low, values, time, -1)

    @property
    def known(self) -> tuple[tuple[float, int], ...] | None:
        """Distinct values with their counts, ascending; None if there are more than `LEVELS`."""
        if self._all is None:
            return None
        return tuple((value, count) for value, (count, _) in sorted(self._all.items()))

    @property
    def highest(self) -> tuple[Far, ...]:
        """The largest distinct values, the largest first."""
        held = self._high if self._all is None else self._all
        return tuple(Far(value, *held[value]) for value in sorted(held, reverse=True))

    @property
    def lowest(self) -> tuple[Far, ...]:
        """The smallest distinct values, the smallest first."""
        held = self._low if self._all is None else self._all
        return tuple(Far(value, *held[value]) for value in sorted(held))


def _count(held: Counted, value: float, count: int, first: int) -> None:
    before, began = held.get(value, (0, first))
    held[value] = (before + count, began)


def _outermost(held: Counted, sign: int) -> Counted:
    """The `LEVELS` values farthest out: the largest, or with sign -1 the smallest."""
    return {
        value: held[value] for value in sorted(held, key=lambda number: -sign * number)[:LEVELS]
    }


def _extend(held: Counted, values: Floats, time: Ints, sign: int) -> None:
    """Count the values that are as far out as those held, or farther."""
    # What was let go never comes back, since the limit only moves outwards: no count is cut.
    limit = sign * min(sign * value for value in held)
    if (values.max() < limit) if sign > 0 else (values.min() > limit):
        return
    out = values >= limit if sign > 0 else values <= limit
    different, first, counts = np.unique(values[out], return_index=True, return_counts=True)
    times = time[out]
    for at in range(len(different))[-LEVELS:] if sign > 0 else range(len(different))[:LEVELS]:
        _count(held, float(different[at]), int(counts[at]), int(times[first[at]]))
    kept = _outermost(held, sign)
    held.clear()
    held.update(kept)
