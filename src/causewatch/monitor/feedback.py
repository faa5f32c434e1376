"""What operators said was normal, and the wider limits that follow from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
    """All marks of one stream, in the order in which they were made, and one factor per signal.

    A mark says how many times its *learnt* limit a signal may reach. Where several marks concern a
    signal, the largest counts. So each mark means the same whether or not others are taken back,
    and taking back all of them gives exactly the learnt limits.
    """

    def __init__(self, signals: Sequence[str]) -> None:
        self._index = {name: k for k, name in enumerate(signals)}
        self._set(())

    def add(self, mark: NormalMark) -> None:
        """Widen limits; a second mark of the same alarm replaces the first."""
        self.remove(mark.alarm)
        self._set((*self.marks, mark))

    def remove(self, alarm: str) -> None:
        """Take a mark back."""
        self._set(tuple(mark for mark in self.marks if mark.alarm != alarm))

    def forget(self, signals: Collection[str]) -> None:
        """These signals are watched no longer."""
        left = [
            replace(mark, factors={k: v for k, v in mark.factors.items() if k not in signals})
            for mark in self.marks
        ]
        self._set(tuple(mark for mark in left if mark.factors))

    def _set(self, marks: tuple[NormalMark, ...]) -> None:
        factors: NDArray[np.float64] = np.ones(len(self._index))
        for mark in marks:
            for name, factor in mark.factors.items():
                k = self._index[name]
                factors[k] = max(factors[k], factor)
        factors.flags.writeable = False
        self.marks, self.factors = marks, factors

    def snapshot(self) -> list[dict[str, Any]]:
        """Everything as plain values."""
        return [asdict(mark) for mark in self.marks]

    def restore(self, state: Iterable[Mapping[str, Any]]) -> None:
        """See `snapshot`."""
        self._set(tuple(NormalMark(**fields) for fields in state))
