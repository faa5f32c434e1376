"""The values of one session with an OPC UA server."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from causewatch.errors import CausewatchError
from causewatch.extras import needed
from causewatch.streaming.sources.opcua_values import (
    Message,
    Pace,
    Value,
    nanoseconds,
    read_value,
)
from causewatch.streaming.tags import Tag

__all__ = ["AGAIN", "SESSION", "LinkError", "Owner", "Subscription"]

AT_ONCE = 200
"""Nodes subscribed to in one request."""

MISSED = 3
"""So many keep-alives in a row may be missing before a session is given up."""

AGAIN = 60.0
"""Seconds after which tags that the server did not have are looked for again."""

LAST_NUMBER = 0xFFFFFFFF
"""After the message of this number comes one with number 1."""

SESSION = 60_000
"""Milliseconds after which a server may forget a client that says nothing."""


class LinkError(CausewatchError):
    """A session cannot go on; another one is tried."""


class Owner(Protocol):
    """What a subscription needs of the channel that makes it."""

    @property
    def pace(self) -> Pace:
        """How often."""

    @property
    def tags(self) -> Sequence[Tag]:
        """What is wanted."""

    async def nodes(self, client: Any, tags: Sequence[Tag]) -> list[tuple[Tag, Any]]:
        """The nodes of those tags that the server has."""

    def connected(self, missing: Sequence[Tag], first: bool) -> None:
        """It works; some tags may be missing. `first` if it did not work before."""

    async def hand_over(self, message: Message, first: bool) -> None:
        """Give a message to the watch, waiting while it has enough to do."""


class Subscription:
    """See the module.

    Parameters
    ----------
    channel
        Who wants the values.
    client
        An asyncua client that is connected.
    """

    def __init__(self, channel: Owner, client: Any) -> None:
        self._ua: Any = needed("asyncua.ua", "opcua")
        self._channel = channel
        self._client = client
        self._id = 0
        self._items: dict[int, Tag] = {}  # by handle
        self._handle = 0  # the last one given to an item
        self._told: set[int] = set()  # handles of which a first value has come
        self._started = False  # whether a message has come
        self._number = 1  # of the next message
        self._heard = time.monotonic()
        self._busy = False
        self._over: str | None = None

    async def follow(self, lost: asyncio.Event) -> None:
        """Subscribe, and stay until something is wrong, which is raised."""
        tags = self._channel.tags
        found = await self._channel.nodes(self._client, tags)
        silence = await self._begin() if found else 0.0
        missing = await self._add(tags, found)
        if len(missing) == len(tags):
            msg = "the server has none of the tags"
            raise LinkError(msg)
        self._channel.connected(missing, first=True)
        looked = time.monotonic()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(lost.wait(), min(0.25, silence / 4))
                self._over = "the connection was lost"
            now = time.monotonic()
            if not self._busy and now - self._heard > silence:
                self._over = f"the server has been silent for {now - self._heard:.1f} s"
            if self._over is not None:
                raise LinkError(self._over)
            if missing and now - looked > AGAIN:
                missing = await self._add(missing, await self._channel.nodes(self._client, missing))
                self._channel.connected(missing, first=False)
                looked = now

    async def _begin(self) -> float:
        """Make the subscription; gives how many seconds of silence mean that it is dead."""
        pace = self._channel.pace
        asked = self._ua.CreateSubscriptionParameters()
        asked.RequestedPublishingInterval = pace.publishing * 1000.0
        asked.RequestedMaxKeepAliveCount = max(1, round(pace.keep_alive / pace.publishing))
        # The server gives it up when it is not asked for messages for so many intervals.
        asked.RequestedLifetimeCount = max(
            3 * asked.RequestedMaxKeepAliveCount, round(SESSION / 1000.0 / pace.publishing)
        )
        asked.MaxNotificationsPerPublish = 10_000
        asked.PublishingEnabled = True
        got = await self._client.uaclient.create_subscription(asked, self._on_message)
        self._id = got.SubscriptionId
        self._heard = time.monotonic()
        intervals = max(1, int(got.RevisedMaxKeepAliveCount))
        keep_alive = float(got.RevisedPublishingInterval) / 1000.0 * intervals
        return MISSED * keep_alive + 1.0

    async def _add(self, tags: Sequence[Tag], found: Sequence[tuple[Tag, Any]]) -> list[Tag]:
        """Subscribe to these nodes; gives the tags that the server does not have."""
        ua, pace = self._ua, self._channel.pace
        missing = {tag.tag: tag for tag in tags}
        for begin in range(0, len(found), AT_ONCE):
            some = found[begin : begin + AT_ONCE]
            asked = ua.CreateMonitoredItemsParameters()
            asked.SubscriptionId = self._id
            asked.TimestampsToReturn = ua.TimestampsToReturn.Both
            handles: list[int] = []
            for tag, node in some:
                self._handle += 1
                self._items[self._handle] = tag  # now, as the answer may come after a first value
                handles.append(self._handle)
                item = ua.MonitoredItemCreateRequest()
                item.ItemToMonitor.NodeId = node
                item.ItemToMonitor.AttributeId = ua.AttributeIds.Value
                item.MonitoringMode = ua.MonitoringMode.Reporting
                item.RequestedParameters.ClientHandle = self._handle
                item.RequestedParameters.SamplingInterval = pace.sampling * 1000.0
                item.RequestedParameters.QueueSize = pace.queue
                item.RequestedParameters.DiscardOldest = True
                asked.ItemsToCreate.append(item)
            answers = await self._client.uaclient.create_monitored_items(asked)
            for (tag, _), handle, answer in zip(some, handles, answers, strict=True):
                if answer.StatusCode.is_good():
                    del missing[tag.tag]
                else:
                    del self._items[handle]
        return list(missing.values())

    async def _on_message(self, told: Any) -> None:
        """The server has published something, if only that it is alive."""
        if not told.NotificationMessage.SequenceNumber:
            # No server begins at 0: asyncua itself says that the connection is lost, and its time
            # is that of this computer.
            self._over = "the connection was lost"
            return
        self._heard = time.monotonic()
        self._busy = True
        try:
            first, self._started = not self._started, True
            await self._channel.hand_over(self._message(told), first)
        finally:
            self._busy = False
            self._heard = time.monotonic()

    def _message(self, told: Any) -> Message:
        ua, counts = self._ua, Counter[str]()
        note = told.NotificationMessage
        published = nanoseconds(note.PublishTime)
        self._count_lost(int(note.SequenceNumber), bool(note.NotificationData), counts)
        values: list[Value] = []
        for part in note.NotificationData or ():
            if isinstance(part, ua.DataChangeNotification):
                for item in part.MonitoredItems:
                    handle = int(item.ClientHandle)
                    if handle not in self._items:
                        counts["unknown_tags"] += 1
                        continue
                    values.append(
                        read_value(
                            self._items[handle],
                            item.Value,
                            published or 0,
                            handle not in self._told,
                            self._channel.pace,
                            counts,
                        )
                    )
                    self._told.add(handle)
            elif isinstance(part, ua.StatusChangeNotification) and not part.Status.is_good():
                self._over = f"the server ended the subscription ({part.Status.name})"
        values.sort(key=_by_time)
        return Message(values, published, bool(told.MoreNotifications), counts)

    def _count_lost(self, number: int, filled: bool, counts: Counter[str]) -> None:
        """Messages are numbered from 1 on; one that could not be read leaves a hole.

        A message without values has the number that the next one will have.
        """
        if number > self._number:
            counts["lost_messages"] += number - self._number
        if filled:
            self._number = 1 if number >= LAST_NUMBER else number + 1
        else:
            self._number = number


def _by_time(value: Value) -> int:
    return value.time
