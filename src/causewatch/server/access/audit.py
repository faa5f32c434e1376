"""The audit log: who asked for what, and what came of it.

Each action leaves two lines: ``asked`` before it is begun, and ``done``, ``refused: …`` or
``failed: …`` after it. A line ``asked`` alone is an action during which the process ended. What
cannot be noted is not begun.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from starlette.exceptions import HTTPException

from causewatch.errors import CausewatchError, StreamError
from causewatch.server.access.tokens import Visitor

__all__ = ["Audit"]

MOST_KEPT = 1000
"""Entries kept in memory where there is no file."""
MOST_ASKED = 10_000
"""Entries given at once."""
LONGEST = {"who": 100, "role": 20, "from": 100, "action": 50, "about": 300, "text": 4000}
"""Characters; what is longer is cut off."""
LONGEST_OUTCOME = 500
MOST_LINE = 1 << 16
"""Bytes; a line cannot be longer, and one that is was not written here."""
PATIENCE = 5.0
"""Seconds for which others may keep the file locked; whoever acts waits for so long."""
BLOCK = 1 << 16
MOST_READ = 1 << 26
"""Bytes that are looked through from the end of a file."""
FIELDS = ("time", *LONGEST, "outcome")

log = logging.getLogger(__name__)


class Audit:
    """Notes what operators do. It may be used from several threads.

    Parameters
    ----------
    path
        A file that lines of JSON are added to; made, for its owner only, if it is not there. Moving
        it away starts a new one. None keeps the last 1,000 entries in memory, and logs each.
    wall
        The time of day, in seconds since 1970.
    """

    def __init__(self, path: Path | None, wall: Callable[[], float] = time.time) -> None:
        self._path, self._wall = path, wall
        self._kept: deque[dict[str, str | None]] = deque(maxlen=MOST_KEPT)
        self._lock = threading.Lock()
        if path is not None:
            self._add(b"")  # so that a place of no use is known at once

    def note(
        self,
        visitor: Visitor,
        address: str,
        action: str,
        about: str,
        text: str,
        outcome: str,
    ) -> None:
        """Note something; it is on disk when this returns, else `StreamError` is raised.

        Parameters
        ----------
        visitor, address
            Who, and from where.
        action, about, text
            What, about which alarm or replay, and what was said with it.
        outcome
            ``asked``, ``done``, ``refused: …`` or ``failed: …``.
        """
        now = datetime.fromtimestamp(self._wall(), UTC).replace(tzinfo=None)
        said = (visitor.name, visitor.role, address, action, about, text)
        entry: dict[str, str | None] = {"time": f"{now.isoformat(timespec='milliseconds')}Z"}
        for (name, most), value in zip(LONGEST.items(), said, strict=True):
            entry[name] = None if value is None else _cut(value, most)
        entry["outcome"] = _cut(outcome, LONGEST_OUTCOME)
        line = _line(entry)
        if self._path is not None:
            self._add(line.encode() + b"\n")
            return
        with self._lock:
            self._kept.append(entry)
            log.info("%s", line)

    @contextmanager
    def around(
        self, visitor: Visitor, address: str, action: str, about: str, text: str = ""
    ) -> Iterator[None]:
        """Note that an action is asked for, and afterwards what came of it.

        If the first cannot be noted, `StreamError` is raised and nothing should be done. If the
        second cannot, the action has happened all the same: the log says so, and nobody is told
        that it had not.
        """
        self.note(visitor, address, action, about, text, "asked")
        outcome = "failed: interrupted"
        try:
            yield
            outcome = "done"
        except CausewatchError as error:
            outcome = f"refused: {error}"
            raise
        except HTTPException as error:
            outcome = f"unknown: {error.detail}"
            raise
        except Exception as error:
            # Its kind only: the words of an error that nobody foresaw may hold anything.
            outcome = f"failed: {type(error).__name__}"
            raise
        finally:
            try:
                self.note(visitor, address, action, about, text, outcome)
            except StreamError as error:
                log.error("An action is over (%s), but: %s", outcome.partition(":")[0], error)

    def latest(self, most: int) -> list[dict[str, str | None]]:
        """The last `most` entries, latest first."""
        most = max(0, min(most, MOST_ASKED))
        if self._path is None:
            with self._lock:
                return list(reversed(self._kept))[:most]
        found: list[dict[str, str | None]] = []
        try:
            with self._path.open("rb") as file:
                lines = _from_the_end(file.fileno())
                # The next block is only read when there is need of it.
                while len(found) < most and (line := next(lines, None)) is not None:
                    if (entry := _entry(line)) is not None:
                        found.append(entry)
        except FileNotFoundError:  # moved away, and nothing was done since
            pass
        except OSError as error:
            msg = f"The audit log {str(self._path)!r} cannot be read: {_reason(error)}."
            raise StreamError(msg) from error
        return found

    def _add(self, data: bytes) -> None:
        """See `data` at the end of the file and on disk, or leave the file as it was."""
        assert self._path is not None
        until = time.monotonic() + PATIENCE
        try:
            with self._turn(until):
                # Opened anew each time: actions are rare, and the file may have been moved away.
                flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
                file = os.open(self._path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
                try:
                    _append(file, data, until)
                finally:
                    os.close(file)
        except OSError as error:
            msg = (
                f"The audit log {str(self._path)!r} cannot be written: {_reason(error)}; what"
                " cannot be noted is not done."
            )
            raise StreamError(msg) from error

    @contextmanager
    def _turn(self, until: float) -> Iterator[None]:
        """Be the only thread that writes. All that wait for a locked file give up together."""
        if not self._lock.acquire(timeout=max(0.0, until - time.monotonic())):
            raise OSError(None, f"others have been noting something for {PATIENCE:g} s")
        try:
            yield
        finally:
            self._lock.release()


def _append(file: int, data: bytes, until: float) -> None:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise OSError(None, "it is no file")
    _lock(file, until)
    size = os.fstat(file).st_size
    if data and size:
        os.lseek(file, size - 1, os.SEEK_SET)
        if os.read(file, 1) != b"\n":  # somebody was killed while writing
            data = b"\n" + data
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    except OSError:
        with suppress(OSError):
            os.ftruncate(file, size)
        raise


def _lock(file: int, until: float) -> None:
    """Keep others away, who must not lose a line to what is taken back; raises if they stay."""
    try:
        import fcntl
    except ImportError:  # not a system of the Unix family
        return
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                why = f"another program has kept it locked for {PATIENCE:g} s"
                raise OSError(None, why) from None
            time.sleep(0.02)
        except OSError:  # a file system without locks
            return


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _line(entry: dict[str, str | None]) -> str:
    """One line of JSON, in which nothing can move a cursor, end a line or turn text around."""
    text = json.dumps(entry, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _entry(line: bytes) -> dict[str, str | None] | None:
    """What a line says; None if it is none of ours."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or any(
        not isinstance(found.get(name, 0), str | None) for name in FIELDS
    ):
        return None
    return {name: found[name] for name in FIELDS}


def _from_the_end(file: int) -> Iterator[bytes]:
    """The lines of a file, last first, of which little more than one is held at a time."""
    place = os.lseek(file, 0, os.SEEK_END)
    until = max(0, place - MOST_READ)
    rest = b""  # the end of a line whose beginning has not been read yet
    whole = True  # whether `rest` is all of that end
    while place > until:
        begin = max(until, place - BLOCK)
        os.lseek(file, begin, os.SEEK_SET)
        block = os.read(file, place - begin)
        if len(block) != place - begin:  # shortened meanwhile
            return
        place = begin
        first, *lines = (block + rest).split(b"\n")
        for line in reversed(lines):
            if whole:
                yield line
            whole = True
        rest = first
        if len(rest) > MOST_LINE:
            rest, whole = b"", False
    if whole and place == 0:
        yield rest
