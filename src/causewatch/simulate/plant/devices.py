"""Valves, tanks and lines: the parts that the plant is put together from."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["HOUR", "Line", "Ramp", "Tank", "Valve"]

HOUR = 3600.0
"""Flows are in m³/h, time steps are seconds."""


class Valve:
    """A motorised valve: it takes `travel` seconds from closed to open."""

    __slots__ = ("open", "opening", "travel")

    def __init__(self, travel: float) -> None:
        self.travel = travel
        self.opening = 0.0
        self.open = False  # whether it is told to open

    def step(self) -> None:
        """One second."""
        if self.open:
            if self.opening < 1.0:
                self.opening = min(1.0, self.opening + 1.0 / self.travel)
        elif self.opening > 0.0:
            self.opening = max(0.0, self.opening - 1.0 / self.travel)

    @property
    def status(self) -> float:
        """As the tag shows it: 0 moving, 1 closed, 2 open."""
        return 1.0 if self.opening <= 0.0 else 2.0 if self.opening >= 1.0 else 0.0


class Line:
    """Water that is pumped or pushed through a pipe: its flow follows what drives it.

    Parameters
    ----------
    time
        Seconds in which the flow comes two thirds nearer to what drives it.
    """

    __slots__ = ("flow", "share")

    def __init__(self, time: float) -> None:
        self.flow = 0.0
        self.share = 1.0 / time

    def step(self, drive: float) -> float:
        """One second in which the flow moves towards `drive`; gives the flow (m³/h)."""
        self.flow += self.share * (drive - self.flow)
        if self.flow < 1e-4 and drive <= 0.0:
            self.flow = 0.0
        return self.flow


class Ramp:
    """A condition of the plant that moves slowly to a new value and stays there."""

    __slots__ = ("pace", "target", "value")

    def __init__(self) -> None:
        self.value = self.target = 0.0
        self.pace = 0.0  # a second

    def go(self, target: float, seconds: float) -> None:
        """Start to move to `target`, which is reached after so many seconds."""
        self.target = target
        self.pace = abs(target - self.value) / seconds

    def step(self) -> float:
        """One second; gives the value."""
        if self.value != self.target:
            left = self.target - self.value
            self.value += max(-self.pace, min(self.pace, left))
        return self.value


class Tank:
    """A tank whose water is mixed.

    Parameters
    ----------
    area
        Of its floor, in m².
    height
        Level in mm at which it spills.
    level
        At the beginning.
    quality
        What its water is like: conductivity, pH, redox potential, hardness.
    """

    __slots__ = ("area", "height", "quality", "spilt", "volume")

    def __init__(self, area: float, height: float, level: float, quality: Sequence[float]) -> None:
        self.area = area
        self.height = height
        self.volume = level * area / 1000.0
        self.quality = list(quality)
        self.spilt = 0.0  # m³ in all

    @property
    def level(self) -> float:
        """In mm."""
        return 1000.0 * self.volume / self.area

    def take(self, flow: float) -> float:
        """What can be drawn in the next second if `flow` is wanted (m³/h)."""
        return min(flow, self.volume * HOUR)

    def step(self, flow_in: float, quality: Sequence[float], flow_out: float) -> None:
        """One second of inflow (with its quality) and outflow, both in m³/h."""
        added = flow_in / HOUR
        if added > 0.0:
            share = added / (self.volume + added)
            own = self.quality
            for k, value in enumerate(quality):
                own[k] += share * (value - own[k])
        self.volume += added - flow_out / HOUR
        over = self.volume - self.height * self.area / 1000.0
        if over > 0.0:
            self.volume -= over
            self.spilt += over
