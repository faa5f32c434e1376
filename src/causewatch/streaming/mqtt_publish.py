"""Reading messages without paho's help, which builds much for each that nobody looks at.

A watch gets thousands of messages a second, and while one is taken apart the watch itself has to
wait. What is anything but a plain message is left to paho.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Message", "plain_message"]


@dataclass(slots=True)
class Message:
    """As much of paho's message as a watch wants."""

    raw_topic: bytes
    payload: bytes
    qos: int
    mid: int
    dup: bool
    retain: bool

    @property
    def topic(self) -> str:
        """Raises UnicodeDecodeError, as paho's does."""
        return self.raw_topic.decode()


def plain_message(command: int, packet: Any, v5: bool) -> Message | None:
    """A message of quality of service 0 or 1 without properties; None if it is anything else.

    Parameters
    ----------
    command
        First byte of the packet.
    packet
        What follows its length.
    v5
        Whether it is one of MQTT 5, where properties stand before the payload.
    """
    qos = command >> 1 & 3
    data = bytes(packet)
    at = 2 + int.from_bytes(data[:2])
    topic = data[2:at]
    packet_number = 0
    if qos:
        packet_number = int.from_bytes(data[at : at + 2])
        at += 2
    if qos > 1 or at > len(data):
        return None
    if v5:
        if data[at : at + 1] != b"\0":
            return None
        at += 1
    if not topic or (qos and not packet_number):
        return None
    return Message(topic, data[at:], qos, packet_number, bool(command & 8), bool(command & 1))
