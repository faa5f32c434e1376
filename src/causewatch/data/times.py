"""From cells to times: the ways of writing a time, and which one a column uses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.data.cells import read_numbers
from causewatch.data.table import NANOSECONDS, Clock
from causewatch.errors import SettingError

__all__ = [
    "DAY",
    "EXCEL",
    "ClockTimes",
    "CustomTimes",
    "NumberTimes",
    "SerialDays",
    "TextTimes",
    "TimeFormat",
    "Times",
    "TypedTimes",
    "clock_format",
    "detect_format",
    "given_format",
    "in_format",
    "looks_like_days",
    "without_unit",
]

Layout = Literal["year first", "day first", "month first", "month name", "compact"]

DAY = 86_400 * NANOSECONDS
LONGEST = 1 << 62
"""Times further than this many nanoseconds (146 years) from 0 are not believed."""

FIRST_YEAR, LAST_YEAR = 1830, 2110

_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d+))?)?)?\s*([AaPp])?\.?(?:[Mm]\.?)?"
_TAIL = rf"(?:(?:[Tt]|\s+){_CLOCK})?\s*(Z|z|UTC|GMT|[+-]\d{{2}}(?::?\d{{2}})?)?$"
_PATTERNS: dict[Layout, str] = {
    "year first": r"^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})" + _TAIL,
    "day first": r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})" + _TAIL,
    "month first": r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})" + _TAIL,
    "month name": r"^(\d{1,2})[-/. ]([A-Za-z]{3})[a-z]*\.?[-/., ]+(\d{4}|\d{2})" + _TAIL,
    "compact": r"^(\d{4})(\d{2})(\d{2})[Tt]?(\d{2})(\d{2})(\d{2})(?:[.,](\d+))?()"
    r"(Z|z|[+-]\d{2}:?\d{2})?$",
}
_DATE_PARTS: dict[Layout, tuple[int, int, int]] = {
    "year first": (1, 2, 3),
    "day first": (3, 2, 1),
    "month first": (3, 1, 2),
    "month name": (3, 2, 1),
    "compact": (1, 2, 3),
}
_MONTHS = {
    name: number
    for number, names in enumerate(
        ["jan", "feb", "mar|mär", "apr", "may|mai", "jun", "jul", "aug", "sep", "oct|okt", "nov",
         "dec|dez"],
        start=1,
    )
    for name in names.split("|")
}  # fmt: skip

EXCEL = "excel"
"""What is given as time format for days as spreadsheets count them."""
_FIRST_SERIAL, _1970, _LAST_SERIAL = 32_874.0, 25_569.0, 73_051.0
"""Such days: 1990, 1970, 2100."""
_NEAR = 0.05
"""Seconds by which a day with six decimals may miss a whole second."""

_EPOCH_UNITS = (1, 1_000, 1_000_000, NANOSECONDS)
_UNITS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "msec": 1_000_000, "millis": 1_000_000,
    "milliseconds": 1_000_000, "s": NANOSECONDS, "sec": NANOSECONDS, "seconds": NANOSECONDS,
    "min": 60 * NANOSECONDS, "minutes": 60 * NANOSECONDS, "h": 3600 * NANOSECONDS,
    "hours": 3600 * NANOSECONDS, "d": DAY, "days": DAY,
}  # fmt: skip
_UNIT_IN_NAME = re.compile(r"(?:^|[\s_\[(./-])(" + "|".join(_UNITS) + r")[\])]?\s*$", re.IGNORECASE)


def without_unit(name: str) -> str:
    """The name of a column without the unit of time in brackets at its end.

    >>> without_unit("t [min]"), without_unit("time (h)"), without_unit("T_s")
    ('t', 'time', 'T_s')
    """
    return _UNIT_IN_NAME.sub("", name).rstrip() if name.rstrip().endswith(("]", ")")) else name


@dataclass(frozen=True, slots=True)
class Times:
    """Times of a column in nanoseconds; `ok` is False where a cell is no time."""

    ns: NDArray[np.int64]
    ok: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """Which part of the cells is a time."""
        return float(np.mean(self.ok)) if len(self.ok) else 0.0

    @property
    def path(self) -> float:
        """Sum of all steps, forward and back: the smaller, the steadier."""
        return float(np.abs(np.diff(self.ns[self.ok]).astype(np.float64)).sum())


class TimeFormat(Protocol):
    """One way of writing times."""

    @property
    def clock(self) -> Clock:
        """What the times count."""

    def parse(self, cells: pl.Series) -> Times:
        """Read a column."""


@dataclass(frozen=True, slots=True)
class TextTimes:
    """Dates with or without a time of day, in one of the usual layouts.

    `sign` is what stands between day and month, as far as it is known.
    """

    layout: Layout
    zoned: bool = False
    sign: str | None = None

    @property
    def clock(self) -> Clock:
        """UTC if the cells carry a zone."""
        return "utc" if self.zoned else "naive"

    def parse(self, cells: pl.Series) -> Times:
        """Read a column of text; cells with a zone where none is expected (or the reverse) fail."""
        parts = _groups(cells, _PATTERNS[self.layout])
        year, month, day = (parts[i - 1] for i in _DATE_PARTS[self.layout])
        if self.layout == "month name":
            months = month.str.to_lowercase().replace_strict(
                _MONTHS, default=None, return_dtype=pl.Int64
            )
        else:
            months = _integers(month)
        days, ok = _days(_integers(year), months, _integers(day))
        clock, clock_ok = _time_of_day(parts[3:8])
        zone = parts[8]
        ok &= clock_ok & (zone.is_not_null().to_numpy() == self.zoned)
        ns = days * DAY + clock
        if self.zoned:
            ns -= _offset(zone)
        return Times(np.where(ok, ns, 0), ok)


@dataclass(frozen=True, slots=True)
class ClockTimes:
    """A time of day without a date, counted from midnight."""

    clock: Clock = "elapsed"

    def parse(self, cells: pl.Series) -> Times:
        """Read a column of text such as ``10:00:00``."""
        parts = _groups(cells, rf"^{_CLOCK}$")
        ns, ok = _time_of_day(parts)
        ok &= parts[1].is_not_null().to_numpy()
        return Times(np.where(ok, ns, 0), ok)


@dataclass(frozen=True, slots=True)
class CustomTimes:
    """Times written as a strptime format says."""

    format: str

    @property
    def clock(self) -> Clock:
        """UTC if the format has a zone."""
        return "utc" if "%z" in self.format or "%:z" in self.format else "naive"

    def parse(self, cells: pl.Series) -> Times:
        """Read a column of text."""
        text, form = cells.cast(pl.String).str.strip_chars(), self.format.strip()
        if re.search(r"%[-_]?[HI]", form) and "%M" not in form:
            text, form = text + " 00", form + " %M"  # an hour alone is a full hour
        zone = "UTC" if self.clock == "utc" else None
        try:
            found = text.str.strptime(pl.Datetime("ns", zone), form, strict=False)
        except (pl.exceptions.PolarsError, TypeError) as error:
            message = (
                f"The time format {self.format!r} is not understood "
                f"({str(error).splitlines()[0]}); give a strptime format such as "
                "'%d/%m/%Y %H:%M:%S'."
            )
            raise SettingError(message) from error
        return TypedTimes(self.clock).parse(found)


@dataclass(frozen=True, slots=True)
class NumberTimes:
    """Numbers of some unit since 1970 (``utc``) or since some start (``elapsed``)."""

    unit: int
    clock: Clock
    decimal: str = "."

    def parse(self, cells: pl.Series) -> Times:
        """Read a column of numbers; whole numbers are read exactly."""
        values = read_numbers(cells, self.decimal).values
        ok = np.isfinite(values) & (np.abs(values) * self.unit < LONGEST)
        values = np.where(ok, values, 0.0)
        whole = np.floor(values)
        fraction = np.rint((values - whole) * self.unit).astype(np.int64)
        if self.clock == "utc" and self.unit == NANOSECONDS:
            fraction = (fraction + 500) // 1000 * 1000  # all that a float holds of seconds
        exact = cells.cast(pl.Int64, strict=False)
        whole_ns = whole.astype(np.int64)
        known = exact.is_not_null().to_numpy() & ok
        if known.any():
            integers = exact.fill_null(0).to_numpy()
            whole_ns = np.where(known & (fraction == 0), integers, whole_ns)
        return Times(whole_ns * self.unit + fraction, ok)


@dataclass(frozen=True, slots=True)
class SerialDays:
    """Days since the end of 1899 as spreadsheets count them: 45000.25 is 2023-03-15 06:00."""

    decimal: str = "."
    clock: Clock = "naive"

    def parse(self, cells: pl.Series) -> Times:
        """Read a column of numbers; what is nearly a whole second is one."""
        days = read_numbers(cells, self.decimal).values
        ok = (days >= _FIRST_SERIAL) & (days < _LAST_SERIAL)
        ms = np.rint((np.where(ok, days, _1970) - _1970) * 86_400_000)
        whole = np.rint(ms / 1000) * 1000
        ms = np.where(np.abs(ms - whole) <= 1000 * _NEAR, whole, ms)
        return Times(ms.astype(np.int64) * 1_000_000, ok)


def looks_like_days(values: NDArray[np.float64], name: str) -> bool | None:
    """Whether numbers are days as spreadsheets count them; None if they could be.

    What is a whole second as a day, and no multiple of 5 ms as a second, is a day. A column whose
    name has a unit of time says what it is.
    """
    known = values[np.isfinite(values)]
    if len(known) < 2 or _UNIT_IN_NAME.search(name):
        return False
    if known.min() < _FIRST_SERIAL or known.max() >= _LAST_SERIAL:
        return False
    if np.all(known == np.floor(known)):  # seconds or rows, far more often than days
        return False
    seconds, steps = known * 86_400, known * 200
    is_day = np.mean(np.abs(seconds - np.rint(seconds)) <= _NEAR) > 0.9
    is_second = np.mean(np.abs(steps - np.rint(steps)) <= 1e-3) > 0.9
    return True if is_day and not is_second else None


def in_format(written: str | float, form: str) -> datetime:
    """One time as a user says it is written; raises `ValueError` or `OverflowError` if it is not.

    >>> in_format(45000.25, "excel"), in_format("15.3.2023", "%d.%m.%Y")
    (datetime.datetime(2023, 3, 15, 6, 0), datetime.datetime(2023, 3, 15, 0, 0))
    """
    if form != EXCEL:
        return datetime.strptime(str(written).strip(), form)
    cells = pl.Series([float(written)])
    times = SerialDays().parse(cells)
    if not times.ok[0]:
        msg = "no day of this or the last century"
        raise ValueError(msg)
    return datetime(1970, 1, 1) + timedelta(microseconds=int(times.ns[0]) // 1000)


_CLOCK_PARTS = re.compile(
    r"\d{1,2}(?P<minute>:\d+)?(?P<second>:\d+)?(?P<fraction>[.,]\d+)?(?P<half>\s*[AaPp][Mm])?"
)


def clock_format(cell: str) -> str:
    """The strptime format of a time of day such as `cell`.

    >>> clock_format("3:00"), clock_format("10:00:00,25"), clock_format("03:00:00 PM")
    ('%H:%M', '%H:%M:%S,%2f', '%I:%M:%S %p')
    """
    parts = _CLOCK_PARTS.fullmatch(cell.strip())
    if parts is None:
        return "%H:%M:%S"
    form = "%I" if parts["half"] else "%H"
    form += (":%M" if parts["minute"] else "") + (":%S" if parts["second"] else "")
    if fraction := parts["fraction"]:
        form += "%.f" if fraction[0] == "." else f",%{len(fraction) - 1}f"
    if half := parts["half"]:
        form += half[:-2] + "%p"
    return form


def given_format(text: str, decimal: str) -> TimeFormat:
    """The way of writing times that a user names."""
    return SerialDays(decimal) if text == EXCEL else CustomTimes(text)


@dataclass(frozen=True, slots=True)
class TypedTimes:
    """Columns that already are dates, times or durations."""

    clock: Clock

    def parse(self, cells: pl.Series) -> Times:
        """Read a column of dates, times of day or durations."""
        if cells.dtype == pl.Date:
            cells = cells.cast(pl.Datetime("us"))
        scale = {"ms": 1_000_000, "us": 1_000}.get(getattr(cells.dtype, "time_unit", None) or "", 1)
        whole = cells.to_physical().cast(pl.Int64)
        ok = (whole.abs() < LONGEST // scale).fill_null(False).to_numpy()
        ns = np.where(ok, whole.fill_null(0).to_numpy(), 0) * scale
        return Times(ns, ok)


def detect_format(cells: pl.Series, name: str, decimal: str) -> tuple[TimeFormat | None, bool]:
    """Which way of writing times a column uses, judged by its first cells.

    Parameters
    ----------
    cells
        The first cells of the column.
    name
        Its name, which may hold the unit of elapsed times (``time_ms``).
    decimal
        The decimal mark of numbers in text.

    Returns
    -------
    format, guessed
        None if most cells are no times; `guessed` if nothing told day and month apart.
    """
    dtype = cells.dtype
    if isinstance(dtype, pl.Datetime):
        return TypedTimes("utc" if dtype.time_zone else "naive"), False
    if dtype == pl.Date:
        return TypedTimes("naive"), False
    if dtype in (pl.Duration, pl.Time):
        return TypedTimes("elapsed"), False
    if dtype.is_numeric():
        return _number_format(cells.drop_nulls(), name, decimal), False
    if dtype != pl.String:
        return None, False
    filled = cells.drop_nulls().str.strip_chars()
    filled = filled.filter(filled.str.len_bytes() > 0)
    if not len(filled):
        return None, False
    few = filled.gather_every(max(1, len(filled) // 200))
    if ClockTimes().parse(few).share > 0.5:
        return ClockTimes(), False
    for layout in ("year first", "month name", "compact"):
        if few.str.contains(_PATTERNS[layout]).sum() > 0.5 * len(few):
            return TextTimes(layout, _is_zoned(few, layout)), False
    if few.str.contains(_PATTERNS["day first"]).sum() > 0.5 * len(few):
        return _day_or_month_first(filled)
    return _number_format(filled, name, decimal), False


def _day_or_month_first(cells: pl.Series) -> tuple[TimeFormat, bool]:
    """Tell ``28/12/2015`` from ``12/28/2015``: by what is valid, else by the steadier times."""
    zoned = _is_zoned(cells, "day first")
    signs = cells.str.extract(r"^\d{1,2}([-/.])").drop_nulls().value_counts(sort=True)
    sign = None if signs.is_empty() else str(signs[0, 0])
    day_first = TextTimes("day first", zoned, sign)
    month_first = TextTimes("month first", zoned, sign)
    by_day, by_month = day_first.parse(cells), month_first.parse(cells)
    if by_day.ok.sum() != by_month.ok.sum():
        return (day_first if by_day.ok.sum() > by_month.ok.sum() else month_first), False
    day_path, month_path = by_day.path, by_month.path
    if day_path != month_path:
        return (day_first if day_path < month_path else month_first), False
    return day_first, True


def _number_format(cells: pl.Series, name: str, decimal: str) -> NumberTimes | SerialDays | None:
    values = read_numbers(cells, decimal).values
    found = np.isfinite(values)
    if not len(values) or found.mean() <= 0.5:
        return None
    middle = float(np.median(np.abs(values[found])))
    for per_second in _EPOCH_UNITS:
        if 5e8 * per_second <= middle <= 5e9 * per_second:
            return NumberTimes(NANOSECONDS // per_second, "utc", decimal)
    unit = _UNIT_IN_NAME.search(name)
    if looks_like_days(values, name):
        return SerialDays(decimal)
    return NumberTimes(_UNITS[unit[1].lower()] if unit else NANOSECONDS, "elapsed", decimal)


def _is_zoned(cells: pl.Series, layout: Layout) -> bool:
    zone = _groups(cells, _PATTERNS[layout])[8]
    return zone.is_not_null().sum() > 0.5 * len(cells)


def _groups(cells: pl.Series, pattern: str) -> list[pl.Series]:
    """The groups of `pattern` in each cell, as text; null where the cell does not match."""
    text = cells.cast(pl.String).str.strip_chars().alias("cell")
    return text.str.extract_groups(pattern).struct.unnest().get_columns()


def _integers(text: pl.Series) -> pl.Series:
    return text.cast(pl.Int64, strict=False)


def _days(
    year: pl.Series, month: pl.Series, day: pl.Series
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Days since 1970, and whether the date exists. Two-digit years from 70 on are 19xx."""
    y = year.fill_null(-1).to_numpy()
    m, d = month.fill_null(0).to_numpy(), day.fill_null(0).to_numpy()
    y = np.where((y >= 0) & (y < 70), y + 2000, np.where((y >= 70) & (y < 100), y + 1900, y))
    ok = (y >= FIRST_YEAR) & (y <= LAST_YEAR) & (m >= 1) & (m <= 12) & (d >= 1)
    months = np.where(ok, (y - 1970) * 12 + m - 1, 0).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    following = (months + 1).astype("datetime64[D]").astype(np.int64)
    ok &= d <= following - first
    return np.where(ok, first + d - 1, 0), ok


def _time_of_day(parts: list[pl.Series]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Nanoseconds since midnight from hour, minute, second, fraction and AM/PM as text."""
    hour, minute, second = (_integers(part).fill_null(0).to_numpy() for part in parts[:3])
    fraction = parts[3].str.slice(0, 9).str.pad_end(9, "0")
    rest = _integers(fraction).fill_null(0).to_numpy()
    half = parts[4].str.to_lowercase().fill_null("")
    afternoon, morning = (half == "p").to_numpy(), (half == "a").to_numpy()
    hour = np.where(afternoon & (hour < 12), hour + 12, np.where(morning & (hour == 12), 0, hour))
    full = (hour == 24) & (minute == 0) & (second == 0)
    ok = ((hour < 24) | full) & (minute < 60) & (second <= 60)
    return ((hour * 60 + minute) * 60 + second) * NANOSECONDS + rest, ok


def _offset(zone: pl.Series) -> NDArray[np.int64]:
    """Nanoseconds by which a zone such as ``+01:30`` is ahead of UTC; 0 for ``Z``."""
    parts = _groups(zone, r"^([+-])(\d{2}):?(\d{2})?$")
    hours, minutes = (_integers(part).fill_null(0).to_numpy() for part in parts[1:])
    sign = np.where((parts[0] == "-").fill_null(False).to_numpy(), -1, 1)
    ahead: NDArray[np.int64] = sign * (hours * 60 + minutes) * 60 * NANOSECONDS
    return ahead
