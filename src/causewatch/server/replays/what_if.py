"""`monitor_with`: a monitor that holds everything against another limit."""

from __future__ import annotations

from dataclasses import replace

from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import AlarmSettings, Monitor

__all__ = ["monitor_with"]


def monitor_with(model: NormalModel, settings: AlarmSettings, limit: float = 1.0) -> Monitor:
    """A fresh monitor that explains its alarms, and raises them at the score `limit`."""
    watching = replace(model.watching, factor=model.watching.factor * limit)
    return Monitor(replace(model, watching=watching), settings=settings, describe=describe)
