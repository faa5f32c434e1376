"""Webhooks to a real server: what is sent, what the answers mean, and whose patience ends when."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from causewatch.errors import SettingError, UnknownNameError
from causewatch.streaming.address import parse_address
from causewatch.streaming.signing import signature, verify_signature
from causewatch.streaming.sink import DeliveryError, Notice
from causewatch.streaming.sinks.webhook import WebhookSink
from causewatch.testing import FakeClock, example_event
from causewatch.testing.waiting import PATIENCE
from services.certificates import Certificates, make_certificates
from services.webhook import WebhookServer

WALL = 1_767_225_600.0


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def server() -> Iterator[WebhookServer]:
    with WebhookServer() as server:
        yield server


def notices(*numbers: int, watch: str = "line 1") -> list[Notice]:
    return [Notice(k, watch, example_event(k), "a5") for k in numbers]


def sink_to(server: WebhookServer, options: str = "", path: str = "", **given: Any) -> WebhookSink:
    sink = WebhookSink(
        parse_address(f"http://127.0.0.1:{server.port}/{path}?timeout=5s{options}"), **given
    )
    sink.open(None)
    return sink


def test_what_is_sent(server: WebhookServer, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("much better kept\n")
    sink = sink_to(
        server,
        f"&secret_file={tmp_path}/secret&query=plant%3Dnorth%26x%3D1",
        "hooks/a b",
        wall=FakeClock(WALL),
    )
    sink.send(notices(7, watch="Straße\r\n7/ü"))
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/hooks/a%20b?plant=north&x=1")
    assert json.loads(request.body) == example_event(7) | {"watch": "Straße\r\n7/ü"}
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["X-Causewatch-Delivery"] == "Stra%C3%9Fe%0D%0A7/%C3%BC/a5/7-dc9bae81"
    signed = request.headers["X-Causewatch-Signature"]
    assert signed.startswith(f"t={WALL:.0f},v1=")
    assert verify_signature("much better kept", signed, request.body, WALL + 200)
    assert "Authorization" not in request.headers


def test_without_a_secret_nothing_is_signed(server: WebhookServer) -> None:
    sink_to(server).send(notices(1))
    assert "X-Causewatch-Signature" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("format", "kind", "begin"),
    [
        ("cef", "text/plain; charset=utf-8", b"CEF:0|"),
        ("diagnostics", "application/json", b'{"header"'),
    ],
)
def test_formats(server: WebhookServer, format: str, kind: str, begin: bytes) -> None:
    sink_to(server, f"&format={format}").send(notices(1))
    assert server.requests[0].headers["Content-Type"] == kind
    assert server.requests[0].body.startswith(begin)


def test_a_token(server: WebhookServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "abc.def")
    sink_to(server, "&token_env=HOOK_TOKEN").send(notices(1))
    assert server.requests[0].headers["Authorization"] == "Bearer abc.def"


class TestSignature:
    """Of receivers written in Python."""

    body = b'{"id": "1"}'

    def test_good(self) -> None:
        header = signature("secret", self.body, WALL)
        for now in (WALL - 299, WALL, WALL + 300):
            assert verify_signature("secret", header, self.body, now)

    def test_old_or_from_the_future(self) -> None:
        header = signature("secret", self.body, WALL)
        for now in (WALL - 301, WALL + 301):
            assert not verify_signature("secret", header, self.body, now)
        assert verify_signature("secret", header, self.body, WALL + 500, tolerance=600)

    def test_changed(self) -> None:
        header = signature("secret", self.body, WALL)
        assert not verify_signature("other", header, self.body, WALL)
        assert not verify_signature("secret", header, self.body + b" ", WALL)
        later = header.replace(f"t={WALL:.0f}", f"t={WALL + 60:.0f}")
        assert not verify_signature("secret", later, self.body, WALL)

    @pytest.mark.parametrize(
        "header",
        [
            *("", "t=,v1=", "v1=aa", "t=12", "t=x,v1=aa", "nonsense", ",,=,", "t=-1,v1=aa"),
            *("t=١٢,v1=aa", "t=1" + "0" * 400 + ",v1=aa", "t=1,v1=é"),
        ],
    )
    def test_nonsense(self, header: str) -> None:
        assert not verify_signature("secret", header, self.body, WALL)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_two_hundred_and_something_is_delivered(server: WebhookServer, status: int) -> None:
    server.answers += [status, status]
    sink_to(server).send(notices(1, 2))
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 409, 413, 415, 422, 451])
def test_an_event_that_is_not_wanted_is_counted_and_left_out(
    server: WebhookServer, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers += [200, status]
    sink = sink_to(server)
    with caplog.at_level(logging.WARNING):
        sink.send(notices(1, 2, 3))
    assert len(server.requests) == 3
    assert sink.problems == {"refused": 1}
    (line,) = caplog.messages
    assert (
        f"does not want event line 1/a5/2-f75e0f23 and answers {status}; the event is left out"
        in line
    )


@pytest.mark.parametrize("status", [401, 403, 404, 405, 410])
def test_an_answer_about_the_set_up_is_tried_again(server: WebhookServer, status: int) -> None:
    """Else a token that has run out would cost all alarms until somebody sees it."""
    server.answers += [200, status]
    sink = sink_to(server)
    with pytest.raises(DeliveryError, match=f"answers {status}; look at the address") as failed:
        sink.send(notices(1, 2, 3))
    assert failed.value.sent == 1
    assert len(server.requests) == 2
    sink.send(notices(2, 3))
    assert [json.loads(one.body)["id"][-1] for one in server.requests] == ["1", "2", "2", "3"]
    assert sink.problems == {"refused": 0}


@pytest.mark.parametrize("status", [408, 425, 500, 502, 504])
def test_trouble_there_is_tried_again(server: WebhookServer, status: int) -> None:
    server.answers += [status]
    sink = sink_to(server)
    with pytest.raises(DeliveryError, match=f"answers {status}") as failed:
        sink.send(notices(1))
    assert failed.value.sent == 0
    sink.send(notices(1))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_nobody_is_followed_elsewhere(server: WebhookServer, status: int) -> None:
    with WebhookServer() as elsewhere:
        server.headers = {"Location": f"http://127.0.0.1:{elsewhere.port}/"}
        server.answers += [status]
        with pytest.raises(DeliveryError, match="sends us elsewhere, where we do not go"):
            sink_to(server).send(notices(1))
        assert not elsewhere.requests


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("7", 7),
        ("86400", 300),
        ("99999999999999999999", 300),
        (format_datetime(datetime.fromtimestamp(WALL + 20, UTC), usegmt=True), 20),
        (format_datetime(datetime.fromtimestamp(WALL - 20, UTC), usegmt=True), 0),
        ("soon", 0),
        ("-5", 0),
        ("", 0),
        ("Thu, 99 Jan 99999 00:00:00 GMT", 0),
    ],
)
def test_a_receiver_that_asks_to_wait(
    server: WebhookServer, status: int, said: str, wait: int
) -> None:
    now = FakeClock(50.0)
    server.headers = {"Retry-After": said}
    server.answers += [status]
    sink = sink_to(server, now=now, wall=FakeClock(WALL))
    with pytest.raises(DeliveryError, match=f"answers {status}"):
        sink.send(notices(1))
    if wait:
        now.sleep(wait - 1)
        with pytest.raises(DeliveryError, match="asked us to wait; 1 s are left"):
            sink.send(notices(1))
        assert len(server.requests) == 1, "it was asked all the same"
        now.sleep(1)
    sink.send(notices(1))
    assert len(server.requests) == 2


@pytest.mark.parametrize("manner", ["hang", "drip"])
def test_a_receiver_that_does_not_answer_in_time(server: WebhookServer, manner: str) -> None:
    """The limit is one for all of it: a byte now and then does not help."""
    server.answers += [manner]
    sink = WebhookSink(parse_address(f"http://127.0.0.1:{server.port}/?timeout=0.3s"))
    sink.open(None)
    began = time.monotonic()
    with pytest.raises(DeliveryError, match="no answer in time"):
        sink.send(notices(1))
    assert 0.25 < time.monotonic() - began < PATIENCE
    sink.send(notices(1))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("close", "closed the connection without an answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "is no HTTP"),
        (b"HTTP/1.1 abc\r\n\r\n", "is no HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "is no HTTP"),
    ],
)
def test_answers_that_are_none(server: WebhookServer, answer: Any, reason: str) -> None:
    server.answers += [answer]
    sink = sink_to(server)
    with pytest.raises(DeliveryError, match=reason):
        sink.send(notices(1))
    sink.send(notices(1))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 300_000,
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 OK\r\n\r\n",
    ],
)
def test_a_good_status_is_enough(server: WebhookServer, answer: bytes) -> None:
    server.answers += [answer]
    sink_to(server).send(notices(1))


def test_a_slow_receiver_gets_the_rest_later(server: WebhookServer) -> None:
    """A call does not take as long as all events together might."""
    now = FakeClock()
    sink = sink_to(server, now=lambda: now.now)
    deliver = sink._deliver

    def slowly(notice: Notice) -> None:
        now.sleep(4.0)
        deliver(notice)

    sink._deliver = slowly  # type: ignore[method-assign]
    with pytest.raises(DeliveryError, match="is slow; the rest goes next") as failed:
        sink.send(notices(*range(10)))
    assert failed.value.sent == len(server.requests) == 3


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    sink = WebhookSink(parse_address(f"http://127.0.0.1:{port}/"))
    sink.open(None)
    with pytest.raises(DeliveryError, match=r"http://127.0.0.1:\d+ cannot be reached: connection"):
        sink.send(notices(1))


class TestTls:
    """The server's certificate is always checked."""

    def test_trusted(self, certificates: Certificates) -> None:
        with WebhookServer(certificates.server_context()) as server:
            sink = WebhookSink(
                parse_address(f"https://localhost:{server.port}/a?ca={certificates.ca}")
            )
            sink.open(None)
            sink.send(notices(1, 2))
            assert len(server.requests) == 2

    @pytest.mark.parametrize(
        ("host", "ca", "reason"),
        [
            ("localhost", "stranger", "its certificate is not trusted"),
            ("localhost", None, "its certificate is not trusted"),
            ("127.0.0.2", "ca", "its certificate is not trusted .*127.0.0.2"),
        ],
    )
    def test_not_trusted(
        self, certificates: Certificates, host: str, ca: str | None, reason: str
    ) -> None:
        option = "" if ca is None else f"?ca={getattr(certificates, ca)}"
        server = WebhookServer(certificates.server_context())
        server.host = "0.0.0.0" if host != "localhost" else "127.0.0.1"
        with server:
            sink = WebhookSink(parse_address(f"https://{host}:{server.port}/a{option}"))
            sink.open(None)
            with pytest.raises(DeliveryError, match=reason):
                sink.send(notices(1))
            assert not server.requests

    def test_a_server_that_asks_who_we_are(self, certificates: Certificates) -> None:
        with WebhookServer(certificates.server_context(ask=True)) as server:
            url = f"https://localhost:{server.port}/a?ca={certificates.ca}"
            sink = WebhookSink(parse_address(url))
            sink.open(None)
            # TLS 1.3 tells only after the handshake: the server's word may come, or just the end.
            refused = r"cannot be reached: .*(certificate required|eof occurred|reset|broken pipe)"
            with pytest.raises(DeliveryError, match=f"(?i){refused}"):
                sink.send(notices(1))
            assert not server.requests
            known = f"&cert={certificates.client_cert}&key={certificates.client_key}"
            sink = WebhookSink(parse_address(url + known))
            sink.open(None)
            sink.send(notices(1))
            assert len(server.requests) == 1

    def test_a_server_without_tls(self, server: WebhookServer, certificates: Certificates) -> None:
        sink = WebhookSink(parse_address(f"https://localhost:{server.port}/a?timeout=2s"))
        sink.open(None)
        with pytest.raises(DeliveryError, match=r"cannot be reached: .*wrong version number"):
            sink.send(notices(1))

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ("ca=/nowhere/ca.pem", "'ca' cannot be read: no such file or directory"),
            ("ca={key}", "'ca' holds no certificates"),
            ("cert={cert}&key={client_key}", "do not hold a certificate and its key"),
            ("key={key}", "'key' is given without 'cert'"),
        ],
    )
    def test_files_of_no_use(self, certificates: Certificates, options: str, reason: str) -> None:
        given = options.format(**vars(certificates))
        sink = WebhookSink(parse_address(f"https://localhost/a?{given}"))
        with pytest.raises(SettingError, match=reason):
            sink.open(None)


class TestSettings:
    """What makes no sense is said before anything is sent."""

    def test_the_name_hides_the_path(self) -> None:
        sink = WebhookSink(parse_address("https://hooks.example.org/services/T0/B0/sEcReT"))
        assert "sEcReT" not in sink.name
        assert sink.name.startswith("https://hooks.example.org/…")
        other = WebhookSink(parse_address("https://hooks.example.org/services/T0/B0/other"))
        assert sink.name != other.name
        same = WebhookSink(parse_address("webhook+https://hooks.example.org/services/T0/B0/sEcReT"))
        assert sink.name == same.name

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("https:///a", "names no host"),
            ("https://a..b/x", "names no host"),
            ("https://me@host/a", "takes no user"),
            ("https://host/a?timeout=soon", "'timeout' of https:// is 'soon'"),
            ("https://host/a?format=xml", "one of json, cef, diagnostics is expected"),
        ],
    )
    def test_at_once(self, url: str, reason: str) -> None:
        with pytest.raises(SettingError, match=reason):
            WebhookSink(parse_address(url))

    def test_no_time_at_all(self) -> None:
        with pytest.raises(SettingError, match="'timeout' of https:// is 0"):
            WebhookSink(parse_address("https://host/a", {"timeout": 0}))

    def test_an_unknown_option(self) -> None:
        with pytest.raises(UnknownNameError, match="no option of https:// 'verify'"):
            WebhookSink(parse_address("https://host/a?verify=no"))

    @pytest.mark.parametrize(
        ("url", "held", "reason"),
        [
            ("https://host/a?secret_env=HOOK", None, "'HOOK', which is not set"),
            ("https://host/a?secret_env=HOOK", "", "is empty"),
            ("https://host/a?token_env=HOOK", "a\nb", "signs that no header can"),
            ("https://host/a?token_env=HOOK", "ü", "signs that no header can"),
            ("http://host/a?token_env=HOOK", "abc", "could be read by others on the way"),
        ],
    )
    def test_when_it_is_opened(
        self, url: str, held: str | None, reason: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("HOOK", raising=False)
        if held is not None:
            monkeypatch.setenv("HOOK", held)
        with pytest.raises(SettingError, match=reason) as failed:
            WebhookSink(parse_address(url)).open(None)
        assert "abc" not in str(failed.value)
