"""Order and stretches: late rows, gaps, clocks set back or forward, found row by row.

The rules (also in ``docs/data.md``):

* A row whose time lies before the latest time so far is *late*. If within `LATE_ROWS` rows the
  recording goes on from that latest time, the late rows are dropped.
* If it does not, the clock jumped back and a new stretch begins with the first such row.
* A step of more than `GAP` usual intervals begins a new stretch.
* A row that lies more than `FAR` ahead of the last one is believed if the next row agrees with it.
  Otherwise its time is odd, and it is dropped.
* On a clock without a zone, a jump of one hour (± 2 intervals) back or forward in a plausible
  daylight-saving night is undone: later times are moved by that hour. A jump forward over rows that
  were dropped is none: they show that the clock ran on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.data.notes import Tally
from causewatch.data.table import NANOSECONDS, Clock, format_time

__all__ = ["FAR", "GAP", "LATE_ROWS", "Ordered", "Orderer", "Pace", "is_far"]

GAP = 5.0
"""A step of more than this many intervals begins a new stretch."""

LATE_ROWS = 10
"""Rows out of order count as late if the recording resumes within this many rows."""

FAR = 366 * 86_400 * NANOSECONDS
"""A single row further ahead than this has a wrong time."""

IRREGULAR_SHARE = 0.2
"""If more than this share of the rows would begin a stretch, the recording is irregular."""

HOUR = 3600 * NANOSECONDS
LONGEST_SWITCH_INTERVAL = 600 * NANOSECONDS
SWITCH_MONTHS = (3, 4, 9, 10, 11)

Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast rows follow each other: the usual interval and the step that makes a gap, in ns."""

    interval: int
    gap: int
    irregular: bool = False

    @classmethod
    def measure(cls, time: Times) -> Pace | None:
        """The pace of `time`: the median positive step; None if there is no positive step.

        Where more than `IRREGULAR_SHARE` of the steps are longer than the gap, the 95th percentile
        of the steps takes the place of the interval in the gap rule.
        """
        steps = np.diff(time)
        steps = steps[steps > 0]
        if not len(steps):
            return None
        interval = int(np.median(steps))
        gap = int(GAP * interval)
        if np.mean(steps > gap) > IRREGULAR_SHARE:
            return cls(interval, int(GAP * float(np.percentile(steps, 95))), irregular=True)
        return cls(interval, gap)


@dataclass(frozen=True, slots=True)
class Ordered:
    """What became of the first `len(keep)` rows that were pushed.

    `time` holds the (possibly moved) times of these rows, `start` whether a row begins a stretch.
    """

    keep: NDArray[np.bool_]
    time: Times
    start: NDArray[np.bool_]


class Orderer:
    """Applies the rules to one file, in pieces; how it is cut into pieces changes nothing.

    Parameters
    ----------
    pace
        The usual interval and what makes a gap.
    clock
        What the times count; daylight saving concerns ``naive`` clocks only.
    tally
        Where to count what was found.
    """

    def __init__(self, pace: Pace, clock: Clock, tally: Tally) -> None:
        self._pace = pace
        self._clock = clock
        self._tally = tally
        self._last: int | None = None
        self._shift = 0
        self._clock_ran = np.zeros(0, dtype=np.bool_)
        self._switches = clock == "naive" and pace.interval < LONGEST_SWITCH_INTERVAL
        self._far = max(FAR, pace.gap)

    def push(
        self, time: Times, final: bool, after_dropped: NDArray[np.bool_] | None = None
    ) -> Ordered:
        """Decide about as many of the rows as possible.

        Rows that cannot be decided yet must be pushed again, followed by later ones. With `final`
        no later rows exist and all are decided. `after_dropped` marks rows right before which
        others were dropped (none if None).
        """
        time = time + self._shift
        self._clock_ran = np.zeros(len(time), np.bool_) if after_dropped is None else after_dropped
        keep = np.ones(len(time), dtype=np.bool_)
        start = np.zeros(len(time), dtype=np.bool_)
        done = 0
        while done < len(time):
            if self._last is None:
                start[done] = True
                self._last = int(time[done])
            if int(time[done]) - self._last > self._far:
                if done + 1 == len(time) and not final:
                    break
                self._far_ahead(time, keep, start, done)
                done += 1
                continue
            stop = self._first_fall(time, done)
            done = self._forward(time, start, done, stop)
            if done < stop:
                continue  # an hour was taken out there, or a row lies far ahead
            if stop == len(time):
                break
            decided = self._backward(time, keep, start, stop, final)
            if decided is None:
                done = stop
                break
            done = decided
        return Ordered(keep[:done], time[:done], start[:done])

    def _first_fall(self, time: Times, begin: int) -> int:
        """Position of the first row at or after `begin` earlier than the row before, or the end."""
        if time[begin] < (self._last or 0):
            return begin
        piece = 1 << 12
        for low in range(begin, len(time) - 1, piece):
            falls = np.flatnonzero(np.diff(time[low : low + piece + 1]) < 0)
            if len(falls):
                return low + int(falls[0]) + 1
        return len(time)

    def _forward(self, time: Times, start: NDArray[np.bool_], begin: int, stop: int) -> int:
        """Mark gaps in rows `begin` to `stop`, where times do not fall; returns how far it came."""
        if begin == stop:
            return stop
        assert self._last is not None
        before = np.empty(stop - begin, dtype=np.int64)
        before[0] = self._last
        before[1:] = time[begin : stop - 1]
        steps = time[begin:stop] - before
        far = np.flatnonzero(steps > self._far)
        if len(far):
            stop = begin + int(far[0])
            before, steps = before[: stop - begin], steps[: stop - begin]
        gaps = np.flatnonzero(steps > self._pace.gap)
        silent = gaps[~self._clock_ran[begin + gaps]]
        switch = self._first_switch(before, time[begin:stop], silent)
        if switch >= 0:
            gaps = gaps[gaps < switch]
            steps = steps[:switch]
            stop = begin + switch
        if len(gaps):
            start[begin + gaps] = True
            self._gaps(int(time[begin + gaps[0]]), len(gaps))
        self._tally.add(
            "duplicate_times",
            "Rows with the same time as the row before: {count}; they were kept.",
            int(np.count_nonzero((steps == 0) & ~start[begin:stop])),
        )
        if stop > begin:
            self._last = int(time[stop - 1])
        if switch >= 0:
            self._move(time, stop, -HOUR)
        return stop

    def _gaps(self, first: int, count: int) -> None:
        self._tally.add(
            "gaps",
            f"Gaps of more than {self._pace.gap / NANOSECONDS:.6g} s: {{count}}, the first "
            f"before {self._show(first)}; each begins a new stretch.",
            count,
        )

    def _far_ahead(
        self, time: Times, keep: NDArray[np.bool_], start: NDArray[np.bool_], row: int
    ) -> None:
        """Decide about a row far ahead of the last one, by the one after it."""
        assert self._last is not None
        now = int(time[row])
        if row + 1 < len(time) and is_far(self._last, now, int(time[row + 1]), self._far):
            start[row] = True
            self._gaps(now, 1)
            self._last = now
            return
        keep[row] = False
        self._odd(now, 1)

    def _odd(self, first: int, count: int) -> None:
        assert self._last is not None
        self._tally.add(
            "odd_times",
            f"Rows with a time far from all others: {{count}}, the first with "
            f"{self._show(first)} after {self._show(self._last)}; they were dropped.",
            count,
        )

    def _backward(
        self,
        time: Times,
        keep: NDArray[np.bool_],
        start: NDArray[np.bool_],
        row: int,
        final: bool,
    ) -> int | None:
        """Decide about a fall at `row`: late rows, a clock set back, or a new stretch.

        Returns the next row to look at, or None if later rows are needed.
        """
        assert self._last is not None
        ahead = time[row : row + LATE_ROWS + 1]
        if len(ahead) <= LATE_ROWS and not final:
            return None
        resumes = self._resumes(ahead)
        if self._is_switch(self._last, int(time[row]), -HOUR) and not (
            len(resumes) and resumes[0] == 1
        ):
            self._move(time, row, HOUR)
            if time[row] >= self._last:
                return row
            resumes = self._resumes(time[row : row + LATE_ROWS + 1])
        late = int(resumes[0]) if len(resumes) else len(ahead)
        if late <= LATE_ROWS:
            keep[row : row + late] = False
            odd = time[row : row + late]
            odd = odd[odd > self._last]
            self._tally.add(
                "late_rows",
                f"Late rows: {{count}}, the first with time {self._show(int(time[row]))} after "
                f"{self._show(self._last)}; they were dropped.",
                late - len(odd),
            )
            if len(odd):
                self._odd(int(odd[0]), len(odd))
            return row + late
        start[row] = True
        self._tally.add(
            "clock_jumps",
            f"Jumps back in time: {{count}}, the first from {self._show(self._last)} to "
            f"{self._show(int(time[row]))}; each jump begins a new stretch.",
        )
        self._last = int(time[row])
        return row

    def _resumes(self, ahead: Times) -> NDArray[np.intp]:
        """Positions of rows that go on from the last one; one far ahead does not."""
        assert self._last is not None
        return np.flatnonzero((ahead >= self._last) & (ahead - self._last <= self._far))

    def _first_switch(self, before: Times, after: Times, gaps: NDArray[np.intp]) -> int:
        """Position of the first gap that is a clock set forward by an hour; -1 if there is none."""
        off = after[gaps] - before[gaps] - self._pace.interval - HOUR
        for at in gaps[np.abs(off) <= 2 * self._pace.interval].tolist():
            if self._is_switch(int(before[at]), int(after[at]), HOUR):
                return int(at)
        return -1

    def _is_switch(self, before: int, after: int, jump: int) -> bool:
        """Whether the step from `before` to `after` is a daylight-saving change by `jump`."""
        off = after - before - self._pace.interval - jump
        if not self._switches or abs(off) > 2 * self._pace.interval:
            return False
        return any(_is_switch_night(t - self._shift) for t in (before, after))

    def _move(self, time: Times, row: int, by: int) -> None:
        """Undo a change of the clock at `row`: move it and all later rows."""
        self._tally.add(
            "daylight_saving",
            f"Daylight-saving changes: {{count}}, the first at "
            f"{self._show(int(time[row]) - self._shift)}; later times were moved by the hour, so "
            "that there is neither gap nor overlap.",
        )
        self._shift += by
        time[row:] += by

    def _show(self, time: int) -> str:
        return format_time(time, self._clock)


def is_far(last: int, now: int, following: int, far: int) -> bool:
    """Whether the clock jumped to `now`, far ahead of `last`, as the row after it says too."""
    return following - last > far and abs(following - now) <= far


def _is_switch_night(time: int) -> bool:
    """Whether a wall-clock time lies on a Sunday between 0 and 4 h in a month of changes."""
    moment = np.datetime64(time, "ns")
    day = moment.astype("datetime64[D]")
    month = int(moment.astype("datetime64[M]").astype(np.int64)) % 12 + 1
    sunday = (int(day.astype(np.int64)) + 4) % 7 == 0
    hour = int((moment - day).astype(np.int64)) / HOUR
    return sunday and hour <= 4.0 and month in SWITCH_MONTHS
