"""The truth that verdicts are held against: labels by row, and events with their causes.

Events come from ``causes.json`` where there is one, else from runs of labels. Both end up in a
`Recording`, as the loaders of public datasets give them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets.base import Event, Recording
from causewatch.data.datasets.causes import CauseEntry, read_causes
from causewatch.data.datasets.checks import check_order
from causewatch.data.datasets.shaping import event_labels, label_events
from causewatch.data.spans import parse_span
from causewatch.data.table import NANOSECONDS, TimeTable, format_time
from causewatch.errors import (
    CausewatchError,
    SettingError,
    UnknownNameError,
    listing,
    shorten,
)

__all__ = ["CauseEntry", "doubts", "read_causes", "rows_of", "with_truth"]

Ints = NDArray[np.intp]


def with_truth(
    tables: Mapping[str, TimeTable], causes: Sequence[CauseEntry] | None = None
) -> tuple[Recording, ...]:
    """Recordings with their events and labels.

    Parameters
    ----------
    tables
        The recordings by file name.
    causes
        What is known to have gone wrong. Without it, every run of labels is an event of unknown
        cause. Labels by row follow from it where a table has none.
    """
    if causes is None:
        for name, table in tables.items():
            if table.labels is None:
                msg = (
                    f"{name!r} has no labels; name their column (--labels), or give the events"
                    " (--causes)."
                )
                raise SettingError(msg)
    for name, table in tables.items():
        check_order(name, table)
    if causes is None:
        return tuple(
            Recording(Path(name).stem, table, tuple(label_events(table)))
            for name, table in tables.items()
        )
    events: dict[str, list[Event]] = {name: [] for name in tables}
    for entry in causes:
        name = _file_of(entry, tables)
        events[name].append(_event(entry, name, tables[name]))
    return tuple(
        _recording(name, table, sorted(events[name], key=lambda one: one.start))
        for name, table in tables.items()
    )


def doubts(recordings: Sequence[Recording]) -> list[str]:
    """What makes the truth look wrong, as sentences: it is counted all the same."""
    said = []
    labelled = inside = both = counted = 0
    for one in recordings:
        labels = one.table.labels
        if labels is None:
            continue
        truth, events = labels == 1, event_labels(one.table, one.events) == 1
        known = np.isfinite(labels)
        labelled += int(truth.sum())
        inside += int((events & known).sum())
        both += int((truth & events).sum())
        counted += int(known.sum())
    if labelled and labelled == counted:
        said.append(
            "Every row that is counted is labelled anomalous; normal rows are written 0, normal or"
            " false: check the column of labels."
        )
    if labelled and inside and 2 * both < min(labelled, inside):
        said.append(
            f"Labels and events disagree: the events hold {both / labelled:.0%} of the rows"
            f" labelled anomalous, and {both / inside:.0%} of their own rows are; check the"
            " times of the events."
        )
    return said


def rows_of(event: Event, table: TimeTable, grace: float = 0.0) -> tuple[int, int]:
    """First row of an event, and the first one after it, `grace` seconds later."""
    end = event.end + round(grace * NANOSECONDS)
    start, stop = np.searchsorted(table.time, [event.start, end])
    return int(start), int(stop)


def _recording(name: str, table: TimeTable, events: Sequence[Event]) -> Recording:
    if table.labels is None:
        table = replace(table, labels=event_labels(table, events))
    return Recording(Path(name).stem, table, tuple(events))


def _file_of(entry: CauseEntry, tables: Mapping[str, TimeTable]) -> str:
    """Which recording an event belongs to."""
    if entry.file is not None:
        if entry.file in tables:
            return entry.file
        same = [name for name in tables if Path(name).name == Path(entry.file).name]
        if len(same) == 1:
            return same[0]
        raise UnknownNameError(entry.file, "recording", tables)
    if len(tables) == 1:
        return next(iter(tables))
    if isinstance(entry.start, str) and isinstance(entry.end, str):
        parse_span(f"{entry.start}..{entry.end}")  # what is no time at all is said first
    found = [name for name, table in tables.items() if _lies_in(entry, table)]
    if len(found) == 1:
        return found[0]
    msg = (
        f"The event {entry.name!r} may belong to any of {len(tables)} recordings; give it a"
        " 'file' with the name of its recording."
    )
    raise SettingError(msg)


def _lies_in(entry: CauseEntry, table: TimeTable) -> bool:
    if not isinstance(entry.start, str):
        return False  # every recording has a row of that number
    try:
        start, _ = _bounds(entry, table)
    except CausewatchError:
        return False
    return bool(len(table)) and int(table.time[0]) <= start <= int(table.time[-1])


def _event(entry: CauseEntry, name: str, table: TimeTable) -> Event:
    for signal in entry.signals:
        if signal not in table.signals:
            msg = (
                f"The event {entry.name!r} names the signal {shorten(signal)!r}, which {name!r}"
                f" does not have; it has {listing(table.signals)}."
            )
            raise SettingError(msg)
    start, end = _bounds(entry, table)
    step = max(1, round(table.interval * NANOSECONDS))
    first, stop = np.searchsorted(table.time, [start, end])
    if first == stop:
        msg = (
            f"The event {entry.name!r} ({entry.start} to {entry.end}) covers no row of {name!r},"
            f" which lasts from {format_time(int(table.time[0]), table.clock)} to"
            f" {format_time(int(table.time[-1]), table.clock)}; correct its times."
        )
        raise SettingError(msg)
    # What lies outside of the recording could not be seen: delays count from its first row.
    start, end = max(start, int(table.time[0])), min(end, int(table.time[-1]) + step)
    return Event(entry.name, start, end, entry.signals, entry.description)


def _rows_of_file(table: TimeTable) -> int:
    """How many rows a recording has, with those that were left out."""
    if table.file_rows is None:
        return len(table)
    return max(int(table.file_rows[-1]) + 1, sum(file.rows for file in table.files))


def _bounds(entry: CauseEntry, table: TimeTable) -> tuple[int, int]:
    """Start and end as the table counts time."""
    if isinstance(entry.start, int) and isinstance(entry.end, int):
        rows = _rows_of_file(table)
        if not 0 <= entry.start < entry.end <= rows:
            msg = (
                f"The event {entry.name!r} is rows {entry.start} to {entry.end} of a recording of"
                f" {rows:,} rows; write 0-based row numbers, the end not included."
            )
            raise SettingError(msg)
        times = np.append(table.time, table.time[-1] + 1)
        # Of rows that were left out the next one that was kept takes the place.
        kept = np.arange(len(table)) if table.file_rows is None else table.file_rows
        first, stop = np.searchsorted(kept, [entry.start, entry.end])
        return int(times[first]), int(times[stop])
    if isinstance(entry.start, str) and isinstance(entry.end, str):
        return parse_span(f"{entry.start}..{entry.end}").bounds(table.clock)
    msg = (
        f"The event {entry.name!r} starts with {entry.start!r} and ends with {entry.end!r}; write"
        " two times or two row numbers."
    )
    raise SettingError(msg)
