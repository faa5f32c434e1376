"""Which files of a folder are still to be read, and which come too late."""

from __future__ import annotations

import logging
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from causewatch.data.files import unreadable
from causewatch.data.raw import file_name
from causewatch.errors import listing

__all__ = ["FolderNames", "natural", "shown"]

log = logging.getLogger(__name__)

UNFINISHED = (".tmp", ".part")
"""How names of files end that others are still writing."""
REMEMBERED = 100
"""Names of files up to the present one that a position holds, to know which come too late."""


def natural(name: str) -> tuple[tuple[str | int, ...], str]:
    """A key to sort names by, in which numbers count as numbers.

    >>> sorted(["part10", "part2"], key=natural)
    ['part2', 'part10']
    """
    parts = re.split("([0-9]+)", name)
    return tuple(int(part) if k % 2 else part for k, part in enumerate(parts)), name


def shown(name: str) -> str:
    """A file's name for messages."""
    return file_name(Path(name))


class FolderNames:
    """The files of a folder, in the order in which they are read.

    Parameters
    ----------
    path
        The folder.
    every
        Seconds between two looks at it.
    now
        The time in seconds.
    first
        Gives the first time in a file, or None if it does not tell. Where all files do, this is
        their order; else, and if not given, it is that of their names.

    Attributes
    ----------
    waiting
        Files that are still to be read, in order.
    late
        Files that came after one with a later name had been begun.
    """

    def __init__(
        self,
        path: Path,
        every: float,
        now: Callable[[], float],
        first: Callable[[str], int | None] | None = None,
    ) -> None:
        self._path = path
        self._first = first
        self._times: dict[str, int] | None = None  # of files in order of time, at the first look
        self._every = every
        self._now = now
        self._present: str | None = None
        self._seen: set[str] = set()  # files up to the present one, as far as they are there
        self._looked_at = -math.inf
        self._away = False  # whether the folder could not be listed
        self.waiting: list[str] = []
        self.late = 0

    def look(self, force: bool = False) -> None:
        """See which files there are, now and then."""
        if not force and self._now() - self._looked_at < self._every:
            return
        self._looked_at = self._now()
        names = self._list()
        if names is None:
            return
        here = None if self._present is None else self._key(self._present)
        after = names if here is None else {name for name in names if self._key(name) > here}
        after -= self._seen
        if self._present in self.waiting and self._present in names:
            after.add(self._present)
        self.waiting = sorted(after, key=self._key)
        for name in sorted(names - self._seen - after, key=self._key):
            self.late += 1
            self._seen.add(name)
            text = "%s came too late, after %s had been begun, and is not read."
            log.warning(text, shown(name), shown(self._present or ""))
        self._seen &= names | {self._present or ""}

    def _first_times(self, names: set[str]) -> dict[str, int]:
        """When files begin, if all of them tell; said if they are not in order of their names."""
        if self._first is None or len(names) < 2:
            return {}
        times: dict[str, int] = {}
        for name in names:
            first = self._first(name)
            if first is None:
                return {}
            times[name] = first
        order = sorted(names, key=lambda name: (times[name], natural(name)))
        if order != sorted(names, key=natural):
            text = "The files of %s are read in order of time, not of their names: %s."
            log.info(text, file_name(self._path), listing(map(shown, order)))
        return times

    def _key(self, name: str) -> tuple[float, tuple[tuple[str | int, ...], str]]:
        """By which files are sorted; one that comes after the first look is the last."""
        times = self._times or {}
        return times.get(name, math.inf), natural(name)

    def begin(self, name: str) -> None:
        """A file is read now, or passed over."""
        self._present = name
        self._seen.add(name)
        self.drop(name)

    def drop(self, name: str) -> None:
        """A file is no longer to be read."""
        self.waiting = [other for other in self.waiting if other != name]

    def again(self, name: str) -> None:
        """A file that was begun is to be opened once more."""
        self._present = name
        self._seen.add(name)
        self.waiting = [name, *self.waiting]

    def remembered(self) -> list[str]:
        """The files up to the present one, for a position: the last of them."""
        return sorted(self._seen, key=self._key)[-REMEMBERED:]

    def recall(self, names: Sequence[str]) -> None:
        """What was `remembered` in an earlier run."""
        self._seen |= set(names)
        if len(names) >= REMEMBERED:
            # There may have been more before; whether one of those is new cannot be told.
            oldest = self._key(names[0])
            self._seen |= {name for name in self._list() or () if self._key(name) < oldest}

    def _list(self) -> set[str] | None:
        try:
            with os.scandir(self._path) as entries:
                names = {
                    entry.name
                    for entry in entries
                    if not entry.name.startswith(".")
                    and not entry.name.lower().endswith(UNFINISHED)
                    and entry.is_file()
                }
        except OSError as error:
            if not self._away:
                log.warning("%s", unreadable(file_name(self._path), error))
            self._away = True
            return None
        self._away = False
        if self._times is None:
            self._times = self._first_times(names)
        return names
