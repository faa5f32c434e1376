"""Sockets that read ahead.

paho reads a message in four pieces, some of one byte. Each is a call into the system, for which a
thread gives up the interpreter and may have to wait long until the watch lets go of it again. With
these sockets there is one call for many messages.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Sequence

__all__ = ["BufferedSocket", "BufferedTlsSocket", "ready"]

AHEAD = 1 << 16
"""Bytes asked for at once."""


class _Buffer:
    """Bytes that were read ahead."""

    def __init__(self) -> None:
        self._data = b""
        self._at = 0

    def __len__(self) -> int:
        return len(self._data) - self._at

    def fill(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        self._at += len(found)
        return found


class BufferedSocket(socket.socket):
    """A plain socket, made of another one, which is no longer of use then."""

    def __init__(self, plain: socket.socket) -> None:
        timeout = plain.gettimeout()
        super().__init__(fileno=plain.detach())
        self.settimeout(timeout)
        self._ahead = _Buffer()

    def recv(self, size: int, flags: int = 0) -> bytes:
        """See `socket.socket`."""
        if not self._ahead:
            self._ahead.fill(super().recv(max(size, AHEAD), flags))
        return self._ahead.take(size)

    def pending(self) -> int:
        """Bytes that can be read though nothing may come."""
        return len(self._ahead)


class BufferedTlsSocket(ssl.SSLSocket):
    """The same with TLS; for `ssl.SSLContext.sslsocket_class`."""

    _ahead: _Buffer | None = None  # such sockets are made without __init__

    def do_handshake(self, block: bool = False) -> None:
        """See `ssl.SSLSocket`. Closes if there is no understanding, where paho would not."""
        try:
            super().do_handshake(block)
        except OSError:
            self.close()
            raise

    def recv(self, size: int = 1024, flags: int = 0) -> bytes:
        """See `ssl.SSLSocket`."""
        if self._ahead is None:
            self._ahead = _Buffer()
        if not self._ahead:
            self._ahead.fill(super().recv(max(size, AHEAD), flags))
        return self._ahead.take(size)

    def pending(self) -> int:
        """See `ssl.SSLSocket`."""
        return super().pending() + len(self._ahead or b"")


def ready(
    readers: Sequence[socket.socket], writers: Sequence[socket.socket], wait: float
) -> tuple[list[socket.socket], list[socket.socket]]:
    """Which of them can be read, and which written to, after `wait` seconds at most."""
    if not hasattr(select, "poll"):
        readable, writable, _ = select.select(readers, writers, [], wait)
        return readable, writable
    # Unlike `select.select` this knows sockets of any number, where many files are open.
    asked: dict[int, int] = {}
    for kind, sockets in ((select.POLLIN, readers), (select.POLLOUT, writers)):
        for one in sockets:
            asked[one.fileno()] = asked.get(one.fileno(), 0) | kind
    poller = select.poll()
    for number, kinds in asked.items():
        poller.register(number, kinds)
    found = dict(poller.poll(wait * 1000.0))
    over = select.POLLHUP | select.POLLERR  # which reading or writing will tell
    return (
        [one for one in readers if found.get(one.fileno(), 0) & (select.POLLIN | over)],
        [one for one in writers if found.get(one.fileno(), 0) & (select.POLLOUT | over)],
    )
