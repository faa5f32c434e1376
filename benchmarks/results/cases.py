"""What detectors are compared on: a split of normal operation and recordings with known truth.

Seeds and recordings here were not looked at while anything was developed, unless `develop` is set;
the docstring of each function says which they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from causewatch.data import TimeTable
from causewatch.data.datasets.base import Event, Recording
from causewatch.data.datasets.catalogue import load_dataset
from causewatch.data.datasets.shaping import keep_rows
from causewatch.data.table import NANOSECONDS
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.split import make_split
from causewatch.evaluation.comparison import Case
from causewatch.simulate import (
    PLANT_ATTACKS,
    PepperRobot,
    Run,
    WaterPlant,
    plant_attacks,
    robot_attacks,
)

__all__ = ["batadal", "plant", "plant_normal", "robot", "skab", "tep", "to_recording"]

DAY = 86_400
PLANT_SEEDS = {"develop": (1, 20, 40), "report": (601, 620, 640)}
"""Of the days learnt from, of the normal days watched and of the first day with attacks."""
ROBOT_SEEDS = {"develop": 21, "report": 611}
ATTACKS_A_DAY = 10
SKAB_NORMAL = 400
SKAB_LEFT_OUT = "other-2"
SKAB_DEVELOPED_ON = ("other", "valve2")
TEP_FALSE_ALARM_EVERY = 10.0 * DAY
"""As long as 480 ticks set aside for limits allow; see `benchmarks.accuracy.plants`."""


def to_table(run: Run) -> TimeTable:
    """A simulated run as a table that counts seconds."""
    step = round(run.interval * NANOSECONDS)
    time = np.arange(len(run.values), dtype=np.int64) * step
    return TimeTable(run.signals, run.values, time, np.array([0]), run.interval, "elapsed")


def to_recording(run: Run, name: str) -> Recording:
    """A simulated run with its truth."""
    step = round(run.interval * NANOSECONDS)
    events = tuple(
        Event(one.name, one.start * step, one.end * step, one.signals, one.description)
        for one in run.episodes
    )
    labels = run.labels.astype(np.float64)
    return Recording(name, replace(to_table(run), labels=labels), events)


def plant(develop: bool = False, days: int = 3, seed: int = 0) -> list[Case]:
    """The simulated water plant: every attack of the box once, ten a day, on four days."""
    learn, _, attacked = PLANT_SEEDS["develop" if develop else "report"]
    normal = to_table(WaterPlant(learn).simulate(days * DAY, start_up=True))
    order = np.random.default_rng(attacked).permutation(list(PLANT_ATTACKS)).tolist()
    recordings = []
    for number, first in enumerate(range(0, len(order), ATTACKS_A_DAY)):
        own = attacked + number
        attacks = plant_attacks(DAY, order[first : first + ATTACKS_A_DAY], own)
        recordings.append(to_recording(WaterPlant(own).simulate(DAY, attacks), f"day {number + 1}"))
    return [Case(make_split([normal], seed=seed), recordings)]


def plant_normal(develop: bool = False, days: int = 3) -> TimeTable:
    """Days of the simulated plant on which nothing is done to it."""
    seed = PLANT_SEEDS["develop" if develop else "report"][1]
    return to_table(WaterPlant(seed).simulate(days * DAY))


def robot(develop: bool = False, seed: int = 0) -> list[Case]:
    """The simulated robot: nine attacks, three of each kind, in three runs."""
    own = ROBOT_SEEDS["develop" if develop else "report"]
    machine = PepperRobot(own)
    normal = to_table(machine.simulate(14_000, seed=own))
    names = ("led", "wheels", "joints")
    recordings = [
        to_recording(
            machine.simulate(
                30_000, attacks=robot_attacks(30_000, names, own + run), seed=own + 10 + run
            ),
            f"run {run + 1}",
        )
        for run in range(3)
    ]
    split = make_split([normal], false_alarm_every=len(normal) * normal.interval / 2, seed=seed)
    return [Case(split, recordings)]


def tep(folder: Path, seed: int = 0) -> list[Case]:
    """Tennessee Eastman: learnt from ``d00``, limits from the first half of ``d00_te``.

    Watched are the ``_te`` files of faults 1 to 21; the default detector was developed on the
    others (``d01.dat`` …).
    """
    dataset = load_dataset("tep", folder / "tep")
    learn = next(one.table for one in dataset.normal if one.name == "d00")
    normal = next(one for one in (*dataset.normal, *dataset.test) if one.name == "d00_te").table
    half = replace(keep_rows(normal, 0, 480), labels=None)
    plan = make_split([replace(learn, labels=None)], share=0.7)
    split = Split((learn,), (half,), plan.every, plan.max_lag, TEP_FALSE_ALARM_EVERY, seed)
    return [Case(split, [one for one in dataset.test if one.events])]


def skab(folder: Path, seed: int = 0, groups: Sequence[str] = ()) -> list[Case]:
    """SKAB: each experiment learnt from its first 400 rows, watched from its first on.

    Rows of the first 400 are not counted. ``valve1`` was not looked at while developing.
    """
    cases = []
    for one in load_dataset("skab", folder / "skab").test:
        group = one.category or one.name.split("-")[0]
        if one.name == SKAB_LEFT_OUT or (groups and group not in groups):
            continue
        table = one.table
        assert table.labels is not None
        split = make_split([keep_rows(table, 0, SKAB_NORMAL)], seed=seed)
        labels = np.where(np.arange(len(table)) < SKAB_NORMAL, np.nan, table.labels)
        cases.append(Case(split, [replace(one, table=replace(table, labels=labels))]))
    return cases


def batadal(folder: Path, seed: int = 0) -> list[Case]:
    """BATADAL: learnt from ``dataset03``, rounded as the files with attacks are.

    ``dataset04`` was looked at while developing, ``test_dataset`` was not.
    """
    dataset = load_dataset("batadal", folder / "batadal")
    normal = dataset.normal[0].table
    rounded = replace(normal, values=np.round(normal.values, 2), labels=None)
    return [Case(make_split([rounded], seed=seed), list(dataset.test))]
