"""`Intake`: raw rows of a live stream in, ticks out, exactly as learning made them.

The rules are written down in ``docs/watching-rules.md``. A row goes through four hands: its cells
become numbers (`intake_cells`), its time is read (`intake_clock`), it finds its place among the
others (`intake_order`), and the ticker that learning used makes ticks of it
(`causewatch.preprocess.ticks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from causewatch.data.order import GAP
from causewatch.data.table import NANOSECONDS, Clock, Note
from causewatch.errors import SettingError
from causewatch.monitor.intake_cells import RowReader
from causewatch.monitor.intake_clock import StreamClock
from causewatch.monitor.intake_order import RowOrder
from causewatch.monitor.intake_problems import Problems
from causewatch.preprocess import Preprocessing
from causewatch.preprocess.ticks import FullTick

__all__ = ["Intake", "TickRow"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PACE_ROWS = 64
"""Rows over which the pace of the stream is averaged."""


class TickRow(NamedTuple):
    """One tick, as the monitor gets it.

    Attributes
    ----------
    time
        Of the last row in it, in nanoseconds of the stream's clock.
    values
        By signal of the model; NaN where missing.
    extra
        By further column asked for.
    new_stretch
        Whether it does not follow the tick before.
    columns
        Signals and further columns together (`values` and `extra` are views of it).
    fresh
        By column: whether a value of its own was there; otherwise it was held, or is missing.
    rows
        How many rows it was made of.
    pace
        Usual time between two rows lately, in units of the interval the model was learnt with.
    low, high
        By column: the smallest and the largest value of its rows.
    """

    time: int
    values: Floats
    extra: Floats
    new_stretch: bool
    columns: Floats
    fresh: Bools
    rows: int
    pace: float
    low: Floats
    high: Floats


class Intake:
    """Turns the rows of one live stream into ticks, one row at a time.

    Parameters
    ----------
    preprocessing
        How learning made ticks.
    interval
        Usual time between two rows of the normal recording, in seconds.
    clock
        What the times of that recording count.
    extra
        Further columns to deliver beside the signals of the model, averaged in the same way.
    gap
        A longer step, in seconds, begins a new stretch; five intervals unless given.
    """

    def __init__(
        self,
        preprocessing: Preprocessing,
        interval: float,
        clock: Clock,
        extra: Sequence[str] = (),
        gap: float | None = None,
    ) -> None:
        self.signals = tuple(preprocessing.signals)
        self.extra = tuple(extra)
        self.columns = self.signals + self.extra
        if len(set(self.columns)) < len(self.columns):
            twice = next(name for name in self.extra if self.columns.count(name) > 1)
            msg = f"Column {twice!r} is asked for twice; name further columns that are no signals."
            raise SettingError(msg)
        self._interval = max(1, round(interval * NANOSECONDS))
        self._gap = int(GAP * self._interval) if gap is None else round(gap * NANOSECONDS)
        self._problems = Problems()
        self._reader = RowReader(self.columns, tuple(preprocessing.dropped), self._problems)
        self._times = StreamClock(clock, self._interval, self._problems)
        self._order = RowOrder(self._interval, self._gap, self._problems)
        self._ticker = replace(preprocessing, signals=self.columns).ticker(interval)
        self._pace = 1.0
        self._broken = False  # whether the last row began a stretch

    @property
    def clock(self) -> Clock:
        """What the times of the stream count."""
        return self._times.clock

    @property
    def pace(self) -> float:
        """Usual time between two rows lately, in units of the interval: 2 is half as fast."""
        return self._pace

    @property
    def problems(self) -> Mapping[str, int]:
        """How often each kind of problem was met; the kinds are in ``docs/watching-rules.md``."""
        return self._problems.counts

    @property
    def held(self) -> NDArray[np.int64]:
        """By column: for how many ticks its last value was held."""
        return self._ticker.held

    def drain(self) -> tuple[Note, ...]:
        """What is new since the last call, as sentences to show."""
        return self._problems.drain()

    def row(
        self, values: Mapping[str, Any] | Sequence[Any] | NDArray[Any], time: Any = None
    ) -> list[TickRow]:
        """Take in one row; gives the ticks that it completes, mostly none or one.

        Parameters
        ----------
        values
            By name of the column, or in the order of `columns`.
        time
            A datetime, ISO 8601 text, `numpy.datetime64`, a number (of seconds; or of any unit
            since 1970, told by its size) or None.

        Raises
        ------
        TableError
            If values without names are not as many as there are columns.
        """
        numbers = self._reader.read(values)
        order = self._order
        last = None if order.last is None else order.last - order.shift
        found = self._times.read(time, last)
        if found is None:
            return []
        when, restart = found
        if restart:
            return self._ticks(self._taken(order.finish())) + self._ordered(when, numbers)
        return self._ordered(when, numbers)

    def settle(self, clock: Clock, *, put_right: bool = False) -> None:
        """Say what the times of the stream count, before the first `row_ns`; see `use_clock`."""
        self._times.settle(clock)
        self._order.put_right = put_right

    def row_ns(self, values: Floats, time: int) -> list[TickRow]:
        """As `row`, for programs that have read numbers and times already.

        Parameters
        ----------
        values
            Numbers in the order of `columns`, NaN where missing. They are not checked, and must
            not be changed afterwards.
        time
            In nanoseconds; see `settle`.
        """
        return self._ordered(time, values)

    def flush(self) -> list[TickRow]:
        """There are no more rows: the tick still open, if it is to be kept.

        A row that comes all the same begins a new stretch.
        """
        done = self._taken(self._order.finish())
        return self._ticks(done + self._ticker.finish())

    def _ordered(self, time: int, values: Floats) -> list[TickRow]:
        """The row in its place among the others."""
        order = self._order
        if order.last is not None and not order.waiting:
            moved = time + order.shift
            step = moved - order.last
            if 0 < step <= self._gap:  # as nearly always
                order.last = moved
                self._pace += (step / self._interval - self._pace) / PACE_ROWS
                self._broken = False
                done = self._ticker.take(moved, values)
                return self._ticks(done) if done else []
        order.clock = self._times.clock
        return self._ticks(self._taken(order.push(time, values)))

    def _taken(self, rows: Iterable[tuple[int, Floats, bool]]) -> list[FullTick]:
        """The ticks that rows complete whose place is known."""
        done = []
        before = self._order.last
        for when, row, begins in rows:
            self._measure(before, when, begins)
            before = when
            done += self._ticker.take(when, row, begins)
        return done

    def _measure(self, before: int | None, now: int, begins: bool) -> None:
        """Let a step count for the pace; a gap only if it follows on another one."""
        if before is not None and now >= before and (self._broken or not begins):
            step = min(now - before, 2 * self._gap)
            self._pace += (step / self._interval - self._pace) / PACE_ROWS
        self._broken = begins and before is not None

    def _ticks(self, done: list[FullTick]) -> list[TickRow]:
        size = len(self.signals)
        return [
            TickRow(
                tick.time,
                tick.values[:size],
                tick.values[size:],
                tick.new_stretch,
                tick.values,
                tick.fresh,
                tick.rows,
                self._pace,
                tick.low,
                tick.high,
            )
            for tick in done
        ]

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on: numbers, words, arrays, and lists and dicts of them.

        Notes that were not drained are not kept.
        """
        return {
            "columns": list(self.columns),
            "pace": self._pace,
            "broken": int(self._broken),
            "problems": self._problems.snapshot(),
            "reader": self._reader.snapshot(),
            "times": self._times.snapshot(),
            "order": self._order.snapshot(),
            "ticker": self._ticker.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot: the future is bitwise the same as without interruption."""
        if list(state["columns"]) != list(self.columns):
            msg = (
                f"The state is one of {len(state['columns'])} other columns than the"
                f" {len(self.columns)} watched; restore a state of the same model."
            )
            raise SettingError(msg)
        self._pace, self._broken = float(state["pace"]), bool(state["broken"])
        self._problems.restore(state["problems"])
        self._reader.restore(state["reader"])
        self._times.restore(state["times"])
        self._order.restore(state["order"])
        self._order.clock = self._times.clock
        self._ticker.restore(state["ticker"])
