"""The source contract on a real nats-server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.nats import NatsSource
from causewatch.testing import SourceContract
from services.nats import NatsServer, nats_server

NONSENSE = (b"", b"{", b"[1, 2]", b"\xff\xfe", b"[" * 100_000, b" " * 300_000 + b"1")


class RowsRig:
    """A plant that publishes rows."""

    columns = ("a", "b", "c")
    behind = 0
    whole = True
    path = "plant.rows?format=rows"

    def __init__(self, server: NatsServer) -> None:
        self.server = server

    def source(self) -> NatsSource:
        url = f"nats://{self.server.address}/{self.path}"
        return NatsSource(parse_address(url), Wanted(self.columns, 1.0))

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        messages = [
            ("plant.rows", json.dumps({"time": when.isoformat(), **row}).encode())
            for row, when in zip(rows, times, strict=True)
        ]
        self.server.publish(messages)

    def nonsense(self) -> int:
        self.server.publish([("plant.rows", data) for data in NONSENSE])
        return len(NONSENSE)

    def finish(self) -> None:
        pass


class TagsRig(RowsRig):
    """A plant that publishes each value on its own."""

    behind = 1
    path = "plant.tag.>?format=tags"

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        messages = [
            (f"plant.tag.{name}", json.dumps({"value": value, "time": when.isoformat()}).encode())
            for row, when in zip(rows, times, strict=True)
            for name, value in row.items()
        ]
        self.server.publish(messages)

    def nonsense(self) -> int:
        self.server.publish(
            [
                ("plant.tag.unheard", b"1"),
                ("plant.tag.b", b'{"val": 1}'),
                ("plant.tag.b", b'{"value": 1, "time": "noon"}'),
                *(("plant.tag.a", data) for data in NONSENSE),
            ]
        )
        return 3 + len(NONSENSE)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with nats_server(tmp_path_factory.mktemp("nats")) as found:
        yield found


@pytest.fixture
def server(running: NatsServer) -> Iterator[NatsServer]:
    running.add_stream("PLANT", ["plant.>"])
    yield running
    running.delete_stream("PLANT")


class TestNatsRows(SourceContract):
    """Each message is a row."""

    @pytest.fixture
    def rig(self, server: NatsServer) -> RowsRig:
        return RowsRig(server)


class TestNatsTags(SourceContract):
    """Each message is a value."""

    @pytest.fixture
    def rig(self, server: NatsServer) -> TagsRig:
        return TagsRig(server)
