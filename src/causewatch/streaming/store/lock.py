"""A lock on a folder that the system itself ends with the process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from causewatch.errors import shorten
from causewatch.streaming.store.sql import InUseError

__all__ = ["lock_folder"]


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Be the only one who holds the lock of a folder; raises `InUseError` if somebody else does."""
    with (folder / "lock").open("a+b") as file:
        if not _try_lock(file.fileno()):
            file.seek(0)
            holder = file.read(20).decode("ascii", "replace").strip() or "unknown"
            msg = (
                f"{str(folder)!r} is in use by a running watch (process {shorten(holder)}); stop"
                " that first, or name another folder."
            )
            raise InUseError(msg)
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        yield


def _try_lock(file: int) -> bool:
    """Lock an open file for this process alone, if nobody has done so."""
    try:
        try:
            import fcntl
        except ImportError:  # not a system of the Unix family
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
