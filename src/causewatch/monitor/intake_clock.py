"""Times of live rows: what they count, in nanoseconds."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, datetime
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from causewatch.data.order import LATE_ROWS
from causewatch.data.table import NANOSECONDS, Clock
from causewatch.data.times import LONGEST
from causewatch.errors import shorten
from causewatch.monitor.intake_problems import Problems
from causewatch.monitor.stateful import Stateful

__all__ = ["StreamClock"]

EPOCH = datetime(1970, 1, 1)
EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_UNITS = (1, 1_000, 1_000_000, NANOSECONDS)
DATED: tuple[Clock, ...] = ("naive", "utc")


class Read(NamedTuple):
    """A time that was read: what it counts, in nanoseconds, and the unit of a plain number."""

    clock: Clock
    ns: int
    unit: int | None = None


class StreamClock(Stateful):
    """Reads the times of rows in nanoseconds.

    The first time of the stream settles what its times count; the model's clock matters only
    where it counts rows, and is shown until then.

    Parameters
    ----------
    clock
        What the times of the normal recording count.
    interval
        Usual time between two of its rows, in nanoseconds.
    problems
        Where to count what is wrong.
    """

    STATE = ("clock", "_settled", "_unit", "_bad", "_dates_seen", "_zones_seen")

    def __init__(self, clock: Clock, interval: int, problems: Problems) -> None:
        self._counts_rows = clock == "rows"
        self._interval = interval
        self._problems = problems
        self.clock: Clock = clock
        self._settled = self._counts_rows  # whether a time has said what times count
        self._unit: int | None = None  # of plain numbers in ns, once one has come
        self._bad = 0  # rows without a readable time in a row
        self._dates_seen = self._zones_seen = False  # whether that was noted already

    def read(self, time: Any, last: int | None) -> tuple[int, bool] | None:
        """The time of a row, and whether a stretch must begin there; None: the row is dropped.

        `last` is the time of the row before.
        """
        if time is None and not self._settled:
            self.clock = "elapsed"
            return self._next(last), False
        read = self._understood(time)
        if self._counts_rows:
            return self._counted(read, last), False
        if read is None:
            return self._without_time(time, last)
        clock, ns = read
        self._bad = 0
        if not self._settled:
            self._settled, self.clock = True, clock
            return ns, last is not None
        if clock != self.clock and not self._zones_seen:
            self._zones_seen = True
            text = (
                "Times with and without a zone are mixed in the stream; those without are taken"
                " as UTC."
            )
            self._problems.add("mixed_zones", text)
        return ns, False

    def settle(self, clock: Clock) -> None:
        """Say what the times of the stream count, where that is known beforehand."""
        if not self._counts_rows:
            self._settled, self.clock = True, clock

    def _next(self, last: int | None) -> int:
        return 0 if last is None else last + self._interval

    def _counted(self, read: tuple[Clock, int] | None, last: int | None) -> int:
        """The time of a row where rows are counted: a plain number, or one interval more."""
        if read is not None and read[0] == "rows":
            return read[1]
        if read is not None and not self._dates_seen:
            self._dates_seen = True
            text = (
                "The model was learnt from rows without times; the times of the stream are not"
                " used, rows count one interval each."
            )
            self._problems.add("times_not_used", text)
        return self._next(last)

    def _without_time(self, time: Any, last: int | None) -> tuple[int, bool] | None:
        """A row whose time cannot be read: dropped, unless there are too many of them."""
        self._bad += 1
        if self._bad <= LATE_ROWS:
            text = (
                "Rows whose time is missing or cannot be read: {count}, the first with"
                f" {shorten(repr(time))}; they were dropped."
            )
            self._problems.add("bad_times", text)
            return None
        text = (
            f"More than {LATE_ROWS} rows in a row came without a readable time, the last with"
            f" {shorten(repr(time))}; rows now count one interval each."
        )
        if not self._settled:
            self.clock = "elapsed"
        first = self._bad == LATE_ROWS + 1
        if first:
            self._problems.note("lost_time", text)
        self._problems.count("lost_time")
        return self._next(last), first and last is not None

    def _understood(self, time: Any) -> tuple[Clock, int] | None:
        """What a time counts, and the time; None if it is none, or of another sort than before."""
        time = _from_text(time) if isinstance(time, str) else time
        read: Read | None = None
        if isinstance(time, np.datetime64):
            read = _from_numpy(time)
        elif isinstance(time, datetime):
            read = _from_datetime(time)
        elif isinstance(time, Real) and not isinstance(time, (bool, np.bool_)):
            read = self._from_number(time)
        if read is None or abs(read.ns) >= LONGEST:
            return None
        other_sort = (read.clock in DATED) != (self.clock in DATED)
        if self._settled and not self._counts_rows and other_sort:
            return None
        if self._unit is None:
            self._unit = read.unit
        return read.clock, read.ns

    def _from_number(self, time: Any) -> Read | None:
        """A plain number: seconds, or some unit since 1970 if as large as that."""
        try:
            size = abs(float(time))
        except OverflowError:
            return None
        clock, unit = self.clock, self._unit
        if self._counts_rows:
            clock, unit = "rows", NANOSECONDS
        elif unit is None:
            # As in `causewatch.data.times`: numbers of this size count from 1970.
            fits = [per for per in EPOCH_UNITS if 5e8 * per <= size <= 5e9 * per]
            clock, unit = ("utc", NANOSECONDS // fits[0]) if fits else ("elapsed", NANOSECONDS)
        elif clock == "naive":
            clock = "utc"
        if not size * unit < LONGEST:  # also where it is NaN
            return None
        whole = math.floor(time)
        fraction = round(float(time - whole) * unit)
        if clock == "utc" and unit == NANOSECONDS:
            fraction = (fraction + 500) // 1_000 * 1_000  # all that a float holds of seconds
        return Read(clock, int(whole) * unit + fraction, unit)


def _from_text(text: str) -> datetime | float | None:
    for read in (float, datetime.fromisoformat):
        with suppress(ValueError):
            return read(text.strip())
    return None


def _from_numpy(time: np.datetime64) -> Read | None:
    micro = time.astype("datetime64[us]").astype(np.int64)
    if np.isnat(time) or abs(int(micro)) >= LONGEST // 1_000:  # years overflow nanoseconds
        return None
    return Read("naive", int(time.astype("datetime64[ns]").astype(np.int64)))


def _from_datetime(time: datetime) -> Read | None:
    if time != time:  # pandas' "not a time" calls itself a datetime
        return None
    zoned = time.tzinfo is not None and time.utcoffset() is not None
    gone = time - EPOCH_UTC if zoned else time.replace(tzinfo=None) - EPOCH
    ns = (gone.days * 86_400 + gone.seconds) * NANOSECONDS + gone.microseconds * 1_000
    if type(time) is not datetime:
        ns += int(getattr(time, "nanosecond", 0))  # of pandas' times
    return Read("utc" if zoned else "naive", ns)
