"""Simulated columns: the water plant under dense and sparse attacks and in its own life; the robot.

Every figure from here is one of a simulation. Seeds of ``develop`` may be looked at while
developing, those of ``report`` may not.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from causewatch.data import TimeTable
from causewatch.data.datasets.base import Event, Recording
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
    plant_life,
    robot_attacks,
    sparse_attacks,
)

__all__ = ["SEEDS", "plant", "plant_life_column", "plant_sparse", "quick_plant", "robot"]

DAY = 86_400
LEARN_DAYS = 3
ATTACKS_A_DAY = 10
SPARSE_DAYS, LIFE_DAYS = 4, 10
SEEDS = {
    "plant": {"develop": (1, 40), "report": (601, 640)},
    "plant sparse": {"develop": (1, 50), "report": (601, 650)},
    "plant life": {"develop": (1, 60), "report": (601, 660)},
    "quick plant": {"report": (101, 140)},
    "robot": {"develop": (21, 31), "report": (611, 621)},
}
"""Of the days or rows learnt from, and of the first day watched."""
ROBOT_LEARNT, ROBOT_WATCHED, ROBOT_RUNS = 14_000, 30_000, 3


def plant(folder: Path, part: str) -> list[Case]:
    """Every attack of the box once, ten a day, on four days."""
    del folder
    learn, first = SEEDS["plant"][part]
    order = np.random.default_rng(first).permutation(list(PLANT_ATTACKS)).tolist()
    recordings = []
    for number, begin in enumerate(range(0, len(order), ATTACKS_A_DAY)):
        seed = first + number
        attacks = plant_attacks(DAY, order[begin : begin + ATTACKS_A_DAY], seed)
        run = WaterPlant(seed).simulate(DAY, attacks)
        recordings.append(to_recording(run, f"day {number + 1}"))
    return [Case(_plant_split(learn), recordings)]


def plant_sparse(folder: Path, part: str) -> list[Case]:
    """A few attacks a day."""
    del folder
    learn, seed = SEEDS["plant sparse"][part]
    rows = SPARSE_DAYS * DAY
    run = WaterPlant(seed).simulate(rows, sparse_attacks(rows, seed=seed))
    return [Case(_plant_split(learn), [to_recording(run, f"{SPARSE_DAYS} days")])]


def plant_life_column(folder: Path, part: str) -> list[Case]:
    """Ten days without attacks on which the plant changes as plants do."""
    del folder
    learn, seed = SEEDS["plant life"][part]
    rows = LIFE_DAYS * DAY
    run = WaterPlant(seed).simulate(rows, life=plant_life(rows, seed))
    return [Case(_plant_split(learn), [to_recording(run, f"{LIFE_DAYS} days")])]


def quick_plant(folder: Path, part: str) -> list[Case]:
    """A quarter of a day learnt from, a quarter with four attacks: for the quick run."""
    del folder
    learn, seed = SEEDS["quick plant"][part]
    rows = DAY // 4
    normal = to_table(WaterPlant(learn).simulate(rows))
    names = np.random.default_rng(seed).permutation(list(PLANT_ATTACKS)).tolist()[:4]
    run = WaterPlant(seed).simulate(rows, plant_attacks(rows, names, seed))
    return [Case(make_split([normal]), [to_recording(run, "a quarter of a day")])]


def robot(folder: Path, part: str) -> list[Case]:
    """Three runs with nine attacks each kind; the robot is the one learnt from."""
    del folder
    learn, first = SEEDS["robot"][part]
    machine = PepperRobot(learn)
    normal = to_table(machine.simulate(ROBOT_LEARNT, seed=learn))
    names = ("led", "wheels", "joints")
    recordings = []
    for number in range(ROBOT_RUNS):
        attacks = robot_attacks(ROBOT_WATCHED, names, learn + number)
        run = machine.simulate(ROBOT_WATCHED, attacks=attacks, seed=first + number)
        recordings.append(to_recording(run, f"run {number + 1}"))
    split = make_split([normal], false_alarm_every=len(normal) * normal.interval / 2)
    return [Case(split, recordings)]


def _plant_split(seed: int) -> Split:
    return make_split([to_table(WaterPlant(seed).simulate(LEARN_DAYS * DAY, start_up=True))])


def to_table(run: Run) -> TimeTable:
    """A simulated run as a table that counts seconds."""
    step = round(run.interval * NANOSECONDS)
    time = np.arange(len(run.values), dtype=np.int64) * step
    return TimeTable(run.signals, run.values, time, np.array([0]), run.interval, "elapsed")


def to_recording(run: Run, name: str) -> Recording:
    """A simulated run with its truth."""
    step = round(run.interval * NANOSECONDS)
    events = tuple(
        Event(
            episode.name,
            episode.start * step,
            episode.end * step,
            episode.signals,
            episode.description,
        )
        for episode in run.episodes
    )
    labels = run.labels.astype(np.float64)
    return Recording(name, replace(to_table(run), labels=labels), events)
