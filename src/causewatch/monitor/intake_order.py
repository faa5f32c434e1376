"""The order of live rows: late rows, gaps, clocks set back or forward.

The rules are those for recordings (`causewatch.data.order`). Where a recording is looked at ahead,
a live stream waits: rows that seem late, and one whose time is far ahead, are kept back until it is
clear what they are, and only they. The same rows make the same stretches in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.order import (
    FAR,
    HOUR,
    LATE_ROWS,
    LONGEST_SWITCH_INTERVAL,
    _is_switch_night,
    is_far,
)
from causewatch.data.table import NANOSECONDS, format_time
from causewatch.monitor.intake_clock import StreamClock
from causewatch.monitor.intake_problems import Problems
from causewatch.monitor.stateful import Stateful

__all__ = ["RowOrder"]

Floats = NDArray[np.float64]


class RowOrder(Stateful):
    """Decides which rows count, where stretches begin, and keeps late rows back meanwhile.

    Parameters
    ----------
    interval, gap
        Usual time between two rows, and the step that begins a new stretch, in nanoseconds.
    times
        Says what the times count.
    problems
        Where to count what is wrong.
    """

    STATE = ("last", "shift", "put_right")

    def __init__(self, interval: int, gap: int, times: StreamClock, problems: Problems) -> None:
        self._interval = interval
        self._gap = gap
        self._far = max(FAR, gap)
        self._times = times
        self._problems = problems
        self.last: int | None = None  # time of the last row that counted, as moved
        self.shift = 0  # by which times are moved: daylight saving
        self.put_right = False  # whether daylight saving is undone in the times that come
        self.waiting: list[tuple[int, Floats]] = []  # rows kept back, with their own times

    def push(self, time: int, values: Floats) -> Iterator[tuple[int, Floats, bool]]:
        """Take in one row; gives the rows that now count, and whether a stretch begins there."""
        self.waiting.append((time, values))
        yield from self._decide(final=False)

    def finish(self) -> Iterator[tuple[int, Floats, bool]]:
        """Decide about all rows waiting; the next one begins a new stretch whatever its time."""
        yield from self._decide(final=True)
        self.last, self.shift = None, 0

    def _decide(self, final: bool) -> Iterator[tuple[int, Floats, bool]]:
        """Decide about as many rows as possible; with `final` about all."""
        while self.waiting:
            now = self.waiting[0][0] + self.shift
            if self.last is None or now >= self.last:
                if self._switches(now, HOUR):
                    self._move(now, -HOUR)
                    continue
                if self.last is not None and now - self.last > self._far:
                    if len(self.waiting) < 2 and not final:
                        return
                    if not self._is_far(now):
                        self._drop(1)
                        continue
                yield self._forward(now)
            elif not self._backward(now, final):
                return  # later rows are needed

    def _forward(self, now: int) -> tuple[int, Floats, bool]:
        """The first row waiting counts, and its time is not before the last one."""
        _, values = self.waiting.pop(0)
        begins = self.last is None
        if self.last is not None:
            step = now - self.last
            begins = step > self._gap
            if step > self._far:
                self._jumped("forward", now)
            elif begins:
                text = (
                    f"Gaps of more than {self._gap / NANOSECONDS:.6g} s: {{count}}, the first"
                    f" before {self._show(now)}; each begins a new stretch."
                )
                self._problems.add("gaps", text)
            elif step == 0:
                self._problems.count("duplicate_times")
        self.last = now
        return now, values, begins

    def _backward(self, now: int, final: bool) -> bool:
        """Decide about a row before the last one; False if later rows are needed for that."""
        resumes = self._resumes()
        if self._switches(now, -HOUR):
            if len(self.waiting) < 2 and not final:
                return False
            if resumes != 1:  # not one late row, which an hour back would be by chance
                self._move(now, HOUR)
                return True
        if resumes is not None:
            self._drop(resumes)
        elif len(self.waiting) <= LATE_ROWS:
            if not final:
                return False
            self._drop(len(self.waiting))
        else:
            self._jumped("back", now)
            self.last = None
        return True

    def _is_far(self, now: int) -> bool:
        """Whether the row after the first one waiting agrees that the clock jumped to `now`."""
        if self.last is None or len(self.waiting) < 2:
            return False
        return is_far(self.last, now, self.waiting[1][0] + self.shift, self._far)

    def _resumes(self) -> int | None:
        """Number of the first row waiting that goes on from the last one that counted."""
        assert self.last is not None
        for number, (time, _) in enumerate(self.waiting):
            if 0 <= time + self.shift - self.last <= self._far:
                return number
        return None

    def _drop(self, rows: int) -> None:
        """Leave out the first rows waiting: late ones, and those far ahead."""
        assert self.last is not None
        times = [time + self.shift for time, _ in self.waiting[:rows]]
        late = [time for time in times if time < self.last]
        odd = [time for time in times if time >= self.last]
        for kind, what, some in (
            ("late_rows", "Late rows: {count}, the first with time", late),
            ("odd_times", "Rows with a time far from all others: {count}, the first with", odd),
        ):
            if some:
                text = (
                    f"{what} {self._show(some[0])} after {self._show(self.last)};"
                    " they were dropped."
                )
                self._problems.add(kind, text, len(some))
        del self.waiting[:rows]

    def _jumped(self, way: str, now: int) -> None:
        assert self.last is not None
        text = (
            f"Jumps {way} in time: {{count}}, the first from {self._show(self.last)} to"
            f" {self._show(now)}; each jump begins a new stretch."
        )
        self._problems.add("clock_jumps", text, about=way)

    def _switches(self, now: int, jump: int) -> bool:
        """Whether the step to `now` is a daylight-saving change by `jump`."""
        concerned = self._times.clock == "naive" and not self.put_right
        if self.last is None or not concerned or self._interval >= LONGEST_SWITCH_INTERVAL:
            return False
        off = now - self.last - self._interval - jump
        if abs(off) > 2 * self._interval or (jump > 0 and now - self.last <= self._gap):
            return False
        return any(_is_switch_night(time - self.shift) for time in (self.last, now))

    def _move(self, now: int, by: int) -> None:
        """Undo a change of the clock: move all later rows."""
        text = (
            f"Daylight-saving changes: {{count}}, the first at {self._show(now - self.shift)};"
            " later times were moved by the hour, so that there is neither gap nor overlap."
        )
        self._problems.add("daylight_saving", text)
        self.shift += by

    def _show(self, time: int) -> str:
        return format_time(time, self._times.clock)

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on."""
        rows = [values for _, values in self.waiting]
        return super().snapshot() | {
            "waiting_times": np.array([time for time, _ in self.waiting], dtype=np.int64),
            "waiting_values": np.array(rows) if rows else np.empty((0, 0)),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        super().restore(state)
        times = np.asarray(state["waiting_times"]).tolist()
        values = np.array(state["waiting_values"], dtype=np.float64)
        self.waiting = list(zip(times, values, strict=True))
