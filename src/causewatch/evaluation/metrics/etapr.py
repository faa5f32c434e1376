"""eTaPR: precision and recall that ask whether an alarm would have helped somebody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.errors import SettingError
from causewatch.evaluation.metrics.points import flags_of, runs_of, truth_of
from causewatch.evaluation.metrics.ranges import (
    check_share,
    harmonic_mean,
    overlaps,
)

__all__ = ["Etapr", "etapr"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

STEEP = 6.0
"""The credit for late alarms falls along the logistic curve from −6 to 6."""
ROUNDING = 1e-9
"""Shares this close to a limit reach it: half the credit of late rows is 0.5 but for rounding."""


@dataclass(frozen=True, slots=True)
class Etapr:
    """Enhanced time-series aware precision and recall, and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def etapr(
    labels: ArrayLike,
    alarm: ArrayLike,
    *,
    theta_p: float = 0.5,
    theta_r: float = 0.1,
    delta: float = 0.0,
) -> Etapr:
    """Enhanced time-series aware precision and recall (Hwang, Yun, Kim, Min, SAC 2022).

    From "Do you know existing accuracy metrics overrate time-series anomaly detections?". An event
    counts as detected if *correct* alarms cover a share of at least `theta_r` of it; an alarm is
    correct if a share of at least `theta_p` of it lies in *detected* events. Each hangs on the
    other, so events and alarms that fall short are struck out in turn until none is left that does.
    Then

    - recall is the mean over events of (1 + share covered by correct alarms) / 2 for those detected
      and 0 for the others;
    - precision is the mean over alarms of (1 + share in detected events) / 2 for those correct and
      0 for the others, weighted by the square root of their length, so that one long false alarm
      costs less than as many rows of short ones.

    Without any alarm precision is NaN, recall and F1 are 0.

    Parameters
    ----------
    labels
        By row: 1 or True if anomalous.
    alarm
        By row: whether an alarm was on.
    theta_p, theta_r
        The shares above, greater than 0 and up to 1.
    delta
        In 0..1: rows after an event, up to this share of its length, in which an alarm still gets
        some credit, falling from nearly 1 to nearly 0. 0: none.

    Notes
    -----
    Agrees with the authors' package to rounding, and takes over how it counts `delta`: the rows
    after an event of n rows are ``int(delta · (n − 1)) + 1``, and none if that is one; if the last
    of them is the first row of the next event it stays, so that this row counts for both and the
    share of an alarm may exceed 1. It is cut to 1 for recall, but not for precision. Where a share
    is exactly `theta_p` or `theta_r` with `delta` above 0, rounding decides in the package; here
    the limit is reached. The package fails where there is no alarm. A share of 0 would make every
    event detected and is refused.

    Examples
    --------
    >>> etapr([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0])
    Etapr(precision=0.8333333333333333, recall=0.75, f1=0.7894736842105263)
    """
    for value, name in ((theta_p, "theta_p"), (theta_r, "theta_r")):
        if not 0 < value <= 1:
            msg = f"{name} is {value:g}; it must be greater than 0 and not above 1."
            raise SettingError(msg)
    check_share(delta, "delta")
    told = flags_of(alarm, "alarm")
    events, alarms = runs_of(truth_of(labels, told.size, "alarm")), runs_of(told)
    if not len(alarms[0]):
        return Etapr(float("nan"), 0.0, 0.0)
    event, by, credit = _credits(events, alarms, delta)
    event_rows = (events[1] - events[0]).astype(np.float64)
    alarm_rows = (alarms[1] - alarms[0]).astype(np.float64)
    while True:
        # What falls short never recovers as more is struck out, so the order does not matter.
        covered = np.bincount(event, credit, minlength=len(event_rows)) / event_rows
        seen = covered >= theta_r - ROUNDING * theta_r
        kept = seen[event]
        event, by, credit = event[kept], by[kept], credit[kept]
        inside = np.bincount(by, credit, minlength=len(alarm_rows)) / alarm_rows
        correct = inside >= theta_p - ROUNDING * theta_p
        right = correct[by]
        event, by, credit = event[right], by[right], credit[right]
        if kept.all() and right.all():
            break
    recall = float(np.mean(np.where(seen, (1 + np.minimum(covered, 1)) / 2, 0)))
    weight = np.sqrt(alarm_rows)
    useful = np.where(correct, (1 + inside) / 2, 0)
    precision = float((weight * useful).sum() / weight.sum())  # 1 exactly if all are right
    return Etapr(precision, recall, harmonic_mean(precision, recall))


def _credits(
    events: tuple[Ints, Ints], alarms: tuple[Ints, Ints], delta: float
) -> tuple[Ints, Ints, Floats]:
    """For pairs of event and alarm, how many rows they share; rows just after count in part."""
    event, by = overlaps(*events, *alarms)
    shared = np.minimum(events[1][event], alarms[1][by]) - np.maximum(
        events[0][event], alarms[0][by]
    )
    after = _rows_after(events, delta)
    late = np.flatnonzero(after > 1)
    if not len(late):
        return event, by, shared.astype(np.float64)
    begin, rows = events[1][late], after[late]
    # The credit of all these rows one after the other, summed, so that any part is a difference.
    place = np.cumsum(rows) - rows
    step = np.arange(rows.sum()) - np.repeat(place, rows)
    height = -STEEP + step * (2 * STEEP) / np.repeat(rows - 1, rows)
    total = np.concatenate([[0.0], np.cumsum(1 / (1 + np.exp(height)))])
    of, late_by = overlaps(begin, begin + rows, *alarms)
    first = np.maximum(alarms[0][late_by] - begin[of], 0)
    last = np.minimum(alarms[1][late_by] - begin[of], rows[of])
    credit = total[place[of] + last] - total[place[of] + first]
    return (
        np.concatenate([event, late[of]]),
        np.concatenate([by, late_by]),
        np.concatenate([shared, credit]),
    )


def _rows_after(events: tuple[Ints, Ints], delta: float) -> Ints:
    """How many rows after each event are neither right nor wrong, as the authors count them."""
    starts, stops = events
    rows = (delta * (stops - starts - 1)).astype(np.int64) + 1
    # The last row may be the first of the next event, but not lie beyond it.
    room = starts[1:] - stops[:-1]
    rows[:-1] = np.where(rows[:-1] > room + 1, room, rows[:-1])
    return rows
