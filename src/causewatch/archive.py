"""One file of JSON and arrays: a zip that is checked from end to end before anything is used.

The archive holds ``header.json`` (what it is, format version, library versions, and the SHA-256 of
every other member), ``content.json`` and any number of ``arrays/NAME.npy``. Nothing in it is ever
executed: arrays are read with ``allow_pickle=False``, JSON is data. Sizes are checked against the
header before anything is unpacked, so a small file cannot unfold into a huge one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import ModelFileError, shorten
from causewatch.files import write_atomically

__all__ = ["pack_archive", "read_archive", "write_archive"]

HEADER = "header.json"
CONTENT = "content.json"
MOST_BYTES = 2 << 30
"""Unpacked size above which an archive is refused."""
MOST_RATIO = 200
"""Compression above which a member is refused; arrays of measured numbers stay far below."""
MOST_MEMBERS = 1000
FIXED_DATE = (2020, 1, 1, 0, 0, 0)  # the same content gives the same bytes

NONSENSE = (
    AttributeError,
    MemoryError,
    OverflowError,
    RecursionError,
    SyntaxError,
    TypeError,
    struct.error,
    tokenize.TokenError,
    zipfile.LargeZipFile,
    zlib.error,
)
"""What reading a zip, JSON or the header of an array raises if it was forged or damaged."""

Arrays = Mapping[str, NDArray[Any]]


def write_archive(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    content: Mapping[str, Any],
    arrays: Arrays,
    *,
    compress: bool = True,
) -> None:
    """Write the archive next to `path` and move it into place: it is there whole or not at all."""
    write_atomically(path, pack_archive(kind, version, content, arrays, compress=compress))


def pack_archive(
    kind: str,
    version: int,
    content: Mapping[str, Any],
    arrays: Arrays,
    *,
    compress: bool = True,
) -> bytes:
    """The bytes of the archive.

    Without `compress` its members are stored as they are: for what is written often, and for arrays
    that are mostly empty, which would be packed so tightly that reading refuses them.
    """
    members = {CONTENT: json.dumps(content, ensure_ascii=False, allow_nan=False).encode()}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        members[f"arrays/{name}.npy"] = buffer.getvalue()
    header = {
        "kind": kind,
        "version": version,
        "libraries": {"numpy": np.__version__, "python": platform.python_version()},
        "members": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in members.items()
        },
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in {HEADER: json.dumps(header, indent=1).encode(), **members}.items():
            info = zipfile.ZipInfo(name, FIXED_DATE)
            info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
            archive.writestr(info, data)
    return packed.getvalue()


def read_archive(
    source: str | os.PathLike[str] | bytes,
    kind: str,
    version: int,
    *,
    oldest: int = 1,
    remedy: str = "",
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Content and arrays of an archive of this `kind` and a format from `oldest` to `version`.

    `source` is the path of the archive, or its bytes. `remedy` says what to do with one that is
    older.
    """
    name = kind if isinstance(source, bytes) else shorten(Path(source).name)
    try:
        if not isinstance(source, bytes):
            mode = os.stat(source).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                msg = f"{name!r} is a device or a pipe, not a {kind} file."
                raise ModelFileError(msg)
        with zipfile.ZipFile(
            io.BytesIO(source) if isinstance(source, bytes) else source
        ) as archive:
            return _read(archive, name, kind, version, oldest, remedy)
    except FileNotFoundError:
        message = f"There is no file {name!r}."
    except IsADirectoryError:
        message = f"{name!r} is a folder, not a {kind} file."
    except PermissionError:
        message = f"{name!r} may not be read: permission denied."
    except zipfile.BadZipFile:
        message = (
            f"{name!r} is not a causewatch {kind} file, or it is cut short or damaged;"
            " fetch it again or learn it anew."
        )
    except (OSError, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError) as error:
        message = f"{name!r} is damaged and was not used ({shorten(str(error), 80)})."
    except NONSENSE:
        message = f"{name!r} is damaged and was not used (its contents make no sense)."
    raise ModelFileError(message)


def _read(
    archive: zipfile.ZipFile, name: str, kind: str, version: int, oldest: int, remedy: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    infos = archive.infolist()
    size = sum(info.file_size for info in infos)
    # Members may overlap, but all of them together lie before the directory at the end.
    packed = max(1, min(archive.start_dir, sum(info.compress_size for info in infos)))
    if len(infos) > MOST_MEMBERS or size > MOST_BYTES or size > MOST_RATIO * packed + (1 << 20):
        msg = (
            f"{name!r} would unfold from {packed:,} to {size:,} bytes, more than any causewatch"
            f" {kind} file; it was not opened."
        )
        raise ModelFileError(msg)
    packings = {info.compress_type for info in infos}
    if HEADER not in archive.namelist() or not packings <= {
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
    }:
        msg = f"{name!r} is a zip file, but not a causewatch {kind} file."
        raise ModelFileError(msg)
    header = json.loads(archive.read(HEADER))
    if not isinstance(header, dict) or header.get("kind") != kind:
        found = header.get("kind") if isinstance(header, dict) else None
        msg = f"{name!r} holds {shorten(str(found))!r}, but a {kind} was expected."
        raise ModelFileError(msg)
    if not isinstance(header.get("version"), int) or not 1 <= header["version"] <= version:
        msg = (
            f"{name!r} has format version {shorten(str(header.get('version')))}; this release"
            f" reads up to version {version}: install a newer causewatch."
        )
        raise ModelFileError(msg)
    if header["version"] < oldest:
        msg = (
            f"{name!r} was written by an earlier release (format version {header['version']}; this"
            f" one reads from version {oldest} on): {remedy}."
        )
        raise ModelFileError(msg)
    members: dict[str, bytes] = {}
    for member, expected in header["members"].items():
        data = archive.read(member)
        if hashlib.sha256(data).hexdigest() != expected["sha256"]:
            msg = f"{name!r} is damaged and was not used (checksum of {shorten(member)} is wrong)."
            raise ModelFileError(msg)
        members[member] = data
    content = json.loads(members.pop(CONTENT))
    if not isinstance(content, dict):
        msg = f"{name!r} is damaged and was not used (its content is not a JSON object)."
        raise ModelFileError(msg)
    arrays = {
        member.removeprefix("arrays/").removesuffix(".npy"): np.lib.format.read_array(
            io.BytesIO(data), allow_pickle=False
        )
        for member, data in members.items()
    }
    return content, arrays
