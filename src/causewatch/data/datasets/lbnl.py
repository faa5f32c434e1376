"""The inventory of building systems of the Lawrence Berkeley National Laboratory: air handlers.

One row a minute, US dates without a zone, in a real building: temperatures, set points, fan, damper
and valve signals (``AHU: …``). Names hold blanks too many, and a number may be ``#VALUE!``. Faults
were put in by the day: column ``Fault Detection Ground Truth`` is 1 on the whole of such a day.

Each day is a recording. Days with a fault are to watch, with one event from midnight to midnight;
the others are to learn from. What was done on a day, and the signals at its place, are read from a
``causes.json`` beside the file; without it the events name no signals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.causes import CauseEntry, causes_beside, known_signals
from causewatch.data.datasets.checks import check_columns, check_order, read_published
from causewatch.data.datasets.files import find_files, plain_name
from causewatch.data.datasets.shaping import keep_where
from causewatch.data.table import NANOSECONDS, Note, TimeTable
from causewatch.errors import TableError, listing, shorten

__all__ = ["load"]

TITLE = "the LBNL inventory"
TIME, LABELS = "Datetime", "Fault Detection Ground Truth"
FORMAT = "%m/%d/%Y %H:%M"
DAY = 86_400 * NANOSECONDS


def load(paths: Sequence[Path]) -> Dataset:
    """Load air handlers of the LBNL inventory.

    Parameters
    ----------
    paths
        The folder that holds ``SZVAV.csv`` (and ``causes.json``), or such files.
    """
    files = find_files(paths, TITLE, "files such as SZVAV.csv")
    causes = causes_beside(files)
    normal: list[Recording] = []
    test: list[Recording] = []
    notes: list[Note] = []
    for path in files:
        check_columns(path, (TIME, LABELS), TITLE)
        table = read_published(path, time=TIME, time_format=FORMAT, labels=LABELS)
        notes += table.notes
        check_order(path.name, table)
        assert table.labels is not None
        days = table.time // DAY
        known = _by_day(causes.get(path, []), table, path)
        labelled = np.unique(days[np.isfinite(table.labels)])
        unlabelled = np.setdiff1d(days, labelled)
        text = f"Days of {path.name} without a label, left out: {len(unlabelled)}."
        if len(unlabelled):
            notes.append(Note("not_labelled", len(unlabelled), text))
        for day in labelled.tolist():
            recording = _recording(plain_name(path), replace(table, notes=()), day, known)
            (test if recording.events else normal).append(recording)
    if not normal or not test:
        missing = "with a fault" if normal else "without a fault"
        message = f"No day {missing} was found in the files of {TITLE}; give those that hold both."
        raise TableError(message)
    version = (
        f"LBNL inventory of building systems, {listing(plain_name(path) for path in files)}: "
        f"{len(normal)} days without a fault, {len(test)} with one."
    )
    unknown = sum(not recording.events[0].signals for recording in test)
    if unknown:
        text = f"Faults of which no signal is known: {unknown} of {len(test)}."
        notes.append(Note("no_causes", unknown, text))
    return Dataset("lbnl", version, tuple(normal), tuple(test), notes=tuple(notes))


def _by_day(entries: Sequence[CauseEntry], table: TimeTable, path: Path) -> dict[int, CauseEntry]:
    """What is known of the faults of a file, by day since 1970."""
    known: dict[int, CauseEntry] = {}
    faulty = set((table.time[table.labels == 1] // DAY).tolist())
    for entry in entries:
        known_signals(entry, table, path)
        try:
            begin = datetime.strptime(str(entry.start), FORMAT).replace(tzinfo=UTC)
        except ValueError as error:
            message = (
                f"causes.json names {shorten(repr(entry.start))} for {path.name}, which is no time "
                "such as 9/18/2017 0:00; correct it."
            )
            raise TableError(message) from error
        day = int(begin.timestamp()) * NANOSECONDS // DAY
        if day not in faulty or day in known:
            wrong = "twice" if day in known else "which has no row labelled faulty"
            message = (
                f"causes.json names a fault of {path.name} on {np.datetime64(day, 'D')}, {wrong}; "
                "one entry is expected for a day with a fault."
            )
            raise TableError(message)
        known[day] = entry
    return known


def _recording(file: str, table: TimeTable, day: int, known: Mapping[int, CauseEntry]) -> Recording:
    """One day; a fault lasts from midnight to midnight."""
    part = keep_where(table, table.time // DAY == day)
    name = f"{file} {np.datetime64(day, 'D')}"
    assert part.labels is not None
    if not (part.labels == 1).any():
        return Recording(name, part, category="unfaulted")
    entry = known.get(day)
    kind = entry.name if entry else "fault"
    event = Event(kind, day * DAY, (day + 1) * DAY, entry.signals if entry else ())
    return Recording(name, part, (event,), kind)
