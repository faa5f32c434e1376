"""Syslog to real sockets: the form of messages, and what counts as delivered."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import SettingError, UnknownNameError
from causewatch.streaming.address import parse_address
from causewatch.streaming.formats import Format, formatted
from causewatch.streaming.sink import DeliveryError, Notice
from causewatch.streaming.sinks.syslog import SyslogOptions, SyslogSink, message
from causewatch.testing import example_event, until
from causewatch.testing.waiting import PATIENCE
from services.certificates import Certificates, make_certificates
from services.syslog import DatagramServer, StreamServer, parse


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def tcp() -> Iterator[StreamServer]:
    with StreamServer() as server:
        yield server


def notices(*numbers: int) -> list[Notice]:
    return [Notice(k, "line 1", example_event(k)) for k in numbers]


def sink_to(url: str) -> SyslogSink:
    sink = SyslogSink(parse_address(url))
    sink.open(None)
    return sink


class TestMessage:
    """The form of RFC 5424."""

    def test_fields(self) -> None:
        notice = notices(5)[0]  # an anomaly raised, with a peak of 6.5
        found = parse(message(notice, SyslogOptions(facility="local3", hostname="plc-7")))
        assert found == {
            "priority": str(8 * 19 + 2),
            "time": "2026-01-01T00:00:05Z",
            "host": "plc-7",
            "app": "causewatch",
            "process": "-",
            "kind": "anomaly-raised",
            "data": '[meta sequenceId="5"]',
            "text": formatted(notice, "cef"),
        }

    @pytest.mark.parametrize(
        ("changes", "level"),
        [
            ({"event": "raised", "peak_score": 4.0}, 2),
            ({"event": "raised", "peak_score": 1.5}, 3),
            ({"event": "raised", "kind": "health"}, 4),
            ({"event": "acknowledged"}, 5),
            ({"event": "cleared"}, 6),
        ],
    )
    def test_levels(self, changes: dict[str, Any], level: int) -> None:
        body = example_event(1) | changes
        found = parse(message(Notice(1, "line 1", body), SyslogOptions()))
        assert int(found["priority"]) == 8 * 3 + level

    @pytest.mark.parametrize(
        ("time", "expected"),
        [
            ("2026-01-01T00:00:05.123456Z", "2026-01-01T00:00:05.123456Z"),
            ("2026-01-01T00:00:05", "-"),  # in no zone
            ("row 7", "-"),
            ("12.5s", "-"),
        ],
    )
    def test_times(self, time: str, expected: str) -> None:
        body = example_event(1) | {"time": time}
        assert parse(message(Notice(1, "x", body), SyslogOptions()))["time"] == expected

    def test_the_number_stays_within_its_range(self) -> None:
        for number, expected in ((2**31 - 1, 2**31 - 1), (2**31, 1)):
            found = parse(message(Notice(number, "x", {}), SyslogOptions()))
            assert found["data"] == f'[meta sequenceId="{expected}"]'

    @pytest.mark.parametrize("format", ["json", "cef", "diagnostics"])
    def test_a_repetition_is_known_by_its_key(self, format: Format) -> None:
        """Also where a long message was cut off."""
        notice = replace(notices(1)[0], series="b3d0c52a9e417f68")
        assert notice.key.encode() in message(notice, SyslogOptions(format=format))
        assert notice.key.encode() in message(notice, SyslogOptions(format=format), local=True)
        if format != "diagnostics":
            long = replace(notice, body={**notice.body, "headline": "x" * 9000})
            assert long.key.encode() in message(long, SyslogOptions(format=format))[:1000]

    @given(st.text(max_size=300), st.text(max_size=60), st.text(max_size=40))
    def test_no_name_can_break_the_form(self, host: str, app: str, kind: str) -> None:
        """Whatever the names, the fields are where they belong."""
        body = example_event(1) | {"kind": kind}
        notice = Notice(1, "line 1", body)
        found = parse(message(notice, SyslogOptions(hostname=host, app=app, format="json")))
        keyed = replace(notice, body={"key": notice.key, **body})
        assert found["text"] == formatted(keyed, "json")
        assert found["data"] == '[meta sequenceId="1"]'


def test_the_machine_is_named(tcp: StreamServer) -> None:
    sink_to(f"syslog+tcp://127.0.0.1:{tcp.port}").send(notices(1))
    assert parse(tcp.messages[0])["host"] == socket.gethostname()


def test_a_socket_of_this_machine(tmp_path: Path) -> None:
    with DatagramServer(tmp_path / "log") as server:
        sink = sink_to(f"syslog://{tmp_path}/log?app=watcher")
        sink.send(notices(5))
        assert until(lambda: len(server.messages) == 1)
        assert server.messages == [b"<26>watcher: " + formatted(notices(5)[0], "cef").encode()]
        sink.close()


@pytest.mark.parametrize("format", ["cef", "json"])
@pytest.mark.parametrize("sign", ["x", "\\", "=", "€", "|"])
def test_a_long_message_is_shortened(tcp: StreamServer, format: str, sign: str) -> None:
    """To its longest, between two characters, and not within an escape."""
    sink = sink_to(f"syslog+tcp://127.0.0.1:{tcp.port}?longest=2000&format={format}")
    body = example_event(1) | {"acknowledged_by": sign * 3900}
    sink.send([Notice(1, "line 1", body), *notices(2)])
    long, short = tcp.messages
    text = long.decode()
    assert len(long) <= 2000
    assert text.endswith(" … (shortened)")
    assert not text.removesuffix(" … (shortened)").endswith("\\")
    assert not short.decode().endswith("(shortened)")
    assert sink.problems == {"shortened": 1}
    parse(long)


def test_usual_messages_are_not_shortened() -> None:
    body = example_event(1) | {"headline": "x" * 600}
    assert len(message(Notice(1, "line 1", body), SyslogOptions())) < SyslogOptions().longest


def test_a_datagram_of_the_longest_kind() -> None:
    with DatagramServer() as server:
        sink = sink_to(f"syslog://127.0.0.1:{server.port}?longest=65000&format=json")
        body = example_event(1) | {"headline": "x" * 70_000}
        sink.send([Notice(1, "line 1", body)])
        assert until(lambda: len(server.messages) == 1)
        assert 64_990 <= len(server.messages[0]) <= 65_000
        sink.close()


def test_several_datagrams_and_nobody_there_from_the_second_on() -> None:
    server = DatagramServer()
    server.start()
    sink = sink_to(f"syslog://127.0.0.1:{server.port}")
    try:
        sink.send(notices(1, 2, 3))
        assert until(lambda: len(server.messages) == 3)
        server.stop()
        with pytest.raises(DeliveryError, match="cannot be reached: connection refused") as failed:
            sink.send(notices(4, 5))
        assert failed.value.sent == 0
        server.start()
        sink.send(notices(4, 5))
        assert until(lambda: len(server.messages) == 5)
    finally:
        sink.close()
        server.stop()


def test_nothing_to_send_connects_to_nobody() -> None:
    sink_to("syslog+tcp://127.0.0.1:1").send([])


class TestReceipt:
    """A receiver that closes its side after we have closed ours has read everything."""

    @pytest.fixture(params=["tcp", "tls"])
    def pair(self, request: pytest.FixtureRequest) -> Iterator[tuple[StreamServer, str]]:
        if request.param == "tcp":
            with StreamServer() as server:
                yield server, f"syslog+tcp://127.0.0.1:{server.port}?"
        else:
            made = request.getfixturevalue("certificates")
            with StreamServer(made.server_context()) as server:
                yield server, f"syslog+tls://localhost:{server.port}?ca={made.ca}&"

    @pytest.mark.parametrize("manner", ["proper", "rude"])
    def test_read(self, pair: tuple[StreamServer, str], manner: str) -> None:
        server, url = pair
        server.manner = manner
        sink = sink_to(url + "timeout=5s")
        for number in range(20):
            sink.send(notices(number, number + 1))
            assert len(server.messages) == 2 * number + 2

    @pytest.mark.parametrize("manner", ["early", "reset"])
    def test_not_read(self, pair: tuple[StreamServer, str], manner: str) -> None:
        """Such as a load balancer with nothing behind it. Never taken for delivered."""
        server, url = pair
        server.manner = manner
        for confirm in ("yes", "no"):
            sink = sink_to(url + f"timeout=5s&confirm={confirm}")
            for _ in range(15):
                with pytest.raises(DeliveryError, match="cannot be reached: ") as failed:
                    sink.send(notices(1, 2))
                assert failed.value.sent == 0

    @pytest.mark.parametrize("manner", ["deaf", "open"])
    def test_not_known(self, pair: tuple[StreamServer, str], manner: str) -> None:
        server, url = pair
        server.manner = manner
        began = time.monotonic()
        with pytest.raises(DeliveryError, match="no answer in time"):
            sink_to(url + "timeout=0.3s").send(notices(1))
        assert time.monotonic() - began < PATIENCE

    def test_a_receiver_that_never_closes_can_be_had_without(
        self, pair: tuple[StreamServer, str]
    ) -> None:
        server, url = pair
        server.manner = "open"
        sink_to(url + "timeout=0.3s&confirm=no").send(notices(1))
        assert until(lambda: len(server.messages) == 1)


class TestTls:
    """The certificates of both sides."""

    @pytest.mark.parametrize("ca", ["stranger", None])
    def test_a_server_that_is_not_trusted(self, certificates: Certificates, ca: str | None) -> None:
        option = "" if ca is None else f"?ca={getattr(certificates, ca)}"
        with StreamServer(certificates.server_context()) as server:
            with pytest.raises(DeliveryError, match="its certificate is not trusted"):
                sink_to(f"syslog+tls://localhost:{server.port}{option}").send(notices(1))
            assert not server.messages

    def test_a_client_that_is_not_known(self, certificates: Certificates) -> None:
        """The server says so only after everything is sent, which must not pass for delivered."""
        with StreamServer(certificates.server_context(ask=True)) as server:
            url = f"syslog+tls://localhost:{server.port}?ca={certificates.ca}"
            for _ in range(15):
                with pytest.raises(DeliveryError, match="cannot be reached: "):
                    sink_to(url).send(notices(1))
            assert not server.messages
            known = f"&cert={certificates.client_cert}&key={certificates.client_key}"
            sink_to(url + known).send(notices(1))
            assert len(server.messages) == 1


class TestSettings:
    """What makes no sense is said at once."""

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("syslog://", "names no host"),
            ("syslog+tcp:///dev/log", "names no host"),
            ("syslog://host/path", "has a path"),
            ("syslog://host?longest=100", "'longest' of syslog is 100; give 480 to 65000 bytes"),
            ("syslog://host?longest=70000", "'longest' of syslog is 70000"),
            ("syslog://host?facility=me", "one of kern, user"),
        ],
    )
    def test_at_once(self, url: str, reason: str) -> None:
        with pytest.raises(SettingError, match=reason):
            SyslogSink(parse_address(url))

    def test_no_time_at_all(self) -> None:
        with pytest.raises(SettingError, match="'timeout' of syslog is 0"):
            SyslogSink(parse_address("syslog://host", {"timeout": 0}))

    def test_an_unknown_option(self) -> None:
        with pytest.raises(UnknownNameError, match="no option of syslog:// 'colour'"):
            SyslogSink(parse_address("syslog://host?colour=red"))

    def test_names(self) -> None:
        assert SyslogSink(parse_address("syslog://host")).name == "syslog://host"
        assert SyslogSink(parse_address("syslog:///dev/log")).name == "syslog:///dev/log"
