"""`OpcuaSink`: a small OPC UA server of our own, at which control rooms look.

Its nodes show how the watch stands and what the last event of an alarm was; every event is also
sent as an OPC UA event of the type ``BaseEventType`` from the server's ``Server`` object. Clients
can read and subscribe, nothing else.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from causewatch.errors import SettingError, StreamError, shorten
from causewatch.extras import needed
from causewatch.streaming.address import Address, options_of
from causewatch.streaming.background import BackgroundLoop
from causewatch.streaming.formats import severity
from causewatch.streaming.opcua_security import (
    Security,
    application_uri,
    check_files,
    ignore_loop_errors,
    policy_of,
    quiet,
)
from causewatch.streaming.sink import DeliveryError, Notice, Status
from causewatch.streaming.sinks.opcua_shown import (
    EMPTY,
    LAST_ALARM,
    STATUS,
    last_alarm,
    moment,
    status_nodes,
    text,
)
from causewatch.streaming.tls import is_loopback

__all__ = ["URI", "OpcuaSink", "OpcuaSinkOptions"]

log = logging.getLogger(__name__)

URI = "urn:causewatch"
"""The namespace of the nodes."""

PORT = 4841
"""Where to listen if the address names no port; 4840 may be the plant's own server."""

STARTING = 60.0
"""Seconds that the server may take to begin; usually it is two."""

SHOWING = 5.0
"""Seconds that writing nodes may take; usually it is milliseconds."""


@dataclass(frozen=True)
class OpcuaSinkOptions(Security):
    """Options of ``opc.tcp://`` as a sink; user and password are what clients have to say.

    Attributes
    ----------
    anyone
        Whether other computers may look without protection and password.
    """

    anyone: bool = False


class OpcuaSink:
    """An OPC UA server that shows alarms. See the module and `causewatch.streaming.sink.Sink`.

    Parameters
    ----------
    address
        Where to listen: ``opc.tcp://127.0.0.1:4841/causewatch``. Other computers can come only to
        an address that is not loopback, and that needs ``security`` and a user with a password.
    now
        The time, for events whose own time is no date.
    """

    def __init__(
        self, address: Address, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        needed("asyncua", "opcua")
        self._address = address
        self._now = now
        self._options = options_of(address, OpcuaSinkOptions)
        self._password = _check(address, self._options)
        self._loop: BackgroundLoop | None = None
        self._server: Any = None
        self._folders: dict[str, Any] = {}
        self._nodes: dict[str, tuple[Any, Any]] = {}  # node and type, by path
        self._shown: dict[str, Any] = {}
        self._event: Any = None
        self._index = 0

    @property
    def name(self) -> str:
        """See `Sink`."""
        return self._address.name

    def open(self, mark: Any) -> None:
        """See `Sink`; a mark is the last alarm as it was shown."""
        self._loop = BackgroundLoop("opcua-sink")
        try:
            _try_port(self._address)
            self._loop.run(self._start(mark), STARTING)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):  # a timeout is one, too
                reason = error.strerror or "it does not start"
                msg = f"{self.name} cannot be listened at ({reason}); is it taken, or not ours?"
                raise StreamError(msg) from error
            raise

    def send(self, notices: Sequence[Notice]) -> Any:
        """See `Sink`: the nodes show the last of them, and each is sent as an event."""
        mark: dict[str, Any] | None = None
        for number, notice in enumerate(notices):
            mark = last_alarm(notice)
            self._do(self._tell(notice, mark), number)
        return mark

    def look(self, status: Status) -> None:
        """See `Sink`."""
        with suppress(DeliveryError):  # the next status comes soon
            self._do(self._show_status(status), 0)

    def close(self) -> None:
        """See `Sink`."""
        if self._loop is None:
            return
        if self._server is not None:
            with suppress(Exception):
                self._loop.run(self._server.stop(), SHOWING)
            self._server = None
        self._loop.close()
        self._loop = None

    def _do(self, work: Any, sent: int) -> None:
        """Do something in the server's thread."""
        if self._loop is None or self._server is None:
            work.close()
            msg = f"{self.name} is not open."
            raise DeliveryError(msg, sent)
        try:
            self._loop.run(work, SHOWING)
        except Exception as error:  # asyncua's own, of many kinds
            reason = shorten(str(error) or type(error).__name__)
            msg = f"{self.name} could not show an event: {reason}."
            raise DeliveryError(msg, sent) from error

    async def _start(self, mark: Any) -> None:
        quiet()
        ignore_loop_errors(asyncio.get_running_loop(), lambda what: log.debug("%s", what))
        asyncua: Any = needed("asyncua", "opcua")
        ua: Any = needed("asyncua.ua", "opcua")
        server = asyncua.Server(user_manager=_Users(self._options.user, self._password))
        await server.init()
        server.set_server_name("causewatch")
        server.allow_remote_admin(False)
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        port = self._address.port or PORT
        server.set_endpoint(f"opc.tcp://{host}:{port}/{self._address.path}")
        await self._protect(server)
        self._index = await server.register_namespace(URI)
        objects = server.nodes.objects
        top = self._folders[""] = await self._folder(objects, "causewatch", "causewatch")
        for name in ("LastAlarm", "Signals"):
            self._folders[f"{name}/"] = await self._folder(top, name, name)
        for name, kind in STATUS.items():
            await self._variable("", name, kind)
        for name, kind in LAST_ALARM.items():
            await self._variable("LastAlarm/", name, kind)
        if isinstance(mark, dict):
            for name in LAST_ALARM:
                await self._show(f"LastAlarm/{name}", mark.get(name))
        generator = await server.get_event_generator(ua.ObjectIds.BaseEventType)
        self._event = generator.event
        self._event.SourceNode = top.nodeid
        await server.start()
        self._server = server

    async def _protect(self, server: Any) -> None:
        """Only let in what the options allow."""
        ua: Any = needed("asyncua.ua", "opcua")
        options = self._options
        chosen = policy_of(options)
        if chosen is None:
            server.set_security_policy([ua.SecurityPolicyType.NoSecurity])
        else:
            await check_files(options)
            await server.set_application_uri(await application_uri(options.cert, URI))
            await server.load_certificate(options.cert)
            await server.load_private_key(options.key, options.key_password())
            kind = getattr(ua.SecurityPolicyType, f"{chosen[0]}_{chosen[1]}")
            server.set_security_policy([kind])
        token = ua.UserNameIdentityToken if options.user else ua.AnonymousIdentityToken
        server.set_identity_tokens([token])

    async def _folder(self, parent: Any, path: str, name: str) -> Any:
        ua: Any = needed("asyncua.ua", "opcua")
        return await parent.add_object(
            ua.NodeId(path, self._index), ua.QualifiedName(name, self._index)
        )

    async def _variable(self, folder: str, name: str, kind: str) -> None:
        """A variable that clients can read; nothing is known of it at first."""
        ua: Any = needed("asyncua.ua", "opcua")
        variant = getattr(ua.VariantType, kind)
        node = await self._folders[folder].add_variable(
            ua.NodeId(f"{folder}{name}", self._index),
            ua.QualifiedName(name, self._index),
            EMPTY.get(kind, 0),  # a node cannot be made without; it is taken away below
            varianttype=variant,
            datatype=ua.NodeId(getattr(ua.ObjectIds, kind)),
        )
        self._nodes[f"{folder}{name}"] = (node, variant)
        await self._show(f"{folder}{name}", None)

    async def _show(self, path: str, value: Any) -> None:
        """Write a node if it has changed. Missing is no value and a bad status, never zero."""
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        if path in self._shown and self._shown[path] == value:
            return
        ua: Any = needed("asyncua.ua", "opcua")
        node, kind = self._nodes[path]
        now = self._now()
        if value is None:
            none = ua.StatusCode(ua.StatusCodes.BadNoData)
            told = ua.DataValue(ua.Variant(), none, now, now)
        else:
            told = ua.DataValue(ua.Variant(value, kind), ua.StatusCode(), now, now)
        await node.write_value(told)
        self._shown[path] = value

    async def _tell(self, notice: Notice, mark: Mapping[str, Any]) -> None:
        """Show an event in the nodes, and send it to those who have subscribed to events."""
        ua: Any = needed("asyncua.ua", "opcua")
        for name, value in mark.items():
            await self._show(f"LastAlarm/{name}", value)
        event = self._event
        # The same for the same event, so that a receiver knows a repetition.
        event.EventId = uuid.uuid5(uuid.NAMESPACE_URL, f"{URI}:{notice.key}").bytes
        event.Time = moment(notice.body.get("time")) or self._now()
        event.ReceiveTime = self._now()
        event.SourceName = notice.watch
        event.Severity = max(1, min(1000, 100 * severity(notice.body)))
        headline = notice.body.get("headline") or "An alarm without a headline"
        event.Message = ua.LocalizedText(text(f"{notice.body.get('event')}: {headline}"))
        session = self._server.iserver.isession
        await session.subscription_service.trigger_event(event)

    async def _show_status(self, status: Status) -> None:
        for name, value in status_nodes(status).items():
            await self._show(name, value)
        for signal, evidence in status.signals.items():
            if f"Signals/{signal}" not in self._nodes:
                await self._variable("Signals/", signal, "Double")
            await self._show(f"Signals/{signal}", float(evidence))


class _Users:
    """Who may look: anybody, or those who know the password. Nobody may change anything."""

    def __init__(self, user: str, password: str) -> None:
        self._user = user
        self._password = password

    def get_user(
        self, iserver: Any, username: Any = None, password: Any = None, certificate: Any = None
    ) -> Any:
        """Asked by asyncua; None turns a client away."""
        rules: Any = needed("asyncua.crypto.permission_rules", "opcua")
        if self._user:
            # In constant time, so that how long it takes tells nothing.
            same = hmac.compare_digest(str(username).encode(), self._user.encode())
            if not same & hmac.compare_digest(str(password).encode(), self._password.encode()):
                return None
        return rules.User(role=rules.UserRole.User)


def _check(address: Address, options: OpcuaSinkOptions) -> str:
    """Options that make no sense together; gives the password that clients have to say."""
    password = options.password() or ""
    protected = policy_of(options) is not None
    if not address.host:
        msg = "An OPC UA server needs a place to listen, like opc.tcp://127.0.0.1:4841/causewatch."
        raise SettingError(msg)
    if bool(options.user) != bool(password):
        msg = (
            "Clients that have to say who they are need a user and a password; give user and"
            " password_env or password_file, or neither."
        )
        raise SettingError(msg)
    if options.anyone or is_loopback(address.host):
        return password
    if not (protected and options.user):
        msg = (
            f"At {address.host} other computers could read the alarms; give security=Basic256Sha256"
            " with cert, key, user and a password, or anyone=true if they may."
        )
        raise SettingError(msg)
    return password


def _try_port(address: Address) -> None:
    """Raise `OSError` at once where nobody can listen; the server would take seconds for it."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.create_server((address.host, address.port or PORT), family=family):
        pass
