"""Events of alarms, posted one by one to a web server.

A request is signed if there is a secret, so that the receiver knows whose it is and that nobody
replays an old one. What the answer means is written down in ``docs/connect/webhook.md``.
"""

from __future__ import annotations

import hashlib
import http.client
import logging
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, cast
from urllib.parse import quote

from causewatch.errors import SettingError, shorten
from causewatch.streaming.address import Address, Seconds, Tls, options_of, secret
from causewatch.streaming.deadline import DeadlineReader, left_until
from causewatch.streaming.formats import CONTENT_TYPES, VERSION, Format, formatted
from causewatch.streaming.signing import signature
from causewatch.streaming.sink import DeliveryError, Notice, Status
from causewatch.streaming.tls import is_loopback, tls_context, why

__all__ = ["WebhookOptions", "WebhookSink"]

log = logging.getLogger(__name__)

SETUP = frozenset({401, 403, 404, 405, 407, 410, 421, 426})
"""Answers that say something about the set-up, and would meet every event alike."""
LATER = frozenset({408, 425, 429})
"""Answers of the kind "not possible" that mean "not now"."""
MOST_ANSWER = 1 << 16
"""Bytes of an answer that are read."""
LONGEST_WAIT = 300.0
"""Seconds that a receiver can ask us to wait for, at most."""
LONGEST_SEND = 10.0
"""Seconds after which the rest of a batch is left for the next call."""
TIMEOUT = Seconds(5.0)
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class WebhookOptions(Tls):
    """Options of ``https://``.

    Attributes
    ----------
    format
        How an event is written.
    query
        What follows the question mark of the receiver's own address.
    secret_env, secret_file
        What holds the secret that requests are signed with.
    token_env, token_file
        What holds a token for the header ``Authorization: Bearer``.
    timeout
        How long one request may take, from connecting to the end of the answer.
    """

    format: Format = "json"
    query: str = ""
    secret_env: str = ""
    secret_file: str = ""
    token_env: str = ""
    token_file: str = ""
    timeout: Seconds = TIMEOUT


class WebhookSink:
    """Posts events.

    Parameters
    ----------
    address
        ``https://host/path``, or ``webhook+https://…``; also with ``http``.
    wall
        The time in seconds since 1970.
    now
        Seconds on a clock that never goes back.

    Attributes
    ----------
    problems
        ``refused``: events that the receiver does not want, and that were left out therefore.
    """

    def __init__(
        self,
        address: Address,
        *,
        wall: Callable[[], float] = time.time,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options_of(address, WebhookOptions)
        self._scheme = address.scheme.removeprefix("webhook+")
        if not _is_host(address.host):
            msg = f"{address.name!r} names no host; an address is like https://host/path."
            raise SettingError(msg)
        if address.user is not None:
            msg = "An https:// address takes no user; give a token with token_env or token_file."
            raise SettingError(msg)
        if self._options.timeout <= 0:
            msg = "The option 'timeout' of https:// is 0; give at least a fraction of a second."
            raise SettingError(msg)
        self._host, self._port = address.host, address.port or PORTS[self._scheme]
        self._target = "/" + quote(address.path, safe="/:@!$&'()*+,;=~")
        if self._options.query:
            self._target += "?" + quote(self._options.query, safe="/:@!$&'()*+,;=~?%")
        self._named = Address(self._scheme, address.host, address.port).name
        self._wall, self._now = wall, now
        self._secret: str | None = None
        self._token: str | None = None
        self._context: ssl.SSLContext | None = None
        self._not_before = float("-inf")
        self.problems = {"refused": 0}

    @property
    def name(self) -> str:
        """See `Sink`. The path is hidden: it is often all that keeps strangers from posting."""
        if self._target == "/":
            return self._named
        return f"{self._named}/…{hashlib.sha256(self._target.encode()).hexdigest()[:8]}"

    def open(self, mark: Any) -> None:
        """See `Sink`."""
        options = self._options
        self._secret = secret(options.secret_env, options.secret_file, "secret")
        self._token = secret(options.token_env, options.token_file, "token")
        if self._secret == "" or self._token == "":
            msg = f"The secret or token for {self.name} is empty; put something into it."
            raise SettingError(msg)
        if self._token is not None:
            self._check_token(self._token)
        if self._scheme == "https":
            self._context = tls_context(options)

    def _check_token(self, token: str) -> None:
        if not token.isascii() or not token.isprintable() or " " in token:
            msg = f"The token for {self.name} holds signs that no header can; give another one."
            raise SettingError(msg)
        if self._scheme == "http" and not is_loopback(self._host):
            msg = f"A token for {self.name} could be read by others on the way; use https://."
            raise SettingError(msg)

    def send(self, notices: Sequence[Notice]) -> None:
        """See `Sink`."""
        end = self._now() + LONGEST_SEND
        for sent, notice in enumerate(notices):
            if sent and self._now() >= end:
                msg = f"{self.name} is slow; the rest goes next."
                raise DeliveryError(msg, sent)
            wait = self._not_before - self._now()
            if wait > 0:
                msg = f"{self.name} has asked us to wait; {wait:.0f} s are left."
                raise DeliveryError(msg, sent)
            try:
                self._deliver(notice)
            except DeliveryError as error:
                error.sent = sent
                raise

    def look(self, status: Status) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`."""

    def _deliver(self, notice: Notice) -> None:
        """Post one event; raises `DeliveryError` if it is to be tried again."""
        try:
            status, headers = self._post(notice)
        except (OSError, http.client.HTTPException) as error:
            msg = f"{self.name} cannot be reached: {_reason(error)}."
            raise DeliveryError(msg) from error
        if 200 <= status < 300:
            return
        if status in (429, 503):
            self._not_before = self._now() + _wait(headers.get("Retry-After"), self._wall())
        if 300 <= status < 400:
            msg = (
                f"{self.name} answers {status} and sends us elsewhere, where we do not go; give the"
                " new address."
            )
            raise DeliveryError(msg)
        if status in SETUP:
            msg = f"{self.name} answers {status}; look at the address, the token and the secret."
            raise DeliveryError(msg)
        if 400 <= status < 500 and status not in LATER:
            self.problems["refused"] += 1
            log.warning(
                "%s does not want event %s and answers %d; the event is left out there.",
                self.name,
                shorten(notice.key),
                status,
            )
            return
        msg = f"{self.name} answers {status}."
        raise DeliveryError(msg)

    def _post(self, notice: Notice) -> tuple[int, http.client.HTTPMessage]:
        """One request on a connection of its own, within the time limit as a whole."""
        end = time.monotonic() + self._options.timeout
        connection: http.client.HTTPConnection
        if self._scheme == "https":
            assert self._context is not None, "open first"
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=self._options.timeout, context=self._context
            )
        else:
            connection = http.client.HTTPConnection(
                self._host, self._port, timeout=self._options.timeout
            )
        body = formatted(notice, self._options.format).encode()
        try:
            connection.connect()
            connection.sock.settimeout(left_until(end))
            connection.request("POST", self._target, body, self._headers(notice, body))
            return _answer(connection.sock, end)
        finally:
            connection.close()

    def _headers(self, notice: Notice, body: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": CONTENT_TYPES[self._options.format],
            "User-Agent": f"causewatch/{VERSION}",
            "Connection": "close",
            # A name may hold any sign, a header may not.
            "X-Causewatch-Delivery": quote(notice.key, safe="/", errors="surrogatepass"),
        }
        if self._secret is not None:
            headers["X-Causewatch-Signature"] = signature(self._secret, body, self._wall())
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers


def _answer(connection: socket.socket, end: float) -> tuple[int, http.client.HTTPMessage]:
    """Status and headers; the body is read, as far as it is not too long, and thrown away."""
    reader = DeadlineReader(connection, end, MOST_ANSWER)
    # Some say that they are at it before they answer. All are kept: one that is forgotten closes
    # what the next is read from.
    found: list[http.client.HTTPResponse] = []
    while not found or found[-1].status < 200:
        # It wants a socket only for its `makefile`.
        found.append(http.client.HTTPResponse(cast(socket.socket, reader), method="POST"))
        found[-1].begin()
    response = found[-1]
    try:
        response.read(MOST_ANSWER)
    except (OSError, http.client.HTTPException):
        pass  # the status says all there is to know
    finally:
        response.close()
    return response.status, response.headers


def _wait(said: str | None, now: float) -> float:
    """Seconds that ``Retry-After`` asks for, as far as we let it."""
    if said is None:
        return 0.0
    if said.strip().isdigit() and said.isascii():
        found = float(said.strip()[:9])
    else:
        try:
            found = parsedate_to_datetime(said).timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return 0.0
    return min(max(0.0, found), LONGEST_WAIT)


def _reason(error: Exception) -> str:
    """Why, in a few words."""
    if isinstance(error, http.client.RemoteDisconnected):
        return "it closed the connection without an answer"
    if isinstance(error, OSError):
        return why(error)
    return f"the answer is no HTTP ({type(error).__name__})"


def _is_host(name: str) -> bool:
    """Whether this can be the name of a host; others cannot even be asked for."""
    try:
        return bool(name.encode("idna"))
    except UnicodeError:
        return False
