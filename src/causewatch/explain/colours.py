"""Colours shared by the pictures and the page; safe for colour-blind readers."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["BAND", "CROSS", "INK", "NODE", "RIM", "SOFT", "auto_limits", "limits"]

CROSS = ("#0b4f9e", "#5b9bd5", "#c4c4c4", "#ec8a5f", "#a50f15")
"""Arrows, from strongly negative over zero to strongly positive; grey, not white, in the middle, so
that a weak arrow can still be seen."""

NODE = ("#fdfbe6", "#d9ecb4", "#a6d49a", "#6ab98a", "#369a77")
"""Nodes, from no to full auto-dependence; light enough for dark text."""

INK = "#1f2933"
"""Text."""

SOFT = "#57636f"
"""Text that stands back: captions, names of stages."""

BAND = "#f1f3f6"
"""The ground under a stage."""

RIM = "#6b7782"
"""The rim of a node."""


def limits(values: Iterable[float], *, least: float) -> float:
    """Upper end of a colour scale for absolute values: rounded up to a tenth, at least `least`."""
    highest = max((abs(value) for value in values), default=0.0)
    return max(least, math.ceil(highest * 10 - 1e-9) / 10)


def auto_limits(values: Iterable[float]) -> tuple[float, float]:
    """Ends of the scale of nodes: 0, or the lowest value if negative, and 1, or the highest."""
    every = list(values)
    low = -limits((value for value in every if value < 0), least=0.0)
    return low + 0.0, limits((value for value in every if value > 0), least=1.0)
