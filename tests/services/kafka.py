"""librdkafka's mock cluster: it speaks Kafka's protocol over TCP, from memory. It is no broker.

The library of the Python package holds it; its functions are called as C has them, since Python has
names for none but the first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from causewatch.testing.waiting import PATIENCE


class MockCluster:
    """One broker on loopback with topics that live as long as it does."""

    def __init__(self, lib: ctypes.CDLL) -> None:
        self._lib = lib
        text = ctypes.create_string_buffer(256)
        conf = self._call("rd_kafka_conf_new", ctypes.c_void_p)
        self._call("rd_kafka_conf_set", ctypes.c_int, conf, b"log_level", b"0", text, 256)
        self._holder = self._call("rd_kafka_new", ctypes.c_void_p, 0, conf, text, 256)
        self._cluster = self._call("rd_kafka_mock_cluster_new", ctypes.c_void_p, self._holder, 1)
        assert self._cluster
        found = self._call("rd_kafka_mock_cluster_bootstraps", ctypes.c_char_p, self._cluster)
        self.address = found.decode()
        # Without one, nobody could ask about topics.
        self._do("rd_kafka_mock_set_controller_id", ctypes.c_int32(1))

    def _call(self, name: str, gives: Any, *arguments: Any) -> Any:
        function = self._lib[name]
        function.restype = gives
        typed = [
            ctypes.c_void_p(one) if isinstance(one, int) and one > 1 << 20 else one
            for one in arguments
        ]
        return function(*typed)

    def _do(self, name: str, *arguments: Any) -> None:
        assert self._call(name, ctypes.c_int, self._cluster, *arguments) == 0, name

    def producer(self, **settings: Any) -> Any:
        """A client that writes to it."""
        from confluent_kafka import Producer

        basic = {
            "bootstrap.servers": self.address,
            "log_level": 0,
            "linger.ms": 0,
            "message.max.bytes": 20 << 20,
            "reconnect.backoff.max.ms": 200,
        }
        return Producer(basic | settings)

    def messages(self, topic: str, partition: int = 0) -> list[Any]:
        """What a partition has, oldest first."""
        from confluent_kafka import Consumer, TopicPartition

        reader = Consumer({"bootstrap.servers": self.address, "group.id": "test", "log_level": 0})
        try:
            place = TopicPartition(topic, partition)
            first, end = reader.get_watermark_offsets(place, timeout=PATIENCE)
            reader.assign([TopicPartition(topic, partition, first)])
            found: list[Any] = []
            while len(found) < end - first:
                found += [one for one in reader.consume(1, PATIENCE) if one.error() is None]
            return found
        finally:
            reader.close()

    def create(self, topic: str, partitions: int = 1) -> None:
        self._do("rd_kafka_mock_topic_create", topic.encode(), partitions, 1)

    def delete(self, topic: str) -> None:
        self._do("rd_kafka_mock_topic_delete", topic.encode())

    def forget(self, topic: str, before: int, partition: int = 0) -> None:
        """Remove the messages before an offset, as retention does."""
        self._do(
            "rd_kafka_mock_partition_delete_records",
            topic.encode(),
            ctypes.c_int32(partition),
            ctypes.c_int64(before),
        )

    def down(self) -> None:
        """End all connections and take no new ones; messages stay."""
        self._do("rd_kafka_mock_broker_set_down", ctypes.c_int32(1))

    def up(self) -> None:
        self._do("rd_kafka_mock_broker_set_up", ctypes.c_int32(1))

    def stop(self) -> None:
        self._call("rd_kafka_mock_cluster_destroy", None, self._cluster)
        self._call("rd_kafka_destroy", None, self._holder)


@contextmanager
def mock_cluster() -> Iterator[MockCluster]:
    """A mock cluster for the time of a test."""
    kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    libraries = sorted(
        (Path(kafka.__file__).parent.parent).glob("confluent_kafka.libs/librdkafka*")
    )
    if not libraries:
        pytest.skip("librdkafka is not part of this confluent-kafka")
    cluster = MockCluster(ctypes.CDLL(str(libraries[0])))
    try:
        yield cluster
    finally:
        cluster.stop()
