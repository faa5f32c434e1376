"""What the sensors show of the plant: the true values with their errors, and what was adjusted."""

from __future__ import annotations

from collections.abc import Sequence

from causewatch.simulate.plant.tags import SENSORS

__all__ = ["Sensors"]


class Sensors:
    """All sensors of the plant.

    Attributes
    ----------
    calibration
        Gain and offset of the sensors that were recalibrated.
    noise
        Factor on the error of the sensors that were replaced by others.
    """

    def __init__(self) -> None:
        self.calibration: dict[str, tuple[float, float]] = {}
        self.noise: dict[str, float] = {}

    def show(self, true: Sequence[float], errors: Sequence[float]) -> list[float]:
        """What is shown for true values and errors, in the order of ``SENSORS``."""
        shown = [value + error for value, error in zip(true, errors, strict=True)]
        for tag, factor in self.noise.items():
            place = SENSORS.index(tag)
            shown[place] = true[place] + factor * errors[place]
        for tag, (gain, offset) in self.calibration.items():
            place = SENSORS.index(tag)
            shown[place] = gain * shown[place] + offset
        return shown
