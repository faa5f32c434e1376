"""From behaviours to commands: where joints are told to be, and how stiff motors are told to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.simulate.robot.behaviours import Segment
from causewatch.simulate.robot.columns import ACTUATORS, INTERVAL, JOINTS, WHEELS

__all__ = ["STAND", "joint_commands", "stiffness_commands"]

Floats = NDArray[np.float64]

HEAD = ("HeadYaw", "HeadPicth")
LEGS = ("HipRoll", "HipPicth", "KneePicth")
HANDS = ("LHand", "Rhand")

STAND: dict[str, float] = {
    "HeadYaw": 0.0,
    "HeadPicth": -0.15,
    "LShoulderPitch": 1.55,
    "LShoulderRoll": 0.14,
    "LElbowYaw": -1.2,
    "LElbowRoll": -0.52,
    "LWristYaw": 0.0,
    "LHand": 0.6,
    "RShoulderPitch": 1.55,
    "RShoulderRoll": -0.14,
    "RElbowYaw": 1.2,
    "RElbowRoll": 0.52,
    "RWristYaw": 0.0,
    "Rhand": 0.6,
    "HipRoll": 0.0,
    "HipPicth": -0.05,
    "KneePicth": 0.0,
}
"""Upright, arms hanging."""

REST: dict[str, float] = {
    **STAND,
    "HeadPicth": 0.4,
    "LShoulderPitch": 1.75,
    "RShoulderPitch": 1.75,
    "LHand": 0.3,
    "Rhand": 0.3,
    "HipPicth": -0.5,
    "KneePicth": 0.25,
}
"""Bent forward with the brakes on, as far down as gravity takes it."""

CARRY: dict[str, float] = {
    **STAND,
    "LElbowRoll": -0.9,
    "RElbowRoll": 0.9,
    "HipPicth": -0.08,
    "KneePicth": 0.02,
}
"""Arms held close for driving."""

BREATH: dict[str, float] = {
    "HeadPicth": -0.012,
    "LShoulderPitch": 0.03,
    "RShoulderPitch": 0.03,
    "LShoulderRoll": 0.02,
    "RShoulderRoll": -0.02,
    "LElbowRoll": -0.03,
    "RElbowRoll": 0.03,
    "HipPicth": 0.014,
    "KneePicth": -0.009,
}
"""How far each joint moves with a breath."""

BREATH_SECONDS = 5.0

STIFF: dict[str, tuple[float, float, float, float, float]] = {
    "idle": (0.8, 0.6, 0.3, 1.0, 0.3),
    "look": (1.0, 0.6, 0.3, 1.0, 0.3),
    "greet": (1.0, 1.0, 0.8, 1.0, 0.3),
    "listen": (1.0, 0.6, 0.3, 1.0, 0.3),
    "talk": (1.0, 1.0, 0.8, 1.0, 0.3),
    "drive": (0.8, 0.8, 0.3, 1.0, 1.0),
    "turn": (0.8, 0.8, 0.3, 1.0, 1.0),
    "rest": (0.0, 0.0, 0.0, 0.0, 0.0),
}
"""Stiffness of head, arms, hands, legs and wheels by behaviour."""

SIT_DOWN = 3.0
"""Seconds after which the motors are switched off when the robot comes to rest."""


def stiffness_commands(segments: Sequence[Segment], rows: int) -> Floats:
    """How stiff every motor is told to be: rows × `ACTUATORS`."""
    member = dict.fromkeys(ACTUATORS, 1) | dict.fromkeys(HEAD, 0) | dict.fromkeys(HANDS, 2)
    member |= dict.fromkeys(LEGS, 3) | dict.fromkeys(WHEELS, 4)
    groups = [member[name] for name in ACTUATORS]
    out = np.empty((rows, len(ACTUATORS)))
    for segment in segments:
        levels = np.array(STIFF[segment.kind])[groups]
        if segment.kind == "rest":
            # The robot lowers itself first, and only then lets go.
            low = segment.start + round(SIT_DOWN / INTERVAL)
            out[segment.start : low] = np.array(STIFF["idle"])[groups]
            out[low : segment.end] = levels
        else:
            out[segment.start : segment.end] = levels
    return out


def joint_commands(segments: Sequence[Segment], rows: int, random: np.random.Generator) -> Floats:
    """Where every joint is told to be, in radians: rows × `JOINTS`.

    Hands go from 0, closed, to 1, open.
    """
    track = _Track(rows)
    for segment in segments:
        _SCENES[segment.kind](track, segment, random)
    awake = np.ones(rows)
    for segment in segments:
        if segment.kind == "rest":
            awake[segment.start : segment.end] = 0.0
        elif segment.kind in ("drive", "turn"):
            awake[segment.start : segment.end] = 0.4
    # Breathing fades in and out over a second; the average only looks back.
    width = round(1 / INTERVAL)
    padded = np.concatenate([np.full(width - 1, awake[0]), awake])
    depth = np.convolve(padded, np.full(width, 1 / width), mode="valid")
    phase = np.sin(2 * np.pi * np.arange(rows) * INTERVAL / BREATH_SECONDS)
    for name, amount in BREATH.items():
        track.commands[:, JOINTS.index(name)] += amount * depth * phase
    return track.commands


class _Track:
    """Commands that are written from left to right."""

    def __init__(self, rows: int) -> None:
        self.commands = np.tile([STAND[name] for name in JOINTS], (rows, 1))

    def move(self, row: int, seconds: float, targets: Mapping[str, float]) -> None:
        """From `row` on, go smoothly to `targets` and stay there."""
        length = max(1, round(seconds / INTERVAL))
        share = np.arange(1, length + 1) / length
        # Least jerk: starts and ends at rest.
        course = share**3 * (10 - 15 * share + 6 * share**2)
        for name, target in targets.items():
            column = self.commands[:, JOINTS.index(name)]
            before = column[max(row - 1, 0)]
            end = min(row + len(course), len(column))
            column[row:end] = before + (target - before) * course[: end - row]
            column[end:] = target


def _idle(track: _Track, segment: Segment, random: np.random.Generator) -> None:
    track.move(segment.start, 1.5, STAND)
    row = segment.start
    while (row := row + round(random.uniform(2.5, 6) / INTERVAL)) < segment.end - 10:
        yaw, pitch, sway = random.normal(0, (0.12, 0.05, 0.02)).tolist()
        targets = {"HeadYaw": yaw, "HeadPicth": STAND["HeadPicth"] + pitch, "HipRoll": sway}
        track.move(row, 1.0, targets)


def _look(track: _Track, segment: Segment, random: np.random.Generator) -> None:
    track.move(segment.start, 1.2, STAND)
    row = segment.start
    side = 1 if random.random() < 0.5 else -1
    while row < segment.end - 15:
        yaw = side * random.uniform(0.3, 1.2)
        pitch = random.uniform(-0.35, 0.2)
        track.move(row, 0.6 + 0.5 * abs(yaw), {"HeadYaw": yaw, "HeadPicth": pitch})
        side = -side
        row += round(random.uniform(1.6, 3) / INTERVAL)
    track.move(segment.end - 10, 1.0, {"HeadYaw": 0.0, "HeadPicth": STAND["HeadPicth"]})


def _greet(track: _Track, segment: Segment, random: np.random.Generator) -> None:
    lifted = {
        "RShoulderPitch": -0.55 + random.normal(0, 0.08),
        "RShoulderRoll": -0.25,
        "RElbowYaw": 1.25,
        "RElbowRoll": 0.95,
        "Rhand": 1.0,
        "HeadPicth": -0.25,
        "HeadYaw": 0.0,
    }
    track.move(segment.start, 1.2, {**STAND, **lifted})
    row, side = segment.start + 12, 1
    while row < segment.end - 16:
        track.move(row, 0.4, {"RElbowRoll": 0.95 + side * 0.3, "RWristYaw": side * 0.15})
        row, side = row + 4, -side
    track.move(segment.end - 12, 1.2, STAND)


def _listen(track: _Track, segment: Segment, random: np.random.Generator) -> None:
    track.move(segment.start, 1.2, {**STAND, "HipPicth": -0.1, "HeadPicth": -0.25})
    row = segment.start
    while (row := row + round(random.uniform(1.5, 3.5) / INTERVAL)) < segment.end - 8:
        if random.random() < 0.5:
            track.move(row, 0.3, {"HeadPicth": -0.1})
            track.move(row + 3, 0.4, {"HeadPicth": -0.25})
        else:
            track.move(row, 0.8, {"HeadYaw": float(random.normal(0, 0.08))})


def _talk(track: _Track, segment: Segment, random: np.random.Generator) -> None:
    track.move(segment.start, 0.8, {"HeadPicth": -0.2, "HipPicth": STAND["HipPicth"]})
    row = segment.start
    while row < segment.end - 20:
        seconds = float(random.uniform(0.7, 1.4))
        arms = ("L", "R", "LR", "LR")[int(random.integers(4))]
        targets: dict[str, float] = {}
        pitch, roll, bend, turn, wrist = random.uniform(
            (0.5, 0.15, 0.6, 0.5, -0.6), (1.3, 0.5, 1.3, 1.3, 0.6)
        ).tolist()
        hand = float(random.uniform(0.4, 1.0))
        for arm in arms:
            side = 1 if arm == "L" else -1
            targets[f"{arm}ShoulderPitch"] = pitch
            targets[f"{arm}ShoulderRoll"] = side * roll
            targets[f"{arm}ElbowYaw"] = -side * turn
            targets[f"{arm}ElbowRoll"] = -side * bend
            targets[f"{arm}WristYaw"] = side * wrist
            targets["LHand" if arm == "L" else "Rhand"] = hand
        yaw, nod, sway = random.normal(0, (0.1, 0.06, 0.025)).tolist()
        targets |= {"HeadYaw": yaw, "HeadPicth": -0.2 + nod, "HipRoll": sway}
        track.move(row, seconds, targets)
        row += round((seconds + random.uniform(0.1, 0.8)) / INTERVAL)
    track.move(segment.end - 12, 1.2, STAND)


def _drive(track: _Track, segment: Segment, random: np.random.Generator) -> None:
    track.move(segment.start, 1.0, CARRY)
    track.move(segment.end - 10, 1.0, STAND)


def _rest(track: _Track, segment: Segment, random: np.random.Generator) -> None:
    track.move(segment.start, SIT_DOWN - 0.5, REST)


_SCENES = {
    "idle": _idle,
    "look": _look,
    "greet": _greet,
    "listen": _listen,
    "talk": _talk,
    "drive": _drive,
    "turn": _drive,
    "rest": _rest,
}
