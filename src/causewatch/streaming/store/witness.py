"""`Witness`: the number of the last save, in a small file beside the database.

A database whose log was removed, or that was replaced by an older copy, is sound in itself and says
nothing of what it has lost. The witness is written after each save and needs not be on disk at
once: after a power cut it may be older than the database, never newer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from causewatch.streaming.store.lock import own_file

__all__ = ["WITNESS", "Witness"]

WITNESS = "saves"
LENGTH = 19
"""Digits and a line end: each number takes the place of the one before."""


class Witness:
    """Knows the last save of the state in a folder; see the module.

    Parameters
    ----------
    folder
        Where the file is; it is made with the first save.

    Attributes
    ----------
    last
        Number of the last save that was written down.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None
        self.last = 0

    @contextmanager
    def look(self) -> Iterator[None]:
        """Read what is there; what is noted meanwhile is written."""
        self.last = 0
        if os.path.lexists(self._folder / WITNESS):
            self._file = own_file(self._folder, WITNESS)
            text = os.read(self._file, LENGTH).strip()
            self.last = int(text) if text.isdigit() else 0
        try:
            yield
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def note(self, number: int, *, anew: bool = False) -> None:
        """Write down the number of a save; one that is no higher only if it counts `anew`."""
        if number <= self.last and not anew:
            return
        self.last = number
        with suppress(OSError):  # then it is older, which does no harm
            if self._file is None:
                self._file = own_file(self._folder, WITNESS)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, b"%0*d\n" % (LENGTH - 1, number))
