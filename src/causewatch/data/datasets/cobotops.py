"""UR3 CobotOps: a robot arm that grips things, as recorded, with its stops and lost grips.

About one row a second, times in UTC, two sessions on one day: current, temperature and speed of six
joints, and the current of the tool (19 signals). Separated by semicolons, with decimal commas,
empty columns at the end of the lines and names with blanks too many.

``Robot_ProtectiveStop`` and ``grip_lost`` are the truth: a row with either is anomalous, one
without a value of the first is not counted (nearly all of its signals are missing, too). They are
no signals, and neither are the running number and the counter ``cycle``. There is no recording that
is all normal: to learn from are the cycles in which neither happens, each run of them a stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.checks import check_columns, read_published
from causewatch.data.datasets.files import find_files
from causewatch.data.datasets.shaping import keep_rows, keep_signals, keep_where, label_events
from causewatch.data.table import NANOSECONDS, Note, TimeTable
from causewatch.errors import TableError, listing

__all__ = ["load"]

TITLE = "UR3 CobotOps"
TIME, NUMBER, CYCLE = "Timestamp", "Num", "cycle"
FLAGS = {"Robot_ProtectiveStop": "protective stop", "grip_lost": "grip lost"}
JOINTS = range(6)
SIGNALS = (
    *(f"Current_J{joint}" for joint in JOINTS),
    "Temperature_T0",
    *(f"Temperature_J{joint}" for joint in JOINTS[1:]),
    *(f"Speed_J{joint}" for joint in JOINTS),
    "Tool_current",
)
PAUSE = 600 * NANOSECONDS
"""A longer gap parts two sessions."""

Floats = NDArray[np.float64]


def load(paths: Sequence[Path]) -> Dataset:
    """Load UR3 CobotOps.

    Parameters
    ----------
    paths
        ``dataset_02052023.csv`` (or XLSX), or the folder that holds it and no other table.
    """
    expected = "the file dataset_02052023.csv (or xlsx)"
    files = find_files(paths, TITLE, expected)
    if len(files) > 1:
        message = f"{TITLE} is {expected}, and {len(files)} tables were found; name one of them."
        raise TableError(message)
    path = files[0]
    needed = (TIME, *SIGNALS, CYCLE, *FLAGS)
    columns = check_columns(path, needed, TITLE)
    more = [column for column in columns if column not in needed]
    table = read_published(path, time=TIME, ignore=more, keep=FLAGS)
    lacking = [name for name in needed[1:] if name not in table.signals]
    if lacking:
        message = f"{path.name} holds no numbers in {listing(lacking)}; download it again."
        raise TableError(message)
    notes = table.notes
    sessions = _sessions(replace(table, notes=()))
    test = tuple(_watched(f"session {n}", part) for n, part in enumerate(sessions, start=1))
    found = [_learnt(recording, part) for recording, part in zip(test, sessions, strict=True)]
    normal = tuple(recording for recording in found if len(recording.table) > 1)
    if not normal:
        message = f"{path.name} holds no cycle without a stop or a lost grip; download it again."
        raise TableError(message)
    events = sum(len(recording.events) for recording in test)
    version = f"UR3 CobotOps: {len(test)} sessions, {events} stops and lost grips."
    return Dataset("cobotops", version, normal, test, notes=(*notes, *_notes(test, normal)))


def _sessions(table: TimeTable) -> list[TimeTable]:
    edges = [0, *(np.flatnonzero(np.diff(table.time) > PAUSE) + 1).tolist(), len(table)]
    return [keep_rows(table, *edges[place : place + 2]) for place in range(len(edges) - 1)]


def _column(table: TimeTable, name: str) -> Floats:
    return table.values[:, table.signals.index(name)]


def _watched(name: str, table: TimeTable) -> Recording:
    """A whole session; a row with either flag is anomalous."""
    flags = np.stack([_column(table, flag) for flag in FLAGS])
    labels = np.where(
        (flags > 0).any(axis=0), 1.0, np.where(np.isnan(flags).any(axis=0), np.nan, 0.0)
    )
    labelled = replace(keep_signals(table, SIGNALS), labels=labels)
    events = tuple(_named(event, table) for event in label_events(labelled))
    return Recording(name, labelled, events)


def _named(event: Event, table: TimeTable) -> Event:
    """An event under the name of the flags that are set in it."""
    inside = (table.time >= event.start) & (table.time < event.end)
    kinds = [kind for flag, kind in FLAGS.items() if (_column(table, flag)[inside] > 0).any()]
    return replace(event, name=" and ".join(kinds))


def _learnt(session: Recording, table: TimeTable) -> Recording:
    """The cycles of a session in which no row has a flag; what is not labelled is left out."""
    labels, cycle = session.table.labels, _column(table, CYCLE)
    assert labels is not None
    flagged = np.unique(cycle[labels == 1])
    keep = (labels == 0) & np.isfinite(cycle) & ~np.isin(cycle, flagged)
    return Recording(f"{session.name}, cycles without a flag", keep_where(session.table, keep))


def _notes(test: Sequence[Recording], normal: Sequence[Recording]) -> tuple[Note, ...]:
    labels = [recording.table.labels for recording in test if recording.table.labels is not None]
    unlabelled = sum(int(np.isnan(each).sum()) for each in labels)
    rows = sum(len(recording.table) for recording in normal)
    stretches = sum(len(recording.table.starts) for recording in normal)
    notes = (
        Note(
            "not_labelled",
            unlabelled,
            f"Rows without a value of {next(iter(FLAGS))} that count as neither normal nor "
            f"anomalous: {unlabelled}.",
        ),
        Note(
            "no_signals",
            len(FLAGS) + 1,
            f"{', '.join(FLAGS)} and the counter {CYCLE} are truth and bookkeeping, no signals.",
        ),
        Note(
            "learnt_part",
            rows,
            f"What is to learn from is a part of what is to watch: {rows:,} rows in {stretches} "
            "stretches, the cycles without a flag; learn from one session and judge by another.",
        ),
        Note(
            "no_causes",
            sum(len(recording.events) for recording in test),
            "Which signals an event is of is not known, so causes cannot be ranked.",
        ),
    )
    return tuple(note for note in notes if note.count)
