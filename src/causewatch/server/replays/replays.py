"""`Replays`: what would have happened to a recording, with other settings.

A recording is replayed in a process of its own (`causewatch.server.replays.child`), one at a time,
so that neither a long nor a malicious file can disturb the watch. The result stays as the bytes
that the process wrote: to make something of megabytes of JSON would hold up the watch as well.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from causewatch.data import format_time
from causewatch.data.table import NANOSECONDS
from causewatch.errors import SettingError, StreamError, UnknownNameError, shorten
from causewatch.server.replays.private_folder import private_folder
from causewatch.server.replays.process import ReplayProcess
from causewatch.server.replays.settings import ReplaySettings
from causewatch.streaming.source import Reading
from causewatch.streaming.tags import TagMap

__all__ = ["ENDINGS", "Replay", "ReplaySettings", "Replays"]

log = logging.getLogger(__name__)

State = Literal["waiting", "running", "done", "failed", "stopped"]

ENDINGS = (
    *(".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".gz", ".parquet", ".pq"),
    *(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".bag", ".mcap", ".db3"),
)
"""How names of recordings may end. Nothing else of a name is ever used as one."""
WAITING = 3
"""Replays that may wait for their turn."""
SECONDS = 3600.0
"""How long one may take."""
MEMORY = 2 << 30
"""Bytes that its process may use."""
LONGEST_NAME = 120
COMING = "coming-"
"""How files are called that are still being sent."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay as it stands.

    Attributes
    ----------
    id
        By which it is asked for.
    name
        What whoever sent the recording calls it.
    state, progress
        How far it is; `progress` is a share from 0 to 1, None where it cannot be told.
    error
        What went wrong, in one sentence.
    settings
        What was otherwise than in the watch.
    begun
        When it was asked for, in ISO 8601.
    result
        JSON, once it is done: see `causewatch.server.replays.child`.
    """

    id: str
    name: str
    state: State
    progress: float | None
    error: str | None
    settings: ReplaySettings
    begun: str
    result: bytes | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the result."""
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "progress": self.progress,
            "error": self.error,
            "settings": self.settings.to_dict(),
            "begun": self.begun,
        }

    def to_json(self) -> bytes:
        """As JSON, with the result, which is not looked into."""
        head = json.dumps(self.to_dict(), allow_nan=False).encode()
        return head[:-1] + b', "result": ' + (self.result or b"null") + b"}"


@dataclass(eq=False)
class _Job:
    """A replay while things happen to it."""

    id: str
    name: str
    path: Path
    settings: ReplaySettings
    begun: str
    state: State = "waiting"
    progress: float | None = None
    error: str | None = None
    result: bytes | None = None
    process: ReplayProcess | None = None

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "running")

    def shown(self) -> Replay:
        return Replay(
            self.id, self.name, self.state, self.progress, self.error, self.settings, self.begun,
            self.result,
        )  # fmt: skip


class Replays:
    """Replays recordings, one after the other. Safe to use from several threads.

    Parameters
    ----------
    model
        File of the model. It is copied, so that all replays use the one of now.
    folder
        Where to make a folder for recordings; None for the usual place of temporary files.
    most
        Replays that are remembered once they are over, the latest.
    waiting
        Replays that may wait for their turn.
    seconds, memory
        How long one may take, and how many bytes its process may use.
    reading, tags
        What is known of the rows of this plant, as for the watch.
    wall
        The time in seconds since 1970.
    """

    def __init__(
        self,
        model: Path,
        folder: Path | None = None,
        *,
        most: int = 5,
        waiting: int = WAITING,
        seconds: float = SECONDS,
        memory: int = MEMORY,
        reading: Reading | None = None,
        tags: TagMap | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._most, self._most_waiting = most, waiting
        self._seconds, self._memory = seconds, memory
        self._reading, self._tags = reading or Reading(), tags or TagMap()
        self._wall = wall
        self._change = threading.Condition()  # guards all that follows
        self._jobs: dict[str, _Job] = {}
        self._waiting: deque[_Job] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False
        try:
            with ExitStack() as stack:
                self._folder = stack.enter_context(private_folder("causewatch-replays-", folder))
                self._model = self._folder / "model.cwm"
                shutil.copyfile(model, self._model)
                self._held = stack.pop_all()
        except OSError as error:
            msg = (
                f"There is no place for replays ({error.strerror or error}); see to it that"
                " temporary files can be written and the model be read."
            )
            raise SettingError(msg) from error

    def check(self, name: str) -> None:
        """Raise if a recording of this name would not be taken now; ask before it is sent.

        Raises
        ------
        SettingError
            If it is not of a kind that can be replayed.
        StreamError
            If too many wait already.
        """
        _ending(name)
        with self._change:
            self._look_for_room()

    def new_file(self) -> Path:
        """A new, empty file for a recording that is about to come, to be given to `begin`.

        Whoever does not get that far removes it. Raises `StreamError` if too many are being sent
        already: together they could fill the disk.
        """
        with self._change:
            if self._closed:
                raise _no_more()
            coming = sum(1 for _ in self._folder.glob(f"{COMING}*"))
            if coming > self._most_waiting:
                msg = f"{coming} recordings are being sent already; try again when they are here."
                raise StreamError(msg)
            handle, path = tempfile.mkstemp(prefix=COMING, dir=self._folder)
            os.close(handle)
            return Path(path)

    def begin(self, name: str, path: Path, settings: ReplaySettings) -> Replay:
        """Have a recording replayed as soon as it is its turn.

        Parameters
        ----------
        name
            What whoever sent it calls it; only its ending is looked at.
        path
            Where it is. It is taken away from there, also if this raises, as `check` does.
        settings
            What is to be otherwise than in the watch.
        """
        try:
            ending, id = _ending(name), secrets.token_hex(8)
            begun = format_time(int(self._wall()) * NANOSECONDS, "utc")
            with self._change:
                self._look_for_room()
                place = self._folder / f"{id}{ending}"
                shutil.move(path, place)
                job = _Job(id, _shown(name), place, settings, begun)
                self._jobs[id] = job
                self._waiting.append(job)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="replays", daemon=True)
                    self._thread.start()
                self._change.notify_all()
                return job.shown()
        except OSError as error:
            msg = f"The recording cannot be kept: {error.strerror or error}; make room on the disk."
            raise StreamError(msg) from error
        finally:
            path.unlink(missing_ok=True)

    def get(self, id: str) -> Replay:
        """A replay with its result; raises `UnknownNameError` if it is not known any more."""
        with self._change:
            return self._find(id).shown()

    def list(self) -> list[Replay]:
        """All of them, the latest first."""
        with self._change:
            return [job.shown() for job in reversed(self._jobs.values())]

    def stop(self, id: str) -> Replay:
        """End one that waits or runs; one that is over stays as it is."""
        with self._change:
            job = self._find(id)
            self._stop(job)
            return job.shown()

    def remove(self, id: str) -> None:
        """End one, and forget it with its recording and result."""
        with self._change:
            job = self._find(id)
            self._stop(job)
            del self._jobs[id]

    def close(self) -> None:
        """End and forget all of them; safe to call twice."""
        with self._change:
            self._closed = True
            for job in list(self._jobs.values()):
                self._stop(job)
            self._change.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()
        self._held.close()

    # All of these are called with the lock held

    def _find(self, id: str) -> _Job:
        if id not in self._jobs:
            raise UnknownNameError(id, "replay", self._jobs)
        return self._jobs[id]

    def _look_for_room(self) -> None:
        if self._closed:
            raise _no_more()
        if len(self._waiting) >= self._most_waiting:
            msg = (
                f"{self._most_waiting} recordings wait to be replayed already; try again when one"
                " of them is done, or stop one."
            )
            raise StreamError(msg)

    def _stop(self, job: _Job) -> None:
        if job.over:
            return
        if job.state == "waiting":
            self._waiting.remove(job)
            job.path.unlink(missing_ok=True)
        job.state, job.progress = "stopped", None
        if job.process is not None:
            job.process.kill()
        self._forget_old()

    def _forget_old(self) -> None:
        over = [id for id, job in self._jobs.items() if job.over]
        for id in over[: max(0, len(over) - self._most)]:
            del self._jobs[id]

    # The thread

    def _work(self) -> None:
        while True:
            with self._change:
                while not self._waiting and not self._closed:
                    self._change.wait()
                if self._closed:
                    return
                job = self._waiting.popleft()
                job.state = "running"
            result = error = None
            try:
                result = self._run(job)
            except StreamError as trouble:
                error = str(trouble)
            except Exception:
                # Whatever it is, it must not keep later ones from their turn.
                log.exception("Unexpected trouble with the replay of %s", job.name)
                error = f"The replay of {job.name} failed, and should not have; see the log."
            with suppress(OSError):  # then it goes with the folder
                job.path.unlink(missing_ok=True)
            with self._change:
                if not job.over:  # else it was stopped
                    job.state = "failed" if result is None else "done"
                    job.progress = None if result is None else 1.0
                    job.result, job.error = result, error
                self._forget_old()

    def _run(self, job: _Job) -> bytes:
        """The result of a replay; raises `StreamError` if there is none, or it was stopped."""
        process = self._process(job)
        with self._change:
            job.process = process
            if job.over:  # stopped before there was a process to end
                process.kill()
        return process.run(partial(self._say, job))

    def _say(self, job: _Job, share: float) -> None:
        with self._change:
            if not job.over:
                job.progress = share

    def _process(self, job: _Job) -> ReplayProcess:
        order = {
            "model": str(self._model),
            "file": str(job.path),
            "name": job.name,
            "settings": job.settings.to_dict(),
            "reading": asdict(self._reading),
            "tags": [asdict(tag) for tag in self._tags],
            "memory": self._memory,
        }
        return ReplayProcess(order, self._folder, self._seconds)


def _ending(name: str) -> str:
    """The ending of a name; raises `SettingError` if it is none of the `ENDINGS`."""
    ending = "." + name.rpartition(".")[2].lower()
    if "." not in name or ending not in ENDINGS:
        msg = (
            f"{shorten(_shown(name))!r} is not of a kind that can be replayed; its name must end"
            f" in one of {', '.join(ENDINGS)}."
        )
        raise SettingError(msg)
    return ending


def _shown(name: str) -> str:
    """A name from outside as text that can be shown and sent anywhere."""
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
    return shorten(text.encode("utf-8", "replace").decode(), LONGEST_NAME) or "a recording"


def _no_more() -> StreamError:
    return StreamError("No more recordings are replayed; the server is ending.")
