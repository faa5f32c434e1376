"""The source contract on librdkafka's mock cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.kafka import KafkaSource
from causewatch.testing import SourceContract
from services.kafka import MockCluster, mock_cluster

NONSENSE = (b"", b"{", b"[1, 2]", b"\xff\xfe", b"[" * 100_000, b" " * (1 << 20) + b"1", None)


class RowsRig:
    """A plant that produces rows."""

    columns = ("a", "b", "c")
    behind = 0
    whole = True
    format = "rows"

    def __init__(self, cluster: MockCluster) -> None:
        self.cluster = cluster
        cluster.create("plant")
        self.producer = cluster.producer()

    def source(self) -> KafkaSource:
        url = f"kafka://{self.cluster.address}/plant?format={self.format}"
        return KafkaSource(parse_address(url), Wanted(self.columns, 1.0))

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        for row, when in zip(rows, times, strict=True):
            self.put(None, json.dumps({"time": when.isoformat(), **row}).encode())
        assert self.producer.flush(10) == 0

    def put(self, key: bytes | None, value: bytes | None) -> None:
        self.producer.produce("plant", value, key, partition=0)

    def nonsense(self) -> int:
        for value in NONSENSE:
            self.put(b"a", value)
        assert self.producer.flush(10) == 0
        return len(NONSENSE)

    def finish(self) -> None:
        pass


class TagsRig(RowsRig):
    """A plant that produces each value on its own."""

    behind = 1
    format = "tags"

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        for row, when in zip(rows, times, strict=True):
            for name, value in row.items():
                told = {"value": value, "time": when.isoformat()}
                self.put(name.encode(), json.dumps(told).encode())
        assert self.producer.flush(10) == 0

    def nonsense(self) -> int:
        self.put(None, b"1")
        self.put(b"unheard", b"1")
        self.put(b"b", b'{"val": 1}')
        self.put(b"b", b'{"value": 1, "time": "noon"}')
        return 4 + RowsRig.nonsense(self)


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as found:
        yield found


class TestKafkaRows(SourceContract):
    """Each message is a row."""

    @pytest.fixture
    def rig(self, cluster: MockCluster) -> RowsRig:
        return RowsRig(cluster)


class TestKafkaTags(SourceContract):
    """Each message is a value."""

    @pytest.fixture
    def rig(self, cluster: MockCluster) -> TagsRig:
        return TagsRig(cluster)
