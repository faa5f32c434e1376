"""Watching a live stream: the monitor, its alarms and the health of signals."""

from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Alarm, AlarmEvents, BrokenLink, Cause
from causewatch.monitor.course import Course
from causewatch.monitor.health import HealthChange, SignalHealth
from causewatch.monitor.judged import too_little_judged
from causewatch.monitor.monitor import Monitor
from causewatch.monitor.policy import AlarmPolicy
from causewatch.monitor.tick import Tick

__all__ = [
    "Alarm",
    "AlarmEvents",
    "AlarmPolicy",
    "AlarmSettings",
    "BrokenLink",
    "Cause",
    "Course",
    "HealthChange",
    "Monitor",
    "SignalHealth",
    "Tick",
    "too_little_judged",
]
