"""Where the dashboard listens, and whom it lets in.

On this machine alone nobody need be asked who they are. Elsewhere there must be tokens or TLS: with
TLS alone everybody may look and nobody may operate.
"""

from __future__ import annotations

import os
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path

from causewatch.errors import SettingError, shorten
from causewatch.server.access.tokens import Role, Tokens
from causewatch.streaming.config import MOST_VIEWERS
from causewatch.streaming.tls import is_loopback

__all__ = [
    "ServeSettings",
    "allowed_hosts",
    "check_settings",
    "most_connections",
    "open_role",
]

FILES = 256
"""Files that the watch itself may have open; connections must leave it as many."""
FEWEST = 32
"""Connections without which there is no use in a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """What `causewatch serve` was told.

    Attributes
    ----------
    host, port
        Where to listen; port 0 for any that is free.
    tokens
        File of those who are let in (see `causewatch.server.access.tokens`).
    cert, key
        Files of a certificate and its key, for TLS.
    audit
        File that says what operators did; kept in memory if None.
    viewers
        How many may look live at once.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    tokens: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    audit: Path | None = None
    viewers: int = 200

    @property
    def tls(self) -> bool:
        """Whether nobody else can read what is sent."""
        return self.cert is not None


def check_settings(settings: ServeSettings) -> list[str]:
    """Raise `SettingError` for settings that are wrong or unsafe; gives warnings as sentences."""
    host = settings.host
    if not host or host != host.strip() or host.startswith("["):
        msg = (
            f"{shorten(host)!r} is no host; name one such as 127.0.0.1, 0.0.0.0 or ::1, without"
            " brackets."
        )
        raise SettingError(msg)
    if not 0 <= settings.port <= 65535:
        msg = f"{settings.port} is no port; one from 0 to 65535 is expected."
        raise SettingError(msg)
    if not 1 <= settings.viewers <= MOST_VIEWERS:
        msg = f"{settings.viewers} viewers are no bound; one from 1 to {MOST_VIEWERS} is expected."
        raise SettingError(msg)
    if not is_loopback(host) and settings.tokens is None and not settings.tls:
        msg = (
            f"At {shorten(host)!r} others could reach the dashboard, and nobody would be asked who"
            " they are; name a file of tokens with --tokens (made by 'causewatch token'), or a"
            " certificate with --cert and --key, or listen at 127.0.0.1."
        )
        raise SettingError(msg)
    warnings = _check_certificate(settings.cert, settings.key)
    most, wanted = most_connections(settings), _wanted(settings)
    if most < wanted:
        warnings.append(
            f"This process may have too few files open for {settings.viewers} viewers, who need"
            f" {wanted} connections; there will be {most}: raise the limit ('ulimit -n"
            f" {wanted + FILES}'), or have fewer viewers."
        )
    if settings.tokens is not None:
        warnings += Tokens(settings.tokens).warnings
        if not settings.tls and not is_loopback(host):
            warnings.append(
                f"Without TLS, tokens travel to {shorten(host)!r} so that others in the network can"
                " read them; give --cert and --key, or listen at 127.0.0.1 behind a proxy that"
                " speaks TLS."
            )
    return warnings


def most_connections(settings: ServeSettings) -> int:
    """How many connections there may be at once.

    A process that has as many files open as it may cannot even write its state.
    """
    wanted = _wanted(settings)
    try:
        import resource
    except ImportError:  # not a system of the Unix family
        return wanted
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(FEWEST, allowed - FILES))


def _wanted(settings: ServeSettings) -> int:
    """Each viewer looks live, and asks for something now and then."""
    return 2 * settings.viewers + 100


def open_role(settings: ServeSettings) -> Role | None:
    """What somebody may do who says nothing about who they are; None for nothing."""
    if settings.tokens is not None:
        return None
    if is_loopback(settings.host):
        return "operate"
    return "look" if settings.tls else None


def allowed_hosts(settings: ServeSettings) -> frozenset[str] | None:
    """The hosts that a request may name; None for any.

    A page from elsewhere can give its own name the address 127.0.0.1, and so make a browser ask
    here in its name. Where everybody on this machine may operate, that would be its way in. With
    tokens it is none: the browser keeps them for the name that they were given to.
    """
    if settings.tokens is not None or not is_loopback(settings.host):
        return None
    host = settings.host.lower()
    return frozenset({"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host})


def _check_certificate(cert: Path | None, key: Path | None) -> list[str]:
    if cert is None and key is None:
        return []
    if cert is None or key is None:
        given, absent = ("--cert", "--key") if key is None else ("--key", "--cert")
        msg = f"{given} is given without {absent}; give both, or none for no TLS."
        raise SettingError(msg)
    for option, path in (("--cert", cert), ("--key", key)):
        try:
            with path.open("rb"):
                pass
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            msg = f"The file {str(path)!r} of {option} cannot be read: {reason}."
            raise SettingError(msg) from error
    try:
        # With a password at hand, OpenSSL does not ask for one at the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        msg = (
            f"The files of --cert ({str(cert)!r}) and --key ({str(key)!r}) do not hold a"
            " certificate and its key, in PEM form and without a password."
        )
        raise SettingError(msg) from error
    if os.name == "posix" and key.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
        return [
            f"Every user of this machine may read or change the key {str(key)!r}; take that away"
            f" with 'chmod o= {key}'."
        ]
    return []
