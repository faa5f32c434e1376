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
ON_ITS_WAY = {0.0, 1.0, 2.0}
"""Values of a valve that says when it moves."""
VARIES = 0.5
"""Share of the largest possible variance that a signal of two values has at least; ticks in which
it is switched are means, and take some away."""
MOST_SETTINGS = 4
"""Something that is set shows no more different values than this in a few minutes."""
LEAST_COUNTS = 3
"""A counter rises at least so many times in the ticks that are known."""
VALVES = ("valve", "mv", "xv", "hv")
"""Names of valves contain the first, or begin with one of the others and a digit."""


def kind_of(course: Course, context: Context, column: int) -> SignalKind:
    """The kind of the signal in `column`, by its values so far and its range in normal operation.

    A ``switch`` has two values that stand for off and on; a ``valve`` is one by its name; a
    ``counter`` only rises; a ``setting`` never moved in normal operation and has few values; the
    rest are sensors.
    """
    name = course.signals[column]
    is_valve = _is_valve(context.labels.get(name, name))
    levels = _levels(course, column)
    if any(levels <= pair and _two_valued(pair, context, column) for pair in SWITCHED):
        return "valve" if is_valve else "switch"
    if is_valve and levels <= ON_ITS_WAY:
        return "valve"
    guarded = column >= context.equations.signals and name not in context.twins
    if guarded and len(levels) <= MOST_SETTINGS:
        return "setting"
    values = course.values[:, column]
    values = values[np.isfinite(values)]
    steps = np.diff(values)
    if (steps >= 0).all() and np.count_nonzero(steps) >= LEAST_COUNTS and _whole(values):
        return "counter"
    return "sensor"


def _levels(course: Course, column: int) -> set[float]:
    """The values that a signal has shown in single rows."""
    shown = np.concatenate([course.low[:, column], course.high[:, column]])
    return set(shown[np.isfinite(shown)].tolist())


def _two_valued(pair: set[float], context: Context, column: int) -> bool:
    """Whether in normal operation, too, a signal may have had no values but these."""
    low, high = min(pair), max(pair)
    if column < len(context.low) and not low <= context.low[column] <= context.high[column] <= high:
        return False
    if column >= context.equations.signals:
        return True
    # Of all that keeps between two values, with this mean, what has no others varies most.
    centre = context.centre[column]
    most = (centre - low) * (high - centre)
    return bool(context.scale[column] ** 2 >= VARIES * most)


def _whole(values: Floats) -> bool:
    return bool(np.all(values == np.round(values)))


def _is_valve(name: str) -> bool:
    plain = name.lower()
    start = plain.rstrip("0123456789_-. ")
    return VALVES[0] in plain or start in VALVES[1:]
