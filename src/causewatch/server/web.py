"""`WebServer`: an application on uvicorn, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from causewatch.errors import StreamError
from causewatch.server.access.settings import ServeSettings, most_connections
from causewatch.server.connection import Connection
from causewatch.server.door import Door

__all__ = ["WebServer"]

log = logging.getLogger(__name__)

SILENT = 30_000
"""Milliseconds after which a connection whose other side takes nothing is given up."""
UNSENT = 128 << 10
"""Bytes that the system holds for one connection: a slow viewer gets what is new, not old news."""
BACKLOG = 256
"""Connections that may wait for being accepted."""
GRACE = 2
"""Seconds that answers may still take when the server stops."""
BEGIN = 10.0
"""Seconds in which the server must have begun."""


class WebServer:
    """Answers from now on until it is closed.

    Parameters
    ----------
    app
        An ASGI application.
    settings
        Where to listen, and the certificate.
    begun
        Called in the loop of the server before the first request.
    what, option
        What is served, and which option says where: for sentences.
    """

    def __init__(
        self,
        app: Any,
        settings: ServeSettings,
        begun: Callable[[asyncio.AbstractEventLoop], None] = lambda loop: None,
        *,
        what: str = "The page",
        option: str = "--port",
    ) -> None:
        self._what = what
        try:
            self._socket = _listen(settings.host, settings.port)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            msg = (
                f"{what} cannot be served at {settings.host}:{settings.port}: {reason}; name"
                f" another {option}."
            )
            raise StreamError(msg) from error
        self.port: int = self._socket.getsockname()[1]
        secure = settings.cert is not None
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.address = f"{'https' if secure else 'http'}://{host}:{self.port}/"
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=GRACE,
            ssl_certfile=settings.cert,
            ssl_keyfile=settings.key,
        )
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # requests may be anything
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            self._socket.close()
            msg = (
                f"The certificate {str(settings.cert)!r} and its key cannot be used:"
                f" {(error.strerror or str(error)).lower()}."
            )
            raise StreamError(msg) from error
        self._server = _Server(config, begun, most_connections(settings))
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()
        if not self._server.ready.wait(BEGIN) or not self._thread.is_alive():
            self.close()
            msg = f"{self._what} cannot be served at {self.address}; the log says why."
            raise StreamError(msg)

    def close(self) -> None:
        """Answer nobody any longer; safe to call twice."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(GRACE + 5)
        self._socket.close()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except Exception:  # the watch goes on without its page
            log.exception("%s is no longer served.", self._what)
        finally:
            self._server.ready.set()


class _Server(uvicorn.Server):
    """Says when it is ready, leaves signals to the watch, and limits who comes in."""

    def __init__(
        self,
        config: uvicorn.Config,
        begun: Callable[[asyncio.AbstractEventLoop], None],
        most: int,
    ) -> None:
        super().__init__(config)
        self._begun, self._most = begun, most
        self._doors: list[Door] = []
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._begun(asyncio.get_running_loop())
        await super().startup([])
        # Not by uvicorn, which knows neither addresses nor those who do not shake hands.
        for one in sockets or ():
            door = Door(one, self._connection, self.config.ssl, self._most)
            door.open()
            self._doors.append(door)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for door in self._doors:
            await door.close()
        await super().shutdown(sockets)
        for one in list(self.server_state.connections):  # they take nothing of what is left
            one.transport.abort()
        await asyncio.sleep(0)

    def _connection(self) -> Connection:
        state = self.lifespan.state
        return Connection(config=self.config, server_state=self.server_state, app_state=state)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections that are accepted take these over.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNSENT)
        # Whoever takes nothing for so long is gone, even if his machine still answers.
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT)
        made.bind((host, port))
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made
