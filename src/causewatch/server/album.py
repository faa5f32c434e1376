"""`Album`: the ticks around every alarm, kept with the alarm so that it can be explained later."""

from __future__ import annotations

import io
import json
import logging
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import CausewatchError
from causewatch.explain.described import with_beginning
from causewatch.model import NormalModel
from causewatch.monitor import Alarm
from causewatch.monitor.alarms import Event
from causewatch.monitor.course import FIELDS, Course
from causewatch.streaming.store.attachments import LARGEST
from causewatch.streaming.store.base import Store

__all__ = ["Album", "from_bytes", "to_bytes"]

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two times that an alarm which goes on is written down."""
MOST = 64
"""Alarms held in memory at most: those that are on, and those not yet written."""
UNPACKED = 1 << 30
"""Bytes that an alarm with its ticks may have once it is read back."""


class Album:
    """Remembers alarms with their ticks. The watch adds, others look; nobody waits for a disk.

    Parameters
    ----------
    store
        Where they are kept.
    model
        What the alarms are explained by.
    now
        The time in seconds.
    """

    def __init__(
        self, store: Store, model: NormalModel, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._model = model
        self._mark = model.fingerprint
        self._columns = model.watched
        self._now = now
        self._lock = threading.Lock()
        self._alarms: dict[str, Alarm] = {}  # the one that changed last comes last
        self._due: dict[str, float] = {}  # when to write what has changed
        self._warned = False

    def add(self, event: Event, alarm: Alarm) -> None:
        """Something happened to an alarm; called by the watch."""
        if alarm.course is None or not len(alarm.course):
            return
        now = self._now()
        with self._lock:
            self._alarms[alarm.id] = with_beginning(alarm, self._alarms.pop(alarm.id, None))
            if event in ("raised", "cleared"):
                self._due[alarm.id] = now
            else:
                self._due.setdefault(alarm.id, now + EVERY)
            while len(self._alarms) > MOST:
                self._let_go()

    def write(self, everything: bool = False) -> None:
        """Write down what is due; called now and then by whoever may wait."""
        now = self._now()
        with self._lock:
            due = [id for id, when in self._due.items() if everything or when <= now]
            alarms = [self._alarms[id] for id in due]
            for id in due:
                del self._due[id]
        for alarm in alarms:
            if not self._written(alarm):
                with self._lock:  # unless it has been let go meanwhile
                    if alarm.id in self._alarms:
                        self._due.setdefault(alarm.id, self._now() + EVERY)
        with self._lock:
            for id in [id for id, one in self._alarms.items() if not one.on]:
                if id not in self._due:
                    del self._alarms[id]

    def find(self, id: str) -> Alarm | None:
        """An alarm with its ticks; None if they are not kept.

        It has the model as well, unless it was raised by another one, which cannot explain it.
        """
        with self._lock:
            alarm = self._alarms.get(id)
        if alarm is not None:
            return replace(alarm, model=self._model)
        content = self._store.attached(id)
        found = None if content is None else from_bytes(content, self._columns)
        if found is None:
            return None
        alarm, mark = found
        return replace(alarm, model=self._model) if mark == self._mark else alarm

    def _let_go(self) -> None:
        """Forget one alarm: the oldest that can be read back, else the oldest of all."""
        oldest = next((id for id in self._alarms if id not in self._due), next(iter(self._alarms)))
        del self._alarms[oldest]
        self._due.pop(oldest, None)

    def _written(self, alarm: Alarm) -> bool:
        """Write an alarm down; gives whether nothing is left to do."""
        try:
            content = to_bytes(self._with_beginning(alarm), self._mark)
            if len(content) <= LARGEST:
                self._store.attach(alarm.id, content)
            self._warned = False
        except CausewatchError as error:
            return not self._is_kept(alarm.id) or self._warn(str(error))
        except Exception:  # a picture less, and no reason to stop writing others
            log.exception("The ticks around alarm %s cannot be kept.", alarm.id)
        return True

    def _is_kept(self, id: str) -> bool:
        """Whether the store knows the alarm; one that was forgotten needs no ticks."""
        try:
            return self._store.alarm(id) is not None
        except CausewatchError:
            return True

    def _warn(self, text: str) -> bool:
        if not self._warned:
            log.warning("%s The ticks around alarms are written later.", text)
        self._warned = True
        return False

    def _with_beginning(self, alarm: Alarm) -> Alarm:
        """An alarm that was opened again, or let go and added again, with how it began."""
        assert alarm.course is not None
        if alarm.course.time[0] <= alarm.onset:
            return alarm
        content = self._store.attached(alarm.id)
        before = None if content is None else from_bytes(content, self._columns)
        whole = with_beginning(alarm, before[0] if before else None)
        with self._lock:
            if self._alarms.get(alarm.id) is alarm:
                self._alarms[alarm.id] = whole
        return whole


def to_bytes(alarm: Alarm, mark: str) -> bytes:
    """An alarm and its ticks; `mark` stands for the model that raised it."""
    course = alarm.course
    assert course is not None
    about = {"alarm": alarm.to_state(), "signals": course.signals, "model": mark}
    head = json.dumps(about, allow_nan=False).encode()
    file = io.BytesIO()
    np.savez_compressed(file, about=np.frombuffer(head, dtype=np.uint8), **course.to_state())
    return file.getvalue()


def from_bytes(content: bytes, columns: tuple[str, ...]) -> tuple[Alarm, str] | None:
    """What `to_bytes` was given; None if it is damaged, or of a model with other signals."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            if sum(one.file_size for one in file.infolist()) > UNPACKED:
                return None
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        about = json.loads(parts.pop("about").tobytes())
        if tuple(about["signals"]) != columns:
            return None
        course = Course.from_state(columns, parts)
        _check(course)
        return replace(Alarm.from_state(about["alarm"]), course=course), str(about["model"])
    except Exception:  # there are many ways for bytes to be damaged
        return None


def _check(course: Course) -> None:
    """Raise if parts of a course do not fit together."""
    count = len(course)
    arrays: list[tuple[NDArray[np.generic], tuple[int, ...], type]] = [
        (course.time, (count,), np.int64),
        (course.score, (count,), np.float64),
        *((getattr(course, name), (count, len(course.signals)), np.float64) for name in FIELDS),
    ]
    if not count or any(one.shape != shape or one.dtype != kind for one, shape, kind in arrays):
        raise ValueError
