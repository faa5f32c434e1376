"""Events of alarms for those who collect logs, in the form of RFC 5424.

Over UDP nobody knows what arrives. Over TCP and TLS each delivery has a connection of its own, and
we close our side of it first: a receiver that closes its side thereafter has read all of it. A
connection kept open could not tell that, and alarms are so rare that firewalls forget it meanwhile.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from causewatch.errors import SettingError
from causewatch.streaming.address import Address, Seconds, Tls, options_of
from causewatch.streaming.formats import Format, formatted, severity
from causewatch.streaming.sink import DeliveryError, Notice, Status
from causewatch.streaming.sinks.syslog_stream import send_and_see
from causewatch.streaming.tls import tls_context, why

__all__ = ["SyslogOptions", "SyslogSink", "message"]

Facility = Literal[
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp", "ntp", "audit", "alert", "clock",
    "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
]  # fmt: skip
"""Who says it, by number."""
FACILITIES: tuple[str, ...] = get_args(Facility)

CRITICAL, ERROR, WARNING, NOTICE, INFORMATION = 2, 3, 4, 5, 6
LEVELS = ((9, CRITICAL), (7, ERROR), (4, WARNING), (3, NOTICE))
"""From which severity of an event on (`causewatch.streaming.formats.severity`) it is what."""

PORTS = {"syslog": 514, "syslog+tcp": 514, "syslog+tls": 6514}
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
SHORTENED = " … (shortened)"
TIMEOUT = Seconds(5.0)
LEAST, MOST = 480, 65_000
"""Bytes that every receiver must take, and that go into a datagram."""
LAST_NUMBER = 2**31 - 1
"""After which the numbers of messages begin anew."""


@dataclass(frozen=True)
class SyslogOptions(Tls):
    """Options of ``syslog://``.

    Attributes
    ----------
    format
        How an event is written.
    facility
        Who says it.
    app, hostname
        Names of the program and the machine in each message; the machine's own if none is given.
    longest
        Bytes of a message; a longer one is shortened.
    timeout
        How long a delivery may take.
    confirm
        Over TCP and TLS: whether a delivery counts only when the receiver has closed its side.
    """

    format: Format = "cef"
    facility: Facility = "daemon"
    app: str = "causewatch"
    hostname: str = ""
    longest: int = 8192
    timeout: Seconds = TIMEOUT
    confirm: bool = True


class SyslogSink:
    """Sends events.

    Parameters
    ----------
    address
        ``syslog://host`` over UDP, ``syslog+tcp://host``, ``syslog+tls://host``, or
        ``syslog:///dev/log`` for a socket of this machine.

    Attributes
    ----------
    problems
        ``shortened``: events that were too long.
    """

    def __init__(self, address: Address) -> None:
        self._options = options_of(address, SyslogOptions)
        self._scheme = address.scheme
        self._address = address
        self._local = not address.host
        if self._local and (self._scheme != "syslog" or not address.path):
            msg = f"{address.name!r} names no host; an address is like {self._scheme}://host."
            raise SettingError(msg)
        if self._local and not hasattr(socket, "AF_UNIX"):
            msg = (
                f"{address.name!r} is a socket of the machine, which this system does not have;"
                " give an address like syslog://host."
            )
            raise SettingError(msg)
        if not self._local and address.path:
            msg = f"{address.name!r} has a path; an address is like {self._scheme}://host:514."
            raise SettingError(msg)
        if not LEAST <= self._options.longest <= MOST:
            msg = (
                f"The option 'longest' of syslog is {self._options.longest}; give {LEAST} to {MOST}"
                " bytes."
            )
            raise SettingError(msg)
        if self._options.timeout <= 0:
            msg = "The option 'timeout' of syslog is 0; give at least a fraction of a second."
            raise SettingError(msg)
        self._context: ssl.SSLContext | None = None
        self._socket: socket.socket | None = None  # for datagrams
        self.problems = {"shortened": 0}

    @property
    def name(self) -> str:
        """See `Sink`."""
        return self._address.name

    def open(self, mark: Any) -> None:
        """See `Sink`."""
        if self._scheme == "syslog+tls":
            self._context = tls_context(self._options)

    def send(self, notices: Sequence[Notice]) -> None:
        """See `Sink`."""
        texts = [self._text(notice) for notice in notices]
        done = 0
        try:
            if self._scheme == "syslog":
                for text in texts:
                    self._datagram(text)
                    done += 1
            elif texts:
                send_and_see(
                    (self._address.host, self._address.port or PORTS[self._scheme]),
                    b"".join(b"%d %s" % (len(text), text) for text in texts),
                    self._context,
                    self._options.timeout,
                    self._options.confirm,
                )
        except OSError as error:
            self.close()
            msg = f"{self.name} cannot be reached: {why(error)}."
            raise DeliveryError(msg, done) from error

    def look(self, status: Status) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _text(self, notice: Notice) -> bytes:
        whole = message(notice, self._options, local=self._local)
        text = _cut(whole, self._options.longest)
        self.problems["shortened"] += text is not whole
        return text

    def _datagram(self, text: bytes) -> None:
        if self._socket is None:
            self._socket = self._connected()
        self._socket.send(text)
        # On the same machine it is known at once that nobody listens; from elsewhere the word comes
        # later, if at all, and meets the next delivery.
        trouble = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if trouble:
            raise OSError(trouble, os.strerror(trouble))

    def _connected(self) -> socket.socket:
        """A socket for datagrams to the receiver."""
        if self._local:
            found = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            place: Any = "/" + self._address.path
        else:
            port = self._address.port or PORTS[self._scheme]
            family, kind, protocol, _, place = socket.getaddrinfo(
                self._address.host, port, type=socket.SOCK_DGRAM
            )[0]
            found = socket.socket(family, kind, protocol)
        try:
            found.settimeout(self._options.timeout)
            found.connect(place)
        except BaseException:
            found.close()
            raise
        return found


def message(notice: Notice, options: SyslogOptions, *, local: bool = False) -> bytes:
    """The event as one message.

    Sockets of the machine itself know an older form, without version, machine and the rest.
    """
    grave = severity(notice.body)
    level = next((one for least, one in LEVELS if grave >= least), INFORMATION)
    priority = 8 * FACILITIES.index(options.facility) + level
    app = _word(options.app, 48)
    if options.format == "json":  # the other formats have it anyway
        notice = replace(notice, body={"key": notice.key, **notice.body})
    text = formatted(notice, options.format)
    if local:
        return f"<{priority}>{app}: {text}".encode()
    said = str(notice.body.get("time"))
    moment = said if UTC.fullmatch(said) else "-"  # other times are no moments, or in no zone
    host = _word(options.hostname or socket.gethostname(), 255)
    kind = _word(f"{notice.body.get('kind', 'alarm')}-{notice.body.get('event', 'event')}", 32)
    number = (notice.number - 1) % LAST_NUMBER + 1
    head = f'<{priority}>1 {moment} {host} {app} - {kind} [meta sequenceId="{number}"]'
    return f"{head} {text}".encode()


def _word(text: str, most: int) -> str:
    """`text` as one word of plain signs, as all fields but the message must be."""
    return re.sub(r"[^\x21-\x7e]", "_", text)[:most] or "-"


def _cut(text: bytes, longest: int) -> bytes:
    if len(text) <= longest:
        return text
    kept = text[: longest - len(SHORTENED.encode())].decode("utf-8", "ignore")
    # Without a backslash that would mean something together with what follows.
    return (kept.rstrip("\\") + SHORTENED).encode()
