"""`KafkaSource`: rows, or values of tags, from all partitions of one Kafka topic.

Where to go on is kept with the watch, as an offset for each partition, and not with the cluster: so
the offsets belong to exactly the rows that the monitor's state has seen. They are committed for
the consumer group as well, for people who look at its lag, and never read from there.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from causewatch.data import Clock
from causewatch.errors import SettingError
from causewatch.extras import needed
from causewatch.streaming.address import Address, options_of
from causewatch.streaming.kafka_settings import (
    KafkaOptions,
    client_settings,
    reason_of,
    split_options,
    topic_of,
)
from causewatch.streaming.message_rows import MessageOptions, reader_of
from causewatch.streaming.source import Batch, Guarantee, Wanted
from causewatch.streaming.sources.kafka_topic import TopicWatch

__all__ = ["KafkaSource", "KafkaSourceOptions"]

log = logging.getLogger(__name__)

AT_ONCE = 2048
"""Messages taken at once."""
GLANCE = 0.02
"""Seconds to wait for messages at a time while an answer about the topic is awaited."""


@dataclass(frozen=True)
class KafkaSourceOptions(KafkaOptions, MessageOptions):
    """Options of a source.

    Attributes
    ----------
    start
        Where the first run begins: at the oldest message that the topic has, or with new ones.
    group
        Group for which offsets are committed, for those who look at the lag; none if empty.
    """

    start: Literal["earliest", "latest"] = "earliest"
    group: str = "causewatch"


class KafkaSource:
    """See the module.

    Parameters
    ----------
    address
        ``kafka://host:9092/topic``.
    wanted
        What the watch wants.
    now
        A clock that never goes back.
    """

    guarantee: Guarantee = "replayed"

    def __init__(
        self, address: Address, wanted: Wanted, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._address, self._passed = split_options(address)
        self._options = options_of(self._address, KafkaSourceOptions)
        self._topic = topic_of(self._address)
        self._wanted = wanted
        self._now = now
        self._reader = reader_of(self._options, wanted)
        self._problems: Counter[str] = Counter()
        self._offsets: dict[int, int] = {}  # the next one of each partition
        self._committed: dict[int, int] = {}
        self._kafka: Any = None  # the library
        self._consumer: Any = None
        self._watch: TopicWatch | None = None
        self._status = "not open"
        self._lost = False  # whether the cluster is away, and that was said
        self._why = ""  # what the library said last

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
        return self._problems + self._reader.problems

    @property
    def status(self) -> str:
        """See `Source`."""
        return self._status

    @property
    def ended(self) -> bool:
        """See `Source`: a topic has no end."""
        return False

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`."""
        self._kafka = needed("confluent_kafka", "kafka")
        admin = needed("confluent_kafka.admin", "kafka")
        self._offsets = {int(k): int(v) for k, v in after.get("offsets", {}).items()}
        if after.get("rows"):
            self._reader.restore(after["rows"])
        reach = client_settings(self._address, self._options, self._passed)
        limits = self._wanted.limits
        payload = min(max(limits.payload, 1 << 10), 100 << 20)
        reading = {
            "group.id": self._options.group or "causewatch",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            # A position that is gone must not be moved in silence: it is an error, and counted.
            "auto.offset.reset": "error",
            "allow.auto.create.topics": False,
            # The library stops fetching when so much waits. One fetch may bring as much again.
            "queued.min.messages": min(max(limits.queue, 1), 1_000_000),
            "queued.max.messages.kbytes": max(2 * payload >> 10, 16 << 10),
            "fetch.message.max.bytes": payload,
            # How long it pauses when enough waits, and how long a broker may hold an empty answer.
            "fetch.queue.backoff.ms": 20,
            "fetch.wait.max.ms": 100,
        }
        try:
            self._consumer = self._kafka.Consumer(
                reach | reading | self._passed, error_cb=self._error, on_commit=self._told
            )
            client = admin.AdminClient(reach)
        except (self._kafka.KafkaException, TypeError, ValueError) as error:
            self.close()
            msg = f"{self.name} cannot be used: {reason_of(error)}; mend the settings."
            raise SettingError(msg) from error
        self._watch = TopicWatch(
            client,
            self._topic,
            topic_id=str(after.get("id", "")),
            offsets=self._offsets,
            start=self._options.start,
            problems=self._problems,
            now=self._now,
        )
        self._status = "connecting"

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        if self._consumer is not None and self._watch is not None:
            try:
                self._read(self._consumer, self._watch, wait)
            except self._kafka.KafkaException as error:
                self._problems["broker_errors"] += 1
                self._away(reason_of(error))
                time.sleep(min(wait, GLANCE))  # it may be so for a while
        return self._reader.rows()

    def _read(self, consumer: Any, watch: TopicWatch, wait: float) -> None:
        """Take what has come; waits for it."""
        until = self._now() + wait
        while True:
            self._look(watch)
            left = max(0.0, until - self._now())
            # Not `consume`, which waits until it has as many messages as it was asked for.
            first = consumer.poll(min(left, GLANCE) if watch.asking else left)
            if first is not None or left <= 0.0:
                break
        messages = [] if first is None else [first, *consumer.consume(AT_ONCE - 1, 0)]
        for message in messages:
            if message.error() is not None:
                self._stumble(watch, message)
            elif message.partition() in watch.assigned:
                self._back()
                self._take(message)

    def _take(self, message: Any) -> None:
        self._offsets[message.partition()] = message.offset() + 1
        payload, key = message.value(), message.key()
        if payload is None:  # a key that was deleted from a compacted topic
            self._problems["empty"] += 1
            return
        kind, stamp = message.timestamp()
        self._reader.take(
            None if key is None else key.decode("utf-8", "replace"),
            payload,
            None if kind == self._kafka.TIMESTAMP_NOT_AVAILABLE else stamp * 1_000_000,
        )

    def _look(self, watch: TopicWatch) -> None:
        """See how the topic stands, and read partitions from where they are to be read."""
        news = watch.look()
        if news is None:
            return
        if news.gone:
            self._consumer.incremental_unassign(self._places(dict.fromkeys(news.gone, 0)))
        if news.begin:
            self._offsets.update(news.begin)
            try:
                self._consumer.incremental_assign(self._places(news.begin))
            except self._kafka.KafkaException:
                for partition in news.begin:
                    watch.release(partition)
                raise
        if news.trouble:
            self._away(news.trouble)
        elif news.done:
            self._back()

    def _places(self, offsets: Mapping[int, int]) -> list[Any]:
        return [
            self._kafka.TopicPartition(self._topic, partition, offset)
            for partition, offset in offsets.items()
        ]

    def _stumble(self, watch: TopicWatch, message: Any) -> None:
        """An error of a partition instead of a message."""
        error = message.error()
        if error.code() == self._kafka.KafkaError._PARTITION_EOF:
            return
        if error.code() == self._kafka.KafkaError._AUTO_OFFSET_RESET:
            partition = message.partition()
            if partition in watch.assigned:
                self._consumer.incremental_unassign(self._places({partition: 0}))
                watch.release(partition)
            return
        self._problems["broker_errors"] += 1
        self._away(reason_of(error))
        watch.hurry()

    def _error(self, error: Any) -> None:
        """The library could not do something; it goes on trying."""
        if error.code() == self._kafka.KafkaError._ALL_BROKERS_DOWN or error.fatal():
            self._away(self._why or reason_of(error))
            if self._watch is not None:
                self._watch.hurry()
            return
        self._why = reason_of(error)
        if self._lost:
            self._status = f"trying again: {self._why}"

    def _told(self, error: Any, places: Sequence[Any]) -> None:
        """What came of committing offsets; only those who look at the lag care."""
        if error is not None:
            self._problems["commits_refused"] += 1
            log.debug("Offsets of %s were not committed: %s.", self.name, reason_of(error))

    def _away(self, reason: str) -> None:
        if not self._lost:
            self._lost = True
            log.warning("%s: %s; trying again.", self.name, reason)
        self._status = f"trying again: {reason}"

    def _back(self) -> None:
        self._why = ""
        if self._lost:
            self._lost = False
            self._problems["reconnects"] += 1
            log.info("%s is back.", self.name)
        self._status = "connected"

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        return {
            "id": "" if self._watch is None else self._watch.topic_id,
            "offsets": {str(k): v for k, v in sorted(self._offsets.items())},
            "rows": self._reader.snapshot(),
        }

    def committed(self) -> None:
        """See `Source`."""
        if self._consumer is None or not self._options.group:
            return
        new = {k: v for k, v in self._offsets.items() if self._committed.get(k) != v}
        if not new:
            return
        self._committed.update(new)
        try:
            self._consumer.commit(offsets=self._places(new), asynchronous=True)
        except self._kafka.KafkaException as error:
            self._told(error, ())

    def close(self) -> None:
        """See `Source`."""
        consumer, self._consumer, self._watch = self._consumer, None, None
        self._status = "closed"
        if consumer is not None:
            consumer.close()
