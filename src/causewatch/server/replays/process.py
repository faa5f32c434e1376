"""`ReplayProcess`: the process that replays one recording, seen from outside."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from causewatch.errors import StreamError, shorten

__all__ = ["ReplayProcess"]

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-P", "-m", "causewatch.server.replays.child")
"""With -P nothing in the present folder is taken for a module."""
SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
"""What keeps libraries from using all processors."""
RESULT = b'{"result": '
MOST_LINE = 64 << 20
"""Bytes of a line; a process that says more is not ours any longer."""


class ReplayProcess:
    """Runs once. `kill` may be called at any time, from any thread.

    Parameters
    ----------
    order
        What to do, for `causewatch.server.replays.child`.
    folder
        Where it runs.
    seconds
        How long it may take.
    """

    def __init__(self, order: Mapping[str, Any], folder: Path, seconds: float) -> None:
        self._order = order
        self._folder = folder
        self._seconds = seconds
        self._name = str(order["name"])
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = self._overdue = False

    def kill(self) -> None:
        """End it now, or as soon as it has begun."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def run(self, progress: Callable[[float], None]) -> bytes:
        """Replay; gives the result as JSON.

        Raises
        ------
        StreamError
            If there is none, with the reason in one sentence.
        """
        try:
            with tempfile.TemporaryFile(dir=self._folder) as complaints:
                try:
                    return self._run(complaints, progress)
                except StreamError as error:
                    log.debug("A replay failed: %s (%s)", error, _end_of(complaints))
                    raise
        except OSError as error:
            msg = f"The replay cannot be started: {error.strerror or error}."
            raise StreamError(msg) from error

    def _run(self, complaints: IO[bytes], progress: Callable[[float], None]) -> bytes:
        with subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd=self._folder,
            env=os.environ | dict.fromkeys(SINGLE, "1"),
            start_new_session=True,  # Ctrl-C is for the watch, which then ends this one
            creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
        ) as process:
            with self._lock:
                self._process = process
                if self._killed:
                    process.kill()
            timer = threading.Timer(self._seconds, self._end)
            timer.daemon = True
            timer.start()
            try:
                return self._talk(process, progress)
            finally:
                timer.cancel()
                process.kill()  # it has said all it had to say

    def _end(self) -> None:
        self._overdue = True
        self.kill()

    def _talk(self, process: subprocess.Popen[bytes], progress: Callable[[float], None]) -> bytes:
        """Tell the process what to do, and listen to it."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # then it says nothing either
            process.stdin.write(json.dumps(self._order).encode() + b"\n")
            process.stdin.close()
        try:
            while (line := process.stdout.readline(MOST_LINE)).endswith(b"\n"):
                if line.startswith(RESULT):
                    return line[len(RESULT) : -2]
                said = json.loads(line)
                if "error" in said:
                    raise StreamError(str(said["error"]))
                progress(float(said["progress"]))
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            log.debug("A replay says what it should not: %s", shorten(repr(error)))
        if self._overdue:
            msg = f"{self._name} took longer than {self._seconds:.0f} s; replay a shorter part."
            raise StreamError(msg)
        process.kill()
        msg = (
            f"The replay of {self._name} broke off (exit status {process.wait()}); it may have"
            " needed too much memory: replay a shorter part, or save it as CSV."
        )
        raise StreamError(msg)


def _end_of(file: IO[bytes]) -> str:
    """The last line of what a process complained about."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - 500))
    return shorten(file.read().decode("utf-8", "replace").strip().rpartition("\n")[2], 200)
