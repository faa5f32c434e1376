"""A request and its response, as the guard sees them: bounded, and with the same headers always."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

__all__ = ["CSP", "Body", "Gone", "Incoming", "Refusal", "Request", "Response", "host_of"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEALTH = "/healthz"
UPLOADS = "/api/replays"
LIVE = "/api/live"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

MOST_BODY = 64 << 10
MOST_UPLOAD = 256 << 20
PATIENCE = 10.0
"""Seconds in which a body must be there."""
UPLOAD_PATIENCE = 30.0
"""Seconds without anything of an upload."""
UPLOAD_SECONDS = 1800.0
"""Seconds in which all of it must be there."""
DROP_SECONDS, DROP_PAUSE = 60.0, 5.0
"""Seconds for which a body that nobody wants is read all the same, and in which more must come."""

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'"
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"permissions-policy",
        b"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    (b"x-frame-options", b"DENY"),
)
FIXED = frozenset(name for name, _ in HEADERS) | {b"server", b"strict-transport-security"}
SINGLE = (
    b"host",
    b"authorization",
    b"content-length",
    b"content-type",
    b"origin",
    b"sec-fetch-site",
    b"sec-fetch-mode",
    b"transfer-encoding",
)
"""Headers that are there once or not at all: of two, each reader might take another one."""

HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+?)\.?(?::([0-9]{1,5}))?")
SORRY = "Something went wrong here; the log says what."


class Refusal(Exception):
    """An answer that the guard gives itself."""

    def __init__(
        self, status: int, sentence: str, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, tuple(headers)


class Gone(Exception):
    """The client has hung up: there is nobody to answer."""


class Incoming:
    """What a client sends, and whether all of it has come."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        names = {name.lower() for name, _ in scope["headers"]}
        self.ended = not names & {b"content-length", b"transfer-encoding"}
        self._receive = receive

    async def receive(self) -> Message:
        """The next message."""
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self.ended = True
        return message

    async def drop(self) -> None:
        """Read the rest for nothing, as far as it is bearable.

        Most clients look for an answer only when they have sent everything, and to hang up on them
        before takes the answer away again.
        """
        left = MOST_UPLOAD
        try:
            async with asyncio.timeout(DROP_SECONDS):
                while not self.ended and left > 0:
                    async with asyncio.timeout(DROP_PAUSE):
                        left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return


class Request:
    """What a request says about itself."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.scheme: str = scope.get("scheme", "http")
        client = scope.get("client")
        self.address: str = client[0] if client else "unknown"
        self.upload = self.method == "POST" and self.path == UPLOADS
        self._headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            name = name.lower()
            if name in SINGLE and name in self._headers:
                msg = f"There are two headers {name.decode('latin-1')}; send it once."
                raise Refusal(400, msg)
            self._headers[name] = value.strip(b" \t")

    def one(self, name: bytes) -> bytes | None:
        """The header of that name."""
        return self._headers.get(name)

    @property
    def host(self) -> tuple[str, str | None] | None:
        """Name and port of the host that is asked; None if it names none."""
        value = self.one(b"host")
        return None if value is None else host_of(value)

    @property
    def length(self) -> int | None:
        """How long the body is said to be."""
        value = self.one(b"content-length")
        return None if value is None else int(value)

    @property
    def has_body(self) -> bool:
        """Whether a body is announced."""
        return bool(self.length) or self.one(b"transfer-encoding") is not None


def host_of(value: bytes) -> tuple[str, str | None] | None:
    """Name and port in what a header says about a host; None if there is none."""
    match = HOST.fullmatch(value.decode("latin-1").lower())
    return None if match is None else (match[1], match[2])


class Body:
    """The body of a request, bounded in size and time.

    A small one is read before the application is asked at all, so that no handler has to know what
    to do with one that is too long, too slow or never ends. Uploads pass through.
    """

    def __init__(self, request: Request, receive: Receive, patience: float) -> None:
        self._request, self._receive, self._patience = request, receive, patience
        self._most = MOST_UPLOAD if request.upload else MOST_BODY
        self._seen = 0
        self._ended = False
        self._kept: bytes | None = None
        self._refusal: Refusal | None = None
        self._begun = 0.0

    def refusal(self) -> Refusal | None:
        """Why the body was not read to its end; None if there is no reason."""
        return self._refusal

    async def begin(self) -> None:
        """Read a small body; raises `Refusal`, or `Gone`."""
        if (self._request.length or 0) > self._most:
            raise self._too_long()
        self._begun = asyncio.get_running_loop().time()
        if self._request.upload or (self._request.method in SAFE and not self._request.has_body):
            return
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._patience):
                while not self._ended:
                    parts.append(self._count(await self._receive()).get("body", b""))
        except TimeoutError:
            raise self._too_slow() from None
        if self._refusal is not None:
            raise self._refusal
        self._kept = b"".join(parts)

    async def receive(self) -> Message:
        """What the application gets instead of what comes in."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return {"type": "http.request", "body": kept, "more_body": False}
        if self._ended or not self._request.upload:
            return await self._receive()  # waits until the client hangs up
        now = asyncio.get_running_loop().time()
        overdue = self._begun + UPLOAD_SECONDS
        try:
            async with asyncio.timeout_at(min(now + self._patience, overdue)):
                message = self._count(await self._receive())
        except Gone:
            return {"type": "http.disconnect"}
        except TimeoutError:
            self._refusal = self._too_slow(now + self._patience > overdue)
        if self._refusal is not None:
            # Every handler knows what to do when the client hangs up; `Response` says why.
            self._ended = True
            return {"type": "http.disconnect"}
        return message

    def _count(self, message: Message) -> Message:
        if message["type"] == "http.disconnect":
            raise Gone
        self._seen += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._seen > self._most:
            self._ended, self._refusal = True, self._too_long()
        return message

    def _too_long(self) -> Refusal:
        return Refusal(413, f"This is too long; at most {self._most} bytes are read here.")

    def _too_slow(self, overdue: bool = False) -> Refusal:
        if overdue:
            msg = f"The upload took longer than {UPLOAD_SECONDS:g} s; send a shorter recording."
            return Refusal(408, msg)
        what = "Nothing more of the upload" if self._request.upload else "Not all of the request"
        return Refusal(408, f"{what} came within {self._patience:g} s; send it again.")


class Response:
    """What is sent back, with the headers that every response has.

    Whatever is answered before all of the request has come, the rest is taken in before the
    connection is closed.
    """

    def __init__(self, scope: Scope, incoming: Incoming, send: Send) -> None:
        self._scope, self._incoming, self._send = scope, incoming, send
        self._started = self._refused = False
        self._live = False  # whether it may go on for days
        self.override: Callable[[], Refusal | None] = lambda: None
        self.allowed: Callable[[], bool] = lambda: True
        self.broken = False  # whether the application itself said that something went wrong

    async def send(self, message: Message) -> None:
        """What the application sends."""
        if self._refused:
            return
        if message["type"] == "http.response.start":
            refusal = self.override()
            if refusal is None and message["status"] == 500:
                # Whatever it says was not meant for clients.
                self.broken, refusal = True, Refusal(500, SORRY)
            if refusal is not None:
                await self.refuse(refusal)
                return
            self._started = True
            headers = self._headers(message.get("headers", ()))
            kind = next((v for n, v in headers if n.lower() == b"content-type"), b"")
            self._live = kind.startswith(b"text/event-stream")
            message = {**message, "headers": headers}
        elif self._live and not self.allowed():
            # The server takes this for the end, and tells the application that nobody listens.
            self._refused = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._pass_on(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Send a sentence, unless an answer has begun."""
        if self._started:
            return
        self._started = self._refused = True
        body = json.dumps({"error": refusal.sentence}, ensure_ascii=False).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            *refusal.headers,
        ]
        start = {"type": "http.response.start", "status": refusal.status}
        await self._send({**start, "headers": self._headers(headers)})
        if self._scope["method"] == "HEAD":
            body = b""
        await self._pass_on({"type": "http.response.body", "body": body, "more_body": False})

    async def _pass_on(self, message: Message) -> None:
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if last and not self._incoming.ended:
            # The server closes the connection after the last message, so that has to wait.
            await self._send({**message, "more_body": True})
            await self._incoming.drop()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    def _headers(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        path: str = self._scope["path"]
        live = path == HEALTH or path.startswith("/api/")
        away = FIXED | {b"cache-control"} if live else FIXED
        headers = [(name, value) for name, value in given if name.lower() not in away]
        if not self._incoming.ended:
            headers.append((b"connection", b"close"))
        names = {name.lower() for name, _ in headers}
        if b"content-security-policy" not in names:
            headers.append((b"content-security-policy", CSP.encode()))
        if b"cache-control" not in names:
            headers.append((b"cache-control", b"no-store" if live else b"no-cache"))
        headers += HEADERS
        if self._scope.get("scheme") == "https" and not self._is_localhost():
            headers.append((b"strict-transport-security", b"max-age=31536000"))
        return headers

    def _is_localhost(self) -> bool:
        # There, a promise to speak TLS only would hold for whatever else runs on the machine.
        hosts = [value for name, value in self._scope["headers"] if name.lower() == b"host"]
        return any(value.lower().partition(b":")[0] == b"localhost" for value in hosts)
