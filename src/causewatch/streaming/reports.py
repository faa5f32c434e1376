"""One page about every alarm, written while the watch runs, and one that lists them."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from causewatch.errors import CausewatchError, SettingError
from causewatch.explain.alarm_index import (
    HEAD,
    Entry,
    alarm_index,
    entry_of,
    is_alarm_index,
    read_entry,
)
from causewatch.explain.described import with_beginning
from causewatch.explain.explanation import explain
from causewatch.explain.report import write_report
from causewatch.files import write_atomically
from causewatch.model import NormalModel
from causewatch.monitor import Alarm
from causewatch.monitor.alarms import Event
from causewatch.monitor.state import WRONG_PARTS

__all__ = ["INDEX", "LISTED", "Reports", "check_index"]

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two reports of the same alarm."""
INDEX = "index.html"
LISTED = 1000
"""Alarms in the index, unless said otherwise."""
ID = re.compile(r"[0-9a-f]{12}")


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
    most
        Alarms that the index lists at most, the latest.
    now
        The time in seconds.
    """

    def __init__(
        self,
        folder: Path,
        model: NormalModel,
        about: Mapping[str, str] | None = None,
        most: int = LISTED,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._model = model
        self._about = dict(about or {})
        self._most = most
        self._now = now
        self._open: dict[str, tuple[Alarm, float]] = {}  # and when it was last reported
        self._entries: dict[str, Entry] = {}  # lines of the index
        self._older = False  # whether there are more pages than the index lists
        self._warned = False

    def begin(self, history: Iterable[Mapping[str, Any]]) -> None:
        """List the pages that are there, and write those that a kill kept from being written.

        Parameters
        ----------
        history
            Alarms of earlier runs, each as at its last event.
        """
        for path in self._folder.glob("*.html"):
            entry = _entry_in(path)
            if entry is not None:
                self._list(entry)
        for record in history:
            self._make_up_for(record)
        self._write_index()

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

    def _make_up_for(self, record: Mapping[str, Any]) -> None:
        """The page of an earlier alarm if there is none, and its line as it was in the end."""
        try:
            alarm = Alarm.from_dict(record)
        except WRONG_PARTS as error:
            log.debug("An alarm of the history makes no sense: %r", error)
            return
        if ID.fullmatch(alarm.id) is None:
            return
        if alarm.id not in self._entries and not (self._folder / f"{alarm.id}.html").exists():
            self._write(alarm, {"page": "written later, from the history alone"}, listed=False)
        self._list(entry_of(explain(alarm, self._model)))

    def _write(
        self, alarm: Alarm, about: Mapping[str, str] | None = None, listed: bool = True
    ) -> None:
        """Write the page of an alarm, and the index unless it is written later."""
        try:
            explanation = explain(alarm, self._model)
            facts = {**self._about, **(about or {})}
            write_report(explanation, self._folder / f"{alarm.id}.html", home=INDEX, about=facts)
        except CausewatchError as error:
            self._warn(str(error))
            return
        if listed and self._list(entry_of(explanation)):
            self._write_index()

    def _list(self, entry: Entry) -> bool:
        """Put a line into the index; gives whether it says anything new."""
        if self._entries.get(entry.id) == entry:
            return False
        self._entries[entry.id] = entry
        if len(self._entries) > self._most:
            self._older = True
            del self._entries[min(self._entries.values(), key=_age).id]
        return True

    def _write_index(self) -> None:
        entries = sorted(self._entries.values(), key=_age, reverse=True)
        path = self._folder / INDEX
        try:
            page = alarm_index(entries, self._older, self._about.get("watched", "the plant"))
            write_atomically(path, page)
        except OSError as error:
            self._warn(f"Cannot write {str(path)!r}: {error.strerror or error}.")

    def _warn(self, text: str) -> None:
        if not self._warned:  # watching is worth more than a report
            log.warning("%s", text)
        self._warned = True


def check_index(folder: Path) -> None:
    """Raise if the folder has an index that somebody else has written."""
    path = folder / INDEX
    if path.exists() and not is_alarm_index(_head(path)):
        msg = f"{str(path)!r} exists already and lists no alarms; use --force to overwrite it."
        raise SettingError(msg)


def _age(entry: Entry) -> tuple[int, str]:
    return entry.raised_at, entry.id


def _entry_in(path: Path) -> Entry | None:
    """The line of a page; None if it is not the page of an alarm."""
    entry = read_entry(_head(path)) if ID.fullmatch(path.stem) else None
    return entry if entry is not None and entry.id == path.stem else None


def _head(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(HEAD)
    except OSError:
        return ""
