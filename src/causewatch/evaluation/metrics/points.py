"""Counting row by row: precision, recall, F1 and the areas under the two classical curves.

Rows are taken one by one and in any order; how rows hang together in time is the business of
`volume` and `affiliation`. A score alarms where it *reaches* the limit (``score >= limit``), and
rows of equal score are told apart by no limit, which is how scikit-learn counts, too.

What cannot be said is NaN, never 0: the precision of a detector that claimed nothing. Its recall
and its F1 are 0, so silence is no way up a table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.errors import SettingError

__all__ = [
    "Pointwise",
    "auc_pr",
    "auc_roc",
    "best_f1",
    "flags_of",
    "pointwise",
    "precision_recall_curve",
    "runs_of",
    "scores_of",
    "truth_of",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pointwise:
    """Rows counted one by one at one limit.

    Attributes
    ----------
    precision
        Share of the alarmed rows that are anomalous; NaN if no row is alarmed.
    recall
        Share of the anomalous rows that are alarmed.
    f1
        Harmonic mean of the two, ``2 tp / (2 tp + fp + fn)``; 0 if no row is alarmed.
    tp, fp, fn, tn
        Anomalous and alarmed, normal and alarmed, anomalous and not alarmed, neither.
    """

    precision: float
    recall: float
    f1: float
    tp: int
    fp: int
    fn: int
    tn: int


def pointwise(labels: ArrayLike, alarm: ArrayLike) -> Pointwise:
    """Precision, recall and F1 of an alarm, row by row (van Rijsbergen 1979).

    No row is credited for another one: neither is an event adjusted to found because one of its
    rows was, nor is a near miss worth anything.

    Parameters
    ----------
    labels
        By row: 1 where the row is anomalous, else 0.
    alarm
        By row: whether an alarm was on.

    Examples
    --------
    >>> found = pointwise([0, 1, 1, 0, 0], [0, 1, 0, 1, 0])
    >>> found.precision, found.recall, found.f1
    (0.5, 0.5, 0.5)
    """
    on = flags_of(alarm, "alarm")
    truth = truth_of(labels, on.size, "alarm")
    tp = int(np.count_nonzero(truth & on))
    fp = int(np.count_nonzero(on)) - tp
    fn = int(np.count_nonzero(truth)) - tp
    return Pointwise(
        precision=tp / (tp + fp) if tp + fp else float("nan"),
        recall=tp / (tp + fn),
        f1=2 * tp / (2 * tp + fp + fn),
        tp=tp,
        fp=fp,
        fn=fn,
        tn=truth.size - tp - fp - fn,
    )


def best_f1(labels: ArrayLike, score: ArrayLike) -> tuple[float, float]:
    """The largest F1 that any limit on this score gives, and that limit.

    The limit is chosen with the labels in hand, so this is an upper bound and never a result. Of
    several limits the highest is told, the one with the fewest alarms. TSB-AD's ``Standard-F1`` is
    this figure with 1e-5 added to its denominator, so up to 5e-6 less.

    Parameters
    ----------
    labels
        By row: 1 where the row is anomalous, else 0.
    score
        By row: higher is more anomalous; no NaN.

    Examples
    --------
    >>> best_f1([0, 1, 1, 0], [0.1, 0.8, 0.4, 0.3])
    (1.0, 0.4)
    """
    values = scores_of(score)
    truth = truth_of(labels, values.size, "score")
    tp, alarmed, limits = _by_limit(truth, values)
    f1 = 2 * tp / (alarmed + tp[-1])
    best = int(np.argmax(f1))
    return float(f1[best]), float(limits[best])


def precision_recall_curve(labels: ArrayLike, score: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Precision and recall at every limit that makes a difference.

    In the shape scikit-learn gives it (`sklearn.metrics.precision_recall_curve`): limits ascend,
    and one last point with precision 1 and recall 0 belongs to no limit.

    Parameters
    ----------
    labels
        By row: 1 where the row is anomalous, else 0.
    score
        By row: higher is more anomalous; no NaN.

    Returns
    -------
    precision, recall
        One entry per limit, and the last point.
    limits
        Distinct scores, ascending.

    Examples
    --------
    >>> precision, recall, limits = precision_recall_curve([0, 1, 1], [0.1, 0.8, 0.4])
    >>> recall.tolist(), limits.tolist()
    ([1.0, 1.0, 0.5, 0.0], [0.1, 0.4, 0.8])
    """
    values = scores_of(score)
    truth = truth_of(labels, values.size, "score")
    tp, alarmed, limits = _by_limit(truth, values)
    precision = np.append((tp / alarmed)[::-1], 1.0)
    recall = np.append((tp / tp[-1])[::-1], 0.0)
    return precision, recall, limits[::-1]


def auc_pr(labels: ArrayLike, score: ArrayLike) -> float:
    """Area under the precision–recall curve, as average precision (Davis and Goadrich 2006).

    The sum over limits, from the highest down, of the gain in recall times the precision there:
    `sklearn.metrics.average_precision_score`, which is what TSB-AD calls ``AUC-PR``. It does not
    interpolate between limits; the PyPI package ``vus`` does (trapezoids), which flatters. A
    score that says nothing gets the share of anomalous rows.

    Parameters
    ----------
    labels
        By row: 1 where the row is anomalous, else 0.
    score
        By row: higher is more anomalous; no NaN.

    Examples
    --------
    >>> round(auc_pr([0, 1, 0, 1], [0.1, 0.8, 0.4, 0.3]), 4)
    0.8333
    """
    values = scores_of(score)
    truth = truth_of(labels, values.size, "score")
    tp, alarmed, _ = _by_limit(truth, values)
    gained = np.diff(tp, prepend=0) / tp[-1]
    return float(np.sum(gained * (tp / alarmed)))


def auc_roc(labels: ArrayLike, score: ArrayLike) -> float:
    """Probability that an anomalous row scores higher than a normal one (Hanley and McNeil 1982).

    A tie counts half. This is the area under the receiver operating characteristic, and
    `sklearn.metrics.roc_auc_score`. A score that says nothing gets 0.5.

    Parameters
    ----------
    labels
        By row: 1 where the row is anomalous, else 0; both must occur.
    score
        By row: higher is more anomalous; no NaN.

    Examples
    --------
    >>> auc_roc([0, 1, 0, 1], [0.1, 0.8, 0.4, 0.3])
    0.75
    """
    values = scores_of(score)
    truth = truth_of(labels, values.size, "score", both=True)
    tp, alarmed, _ = _by_limit(truth, values)
    fp = alarmed - tp
    # Whole numbers up to the last step, so nothing is rounded: twice the area in rows × rows.
    twice = int(np.sum(np.diff(fp, prepend=0) * (tp + np.append(0, tp[:-1]))))
    return twice / (2 * int(tp[-1]) * int(fp[-1]))


def _by_limit(truth: Bools, score: Floats) -> tuple[Ints, Ints, Floats]:
    """Anomalous rows and rows that reach each distinct score, from the highest score down."""
    order = np.argsort(score)[::-1]
    ranked = score[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), ranked.size - 1)
    tp = np.cumsum(truth[order], dtype=np.int64)[last]
    return tp, last.astype(np.int64) + 1, ranked[last]


def runs_of(flags: Bools) -> tuple[Ints, Ints]:
    """First row of each unbroken run of true rows, and the row after its last one.

    Examples
    --------
    >>> starts, stops = runs_of(np.array([True, False, True, True]))
    >>> starts.tolist(), stops.tolist()
    ([0, 2], [1, 4])
    """
    steps = np.diff(flags.astype(np.int8), prepend=np.int8(0), append=np.int8(0))
    starts, stops = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return starts.astype(np.int64), stops.astype(np.int64)


def flags_of(values: ArrayLike, name: str) -> Bools:
    """`values` as one bool per row, or an error that names them.

    Examples
    --------
    >>> flags_of([0, 1.0, True], "alarm").tolist()
    [False, True, True]
    """
    given = np.asarray(values)
    if given.ndim != 1:
        msg = f"{name} has {given.ndim} dimensions; give one value per row."
        raise SettingError(msg)
    if given.dtype == np.bool_:
        return given
    flags: Bools = given == 1
    other = ~(flags | (given == 0))
    if other.any():
        msg = (
            f"{name} holds {given[other][0]!s} in row {int(np.argmax(other)):,}; only 0 and 1"
            " (or false and true) are allowed."
        )
        raise SettingError(msg)
    return flags


def truth_of(labels: ArrayLike, rows: int, other: str, *, both: bool = False) -> Bools:
    """Labels as one bool per row, checked against `rows` values of `other`.

    Parameters
    ----------
    labels
        By row: 1 where the row is anomalous, else 0.
    rows, other
        How many values there are of what the labels are compared with, and its name.
    both
        Whether a normal row is needed as well as an anomalous one.
    """
    truth = flags_of(labels, "labels")
    if truth.size != rows:
        msg = (
            f"There are {truth.size:,} labels and {rows:,} values of {other}; give one of each per"
            " row."
        )
        raise SettingError(msg)
    if not truth.any():
        msg = f"None of the {rows:,} labels is 1, so there is nothing to detect; label the events."
        raise SettingError(msg)
    if both and truth.all():
        msg = (
            f"All of the {rows:,} labels are 1, so nothing can be a false alarm; include normal"
            " rows."
        )
        raise SettingError(msg)
    return truth


def scores_of(score: ArrayLike) -> Floats:
    """Scores as one float per row; ±inf may occur, NaN may not.

    What a row gets for which nothing was said is for the caller to decide, and to say.
    """
    values = np.asarray(score, dtype=np.float64)
    if values.ndim != 1:
        msg = f"score has {values.ndim} dimensions; give one value per row."
        raise SettingError(msg)
    missing = np.isnan(values)
    if missing.any():
        msg = (
            f"{int(missing.sum()):,} of {values.size:,} scores are missing (NaN), the first in row"
            f" {int(np.argmax(missing)):,}; replace them before counting."
        )
        raise SettingError(msg)
    return values
