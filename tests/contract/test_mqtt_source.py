"""The source contract on a real mosquitto."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.source import Limits, Wanted
from causewatch.streaming.sources.mqtt import MqttSource
from causewatch.testing import SourceContract
from services import sparkplug
from services.mosquitto import Mosquitto, mosquitto

NONSENSE = (b"", b"{", b"[1, 2]", b"\xff\xfe", b"[" * 100_000, b" " * 300_000 + b"1")


class RowsRig:
    """A plant that publishes rows."""

    columns = ("a", "b", "c")
    behind = 0
    whole = True
    path = "plant/rows?version=5"

    def __init__(self, broker: Mosquitto) -> None:
        self.broker = broker
        self._sources = 0

    @property
    def needs_session(self) -> bool:
        """The broker keeps rows once the first source has been there."""
        return self._sources < 2

    def source(self) -> MqttSource:
        self._sources += 1
        wanted = Wanted(self.columns, 1.0, limits=Limits(payload=200_000))
        return MqttSource(parse_address(f"mqtt://{self.broker.address}/{self.path}"), wanted)

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        self.broker.publish(
            [
                ("plant/rows", json.dumps({"time": when.isoformat(), **row}).encode())
                for row, when in zip(rows, times, strict=True)
            ]
        )

    def nonsense(self) -> int:
        self.broker.publish([("plant/rows", data) for data in NONSENSE])
        return len(NONSENSE)

    def finish(self) -> None:
        pass


class OlderRig(RowsRig):
    """The same in the older version of the protocol."""

    path = "plant/rows?version=3.1.1"


class TagsRig(RowsRig):
    """A plant that publishes each value to a topic of its own."""

    behind = 1
    path = "plant/tags/#?format=tags"

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        self.broker.publish(
            [
                (f"plant/tags/{tag}", json.dumps({"value": v, "time": when.isoformat()}).encode())
                for row, when in zip(rows, times, strict=True)
                for tag, v in row.items()
            ]
        )

    def nonsense(self) -> int:
        self.broker.publish([("plant/tags/a", data) for data in NONSENSE])
        return len(NONSENSE)


class SparkplugRig(RowsRig):
    """A node of Sparkplug B; nothing is kept of what it sends while nobody listens."""

    behind = 1
    whole = False
    path = "spBv1.0/plant/#?format=sparkplug"

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        messages = []
        for number, (row, when) in enumerate(zip(rows, times, strict=True)):
            data = sparkplug.payload(
                [
                    sparkplug.metric(
                        None if number else name, value, sparkplug.DOUBLE, alias=ord(name)
                    )
                    for name, value in row.items()
                ],
                seq=number,
                timestamp=round(when.timestamp() * 1000),
            )
            messages.append((f"spBv1.0/plant/{'NDATA' if number else 'NBIRTH'}/node", data))
        self.broker.publish(messages, qos=0)

    def nonsense(self) -> int:
        self.broker.publish([("spBv1.0/plant/NDATA/node", data) for data in NONSENSE])
        return len(NONSENSE)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path, persistent=False) as running:
        yield running


class TestMqttRows(SourceContract):
    """Rows, MQTT 5."""

    @pytest.fixture
    def rig(self, broker: Mosquitto) -> RowsRig:
        return RowsRig(broker)


class TestMqttRowsOlder(SourceContract):
    """Rows, MQTT 3.1.1."""

    @pytest.fixture
    def rig(self, broker: Mosquitto) -> RowsRig:
        return OlderRig(broker)


class TestMqttTags(SourceContract):
    """A topic for each tag."""

    @pytest.fixture
    def rig(self, broker: Mosquitto) -> RowsRig:
        return TagsRig(broker)


class TestMqttSparkplug(SourceContract):
    """Births and data of a node."""

    @pytest.fixture
    def rig(self, broker: Mosquitto) -> RowsRig:
        return SparkplugRig(broker)
