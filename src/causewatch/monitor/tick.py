"""What the monitor says about each row it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from causewatch.monitor.alarms import Alarm, AlarmEvents
from causewatch.monitor.health import HealthChange

__all__ = ["Named", "Tick"]

NO_EVENTS = AlarmEvents()


class Named(Mapping[str, float]):
    """An array as a mapping from signal to number; nothing is copied until it is asked for."""

    __slots__ = ("_index", "_values")

    def __init__(self, index: Mapping[str, int], values: NDArray[np.float64]) -> None:
        self._index = index
        self._values = values

    def __getitem__(self, name: str) -> float:
        return float(self._values[self._index[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def array(self) -> NDArray[np.float64]:
        """The numbers in the order of `NormalModel.watched`; not to be written to."""
        return self._values

    def __repr__(self) -> str:
        return repr(dict(self))


NOTHING = Named({}, np.empty(0))


@dataclass(frozen=True, slots=True, eq=False)
class Tick:
    """The monitor's answer to a row.

    Attributes
    ----------
    time
        Of the last row averaged, in nanoseconds of the stream's clock; None before the first row.
    complete
        Whether this row completed a tick; False between ticks.
    score
        1.0 is the alarm limit, higher is more anomalous; None between ticks and until the monitor
        is warmed up.
    alarm
        Whether an anomaly alarm is on.
    values
        What each signal was.
    expected
        What each signal's causes said it should be.
    signals
        Evidence against each signal in units of its limit; NaN where it cannot be judged.
    events
        What happened to alarms.
    health
        Signals whose health changed.
    earlier
        Ticks that the same row completed before this one; as a rule there are none.
    rows
        How many rows were averaged; 0 between ticks, and where none came.
    """

    time: int | None
    complete: bool
    score: float | None = None
    alarm: bool = False
    signals: Named = field(default_factory=lambda: NOTHING)
    expected: Named = field(default_factory=lambda: NOTHING)
    events: AlarmEvents = NO_EVENTS
    health: tuple[HealthChange, ...] = ()
    earlier: tuple[Tick, ...] = field(default=())
    values: Named = field(default_factory=lambda: NOTHING)
    rows: int = 0

    @property
    def raised(self) -> tuple[Alarm, ...]:
        """Alarms raised by this row."""
        return tuple(alarm for tick in self.all for alarm in tick.events.raised)

    @property
    def updated(self) -> tuple[Alarm, ...]:
        """Alarms about which there is something new."""
        return tuple(alarm for tick in self.all for alarm in tick.events.updated)

    @property
    def cleared(self) -> tuple[Alarm, ...]:
        """Alarms cleared by this row."""
        return tuple(alarm for tick in self.all for alarm in tick.events.cleared)

    @property
    def all(self) -> tuple[Tick, ...]:
        """Every tick that the row completed, oldest first."""
        return (*self.earlier, self) if self.earlier else (self,)
