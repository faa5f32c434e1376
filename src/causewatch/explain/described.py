"""Alarms completed with their explanation, as the monitor gives them out."""

from __future__ import annotations

from dataclasses import replace

from causewatch.errors import listing
from causewatch.explain.explanation import explain
from causewatch.monitor.alarms import Alarm

__all__ = ["describe", "with_beginning"]


HEALTH = {
    "missing": "{} sends no value.",
    "stale": "{} has sent no value for a while; its last one is held.",
    "frozen": "{} stands still.",
    "out_of_range": "{} is far outside the range it had in normal operation.",
    "unlike": "{} is no longer as learnt.",
    "rate_wrong": "Rows come at another rate than in normal operation.",
    "not_judged": "Rows come and are not judged.",
    "silent": "No rows come.",
}
"""A sentence for each state of health."""


def describe(alarm: Alarm) -> Alarm:
    """`alarm` with causes, broken links, headline and onset; for `Monitor(model, describe=…)`.

    An alarm that has outlasted the ticks that are kept is left as it was explained before: its
    beginning can no longer be seen.
    """
    if alarm.kind == "health":
        if alarm.headline:
            return alarm
        said = HEALTH.get(alarm.problem or "", f"{{}}: {alarm.problem}.")
        return replace(alarm, headline=said.format(listing(alarm.signals, most=3)))
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


def with_beginning(alarm: Alarm, before: Alarm | None) -> Alarm:
    """`alarm` with the ticks of an earlier event if its own no longer show how it began."""
    own = alarm.course
    if before is None or before.course is None or not len(before.course):
        return alarm
    if own is not None and len(own) and own.time[0] <= alarm.onset:
        return alarm
    return replace(alarm, course=before.course, model=before.model)
