"""Opening tables: one path from any source to signals over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import polars as pl

from causewatch.data.cells import read_labels
from causewatch.data.files import open_file, unreadable
from causewatch.data.frames import from_array, from_dataframe
from causewatch.data.notes import Tally
from causewatch.data.opened import Excluder, OpenedTable
from causewatch.data.planning import Options, plan_tables
from causewatch.data.raw import RawTable, clean_name, file_name
from causewatch.data.reader import Piece
from causewatch.data.spans import Span, parse_span
from causewatch.data.table import NANOSECONDS, Sample, TableSource, TimeTable
from causewatch.data.writing import Writing
from causewatch.errors import SettingError, TableError, UnknownNameError

__all__ = ["TableOptions", "open_table", "read_table", "replay"]


class TableOptions(TypedDict, total=False):
    """What may be said about a table; each is explained at :func:`open_table`."""

    time: str | None
    labels: str | None
    ignore: Iterable[str]
    keep: Iterable[str]
    exclude: Iterable[str | Span]
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
    keep: Iterable[str] = (),
    exclude: Iterable[str | Span] = (),
    time_format: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    long: bool | None = None,
    grid: float | str | None = None,
    usual: Writing | None = None,
) -> TimeTable | OpenedTable:
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
    keep
        Columns that are signals even if they look like labels; it need not have them.
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
    options = Options(
        time=None if time is None else clean_name(time),
        labels=None if labels is None else clean_name(labels),
        ignore=_names(ignore),
        keep=_names(keep),
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
        return plan_tables(raws, options, tally)
    except OSError as error:
        raise unreadable(file_name(Path(error.filename or "The table")), error) from error


def read_table(source: Any, **options: Unpack[TableOptions]) -> TimeTable:
    """Read a whole table into memory; parameters as for :func:`open_table`."""
    return in_memory(open_table(source, **options))


def in_memory(source: TableSource) -> TimeTable:
    """All rows of an opened table."""
    if isinstance(source, TimeTable):
        return source
    whole = Piece.join([Piece.of(chunk) for chunk in source.chunks()])
    return TimeTable(
        signals=tuple(source.signals),
        values=whole.values,
        time=whole.time,
        starts=np.flatnonzero(whole.start),
        interval=source.interval,
        clock=source.clock,
        labels=whole.labels,
        file_rows=whole.moved(source.rows) if isinstance(source, OpenedTable) else whole.row,
        files=source.files,
        notes=source.notes,
        writing=source.writing,
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


def _names(given: Iterable[str]) -> tuple[str, ...]:
    """Names of columns as they are compared, of one or several."""
    return tuple(clean_name(name) for name in ([given] if isinstance(given, str) else given))


def _several(source: Any) -> Sequence[Any]:
    if isinstance(source, (list, tuple)):
        if not source:
            message = "No table was given; name at least one file."
            raise TableError(message)
        return source
    return [source]


def _open_one(source: Any, options: Options) -> RawTable:
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


def _adapt(table: TimeTable | OpenedTable, options: Options) -> TimeTable | OpenedTable:
    """Apply options to a table that is already read."""
    if replace(options, keep=(), usual=None) == Options(
        None, None, (), (), (), None, None, None, None, None, None
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
        file_rows=table.file_rows if len(kept) == len(table) else kept.row,
        starts=np.flatnonzero(kept.start),
        notes=(*table.notes, *tally.notes()),
    )
