"""Durations and spans of time as people write them."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise

import polars as pl

from causewatch.data.table import NANOSECONDS, Clock
from causewatch.data.times import ClockTimes, TextTimes, detect_format
from causewatch.data.writing import Order
from causewatch.errors import SettingError, shorten

__all__ = [
    "Span",
    "format_duration",
    "format_tick",
    "lasting",
    "parse_duration",
    "parse_ends",
    "parse_span",
]

_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "sec": 1.0, "second": 1.0,
    "seconds": 1.0, "min": 60.0, "m": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0,
    "hour": 3600.0, "hours": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0,
    "w": 604800.0, "week": 604800.0, "weeks": 604800.0,
}  # fmt: skip
_DURATION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)\s*", re.IGNORECASE)
_ROW = re.compile(r"row\s*(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*s?", re.IGNORECASE)

CLOSE = 1e-6
"""Durations whose ratio is this close to 1 are the same: intervals are measured."""

Bound = datetime | float | int | None


def parse_duration(text: str) -> float:
    """Seconds of a duration such as ``10s``, ``500ms``, ``2min``, ``1h``, ``1d`` or ``90``.

    >>> parse_duration("2min")
    120.0
    """
    found = _DURATION.fullmatch(text)
    unit = found[2].lower() if found else ""
    seconds = float(found[1]) * _SECONDS.get(unit, math.nan) if found else math.nan
    if not (0 < seconds < math.inf):
        message = (
            f"{shorten(text)!r} is not a duration; write a positive number and a unit, such as "
            "'500ms', '10s', '2min', '1h' or '1d'."
        )
        raise SettingError(message)
    return seconds


def lasting(seconds: float, clock: Clock | None = None) -> str:
    """How long something took, in its two largest units; rows where `clock` counts these.

    >>> lasting(725), lasting(50), lasting(7260), lasting(725, "rows")
    ('12 min 5 s', '50 s', '2 h 1 min', '725 rows')
    """
    if clock == "rows":
        return _rows(seconds)
    for size, unit, less, part in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= size:
            whole, rest = divmod(round(seconds / less), size // less)
            return f"{whole} {unit} {rest} {part}" if rest else f"{whole} {unit}"
    return format_duration(seconds)


def format_duration(seconds: float, clock: Clock | None = None) -> str:
    """A duration for people, in the largest unit that keeps it short, else in two units.

    Where `clock` counts rows, which have no times, it is so many of them.

    >>> format_duration(180)
    '3 min'
    >>> format_duration(0.01)
    '10 ms'
    >>> format_duration(50_000)
    '13 h 53 min'
    >>> format_duration(5522), format_duration(600_000)
    ('1 h 32 min', '6 d 23 h')
    >>> format_duration(1, "rows"), format_duration(5522, "rows")
    ('1 row', '5,522 rows')
    """
    if clock == "rows":
        return _rows(seconds)
    if seconds < 0:
        return "-" + format_duration(-seconds)
    seconds = float(f"{seconds:.8g}")  # three times a third of a second is a second
    if seconds >= 1000 and not any(
        seconds < 1000 * size and float(f"{seconds / size:.3g}") * size == seconds
        for size in (86400.0, 3600.0, 60.0)
    ):
        return _in_two_units(seconds)
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        amount = seconds / size
        if amount >= 1 and (unit in ("s", "ms") or float(f"{amount:.3g}") * size == seconds):
            return f"{float(f'{amount:.3g}'):g} {unit}"
    return f"{seconds / 1e-6:.3g} µs" if seconds else "0 s"


def format_tick(every: float, interval: float, clock: Clock | None = None) -> str:
    """The length of a tick for people; in rows where `clock` counts these.

    Where neither the tick nor the interval of its rows is a round number, it is a number of rows.

    Parameters
    ----------
    every
        Length of the tick in seconds.
    interval
        Usual time between two rows, in seconds.

    Examples
    --------
    >>> format_tick(10.0, 0.5), format_tick(9.972, 0.4986), format_tick(10.0, 0.4986)
    ('10 s', '20 rows of 499 ms', '10 s')
    """
    if clock == "rows":
        return _rows(every)
    rows = round(every / interval)
    odd = not (_is_round(every) or _is_round(interval))
    if odd and rows > 1 and abs(every - rows * interval) <= CLOSE * every:
        return f"{rows:,} rows of {format_duration(interval)}"
    return format_duration(every)


def _rows(count: float) -> str:
    """So many rows; each counts as a second."""
    return f"{count:,.6g} row" if count == 1 else f"{float(f'{count:.6g}'):,.10g} rows"


def _is_round(seconds: float) -> bool:
    """Whether a duration has at most two digits that are not zero, in one of the usual units."""
    return any(
        abs(float(f"{seconds / size:.2g}") * size - seconds) <= CLOSE * seconds
        for size in (1.0, 60.0, 3600.0, 86_400.0)
    )


def _in_two_units(seconds: float) -> str:
    """A long duration that is not a round number of anything, to the nearest second unit."""
    for (unit, size), (part, fine) in pairwise(
        (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)),
    ):
        if seconds >= size:
            whole, rest = divmod(round(seconds / fine) * fine, size)
            return f"{whole} {unit} {rest // fine} {part}" if rest else f"{whole} {unit}"
    return f"{seconds:.0f} s"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open span of time: `start` belongs to it, `end` does not; None is open.

    Bounds are times, seconds (`float`, for elapsed times) or row numbers (`int`).
    """

    text: str
    start: Bound
    end: Bound

    def bounds(self, clock: Clock) -> tuple[int, int]:
        """Both ends in the unit of `TimeTable.time`."""
        lowest, highest = -(1 << 63), (1 << 63) - 1
        return (
            lowest if self.start is None else self._convert(self.start, clock),
            highest if self.end is None else self._convert(self.end, clock),
        )

    def _convert(self, bound: datetime | float | int, clock: Clock) -> int:
        if isinstance(bound, datetime):
            if clock in ("naive", "utc") and not (bound.tzinfo and clock == "naive"):
                moment = bound if bound.tzinfo else bound.replace(tzinfo=UTC)
                since = moment - datetime(1970, 1, 1, tzinfo=UTC)
                return since // timedelta(microseconds=1) * 1000
        elif isinstance(bound, int):
            if clock == "rows":
                return bound * NANOSECONDS
        elif clock in ("elapsed", "rows"):
            return round(bound * NANOSECONDS)
        expected = {
            "naive": "times without a zone, such as 2015-12-28T10:00:00",
            "utc": "times, such as 2015-12-28T10:00:00Z",
            "elapsed": "seconds, such as 0..90",
            "rows": "row numbers, such as 'row 0..row 500'",
        }[clock]
        message = f"The span {shorten(self.text)!r} does not fit this table; write {expected}."
        raise SettingError(message)


def parse_span(text: str) -> Span:
    """A span ``FROM..TO``: ISO 8601 times, seconds, or ``row N..row M``; either end may be open.

    The end does not belong to the span.

    >>> parse_span("2015-12-22..2015-12-23").start
    datetime.datetime(2015, 12, 22, 0, 0)
    """
    parts = text.split("..")
    if len(parts) != 2 or not (parts[0].strip() or parts[1].strip()):
        message = (
            f"{shorten(text)!r} is not a span; write FROM..TO, such as "
            "'2015-12-22T16:00..2015-12-22T20:00', '0..90' or 'row 0..row 500'."
        )
        raise SettingError(message)
    start, end = (_parse_bound(part.strip(), text) for part in parts)
    return _checked(Span(text, start, end))


def parse_ends(
    begin: str | None, end: str | None, options: tuple[str, str], order: Order | None = None
) -> Span:
    """A span whose ends were given by themselves, with the two `options`; None is open.

    Beside what `parse_span` reads, an end may be a date as it stands in recordings, and the second
    one a time of day, on the day of the first. `order` says what comes first in dates that do not
    tell day and month apart.

    >>> parse_ends("17.11.2026 07:09", "07:20", ("--from", "--to")).end
    datetime.datetime(2026, 11, 17, 7, 20)
    """
    given = [(name, said) for name, said in zip(options, (begin, end), strict=True) if said]
    text = " ".join(f"{name} {said}" for name, said in given)
    found: dict[str, Bound] = dict.fromkeys(options)
    for name, said in given:
        found[name] = _parse_end(said.strip(), name, found[options[0]], order)
    return _checked(Span(text, *found.values()))


def _parse_end(text: str, option: str, first: Bound, order: Order | None) -> Bound:
    """One end; `first` is the one before it, whose day a time of day belongs to."""
    with suppress(SettingError):
        return _parse_bound(text, text)
    cell = pl.Series([text])
    form, guessed = detect_format(cell, "", ".")
    guessed = guessed and "." not in text.split()[0]  # dots stand between day, month and year
    if guessed and order is not None and isinstance(form, TextTimes):
        form, guessed = replace(form, layout=order), False
    day = None
    if isinstance(form, ClockTimes) and isinstance(first, datetime):
        day = datetime.combine(first, time(tzinfo=first.tzinfo))
    elif isinstance(form, TextTimes) and not guessed:
        day = datetime(1970, 1, 1, tzinfo=UTC if form.zoned else None)
    if form is not None and day is not None and (read := form.parse(cell)).ok[0]:
        return day + timedelta(microseconds=int(read.ns[0]) // 1000)
    why = "could be one of two days" if guessed else "is not a time"
    why = "does not say on which day" if isinstance(form, ClockTimes) else why
    message = (
        f"{option} is {shorten(text)!r}, which {why}; write ISO 8601 such as 2015-12-28T10:00:00, "
        "seconds, or 'row 500'."
    )
    raise SettingError(message)


def _checked(span: Span) -> Span:
    """`span`, if its ends fit together."""
    start, end, text = span.start, span.end, span.text
    if start is not None and end is not None:
        kinds = {_kind(start), _kind(end)}
        if len(kinds) > 1:
            message = f"The two ends of the span {shorten(text)!r} are not of the same kind."
            raise SettingError(message)
        clock = kinds.pop()
        low, high = span.bounds(clock)
        if low >= high:
            message = f"The end of the span {shorten(text)!r} is not after its start."
            raise SettingError(message)
    return span


def _parse_bound(text: str, span: str) -> Bound:
    if not text:
        return None
    if row := _ROW.fullmatch(text):
        return int(row[1])
    if number := _NUMBER.fullmatch(text):
        return float(number[1])
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        message = (
            f"{shorten(text)!r} in the span {shorten(span)!r} is not a time; write ISO 8601 such "
            "as 2015-12-28T10:00:00, seconds, or 'row 500'."
        )
        raise SettingError(message) from None


def _kind(bound: datetime | float | int) -> Clock:
    """The clock a bound is written for."""
    if isinstance(bound, datetime):
        return "utc" if bound.tzinfo else "naive"
    return "rows" if isinstance(bound, int) else "elapsed"
