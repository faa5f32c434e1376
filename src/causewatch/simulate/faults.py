"""Faults that can be put into a simulated system, and what makes one valid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite

from causewatch.errors import SettingError, UnknownNameError

__all__ = ["FAULT_KINDS", "Fault"]

FAULT_KINDS: dict[str, float] = {
    "mechanism": 1.5,
    "bias": 3.0,
    "drift": 5.0,
    "stuck": 0.0,
    "noise": 2.0,
    "dropout": 0.0,
    "actuator_stuck": 0.0,
    "new_link": 0.7,
    "broken_link": 0.0,
}
"""Every kind of fault and the size it has if none is given."""

SENSOR_FAULTS = ("bias", "drift", "stuck", "noise", "dropout")
ADDING_FAULTS = ("bias", "drift", "noise")
LINK_FAULTS = ("new_link", "broken_link")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong with one signal during rows `start` to `end` (half-open).

    Parameters
    ----------
    kind
        Sensor faults change what is measured: ``bias`` adds `size`, ``drift`` a ramp that ends at
        `size`, ``noise`` white noise of standard deviation `size`; ``stuck`` keeps showing the
        last value, moved by `size`; ``dropout`` shows nothing (NaN). The others change what
        happens: ``mechanism`` multiplies every coefficient of the links into the signal by
        ``1 - size``; ``actuator_stuck`` holds the true value, moved by `size`; ``new_link`` lets
        `source` act on the signal (one standard deviation moves it by `size`); ``broken_link``
        takes the link from `source` away.
    signal
        The signal at fault; for a link, its target.
    start, end
        Rows, counted from 0; `end` is the first row without the fault.
    size
        In units of the signal's normal standard deviation, but for ``mechanism``. A two-valued
        signal that gets stuck keeps its value if `size` is 0 and is forced to the other value if
        not. By default what `FAULT_KINDS` says.
    source, lag
        The link of ``new_link`` (lag 1 if not given) and ``broken_link`` (every lag if not given).
    name
        Name in `Simulation.causes`; made up from the other fields if not given.
    feeds_back
        Whether the other signals react to the wrong measured value of a sensor fault, as in a
        control loop. By default they react to the true value.

    Examples
    --------
    >>> Fault("bias", "S01", 100, 200).title
    'bias S01'
    """

    kind: str
    signal: str
    start: int
    end: int
    size: float | None = None
    source: str | None = None
    lag: int | None = None
    name: str | None = None
    feeds_back: bool = False

    def __post_init__(self) -> None:
        if self.kind not in FAULT_KINDS:
            raise UnknownNameError(self.kind, "fault kind", FAULT_KINDS)
        if not 0 <= self.start < self.end:
            message = (
                f"A fault needs 0 <= start < end, but {self.kind!r} of {self.signal!r} has"
                f" start {self.start} and end {self.end}."
            )
            raise SettingError(message)
        if not isfinite(self.amount):
            message = f"The size of {self.title!r} is {self.size}, but it must be a finite number."
            raise SettingError(message)
        if self.kind in LINK_FAULTS and self.source is None:
            message = (
                f"A {self.kind!r} fault needs the link's source as well as its target"
                f" {self.signal!r}; pass source=NAME."
            )
            raise SettingError(message)
        if self.kind not in LINK_FAULTS and not (self.source is None and self.lag is None):
            message = (
                f"Only {' and '.join(LINK_FAULTS)} take a source and a lag; leave them out for"
                f" {self.kind!r} of {self.signal!r}."
            )
            raise SettingError(message)
        if self.feeds_back and (self.kind not in SENSOR_FAULTS or self.kind == "dropout"):
            message = (
                f"Only the sensor faults {', '.join(SENSOR_FAULTS[:-1])} can feed back a wrong"
                f" number; leave feeds_back out for {self.kind!r} of {self.signal!r}."
            )
            raise SettingError(message)

    @property
    def amount(self) -> float:
        """`size`, or the default size of this kind of fault."""
        return FAULT_KINDS[self.kind] if self.size is None else self.size

    @property
    def title(self) -> str:
        """`name`, or one made up from kind and signals."""
        if self.name is not None:
            return self.name
        place = self.signal if self.source is None else f"{self.source} → {self.signal}"
        return f"{self.kind} {place}"

    @property
    def cause(self) -> dict[str, object]:
        """The fault as an entry of ``causes.json``."""
        return {
            "name": self.title,
            "start": self.start,
            "end": self.end,
            "signals": [self.signal],
        }


def check_faults(
    faults: Iterable[Fault], signals: Sequence[str], two_valued: Iterable[str], rows: int
) -> None:
    """Raise if a fault names unknown signals, lies outside `rows` or overlaps another one."""
    switches = set(two_valued)
    checked = list(faults)
    for fault in checked:
        for name in (fault.signal, fault.source):
            if name is not None and name not in signals:
                raise UnknownNameError(name, "signal", signals)
        if fault.end > rows:
            message = (
                f"Fault {fault.title!r} ends at row {fault.end}, but the simulation has only"
                f" {rows} rows; let it end at {rows} or earlier."
            )
            raise SettingError(message)
        if fault.kind in ADDING_FAULTS and fault.signal in switches:
            message = (
                f"Fault {fault.title!r} adds to a number, but {fault.signal} only takes the values"
                f" 0 and 1; choose one of"
                f" {', '.join(k for k in FAULT_KINDS if k not in ADDING_FAULTS)}."
            )
            raise SettingError(message)
    for one, other in combinations(checked, 2):
        if one.signal == other.signal and one.start < other.end and other.start < one.end:
            message = (
                f"Faults {one.title!r} and {other.title!r} hit {one.signal} at the same time;"
                " let one end before the other starts."
            )
            raise SettingError(message)
