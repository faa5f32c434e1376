"""The three-phase flow facility of Cranfield University: a real pilot plant with faults made in it.

Air, water and oil are carried through a riser and parted. 24 tags at 1 Hz, seconds from the start
of each recording (``t``). Six recordings, ``case1_1`` to ``case6_1``, each with one kind of fault
that is brought in little by little: where it begins and ends, and which tags stand at its place, is
read from ``causes.json`` beside them. No tag is known for cases 4 and 5.

Operating points are changed on purpose before and during the faults: a new operating point is no
anomaly. To learn from are the rows before the first fault of each recording.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from causewatch.data.datasets.base import Dataset, Recording
from causewatch.data.datasets.causes import CauseEntry, needed_causes, row_events
from causewatch.data.datasets.checks import check_columns, read_published
from causewatch.data.datasets.files import find_files, plain_name
from causewatch.data.datasets.shaping import event_labels, keep_rows
from causewatch.data.table import Note
from causewatch.errors import TableError, listing, plural

__all__ = ["load"]

TITLE = "Cranfield"
NAME = re.compile(r"case(\d)_\d+")
TIME = "t"
SIGNALS = (
    "PT312 air delivery pressure", "PT401 riser bottom pressure", "PT408 riser top pressure",
    "PT403 top separator pressure", "PT501 3-phase separator pressure",
    "PT401-PT408 riser differential pressure", "PT403 differential pressure over VC404",
    "FT305 input air flow", "FT104 input water flow", "FT407 riser top flow",
    "LI405 top separator level", "FT406 top separator output flow", "FT407 riser top density",
    "FT406 top separator output density", "FT104 input water density",
    "FT407 riser top temperature", "FT406 top separator output temperature",
    "FT104 input water temperature", "LI504 3-phase separator level", "VC501 valve position",
    "VC302 valve position", "VC101 valve position", "PO1 water pump current",
    "PT417 mixture zone 2in line pressure",
)  # fmt: skip


def load(paths: Sequence[Path]) -> Dataset:
    """Load recordings of the Cranfield facility.

    Parameters
    ----------
    paths
        The folder that holds ``case1_1.parquet`` and the others and ``causes.json``, or some of
        these recordings.
    """
    expected = "files named like case1_1.parquet, with causes.json beside them"
    files = [
        path for path in find_files(paths, TITLE, expected) if NAME.fullmatch(plain_name(path))
    ]
    causes = needed_causes(files, TITLE, expected)
    test = [_read(path, causes[path]) for path in files]
    normal = [before for recording in test if (before := _before(recording)) is not None]
    if not normal:
        message = f"No recording of {TITLE} has rows before its first fault; expected {expected}."
        raise TableError(message)
    events = sum(len(recording.events) for recording in test)
    part = "complete" if (len(test), events) == (6, 7) else "a part of it"
    version = (
        f"Three-phase flow facility of Cranfield University, {part}: "
        f"{plural(len(test), 'recording')} with {plural(events, 'window')} of faults."
    )
    return Dataset("cranfield", version, tuple(normal), tuple(test), notes=_notes(test))


def _read(path: Path, causes: Sequence[CauseEntry]) -> Recording:
    columns = check_columns(path, (TIME, *SIGNALS), TITLE)
    more = [column for column in columns if column not in (TIME, *SIGNALS)]
    table = read_published(path, time=TIME, ignore=more)
    events = row_events(causes, table, path)
    table = replace(table, labels=event_labels(table, events))
    return Recording(plain_name(path), table, events, events[0].name)


def _before(recording: Recording) -> Recording | None:
    """The rows before the first fault; None if there are too few of them."""
    table = recording.table
    first = int(table.time.searchsorted(recording.events[0].start))
    if first < 2:
        return None
    name = f"{recording.name} before the first fault"
    return Recording(name, replace(keep_rows(table, 0, first), notes=()))


def _notes(test: Sequence[Recording]) -> tuple[Note, ...]:
    points = (
        "Operating points are changed on purpose before and during the faults: a new operating "
        "point is no anomaly."
    )
    events = {event.name for recording in test for event in recording.events if not event.signals}
    unknown = f"Faults of which no tag is known: {listing(sorted(events))}."
    learnt = (
        "The recordings to learn from are parts of those to watch: judge a model of one recording "
        "by the others, or learn from the others."
    )
    notes = (
        Note("operating_points", len(test), points),
        Note("learnt_part", len(test), learnt),
        Note("no_causes", len(events), unknown),
    )
    return tuple(note for note in notes if note.count)
