"""Options of every MQTT connection."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from causewatch.errors import SettingError
from causewatch.streaming.address import Address, Login, Seconds, Tls
from causewatch.streaming.mqtt_sockets import BufferedTlsSocket
from causewatch.streaming.tls import tls_context

__all__ = ["PORTS", "MqttOptions", "checked_keepalive", "secured"]

PORTS: Mapping[str, int] = {"mqtt": 1883, "mqtts": 8883}
KEEPALIVE = Seconds(20.0)
LONGEST_KEEPALIVE = 65_535


@dataclass(frozen=True)
class MqttOptions(Login, Tls):
    """Options of sources and sinks.

    Attributes
    ----------
    version
        Of the protocol.
    session
        Name by which the broker knows this client; a made-up one if empty.
    keepalive
        After so long without a sign from us, and half as long again, the broker hangs up.
    """

    version: Literal["5", "3.1.1"] = "5"
    session: str = ""
    keepalive: Seconds = KEEPALIVE


def checked_keepalive(seconds: float) -> int:
    """A keepalive that the protocol can say."""
    if not 1 <= seconds <= LONGEST_KEEPALIVE:
        msg = f"The keepalive is {seconds:g} s; 1 s to {LONGEST_KEEPALIVE} s are possible."
        raise SettingError(msg)
    return round(seconds)


def secured(address: Address, options: MqttOptions) -> ssl.SSLContext | None:
    """How to speak TLS; None if the address does not ask for it.

    Raises
    ------
    SettingError
        If a file is of no use, or TLS is meant and not said.
    """
    if address.scheme == "mqtts":
        context = tls_context(options)
        context.sslsocket_class = BufferedTlsSocket
        return context
    meant = [name for name in ("ca", "cert", "key") if getattr(options, name)]
    if meant:
        msg = (
            f"The option {meant[0]!r} is for TLS, which {address.name} does not speak; begin the"
            " address with mqtts://, or leave it out."
        )
        raise SettingError(msg)
    return None
