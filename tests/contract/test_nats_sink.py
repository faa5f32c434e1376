"""The sink contract on a real nats-server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.sinks.nats import NatsSink
from causewatch.testing import SinkContract
from services.nats import NatsServer, nats_server


class Rig:
    """A reader of the stream of alarms."""

    def __init__(self, server: NatsServer) -> None:
        self.server = server
        server.add_stream("ALARMS", ["alarms"])

    def sink(self) -> NatsSink:
        return NatsSink(parse_address(f"nats://{self.server.address}/alarms?timeout=5s"))

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(data) for data in self.server.messages("ALARMS")]

    def down(self) -> None:
        self.server.kill()

    def up(self) -> None:
        self.server.start()


class TestNatsSink(SinkContract):
    """Events as messages of a stream."""

    @pytest.fixture
    def rig(self, tmp_path: Path) -> Iterator[Rig]:
        with nats_server(tmp_path) as server:
            yield Rig(server)
