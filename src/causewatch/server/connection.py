"""`Connection`: one connection to the web server, and what it may cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

__all__ = ["Connection"]

HEAD_BYTES = 32_768
"""Bytes that the head of a request may have."""
HEAD_SECONDS = 10.0
"""Seconds in which it must have arrived."""
MOST_AHEAD = 16
"""Requests that may wait for the answer to an earlier one on the same connection."""


class Connection(HttpToolsProtocol):
    """Limits what a connection may cost, which uvicorn does not.

    The head of a request is limited in size and time, and so is the number of requests that are
    sent ahead.
    """

    _head = 0
    _within = False  # whether a body is expected, which may have been answered already
    _deadline: asyncio.TimerHandle | None = None  # while a head is expected, or such a body
    _idle_since = 0.0
    _answering: RequestResponseCycle | None = None  # the last that was begun
    lost: Callable[[], None] | None = None  # called at the end

    @property
    def idle(self) -> bool:
        """Whether nothing is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def idle_since(self) -> float | None:
        """Since when nothing is, by the clock of the loop; None if something is."""
        return self._idle_since if self.idle else None

    def answer_with(self, app: Any) -> None:
        """Have everything that is asked answered by another application."""
        self.app = app

    def hang_up(self) -> None:
        """End it, whatever is being answered."""
        self._tell_that_nobody_listens()
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        self._expect_head()
        self._idle_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._end_head()
        if self.lost is not None:
            self.lost()
        self._tell_that_nobody_listens()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self.transport.is_closing():  # nothing more is answered
            return
        if self.idle and self._deadline is None:  # a further request on the same connection
            self._expect_head()
        before = self._deadline
        super().data_received(data)
        if self._deadline is not None and self._deadline is before and not self._within:
            self._head += len(data)
            if self._head > HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """See httptools."""
        super().on_message_begin()
        if self._deadline is None:  # it comes while an earlier one is still being answered
            self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """See httptools."""
        # What comes after a body is no header: whoever checked the head has not seen it.
        if not self._within:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """See httptools."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > HEAD_BYTES:
            self._head = size
            msg = "The head is too long."
            raise ValueError(msg)  # which ends in `send_400_response`
        if len(self.pipeline) >= MOST_AHEAD:
            msg = "Too much is asked at once."
            raise ValueError(msg)
        self._end_head()
        self._within = True
        super().on_headers_complete()
        if not self.pipeline:
            self._answering = self.cycle

    def on_message_complete(self) -> None:
        """See httptools."""
        self._within, self._head = False, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """See uvicorn."""
        self._idle_since = self.loop.time()
        if self.pipeline:
            self._answering = self.pipeline[-1][0]
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request; `msg` was meant for a log."""
        status, said = "400 Bad Request", "This is no request that can be read; use HTTP/1.1."
        if self._head > HEAD_BYTES:
            status = "431 Request Header Fields Too Large"
            said = f"The head of the request is too long; at most {HEAD_BYTES} bytes are read."
        self._end_head()
        if not self.idle:  # an answer has begun, and this cannot be put into it
            self.transport.abort()
            return
        body = json.dumps({"error": said})
        head = (
            *(f"HTTP/1.1 {status}", "content-type: application/json"),
            *(f"content-length: {len(body)}", "cache-control: no-store"),
            *("x-content-type-options: nosniff", "connection: close", "", body),
        )
        self.transport.write("\r\n".join(head).encode())
        self.transport.close()

    # Heads and room

    def _expect_head(self) -> None:
        self._head = 0
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _tell_that_nobody_listens(self) -> None:
        """Tell whoever answers; uvicorn tells only the last request, which may have to wait."""
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def _end_head(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
