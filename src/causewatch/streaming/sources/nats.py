"""`NatsSource`: rows, or values of tags, from a JetStream stream of a NATS server.

Where to go on is kept with the watch: the stream, when it was made, the sequence number of the last
message and the server's time of it. A consumer at the server lasts no longer than the connection;
whenever that breaks, a new one begins behind the last message that has arrived here.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from causewatch.data import Clock
from causewatch.extras import needed
from causewatch.streaming.address import Address, options_of
from causewatch.streaming.background import BackgroundLoop
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.inbox import Inbox
from causewatch.streaming.message_rows import MessageOptions, reader_of
from causewatch.streaming.nats_client import (
    Channel,
    NatsOptions,
    check,
    connect,
    reason_of,
    subject_of,
)
from causewatch.streaming.source import Batch, Guarantee, Wanted
from causewatch.streaming.sources.nats_ledger import Ledger, Place
from causewatch.streaming.sources.nats_pull import Arrival, Pull
from causewatch.streaming.wildcards import NATS

__all__ = ["NatsSource", "NatsSourceOptions"]

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that the server has for an answer."""
FORGET_AFTER = 300.0
"""Seconds after which the server forgets a consumer that nobody asks any more."""
AT_ONCE = 4096
"""Messages given out at once."""
SPARE = 64
"""Room for what is not a message."""


@dataclass(frozen=True)
class NatsSourceOptions(NatsOptions, MessageOptions):
    """Options of a source.

    Attributes
    ----------
    stream
        Name of the stream; by default the one that has the subject.
    start
        Where the first run begins: with the first message that the stream has, or with new ones.
    """

    stream: str = ""
    start: Literal["first", "new"] = "first"


class NatsSource:
    """See the module.

    Parameters
    ----------
    address
        ``nats://host:4222/subject``, or ``tls://`` for a connection that nobody else can read.
    wanted
        What the watch wants.
    chance
        Where chance in the pauses between tries comes from.
    """

    guarantee: Guarantee = "replayed"

    def __init__(
        self, address: Address, wanted: Wanted, *, chance: random.Random | None = None
    ) -> None:
        self._address = address
        self._options = options_of(address, NatsSourceOptions)
        self._subject = subject_of(address, wildcards=True)
        self._prefix = NATS.fixed_part(self._subject)
        self._wanted = wanted
        self._backoff = Backoff(0.1, 5.0, chance)
        self._reader = reader_of(self._options, wanted)
        # Room for words between messages too, so that the connection's thread never waits here.
        self.inbox: Inbox[Arrival | Place] = Inbox(wanted.limits.queue, spare=SPARE, size=_size)
        self._place = Place()  # of what was polled
        self._ledger = self._opened(self._place)  # of what has arrived
        self._loop: BackgroundLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._status = "not open"
        self._lost = False

    @property
    def name(self) -> str:
        """See `Source`."""
        return self._address.name

    @property
    def clock(self) -> Clock | None:
        """See `Source`."""
        return self._reader.clock

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Source`."""
        return self._reader.missing

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        return self._reader.problems + Counter(self._ledger.problems.copy())

    @property
    def status(self) -> str:
        """See `Source`."""
        return self._status

    @property
    def ended(self) -> bool:
        """See `Source`: a stream has no end."""
        return False

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`."""
        check(self._options)
        if after.get("stream"):
            self._place = Place(
                str(after["stream"]),
                str(after["created"]),
                int(after["sequence"]),
                int(after["stamp"]),
            )
        if after.get("rows"):
            self._reader.restore(after["rows"])
        self._ledger = self._opened(self._place)
        self._status = "connecting"
        self._loop = BackgroundLoop("nats source")
        self._loop.start(self._read())

    def _opened(self, place: Place) -> Ledger:
        return Ledger(
            self.name, self._subject, place, new=self._options.start == "new", put=self.inbox.put
        )

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        for item in self.inbox.take(wait, AT_ONCE):
            if isinstance(item, Place):
                self._place = item
            else:
                self._place = self._place.behind(item)
                self._reader.take(item.subject.removeprefix(self._prefix), item.data, item.stamp)
        return self._reader.rows()

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        if not self._place.stream:
            return {}
        return {
            "stream": self._place.stream,
            "created": self._place.created,
            "sequence": self._place.sequence,
            "stamp": self._place.stamp,
            "rows": self._reader.snapshot(),
        }

    def committed(self) -> None:
        """See `Source`: the server keeps no account of what was read."""

    def close(self) -> None:
        """See `Source`."""
        loop, self._loop = self._loop, None
        self.inbox.clear()
        self.inbox.close()
        if loop is not None:
            with suppress(TimeoutError):
                loop.run(self._stop(), PATIENCE)
            loop.close()
        self._status = "closed"

    async def _stop(self) -> None:
        """End the reading in good order, while the library's own tasks still run."""
        self._stopping = True
        while self._task is not None and not self._task.done():
            self._task.cancel()
            # More than once, since the library now and then catches it.
            await asyncio.wait({self._task}, timeout=0.5)

    async def _read(self) -> None:
        """Read for ever, with a new connection whenever one breaks."""
        self._task = asyncio.current_task()
        while not self._stopping:
            try:
                channel = await connect(self._address, self._options)
            except Exception as error:  # whatever the library comes up with is one more try
                self._away(reason_of(error))
            else:
                try:
                    await self._session(channel)
                except Exception as error:
                    self._away(reason_of(error))
                finally:
                    await channel.close()
            await asyncio.sleep(self._backoff.next())

    async def _session(self, channel: Channel) -> None:
        """Read until something is wrong."""
        errors = needed("nats.js.errors", "nats")
        domain = self._options.domain
        jetstream = channel.client.jetstream(timeout=PATIENCE, domain=domain or None)
        try:
            name = self._options.stream
            if not name:
                finding = jetstream.find_stream_name_by_subject(self._subject)
                name = await channel.or_broken(finding, PATIENCE)
            info = await channel.or_broken(jetstream.stream_info(name), PATIENCE)
        except errors.NotFoundError:
            what = self._options.stream or f"with the subject {self._subject}"
            raise ConnectionError(f"there is no stream {what} yet") from None  # noqa: EM102
        begin = self._ledger.begin(name, info)
        consumer = await self._consumer(channel, jetstream, name, begin)
        self._back()

        async def paused() -> None:
            now = await channel.or_broken(jetstream.stream_info(name), PATIENCE)
            self._ledger.check_first(int(now.state.first_seq))

        api = f"$JS.{domain}.API" if domain else "$JS.API"
        pull = Pull(channel, api, name, consumer, self._take, self.inbox.room)
        try:
            await pull.run(paused)
        finally:
            if self._stopping:  # else the server forgets it by itself
                with suppress(Exception):
                    await asyncio.wait_for(jetstream.delete_consumer(name, consumer), 0.4)

    async def _consumer(
        self, channel: Channel, jetstream: Any, stream: str, begin: Mapping[str, Any]
    ) -> str:
        api = needed("nats.js.api", "nats")
        config = api.ConsumerConfig(
            name=f"causewatch-{channel.client.new_inbox().rpartition('.')[2]}",
            # A stream may hold less than an address asks for; a filter must not be wider than it.
            filter_subject=None if self._ledger.own else self._subject,
            # Nothing is acknowledged: the position is ours, and a broken connection ends it all.
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=FORGET_AFTER,
            mem_storage=True,
            num_replicas=1,
            **begin,
        )
        made = await channel.or_broken(jetstream.add_consumer(stream, config), PATIENCE)
        return str(made.name)

    def _take(self, arrival: Arrival) -> None:
        """A message has come."""
        if self._ledger.take(arrival):
            most = self._wanted.limits.payload
            if len(arrival.data) > most:  # enough to see that it is too large
                arrival = arrival._replace(data=arrival.data[: most + 1])
            self.inbox.put(arrival)

    def _away(self, reason: str) -> None:
        if self._stopping:
            return
        if not self._lost:
            self._lost = True
            log.warning("%s: %s; trying again.", self.name, reason)
        self._status = f"trying again: {reason}"

    def _back(self) -> None:
        self._backoff.reset()
        if self._lost:
            self._lost = False
            self._ledger.count("reconnects")
            log.info("%s is back.", self.name)
        self._status = "connected"


def _size(item: Arrival | Place) -> int:
    return len(item.data) if isinstance(item, Arrival) else 0
