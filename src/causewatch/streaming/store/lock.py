"""A lock on a folder that the system itself ends with the process."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from causewatch.errors import StreamError, shorten
from causewatch.streaming.store.sql import InUseError

__all__ = ["lock_folder", "own_file"]

BEYOND = 1 << 20
"""A place in the file behind everything that is written to it."""
OWN = 0o600
"""Nobody but the owner may open the file: whoever may read it could hold the lock, too."""


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Be the only one who holds the lock of a folder; raises `InUseError` if somebody else does."""
    with os.fdopen(own_file(folder, "lock"), "r+b", buffering=0) as file:
        if not _try_lock(file.fileno()):
            written = file.read(20).decode("ascii", "replace").strip()
            holder = _holder(os.fstat(file.fileno())) or written or "unknown"
            msg = (
                f"{str(folder)!r} is in use by a running watch (process {shorten(holder)}); stop"
                " that first, or name another folder."
            )
            raise InUseError(msg)
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        yield


def own_file(folder: Path, name: str) -> int:
    """A file for the owner only, made if need be; raises `StreamError` for what is no file."""
    path, flags = folder / name, os.O_RDWR | os.O_CREAT
    for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, flag, 0)
    if not path.is_symlink():  # which O_NOFOLLOW makes sure of, where it is known
        file = os.open(path, flags, OWN)
        if stat.S_ISREG(os.fstat(file).st_mode):
            return file
        os.close(file)
    msg = f"{name!r} in {str(folder)!r} is no file of its own; remove it, or name another folder."
    raise StreamError(msg)


def _holder(file: os.stat_result) -> str:
    """Which process holds the lock now, where the system tells; what is in the file may be old."""
    with suppress(OSError, AttributeError):  # Linux alone tells
        place = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            if match := re.match(rf"\d+: FLOCK\s+ADVISORY\s+\w+\s+([1-9]\d*) {place} ", line):
                return match[1]
    return ""


def _try_lock(file: int) -> bool:
    """Lock an open file for this process alone, if nobody has done so."""
    try:
        try:
            import fcntl
        except ImportError:  # not a system of the Unix family
            import msvcrt

            # Windows lets nobody else read what is locked, so it is a byte that is never written.
            os.lseek(file, BEYOND, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.lseek(file, 0, os.SEEK_SET)
    return True
