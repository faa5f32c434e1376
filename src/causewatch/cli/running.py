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

__all__ = ["interruptible", "signals", "undisturbed", "warnings"]

ENDING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
)
"""Signals by which a process is told to end. Only Windows has the last, and not the one before."""
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


def _heeded(number: int) -> bool:
    """Whether a signal means anything to this process: `nohup` has it ignore some."""
    return signal.getsignal(number) is not signal.SIG_IGN


def interruptible() -> None:
    """Let a request to end, or a terminal that is closed, interrupt a command as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for one in ENDING:
        if signal.getsignal(one) is signal.SIG_DFL:
            signal.signal(one, interrupt)


@contextmanager
def signals(watch: Watch) -> Iterator[None]:
    """Let Ctrl-C, a request to end and a closed terminal stop the watch between two batches.

    The second time at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if watch.stop:
            raise KeyboardInterrupt
        watch.stop = True

    before = {one: signal.signal(one, stop) for one in ENDING if _heeded(one)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
