"""The body: joints that follow their commands, and motors that draw current and get warm.

Limits of angle, speed and torque are those of the maker's public description of the robot. Loads,
inertias and thermal constants are plausible round numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from causewatch.simulate.robot.columns import INTERVAL, JOINTS

__all__ = [
    "LIMITS",
    "WARM",
    "WARM_SPREAD",
    "Joints",
    "follow",
    "joint_loads",
    "motor_temperatures",
    "ramp",
]

Floats = NDArray[np.float64]


class Limit(NamedTuple):
    """What a joint can do: angles in rad, speed in rad/s, torque in Nm."""

    low: float
    high: float
    speed: float
    torque: float


_BIG, _SMALL = (7.33998, 5.428), (9.22756, 2.666)

LIMITS: dict[str, Limit] = {
    "HeadYaw": Limit(-2.08567, 2.08567, *_BIG),
    "HeadPicth": Limit(-0.706858, 0.637045, *_SMALL),
    "LShoulderPitch": Limit(-2.08567, 2.08567, *_BIG),
    "LShoulderRoll": Limit(0.00872665, 1.56207, *_SMALL),
    "LElbowYaw": Limit(-2.08567, 2.08567, *_BIG),
    "LElbowRoll": Limit(-1.56207, -0.00872665, *_SMALL),
    "LWristYaw": Limit(-1.82387, 1.82387, 17.3835, 0.2014),
    "LHand": Limit(0.0, 1.0, 3.6, 0.2),
    "RShoulderPitch": Limit(-2.08567, 2.08567, *_BIG),
    "RShoulderRoll": Limit(-1.56207, -0.00872665, *_SMALL),
    "RElbowYaw": Limit(-2.08567, 2.08567, *_BIG),
    "RElbowRoll": Limit(0.00872665, 1.56207, *_SMALL),
    "RWristYaw": Limit(-1.82387, 1.82387, 17.3835, 0.2014),
    "Rhand": Limit(0.0, 1.0, 3.6, 0.2),
    "HipRoll": Limit(-0.514872, 0.514872, 2.27032, 10.1884),
    "HipPicth": Limit(-1.03847, 1.03847, 2.93276, 19.787),
    "KneePicth": Limit(-0.514872, 0.514872, 2.93276, 27.702),
}
"""By joint; a hand counts from 0, closed, to 1, open."""

SERVO_SECONDS = 0.08
"""Time in which a stiff joint covers two thirds of the way to its command."""

STIFFNESS_RATE = 2.0
"""How fast stiffness changes, per second."""

INERTIA: dict[str, float] = {
    "HeadYaw": 0.02,
    "HeadPicth": 0.025,
    "ShoulderPitch": 0.09,
    "ShoulderRoll": 0.07,
    "ElbowYaw": 0.02,
    "ElbowRoll": 0.025,
    "WristYaw": 0.0005,
    "Hand": 0.0005,
    "hand": 0.0005,
    "HipRoll": 0.9,
    "HipPicth": 1.2,
    "KneePicth": 1.6,
}
"""What a joint has to speed up, in kg m²; arms by the part of the name after the side."""

FRICTION = 0.12
"""Share of the largest torque that turning at the largest speed takes."""

HOLDING = 0.12
"""Share of the largest current that a motor at full stiffness always draws."""

AMBIENT = 24.0
"""Temperature of the room in °C."""

ELECTRONICS = 10.0
"""By how much the electronics warm every motor that is on, in °C."""

HEATING = 180.0
"""By how much the largest current would in the end warm a motor, in °C."""

THERMAL_SECONDS = 500.0
"""Time in which a motor covers two thirds of the way to its final temperature."""

WARM: Floats = np.array(
    [
        *(35.1, 37.1),
        *(37.3, 36.7, 34.4, 35.2, 34.4, 33.6),
        *(39.7, 36.9, 34.4, 36.0, 34.5, 33.6),
        *(36.3, 40.8, 38.6),
        *(34.7, 34.8, 34.0),
    ]
)
"""Where temperatures in °C come to rest in normal work, in the order of `ACTUATORS`."""

WARM_SPREAD: Floats = np.array(
    [
        *(0.29, 0.4),
        *(0.63, 0.45, 0.28, 0.35, 0.28, 0.25),
        *(0.84, 0.46, 0.28, 0.41, 0.28, 0.25),
        *(0.32, 0.38, 0.39),
        *(0.3, 0.3, 0.24),
    ]
)
"""Standard deviation of the temperatures in normal work: mostly how long ago the last rest was."""


@dataclass(frozen=True, eq=False)
class Joints:
    """How the joints moved.

    Attributes
    ----------
    angle
        Rows × `JOINTS`, as they are, without noise.
    speed, acceleration
        Their change per second, over one row.
    """

    angle: Floats
    speed: Floats
    acceleration: Floats


def ramp(target: Floats) -> Floats:
    """Stiffness that goes to `target` (rows × motors) no faster than the motor boards let it."""
    step = STIFFNESS_RATE * INTERVAL
    out = np.empty_like(target)
    now = target[0].copy()
    for row, wanted in enumerate(target):
        now += np.clip(wanted - now, -step, step)
        out[row] = now
    return out


def follow(commands: Floats, stiffness: Floats) -> Joints:
    """Let the joints go after `commands`, as stiff and as fast as they can.

    A joint without stiffness stays where it is: brakes and friction hold it.
    """
    low, high, speed, _ = np.array([LIMITS[name] for name in JOINTS]).T
    reachable = np.clip(commands, low, high)
    gain = (1 - np.exp(-INTERVAL / SERVO_SECONDS)) * np.clip(2 * stiffness, 0.0, 1.0)
    most = speed * INTERVAL
    angle = np.empty_like(commands)
    now = reachable[0].copy()
    for row, wanted in enumerate(reachable):
        now += np.clip(gain[row] * (wanted - now), -most, most)
        angle[row] = now
    moved = np.diff(angle, axis=0, prepend=angle[:1]) / INTERVAL
    return Joints(angle, moved, np.diff(moved, axis=0, prepend=moved[:1]) / INTERVAL)


def _gravity(angle: Floats) -> Floats:
    """Torque in Nm that holds each joint up; none about an axis that is upright."""
    out = np.zeros_like(angle)
    q = {name: angle[:, k] for k, name in enumerate(JOINTS)}
    column = JOINTS.index
    out[:, column("HeadPicth")] = 0.8 * np.sin(q["HeadPicth"])
    for arm in "LR":
        raised = np.cos(q[f"{arm}ShoulderPitch"])
        stretched = 0.6 + 0.4 * np.cos(q[f"{arm}ElbowRoll"])
        out[:, column(f"{arm}ShoulderPitch")] = 2.2 * raised * stretched
        out[:, column(f"{arm}ShoulderRoll")] = 1.2 * np.sin(q[f"{arm}ShoulderRoll"]) * stretched
        out[:, column(f"{arm}ElbowRoll")] = 0.6 * raised * np.cos(q[f"{arm}ElbowRoll"])
    lean = q["HipPicth"] + q["KneePicth"]
    out[:, column("HipRoll")] = 22 * np.sin(q["HipRoll"])
    out[:, column("HipPicth")] = 30 * np.sin(lean)
    out[:, column("KneePicth")] = 30 * np.sin(lean) + 35 * np.sin(q["KneePicth"])
    return out


def joint_loads(joints: Joints, stiffness: Floats) -> Floats:
    """Current of each joint's motor, as a share of the largest: rows × `JOINTS`.

    Torque against gravity, inertia and friction. A motor never draws more than its stiffness
    allows, and nothing without stiffness: then the brakes hold the joint.
    """
    torque = np.array([LIMITS[name].torque for name in JOINTS])
    speed = np.array([LIMITS[name].speed for name in JOINTS])
    inertia = np.array([INERTIA.get(name) or INERTIA[name[1:]] for name in JOINTS])
    needed = (_gravity(joints.angle) + inertia * joints.acceleration) / torque
    needed += FRICTION * joints.speed / speed
    drawn = np.minimum(np.abs(needed) + HOLDING * stiffness, 1.0)
    return np.asarray(drawn * np.clip(stiffness, 0.0, 1.0))


def motor_temperatures(loads: Floats, stiffness: Floats, start: Floats) -> Floats:
    """Temperature of every motor in °C: rows × `ACTUATORS`.

    Heat grows with the square of the current; what is warmer than the room cools.
    """
    final = AMBIENT + ELECTRONICS * (stiffness > 0) + HEATING * loads**2
    keep = float(np.exp(-INTERVAL / THERMAL_SECONDS))
    out, _ = lfilter([1 - keep], [1, -keep], final, axis=0, zi=keep * start[None, :])
    return np.asarray(out, dtype=np.float64)
