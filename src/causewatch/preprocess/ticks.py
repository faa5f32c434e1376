"""Rows to ticks, for a recording at once and for a live stream row by row, with the same numbers.

Rules
-----
- A tick covers `every` seconds, counted from the first row of its stretch. A row belongs to the
  tick its time falls into, half a row's interval of jitter allowed.
- A tick is complete with the row after which the next one is expected in a later tick; if that row
  never comes, with the first row of a later tick. Rows that still arrive for a complete tick (equal
  times, jitter) count towards the next one: nothing is lost, and nothing waits.
- A value beyond what a signal is believed to show is not present.
- A tick's value is the mean of the values present. Where a signal has none, its last tick is held
  for at most `hold` ticks, and counted; after that it is missing (NaN), never zero.
- At the end of a stretch an incomplete tick is kept if it holds at least half of its rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import NANOSECONDS, TimeTable
from causewatch.errors import SettingError

__all__ = [
    "MOST_HELD",
    "Averager",
    "FullTick",
    "PlainTick",
    "TickRun",
    "Ticker",
    "beyond",
    "plain",
    "stacked",
    "tick_table",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
PlainTick = tuple[int, Floats, bool]
"""Time, values, and whether a stretch begins with the tick."""
TickRun = tuple[Ints, Floats, bool]
"""The same of ticks one after the other."""

MOST_HELD = 5
"""Ticks for which the last value of a signal is held where it is missing."""


class FullTick(NamedTuple):
    """A tick and what it was made of.

    Attributes
    ----------
    time
        Of the last row in it.
    values
        By signal.
    new_stretch
        Whether a stretch begins with it.
    fresh
        By signal: whether a value of its own was there; otherwise it was held, or is missing. Not
        to be written to.
    rows
        How many rows it was made of; 0 for a tick without any.
    low, high
        By signal: the smallest and the largest value of its rows. Where there is none they are the
        value of the tick.
    """

    time: int
    values: Floats
    new_stretch: bool
    fresh: Bools
    rows: int
    low: Floats
    high: Floats


class Ticker(Protocol):
    """Turns rows into ticks; one object for one stream of rows."""

    @property
    def held(self) -> NDArray[np.int64]:
        """How often each signal's last value was held."""

    @property
    def wild(self) -> NDArray[np.int64]:
        """How many values of each signal were not believed."""

    def rows(self, table: TimeTable) -> TimeTable:
        """The ticks that these rows complete."""

    def row(self, time: int, values: Floats, new_stretch: bool = False) -> list[PlainTick]:
        """The ticks that this row completes: time, values, whether a stretch begins with it."""

    def flush(self) -> list[PlainTick]:
        """The tick still open, if it is to be kept: there are no more rows."""

    def take(self, time: int, values: Floats, new_stretch: bool = False) -> list[FullTick]:
        """As `row`, with what each tick was made of."""

    def finish(self) -> list[FullTick]:
        """As `flush`, with what the tick was made of."""

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on: arrays, whole numbers, None."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot: the future is bitwise the same as without interruption."""


class Averager:
    """Averages rows down to ticks; the rules are at the top of this module.

    Parameters
    ----------
    signals
        How many.
    every
        Length of a tick in seconds, at least `interval`.
    interval
        Usual time between two rows in seconds.
    hold
        For how many ticks a missing value is replaced by the last one.
    believed
        Smallest and largest value that is believed, by signal; None: all are.
    """

    def __init__(
        self,
        signals: int,
        *,
        every: float,
        interval: float,
        hold: int = MOST_HELD,
        believed: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.held, self.wild = np.zeros((2, signals), dtype=np.int64)
        self._believed = believed
        self._every = max(1, round(every * NANOSECONDS))
        self._interval = round(interval * NANOSECONDS)
        expected = -(-self._every // max(1, self._interval))  # rows in a tick
        self._least = -(-expected // 2)
        self._hold = hold
        self._signals = signals
        self._all = _read_only(np.ones(signals, dtype=np.bool_))
        self._none = _read_only(np.zeros(signals, dtype=np.bool_))
        self._begin()

    def _begin(self) -> None:
        """Forget everything about the stretch before."""
        self._origin: int | None = None
        self._tick = 0  # number of the open tick
        self._closed = False  # whether the last row completed its tick
        self._rows = 0  # rows in the open tick
        self._sum = np.zeros(self._signals)
        # Values in it by signal, from rows that lack some, and the number of rows that lack none:
        # those need no counting by signal.
        self._count = np.zeros(self._signals, dtype=np.int64)
        self._full = 0
        self._low = np.full(self._signals, np.inf)  # smallest and largest value of its rows
        self._high = np.full(self._signals, -np.inf)
        self._time = 0  # time of the last row
        self._emitted: int | None = None  # number of the last tick given out
        self._last = np.full(self._signals, np.nan)  # last value of each signal and its age
        self._age = np.zeros(self._signals, dtype=np.int64)

    def row(self, time: int, values: Floats, new_stretch: bool = False) -> list[PlainTick]:
        """See `Ticker`."""
        return plain(self.take(time, values, new_stretch))

    def flush(self) -> list[PlainTick]:
        """See `Ticker`."""
        return plain(self.finish())

    def take(self, time: int, values: Floats, new_stretch: bool = False) -> list[FullTick]:
        """See `Ticker`."""
        done = self.finish() if new_stretch else []
        if self._origin is None:
            self._origin = time
        place = time - self._origin + self._interval // 2
        tick = place // self._every
        if self._closed:
            tick = max(tick, self._tick + 1)
        tick = max(tick, self._tick)
        if tick > self._tick:
            done += self._emit()
            self._tick = tick
        if self._believed is not None:
            values = self._plausible(values)
        present = np.isfinite(values)
        if np.count_nonzero(present) == self._signals:
            self._sum += values
            self._full += 1
            np.minimum(self._low, values, out=self._low)
            np.maximum(self._high, values, out=self._high)
        else:
            np.add(self._sum, values, out=self._sum, where=present)
            self._count += present
            np.minimum(self._low, values, out=self._low, where=present)
            np.maximum(self._high, values, out=self._high, where=present)
        self._rows += 1
        self._time = time
        self._closed = (place + self._interval) // self._every > tick
        if self._closed:
            done += self._emit()
        return done

    def finish(self) -> list[FullTick]:
        """See `Ticker`."""
        done = self._emit() if self._rows >= self._least else []
        self._begin()
        return done

    def _emit(self) -> list[FullTick]:
        """Give out the open tick, if it has rows, and the ones skipped before it."""
        if self._rows == 0:
            return []
        first = self._emitted is None
        skipped = 0 if self._emitted is None else self._tick - self._emitted - 1
        done = []
        for k in range(skipped, 0, -1):
            held = self._filled(np.full(self._signals, np.nan))
            when = self._time - k * self._every
            done.append(FullTick(when, held, False, self._none, 0, held, held))
        if self._full > 0:  # each signal has a value: nothing to hold
            values = self._sum / (
                self._count + self._full if self._full < self._rows else self._full
            )
            fresh = self._all
            self._last = values.copy()
            self._age.fill(0)
            low, high = self._low.copy(), self._high.copy()
        else:
            with np.errstate(invalid="ignore"):
                fresh = self._count > 0
                values = self._filled(np.where(fresh, self._sum / self._count, np.nan))
            low = np.where(fresh, self._low, values)
            high = np.where(fresh, self._high, values)
        done.append(FullTick(self._time, values, first, fresh, self._rows, low, high))
        self._emitted = self._tick
        self._rows = self._full = 0
        self._sum.fill(0.0)
        self._count.fill(0)
        self._low.fill(np.inf)
        self._high.fill(-np.inf)
        return done

    def _plausible(self, values: Floats) -> Floats:
        """The values that are believed, of one row or of several."""
        assert self._believed is not None
        wild = beyond(values, *self._believed)
        if not wild.any():
            return values
        self.wild += wild.reshape(-1, self._signals).sum(axis=0)
        return np.where(wild, np.nan, values)

    def _filled(self, values: Floats) -> Floats:
        missing = np.isnan(values)
        self._age = np.where(missing, self._age + 1, 0)
        self._last = np.where(missing, self._last, values)
        hold = missing & (self._age <= self._hold) & ~np.isnan(self._last)
        self.held += hold
        return np.where(hold, self._last, values)

    def snapshot(self) -> dict[str, Any]:
        """See `Ticker`."""
        return {
            "held": self.held.copy(),
            "wild": self.wild.copy(),
            "origin": self._origin,
            "tick": self._tick,
            "closed": int(self._closed),
            "rows": self._rows,
            "sum": self._sum.copy(),
            "count": self._count + self._full,
            "low": self._low.copy(),
            "high": self._high.copy(),
            "time": self._time,
            "emitted": self._emitted,
            "last": self._last.copy(),
            "age": self._age.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """See `Ticker`."""
        self._begin()
        _copy_arrays(
            state,
            held=self.held,
            wild=self.wild,
            sum=self._sum,
            count=self._count,
            low=self._low,
            high=self._high,
            last=self._last,
            age=self._age,
        )
        self._origin = None if state["origin"] is None else int(state["origin"])
        self._emitted = None if state["emitted"] is None else int(state["emitted"])
        self._tick, self._time = int(state["tick"]), int(state["time"])
        self._rows, self._closed = int(state["rows"]), bool(state["closed"])

    def rows(self, table: TimeTable) -> TimeTable:
        """See `Ticker`."""
        parts: list[TickRun] = []
        for piece in table.stretches():
            if not (table.continues and piece.start == 0):
                parts += stacked(self.flush())
            if piece.stop > piece.start:
                parts.append(self._stretch(table.time[piece], table.values[piece]))
        return tick_table(parts, table, self._every / NANOSECONDS, self._signals)

    def _stretch(self, time: Ints, values: Floats) -> TickRun:
        """Ticks completed by rows that go on with the open stretch: times, values, whether new."""
        self._count += self._full
        self._full = 0
        if self._believed is not None:
            values = self._plausible(values)
        if self._origin is None:
            self._origin = int(time[0])
        place = time - self._origin + self._interval // 2
        tick = place // self._every
        after = (place + self._interval) // self._every > tick
        # Rows for a tick that an earlier row has completed belong to the next one.
        before = np.concatenate([[self._closed], after[:-1]])
        same = np.concatenate([[self._tick], tick[:-1]]) >= tick
        tick = np.maximum.accumulate(np.maximum(tick + (before & same), self._tick))
        closes = (place + self._interval) // self._every > tick

        starts = np.flatnonzero(np.diff(tick, prepend=tick[0] - 1))
        numbers = tick[starts]
        present = np.isfinite(values)
        below, above = np.where(present, values, np.inf), np.where(present, values, -np.inf)
        # The sums so far go in front as a row of their own: the order of additions, and with it
        # the last digit, is then the same as row by row.
        joins = self._rows > 0 and numbers[0] == self._tick
        if self._rows > 0 and not joins:
            starts, numbers = np.append(0, starts + 1), np.append(self._tick, numbers)
        elif joins:
            starts = np.append(0, starts[1:] + 1)
        if self._rows > 0:
            values = np.concatenate([self._sum[None], np.where(present, values, 0.0)])
            count = np.concatenate([self._count[None], present.astype(np.int64)])
            rows = np.append(self._rows, np.ones(len(time), dtype=np.int64))
            stamps = np.append(self._time, time)
            closes = np.append(False, closes)
        else:
            values = np.where(present, values, 0.0)
            count, rows = present.astype(np.int64), np.ones(len(time), dtype=np.int64)
            stamps = time
        sums = _sums(values, starts)
        counts = np.add.reduceat(count, starts, axis=0)
        sizes = np.add.reduceat(rows, starts)
        ends = np.append(starts[1:], len(values)) - 1

        self._time = int(time[-1])
        self._closed = bool(closes[-1])
        complete = len(starts) if self._closed else len(starts) - 1
        self._tick = int(numbers[-1])
        self._sum = np.zeros(self._signals) if self._closed else sums[-1].copy()
        self._count = np.zeros(self._signals, dtype=np.int64) if self._closed else counts[-1].copy()
        if self._closed or starts[-1] > 0:  # the rows so far are no part of the open tick
            self._low.fill(np.inf)
            self._high.fill(-np.inf)
        if not self._closed:
            since = max(0, int(starts[-1]) - (len(values) - len(time)))
            self._low = np.minimum(self._low, below[since:].min(axis=0))
            self._high = np.maximum(self._high, above[since:].max(axis=0))
        self._rows = 0 if self._closed else int(sizes[-1])
        first = self._emitted is None
        if complete == 0:
            return np.empty(0, dtype=np.int64), np.empty((0, self._signals)), False
        with np.errstate(invalid="ignore"):
            means = np.where(counts > 0, sums / counts, np.nan)[:complete]
        base = int(numbers[0]) if self._emitted is None else self._emitted + 1
        target = numbers[:complete] - base
        out = np.full((int(target[-1]) + 1, self._signals), np.nan)
        out[target] = means
        # A skipped tick has no row; its time is counted back from the next one that has.
        upward = np.searchsorted(target, np.arange(len(out)))
        when = (
            stamps[ends[:complete]][upward] - (target[upward] - np.arange(len(out))) * self._every
        )
        self._emitted = int(numbers[complete - 1])
        return when, self._filled_all(out), first

    def _filled_all(self, values: Floats) -> Floats:
        """As `_filled`, for many ticks at once."""
        missing = np.isnan(values)
        if not missing.any():
            self._last, self._age = values[-1].copy(), np.zeros_like(self._age)
            return values
        place = np.arange(len(values))[:, None]
        known = np.where(missing, -1 - self._age[None, :], place)
        known[0] = np.where(missing[0], -1 - self._age, 0)
        known = np.maximum.accumulate(known, axis=0)
        source = np.where(
            known >= 0, np.take_along_axis(values, np.maximum(known, 0), axis=0), self._last
        )
        age = place - known
        hold = missing & (age <= self._hold) & ~np.isnan(source)
        self.held += hold.sum(axis=0)
        self._last, self._age = source[-1].copy(), age[-1].copy()
        return np.where(hold, source, values)


def _sums(values: Floats, starts: Ints) -> Floats:
    """Sums of the rows from each start to the next, added strictly one after the other.

    `np.add.reduceat` adds in an order of its own, and then the last digit would differ from the
    one a live stream gets.
    """
    sizes = np.diff(starts, append=len(values))
    total = values[starts]
    for k in range(1, int(sizes.max())):
        longer = np.flatnonzero(sizes > k)
        total[longer] += values[starts[longer] + k]
    return total


def beyond(values: Floats, low: Floats, high: Floats) -> Bools:
    """Which values lie beyond the bounds of their signal."""
    return np.asarray((values < low) | (values > high))


def _read_only(array: Bools) -> Bools:
    array.flags.writeable = False
    return array


def _copy_arrays(state: dict[str, Any], **into: NDArray[Any]) -> None:
    """Fill arrays from a snapshot; a snapshot of other signals does not fit."""
    for name, array in into.items():
        found = np.asarray(state[name])
        if found.shape != array.shape:
            msg = (
                f"The state holds {found.size} values of {name!r}, but there are {array.size}"
                " signals; restore a state of the same model."
            )
            raise SettingError(msg)
        array[:] = found


def plain(ticks: list[FullTick]) -> list[PlainTick]:
    """Ticks without what they were made of."""
    return [tick[:3] for tick in ticks]


def stacked(ticks: list[PlainTick]) -> list[TickRun]:
    """Ticks as runs of one tick each."""
    return [(np.array([time], dtype=np.int64), values[None], new) for time, values, new in ticks]


def tick_table(parts: list[TickRun], like: TimeTable, every: float, signals: int) -> TimeTable:
    """Runs of ticks as a table of ticks of `every` seconds; the rest is as in the table `like`."""
    parts = [part for part in parts if len(part[0])]
    sizes = np.cumsum([0] + [len(part[0]) for part in parts])
    starts = [int(size) for size, part in zip(sizes, parts, strict=False) if part[2]]
    return TimeTable(
        signals=like.signals,
        values=np.concatenate([part[1] for part in parts]) if parts else np.empty((0, signals)),
        time=np.concatenate([part[0] for part in parts]) if parts else np.empty(0, dtype=np.int64),
        starts=np.array(starts, dtype=np.intp),
        interval=every,
        clock=like.clock,
        continues=not (starts and starts[0] == 0),
        files=like.files,
        notes=like.notes,
    )
