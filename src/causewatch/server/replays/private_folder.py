"""`private_folder`: a temporary folder that does not stay behind, even if the process is killed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from causewatch.streaming.store.lock import lock_folder
from causewatch.streaming.store.saving import InUseError

__all__ = ["private_folder"]

YOUNG = 60.0
"""Seconds for which nobody touches a folder that has no lock: somebody may be about to take it."""


@contextmanager
def private_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder that nobody else can look into, removed at the end.

    Folders of the same prefix and user whose process has ended without removing them go first.

    Parameters
    ----------
    prefix
        How its name begins.
    parent
        Where it is made; None for the usual place of temporary files.
    """
    place = Path(tempfile.gettempdir() if parent is None else parent)
    with suppress(OSError):
        _remove_left(prefix, place)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    try:
        with lock_folder(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left(prefix: str, place: Path) -> None:
    """Remove folders that nobody holds the lock of."""
    mine = getattr(os, "geteuid", lambda: None)()
    with os.scandir(place) as entries:
        for entry in entries:
            if not entry.name.startswith(prefix) or not entry.is_dir(follow_symlinks=False):
                continue
            found = entry.stat(follow_symlinks=False)
            if (mine is None or found.st_uid == mine) and time.time() - found.st_mtime > YOUNG:
                with suppress(InUseError, OSError), lock_folder(Path(entry.path)):
                    shutil.rmtree(entry.path, ignore_errors=True)
