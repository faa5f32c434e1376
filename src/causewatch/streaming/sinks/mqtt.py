"""`MqttSink`: events of alarms to a topic of an MQTT broker, and how the watch stands."""

from __future__ import annotations

import json
import math
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from causewatch.errors import SettingError, shorten
from causewatch.streaming.address import Address, options_of
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.formats import Format, formatted
from causewatch.streaming.mqtt_client import Channel, Connection, Will
from causewatch.streaming.mqtt_options import MqttOptions, checked_keepalive, secured
from causewatch.streaming.sink import DeliveryError, Notice, Status

__all__ = ["MqttSink", "MqttSinkOptions"]

PATIENCE = 5.0
"""Seconds for a delivery."""
STATUS_EVERY = 1.0


@dataclass(frozen=True)
class MqttSinkOptions(MqttOptions):
    """Options of ``mqtt://`` as a sink.

    Attributes
    ----------
    format
        How an event is written; see `causewatch.streaming.formats`.
    retain
        Whether the broker keeps the last event for those who come later.
    status
        Topic that says how the watch stands, retained; nobody is told if it is empty.
    """

    format: Format = "json"
    retain: bool = False
    status: str = ""


@dataclass
class _Delivery:
    """Events on their way: how many the broker has, in order, and what it said against one."""

    done: list[bool]
    changed: threading.Event
    refusal: str = ""

    @property
    def sent(self) -> int:
        return next((k for k, done in enumerate(self.done) if not done), len(self.done))


class MqttSink:
    """See the module.

    Parameters
    ----------
    address
        ``mqtt://host/topic``.
    patience
        Seconds for a delivery, from the attempt to connect to the broker's last confirmation.
    now
        Seconds of a clock that never goes back.
    backoff
        The pauses between tries to connect.
    """

    def __init__(
        self,
        address: Address,
        *,
        patience: float = PATIENCE,
        now: Callable[[], float] = time.monotonic,
        backoff: Backoff | None = None,
    ) -> None:
        self._options = options_of(address, MqttSinkOptions)
        checked_keepalive(self._options.keepalive)
        if not address.host:
            msg = f"{address.name} names no broker; an address is like mqtt://broker/alarms."
            raise SettingError(msg)
        secured(address, self._options)
        _check_topic(address.path, "The topic")
        if self._options.status:
            _check_topic(self._options.status, "The topic in the option 'status'")
        self._address = address
        self._patience = patience
        self._now = now
        self._backoff = backoff
        self._channel: Channel | None = None
        self._ready = threading.Event()
        self._given_up: Connection | None = None
        self._told_at = -math.inf
        self._status: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """See `Sink`."""
        return self._address.name

    def open(self, mark: Any) -> None:
        """See `Sink`."""
        said = self._options
        will = Will(said.status, _state("offline", {})) if said.status else None
        self._channel = Channel(
            self._address,
            said,
            # Nothing is kept for it, so any name will do; two must not have the same.
            said.session or "causewatch" + secrets.token_hex(6),
            on_connect=self._connected,
            will=will,
            backoff=self._backoff,
        )
        self._channel.start()

    def send(self, notices: Sequence[Notice]) -> None:
        """See `Sink`. An event is delivered when the broker has confirmed it."""
        until = time.monotonic() + self._patience
        channel = self._channel
        if channel is None:
            msg = f"{self.name} is not open."
            raise DeliveryError(msg)
        while (connection := channel.connection) is None or connection == self._given_up:
            left = until - time.monotonic()
            if left <= 0:
                msg = f"{self.name} cannot be reached: {channel.status}."
                raise DeliveryError(msg)
            self._ready.wait(min(left, 0.05))
            self._ready.clear()
        delivery = _Delivery([False] * len(notices), threading.Event())
        for number, notice in enumerate(notices):
            channel.do(connection, self._publish(channel, delivery, number, notice))
        while delivery.sent < len(notices):
            left = until - time.monotonic()
            if delivery.refusal:
                msg = f"{self.name} refuses an event: {delivery.refusal}."
                raise DeliveryError(msg, delivery.sent)
            if channel.connection != connection or left <= 0:
                # What was not confirmed is sent again later: nothing of it must be left behind.
                self._given_up = connection
                channel.do(connection, lambda client: channel.hang_up("no confirmation"))
                msg = f"{self.name} did not confirm an event: {channel.status}."
                raise DeliveryError(msg, delivery.sent)
            delivery.changed.wait(min(left, 0.05))
            delivery.changed.clear()

    def look(self, status: Status) -> None:
        """See `Sink`."""
        channel, now = self._channel, self._now()
        if channel is None or not self._options.status or now - self._told_at < STATUS_EVERY:
            return
        self._told_at = now
        self._status = _plain(asdict(status))
        if channel.connection is not None:
            channel.do(channel.connection, self._tell("online", 0))

    def close(self) -> None:
        """See `Sink`."""
        channel = self._channel
        if channel is None:
            return
        connection = channel.connection
        if connection is not None and self._options.status:
            channel.do(connection, self._tell("offline", 1))
        channel.close()

    # In the network thread

    def _connected(self, client: Any, connection: Connection) -> None:
        if self._options.status:
            self._tell("online", 1)(client)
        assert self._channel is not None
        self._channel.ready()
        self._ready.set()

    def _publish(
        self, channel: Channel, delivery: _Delivery, number: int, notice: Notice
    ) -> Callable[[Any], None]:
        payload = formatted(notice, self._options.format).encode("utf-8")

        def answered(refusal: str) -> None:
            if refusal:
                delivery.refusal = delivery.refusal or refusal
            else:
                delivery.done[number] = True
            delivery.changed.set()

        def job(client: Any) -> None:
            said = client.publish(
                self._address.path,
                payload,
                qos=1,
                retain=self._options.retain,
                properties=self._key(channel, notice),
            )
            channel.when_answered(said.mid, answered)

        return job

    def _key(self, channel: Channel, notice: Notice) -> Any:
        """What a receiver knows a repetition by, for those who read properties."""
        if self._options.version != "5":
            return None
        library = channel.library
        properties = library.Properties(library.PacketTypes.PUBLISH)
        properties.UserProperty = ("key", notice.key)
        return properties

    def _tell(self, state: str, qos: int) -> Callable[[Any], None]:
        payload = _state(state, self._status)

        def job(client: Any) -> None:
            said = client.publish(self._options.status, payload, qos=qos, retain=True)
            if qos and self._channel is not None:
                self._channel.when_answered(said.mid, lambda refusal: None)

        return job


def _check_topic(topic: str, what: str) -> None:
    if not topic or set("+#\0") & set(topic):
        msg = f"{what} is {shorten(topic)!r}; one topic without wildcards is expected, like alarms."
        raise SettingError(msg)


def _state(state: str, status: Mapping[str, Any]) -> bytes:
    said = {"state": state} | dict(status)
    return json.dumps(said, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _plain(value: Any) -> Any:
    """The same without numbers that JSON cannot say."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
