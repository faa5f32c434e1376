"""`Door`: takes connections in, so many at a time, and shares them out among addresses.

asyncio would take in whatever comes, and would say nothing of a connection before it has shaken
hands for TLS: enough of them, and the process could open no file any more.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from causewatch.server.access.exchange import Incoming, Receive, Refusal, Response, Scope, Send
from causewatch.server.access.shares import Shares, net_of
from causewatch.server.connection import Connection

__all__ = ["Door"]

log = logging.getLogger(__name__)

HANDS = 10.0
"""Seconds for shaking hands, with TLS."""
MOST_REFUSED = 32
"""Connections beyond all others, which are only told that there is no room."""
RECOVER = 0.5
"""Seconds without taking anybody in, when the system has no room for it."""


class _Guest:
    """A connection from the moment in which it is there."""

    def __init__(self, since: float) -> None:
        self._since = since
        self.connection: Connection | None = None
        self.task: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether hands were shaken."""
        return self.connection is not None and self.connection.transport is not None

    @property
    def idle_since(self) -> float | None:
        if self.connection is None or not self.connected:
            return self._since
        return self.connection.idle_since

    def hang_up(self) -> None:
        if self.connection is not None and self.connected:
            self.connection.hang_up()
        elif self.task is not None:
            self.task.cancel()


class Door:
    """Takes in what comes at a socket, from `open` until `close`; used in the loop.

    Parameters
    ----------
    listening
        The socket.
    make
        Makes what answers a connection.
    secure
        For TLS.
    most
        Connections at a time. Some more are told that there is no room, in a sentence; all others
        are closed.
    """

    def __init__(
        self,
        listening: socket.socket,
        make: Callable[[], Connection],
        secure: ssl.SSLContext | None,
        most: int,
    ) -> None:
        self._socket, self._make, self._secure = listening, make, secure
        self._shares: Shares[_Guest] = Shares(most, lambda guest: guest.idle_since)
        self._refused: set[_Guest] = set()
        self._work: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin."""
        self._socket.setblocking(False)
        self._work = asyncio.get_running_loop().create_task(self._take_in())

    async def close(self) -> None:
        """Take nobody in any longer; those who are in stay."""
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work

    async def _take_in(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                made, address = await loop.sock_accept(self._socket)
            except OSError as error:
                log.warning("A connection could not be taken in: %s.", error.strerror or error)
                await asyncio.sleep(RECOVER)
                continue
            try:
                self._let_in(made, net_of(str(address[0])))
            except Exception:  # whatever is wrong with one must not keep all others out
                log.exception("A connection could not be let in.")
                made.close()

    def _let_in(self, made: socket.socket, net: str) -> None:
        loop = asyncio.get_running_loop()
        guest = _Guest(loop.time())
        refusal = None
        if self._shares.full:
            gone = self._shares.giver(net)
            if gone is not None:
                self._shares.discard(gone)
                gone.hang_up()
            elif len(self._refused) >= MOST_REFUSED:
                made.close()
                return
            else:
                refusal = self._no_room(net)
        if refusal is None:
            self._shares.add(net, guest)
        else:
            self._refused.add(guest)
        guest.task = loop.create_task(self._stay(guest, made, refusal))

    async def _stay(self, guest: _Guest, made: socket.socket, refusal: Refusal | None) -> None:
        """Connect a guest, who has a place until the connection is lost."""
        loop = asyncio.get_running_loop()
        patience = None if self._secure is None else HANDS

        def connection() -> Connection:
            # Kept here, since with TLS some loops give back a protocol of their own; and requests
            # may come before they do.
            found = guest.connection = self._make()
            found.lost = partial(self._leave, guest)
            if refusal is not None:
                found.answer_with(partial(_refuse, refusal))
            return found

        try:
            # Answers are written whole; to wait for more would only make them late.
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.connect_accepted_socket(
                connection, made, ssl=self._secure, ssl_handshake_timeout=patience
            )
        except (OSError, asyncio.CancelledError):
            pass  # it did not shake hands, or had to go
        finally:
            guest.task = None
            if not guest.connected:
                self._leave(guest)
                made.close()

    def _leave(self, guest: _Guest) -> None:
        self._shares.discard(guest)
        self._refused.discard(guest)

    def _no_room(self, net: str) -> Refusal:
        said = (
            f"All {self._shares.most} connections are taken, {self._shares.held(net)} of them from"
            " your address; close some, or try again later."
        )
        return Refusal(503, said, ((b"retry-after", b"10"),))


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """An application that refuses everything."""
    incoming = Incoming(scope, receive)
    closing = Refusal(
        refusal.status, refusal.sentence, (*refusal.headers, (b"connection", b"close"))
    )
    await Response(scope, incoming, send).refuse(closing)
