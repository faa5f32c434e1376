"""The sink contract on a real mosquitto."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.sinks.mqtt import MqttSink
from causewatch.testing import SinkContract
from services.mosquitto import Listener, Mosquitto, mosquitto


class AlarmsRig:
    """A listener at a broker; it has a session, so that nothing passes it by."""

    def __init__(self, broker: Mosquitto) -> None:
        self._broker = broker
        self._listener: Listener | None = Listener(broker.port, "alarms")
        self._before: list[Any] = []

    def sink(self) -> MqttSink:
        url = f"mqtt://{self._broker.address}/alarms?status=watch/status"
        return MqttSink(parse_address(url), patience=3.0)

    def received(self) -> list[dict[str, Any]]:
        now = [] if self._listener is None else self._listener.messages
        return [json.loads(message.payload) for message in [*self._before, *now]]

    def down(self) -> None:
        self.close()
        self._broker.stop()

    def up(self) -> None:
        self._broker.start()
        self._listener = Listener(self._broker.port, "alarms")

    def close(self) -> None:
        if self._listener is not None:
            self._before += self._listener.messages
            self._listener.close()
            self._listener = None


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AlarmsRig]:
    with mosquitto(tmp_path, persistent=False) as broker:
        made = AlarmsRig(broker)
        yield made
        made.close()


class TestMqttSink(SinkContract):
    """Events to a topic."""
