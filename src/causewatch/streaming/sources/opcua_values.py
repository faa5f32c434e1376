"""What an OPC UA server says about a value: how good it is, and when it was so.

``Good`` is a value, ``Uncertain`` too but counted, ``Bad`` is missing and counted. The overflow bit
says that the server's queue was too short and values before this one are gone.

The time of a value is its source timestamp, unless an option says otherwise. Which time it is in
the plant while nothing changes is told by `PlantClock`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from causewatch.streaming.tags import Tag

__all__ = [
    "Began",
    "Ended",
    "Message",
    "Pace",
    "PlantClock",
    "Value",
    "in_company",
    "nanoseconds",
    "read_value",
]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAIVE_EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
NO_TIME = datetime(1602, 1, 1)
"""A time before this is OPC UA's way of saying that there is none."""

SEVERITY = 0xC0000000
UNCERTAIN = 0x40000000
INFO_TYPE, DATA_VALUE, OVERFLOW = 0xC00, 0x400, 0x80
"""Bits of a status code; the overflow bit only counts where the info type is that of values."""

COMPANY = 60_000_000_000
"""Signals this many nanoseconds further behind than the least are not waited for."""

FALL = 20
"""A lag falls by one part in so many towards that of a new value."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a signal.

    Attributes
    ----------
    signal
        Which.
    value
        In the unit of the model; NaN if missing.
    time, server
        When it was so, by its source and by the server, in nanoseconds since 1970.
    timed
        Whether its source said when; `time` is the server's otherwise.
    first
        Whether the server sent it because a subscription began, not because it changed.
    """

    signal: str
    value: float
    time: int
    server: int
    timed: bool
    first: bool


@dataclass(frozen=True, slots=True)
class Began:
    """A subscription was made: what comes next are the values as they stand."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A connection was lost: no more values of before will come."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a server published at once.

    Attributes
    ----------
    values
        In the order of their times.
    time
        The server's time when it published this; None if it said none.
    more
        Whether the server had more to say than fits one message.
    counts
        What was wrong, by kind.
    """

    values: list[Value] = field(default_factory=list)
    time: int | None = None
    more: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often what happens, and which times are believed.

    Attributes
    ----------
    publishing, sampling, keep_alive, timeout
        In seconds; see the options of the source.
    queue
        Values of one variable that wait at the server.
    ahead
        Nanoseconds by which a source's clock may be ahead of the server's. Beyond that the server's
        timestamp is used and ``bad_times`` counted: one clock that is wrong by an hour would
        otherwise make the values of all others an hour late.
    by_source
        Whether the times of values are those of their sources, not the server's.
    """

    publishing: float
    sampling: float
    keep_alive: float
    timeout: float
    queue: int
    ahead: int
    by_source: bool


class PlantClock:
    """Which time it is in the plant, told by the server's clock.

    Parameters
    ----------
    before
        The lag known from an earlier run, in nanoseconds.

    Notes
    -----
    Sources have clocks of their own, and their values take some time to the server. So for each
    signal we keep how far the source timestamps of changed values are behind the server's: this lag
    rises at once and falls slowly. The plant's time is the server's less the largest lag, leaving
    out signals that are a minute or more further behind than the best, whose clocks must be wrong.
    Nothing that comes later should then be older. The clock of this computer plays no part.
    """

    def __init__(self, before: int | None = None) -> None:
        self._before = before
        self._lags: dict[str, int] = {}

    def saw(self, value: Value) -> None:
        """A value has changed."""
        lag = value.server - value.time
        old = self._lags.get(value.signal)
        if old is not None and lag < old:
            lag = old - (old - lag) // FALL
        self._lags[value.signal] = lag

    @property
    def lag(self) -> int | None:
        """How far the plant is behind the server, in nanoseconds; None if nothing changed yet."""
        if not self._lags:
            return self._before
        least = min(self._lags.values())
        return max(lag for lag in self._lags.values() if lag <= least + COMPANY)

    def at(self, server: int | None) -> int | None:
        """The plant's time when the server's is `server`; None if it cannot be told."""
        lag = self.lag
        return None if server is None or lag is None else server - lag


def in_company(values: Sequence[Value]) -> list[int]:
    """The times of these values, but for those whose clocks must be wrong: see `PlantClock`."""
    lags = [value.server - value.time for value in values]
    most = min(lags, default=0) + COMPANY
    return [value.time for value, lag in zip(values, lags, strict=True) if lag <= most]


def nanoseconds(moment: Any) -> int | None:
    """A time of OPC UA in nanoseconds since 1970; None if there is none."""
    if not isinstance(moment, datetime):
        return None
    if moment.tzinfo is None:
        return None if moment < NO_TIME else (moment - NAIVE_EPOCH) // MICROSECOND * 1000
    if moment.replace(tzinfo=None) < NO_TIME:
        return None
    return (moment - EPOCH) // MICROSECOND * 1000


def read_value(
    tag: Tag, told: Any, published: int, first: bool, pace: Pace, counts: Counter[str]
) -> Value:
    """One value as the server told it.

    Parameters
    ----------
    tag
        Which tag it is of.
    told
        A ``DataValue`` of asyncua.
    published
        When the server published it.
    first
        Whether it is there because the subscription began.
    pace
        Which times are believed.
    counts
        What is wrong is added here, by kind.
    """
    code = 0 if told.StatusCode is None else int(told.StatusCode.value)
    severity = code & SEVERITY
    if code & INFO_TYPE == DATA_VALUE and code & OVERFLOW:
        counts["overflow"] += 1
    value = math.nan
    if severity not in (0, UNCERTAIN):
        counts["bad_status"] += 1
    else:
        if severity == UNCERTAIN:
            counts["uncertain"] += 1
        found = None if told.Value is None else told.Value.Value
        # Booleans are whole numbers to Python, and values of enumerations come as such.
        value = tag.convert(float(found)) if isinstance(found, int | float) else math.nan
        if not math.isfinite(value):
            value = math.nan
            counts["bad_values"] += 1
    server = nanoseconds(told.ServerTimestamp)
    server = published if server is None else server
    if pace.by_source:
        time = nanoseconds(told.SourceTimestamp)
        if time is not None and time <= server + pace.ahead:
            return Value(tag.signal, value, time, server, True, first)
        if time is not None:
            counts["bad_times"] += 1
        elif severity in (0, UNCERTAIN):
            counts["no_source_time"] += 1
    return Value(tag.signal, value, server, server, False, first)
