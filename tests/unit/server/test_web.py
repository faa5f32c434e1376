"""The web server: what a connection may cost, and that it ends as it began."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import os
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from causewatch.errors import StreamError
from causewatch.server import ServeSettings, connection, door, hub, web
from causewatch.server.api import live
from causewatch.server.web import WebServer
from causewatch.testing import until
from causewatch.testing.waiting import PATIENCE
from services.certificates import make_certificates
from services.dashboard import Dashboard, a_plant

JSON = [(b"content-type", b"application/json")]
LARGE = 8 << 20


class App:
    """Says hello at /, waits at /wait, sends much at /large, without end at /endless."""

    def __init__(self) -> None:
        self.begun = self.running = 0
        self.loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.loop = asyncio.get_running_loop()
        self.begun += 1
        self.running += 1
        try:
            await self._answer(scope["path"], receive, send)
        finally:
            self.running -= 1

    async def _answer(self, path: str, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": JSON})
        if path == "/wait":
            await self._gone(receive)
        if path == "/endless":
            gone = asyncio.ensure_future(self._gone(receive))
            while not gone.done():
                await send({"type": "http.response.body", "body": b"x" * 4096, "more_body": True})
                await asyncio.sleep(0)
        body = b"x" * LARGE if path == "/large" else b"{}"
        await send({"type": "http.response.body", "body": body})

    async def _gone(self, receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def server(app: App) -> Iterator[WebServer]:
    made = WebServer(app, ServeSettings(port=0, viewers=1))
    made.start()
    yield made
    made.close()


def connect(server: WebServer, receive_buffer: int | None = None) -> socket.socket:
    made = socket.socket()
    if receive_buffer is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    made.settimeout(PATIENCE)
    made.connect(("127.0.0.1", server.port))
    return made


def rest(connection: socket.socket) -> bytes:
    """Everything up to the end; a connection that is cut off ends, too."""
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def is_well(server: WebServer) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as client:
        client.request("GET", "/")
        return client.getresponse().status == 200


def fetch(server: WebServer, **how: Any) -> httpx.Response:
    return httpx.get(server.address, timeout=PATIENCE, **how)


def is_refused(client: socket.socket) -> bool:
    """Whether the other side ends it when more and more is sent."""
    try:
        for _ in range(1000):
            client.sendall(b"a" * 65536)
    except ConnectionError:
        return True
    return False


class TestHeads:
    """The head of a request is limited in size and time."""

    def test_one_that_is_long_but_not_too_long(self, server: WebServer) -> None:
        with connect(server) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nA: ")
            client.sendall(b"a" * (connection.HEAD_BYTES - 200) + b"\r\n\r\n")
            assert status(rest(client)) == 200

    @pytest.mark.parametrize("at_once", [True, False])
    @pytest.mark.parametrize("ended", [True, False])
    def test_one_that_is_too_long(self, server: WebServer, at_once: bool, ended: bool) -> None:
        head = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 10_000 + b"\r\n" * ended
        with connect(server) as client:
            try:
                for k in range(0, len(head), len(head) if at_once else 5000):
                    client.sendall(head[k : k + (len(head) if at_once else 5000)])
                    time.sleep(0 if at_once else 0.002)  # so that it comes in pieces
            except OSError:
                pass  # it has been refused already
            answer = rest(client)
        # What was not read may have cut the answer off.
        if answer:
            assert status(answer) == 431
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"].endswith(".")
        assert is_well(server)

    def test_one_line_that_never_ends(self, server: WebServer, app: App) -> None:
        with connect(server) as client:
            client.sendall(b"GET /")
            assert is_refused(client)
        assert app.running == 0

    def test_a_second_one_that_never_ends_while_the_first_is_answered(
        self, server: WebServer, app: App
    ) -> None:
        with connect(server) as client:
            client.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            assert until(lambda: app.running == 1)
            client.sendall(b"GET / HTTP/1.1\r\nA: ")
            assert is_refused(client)
        assert until(lambda: app.running == 0)

    @pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost:", b"\r\n"])
    def test_one_that_is_too_slow(
        self, server: WebServer, monkeypatch: pytest.MonkeyPatch, said: bytes
    ) -> None:
        monkeypatch.setattr(connection, "HEAD_SECONDS", 0.2)
        with connect(server) as client:
            with suppress(ConnectionError):  # it may have been given up already
                client.sendall(said)
            assert rest(client) == b""

    @pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\nHost:", b"\r\n"])
    def test_a_second_one_that_is_too_slow(
        self, server: WebServer, monkeypatch: pytest.MonkeyPatch, said: bytes
    ) -> None:
        with connect(server) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert status(client.recv(65536)) == 200
            monkeypatch.setattr(connection, "HEAD_SECONDS", 0.2)
            client.sendall(said)
            rest(client)  # would wait for longer than the client does

    def test_a_slow_one_does_not_end_what_is_answered_before_it(
        self, server: WebServer, app: App, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection, "HEAD_SECONDS", 1.0)
        with connect(server) as client:
            client.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            assert until(lambda: app.running == 1)
            with connect(server) as later:
                assert rest(later) == b""  # its time is over, and so is that of the first head
            assert app.running == 1

    def test_what_is_no_http(self, server: WebServer) -> None:
        with connect(server) as client:
            client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 10)
            answer = rest(client)
        assert status(answer) == 400
        assert set(json.loads(answer.partition(b"\r\n\r\n")[2])) == {"error"}

    def test_two_requests_at_once(self, server: WebServer) -> None:
        one = b"GET / HTTP/1.1\r\nHost: x\r\n"
        with connect(server) as client:
            client.sendall(one + b"\r\n" + one + b"Connection: close\r\n\r\n")
            assert rest(client).count(b"200 OK") == 2

    def test_a_body_that_was_answered_before_it_came(self, server: WebServer) -> None:
        with connect(server) as client:
            client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
            assert status(client.recv(65536)) == 200
            client.sendall(b"x" * 1_000_000 + b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
            assert status(rest(client)) == 200


def test_many_who_say_nothing_do_not_keep_others_out(server: WebServer, app: App) -> None:
    most = 2 * 1 + 100
    with ExitStack() as stack:
        viewer = stack.enter_context(connect(server))
        viewer.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        assert until(lambda: app.running == 1)
        for k in range(2 * most):
            silent = stack.enter_context(connect(server))
            if k % 2:
                silent.sendall(b"GET / HTTP/1.1\r\nHost: ")
        for _ in range(5):
            assert is_well(server)
        assert app.running == 1  # nobody is turned out who is being answered
        state = server._server.server_state
        assert len(state.connections) <= most


def test_where_everybody_is_answered_one_more_is_told_so(server: WebServer, app: App) -> None:
    most = 2 * 1 + 100
    with ExitStack() as stack:
        for _ in range(most):
            stack.enter_context(connect(server)).sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        assert until(lambda: app.running == most)
        with httpx.Client(timeout=PATIENCE) as client:
            answer = client.get(server.address)
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "10"
            assert answer.headers["connection"] == "close"
            assert answer.json() == {
                "error": f"All {most} connections are taken, {most} of them from your address;"
                " close some, or try again later."
            }
            # Whoever sends much is told as well, once it is sent.
            assert client.post(server.address, content=b"x" * (8 << 20)).status_code == 503
        # Those who only stay there to be told are few, too.
        for _ in range(door.MOST_REFUSED):
            stack.enter_context(connect(server))
        with connect(server) as client:
            assert rest(client) == b""
        assert app.running == most
    assert until(lambda: app.running == 0)
    assert is_well(server)


@pytest.mark.skipif(sys.platform != "linux", reason="needs more than one address of this machine")
def test_one_address_with_many_connections_gives_way_to_another(
    server: WebServer, app: App
) -> None:
    most = 2 * 1 + 100
    with ExitStack() as stack:
        for _ in range(most):
            stack.enter_context(connect(server)).sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        assert until(lambda: app.running == most)
        for path in (b"/wait", b"/wait", b"/"):
            other = stack.enter_context(closing(socket.socket()))
            other.settimeout(PATIENCE)
            other.bind(("127.0.0.2", 0))
            other.connect(("127.0.0.1", server.port))
            other.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            head = other.recv(65536)
            assert status(head) == 200
            if path == b"/":  # the body may come later than the head
                answer = head
                while not answer.endswith(b"0\r\n\r\n"):
                    answer += other.recv(65536)
        assert until(lambda: app.running == most - 1)  # the last one is answered
        # And the one with many does not get them back, nor what the other does not use just now.
        assert fetch(server).status_code == 503
        other.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert status(other.recv(65536)) == 200


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_those_who_do_not_shake_hands_are_counted(tmp_path: Path, app: App) -> None:
    made = make_certificates(tmp_path)
    server = WebServer(app, ServeSettings(port=0, viewers=1, cert=made.cert, key=made.key))
    server.start()
    try:
        context = ssl.create_default_context(cafile=str(made.ca))
        with ExitStack() as stack:
            before = descriptors()
            silent = [stack.enter_context(connect(server)) for _ in range(200)]
            assert fetch(server, verify=context).status_code == 200
            # Both ends are in this process.
            assert until(lambda: descriptors() - before <= len(silent) + 102)
    finally:
        server.close()


def test_requests_sent_ahead_are_few(server: WebServer, app: App) -> None:
    with connect(server) as client:
        client.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        assert until(lambda: app.running == 1)
        client.sendall(b"GET / HTTP/1.1\r\n\r\n" * 1000)
        rest(client)
    assert until(lambda: app.running == 0)
    assert is_well(server)


@pytest.fixture
def impatient(app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """A server that soon gives up on whoever takes nothing."""
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        pytest.skip("this system does not know for how long somebody has taken nothing")
    monkeypatch.setattr(web, "SILENT", 1000)
    made = WebServer(app, ServeSettings(port=0))
    made.start()
    yield made
    made.close()


@pytest.mark.parametrize("path", ["/endless", "/large"])
def test_one_who_takes_nothing_is_given_up(impatient: WebServer, app: App, path: str) -> None:
    server = impatient
    with connect(server, 4096) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        state = server._server.server_state
        assert until(lambda: app.begun == 1)
        assert until(lambda: not state.connections and app.running == 0)


def test_one_who_is_slow_but_takes_something_is_not(impatient: WebServer) -> None:
    with connect(impatient, 65536) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        found, end = 0, time.monotonic() + 2.0
        while piece := client.recv(32768):
            found += len(piece)
            if time.monotonic() < end:
                time.sleep(0.02)
        assert found > LARGE


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Viewers are told every tick, so that what waits for them soon becomes much."""
    monkeypatch.setattr(hub, "MOST_TICKS", 10_000)


def test_a_viewer_who_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talkative: None
) -> None:
    monkeypatch.setattr(live, "STUCK", 0.5)
    with Dashboard(a_plant(), tmp_path) as dashboard:
        port = int(dashboard.url.rpartition(":")[2])
        with socket.socket() as stuck, dashboard.client() as client:
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            stuck.connect(("127.0.0.1", port))
            stuck.sendall(b"GET /api/live HTTP/1.1\r\nHost: localhost\r\n\r\n")

            def viewers() -> int:
                return int(client.get("/api/now").json()["status"]["viewers"])

            assert until(lambda: viewers() == 1)
            with client.stream("GET", "/api/live") as answer:
                lines = answer.iter_lines()

                def send_and_look() -> bool:
                    # The one who listens is told everything meanwhile.
                    dashboard.send(a_plant().rows(1000))
                    # A sign of life in between means that there is nothing more for now.
                    while not next(lines).startswith(("event: ticks", ":")):
                        pass
                    return viewers() == 1

                # What the system takes in for him has to be filled first.
                assert until(send_and_look)
            assert until(lambda: viewers() == 0)


def test_tls(tmp_path: Path, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_certificates(tmp_path)
    server = WebServer(app, ServeSettings(port=0, cert=made.cert, key=made.key))
    server.start()
    try:
        assert server.address == f"https://127.0.0.1:{server.port}/"
        context = ssl.create_default_context(cafile=str(made.ca))
        assert fetch(server, verify=context).status_code == 200
        with pytest.raises(httpx.ConnectError):  # not everybody's word is taken
            fetch(server)
        with connect(server) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200" not in rest(plain)
        monkeypatch.setattr(door, "HANDS", 0.2)
        with connect(server) as silent:  # who does not shake hands is not waited for
            rest(silent)
    finally:
        server.close()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_tls_where_all_connections_are_taken(
    tmp_path: Path, app: App, monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    """Whoever asks for nothing gives way, with every loop: each has its own protocol for TLS."""
    pytest.importorskip(loop)
    config = web.uvicorn.Config
    monkeypatch.setattr(
        web.uvicorn, "Config", lambda *given, **named: config(*given, loop=loop, **named)
    )
    made = make_certificates(tmp_path)
    server = WebServer(app, ServeSettings(port=0, viewers=1, cert=made.cert, key=made.key))
    server.start()
    context = ssl.create_default_context(cafile=str(made.ca))
    try:
        with ExitStack() as stack:
            for _ in range(2 * 1 + 100):
                plain = stack.enter_context(connect(server))
                stack.enter_context(context.wrap_socket(plain, server_hostname="127.0.0.1"))
            for _ in range(3):
                assert fetch(server, verify=context).status_code == 200
        assert fetch(server, verify=context).status_code == 200
    finally:
        server.close()


def test_a_certificate_that_is_none(tmp_path: Path, app: App) -> None:
    file = tmp_path / "cert.pem"
    file.write_text("nothing")
    with pytest.raises(StreamError, match=r"cert\.pem.*cannot be used: .*\.$"):
        WebServer(app, ServeSettings(port=0, cert=file, key=file))


def test_a_place_that_is_taken(server: WebServer, app: App) -> None:
    with pytest.raises(StreamError) as error:
        WebServer(app, ServeSettings(port=server.port))
    said = str(error.value)
    assert f"127.0.0.1:{server.port}" in said
    assert "in use" in said
    assert said.endswith("name another --port.")


def test_ipv6(app: App) -> None:
    try:
        server = WebServer(app, ServeSettings(host="::1", port=0))
    except StreamError:
        pytest.skip("this machine has no IPv6")
    server.start()
    try:
        assert server.address == f"http://[::1]:{server.port}/"
        assert fetch(server).status_code == 200
    finally:
        server.close()


def test_it_begins_again_where_it_was(app: App) -> None:
    port = 0
    for _ in range(3):
        server = WebServer(app, ServeSettings(port=port))
        server.start()
        assert is_well(server)
        server.close()
        server.close()
        port = server.port


def test_what_begins_in_the_loop(app: App) -> None:
    loops: list[asyncio.AbstractEventLoop] = []
    server = WebServer(app, ServeSettings(port=0), loops.append)
    server.start()
    assert is_well(server)
    server.close()
    assert loops == [app.loop]


def test_a_server_that_cannot_begin(app: App, caplog: pytest.LogCaptureFixture) -> None:
    def fail(loop: asyncio.AbstractEventLoop) -> None:
        msg = "no room"
        raise OSError(msg)

    server = WebServer(app, ServeSettings(port=0), fail)
    with caplog.at_level(logging.ERROR), pytest.raises(StreamError, match="the log says why"):
        server.start()
    assert "no longer served" in caplog.text


@pytest.mark.parametrize("reads", [True, False])
def test_its_end_is_quick_with_viewers(tmp_path: Path, talkative: None, reads: bool) -> None:
    dashboard = Dashboard(a_plant(), tmp_path)
    dashboard.start()
    port = int(dashboard.url.rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(20):
            viewer = stack.enter_context(closing(socket.socket()))
            viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            viewer.settimeout(PATIENCE)
            viewer.connect(("127.0.0.1", port))
            viewer.sendall(b"GET /api/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            if reads:
                viewer.recv(65536)
        for _ in range(5):
            dashboard.send(a_plant().rows(1000))
        dashboard.watch.stop = True
        dashboard._thread.join(PATIENCE)
        dashboard._stack.close()  # which gives up waiting for a thread that does not end
        assert not [one for one in threading.enumerate() if one.name in ("web", "album")]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_who_has_gone_leaves_nothing_behind(server: WebServer, app: App) -> None:
    assert is_well(server)
    state = server._server.server_state
    assert until(lambda: not state.connections)
    before, threads = descriptors(), threading.active_count()
    for k in range(300):
        with connect(server) as client:
            if k % 3:
                client.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"[: 40 if k % 2 else 12])
            if k % 5 == 0:  # cut off, rather than closed
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert until(lambda: not state.connections and not state.tasks and app.running == 0)
    assert until(lambda: descriptors() <= before and threading.active_count() <= threads)
    assert app.loop is not None

    def tasks() -> int:
        assert app.loop is not None
        count: list[int] = []
        app.loop.call_soon_threadsafe(lambda: count.append(len(asyncio.all_tasks(app.loop))))
        assert until(lambda: bool(count))
        return count[0]

    assert until(lambda: tasks() == 2)  # the server itself, and its door


def test_viewers_who_come_and_go(tmp_path: Path) -> None:
    with (
        Dashboard(a_plant(), tmp_path) as dashboard,
        dashboard.client() as client,
    ):

        def viewers() -> int:
            return int(client.get("/api/now").json()["status"]["viewers"])

        for _ in range(30):
            with client.stream("GET", "/api/live") as answer:
                assert next(answer.iter_lines()) == "event: hello"
        assert until(lambda: viewers() == 0)
        # It has no end, so there is nothing to say about it beforehand.
        answer = client.head("/api/live")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET"
        assert viewers() == 0
