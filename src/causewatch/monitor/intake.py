"""`Intake`: raw rows of a live stream in, ticks out, exactly as learning made them.

The rules are written down in ``docs/watching-rules.md``. A row goes through four hands: its cells
become numbers (`intake_cells`), its time is read (`intake_clock`), it finds its place among the
others (`intake_order`), and the ticker that learning used makes ticks of it
(`causewatch.preprocess.ticks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.order import GAP
from causewatch.data.table import NANOSECONDS, Clock, Note
from causewatch.monitor.intake_cells import RowReader
from causewatch.monitor.intake_clock import StreamClock
from causewatch.monitor.intake_order import RowOrder
from causewatch.monitor.intake_problems import Problems
from causewatch.monitor.stateful import Stateful
from causewatch.preprocess import Preprocessing
from causewatch.preprocess.ticks import FullTick

__all__ = ["Intake"]

Floats = NDArray[np.float64]

PACE_ROWS = 64
"""Rows over which the pace of the stream is averaged."""


class Intake(Stateful):
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
        Further columns to deliver after the signals of the model, averaged in the same way.
    gap
        A longer step, in seconds, begins a new stretch; five intervals unless given.
    times
        Names under which rows may hold their time: the first that is there counts.
    """

    STATE = (
        "columns",
        "pace",
        "_broken",
        "_problems",
        "_reader",
        "_times",
        "_order",
        "_ticker",
    )

    def __init__(
        self,
        preprocessing: Preprocessing,
        interval: float,
        clock: Clock,
        extra: Sequence[str] = (),
        gap: float | None = None,
        times: Sequence[str] = (),
    ) -> None:
        self.columns = (*preprocessing.signals, *extra)
        self._interval = max(1, round(interval * NANOSECONDS))
        self._gap = int(GAP * self._interval) if gap is None else round(gap * NANOSECONDS)
        self._problems = Problems()
        order = preprocessing.columns
        self._time_names = tuple(name for name in times if name not in order)
        self._reader = RowReader(self.columns, order, self._problems, self._time_names)
        self._times = StreamClock(clock, self._interval, self._problems)
        self._order = RowOrder(self._interval, self._gap, self._times, self._problems)
        self._ticker = replace(preprocessing, signals=self.columns).ticker(interval)
        self.pace = 1.0  # usual time between rows lately, in intervals: 2 is half as fast
        self._broken = False  # whether the last row began a stretch

    @property
    def clock(self) -> Clock:
        """What the times of the stream count."""
        return self._times.clock

    @property
    def problems(self) -> Mapping[str, int]:
        """How often each kind of problem was met; the kinds are in ``docs/watching-rules.md``."""
        wild = int(self._ticker.wild.sum())
        return {**self._problems.counts, **({"wild_values": wild} if wild else {})}

    def drain(self) -> tuple[Note, ...]:
        """What is new since the last call, as sentences to show."""
        return self._problems.drain()

    def note(self, kind: str, text: str, about: str) -> None:
        """Count a problem that was seen in a tick."""
        self._problems.add(kind, text, about=about)

    def row(
        self, values: Mapping[str, Any] | Sequence[Any] | NDArray[Any], time: Any = None
    ) -> list[FullTick]:
        """Take in one row; gives the ticks that it completes, mostly none or one.

        Parameters
        ----------
        values
            By name of the column, or in the order of the recording (`Preprocessing.columns`).
        time
            A datetime, ISO 8601 text, `numpy.datetime64`, a number (of seconds; or of any unit
            since 1970, told by its size) or None. Where it is None, the row itself may say.

        Raises
        ------
        TableError
            If values without names are not as many as the recording had columns.
        """
        numbers = self._reader.read(values)
        if time is None and isinstance(values, Mapping):
            time = next((values[name] for name in self._time_names if name in values), None)
        order = self._order
        last = None if order.last is None else order.last - order.shift
        read = self._times.read(time, last)
        if read is None:
            return []
        when, restart = read
        before = self._placed(order.finish()) if restart else []
        return before + self.row_ns(numbers, when)

    def settle(self, clock: Clock, *, put_right: bool = False) -> None:
        """Say what the times of the stream count, before the first `row_ns`; see `use_clock`."""
        self._times.settle(clock)
        self._order.put_right = put_right

    def row_ns(self, values: Floats, time: int) -> list[FullTick]:
        """As `row`, for programs that have read numbers and times already.

        Parameters
        ----------
        values
            Numbers in the order of `columns`, NaN where missing. They are not checked, and must
            not be changed afterwards.
        time
            In nanoseconds; see `settle`.
        """
        order = self._order
        if order.last is not None and not order.waiting:
            moved = time + order.shift
            if 0 < moved - order.last <= self._gap:  # as nearly always
                self._measure(order.last, moved, begins=False)
                order.last = moved
                return self._ticker.take(moved, values)
        return self._placed(order.push(time, values))

    def flush(self) -> list[FullTick]:
        """End the stream: returns the tick still open, if it is to be kept.

        A row that comes all the same begins a new stretch.
        """
        return self._placed(self._order.finish()) + self._ticker.finish()

    def _placed(self, rows: Iterable[tuple[int, Floats, bool]]) -> list[FullTick]:
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
            self.pace += (step / self._interval - self.pace) / PACE_ROWS
        self._broken = begins and before is not None
