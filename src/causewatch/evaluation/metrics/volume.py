"""Volume under the surface: areas under curves that forgive alarms close to an event.

Labels are rarely exact to the row. A range AUC (Paparrizos, Boniol, Palpanas, Tsay, Elmore,
Franklin, VLDB 2022) therefore puts a buffer of ``window // 2`` rows on either side of each event,
and VUS averages over all windows from 0 to a largest one, so that no single buffer has to be
chosen. With

- weight of a row: 1 in an event, ``sqrt(1 − d / window)`` at `d` rows from an event in whose buffer
  it is, 1 in the buffers of two or more events, 0 elsewhere,
- zones: the events with their buffers, joined where buffers share a row,
- *weighted hits*: the sum of the weights of alarmed rows; *hits beside*: the part of it that lies
  outside events,
- *positives*: the anomalous rows plus half the hits beside,

each limit gives

- recall = min(1, weighted hits / positives) × share of zones with an alarmed row,
- false-alarm rate = (alarmed rows − weighted hits) / (rows − positives),
- precision = weighted hits / alarmed rows.

Limits are scores at evenly spaced ranks; a row alarms where its score reaches the limit. The area
below precision is a sum of steps as in average precision, that below recall against false-alarm
rate is made of trapezoids and closed at (1, 1).

Where programs differ, this follows TSB-AD 1.5 (``get_metrics``, version ``opt``), the default
there, which agrees with the volumes of ``vus`` 0.0.6:

- Only the weights of alarmed rows count among the positives, which therefore depend on the limit.
- A range AUC here is one slice of that volume. Both packages have a separate function ``RangeAUC``
  that gives other figures. That of ``vus`` counts half of *all* weights beside events among the
  positives, joins zones that merely touch, and takes trapezoids below precision. That of TSB-AD
  looks for borders of events in weighted labels, of which there are none as soon as the window is 2
  or more, and divides by zero.
- TimeEval's ``compatibility_mode`` follows an older release, in which the buffer after an event was
  one row shorter than the one before it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.errors import SettingError
from causewatch.evaluation.metrics.points import runs_of, scores_of, truth_of

__all__ = ["range_auc_pr", "range_auc_roc", "vus_pr", "vus_roc"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FAR = np.int64(1) << 40
"""More rows than any recording has."""


def vus_pr(
    labels: ArrayLike, score: ArrayLike, *, window: int = 100, thresholds: int = 250
) -> float:
    """Volume under the precision–recall surface (Paparrizos et al. 2022).

    The mean of `range_auc_pr` over the windows 0, 1, …, `window`.

    Parameters
    ----------
    labels
        By row: 1 where the row is anomalous, else 0; both must occur.
    score
        By row: higher is more anomalous; no NaN.
    window
        Largest window in rows: the buffer on either side of an event is half of it.
    thresholds
        How many limits are tried.

    Examples
    --------
    >>> labels, score = [0, 0, 1, 1, 0, 0, 0, 0], [1, 6, 7, 5, 2, 1, 3, 0]
    >>> round(vus_pr(labels, score, window=0), 4), round(vus_pr(labels, score, window=4), 4)
    (0.8333, 0.908)
    """
    return float(_areas(labels, score, _span(window), thresholds)[0].mean())


def vus_roc(
    labels: ArrayLike, score: ArrayLike, *, window: int = 100, thresholds: int = 250
) -> float:
    """Volume under the surface of recall against false-alarm rate (Paparrizos et al. 2022).

    The mean of `range_auc_roc` over the windows 0, 1, …, `window`; parameters as for `vus_pr`.

    Examples
    --------
    >>> labels, score = [0, 0, 1, 1, 0, 0, 0, 0], [1, 6, 7, 5, 2, 1, 3, 0]
    >>> round(vus_roc(labels, score, window=4), 4)
    0.9584
    """
    return float(_areas(labels, score, _span(window), thresholds)[1].mean())


def range_auc_pr(
    labels: ArrayLike, score: ArrayLike, *, window: int = 100, thresholds: int = 250
) -> float:
    """Area under the precision–recall curve for one buffer length (Paparrizos et al. 2022).

    Parameters
    ----------
    labels
        By row: 1 where the row is anomalous, else 0; both must occur.
    score
        By row: higher is more anomalous; no NaN.
    window
        In rows: the buffer on either side of an event is half of it.
    thresholds
        How many limits are tried.

    Examples
    --------
    >>> labels, score = [0, 0, 1, 1, 0, 0, 0, 0], [1, 6, 7, 5, 2, 1, 3, 0]
    >>> round(range_auc_pr(labels, score, window=4), 4)
    0.9717
    """
    return float(_areas(labels, score, _span(window)[-1:], thresholds)[0][0])


def range_auc_roc(
    labels: ArrayLike, score: ArrayLike, *, window: int = 100, thresholds: int = 250
) -> float:
    """Area under recall against false-alarm rate for one buffer length (Paparrizos et al. 2022).

    Parameters as for `range_auc_pr`.

    Examples
    --------
    >>> labels, score = [0, 0, 1, 1, 0, 0, 0, 0], [1, 6, 7, 5, 2, 1, 3, 0]
    >>> round(range_auc_roc(labels, score, window=4), 4)
    0.9912
    """
    return float(_areas(labels, score, _span(window)[-1:], thresholds)[1][0])


def _span(window: int) -> range:
    if not isinstance(window, (int, np.integer)) or window < 0:
        msg = f"The window is {window!r} rows; it must be a whole number, 0 or more."
        raise SettingError(msg)
    return range(int(window) + 1)


def _areas(
    labels: ArrayLike, score: ArrayLike, windows: range, thresholds: int
) -> tuple[Floats, Floats]:
    """Both areas for each window.

    Two or more slopes in one row always add up to more than 1, since none is below sqrt(1/2). So
    a row's weight depends only on how far off the nearest and the second nearest event are, and
    all rows can be counted once, by those distances and by the first limit they reach. Windows
    then cost the same however long the recording is, apart from the zones.
    """
    if not isinstance(thresholds, (int, np.integer)) or thresholds < 2:
        msg = f"VUS was asked for {thresholds!r} limits; it must be a whole number, 2 or more."
        raise SettingError(msg)
    limits = int(thresholds)
    values = scores_of(score)
    truth = truth_of(labels, values.size, "score", both=True)
    starts, stops = runs_of(truth)
    reached = _first_reached(values, limits)
    alarmed = np.cumsum(np.bincount(reached, minlength=limits))
    inside = np.cumsum(np.bincount(reached[truth], minlength=limits))
    beside = _Beside(truth, starts, stops, reached, windows[-1] // 2, limits)

    area_pr, area_roc = np.empty(len(windows)), np.empty(len(windows))
    share, share_of = np.empty(0), -1
    for k, window in enumerate(windows):
        if window // 2 != share_of:
            share_of = window // 2
            share = _share_of_zones(starts, stops, reached, share_of, limits)
        extra = beside.hits(window)
        hits, positives = inside + extra, inside[-1] + extra / 2
        recall = np.minimum(hits / positives, 1.0) * share
        rate = (alarmed - hits) / (truth.size - positives)
        precision = hits / alarmed
        area_pr[k] = np.diff(recall, prepend=0.0) @ precision
        recall, rate = np.r_[0.0, recall, 1.0], np.r_[0.0, rate, 1.0]
        area_roc[k] = np.diff(rate) @ (recall[1:] + recall[:-1]) / 2
    return area_pr, area_roc


def _first_reached(score: Floats, thresholds: int) -> Ints:
    """By row the number of the highest limit it reaches; limits descend."""
    ranked = np.sort(score)
    ranks = np.linspace(0, score.size - 1, thresholds).astype(np.int64)
    ascending = ranked[score.size - 1 - ranks][::-1]
    at_most = np.searchsorted(ascending, score, side="right")
    return np.asarray(thresholds - at_most, dtype=np.int64)


def _share_of_zones(starts: Ints, stops: Ints, reached: Ints, half: int, thresholds: int) -> Floats:
    """By limit: the share of zones in which a row alarms."""
    apart = stops[:-1] - 1 + half < starts[1:] - half  # buffers that touch are still apart
    begin = np.maximum(starts[np.r_[True, apart]] - half, 0)
    end = np.minimum(stops[np.r_[apart, True]] + half, reached.size)
    # One more value at the end, so that a zone may end where the recording does.
    borders = np.stack([begin, end], axis=1).ravel()
    first = np.minimum.reduceat(np.append(reached, thresholds), borders)[::2]
    return np.cumsum(np.bincount(first, minlength=thresholds)) / begin.size


class _Beside:
    """The rows beside events, counted by distance and by the first limit they reach.

    Parameters
    ----------
    truth, starts, stops
        Labels and the runs of them.
    reached
        By row: the highest limit it reaches.
    longest
        Longest buffer on one side, in rows.
    thresholds
        How many limits there are.
    """

    def __init__(
        self, truth: Bools, starts: Ints, stops: Ints, reached: Ints, longest: int, thresholds: int
    ) -> None:
        nearest, second, rows = _distances(truth, starts, stops, longest)
        self._limits = thresholds
        first = reached[rows]
        cell = nearest * thresholds + first
        size = (longest + 1) * thresholds
        # Rows in the buffer of just one event, by their distance to it; and of two or more.
        self._one = np.bincount(cell, minlength=size).reshape(-1, thresholds)
        self._more = np.zeros(thresholds, dtype=np.int64)
        order = np.argsort(second, kind="stable")
        self._cell, self._first = cell[order], first[order]
        self._stop = np.searchsorted(second[order], np.arange(longest + 1), side="right")
        self._half = 0

    def hits(self, window: int) -> Floats:
        """By limit: the weights of alarmed rows beside events; windows must not shrink."""
        half = window // 2
        if half > self._half:
            moved = slice(self._stop[self._half], self._stop[half])
            gone = np.bincount(self._cell[moved], minlength=self._one.size)
            self._one -= gone.reshape(self._one.shape)
            self._more += np.bincount(self._first[moved], minlength=self._limits)
            self._half = half
        if not half:
            return np.zeros(self._limits)
        weight = np.sqrt(1 - np.arange(1, half + 1) / window)
        return np.asarray(np.cumsum(self._more + weight @ self._one[1 : half + 1]))


def _distances(truth: Bools, starts: Ints, stops: Ints, longest: int) -> tuple[Ints, Ints, Ints]:
    """How far the nearest and the second nearest event are, for normal rows near an event.

    Returns
    -------
    nearest, second
        In rows; `second` may be as large as `FAR`.
    rows
        Which rows these are: those with `nearest` up to `longest`.
    """
    calm = np.flatnonzero(~truth)
    before = np.searchsorted(starts, calm)  # events that begin, and so end, before the row
    last = np.r_[-FAR, -FAR, stops - 1]
    first = np.r_[starts, FAR, FAR]
    left, right = calm - last[before + 1], first[before] - calm
    nearest = np.minimum(left, right)
    near = nearest <= longest
    calm, before, nearest = calm[near], before[near], nearest[near]
    beyond = np.minimum(calm - last[before], first[before + 1] - calm)
    second = np.minimum(np.maximum(left[near], right[near]), beyond)
    return nearest, second, calm
