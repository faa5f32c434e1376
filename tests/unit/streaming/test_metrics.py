"""Metrics: what Prometheus reads is what was told, and nobody can hold up who tells it."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from causewatch.errors import StreamError
from causewatch.monitor.health import STREAM
from causewatch.streaming import metrics_server
from causewatch.streaming.metrics import Metrics, MetricsServer
from causewatch.streaming.sink import Status
from causewatch.testing import FakeClock, until
from causewatch.testing.waiting import PATIENCE

STATUS = Status(
    "line 1",
    time="2026-01-01T00:00:00Z",
    score=1.25,
    alarms=[{"kind": "anomaly"}, {"kind": "health"}, {"kind": "anomaly"}],
    unwell={"LIT301": "frozen", "FIT401": "ok"},
    rows=120,
    ticks=12,
    lag=0.5,
    signals={"LIT301": 1.25, "FIT401": 0.1},
    problems={"late_rows": 3},
    source="connected",
)

Labels = frozenset[tuple[str, str]]


def read(metrics: Metrics) -> dict[tuple[str, Labels], float]:
    """Every sample, by name and labels, as Prometheus reads them."""
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, "told twice"
            found[key] = sample.value
    return found


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return read(metrics).get((f"causewatch_{name}", frozenset(labels.items())))


def test_how_a_watch_stands() -> None:
    metrics = Metrics("line 1")
    metrics.look(STATUS)
    assert value(metrics, "rows_total") == 120
    assert value(metrics, "ticks_total") == 12
    assert value(metrics, "lag_seconds") == 0.5
    assert value(metrics, "score") == 1.25
    assert value(metrics, "signal_evidence", signal="LIT301") == 1.25
    assert value(metrics, "alarms_on", kind="anomaly") == 2
    assert value(metrics, "alarms_on", kind="health") == 1
    assert value(metrics, "signal_unwell", signal="LIT301", state="frozen") == 1
    assert value(metrics, "signal_unwell", signal="FIT401", state="ok") is None
    assert value(metrics, "problems_total", kind="late_rows") == 3
    assert value(metrics, "source_up") == 1
    assert [key for key in read(metrics) if key[0] == "causewatch_watch_info"]


def test_what_is_over_is_no_longer_told() -> None:
    metrics = Metrics("line 1")
    metrics.look(STATUS)
    metrics.look(Status("line 1", source="trying again: connection refused"))
    assert value(metrics, "signal_unwell", signal="LIT301", state="frozen") is None
    assert value(metrics, "signal_evidence", signal="LIT301") is None
    assert value(metrics, "alarms_on", kind="anomaly") == 0
    assert value(metrics, "source_up") == 0


def test_what_is_not_known_is_left_out() -> None:
    metrics = Metrics("line 1")
    assert value(metrics, "rows_total") is None
    metrics.look(Status("line 1"))
    for name in ("score", "lag_seconds", "source_up", "checkpoint_age_seconds", "inbox_waiting"):
        assert value(metrics, name) is None
    assert value(metrics, "rows_total") == 0


def test_counters() -> None:
    now = FakeClock(10.0)
    metrics = Metrics("line 1", now=now)
    for event, kind in (("raised", "anomaly"), ("updated", "anomaly"), ("raised", "health")):
        metrics.event({"event": event, "kind": kind})
    metrics.event({"event": "raised", "kind": "weather"})
    metrics.delivery("https://a", 1, 7, {"refused": 0})
    metrics.delivery("https://a", 4, 2, {"refused": 3})
    metrics.checkpoint(0.004)
    metrics.checkpoint(0.3)
    metrics.inbox(5, 6, 7)
    now.sleep(2.5)
    assert value(metrics, "alarms_raised_total", kind="anomaly") == 1
    assert value(metrics, "alarms_raised_total", kind="health") == 1
    assert value(metrics, "alarms_raised_total", kind="weather") is None
    assert value(metrics, "sink_errors_total", sink="https://a") == 4
    assert value(metrics, "sink_waiting", sink="https://a") == 2
    assert value(metrics, "sink_problems_total", sink="https://a", kind="refused") == 3
    assert value(metrics, "checkpoint_seconds_count") == 2
    assert value(metrics, "checkpoint_seconds_bucket", le="0.005") == 1
    assert value(metrics, "checkpoint_age_seconds") == 2.5
    assert value(metrics, "inbox_waiting") == 5
    assert value(metrics, "inbox_waits_total") == 6
    assert value(metrics, "inbox_turned_away_total") == 7


@given(
    st.dictionaries(
        st.text(
            st.one_of(st.sampled_from('"\\\n{},= #'), st.characters(codec="utf-8")), max_size=20
        ),
        st.floats(0, 1e6),
        max_size=4,
    )
)
def test_any_name_of_a_signal(signals: dict[str, float]) -> None:
    metrics = Metrics('a "watch"\n\\')
    metrics.look(replace(STATUS, signals=signals, unwell=dict.fromkeys(signals, "missing")))
    found = read(metrics)
    for name, evidence in signals.items():
        labels = frozenset({("signal", name)})
        assert found["causewatch_signal_evidence", labels] == evidence
        labels |= {("state", "missing")}
        assert found["causewatch_signal_unwell", labels] == 1
    assert sum(name == "causewatch_signal_evidence" for name, _ in found) == len(signals)
    info = next(dict(labels) for name, labels in found if name == "causewatch_watch_info")
    assert info["watch"] == 'a "watch"\n\\'


def test_there_are_no_more_series_than_signals_and_states() -> None:
    """However long it runs, and whatever is the matter."""
    metrics = Metrics("line 1")
    metrics.look(STATUS)
    before = len(read(metrics))
    for k in range(100):
        metrics.look(replace(STATUS, rows=k, unwell={"LIT301": f"has stood still for {k} ticks"}))
        metrics.event({"event": "raised", "kind": f"kind {k}", "id": str(k)})
        metrics.checkpoint(0.001 * k)
    after = read(metrics)
    assert len(after) == before + 1  # the age of the checkpoint
    unwell = frozenset({("signal", "LIT301"), ("state", "other")})
    assert after["causewatch_signal_unwell", unwell] == 1


def test_a_half_of_a_character_is_told_as_well_as_can_be() -> None:
    metrics = Metrics("line 1")
    metrics.look(replace(STATUS, signals={"a" + chr(0xD800): 1.0, "a" + chr(0xDFFF): 2.0}))
    assert value(metrics, "signal_evidence", signal="a\\ud800") == 1.0
    assert value(metrics, "signal_evidence", signal="a\\udfff") == 2.0


def test_watches_share_nothing() -> None:
    first, second = Metrics("one"), Metrics("two")
    first.look(STATUS)
    first.checkpoint(1.0)
    assert value(second, "rows_total") is None
    assert value(second, "checkpoint_seconds_count") == 0
    everywhere = {name for family in REGISTRY.collect() for name in (family.name,)}
    assert not [name for name in everywhere if name.startswith("causewatch")]


# The server


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
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


def connect(server: MetricsServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


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


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "BREW"])
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
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then does not help: the time limit is one for the whole request."""
    monkeypatch.setattr(metrics_server, "TIMEOUT", 0.4)
    server = MetricsServer(metrics, port=0)
    try:
        began = time.monotonic()
        with connect(server) as connection:
            try:
                while time.monotonic() - began < 2 * PATIENCE:
                    connection.sendall(b"X")
                    time.sleep(0.02)
            except OSError:
                pass  # hung up on
        assert time.monotonic() - began < PATIENCE
    finally:
        server.close()


def test_only_a_few_at_once(metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server, "TIMEOUT", 3 * PATIENCE)
    server = MetricsServer(metrics, port=0)
    held = [connect(server) for _ in range(metrics_server.MOST_AT_ONCE)]
    try:
        most = metrics_server.MOST_AT_ONCE
        assert until(lambda: len(server._server._connections) == most)
        with connect(server) as one_more:
            assert one_more.recv(100) == b""  # sent away, long before its time is over
        for connection in held:
            connection.close()
        held = []

        def answered() -> bool:
            try:
                return ask(server, "/metrics")[0] == 200
            except (OSError, http.client.HTTPException):
                return False

        assert until(answered)
    finally:
        for connection in held:
            connection.close()
        server.close()


def test_closing_does_not_wait_for_who_asks_nothing(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_server, "TIMEOUT", 3 * PATIENCE)
    server = MetricsServer(metrics, port=0)
    with connect(server):
        assert until(lambda: len(server._server._connections) == 1)
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < PATIENCE
    server.close()
    with pytest.raises(OSError, match="refused"):
        connect(server)
    assert not [one for one in threading.enumerate() if one.name == "metrics"]


def test_a_place_that_is_taken(server: MetricsServer, metrics: Metrics) -> None:
    with pytest.raises(StreamError, match=r"cannot be told at 127.0.0.1:.* in use; name another"):
        MetricsServer(metrics, port=server.port)


def test_it_is_told_to_this_machine_only(metrics: Metrics) -> None:
    server = MetricsServer(metrics, port=0)
    try:
        assert server._server.server_address[0] == "127.0.0.1"
    finally:
        server.close()
