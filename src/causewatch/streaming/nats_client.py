"""How a NATS server is reached: what the source and the sink have in common."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from causewatch.errors import CausewatchError, SettingError, shorten
from causewatch.extras import needed
from causewatch.streaming.address import Address, Login, Tls, secret
from causewatch.streaming.tls import tls_context, why

__all__ = ["Channel", "NatsOptions", "check", "connect", "reason_of", "subject_of"]

PORT = 4222
PATIENCE = 3.0
"""Seconds that a server has to answer."""
PING_EVERY = 10
"""Seconds between two questions whether the server is still there; it may miss two."""
NO_TLS = "the server does not offer TLS"


@dataclass(frozen=True)
class NatsOptions(Login, Tls):
    """Options of every ``nats://`` and ``tls://`` address.

    Attributes
    ----------
    servers
        Further servers of the cluster, ``host:port``.
    token_env, token_file
        What holds a token, where the server wants one.
    credentials
        File with a user's JWT and key (``.creds``).
    domain
        The JetStream domain, where there are several.
    """

    servers: tuple[str, ...] = ()
    token_env: str = ""
    token_file: str = ""
    credentials: str = ""
    domain: str = ""


def subject_of(address: Address, *, wildcards: bool) -> str:
    """The subject that an address names."""
    parts = address.path.split(".")
    fit = all(part and not any(sign.isspace() for sign in part) for part in parts)
    wild = [place for place, part in enumerate(parts) if part in ("*", ">")]
    if not address.host or not fit or (">" in parts[:-1]):
        msg = f"{address.name} names no subject; write nats://host:4222/plant.rows."
        raise SettingError(msg)
    if wild and not wildcards:
        msg = f"Events are sent to one subject; {address.path!r} stands for several."
        raise SettingError(msg)
    return address.path


def check(options: NatsOptions) -> None:
    """Raise for what is missing on this side: libraries, secrets and certificates."""
    needed("nats.aio.client", "nats")
    if options.credentials:
        needed("nkeys", "nats")
    options.password()
    secret(options.token_env, options.token_file, "token")
    tls_context(options)


class Channel:
    """A connection that is not mended: when it breaks it is over, and `broken` tells why.

    Whoever uses it makes a new one then. So there is one way back after a lost connection, a server
    that was restarted and a server that lost its memory.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.last_error = ""

    def fail(self, reason: str) -> None:
        """It can no longer be used."""
        if not self.broken.done():
            self.broken.set_result(reason)

    async def noticed(self, error: Exception) -> None:
        """The library could not do something."""
        self.last_error = reason_of(error)

    async def closed(self) -> None:
        """The library has closed the connection."""
        self.fail(self.last_error or "connection lost")

    async def or_broken(self, work: Awaitable[Any], wait: float) -> Any:
        """Do something, unless the connection breaks first; raises `ConnectionError` then."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait(
                {task, self.broken}, timeout=wait, return_when=asyncio.FIRST_COMPLETED
            )
            if task.done():
                return task.result()
            if self.broken.done():
                raise ConnectionError(self.broken.result())
            raise TimeoutError(self.last_error or "no answer in time")
        finally:
            task.cancel()

    async def close(self) -> None:
        """End it."""
        self.fail("closed")
        try:
            await asyncio.wait_for(self.client.close(), PATIENCE)
        except Exception:  # it is over in any case
            self.client = None


async def connect(address: Address, options: NatsOptions) -> Channel:
    """A connection; raises what `reason_of` can say if there is none to be had."""
    library = needed("nats.aio.client", "nats")
    channel = Channel(library.Client())
    context, begun = _secured(address, options)

    def guarded(found: str) -> Callable[[], str]:
        def tell() -> str:
            if context is not None and not begun:
                raise ConnectionError(NO_TLS)
            return found

        return tell

    login: dict[str, Any] = {}
    password = options.password()
    token = secret(options.token_env, options.token_file, "token")
    if options.user:
        login["user"] = options.user
    if password is not None:
        login["password"] = guarded(password)
    if token is not None:
        login["token"] = guarded(token)
    if options.credentials:
        needed("nkeys", "nats")
        login["user_credentials"] = Path(options.credentials)
    host = f"[{address.host}]" if ":" in address.host else address.host
    servers = [f"{host}:{address.port or PORT}", *options.servers]
    try:
        await channel.client.connect(
            [f"nats://{one}" for one in servers],
            name="causewatch",
            error_cb=channel.noticed,
            closed_cb=channel.closed,
            allow_reconnect=False,
            connect_timeout=PATIENCE,
            reconnect_time_wait=0,
            max_reconnect_attempts=1,
            ping_interval=PING_EVERY,
            tls=context,
            **login,
        )
        if context is not None and not begun:
            raise ConnectionError(NO_TLS)
    except BaseException as error:
        told = channel.last_error
        await channel.close()
        if isinstance(error, library.errors.NoServersError) and told:
            raise ConnectionError(told) from error
        raise
    return channel


def _secured(address: Address, options: NatsOptions) -> tuple[ssl.SSLContext | None, list[bool]]:
    """What TLS needs, if it is wanted, and a list that is no longer empty once TLS was begun.

    The library goes on without TLS where a server has none, and would tell it the password.
    """
    begun: list[bool] = []
    if address.scheme != "tls" and not (options.ca or options.cert or options.key):
        return None, begun
    context = tls_context(options)
    wrap = context.wrap_bio

    def noted(*arguments: Any, **named: Any) -> ssl.SSLObject:
        begun.append(True)
        return wrap(*arguments, **named)

    context.wrap_bio = noted  # type: ignore[method-assign]
    return context, begun


def reason_of(error: BaseException) -> str:
    """What went wrong, in a few words."""
    if isinstance(error, CausewatchError):
        return str(error).rstrip(".")
    if isinstance(error, ssl.SSLError):
        return why(error)
    if isinstance(error, TimeoutError) and not error.args:
        return "no answer in time"
    told = getattr(error, "description", None) or getattr(error, "strerror", None) or str(error)
    text = " ".join(str(told).removeprefix("nats: ").strip("'\" \r\n").split())
    return shorten(text, 160) or type(error).__name__
