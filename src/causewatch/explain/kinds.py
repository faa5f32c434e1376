"""What kind of thing a signal is, as far as its sentences depend on it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.explain.ranking import Context
from causewatch.monitor.course import Course

__all__ = ["SignalKind", "kind_of"]

Floats = NDArray[np.float64]
SignalKind = Literal["switch", "valve", "counter", "setting", "sensor"]

SWITCHED = ({0.0, 1.0}, {1.0, 2.0}, {0.0, 100.0})
"""Pairs of values of what is off or on, closed or open."""
MOSTLY = 0.9
"""A switch shows one of its two values in so many ticks: the others are means over a change."""
LEAST_COUNTS = 3
"""A counter rises at least so many times in the ticks that are known."""
VALVES = ("valve", "mv", "xv", "hv")
"""Names of valves contain the first, or begin with one of the others and a digit."""


def kind_of(course: Course, context: Context, column: int) -> SignalKind:
    """The kind of the signal in `column`, by its values so far and its range in normal operation.

    A ``switch`` has two values that stand for off and on; a ``valve`` is one by its name; a
    ``counter`` only rises; a ``setting`` never moved in normal operation; the rest are sensors.
    """
    name = course.signals[column]
    values = course.values[:, column]
    values = values[np.isfinite(values)]
    levels = _levels(values, context, column)
    if levels and any(levels <= pair for pair in SWITCHED):
        return "valve" if _is_valve(context.labels.get(name, name)) else "switch"
    if column >= context.equations.signals and name not in context.twins:
        return "setting"
    steps = np.diff(values)
    if (steps >= 0).all() and np.count_nonzero(steps) >= LEAST_COUNTS and _whole(values):
        return "counter"
    return "sensor"


def _levels(values: Floats, context: Context, column: int) -> set[float]:
    """The values of a signal that has at most two; none if it has more."""
    found, counts = np.unique(values, return_counts=True)
    known = set(found[counts >= max(2, (1 - MOSTLY) * len(values))].tolist())
    if len(values):
        known.add(float(values[-1]))
    if column < len(context.low) and np.isfinite(context.low[column]):
        known |= {float(context.low[column]), float(context.high[column])}
    between = np.count_nonzero(~np.isin(values, list(known)))
    inside = len(values) and min(known) <= values.min() and values.max() <= max(known)
    few = len(known) <= 2 and inside and between <= (1 - MOSTLY) * len(values)
    return known if few else set()


def _whole(values: Floats) -> bool:
    return bool(np.all(values == np.round(values)))


def _is_valve(name: str) -> bool:
    plain = name.lower()
    start = plain.rstrip("0123456789_-. ")
    return VALVES[0] in plain or start in VALVES[1:]
