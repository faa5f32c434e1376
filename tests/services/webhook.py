"""A real web server on loopback that receives webhooks, and behaves as it is told."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from causewatch.testing.waiting import PATIENCE

from .ports import free_port


@dataclass(frozen=True)
class Request:
    """What came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class WebhookServer:
    """May be stopped and started again on the same port.

    Attributes
    ----------
    requests
        Every request that came whole.
    answers
        How the next ones are answered; 200 when there are none. A number is a status, text is sent
        as it is, and the connection closed then; ``hang`` waits until the server stops, ``drip``
        sends a byte of a proper answer now and then, ``close`` closes the connection.
    headers
        Sent with every answer that is a number.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self.host = "127.0.0.1"
        self.port = free_port()
        self.requests: list[Request] = []
        self.answers: deque[Any] = deque()
        self.headers: dict[str, str] = {}
        self.ending = threading.Event()
        self._server: http.server.ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self.ending.clear()
        server = _Server((self.host, self.port), _handler(self))
        server.context = self._context
        self.port = server.server_address[1]
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.ending.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = self._thread = None


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = False
    context: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.context is not None:
            request.settimeout(PATIENCE)
            with self.context.wrap_socket(request, server_side=True) as secure:
                super().finish_request(secure, client_address)
        else:
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away are part of the tests."""


def _handler(owner: WebhookServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = PATIENCE

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = dict(self.headers.items())
            owner.requests.append(Request(self.command, self.path, headers, body))
            answer = owner.answers.popleft() if owner.answers else 200
            self.close_connection = True
            if isinstance(answer, int):
                self.send_response(answer)
                for name, value in owner.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif answer == "hang":
                owner.ending.wait(PATIENCE)
            elif answer == "drip":
                for sign in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000:
                    self.wfile.write(bytes([sign]))
                    if owner.ending.wait(0.05):
                        return
            elif answer == "close":
                with suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)
            else:
                self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
