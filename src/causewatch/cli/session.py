"""One run of ``causewatch watch``: rows from a feed, through the monitor, to whoever wants to know.

Whatever has to be written is written between two batches of rows, so that the state on disk always
belongs to a whole number of rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from causewatch.cli.batches import Batch, Feed
from causewatch.cli.counts import Counts
from causewatch.cli.output import complain
from causewatch.cli.scores import ScoreFile
from causewatch.errors import CausewatchError, listing
from causewatch.explain.describe import with_beginning
from causewatch.explain.report import write_report
from causewatch.monitor import Alarm, Monitor, Tick
from causewatch.monitor.actions import act
from causewatch.monitor.alarms import Event
from causewatch.monitor.state import WRONG_PARTS, SavedState, StateFolder, cut_back

__all__ = ["LineFile", "Session", "View"]

SAVE_EVERY, LOOK_EVERY, REPORT_EVERY = 10.0, 0.5, 5.0
"""Seconds between two saves, two looks into the inbox, two reports of the same alarm."""


class View(Protocol):
    """Somebody who looks on."""

    def event(self, session: Session, event: Event, alarm: Alarm, line: str) -> None:
        """Something happened to an alarm; `line` is what is written about it."""

    def look(self, session: Session) -> None:
        """Some rows have been taken in, or some time has passed."""


class LineFile:
    """A file of JSON lines that is added to.

    Parameters
    ----------
    path
        The file.
    keep
        Bytes of it to go on after, or as many as there are; None to begin anew.
    """

    def __init__(self, path: Path, keep: int | None = None) -> None:
        self.path = path
        if keep is not None and path.is_file():
            cut_back(path, keep)
        self._file = path.open("wb" if keep is None else "ab", buffering=0)

    def add(self, line: str) -> None:
        """One more line, at once."""
        self._file.write(line.encode("utf-8", "backslashreplace") + b"\n")

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._file.tell() if self._file.seekable() else 0

    def close(self) -> None:
        """No more."""
        self._file.close()


class Session:
    """A monitor at work.

    Parameters
    ----------
    monitor
        What judges the rows.
    feed
        Where they come from.
    name
        What people call the source.
    views
        Who looks on.
    alarms
        File of alarm events.
    scores
        File of scores.
    reports
        Folder for one report per alarm.
    folder, saved
        The state folder, locked by the caller, and what was saved in it.
    history
        Bytes of the history to go on after; None to begin anew.
    now
        The time in seconds, for pauses between saves.
    """

    def __init__(
        self,
        monitor: Monitor,
        feed: Feed,
        name: str,
        *,
        views: tuple[View, ...] = (),
        alarms: LineFile | None = None,
        scores: ScoreFile | None = None,
        reports: Path | None = None,
        folder: StateFolder | None = None,
        saved: SavedState | None = None,
        history: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.monitor = monitor
        self.feed = feed
        self.name = name
        self.counts = Counts(monitor, feed)
        self.last: Tick | None = None
        self.stop = False
        self.views = views
        self._alarms = alarms
        self._scores = scores
        self._reports = reports
        self._folder = folder
        self._history: LineFile | None = None
        if folder is not None:
            self._history = LineFile(folder.history, history)
        # Until there is a tick, what people do happens at the last one of the earlier run.
        self._time = int(saved.monitor["time"] or 0) if saved is not None else 0
        self._stuck: set[Path] = set()  # what lies in the inbox and cannot be taken away
        self._now = now
        self.started = self._saved_at = self._looked_at = now()
        self._open: dict[str, tuple[Alarm, float]] = {}  # alarms to report on, and when it was done
        self._whole = True  # whether every row taken has been told to everybody
        self._known = False  # whether the columns of the source are known
        self._warned = False

    def run(self) -> bool:
        """Watch until the source ends or `stop` is set; gives whether it ended."""
        ended = True
        if self._folder is not None:
            self._save(self._folder)  # from now on there is something for others to look at
        try:
            for batch in self.feed.batches():
                if not self._known and self.feed.clock is not None:
                    self.monitor.use_clock(self.feed.clock)
                self._take(batch)
                if self.stop:
                    ended = False
                    break
            if ended and self._folder is None:
                # With a state the source may be gone on with later, and the open tick with it.
                self._told(self.monitor.flush())
        finally:
            self._close()
        return ended

    @property
    def seconds(self) -> float:
        """For how long it has been running."""
        return self._now() - self.started

    def _take(self, batch: Batch) -> None:
        self._whole = False
        update = self.monitor.update_ns
        for row, when in zip(batch.values, batch.times.tolist(), strict=True):
            tick = update(row, when)
            if tick.complete:
                self._told(tick)
        for values, time_ in batch.named:
            tick = self.monitor.update(values, time_)
            if tick.complete:
                self._told(tick)
        self._whole = True
        rows = len(batch.values) + len(batch.named)
        self.counts.rows += rows
        if rows and not self._known:
            self._known = True
            self._say_what_is_missing()
        now = self._now()
        if self._folder is not None and now - self._looked_at >= LOOK_EVERY:
            self._looked_at = now
            self._read_inbox(self._folder)
        if self._scores is not None:
            self._scores.flush()
        if self._folder is not None and now - self._saved_at >= SAVE_EVERY:
            self._save(self._folder)
        for view in self.views:
            view.look(self)

    def _told(self, tick: Tick) -> None:
        for one in tick.all:
            if not one.complete:
                continue
            self.last = one
            if one.time is not None:
                self._time = one.time
            self.counts.tick(one)
            if self._scores is not None:
                self._scores.add(one, self.monitor.clock)
            if one.events:
                for event, alarm in one.events:
                    self._event(event, alarm)

    def _event(self, event: Event, alarm: Alarm) -> None:
        """Let everybody know."""
        said = alarm.to_dict(event, self.monitor.clock)
        line = json.dumps(said, ensure_ascii=False, allow_nan=False)
        for file in (self._history, self._alarms):
            if file is not None:
                file.add(line)
        self.counts.event(event, alarm)
        for view in self.views:
            view.event(self, event, alarm, line)
        if self._reports is not None:
            self._report_on(event, alarm)

    def _report_on(self, event: Event, alarm: Alarm) -> None:
        """Write a report when an alarm begins and ends, and now and then in between."""
        earlier, written = self._open.pop(alarm.id, (None, -REPORT_EVERY))
        alarm, now = with_beginning(alarm, earlier), self._now()
        if event in ("raised", "cleared") or now - written >= REPORT_EVERY:
            self._report(alarm)
            written = now
        if alarm.on:
            self._open[alarm.id] = (alarm, written)

    def _report(self, alarm: Alarm) -> None:
        assert self._reports is not None
        try:
            write_report(alarm, self._reports / f"{alarm.id}.html", self.monitor.model)
        except CausewatchError as error:
            if not self._warned:  # watching is worth more than a report
                complain(str(error))
            self._warned = True

    def _say_what_is_missing(self) -> None:
        missing, columns = self.feed.missing, self.monitor.columns
        if missing:
            are = "is" if len(missing) == 1 else "are"
            complain(
                f"{len(missing)} of the {len(columns)} signals {are} not in {self.name}:"
                f" {listing(missing)}; reported as missing, the others are watched."
            )

    def _read_inbox(self, folder: StateFolder) -> None:
        """Do what people have asked for."""
        for path in folder.posted():
            if path in self._stuck:
                continue
            answer: dict[str, Any]
            try:
                if not path.is_file():  # nor is anything waited for that never comes
                    raise OSError
                action = json.loads(path.read_bytes())
                events = act(self.monitor.alarms, action, self._time)
                answer = {"events": events.to_dicts(self.monitor.clock)}
            except CausewatchError as error:
                answer = {"error": str(error)}
            except (*WRONG_PARTS, OSError):
                answer = {"error": "What was asked for is not an action in JSON; ask again."}
            else:
                for event, alarm in events:
                    self._event(event, alarm)
                self._save(folder)
            with suppress(OSError):
                path.with_suffix(".answer").write_text(json.dumps(answer), encoding="utf-8")
            self._take_away(path)

    def _take_away(self, path: Path) -> None:
        """Remove what lay in the inbox, or set it aside, or at least never look at it again."""
        try:
            path.unlink(missing_ok=True)
        except OSError:  # a folder, for example
            try:
                path.rename(path.with_suffix(".refused"))
            except OSError:
                self._stuck.add(path)

    def _save(self, folder: StateFolder) -> None:
        self._saved_at = self._now()
        outputs = {}
        if self._alarms is not None:
            outputs[str(self._alarms.path.absolute())] = self._alarms.size
        if self._scores is not None:
            outputs[str(self._scores.path.absolute())] = self._scores.flush()
        assert self._history is not None
        folder.save(
            SavedState(
                monitor=self.monitor.snapshot(),
                clock=self.monitor.clock,
                settings=asdict(self.monitor.settings),
                source=self.feed.position(),
                history=self._history.size,
                outputs=outputs,
            )
        )

    def _close(self) -> None:
        self.feed.close()
        for alarm, _ in self._open.values():
            self._report(alarm)
        if self._folder is not None and self._history is not None:
            if self._whole:  # else what was saved before is what a later run goes on from
                self._read_inbox(self._folder)
                self._save(self._folder)
            self._history.close()
        if self._scores is not None:
            self._scores.close()
        if self._alarms is not None:
            self._alarms.close()
