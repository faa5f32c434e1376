"""`MetricsServer`: a small page for Prometheus, and for those who ask whether a watch is alive.

It is served as the dashboard is, with the same bounds: whoever is slow gives way to whoever comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Protocol

from causewatch.extras import needed
from causewatch.server.access.exchange import (
    HEALTH,
    Incoming,
    Receive,
    Refusal,
    Request,
    Response,
    Scope,
    Send,
)
from causewatch.server.access.guard import check_form, check_origin
from causewatch.server.access.settings import ServeSettings, allowed_hosts
from causewatch.streaming.plan import Plan
from causewatch.streaming.plan_check import metrics_place
from causewatch.streaming.service import NAME
from causewatch.streaming.views import Observer

__all__ = ["MetricsServer", "telling"]

LIMIT = 60.0
"""Seconds without a sign of life after which a watch is taken for stuck."""
METRICS = "/metrics"
TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
NOTHING = b"There is nothing here; ask for /metrics or /healthz.\n"
ONLY_GET = b"Only GET is answered.\n"


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
        for library in ("uvicorn", "httptools"):
            needed(library, "metrics")
        from causewatch.server.web import WebServer

        settings = ServeSettings(host=host, port=port, viewers=0)  # nobody looks live
        app = _Probes(metrics, limit, allowed_hosts(settings))
        self._server = WebServer(app, settings, what="The page of metrics", option="--metrics")
        self._server.start()
        self.port: int = self._server.port

    def close(self) -> None:
        """Answer nobody any longer; safe to call twice."""
        self._server.close()


@contextmanager
def telling(plan: Plan) -> Iterator[tuple[Observer, ...]]:
    """Who is to be told how a watch stands, as its plan says; they tell others meanwhile."""
    if plan.metrics is None:
        yield ()
        return
    from causewatch.streaming.metrics import Metrics

    metrics = Metrics(plan.name or NAME)
    server = MetricsServer(metrics, *metrics_place(plan.metrics))
    try:
        yield (metrics,)
    finally:
        server.close()


class _Probes:
    """The application: pure ASGI, since nothing more is needed."""

    def __init__(self, metrics: Told, limit: float, hosts: frozenset[str] | None) -> None:
        self._metrics, self._limit, self._hosts = metrics, limit, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        response = Response(scope, Incoming(scope, receive), send)
        try:
            request = Request(scope)
            check_form(request, self._hosts, "name another address in --metrics")
            status, body, kind = self._answer(request)
        except Refusal as refusal:
            await response.refuse(refusal)
            return
        headers = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(body)).encode()),
        ]
        await response.send(
            {"type": "http.response.start", "status": int(status), "headers": headers}
        )
        await response.send({"type": "http.response.body", "body": body, "more_body": False})

    def _answer(self, request: Request) -> tuple[HTTPStatus, bytes, str]:
        if request.path not in (METRICS, HEALTH):
            return HTTPStatus.NOT_FOUND, NOTHING, TEXT
        if request.method not in ("GET", "HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, ONLY_GET, TEXT
        check_origin(request)
        if request.path == METRICS:
            return HTTPStatus.OK, self._metrics.text(), PROMETHEUS
        status, text = self._health()
        return status, f"{text}\n".encode("utf-8", "replace"), TEXT

    def _health(self) -> tuple[HTTPStatus, str]:
        age = self._metrics.age
        if age is None:
            return HTTPStatus.SERVICE_UNAVAILABLE, "The watch has not begun yet."
        if age > self._limit:
            text = (
                f"The watch gave its last sign of life {age:.0f} s ago; {self._limit:g} s are"
                " allowed."
            )
            return HTTPStatus.SERVICE_UNAVAILABLE, text
        if wrong := " ".join(f"{self._metrics.blind} {self._metrics.unkept}".split()):
            return HTTPStatus.SERVICE_UNAVAILABLE, wrong
        # A source that is away is no reason to start the watch again: it goes on trying.
        source = " ".join(self._metrics.source.split())
        return HTTPStatus.OK, f"The watch is running{f': {source}' if source else ''}."
