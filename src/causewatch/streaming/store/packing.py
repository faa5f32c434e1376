"""A checkpoint as bytes: JSON, then the raw contents of its arrays, cut into pieces.

Arrays keep their place from one checkpoint to the next, the largest first, so most pieces stay the
same and need not be written again. The JSON lists type and shape of every array. Nothing in it is
ever executed, and sizes are checked before anything is made of them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import ModelFileError, shorten
from causewatch.monitor.state import WRONG_PARTS, pack, unpack
from causewatch.streaming.store.base import Checkpoint

__all__ = ["MOST_BYTES", "PIECE", "Packed", "from_pieces", "to_pieces"]

PIECE = 16 << 10
"""Bytes of arrays in one piece: a change of a few rows touches few pieces."""
MOST_BYTES = 1 << 30
"""A checkpoint with more is none of ours."""
KINDS = "biuf"
"""Kinds of numbers that arrays may hold; never objects."""
NAMES = tuple(one.name for one in fields(Checkpoint))


@dataclass(frozen=True, slots=True)
class Packed:
    """A checkpoint ready to be written.

    Attributes
    ----------
    pieces
        The JSON, then the arrays.
    digests
        Of every piece, to tell which ones have changed.
    checksum
        Of all of them, in their order.
    """

    pieces: Sequence[bytes | memoryview]
    digests: tuple[bytes, ...]
    checksum: bytes

    @property
    def size(self) -> int:
        """Bytes altogether."""
        return sum(map(len, self.pieces))


def to_pieces(checkpoint: Checkpoint) -> Packed:
    """The checkpoint as bytes."""
    arrays: dict[str, NDArray[Any]] = {}
    content = {name: pack(getattr(checkpoint, name), arrays) for name in NAMES}
    # Those that grow with the number of alarms are small: behind the others they move nothing.
    order = sorted(arrays, key=lambda name: -arrays[name].nbytes)
    for array in arrays.values():
        if array.dtype.kind not in KINDS:
            msg = f"An array of {array.dtype} cannot be kept; numbers were expected."
            raise TypeError(msg)
    head = {
        "content": content,
        "arrays": [[name, arrays[name].dtype.str, list(arrays[name].shape)] for name in order],
    }
    body = memoryview(b"".join(arrays[name].tobytes() for name in order))
    pieces: list[bytes | memoryview] = [
        json.dumps(head, allow_nan=False).encode("ascii"),
        *(body[start : start + PIECE] for start in range(0, len(body), PIECE)),
    ]
    digests = tuple(map(_digest, pieces))
    return Packed(pieces, digests, _digest(b"".join(digests)))


def from_pieces(pieces: Sequence[bytes], checksum: bytes, name: str) -> Checkpoint:
    """The checkpoint that was packed; raises `ModelFileError` if one bit of it is different.

    Parameters
    ----------
    pieces
        All of them, in order.
    checksum
        As it was when they were packed.
    name
        Where they come from, for the message.
    """
    if not pieces or _digest(b"".join(map(_digest, pieces))) != checksum:
        raise damaged(name, "its checksum is wrong")
    try:
        head = json.loads(pieces[0])
        arrays = _arrays(head["arrays"], b"".join(pieces[1:]))
        found: Mapping[str, Any] = unpack(head["content"], arrays)
        return Checkpoint(
            monitor=dict(found["monitor"]),
            clock=str(found["clock"]),
            settings=dict(found["settings"]),
            source=dict(found["source"]),
            outputs={str(path): int(size) for path, size in found["outputs"].items()},
            counts={str(what): int(many) for what, many in found["counts"].items()},
            saved_at=float(found["saved_at"]),
            unwritten=str(found.get("unwritten", "")),
        )
    except WRONG_PARTS as error:
        raise damaged(name, repr(error)) from error


def damaged(name: str, reason: str) -> ModelFileError:
    """The error for a state that must not be used."""
    return ModelFileError(
        f"The state in {name} is damaged and was not used ({shorten(reason, 80)}); restore it from"
        " a copy, or begin with an empty one."
    )


def _arrays(described: Sequence[Sequence[Any]], body: bytes) -> dict[str, NDArray[Any]]:
    """The arrays that `body` holds one after the other."""
    found: dict[str, NDArray[Any]] = {}
    at = 0
    for name, kind, shape in described:
        dtype = np.dtype(str(kind))
        if dtype.kind not in KINDS or any(type(one) is not int or one < 0 for one in shape):
            msg = f"no array of numbers: {kind!r} {shape!r}"
            raise ValueError(msg)
        count = math.prod(shape)
        if count * dtype.itemsize > len(body) - at:
            msg = "an array is longer than what is there"
            raise ValueError(msg)
        # A copy, because whoever restores a state writes into its arrays.
        found[str(name)] = np.frombuffer(body, dtype, count, at).reshape(shape).copy()
        at += count * dtype.itemsize
    if at != len(body):
        msg = "there is more than its arrays"
        raise ValueError(msg)
    return found


def _digest(piece: bytes | memoryview) -> bytes:
    return hashlib.sha256(piece).digest()
