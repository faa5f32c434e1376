"""The face: coloured lights that say what the robot is doing, and the tablet on its chest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.simulate.robot.behaviours import Segment
from causewatch.simulate.robot.columns import INTERVAL

__all__ = ["lights", "quantised", "tablet_touches"]

Floats = NDArray[np.float64]

EYES: dict[str, tuple[float, float, float]] = {
    "idle": (0.8, 0.8, 0.8),
    "look": (0.2, 0.8, 0.9),
    "greet": (0.7, 0.9, 0.2),
    "listen": (0.0, 0.25, 0.8),
    "talk": (0.6, 0.6, 0.8),
    "drive": (0.5, 0.9, 0.5),
    "turn": (0.5, 0.9, 0.5),
    "rest": (0.0, 0.0, 0.0),
}
"""Red, green and blue of the eyes by behaviour: red is never the strongest."""

EARS: dict[str, float] = {"listen": 0.6, "talk": 0.2, "rest": 0.0}
"""Brightness of the ears; full if the behaviour is not listed."""

SHOULDERS: dict[str, tuple[float, float, float]] = {
    "listen": (0.0, 0.2, 0.7),
    "talk": (0.5, 0.5, 0.5),
    "drive": (0.0, 0.7, 0.1),
    "turn": (0.0, 0.7, 0.1),
    "rest": (0.12, 0.12, 0.12),
}
"""Colour of the shoulders; a soft white if the behaviour is not listed."""

FADE = round(0.5 / INTERVAL)
"""Rows over which one colour goes over into the next."""

TURN_SECONDS = 1.6
"""How long the light takes round an eye or an ear while the robot listens."""

FLASH = round(0.8 / INTERVAL)
"""Rows for which the eyes turn green after the tablet was touched."""

BLINK = 2
"""Rows for which a blink lasts."""

BLINKS = 1 / 4.0
"""Blinks per second."""

TABLET_SIZE = (1707.0, 1067.0)
"""Width and height of the tablet in pixels."""


def quantised(values: Floats) -> Floats:
    """Brightness as the boards that drive the lights know it: 256 steps from 0 to 1."""
    return np.rint(np.clip(values, 0.0, 1.0) * 255) / 255


def _faded(values: Floats) -> Floats:
    """Mean of the last rows, so that colours go over into each other."""
    padded = np.concatenate([np.repeat(values[:1], FADE - 1, axis=0), values])
    windows = np.lib.stride_tricks.sliding_window_view(padded, FADE, axis=0)
    return np.asarray(windows.mean(axis=-1))


def _round(place: Floats, count: int, rows: Floats, direction: int) -> Floats:
    """A light that runs round `count` lamps: rows × lamps, with mean 1 over the lamps."""
    turned = rows[:, None] * INTERVAL / TURN_SECONDS
    return 1 + 0.9 * np.cos(2 * np.pi * (direction * place / count - turned))


def lights(segments: Sequence[Segment], rows: int, random: np.random.Generator) -> Floats:
    """Brightness of every light: rows × `LEDS`, in 256 steps from 0 to 1.

    Both eyes show the same, mirrored.
    """
    eyes, shoulders = np.empty((rows, 3)), np.empty((rows, 3))
    ears, listens, talks = np.empty((rows, 1)), np.zeros((rows, 1)), np.zeros((rows, 1))
    flash, awake = np.zeros((rows, 1)), np.ones((rows, 1))
    for segment in segments:
        part = slice(segment.start, segment.end)
        eyes[part] = EYES[segment.kind]
        ears[part] = EARS.get(segment.kind, 1.0)
        shoulders[part] = SHOULDERS.get(segment.kind, (0.4, 0.4, 0.4))
        listens[part] = segment.kind == "listen"
        talks[part] = segment.kind == "talk"
        awake[part] = segment.kind != "rest"
        for tap in segment.taps:
            flash[tap : min(tap + FLASH, segment.end)] = 1.0
    count = np.arange(rows, dtype=np.float64)
    draws = random.random((rows, 2))
    begins = (draws[:, 0] < BLINKS * INTERVAL).astype(np.float64)
    shut = np.convolve(begins, np.ones(BLINK))[:rows] > 0
    lids = np.where(shut, 0.0, 1.0)[:, None] * (awake > 0) + (awake == 0)
    # While it talks, the eyes flicker with the syllables.
    voice = 1 - 0.5 * _faded(talks) * draws[:, 1:2]
    colour = _faded(eyes * (1 - flash) + np.array([0.0, 0.8, 0.2]) * flash) * lids * voice
    running = _faded(listens)
    lamps = np.arange(8.0)
    left = 1 + running * (_round(lamps, 8, count, 1) - 1)
    right = 1 + running * (_round(lamps, 8, count, -1) - 1)
    # Listening, a lamp shines up to 1.9 times its mean; halved it stays in range.
    dim = 1 - 0.4 * running
    face = [dim * side * colour[:, k : k + 1] for side in (left, right) for k in range(3)]
    sound = _faded(ears)
    ring = np.arange(10.0)
    around = [
        dim * sound * (1 + running * (_round(ring, 10, count, direction) - 1))
        for direction in (-1, 1)
    ]
    # At rest the shoulders pulse slowly; no other behaviour does.
    pulse = 1 + (1 - _faded(awake)) * np.sin(2 * np.pi * count * INTERVAL / 4)[:, None]
    return quantised(np.concatenate([*face, *around, _faded(shoulders) * pulse], axis=1))


def tablet_touches(segments: Sequence[Segment], rows: int, random: np.random.Generator) -> Floats:
    """Where the tablet was last touched, in pixels from its corner: rows × 2."""
    out = np.empty((rows, 2))
    out[:] = np.rint(random.uniform((0, 0), TABLET_SIZE))
    for segment in segments:
        for tap in segment.taps:
            # Buttons are in the lower half.
            low = (0.1 * TABLET_SIZE[0], 0.5 * TABLET_SIZE[1])
            out[tap:] = np.rint(random.uniform(low, (0.9 * TABLET_SIZE[0], TABLET_SIZE[1])))
    return out
