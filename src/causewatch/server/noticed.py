"""`Noticed`: the least that a model would notice about each signal.

It takes a second for some dozen signals and much longer for hundreds, so it is worked out once, in
a process of its own, when somebody asks for it; others who ask meanwhile wait for the same answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from causewatch.errors import StreamError

__all__ = ["Noticed"]

COMMAND = (sys.executable, "-P", "-m", "causewatch", "inspect", "--json")
SECONDS = 300.0
"""How long it may take."""
NICE = 10
"""How far it gives way to other programs: the watch comes first."""
AGAIN = 10.0
"""Seconds for which a failure stands; whoever asks later has it tried again."""
FIELDS = ("signal", "within_s", "bias", "drift_per_s", "mechanism_share")

Found = list[dict[str, Any]]


class Noticed:
    """Asks `causewatch inspect`. Safe to use from several threads.

    Parameters
    ----------
    model
        File of the model.
    now
        The time in seconds, any that never goes back.
    """

    def __init__(self, model: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._model = model.absolute()
        self._now = now
        self._lock = threading.Lock()
        self._found: Future[Found] | None = None
        self._failed_at = 0.0

    def find(self) -> Future[Found]:
        """One entry for each signal, some time; none for models of the published method."""
        with self._lock:
            found = self._found
            if found is None or (found.done() and found.exception() and self._over()):
                found = self._found = Future()
                found.set_running_or_notify_cancel()  # nobody who leaves ends it for the others
                threading.Thread(
                    target=self._work, args=(found,), name="noticed", daemon=True
                ).start()
            return found

    def _over(self) -> bool:
        return self._now() >= self._failed_at + AGAIN

    def _work(self, found: Future[Found]) -> None:
        try:
            found.set_result(self._ask())
        except StreamError as error:
            self._failed_at = self._now()
            found.set_exception(error)

    def _ask(self) -> Found:
        try:
            process = subprocess.Popen(
                [*COMMAND, "--", str(self._model)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
            with process:
                if hasattr(os, "setpriority"):
                    with suppress(OSError):
                        os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
                try:
                    said, _ = process.communicate(timeout=SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
            found = json.loads(said)["detectability"]
            return [{name: one[name] for name in FIELDS} for one in found]
        except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
            msg = "What would be noticed cannot be worked out now; try again later."
            raise StreamError(msg) from error
