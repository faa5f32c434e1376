"""One pass over a recording, in bounded memory: what each signal is like, and how that goes on.

The recording is summarised in at most `BLOCKS` blocks of equal length. They start one row long;
whenever they are full, neighbours are merged and the length doubles. Where a block begins and the
order in which its rows are added up depend on row numbers alone, so the result does not depend on
how the rows were cut into chunks, down to the last bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import Clock, TimeTable
from causewatch.preprocess.survey_values import LEVELS, Far, Values

__all__ = ["BLOCKS", "LEVELS", "Blocks", "SignalSummary", "Survey", "SurveyResult"]

BLOCKS = 1024
"""Most blocks kept."""

DIRECT = 256
"""Most rows added up at once; longer blocks are merged from cells of this length."""

PIECE = 4096
"""Rows worked on at a time, so that they stay in the processor's cache."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Consecutive blocks of rows, axis 0, by signal, axis 1 (`rows`, `first`, `last`: axis 0 only).

    `rows` is the number of rows in a block and `count` how many values of a signal are present
    there; `std` divides by `count`. Where nothing is present, `mean`, `std`, `low` and `high` are
    NaN. `first` and `last` are the times of the first and last row.
    """

    rows: Ints
    first: Ints
    last: Ints
    count: Ints
    mean: Floats
    std: Floats
    low: Floats
    high: Floats

    def part(self, chosen: slice) -> Blocks:
        """Only the chosen blocks."""
        return Blocks(*(array[chosen] for array in self.arrays()))

    def arrays(self) -> list[NDArray[Any]]:
        """The arrays, in the order of the attributes."""
        return [getattr(self, field.name) for field in fields(self)]

    def paired(self) -> Blocks:
        """Neighbours merged: half as many blocks (an odd last one stays as it is)."""
        even = len(self.rows) // 2 * 2
        merged = _merge(self.part(slice(0, even, 2)), self.part(slice(1, even, 2)))
        return merged if even == len(self.rows) else _join([merged, self.part(slice(even, None))])

    def whole(self) -> Blocks:
        """All blocks merged into one."""
        blocks = self
        while len(blocks.rows) > 1:
            blocks = blocks.paired()
        return blocks


@dataclass(frozen=True, slots=True)
class SignalSummary:
    """What one signal is like over the whole recording.

    Attributes
    ----------
    name
        The signal.
    count, missing
        Values present and absent (NaN or infinite).
    mean, std, low, high
        NaN where nothing is present; `std` divides by `count`.
    values
        Distinct values and how often each occurs, ascending; None if more than `LEVELS`.
    changes
        How often a row differs from the row before it in the same stretch, both present.
    fractional
        Number of values that are no whole numbers.
    digest
        SHA-256 of the column; equal for signals that are exact duplicates.
    highest, lowest
        The distinct values farthest out, at most `OUTERMOST` at each end, the outermost first.
    """

    name: str
    count: int
    missing: int
    mean: float
    std: float
    low: float
    high: float
    values: tuple[tuple[float, int], ...] | None
    changes: int
    fractional: int
    digest: str
    highest: tuple[Far, ...]
    lowest: tuple[Far, ...]


@dataclass(frozen=True, slots=True)
class SurveyResult:
    """What one pass over a recording found.

    Attributes
    ----------
    interval
        Usual time between two rows, in seconds.
    clock
        What times count.
    rows
        Number of rows.
    first, last
        Earliest and latest time of a row; 0 without rows.
    stretches
        Number of stretches, and `longest_stretch` the rows of the longest.
    longest_gap
        Times of the last row before and the first row after the longest gap, if there is one.
    signals
        One summary per signal.
    blocks
        The course of the recording.
    """

    interval: float
    clock: Clock
    rows: int
    first: int
    last: int
    stretches: int
    longest_stretch: int
    longest_gap: tuple[int, int] | None
    signals: tuple[SignalSummary, ...]
    blocks: Blocks


class Survey:
    """Accumulates a :class:`SurveyResult` from chunks of raw rows, in order.

    Parameters
    ----------
    signals
        Column names.
    interval
        Usual time between two rows, in seconds.
    clock
        What times count.
    """

    def __init__(self, signals: Iterable[str], interval: float, clock: Clock) -> None:
        self.signals = tuple(signals)
        self.interval = interval
        self.clock = clock
        self._tallies = [_Tally() for _ in self.signals]
        self._course = _Course(len(self.signals))
        self._before: Floats | None = None
        self._time_before = 0
        self._rows = 0
        self._span: tuple[int, int] | None = None
        self._stretches = 0
        self._stretch_rows = 0
        self._longest_stretch = 0
        self._longest_gap: tuple[int, int] | None = None

    def update(self, chunk: TimeTable) -> None:
        """Take in the next rows."""
        if not len(chunk):
            return
        starts = np.unique(chunk.starts)
        if not self._rows or not chunk.continues:
            starts = np.union1d(starts, [0])
        for begin in range(0, len(chunk), PIECE):
            end = min(begin + PIECE, len(chunk))
            columns = np.ascontiguousarray(chunk.values[begin:end].T) + 0.0  # and -0.0 becomes 0.0
            present = np.isfinite(columns)
            columns[~present] = np.nan
            inside = starts[(starts >= begin) & (starts < end)] - begin
            self._tally(columns, present, inside, chunk.time[begin:end])
            self._course.add(columns, present, chunk.time[begin:end])
        self._follow_stretches(chunk, starts)
        times = (int(chunk.time.min()), int(chunk.time.max()))
        before = self._span or times
        self._span = (min(before[0], times[0]), max(before[1], times[1]))
        self._rows += len(chunk)

    def finish(self) -> SurveyResult:
        """The result so far; more rows may follow."""
        blocks = self._course.blocks()
        whole = blocks.whole() if self._rows else _cells(*_nothing(len(self.signals), 1), 1)
        first, last = self._span or (0, 0)
        return SurveyResult(
            interval=self.interval,
            clock=self.clock,
            rows=self._rows,
            first=first,
            last=last,
            stretches=self._stretches,
            longest_stretch=max(self._longest_stretch, self._stretch_rows),
            longest_gap=self._longest_gap,
            signals=tuple(
                SignalSummary(
                    name=name,
                    count=int(whole.count[0, k]),
                    missing=self._rows - int(whole.count[0, k]),
                    mean=float(whole.mean[0, k]),
                    std=float(whole.std[0, k]),
                    low=float(whole.low[0, k]),
                    high=float(whole.high[0, k]),
                    values=tally.values.known,
                    changes=tally.changes,
                    fractional=tally.fractional,
                    digest=tally.digest.hexdigest(),
                    highest=tally.values.highest,
                    lowest=tally.values.lowest,
                )
                for k, (name, tally) in enumerate(zip(self.signals, self._tallies, strict=True))
            ),
            blocks=blocks,
        )

    def _tally(self, columns: Floats, present: Flags, starts: NDArray[np.intp], time: Ints) -> None:
        before = np.full(len(columns), np.nan) if self._before is None else self._before
        moved = np.empty(columns.shape, dtype=bool)
        np.not_equal(columns[:, 1:], columns[:, :-1], out=moved[:, 1:])
        moved[:, 0] = columns[:, 0] != before
        moved[:, 1:] &= present[:, 1:] & present[:, :-1]
        moved[:, 0] &= present[:, 0] & np.isfinite(before)
        moved[:, starts] = False
        changes = np.count_nonzero(moved, axis=1)
        fractional = np.count_nonzero((np.rint(columns) != columns) & present, axis=1)
        whole: Flags = np.logical_and.reduce(present, axis=1)
        for k, tally in enumerate(self._tallies):
            tally.changes += int(changes[k])
            tally.fractional += int(fractional[k])
            tally.digest.update(columns[k].data)
            if whole[k]:
                tally.values.add(columns[k], time)
            else:
                tally.values.add(columns[k][present[k]], time[present[k]])
        self._before = columns[:, -1].copy()

    def _follow_stretches(self, chunk: TimeTable, starts: NDArray[np.intp]) -> None:
        for start in starts.tolist():
            before = int(chunk.time[start - 1]) if start else self._time_before
            after = int(chunk.time[start])
            longest = self._longest_gap
            known = longest[1] - longest[0] if longest else 0
            if self._stretches and after - before > known:
                self._longest_gap = (before, after)
            self._stretches += 1
        self._time_before = int(chunk.time[-1])
        inner = np.diff(starts)
        if len(starts):
            head = self._stretch_rows + int(starts[0])
            self._longest_stretch = max(self._longest_stretch, head, *inner.tolist())
            self._stretch_rows = len(chunk) - int(starts[-1])
        else:
            self._stretch_rows += len(chunk)


class _Tally:
    """Counts of one signal that need no blocks."""

    def __init__(self) -> None:
        self.changes = 0
        self.fractional = 0
        self.digest = hashlib.sha256()
        self.values = Values()


class _Course:
    """The blocks, while they grow."""

    def __init__(self, signals: int) -> None:
        self.length = 1
        self.done = _cells(*_nothing(signals, 0), 1)
        self.pieces: list[Blocks] = []
        self.full = 0  # blocks in `done` and `pieces`
        self.pending: list[Blocks | None] = []  # one unpaired cell per doubling of `DIRECT`
        self.rest = _nothing(signals, 0)  # rows that do not fill a cell yet

    def add(self, columns: Floats, present: Flags, time: Ints) -> None:
        """Take in signals × rows."""
        while len(time):
            if self.full == BLOCKS:
                self._double()
            room = (BLOCKS - self.full) * self.length - self._waiting()
            self._fill(columns[:, :room], present[:, :room], time[:room])
            columns, present, time = columns[:, room:], present[:, room:], time[room:]

    def blocks(self) -> Blocks:
        """All blocks so far, the last one perhaps shorter."""
        rows = len(self.rest[2])
        tail = _cells(*self.rest, rows) if rows else None
        for cell in self.pending:
            if cell is not None:
                tail = cell if tail is None else _merge(cell, tail)
        parts = [self.done, *self.pieces]
        return _join([*parts, tail] if tail is not None else parts)

    def _fill(self, columns: Floats, present: Flags, time: Ints) -> None:
        size = min(self.length, DIRECT)
        columns = np.hstack([self.rest[0], columns])
        present = np.hstack([self.rest[1], present])
        time = np.concatenate([self.rest[2], time])
        whole = len(time) // size * size
        self._pair(_cells(columns[:, :whole], present[:, :whole], time[:whole], size), size)
        self.rest = columns[:, whole:].copy(), present[:, whole:].copy(), time[whole:].copy()

    def _pair(self, cells: Blocks, size: int) -> None:
        level = 0
        while size < self.length and len(cells.rows):
            if level == len(self.pending):
                self.pending.append(None)
            waiting = self.pending[level]
            if waiting is not None:
                cells = _join([waiting, cells])
            even = len(cells.rows) // 2 * 2
            odd = cells.part(slice(even, None)) if even < len(cells.rows) else None
            self.pending[level] = odd
            cells = cells.part(slice(0, even)).paired()
            size, level = 2 * size, level + 1
        if len(cells.rows):
            self.pieces.append(cells)
            self.full += len(cells.rows)

    def _double(self) -> None:
        self.done = _join([self.done, *self.pieces]).paired()
        self.pieces = []
        self.full = len(self.done.rows)
        self.length *= 2

    def _waiting(self) -> int:
        return len(self.rest[2]) + sum(int(c.rows[0]) for c in self.pending if c is not None)


def _nothing(signals: int, rows: int) -> tuple[Floats, Flags, Ints]:
    shape = (signals, rows)
    return np.full(shape, np.nan), np.zeros(shape, dtype=bool), np.zeros(rows, dtype=np.int64)


def _join(parts: list[Blocks]) -> Blocks:
    return Blocks(*map(np.concatenate, zip(*(part.arrays() for part in parts), strict=True)))


def _cells(columns: Floats, present: Flags, time: Ints, size: int) -> Blocks:
    """Signals × rows to cells of `size` rows, in units of each cell's range: nothing overflows."""
    signals, rows = columns.shape
    shape = (signals, rows // size, size)
    values, there = columns.reshape(shape), present.reshape(shape)
    count = np.count_nonzero(there, axis=2)
    low = np.where(there, values, np.inf).min(axis=2)
    high = np.where(there, values, -np.inf).max(axis=2)
    empty = count == 0
    low[empty] = high[empty] = np.nan
    with np.errstate(over="ignore", invalid="ignore"):
        spread = high - low
        unit = np.where(spread > 0, spread, 1.0)
        share = np.where(there, (values - low[..., None]) / unit[..., None], 0.0)
        n = np.maximum(count, 1)
        middle = share.sum(axis=2) / n
        off = np.where(there, share - middle[..., None], 0.0)
        mean = low + unit * middle
        std = unit * np.sqrt(np.square(off, out=off).sum(axis=2) / n)
    std[empty] = np.nan
    whole = np.full(rows // size, size, dtype=np.int64)
    return Blocks(
        whole,
        time[::size],
        time[size - 1 :: size],
        count.T.astype(np.int64),
        mean.T,
        std.T,
        low.T,
        high.T,
    )


def _merge(a: Blocks, b: Blocks) -> Blocks:
    """Each block of `a` with the block of `b` that follows it (Chan's formulas, scaled)."""
    count = a.count + b.count
    share = b.count / np.maximum(count, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        step = b.mean - a.mean
        unit = np.maximum(np.maximum(a.std, b.std), np.abs(step))
        unit = np.where(unit > 0, unit, 1.0)
        mean = a.mean + step * share
        square = (1 - share) * (a.std / unit) ** 2 + share * (b.std / unit) ** 2
        std = unit * np.sqrt(square + share * (1 - share) * (step / unit) ** 2)
    for present, other in ((a, b), (b, a)):
        mean = np.where(other.count == 0, present.mean, mean)
        std = np.where(other.count == 0, present.std, std)
    return Blocks(
        a.rows + b.rows,
        a.first,
        b.last,
        count,
        mean,
        std,
        np.fmin(a.low, b.low),
        np.fmax(a.high, b.high),
    )
