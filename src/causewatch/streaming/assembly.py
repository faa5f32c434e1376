"""`RowAssembler`: rows from tags that come one by one, each with its own time.

The rule. Rows stand on a grid of the interval, in the time of the plant. The row at ``t`` holds for
each signal its last value at or before ``t``, if that is not older than the signal's staleness
limit; otherwise the signal is missing. A row is given out once the watermark has passed it: the
latest time seen, less the time allowed for late values. A value that comes after its row was given
out is counted and left out, unless it is the newest of its signal: rows to come still need it.

Clocks of plants are not always right. A time further ahead than `ODD` of everything before it moves
nothing until enough others agree with it; then rows begin anew there. See ``docs/connect/rows.md``.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from causewatch.data import format_duration
from causewatch.data.table import NANOSECONDS
from causewatch.data.times import LONGEST
from causewatch.errors import SettingError
from causewatch.streaming.row_grid import RowGrid
from causewatch.streaming.source import Batch, joined, nothing

__all__ = ["RowAssembler"]

Value = tuple[int, float]
"""A time in nanoseconds and a number."""

ODD = 600.0
"""Seconds ahead of all other times from which a time is odd (longer on a grid that is coarse)."""

LONG_PAST = 3600.0
"""Seconds behind from which a late value is odd rather than late."""

MOST_SILENT = 1_000
"""Rows that are made of the last values at most where no value comes; beyond, rows begin anew."""

MOST_WAITING = 1_000_000
"""Values that may wait for late ones, at most: signals times the rows of the time allowed."""

MOST_READY = 4_000_000
"""Numbers in rows that are complete and that nobody has fetched, at most."""

AT_ONCE = 4096
"""Rows given out at once."""

SET_BACK = 300.0
"""Seconds of nothing but late values after which the clock was set back; none if they are odd."""

LONGEST_GRID = 366 * 86_400
EARLIEST, LATEST = -LONGEST // 2, LONGEST
"""What can be a time, 1897 to 2116: differences must fit into 64 bits."""


class RowAssembler:
    """See the module.

    What it gives out depends on the calls of `take` and `alive` and their order alone, not on when
    `rows` is called. Rows that are complete and not fetched are kept up to a limit, so `rows` is to
    be called every few thousand values.

    Parameters
    ----------
    columns
        The signals, in the order of the rows.
    every
        Seconds between two rows.
    stale
        Seconds after which a last value no longer counts, by signal; `default_stale` for others,
        where None means never.
    late
        Seconds that values may come late.
    """

    def __init__(
        self,
        columns: Sequence[str],
        every: float,
        *,
        stale: Mapping[str, float] | None = None,
        default_stale: float | None = None,
        late: float = 0.0,
    ) -> None:
        self._columns = tuple(columns)
        self._numbers = {name: number for number, name in enumerate(self._columns)}
        self._every = _nanoseconds(every, "The time between two rows", least=1)
        self._late = _nanoseconds(late, "The time allowed for late values")
        waiting = len(self._columns) * (self._late // self._every + 2)
        if waiting > MOST_WAITING:
            msg = (
                f"To wait {format_duration(late)} for late values at a row every"
                f" {format_duration(every)} means to keep up to {waiting:,} values; at most"
                f" {MOST_WAITING:,} are possible, so wait less or take fewer rows."
            )
            raise SettingError(msg)
        limits = dict.fromkeys(self._columns, default_stale) | dict(stale or {})
        self._stale = np.array(
            [_staleness(limits[name], name) for name in self._columns], dtype=np.int64
        )
        self._odd = max(int(ODD * NANOSECONDS), 100 * self._every, 2 * self._late)
        self._past = max(int(LONG_PAST * NANOSECONDS), self._odd)
        self._silent = max(1, min(MOST_SILENT, MOST_READY // max(1, len(self._columns))))
        self._problems: Counter[str] = Counter()
        self._clear()

    def _clear(self) -> None:
        self._seen: set[int] = set()  # signals of which a value has come
        self._latest: int | None = None  # the time of the plant, as far as believed
        self._grid = RowGrid(self._every, self._stale)
        self._ready: deque[Batch] = deque()
        self._ready_rows = 0
        self._doubtful: dict[int, Value] = {}  # values far ahead: the newest of each signal
        self._ahead: tuple[int, int] = (0, 0)  # the time they agree on; how many in a row do
        self._behind: tuple[int, int, int] = (0, 0, 0)  # late ones: first, last time; how many

    @property
    def problems(self) -> Mapping[str, int]:
        """What was left out so far.

        ``late_values``, ``unknown_tags``, ``odd_times`` (values and times far from all others),
        ``bad_values`` (no number), ``bad_times`` (beyond what can be a time), ``time_jumps`` (how
        often rows began anew), ``lost_rows`` (complete, but nobody fetched them).
        """
        return dict(+self._problems)

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns of which no value has come so far."""
        return tuple(name for number, name in enumerate(self._columns) if number not in self._seen)

    def take(self, signal: str, value: float, time: int) -> None:
        """One value, at a time in nanoseconds; NaN if its quality is bad."""
        number = self._numbers.get(signal)
        if number is None:
            self._problems["unknown_tags"] += 1
            return
        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            value = math.inf
        if math.isinf(value):  # the signal has no value now; what it had before is over
            self._problems["bad_values"] += 1
            value = math.nan
        if not _is_time(time):
            self._problems["bad_times"] += 1
            return
        self._seen.add(number)
        latest = self._latest
        if self._grid.next is None or latest is None:
            self._latest = time if latest is None else max(latest, time)
            self._grid.next = self._grid.row_of(self._latest)
        elif time - latest > self._odd:
            self._doubt(number, value, time)
            return
        elif time > latest:
            self._advance(time)
        if number in self._doubtful:
            del self._doubtful[number]
            self._problems["odd_times"] += 1
            self._ahead = (0, 0)
        self._place(number, value, time)

    def alive(self, time: int) -> None:
        """The plant's time has come to `time`, though no value may have changed.

        Before the first value it says where rows may begin, so that values which last changed long
        ago are not taken for the present.
        """
        if not _is_time(time):
            self._problems["bad_times"] += 1
        elif self._grid.next is None or self._latest is None:
            self._latest = time
        elif time - self._latest > self._odd:
            self._problems["odd_times"] += 1
            self._agree(time)
        elif time > self._latest:
            self._advance(time)

    def finish(self) -> None:
        """Nothing more will come: what waits for late values is complete."""
        if self._latest is not None and self._grid.next is not None:
            self._give(self._grid.row_of(self._latest))

    def rows(self) -> Batch:
        """The rows that are complete, oldest first; at most a few thousand at once."""
        if not self._ready:
            return nothing(len(self._columns))
        taken: list[Batch] = []
        room = AT_ONCE
        while self._ready and room:
            block = self._ready.popleft()
            if len(block) > room:
                self._ready.appendleft(Batch(block.values[room:], block.times[room:]))
                block = Batch(block.values[:room], block.times[:room])
            taken.append(block)
            room -= len(block)
        self._ready_rows -= AT_ONCE - room
        return joined(taken)

    def _place(self, number: int, value: float, time: int) -> None:
        """Put a value where rows to come will find it."""
        if not self._grid.put(number, value, time):
            self._leave_out(number, value, time)
        elif self._behind[2]:
            self._behind = (0, 0, 0)

    def _advance(self, time: int) -> None:
        """The plant's time goes on to `time`: give out the rows that the watermark has passed."""
        assert self._latest is not None
        if self._ahead[1]:
            self._ahead = (0, 0)
        if time - self._latest > self._silent * self._every:
            self._begin(time)
            return
        self._latest = time
        self._give(self._grid.row_of(time - self._late) - 1)

    def _give(self, last: int) -> None:
        """Make all rows up to number `last`."""
        for block in self._grid.make(last):
            self._hand_out(block)

    def _hand_out(self, block: Batch) -> None:
        room = MOST_READY // max(1, len(self._columns)) - self._ready_rows
        if len(block) > room:
            self._problems["lost_rows"] += len(block) - room
            block = Batch(block.values[:room], block.times[:room])
        if len(block):
            self._ready.append(block)
            self._ready_rows += len(block)

    def _begin(self, time: int) -> None:
        """Rows go on at `time`, earlier or much later than the last one."""
        assert self._latest is not None
        self._problems["time_jumps"] += 1
        self._give(self._grid.row_of(self._latest))
        self._latest = time
        self._grid.next = self._grid.row_of(time)
        self._ahead, self._behind = (0, 0), (0, 0, 0)

    def _doubt(self, number: int, value: float, time: int) -> None:
        """A value far ahead of all others: keep it until it is clear what to believe."""
        if number in self._doubtful:
            self._problems["odd_times"] += 1
        self._doubtful[number] = (time, value)
        self._agree(time)

    def _agree(self, time: int) -> None:
        """Believe the time far ahead if most signals say so, or nothing else comes any more."""
        rival, count = self._ahead
        count = count + 1 if count and abs(time - rival) <= self._odd else 1
        self._ahead = (time, count)
        if count < max(10, 2 * len(self._columns)):
            if count < 3 or 2 * len(self._doubtful) <= len(self._seen):
                return
            near = [one for one, _ in self._doubtful.values() if abs(one - time) <= self._odd]
            if 2 * len(near) <= len(self._seen):
                return
        kept = sorted((when, number, v) for number, (when, v) in self._doubtful.items())
        self._begin(max([time, *(one for one, _, _ in kept if abs(one - time) <= self._odd)]))
        self._doubtful = {}
        assert self._latest is not None
        for when, number, value in kept:
            if when - self._latest > self._odd:
                self._doubtful[number] = (when, value)
            else:
                self._place(number, value, when)

    def _leave_out(self, number: int, value: float, time: int) -> None:
        """A value older than one that its signal had before; if all are, the clock was set back."""
        assert self._latest is not None
        far = self._latest - time > self._past
        self._problems["odd_times" if far else "late_values"] += 1
        first, last, count = self._behind
        if not count or abs(time - last) > self._past:
            first, count = time, 0
        self._behind = (first, time, count + 1)
        # A sender that repeats itself looks the same for a while, but not for minutes.
        enough = far or time - first > SET_BACK * NANOSECONDS
        if enough and count + 1 >= max(10, 4 * len(self._columns)):
            self._begin(time)
            self._problems["odd_times"] += len(self._doubtful)
            self._doubtful = {}
            self._grid.set_back(time)
            self._place(number, value, time)

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on, as plain JSON; the counts of problems are not."""
        row = self._grid.next
        last = {self._columns[n]: self._grid.last(n) for n in sorted(self._seen)}
        return {
            "latest": self._latest,
            "next": None if row is None else row * self._every,
            "last": {name: [time, _plain(value)] for name, (time, value) in last.items()},
            "waiting": [[self._columns[n], t, _plain(v)] for n, t, v in self._grid.waiting()],
            "doubtful": [[self._columns[n], t, _plain(v)] for n, (t, v) in self._doubtful.items()],
            "ahead": list(self._ahead),
            "behind": list(self._behind),
            "ready": [
                [time, [_plain(value) for value in row]]
                for block in self._ready
                for time, row in zip(block.times.tolist(), block.values.tolist(), strict=True)
            ],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; from the beginning if it is empty."""
        self._clear()
        if not state:
            return
        self._latest = state["latest"]
        self._grid.next = None if state["next"] is None else self._grid.row_of(state["next"])
        for name, (time, value) in state["last"].items():
            if name in self._numbers:
                number = self._numbers[name]
                self._seen.add(number)
                self._grid.set_last(number, time, _number(value))
        for name, time, value in state["waiting"]:
            if name in self._numbers:
                self._place(self._numbers[name], _number(value), time)
        for name, time, value in state["doubtful"]:
            if name in self._numbers:
                self._doubtful[self._numbers[name]] = (time, _number(value))
        self._ahead = tuple(state["ahead"])
        self._behind = tuple(state["behind"])
        for time, row in state["ready"]:
            values = np.array([[_number(value) for value in row]], dtype=np.float64)
            if values.shape[1] == len(self._columns):
                self._hand_out(Batch(values, np.array([time], dtype=np.int64)))


def _is_time(time: int) -> bool:
    return EARLIEST < time < LATEST


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _nanoseconds(seconds: float, what: str, least: int = 0) -> int:
    found = round(seconds * NANOSECONDS) if 0 <= seconds <= LONGEST_GRID else -1
    if found < least:
        msg = f"{what} is {seconds} s; it must be a positive number of seconds, at most a year."
        raise SettingError(msg)
    return found


def _staleness(seconds: float | None, name: str) -> int:
    if seconds is None or seconds >= LONGEST / NANOSECONDS:
        return (1 << 63) - 1
    if not seconds >= 0:
        msg = f"The staleness limit of {name} is {seconds} s; it must not be negative."
        raise SettingError(msg)
    return round(seconds * NANOSECONDS)
