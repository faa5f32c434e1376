"""The base: three wheels, a controller that drives to goals, walls that stop it.

The only part in which what happened decides what happens next, and therefore the one loop over rows
that works with plain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2, cos, exp, hypot, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from causewatch.simulate.robot.behaviours import CRUISE, TURN_SPEED, Segment, wrapped
from causewatch.simulate.robot.columns import INTERVAL
from causewatch.simulate.robot.room import PLACES, ROOM

__all__ = ["RADIUS", "WHEEL_MATRIX", "Drive", "drive", "wheel_loads"]

Floats = NDArray[np.float64]

RADIUS = 0.28
"""Of the base with its bumpers, in metres."""

WHEEL_RADIUS = 0.07
_DIRECTIONS = np.array([pi / 3, -pi / 3, pi])
_REACH = np.array([0.179, 0.179, 0.17])

WHEEL_MATRIX: Floats = (
    np.stack([-np.sin(_DIRECTIONS), np.cos(_DIRECTIONS), _REACH], axis=1) / WHEEL_RADIUS
)
"""Speeds of the wheels FL, FR and B in rad/s from speed ahead, speed to the left, and turning.

The wheels sit around the base and each rolls across its own direction, so that the robot can also
move sideways. Driving straight ahead leaves the one at the back still.
"""

TOP_WHEEL_SPEED = 9.0
"""Of any wheel, in rad/s."""

ACCELERATION, TURN_ACCELERATION = 0.3, 1.2
"""How fast the controller changes speed (m/s²) and turning (rad/s²)."""

WHEEL_SECONDS = 0.12
"""Time in which a wheel covers two thirds of the way to its commanded speed."""

ARRIVED, FACING = 0.04, 0.03
"""Close enough to a goal: metres, radians."""

SLIP = np.array([0.01, 0.01, 0.02])
"""Standard deviation of what slipping wheels add to the motion, as a share of the speed."""


@dataclass(frozen=True, eq=False)
class Drive:
    """How the base moved.

    Attributes
    ----------
    pose
        Rows × (x, y, heading); the heading counts on past π.
    velocity
        Rows × (m/s in the room along x, along y; rad/s): change of pose during the row.
    wheels
        Rows × wheels in rad/s.
    commands
        What the wheels were told.
    contact
        Rows × (front right, front left, back): 1 where a bumper is pressed.
    """

    pose: Floats
    velocity: Floats
    wheels: Floats
    commands: Floats
    contact: Floats


def drive(segments: Sequence[Segment], stiffness: Floats, forced: Floats, slip: Floats) -> Drive:
    """Drive after the goals of `segments`.

    Parameters
    ----------
    segments
        The plan.
    stiffness
        Rows × wheels. A wheel with little of it is slow to follow.
    forced
        Rows × wheels: speeds in rad/s that somebody else commands; NaN where nobody does.
    slip
        Rows × 3 standard normal numbers.
    """
    rows = len(forced)
    goals: list[tuple[bool, tuple[float, float, float]] | None] = [None] * rows
    for segment in segments:
        if segment.goal is not None:
            for row in range(segment.start, min(segment.end, rows)):
                goals[row] = (segment.kind == "drive", segment.goal)
    taken: list[bool] = (~np.isnan(forced[:, 0])).tolist()
    gains = (1 - exp(-INTERVAL / WHEEL_SECONDS)) * np.clip(2 * stiffness, 0, 1)
    to_motion = np.linalg.inv(WHEEL_MATRIX)
    walls = [
        (float(nx), float(ny), float(offset))
        for (nx, ny), offset in zip(ROOM.normals, ROOM.offsets, strict=True)
    ]
    pose, velocity = np.empty((rows, 3)), np.empty((rows, 3))
    wheels, commands = np.empty((rows, 3)), np.empty((rows, 3))
    contact = np.zeros((rows, 3))
    x, y, heading = PLACES[0]
    ahead = turning = 0.0
    speeds = np.zeros(3)
    for row in range(rows):
        goal = goals[row]
        wanted = (0.0, 0.0) if goal is None else _steer(x, y, heading, *goal)
        # The controller does not know that its orders are ignored.
        ahead += _limited(wanted[0] - ahead, ACCELERATION * INTERVAL)
        turning += _limited(wanted[1] - turning, TURN_ACCELERATION * INTERVAL)
        if taken[row]:
            order = forced[row]
        else:
            order = WHEEL_MATRIX[:, 0] * ahead + WHEEL_MATRIX[:, 2] * turning
        commands[row] = order
        speeds = speeds + gains[row] * (order - speeds)
        forward, left, rate = ((to_motion @ speeds) * (1 + SLIP * slip[row])).tolist()
        middle = heading + rate * INTERVAL / 2
        c, s = cos(middle), sin(middle)
        new_x = x + (c * forward - s * left) * INTERVAL
        new_y = y + (s * forward + c * left) * INTERVAL
        touched = False
        for nx, ny, offset in walls:
            into = RADIUS - (nx * new_x + ny * new_y - offset)
            if into > 0:
                touched = True
                new_x, new_y = new_x + into * nx, new_y + into * ny
                _press(contact[row], wrapped(atan2(-ny, -nx) - heading))
        velocity[row] = (new_x - x) / INTERVAL, (new_y - y) / INTERVAL, rate
        if touched:
            # The wheels do not slip on the floor: what the wall stops stops them.
            vx, vy, _ = velocity[row].tolist()
            speeds = WHEEL_MATRIX @ np.array([c * vx + s * vy, c * vy - s * vx, rate])
        x, y, heading = new_x, new_y, heading + rate * INTERVAL
        pose[row] = x, y, heading
        wheels[row] = speeds
    return Drive(pose, velocity, wheels, commands, contact)


def _limited(value: float, most: float) -> float:
    return max(-most, min(most, value))


def _steer(
    x: float, y: float, heading: float, drives: bool, goal: tuple[float, float, float]
) -> tuple[float, float]:
    """Wanted speed ahead and turning: first look at the goal, then drive there, then turn."""
    distance = hypot(goal[0] - x, goal[1] - y)
    if not drives or distance < ARRIVED:
        error = wrapped(goal[2] - heading)
        return 0.0, 0.0 if abs(error) < FACING else _turning(error)
    error = wrapped(atan2(goal[1] - y, goal[0] - x) - heading)
    # Close to the goal its direction says little; a robot that drove past turns round.
    if abs(error) > (0.25 if distance > 0.3 else 0.8):
        return 0.0, _turning(error)
    return min(CRUISE, sqrt(1.2 * ACCELERATION * distance)) * cos(error), _turning(error)


def _turning(error: float) -> float:
    return _limited(1.4 * error, TURN_SPEED)


def _press(bumpers: Floats, side: float) -> None:
    """Press what faces the wall: `side` is the wall's direction seen from the robot."""
    if abs(side) > 2 * pi / 3:
        bumpers[2] = 1.0
    elif abs(side) < pi / 2:
        bumpers[0] = max(bumpers[0], float(side < 0.3))
        bumpers[1] = max(bumpers[1], float(side > -0.3))


def wheel_loads(moved: Drive, stiffness: Floats) -> Floats:
    """Current of each wheel's motor, as a share of the largest: rows × wheels.

    Rolling takes a little, speeding up more, and a wheel that is held against its command most.
    """
    rolling = 0.25 * np.abs(moved.wheels) / TOP_WHEEL_SPEED
    change = np.abs(np.diff(moved.wheels, axis=0, prepend=moved.wheels[:1])) / INTERVAL
    held = np.abs(moved.commands - moved.wheels) / TOP_WHEEL_SPEED
    wanted = rolling + 0.012 * change + 1.2 * held + 0.1 * stiffness
    return np.minimum(wanted, 1.0) * np.clip(stiffness, 0.0, 1.0)
