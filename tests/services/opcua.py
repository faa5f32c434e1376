"""A small plant behind a real OPC UA server, and certificates as OPC UA wants them."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from causewatch.streaming.background import BackgroundLoop
from causewatch.streaming.opcua_security import MODES, POLICIES, quiet

from .ports import free_port

URI = "urn:causewatch:test:plant"


@contextmanager
def no_rubbish() -> Iterator[None]:
    """A server makes so many objects when it starts that half of the time goes into looking for
    rubbish among them, of which there is none."""  # noqa: D205, D209
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Plant:
    """Variables on an OPC UA server, in a thread of its own.

    Parameters
    ----------
    names
        Of the variables; their node ids are ``ns=…;s=NAME`` below the object ``Plant``.
    port
        Where to listen; stays the same when it is stopped and started again.
    user, password
        Who may come; anybody if not given.
    cert, key
        Of the server; messages must be protected then, by one of the policies that are offered.
    user_cert
        A user's certificate that is let in.
    extra
        Namespaces registered before the plant's own, which moves its number.
    """

    def __init__(
        self,
        names: Sequence[str],
        port: int | None = None,
        *,
        user: str = "",
        password: str = "",
        cert: Path | None = None,
        key: Path | None = None,
        user_cert: Path | None = None,
        extra: int = 0,
    ) -> None:
        self.names = tuple(names)
        self.port = port or free_port()
        self.url = f"opc.tcp://127.0.0.1:{self.port}/plant"
        self.extra = extra
        self._login = (user, password)
        self._files = (cert, key, user_cert)
        self._loop: BackgroundLoop | None = None
        self._server: Any = None
        self._nodes: dict[str, Any] = {}

    def start(self) -> Plant:
        """Begin to listen."""
        quiet()
        self._loop = BackgroundLoop("opcua-plant")
        with no_rubbish():
            self.run(self._start())
        return self

    def stop(self) -> None:
        """No longer listen; all sessions are lost."""
        if self._loop is not None:
            self.run(self._server.stop())
            self._loop.close()
            self._loop = None

    def run(self, work: Any) -> Any:
        """Do something in the server's thread."""
        assert self._loop is not None
        return self._loop.run(work, 20.0)

    async def _start(self) -> None:
        from asyncua import Server, ua

        cert, key, user_cert = self._files
        manager = _Users(*self._login, user_cert)
        server = self._server = Server(user_manager=manager)  # type: ignore[arg-type]
        await server.init()
        server.set_endpoint(self.url)
        if cert is not None and key is not None:
            await server.set_application_uri("urn:causewatch:test:server")
            await server.load_certificate(cert)
            await server.load_private_key(key)
            ways = [f"{policy}_{mode}" for policy in POLICIES for mode in MODES]
            server.set_security_policy([ua.SecurityPolicyType[way] for way in ways])
        else:
            server.set_security_policy([ua.SecurityPolicyType.NoSecurity])
        for number in range(self.extra):
            await server.register_namespace(f"urn:causewatch:test:other{number}")
        self.index = await server.register_namespace(URI)
        self.folder = await server.nodes.objects.add_object(
            ua.NodeId("Plant", self.index), ua.QualifiedName("Plant", self.index)
        )
        for name in self.names:
            await self._add(name)
        await server.start()

    async def _add(self, name: str) -> None:
        from asyncua import ua

        node = await self.folder.add_variable(
            ua.NodeId(name, self.index), ua.QualifiedName(name, self.index), 0.0
        )
        waiting = ua.StatusCode(ua.StatusCodes.BadWaitingForInitialData)
        await node.write_value(ua.DataValue(ua.Variant(), waiting))
        self._nodes[name] = node

    def add(self, name: str) -> None:
        """One more variable while the server runs."""
        self.run(self._add(name))

    def tag(self, name: str) -> str:
        """The node id of a variable, as text."""
        return f"ns={self.index};s={name}"

    async def put(
        self,
        name: str,
        value: Any,
        time: datetime | None,
        status: int = 0,
        kind: Any = None,
        server_time: datetime | None = None,
    ) -> None:
        """A variable changes."""
        from asyncua import ua

        variant = ua.Variant(value) if kind is None else ua.Variant(value, kind)
        told = ua.DataValue(variant, ua.StatusCode(status), time, server_time or datetime.now(UTC))
        # This server lets no variable change its type; others are less strict.
        node = self._nodes[name].nodeid
        self._server.iserver.aspace._nodes[node].attributes[ua.AttributeIds.Value].value = None
        await self._server.write_attribute_value(node, told)

    def write(self, name: str, value: Any, time: datetime | None, **more: Any) -> None:
        """The same from another thread."""
        self.run(self.put(name, value, time, **more))

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        """All variables change at these times; NaN is a bad status."""

        async def work() -> None:
            for row, time in zip(rows, times, strict=True):
                for name, value in row.items():
                    if math.isnan(value):
                        await self.put(name, None, time, status=0x80310000)
                    else:
                        await self.put(name, value, time)

        self.run(work())

    @property
    def protection(self) -> list[tuple[str, str]]:
        """Policy and mode of the connections there are, called as in the option `security`."""
        channels = [one.processor._connection for one in list(self._server.bserver.clients)]
        used = [channel.security_policy for channel in channels]
        names = [policy.URI.rpartition("#")[2].replace("_", "") for policy in used]
        return [(name, policy.Mode.name) for name, policy in zip(names, used, strict=True)]

    @property
    def items(self) -> int:
        """Variables that somebody has subscribed to."""
        subscriptions = self._server.iserver.subscription_service.subscriptions.values()
        return sum(len(one.monitored_item_srv._monitored_items) for one in list(subscriptions))

    def tick(self, rate: float, seconds: float, start: datetime, names: Sequence[str]) -> None:
        """These variables change `rate` times a second: to ``number + place / 1000``."""

        async def work() -> None:
            began = asyncio.get_running_loop().time()
            for number in range(round(rate * seconds)):
                now = start + timedelta(seconds=number / rate)
                for place, name in enumerate(names):
                    await self.put(name, number + place / 1000, now)
                wait = began + (number + 1) / rate - asyncio.get_running_loop().time()
                await asyncio.sleep(max(0.0, wait))

        self.run(work())


class _Users:
    """Lets in those who know the password or have the certificate."""

    def __init__(self, user: str, password: str, cert: Path | None) -> None:
        self._login = (user, password)
        self._cert = cert

    def get_user(
        self, iserver: Any, username: Any = None, password: Any = None, certificate: Any = None
    ) -> Any:
        from asyncua.crypto.permission_rules import User, UserRole
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import Encoding

        known = User(role=UserRole.User)
        if self._cert is not None and username is None:
            own = x509.load_der_x509_certificate(self._cert.read_bytes())
            return known if certificate == own.public_bytes(Encoding.DER) else None
        if not self._login[0]:
            return known
        return known if (username, password) == self._login else None


@contextmanager
def plant(names: Sequence[str], **more: Any) -> Iterator[Plant]:
    """A `Plant` that listens; skips the test where asyncua is not installed."""
    pytest.importorskip("asyncua", reason="asyncua is not installed")
    found = Plant(names, **more).start()
    try:
        yield found
    finally:
        found.stop()


def certificate(folder: Path, name: str, uri: str) -> tuple[Path, Path]:
    """Files of a certificate that vouches for itself, and of its key: DER and PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    places = [
        x509.UniformResourceIdentifier(uri),
        x509.DNSName("localhost"),
        x509.IPAddress(ip_address("127.0.0.1")),
    ]
    usage = x509.KeyUsage(True, True, True, True, False, True, False, False, False)
    roles = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(places), critical=False)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(roles), critical=False)
        .sign(key, hashes.SHA256())
    )
    cert, secret = folder / f"{name}.der", folder / f"{name}.pem"
    cert.write_bytes(made.public_bytes(serialization.Encoding.DER))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert, secret
