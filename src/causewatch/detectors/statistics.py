"""The statistics that the default detector keeps of each mechanism, and their layout in memory.

All of them live in one flat array, so that a tick updates them with a handful of calls:

- *mean*: exponentially weighted mean of the innovations, for several memories;
- *variance*: the same of their squares, minus one;
- *coefficient*: of innovation times cause, for every link: it moves when a coefficient changes;
- *level*: how far the signal is from where its own past and its innovations should have left it.
  An offset that is seen once, when it begins, stays here for as long as it lasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAMILIES", "Layout", "memories_for"]

Floats = NDArray[np.float64]

FAMILIES = ("mean", "variance", "coefficient", "level")

MEANS = (1, 8, 32, 128)
VARIANCES = (8, 32, 128)
COEFFICIENTS = (32, 128)
TICKS_PER_MEMORY = 12
"""A memory is used if the normal recording is at least this many times as long; for coefficients,
which are many, twice as long."""


def memories_for(ticks: int) -> dict[str, tuple[int, ...]]:
    """Memories, in ticks, that a normal recording of this length supports, by family."""
    most = max(8, ticks // TICKS_PER_MEMORY)
    return {
        "mean": tuple(w for w in MEANS if w <= most),
        "variance": tuple(w for w in VARIANCES if w <= most),
        "coefficient": tuple(w for w in COEFFICIENTS if 2 * w <= most),
    }


@dataclass(frozen=True)
class Layout:
    """Where each statistic stands in the flat array.

    Attributes
    ----------
    signals, links
        How many there are.
    means, variances, coefficients
        Memories in ticks.
    level
        Whether the level is watched.
    """

    signals: int
    links: int
    means: tuple[int, ...]
    variances: tuple[int, ...]
    coefficients: tuple[int, ...]
    level: bool = True

    @cached_property
    def blocks(self) -> tuple[tuple[str, int, slice], ...]:
        """Family, memory and place of every block of statistics."""
        plan = [("mean", memory, self.signals) for memory in self.means]
        plan += [("variance", memory, self.signals) for memory in self.variances]
        plan += [("level", 1, self.signals)] if self.level else []
        plan += [("coefficient", memory, self.links) for memory in self.coefficients]
        ends = np.cumsum([0] + [size for _, _, size in plan]).tolist()
        return tuple(
            (family, memory, slice(start, start + size))
            for (family, memory, size), start in zip(plan, ends, strict=False)
        )

    @property
    def size(self) -> int:
        """How many statistics there are."""
        return int(self.blocks[-1][2].stop)

    @property
    def by_signal(self) -> int:
        """How many blocks have one statistic for each signal; they come first."""
        return len(self.means) + len(self.variances) + self.level

    @cached_property
    def weights(self) -> Floats:
        """Weight of the newest tick in every statistic."""
        weights = np.ones(self.size)
        for _, memory, place in self.blocks:
            weights[place] = 1.0 / memory
        return weights

    @property
    def longest(self) -> int:
        """The longest memory."""
        return max(memory for _, memory, _ in self.blocks)
