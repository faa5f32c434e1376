"""Real receivers of syslog on loopback: datagrams, and connections with or without TLS."""

from __future__ import annotations

import re
import socket
import ssl
import struct
import threading
from pathlib import Path
from typing import Self

from causewatch.testing.waiting import PATIENCE

from .ports import free_port

HEADER = re.compile(
    r"<(?P<priority>\d{1,3})>1 (?P<time>\S+) (?P<host>[!-~]{1,255}) (?P<app>[!-~]{1,48})"
    r" (?P<process>[!-~]{1,128}) (?P<kind>[!-~]{1,32}) (?P<data>-|(?:\[[^\]]*\])+) (?P<text>.*)",
    re.DOTALL,
)
"""A message of RFC 5424."""


def parse(message: bytes) -> dict[str, str]:
    """The fields of a message; fails for what is none."""
    found = HEADER.fullmatch(message.decode())
    assert found is not None, message
    return found.groupdict()


class DatagramServer:
    """Over UDP, or at a path of this machine. May be stopped and started again."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.port = free_port()
        self.messages: list[bytes] = []
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        if self._path is None:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.bind(("127.0.0.1", self.port))
            self.port = self._socket.getsockname()[1]
        else:
            self._path.unlink(missing_ok=True)
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.bind(str(self._path))
        self._socket.settimeout(0.02)
        self._thread = threading.Thread(target=self._receive, args=(self._socket,), daemon=True)
        self._thread.start()

    def _receive(self, from_: socket.socket) -> None:
        while self._socket is not None:
            try:
                self.messages.append(from_.recv(1 << 17))
            except TimeoutError:
                continue
        from_.close()

    def stop(self) -> None:
        self._socket = None
        if self._thread is not None:
            self._thread.join()
            self._thread = None


class StreamServer:
    """Over TCP or TLS, with the length before each message. May be stopped and started again.

    Attributes
    ----------
    messages
        What has come whole.
    manner
        How it behaves: ``proper``; ``rude`` hangs up without the goodbye of TLS, ``early`` closes
        before it has read anything, ``reset`` breaks the connection off, ``deaf`` reads nothing and
        keeps the connection, ``open`` reads everything and keeps its side open.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self.port = free_port()
        self.manner = "proper"
        self.messages: list[bytes] = []
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._ending.clear()
        self._socket = socket.create_server(("127.0.0.1", self.port))
        self._socket.settimeout(0.02)
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, args=(self._socket,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _accept(self, listener: socket.socket) -> None:
        with listener:
            while not self._ending.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                with connection:
                    try:
                        connection.settimeout(PATIENCE)
                        self._serve(connection)
                    except (OSError, ValueError):
                        pass  # clients that go away are part of the tests

    def _serve(self, connection: socket.socket) -> None:
        if self._context is not None:
            connection = self._context.wrap_socket(connection, server_side=True)
        with connection:
            if self.manner == "early":
                return
            if self.manner == "reset":
                once = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, once)
                return
            if self.manner == "deaf":
                self._ending.wait(PATIENCE)
                return
            data = b""
            while more := connection.recv(1000):
                data += more
            self.messages += _messages(data)
            if self.manner == "open":
                self._ending.wait(PATIENCE)
            if self.manner == "proper" and isinstance(connection, ssl.SSLSocket):
                connection.unwrap()


def _messages(data: bytes) -> list[bytes]:
    """As RFC 6587 says: a length, a blank, and so many bytes."""
    found = []
    while data:
        length, _, rest = data.partition(b" ")
        size = int(length)
        assert len(rest) >= size, "a message is not whole"
        found.append(rest[:size])
        data = rest[size:]
    return found
