"""What a reproduction runs on: the user's own recordings, or simulated ones that say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from causewatch.data.datasets import Event, Recording, load_dataset
from causewatch.data.datasets.files import plain_name
from causewatch.data.datasets.swat import STAGES
from causewatch.data.table import NANOSECONDS, TimeTable
from causewatch.errors import SettingError, UnknownNameError, listing
from causewatch.evaluation.verdicts import Progress
from causewatch.simulate import (
    PAPER_ATTACKS,
    PepperRobot,
    RobotAttack,
    Run,
    WaterPlant,
    plant_attacks,
)
from causewatch.simulate.robot import columns

__all__ = ["REPRODUCED", "Case", "Lengths", "load_case", "simulate_case"]

REPRODUCED = ("swat", "pepper")
"""The paper's two datasets."""
DAY = 86_400
ATTACK_SEED = 100
"""What the seed of the recordings with attacks is higher by than that of the normal one."""


@dataclass(frozen=True)
class Case:
    """One dataset of the paper, or what stands in for it.

    Attributes
    ----------
    dataset
        ``swat`` or ``pepper``.
    simulated
        Whether the recordings are simulated.
    title
        What it is, for the head of a table.
    normal, tests
        To learn from, and to watch.
    chosen
        Names of the attacks that the paper counts; None: all.
    stages
        Groups of signals: stages of the plant, parts of the robot.
    whole_files
        Whether each test recording is attacked as a whole.
    step, max_lag
        Rows per step and longest lag to use; None: what the published rule finds.
    untouched
        The test recordings with nothing done to the machine; only a simulation has these.
    notes
        What a reader should know about the recordings.
    """

    dataset: str
    simulated: bool
    title: str
    normal: Recording
    tests: tuple[Recording, ...]
    chosen: tuple[str, ...] | None
    stages: Mapping[str, tuple[str, ...]]
    whole_files: bool
    step: int | None = None
    max_lag: int | None = None
    untouched: tuple[TimeTable, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def events(self) -> tuple[Event, ...]:
        """The attacks that the paper counts, in the order of the recordings."""
        return tuple(
            event
            for recording in self.tests
            for event in recording.events
            if self.chosen is None or event.name in self.chosen
        )

    def stage_of(self, signal: str) -> str | None:
        """The group that a signal belongs to."""
        return next((name for name, group in self.stages.items() if signal in group), None)


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long simulated recordings are.

    Attributes
    ----------
    normal, test
        Rows of the normal recording, and of each one with attacks.
    step, max_lag
        Rows per step and longest lag; None: what the published rule finds.
    """

    normal: int
    test: int
    step: int | None = None
    max_lag: int | None = None


FULL = {"swat": Lengths(5 * DAY, 2 * DAY), "pepper": Lengths(14_000, 1_415)}
"""As long as needed for stable figures: the plant's recordings are shorter than SWaT's six and five
days; the robot's are as long as Pepper's (4,244 rows in three files)."""
QUICK = {"swat": Lengths(DAY, DAY // 2, 206, 2), "pepper": Lengths(2_000, 400, 40, 1)}
"""For trials only: too short for figures that mean anything. The plant's step is SWaT's."""


def load_case(dataset: str, normal: Path, attacks: Sequence[Path]) -> Case:
    """The user's own files of a dataset.

    Parameters
    ----------
    dataset
        ``swat`` or ``pepper``.
    normal
        The normal recording.
    attacks
        The recordings with attacks: one of SWaT, one to three of Pepper.
    """
    _check(dataset)
    if dataset == "swat" and len(attacks) != 1:
        msg = f"SWaT has one recording with attacks, but {len(attacks)} were given; give one."
        raise SettingError(msg)
    loaded = load_dataset(dataset, normal, *attacks)
    if loaded.normal[0].name != plain_name(normal):
        msg = (
            f"{normal.name!r} was given as the normal recording, but {loaded.normal[0].name!r} is"
            " the one without attacks; exchange --normal and --attack."
        )
        raise SettingError(msg)
    chosen = PAPER_ATTACKS if dataset == "swat" else None
    notes = [loaded.version, *(note.text for note in loaded.notes)]
    case = Case(
        dataset,
        simulated=False,
        title="SWaT, December 2015" if dataset == "swat" else "Pepper",
        normal=loaded.normal[0],
        tests=loaded.test,
        chosen=chosen,
        stages=loaded.stages,
        whole_files=dataset == "pepper",
        notes=(*notes, *_absent(chosen, loaded.test)),
    )
    if not case.events:
        msg = (
            f"{attacks[0].name!r} holds none of the attacks that the paper counts"
            f" ({listing(PAPER_ATTACKS)}); give the complete recording, SWaT_Dataset_Attack_v0."
        )
        raise SettingError(msg)
    return case


def simulate_case(
    dataset: str, seed: int, *, quick: bool = False, progress: Progress | None = None
) -> Case:
    """The built-in machine that stands in for a dataset.

    Parameters
    ----------
    dataset
        ``swat``: the water plant with the paper's nine attacks; ``pepper``: the robot, with one
        recording for each kind of attack.
    seed
        Of the normal recording; the others have a seed 100 higher.
    quick
        Short recordings, to see whether everything works.
    progress
        Told the share that is done.
    """
    _check(dataset)
    if seed < 0:
        msg = f"The seed is {seed}, but it must be 0 or larger."
        raise SettingError(msg)
    lengths = (QUICK if quick else FULL)[dataset]
    tell = progress or (lambda what, share: None)
    notes: tuple[str, ...] = ("Every figure here is one of a simulation.",)
    if quick:
        notes = (*notes, "The recordings are shortened (--quick): the figures mean little.")
    if lengths.step is not None:
        text = "Step and lag are not those of the published rule, which would take far longer."
        notes = (*notes, text)
    make = _plant if dataset == "swat" else _robot
    return make(seed, lengths, notes, lambda share: tell("simulating", share))


def _plant(
    seed: int, lengths: Lengths, notes: tuple[str, ...], tell: Callable[[float], None]
) -> Case:
    total = lengths.normal + 2 * lengths.test
    done = [0]

    def run(plant: WaterPlant, rows: int, attacked: bool, start_up: bool) -> Run:
        attacks = plant_attacks(rows, PAPER_ATTACKS, plant.seed) if attacked else ()
        made = plant.simulate(
            rows,
            attacks,
            start_up=start_up,
            progress=lambda share: tell((done[0] + share * rows) / total),
        )
        done[0] += rows
        return made

    other = WaterPlant(seed + ATTACK_SEED)
    normal = run(WaterPlant(seed), lengths.normal, attacked=False, start_up=True)
    attacked = _recording("attack", run(other, lengths.test, attacked=True, start_up=False))
    untouched = run(other, lengths.test, attacked=False, start_up=False)
    return Case(
        "swat",
        simulated=True,
        title=f"the simulated water plant, seed {seed}",
        normal=_recording("normal", normal),
        tests=(attacked,),
        chosen=PAPER_ATTACKS,
        stages=STAGES,
        whole_files=False,
        step=lengths.step,
        max_lag=lengths.max_lag,
        untouched=(_table(untouched),),
        notes=(*notes, *_absent(PAPER_ATTACKS, (attacked,))),
    )


def _robot(
    seed: int, lengths: Lengths, notes: tuple[str, ...], tell: Callable[[float], None]
) -> Case:
    robot = PepperRobot(seed)
    normal = robot.simulate(lengths.normal, seed=seed)
    tests, untouched = [], []
    for number, name in enumerate(("wheels", "joints", "led")):  # the order of the scripts
        tell((number + 1) / 4)
        attack = RobotAttack(name, 0, lengths.test)
        other = seed + ATTACK_SEED + number
        run = robot.simulate(lengths.test, attacks=[attack], seed=other)
        tests.append(_recording(name, run))
        untouched.append(_table(robot.simulate(lengths.test, seed=other)))
    return Case(
        "pepper",
        simulated=True,
        title=f"the simulated robot, seed {seed}",
        normal=_recording("normal", normal),
        tests=tuple(tests),
        chosen=None,
        stages=_parts(),
        whole_files=True,
        step=lengths.step,
        max_lag=lengths.max_lag,
        untouched=tuple(untouched),
        notes=notes,
    )


def _parts() -> dict[str, tuple[str, ...]]:
    """The parts of the robot, as the loader of the real recording has them."""
    return {
        "joints": tuple(
            f"{name}{more}" for name in columns.JOINTS for more in ("", "Stiff", "Temp")
        ),
        "wheels": tuple(
            f"{name}{more}" for name in columns.WHEELS for more in ("Speed", "Stiff", "Temp")
        ),
        "ranging": (
            *(name for names in columns.LASERS.values() for name in names),
            *columns.SONARS,
            *columns.INFRARED,
        ),
        "LEDs": columns.LEDS,
        "motion": (*columns.GYROSCOPE, *columns.ANGLES, *columns.ACCELEROMETER),
        "touch": (*columns.TOUCH, *columns.BUMPERS, *columns.TABLET),
    }


def _table(run: Run) -> TimeTable:
    """A run as a table that counts seconds, with its labels."""
    step = round(run.interval * NANOSECONDS)
    return TimeTable(
        run.signals,
        run.values,
        np.arange(len(run.values), dtype=np.int64) * step,
        np.zeros(1, dtype=np.intp),
        run.interval,
        "elapsed",
        labels=run.labels.astype(np.float64),
    )


def _recording(name: str, run: Run) -> Recording:
    table = _table(run)
    step = round(run.interval * NANOSECONDS)
    events = [
        Event(one.name, one.start * step, one.end * step, one.signals, one.description)
        for one in run.episodes
    ]
    return Recording(name, table, tuple(events), "attack" if events else "normal")


def _absent(chosen: tuple[str, ...] | None, tests: Sequence[Recording]) -> tuple[str, ...]:
    """A sentence about attacks of the paper that the recordings do not hold."""
    found = {event.name for recording in tests for event in recording.events}
    missing = [name for name in chosen or () if name not in found]
    if not missing:
        return ()
    return (f"Attacks of the paper that these recordings do not hold: {listing(missing)}.",)


def _check(dataset: str) -> None:
    if dataset not in REPRODUCED:
        raise UnknownNameError(dataset, "dataset of the paper", REPRODUCED)
