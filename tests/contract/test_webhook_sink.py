"""Webhooks keep the contract of a sink."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.sinks.webhook import WebhookSink
from causewatch.testing import SinkContract
from services.certificates import Certificates, make_certificates
from services.webhook import WebhookServer


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


class WebhookRig:
    """A web server."""

    def __init__(self, server: WebhookServer, url: str) -> None:
        self._server = server
        self._url = url

    def sink(self) -> WebhookSink:
        return WebhookSink(parse_address(self._url))

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(one.body) for one in list(self._server.requests)]

    def down(self) -> None:
        self._server.stop()

    def up(self) -> None:
        self._server.start()


class TestWebhookSink(SinkContract):
    """Without TLS."""

    @pytest.fixture
    def rig(self) -> Iterator[WebhookRig]:
        with WebhookServer() as server:
            yield WebhookRig(server, f"http://127.0.0.1:{server.port}/alarms")


class TestSecureWebhookSink(SinkContract):
    """With TLS."""

    @pytest.fixture
    def rig(self, certificates: Certificates) -> Iterator[WebhookRig]:
        with WebhookServer(certificates.server_context()) as server:
            yield WebhookRig(
                server, f"webhook+https://localhost:{server.port}/a?ca={certificates.ca}"
            )
