"""`Channel`: a connection to an MQTT broker that comes back after every loss.

Everything that touches the network happens in one thread, which drives paho itself: so an
acknowledgement can never slip into another connection than the one its message came with, and
reading can stop while pings and acknowledgements still go out.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from causewatch.extras import needed
from causewatch.streaming.address import Address
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.mqtt_options import (
    PORTS,
    MqttOptions,
    checked_keepalive,
    secured,
)
from causewatch.streaming.mqtt_publish import plain_message
from causewatch.streaming.mqtt_sockets import BufferedSocket, ready
from causewatch.streaming.tls import is_loopback, why

__all__ = ["Channel", "Connection", "Will"]

log = logging.getLogger(__name__)

ANSWER_WITHIN = 10.0
"""Seconds a broker has for its first answer."""
CONNECT_WITHIN = 5.0
STEADY = 5.0
"""Seconds after which a connection is good; one that is lost sooner makes the next pause longer."""
FAREWELL = 1.0
"""Seconds for what is to be sent before hanging up."""
BURST = 64
"""Messages read before acknowledgements and pings get their turn."""
LOST = "the connection was lost"
NO_WELCOME = (
    "the broker hung up without an answer; does it want TLS (mqtts://) or an older protocol"
    " (version=3.1.1)?"
)
SUSPICIOUS = 3
"""Connections lost at once, in a row, that are no accident."""
QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)
TAKEN_OVER = 0x8E
REFUSED = 0x80
"""Codes from here on mean no."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Which connection of this run it is, and which session: a session may outlive many."""

    number: int
    session: int


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker is to say when the connection is lost."""

    topic: str
    payload: bytes


class Channel:
    """See the module.

    The hooks are called in the network thread and must not wait.

    Parameters
    ----------
    address, options
        Where, and how.
    session
        Name by which the broker knows this client.
    keep
        Seconds the broker keeps the session for us; 0 for no session.
    receive
        Messages the broker may send before they are acknowledged (MQTT 5 only).
    had_session
        Whether an earlier run had a session here.
    on_connect
        Called with paho's client and the connection once there is one; calls `ready` in the end.
    on_message
        Called with the connection and paho's message.
    room
        Whether there is room for another message; reading stops while there is none.
    will
        What the broker says when we are lost.
    backoff
        The pauses between tries.
    """

    def __init__(
        self,
        address: Address,
        options: MqttOptions,
        session: str,
        *,
        keep: int = 0,
        receive: int = 65_535,
        had_session: bool = False,
        on_connect: Callable[[Any, Connection], None],
        on_message: Callable[[Connection, Any], None] | None = None,
        room: Callable[[], bool] = lambda: True,
        will: Will | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self.library = needed("paho.mqtt.client", "mqtt")
        self._name = address.name
        self._host = address.host
        self._port = address.port or PORTS[address.scheme]
        self._v5 = options.version == "5"
        self._session = session
        self._keep = keep
        self._receive = receive
        self._user = options.user
        self._password = options.password()
        self._keepalive = checked_keepalive(options.keepalive)
        self._tls = secured(address, options)
        if self._password and self._tls is None and not is_loopback(self._host):
            log.warning(
                "%s: the password is sent readable; have the broker speak TLS (mqtts://).",
                self._name,
            )
        self._will = will
        self._on_connect, self._on_message, self._room = on_connect, on_message, room
        self._backoff = backoff or Backoff()
        self._had_session = had_session
        self._jobs: deque[tuple[int, Callable[[Any], None]]] = deque()
        self._awaited: dict[int, Callable[[str], None]] = {}  # by packet number
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self._thread = threading.Thread(target=self._run, name=f"mqtt {session}", daemon=True)
        self._closing = threading.Event()
        self._number = self._sessions = 0
        self._came = False  # whether the last read brought a message
        self._brief = 0  # connections in a row that were lost at once
        self._why = ""  # why the broker has hung up
        self._told = False  # whether the loss was logged
        # All kinds at once, since other threads read them.
        self.counts = Counter(reconnects=0, session_lost=0, session_taken=0, hung_up=0)
        self.connection: Connection | None = None
        self.status = "connecting"
        self.paused = False

    @property
    def sessions(self) -> int:
        """How many sessions began in this run; messages of earlier ones do not come again."""
        return self._sessions

    def start(self) -> None:
        """Begin to try."""
        self._thread.start()

    def do(self, connection: Connection, job: Callable[[Any], None]) -> None:
        """Have the network thread do something with paho's client; never in another connection."""
        self._jobs.append((connection.number, job))
        self.wake()

    def when_answered(self, packet: int | None, then: Callable[[str], None]) -> None:
        """Call `then` with what the broker says to a packet: nothing if all is well.

        For the network thread. Nothing is called if the connection is lost before.
        """
        if packet is not None:
            self._awaited[packet] = then

    def ready(self) -> None:
        """Say that the connection is of use now; for the network thread."""
        self.status = "connected"
        if self._told:
            self._told = False
            log.info("%s: connected again.", self._name)

    def hang_up(self, why: str) -> None:
        """End this connection and try again later; for the network thread."""
        self._why = self._why or why

    def wake(self) -> None:
        """Let the network thread look around."""
        with suppress(BlockingIOError):  # it has not even seen the last ones
            self._wake_in.send(b"\0")

    def close(self) -> None:
        """Send what is to be sent, and hang up; safe to call twice."""
        if self._closing.is_set():
            return
        self._closing.set()
        if self._thread.is_alive():
            self.wake()
            self._thread.join(CONNECT_WITHIN * 2 + FAREWELL + 1.0)
        self.connection = None
        self.status = "closed"
        if not self._thread.is_alive():
            self._wake_in.close()
            self._wake_out.close()

    # All of the following happens in the network thread.

    def _run(self) -> None:
        while not self._closing.is_set():
            began, before = time.monotonic(), self._number
            why = self._serve()
            if self._closing.is_set():
                return
            if time.monotonic() - began >= STEADY:
                self._backoff.reset()
                self._brief = 0
            elif self._number > before:
                self._brief += 1
                if self._brief >= SUSPICIOUS and why == LOST:
                    why = f"{LOST}, as often before; {self._rival()}"
            self.status = f"trying again: {why}"
            if not self._told:
                self._told = True
                log.warning("%s: %s; trying again.", self._name, why)
            self._closing.wait(self._backoff.next())
            while not self._room() and not self._closing.is_set():
                self._closing.wait(0.05)  # nothing is gained by coming back before there is room

    def _serve(self) -> str:
        """One connection, from its beginning to its end; why it ended."""
        self._why = ""
        client = self._client()
        try:
            client.connect(self._host, self._port, keepalive=self._keepalive, **self._manner())
            return self._loop(client)
        except (OSError, ValueError) as error:  # an impossible host name is a ValueError
            return why(error)
        except Exception as error:
            # What a broken broker sends may trip paho anywhere; it must not end the thread.
            log.exception("%s: unexpected trouble.", self._name)
            return f"unexpected trouble ({type(error).__name__})"
        finally:
            self.connection = None
            self._awaited.clear()
            left = client.socket()
            if left is not None:
                left.close()  # without a farewell, so that the will is published

    def _client(self) -> Any:
        """A new client for each connection: nothing of the last one is left in it."""
        mqtt = self.library
        client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2,
            client_id=self._session,
            clean_session=None if self._v5 else not self._keep,
            protocol=mqtt.MQTTv5 if self._v5 else mqtt.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.connect_timeout = CONNECT_WITHIN
        if self._user:
            client.username_pw_set(self._user, self._password)
        if self._tls is not None:
            client.tls_set_context(self._tls)
        if self._will is not None:
            client.will_set(self._will.topic, self._will.payload, qos=1, retain=True)
        # Not part of paho's interface; where it is missing, reading is slower, no more.
        create = getattr(client, "_create_socket_connection", None)
        if create is not None:
            client._create_socket_connection = lambda: BufferedSocket(create())
        # Nor is this; where it is missing, paho takes all messages apart itself.
        handle = getattr(client, "_handle_publish", None)
        if handle is not None:
            client._handle_publish = lambda: self._publish_came(client, handle)
        client.on_connect = self._connected
        client.on_disconnect = self._disconnected
        client.on_message = self._message
        client.on_subscribe = lambda c, u, mid, codes, p: self._answered(mid, codes)
        client.on_unsubscribe = lambda c, u, mid, codes, p: self._answered(mid, ())
        client.on_publish = lambda c, u, mid, code, p: self._answered(mid, (code,))
        client.on_socket_open = _without_delay
        # With this, paho only queues what is to be sent, and `_loop` sends it.
        client.on_socket_register_write = lambda c, u, s: None
        return client

    def _manner(self) -> dict[str, Any]:
        if not self._v5:
            return {}
        properties = self.library.Properties(self.library.PacketTypes.CONNECT)
        properties.SessionExpiryInterval = self._keep
        properties.ReceiveMaximum = self._receive
        return {"clean_start": not self._keep, "properties": properties}

    def _loop(self, client: Any) -> str:
        until = time.monotonic() + ANSWER_WITHIN
        paused_since: float | None = None
        while True:
            wire = client.socket()
            if wire is None or self._why:
                return self._why or (LOST if self.connection is not None else NO_WELCOME)
            now = time.monotonic()
            if self._closing.is_set():
                self._farewell(client)
                return ""
            if self.connection is None and now > until:
                return "no answer"
            # A full inbox stops reading, so the broker must keep what follows. Pings still go out,
            # but their answers stand behind the messages: so this lasts half a keepalive at most.
            # Then we hang up, and come back when there is room.
            self.paused = not self._room()
            paused_since = (paused_since or now) if self.paused else None
            if paused_since is not None and now - paused_since > self._keepalive / 2:
                self.counts["hung_up"] += 1
                return "the watch is slower than the plant, and rows wait at the broker"
            self._step(client, wire, 0.0 if self._work(client) else min(1.0, self._keepalive / 4))

    def _step(self, client: Any, wire: Any, wait: float) -> None:
        """Wait until there is something to read or write, and do so."""
        # Bytes that were read ahead are not seen by the system.
        pending = not self.paused and getattr(wire, "pending", int)() > 0
        readers = [self._wake_out] if self.paused else [self._wake_out, wire]
        writers = [wire] if client.want_write() else []
        readable, writable = ready(readers, writers, 0.0 if pending else wait)
        if self._wake_out in readable:
            with suppress(BlockingIOError):
                self._wake_out.recv(4096)
        if pending or wire in readable:
            _without_delay(client, None, wire)
            for _ in range(BURST):
                self._came = False
                client.loop_read()
                if not self._came or self._why or client.socket() is None or not self._room():
                    break
        if writable and client.socket() is not None:
            client.loop_write()
        if client.socket() is not None:
            client.loop_misc()

    def _work(self, client: Any) -> bool:
        """Do one job for this connection; whether more wait."""
        while self._jobs and self.connection is not None:
            number, job = self._jobs.popleft()
            if number == self.connection.number:
                job(client)
                return bool(self._jobs)
        return False

    def _farewell(self, client: Any) -> None:
        """Send what is to be sent, hear what is to be heard, and take leave."""
        until = time.monotonic() + FAREWELL
        while (wire := client.socket()) is not None and time.monotonic() < until:
            self.paused = False
            more = self._work(client)
            if not more and not self._awaited and not client.want_write():
                client.disconnect()
            self._step(client, wire, 0.0 if more else 0.05)

    def _connected(self, client: Any, data: Any, flags: Any, code: Any, properties: Any) -> None:
        if code.is_failure:
            self._why = _refusal(code)
            return
        if not (self._keep and flags.session_present):  # what is not kept begins anew every time
            if self._keep and self._had_session:
                self.counts["session_lost"] += 1
                log.warning(
                    "%s no longer knows the session %s; rows sent since may be lost.",
                    self._name,
                    self._session,
                )
            self._sessions += 1
        self._had_session = bool(self._keep)
        self._number += 1
        self.counts["reconnects"] = self._number - 1
        self.connection = Connection(self._number, self._sessions)
        self._on_connect(client, self.connection)

    def _disconnected(self, client: Any, data: Any, flags: Any, code: Any, properties: Any) -> None:
        if code.value == TAKEN_OVER:
            self.counts["session_taken"] += 1
            self._why = self._rival()
        elif flags.is_disconnect_packet_from_server:
            self._why = self._why or f"the broker has hung up: {code}"

    def _rival(self) -> str:
        """Say what many brokers do not: they end a connection when another one has its name."""
        return (
            f"another client may use the session {self._session}: give each its own with session="
        )

    def _publish_came(self, client: Any, handle: Callable[[], Any]) -> Any:
        """Take a message apart; `handle` is how paho does it."""
        try:
            came = client._in_packet
            message = plain_message(came["command"], came["packet"], self._v5)
        except (AttributeError, KeyError, TypeError):  # a release of paho that keeps it elsewhere
            message = None
        if message is None:
            return handle()
        self._message(client, None, message)
        return self.library.MQTTErrorCode.MQTT_ERR_SUCCESS

    def _message(self, client: Any, data: Any, message: Any) -> None:
        self._came = True
        if self._on_message is not None and self.connection is not None:
            self._on_message(self.connection, message)

    def _answered(self, packet: int, codes: Any) -> None:
        then = self._awaited.pop(packet, None)
        if then is not None:
            then(next((str(code) for code in codes if code.value >= REFUSED), ""))


def _without_delay(client: Any, data: Any, wire: Any) -> None:
    """Send small things at once, and tell the broker's TCP at once that its own have arrived.

    Otherwise, as long as we have nothing to send, many brokers hold back what comes next for up to
    40 ms. Linux forgets the second wish, so it is said before each read.
    """
    with suppress(OSError):
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if QUICK_ACK is not None:
            wire.setsockopt(socket.IPPROTO_TCP, QUICK_ACK, 1)


def _refusal(code: Any) -> str:
    hint = "; try version=3.1.1" if "protocol version" in str(code).lower() else ""
    return f"the broker refuses: {code}{hint}"
