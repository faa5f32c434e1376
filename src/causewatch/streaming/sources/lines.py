"""Whole lines out of text that comes in pieces, and standard input as such text."""

from __future__ import annotations

import io
import os
import sys
import threading
from typing import IO, Protocol

import numpy as np

from causewatch.errors import SettingError
from causewatch.streaming.inbox import Inbox

__all__ = ["BLOCK", "Incoming", "Lines", "StdinText"]

BLOCK = 1 << 18
"""Bytes read at once."""
PIECES = 16
"""Blocks of standard input that wait to be taken."""
MOST_LINES = 4096
"""Lines given out at once."""
LONGEST_LINE = 4 << 20
"""A line longer than this is thrown away, up to its end; each as much again counts as one more."""
NEWLINE = 10


class Incoming(Protocol):
    """Text in pieces of any size; `endless` if it waits for more where it ends.

    `files` counts the files begun: the text starts anew when it changes.
    """

    @property
    def endless(self) -> bool:
        """Whether it waits for more where it ends."""

    @property
    def files(self) -> int:
        """Files begun so far."""

    def read(self, wait: float = 0.0) -> bytes | None:
        """The next piece; None if none comes within `wait` seconds, empty at the end."""

    def close(self) -> None:
        """No more is wanted."""


class StdinText:
    """Standard input, read by a thread so that the watch can do other things while it waits."""

    endless = True
    files = 1

    def __init__(self) -> None:
        self._pieces: Inbox[bytes] = Inbox(PIECES)
        self._ended = False
        if sys.stdin is None:  # a program that was started without one
            msg = "There is no standard input to read from; name another source."
            raise SettingError(msg)
        stream = sys.stdin.buffer
        threading.Thread(
            target=self._run, args=(stream,), name="standard input", daemon=True
        ).start()

    def _run(self, stream: IO[bytes]) -> None:
        try:
            number = stream.fileno()
        except (OSError, io.UnsupportedOperation):  # not a real file, as in tests
            self._pieces.put(stream.read())
            self._pieces.put(b"")
            return
        data = b"begin"
        while data:
            try:
                data = os.read(number, BLOCK)
            except OSError:
                data = b""
            if not self._pieces.put(data):
                return

    def read(self, wait: float = 0.0) -> bytes | None:
        """See `Incoming`; what has piled up comes in one piece."""
        if self._ended:
            return b""
        found = self._pieces.take(wait, most=PIECES // 2)
        if found and not found[-1]:
            self._ended = True
        return b"".join(found) if found else None

    def close(self) -> None:
        """See `Incoming`; the thread ends with the next piece, or with the program."""
        self._ended = True
        self._pieces.close()


class Lines:
    """Cuts text into whole lines.

    Attributes
    ----------
    taken
        Bytes of text given out or thrown away: the next line begins there.
    too_long
        Lines thrown away because they never seemed to end.
    cut
        Lines without an end, thrown away because another file took the place of theirs.
    unfinished
        Whether the text ended in a line without an end.
    files
        Files begun: when one takes the place of another, `taken` counts anew.
    idle
        Whether the last look found no text at all.
    ended
        Whether there is no more.
    """

    def __init__(self, text: Incoming, taken: int = 0) -> None:
        self._text = text
        self._rest: list[bytes] = []
        self._waiting = 0  # bytes in it
        self._ready = b""  # whole lines that are not given out yet
        self._skipping = False  # inside a line that is too long
        self._skipped = 0  # bytes of it since it was counted
        self.files = text.files
        self.taken = taken
        self.too_long = self.cut = 0
        self.unfinished = self.idle = self.ended = False

    @property
    def endless(self) -> bool:
        """Whether it waits for more where the text ends."""
        return self._text.endless

    def read(self, wait: float = 0.0) -> bytes:
        """The lines that have come in, each with its end; empty if there are none at present."""
        if not self._ready:
            self._ready = self._more(wait)
        lines, self._ready = _cut(self._ready)
        self.taken += len(lines)
        if self.ended and self.unfinished:
            self.taken -= not self._ready  # the end of the last line was added here
        return lines

    def _more(self, wait: float) -> bytes:
        data = self._text.read(wait)
        self.idle = data is None
        if self._text.files != self.files:
            self.files = self._text.files
            self.cut += bool(b"".join(self._rest).strip())
            self._rest, self._waiting, self._skipping = [], 0, False
            self.taken = 0
        if data is None:
            return b""
        if not data:
            return self._finish()
        if self._skipping:
            end = data.find(b"\n") + 1
            size = end or len(data)
            self.taken += size
            self._skipped += size
            if self._skipped > LONGEST_LINE:
                self._skipped = 0
                self.too_long += 1
            if not end:
                return b""
            self._skipping, data = False, data[end:]
        end = data.rfind(b"\n") + 1
        if not end:
            self._rest.append(data)
            self._waiting += len(data)
            if self._waiting > LONGEST_LINE:
                self.taken += self._waiting
                self._rest, self._waiting = [], 0
                self._skipping, self._skipped = True, 0
                self.too_long += 1
            return b""
        lines = b"".join((*self._rest, data[:end]))
        self._rest = [data[end:]] if end < len(data) else []
        self._waiting = len(data) - end
        return lines

    def _finish(self) -> bytes:
        self.ended = True
        left = b"".join(self._rest)
        self._rest, self._waiting = [], 0
        self.unfinished = bool(left.strip())
        if not self.unfinished:
            self.taken += len(left)
            return b""
        return left + b"\n"

    def close(self) -> None:
        """No more is wanted."""
        self._text.close()


def _cut(lines: bytes) -> tuple[bytes, bytes]:
    """The first lines, as many as are given out at once, and the others."""
    if lines.count(b"\n") <= MOST_LINES:
        return lines, b""
    ends = np.flatnonzero(np.frombuffer(lines, dtype=np.uint8) == NEWLINE)
    end = int(ends[MOST_LINES - 1]) + 1
    return lines[:end], lines[end:]
