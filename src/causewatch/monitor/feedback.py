"""What operators said was normal, and the wider limits that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MARGIN", "WIDEST", "Feedback", "NormalMark"]

MARGIN = 1.1
"""How far above the peak of an alarm marked as normal the new limit lies."""
WIDEST = 20.0
"""A mark makes a limit at most so many times as wide: one wild reading that is called normal must
not blind a signal for good."""


@dataclass(frozen=True, slots=True)
class NormalMark:
    """An alarm marked as normal: by whom, when, and how many times wider each limit must be."""

    alarm: str
    by: str
    at: int
    factors: Mapping[str, float]


class Feedback:
    """All marks of one stream, and one factor per signal.

    A mark says how many times its *learnt* limit a signal may reach. Where several marks concern a
    signal, the largest counts. So each mark means the same whether or not others are taken back,
    and taking back all of them gives exactly the learnt limits.
    """

    def __init__(self, signals: Sequence[str]) -> None:
        self._names = tuple(signals)
        self._index = {name: k for k, name in enumerate(signals)}
        self._marks: dict[str, NormalMark] = {}
        self._refresh()

    @property
    def marks(self) -> tuple[NormalMark, ...]:
        """Every mark, in the order in which they were made."""
        return tuple(self._marks.values())

    def add(self, mark: NormalMark) -> None:
        """Widen limits; a second mark of the same alarm replaces the first."""
        self._marks.pop(mark.alarm, None)
        self._marks[mark.alarm] = mark
        self._refresh()

    def remove(self, alarm: str) -> bool:
        """Take a mark back; whether there was one."""
        found = self._marks.pop(alarm, None) is not None
        self._refresh()
        return found

    def _refresh(self) -> None:
        factors: NDArray[np.float64] = np.ones(len(self._names))
        for mark in self._marks.values():
            for name, factor in mark.factors.items():
                k = self._index[name]
                factors[k] = max(factors[k], factor)
        factors.flags.writeable = False
        self.factors = factors

    def snapshot(self) -> list[dict[str, Any]]:
        """Everything as plain values."""
        return [
            {"alarm": one.alarm, "by": one.by, "at": one.at, "factors": dict(one.factors)}
            for one in self._marks.values()
        ]

    def restore(self, state: Iterable[Mapping[str, Any]]) -> None:
        """See `snapshot`."""
        marks = [NormalMark(one["alarm"], one["by"], one["at"], one["factors"]) for one in state]
        self._marks = {mark.alarm: mark for mark in marks}
        self._refresh()
