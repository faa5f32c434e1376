"""A file of lines, one for each event of an alarm, with each event in it exactly once.

The mark is the length of the file and a fingerprint of its end. What a killed watch wrote after the
last mark that was kept is cut off and written again. Where the mark does not fit the file (it was
rotated, shortened or replaced meanwhile, or there is no mark yet) lines that are there already are
not written again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from itertools import dropwhile
from pathlib import Path
from typing import Any

from causewatch.errors import StreamError, UnknownNameError
from causewatch.streaming.formats import FORMATS, formatted
from causewatch.streaming.sink import DeliveryError, Notice, Status

__all__ = ["LinesSink"]

TAIL = 4 << 20
"""Bytes at the end of a file in which lines are looked for that may come again."""
PRINT = 512
"""Bytes before a mark that it is known again by."""


class LinesSink:
    """Adds lines to a file, which belongs to one watch.

    Parameters
    ----------
    path
        The file; made if it is not there. Its folder must be.
    format
        One of `causewatch.streaming.formats.FORMATS`.
    anew
        Whether a file that has no mark yet is emptied first, rather than added to.

    Notes
    -----
    What is not a regular file, such as ``/dev/stdout`` or a named pipe, is written to as it is:
    nothing can be taken back there, so a kill may double its last lines.
    """

    def __init__(self, path: Path, *, format: str = "json", anew: bool = False) -> None:
        if format not in FORMATS:
            raise UnknownNameError(format, "format", FORMATS)
        self._path = path.absolute()
        self._format = format
        self._anew = anew
        self._file: int | None = None
        self._torn: int | None = None  # where to cut off a line that was written in part
        self._there: frozenset[bytes] | None = None  # lines that may be about to come again

    @property
    def name(self) -> str:
        """See `Sink`."""
        return str(self._path)

    def open(self, mark: Any) -> None:
        """See `Sink`."""
        try:
            file = self._reach()
            if not _regular(file):
                return
            if mark is None and self._anew:
                os.ftruncate(file, 0)
            elif mark is not None and _fits(file, mark):
                os.ftruncate(file, mark["bytes"])
            else:
                self._there = _lines(file)
        except OSError as error:
            self.close()
            if error.errno != errno.ENXIO:  # a pipe that nobody reads so far may be read later
                msg = f"{self._trouble(error)[:-1]}; name another file."
                raise StreamError(msg) from error

    def send(self, notices: Sequence[Notice]) -> Any:
        """See `Sink`."""
        lines = [f"{formatted(notice, self._format)}\n".encode() for notice in notices]
        events = any(
            notice.number for notice in notices
        )  # what is told beside them never comes again
        try:
            return self._write(lines, events)
        except OSError as error:
            raise DeliveryError(self._trouble(error)) from error

    def look(self, status: Status) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`."""
        if self._file is not None:
            os.close(self._file)
            self._file = self._torn = None

    def _write(self, lines: Sequence[bytes], events: bool) -> dict[str, Any] | None:
        """Add `lines` and see them on disk, or leave the file as it was; gives a mark."""
        file = self._reach()
        if not _regular(file):
            _write_all(file, b"".join(lines))
            return None
        self._mend(file)
        there = self._there if self._there is not None and events else frozenset[bytes]()
        data = b"".join(dropwhile(there.__contains__, lines))
        if not data:
            return _mark(file)
        size = os.fstat(file).st_size
        begun = 0 if self._there is None else _begun(file, data)
        gap = b"" if begun or not size or _read(file, size - 1, 1) == b"\n" else b"\n"
        try:
            _write_all(file, gap + data[begun:])
            os.fsync(file)
        except OSError:
            self._torn = size
            with suppress(OSError):  # else before the next try
                self._mend(file)
            raise
        if events:
            self._there = None
        return _mark(file)

    def _trouble(self, error: OSError) -> str:
        if isinstance(error, BlockingIOError):
            return f"{self.name!r} is in use by another watch."
        if error.errno == errno.ENXIO:
            return f"{self.name!r} is a pipe that nobody reads."
        return f"{self.name!r} cannot be written: {(error.strerror or str(error)).lower()}."

    def _mend(self, file: int) -> None:
        """Take back a delivery that was written in part."""
        if self._torn is not None:
            os.ftruncate(file, min(self._torn, os.fstat(file).st_size))
            self._torn = None

    def _reach(self) -> int:
        """The file that is at the path now: another one after a rotation."""
        if self._file is not None and not _is_at(self._file, self._path):
            with suppress(OSError):
                self._mend(self._file)
            self.close()
        if self._file is None:
            self._file = _open(self._path)
        return self._file


def _open(path: Path) -> int:
    new = not path.exists()
    if new or path.is_file():
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    else:
        # Without this, a pipe that nobody reads would let us wait for ever.
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
    file = os.open(path, flags, 0o666)
    try:
        if _regular(file):
            _lock(file)
        else:
            os.set_blocking(file, True)
        if new:
            _keep_entry(path.parent)
    except BaseException:
        os.close(file)
        raise
    return file


def _lock(file: int) -> None:
    """Keep other watches away, which would cut off each other's lines."""
    try:
        import fcntl
    except ImportError:  # not a system of the Unix family
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        return


def _keep_entry(folder: Path) -> None:
    """See the name of a new file on disk, too."""
    with suppress(OSError):
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _regular(file: int) -> bool:
    return stat.S_ISREG(os.fstat(file).st_mode)


def _read(file: int, begin: int, size: int) -> bytes:
    os.lseek(file, begin, os.SEEK_SET)  # lines are added at the end all the same
    found = b""
    while len(found) < size and (more := os.read(file, size - len(found))):
        found += more
    return found


def _write_all(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _mark(file: int) -> dict[str, Any]:
    size = os.fstat(file).st_size
    return {"bytes": size, "print": _print(file, size)}


def _fits(file: int, mark: Any) -> bool:
    """Whether the file still begins with what it held when the mark was made."""
    if not isinstance(mark, dict) or not isinstance(mark.get("bytes"), int):
        return False
    size = mark["bytes"]
    # Of an empty file there is nothing to know it again by.
    return 0 < size <= os.fstat(file).st_size and _print(file, size) == mark.get("print")


def _print(file: int, size: int) -> str:
    length = min(size, PRINT)
    return hashlib.sha256(_read(file, size - length, length)).hexdigest()[:16]


def _lines(file: int) -> frozenset[bytes]:
    """The last lines of a file."""
    size = os.fstat(file).st_size
    return frozenset(_read(file, max(0, size - TAIL), TAIL).splitlines(keepends=True))


def _begun(file: int, data: bytes) -> int:
    """How many bytes of `data` are the end of the file already: a line that a kill cut short."""
    size = os.fstat(file).st_size
    length = min(size, len(data))
    last = _read(file, size - length, length).rpartition(b"\n")[2]
    whole = len(last) < length or length == size
    return len(last) if whole and data.startswith(last) else 0
