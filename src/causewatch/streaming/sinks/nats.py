"""`NatsSink`: events of alarms as messages of a NATS subject.

With JetStream an event is delivered when its stream has it, and the server leaves out repetitions
that come within its window for duplicates. With ``plain=true`` it is delivered when the server has
it, whether or not anybody listens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from causewatch.streaming.address import Address, Seconds, options_of
from causewatch.streaming.background import BackgroundLoop
from causewatch.streaming.formats import Format, formatted
from causewatch.streaming.nats_client import (
    Channel,
    NatsOptions,
    check,
    connect,
    reason_of,
    subject_of,
)
from causewatch.streaming.sink import DeliveryError, Notice, Status

__all__ = ["NatsSink", "NatsSinkOptions"]

TIMEOUT = Seconds(5.0)
REPETITION = "Nats-Msg-Id"
"""Header by which the server knows a repetition, whoever sends it: so it must be that of no other
event (`Notice.key`)."""


@dataclass(frozen=True)
class NatsSinkOptions(NatsOptions):
    """Options of a sink.

    Attributes
    ----------
    stream
        Name of the stream that is to take events; by default any that has the subject.
    plain
        Without JetStream: nobody keeps events for those who are away.
    format
        How an event is written.
    timeout
        Seconds to wait in all, when events are sent.
    """

    stream: str = ""
    plain: bool = False
    format: Format = "json"
    timeout: Seconds = TIMEOUT


class NatsSink:
    """See the module.

    Parameters
    ----------
    address
        ``nats://host:4222/subject``, or ``tls://`` for a connection that nobody else can read.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._options = options_of(address, NatsSinkOptions)
        self._subject = subject_of(address, wildcards=False)
        self._loop: BackgroundLoop | None = None
        self._channel: Channel | None = None

    @property
    def name(self) -> str:
        """See `Sink`."""
        return self._address.name

    def open(self, mark: Any) -> None:
        """See `Sink`."""
        check(self._options)
        self._loop = self._loop or BackgroundLoop("nats sink")

    def send(self, notices: Sequence[Notice]) -> Any:
        """See `Sink`."""
        if self._loop is None:
            self.open(None)
        assert self._loop is not None
        sent = [0]
        try:
            # A little longer than it waits itself, for it to end in good order.
            self._loop.run(self._send(notices, sent), self._options.timeout + 5.0)
        except Exception as error:
            msg = f"{self.name} did not take an event: {reason_of(error)}."
            raise DeliveryError(msg, sent[0]) from error
        return None

    async def _send(self, notices: Sequence[Notice], sent: list[int]) -> None:
        """Publish one by one; `sent` says how many are delivered."""
        try:
            # What takes longer than that is left for the next call.
            async with asyncio.timeout(self._options.timeout):
                if self._channel is not None and self._channel.broken.done():
                    await self._drop()
                if self._channel is None:
                    self._channel = await connect(self._address, self._options)
                # One after the other: a later one must not arrive where an earlier one did not.
                for notice in notices:
                    await self._publish(self._channel, notice)
                    sent[0] += 1
        except BaseException:
            await self._drop()
            raise

    async def _publish(self, channel: Channel, notice: Notice) -> None:
        options = self._options
        data = formatted(notice, options.format).encode()
        headers = {REPETITION: notice.key}
        if options.plain:
            await channel.client.publish(self._subject, data, headers=headers)
            await channel.or_broken(channel.client.flush(), options.timeout)
            return
        jetstream = channel.client.jetstream(domain=options.domain or None)
        published = jetstream.publish(
            self._subject,
            data,
            timeout=options.timeout,
            stream=options.stream or None,
            headers=headers,
        )
        await channel.or_broken(published, options.timeout)

    async def _drop(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    def look(self, status: Status) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`."""
        loop, self._loop = self._loop, None
        if loop is not None:
            with suppress(TimeoutError):
                loop.run(self._drop(), 5.0)
            loop.close()
