"""`KafkaSink`: events of alarms as messages of a Kafka topic.

The key of a message is the id of its alarm, so the events of one alarm stay in one partition, in
order. A header tells what a receiver can know a repetition by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from causewatch.errors import SettingError
from causewatch.extras import needed
from causewatch.streaming.address import Address, Seconds, options_of
from causewatch.streaming.formats import Format, formatted
from causewatch.streaming.kafka_settings import (
    KafkaOptions,
    client_settings,
    reason_of,
    split_options,
    topic_of,
)
from causewatch.streaming.sink import DeliveryError, Notice, Status

__all__ = ["KEY_HEADER", "KafkaSink", "KafkaSinkOptions"]

KEY_HEADER = "causewatch-key"
"""Header with what an event can be known by if it comes again."""
TIMEOUT = Seconds(5.0)


@dataclass(frozen=True)
class KafkaSinkOptions(KafkaOptions):
    """Options of a sink.

    Attributes
    ----------
    format
        How an event is written.
    timeout
        Seconds that the cluster has to keep what it is sent.
    """

    format: Format = "json"
    timeout: Seconds = TIMEOUT


class KafkaSink:
    """See the module.

    Parameters
    ----------
    address
        ``kafka://host:9092/topic``.
    """

    def __init__(self, address: Address) -> None:
        self._address, self._passed = split_options(address)
        self._options = options_of(self._address, KafkaSinkOptions)
        self._topic = topic_of(self._address)
        self._producer: Any = None
        self._error = ""

    @property
    def name(self) -> str:
        """See `Sink`."""
        return self._address.name

    def open(self, mark: Any) -> None:
        """See `Sink`."""
        self._producer = self._made()

    def _made(self) -> Any:
        kafka = needed("confluent_kafka", "kafka")
        wait = max(1, int(self._options.timeout * 1000))
        writing = {
            # All replicas in step have it, and a try of the library's own does not double it.
            "acks": "all",
            "enable.idempotence": True,
            "message.timeout.ms": wait,
            "linger.ms": 0,
        }
        reach = client_settings(self._address, self._options, self._passed)
        try:
            return kafka.Producer(reach | writing | self._passed, error_cb=self._noticed)
        except (kafka.KafkaException, TypeError, ValueError) as error:
            msg = f"{self.name} cannot be used: {reason_of(error)}; mend the settings."
            raise SettingError(msg) from error

    def _noticed(self, error: Any) -> None:
        self._error = reason_of(error)

    def send(self, notices: Sequence[Notice]) -> Any:
        """See `Sink`."""
        kafka = needed("confluent_kafka", "kafka")
        if self._producer is None:
            self._producer = self._made()
        done = [False] * len(notices)
        self._error = ""

        def told(place: int) -> Any:
            def tell(error: Any, message: Any) -> None:
                if error is None:
                    done[place] = True
                else:
                    self._error = self._error or reason_of(error)

            return tell

        try:
            for place, notice in enumerate(notices):
                self._producer.produce(
                    self._topic,
                    formatted(notice, self._options.format).encode(),
                    str(notice.body.get("id", notice.key)).encode(),
                    headers={KEY_HEADER: notice.key},
                    on_delivery=told(place),
                )
                self._producer.poll(0)
            self._producer.flush(self._options.timeout + 1.0)
        except (kafka.KafkaException, BufferError) as error:
            self._error = reason_of(error)
        if not all(done):
            # What waits inside must not be sent behind the back of whoever tries again.
            self._give_up()
            sent = done.index(False)
            msg = f"{self.name} did not take an event: {self._error or 'no answer'}."
            raise DeliveryError(msg, sent)
        return None

    def _give_up(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            producer.flush(0.1)

    def look(self, status: Status) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`."""
        self._give_up()
