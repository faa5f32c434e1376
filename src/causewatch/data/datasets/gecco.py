"""GECCO 2018, the industrial challenge of that conference: quality of drinking water, as recorded.

9 signals, one row a minute, August to November 2016, times without a zone: temperature (``Tp``),
two chlorine dioxide sensors (``Cl``, ``Cl_2``), ``pH``, redox potential (``Redox``), electric
conductivity (``Leit``), turbidity (``Trueb``) and flow on two lines (``Fm``, ``Fm_2``). Column
``EVENT`` marks 51 events; nobody says which signals they are of, so the events name none and causes
cannot be ranked. Sensors drift, and one or another is bad for a week.

There is one recording. It is the recording to watch as a whole; to learn from are those of its
first 30 days' rows that are no event. Each event there leaves a hole, across which no lag reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from causewatch.data.datasets.base import Dataset, Recording
from causewatch.data.datasets.checks import check_columns, check_order, read_published
from causewatch.data.datasets.files import find_files, plain_name
from causewatch.data.datasets.shaping import keep_where, label_events
from causewatch.data.table import NANOSECONDS, Note, TimeTable
from causewatch.errors import TableError, listing

__all__ = ["load"]

TITLE = "GECCO 2018"
SIGNALS = ("Tp", "Cl", "pH", "Redox", "Leit", "Trueb", "Cl_2", "Fm", "Fm_2")
TIME, LABELS = "Time", "EVENT"
DAYS = 30
"""How many days from the start are learnt from."""
ROWS, EVENTS = 138_522, 51
"""Rows with values and events of the file as published."""


def load(paths: Sequence[Path]) -> Dataset:
    """Load GECCO 2018.

    Parameters
    ----------
    paths
        ``geccoIC2018Train.csv``, or the folder that holds it and no other table.
    """
    expected = "the file geccoIC2018Train.csv"
    files = find_files(paths, TITLE, expected)
    if len(files) > 1:
        message = f"{TITLE} is {expected}, and {len(files)} tables were found; name one of them."
        raise TableError(message)
    path = files[0]
    columns = check_columns(path, (TIME, *SIGNALS, LABELS), TITLE)
    more = [column for column in columns if column not in (TIME, *SIGNALS, LABELS)]
    table = read_published(path, time=TIME, labels=LABELS, ignore=more)
    lacking = [signal for signal in SIGNALS if signal not in table.signals]
    if lacking:
        message = f"{path.name} holds no numbers in {listing(lacking)}; download it again."
        raise TableError(message)
    check_order(path.name, table)
    name = plain_name(path)
    test = Recording(name, table, label_events(table, lambda number: f"event {number}"))
    normal = Recording(f"{name}, first {DAYS} days without events", _normal(table, path.name))
    return Dataset("gecco", _version(test), (normal,), (test,), notes=_notes(test, normal))


def _normal(table: TimeTable, name: str) -> TimeTable:
    """The rows of the first days that are no event."""
    assert table.labels is not None
    end = table.time[0] + DAYS * 86_400 * NANOSECONDS
    normal = keep_where(table, (table.labels == 0) & (table.time < end))
    if len(normal) < 2 or table.time[-1] < end:
        message = (
            f"{name} has {len(normal):,} rows without an event in its first {DAYS} days and must"
            " go on after these; it was cut short, download it again."
        )
        raise TableError(message)
    return replace(normal, notes=())


def _version(test: Recording) -> str:
    rows, events = len(test.table), len(test.events)
    part = "complete" if (rows, events) == (ROWS, EVENTS) else "not as published"
    return f"GECCO 2018, training file, {part}: {rows:,} rows with values, {events} events."


def _notes(test: Recording, normal: Recording) -> tuple[Note, ...]:
    end = int(normal.table.time[-1])
    inside = sum(event.start <= end for event in test.events)
    learnt = (
        f"The recording to learn from is a part of the one to watch: {len(normal.table):,} rows of "
        f"its first {DAYS} days, in which {inside} of {len(test.events)} events lie; judge a model "
        "by what comes later."
    )
    causes = "Which signals an event is of is not known, so causes cannot be ranked."
    return (
        Note("learnt_part", len(normal.table), learnt),
        Note("no_causes", len(test.events), causes),
    )
