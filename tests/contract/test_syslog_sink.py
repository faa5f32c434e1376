"""Syslog keeps the contract of a sink, over each of its transports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.sinks.syslog import SyslogSink
from causewatch.testing import SinkContract
from services.certificates import Certificates, make_certificates
from services.syslog import DatagramServer, StreamServer, parse


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


class SyslogRig:
    """A receiver."""

    def __init__(self, server: DatagramServer | StreamServer, url: str) -> None:
        self._server = server
        self._url = url

    def sink(self) -> SyslogSink:
        return SyslogSink(parse_address(self._url))

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(parse(one)["text"]) for one in list(self._server.messages)]

    def down(self) -> None:
        self._server.stop()

    def up(self) -> None:
        self._server.start()


class LocalRig(SyslogRig):
    """A socket of this machine, which has a form of its own."""

    def received(self) -> list[dict[str, Any]]:
        found = [one.decode().partition(">causewatch: ")[2] for one in list(self._server.messages)]
        return [json.loads(text) for text in found]


class TestSyslogUdp(SinkContract):
    """Over UDP on one machine, where the system tells that nobody listens."""

    @pytest.fixture
    def rig(self) -> Iterator[SyslogRig]:
        with DatagramServer() as server:
            yield SyslogRig(server, f"syslog://127.0.0.1:{server.port}?format=json")


class TestSyslogLocal(SinkContract):
    """To a socket of this machine."""

    @pytest.fixture
    def rig(self, tmp_path: Path) -> Iterator[LocalRig]:
        with DatagramServer(tmp_path / "log") as server:
            yield LocalRig(server, f"syslog://{tmp_path}/log?format=json")


class TestSyslogTcp(SinkContract):
    """Over TCP."""

    @pytest.fixture
    def rig(self) -> Iterator[SyslogRig]:
        with StreamServer() as server:
            yield SyslogRig(server, f"syslog+tcp://127.0.0.1:{server.port}?format=json")


class TestSyslogTls(SinkContract):
    """Over TLS."""

    @pytest.fixture
    def rig(self, certificates: Certificates) -> Iterator[SyslogRig]:
        with StreamServer(certificates.server_context()) as server:
            yield SyslogRig(
                server, f"syslog+tls://localhost:{server.port}?format=json&ca={certificates.ca}"
            )
