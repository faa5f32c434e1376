"""Tennessee Eastman process, the recordings of the Braatz group: a simulated chemical plant.

52 signals, one row every 3 minutes: ``XMEAS_1`` to ``XMEAS_41`` are measured, ``XMV_1`` to
``XMV_11`` are the controllers' commands (XMV 12, the agitator speed, is constant and not in the
files). Rows have no times; they are counted from 0 s.

====================  ===========================================================================
``d00.dat``           normal, 500 rows; the published file is stored transposed (52 × 500), copies
                      the right way round are read too. This is the recording to learn from
``d00_te.dat``        normal, 960 rows
``d01_te.dat`` …      fault 1 to 21, 960 rows; the fault begins after row 160 (8 hours)
``d01.dat`` …         fault 1 to 21, 480 rows, meant for training classifiers. The runs had 500
                      rows and the fault began after one hour; the 20 rows before it were not kept.
                      So the fault acts from the first row, and there is no normal part
====================  ===========================================================================

The ``_te`` files are the test recordings. The ``d01.dat`` … files are left out, as nothing normal
is in them, unless `load` is called with ``training_faults=True``.

Events name the signals next to where the fault acts, for the faults whose place is known as a
signal. Faults 3, 9 and 15 are generally held to be undetectable from these signals; 16 to 20 were
never disclosed. Analysers are slow: XMEAS 23 to 36 change every 6 minutes and XMEAS 37 to 41 every
15 minutes, and hold their value in between.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.checks import read_published
from causewatch.data.datasets.files import find_files
from causewatch.data.table import NANOSECONDS, Note, TimeTable
from causewatch.errors import TableError

__all__ = ["FAULTS", "Fault", "load"]

SIGNALS = (*(f"XMEAS_{k}" for k in range(1, 42)), *(f"XMV_{k}" for k in range(1, 12)))
INTERVAL = 180.0
ONSET = 160
"""The first row with the fault in a test recording."""
NAME = re.compile(r"d(\d\d)(_te)?\.dat", re.IGNORECASE)
NORMAL_ROWS, TEST_ROWS, FAULT_ROWS = 500, 960, 480
UNDETECTABLE = (3, 9, 15)


@dataclass(frozen=True, slots=True)
class Fault:
    """A disturbance of the process: what it is, and the signals next to where it acts."""

    description: str
    signals: tuple[str, ...] = ()


def _fault(description: str, *columns: int) -> Fault:
    """A fault whose signals are given by column number, from 1."""
    return Fault(description, tuple(SIGNALS[column - 1] for column in columns))


FAULTS = {
    1: _fault("A/C feed ratio, B composition constant (stream 4), step", 4, 44, 45, 1),
    2: _fault("B composition, A/C ratio constant (stream 4), step", 10, 30, 47),
    3: _fault("D feed temperature (stream 2), step"),
    4: _fault("Reactor cooling water inlet temperature, step", 9, 51),
    5: _fault("Condenser cooling water inlet temperature, step", 11, 22, 52),
    6: _fault("A feed loss (stream 1), step", 1, 44),
    7: _fault("C header pressure loss (stream 4), step", 4, 45, 16),
    8: _fault("A, B, C composition of stream 4, random", 4, 16, 20),
    9: _fault("D feed temperature (stream 2), random"),
    10: _fault("C feed temperature (stream 4), random", 18, 50),
    11: _fault("Reactor cooling water inlet temperature, random", 9, 51),
    12: _fault("Condenser cooling water inlet temperature, random", 11, 22, 52),
    13: _fault("Reaction kinetics, slow drift"),
    14: _fault("Reactor cooling water valve sticks", 9, 21, 51),
    15: _fault("Condenser cooling water valve sticks", 11, 22, 52),
    **{number: _fault("Not disclosed") for number in range(16, 21)},
    21: _fault("Valve of stream 4 held in its steady position", 45),
}
STAGES = {
    "continuous measurements": SIGNALS[:22],
    "reactor feed analysis": SIGNALS[22:28],
    "purge gas analysis": SIGNALS[28:36],
    "product analysis": SIGNALS[36:41],
    "commands": SIGNALS[41:],
}


def load(paths: Sequence[Path], *, training_faults: bool = False) -> Dataset:
    """Load the Tennessee Eastman recordings.

    Parameters
    ----------
    paths
        The folder that holds ``d00.dat``, ``d00_te.dat`` and so on, or such files.
    training_faults
        Whether ``d01.dat`` … ``d21.dat``, which are faulty from their first row, are given as test
        recordings too.
    """
    expected = "d00.dat (normal) and d01_te.dat to d21_te.dat"
    files: dict[str, Path] = {}
    for path in find_files(paths, "Tennessee Eastman", expected):
        if NAME.fullmatch(path.name):
            files.setdefault(path.name[:-4].lower(), path)
    known = [name for name in files if _number(name) in (0, *FAULTS)]
    if "d00" not in known or not any(name.endswith("_te") for name in known):
        missing = "recording of the normal process, d00.dat," if "d00" not in known else "_te file"
        message = (
            f"No {missing} was found among the {len(known)} files of the Tennessee Eastman "
            f"process; expected {expected}."
        )
        raise TableError(message)
    tests = [name for name in known if name.endswith("_te")]
    left_out = [name for name in known if name != "d00" and not name.endswith("_te")]
    if training_faults:
        tests, left_out = [*tests, *left_out], []
    normal = _read("d00", files["d00"])
    test = tuple(_read(name, files[name]) for name in tests)
    return Dataset("tep", _version(test), (normal,), test, STAGES, _notes(test, len(left_out)))


def _number(name: str) -> int:
    return int(name[1:3])


def _read(name: str, path: Path) -> Recording:
    """One file; the number of its rows tells whether it is whole."""
    number, test = _number(name), name.endswith("_te")
    rows = TEST_ROWS if test else FAULT_ROWS if number else NORMAL_ROWS
    raw = read_published(path)
    values = raw.values
    transposed = values.shape == (len(SIGNALS), rows)
    if transposed:
        values = np.ascontiguousarray(values.T)
    if values.shape != (rows, len(SIGNALS)):
        message = (
            f"{path.name} has {values.shape[0]} rows and {values.shape[1]} columns; {rows} rows "
            f"and {len(SIGNALS)} columns without a header were published, so download it again."
        )
        raise TableError(message)
    table = replace(
        raw,
        signals=SIGNALS,
        values=values,
        time=np.arange(rows, dtype=np.int64) * round(INTERVAL * NANOSECONDS),
        starts=np.zeros(1, dtype=np.intp),
        interval=INTERVAL,
        clock="elapsed",
        labels=np.zeros(rows),
        file_rows=None,
        files=tuple(replace(file, rows=rows) for file in raw.files),
        notes=_reading(path.name, transposed),
    )
    if number == 0:
        return Recording(name, table, category="normal")
    return _faulty(name, table, number, ONSET if test else 0)


def _reading(name: str, transposed: bool) -> tuple[Note, ...]:
    notes = [Note("no_time", 1, f"{name} has no times; its rows are 3 minutes apart.")]
    if transposed:
        text = f"{name} is stored with rows and columns exchanged; they were put back."
        notes.append(Note("transposed", 1, text))
    return tuple(notes)


def _faulty(name: str, table: TimeTable, number: int, onset: int) -> Recording:
    labels = np.zeros(len(table))
    labels[onset:] = 1.0
    fault, step = FAULTS[number], round(INTERVAL * NANOSECONDS)
    event = Event(
        str(number), onset * step, len(table) * step, fault.signals, f"{fault.description}."
    )
    return Recording(name, replace(table, labels=labels), (event,), f"fault {number}")


def _version(test: Sequence[Recording]) -> str:
    faults = {int(event.name) for one in test if one.name.endswith("_te") for event in one.events}
    start = (
        "Tennessee Eastman recordings of the Braatz group (University of Illinois, 1998 to 2002)"
    )
    missing = sorted(FAULTS.keys() - faults)
    if not missing and any(one.name == "d00_te" for one in test):
        return f"{start}, complete: 21 faults and two normal recordings."
    lacking = [*(f"d{number:02d}_te.dat" for number in missing)]
    if all(one.name != "d00_te" for one in test):
        lacking.insert(0, "d00_te.dat")
    return f"{start}, in part: {len(faults)} faults; without {', '.join(lacking)}."


def _notes(test: Sequence[Recording], left_out: int) -> tuple[Note, ...]:
    found = {int(event.name) for one in test for event in one.events}
    notes = []
    if hard := sorted(found.intersection(UNDETECTABLE)):
        text = (
            f"Faults {', '.join(map(str, hard))} are generally held to be undetectable from these "
            "signals; give figures with and without them."
        )
        notes.append(Note("undetectable", len(hard), text))
    if unplaced := sorted(number for number in found if not FAULTS[number].signals):
        text = (
            "Faults whose place is not known as a signal, and which causes cannot be ranked for: "
            f"{', '.join(map(str, unplaced))}."
        )
        notes.append(Note("unknown_place", len(unplaced), text))
    if left_out:
        text = (
            f"Files dNN.dat that are faulty from their first row and were left out: {left_out}; "
            "ask for training_faults to get them as test recordings."
        )
        notes.append(Note("training_faults", left_out, text))
    return tuple(notes)
