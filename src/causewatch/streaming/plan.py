"""`Plan`: everything that a watch is asked to do, wherever that was said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from causewatch.monitor import AlarmSettings
from causewatch.streaming.source import Limits, Reading
from causewatch.streaming.store.base import Retention
from causewatch.streaming.tags import TagMap

__all__ = ["Place", "Plan"]


@dataclass(frozen=True, slots=True)
class Place:
    """A file, a folder or an address, and options beyond those in the address."""

    where: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to watch, with what, and what to do about it.

    Attributes
    ----------
    model
        File of the model.
    source
        What to watch.
    name
        What the watch is called; it is part of what makes the ids of alarms. Empty for the only
        one.
    follow
        Whether to wait for more at the end of a file or folder.
    silent_after
        Seconds without rows after which an alarm is raised; 0 for never, None for what is usual
        (see `causewatch.streaming.silence.usual_silence`).
    speed
        How many times faster than time a recording is played; 0 for as fast as possible.
    reading, tags, limits
        How rows are read.
    state
        Folder or address of the store; None to keep no state.
    alarms, scores, report
        Files and folder to write.
    per_signal
        Whether scores hold the evidence of each signal.
    sinks
        Where else events go.
    metrics
        ``HOST:PORT`` to tell Prometheus at.
    settings
        How alarms come and go.
    retention
        How much history is kept.
    """

    model: Path
    source: Place
    name: str = ""
    follow: bool = False
    silent_after: float | None = None
    speed: float = 0.0
    reading: Reading = field(default_factory=Reading)
    tags: TagMap = field(default_factory=TagMap)
    limits: Limits = field(default_factory=Limits)
    state: str | None = None
    alarms: Path | None = None
    scores: Path | None = None
    report: Path | None = None
    per_signal: bool = False
    sinks: tuple[Place, ...] = ()
    metrics: str | None = None
    settings: AlarmSettings = field(default_factory=AlarmSettings)
    retention: Retention = field(default_factory=Retention)
