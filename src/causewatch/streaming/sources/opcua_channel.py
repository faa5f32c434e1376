"""The side of the OPC UA source that talks to the server: one session after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from causewatch.errors import listing, shorten
from causewatch.extras import needed
from causewatch.streaming.address import Address
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.inbox import Inbox
from causewatch.streaming.opcua_security import ignore_loop_errors, quiet, secure
from causewatch.streaming.sources.opcua_nodes import browse, resolve, root_of
from causewatch.streaming.sources.opcua_subscription import SESSION, LinkError, Subscription
from causewatch.streaming.sources.opcua_values import Began, Ended, Message, Pace
from causewatch.streaming.tags import Tag

__all__ = ["Channel"]

log = logging.getLogger(__name__)

BRIEF = 0.01
"""Seconds between two looks whether the watch has caught up."""


class Channel:
    """Keeps a session with a server and hands over what it publishes.

    Parameters
    ----------
    address
        Of the server.
    options
        Of the source: who one is, where to look for nodes.
    tags
        What is wanted.
    mapped
        Whether `tags` are those of a tag map, not just names to look for.
    pace
        How often.
    inbox
        Where messages go.
    most
        Values that may wait there. Beyond that the server is not asked for more, so they wait in
        its own queues, and it says so when these overflow.
    backoff
        Pauses between tries.

    Attributes
    ----------
    status
        How it stands, in a few words.
    missing
        Signals that the server does not have; None before the first session.
    taken
        Values handed over so far.
    given
        Values that the watch has taken; only that side changes it.
    reconnects
        Sessions made after the first.
    unknown
        Tags that were not there, counted for each session.
    """

    def __init__(
        self,
        address: Address,
        options: Any,
        tags: Sequence[Tag],
        mapped: bool,
        pace: Pace,
        inbox: Inbox[Began | Ended | Message],
        most: int,
        backoff: Backoff,
    ) -> None:
        self._address = address
        self._options = options
        self._tags = list(tags)
        self._mapped = mapped
        self._pace = pace
        self._inbox = inbox
        self._most = most
        self._backoff = backoff
        self._task: asyncio.Task[Any] | None = None
        self.status = "connecting"
        self.missing: tuple[str, ...] | None = None
        self.taken = 0
        self.given = 0
        self.sessions = 0
        self.unknown = 0

    @property
    def reconnects(self) -> int:
        """Sessions made after the first."""
        return max(0, self.sessions - 1)

    async def run(self) -> None:
        """Keep up a session until `stop`."""
        quiet()
        self._task = asyncio.current_task()
        ignore_loop_errors(asyncio.get_running_loop(), lambda text: log.debug("%s", text))
        told = False
        while True:
            before, reason = self.sessions, "the session ended"
            try:
                await self._session()
            except Exception as error:  # whatever it is, another session is the only remedy
                reason = _reason(error)
            self.status = f"trying again: {reason}"
            if self.sessions > before:
                await self._put(Ended())
                told = False
            if not told:
                log.warning("%s: %s; trying again.", self._address.name, reason)
                told = True
            await asyncio.sleep(self._backoff.next())

    async def stop(self) -> None:
        """Say goodbye to the server, and end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=4.0)

    async def _session(self) -> None:
        """One session, from beginning to its end, which is always an error."""
        asyncua: Any = needed("asyncua", "opcua")
        client = asyncua.Client(
            _url(self._address),
            timeout=self._pace.timeout,
            watchdog_intervall=self._pace.timeout,
        )
        client.name = client.description = "causewatch"
        client.session_timeout = SESSION
        lost = asyncio.Event()

        async def on_loss(_: Exception) -> None:
            lost.set()

        client.connection_lost_callback = on_loss
        try:
            await secure(client, self._options)
            await client.connect()
            await Subscription(self, client).follow(lost)
        finally:
            with suppress(Exception):
                await asyncio.wait_for(client.disconnect(), 2.0)
            with suppress(Exception):
                client.disconnect_socket()  # also after a disconnection that took too long

    # What a subscription needs of its channel: see `Owner`.

    @property
    def pace(self) -> Pace:
        """How often."""
        return self._pace

    @property
    def tags(self) -> Sequence[Tag]:
        """What is wanted."""
        return self._tags

    async def nodes(self, client: Any, tags: Sequence[Tag]) -> list[tuple[Tag, Any]]:
        """The nodes of those tags that the server has."""
        namespaces = list(await client.get_namespace_array())
        root = await root_of(client, self._options.root, namespaces)
        if root is None:
            msg = f"the server has no node {shorten(self._options.root)!r}"
            raise LinkError(msg)
        if self._mapped:
            found = await resolve(client, tags, root, namespaces)
        else:
            limit = (self._options.depth, self._options.most_nodes)
            found = await browse(client, root, [tag.tag for tag in tags], limit)
        return [(tag, found[tag.tag]) for tag in tags if tag.tag in found]

    def connected(self, missing: Sequence[Tag], first: bool) -> None:
        """It works; some tags may be missing."""
        self.missing = tuple(tag.signal for tag in missing)
        everything = len(self._tags)
        self.status = "connected"
        if missing:
            self.status += f"; {len(missing)} of {everything} tags are not there"
        if not first:
            return
        self._backoff.reset()
        self.sessions += 1
        self.unknown += len(missing)
        if self.sessions > 1:
            log.info("%s: connected again.", self._address.name)
        if missing:
            names = listing([tag.tag for tag in missing], 6)
            log.warning("%s does not have the tags %s.", self._address.name, names)

    async def hand_over(self, message: Message, first: bool) -> None:
        """Give a message to the watch, waiting while it has enough to do."""
        if first:
            await self._put(Began())
        while self.taken - self.given >= self._most:
            self._inbox.hold_up()
            await asyncio.sleep(BRIEF)
        self.taken += len(message.values)
        await self._put(message)

    async def _put(self, item: Began | Ended | Message) -> None:
        """Wait in a way that lets the session live; nobody else puts anything in."""
        while not self._inbox.room():
            await asyncio.sleep(BRIEF)
        self._inbox.put(item)


def _url(address: Address) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"opc.tcp://{host}:{address.port or 4840}/{address.path}"


def _reason(error: BaseException) -> str:
    """What went wrong, in a few words."""
    if isinstance(error, TimeoutError):
        return "the server does not answer"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return shorten(str(error) or type(error).__name__, 100).rstrip(".")
