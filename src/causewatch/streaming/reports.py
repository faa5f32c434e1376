"""One page about every alarm, written while the watch runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from causewatch.errors import CausewatchError
from causewatch.explain.described import with_beginning
from causewatch.explain.report import write_report
from causewatch.model import NormalModel
from causewatch.monitor import Alarm
from causewatch.monitor.alarms import Event

__all__ = ["Reports"]

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two reports of the same alarm."""


class Reports:
    """Writes a report when an alarm begins and ends, and now and then in between.

    Parameters
    ----------
    folder
        Where to.
    model
        What the alarms are explained by.
    about
        Facts for every page: what is watched, and with which model.
    now
        The time in seconds.
    """

    def __init__(
        self,
        folder: Path,
        model: NormalModel,
        about: Mapping[str, str] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._model = model
        self._about = about
        self._now = now
        self._open: dict[str, tuple[Alarm, float]] = {}  # and when it was last reported
        self._warned = False

    def event(self, event: Event, alarm: Alarm) -> None:
        """Something happened to an alarm."""
        earlier, written = self._open.pop(alarm.id, (None, -EVERY))
        alarm, now = with_beginning(alarm, earlier), self._now()
        if event in ("raised", "cleared") or now - written >= EVERY:
            self._write(alarm)
            written = now
        if alarm.on:
            self._open[alarm.id] = (alarm, written)

    def close(self) -> None:
        """Write what is new about alarms that are still on."""
        for alarm, _ in self._open.values():
            self._write(alarm)
        self._open = {}

    def _write(self, alarm: Alarm) -> None:
        try:
            write_report(alarm, self._folder / f"{alarm.id}.html", self._model, about=self._about)
        except CausewatchError as error:
            if not self._warned:  # watching is worth more than a report
                log.warning("%s", error)
            self._warned = True
