"""The plant at work: what is measured, decided and done in every second, and by whom."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence

from causewatch.simulate.plant.attacks import LONGEST_PAST, Force, PlantAttack, Spoofing
from causewatch.simulate.plant.changes import PlantChange
from causewatch.simulate.plant.control import Control
from causewatch.simulate.plant.process import Process
from causewatch.simulate.plant.sensors import Sensors
from causewatch.simulate.plant.tags import SENSORS
from causewatch.simulate.run import Change, Episode

__all__ = ["HIDDEN", "Operation"]

HIDDEN = ("T101", "T301", "T401", "supplied", "stored", "gone", "washing", "diverted")
"""What no sensor shows: true levels (mm), water that came in, is in the tanks and has left (m³),
whether the membrane is being washed, whether the RO feed goes to the drain."""


class Operation:
    """Process, control, and whoever stands between them.

    Parameters
    ----------
    levels
        Of T101, T301 and T401 at the beginning, in mm.
    """

    def __init__(self, levels: tuple[float, float, float]) -> None:
        self.process = Process(levels)
        self.control = Control()
        self.sensors = Sensors()
        self._row = 0
        self._coming: list[PlantChange] = []
        self._life: list[PlantChange] = []
        self._waiting: list[PlantAttack] = []
        self._begun: list[tuple[PlantAttack, int]] = []
        self._spoofs: dict[str, Spoofing] = {}
        self._forced: dict[str, bool] = {}
        self._past: deque[array[float]] = deque(maxlen=LONGEST_PAST)  # what the sensors showed

    def begin(self, attacks: Sequence[PlantAttack], life: Sequence[PlantChange] = ()) -> None:
        """From the next row on, rows count, and attacks and changes take place."""
        self._row = 0
        self._coming = sorted(life, key=lambda change: change.start)
        self._waiting = sorted(attacks, key=lambda attack: attack.start)

    def episodes(self, rows: int) -> tuple[Episode, ...]:
        """The attacks that took place."""
        return tuple(
            Episode(attack.name, start, min(attack.end, rows), attack.signals, attack.description)
            for attack, start in sorted(self._begun, key=lambda pair: pair[1])
        )

    def life(self) -> tuple[Change, ...]:
        """The changes that took place."""
        return tuple(
            Change(
                change.name,
                change.intervention.kind,
                change.start,
                change.end,
                change.signals,
                change.description,
            )
            for change in self._life
        )

    def second(self, errors: list[float], moods: list[float]) -> tuple[list[float], list[float]]:
        """One second: measure, control, act. Gives what is shown and what is hidden."""
        process, control = self.process, self.control
        if self._coming or self._life:
            self._change()
        shown = self.sensors.show(process.measure(), errors)
        status = {tag: valve.status for tag, valve in process.valves.items()}
        if self._waiting or self._begun:
            self._attack(shown, status)
            for place, tag in enumerate(SENSORS):
                if tag in self._spoofs:
                    shown[place] = self._spoofs[tag].show(shown[place], errors[place])
        self._past.append(array("d", shown))
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
        orders = control.orders
        wanted = {**orders, **self._forced} if self._forced else orders
        process.step(wanted, control.divert, moods)
        self._row += 1
        return [*shown, *status.values(), *running], hidden

    def _change(self) -> None:
        """Take back the changes that end in this row, then make those that start in it."""
        for change in self._life:
            if change.end == self._row:
                change.intervention.end(self)
        while self._coming and self._coming[0].start == self._row:
            change = self._coming.pop(0)
            change.intervention.begin(self)
            self._life.append(change)

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
            elif self._ready(attack, shown, status):
                self._waiting.remove(attack)
                self._begun.append((attack, row))
                for action in attack.actions:
                    if isinstance(action, Force):
                        self._forced[action.tag] = action.on
                    else:
                        place = SENSORS.index(action.tag)
                        replay = action.kind == "replay"
                        past = [old[place] for old in self._past] if replay else []
                        self._spoofs[action.tag] = Spoofing(action, shown[place], past)

    def _ready(self, attack: PlantAttack, shown: list[float], status: dict[str, float]) -> bool:
        if attack.waits_for is None:
            return True
        tag, state = attack.waits_for
        if tag in SENSORS:
            return shown[SENSORS.index(tag)] >= state
        return (status[tag] if tag in status else 1.0 + self.process.running[tag]) == state
