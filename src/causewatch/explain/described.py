"""Alarms completed with their explanation, as the monitor gives them out."""

from __future__ import annotations

from dataclasses import replace

from causewatch.explain.explanation import Explanation, explain
from causewatch.monitor.alarms import Alarm

__all__ = ["describe", "retold", "with_beginning"]


def describe(alarm: Alarm) -> Alarm:
    """`alarm` with causes, broken links, headline and onset; for `Monitor(model, describe=…)`.

    An alarm that has outlasted the ticks that are kept is left as it was explained before: its
    beginning can no longer be seen.
    """
    if alarm.kind == "health":
        return replace(alarm, headline=explain(alarm).headline)
    course = alarm.course
    if course is not None and alarm.causes and len(course) and alarm.onset < course.time[0]:
        return alarm
    found = explain(alarm, alarm.model)
    onset = min((change.at for change in found.changes), default=alarm.onset)
    return replace(
        alarm,
        causes=found.causes,
        # Links heal before the alarm clears; what was broken is still worth knowing then.
        broken_links=found.broken_links or alarm.broken_links,
        headline=found.headline,
        abstained=found.abstained,
        onset=min(onset, alarm.raised_at),
    )


def retold(alarm: Alarm) -> Explanation:
    """The explanation of an alarm, with the sentence and the causes that were told of it.

    The ticks that are kept of a long alarm end before its last event, and would say something else.
    """
    found = explain(alarm, alarm.model)
    if alarm.kind == "health" or not alarm.headline:
        return found
    return replace(
        found,
        headline=alarm.headline,
        abstained=alarm.abstained,
        causes=alarm.causes,
        broken_links=alarm.broken_links,
    )


def with_beginning(alarm: Alarm, before: Alarm | None) -> Alarm:
    """`alarm` with the ticks of an earlier event if its own no longer show how it began."""
    own = alarm.course
    if before is None or before.course is None or not len(before.course):
        return alarm
    if own is not None and len(own) and own.time[0] <= alarm.onset:
        return alarm
    return replace(alarm, course=before.course, model=before.model)
