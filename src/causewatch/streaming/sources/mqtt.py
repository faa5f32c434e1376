"""`MqttSource`: rows, tags or Sparkplug B from an MQTT broker.

Messages are acknowledged only after the checkpoint that holds them, so the broker keeps them until
then; `causewatch.streaming.sources.mqtt_ledger` says how repetitions are told from new messages.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

from causewatch.data import Clock
from causewatch.errors import SettingError, StreamError, shorten
from causewatch.streaming.address import Address, Seconds, options_of
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.inbox import Inbox
from causewatch.streaming.message_rows import TagOptions
from causewatch.streaming.mqtt_client import Channel, Connection
from causewatch.streaming.mqtt_options import MqttOptions, checked_keepalive, secured
from causewatch.streaming.source import Batch, Guarantee, Wanted, nothing
from causewatch.streaming.sources.mqtt_ledger import Ledger, digest
from causewatch.streaming.sources.mqtt_readers import (
    Reader,
    RowsReader,
    SparkplugReader,
    TagsReader,
)

__all__ = ["MqttSource", "MqttSourceOptions"]

log = logging.getLogger(__name__)

WEEK = Seconds(7 * 86_400.0)
MOST_AT_ONCE = 64
"""Messages handled by one poll."""
MOST_RECEIVED = 65_535
SPARE = 64
"""Messages for which room is kept, since some may be read before reading stops."""
ACKS_AT_ONCE = 32
"""Acknowledgements sent before reading gets its turn again."""
NOBODY = "causewatch/receipt"
"""A topic that is never subscribed to. Taking it back does nothing, but the broker answers."""


@dataclass(frozen=True)
class MqttSourceOptions(MqttOptions, TagOptions):
    """Options of ``mqtt://`` as a source.

    Attributes
    ----------
    format
        ``rows`` (a JSON object each), ``tags`` (a topic for each) or ``sparkplug``.
    qos
        0 or 1. Not 2: its messages could not be acknowledged after a checkpoint only.
    expiry
        How long the broker keeps the session of a watch that does not run (MQTT 5 only).
    sequence
        Key of a row under which the sender counts its rows.
    rebirth
        Whether Sparkplug nodes may be asked to say again what they have.
    """

    format: Literal["rows", "tags", "sparkplug"] = "rows"
    qos: Literal[0, 1] = 1
    expiry: Seconds = WEEK
    sequence: str = ""
    rebirth: bool = True


@dataclass(frozen=True, slots=True)
class _Message:
    connection: Connection
    topic: str
    payload: bytes | None  # None: it was too large
    qos: int
    packet: int
    repeated: bool
    retained: bool
    mark: bytes
    received: int  # ns since 1970


class MqttSource:
    """See the module.

    Parameters
    ----------
    address
        ``mqtt://host/topic``; the topic may have wildcards.
    wanted
        What the watch wants.
    now
        Nanoseconds since 1970, for tags that come without a time.
    backoff
        The pauses between tries to connect.
    """

    def __init__(
        self,
        address: Address,
        wanted: Wanted,
        *,
        now: Callable[[], int] = time.time_ns,
        backoff: Backoff | None = None,
    ) -> None:
        self._options = said = options_of(address, MqttSourceOptions)
        _check(address, said)
        self._address = address
        self._wanted = wanted
        self._now = now
        self._backoff = backoff
        self._topic = address.path
        self._session = said.session or _usual_session(address, said)
        # What cannot be acknowledged cannot be held back either: it is counted instead.
        self._lossy = said.qos == 0 or said.format == "sparkplug"
        self.inbox: Inbox[_Message] = Inbox(
            wanted.limits.queue, spare=SPARE, size=lambda message: len(message.payload or b"")
        )
        self._ledger = Ledger()
        self._receipts: deque[tuple[int, int]] = deque()  # from the network thread
        self._channel: Channel | None = None
        self._old_topic = ""
        self._granted_in: int | None = None  # number of the session that has our subscription
        self._closed = False
        self._unasked = False  # whether it was logged that rows come without acknowledgement
        self._problems: Counter[str] = Counter()
        self._reader: Reader
        if said.format == "rows":
            self._reader = RowsReader(wanted, said.sequence)
        elif said.format == "tags":
            self._reader = TagsReader(wanted, said, self._topic)
        else:
            self._reader = SparkplugReader(wanted, said, ask=said.rebirth)

    @property
    def name(self) -> str:
        """See `Source`."""
        return self._address.name

    @property
    def guarantee(self) -> Guarantee:
        """See `Source`. Sparkplug publishes its data without acknowledgement."""
        return "lost" if self._lossy else "redelivered"

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
        found = Counter(self._problems)
        found.update(self._channel.counts if self._channel is not None else {})
        found.update(self._reader.problems)
        found["overflow"] += self.inbox.turned_away
        return dict(+found)

    @property
    def status(self) -> str:
        """See `Source`."""
        return "not open" if self._channel is None else self._channel.status

    @property
    def ended(self) -> bool:
        """See `Source`. A broker never says that nothing more will come."""
        return False

    @property
    def pressing(self) -> bool:
        """Whether something was polled and the broker waits for its acknowledgement."""
        return self._ledger.owing

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`."""
        known = after.get("session") == self._session
        try:
            if known:
                self._ledger.load(after["known"])
                self._old_topic = after["topic"]
            if after.get("format") == self._options.format:
                self._reader.restore(after["read"])
        except (KeyError, TypeError, ValueError) as error:
            msg = f"The position saved for {self.name} is damaged; begin with a new state folder."
            raise StreamError(msg) from error
        said = self._options
        self._channel = Channel(
            self._address,
            said,
            self._session,
            keep=max(1, min(round(said.expiry), 0xFFFFFFFE)) if said.qos else 0,
            receive=max(1, min(self._wanted.limits.queue, MOST_RECEIVED)),
            had_session=known,
            on_connect=self._subscribe,
            on_message=self._put,
            room=self._room,
            backoff=self._backoff,
        )
        self._channel.start()

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        channel, until = self._channel, time.monotonic() + wait
        if channel is None or self._closed:
            return nothing(len(self._wanted.columns))
        while True:
            left = max(0.0, until - time.monotonic())
            for message in self.inbox.take(left, MOST_AT_ONCE):
                self._take(message)
            if channel.paused:
                channel.wake()
            self._settle(channel)
            batch = self._reader.rows()
            # Tags may come for long before a row is complete: look on while there is time.
            if len(batch) or time.monotonic() >= until:
                return batch

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        if self._channel is not None:
            self._settle(self._channel)
        return {
            "session": self._session,
            "topic": self._topic,
            "known": self._ledger.save(),
            "format": self._options.format,
            "read": self._reader.snapshot(),
        }

    def committed(self) -> None:
        """See `Source`."""
        channel = self._channel
        if channel is None or not self._ledger.owing:
            return
        connection = channel.connection
        packets, number = self._ledger.commit(connection)
        if connection is None:
            return
        for first in range(0, len(packets), ACKS_AT_ONCE):
            channel.do(connection, _acknowledge(packets[first : first + ACKS_AT_ONCE]))
        if packets:
            channel.do(connection, self._ask_for_receipt(channel, connection, number))

    def close(self) -> None:
        """See `Source`."""
        self._closed = True
        self.inbox.close()
        if self._channel is not None:
            self._channel.close()

    # In the network thread

    def _room(self) -> bool:
        return self._lossy or self._closed or self.inbox.room() > 0

    def _subscribe(self, client: Any, connection: Connection) -> None:
        assert self._channel is not None
        if self._options.version != "5" and self._granted_in == connection.session:
            self._channel.ready()  # once more would bring all retained messages again
            return
        if self._old_topic and self._old_topic != self._topic:
            client.unsubscribe(self._old_topic)  # the session still has what an earlier run wanted
        if self._options.version == "5":
            # Retained messages only with a subscription that is new.
            how = self._channel.library.SubscribeOptions(qos=self._options.qos, retainHandling=1)
            _, packet = client.subscribe(self._topic, options=how)
        else:
            _, packet = client.subscribe(self._topic, self._options.qos)
        self._channel.when_answered(packet, lambda refusal: self._subscribed(connection, refusal))

    def _subscribed(self, connection: Connection, refusal: str) -> None:
        assert self._channel is not None
        if refusal:
            self._channel.hang_up(f"the broker refuses the topic {self._topic}: {refusal}")
        else:
            self._granted_in = connection.session
            self._channel.ready()

    def _put(self, connection: Connection, message: Any) -> None:
        try:
            topic = message.topic
        except UnicodeDecodeError:
            topic = ""
        payload: bytes | None = message.payload
        mark = digest(topic, message.payload) if message.qos else b""
        if len(message.payload) > self._wanted.limits.payload:
            payload = None  # what waits must not fill the memory
        found = _Message(
            connection,
            topic,
            payload,
            message.qos,
            message.mid,
            message.dup,
            message.retain,
            mark,
            self._now(),
        )
        if self._lossy:
            self.inbox.offer(found)
        else:  # there is room, since reading stops where there is none
            self.inbox.put(found)

    def _ask_for_receipt(
        self, channel: Channel, connection: Connection, number: int
    ) -> Callable[[Any], None]:
        def job(client: Any) -> None:
            _, packet = client.unsubscribe(NOBODY)
            channel.when_answered(
                packet, lambda refusal: self._receipts.append((connection.number, number))
            )

        return job

    # In the thread of the watch

    def _settle(self, channel: Channel) -> None:
        """Hear what the network thread has learnt about the session and our acknowledgements."""
        self._ledger.session(channel.sessions)
        while self._receipts:
            self._ledger.receipt(*self._receipts.popleft())
        connection = channel.connection
        if connection is not None:
            for topic, payload in self._reader.requests():
                channel.do(connection, _publish(topic, payload))

    def _take(self, message: _Message) -> None:
        if message.qos:
            new = self._ledger.take(
                message.connection, message.packet, message.mark, message.repeated
            )
            if not new:
                self._problems["duplicates"] += 1
                return
        elif not self._lossy and not self._unasked:
            self._unasked = True
            log.warning(
                "%s: rows are published with quality of service 0, so those sent while the watch is"
                " away are lost; publish them with 1.",
                self.name,
            )
        if message.payload is None:
            self._problems["too_large"] += 1
            return
        self._reader.take(message.topic, message.payload, message.received, message.retained)


def _acknowledge(packets: Sequence[int]) -> Callable[[Any], None]:
    def job(client: Any) -> None:
        for packet in packets:
            client.ack(packet, 1)

    return job


def _publish(topic: str, payload: bytes) -> Callable[[Any], None]:
    return lambda client: client.publish(topic, payload, qos=0)


def _check(address: Address, said: MqttSourceOptions) -> None:
    if not address.host:
        msg = f"{address.name} names no broker; an address is like mqtt://broker/plant/rows."
        raise SettingError(msg)
    levels = address.path.split("/")
    wrong = any(
        ("+" in level and level != "+") or ("#" in level and (level != "#" or rest))
        for level, rest in zip(levels, range(len(levels) - 1, -1, -1), strict=True)
    )
    if not address.path or wrong or "\0" in address.path:
        msg = (
            f"{shorten(address.path)!r} is no topic; name one after the host, like plant/rows, with"
            " + for any one level and # for all further ones."
        )
        raise SettingError(msg)
    if said.sequence and said.format != "rows":
        msg = "The option 'sequence' counts rows; leave it out where tags are read."
        raise SettingError(msg)
    checked_keepalive(said.keepalive)
    secured(address, said)


def _usual_session(address: Address, said: MqttSourceOptions) -> str:
    """The same name for the same address in every run; the protocol promises 23 characters."""
    about = f"{said.user}@{address.host.lower()}:{address.port}/{address.path}?{said.format}"
    return "causewatch" + blake2b(about.encode(), digest_size=6).hexdigest()
