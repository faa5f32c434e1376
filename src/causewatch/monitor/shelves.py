"""Shelving: signals and alarms put out of sight until a given time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
        self._set({})

    @property
    def all(self) -> tuple[Shelf, ...]:
        """Every shelf, the first to expire first."""
        return tuple(sorted(self._shelves.values(), key=lambda shelf: shelf.until))

    @property
    def alarms(self) -> list[str]:
        """Ids of the alarms on the shelf."""
        return [key for what, key in self._shelves if what == "alarm"]

    @property
    def signals(self) -> list[str]:
        """Names of the signals on the shelf."""
        return [key for what, key in self._shelves if what == "signal"]

    def add(self, shelf: Shelf) -> None:
        """Put on the shelf; a new time for the same signal or alarm replaces the former one."""
        if shelf.alarm is not None:
            new = {("alarm", shelf.alarm): shelf}
        else:
            new = {
                ("signal", name): Shelf((name,), shelf.until, shelf.by, shelf.at)
                for name in shelf.signals
            }
        self._set(self._shelves | new)

    def remove_alarm(self, alarm: str) -> None:
        """Take an alarm off the shelf."""
        self._keep(lambda key, _: key != ("alarm", alarm))

    def remove_signals(self, names: Iterable[str]) -> None:
        """Take signals off the shelf."""
        gone = {("signal", name) for name in names}
        self._keep(lambda key, _: key not in gone)

    def forget(self, names: Collection[str]) -> None:
        """These signals are watched no longer."""
        left = {
            key: replace(shelf, signals=tuple(one for one in shelf.signals if one not in names))
            for key, shelf in self._shelves.items()
        }
        self._set({key: shelf for key, shelf in left.items() if shelf.signals})

    def expire(self, time: int) -> None:
        """Drop what is over at `time`."""
        self._keep(lambda _, shelf: shelf.until > time)

    def _keep(self, wanted: Callable[[tuple[str, str], Shelf], bool]) -> None:
        self._set({key: shelf for key, shelf in self._shelves.items() if wanted(key, shelf)})

    def _set(self, shelves: dict[tuple[str, str], Shelf]) -> None:
        """Change the shelves, and work out once what every tick asks for."""
        self._shelves = shelves
        self.next_expiry = min((shelf.until for shelf in shelves.values()), default=NEVER)
        self.muted: dict[Kind, Mask] = {
            "anomaly": np.zeros(len(self._index), dtype=np.bool_),
            "health": np.zeros(len(self._index), dtype=np.bool_),
        }
        for shelf in shelves.values():
            places = [self._index[name] for name in shelf.signals]
            for kind, mask in self.muted.items():
                if shelf.kind in (None, kind):
                    mask[places] = True

    def snapshot(self) -> list[dict[str, Any]]:
        """Everything as plain values."""
        return [
            asdict(shelf) | {"signals": list(shelf.signals)} for shelf in self._shelves.values()
        ]

    def restore(self, state: Iterable[Mapping[str, Any]]) -> None:
        """See `snapshot`."""
        self._set({})
        for fields in state:
            self.add(Shelf(**{**fields, "signals": tuple(fields["signals"])}))
