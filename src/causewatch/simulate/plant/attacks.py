"""What an attacker does to sensors and actuators, and when."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate.plant.tags import ACTUATORS, SENSORS, TAGS

__all__ = [
    "SPOOFS",
    "Force",
    "PlantAttack",
    "Spoof",
    "Spoofing",
    "check_attacks",
    "shares",
    "spread",
]

SPOOFS: dict[str, str] = {
    "constant": "the value given",
    "bias": "the true reading plus the value given",
    "ramp": "the reading at the start, moved by the value given every second",
    "drift": "the true reading, moved by the value given every second",
    "replay": "what it showed the value given seconds earlier",
    "noise": "the true reading with its noise made larger by the factor given",
}
"""Every way to spoof a sensor, and what it then shows."""

LONGEST_PAST = 7200
"""Seconds that a replayed sensor can go back."""

LEAST_PAUSE = 1200
"""Fewest seconds between two attacks that are spread over a recording."""


@dataclass(frozen=True, slots=True)
class Spoof:
    """A sensor that shows something else; control believes it.

    Parameters
    ----------
    tag
        The sensor.
    kind
        One of `SPOOFS`.
    value
        What `SPOOFS` says of it.
    """

    tag: str
    kind: str
    value: float

    def __post_init__(self) -> None:
        if self.tag not in SENSORS:
            raise UnknownNameError(self.tag, "sensor", SENSORS)
        if self.kind not in SPOOFS:
            raise UnknownNameError(self.kind, "kind of spoof", SPOOFS)
        if not np.isfinite(self.value):
            message = f"A spoof of {self.tag} has the value {self.value}; give a finite number."
            raise SettingError(message)
        if self.kind == "replay" and self.value not in range(1, LONGEST_PAST + 1):
            message = (
                f"A replay of {self.tag} goes back {self.value:g} s, but it must be a whole number"
                f" of seconds from 1 to {LONGEST_PAST:,}."
            )
            raise SettingError(message)


@dataclass(frozen=True, slots=True)
class Force:
    """An actuator that does not do what control wants.

    Parameters
    ----------
    tag
        The actuator.
    on
        Whether it is held open or on; else closed or off.
    """

    tag: str
    on: bool

    def __post_init__(self) -> None:
        if self.tag not in ACTUATORS:
            raise UnknownNameError(self.tag, "actuator", ACTUATORS)


@dataclass(frozen=True, slots=True)
class PlantAttack:
    """One attack, from row `start` to row `end` (half-open).

    Parameters
    ----------
    name
        What it is called in ``causes.json``.
    actions
        What is done at the same time.
    description
        What is done and what comes of it.
    start, end
        Rows of the recording, counted from 0.
    waits_for
        What the attacker waits for: a valve, pump or lamp and its status, or a sensor and what it
        must show at least. The attack is shorter by the wait. If it never comes, the attack does
        not take place.
    """

    name: str
    actions: tuple[Spoof | Force, ...]
    description: str
    start: int = 0
    end: int = 900
    waits_for: tuple[str, float] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            message = (
                f"An attack needs 0 <= start < end, but {self.name!r} has start {self.start} and"
                f" end {self.end}."
            )
            raise SettingError(message)
        if not self.actions:
            message = f"Attack {self.name!r} does nothing; give it at least one Spoof or Force."
            raise SettingError(message)
        if self.waits_for is not None and self.waits_for[0] not in TAGS:
            raise UnknownNameError(self.waits_for[0], "tag", TAGS)

    @property
    def signals(self) -> tuple[str, ...]:
        """The tags that are attacked, in the order of the table."""
        return tuple(sorted({action.tag for action in self.actions}, key=TAGS.index))

    @property
    def duration(self) -> int:
        """In rows, if there is no wait."""
        return self.end - self.start

    def at(self, start: int) -> PlantAttack:
        """The same attack beginning at another row."""
        return replace(self, start=start, end=start + self.duration)


class Spoofing:
    """A spoof at work; remembers what it needs.

    Parameters
    ----------
    spoof
        What is done.
    reading
        What the sensor showed last.
    past
        What it showed in the rows before, oldest first.
    """

    def __init__(self, spoof: Spoof, reading: float, past: Iterable[float]) -> None:
        self.tag = spoof.tag
        self.kind = spoof.kind
        self.value = spoof.value
        self._moved = 0.0
        self._held = reading
        self._past: deque[float] = (
            deque(past, maxlen=int(spoof.value)) if spoof.kind == "replay" else deque()
        )

    def show(self, reading: float, error: float) -> float:
        """What the sensor shows instead of `reading`, of which `error` is noise and drift."""
        kind = self.kind
        if kind == "constant":
            return self.value
        if kind == "bias":
            return reading + self.value
        if kind == "noise":
            return reading + (self.value - 1.0) * error
        if kind == "replay":
            self._past.append(self._past.popleft() if self._past else self._held)
            return self._past[-1]
        self._moved += self.value
        return (reading if kind == "drift" else self._held) + self._moved


def check_attacks(attacks: Sequence[PlantAttack], rows: int, before: int = 0) -> None:
    """Raise if an attack is not possible.

    None may end after the recording or replay what was never shown, nor may two of them hold one
    tag at once.

    Parameters
    ----------
    attacks
        What is to be done.
    rows
        Length of the recording.
    before
        For how many seconds the plant has been running when it begins.
    """
    for attack in attacks:
        if attack.end > rows:
            message = (
                f"Attack {attack.name!r} ends at row {attack.end:,}, but the recording has only"
                f" {rows:,} rows; let it end at {rows:,} or earlier."
            )
            raise SettingError(message)
        for action in attack.actions:
            if not (isinstance(action, Spoof) and action.kind == "replay"):
                continue
            first = int(action.value) - before
            if attack.start < first:
                message = (
                    f"Attack {attack.name!r} starts at row {attack.start:,}, but what"
                    f" {action.tag} showed {action.value:g} s earlier does not exist; let it start"
                    f" at row {first:,} or later."
                )
                raise SettingError(message)
    for place, one in enumerate(attacks):
        for other in attacks[place + 1 :]:
            shared = [tag for tag in one.signals if tag in other.signals]
            if shared and one.start < other.end and other.start < one.end:
                message = (
                    f"Attacks {one.name!r} and {other.name!r} hold {shared[0]} at the same time;"
                    " let one end before the other starts."
                )
                raise SettingError(message)


def shares(count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Random shares of a whole, each at least half of an even share."""
    parts: NDArray[np.float64] = 0.5 / count + 0.5 * generator.dirichlet(np.full(count, 4.0))
    return parts


def spread(
    attacks: Sequence[PlantAttack], rows: int, generator: np.random.Generator
) -> tuple[PlantAttack, ...]:
    """The attacks one after the other over a recording, with pauses in which the plant recovers.

    The order is kept; what is left of the recording is shared out at random.
    """
    if not attacks:
        return ()
    busy = sum(attack.duration for attack in attacks)
    pauses = len(attacks) + 1
    spare = rows - busy - LEAST_PAUSE * pauses
    if spare < 0:
        message = (
            f"{len(attacks)} attacks with pauses need {rows - spare:,} rows, but the recording"
            f" has {rows:,}; make it longer or name fewer attacks."
        )
        raise SettingError(message)
    parts = shares(pauses, generator)
    placed, row = [], 0
    for attack, part in zip(attacks, parts, strict=False):
        row += LEAST_PAUSE + int(spare * part)
        placed.append(attack.at(row))
        row += attack.duration
    return tuple(placed)
