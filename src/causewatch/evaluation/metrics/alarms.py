"""Counting alarms as an operator does: which events were noticed, how late, how often in vain.

Alarms and events are intervals on one clock, in any unit: arrays of starts and ends, half-open. An
alarm that was never cleared ends at infinity. An always-on alarm is raised before anything happens,
so it notices nothing; and it is on all of the normal time, which `share_under_alarm` shows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.errors import SettingError

__all__ = [
    "delays",
    "event_recall",
    "false_alarms",
    "false_alarms_per_day",
    "first_alarms",
    "share_under_alarm",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

DAY = 86_400.0


def first_alarms(raised: ArrayLike, starts: ArrayLike, ends: ArrayLike) -> Ints:
    """For each event the number of the first alarm that was *raised* in it; −1 if there is none.

    Parameters
    ----------
    raised
        When each alarm was raised, in order of time.
    starts, ends
        Of the events; extend `ends` by the grace that late alarms have.

    Examples
    --------
    >>> first_alarms([3, 12, 13], starts=[0, 5, 10], ends=[5, 10, 20]).tolist()
    [0, -1, 1]
    """
    moments, begin, end = np.asarray(raised), np.asarray(starts), np.asarray(ends)
    if len(moments) > 1 and (np.diff(moments) < 0).any():
        msg = "Alarms must be in the order in which they were raised; sort them."
        raise SettingError(msg)
    _same_length(begin, end, "starts", "ends")
    first = np.searchsorted(moments, begin)
    inside = (first < len(moments)) & (
        np.append(moments, [0])[np.minimum(first, len(moments))] < end
    )
    return np.where(inside, first, -1).astype(np.intp)


def event_recall(first: ArrayLike) -> float:
    """Share of events in which an alarm was raised; see `first_alarms`. NaN without events."""
    numbers = np.asarray(first)
    return float(np.mean(numbers >= 0)) if len(numbers) else float("nan")


def delays(raised: ArrayLike, starts: ArrayLike, first: ArrayLike) -> Floats:
    """From the start of each event to its first alarm; NaN where there is none."""
    moments, begin = np.asarray(raised), np.asarray(starts)
    numbers = np.asarray(first, dtype=np.intp)
    late = np.full(len(numbers), np.nan)
    seen = numbers >= 0
    late[seen] = (moments[numbers[seen]] - begin[seen]).astype(np.float64)
    return late


def false_alarms(
    raised: ArrayLike, cleared: ArrayLike, starts: ArrayLike, ends: ArrayLike
) -> Bools:
    """Which alarms overlap no event.

    Examples
    --------
    >>> false_alarms([0, 4, 30], [2, 6, np.inf], starts=[5], ends=[10]).tolist()
    [True, False, True]
    """
    on, off = np.asarray(raised), np.asarray(cleared)
    begin, end = np.asarray(starts), np.asarray(ends)
    _same_length(on, off, "raised", "cleared")
    _same_length(begin, end, "starts", "ends")
    order = np.argsort(begin)
    begin, end = begin[order], np.maximum.accumulate(end[order])
    if not len(begin):
        return np.ones(len(on), dtype=np.bool_)
    # Of the events that begin before the alarm is over, does one end after it was raised? An alarm
    # that was cleared at once still is one: it lasts for the moment it was raised.
    before = np.maximum(np.searchsorted(begin, off), np.searchsorted(begin, on, side="right"))
    return np.asarray((before == 0) | (end[np.maximum(before - 1, 0)] <= on))


def false_alarms_per_day(false: int, seconds: float) -> float:
    """False alarms in so many seconds of normal operation, per day of it."""
    if not seconds > 0:
        msg = f"Normal operation lasts {seconds:g} s; false alarms per day need a positive time."
        raise SettingError(msg)
    return false * DAY / seconds


def share_under_alarm(labels: ArrayLike, alarm: ArrayLike) -> float:
    """Share of the normal rows during which an alarm was on; NaN without normal rows."""
    truth, on = np.asarray(labels) > 0, np.asarray(alarm, dtype=np.bool_)
    _same_length(truth, on, "labels", "alarm")
    calm = on[~truth]
    return float(calm.mean()) if len(calm) else float("nan")


def _same_length(one: NDArray[np.generic], two: NDArray[np.generic], *names: str) -> None:
    if one.shape != two.shape:
        msg = (
            f"{names[0]} has {one.size:,} entries and {names[1]} has {two.size:,}; they must be"
            " equally many."
        )
        raise SettingError(msg)
