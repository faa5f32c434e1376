"""Reading from a connection until a moment, and no longer.

The time limit of a socket counts anew with each byte that comes. Somebody who sends one byte now
and then could hold a connection for ever; here the limit is one for everything.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable
from typing import Any

__all__ = ["DeadlineReader", "left_until"]


def left_until(end: float, now: Callable[[], float] = time.monotonic) -> float:
    """Seconds until `end`; raises `TimeoutError` if there are none left."""
    left = end - now()
    if left <= 0:
        msg = "timed out"
        raise TimeoutError(msg)
    return left


class DeadlineReader(io.RawIOBase):
    """What comes over a socket until `end`, and at most `most` bytes of it.

    Parameters
    ----------
    connection
        The socket; closing the reader leaves it open.
    end
        On the clock of `time.monotonic`. Whoever reads later gets a `TimeoutError`.
    most
        Bytes after which the stream seems to have ended.
    """

    def __init__(self, connection: socket.socket, end: float, most: int) -> None:
        self._connection = connection
        self._end = end
        self._left = most
        self._buffered: io.BufferedReader | None = None

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """See `io.RawIOBase`."""
        view = memoryview(buffer)[: self._left]
        if not view:
            return 0
        self._connection.settimeout(left_until(self._end))
        count = self._connection.recv_into(view)
        self._left -= count
        return count

    def makefile(self, mode: str) -> io.BufferedReader:
        """What `http.client.HTTPResponse` asks a socket for; the same each time.

        So what one response leaves over is there for the next one.
        """
        assert mode == "rb"
        if self._buffered is None:
            self._buffered = io.BufferedReader(self)
        return self._buffered
