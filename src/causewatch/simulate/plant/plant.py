"""A water-treatment plant that can be run, watched and attacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from causewatch.errors import SettingError
from causewatch.simulate.plant.attacks import Force, PlantAttack, Spoof, Spoofing, check_attacks
from causewatch.simulate.plant.control import Control
from causewatch.simulate.plant.process import Process
from causewatch.simulate.plant.tags import PUMPS, RESOLUTION, SENSORS, TAGS, VALVES
from causewatch.simulate.plant.weather import weather
from causewatch.simulate.run import Episode, Run

__all__ = ["WaterPlant"]

EMPTY = (130.0, 90.0, 90.0)
"""Levels of the tanks in mm when the plant is started for the first time."""

USUAL = ((520.0, 780.0), (820.0, 980.0), (820.0, 980.0))
"""Between which levels they are some time before the recording of a plant in operation."""
WARM_UP = 5400
"""Seconds that a plant in operation runs unrecorded before a recording begins."""

LONGEST_PAST = 7200
"""Rows that a replayed sensor can go back."""

HIDDEN = ("T101", "T301", "T401", "supplied", "stored", "gone", "washing", "diverted")


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
        check_attacks(attacks, rows)
        warm_up = 0 if start_up else WARM_UP
        generator = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(6,)))
        sky = weather(rows + warm_up, generator, second - warm_up)
        levels = EMPTY
        if not start_up:
            chance = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(8,)))
            raw, feed, filtered = (chance.uniform(low, high) for low, high in USUAL)
            levels = (raw, feed, filtered)
        operation = _Operation(levels)
        for errors, moods in islice(sky, warm_up):
            operation.second(errors, moods)
        operation.begin(attacks)
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
        return Run(TAGS, recorded, 1.0, episodes, dict(zip(HIDDEN, hidden.T, strict=True)))


class _Operation:
    """Process, control, and whoever stands between them."""

    def __init__(self, levels: tuple[float, float, float]) -> None:
        self.process = Process(levels)
        self.control = Control()
        self._row = 0
        self._waiting: list[PlantAttack] = []
        self._begun: list[tuple[PlantAttack, int]] = []
        self._spoofs: dict[str, Spoofing] = {}
        self._forced: dict[str, bool] = {}
        self._past: list[list[float]] = []  # what the sensors showed
        self._replayed = False

    def begin(self, attacks: Sequence[PlantAttack]) -> None:
        """From the next row on, rows count and attacks take place."""
        self._row = 0
        self._waiting = sorted(attacks, key=lambda attack: attack.start)
        self._replayed = any(
            isinstance(action, Spoof) and action.kind == "replay"
            for attack in attacks
            for action in attack.actions
        )

    def episodes(self, rows: int) -> tuple[Episode, ...]:
        """The attacks that took place."""
        return tuple(
            Episode(attack.name, start, min(attack.end, rows), attack.signals, attack.description)
            for attack, start in sorted(self._begun, key=lambda pair: pair[1])
        )

    def second(self, errors: list[float], moods: list[float]) -> tuple[list[float], list[float]]:
        """One second: measure, control, act. Gives what is shown and what is hidden."""
        process, control = self.process, self.control
        shown = [true + error for true, error in zip(process.measure(), errors, strict=True)]
        status = {tag: valve.status for tag, valve in process.valves.items()}
        if self._waiting or self._begun:
            self._attack(shown, status)
            for place, tag in enumerate(SENSORS):
                if tag in self._spoofs:
                    shown[place] = self._spoofs[tag].show(shown[place], errors[place])
        if self._replayed:
            self._past.append(shown)
            if len(self._past) > 2 * LONGEST_PAST:
                del self._past[:LONGEST_PAST]
        running = [2.0 if on else 1.0 for on in process.running.values()]
        hidden = [
            process.raw.level,
            process.feed.level,
            process.filtered.level,
            process.supplied,
            process.stored,
            process.gone,
            float(control.step != "filter"),
            float(process.diverted),
        ]
        control.scan(dict(zip(SENSORS, shown, strict=True)), status)
        wanted = {**control.wanted, **self._forced} if self._forced else control.wanted
        process.step(wanted, control.divert, moods)
        self._row += 1
        return [*shown, *status.values(), *running], hidden

    def _attack(self, shown: list[float], status: dict[str, float]) -> None:
        """Begin and end attacks."""
        row = self._row
        ended = [attack for attack, _ in self._begun if attack.end == row]
        for attack in ended:
            for action in attack.actions:
                self._spoofs.pop(action.tag, None)
                self._forced.pop(action.tag, None)
        for attack in [one for one in self._waiting if one.start <= row]:
            if row >= attack.end:
                self._waiting.remove(attack)  # what it waited for never came
            elif self._ready(attack, status):
                self._waiting.remove(attack)
                self._begun.append((attack, row))
                for action in attack.actions:
                    if isinstance(action, Force):
                        self._forced[action.tag] = action.on
                    else:
                        place = SENSORS.index(action.tag)
                        back = int(action.value) if action.kind == "replay" else 0
                        past = [old[place] for old in self._past[-back:]] if back else []
                        self._spoofs[action.tag] = Spoofing(action, shown[place], past)

    def _ready(self, attack: PlantAttack, status: dict[str, float]) -> bool:
        if attack.waits_for is None:
            return True
        tag, state = attack.waits_for
        now = status[tag] if tag in status else 1.0 + self.process.running[tag]
        return now == state
