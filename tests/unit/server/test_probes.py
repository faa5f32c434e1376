"""Probes: nobody can hold up who tells how a watch stands, nor ask in the name of somebody else."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from causewatch.errors import StreamError
from causewatch.monitor.health import STREAM
from causewatch.server import connection as connections
from causewatch.server.probes import MetricsServer, telling
from causewatch.streaming.metrics import Metrics
from causewatch.streaming.plan import Place, Plan
from causewatch.streaming.sink import Status
from causewatch.testing import FakeClock
from causewatch.testing.waiting import PATIENCE

STATUS = Status("line 1", rows=120, ticks=12, source="connected")


@pytest.fixture
def now() -> FakeClock:
    return FakeClock(1000.0)


@pytest.fixture
def metrics(now: FakeClock) -> Metrics:
    return Metrics("line 1", now=now)


@pytest.fixture
def server(metrics: Metrics) -> Iterator[MetricsServer]:
    server = MetricsServer(metrics, port=0)
    yield server
    server.close()


def ask(server: MetricsServer, path: str, method: str = "GET") -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


def connect(server: MetricsServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def test_metrics_are_answered(server: MetricsServer, metrics: Metrics) -> None:
    metrics.look(STATUS)
    status, kind, text = ask(server, "/metrics?x=1")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "\ncausewatch_rows_total 120.0\n" in text


def test_health(server: MetricsServer, metrics: Metrics, now: FakeClock) -> None:
    assert ask(server, "/healthz")[::2] == (503, "The watch has not begun yet.\n")
    metrics.look(STATUS)
    assert ask(server, "/healthz")[::2] == (200, "The watch is running: connected.\n")
    metrics.look(Status("w", source="No room.", unwell={STREAM: "silent"}))
    assert ask(server, "/healthz")[2] == "The watch is running: No room; no rows come.\n"
    now.sleep(60)
    assert ask(server, "/healthz")[0] == 200
    now.sleep(11)
    text = "The watch gave its last sign of life 71 s ago; 60 s are allowed.\n"
    assert ask(server, "/healthz")[::2] == (503, text)
    metrics.look(STATUS)
    assert ask(server, "/healthz")[0] == 200


@pytest.mark.parametrize("path", ["/", "/metricsx", "/metrics/", "/../etc/passwd", "/<script>"])
def test_nothing_else_is_here(server: MetricsServer, path: str) -> None:
    status, kind, text = ask(server, path)
    assert (status, kind) == (404, "text/plain; charset=utf-8")
    assert text == "There is nothing here; ask for /metrics or /healthz.\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_only_get(server: MetricsServer, method: str) -> None:
    assert ask(server, "/metrics", method)[::2] == (405, "Only GET is answered.\n")


@pytest.mark.parametrize(
    "request_",
    [
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET",
        b"BREW /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_nonsense_does_no_harm(server: MetricsServer, request_: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(request_)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1000):
            pass
    assert ask(server, "/metrics")[0] == 200


def test_a_request_without_end_is_cut_off(server: MetricsServer) -> None:
    with connect(server) as connection:
        sent = 0
        try:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n")
            while sent < 50_000_000:
                sent += connection.send(b"X: " + b"y" * 10_000 + b"\r\n")
        except OSError:
            pass
        assert sent < 50_000_000
    assert ask(server, "/metrics")[0] == 200


def test_nobody_holds_a_connection_for_long(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then does not help: the time limit is one for the whole request."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.4)
    began = time.monotonic()
    with connect(server) as connection:
        try:
            while time.monotonic() - began < 2 * PATIENCE:
                connection.sendall(b"X")
                time.sleep(0.02)
        except OSError:
            pass  # hung up on
    assert time.monotonic() - began < PATIENCE


@pytest.mark.parametrize("slow", [100, 300])
def test_slow_ones_do_not_keep_others_waiting(
    server: MetricsServer, metrics: Metrics, slow: int
) -> None:
    """From the same address, and whether they have sent something or not."""
    metrics.look(STATUS)
    with ExitStack() as stack:
        for k in range(slow):
            held = stack.enter_context(connect(server))
            held.sendall(b"GET /healthz HTTP/1.1\r\nHo"[: k % 25])
        for path in ("/healthz", "/metrics") * 5:
            began = time.monotonic()
            assert ask(server, path)[0] == 200
            assert time.monotonic() - began < 2.0


def test_only_the_names_of_this_machine_are_known(server: MetricsServer, metrics: Metrics) -> None:
    """A page from elsewhere can give its own name the address of this machine."""
    metrics.look(STATUS)

    def asked(host: str) -> tuple[int, bytes]:
        with connect(server) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n" + host.encode() + b"\r\n")
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, answer.read()

    for name in ("localhost", "127.0.0.1", "localhost:9464", "[::1]:80"):
        assert asked(f"Host: {name}\r\n")[0] == 200
    status, text = asked("Host: evil.example\r\n")
    assert status == 421
    assert b"name another address in --metrics" in text
    assert b"causewatch_rows" not in text
    assert asked("")[0] == 400
    assert asked("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n")[0] == 403


def test_closing_does_not_wait_for_who_asks_nothing(server: MetricsServer) -> None:
    with connect(server):
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < PATIENCE
    server.close()
    with pytest.raises(OSError, match="refused"):
        connect(server)
    assert not [one for one in threading.enumerate() if one.name == "web"]


def test_a_place_that_is_taken(server: MetricsServer, metrics: Metrics) -> None:
    with pytest.raises(
        StreamError,
        match=r"metrics cannot be served at 127.0.0.1:.* in use; name another --metrics",
    ):
        MetricsServer(metrics, port=server.port)


def test_a_plan_says_where(tmp_path: Path) -> None:
    plan = Plan(model=tmp_path / "m.cwm", source=Place("-"), metrics="127.0.0.1:0")
    with telling(plan) as (metrics,):
        assert isinstance(metrics, Metrics)
        assert [one for one in threading.enumerate() if one.name == "web"]
    assert not [one for one in threading.enumerate() if one.name == "web"]
    with telling(Plan(model=plan.model, source=plan.source)) as nobody:
        assert nobody == ()
