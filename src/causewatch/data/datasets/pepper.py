"""Pepper: a humanoid robot at work, and under attacks on its LEDs, joints and wheels.

Known version: ``normal.csv`` (14,000 rows) and ``JointControl.csv``, ``LedsControl.csv``,
``WheelsControl.csv`` (4,244 rows together); a column ``timestamp`` in milliseconds and 255 signals.
Some names stand twice in the header; the second becomes e.g. ``LaserF01X.1``. No hash is public.

The files with attacks have no labels: all of their rows count as attacked. Which columns an attack
acts on is taken from its name: LEDs, joints (angle, not stiffness or temperature), or wheels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.checks import read_published
from causewatch.data.datasets.files import find_files, plain_name, read_columns
from causewatch.data.datasets.shaping import keep_signals, label_events
from causewatch.data.raw import file_name
from causewatch.data.table import Note, TimeTable
from causewatch.errors import TableError, listing

__all__ = ["COLUMNS", "load"]

JOINTS = tuple(
    """
    HeadYaw HeadPicth LShoulderPitch LShoulderRoll LElbowYaw LElbowRoll LWristYaw LHand
    RShoulderPitch RShoulderRoll RElbowYaw RElbowRoll RWristYaw Rhand HipRoll HipPicth KneePicth
    """.split()
)
WHEELS = ("WheelFL", "WheelFR", "WheelB")


def _lasers() -> tuple[str, ...]:
    def points(side: str, numbers: Sequence[int], suffix: str = "") -> list[str]:
        return [f"Laser{side}{n:02d}{axis}{suffix}" for n, axis in product(numbers, "XY")]

    # The left laser's first nine points are called like the front's in the files.
    return (
        *points("R", range(1, 16)),
        *points("F", range(1, 16)),
        *points("F", range(1, 10), ".1"),
        *points("L", range(10, 16)),
        *points("Shovel", range(1, 4)),
        *points("VeR", [1]),
        *points("VeL", [1]),
    )


LEDS = (
    *[f"LedFace{c}{side}{n}" for side, c, n in product("LR", "RGB", range(1, 9))],
    *[f"LedEar{side}{n}" for side, n in product("RL", range(1, 11))],
    *[f"LedShoulder{colour}" for colour in "RGB"],
)
SENSORS = ("Gyroscope", "Angles", "Accelerometer")
TOUCH = tuple(
    """
    TouchHeadF TouchHeadR TouchHeadM TouchLHand TouchRHand ChestButton BumperFR BumperFL BumperB
    TabletTouchX TabletTouchY
    """.split()
)
COLUMNS = (
    *JOINTS,
    *[f"{wheel}Speed" for wheel in WHEELS],
    *_lasers(),
    *("SonarF", "SonarB", "InfraRedL", "InfraRedR"),
    *LEDS,
    *[f"{sensor}{axis}" for sensor, axis in product(SENSORS, "XYZ")],
    *TOUCH,
    *[f"{part}Stiff" for part in (*JOINTS, *WHEELS)],
    *[f"{part}Temp" for part in (*JOINTS, *WHEELS)],
)
"""The 255 signals, in the order of the files."""

ATTACKS = {
    "led": ("LEDs", LEDS),
    "joint": ("joints", JOINTS),
    "wheel": ("wheels", tuple(f"{wheel}Speed" for wheel in WHEELS)),
}
"""What an attack acts on, by a word in its file's name."""

ROWS, ATTACK_ROWS = 14_000, 4_244
EXPECTED = "normal.csv and JointControl.csv, LedsControl.csv or WheelsControl.csv"


def load(paths: Sequence[Path]) -> Dataset:
    """Load Pepper from a folder or from its files."""
    files = find_files(paths, "Pepper", EXPECTED)
    kinds = {path: _kind(path) for path in files}
    for path in paths:
        if path.is_file() and not kinds[path]:
            message = f"{file_name(path)} is no file of Pepper, which consists of {EXPECTED}."
            raise TableError(message)
    normal = [path for path in files if kinds[path] == "normal"]
    attacked = [path for path in files if kinds[path] in ATTACKS]
    if len(normal) != 1 or not attacked:
        found = listing(file_name(path) for path in files)
        message = f"Pepper consists of {EXPECTED}, one file each; found {found}."
        raise TableError(message)
    names = [kinds[path] for path in attacked]
    if len(set(names)) < len(names):
        message = (
            f"There are several files of one attack ({listing(map(file_name, attacked))}); give "
            "one of each."
        )
        raise TableError(message)
    notes: list[Note] = []
    learn = Recording(plain_name(normal[0]), _read(normal[0], notes), category="normal")
    test = []
    for path in attacked:
        table = _read(path, notes)
        table = replace(table, labels=np.ones(len(table)))
        what, columns = ATTACKS[kinds[path]]
        touched = tuple(column for column in columns if column in table.signals)
        test.append(Recording(plain_name(path), table, _event(table, path, what, touched), what))
    return Dataset("pepper", _version(learn, test), (learn,), tuple(test), _parts(), tuple(notes))


def _kind(path: Path) -> str:
    name = path.name.lower()
    return next((word for word in ("normal", *ATTACKS) if word in name), "")


def _read(path: Path, notes: list[Note]) -> TimeTable:
    name = file_name(path)
    columns = read_columns(path)
    missing = [column for column in COLUMNS if column not in columns]
    if len(missing) > len(COLUMNS) / 2:
        message = (
            f"{name} does not have the columns of Pepper; expected HeadYaw, HeadPicth and 253 "
            f"more, found {listing(columns, 4)}."
        )
        raise TableError(message)
    stamp = next((c for c in columns if re.fullmatch(r"time.?(stamp)?", c.lower())), None)
    if stamp is None:
        message = f"{name} has no column timestamp; the file as published has one."
        raise TableError(message)
    table = read_published(path, time=stamp)
    if table.clock == "elapsed":  # milliseconds since some start, read as seconds
        table = replace(table, time=table.time // 1000, interval=table.interval / 1000)
    if missing:
        text = f"Columns that {name} does not have: {listing(missing)}."
        notes.append(Note("missing_columns", len(missing), text))
    more = [signal for signal in table.signals if signal not in COLUMNS]
    if more:
        text = f"Columns of {name} that are none of the 255 were left out: {listing(more)}."
        notes.append(Note("extra_columns", len(more), text))
    return keep_signals(table, [column for column in COLUMNS if column in table.signals])


def _event(table: TimeTable, path: Path, what: str, signals: tuple[str, ...]) -> tuple[Event, ...]:
    """One event from the first row to the last."""
    runs = label_events(table)
    start, end = min(run.start for run in runs), max(run.end for run in runs)
    return (Event(plain_name(path), start, end, signals, f"the {what} are taken over"),)


def _version(normal: Recording, test: Sequence[Recording]) -> str:
    rows = normal.table.files[0].rows
    attacked = sum(recording.table.files[0].rows for recording in test)
    found = f"{rows:,} normal rows and {attacked:,} rows in {len(test)} files with attacks"
    if rows == ROWS and (attacked == ATTACK_ROWS or len(test) < len(ATTACKS)):
        return f"Pepper as published: {found}."
    return (
        f"Pepper by its columns: {found}, where the published files have {ROWS:,} and "
        f"{ATTACK_ROWS:,} in {len(ATTACKS)}."
    )


def _parts() -> dict[str, tuple[str, ...]]:
    """The parts of the robot and their signals."""
    wheels = ATTACKS["wheel"][1]
    more = {
        "joints": [c for part in JOINTS for c in (f"{part}Stiff", f"{part}Temp")],
        "wheels": [c for part in WHEELS for c in (f"{part}Stiff", f"{part}Temp")],
    }
    ranging = (*_lasers(), "SonarF", "SonarB", "InfraRedL", "InfraRedR")
    motion = tuple(c for c in COLUMNS if c.startswith(SENSORS))
    return {
        "joints": (*JOINTS, *more["joints"]),
        "wheels": (*wheels, *more["wheels"]),
        "ranging": ranging,
        "LEDs": LEDS,
        "motion": motion,
        "touch": TOUCH,
    }
