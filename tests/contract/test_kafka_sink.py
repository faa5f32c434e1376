"""The sink contract on librdkafka's mock cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.sinks.kafka import KafkaSink
from causewatch.testing import SinkContract
from services.kafka import MockCluster, mock_cluster


class Rig:
    """A reader of the topic of alarms."""

    def __init__(self, cluster: MockCluster) -> None:
        self.cluster = cluster
        cluster.create("alarms")

    def sink(self) -> KafkaSink:
        return KafkaSink(parse_address(f"kafka://{self.cluster.address}/alarms?timeout=3s"))

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(message.value()) for message in self.cluster.messages("alarms")]

    def down(self) -> None:
        self.cluster.down()

    def up(self) -> None:
        self.cluster.up()


class TestKafkaSink(SinkContract):
    """Events as messages."""

    @pytest.fixture
    def rig(self) -> Iterator[Rig]:
        with mock_cluster() as cluster:
            yield Rig(cluster)
