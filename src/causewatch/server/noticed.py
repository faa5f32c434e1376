"""`Noticed`: the least that a model would notice about each signal.

It takes a second for some dozen signals and much longer for hundreds, so it is worked out once, in
a process of its own, when somebody asks for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from causewatch.errors import StreamError

__all__ = ["Noticed"]

COMMAND = (sys.executable, "-P", "-m", "causewatch", "inspect", "--json")
SECONDS = 300.0
"""How long it may take."""
FIELDS = ("signal", "within_s", "bias", "drift_per_s", "mechanism_share")


class Noticed:
    """Asks `causewatch inspect`. Safe to use from several threads.

    Parameters
    ----------
    model
        File of the model.
    """

    def __init__(self, model: Path) -> None:
        self._model = model.absolute()
        self._lock = threading.Lock()
        self._found: list[dict[str, Any]] | None = None

    def find(self) -> list[dict[str, Any]]:
        """One entry for each signal; none for models of the published method."""
        with self._lock:
            if self._found is None:
                self._found = self._ask()
            return self._found

    def _ask(self) -> list[dict[str, Any]]:
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
                    with suppress(OSError):  # the watch comes first, if that can be had
                        os.setpriority(os.PRIO_PROCESS, process.pid, 10)
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
