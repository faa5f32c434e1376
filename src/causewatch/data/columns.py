"""What each column is: the time, the labels, a signal, or left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from causewatch.data.cells import is_supported, read_numbers, shown
from causewatch.data.label_columns import looks_like_labels
from causewatch.data.notes import Tally
from causewatch.data.raw import RawTable
from causewatch.data.times import (
    EXCEL,
    ClockTimes,
    CustomTimes,
    NumberTimes,
    SerialDays,
    TextTimes,
    TimeFormat,
    Times,
    clock_format,
    detect_format,
    given_format,
    looks_like_days,
    without_unit,
)
from causewatch.data.writing import Writing
from causewatch.errors import TableError, UnknownNameError, listing, shorten

__all__ = [
    "LOST_TIME",
    "TimeColumn",
    "choose_signals",
    "find_time",
    "note_days",
    "note_lost",
    "writing_of",
]

TIME_NAMES = frozenset(
    {
        "time", "times", "timems", "timeus", "timens", "timestamp", "timestamps", "timestampms",
        "timestampus", "timestampns", "datetime", "date", "ts", "t", "epoch", "epochms",
        "unixtime", "utc", "utctime", "timeutc", "timestamputc", "datetimeutc", "localtime",
        "timelocal", "timesec", "timeseconds", "seconds", "elapsed", "elapsedtime", "elapseds",
        "elapsedms", "zeit", "zeitstempel", "datum", "uhrzeit", "datumuhrzeit",
    }
)  # fmt: skip
"""Names of time columns: lower case, letters and digits only."""

LOST_TIME = "lost_time"
"""Kind of the note that the usual column of times holds none."""

MOSTLY_TIMES = 0.99
"""Share of cells that must be readable in a format before it is taken to be that of a column."""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """Where the time is and how it is written: one column, or a date and a time of day.

    `guessed` says that nothing in its cells told day and month apart.
    """

    columns: tuple[str, ...]
    format: TimeFormat
    guessed: bool = False

    def cells(self, frame: pl.DataFrame) -> pl.Series:
        """The cells of a block; date and time of day are joined by a blank."""
        return _cells(frame, self.columns)

    def parse(self, frame: pl.DataFrame) -> Times:
        """The times of a block."""
        return self.format.parse(self.cells(frame))


def plain(name: str) -> str:
    """A name in lower case, letters and digits only, for comparing with usual names."""
    return re.sub(r"[\W_]+", "", name.lower())


def is_called_time(column: str) -> bool:
    """Whether a column is called as times usually are, be it with a unit, as in ``t [min]``."""
    return plain(column) in TIME_NAMES or plain(without_unit(column)) in TIME_NAMES


def find_time(
    raw: RawTable,
    head: pl.DataFrame,
    time: str | None,
    time_format: str | None,
    ignore: Sequence[str],
    usual: Writing | None = None,
) -> TimeColumn | None:
    """The time column: the one named, the usual one, one with a common name, or a first column.

    Returns None if there is none; then rows are counted.

    Parameters
    ----------
    raw, head
        The table and its first rows.
    time, time_format, ignore
        What the user says.
    usual
        How earlier recordings of the plant are written.
    """
    time = time if time is not None else raw.time_hint
    if time is not None and time not in head.columns:
        raise UnknownNameError(time, "column", head.columns, raw.name)
    names = [c for c in head.columns if is_called_time(c) and c not in ignore]
    if usual is not None and time_format is None:
        as_usual = _as_usual(raw, head, names, time, ignore, usual)
        if as_usual is not None:
            return as_usual
    if time is not None:
        return _named(raw, head, names, time, time_format)
    if time_format is not None:
        return _by_format(raw, head, names, time_format)
    ranked: list[tuple[int, TimeColumn]] = []
    for column in names:
        form, guessed = detect_format(head[column], column, raw.decimal)
        if form is not None and _is_moving(form, head[column]):
            ranked.append((_rank(form, head[column]), TimeColumn((column,), form, guessed)))
    pair = _pair(head, names)
    if pair is not None:
        ranked.append((1, pair))
    if not ranked and head.columns and head.columns[0] not in ignore:
        first = head.columns[0]
        form, guessed = detect_format(head[first], first, raw.decimal)
        if form is not None and form.clock != "elapsed" and _is_moving(form, head[first]):
            ranked.append((0, TimeColumn((first,), form, guessed)))
    return min(ranked, key=lambda entry: entry[0])[1] if ranked else None


def writing_of(raw: RawTable, time: TimeColumn | None) -> Writing:
    """How a table is written, its times as far as they are text."""
    form = None if time is None else time.format
    written = None
    if isinstance(form, (TextTimes, CustomTimes)):
        written = form.layout if isinstance(form, TextTimes) else form.format
    if isinstance(form, SerialDays):
        written = EXCEL
    return Writing(
        time=None if time is None else time.columns[0],
        time_format=written,
        separator=raw.separator,
        decimal=None if raw.separator is None else raw.decimal,
        guessed=time is not None and time.guessed,
        date_sign=form.sign if isinstance(form, TextTimes) else None,
        time_of_day=time.columns[1] if time is not None and len(time.columns) > 1 else None,
    )


def note_days(raw: RawTable, head: pl.DataFrame, time: TimeColumn, tally: Tally) -> None:
    """Say where times are days as spreadsheets count them, or could be."""
    form, column = time.format, shorten(time.columns[0])
    if not isinstance(form, (NumberTimes, SerialDays)):
        return
    values = read_numbers(time.cells(head), raw.decimal).values
    known = values[np.isfinite(values)]
    if isinstance(form, SerialDays):
        tally.add(
            "serial_days",
            f"Column {column!r} of {raw.name} holds days as spreadsheets count them"
            f" ({known[0]:.10g}), and was read as dates.",
        )
    elif form.clock == "elapsed" and looks_like_days(known, time.columns[0]) is None:
        tally.add(
            "perhaps_serial_days",
            f"Column {column!r} of {raw.name} was read as seconds; if it holds days as spreadsheets"
            f" count them ({known[0]:.10g}), give --time-format {EXCEL}.",
        )


def note_lost(
    raw: RawTable, head: pl.DataFrame, ignore: Sequence[str], usual: Writing | None, tally: Tally
) -> None:
    """Say, of a table in which no times were found, where the usual column of times is there."""
    column = None if usual is None else usual.time
    if column is None or column not in head.columns or column in ignore or not len(head):
        return
    cells = head[column].drop_nulls()
    example = f", e.g. {shorten(shown(cells, len(cells) - 1))!r}" if len(cells) else ""
    tally.add(
        LOST_TIME,
        f"Column {shorten(column)!r} of {raw.name} held times in other recordings of this plant,"
        f" but most of its cells are none here{example}: its times are not used, and rows are"
        " counted instead. Correct the file, or give --time-format.",
        about=column,
    )


def choose_signals(
    raw: RawTable,
    head: pl.DataFrame,
    candidates: Sequence[str],
    keep: Sequence[str],
    labels: str | None,
    tally: Tally,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of numbers among `candidates`, and those that look like labels.

    The latter, unless they are to be kept, and all others are left out with a note. `labels` is the
    column of labels that the user names.
    """
    signals: list[str] = []
    suspects: list[str] = []
    for column in candidates:
        cells = head[column]
        if not is_supported(cells.dtype):
            tally.add(
                "text_column",
                f"Column {shorten(column)!r} was left out: its type {cells.dtype} is not numbers.",
                about=column,
            )
            continue
        if column not in keep and looks_like_labels(column, cells, raw.decimal):
            suspects.append(column)
            option = "--labels" if labels is None else "--ignore"
            tally.add(
                "possible_label" if labels is None else "second_label",
                f"Column {shorten(column)!r} was left out: its name and values are those of a "
                f"column of labels; name it with {option} if it is one, or with --keep if it is a "
                "signal.",
                about=column,
            )
            continue
        numbers = read_numbers(cells, raw.decimal)
        if numbers.is_text:
            row = int(numbers.bad[0])
            tally.add(
                "text_column",
                f"Column {shorten(column)!r} was left out: it holds text, e.g. "
                f"{shorten(str(cells[row]))!r} in {raw.place(row)} of {raw.name}.",
                about=column,
            )
            continue
        if is_called_time(column) and _is_time(cells, column, raw.decimal):
            tally.add(
                "second_time",
                f"Column {shorten(column)!r} was left out: it holds times, and another column is "
                "the time.",
                about=column,
            )
            continue
        signals.append(column)
    if not signals:
        message = (
            f"{raw.name} has no column of numbers (columns: {listing(raw.columns)}); check the "
            "separator and the decimal mark."
        )
        raise TableError(message)
    return tuple(signals), tuple(suspects)


def _named(
    raw: RawTable, head: pl.DataFrame, names: Sequence[str], column: str, time_format: str | None
) -> TimeColumn:
    """The time column the user named."""
    if time_format is not None:
        form = given_format(time_format, raw.decimal)
        return max(_written(head, [column], names, form), key=lambda time: time.parse(head).share)
    detected = _detected(raw, head, names, column)
    if detected is None:
        cells = head[column].drop_nulls()
        example = f", e.g. {shorten(shown(cells, 0))!r}" if len(cells) else ""
        message = (
            f"Column {shorten(column)!r} of {raw.name} does not hold times{example}; name "
            "another column as time, or give the time format."
        )
        raise TableError(message)
    return detected


def _detected(
    raw: RawTable, head: pl.DataFrame, names: Sequence[str], column: str
) -> TimeColumn | None:
    """A column of times with the time of day that may belong to it; None if it holds none."""
    pair = _pair(head, [column, *names])
    if pair is not None and column in pair.columns:
        return pair
    form, guessed = detect_format(head[column], column, raw.decimal)
    return None if form is None else TimeColumn((column,), form, guessed)


def _as_usual(
    raw: RawTable,
    head: pl.DataFrame,
    names: Sequence[str],
    time: str | None,
    ignore: Sequence[str],
    usual: Writing,
) -> TimeColumn | None:
    """The time column of earlier recordings, if this table has it and it holds times."""
    column = time if time is not None else usual.time
    if column not in head.columns or column in ignore:
        return None
    if usual.is_custom and head[column].dtype == pl.String:
        for written in _written(head, [column], names, CustomTimes(usual.time_format or "")):
            if written.parse(head).share > MOSTLY_TIMES:
                return written
    if usual.time_format == EXCEL:
        days = SerialDays(raw.decimal)
        if is_supported(head[column].dtype) and days.parse(head[column]).share > MOSTLY_TIMES:
            return TimeColumn((column,), days)
    return None if time is not None else _detected(raw, head, names, column)


def _by_format(
    raw: RawTable, head: pl.DataFrame, names: Sequence[str], time_format: str
) -> TimeColumn:
    """The column, or the date and time of day, that reads best with the user's time format."""
    form = given_format(time_format, raw.decimal)
    candidates = [
        c
        for c in (*names, *head.columns[:1])
        if head[c].dtype == pl.String or isinstance(form, SerialDays)
    ]
    shares = [(time.parse(head).share, time) for time in _written(head, candidates, names, form)]
    share, best = max(shares, key=lambda entry: entry[0], default=(0.0, None))
    if best is None or share == 0.0:
        message = (
            f"No time column of {raw.name} is written as {time_format!r}; name the column as time, "
            "or correct the time format."
        )
        raise TableError(message)
    return best


def _written(
    head: pl.DataFrame, columns: Sequence[str], names: Sequence[str], form: TimeFormat
) -> list[TimeColumn]:
    """The time columns that may be written in a given format, the fullest first.

    One of `columns` alone, or with the date or time of day that belongs to it; the format may be
    that of both, or of the date alone.
    """
    alone = [TimeColumn((column,), form) for column in columns]
    pair = _pair(head, [*columns, *names])
    if pair is None or not isinstance(form, CustomTimes) or not set(columns) & set(pair.columns):
        return alone
    clock = head[pair.columns[1]].drop_nulls()
    full = CustomTimes(f"{form.format.strip()} {clock_format(clock[0])}")
    return [TimeColumn(pair.columns, form), TimeColumn(pair.columns, full), *alone]


def _pair(head: pl.DataFrame, usual: Sequence[str]) -> TimeColumn | None:
    """A column of dates and a column of times of day that belong together."""
    text = [column for column in usual if head[column].dtype == pl.String]
    dates = [column for column in text if _is_date_only(head[column])]
    clocks = [c for c in text if isinstance(detect_format(head[c], c, ".")[0], ClockTimes)]
    if not dates or not clocks:
        return None
    columns = (dates[0], clocks[0])
    form, guessed = detect_format(_cells(head, columns), dates[0], ".")
    return None if form is None else TimeColumn(columns, form, guessed)


def _cells(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """The cells of one column, or of a date and a time joined by a blank."""
    first = frame[columns[0]]
    for column in columns[1:]:
        first = first.str.strip_chars() + " " + frame[column].str.strip_chars()
    return first


def _is_date_only(cells: pl.Series) -> bool:
    filled = cells.drop_nulls().str.strip_chars()
    form, _ = detect_format(filled, "", ".")
    return isinstance(form, TextTimes) and not filled.str.contains(r"[:\sTt]").any()


def _is_moving(form: TimeFormat, cells: pl.Series) -> bool:
    """Whether times change, and numbers mostly grow: a temperature called T is no time."""
    times = form.parse(cells)
    steps = np.diff(times.ns[times.ok])
    if isinstance(form, (NumberTimes, SerialDays)):
        return bool(np.any(steps > 0)) and float(np.mean(steps >= 0)) >= 0.9
    return bool(np.any(steps != 0))


def _is_time(cells: pl.Series, name: str, decimal: str) -> bool:
    form, _ = detect_format(cells, name, decimal)
    return form is not None and _is_moving(form, cells)


def _rank(form: TimeFormat, cells: pl.Series) -> int:
    """Which of several time columns is better: full times, then numbers, then a date alone."""
    if isinstance(form, ClockTimes):
        return 4
    if isinstance(form, TextTimes) and _is_date_only(cells):
        return 3
    return 2 if isinstance(form, (NumberTimes, SerialDays)) else 0
