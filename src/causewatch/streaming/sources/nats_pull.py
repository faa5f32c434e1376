"""`Pull`: messages of a JetStream consumer, as many as there is room for and as soon as they come.

The library's own ``fetch`` gathers messages until it has as many as it asked for or its time is up,
which is too late for alarms. So the documented request for the next messages is sent from here: the
server answers with messages one by one, and with a status when the request is over.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from causewatch.streaming.nats_client import Channel, reason_of

__all__ = ["Arrival", "ConsumerLostError", "Pull"]

AT_ONCE = 1024
"""Messages asked for at once."""
EXPIRES = 30.0
"""Seconds until a request without answer is made again."""
HEARTBEAT = 5.0
"""Seconds after which the server says that it is there though there are no messages."""
MOST_BYTES = 16 << 20
"""Bytes asked for at once, beside one message of any size."""
HOLD = 0.005
"""Seconds between two looks whether there is room again."""


class Arrival(NamedTuple):
    """A message of the stream, and the server's own time of it in nanoseconds."""

    sequence: int
    stamp: int
    subject: str
    data: bytes


class ConsumerLostError(ConnectionError):
    """The consumer is gone, or has left messages out: a new one is needed."""


class Pull:
    """Reads from one consumer until something is wrong with it.

    Parameters
    ----------
    channel
        The connection.
    api
        How subjects of the JetStream API begin.
    stream, consumer
        Their names.
    take
        Called with each message.
    room
        How many messages there is room for.
    """

    def __init__(
        self,
        channel: Channel,
        api: str,
        stream: str,
        consumer: str,
        take: Callable[[Arrival], None],
        room: Callable[[], int],
    ) -> None:
        self._channel = channel
        self._next = f"{api}.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._take = take
        self._room = room
        self._delivered = 0  # number of the last message within the consumer
        self._number = 0  # of requests
        self._left = 0  # messages that the request may still bring
        self._latest = 0.0  # when the server was heard last
        self._heard = asyncio.Event()
        self._over = asyncio.Event()
        self._base = self._inbox = ""  # where the server's words about requests go

    async def run(self, paused: Callable[[], Any]) -> None:
        """Read; ends only by an exception. `paused` is awaited after there was no room."""
        client = self._channel.client
        self._base = client.new_inbox()
        # Each request has an address of its own, so that a late word about the one before is known.
        await client.subscribe(f"{self._base}.*", cb=self._message)
        while True:
            room = await self._wait_for_room(paused)
            self._number += 1
            self._inbox = f"{self._base}.{self._number}"
            self._left = min(room, AT_ONCE)
            self._over.clear()
            request = {
                "batch": self._left,
                "max_bytes": MOST_BYTES + 2 * client.max_payload,
                "expires": int(EXPIRES * 1e9),
                "idle_heartbeat": int(HEARTBEAT * 1e9),
            }
            self._latest = time.monotonic()
            await client.publish(self._next, json.dumps(request).encode(), self._inbox)
            while not self._over.is_set():
                self._heard.clear()
                try:
                    await self._channel.or_broken(self._heard.wait(), 3 * HEARTBEAT)
                except TimeoutError:
                    # Only the end of a request and words about it wake us up, not each message.
                    if time.monotonic() - self._latest >= 3 * HEARTBEAT:
                        self._channel.fail("the server has fallen silent")

    async def _wait_for_room(self, paused: Callable[[], Any]) -> int:
        room = self._room()
        if room > 0:
            return room
        while room <= 0:
            if self._channel.broken.done():
                raise ConnectionError(self._channel.broken.result())
            await asyncio.sleep(HOLD)
            room = self._room()
        await paused()
        return room

    async def _message(self, message: Any) -> None:
        if self._channel.broken.done():
            return  # behind something that was missed
        try:
            self._understand(message)
        except Exception as error:
            self._channel.fail(reason_of(error))
        if self._over.is_set():
            self._heard.set()

    def _understand(self, message: Any) -> None:
        self._latest = time.monotonic()
        if message.subject.startswith(self._base):
            self._status(message)
            return
        # $JS.ACK.<stream>.<consumer>.<tries>.<sequence>.<delivered>.<time>.<pending>, with a domain
        # and an account before the stream on newer servers, and perhaps a random end.
        parts = message.reply.split(".")
        first = 4 if len(parts) == 9 else 6
        sequence, delivered, stamp = (int(part) for part in parts[first + 1 : first + 4])
        if delivered != self._delivered + 1:
            raise ConsumerLostError("messages were lost on the way")  # noqa: EM101
        self._delivered = delivered
        self._take(Arrival(sequence, stamp, message.subject, message.data))
        self._left -= 1
        if self._left <= 0:
            self._over.set()

    def _status(self, message: Any) -> None:
        headers = message.headers or {}
        code, text = headers.get("Status", ""), headers.get("Description", "")
        self._heard.set()
        if code == "100" or message.subject != self._inbox:
            return
        # 404 and 408: no messages for now. 409: asked too much, or the consumer is gone.
        if code in ("404", "408") or (code == "409" and "axBytes" in text):
            self._over.set()
        else:
            raise ConsumerLostError(text or f"status {code}")
