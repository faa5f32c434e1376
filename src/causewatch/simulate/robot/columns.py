"""The 255 columns of a Pepper recording, in their order and with their spelling.

The names are those of the public recording: ``Picth`` and ``Rhand`` are spelt as they are there,
and the first nine points of the left laser repeat names of the front one, so that they end in
``.1`` when the file is read.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ACCELEROMETER",
    "ACTUATORS",
    "ANGLES",
    "BUMPERS",
    "COLOURS",
    "EARS",
    "FACE",
    "GYROSCOPE",
    "INFRARED",
    "INTERVAL",
    "JOINTS",
    "LASERS",
    "LEDS",
    "SHOULDER",
    "SIGNALS",
    "SONARS",
    "STIFFNESS",
    "TABLET",
    "TEMPERATURES",
    "TOUCH",
    "WHEELS",
    "WHEEL_SPEEDS",
    "places",
]

INTERVAL = 0.1
"""Seconds between two rows."""

COLOURS = ("R", "G", "B")

_ARM = ("ShoulderPitch", "ShoulderRoll", "ElbowYaw", "ElbowRoll", "WristYaw")

JOINTS = (
    "HeadYaw",
    "HeadPicth",
    *(f"L{part}" for part in _ARM),
    "LHand",
    *(f"R{part}" for part in _ARM),
    "Rhand",
    "HipRoll",
    "HipPicth",
    "KneePicth",
)
WHEELS = ("WheelFL", "WheelFR", "WheelB")
ACTUATORS = (*JOINTS, *WHEELS)
WHEEL_SPEEDS = tuple(f"{wheel}Speed" for wheel in WHEELS)
STIFFNESS = tuple(f"{name}Stiff" for name in ACTUATORS)
TEMPERATURES = tuple(f"{name}Temp" for name in ACTUATORS)


def _points(names: Iterable[str]) -> tuple[str, ...]:
    """The X and Y columns of laser points."""
    return tuple(f"{name}{axis}" for name in names for axis in "XY")


LASERS: dict[str, tuple[str, ...]] = {
    "right": _points(f"LaserR{n:02}" for n in range(1, 16)),
    "front": _points(f"LaserF{n:02}" for n in range(1, 16)),
    "left": (
        *(f"{name}.1" for name in _points(f"LaserF{n:02}" for n in range(1, 10))),
        *_points(f"LaserL{n:02}" for n in range(10, 16)),
    ),
    "shovel": _points(f"LaserShovel{n:02}" for n in range(1, 4)),
    "vertical": _points(("LaserVeR01", "LaserVeL01")),
}
"""Columns of each laser: X and Y of its points in turn."""

SONARS = ("SonarF", "SonarB")
INFRARED = ("InfraRedL", "InfraRedR")

FACE = tuple(f"LedFace{colour}{eye}{n}" for eye in "LR" for colour in COLOURS for n in range(1, 9))
EARS = tuple(f"LedEar{ear}{n}" for ear in "RL" for n in range(1, 11))
SHOULDER = tuple(f"LedShoulder{colour}" for colour in COLOURS)
LEDS = (*FACE, *EARS, *SHOULDER)

GYROSCOPE = tuple(f"Gyroscope{axis}" for axis in "XYZ")
ANGLES = tuple(f"Angles{axis}" for axis in "XYZ")
ACCELEROMETER = tuple(f"Accelerometer{axis}" for axis in "XYZ")

TOUCH = ("TouchHeadF", "TouchHeadR", "TouchHeadM", "TouchLHand", "TouchRHand", "ChestButton")
BUMPERS = ("BumperFR", "BumperFL", "BumperB")
TABLET = ("TabletTouchX", "TabletTouchY")

SIGNALS: tuple[str, ...] = (
    *JOINTS,
    *WHEEL_SPEEDS,
    *(name for names in LASERS.values() for name in names),
    *SONARS,
    *INFRARED,
    *LEDS,
    *GYROSCOPE,
    *ANGLES,
    *ACCELEROMETER,
    *TOUCH,
    *BUMPERS,
    *TABLET,
    *STIFFNESS,
    *TEMPERATURES,
)
"""Every column, in order."""

_PLACE = {name: place for place, name in enumerate(SIGNALS)}


def places(names: Iterable[str]) -> list[int]:
    """Column numbers of `names` in a recording."""
    return [_PLACE[name] for name in names]
