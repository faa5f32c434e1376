"""Payloads of Sparkplug B: the few parts of its Protocol Buffers message that carry measurements.

The wire format is a row of fields, each a number, a type and a value; fields that are not wanted
are stepped over. Nothing nests deeper than payload, metric, properties, so hostile nesting costs
nothing.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from causewatch.streaming.payloads import BadPayloadError

__all__ = ["Metric", "Payload", "decode_payload", "encode_rebirth"]

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Types of the wire format; 3 and 4 are groups, which Sparkplug does not have."""

MOST_METRICS = 20_000
"""Metrics of one payload; a sender of more means harm."""

SIGNED = {1: 8, 2: 16, 3: 32, 4: 64}
"""Bits of Int8, Int16, Int32 and Int64, by the number of their data type."""
UNSIGNED = {5: 8, 6: 16, 7: 32, 8: 64, 13: 64}
"""Of UInt8, UInt16, UInt32, UInt64 and DateTime."""
BOOLEAN = 11
GOOD = 192
"""The quality of a value that can be trusted; others are 0 (bad) and 500 (stale)."""
COMPRESSED = "SPBV1.0_COMPRESSED"

REBIRTH = "Node Control/Rebirth"


@dataclass(frozen=True, slots=True)
class Metric:
    """One value, as it was sent.

    Attributes
    ----------
    name, alias
        What it is called; in data one of them may be absent.
    timestamp
        Milliseconds since 1970.
    datatype
        Number of its type; absent in data where a birth has said it.
    null
        Whether it has no value.
    quality
        192 if the value can be trusted.
    raw
        The value; whole numbers as their bits. None for what is no number.
    """

    name: str | None = None
    alias: int | None = None
    timestamp: int | None = None
    datatype: int | None = None
    null: bool = False
    quality: int = GOOD
    raw: float | int | None = None

    def number(self, datatype: int | None) -> float | None:
        """The value as a number; NaN if it has none, None if it is no number."""
        if self.null:
            return math.nan
        if isinstance(self.raw, int):
            kind = self.datatype if self.datatype is not None else datatype
            if kind in SIGNED:
                # Senders write small ones with 32 bits or with their own: the lowest ones count.
                bits = SIGNED[kind]
                low = self.raw & ((1 << bits) - 1)
                return float(low - (1 << bits) if low >> (bits - 1) else low)
            if kind in UNSIGNED:
                return float(self.raw & ((1 << UNSIGNED[kind]) - 1))
        return None if self.raw is None else float(self.raw)


@dataclass(frozen=True, slots=True)
class Payload:
    """A message: when it was sent, the how-manieth of its node, and what is in it."""

    timestamp: int | None
    seq: int | None
    metrics: tuple[Metric, ...]


def decode_payload(data: bytes) -> Payload:
    """A payload; raises `BadPayloadError` (``not_sparkplug``, ``too_large``, ``compressed``)."""
    timestamp = seq = None
    metrics: list[Metric] = []
    for number, kind, value in _fields(data):
        if number == 2 and kind == LENGTH:
            if len(metrics) == MOST_METRICS:
                raise BadPayloadError("too_large")  # noqa: EM101
            metrics.append(_metric(value))
        elif number == 1 and kind == VARINT:
            timestamp = value
        elif number == 3 and kind == VARINT:
            seq = value
        elif number == 4 and kind == LENGTH and _text(value) == COMPRESSED:
            raise BadPayloadError("compressed")  # noqa: EM101
    return Payload(timestamp, seq, tuple(metrics))


def encode_rebirth(timestamp: int) -> bytes:
    """The payload that asks a node to say again what all its metrics are."""
    name = REBIRTH.encode()
    metric = (
        _key(1, LENGTH) + _varint(len(name)) + name
        + _key(3, VARINT) + _varint(timestamp)
        + _key(4, VARINT) + _varint(BOOLEAN)
        + _key(14, VARINT) + _varint(1)
    )  # fmt: skip
    return _key(1, VARINT) + _varint(timestamp) + _key(2, LENGTH) + _varint(len(metric)) + metric


def _metric(data: bytes) -> Metric:
    found: dict[str, Any] = {}
    for number, kind, value in _fields(data):
        if kind == VARINT:
            if number in (10, 11):
                found["raw"] = value
            elif number == 2:
                found["alias"] = value
            elif number == 3:
                found["timestamp"] = value
            elif number == 4:
                found["datatype"] = value
            elif number == 7:
                found["null"] = bool(value)
            elif number == 14:
                found["raw"] = float(bool(value))
        elif kind == LENGTH:
            if number == 1:
                found["name"] = _text(value)
            elif number == 9:
                found["quality"] = _quality(value)
        elif kind == FIXED32 and number == 12:
            (found["raw"],) = struct.unpack("<f", value)
        elif kind == FIXED64 and number == 13:
            (found["raw"],) = struct.unpack("<d", value)
    return Metric(**found)


def _quality(data: bytes) -> int:
    """The property ``Quality`` among those of a metric."""
    keys: list[str] = []
    values: list[int] = []
    for number, kind, value in _fields(data):
        if number == 1 and kind == LENGTH:
            keys.append(_text(value))
        elif number == 2 and kind == LENGTH:
            inner = [one for at, how, one in _fields(value) if at in (3, 4) and how == VARINT]
            values.append(inner[-1] if inner else GOOD)
    return next((one for key, one in zip(keys, values, strict=False) if key == "Quality"), GOOD)


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, type and value of each field; raises `BadPayloadError` where the bytes make none."""
    at, size = 0, len(data)
    while at < size:
        key, at = _read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _read_varint(data, at)
            yield number, kind, value
            continue
        if kind == LENGTH:
            length, at = _read_varint(data, at)
        elif kind in (FIXED32, FIXED64):
            length = 4 if kind == FIXED32 else 8
        else:
            raise BadPayloadError("not_sparkplug")  # noqa: EM101
        if not number or length > size - at:
            raise BadPayloadError("not_sparkplug")  # noqa: EM101
        yield number, kind, data[at : at + length]
        at += length


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of at most 64 bits, seven in each byte, and where the next one begins."""
    value = shift = 0
    for byte in data[at : at + 10]:
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise BadPayloadError("not_sparkplug")  # noqa: EM101


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadPayloadError("not_sparkplug") from None  # noqa: EM101


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
