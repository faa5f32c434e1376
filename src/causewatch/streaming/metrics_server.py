"""A small web server for Prometheus, and for those who ask whether a watch is alive."""

from __future__ import annotations

import http.server
import io
import logging
import socket
import socketserver
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Protocol

from causewatch.errors import StreamError
from causewatch.streaming.deadline import DeadlineReader

__all__ = ["MetricsServer"]

log = logging.getLogger(__name__)

MOST_AT_ONCE = 8
"""Connections; further ones are closed at once."""
MOST_REQUEST = 16_384
"""Bytes of a request."""
TIMEOUT = 5.0
"""Seconds that a request may take to come in, and its answer to go out."""
LIMIT = 60.0
"""Seconds without a sign of life after which a watch is taken for stuck."""
TEXT = "text/plain; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
ERRORS: dict[int, str] = {
    HTTPStatus.NOT_FOUND: "There is nothing here; ask for /metrics or /healthz.\n",
    HTTPStatus.METHOD_NOT_ALLOWED: "Only GET is answered.\n",
    HTTPStatus.REQUEST_URI_TOO_LONG: "The address is too long.\n",
}


class Told(Protocol):
    """What is told: `causewatch.streaming.metrics.Metrics`."""

    @property
    def age(self) -> float | None:
        """Seconds since the last sign of life; None if there was none."""

    @property
    def source(self) -> str:
        """How the source stands, in words."""

    @property
    def blind(self) -> str:
        """Why rows are not judged, in a sentence; empty while they are."""

    @property
    def unkept(self) -> str:
        """Why what is seen cannot be kept, in a sentence; empty while it can."""

    def text(self) -> bytes:
        """Everything."""


class MetricsServer:
    """Answers ``GET /metrics`` and ``GET /healthz``, from now until it is closed.

    Nobody is asked who they are: leave it on this machine, or behind something that asks.

    Parameters
    ----------
    metrics
        What to tell.
    host, port
        Where; port 0 for any that is free.
    limit
        Seconds without a sign of life after which ``/healthz`` answers 503.
    """

    def __init__(
        self, metrics: Told, host: str = "127.0.0.1", port: int = 9464, *, limit: float = LIMIT
    ) -> None:
        try:
            self._server = _Server((host, port), metrics, limit)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            msg = f"Metrics cannot be told at {host}:{port}: {reason}; name another place."
            raise StreamError(msg) from error
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Answer nobody any longer; safe to call twice."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.hang_up()
            self._server.server_close()


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = False  # so that `server_close` waits for them; they have little time anyway
    allow_reuse_address = True
    request_queue_size = 2 * MOST_AT_ONCE

    def __init__(self, place: tuple[str, int], metrics: Told, limit: float) -> None:
        self.metrics, self.limit = metrics, limit
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        if ":" in place[0]:
            self.address_family = socket.AF_INET6
        super().__init__(place, _Handler)

    def server_bind(self) -> None:
        # Not that of HTTPServer, which asks the network for the name of the machine.
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            full = len(self._connections) >= MOST_AT_ONCE
            if not full:
                self._connections.add(request)
        if full:
            log.debug("More than %d ask for metrics at once; one is sent away.", MOST_AT_ONCE)
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End what still goes on."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("Somebody who asked for metrics was not answered.", exc_info=True)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.connection.settimeout(TIMEOUT)
        end = time.monotonic() + TIMEOUT
        self.rfile = io.BufferedReader(DeadlineReader(self.connection, end, MOST_REQUEST))

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, self.server.metrics.text(), METRICS)
        elif path == "/healthz":
            self._answer(*self._health())
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _health(self) -> tuple[HTTPStatus, bytes]:
        age, limit = self.server.metrics.age, self.server.limit
        if age is None:
            return HTTPStatus.SERVICE_UNAVAILABLE, b"The watch has not begun yet.\n"
        if age > limit:
            text = (
                f"The watch gave its last sign of life {age:.0f} s ago; {limit:g} s are allowed.\n"
            )
            return HTTPStatus.SERVICE_UNAVAILABLE, text.encode()
        metrics = self.server.metrics
        if wrong := " ".join(f"{metrics.blind} {metrics.unkept}".split()):
            return HTTPStatus.SERVICE_UNAVAILABLE, f"{wrong}\n".encode("utf-8", "replace")
        # A source that is away is no reason to start the watch again: it goes on trying.
        source = " ".join(self.server.metrics.source.split())
        said = f": {source}" if source else ""
        return HTTPStatus.OK, f"The watch is running{said}.\n".encode("utf-8", "replace")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = TEXT) -> None:
        self.connection.settimeout(TIMEOUT)  # for all of it
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """One sentence, rather than a page that repeats what was sent."""
        if code == HTTPStatus.NOT_IMPLEMENTED:  # what the base class makes of any other method
            code = HTTPStatus.METHOD_NOT_ALLOWED
        self.close_connection = True
        self._answer(HTTPStatus(code), ERRORS.get(code, "This is no request.\n").encode())

    def version_string(self) -> str:
        return "causewatch"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: it happens every few seconds."""
