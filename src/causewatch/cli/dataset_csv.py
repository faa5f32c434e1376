"""A recording as CSV, so that it is read back as it was."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from causewatch.data.datasets.base import Recording
from causewatch.data.datasets.shaping import event_labels
from causewatch.data.spreadsheet import as_text
from causewatch.data.table import NANOSECONDS, TimeTable

__all__ = ["recording_csv"]

WHOLE = 2**53
"""Numbers up to this size are written without a decimal point if a column has whole ones only."""


def recording_csv(recording: Recording, labelled: bool) -> bytes:
    """A recording as CSV; a missing value is an empty cell.

    There is no column of times where rows are counted; times since some start are in seconds.
    """
    table = recording.table
    if labelled and table.labels is None:
        table = replace(table, labels=event_labels(table, recording.events))
    table = _with_holes(table)
    columns = _time_column(table)
    for place, name in enumerate(table.signals):
        columns.append(_number_column(as_text(name), table.values[:, place]))
    if labelled:
        columns.append(_number_column("label", table.labels))
    target = io.BytesIO()
    form = "%Y-%m-%dT%H:%M:%S"
    if np.any(table.time % NANOSECONDS):
        form += "%.9f" if np.any(table.time % 1000) else "%.6f"
    form += "Z" if table.clock == "utc" else ""
    pl.DataFrame(columns).write_csv(target, datetime_format=form)
    return target.getvalue()


def _with_holes(table: TimeTable) -> TimeTable:
    """The table with an empty row before each stretch after a gap.

    It is dropped when the file is read, and shows that the clock ran on: otherwise a gap of an hour
    in some night of autumn is taken for a change of the clock.
    """
    step = round(table.interval * NANOSECONDS)
    starts = table.starts[table.starts > 0]
    starts = starts[table.time[starts] - table.time[starts - 1] > step]
    if table.clock != "naive" or not len(starts):
        return table
    return replace(
        table,
        values=np.insert(table.values, starts, np.nan, axis=0),
        time=np.insert(table.time, starts, table.time[starts - 1] + step),
        labels=None if table.labels is None else np.insert(table.labels, starts, np.nan),
        starts=table.starts + np.searchsorted(starts, table.starts, side="right"),
    )


def _time_column(table: TimeTable) -> list[Any]:
    if table.clock == "rows":
        return []
    name = "time_s" if table.clock == "elapsed" else "time"
    while name in (*table.signals, "label"):
        name += "_"
    if table.clock == "elapsed":
        return [pl.Series(name, table.time / NANOSECONDS)]
    return [pl.Series(name, table.time).cast(pl.Datetime("ns"))]


def _number_column(name: str, values: Any) -> Any:
    known = values[~np.isnan(values)]
    whole = bool(np.all((known == np.rint(known)) & (np.abs(known) < WHOLE)))
    column = pl.Series(name, values).fill_nan(None)
    return column.cast(pl.Int64) if whole else column
