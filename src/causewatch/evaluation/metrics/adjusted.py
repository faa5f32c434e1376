"""Point-adjusted scores: what many papers report, and why theirs look better than ours.

**These figures flatter.** One lucky row in an event counts the whole event as found, so a detector
that raises alarms at random reaches a high F1 when events are long (Kim et al. 2022). They are here
only so that published figures can be set beside ours. Never choose a detector, a limit or a setting
by them. All results come as `Flattering`, so that no table can mistake them for strict ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.errors import SettingError
from causewatch.evaluation.metrics.points import flags_of, runs_of, truth_of

__all__ = ["Flattering", "pa_k", "pa_k_area", "point_adjusted"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Flattering:
    """Precision, recall and F1 after alarms were adjusted towards the truth: too good."""

    precision: float
    recall: float
    f1: float


def point_adjusted(labels: ArrayLike, alarm: ArrayLike) -> Flattering:
    """Flattering scores after point adjustment, PA (Xu et al., WWW 2018).

    Every row of an event counts as found as soon as one of them was under alarm; then precision,
    recall and F1 are counted row by row. Random alarms do well by this: with events of 300 rows, an
    alarm on one row in a hundred finds 95 % of all events. Without any alarm precision is NaN,
    recall and F1 are 0.

    Parameters
    ----------
    labels
        By row: 1 or True if anomalous.
    alarm
        By row: whether an alarm was on.

    Notes
    -----
    TSB-AD's PA-F1 never adjusts the very first row; an event that starts there differs by one row.

    Examples
    --------
    >>> point_adjusted([0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 0])
    Flattering(precision=1.0, recall=1.0, f1=1.0)
    """
    return pa_k(labels, alarm, 0)


def pa_k(labels: ArrayLike, alarm: ArrayLike, k: float) -> Flattering:
    """Flattering scores after point adjustment with a condition, PA%K (Kim et al., AAAI 2022).

    The rows of an event count as found only if *more* than `k` per cent of them were under alarm;
    otherwise just those that were. 0 is PA, 100 adjusts nothing: F1 row by row. In between it still
    flatters, the less so the larger `k`.

    Parameters
    ----------
    labels, alarm
        See `point_adjusted`.
    k
        From 0 to 100.

    Notes
    -----
    Agrees with the authors' script, except where it compares ``k / 100 · n`` in floating point:
    29 of 100 rows are more than 29 % there.

    Examples
    --------
    >>> pa_k([0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 0], 50)
    Flattering(precision=1.0, recall=0.25, f1=0.4)
    """
    if not 0 <= k <= 100:
        msg = f"k is {k:g}; it must be from 0 to 100, in per cent."
        raise SettingError(msg)
    hits, rows, vain = _counts(labels, alarm)
    # Both sides times 100: whole numbers, so that the comparison is exact for a whole k.
    found = np.where(100 * hits > k * rows, rows, hits).sum(dtype=np.float64)
    precision, recall, f1 = _ratios(found, vain, int(rows.sum()))
    return Flattering(float(precision), float(recall), float(f1))


def pa_k_area(labels: ArrayLike, alarm: ArrayLike) -> Flattering:
    """Flattering scores averaged over all K from 0 to 100: area under PA%K (Kim et al. 2022).

    Each of the three is a step function of K that falls whenever K passes the share of rows under
    alarm of an event; its area is taken exactly, not on a grid. `f1` is the area of F1, not the F1
    of the other two areas. It does without the choice of a K, and flatters less than PA.

    Parameters
    ----------
    labels, alarm
        See `point_adjusted`.

    Examples
    --------
    >>> pa_k_area([0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 0])
    Flattering(precision=1.0, recall=0.4375, f1=0.55)
    """
    hits, rows, vain = _counts(labels, alarm)
    share = hits / rows
    order = np.argsort(share)
    widths = np.diff(np.concatenate([[0.0], share[order], [1.0]]))
    # Below the j-th smallest share all events from the j-th on are adjusted; above the last, none.
    gain = (rows - hits)[order]
    adjusted = np.concatenate([np.cumsum(gain[::-1])[::-1], [0]])
    found = (hits.sum() + adjusted).astype(np.float64)
    precision, recall, f1 = _ratios(found, vain, int(rows.sum()))
    return Flattering(float(widths @ precision), float(widths @ recall), float(widths @ f1))


def _counts(labels: ArrayLike, alarm: ArrayLike) -> tuple[Ints, Ints, int]:
    """Of each event the rows under alarm and all rows; and the rows under alarm in no event."""
    told = flags_of(alarm, "alarm")
    starts, stops = runs_of(truth_of(labels, told.size, "alarm"))
    before = np.concatenate([[0], np.cumsum(told, dtype=np.int64)])
    hits = before[stops] - before[starts]
    return hits, stops - starts, int(before[-1] - hits.sum())


def _ratios(found: Floats | np.float64, vain: int, rows: int) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1 of `found` of `rows` rows and `vain` rows of false alarm."""
    told = found + vain
    precision = np.where(told > 0, found / np.maximum(told, 1), np.nan)
    return precision, np.asarray(found / rows), np.asarray(2 * found / (told + rows))
