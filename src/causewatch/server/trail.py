"""`Trail`: the last ticks of a watch, in bounded memory, for whoever wants to look back.

One thread writes (the watch), others read. A reader copies a run of ticks and then makes sure that
the writer has not come round meanwhile; so nobody waits for anybody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.monitor import Tick

__all__ = ["PARTS", "Run", "Trail", "thin"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PARTS = ("values", "expected", "evidence")
"""What is kept of every signal."""
MEMORY = 64 * 2**20
"""Bytes that a trail takes at most."""
MOST_TICKS = 200_000
"""Ticks that are kept at most, however few signals there are."""
SPARE = 64
"""Ticks at the old end that are not given out: the writer may be about to replace them."""


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """Ticks in a row.

    Attributes
    ----------
    time
        In nanoseconds on the clock of the stream.
    score
        NaN where there is none.
    alarm
        Whether an alarm was on.
    parts
        By name in `PARTS`: ticks × columns asked for.
    """

    time: Ints
    score: Floats
    alarm: NDArray[np.bool_]
    parts: dict[str, Floats]

    def __len__(self) -> int:
        return len(self.time)


class Trail:
    """A ring of ticks.

    Parameters
    ----------
    columns
        How many signals there are.
    memory
        Bytes that it may take.
    """

    def __init__(self, columns: int, memory: int = MEMORY) -> None:
        each = len(PARTS) * columns * 8 + 17
        self.size = max(SPARE + 1, min(MOST_TICKS, memory // each))
        # Not filled: memory that no tick has been written to yet is not taken.
        self._time = np.empty(self.size, dtype=np.int64)
        self._score = np.empty(self.size)
        self._alarm = np.empty(self.size, dtype=np.bool_)
        self._rows = np.empty((len(PARTS), self.size, columns))
        self.count = 0  # ticks so far; raised last, so that a reader never sees half a tick

    def add(self, tick: Tick) -> None:
        """Keep a complete tick."""
        at = self.count % self.size
        self._time[at] = tick.time or 0
        self._score[at] = math.nan if tick.score is None else tick.score
        self._alarm[at] = tick.alarm
        rows = self._rows
        rows[0, at] = tick.values.array
        rows[1, at] = tick.expected.array
        rows[2, at] = tick.signals.array
        self.count += 1

    @property
    def first(self) -> int | None:
        """Time of the oldest tick that can be asked for."""
        count = self.count
        return int(self._time[self._oldest(count) % self.size]) if count else None

    def since(self, begin: int | None, end: int | None, columns: Sequence[int]) -> Run:
        """A copy of the ticks from `begin` to `end`, both included, oldest first."""
        count = self.count
        numbers = np.arange(self._oldest(count), count)
        time = self._time[numbers % self.size]
        wanted = np.ones(len(time), dtype=np.bool_)
        if begin is not None:
            wanted &= time >= begin
        if end is not None:
            wanted &= time <= end
        return self._copy(numbers[wanted], columns)

    def after(self, number: int, most: int, columns: Sequence[int]) -> Run:
        """The ticks after the first `number` ones, at most `most`, the last of them always."""
        count = self.count
        first = max(number, self._oldest(count))
        step = max(1, -(-(count - first) // most))
        return self._copy(np.arange(count - 1, first - 1, -step)[::-1], columns)

    def _oldest(self, count: int) -> int:
        return 0 if count < self.size else count - self.size + SPARE

    def _copy(self, numbers: NDArray[np.intp], columns: Sequence[int]) -> Run:
        at = numbers % self.size
        which = np.asarray(columns, dtype=np.intp)
        time, score, alarm = self._time[at], self._score[at], self._alarm[at]
        parts = {name: self._rows[k][at[:, None], which] for k, name in enumerate(PARTS)}
        # What the writer has replaced while this was being copied is left out; it may be writing
        # one more right now.
        whole = numbers > self.count - self.size
        if whole.all():
            return Run(time, score, alarm, parts)
        return Run(
            time[whole], score[whole], alarm[whole], {k: part[whole] for k, part in parts.items()}
        )


def thin(run: Run, most: int) -> Run:
    """At most about `most` of the ticks, such that what sticks out stays.

    Each span of ticks is stood for by one tick of its own for the score (the highest), and by one
    for each signal (the furthest from what was expected), shown at the time of the span's last.
    """
    count = len(run)
    if count <= most:
        return run
    edges = np.linspace(0, count, most + 1).astype(np.intp)
    first, last = edges[:-1], edges[1:] - 1
    span = np.repeat(np.arange(most), np.diff(edges))
    score = run.score[_highest(run.score[:, None], span, first)[:, 0]]
    values, expected = run.parts["values"], run.parts["expected"]
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(values - expected)
    off = np.where(np.isnan(off), np.where(np.isnan(values), -1.0, 0.0), off)
    which = _highest(off, span, first)
    columns = np.arange(values.shape[1])
    return Run(
        run.time[last],
        score,
        np.logical_or.reduceat(run.alarm, first),
        {name: part[which, columns] for name, part in run.parts.items()},
    )


def _highest(
    table: NDArray[np.floating], span: NDArray[np.intp], first: NDArray[np.intp]
) -> NDArray[np.intp]:
    """By span and column: the row with the largest number, the first of equals; NaN is lowest."""
    filled = np.where(np.isnan(table), -np.inf, table)
    if not filled.shape[1]:
        return np.zeros((len(first), 0), dtype=np.intp)
    tops = np.maximum.reduceat(filled, first, axis=0)
    rows = np.where(filled == tops[span], np.arange(len(table))[:, None], len(table))
    return np.asarray(np.minimum.reduceat(rows, first, axis=0))
