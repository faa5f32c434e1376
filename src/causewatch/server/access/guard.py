"""The guard in front of the web application: who asks, what they may do, and how much.

Every request passes here before any other code of the server sees it, and every response leaves
with the same headers. It trusts nothing that a client can write: the address is that of the
connection, never one of a header.
"""

from __future__ import annotations

import base64
import binascii
import logging
import time
from collections.abc import Callable
from functools import partial

from causewatch.errors import SettingError
from causewatch.server.access.exchange import (
    HEALTH,
    LIVE,
    PATIENCE,
    SAFE,
    SORRY,
    UPLOAD_PATIENCE,
    App,
    Body,
    Gone,
    Incoming,
    Receive,
    Refusal,
    Request,
    Response,
    Scope,
    Send,
    host_of,
)
from causewatch.server.access.failures import Failures
from causewatch.server.access.tokens import Role, Tokens, Visitor, digest_of
from causewatch.server.access.views import Views

__all__ = ["Guard", "check_form", "check_origin", "token_of"]

AUDIT = "/api/audit"

MOST_TARGET = 8 << 10
"""Bytes of path and query."""
RECHECK = 5.0
"""Seconds after which it is asked again whether whoever looks live is still let in."""


class Guard:
    """Pure ASGI middleware; put it around the whole application.

    Parameters
    ----------
    app
        What is guarded. It finds a `Visitor` in ``scope["state"]["visitor"]`` (None for the health
        check of somebody unknown).
    tokens
        Who is let in.
    open_role
        What everybody may do, where there are no tokens.
    hosts
        The hosts that a request may name, on any port; None for any.
    viewers
        How many may look live at once.
    now
        A clock, in seconds.
    log
        Where to write.
    patience, upload_patience
        Seconds for a whole body, and for a pause within an upload.
    """

    def __init__(
        self,
        app: App,
        *,
        tokens: Tokens | None,
        open_role: Role | None,
        hosts: frozenset[str] | None,
        viewers: int = 200,
        now: Callable[[], float] = time.monotonic,
        log: logging.Logger | None = None,
        patience: float = PATIENCE,
        upload_patience: float = UPLOAD_PATIENCE,
    ) -> None:
        if (tokens is None) == (open_role is None):
            msg = "The guard has neither tokens nor an open role, or both; give it one of them."
            raise SettingError(msg)
        self._app, self._tokens = app, tokens
        self._anybody = None if open_role is None else Visitor(None, open_role)
        self._hosts = hosts
        self._views = Views(viewers)
        self._log = logging.getLogger(__name__) if log is None else log
        self._now, self._failures = now, Failures(now, self._log)
        self._patience, self._upload_patience = patience, upload_patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http":
            incoming = Incoming(scope, receive)
            await self._http(scope, incoming.receive, Response(scope, incoming, send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, response: Response) -> None:
        body: Body | None = None
        try:
            request = Request(scope)
            check_form(request, self._hosts)
            visitor = self._visitor(request)
            _check_role(request, visitor)
            check_origin(request)
            patience = self._upload_patience if request.upload else self._patience
            body = Body(request, receive, patience)
            await body.begin()
            inner = dict(scope)
            inner["state"] = {**(scope.get("state") or {}), "visitor": visitor}
            response.override = body.refusal
            if self._tokens is not None and visitor is not None:
                response.allowed = self._still(request, visitor)
            answer = partial(self._app, inner, body.receive, response.send)
            if request.path == LIVE and request.method == "GET":
                await self._views.look(request.address, answer)
            else:
                await answer()
        except Refusal as refusal:
            await response.refuse(refusal)
        except Gone:
            return
        except Exception as error:
            why = None if body is None else body.refusal()
            if type(error).__name__ == "ClientDisconnect" and why is None:
                return  # what Starlette makes of a client that hangs up during an upload
            if why is None:
                self._log.exception("A request could not be answered.")
            # If the answer has begun, the server sees that it never ends, and hangs up.
            await response.refuse(why or Refusal(500, SORRY))
        else:
            if response.broken:
                self._log.error("A request was answered with 500, for a reason that is not known.")

    def _still(self, request: Request, visitor: Visitor) -> Callable[[], bool]:
        """Says whether a visitor is still let in, to be asked again and again."""
        digest = digest_of(token_of(request.one(b"authorization") or b"") or "")
        asked, answer = self._now(), True

        def allowed() -> bool:
            nonlocal asked, answer
            if self._now() - asked >= RECHECK:
                assert self._tokens is not None
                asked, answer = self._now(), self._tokens.find_digest(digest) == visitor
            return answer

        return allowed

    def _visitor(self, request: Request) -> Visitor | None:
        if self._tokens is None:
            return self._anybody
        if request.path == HEALTH and request.method in ("GET", "HEAD"):
            return None
        value = request.one(b"authorization")
        if value is None:
            raise Refusal(401, "Say who you are: a token is needed here.", CHALLENGE)
        token = token_of(value)
        # What is no token at all counts as a wrong one.
        digest = b"" if token is None else digest_of(token)
        address = request.address
        wait = self._failures.wait(address, digest)
        if wait is not None:
            after = ((b"retry-after", str(wait).encode()),)
            raise Refusal(
                429, f"Too many wrong tokens came from your address; try again in {wait} s.", after
            )
        visitor = self._tokens.find_digest(digest)
        if visitor is None:
            self._failures.failed(address, digest)
            raise Refusal(401, "This token is not known here; check it.", CHALLENGE)
        self._failures.accepted(address, digest)
        return visitor


CHALLENGE = ((b"www-authenticate", b'Basic realm="causewatch", charset="UTF-8"'),)


def token_of(value: bytes) -> str | None:
    """The token in an ``Authorization`` header; None if there is none that could be one.

    ``Bearer TOKEN``, or ``Basic`` with the token as password, whatever the user's name.

    >>> token_of(b"Bearer abc")
    'abc'
    >>> token_of(b"Basic YW5uYTphYmM=")
    'abc'
    """
    scheme, _, rest = value.strip(b" \t").partition(b" ")
    rest = rest.strip(b" \t")
    try:
        if scheme.lower() == b"bearer":
            token = rest.decode("utf-8")
        elif scheme.lower() == b"basic":
            pair = base64.b64decode(rest, validate=True).decode("utf-8")
            token = pair.partition(":")[2]
        else:
            return None
    except (binascii.Error, UnicodeDecodeError):
        return None
    return token if token and token.split() == [token] else None


# What is checked, in this order


def check_form(
    request: Request,
    hosts: frozenset[str] | None,
    remedy: str = "start it with --tokens",
) -> None:
    """Whether this is a request that everybody reads in the same way, and meant for us.

    The `remedy` is what opens the server to other names than those of `hosts`.
    """
    target = request.scope.get("raw_path") or request.path.encode("utf-8", "surrogatepass")
    if len(target) + len(request.scope.get("query_string", b"")) + 1 > MOST_TARGET:
        msg = f"The address is too long; at most {MOST_TARGET} bytes are read."
        raise Refusal(414, msg)
    length = request.one(b"content-length")
    if length is not None:
        if not length.isdigit() or len(length) > 15:
            msg = "The header Content-Length is no length; a number of bytes is expected."
            raise Refusal(400, msg)
        if request.one(b"transfer-encoding") is not None:
            msg = "There are both Content-Length and Transfer-Encoding; send one of them."
            raise Refusal(400, msg)
    host = request.host
    if host is None and (hosts is not None or request.one(b"host") is not None):
        msg = "The header Host names no host; send the name of this server."
        raise Refusal(400, msg)
    if hosts is not None and host is not None and host[0] not in hosts:
        msg = (
            "This server is not known by the name that was asked for; use localhost, or"
            f" {remedy} to reach it by other names."
        )
        raise Refusal(421, msg)


def _check_role(request: Request, visitor: Visitor | None) -> None:
    operates = request.method not in SAFE or request.path.rstrip("/") == AUDIT
    if operates and visitor is not None and visitor.role != "operate":
        raise Refusal(403, "You may look here, but this needs the role operate.")


def check_origin(request: Request) -> None:
    """Whether a page from elsewhere has made a browser ask this.

    A browser sends a password that it knows along with whatever any page asks for. Newer ones say
    for whom they ask, in Sec-Fetch-Site; all say it in Origin when something may be changed; and a
    page from elsewhere cannot send these types of content without being allowed to.
    """
    foreign = request.one(b"sec-fetch-site") not in (None, b"same-origin", b"none")
    if request.method in SAFE:
        # A link from elsewhere to a page here is fine.
        if foreign and request.one(b"sec-fetch-mode") != b"navigate":
            raise Refusal(403, "A page from elsewhere asked for this; open the dashboard itself.")
        return
    origin = request.one(b"origin")
    if foreign or (origin is not None and not _same_origin(origin, request)):
        raise Refusal(403, "A page from elsewhere asked for this; use the dashboard itself.")
    # Other methods than POST are never sent from elsewhere without being allowed.
    if request.method == "POST" or request.has_body:
        kind = (request.one(b"content-type") or b"").partition(b";")[0].strip().lower()
        wanted = b"application/octet-stream" if request.upload else b"application/json"
        if kind != wanted:
            raise Refusal(415, f"The header Content-Type must be {wanted.decode()} here.")


def _same_origin(origin: bytes, request: Request) -> bool:
    scheme, mark, rest = origin.partition(b"://")
    there, here = host_of(rest), request.host
    if not mark or there is None or here is None or there[0] != here[0]:
        return False
    if scheme == b"https" and request.scheme == "http":
        # A proxy that ends TLS in front of us passes on what the browser calls it.
        return there[1] == here[1]
    usual = "443" if request.scheme == "https" else "80"
    return scheme.decode("latin-1") == request.scheme and (there[1] or usual) == (here[1] or usual)
