"""SKAB, the Skoltech Anomaly Benchmark: a water circulation testbed, version 0.9.

A pump drives water round a loop; 8 signals, one row a second, times without a zone. The folder
``anomaly-free`` holds one recording of normal work (9,405 rows). Each of the 34 files in
``valve1``, ``valve2`` and ``other`` is one experiment of about 1,100 rows that starts and ends
normal, with columns ``anomaly`` and ``changepoint``.

Every experiment is a test recording, with one event where it is labelled anomalous. What was done
is known by folder and file, but not as a signal: none of the 8 signals is a valve. So the events
name no signals, and causes cannot be ranked on this dataset.

Before you trust a figure measured here: the anomaly lies in the same part of nearly every file.
The rule "row 570 or later" alone scores F1 0.808 over all rows, and 0.816 over the rows from 400
on, without looking at a single signal. So F1 without the false alarms says nothing.
``other/2.csv`` is anomalous from row 104: leave it out where the first 400 rows of each experiment
must be normal.
The anomaly-free recording is of another day than most experiments, and its levels differ: the mean
flow is 125 there and 64 in the first 400 rows of the experiments.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.checks import check_columns, check_rows, read_published
from causewatch.data.datasets.files import find_files, plain_name
from causewatch.data.datasets.shaping import label_events
from causewatch.data.table import Note, TimeTable
from causewatch.errors import TableError, listing

__all__ = ["load"]

SIGNALS = ("Accelerometer1RMS", "Accelerometer2RMS", "Current", "Pressure", "Temperature",
           "Thermocouple", "Voltage", "Volume Flow RateRMS")  # fmt: skip
NORMAL = "anomaly-free"
WHAT = {
    "valve1": "The valve at the inlet of the pump is closed.",
    "valve2": "The valve at the outlet of the pump is closed.",
    "other": "Another disturbance of the loop.",
}
OTHER = {
    **dict.fromkeys(("1", "2", "3", "4"), "Water leaks or is added."),
    "5": "Rotor imbalance, sudden.",
    "6": "Rotor imbalance, linear.",
    "7": "Rotor imbalance, in steps.",
    "8": "Rotor imbalance, as single pulses.",
    "9": "Rotor imbalance, exponential.",
    "10": "Water is added slowly.",
    "11": "Water is added suddenly.",
    "12": "The tank is drained until the pump cavitates.",
    "13": "Water and air reach the inlet of the pump (cavitation).",
    "14": "Warmer water is supplied.",
}
ROWS = {
    NORMAL: (9405,),
    "valve1": (1147, 1145, 1075, 1148, 1095, 1154, 1154, 1094, 1144, 1148, 1146, 1141, 1140, 1140,
               1139, 1150),
    "valve2": (1125, 1063, 1129, 995),
    "other": (745, 780, 1137, 1191, 1155, 1147, 1090, 1147, 1144, 1327, 1190, 1048, 923, 905),
}  # fmt: skip
"""Rows of each file as published, in the order of their numbers."""
FIRST = {NORMAL: 0, "valve1": 0, "valve2": 0, "other": 1}
"""The number of the first file of each folder."""


def load(paths: Sequence[Path]) -> Dataset:
    """Load SKAB.

    Parameters
    ----------
    paths
        The folder that holds ``anomaly-free``, ``valve1``, ``valve2`` and ``other`` (at any
        depth), or files out of these folders.
    """
    expected = f"CSV files in the folders {listing(ROWS)}"
    files = [path for path in find_files(paths, "SKAB", expected) if path.parent.name in ROWS]
    normal = [_read(path) for path in files if path.parent.name == NORMAL]
    test = [_read(path) for path in files if path.parent.name != NORMAL]
    if not normal or not test:
        missing = listing(WHAT) if normal else NORMAL
        message = (
            f"No file of SKAB was found in a folder {missing}; give the folder that holds "
            f"{listing(ROWS)}."
        )
        raise TableError(message)
    return Dataset("skab", _version(normal, test), tuple(normal), tuple(test), notes=_notes(test))


def _read(path: Path) -> Recording:
    folder, number = path.parent.name, plain_name(path)
    needed = ("datetime", *SIGNALS, *(() if folder == NORMAL else ("anomaly", "changepoint")))
    columns = check_columns(path, needed, "SKAB")
    more = [column for column in columns if column not in ("datetime", "anomaly", *SIGNALS)]
    if folder == NORMAL:
        table = read_published(path, time="datetime", ignore=more)
        name, what = number, ""
    else:
        table = read_published(path, time="datetime", labels="anomaly", ignore=more)
        name = f"{folder}-{number}"
        what = OTHER.get(number, WHAT[folder]) if folder == "other" else WHAT[folder]
    published = _published_rows(folder, number)
    if published is not None:
        check_rows(f"{folder}/{path.name}", len(table), published)
    return Recording(name, table, _event(table, name, what), folder)


def _event(table: TimeTable, name: str, what: str) -> tuple[Event, ...]:
    """The one anomaly of an experiment; a gap inside does not make two of it."""
    runs = label_events(table)
    return (Event(name, runs[0].start, runs[-1].end, (), what),) if runs else ()


def _published_rows(folder: str, number: str) -> int | None:
    """How many rows a file should have; None where the file is not known."""
    if folder == NORMAL:
        return ROWS[NORMAL][0] if number == NORMAL else None
    place = int(number) - FIRST[folder] if number.isdigit() else -1
    return ROWS[folder][place] if 0 <= place < len(ROWS[folder]) else None


def _version(normal: Sequence[Recording], test: Sequence[Recording]) -> str:
    rows = sum(len(one.table) for one in test)
    found = (
        f"{len(test)} experiments with {rows:,} rows and "
        f"{sum(len(one.table) for one in normal):,} normal rows"
    )
    experiments = [rows for folder in WHAT for rows in ROWS[folder]]
    whole = (len(test), rows) == (len(experiments), sum(experiments))
    if whole and [len(one.table) for one in normal] == list(ROWS[NORMAL]):
        return f"SKAB version 0.9, complete: {found}."
    return f"SKAB, not version 0.9 as a whole (34 experiments with 37,401 rows): {found}."


def _notes(test: Sequence[Recording]) -> tuple[Note, ...]:
    notes = [
        Note(
            "same_place",
            len(test),
            'The anomaly lies in the same part of nearly every file: the rule "row 570 or later" '
            "alone scores F1 0.808, so look at the false alarms too.",
        ),
        Note(
            "no_causes",
            len(test),
            "No signal is a valve, so the events name no signals and causes cannot be ranked.",
        ),
    ]
    early = [one.name for one in test if one.events and _first_row(one) < 400]
    if early:
        notes.append(
            Note(
                "early_anomaly",
                len(early),
                f"Anomalous within the first 400 rows: {', '.join(early)}; leave it out where "
                "experiments must begin normal.",
            )
        )
    return tuple(notes)


def _first_row(recording: Recording) -> int:
    return int(recording.table.time.searchsorted(recording.events[0].start))
