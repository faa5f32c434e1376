"""What each alarm was: raised in an event, on since before one, false, or not counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets.base import Recording
from causewatch.data.table import NANOSECONDS
from causewatch.evaluation.metrics import false_alarms
from causewatch.evaluation.verdicts import AlarmSpan, Verdicts

__all__ = ["JudgedAlarm", "bounds_of", "judge", "noticed_by_chance"]

Ints = NDArray[np.int64]

Kind = Literal["attack", "before", "false", "uncounted"]
"""Raised in an event; raised before one and still on; overlapping none; overlapping none and no row
that is counted."""


@dataclass(frozen=True, slots=True)
class JudgedAlarm:
    """An alarm, when it ended in its recording, and what it was."""

    span: AlarmSpan
    end: int
    kind: Kind


def judge(recording: Recording, said: Verdicts, grace: float) -> list[JudgedAlarm]:
    """What each alarm of a recording was, by the time it was raised.

    Parameters
    ----------
    recording
        With its events and labels.
    said
        The alarms.
    grace
        Seconds after its end during which an alarm still counts for an event.
    """
    table = recording.table
    spans = sorted(said.alarms, key=lambda one: one.raised_at)
    raised = np.array([one.raised_at for one in spans], dtype=np.int64)
    last = int(table.time[-1]) + round(table.interval * NANOSECONDS) if len(table) else 0
    # An alarm that was never cleared lasts to the end of its recording.
    ends = [last if one.cleared_at is None else one.cleared_at for one in spans]
    cleared = np.maximum(np.array(ends, dtype=np.int64), raised)
    starts, stops = bounds_of(recording, grace)
    vain = false_alarms(raised, cleared, starts, stops)
    counted = _counted(recording, raised, cleared)
    inside = [bool(((starts <= now) & (now < stops)).any()) for now in raised.tolist()]
    judged = []
    for k, span in enumerate(spans):
        kind: Kind = "attack" if inside[k] else "before"
        if vain[k]:
            kind = "false" if counted[k] else "uncounted"
        judged.append(JudgedAlarm(span, int(cleared[k]), kind))
    return judged


def noticed_by_chance(
    recordings: Sequence[Recording], verdicts: Sequence[Verdicts], grace: float
) -> float | None:
    """Share of events that as many alarms, raised at random moments, would notice.

    None without events.
    """
    shares: list[float] = []
    for recording, said in zip(recordings, verdicts, strict=True):
        table = recording.table
        starts, stops = bounds_of(recording, grace)
        if not len(starts):
            continue
        whole = float(table.time[-1] - table.time[0]) + table.interval * NANOSECONDS
        within = np.clip((stops - starts) / whole, 0.0, 1.0)
        shares += (1.0 - (1.0 - within) ** len(said.alarms)).tolist()
    return float(np.mean(shares)) if shares else None


def bounds_of(recording: Recording, grace: float) -> tuple[Ints, Ints]:
    """Starts and ends of the events with the grace.

    The grace of an event ends where the next event begins that does not overlap it.
    """
    starts = np.array([event.start for event in recording.events], dtype=np.int64)
    ends = np.array([event.end for event in recording.events], dtype=np.int64)
    begins = np.sort(starts)
    following = np.searchsorted(begins, ends)
    late = ends + round(grace * NANOSECONDS)
    followed = following < len(begins)
    late[followed] = np.minimum(late[followed], begins[following[followed]])
    return starts, late


def _counted(recording: Recording, raised: Ints, cleared: Ints) -> NDArray[np.bool_]:
    """Which alarms are on at some row that is counted."""
    labels = recording.table.labels
    time = recording.table.time if labels is None else recording.table.time[np.isfinite(labels)]
    after = np.searchsorted(time, np.maximum(cleared, raised + 1))
    return np.asarray(after > np.searchsorted(time, raised))
