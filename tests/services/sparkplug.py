"""Payloads of Sparkplug B for tests: a small encoder, written from the field numbers alone."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 = range(1, 9)
FLOAT, DOUBLE, BOOLEAN, STRING = 9, 10, 11, 12


def varint(value: int) -> bytes:
    out = b""
    while True:
        value, low = value >> 7, value & 0x7F
        out += bytes([low | 0x80 if value else low])
        if not value:
            return out


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def metric(
    name: str | None = None,
    value: Any = None,
    datatype: int | None = None,
    *,
    alias: int | None = None,
    timestamp: int | None = None,
    quality: int | None = None,
    says_type: bool = True,
    historical: bool = False,
) -> bytes:
    """One metric; without a value it is null."""
    out = b"" if name is None else block(1, name.encode())
    if alias is not None:
        out += number(2, alias)
    if timestamp is not None:
        out += number(3, timestamp)
    if datatype is not None and says_type:
        out += number(4, datatype)
    if historical:
        out += number(5, 1)
    if quality is not None:
        value_of = number(1, INT32) + number(3, quality)
        out += block(9, block(1, b"Quality") + block(2, value_of))
    if value is None:
        out += number(7, 1)
    elif datatype == FLOAT:
        out += varint(12 << 3 | 5) + struct.pack("<f", value)
    elif datatype == DOUBLE:
        out += varint(13 << 3 | 1) + struct.pack("<d", value)
    elif datatype == BOOLEAN:
        out += number(14, int(value))
    elif datatype == STRING:
        out += block(15, value.encode())
    elif datatype in (INT64, UINT64):
        out += number(11, value % (1 << 64))
    else:
        out += number(10, value % (1 << 32))
    return out


def payload(
    metrics: Sequence[bytes] = (), *, seq: int | None = None, timestamp: int | None = None
) -> bytes:
    out = b"" if timestamp is None else number(1, timestamp)
    out += b"".join(block(2, one) for one in metrics)
    return out if seq is None else out + number(3, seq)
