"""Opening tables: one path from any source to signals over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import polars as pl

from causewatch.data.cells import read_labels
from causewatch.data.columns import TimeColumn, choose_signals, find_time, writing_of
from causewatch.data.day_order import order_of, settle, told_by
from causewatch.data.files import open_file, unreadable
from causewatch.data.frames import from_array, from_dataframe
from causewatch.data.long import is_long, read_long
from causewatch.data.notes import Tally
from causewatch.data.opened import Excluder, OpenedTable
from causewatch.data.raw import RawTable, file_name
from causewatch.data.reader import Piece, Plan, first_times, measure_pace
from causewatch.data.spans import Span, parse_span
from causewatch.data.table import NANOSECONDS, Sample, TableSource, TimeTable
from causewatch.data.times import CustomTimes, TextTimes
from causewatch.data.writing import Order, Writing
from causewatch.errors import SettingError, TableError, UnknownNameError, listing, shorten

__all__ = ["TableOptions", "open_table", "read_table", "replay"]


class TableOptions(TypedDict, total=False):
    """What may be said about a table; each is explained at :func:`open_table`."""

    time: str | None
    labels: str | None
    ignore: Iterable[str]
    exclude: Iterable[str | Span]
    time_format: str | None
    separator: str | None
    decimal: str | None
    long: bool | None
    grid: float | str | None
    usual: Writing | None


@dataclass(frozen=True, slots=True)
class _Options:
    """What the caller said about the table."""

    time: str | None
    labels: str | None
    ignore: tuple[str, ...]
    exclude: tuple[Span, ...]
    time_format: str | None
    separator: str | None
    decimal: str | None
    long: bool | None
    grid: float | str | None
    usual: Writing | None


def open_table(
    source: Any,
    *,
    time: str | None = None,
    labels: str | None = None,
    ignore: Iterable[str] = (),
    exclude: Iterable[str | Span] = (),
    time_format: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    long: bool | None = None,
    grid: float | str | None = None,
    usual: Writing | None = None,
) -> TableSource:
    """Open a table to be read in pieces, again and again, with bounded memory.

    Parameters
    ----------
    source
        A path (CSV and relatives, also gzipped; Parquet; XLSX), several paths (each a stretch of
        its own, the earliest first where times are known), a dataframe of any library narwhals
        knows, a 2-D array, or a `TimeTable`.
    time
        The time column; found by its name or content if None.
    labels
        A column of truth, never a signal.
    ignore
        Columns to leave out.
    exclude
        Spans such as ``"2015-12-22T16:00..2015-12-22T20:00"`` whose rows are removed.
    time_format
        How times are written, as for `datetime.strptime`.
    separator, decimal
        How a text file is written; detected if None.
    long
        Whether the table has one row per event (time, tag, value); detected if None.
    grid
        For such tables, the interval to sample at: seconds or a duration such as ``"10s"``.
    usual
        How earlier recordings of the plant are written (`TableSource.writing`): it decides what the
        source leaves open, such as whether 5/8/2009 is in May.

    Returns
    -------
    TableSource
        Its `notes` say what was found and done.
    """
    options = _Options(
        time=time,
        labels=labels,
        ignore=(ignore,) if isinstance(ignore, str) else tuple(ignore),
        exclude=tuple(
            parse_span(span) if isinstance(span, str) else span
            for span in ([exclude] if isinstance(exclude, str) else exclude)
        ),
        time_format=time_format,
        separator=separator,
        decimal=decimal,
        long=long,
        grid=grid,
        usual=usual,
    )
    if isinstance(source, (TimeTable, OpenedTable)):
        return _adapt(source, options)
    try:
        raws = [_open_one(one, options) for one in _several(source)]
        tally = Tally()
        for raw in raws:
            tally.extend(raw.tally)
        return _plan(raws, options, tally)
    except OSError as error:
        raise unreadable(file_name(Path(error.filename or "The table")), error) from error


def read_table(source: Any, **options: Unpack[TableOptions]) -> TimeTable:
    """Read a whole table into memory; parameters as for :func:`open_table`."""
    opened = open_table(source, **options)
    if isinstance(opened, TimeTable):
        return opened
    chunks = list(opened.chunks())
    whole = Piece.join([Piece.of(chunk) for chunk in chunks])
    return TimeTable(
        signals=tuple(opened.signals),
        values=whole.values,
        time=whole.time,
        starts=np.flatnonzero(whole.start),
        interval=opened.interval,
        clock=opened.clock,
        labels=whole.labels,
        file_rows=whole.moved,
        files=opened.files,
        notes=opened.notes,
        writing=opened.writing,
    )


def replay(source: Any, **options: Unpack[TableOptions]) -> Iterator[Sample]:
    """The rows of a table one after the other; parameters as for :func:`open_table`.

    Times are datetimes (with zone UTC where a zone is known), seconds for elapsed times, and row
    numbers where rows are counted.
    """
    opened = open_table(source, **options)
    signals = tuple(opened.signals)
    zone = UTC if opened.clock == "utc" else None
    for chunk in opened.chunks():
        times: list[Any]
        if opened.clock in ("naive", "utc"):
            moments: list[datetime] = (
                chunk.time.astype("datetime64[ns]").astype("datetime64[us]").tolist()
            )
            times = [moment.replace(tzinfo=zone) for moment in moments] if zone else moments
        else:
            times = (chunk.time / NANOSECONDS).tolist()
        for moment, row in zip(times, chunk.values.tolist(), strict=True):
            yield Sample(moment, dict(zip(signals, row, strict=True)))


def _several(source: Any) -> Sequence[Any]:
    if isinstance(source, (list, tuple)):
        if not source:
            message = "No table was given; name at least one file."
            raise TableError(message)
        return source
    return [source]


def _open_one(source: Any, options: _Options) -> RawTable:
    if isinstance(source, (str, Path)):
        return open_file(Path(source), options.separator, options.decimal, options.usual)
    if isinstance(source, np.ndarray):
        return from_array(source)
    raw = from_dataframe(source)
    if raw is None:
        message = (
            f"An object of type {type(source).__name__} is not a table; give a path, a dataframe "
            "or a 2-D array."
        )
        raise TableError(message)
    return raw


class _Run:
    """Files that are read together: what one does not tell about its times, another may."""

    def __init__(self, raws: Sequence[RawTable], options: _Options, tally: Tally) -> None:
        self._raws = raws
        self._options = options
        self._tally = tally

    def find(self, raw: RawTable, head: pl.DataFrame, time: str | None = None) -> TimeColumn | None:
        """The times of a table, in the column `time` if it is known already."""
        column = self._column(raw, head, time)
        usual = self._options.usual
        return settle(raw, head, column, usual, self._tally, lambda: self._told(raw))

    def _column(self, raw: RawTable, head: pl.DataFrame, time: str | None) -> TimeColumn | None:
        options = self._options
        name = options.time if time is None else time
        return find_time(raw, head, name, options.time_format, options.ignore, options.usual)

    def _told(self, asking: RawTable) -> Order | None:
        """What other files tell about day and month, by their first rows, else by all of them."""
        silent = []
        for raw in self._raws:
            if raw is asking or not set(asking.columns) <= set(raw.columns):
                continue
            column = self._column(raw, raw.head(), None)
            order = order_of(column)
            if column is not None and order is not None:
                if not column.guessed:
                    return order
                silent.append((raw, column))
        told = (told_by(raw, column) for raw, column in silent)
        return next((order for order in told if order is not None), None)


def _unfold(
    raws: list[RawTable], options: _Options, tally: Tally, run: _Run
) -> tuple[list[RawTable], Writing | None]:
    """Turn event lists (time, tag, value) into ordinary tables, and tell how they are written."""
    if options.long is False or not (options.long or is_long(raws[0], options.time)):
        if options.grid is not None:
            message = (
                "A grid applies to tables with one row per event (time, tag, value) only, and "
                f"{raws[0].name} is none; leave it out."
            )
            raise SettingError(message)
        return raws, None
    tables, writing = read_long(raws, options.time, options.grid, tally, run.find)
    return list(tables), writing


def _plan(raws: list[RawTable], options: _Options, tally: Tally) -> OpenedTable:
    """Decide by the first rows which column is what."""
    run = _Run(raws, options, tally)
    raws, writing = _unfold(raws, options, tally, run)
    if writing is not None:  # the times are no text any more
        options = replace(options, time_format=None, usual=None)
        run = _Run(raws, options, tally)
    first = raws[0]
    for name in (*options.ignore, *((options.labels,) if options.labels else ())):
        if name not in first.columns:
            raise UnknownNameError(name, "column", first.columns)
    head = first.head()
    time = run.find(first, head)
    if time is None:
        tally.add(
            "no_time",
            f"{first.name} has no time column; its rows are counted, one second each.",
        )
    if time is not None and options.labels in time.columns:
        msg = (
            f"The column {options.labels!r} holds the times of {first.name}, so it cannot hold"
            " labels; name the column of labels, or with --time another one for times."
        )
        raise SettingError(msg)
    used = {*options.ignore, options.labels, *(time.columns if time else ())}
    signals = choose_signals(first, head, [c for c in first.columns if c not in used], tally)
    clock = time.format.clock if time else "rows"
    plans = [Plan(first, signals, time, options.labels, clock)]
    pace = measure_pace(plans[0], head, tally)
    if len(raws) > 1:
        begins = [int(first_times(plans[0], head)[0])]
        for raw in raws[1:]:
            plan, begin = _plan_next(raw, plans[0], options, tally, run)
            plans.append(plan)
            begins.append(begin)
        if clock in ("naive", "utc"):
            plans = [plans[k] for k in np.argsort(begins, kind="stable")]
    return OpenedTable(plans, pace, options.exclude, tally, writing or writing_of(first, time))


def _plan_next(
    raw: RawTable, first: Plan, options: _Options, tally: Tally, run: _Run
) -> tuple[Plan, int]:
    """Plan a further file: same columns, in any order, and the same clock; and its first time."""
    for column in first.columns:
        if column not in raw.columns:
            message = (
                f"{raw.name} has no column {shorten(column)!r}, which {first.raw.name} has; all "
                "files must have the same columns."
            )
            raise TableError(message)
    known = {*first.raw.columns, *options.ignore}
    more = [column for column in raw.columns if column not in known]
    tally.add(
        "extra_columns",
        f"Columns of {raw.name} that {first.raw.name} does not have were left out: "
        f"{listing(more)}.",
        len(more),
        raw.name,
    )
    head = raw.head()
    time = first.time
    if time is not None and not _reads(time, head):
        time = run.find(raw, head, time.columns[0])
    clock = time.format.clock if time else "rows"
    if clock != first.clock:
        message = (
            f"The times of {raw.name} ({clock}) are of another kind than those of "
            f"{first.raw.name} ({first.clock}); read them separately."
        )
        raise TableError(message)
    plan = Plan(raw, first.signals, time, first.labels, clock)
    return plan, int(first_times(plan, head)[0])


def _reads(time: TimeColumn, head: pl.DataFrame) -> bool:
    """Whether the times of a further file are written as in the first."""
    if not isinstance(time.format, (TextTimes, CustomTimes)):
        return isinstance(time.format, CustomTimes)
    is_text = all(head[column].dtype == pl.String for column in time.columns)
    return is_text and time.parse(head).share > 0.99


def _adapt(table: TimeTable | OpenedTable, options: _Options) -> TableSource:
    """Apply options to a table that is already read."""
    if replace(options, usual=None) == _Options(
        None, None, (), (), None, None, None, None, None, None
    ):
        return table
    if isinstance(table, OpenedTable):
        message = "An opened table is given together with options; give them when opening it."
        raise SettingError(message)
    given = (options.time, options.time_format, options.separator, options.decimal, options.grid)
    if any(option is not None for option in given) or options.long is not None:
        message = (
            "The table is already read: time, time_format, separator, decimal, long and grid "
            "cannot be given again."
        )
        raise SettingError(message)
    for name in (*options.ignore, *((options.labels,) if options.labels else ())):
        if name not in table.signals:
            raise UnknownNameError(name, "signal", table.signals)
    piece = Piece.of(table)
    labels = table.labels
    if options.labels:
        labels = read_labels(pl.Series(table.values[:, table.signals.index(options.labels)]))
    signals = tuple(s for s in table.signals if s not in (*options.ignore, options.labels))
    values = table.values[:, [table.signals.index(signal) for signal in signals]]
    excluder, tally = Excluder(options.exclude, table.clock), Tally()
    kept = excluder.apply(replace(piece, values=values, labels=labels))
    excluder.finish(tally)
    if not signals or len(kept) < 2:
        message = f"{len(signals)} signals and {len(kept)} rows are left of the table."
        raise TableError(message)
    return replace(
        table,
        signals=signals,
        values=kept.values,
        time=kept.time,
        labels=kept.labels,
        file_rows=kept.moved,
        starts=np.flatnonzero(kept.start),
        notes=(*table.notes, *tally.notes()),
    )
