"""Parquet files and spreadsheets, read in a process of their own.

Their readers are compiled code: a damaged or forged file can make them panic, abort, loop or ask
for more memory than there is. In a process of its own (`causewatch.data.apart_child`), which may
use only so much, that costs nothing but the file.

One process serves all files, each request complete in itself, and ends when it has had nothing to
do for a while. What ends a process that has read other files before is tried in a fresh one.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from causewatch.errors import shorten

__all__ = ["NotReadableError", "ReadingProcess", "book_cells", "parquet_rows", "parquet_shape"]

COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("apart_child.py")))
MOST_BYTES = 2 << 30
"""Bytes of an answer; more are not taken into the memory of this process."""


class NotReadableError(Exception):
    """A file cannot be read; the message says why, in a few words."""


class ReadingProcess:
    """Asks a process that it starts when there is something to ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, path: Path, what: str, **about: Any) -> bytes:
        """What the process answers; raises `NotReadableError` if it cannot, or ends."""
        order = {"path": os.path.abspath(path), "do": what, **about}
        line = json.dumps(order).encode() + b"\n"
        with self._lock:
            try:
                while True:
                    fresh = self._process is None
                    try:
                        return self._exchange(self._process or self._start(), line)
                    except (EOFError, BrokenPipeError) as error:
                        self._end()
                        if fresh:
                            msg = (
                                "reading it breaks off: it is damaged, needs too much memory, or"
                                " its reader was ended from outside"
                            )
                            raise NotReadableError(msg) from error
            except NotReadableError:
                raise
            except BaseException:
                self._end()  # half an answer may still be on its way
                raise

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

    def _exchange(self, process: subprocess.Popen[bytes], line: bytes) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        reply = process.stdout.readline()
        if not reply.endswith(b"\n"):
            raise EOFError
        answer = json.loads(reply)
        if "reason" in answer:
            raise NotReadableError(shorten(answer["reason"], 120))
        size = answer["bytes"]
        if size > MOST_BYTES:
            self._end()
            msg = f"it would fill {size:,} bytes of memory"
            raise NotReadableError(msg)
        data = process.stdout.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError):
                process.communicate()  # closes the pipes, and waits


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
