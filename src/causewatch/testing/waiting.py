"""Waiting for something that should come soon."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["PATIENCE", "until"]

PATIENCE = 120.0
"""Seconds to wait for what should take far less: only what hangs is a failure, not what is slow."""


def until(found: Callable[[], bool], patience: float = PATIENCE) -> bool:
    """Wait until something is the case; False if it is not within `patience` seconds."""
    end = time.monotonic() + patience
    while not found():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
