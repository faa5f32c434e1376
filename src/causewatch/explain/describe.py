"""Alarms completed with their explanation, as the monitor gives them out."""

from __future__ import annotations

from dataclasses import replace

from causewatch.explain.explanation import explain
from causewatch.monitor.alarms import Alarm

__all__ = ["describe"]


def describe(alarm: Alarm) -> Alarm:
    """`alarm` with causes, broken links, headline and onset; for `Monitor(model, describe=…)`.

    An alarm that has outlasted the ticks that are kept is left as it was explained before: its
    beginning can no longer be seen.
    """
    if alarm.kind != "anomaly":
        return alarm
    course = alarm.course
    if course is not None and alarm.causes and len(course) and alarm.onset < course.time[0]:
        return alarm
    found = explain(alarm, alarm.model)
    onset = min((change.at for change in found.changes), default=alarm.onset)
    return replace(
        alarm,
        causes=found.causes,
        broken_links=found.broken_links,
        headline=found.headline,
        abstained=found.abstained,
        onset=min(onset, alarm.raised_at),
    )
