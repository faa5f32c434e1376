"""carOBD: trips of a healthy car, as read from its diagnosis connector (OBD-II).

26 signals and a counter of the seconds since the engine was started, names ending in `` ()``, a
comma at the end of every row. Nothing is wrong in any trip: every alarm is a false one, so all
recordings are to learn from and none to watch.

There is no column of times. Rows come at an even pace, about two a second, while the counter moves
in steps of one or two seconds. So the times of a trip are its rows at the pace at which the counter
grows, from 0. Where the counter falls, or strays from an even pace by more than `MOST_OFF`, rows
are counted instead. Further counters never fall; a note names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from causewatch.data.datasets.base import Dataset, Recording
from causewatch.data.datasets.checks import check_columns, read_published
from causewatch.data.datasets.files import find_files, plain_name
from causewatch.data.datasets.shaping import keep_signals
from causewatch.data.table import NANOSECONDS, Note, TimeTable
from causewatch.errors import TableError, listing

__all__ = ["load"]

TITLE = "carOBD"
COUNTER = "ENGINE_RUN_TINE ()"
COUNTERS = ("TIME_SINCE_TROUBLE_CODES_CLEARED ()", "WARM_UPS_SINCE_CODES_CLEARED ()")
NEEDED = (COUNTER, "ENGINE_RPM ()", "VEHICLE_SPEED ()", "COOLANT_TEMPERATURE ()", *COUNTERS)
MOST_OFF = 10.0
"""Seconds by which the counter may stray from an even pace."""


def load(paths: Sequence[Path]) -> Dataset:
    """Load trips of carOBD.

    Parameters
    ----------
    paths
        The folder that holds ``drive1.csv``, ``long1.csv`` and others, or some of these files.
    """
    files = find_files(paths, TITLE, "trips such as drive1.csv and long1.csv")
    trips = tuple(_read(path) for path in files)
    kinds = sorted({trip.category for trip in trips})
    counts = [f"{sum(t.category == kind for t in trips)} of kind {kind}" for kind in kinds]
    version = f"carOBD, healthy throughout: {len(trips)} trips ({listing(counts)})."
    return Dataset("carobd", version, trips, (), notes=_notes(trips))


def _read(path: Path) -> Recording:
    check_columns(path, NEEDED, TITLE)
    table = read_published(path)
    lacking = [name for name in NEEDED if name not in table.signals]
    if lacking or table.clock != "rows":
        message = (
            f"{path.name} is not a trip of {TITLE} as published: it has "
            f"{f'no numbers in {listing(lacking)}' if lacking else 'a column of times'}."
        )
        raise TableError(message)
    name = plain_name(path)
    return Recording(name, _timed(table), category=name.rstrip("0123456789"))


def _timed(table: TimeTable) -> TimeTable:
    """The table with times at the pace of its counter, which is no signal any more."""
    place = table.signals.index(COUNTER)
    counter = table.values[:, place]
    others = keep_signals(table, [name for name in table.signals if name != COUNTER])
    rows = np.arange(len(table))
    steps = np.diff(counter)
    if not (steps >= 0).all() or not steps.any():  # a missing value is no step either
        return others
    interval, start = (float(part) for part in np.polyfit(rows, counter, 1))
    if np.abs(counter - start - interval * rows).max() > MOST_OFF:
        return others
    return replace(
        others,
        time=np.rint(rows * (interval * NANOSECONDS)).astype(np.int64),
        interval=interval,
        clock="elapsed",
        notes=tuple(note for note in table.notes if note.kind != "no_time"),
    )


def _notes(trips: Sequence[Recording]) -> tuple[Note, ...]:
    timed = sum(trip.table.clock == "elapsed" for trip in trips)
    notes = (
        Note(
            "made_times",
            timed,
            f"Times were made at the even pace at which {COUNTER!r} grows: {timed} trips.",
        ),
        Note(
            "counters",
            len(COUNTERS),
            f"Counters that never fall: {listing(COUNTERS)}; leave them out to learn (--ignore).",
        ),
        Note(
            "no_faults",
            len(trips),
            "Nothing is wrong in any trip, so there is none to watch: learn from some, and every "
            "alarm in the others is false.",
        ),
    )
    return tuple(note for note in notes if note.count)
