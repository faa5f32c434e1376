"""BATADAL, the battle of the attack detection algorithms: a simulated water network (C-Town).

43 signals, one row an hour: levels of 7 tanks (``L_T1``), flow and state of 11 pumps and a valve
(``F_PU1``, ``S_PU1``), pressures at 12 nodes (``P_J280``). Times are written ``06/01/14 00``: day,
month, year, hour, without a zone.

====================  ===========================================================================
``dataset03.csv``     a year of normal work, 8,761 rows: the recording to learn from
``dataset04.csv``     attacks 1 to 7, 4,177 rows. As first published only part of the attack hours
                      is labelled, and −999 stands for "not labelled", not for "normal"; such rows
                      have the label NaN. Later copies are fully labelled with 0 and 1
``test_dataset.csv``  attacks 8 to 14, 2,089 rows. As first published it has no label column; the
                      labels are then taken from the publisher's list of attacks
====================  ===========================================================================

Names may begin with ``BATADAL_``. Times of attacks are those of the publisher's list; where each
acts and what it hides is retold from descriptions of the competition. Several attacks replay
recorded values so that the signals next to them look normal; the description says which. Times
agree with the labels to the hour. Places agree with what the files show (replayed hours, pumps
that never run otherwise), except for attacks 9 and 14, which leave too little trace to tell.

`dataset03.csv` is written with up to 9 digits, the other two are rounded to two decimals. A
detector that learns very small noise from the first will see the rounding of the others as change.
The stages are the nine controllers (PLC) and the signals each reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.checks import check_columns, check_rows, read_published
from causewatch.data.datasets.files import find_files, plain_name
from causewatch.data.datasets.shaping import event_labels, moment, touches
from causewatch.data.table import Note, TimeTable
from causewatch.errors import TableError, listing

__all__ = ["ATTACKS", "Attack", "load"]

TITLE = "BATADAL"
NAME = re.compile(r"(?:batadal_)?(dataset03|dataset04|test_dataset)", re.IGNORECASE)
ROWS = {"dataset03": 8761, "dataset04": 4177, "test_dataset": 2089}
TIME, TIME_FORMAT, LABELS = "DATETIME", "%d/%m/%y %H", "ATT_FLAG"


def _actuators(*names: str) -> tuple[str, ...]:
    """Flow and state of pumps and valves."""
    return tuple(f"{kind}_{name}" for name in names for kind in "FS")


STAGES = {
    "PLC1": (*_actuators("PU1", "PU2", "PU3"), "P_J280", "P_J269"),
    "PLC2": ("L_T1",),
    "PLC3": ("L_T2", *_actuators("PU4", "PU5", "PU6", "PU7", "V2"), "P_J300", "P_J256", "P_J289",
             "P_J415", "P_J14", "P_J422"),
    "PLC4": ("L_T3",),
    "PLC5": (*_actuators("PU8", "PU9", "PU10", "PU11"), "P_J302", "P_J306", "P_J307", "P_J317"),
    "PLC6": ("L_T4",),
    "PLC7": ("L_T5",),
    "PLC8": ("L_T6",),
    "PLC9": ("L_T7",),
}  # fmt: skip
SIGNALS = tuple(signal for stage in STAGES.values() for signal in stage)


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack as disclosed: first and last hour (ISO 8601), where it acts, and what was done."""

    number: int
    first: str
    last: str
    signals: tuple[str, ...]
    description: str


TANK_1 = ("L_T1", *_actuators("PU1", "PU2"))
TANK_2 = ("L_T2", *_actuators("V2"))
TANK_3 = ("L_T3", *_actuators("PU4", "PU5"))
TANK_4 = ("L_T4", *_actuators("PU6", "PU7"))
TANK_7 = ("L_T7", *_actuators("PU10", "PU11"))
ATTACKS = (
    Attack(1, "2016-09-13T23", "2016-09-16T00", TANK_7,
           "Switching levels of T7 changed, so PU10 and PU11 let it run low; L_T7 replayed."),
    Attack(2, "2016-09-26T11", "2016-09-27T10", TANK_7,
           "As attack 1; PU10 and PU11 replayed too."),
    Attack(3, "2016-10-09T09", "2016-10-11T20", TANK_1,
           "T1 reported low, so PU1 and PU2 stay on and it overflows; L_T1 offset in part."),
    Attack(4, "2016-10-29T19", "2016-11-02T16", TANK_1,
           "As attack 3; L_T1, PU1, PU2 and the pressure behind them replayed."),
    Attack(5, "2016-11-26T17", "2016-11-29T04", _actuators("PU7"),
           "Speed of PU7 lowered, so T4 runs low."),
    Attack(6, "2016-12-06T07", "2016-12-10T04", TANK_4,
           "Speed of PU7 lowered further; L_T4 replayed."),
    Attack(7, "2016-12-14T15", "2016-12-19T04", TANK_4,
           "As attack 6; PU6 and PU7 replayed too."),
    Attack(8, "2017-01-16T09", "2017-01-19T06", TANK_3,
           "Switching levels of T3 changed, so PU4 and PU5 let it run low; all three replayed."),
    Attack(9, "2017-01-30T08", "2017-02-02T00", TANK_2,
           "T2 reported low, so V2 stays open and it overflows; L_T2 offset in part."),
    Attack(10, "2017-02-09T03", "2017-02-10T09", _actuators("PU3"), "PU3 switched on."),
    Attack(11, "2017-02-12T01", "2017-02-13T07", _actuators("PU3"), "PU3 switched on."),
    Attack(12, "2017-02-24T05", "2017-02-28T08", TANK_2,
           "As attack 9; L_T2 and V2 replayed."),
    Attack(13, "2017-03-10T14", "2017-03-13T21", TANK_7,
           "Switching levels of T7 changed, so PU10 and PU11 switch often; all three replayed."),
    Attack(14, "2017-03-25T20", "2017-03-27T01", ("L_T4",), "The level of T4 altered on its way."),
)  # fmt: skip


def load(paths: Sequence[Path]) -> Dataset:
    """Load BATADAL.

    Parameters
    ----------
    paths
        The folder that holds ``dataset03.csv``, ``dataset04.csv`` and ``test_dataset.csv``, or
        these files; one of the last two may be missing.
    """
    expected = f"the files {listing(f'{name}.csv' for name in ROWS)}"
    files: dict[str, Path] = {}
    for path in find_files(paths, TITLE, expected):
        if match := NAME.fullmatch(plain_name(path)):
            files.setdefault(match[1].lower(), path)
    if "dataset03" not in files or len(files) < 2:
        missing = [f"{name}.csv" for name in ROWS if name not in files]
        message = f"{TITLE} is incomplete: {listing(missing)} not found; expected {expected}."
        raise TableError(message)
    notes: list[Note] = []
    read = {name: _read(name, files[name], notes) for name in ROWS if name in files}
    normal = read.pop("dataset03")
    return Dataset(
        "batadal",
        _version(read),
        (normal,),
        tuple(read.values()),
        STAGES,
        (*notes, *_rounding(normal, read.values())),
    )


def _read(name: str, path: Path, notes: list[Note]) -> Recording:
    columns = check_columns(path, (TIME, *SIGNALS), TITLE)
    labelled = LABELS in columns
    table = read_published(
        path,
        time=TIME,
        time_format=TIME_FORMAT,
        labels=LABELS if labelled else None,
        ignore=[column for column in columns if column not in (TIME, LABELS, *SIGNALS)],
    )
    check_rows(path.name, len(table), ROWS[name])
    events = tuple(event for event in map(_event, ATTACKS) if touches(event, table))
    if not labelled:
        table = replace(table, labels=event_labels(table, events))
        text = f"{path.name} has no column {LABELS}; labels are taken from the disclosed attacks."
        notes.append(Note("labels_from_list", len(table), text))
    _check_labels(path.name, table, events, notes)
    return Recording(name, table, events, "normal" if name == "dataset03" else "attacks")


def _event(attack: Attack) -> Event:
    """An attack as an event; the last hour belongs to it."""
    start, last = moment(f"{attack.first}:00"), moment(f"{attack.last}:00")
    hour = moment("1970-01-01T01:00")
    return Event(str(attack.number), start, last + hour, attack.signals, attack.description)


def _check_labels(name: str, table: TimeTable, events: Sequence[Event], notes: list[Note]) -> None:
    """Say where the labels contradict the disclosed attacks."""
    assert table.labels is not None
    truth = event_labels(table, events)
    wrong = (table.labels == 1) & (truth == 0) | (table.labels == 0) & (truth == 1)
    if count := int(wrong.sum()):
        text = f"Rows of {name} whose label contradicts the disclosed attacks: {count:,}."
        notes.append(Note("labels_differ", count, text))


def _version(test: dict[str, Recording]) -> str:
    kinds = []
    for name, recording in test.items():
        labels = recording.table.labels
        assert labels is not None
        kind = "labelled in part" if np.isnan(labels).any() else "labelled in full"
        kinds.append(f"{name}, {kind}, with {len(recording.events)} attacks")
    return f"BATADAL: dataset03, normal; {'; '.join(kinds)}."


def _rounding(normal: Recording, test: Iterable[Recording]) -> list[Note]:
    """Say if the test recordings are rounded and the normal one is not."""
    rounded = [one.name for one in test if _is_rounded(one.table)]
    if not rounded or _is_rounded(normal.table):
        return []
    text = (
        f"{listing(rounded)} are rounded to two decimals and {normal.name} is not; very small "
        "noise learned from it is not found in them."
    )
    return [Note("rounding", len(rounded), text)]


def _is_rounded(table: TimeTable) -> bool:
    """Whether all values have at most two decimals."""
    hundredths = table.values * 100
    return bool(np.nanmax(np.abs(hundredths - np.round(hundredths))) < 1e-6)
