"""What changes in the plant while it operates normally: maintenance, operators, wear, seasons.

Every kind of change acts where it does in a plant: on the water, a membrane, a controller or a
sensor. The rest of the plant follows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate.plant.control import RESERVES, SET_POINTS, Control
from causewatch.simulate.plant.process import CLEAN_MEMBRANE, Process
from causewatch.simulate.plant.sensors import Sensors
from causewatch.simulate.plant.tags import SENSORS

__all__ = [
    "Cleaning",
    "Fouling",
    "Intervention",
    "NoisySensor",
    "Recalibration",
    "Season",
    "SetPoint",
    "SparePump",
    "Switch",
]


class Plant(Protocol):
    """What a change can act on."""

    process: Process
    control: Control
    sensors: Sensors


class Intervention(ABC):
    """One kind of change; it can begin and be taken back."""

    __slots__ = ()

    kind: ClassVar[str]

    @property
    @abstractmethod
    def signals(self) -> tuple[str, ...]:
        """The tags in which it shows first."""

    @abstractmethod
    def begin(self, plant: Plant) -> None:
        """Make the change."""

    @abstractmethod
    def end(self, plant: Plant) -> None:
        """Take it back."""


@dataclass(frozen=True, slots=True)
class Recalibration(Intervention):
    """A sensor shows `gain` times its former reading plus `offset`."""

    kind: ClassVar[str] = "recalibration"

    tag: str
    offset: float = 0.0
    gain: float = 1.0

    def __post_init__(self) -> None:
        _require(self.tag, "sensor", SENSORS)
        if not np.isfinite([self.offset, self.gain]).all() or self.gain <= 0.0:
            message = (
                f"A recalibration of {self.tag} has the offset {self.offset} and the gain"
                f" {self.gain}; give finite numbers and a gain above 0."
            )
            raise SettingError(message)

    @property
    def signals(self) -> tuple[str, ...]:
        """The sensor."""
        return (self.tag,)

    def begin(self, plant: Plant) -> None:
        """Adjust the sensor."""
        plant.sensors.calibration[self.tag] = (self.gain, self.offset)

    def end(self, plant: Plant) -> None:
        """Adjust it as it was."""
        del plant.sensors.calibration[self.tag]


@dataclass(frozen=True, slots=True)
class NoisySensor(Intervention):
    """A sensor is replaced by another whose error is `factor` times as large."""

    kind: ClassVar[str] = "noisy_sensor"

    tag: str
    factor: float

    def __post_init__(self) -> None:
        _require(self.tag, "sensor", SENSORS)
        _require_positive(f"The factor on the noise of {self.tag}", self.factor)

    @property
    def signals(self) -> tuple[str, ...]:
        """The sensor."""
        return (self.tag,)

    def begin(self, plant: Plant) -> None:
        """Mount the other sensor."""
        plant.sensors.noise[self.tag] = self.factor

    def end(self, plant: Plant) -> None:
        """Mount the former sensor again."""
        del plant.sensors.noise[self.tag]


@dataclass(frozen=True, slots=True)
class SparePump(Intervention):
    """The reserve pump beside `pump` is on duty in its place."""

    kind: ClassVar[str] = "spare_pump"

    pump: str

    def __post_init__(self) -> None:
        _require(self.pump, "pump with a reserve", RESERVES)

    @property
    def signals(self) -> tuple[str, ...]:
        """Both pumps."""
        return (self.pump, RESERVES[self.pump])

    def begin(self, plant: Plant) -> None:
        """Put the reserve on duty."""
        plant.control.replaced[self.pump] = RESERVES[self.pump]

    def end(self, plant: Plant) -> None:
        """Put the usual pump on duty again."""
        del plant.control.replaced[self.pump]


@dataclass(frozen=True, slots=True)
class SetPoint(Intervention):
    """A tank is kept between other levels (mm); `tag` is the sensor of its level."""

    kind: ClassVar[str] = "set_point"

    tag: str
    low: float
    high: float

    def __post_init__(self) -> None:
        _require(self.tag, "sensor with a set-point", SET_POINTS)
        if not 0.0 < self.low < self.high < np.inf:
            message = (
                f"The set-points of {self.tag} are {self.low} and {self.high} mm, but 0 < low <"
                " high is needed."
            )
            raise SettingError(message)

    @property
    def signals(self) -> tuple[str, ...]:
        """The sensor of the level."""
        return (self.tag,)

    def begin(self, plant: Plant) -> None:
        """Move the set-points."""
        plant.control.set_points[self.tag] = (self.low, self.high)

    def end(self, plant: Plant) -> None:
        """Move them back."""
        plant.control.set_points[self.tag] = SET_POINTS[self.tag]


@dataclass(frozen=True, slots=True)
class Switch(Intervention):
    """An actuator that no controller uses is left open or on by hand."""

    kind: ClassVar[str] = "switch"

    tag: str

    def __post_init__(self) -> None:
        _require(self.tag, "actuator that no controller uses", ("P601", "P603"))

    @property
    def signals(self) -> tuple[str, ...]:
        """The actuator."""
        return (self.tag,)

    def begin(self, plant: Plant) -> None:
        """Leave it open or on."""
        plant.control.wanted[self.tag] = True

    def end(self, plant: Plant) -> None:
        """Close it or turn it off."""
        plant.control.wanted[self.tag] = False


@dataclass(frozen=True, slots=True)
class Cleaning(Intervention):
    """The ultrafiltration membrane is washed with chemicals.

    Parameters
    ----------
    seconds
        How long that wash takes.
    resistance
        Of the washed membrane from then on, in kPa per m³/h.
    """

    kind: ClassVar[str] = "cleaning"

    seconds: int = 300
    resistance: float = 7.2

    def __post_init__(self) -> None:
        _require_positive("The duration of a cleaning in seconds", self.seconds)
        _require_positive("The resistance of a cleaned membrane", self.resistance)

    @property
    def signals(self) -> tuple[str, ...]:
        """The pressure difference over the membrane."""
        return ("DPIT301",)

    def begin(self, plant: Plant) -> None:
        """Wash the membrane now, whatever the sequence is at."""
        plant.process.washed = self.resistance
        plant.control.wash(self.seconds)

    def end(self, plant: Plant) -> None:
        """Let washes bring the membrane only to its former resistance."""
        plant.process.washed = CLEAN_MEMBRANE


@dataclass(frozen=True, slots=True)
class Season(Intervention):
    """The water becomes warmer by so many `degrees` (°C) in the course of `seconds`."""

    kind: ClassVar[str] = "season"

    degrees: float
    seconds: int

    def __post_init__(self) -> None:
        if not -10.0 <= self.degrees <= 10.0:
            message = f"A season changes the water by {self.degrees} °C; give -10 to 10."
            raise SettingError(message)
        _require_positive("The duration of a change of season in seconds", self.seconds)

    @property
    def signals(self) -> tuple[str, ...]:
        """Pressure difference of ultrafiltration, and what reverse osmosis makes of its feed."""
        return ("DPIT301", "AIT504", "FIT502", "FIT503", "PIT502")

    def begin(self, plant: Plant) -> None:
        """Let the temperature begin to move."""
        plant.process.season.go(self.degrees, self.seconds)

    def end(self, plant: Plant) -> None:
        """Let the temperature return as slowly."""
        plant.process.season.go(0.0, self.seconds)


@dataclass(frozen=True, slots=True)
class Fouling(Intervention):
    """The membrane of reverse osmosis lets less water through, by `share` after `seconds`."""

    kind: ClassVar[str] = "fouling"

    share: float
    seconds: int

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 0.3:
            message = f"A membrane fouls by the share {self.share}; give more than 0, at most 0.3."
            raise SettingError(message)
        _require_positive("The duration of fouling in seconds", self.seconds)

    @property
    def signals(self) -> tuple[str, ...]:
        """Permeate, reject and pressures of reverse osmosis."""
        return ("AIT504", "FIT502", "FIT503", "FIT504", "PIT501", "PIT502", "PIT503")

    def begin(self, plant: Plant) -> None:
        """Let the membrane begin to foul."""
        plant.process.scale.go(self.share, self.seconds)

    def end(self, plant: Plant) -> None:
        """Let the membrane recover as slowly."""
        plant.process.scale.go(0.0, self.seconds)


def _require(name: str, what: str, known: Collection[str]) -> None:
    if name not in known:
        raise UnknownNameError(name, what, tuple(known))


def _require_positive(what: str, value: float) -> None:
    if not 0.0 < value < np.inf:
        message = f"{what} is {value}, but it must be a finite number above 0."
        raise SettingError(message)
