"""The columns of the league: what is learnt from, and what is watched.

Each column has two parts. Whatever is developed may look at ``develop``; ``report`` is only
reported on. Limits come from normal operation alone. Rows that were learnt from are not counted
(their labels are NaN). The protocols of the real recordings are those of the table in the README
beside the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.league import simulated
from benchmarks.league.case import counted_from, slice_of, without_events

from causewatch.data.datasets.base import Recording
from causewatch.data.datasets.catalogue import load_dataset
from causewatch.data.datasets.shaping import keep_rows, keep_where
from causewatch.data.datasets.tep import load as load_tep
from causewatch.data.table import NANOSECONDS, TimeTable
from causewatch.errors import NotEnoughDataError
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.split import SHARE, make_split
from causewatch.evaluation.comparison import Case

__all__ = ["COLUMNS", "PARTS", "Column", "cases_of"]

PARTS = ("report", "develop")
DAY = 86_400
Maker = Callable[[Path, str], list[Case]]


@dataclass(frozen=True)
class Column:
    """One column of the league.

    Attributes
    ----------
    name
        Short name.
    about
        What is learnt from and watched, for people.
    make
        Gives the cases of a part; gets the folder of the real recordings and the part.
    real
        Whether the recordings are real files; others are simulated and need no folder.
    parts
        The parts it has.
    quick
        Whether it belongs to the quick run.
    """

    name: str
    about: str
    make: Maker
    real: bool = True
    parts: tuple[str, ...] = PARTS
    quick: bool = False

    @property
    def folder(self) -> str:
        """Of its recordings: the first word of its name."""
        return self.name.split()[0]


def cases_of(column: Column, folder: Path | None, part: str) -> list[Case]:
    """What detectors learn from and watch in one part of a column."""
    if column.real and folder is None:
        msg = f"The recordings of {column.name} are absent; set CAUSEWATCH_DATA."
        raise SystemExit(msg)
    return column.make(folder or Path(), part)


# Tennessee Eastman, SKAB, BATADAL, causRCA

TEP_FALSE_ALARM_EVERY = 10.0 * DAY
"""As long as 480 ticks set aside for limits allow."""


def tep(folder: Path, part: str) -> list[Case]:
    """Learnt from ``d00``, limits from the first half of ``d00_te``; faults of one kind of file."""
    dataset = load_tep([folder / "tep"], training_faults=True)
    by_name = {recording.name: recording for recording in (*dataset.normal, *dataset.test)}
    learn, normal = by_name["d00"].table, by_name["d00_te"].table
    half, rest = keep_rows(normal, 0, len(normal) // 2), keep_rows(normal, len(normal) // 2, 10**9)
    plan = make_split([replace(learn, labels=None)], share=0.7)
    split = Split(
        (replace(learn, labels=None),),
        (replace(half, labels=None),),
        plan.every,
        plan.max_lag,
        TEP_FALSE_ALARM_EVERY,
    )
    faults = [
        recording
        for name, recording in sorted(by_name.items())
        if recording.events and name.endswith("_te") == (part == "report")
    ]
    quiet = Recording("rest of d00_te", replace(rest, labels=np.zeros(len(rest))))
    return [Case(split, [*faults, quiet])]


SKAB_NORMAL = 400
SKAB_LEFT_OUT = "other-2"
"""Anomalous from row 104 on: its first 400 rows are not normal."""


def skab(folder: Path, part: str) -> list[Case]:
    """Each experiment learnt from its first 400 rows, which are not counted."""
    groups = ("valve1",) if part == "report" else ("valve2", "other")
    cases = []
    for recording in load_dataset("skab", folder / "skab").test:
        group = recording.category or recording.name.split("-")[0]
        if recording.name == SKAB_LEFT_OUT or group not in groups:
            continue
        split = make_split([keep_rows(recording.table, 0, SKAB_NORMAL)])
        cases.append(Case(split, [counted_from(recording, SKAB_NORMAL)]))
    return cases


def batadal(folder: Path, part: str) -> list[Case]:
    """Learnt from ``dataset03``, rounded as the files with attacks are."""
    dataset = load_dataset("batadal", folder / "batadal")
    normal = dataset.normal[0].table
    rounded = replace(normal, values=np.round(normal.values, 2), labels=None)
    wanted = "test_dataset" if part == "report" else "dataset04"
    watched = [recording for recording in dataset.test if recording.name == wanted]
    return [Case(make_split([rounded]), watched)]


def causrca(folder: Path, part: str) -> list[Case]:
    """Learnt from normal work; runs with even numbers are reported on."""
    dataset = load_dataset("causrca", folder / "causrca")
    rest = 0 if part == "report" else 1
    watched = [
        recording
        for recording in dataset.test
        if int(recording.name.rpartition("_")[2]) % 2 == rest
    ]
    return [Case(make_split([recording.table for recording in dataset.normal]), watched)]


# Oil wells


def _well(recording: Recording) -> int:
    return int(recording.category.rpartition("-")[2])


WELL_LEARNT_FROM = "7_WELL-00001_20170226220309"
"""Lies within the time learnt from."""


def later_months(well: int) -> Maker:
    """Learnt from a well's earliest third of normal recordings; all later ones are watched."""

    def make(folder: Path, part: str) -> list[Case]:
        del part
        dataset = load_dataset("3w", folder / "3w")
        normal = sorted(
            (recording for recording in dataset.normal if _well(recording) == well),
            key=lambda recording: int(recording.table.time[0]),
        )
        third = max(1, len(normal) // 3)
        events = [
            recording
            for recording in dataset.test
            if _well(recording) == well and recording.name != WELL_LEARNT_FROM
        ]
        split = make_split([recording.table for recording in normal[:third]])
        later = [without_events(recording) for recording in normal[third:]]
        return [Case(split, [*later, *events])]

    return make


def own_start(folder: Path, part: str) -> list[Case]:
    """Each recording learnt from its own normal rows before the event."""
    dataset = load_dataset("3w", folder / "3w")
    well = 11 if part == "report" else 16
    cases = []
    for recording in dataset.test:
        if _well(recording) != well:
            continue
        labels = recording.table.labels
        assert labels is not None
        before = _until(recording)
        known = keep_where(keep_rows(recording.table, 0, before), labels[:before] == 0)
        cases.append(Case(_split_of(known), [counted_from(recording, before)]))
    return cases


def _split_of(normal: TimeTable) -> Split:
    """The usual split; where no tick can be chosen, one of a row, and detectors may refuse it."""
    try:
        return make_split([normal])
    except NotEnoughDataError:
        cut = round(SHARE * len(normal))
        learn, limits = keep_rows(normal, 0, cut), keep_rows(normal, cut, len(normal))
        learn, limits = replace(learn, labels=None), replace(limits, labels=None)
        return Split((learn,), (limits,), normal.interval, 1, float(DAY))


# Testbeds and machines


def cranfield(folder: Path, part: str) -> list[Case]:
    """Learnt from what was before the first fault of the other cases, and half of the own."""
    cases = load_dataset("cranfield", folder / "cranfield").test
    wanted = 0 if part == "report" else 1
    made = []
    for recording in cases:
        if int(recording.name[4]) % 2 != wanted:
            continue
        own = _until(recording) // 2
        before = [
            keep_rows(other.table, 0, _until(other)) for other in cases if other is not recording
        ]
        split = make_split([*before, keep_rows(recording.table, 0, own)])
        made.append(Case(split, [counted_from(recording, own)]))
    return made


def gecco(folder: Path, part: str) -> list[Case]:
    """Learnt from event-free rows of the first 30 days; watched in two parts."""
    dataset = load_dataset("gecco", folder / "gecco")
    (whole,) = dataset.test
    days = (whole.table.time - whole.table.time[0]) / (DAY * NANOSECONDS)
    first, second = np.searchsorted(days, [30.0, 60.0]).tolist()
    stop = len(days) if part == "report" else second
    labels = whole.table.labels
    assert labels is not None
    normal = keep_where(keep_rows(whole.table, 0, first), labels[:first] == 0)
    watched = slice_of(whole, second if part == "report" else first, stop)
    return [Case(make_split([normal]), [watched])]


def alfa(folder: Path, part: str) -> list[Case]:
    """Learnt from healthy flights and the healthy part of the develop flights.

    A develop flight is watched by a model that learnt from the *other* develop flights.
    """
    dataset = load_dataset("alfa", folder / "alfa")
    healthy = [recording.table for recording in dataset.normal]
    flights = sorted(dataset.test, key=lambda recording: recording.name)
    odd, even = flights[0::2], flights[1::2]
    starts = {flight.name: keep_rows(flight.table, 0, _until(flight)) for flight in odd}
    if part == "report":
        return [Case(make_split([*healthy, *starts.values()]), even)]
    return [
        Case(
            make_split([*healthy, *(t for name, t in starts.items() if name != flight.name)]),
            [flight],
        )
        for flight in odd
    ]


def cobotops(folder: Path, part: str) -> list[Case]:
    """Learnt from cycles of the first session without a flag; those rows are not counted."""
    dataset = load_dataset("cobotops", folder / "cobotops")
    first, second = sorted(dataset.test, key=lambda recording: int(recording.table.time[0]))
    end = int(first.table.time[-1])
    learnt = [
        recording.table for recording in dataset.normal if int(recording.table.time[-1]) <= end
    ]
    split = make_split(learnt)
    if part == "report":
        return [Case(split, [second])]
    labels = first.table.labels
    assert labels is not None
    seen = np.isin(first.table.time, np.concatenate([table.time for table in learnt]))
    known = np.where(seen, np.nan, labels)
    return [Case(split, [replace(first, table=replace(first.table, labels=known))])]


def lbnl(folder: Path, part: str) -> list[Case]:
    """Learnt from three unfaulted days; the fourth one tells false alarms."""
    dataset = load_dataset("lbnl", folder / "lbnl")
    days = sorted(dataset.normal, key=lambda recording: int(recording.table.time[0]))
    faulted = sorted(dataset.test, key=lambda recording: int(recording.table.time[0]))
    faulted = [recording for recording in faulted if recording.events]
    split = make_split([recording.table for recording in days[:3]])
    watched = faulted[1::2] if part == "report" else faulted[0::2]
    return [Case(split, [without_events(days[3]), *watched])]


def carobd(folder: Path, part: str) -> list[Case]:
    """Healthy trips: learnt from two thirds of the long ones."""
    trips = load_dataset("carobd", folder / "carobd").normal
    long = [trip for trip in trips if trip.name.startswith("long")]
    third = 2 * len(long) // 3
    drive = [trip for trip in trips if trip.name.startswith("drive")]
    watched = drive if part == "report" else long[third:]
    split = make_split([trip.table for trip in long[:third]])
    return [Case(split, [without_events(trip) for trip in watched])]


def _until(recording: Recording) -> int:
    """Number of rows before the first event."""
    first = min(event.start for event in recording.events)
    return int(np.searchsorted(recording.table.time, first))


COLUMNS: dict[str, Column] = {
    column.name: column
    for column in (
        Column("3w well 1", "later months of an oil well", later_months(1), parts=("report",)),
        Column("3w well 3", "later months of an oil well", later_months(3), parts=("develop",)),
        Column("3w well 4", "later hours of an oil well", later_months(4), parts=("report",)),
        Column("3w own", "oil wells 11 and 16, each recording from its own start", own_start),
        Column("cranfield", "three-phase flow, gradual faults, operating points", cranfield),
        Column("gecco", "drinking water, three months", gecco),
        Column("alfa", "fixed-wing drone, faults in the air", alfa),
        Column("cobotops", "robot arm", cobotops),
        Column("lbnl", "air handling, whole faulted days", lbnl),
        Column("carobd", "car, healthy trips", carobd),
        Column("batadal", "water distribution, hourly", batadal),
        Column("skab", "water circulation testbed", skab),
        Column("tep", "Tennessee Eastman process", tep),
        Column("causrca", "lathe, on/off tags", causrca),
        Column("plant", "simulated water plant, ten attacks a day", simulated.plant, real=False),
        Column(
            "plant sparse",
            "simulated water plant, a few attacks a day",
            simulated.plant_sparse,
            real=False,
        ),
        Column(
            "plant life",
            "simulated water plant, ten days of changes without attacks",
            simulated.plant_life_column,
            real=False,
        ),
        Column("robot", "simulated robot", simulated.robot, real=False),
        Column(
            "quick plant",
            "simulated water plant, a quarter of a day; not part of the league",
            simulated.quick_plant,
            real=False,
            parts=("report",),
            quick=True,
        ),
    )
}
"""By name, in the order of the tables."""
