"""Shelving: signals and alarms put out of sight until a given time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.monitor.alarms import Kind

__all__ = ["Shelf", "Shelves"]

Mask = NDArray[np.bool_]

NEVER = 1 << 62
"""Later than any time in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Signals out of sight until a time. Times are nanoseconds.

    `kind` says for which kind of alarm they are out of sight, None for both. `alarm` is the id of
    the alarm that was shelved, None where signals were.
    """

    signals: tuple[str, ...]
    until: int
    by: str
    at: int
    kind: Kind | None = None
    alarm: str | None = None


class Shelves:
    """All shelves of one stream: at most one per signal and one per alarm."""

    def __init__(self, signals: Sequence[str]) -> None:
        self._index = {name: k for k, name in enumerate(signals)}
        self._shelves: dict[tuple[str, str], Shelf] = {}
        self._refresh()

    @property
    def all(self) -> tuple[Shelf, ...]:
        """Every shelf, the first to expire first."""
        return tuple(sorted(self._shelves.values(), key=lambda shelf: shelf.until))

    def add(self, shelf: Shelf) -> None:
        """Put on the shelf; a new time for the same signal or alarm replaces the former one."""
        if shelf.alarm is not None:
            self._shelves["alarm", shelf.alarm] = shelf
        else:
            for name in shelf.signals:
                self._shelves["signal", name] = Shelf((name,), shelf.until, shelf.by, shelf.at)
        self._refresh()

    def remove_alarm(self, alarm: str) -> bool:
        """Take an alarm off the shelf; whether it was on one."""
        found = self._shelves.pop(("alarm", alarm), None) is not None
        self._refresh()
        return found

    def remove_signals(self, names: Iterable[str]) -> None:
        """Take signals off the shelf."""
        for name in names:
            self._shelves.pop(("signal", name), None)
        self._refresh()

    def expire(self, time: int) -> None:
        """Drop what is over at `time`."""
        self._shelves = {key: one for key, one in self._shelves.items() if one.until > time}
        self._refresh()

    def until(self, signal: str, kind: Kind) -> int | None:
        """Until when a signal is out of sight for alarms of a kind, None if it is not."""
        found = [
            one.until
            for one in self._shelves.values()
            if signal in one.signals and one.kind in (None, kind)
        ]
        return max(found, default=None)

    @property
    def alarms(self) -> list[str]:
        """Ids of the alarms on the shelf."""
        return [key for what, key in self._shelves if what == "alarm"]

    @property
    def signals(self) -> list[str]:
        """Names of the signals on the shelf."""
        return [key for what, key in self._shelves if what == "signal"]

    def _refresh(self) -> None:
        """Work out once what every tick asks for."""
        self.next_expiry = min((one.until for one in self._shelves.values()), default=NEVER)
        self.muted: dict[Kind, Mask] = {
            "anomaly": np.zeros(len(self._index), dtype=np.bool_),
            "health": np.zeros(len(self._index), dtype=np.bool_),
        }
        for shelf in self._shelves.values():
            places = [self._index[name] for name in shelf.signals]
            for kind, mask in self.muted.items():
                if shelf.kind in (None, kind):
                    mask[places] = True

    def snapshot(self) -> list[dict[str, Any]]:
        """Everything as plain values."""
        return [
            {
                "signals": list(shelf.signals),
                "until": shelf.until,
                "by": shelf.by,
                "at": shelf.at,
                "kind": shelf.kind,
                "alarm": shelf.alarm,
            }
            for shelf in self._shelves.values()
        ]

    def restore(self, state: Iterable[Mapping[str, Any]]) -> None:
        """See `snapshot`."""
        self._shelves = {}
        for one in state:
            self.add(Shelf(**{**one, "signals": tuple(one["signals"])}))
        self._refresh()
