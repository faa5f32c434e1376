"""A folder as a source: files that appear over time, each read to its end.

Files are read in order of time if all of them tell it; else, and if the folder is followed, in the
order of their names, in which numbers count as numbers: ``part2`` comes before ``part10``. If it is
followed, the last file is read while it is written, and a file with a later name means that the
ones before it are finished. A file that is finished and cannot be read is set aside: it is tried
again only once it has changed, also by later runs.
"""

from __future__ import annotations

import logging
import os
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from causewatch.data import Clock, open_table
from causewatch.data.raw import file_name
from causewatch.data.records import Unpacked
from causewatch.errors import CausewatchError, SettingError, TableError
from causewatch.streaming.source import Batch, Guarantee, Wanted, nothing
from causewatch.streaming.sources.folder_names import FolderNames, shown
from causewatch.streaming.sources.readers import LOOK, Reader, open_reader
from causewatch.streaming.sources.tables import matching

__all__ = ["FolderSource"]

log = logging.getLogger(__name__)

_State = tuple[str, int, int]
"""Name, size and time of the last change of a file."""

EACH_ROW = "each row"
"""Where other files have a clock: those of JSON lines tell the time row by row."""


class FolderSource:
    """The files of a folder as a `Source`.

    Parameters
    ----------
    path
        The folder.
    wanted
        What the watch wants.
    follow
        Whether to wait for more.
    every
        Seconds between two looks for new files.
    now, sleep
        The time in seconds, and how to let it pass.
    """

    guarantee: Guarantee = "replayed"

    def __init__(
        self,
        path: Path,
        wanted: Wanted,
        *,
        follow: bool = False,
        every: float = 1.0,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._path = path
        self._wanted = wanted
        self._follow = follow
        self._every = every
        self._now, self._sleep = now, sleep
        self.name = file_name(path)
        self._none = nothing(len(wanted.columns))
        self._open = False
        self._forget()

    def _forget(self) -> None:
        self._reader: Reader | None = None
        self._file: str | None = None  # the file that is read, or was read last
        self._again = False  # whether it is still to be opened
        self._place: dict[str, Any] = {}  # where in it, if there is no reader
        self._rows = self._before = 0  # rows of it, and of the files before it
        self._growing = False  # whether it may still be written to
        self._last_look = False  # whether a later file was there before the last look at it
        self._given = False  # whether rows of it were given out
        first = None if self._follow or self._wanted.counted else self._first_time
        self._names = FolderNames(self._path, self._every, self._now, first)
        self._tried: _State | None = None  # what could not be read yet
        self._aside: _State | None = None  # the present file as it was, if it cannot be read
        self._clock: str | None = None
        self._example = b""  # first lines of the last text
        self._problems: Counter[str] = Counter()
        self._dropped = 0  # rows left out of the files before
        self._error: CausewatchError | None = None  # of the first file that could not be read
        self.missing: tuple[str, ...] = ()
        self.ended = False

    @property
    def clock(self) -> Clock | None:
        """See `Source`."""
        return None if self._clock == EACH_ROW else cast("Clock | None", self._clock)

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        counts = self._problems + Counter(self._reader.problems if self._reader else {})
        return dict(counts + Counter(late_files=self._names.late))

    @property
    def dropped(self) -> int:
        """Rows left out so far."""
        return self._dropped + getattr(self._reader, "dropped", 0)

    @property
    def status(self) -> str:
        """See `Source`."""
        if not self._open:
            return "not open"
        if self.ended:
            return "ended"
        if self._reader is not None:
            return "waiting for more" if self._reader.idle else "reading"
        held = f"; {shown(self._tried[0])} cannot be read yet" if self._tried else ""
        return f"waiting for more{held}"

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`."""
        self.close()
        self._forget()
        if not self._path.is_dir():
            msg = f"There is no folder {self.name!r}."
            raise TableError(msg)
        self._open = True
        if after.get("name") == self.name and after.get("file") is not None:
            self._file, self._again = str(after["file"]), True
            self._place = dict(after.get("at", {}))
            self._rows, self._before = int(self._place.get("rows", 0)), int(after["before"])
            self._clock = after.get("clock")
            self._names.recall([str(name) for name in after.get("seen", ())])
            aside = after.get("aside")
            if aside is not None and (self._file, *aside) == _state(self._path / self._file):
                self._aside, self._again = (self._file, *aside), False
                self._names.begin(self._file)
            else:
                self._names.again(self._file)
            self._names.look()
        elif not self._follow:
            self._open_first()

    def _open_first(self) -> None:
        """Find a file to begin with; raises if there is none."""
        while self._reader is None and not self.ended:
            self._next()
        if self._reader is None:
            self._open = False
            why = "there is none with rows in it." if self._error is None else str(self._error)
            msg = f"No file of the folder {self.name!r} can be watched: {why}"
            raise TableError(msg)

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        until = self._now() + wait
        while self._open and not self.ended:
            batch, idle = self._step()
            left = until - self._now()
            if len(batch) or left <= 0:
                return batch
            if idle:
                self._sleep(min(left, LOOK))
        return self._none

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        if self._file is None:
            return {"name": self.name, "rows": 0}
        reader = self._reader
        position = {
            "name": self.name,
            "rows": self._before + (self._rows if reader is None else reader.rows),
            "file": self._file,
            "at": self._place if reader is None else reader.position(),
            "before": self._before,
            "clock": self._clock,
            "seen": self._names.remembered(),
        }
        return position if self._aside is None else position | {"aside": list(self._aside[1:])}

    def committed(self) -> None:
        """See `Source`; files need no acknowledgement."""

    def close(self) -> None:
        """See `Source`."""
        if self._reader is not None:
            self._set_down(self._reader)
        self._open = False

    def _step(self) -> tuple[Batch, bool]:
        """Some rows, if there are any at present; and whether nothing is to be done just now."""
        reader = self._reader
        if reader is None:
            return self._none, not self._next() and not self.ended
        try:
            batch = reader.read()
            if len(batch):
                self._check_clock(EACH_ROW if batch.named else reader.clock)
        except CausewatchError as error:
            self._refuse(reader, error)
            return self._none, False
        if len(batch):
            self.missing, self._given = reader.missing, True
        elif reader.ended:
            self._set_down(reader)
        elif reader.idle:
            if self._last_look:
                reader.finish()  # there was a later file, and still nothing new in this one
                return batch, False
            self._names.look()
            self._last_look = bool(self._names.waiting)
            return batch, True
        return batch, False

    def _next(self) -> bool:
        """Begin the next file, or pass over it; False if there is none to be read at present."""
        if not self._names.waiting or self._follow:
            self._names.look(force=not self._follow)
        if not self._names.waiting:
            self.ended = not self._follow
            return False
        name, finished = self._names.waiting[0], not self._follow or len(self._names.waiting) > 1
        state = _state(self._path / name)
        if state is None:  # away again
            self._names.drop(name)
            return True
        if not finished and (not state[1] or state == self._tried):
            return False  # its writer has not come far yet
        self._tried = None
        reader: Reader | None = None
        try:
            if state[1]:
                reader = self._opened(name, finished)
        except CausewatchError as error:
            if not finished and not _has_its_end(self._path / name):
                self._tried = state
                log.info("%s Another try follows once it has grown.", error)
                return False
            self._pass(name)
            self._set_aside(state, error)
            return True
        self._pass(name)
        self._reader, self._growing = reader, not finished
        return True

    def _first_time(self, name: str) -> int | None:
        """When the first row of a file was; None if it does not tell, or is one without header."""
        options = self._wanted.reading
        try:
            table = open_table(
                self._path / name,
                time=options.time,
                time_format=options.time_format,
                keep=self._wanted.columns,
                separator=options.separator,
                decimal=options.decimal,
                usual=self._wanted.usual,
            )
            first = next(table.chunks(), None)
        except CausewatchError:
            return None
        if first is None or table.clock not in ("naive", "utc"):
            return None
        return int(first.time[0]) if matching(table.signals, self._wanted) else None

    def _opened(self, name: str, finished: bool) -> Reader:
        """A file, at the place where an earlier run stopped in it."""
        path, here = self._path / name, self._again and name == self._file
        after = self._place if here else {}
        first_row = self._before if here else self._before + self._rows
        if not finished:
            try:
                return open_reader(
                    path,
                    self._wanted,
                    after,
                    follow=True,
                    rotates=False,
                    first_row=first_row,
                    example=self._example,
                )
            except SettingError:  # it is no text that grows
                check_whole(path)
        return open_reader(path, self._wanted, after, first_row=first_row, example=self._example)

    def _pass(self, name: str) -> None:
        """From now on this is the present file."""
        if not (self._again and name == self._file):
            self._before, self._rows, self._place = self._before + self._rows, 0, {}
        self._file, self._again, self._last_look, self._given = name, False, False, False
        self._aside = None
        self._names.begin(name)

    def _check_clock(self, clock: str | None) -> None:
        if self._clock is None:
            self._clock = clock
        if clock != self._clock:
            name = shown(self._file or "")
            msg = f"{name} tells the time otherwise ({clock}) than files before ({self._clock})."
            raise TableError(msg)

    def _refuse(self, reader: Reader, error: CausewatchError) -> None:
        """The present file makes no sense, or not yet."""
        name = self._file or ""
        begun = self._given or self._place.get("rows")
        if begun or not self._growing or _has_its_end(self._path / name):
            self._set_down(reader)
            self._set_aside(_state(self._path / name), error)
            return
        reader.close()
        self._reader, self._again, self._place = None, True, {}
        self._names.again(name)
        self._tried = _state(self._path / name)

    def _set_aside(self, state: _State | None, error: CausewatchError) -> None:
        """Count and tell that the present file, as it is now, cannot be read."""
        self._problems["bad_files"] += 1
        self._aside = state
        self._error = self._error or error
        log.warning("%s was set aside: %s", shown(self._file or ""), error)

    def _set_down(self, reader: Reader) -> None:
        """No more is read from a file."""
        self._place, self._rows = reader.position(), reader.rows
        self._example = reader.example or self._example
        self._problems += Counter(reader.problems)
        self._dropped += getattr(reader, "dropped", 0)
        self._reader = None
        reader.close()


def check_whole(path: Path) -> None:
    """Raise if a file that is no growing text may not be finished yet."""
    name = file_name(path)
    try:
        with path.open("rb") as file:
            start = file.read(4)
            file.seek(0)
            if start.startswith(b"\x1f\x8b"):
                packed = Unpacked(file, file.tell, name)
                while packed.read(1 << 20):
                    pass
                return
    except OSError as error:
        msg = f"{name} is not complete ({error})."
        raise TableError(msg) from error
    if not start.startswith((b"PAR1", b"PK\x03\x04")):  # those end in something to know it by
        msg = f"{name} may not be complete; it is read once a file with a later name is there."
        raise TableError(msg)


def _has_its_end(path: Path) -> bool:
    """Whether a file is whole, as can be told of Parquet and of zip archives by how they end."""
    with suppress(OSError), path.open("rb") as file:
        if file.read(4) != b"PAR1":
            return zipfile.is_zipfile(file)
        file.seek(max(4, file.seek(0, os.SEEK_END) - 4))
        return file.read() == b"PAR1"
    return False


def _state(path: Path) -> _State | None:
    """A file as it is now; None if it is not there."""
    try:
        now = os.stat(path)
    except OSError:
        return None
    return path.name, now.st_size, now.st_mtime_ns
