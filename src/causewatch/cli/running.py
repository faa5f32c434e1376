"""What commands share that run a watch until it ends or is told to: words, signals, pace."""

from __future__ import annotations

import gc
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from causewatch.cli.output import complain

if TYPE_CHECKING:
    from causewatch.streaming.runner import Watch

__all__ = ["signals", "undisturbed", "warnings"]

GARBAGE = 20_000
"""Things that are made before Python looks for garbage."""


def undisturbed() -> None:
    """See to it that rows are not held up by the interpreter itself."""
    # What is there now stays. Looking through it for garbage, as Python does now and then, would
    # hold up the rows for a tenth of a second.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)
    sys.setswitchinterval(0.0005)


class _Complaints(logging.Handler):
    """Warnings of a running watch as sentences on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


@contextmanager
def warnings() -> Iterator[None]:
    """Let people read what goes wrong meanwhile; with --verbose they see it, and more, anyway."""
    logger = logging.getLogger("causewatch")
    if logger.handlers:
        yield
        return
    # Of connections it is also worth knowing that they are back.
    connections = logging.getLogger("causewatch.streaming")
    handler, before = _Complaints(logging.INFO), connections.level
    logger.addHandler(handler)
    connections.setLevel(logging.INFO)
    try:
        yield
    finally:
        connections.setLevel(before)
        logger.removeHandler(handler)


@contextmanager
def signals(watch: Watch) -> Iterator[None]:
    """Let Ctrl-C and a request to end stop the watch between two batches; a second one at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if watch.stop:
            raise KeyboardInterrupt
        watch.stop = True

    before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
