"""What a process holds, to see whether something has let go of all it took."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Held"]

OPEN = Path("/proc/self/fd")
"""Where Linux lists open files and sockets; elsewhere only threads are counted."""


@dataclass(frozen=True)
class Held:
    """How many files, sockets and threads this process has."""

    files: int
    threads: int

    @classmethod
    def now(cls) -> Held:
        """Count them."""
        files = len(os.listdir(OPEN)) if OPEN.is_dir() else 0
        return cls(files, threading.active_count())

    def more_than(self, before: Held) -> bool:
        """Whether there are more of one kind than there were."""
        return self.files > before.files or self.threads > before.threads
