"""Everything random in the plant: sensor noise, the slow moods of water and analysers, the day.

All of it is drawn before anything happens, so that two runs with one seed differ only by what is
done to the plant, and a longer run begins like a shorter one.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from causewatch.simulate.plant.tags import RESOLUTION, SENSORS

__all__ = ["ANALYSERS", "MOODS", "weather"]

BLOCK = 3600
DAY = 86_400

MOODS: dict[str, tuple[float, float, float]] = {
    "supply": (900.0, 0.012, 0.025),  # pressure of the raw water main, as a share
    "raw_conductivity": (14_400.0, 1.5, 1.5),  # µS/cm
    "raw_ph": (14_400.0, 0.02, 0.02),
    "raw_orp": (7_200.0, 4.0, 3.0),  # mV
    "temperature": (10_800.0, 0.3, 1.5),  # °C
    "hardness": (14_400.0, 0.4, 0.2),  # ppm
    "transfer": (60.0, 0.003, 0.0),  # efficiency of the pumps of a line, as a share
    "filter_feed": (60.0, 0.003, 0.0),
    "ro_feed": (60.0, 0.002, 0.0),
    "pressure": (120.0, 0.003, 0.0),
}
"""Slow movements: time constant in seconds, standard deviation, and amplitude over the day."""

ANALYSERS: dict[str, tuple[float, float]] = {
    "AIT201": (43_200.0, 0.8),
    "AIT202": (43_200.0, 0.015),
    "AIT203": (28_800.0, 3.0),
    "AIT401": (43_200.0, 0.3),
    "AIT402": (28_800.0, 2.0),
    "AIT501": (43_200.0, 0.01),
    "AIT502": (28_800.0, 1.5),
    "AIT503": (43_200.0, 0.8),
    "AIT504": (43_200.0, 0.10),
}
"""Analysers drift: time constant in seconds and standard deviation of the drift."""


def weather(
    rows: int, generator: np.random.Generator, second: int = 0
) -> Iterator[tuple[list[float], list[float]]]:
    """For every second, the error of every sensor and the state of every mood.

    Parameters
    ----------
    rows
        How many seconds.
    generator
        Where chance comes from.
    second
        Second of the day at which the recording begins.
    """
    slow = [*MOODS.values(), *((time, spread, 0.0) for time, spread in ANALYSERS.values())]
    keep = np.array([exp(-1.0 / time) for time, _, _ in slow])
    spread = np.array([s for _, s, _ in slow])
    swing = np.array([s for _, _, s in slow[: len(MOODS)]])
    white = np.array([RESOLUTION[tag][0] for tag in SENSORS])
    drifting = [SENSORS.index(tag) for tag in ANALYSERS]
    state = generator.standard_normal(len(slow))
    # The amplitude of the day differs a little from one signal and one run to the next.
    swing = swing * generator.uniform(0.8, 1.2, len(swing))
    shift = generator.uniform(-0.5, 0.5, len(swing))
    for first in range(0, rows, BLOCK):
        error = white * generator.standard_normal((BLOCK, len(SENSORS)))
        push = generator.standard_normal((BLOCK, len(slow)))
        walk = np.empty((BLOCK, len(slow)))
        for column in range(len(slow)):
            a = keep[column]
            walk[:, column], _ = lfilter(
                [sqrt(1.0 - a * a)], [1.0, -a], push[:, column], zi=[a * state[column]]
            )
        state = walk[-1].copy()
        walk *= spread
        error[:, drifting] += walk[:, len(MOODS) :]
        hour = _day(first, second, shift)
        moods = walk[:, : len(MOODS)] + swing * hour
        here = min(BLOCK, rows - first)
        yield from zip(error[:here].tolist(), moods[:here].tolist(), strict=True)


def _day(first: int, second: int, shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where in the day each row is, as a wave that is highest in the afternoon."""
    time = (second + first + np.arange(BLOCK))[:, None] / DAY
    wave: NDArray[np.float64] = np.sin(2 * pi * (time - 0.375) + shift)
    return wave
