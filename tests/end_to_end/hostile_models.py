"""Hostile model files, all made from one good one.

Those of `DAMAGED` hold random damage: they are refused, or the damage is where nothing is written
and they give the same model. Those of `FORGED` are put together with care, checksums and all, and
none of them is a model. Those of `DRESSED_UP` are, whatever they look like.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

Bytes = Callable[[bytes], bytes]

DEEP = "[" * 200_000 + "]" * 200_000


@dataclass
class Parts:
    """A model file taken apart."""

    header: dict[str, Any]
    content: dict[str, Any]
    arrays: dict[str, Any]
    """Arrays, or the bytes that take their place."""
    more: dict[str, bytes] = field(default_factory=dict)
    """Members that the header does not list."""
    instead: dict[str, bytes] = field(default_factory=dict)
    """Members that are written as they are, whatever the header says."""

    @classmethod
    def of(cls, data: bytes) -> Parts:
        """Take a model file apart."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            arrays = {
                name[len("arrays/") : -len(".npy")]: np.load(io.BytesIO(archive.read(name)))
                for name in archive.namelist()
                if name.endswith(".npy")
            }
            header = json.loads(archive.read("header.json"))
            return cls(header, json.loads(archive.read("content.json")), arrays)

    def members(self) -> dict[str, bytes]:
        """All members; the header gets their checksums."""
        found = {"content.json": json.dumps(self.content).encode()}
        for name, array in self.arrays.items():
            found[f"arrays/{name}.npy"] = array if isinstance(array, bytes) else npy(array)
        sums = {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in found.items()
        }
        header = self.header | {"members": sums}
        return {"header.json": json.dumps(header).encode(), **found, **self.more, **self.instead}

    def pack(self, method: int = zipfile.ZIP_DEFLATED) -> bytes:
        """The file."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, data in self.members().items():
                archive.writestr(name, data)
        return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    """An array as a file of its own; objects are pickled."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


# Random damage


def flipped(seed: int, data: bytes) -> bytes:
    """One byte changed, or several."""
    rng = np.random.default_rng(seed)
    changed = bytearray(data)
    for _ in range(1 if seed % 3 else int(rng.integers(2, 20))):
        changed[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
    return bytes(changed)


def truncated(seed: int, data: bytes) -> bytes:
    """Only the first part of the file."""
    return data[: len(data) * seed // 60]


def shifted(seed: int, data: bytes) -> bytes:
    """Bytes removed, doubled, zeroed or inserted."""
    rng = np.random.default_rng(seed)
    at, size = int(rng.integers(len(data))), int(rng.integers(1, 300))
    middle = [b"", data[at : at + size] * 2, bytes(size), rng.bytes(size) + data[at : at + size]]
    return data[:at] + middle[seed % 4] + data[at + size :]


DAMAGED: dict[str, Bytes] = {
    **{f"flipped-{seed}": partial(flipped, seed) for seed in range(170)},
    **{f"truncated-{seed}": partial(truncated, seed) for seed in range(60)},
    **{f"shifted-{seed}": partial(shifted, seed) for seed in range(32)},
}

# Forgeries


def at(path: str, value: Any) -> Callable[[Parts], None]:
    """Put `value` at a place such as ``content.provenance.rows``."""

    def change(parts: Parts) -> None:
        where, *keys = path.split(".")
        place = getattr(parts, where)
        for key in keys[:-1]:
            place = place[int(key) if isinstance(place, list) else key]
        last: Any = int(keys[-1]) if isinstance(place, list) else keys[-1]
        place[last] = value

    return change


def without(path: str) -> Callable[[Parts], None]:
    """Remove what is at a place."""

    def change(parts: Parts) -> None:
        where, *keys = path.split(".")
        place = getattr(parts, where)
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]

    return change


def altered(name: str, change: Callable[[np.ndarray], Any]) -> Callable[[Parts], None]:
    """Change one array."""

    def apply(parts: Parts) -> None:
        parts.arrays[name] = change(parts.arrays[name].copy())

    return apply


def first(value: float) -> Callable[[np.ndarray], np.ndarray]:
    """Another value for the first cell."""

    def change(array: np.ndarray) -> np.ndarray:
        array.flat[0] = value
        return array

    return change


def npy_header(text: str) -> bytes:
    """An array file with this header."""
    body = text.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body + bytes(64)


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }"
ODD: tuple[Any, ...] = (None, "x", -1, [], {}, 10**400, float("nan"), 1e300 * 1e10, [[]], True)
FIELDS = ("preset", "preprocessing", "interval", "clock", "knowledge", "report", "provenance")
PLAN = ("signals", "dropped", "every", "max_lag", "hold", "reason")
ORIGIN = ("files", "rows", "ticks", "windows", "first", "created", "versions", "settings")
ARRAYS = ("links", "value", "p_value", "coefficient", "intercept", "spread", "explained", "centre",
          "scale", "positions")  # fmt: skip


def _changes() -> Iterator[tuple[str, Callable[[Parts], None]]]:
    for name in FIELDS:
        yield f"without-{name}", without(f"content.{name}")
        yield f"odd-{name}", at(f"content.{name}", "\x1b[2J")
    for number, name in enumerate(PLAN):
        yield f"plan-without-{name}", without(f"content.preprocessing.{name}")
        yield f"plan-odd-{name}", at(f"content.preprocessing.{name}", ODD[number])
    for number, name in enumerate(ORIGIN):
        yield f"origin-without-{name}", without(f"content.provenance.{name}")
        yield f"origin-odd-{name}", at(f"content.provenance.{name}", ODD[-1 - number])
    for number, name in enumerate(ARRAYS):
        yield f"array-missing-{name}", without(f"arrays.{name}")
        yield f"array-pickled-{name}", altered(name, lambda a: a.astype(object))
        yield f"array-typed-{name}", altered(name, lambda a: a.astype("f4" if a.ndim else "U9"))
        shorter = altered(name, lambda a: a[:-1] if len(a) > 1 else np.tile(a, (3,) * a.ndim))
        yield f"array-shape-{name}", shorter if name != "links" else altered(name, np.transpose)
        if name != "links":
            yield f"array-nan-{name}", altered(name, first([np.nan, np.inf, -np.inf][number % 3]))
    for number, value in enumerate(ODD):
        if value is not True:
            yield f"version-{number}", at("header.version", value)
        yield f"kind-{number}", at("header.kind", value)
        yield f"alpha-{number}", at("content.provenance.settings.alpha", str(value))
    for number, value in enumerate((0, -1.0, 10**400, float("nan"), float("inf"), "1", None)):
        yield f"every-{number}", at("content.preprocessing.every", value)
    yield "nan-interval", at("content.interval", float("nan"))
    yield "settings-empty", at("content.provenance.settings", {})
    yield "files-empty", at("content.provenance.files", [{}])
    yield "no-signals", at("content.preprocessing.signals", [])
    yield "signal-twice", at("content.preprocessing.signals.0", "S1")
    yield "signal-unnamed", at("content.preprocessing.signals.0", "")
    yield "signal-long", at("content.preprocessing.signals.0", "S" * 1_000_000)
    yield "signal-surrogate", at("content.preprocessing.signals.0", "\ud800")
    yield "more-content", at("content.more", 1)
    yield "lag-outside", at("content.preprocessing.max_lag", 10**6)
    yield "knowledge-odd", at("content.knowledge", {"links": "everything"})
    yield "link-outside", altered("links", first(99))
    yield "link-before", altered("links", first(-1))
    yield "link-twice", altered("links", lambda a: np.repeat(a[:1], len(a), axis=0))
    yield "array-of-terabytes", at("arrays.value", npy_header(HUGE % 10**13))
    yield "array-of-gigabytes", at("arrays.value", npy_header(HUGE % 10**9))
    yield "array-overflow", at("arrays.value", npy_header(HUGE % 10**30))
    yield "array-no-header", at("arrays.value", npy_header("(" * 110))
    yield "array-code", at("arrays.value", npy_header("__import__('os').abort()"))
    yield "array-empty", at("arrays.value", b"")
    yield "array-text", at("arrays.value", b"1,2,3")
    yield "array-as-zip", at("arrays.value", b"PK\x05\x06" + bytes(18))
    for name in ("header.json", "content.json"):
        yield f"deep-{name}", _instead(name, DEEP.encode())
        yield f"number-{name}", _instead(name, b'{"version": ' + b"9" * 100_000 + b"}")
        yield f"not-json-{name}", _instead(name, b"{'kind': 'model'}")
        yield f"not-text-{name}", _instead(name, b"\xff\xfe\x00")
        yield f"a-list-{name}", _instead(name, b"[]")
        yield f"twice-{name}", _instead(name, b'{"kind": "model", "kind": "other", "a": 1}')
    yield "members-a-list", _members([])
    yield "members-outside", _members({"../../../etc/passwd": {"sha256": "0" * 64}})
    yield "members-without-sum", _members({"content.json": {}})
    yield "members-odd", _members({"content.json": 7})
    yield "members-none", _members({"header.json": {"sha256": "0" * 64}})


def _instead(name: str, data: bytes) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.instead[name] = data

    return change


def _members(members: Any) -> Callable[[Parts], None]:
    """A header that lists these members."""

    def change(parts: Parts) -> None:
        header = parts.header | {"members": members}
        parts.instead["header.json"] = json.dumps(header).encode()

    return change


def forge(change: Callable[[Parts], None], data: bytes) -> bytes:
    """Take the model apart, change it, and put it together again."""
    parts = copy.deepcopy(Parts.of(data))
    change(parts)
    return parts.pack()


def other_zip(names: tuple[str, ...], data: bytes) -> bytes:
    """A zip file of another program."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, b"<xml/>")
    return buffer.getvalue()


def zip_bomb(size: int, data: bytes) -> bytes:
    """A model with a huge member, inside of which there could be more zip files."""
    parts = Parts.of(data)
    parts.arrays["bomb"] = bytes(size)
    return parts.pack()


def many_members(data: bytes) -> bytes:
    parts = Parts.of(data)
    parts.more = {f"m{k}": b"" for k in range(2000)}
    return parts.pack()


def encrypted(data: bytes) -> bytes:
    """Every member says that it is encrypted."""
    changed = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.find(mark)
        while place >= 0:
            changed[place + offset] |= 1
            place = data.find(mark, place + 1)
    return bytes(changed)


def swapped(data: bytes) -> bytes:
    """Two arrays in each other's place, under the checksums of before."""
    parts = Parts.of(data)
    members = parts.members()
    one, two = "arrays/centre.npy", "arrays/scale.npy"
    parts.instead = {one: members[two], two: members[one]}
    return parts.pack()


FORGED: dict[str, Bytes] = {
    **{name: partial(forge, change) for name, change in _changes()},
    "swapped": swapped,
    "encrypted": encrypted,
    "bomb-small": partial(zip_bomb, 20 << 20),
    "bomb-large": partial(zip_bomb, 200 << 20),
    "many-members": many_members,
    "other-zip": partial(other_zip, ("[Content_Types].xml", "word/document.xml")),
    "empty-zip": partial(other_zip, ()),
    "lzma": lambda data: Parts.of(data).pack(zipfile.ZIP_LZMA),
    "zip-in-zip": lambda data: forge(_instead("header.json", data), data),
    "empty": lambda data: b"",
    "text": lambda data: b"model\n" * 100,
    "moments": lambda data: forge(at("header.kind", "moments"), data),
    "zip64": lambda data: data.replace(b"PK\x05\x06", b"PK\x06\x06", 1),
}


def more(data: bytes) -> bytes:
    """Members nobody asked for, one of which would like to be elsewhere."""
    parts = Parts.of(data)
    parts.more = {"../../x": b"x", "notes.txt": b"hello"}
    return parts.pack()


DRESSED_UP: dict[str, Bytes] = {
    "stored": lambda data: Parts.of(data).pack(zipfile.ZIP_STORED),
    "in-front": lambda data: b"#!/bin/sh\n" + data,
    "more-members": more,
}
