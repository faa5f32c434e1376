"""Kafka source and sink on librdkafka's mock cluster: what happens to topics and connections."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.sink import DeliveryError, Notice
from causewatch.streaming.sinks.kafka import KEY_HEADER, KafkaSink
from causewatch.streaming.source import Limits, Wanted
from causewatch.streaming.sources import kafka_topic
from causewatch.streaming.sources.kafka import KafkaSource
from causewatch.streaming.tags import Tag, TagMap
from causewatch.testing import example_event, until
from causewatch.testing.waiting import PATIENCE
from services.kafka import MockCluster, mock_cluster

QUICK = {"rdkafka.reconnect.backoff.max.ms": 200}


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as found:
        yield found


class Plant:
    """Produces rows that are numbered."""

    def __init__(self, cluster: MockCluster, topic: str = "plant") -> None:
        self._producer = cluster.producer()
        self._topic = topic

    def send(self, numbers: Sequence[int], partition: int = 0) -> None:
        for number in numbers:
            row = json.dumps({"time": number, "a": number}).encode()
            self._producer.produce(self._topic, row, partition=partition)
        assert self._producer.flush(10) == 0


def source_of(cluster: MockCluster, query: str = "", **limits: int) -> KafkaSource:
    address = parse_address(f"kafka://{cluster.address}/plant{query}", QUICK)
    return KafkaSource(address, Wanted(("a",), 1.0, limits=Limits(**limits)))


class Reader:
    """A source, and the numbers of the rows that came out of it."""

    def __init__(self, source: KafkaSource, after: dict[str, Any] | None = None) -> None:
        self.source = source
        self.numbers: list[int] = []
        source.open(after or {})

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def poll(self, wait: float = 0.02) -> None:
        self.numbers += [int(row["a"]) for row, _ in self.source.poll(wait).named]

    def until(self, count: int) -> list[int]:
        assert until(lambda: self.poll() or len(self.numbers) >= count), self.source.status
        return self.numbers

    def saved(self) -> dict[str, Any]:
        return dict(json.loads(json.dumps(self.source.position())))


def connected(reader: Reader) -> bool:
    return until(lambda: reader.poll() or reader.source.status == "connected")


def test_the_first_run_may_begin_with_new_rows(cluster: MockCluster) -> None:
    cluster.create("plant", 2)
    plant = Plant(cluster)
    plant.send(range(5))
    with Reader(source_of(cluster, "?start=latest")) as reader:
        assert connected(reader)
        # Known before any row has come, so nothing of what comes next is missed after a kill.
        assert reader.saved()["offsets"] == {"0": 5, "1": 0}
        saved = reader.saved()
    plant.send(range(5, 8))
    with Reader(source_of(cluster, "?start=latest"), saved) as reader:
        assert reader.until(3) == [5, 6, 7]


def test_all_partitions_are_read_and_each_has_its_place(cluster: MockCluster) -> None:
    cluster.create("plant", 3)
    plant = Plant(cluster)
    for partition in range(3):
        plant.send(range(10 * partition, 10 * partition + 4), partition)
    with Reader(source_of(cluster)) as reader:
        assert sorted(reader.until(12)) == [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]
        saved = reader.saved()
    assert saved["offsets"] == {"0": 4, "1": 4, "2": 4}
    # A partition that the last run did not know is read from its beginning.
    del saved["offsets"]["1"]
    with Reader(source_of(cluster, "?start=latest"), saved) as reader:
        assert reader.until(4) == [10, 11, 12, 13]


def test_a_topic_that_comes_later_is_read(
    cluster: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), Reader(source_of(cluster)) as reader:
        assert until(lambda: reader.poll() or "no topic" in reader.source.status)
        cluster.create("plant")
        Plant(cluster).send(range(3))
        assert reader.until(3) == [0, 1, 2]
        assert reader.source.status == "connected"
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_rows_that_retention_has_removed_are_counted(
    cluster: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.create("plant")
    plant = Plant(cluster)
    plant.send(range(10))
    with Reader(source_of(cluster)) as reader:
        reader.until(10)
        saved = reader.saved()
    saved["offsets"]["0"] = 3
    cluster.forget("plant", before=7)
    with Reader(source_of(cluster), saved) as reader:
        assert reader.until(3) == [7, 8, 9]
        assert reader.source.problems == {"lost_rows": 4}
    assert "no longer has the messages from 3 to 6" in caplog.text


def test_rows_removed_while_it_reads_are_counted(cluster: MockCluster) -> None:
    cluster.create("plant")
    Plant(cluster).send(range(3))
    with Reader(source_of(cluster)) as reader:
        reader.until(3)
        cluster.down()
        assert until(lambda: reader.poll() or "again" in reader.source.status)
        cluster.up()
        Plant(cluster).send(range(3, 9))
        cluster.forget("plant", before=6)
        # The client library may have fetched some before they went.
        assert until(lambda: reader.poll() or 8 in reader.numbers)
        assert reader.numbers[-3:] == [6, 7, 8]
        assert reader.source.problems.get("lost_rows", 0) == 9 - len(reader.numbers)


def test_a_topic_that_was_made_anew_is_read_from_its_start(cluster: MockCluster) -> None:
    cluster.create("plant")
    plant = Plant(cluster)
    plant.send(range(5))
    with Reader(source_of(cluster)) as reader:
        reader.until(5)
        saved = reader.saved()
    cluster.delete("plant")
    cluster.create("plant")
    plant = Plant(cluster)
    plant.send(range(100, 108))  # more than before: offsets alone would not tell
    with Reader(source_of(cluster), saved) as reader:
        assert reader.until(8) == list(range(100, 108))
        assert reader.source.problems == {"topic_reset": 1}


def test_partitions_and_topics_made_while_it_reads(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_topic, "LOOK_EVERY", 0.1)
    cluster.create("plant", 1)
    Plant(cluster).send(range(5))
    with Reader(source_of(cluster)) as reader:
        reader.until(5)
        cluster.delete("plant")
        cluster.create("plant", 2)
        plant = Plant(cluster)
        plant.send(range(10, 13))
        plant.send(range(20, 23), partition=1)
        assert sorted(reader.until(11)[5:]) == [10, 11, 12, 20, 21, 22]
        assert reader.source.problems["topic_reset"] == 1
        assert reader.saved()["offsets"] == {"0": 3, "1": 3}


def test_a_cluster_that_is_away_at_first(cluster: MockCluster) -> None:
    cluster.create("plant")
    Plant(cluster).send(range(3))
    cluster.down()
    with Reader(source_of(cluster)) as reader:
        assert until(lambda: reader.poll() or "trying again" in reader.source.status)
        assert reader.saved()["offsets"] == {}
        cluster.up()
        assert reader.until(3) == [0, 1, 2]
        assert reader.source.problems == {"reconnects": 1}


def test_nothing_is_lost_or_doubled_when_the_cluster_goes_and_comes(cluster: MockCluster) -> None:
    cluster.create("plant")
    with Reader(source_of(cluster)) as reader:
        for turn in range(3):
            Plant(cluster).send(range(20 * turn, 20 * turn + 20))
            for _ in range(turn):
                reader.poll()  # some turns are cut with rows on the way
            cluster.down()
            reader.poll(0.1)
            cluster.up()
        assert reader.until(60) == list(range(60))
        assert not len(reader.source.poll(0.2))


def test_killed_at_any_moment_it_goes_on_from_the_last_checkpoint(cluster: MockCluster) -> None:
    cluster.create("plant", 2)
    plant = Plant(cluster)
    chance = random.Random(7)
    saved: dict[str, Any] = {}
    kept: list[int] = []  # rows that are in a checkpoint
    for turn in range(12):
        plant.send(range(10 * turn, 10 * turn + 10), turn % 2)
        with Reader(source_of(cluster), saved) as reader:
            reader.until(chance.randrange(1, 10))
            if chance.random() < 0.6:
                kept += reader.numbers
                saved = reader.saved()
                if chance.random() < 0.5:  # else killed between checkpoint and commit
                    reader.source.committed()
            reader.poll()
    with Reader(source_of(cluster), saved) as reader:
        kept += reader.until(120 - len(kept))
    assert sorted(kept) == list(range(120))


def test_offsets_are_committed_for_those_who_look_at_the_lag(cluster: MockCluster) -> None:
    from confluent_kafka import Consumer, TopicPartition

    cluster.create("plant")
    Plant(cluster).send(range(6))
    look = Consumer({"bootstrap.servers": cluster.address, "group.id": "watch1", "log_level": 0})
    try:
        with Reader(source_of(cluster, "?group=watch1")) as reader:
            reader.until(6)
            reader.source.committed()
            place = TopicPartition("plant", 0)
            assert until(
                lambda: reader.poll() or look.committed([place], timeout=PATIENCE)[0].offset == 6
            )
    finally:
        look.close()
    # They are not what the next run goes by.
    with Reader(source_of(cluster, "?group=watch1")) as reader:
        assert reader.until(6) == [0, 1, 2, 3, 4, 5]


def test_messages_without_value_and_large_ones_are_counted(cluster: MockCluster) -> None:
    cluster.create("plant")
    producer = cluster.producer()
    for value in (None, b" " * 4_000_000, b'{"time": 1, "a": 1}'):
        producer.produce("plant", value, b"key", partition=0)
    assert producer.flush(20) == 0
    with Reader(source_of(cluster, payload=2_000)) as reader:
        assert reader.until(1) == [1]
        assert reader.source.problems == {"empty": 1, "too_large": 1}
        assert reader.saved()["offsets"] == {"0": 3}


def test_tags_have_the_time_of_their_message_if_they_tell_none(cluster: MockCluster) -> None:
    cluster.create("plant")
    producer = cluster.producer()
    begin = 1_767_225_600_000  # milliseconds
    for second in range(4):
        for tag, value in (("T1", b"%d" % second), ("other", b"1")):
            producer.produce(
                "plant", value, tag.encode(), partition=0, timestamp=begin + 1000 * second
            )
    assert producer.flush(10) == 0
    tags = TagMap({"T1": Tag("T1", "a", factor=2.0, offset=1.0)})
    address = parse_address(f"kafka://{cluster.address}/plant?format=tags")
    source = KafkaSource(address, Wanted(("a",), 1.0, tags=tags))
    source.open({})
    try:
        rows: list[tuple[int, float]] = []

        def read() -> bool:
            batch = source.poll(0.02)
            rows.extend(zip(batch.times.tolist(), batch.values[:, 0].tolist(), strict=True))
            return len(rows) >= 3

        assert until(read)
        assert rows == [(begin * 10**6 + k * 10**9, 2.0 * k + 1.0) for k in range(len(rows))]
        assert source.clock == "utc"
        assert source.problems == {"unknown_tags": 4}
    finally:
        source.close()


def test_events_carry_the_alarm_as_key_and_a_word_to_know_repetitions(cluster: MockCluster) -> None:
    cluster.create("alarms")
    sink = KafkaSink(parse_address(f"kafka://{cluster.address}/alarms?format=cef"))
    sink.open(None)
    try:
        sink.send([Notice(7, "line 1", example_event(7), "a5")])
    finally:
        sink.close()
    (message,) = cluster.messages("alarms")
    assert message.key() == b"000000000007"
    assert message.headers() == [(KEY_HEADER, b"line 1/a5/7-dc9bae81")]
    assert message.value().startswith(b"CEF:0|causewatch|")


def test_a_cluster_that_goes_away_between_events(cluster: MockCluster) -> None:
    cluster.create("alarms")
    sink = KafkaSink(parse_address(f"kafka://{cluster.address}/alarms?timeout=2s", QUICK))
    sink.open(None)
    try:
        sink.send([Notice(1, "w", example_event(1))])
        cluster.down()
        with pytest.raises(DeliveryError, match="did not take an event"):
            sink.send([Notice(2, "w", example_event(2))])
        cluster.up()
        sink.send([Notice(2, "w", example_event(2))])
    finally:
        sink.close()
    # The first try was given up for good, so it did not come as well.
    assert [message.key() for message in cluster.messages("alarms")] == [
        b"000000000001",
        b"000000000002",
    ]
