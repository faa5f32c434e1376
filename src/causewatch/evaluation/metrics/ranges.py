"""Precision and recall of ranges: how well alarms cover events, whatever the length of either.

Counting rows lets one long event decide everything. Here every event counts the same for recall,
and every alarm the same for precision. An event is an unbroken run of anomalous rows, an alarm an
unbroken run of rows under alarm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.errors import SettingError, UnknownNameError
from causewatch.evaluation.metrics.points import flags_of, runs_of, truth_of

__all__ = [
    "Bias",
    "Cardinality",
    "RangeScore",
    "check_option",
    "check_share",
    "harmonic_mean",
    "overlaps",
    "range_precision_recall",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Bias = Literal["flat", "front", "middle", "back"]
"""Which rows of a range weigh most."""
Cardinality = Literal["one", "reciprocal"]
"""Whether a range that is covered in pieces loses by it."""


@dataclass(frozen=True, slots=True)
class RangeScore:
    """Range-based precision (NaN without any alarm) and recall, and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def range_precision_recall(
    labels: ArrayLike,
    alarm: ArrayLike,
    *,
    alpha: float = 0.0,
    bias: Bias = "flat",
    cardinality: Cardinality = "one",
) -> RangeScore:
    """Precision and recall of ranges (Tatbul, Lee, Zdonik, Alam, Gottschlich, NeurIPS 2018).

    The recall of an event is ``alpha · existence + (1 − alpha) · γ · Σ ω``: existence is 1 if any
    alarm overlaps it; ω is the share of its rows, weighted by `bias`, that one alarm covers; γ is
    1, or one over the number of alarms that overlap it. Recall is the mean over events. Precision
    is the mean over alarms of ``γ · Σ ω`` with events and alarms changing places; it has no term
    for existence, as in the paper. Without any alarm precision is NaN, recall and F1 are 0.

    Parameters
    ----------
    labels
        By row: 1 or True if anomalous.
    alarm
        By row: whether an alarm was on.
    alpha
        How much merely touching an event is worth, in 0..1.
    bias
        `"flat"`: all rows weigh the same. `"front"`, `"back"`: the first or last row weighs most
        and the weight falls by one step a row. `"middle"`: it rises to the middle and falls again.
    cardinality
        `"one"` or `"reciprocal"`: an event covered by n alarms gets one nth of the cover.

    Notes
    -----
    Agrees with the package `prts`, which can do existence for precision too; compare with its
    ``alpha=0`` there. TSB-AD's R-based F1 is ``alpha=0.2, cardinality="reciprocal"``. Neither
    answers at the edges: `prts` stops if there is no alarm, and TSB-AD sees no range where every
    row is labelled.

    Examples
    --------
    >>> range_precision_recall([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0, 1])
    RangeScore(precision=0.3333333333333333, recall=0.5, f1=0.4)
    """
    check_option(bias, "bias", Bias)
    check_option(cardinality, "cardinality", Cardinality)
    check_share(alpha, "alpha")
    told = flags_of(alarm, "alarm")
    events, alarms = runs_of(truth_of(labels, told.size, "alarm")), runs_of(told)
    event, by = overlaps(*events, *alarms)
    recall = _covered(events, alarms, event, by, alpha, bias, cardinality)
    precision = _covered(alarms, events, by, event, 0.0, bias, cardinality)
    return RangeScore(precision, recall, harmonic_mean(precision, recall))


def overlaps(starts: Ints, stops: Ints, others: Ints, others_stop: Ints) -> tuple[Ints, Ints]:
    """Which runs of one kind share a row with which of another: two arrays of numbers, pairwise.

    Both kinds are half-open, in order of time; there are never more pairs than runs of both kinds
    together if runs of a kind do not overlap each other.
    """
    first = np.searchsorted(others_stop, starts, side="right")
    count = np.maximum(np.searchsorted(others, stops, side="left") - first, 0)
    mine = np.repeat(np.arange(len(starts)), count)
    step = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count)
    return mine, np.repeat(first, count) + step


def harmonic_mean(precision: float, recall: float) -> float:
    """F1; 0 if nothing was found, even if the precision is NaN because nothing was claimed."""
    return 2 * precision * recall / (precision + recall) if recall > 0 else 0.0


def check_share(value: float, name: str) -> None:
    """Refuse what is not in 0..1."""
    if not 0 <= value <= 1:
        msg = f"{name} is {value:g}; it must be from 0 to 1."
        raise SettingError(msg)


def check_option(value: str, name: str, kind: object) -> None:
    """Refuse a name that is not among those of a `Literal`."""
    if value not in get_args(kind):
        raise UnknownNameError(value, name, get_args(kind))


def _covered(
    ranges: tuple[Ints, Ints],
    others: tuple[Ints, Ints],
    mine: Ints,
    other: Ints,
    alpha: float,
    bias: Bias,
    cardinality: Cardinality,
) -> float:
    """Mean over `ranges` of how well `others` cover them; pairs `mine`, `other` overlap."""
    starts, lengths = ranges[0], ranges[1] - ranges[0]
    count = len(starts)
    if not count:
        return float("nan")
    length = lengths[mine]
    begin = np.maximum(others[0][other] - starts[mine], 0)
    end = np.minimum(others[1][other] - starts[mine], length)
    part = _weight(end, length, bias) - _weight(begin, length, bias)
    pieces = np.bincount(mine, minlength=count)
    worth = part / _weight(length, length, bias)
    if cardinality == "reciprocal":
        worth = worth / pieces[mine]
    cover = np.bincount(mine, worth, minlength=count)
    return float(np.mean(alpha * (pieces > 0) + (1 - alpha) * cover))


def _weight(rows: Ints, length: Ints, bias: Bias) -> Floats:
    """Weight of the first `rows` rows of a range: sums of 1, 2, 3, … have a closed form."""
    match bias:
        case "flat":
            weight = rows
        case "back":
            weight = _triangle(rows)
        case "front":
            weight = _triangle(length) - _triangle(length - rows)
        case "middle":
            half = length // 2
            whole = _triangle(half) + _triangle(length - half)
            weight = np.where(rows <= half, _triangle(rows), whole - _triangle(length - rows))
    return weight.astype(np.float64)


def _triangle(rows: Ints) -> Ints:
    return rows * (rows + 1) // 2
