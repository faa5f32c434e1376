"""The truth that verdicts are held against: labels by row, and events with their causes.

Events come from ``causes.json`` where there is one, else from runs of labels. Both end up in a
`Recording`, as the loaders of public datasets give them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
    listing,
    shorten,
)

__all__ = ["CauseEntry", "doubts", "read_causes", "rows_of", "with_truth"]

Ints = NDArray[np.intp]

_NUMBERED = re.compile(r"\s*(?:row\s*)?\d+\s*")
"""A row number where a time is expected."""


def with_truth(
    tables: Mapping[str, TimeTable],
    causes: Sequence[CauseEntry] | None = None,
    warn: Callable[[str], None] = lambda sentence: None,
) -> tuple[Recording, ...]:
    """Recordings with their events and labels.

    Events of recordings that are not given, and those without any row that was kept, are left out.

    Parameters
    ----------
    tables
        The recordings by file name.
    causes
        What is known to have gone wrong. Without it, every run of labels is an event of unknown
        cause. Labels by row follow from it where a table has none.
    warn
        Told which events are left out, in sentences.
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
    left_out: list[str] = []
    for entry in _of_given(causes, tables, left_out.append):
        name = _file_of(entry, tables)
        event = _event(entry, name, tables[name])
        if event is None:
            left_out.append(f"The event {entry.name!r} is left out: {_why_no_row(entry, name)}.")
        else:
            events[name].append(event)
    labelled = any(np.any(table.labels == 1) for table in tables.values())
    if left_out and not labelled and not any(events.values()):
        msg = f"No event is left to count. {' '.join(left_out)}"
        raise SettingError(msg)
    for sentence in left_out:
        warn(sentence)
    return tuple(
        _recording(name, table, sorted(events[name], key=lambda one: one.start))
        for name, table in tables.items()
    )


def doubts(recordings: Sequence[Recording], *, labels: bool = True) -> list[str]:
    """What makes the truth look wrong, as sentences: it is counted all the same.

    Parameters
    ----------
    recordings
        Recordings with their truth.
    labels
        Whether their labels stand in a column; else they follow from the events.
    """
    said = []
    labelled = inside = both = counted = 0
    for one in recordings:
        by_row = one.table.labels
        if by_row is None:
            continue
        truth, events = by_row == 1, event_labels(one.table, one.events) == 1
        known = np.isfinite(by_row)
        labelled += int(truth.sum())
        inside += int((events & known).sum())
        both += int((truth & events).sum())
        counted += int(known.sum())
    if labelled and labelled == counted:
        said.append(
            "Every row that is counted is labelled anomalous; normal rows are written 0, normal or"
            " false: check the column of labels."
            if labels
            else "Every row lies in an event, so no row is normal; check the times of the events."
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


def _of_given(
    causes: Sequence[CauseEntry], tables: Mapping[str, TimeTable], warn: Callable[[str], None]
) -> list[CauseEntry]:
    """The events that may belong to a recording that is given; raises if none does."""
    given = [entry for entry in causes if _candidates(entry, tables)]
    absent = [entry for entry in causes if not _candidates(entry, tables)]
    if absent and not given:
        first = absent[0]
        msg = (
            f"No event belongs to a recording that is given ({listing(tables)}): the event"
            f" {first.name!r}, e.g., is of {shorten(first.file or '')!r}; give that recording, or"
            " correct 'file'."
        )
        raise SettingError(msg)
    for file, count in Counter(entry.file or "" for entry in absent).items():
        events = "1 event of {} is" if count == 1 else f"{count:,} events of {{}} are"
        warn(f"{events.format(shorten(file))} left out: it is not given.")
    return given


def _candidates(entry: CauseEntry, tables: Mapping[str, TimeTable]) -> list[str]:
    """The recordings that an event may belong to, by its file."""
    if entry.file is None:
        return list(tables)
    if entry.file in tables:
        return [entry.file]
    return [name for name in tables if Path(name).name == Path(entry.file).name]


def _file_of(entry: CauseEntry, tables: Mapping[str, TimeTable]) -> str:
    """Which recording an event belongs to."""
    names = _candidates(entry, tables)
    if len(names) == 1:
        return names[0]
    if entry.file is None:
        if isinstance(entry.start, str) and isinstance(entry.end, str):
            parse_span(f"{entry.start}..{entry.end}")  # what is no time at all is said first
        lies_in = [name for name in names if _lies_in(entry, tables[name])]
        if len(lies_in) == 1:
            return lies_in[0]
        if isinstance(entry.start, str) and not lies_in:
            msg = (
                f"The event {entry.name!r} ({entry.start} to {entry.end}) begins in none of"
                f" {len(names)} recordings ({listing(names)}); correct its times."
            )
            raise SettingError(msg)
    msg = (
        f"The event {entry.name!r} may belong to any of {len(names)} recordings"
        f" ({listing(names)}); give it a 'file' with the name of its recording."
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


def _why_no_row(entry: CauseEntry, name: str) -> str:
    if isinstance(entry.start, int):
        return f"rows {entry.start} to {entry.end} of {name!r} were all left out when reading"
    return f"{name!r} has no row from {entry.start} to {entry.end}, or none that could be read"


def _check_ends(entry: CauseEntry, name: str, table: TimeTable) -> None:
    """Raise unless start and end are of one kind that fits the recording, and in order."""
    about = f"The event {entry.name!r} of {name!r}"
    if isinstance(entry.start, int) and isinstance(entry.end, int):
        if entry.end <= entry.start:
            msg = (
                f"{about} starts at row {entry.start} and ends at row {entry.end}, which is not"
                " after it; correct its rows."
            )
            raise SettingError(msg)
    elif isinstance(entry.start, str) and isinstance(entry.end, str):
        try:
            parse_span(f"{entry.start}..{entry.end}").bounds(table.clock)
        except SettingError as error:
            msg = f"{about}: {error}"
            if all(_NUMBERED.fullmatch(end) for end in (entry.start, entry.end)):
                msg = (
                    f"{about} is from {json.dumps(entry.start)} to {json.dumps(entry.end)}, which"
                    " are no times; write row numbers without quotation marks."
                )
            raise SettingError(msg) from error


def _event(entry: CauseEntry, name: str, table: TimeTable) -> Event | None:
    """An event of a recording; None if no row of it was kept."""
    for signal in entry.signals:
        if signal not in table.signals:
            msg = (
                f"The event {entry.name!r} names the signal {shorten(signal)!r}, which {name!r}"
                f" does not have; it has {listing(table.signals)}."
            )
            raise SettingError(msg)
    _check_ends(entry, name, table)
    start, end = _bounds(entry, table)
    step = max(1, round(table.interval * NANOSECONDS))
    first, stop = np.searchsorted(table.time, [start, end])
    if first == stop and (isinstance(entry.start, int) or 0 < first < len(table)):
        return None
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
        step = max(1, round(table.interval * NANOSECONDS))
        times = np.append(table.time, table.time[-1] + step)
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
