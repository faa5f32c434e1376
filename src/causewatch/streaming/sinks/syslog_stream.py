"""Sending over TCP or TLS so that one knows whether it was read, without an answer.

We close our side when all is sent. A receiver reads to that end and then closes its own side: that
is the receipt. A receiver that closes before it has read everything, such as a load balancer with
nothing behind it, looks much the same to a program, but not to the system.
"""

from __future__ import annotations

import errno
import socket
import ssl
import struct
import sys
import time
from contextlib import suppress

from causewatch.streaming.deadline import left_until

__all__ = ["send_and_see"]

ESTABLISHED, CLOSE, CLOSE_WAIT = 1, 7, 8
"""States of a connection in Linux."""
UNACKNOWLEDGED = 24
"""Where, in what Linux tells about a connection, the number of packets on the way stands."""
PAUSE = 0.002
"""Seconds between two looks."""


def send_and_see(
    place: tuple[str, int],
    data: bytes,
    context: ssl.SSLContext | None,
    timeout: float,
    confirm: bool = True,
) -> None:
    """Send `data` to host and port, over TLS with a `context`; raises `OSError` unless it was read.

    Without `confirm` it is enough that it was sent, and no trouble was heard of within `timeout`.
    """
    end = time.monotonic() + timeout
    with socket.create_connection(place, timeout=timeout) as plain:
        connection = plain
        if context is not None:
            connection = context.wrap_socket(
                plain, server_hostname=place[0], suppress_ragged_eofs=False
            )
        with connection:
            connection.settimeout(left_until(end))
            connection.sendall(data)
            try:
                if isinstance(connection, ssl.SSLSocket):
                    _see_closed_tls(connection, end)
                else:
                    _see_closed(connection, end)
            except TimeoutError:
                if confirm:
                    raise


def _see_closed(connection: socket.socket, end: float) -> None:
    connection.shutdown(socket.SHUT_WR)
    _read_to_end(connection, end)
    # The end of a connection that was closed too early is followed by a reset, for data that came
    # to a closed door. A proper end is over at once.
    while _state(connection)[0] not in (None, CLOSE):
        _pause(end)
    trouble = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if trouble:
        raise _too_early()


def _see_closed_tls(connection: ssl.SSLSocket, end: float) -> None:
    connection.setblocking(False)
    try:
        with suppress(ssl.SSLWantReadError):  # it has said goodbye, and would wait for the answer
            connection.unwrap()
        # The word of a receiver that does not take our certificate comes only now, as an error.
        _read_to_end(connection, end)
    except ssl.SSLError as error:
        # Many hang up without the goodbye of TLS, which OpenSSL tells in several ways.
        ended = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
        if not ended and error.reason != "UNEXPECTED_EOF_WHILE_READING":
            raise
    # And so does it tell a reset. The system knows better.
    while True:
        state, waiting = _state(connection)
        if state not in (None, ESTABLISHED, CLOSE_WAIT):
            raise _too_early()
        if not waiting:
            return
        _pause(end)


def _read_to_end(connection: socket.socket, end: float) -> None:
    while True:
        connection.settimeout(left_until(end))
        if not connection.recv(4096):
            return


def _state(connection: socket.socket) -> tuple[int | None, int]:
    """State of the connection, and packets that the other side has not acknowledged.

    Without a state where the system does not tell.
    """
    if sys.platform != "linux":
        return None, 0
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, UNACKNOWLEDGED + 4)
    return told[0], struct.unpack_from("=I", told, UNACKNOWLEDGED)[0]


def _pause(end: float) -> None:
    time.sleep(min(PAUSE, left_until(end)))


def _too_early() -> ConnectionResetError:
    return ConnectionResetError(errno.ECONNRESET, "it closed the connection too early")
