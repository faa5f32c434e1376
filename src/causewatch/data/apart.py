"""Parquet files and spreadsheets, read in a process of their own.

Their readers are compiled code: a damaged or forged file can make them panic, abort, loop or ask
for more memory than there is. In a process of its own (`causewatch.data.apart_child`), which may
use only so much, that costs nothing but the file.

One process serves all files, each request complete in itself, and ends when it has had nothing to
do for a while. A process that ends over a file may have been ended from outside, and one that does
nothing for `PATIENCE` may have been stopped: it is killed, and the file tried in a fresh one, once.
"""

from __future__ import annotations

import atexit
import io
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import polars as pl

from causewatch.data.raw import file_name
from causewatch.errors import shorten

__all__ = [
    "NotReadableError",
    "ReadingProcess",
    "ReadingStoppedError",
    "book_cells",
    "parquet_rows",
    "parquet_shape",
    "stops_when",
]

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("apart_child.py")))
MOST_BYTES = 2 << 30
"""Bytes of an answer; more are not taken into the memory of this process."""
PATIENCE = 10.0
"""Seconds in which the process has to work or to send something."""
LOOK = 0.1
"""Seconds between two looks if an answer is still wanted."""
DYING = 1.0
"""Seconds that a process which was killed may need to be gone."""
PIECE = 1 << 20
"""Bytes of an answer taken at once."""
TOO_LONG = -signal.SIGXCPU if hasattr(signal, "SIGXCPU") else None
"""How the process ends that has used all the processor time that a request may take."""
BROKEN_OFF = "it is damaged, needs too much memory, or its reader was ended from outside"


class NotReadableError(Exception):
    """A file cannot be read; the message says why, in a few words."""


class ReadingStoppedError(KeyboardInterrupt):
    """Nobody wants the answer any more (`stops_when`)."""


_unwanted: ContextVar[Callable[[], bool]] = ContextVar("unwanted", default=lambda: False)


@contextmanager
def stops_when(unwanted: Callable[[], bool]) -> Iterator[None]:
    """Have what waits for a file here raise `ReadingStoppedError` as soon as `unwanted` says so."""
    before = _unwanted.set(unwanted)
    try:
        yield
    finally:
        _unwanted.reset(before)


class _StuckError(Exception):
    """The process does nothing."""


class _Exchange(threading.Thread):
    """One request and its answer, with what has to wait for a process in a thread of its own.

    Attributes
    ----------
    moved
        When something came last, on the clock of `time.monotonic`.
    """

    def __init__(self, process: subprocess.Popen[bytes], line: bytes) -> None:
        super().__init__(name="reading apart", daemon=True)
        self._process, self._line = process, line
        self._answer = b""
        self._error: Exception | None = None
        self.moved = time.monotonic()

    def run(self) -> None:
        try:
            self._answer = self._exchange()
        except (OSError, ValueError, EOFError, NotReadableError) as error:
            self._error = error

    def _exchange(self) -> bytes:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(self._line)
        process.stdin.flush()
        reply = b"\n"
        while reply == b"\n":  # a sign of life
            reply = process.stdout.readline()
            self.moved = time.monotonic()
        if not reply.endswith(b"\n"):
            raise EOFError
        answer = json.loads(reply)
        if "reason" in answer:
            raise NotReadableError(shorten(answer["reason"], 120))
        size = answer["bytes"]
        if size > MOST_BYTES:
            process.kill()
            msg = f"it would fill {size:,} bytes of memory"
            raise NotReadableError(msg)
        pieces = []
        while size:
            piece = process.stdout.read(min(size, PIECE))
            if not piece:
                raise EOFError
            self.moved = time.monotonic()
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def answer(self, patience: float) -> bytes:
        """What came; raises `_StuckError` once nothing has come for so many seconds."""
        self.start()
        while self.is_alive():
            self.join(LOOK)
            if _unwanted.get()():
                raise ReadingStoppedError
            if self.is_alive() and time.monotonic() - self.moved > patience:
                raise _StuckError
        if self._error is not None:
            raise self._error
        return self._answer


class ReadingProcess:
    """Asks a process that it starts when there is something to ask.

    Parameters
    ----------
    patience
        Seconds in which it has to work or to send something.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, path: Path, what: str, **about: Any) -> bytes:
        """What the process answers; raises `NotReadableError` if it cannot, or ends."""
        order = {"path": os.path.abspath(path), "do": what, **about}
        line = json.dumps(order).encode() + b"\n"
        with self._turn():
            try:
                return self._try(path, line)
            except NotReadableError:
                raise
            except BaseException:
                self._end()  # half an answer may still be on its way
                raise

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait until nobody else asks."""
        while not self._lock.acquire(timeout=LOOK):
            if _unwanted.get()():
                raise ReadingStoppedError
        try:
            yield
        finally:
            self._lock.release()

    def _try(self, path: Path, line: bytes, again: bool = True) -> bytes:
        """The answer; tries `again` in a fresh process where this one ends or does nothing."""
        try:
            return _Exchange(self._process or self._start(), line).answer(self._patience)
        except _StuckError as error:
            self._end()
            why = f"does nothing for {self._patience:g} s"
            if not again:
                msg = f"its reader {why}, twice"
                raise NotReadableError(msg) from error
            text = "The process that reads %s %s; it was ended, and another one tries."
            log.warning(text, file_name(path), why)
        except (EOFError, OSError, ValueError) as error:
            code = self._end()
            if not again or code == TOO_LONG:
                msg = f"reading it breaks off: {BROKEN_OFF}"
                raise NotReadableError(msg) from error
        return self._try(path, line, again=False)

    def close(self) -> None:
        """End the process without waiting for an answer; the next question starts another."""
        self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for this process, which then ends that one
        )
        return self._process

    def _end(self) -> int | None:
        """End the process; gives how it ended, if it has."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        try:
            code = process.wait(DYING)
        except subprocess.TimeoutExpired:  # it hangs in the system, and so does who reads from it
            return None
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        return code


_process = ReadingProcess()
atexit.register(_process.close)


def _forget() -> None:
    """Leave the process to the parent of a process that was forked."""
    global _process
    if _process._process is not None:
        _process._process.returncode = 0  # it is none of ours to wait for
    _process = ReadingProcess()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def parquet_shape(path: Path) -> tuple[list[str], int]:
    """Column names and number of rows of a Parquet file."""
    names, rows = json.loads(_process.ask(path, "parquet_shape"))
    return names, rows


def parquet_rows(path: Path, columns: Sequence[int], start: int, count: int) -> pl.DataFrame:
    """Some rows of some columns of a Parquet file."""
    about = {"columns": list(columns), "start": start, "count": count}
    return _frame(_process.ask(path, "parquet_rows", **about))


def book_cells(path: Path, size: int, skip: int = 0, text: int | None = None) -> pl.DataFrame:
    """The first sheet of a spreadsheet without its first `skip` rows; `text` rows of it as text.

    Reading may use so much memory, and give so many cells, as a book of `size` bytes can need.
    """
    return _frame(_process.ask(path, "book_cells", size=size, skip=skip, text=text))


def _frame(data: bytes) -> pl.DataFrame:
    return pl.read_ipc(io.BytesIO(data))
