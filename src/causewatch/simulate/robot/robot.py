"""A simulated Pepper: behaviours in, 255 columns out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError
from causewatch.simulate.robot import attacks as taking_over
from causewatch.simulate.robot import base, body, face, gestures, senses
from causewatch.simulate.robot.attacks import RobotAttack
from causewatch.simulate.robot.behaviours import BEHAVIOURS, Segment, plan
from causewatch.simulate.robot.columns import (
    ACCELEROMETER,
    ACTUATORS,
    ANGLES,
    BUMPERS,
    GYROSCOPE,
    INFRARED,
    INTERVAL,
    JOINTS,
    LASERS,
    LEDS,
    SIGNALS,
    SONARS,
    STIFFNESS,
    TABLET,
    TEMPERATURES,
    WHEEL_SPEEDS,
    WHEELS,
    places,
)
from causewatch.simulate.run import Run
from causewatch.simulate.system import stream

__all__ = ["PepperRobot"]

Floats = NDArray[np.float64]

BUILD, PLAN, GESTURES, LIGHTS, TOUCHES, SLIP, NOISE, WARMTH = range(10, 18)
"""Spawn keys of the random streams."""

ENCODER_STEP = 2 * np.pi / 4096
"""What the angle sensors can tell apart, in radians."""

NOISES: dict[tuple[str, ...], float] = {
    JOINTS: 0.0008,
    WHEEL_SPEEDS: 0.02,
    SONARS: 0.01,
    GYROSCOPE: 0.0015,
    ANGLES[:2]: 0.0003,
    ACCELEROMETER: 0.03,
    TEMPERATURES: 0.05,
    **{names: 0.01 for names in LASERS.values()},
}
"""Standard deviation of what sensors add: rad, rad/s, m, m/s², °C."""


class PepperRobot:
    """A humanoid robot on wheels that works in a room and meets people.

    Parameters
    ----------
    seed
        Of this one robot: small offsets of its sensors that another robot has differently. Also of
        a recording, if that is not given a seed of its own.

    Attributes
    ----------
    signals
        The 255 columns.
    interval
        Seconds between two rows.

    Examples
    --------
    >>> run = PepperRobot(seed=1).simulate(300, seed=2)
    >>> run.values.shape
    (300, 255)
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.signals: tuple[str, ...] = SIGNALS
        self.interval = INTERVAL
        random = stream(seed, BUILD)
        self._encoder_offset = random.normal(0, 0.004, len(JOINTS))
        self._gyroscope_offset = random.normal(0, 0.0001, 3)
        self._lean_offset = random.normal(0, 0.004, 2)
        self._accelerometer_offset = random.normal(0, 0.05, 3)

    def __repr__(self) -> str:
        return f"PepperRobot(seed={self.seed})"

    def simulate(
        self, rows: int, *, attacks: Sequence[RobotAttack] = (), seed: int | None = None
    ) -> Run:
        """Record `rows` rows.

        The same seed gives the same numbers. An attack changes nothing before its start, and plan
        and noise are the same with and without it.

        Parameters
        ----------
        rows
            How many rows to record.
        attacks
            What is done to the robot and when.
        seed
            Of plan and noise; the robot's own if not given.
        """
        if rows < 1:
            message = f"A recording needs at least 1 row, not {rows}."
            raise SettingError(message)
        values = np.zeros((rows, len(SIGNALS)))  # at once: more than fits must not take an hour
        seed = self.seed if seed is None else seed
        ordered = taking_over.check_attacks(attacks, rows)
        segments = plan(rows, stream(seed, PLAN))
        # Everything is planned to the end of the last behaviour and then cut, so that a longer
        # recording begins with the shorter one.
        planned = segments[-1].end
        commands = gestures.joint_commands(segments, planned, stream(seed, GESTURES))[:rows]
        wanted = gestures.stiffness_commands(segments, planned)[:rows]
        lights = face.lights(segments, planned, stream(seed, LIGHTS))[:rows]
        forced = np.full((rows, len(WHEELS)), np.nan)
        for attack in ordered:
            random = stream(seed, taking_over.COURSE, attack.start)
            if attack.name == "led":
                taking_over.apply_lights(attack, lights)
                continue
            taking_over.apply_stiffness(attack, wanted)
            if attack.name == "joints":
                taking_over.apply_joints(attack, commands, random)
            else:
                taking_over.apply_wheels(attack, forced, random)

        stiffness = body.ramp(wanted)
        arms, wheels = stiffness[:, : len(JOINTS)], stiffness[:, len(JOINTS) :]
        joints = body.follow(commands, arms)
        moved = base.drive(segments, wheels, forced, stream(seed, SLIP).standard_normal((rows, 3)))
        loads = np.hstack([body.joint_loads(joints, arms), base.wheel_loads(moved, wheels)])
        # The robot has been working before. What it did then moves all temperatures together.
        start = body.WARM + body.WARM_SPREAD * stream(seed, WARMTH).standard_normal()
        temperature = body.motor_temperatures(loads, stiffness, start)
        person = senses.visitor(segments, moved.pose)

        noise = _noise(rows, stream(seed, NOISE))

        def put(names: Sequence[str], shown: Floats) -> None:
            values[:, places(names)] = shown

        angles = joints.angle + self._encoder_offset + noise[:, places(JOINTS)]
        put(JOINTS, np.rint(angles / ENCODER_STEP) * ENCODER_STEP)
        put(WHEEL_SPEEDS, moved.wheels + noise[:, places(WHEEL_SPEEDS)])
        for name, distance in senses.laser_ranges(moved.pose, person).items():
            # X and Y of a point come from one measured distance: they share its noise.
            added = noise[:, places(LASERS[name][0::2])]
            put(LASERS[name], senses.laser_points(name, distance + added))
        put(SONARS, senses.sonar(moved.pose, person) + noise[:, places(SONARS)])
        put(INFRARED, senses.infrared(moved.pose, person))
        put(LEDS, lights)
        for names, shown in self._inertial(moved, joints, noise).items():
            put(names, shown)
        put(BUMPERS, moved.contact)
        put(TABLET, face.tablet_touches(segments, planned, stream(seed, TOUCHES))[:rows])
        put(STIFFNESS, stiffness)
        put(TEMPERATURES, np.rint(temperature + noise[:, places(TEMPERATURES)]))
        hidden = _hidden(segments, moved, commands, loads, temperature, person)
        episodes = tuple(attack.episode for attack in ordered)
        return Run(SIGNALS, values, INTERVAL, episodes, hidden)

    def _inertial(
        self, moved: base.Drive, joints: body.Joints, noise: Floats
    ) -> dict[tuple[str, ...], Floats]:
        """What the inertial sensors show."""
        gyroscope, lean, acceleration = senses.inertial(moved, joints)
        gyroscope = gyroscope + self._gyroscope_offset + noise[:, places(GYROSCOPE)]
        lean = lean[:, :2] + self._lean_offset + noise[:, places(ANGLES[:2])]
        acceleration = acceleration + self._accelerometer_offset + noise[:, places(ACCELEROMETER)]
        # The robot knows its heading only as the sum of what the gyroscope showed since it was
        # switched on, as a direction between -π and π.
        heading = np.cumsum(gyroscope[:, 2]) * INTERVAL
        heading = (heading + np.pi) % (2 * np.pi) - np.pi
        return {
            GYROSCOPE: gyroscope,
            ANGLES: np.column_stack([lean, heading]),
            ACCELEROMETER: acceleration,
        }


def _noise(rows: int, random: np.random.Generator) -> Floats:
    """What sensors add, rows × `SIGNALS`: drawn for all columns, used or not, attacked or not."""
    scale = np.zeros(len(SIGNALS))
    for names, size in NOISES.items():
        scale[places(names)] = size
    return random.standard_normal((rows, len(SIGNALS))) * scale


def _hidden(
    segments: Sequence[Segment],
    moved: base.Drive,
    commands: Floats,
    loads: Floats,
    temperature: Floats,
    person: Floats,
) -> dict[str, Floats]:
    """What no column shows."""
    rows = len(commands)
    behaviour = np.empty(rows)
    for segment in segments:
        behaviour[segment.start : segment.end] = BEHAVIOURS.index(segment.kind)
    named = {
        "behaviour": behaviour,
        "x": moved.pose[:, 0],
        "y": moved.pose[:, 1],
        "heading": moved.pose[:, 2],
        "visitor x": person[:, 0],
        "visitor y": person[:, 1],
    }
    named |= {f"command {name}": commands[:, k] for k, name in enumerate(JOINTS)}
    named |= {f"command {name}": moved.commands[:, k] for k, name in enumerate(WHEELS)}
    named |= {f"current {name}": loads[:, k] for k, name in enumerate(ACTUATORS)}
    named |= {f"temperature {name}": temperature[:, k] for k, name in enumerate(ACTUATORS)}
    return named
