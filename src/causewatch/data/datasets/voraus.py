"""voraus-AD: a robot arm that picks and places cans, with twelve kinds of faults.

One Parquet file, at 100 Hz (about 2.5 GB in memory) or 500 Hz (12.5 GB), with 130 machine signals:
4 of the robot (``robot_voltage``, ``robot_current``, ``io_current``, ``system_current``) and 21 of
each of its 6 axes (``motor_torque_3``). Which of the two it is, is told by its times. Where memory
is short, load just some of the signals.

The robot repeats one cycle of some ten seconds. Each cycle is a *sample* and labelled as a whole:
it is normal, or of one of 12 categories. So every sample is a recording of its own, its `category`
says what kind it is, and in a faulty one the event lasts from its first to its last row. Where a
fault sits on one axis, the event names that axis's signals; else it names none.

The published protocol learns from the samples of the setting "before, A" (number 72; samples 755 to
1702, i.e. 948 in the complete file) and tests on all others. Each test sample gets one score. The
figure is the area under the ROC curve of each category against all normal test samples, then the
mean over the categories. Scoring by row instead counts thousands of rows that cannot be told from
normal: use :func:`samples`.

The columns ``action`` and ``active`` (what the robot is doing) are left out with the other columns
about the sample (``sample``, ``anomaly``, ``category``, ``setting``): they are not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.checks import check_columns
from causewatch.data.datasets.files import find_files
from causewatch.data.source import open_table
from causewatch.data.table import NANOSECONDS, TableSource, TimeTable
from causewatch.errors import TableError, UnknownNameError

__all__ = ["CATEGORIES", "SIGNALS", "load", "samples"]

TITLE = "voraus-AD"
ROBOT = ("robot_voltage", "robot_current", "io_current", "system_current")
OF_AN_AXIS = ("target_position", "target_velocity", "target_acceleration", "target_torque",
              "computed_inertia", "computed_torque", "motor_position", "motor_velocity",
              "joint_position", "joint_velocity", "motor_torque", "torque_sensor_a",
              "torque_sensor_b", "motor_iq", "motor_id", "power_motor_el", "power_motor_mech",
              "power_load_mech", "motor_voltage", "supply_voltage", "brake_voltage")  # fmt: skip
AXES = {axis: tuple(f"{kind}_{axis}" for kind in OF_AN_AXIS) for axis in range(1, 7)}
SIGNALS = (*ROBOT, *(signal for axis in AXES.values() for signal in axis))
STAGES = {"robot": ROBOT, **{f"axis {axis}": signals for axis, signals in AXES.items()}}
ABOUT = ("sample", "category", "setting")
"""Columns that say which sample a row is of, and what is true of it."""
CATEGORIES = {
    0: "axis friction",
    1: "axis weight",
    2: "collision with foam",
    3: "collision with cable",
    4: "collision with carton",
    5: "can missed",
    6: "can lost",
    7: "can weight",
    8: "entangled",
    9: "invalid gripping position",
    10: "motor commutation",
    11: "wobbling station",
    12: "normal",
}
NORMAL_CATEGORY, TRAINING_SETTING = 12, 72
TRAINING_SAMPLES = 948
RATES = {100: "100 Hz", 500: "500 Hz"}
AXIS_OF_SETTING = {
    setting: axis
    for axis, settings in {
        1: (0, 1, 14, 15, 16, 62, 63),
        2: (2, 3, 17, 18, 19, 64),
        3: (4, 5, 6, 20, 21, 22, 65),
        4: (7, 8, 9, 23, 24, 25, 66),
        5: (10, 11, 26, 27, 28, 67),
        6: (12, 13, 29, 30, 31, 68),
    }.items()
    for setting in settings
}
"""The axis a fault sits on, for friction, weight and commutation; by number of the setting."""


@dataclass(slots=True)
class _Sample:
    """The rows of one sample, in pieces as they are read."""

    category: int
    setting: int
    values: list[NDArray[np.float64]] = field(default_factory=list)
    time: list[NDArray[np.int64]] = field(default_factory=list)
    labels: list[NDArray[np.float64]] = field(default_factory=list)
    opens: list[NDArray[np.bool_]] = field(default_factory=list)


def load(paths: Sequence[Path], *, signals: Sequence[str] | None = None) -> Dataset:
    """Load voraus-AD.

    Parameters
    ----------
    paths
        The Parquet file, or the folder that holds it (and no other table).
    signals
        Machine signals to load; all 130 if None.
    """
    expected = "one file, voraus-ad-dataset-100hz.parquet (or 500hz)"
    files = find_files(paths, TITLE, expected)
    if len(files) > 1:
        message = f"{TITLE} is {expected}, and {len(files)} tables were found; name one of them."
        raise TableError(message)
    wanted = SIGNALS if signals is None else tuple(dict.fromkeys(signals))
    for name in wanted:
        if name not in SIGNALS:
            raise UnknownNameError(name, f"signal of {TITLE}", SIGNALS)
    path = files[0]
    columns = check_columns(path, ("time", "anomaly", *ABOUT, *wanted), TITLE)
    kept = {"time", "anomaly", *ABOUT, *wanted}
    opened = open_table(
        path, time="time", labels="anomaly", ignore=[name for name in columns if name not in kept]
    )
    found = _collect(opened, wanted, path.name)
    recordings = {
        number: _recording(number, sample, opened, wanted, path.name)
        for number, sample in sorted(found.items())
    }
    normal = tuple(recordings[n] for n in recordings if found[n].setting == TRAINING_SETTING)
    test = tuple(recordings[n] for n in recordings if found[n].setting != TRAINING_SETTING)
    if not normal or not test:
        missing = "to learn from (setting 72)" if not normal else "to test on (other settings)"
        message = f"{path.name} holds no samples {missing}; use the complete file of {TITLE}."
        raise TableError(message)
    inside = set(wanted)
    stages = {
        stage: kept_signals
        for stage, names in STAGES.items()
        if (kept_signals := tuple(name for name in names if name in inside))
    }
    # That times begin again with each sample is how the file is meant.
    notes = tuple(note for note in opened.notes if note.kind != "clock_jumps")
    return Dataset("voraus", _version(normal, test), normal, test, stages, notes)


def samples(dataset: Dataset) -> tuple[tuple[Recording, bool], ...]:
    """The test samples, each with whether it is anomalous: the unit this dataset is scored by."""
    return tuple((recording, bool(recording.events)) for recording in dataset.test)


def _collect(opened: TableSource, wanted: Sequence[str], name: str) -> dict[int, _Sample]:
    """The rows of all samples; each row is held once, as the complete file is large."""
    places = {signal: place for place, signal in enumerate(opened.signals)}
    for signal in (*ABOUT, *wanted):
        if signal not in places:
            message = f"Column {signal!r} of {name} holds no numbers; download the file again."
            raise TableError(message)
    about = [places[signal] for signal in ABOUT]
    machine = [places[signal] for signal in wanted]
    found: dict[int, _Sample] = {}
    for chunk in opened.chunks():
        facts = chunk.values[:, about]
        if not np.isfinite(facts).all():
            message = f"{name} has rows without {', '.join(ABOUT)}; download the file again."
            raise TableError(message)
        opens = np.zeros(len(chunk), dtype=np.bool_)
        opens[chunk.starts] = True
        edges = [0, *(np.flatnonzero(np.any(np.diff(facts, axis=0) != 0, axis=1)) + 1).tolist()]
        for start, stop in zip(edges, [*edges[1:], len(chunk)], strict=True):
            number, category, setting = (int(fact) for fact in facts[start])
            sample = found.setdefault(number, _Sample(category, setting))
            if (sample.category, sample.setting) != (category, setting):
                message = (
                    f"Sample {number} of {name} has more than one category or setting; download "
                    "the file again."
                )
                raise TableError(message)
            assert chunk.labels is not None
            sample.values.append(chunk.values[start:stop, machine])
            sample.time.append(chunk.time[start:stop])
            sample.labels.append(chunk.labels[start:stop])
            sample.opens.append(opens[start:stop])
    return found


def _recording(
    number: int, sample: _Sample, opened: TableSource, wanted: Sequence[str], name: str
) -> Recording:
    time, opens = np.concatenate(sample.time), np.concatenate(sample.opens)
    category = CATEGORIES.get(sample.category)
    if category is None or (time[1:] < time[:-1]).any():
        wrong = f"category {sample.category}" if category is None else "times that run backwards"
        message = f"Sample {number} of {name} has {wrong}; download the file again."
        raise TableError(message)
    opens[0] = True
    table = TimeTable(
        signals=tuple(wanted),
        values=np.concatenate(sample.values),
        time=time,
        starts=np.flatnonzero(opens),
        interval=opened.interval,
        clock=opened.clock,
        labels=np.concatenate(sample.labels),
        files=opened.files,
    )
    # The pieces are no longer needed: with all samples this is most of the memory.
    sample.values.clear()
    return Recording(f"sample_{number}", table, _event(number, sample, table, category), category)


def _event(number: int, sample: _Sample, table: TimeTable, category: str) -> tuple[Event, ...]:
    assert table.labels is not None
    anomalous = bool((table.labels == 1).any())
    if anomalous != (sample.category != NORMAL_CATEGORY):
        message = (
            f"Sample {number} is of category {category!r} but labelled "
            f"{'anomalous' if anomalous else 'normal'}; download the file again."
        )
        raise TableError(message)
    if not anomalous:
        return ()
    axis = AXIS_OF_SETTING.get(sample.setting)
    inside = set(table.signals)
    signals = tuple(name for name in AXES[axis] if name in inside) if axis else ()
    what = f"{category.capitalize()}{f', axis {axis}' if axis else ''} (setting {sample.setting})."
    end = int(table.time[-1]) + round(table.interval * NANOSECONDS)
    return (Event(category, int(table.time[0]), end, signals, what),)


def _version(normal: Sequence[Recording], test: Sequence[Recording]) -> str:
    interval = normal[0].table.interval
    rate = next((text for hertz, text in RATES.items() if abs(interval * hertz - 1) < 0.05), None)
    found = f"{len(normal)} normal samples to learn from, {_count(test)} to test on"
    part = "complete" if len(normal) == TRAINING_SAMPLES else "a part of it"
    return (
        f"voraus-AD at {rate or f'an unpublished rate ({1 / interval:.3g} Hz)'}, {part}: {found}."
    )


def _count(test: Iterable[Recording]) -> str:
    faulty = [bool(one.events) for one in test]
    return f"{faulty.count(False)} normal and {faulty.count(True)} faulty ones"
