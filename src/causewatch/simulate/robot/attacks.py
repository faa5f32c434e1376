"""Attacks on the robot: what is taken over, how, and how attacks are spread over a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate.robot.base import WHEEL_MATRIX
from causewatch.simulate.robot.body import LIMITS
from causewatch.simulate.robot.columns import (
    ACTUATORS,
    FACE,
    INTERVAL,
    JOINTS,
    LEDS,
    SHOULDER,
    WHEEL_SPEEDS,
    WHEELS,
)
from causewatch.simulate.robot.face import quantised
from causewatch.simulate.run import Episode
from causewatch.simulate.system import stream

__all__ = [
    "COURSE",
    "PATTERNS",
    "ROBOT_ATTACKS",
    "RobotAttack",
    "apply_joints",
    "apply_lights",
    "apply_stiffness",
    "apply_wheels",
    "check_attacks",
    "robot_attacks",
]

Floats = NDArray[np.float64]

ROBOT_ATTACKS: dict[str, str] = {
    "led": "The lights are driven in colours and patterns that no behaviour has.",
    "joints": "Joint commands are overridden; angles, currents, temperatures and the inertial"
    " sensors follow.",
    "wheels": "Wheel speeds are overridden; the robot goes where it should not, and lasers, sonar,"
    " inertial sensors and temperatures follow.",
}
"""Every attack by name, and what it does."""

PATTERNS: dict[str, dict[str, str]] = {
    "led": {
        "strobe": "all lights flash red",
        "police": "eyes and shoulders alternate between red and blue, one eye against the other",
        "rainbow": "all colours run round the eyes",
    },
    "joints": {
        "swing": "both arms swing from stop to stop",
        "rock": "head, hip and knee are thrown to and fro",
        "random": "all joints jump from one random posture to the next",
    },
    "wheels": {
        "spin": "the robot spins on the spot, one way and then the other",
        "shake": "the robot jerks forward and back",
        "ram": "the robot drives straight in any direction until a wall stops it",
    },
}
"""How each attack can be done."""

_ARMS = tuple(
    f"{side}{part}"
    for side in "LR"
    for part in ("ShoulderPitch", "ShoulderRoll", "ElbowYaw", "ElbowRoll")
)
_TRUNK = ("HeadYaw", "HeadPicth", "HipRoll", "HipPicth", "KneePicth")
_TAKEN = {
    "strobe": LEDS,
    "police": (*FACE, *SHOULDER),
    "rainbow": FACE,
    "swing": _ARMS,
    "rock": _TRUNK,
    "random": JOINTS,
    "spin": WHEELS,
    "shake": WHEELS,
    "ram": WHEELS,
}

SECONDS = (30.0, 60.0)
"""Shortest and longest attack that is drawn."""

LONGEST_SHARE = 0.4
"""Most of its share of the recording that an attack takes."""

SHORTEST_SLOT = 200
"""Fewest rows for an attack together with the normal rows around it."""

CHOICE, COURSE = 20, 21
"""Spawn keys: of how attacks are spread, and of what an attacker does."""


@dataclass(frozen=True, slots=True)
class RobotAttack:
    """Somebody takes over a part of the robot during rows `start` to `end` (half-open).

    Parameters
    ----------
    name
        One of `ROBOT_ATTACKS`.
    start, end
        Rows, counted from 0.
    pattern
        One of `PATTERNS` for this name; the first one if not given.

    Examples
    --------
    >>> RobotAttack("wheels", 100, 200).signals[0]
    'WheelFLSpeed'
    """

    name: str
    start: int
    end: int
    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.name not in ROBOT_ATTACKS:
            raise UnknownNameError(self.name, "attack", ROBOT_ATTACKS)
        if self.pattern is not None and self.pattern not in PATTERNS[self.name]:
            raise UnknownNameError(
                self.pattern, f"pattern of attack {self.name!r}", PATTERNS[self.name]
            )
        if not 0 <= self.start < self.end:
            message = (
                f"An attack needs 0 <= start < end, but {self.name!r} has start {self.start} and"
                f" end {self.end}."
            )
            raise SettingError(message)

    @property
    def how(self) -> str:
        """`pattern`, or the first one of this attack."""
        return self.pattern or next(iter(PATTERNS[self.name]))

    @property
    def taken(self) -> tuple[str, ...]:
        """The lights or motors that are taken over."""
        return _TAKEN[self.how]

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that are attacked.

        Whoever takes over a motor also switches it on, so that its stiffness is attacked as well.
        """
        if self.name == "led":
            return self.taken
        shown = WHEEL_SPEEDS if self.name == "wheels" else self.taken
        return (*shown, *(f"{name}Stiff" for name in self.taken))

    @property
    def episode(self) -> Episode:
        """The attack as the truth about a recording has it."""
        what = PATTERNS[self.name][self.how]
        description = f"{ROBOT_ATTACKS[self.name]} Here {what}."
        return Episode(self.name, self.start, self.end, self.signals, description)


def check_attacks(attacks: Sequence[RobotAttack], rows: int) -> tuple[RobotAttack, ...]:
    """Attacks by start; raise if one lies outside `rows` or two of a kind overlap."""
    ordered = tuple(sorted(attacks, key=lambda attack: (attack.start, attack.name)))
    ends: dict[str, int] = {}
    for attack in ordered:
        if attack.end > rows:
            message = (
                f"Attack {attack.name!r} ends at row {attack.end}, but the recording has only"
                f" {rows} rows; let it end at {rows} or earlier."
            )
            raise SettingError(message)
        if attack.start < ends.get(attack.name, 0):
            message = (
                f"Two attacks {attack.name!r} overlap at row {attack.start}; let one end before"
                " the other starts."
            )
            raise SettingError(message)
        ends[attack.name] = attack.end
    return ordered


def robot_attacks(rows: int, names: Sequence[str], seed: int) -> tuple[RobotAttack, ...]:
    """Spread attacks over a recording, with normal operation before, between and after them.

    Parameters
    ----------
    rows
        How many rows the recording will have. Each attack lasts half a minute to a minute, but at
        most two fifths of its equal share of them. Motors need far longer than that to cool: give
        10,000 rows for each attack if the next one shall find the robot as it was.
    names
        The attacks, in this order; a name may come more than once.
    seed
        Of when they start, how long they last and how they are done. A name that comes three times
        is done in all of its ways.
    """
    for name in names:
        if name not in ROBOT_ATTACKS:
            raise UnknownNameError(name, "attack", ROBOT_ATTACKS)
    if len(names) * SHORTEST_SLOT > rows:
        message = (
            f"{len(names)} attacks need at least {len(names) * SHORTEST_SLOT} rows, but there are"
            f" {rows}; use more rows or fewer attacks."
        )
        raise SettingError(message)
    random = stream(seed, CHOICE)
    ways = {name: random.permutation(list(PATTERNS[name])).tolist() for name in ROBOT_ATTACKS}
    edges = np.linspace(0, rows, len(names) + 1).astype(int).tolist()
    attacks = []
    for name, low, high in zip(names, edges[:-1], edges[1:], strict=True):
        slot = high - low
        length = min(round(random.uniform(*SECONDS) / INTERVAL), int(LONGEST_SHARE * slot))
        start = int(random.integers(low + slot // 4, high - length - slot // 4))
        pattern = ways[name].pop(0)
        ways[name].append(pattern)
        attacks.append(RobotAttack(name, start, start + length, pattern))
    return tuple(attacks)


def apply_lights(attack: RobotAttack, lights: Floats) -> None:
    """Overwrite the lights (rows × `LEDS`) that the attacker drives."""
    row = np.arange(attack.end - attack.start)
    for name in attack.taken:
        shown = quantised(_brightness(attack.how, name, row))
        lights[attack.start : attack.end, LEDS.index(name)] = shown


def _brightness(how: str, name: str, row: NDArray[np.intp]) -> Floats:
    """What an attacker makes one light show."""
    if how == "strobe":
        lit = name.startswith(("LedEar", "LedFaceR", "LedShoulderR"))
        return np.where((row // 2) % 2 == 0, float(lit), 0.0)
    if how == "police":
        first = (row // 5) % 2 == 0
        right = name.startswith("LedFace") and name[8] == "R"
        colour = name[7] if name.startswith("LedFace") else name[-1]
        red = first != right
        return np.where(red, float(colour == "R"), float(colour == "B"))
    hue = row * INTERVAL / 1.2 + (int(name[-1]) - 1) / 8 - "RGB".index(name[7]) / 3
    return np.asarray(np.clip(0.5 + np.cos(2 * np.pi * hue), 0.0, 1.0))


def apply_joints(attack: RobotAttack, commands: Floats, random: np.random.Generator) -> None:
    """Overwrite the commands (rows × `JOINTS`) of the joints that are taken over."""
    columns = [JOINTS.index(name) for name in attack.taken]
    low, high = np.array([LIMITS[name][:2] for name in attack.taken]).T
    rows = attack.end - attack.start
    row = 0
    side = 1.0
    while row < rows:
        if attack.how == "random":
            stay = round(random.uniform(0.8, 2.0) / INTERVAL)
            share = random.uniform(0, 1, len(columns))
        else:
            stay = round(random.uniform(0.5, 0.9) / INTERVAL)
            share = 0.5 + 0.45 * side * np.where(low + high < 0, -1, 1)
            side = -side
        first = attack.start + row
        commands[first : min(first + stay, attack.end), columns] = low + share * (high - low)
        row += stay


def apply_stiffness(attack: RobotAttack, stiffness: Floats) -> None:
    """Switch on the motors (rows × `ACTUATORS`) that are taken over."""
    columns = [ACTUATORS.index(name) for name in attack.taken]
    stiffness[attack.start : attack.end, columns] = 1.0


def apply_wheels(attack: RobotAttack, forced: Floats, random: np.random.Generator) -> None:
    """Write the speeds (rows × wheels) that the attacker commands."""
    rows = attack.end - attack.start
    row, side = 0, 1.0
    while row < rows:
        if attack.how == "spin":
            stay = round(random.uniform(3, 8) / INTERVAL)
            motion = (0.0, 0.0, side * random.uniform(1.4, 2.0))
        elif attack.how == "shake":
            stay = round(random.uniform(0.6, 1.2) / INTERVAL)
            motion = (side * random.uniform(0.3, 0.5), 0.0, 0.0)
        else:
            stay = round(random.uniform(4, 8) / INTERVAL)
            way, speed = random.uniform(-np.pi, np.pi), random.uniform(0.3, 0.5)
            motion = (speed * np.cos(way), speed * np.sin(way), 0.0)
        side = -side
        first = attack.start + row
        forced[first : min(first + stay, attack.end)] = WHEEL_MATRIX @ np.array(motion)
        row += stay
