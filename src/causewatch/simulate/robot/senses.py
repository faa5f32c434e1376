"""What the robot senses of its surroundings and of its own motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from causewatch.simulate.robot.base import RADIUS, Drive
from causewatch.simulate.robot.behaviours import Segment
from causewatch.simulate.robot.body import Joints
from causewatch.simulate.robot.columns import INTERVAL, JOINTS
from causewatch.simulate.robot.room import DOOR, ROOM, person_distance

__all__ = [
    "BEAMS",
    "body_acceleration",
    "inertial",
    "infrared",
    "laser_points",
    "laser_ranges",
    "sonar",
    "tilt",
    "visitor",
]

Floats = NDArray[np.float64]

LASER_RANGE = (0.1, 5.0)
SONAR_RANGE = (0.25, 5.0)
INFRARED_RANGE = 0.4
GRAVITY = 9.81

WALK_SECONDS = 3.0
"""How long a visitor takes from the door to the robot."""

_FAN = np.arange(-7, 8) * np.pi / 42

BEAMS: dict[str, tuple[tuple[float, float], float, Floats, float]] = {
    "right": ((-0.018, -0.090), -1.757, _FAN, np.inf),
    "front": ((0.056, 0.0), 0.0, _FAN, np.inf),
    "left": ((-0.018, 0.090), 1.757, _FAN, np.inf),
    "shovel": ((0.07, 0.0), 0.0, np.array([-0.35, 0.0, 0.35]), 0.65),
    "vertical": ((0.05, 0.0), 0.0, np.array([-0.3, 0.3]), 1.1),
}
"""By laser: place on the robot in metres, direction, angles of its points, how far the floor is.

The three flat lasers look past the floor. Point 1 is the rightmost.
"""

VERTICAL_DROP = 0.35
"""How steeply the vertical lasers look down, in radians."""


def _distance(pose: Floats, place: tuple[float, float], angle: Floats, person: Floats) -> Floats:
    """How far beams at `angle` from the robot's front go: rows × beams."""
    cosine, sine = np.cos(pose[:, 2]), np.sin(pose[:, 2])
    x = pose[:, 0] + cosine * place[0] - sine * place[1]
    y = pose[:, 1] + sine * place[0] + cosine * place[1]
    origin = np.broadcast_to(np.stack([x, y], axis=1)[:, None, :], (len(pose), len(angle), 2))
    direction = pose[:, 2:3] + angle
    walls = ROOM.wall_distance(origin, direction)
    return np.minimum(walls, person_distance(origin, direction, person))


def laser_ranges(pose: Floats, person: Floats) -> dict[str, Floats]:
    """Distance of every point of every laser, without noise: rows × points."""
    nearest, farthest = LASER_RANGE
    return {
        name: np.clip(_distance(pose, place, facing + angle, person), nearest, min(floor, farthest))
        for name, (place, facing, angle, floor) in BEAMS.items()
    }


def laser_points(name: str, distance: Floats) -> Floats:
    """X and Y of the points in the frame of the laser, in turn, as the columns have them."""
    angle = BEAMS[name][2]
    out = np.empty((len(distance), 2 * len(angle)))
    if name == "vertical":
        # Of these, Y is the height over the laser.
        out[:, 0::2] = distance * np.cos(VERTICAL_DROP)
        out[:, 1::2] = -distance * np.sin(VERTICAL_DROP)
    else:
        out[:, 0::2] = distance * np.cos(angle)
        out[:, 1::2] = distance * np.sin(angle)
    return out


def sonar(pose: Floats, person: Floats) -> Floats:
    """Distance of the nearest thing in front and behind, without noise: rows × 2."""
    cone = np.linspace(-np.pi / 6, np.pi / 6, 9)
    front = _distance(pose, (0.07, 0.0), cone, person).min(axis=1)
    back = _distance(pose, (-0.07, 0.0), np.pi + cone, person).min(axis=1)
    nearest, farthest = SONAR_RANGE
    return np.asarray(np.clip(np.stack([front, back], axis=1), nearest, farthest))


def infrared(pose: Floats, person: Floats) -> Floats:
    """1 where something is close to the front left or the front right, else 0: rows × 2."""
    reach = _distance(pose, (0.0, 0.0), np.array([0.6, -0.6]), person) - RADIUS
    return (reach < INFRARED_RANGE).astype(np.float64)


def visitor(segments: Sequence[Segment], pose: Floats) -> Floats:
    """Where the visitor is: rows × 2, NaN while there is none.

    A visitor comes from the door to a spot one metre in front of where the robot then is, and goes
    back in the end. One who is pushed steps back.
    """
    rows = len(pose)
    out = np.full((rows, 2), np.nan)
    door = np.array(DOOR)
    walk = round(WALK_SECONDS / INTERVAL)
    for segment in segments:
        if segment.visit is None or segment.visit[0] >= rows:
            continue
        start, end = segment.visit
        x, y, heading = pose[start]
        spot = ROOM.within(np.array([x + np.cos(heading), y + np.sin(heading)]), 0.3)
        row = np.arange(start, min(end, rows))
        share = np.clip(np.minimum(row - start, end - row) / walk, 0.0, 1.0)[:, None]
        here = door + share * (spot - door)
        away = here - pose[row, :2]
        gap = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-6)
        out[row] = pose[row, :2] + away * np.maximum(gap, 0.55) / gap
    return out


def tilt(joints: Joints, acceleration: Floats) -> Floats:
    """Roll and pitch of the base in radians: rows × 2.

    The base stands on soft tyres. It leans with the weight of the body above it, against its own
    acceleration, and against arms that are swung.
    """
    q = {name: joints.angle[:, k] for k, name in enumerate(JOINTS)}
    a = {name: joints.acceleration[:, k] for k, name in enumerate(JOINTS)}
    swing = a["LShoulderPitch"] + a["RShoulderPitch"]
    spread = a["LShoulderRoll"] + a["RShoulderRoll"]
    body = 1.6 * a["HipPicth"] + 2.0 * a["KneePicth"]
    pitch = 0.03 * np.sin(q["HipPicth"] + q["KneePicth"]) - 0.004 * acceleration[:, 0]
    pitch += -0.0003 * swing - 0.001 * body
    roll = 0.03 * np.sin(q["HipRoll"]) + 0.004 * acceleration[:, 1]
    roll += -0.0003 * spread - 0.002 * a["HipRoll"]
    keep = float(np.exp(-INTERVAL / 0.15))
    still = np.stack([roll, pitch], axis=1)
    soft, _ = lfilter([1 - keep], [1, -keep], still, axis=0, zi=keep * still[:1])
    return np.asarray(soft, dtype=np.float64)


def body_acceleration(moved: Drive) -> Floats:
    """Acceleration of the base ahead and to the left, in m/s²: rows × 2."""
    change = np.diff(moved.velocity[:, :2], axis=0, prepend=moved.velocity[:1, :2]) / INTERVAL
    cosine, sine = np.cos(moved.pose[:, 2]), np.sin(moved.pose[:, 2])
    return np.stack(
        [
            cosine * change[:, 0] + sine * change[:, 1],
            cosine * change[:, 1] - sine * change[:, 0],
        ],
        axis=1,
    )


def inertial(moved: Drive, joints: Joints) -> tuple[Floats, Floats, Floats]:
    """What gyroscope, angle and acceleration sensor would show without noise: rows × 3 each.

    The third angle is left at 0: the robot gets it by adding up its gyroscope.
    """
    pushed = body_acceleration(moved)
    lean = tilt(joints, pushed)
    rate = np.diff(lean, axis=0, prepend=lean[:1]) / INTERVAL
    gyroscope = np.column_stack([rate, moved.velocity[:, 2]])
    angles = np.column_stack([lean, np.zeros(len(lean))])
    acceleration = np.column_stack(
        [
            pushed[:, 0] - GRAVITY * np.sin(lean[:, 1]),
            pushed[:, 1] + GRAVITY * np.sin(lean[:, 0]),
            GRAVITY * np.cos(lean[:, 0]) * np.cos(lean[:, 1]),
        ]
    )
    return gyroscope, angles, acceleration
