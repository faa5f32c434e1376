"""A water-treatment plant that can be run, watched and attacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from causewatch.errors import SettingError
from causewatch.simulate.plant.attacks import PlantAttack, check_attacks
from causewatch.simulate.plant.changes import PlantChange, check_changes
from causewatch.simulate.plant.operation import HIDDEN, Operation
from causewatch.simulate.plant.tags import PUMPS, RESOLUTION, SENSORS, TAGS, VALVES
from causewatch.simulate.plant.weather import weather
from causewatch.simulate.run import Run

__all__ = ["WaterPlant"]

EMPTY = (130.0, 90.0, 90.0)
"""Levels of the tanks in mm when the plant is started for the first time."""

USUAL = ((520.0, 780.0), (820.0, 980.0), (820.0, 980.0))
"""Between which levels they are some time before the recording of a plant in operation."""

WARM_UP = 5400
"""Seconds that a plant in operation runs unrecorded before a recording begins."""


@dataclass(frozen=True)
class WaterPlant:
    """Six stages of water treatment after the SWaT testbed, one row per second.

    The plant itself is always the same; `seed` is its weather: noise, the moods of the raw water,
    the drift of the analysers. Two runs with one seed are equal but for what is done to them.

    Parameters
    ----------
    seed
        Of everything that is random.

    Examples
    --------
    >>> run = WaterPlant(seed=1).simulate(60)
    >>> run.values.shape
    (60, 51)
    """

    seed: int = 0
    signals: tuple[str, ...] = field(default=TAGS, init=False)

    def __post_init__(self) -> None:
        if self.seed < 0:
            message = f"The seed is {self.seed}, but it must be 0 or larger."
            raise SettingError(message)

    def simulate(
        self,
        rows: int,
        attacks: Sequence[PlantAttack] = (),
        *,
        life: Sequence[PlantChange] = (),
        start_up: bool = False,
        second: int = 0,
        progress: Callable[[float], None] | None = None,
    ) -> Run:
        """Run the plant.

        Parameters
        ----------
        rows
            Seconds to record.
        attacks
            What is done to it.
        life
            What changes in normal operation; it is not labelled.
        start_up
            Whether the recording begins with empty tanks, as that of the testbed does; by default
            the plant has been in operation for a while.
        second
            Second of the day at which the recording begins.
        progress
            Told now and then which share is done.
        """
        if rows < 1:
            message = f"A recording of {rows} rows was asked for; it needs at least 1."
            raise SettingError(message)
        warm_up = 0 if start_up else WARM_UP
        check_attacks(attacks, rows, warm_up)
        check_changes(life, rows)
        generator = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(6,)))
        sky = weather(rows + warm_up, generator, second - warm_up)
        levels = EMPTY
        if not start_up:
            chance = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(8,)))
            raw, feed, filtered = (chance.uniform(low, high) for low, high in USUAL)
            levels = (raw, feed, filtered)
        operation = Operation(levels)
        for errors, moods in islice(sky, warm_up):
            operation.second(errors, moods)
        operation.begin(attacks, life)
        recorded = np.empty((rows, len(TAGS)))
        hidden = np.empty((rows, len(HIDDEN)))
        for row, (errors, moods) in enumerate(sky):
            recorded[row], hidden[row] = operation.second(errors, moods)
            if progress is not None and row % 3600 == 0:
                progress(row / rows)
        episodes = operation.episodes(rows)
        order = [(*SENSORS, *VALVES, *PUMPS).index(tag) for tag in TAGS]
        recorded = recorded[:, order]
        for tag, (_, step) in RESOLUTION.items():
            column = recorded[:, TAGS.index(tag)]
            # No sensor reads below zero.
            np.round(np.round(np.maximum(column, 0.0) / step) * step, 5, out=column)
        truths = dict(zip(HIDDEN, hidden.T, strict=True))
        return Run(TAGS, recorded, 1.0, episodes, truths, operation.life())
