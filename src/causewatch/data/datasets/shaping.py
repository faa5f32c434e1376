"""Cutting tables to shape: columns, rows, and events from labels or from published windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets.base import Event
from causewatch.data.table import NANOSECONDS, TimeTable

__all__ = [
    "event_labels",
    "keep_rows",
    "keep_signals",
    "keep_where",
    "label_events",
    "moment",
    "touches",
]


def keep_signals(table: TimeTable, signals: Sequence[str]) -> TimeTable:
    """The same table with just these signals, in this order."""
    if tuple(signals) == table.signals:
        return table
    places = {signal: place for place, signal in enumerate(table.signals)}
    columns = [places[signal] for signal in signals]
    return replace(table, signals=tuple(signals), values=table.values[:, columns])


def keep_rows(table: TimeTable, start: int, stop: int) -> TimeTable:
    """Rows `start` to `stop` (half-open) as a table of its own."""
    starts = table.starts[(table.starts > start) & (table.starts < stop)] - start
    return replace(
        table,
        values=table.values[start:stop],
        time=table.time[start:stop],
        starts=np.concatenate([np.zeros(1, dtype=np.intp), starts]),
        labels=None if table.labels is None else table.labels[start:stop],
        file_rows=None,
        continues=False,
    )


def keep_where(table: TimeTable, keep: NDArray[np.bool_]) -> TimeTable:
    """The rows marked in `keep` as a table of its own.

    What follows a row that is left out begins a new stretch, so lags never reach across the holes.
    """
    kept = np.flatnonzero(keep)
    begins = np.diff(kept, prepend=-2) > 1
    begins |= np.isin(kept, table.starts)
    return replace(
        table,
        values=table.values[kept],
        time=table.time[kept],
        starts=np.flatnonzero(begins),
        labels=None if table.labels is None else table.labels[kept],
        continues=False,
        file_rows=None,
    )


def moment(text: str) -> int:
    """A time without a zone (ISO 8601) as `TimeTable.time` has it.

    >>> moment("2015-12-28T10:00:00")
    1451296800000000000
    """
    since = datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * NANOSECONDS + since.microseconds * 1000


def touches(event: Event, table: TimeTable) -> bool:
    """Whether some row of the table lies within the event."""
    return bool(np.any((table.time >= event.start) & (table.time < event.end)))


def event_labels(table: TimeTable, events: Iterable[Event]) -> NDArray[np.float64]:
    """One number per row: 1 within an event, else 0."""
    labels = np.zeros(len(table))
    for event in events:
        labels[(table.time >= event.start) & (table.time < event.end)] = 1.0
    return labels


def label_events(
    table: TimeTable, name: Callable[[int], str] = lambda number: f"run {number}"
) -> tuple[Event, ...]:
    """Events without signals, one for each run of rows labelled anomalous.

    A run ends where a stretch ends. Its end is one usual interval after its last row.

    Parameters
    ----------
    table
        A table with labels.
    name
        Gives the name of the run with a number (from 1).
    """
    if table.labels is None or not len(table):
        return ()
    anomalous = table.labels == 1
    begins = anomalous.copy()
    begins[1:] &= ~anomalous[:-1]
    opening = table.starts[table.starts < len(table)]
    begins[opening] = anomalous[opening]
    ends = anomalous.copy()
    ends[:-1] &= ~anomalous[1:]
    closing = opening[opening > 0] - 1
    ends[closing] = anomalous[closing]
    step = round(table.interval * NANOSECONDS)
    pairs = zip(np.flatnonzero(begins).tolist(), np.flatnonzero(ends).tolist(), strict=True)
    return tuple(
        Event(name(number), int(table.time[first]), int(table.time[last]) + step)
        for number, (first, last) in enumerate(pairs, start=1)
    )
