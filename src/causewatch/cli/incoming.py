"""Text as it comes in: from a file, a file that grows, or standard input; whole lines only."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import queue
import sys
import threading
import time
import zlib
from contextlib import closing
from pathlib import Path
from typing import IO, Protocol

from causewatch.errors import SettingError, TableError

__all__ = ["FileText", "Incoming", "Lines", "StdinText", "sample_of"]

BLOCK = 1 << 18
LONGEST_LINE = 4 << 20
"""A line longer than this is thrown away, up to its end."""
HEAD = 4096
"""Bytes by which a file is known again."""
WAIT = 0.2
"""Seconds between two looks at a file that grows."""


class Incoming(Protocol):
    """Text in pieces of any size; `endless` if it waits for more where it ends.

    `files` counts the files begun: the text starts anew when it changes.
    """

    endless: bool
    files: int

    def read(self) -> bytes | None:
        """The next piece; None if there is none at present, empty at the end."""

    def close(self) -> None:
        """No more is wanted."""


class FileText:
    """The text of a file: plain or gzipped, UTF-8 (or nearly) or UTF-16.

    Parameters
    ----------
    path
        The file.
    follow
        Whether to wait for more at its end. A file that is replaced or cut is begun again.
    """

    def __init__(self, path: Path, follow: bool = False) -> None:
        self._path = path
        self.endless = follow
        self.files = 0
        self._pending = b""  # text that skipping has read too much
        self._open(path.open("rb"))

    def _open(self, raw: IO[bytes]) -> None:
        self.files += 1
        self._raw = raw
        self._file: IO[bytes] = self._raw
        self._start = start = self._file.read(HEAD)
        self._file.seek(0)
        self._plain = not start.startswith(b"\x1f\x8b")
        self._decoder: codecs.IncrementalDecoder | None = None
        if not self._plain:
            self._file = gzip.open(self._file)  # type: ignore[assignment]
            start = self._read(HEAD)
            self._file.seek(0)
        marks = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
        if start[:2] in marks:
            self._decoder = codecs.getincrementaldecoder(marks[start[:2]])("replace")
            self._plain = False
        if self.endless and not self._plain:
            msg = (
                f"{self._path.name!r} is compressed or UTF-16 and cannot be followed while it"
                " grows; watch it without --follow."
            )
            self.close()
            raise SettingError(msg)
        # Macs of old end lines with a carriage return alone.
        self._returns = b"\r" in start and b"\n" not in start

    def read(self) -> bytes | None:
        """See `Incoming`."""
        if self._pending:
            data, self._pending = self._pending, b""
            return data
        data = self._read(BLOCK)
        if not data and self.endless:
            if not self._replaced():
                time.sleep(WAIT)
                return None
            data = self._read(BLOCK)  # what was added before it was replaced
            if not data:
                self._reopen()
                return None
        if self._decoder is not None:
            data = self._decoder.decode(data).encode("utf-8", "replace")
        return data.replace(b"\r", b"\n") if self._returns else data

    def _reopen(self) -> None:
        try:
            raw = self._path.open("rb")
        except OSError:  # away again; the next look will tell
            time.sleep(WAIT)
            return
        self.close()
        self._open(raw)

    def close(self) -> None:
        """See `Incoming`."""
        if not self._raw.closed:
            self._remember()  # the head may be asked for later
        self._file.close()
        self._raw.close()  # which closing a gzip file leaves open

    def head(self, size: int) -> str:
        """A checksum of the beginning of the file, of which `size` bytes of text were read."""
        # Of the file that is read: at its path there may be another one by now, or none.
        wanted = min(size, HEAD)
        if len(self._start) < wanted and not self._raw.closed:
            self._remember()
        return hashlib.sha256(self._start[:wanted]).hexdigest()

    def _remember(self) -> None:
        """Keep the beginning of the file, which may have grown."""
        if len(self._start) < HEAD:
            here = self._raw.tell()
            self._raw.seek(0)
            self._start = self._raw.read(HEAD)
            self._raw.seek(here)

    def is_known(self, size: int, head: str) -> bool:
        """Whether this is the file that had this `head`, and has not become shorter."""
        short = self._plain and self._path.stat().st_size < size
        return not short and self.head(size) == head

    def skip(self, size: int) -> None:
        """Go on after `size` bytes of text."""
        if self._plain and not self._returns:
            self._file.seek(size)
            return
        left = size
        while left > 0 and (data := self.read()):
            left -= len(data)
            if left < 0:
                self._pending = data[left:]

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            msg = f"{self._path.name} is damaged ({error}); it cannot be decompressed to its end."
            self.close()
            raise TableError(msg) from error

    def _replaced(self) -> bool:
        """Whether another file has taken the place of this one, or it was cut."""
        try:
            now = os.stat(self._path)
        except OSError:
            return False  # between two files; the next look will tell
        mine = os.fstat(self._file.fileno())
        return now.st_ino != mine.st_ino or now.st_size < self._file.tell()


class StdinText:
    """Standard input, read by a thread so that the watch can do other things while it waits."""

    endless = True
    files = 1

    def __init__(self) -> None:
        stream = sys.stdin.buffer
        self._pieces: queue.Queue[bytes] = queue.Queue(maxsize=16)
        self._ended = False
        threading.Thread(target=self._run, args=(stream,), daemon=True).start()

    def _run(self, stream: IO[bytes]) -> None:
        try:
            number = stream.fileno()
        except (OSError, io.UnsupportedOperation):  # not a real file, as in tests
            self._pieces.put(stream.read())
            self._pieces.put(b"")
            return
        data = b"begin"
        while data:
            try:
                data = os.read(number, BLOCK)
            except OSError:
                data = b""
            self._pieces.put(data)

    def read(self) -> bytes | None:
        """See `Incoming`; what has piled up comes in one piece."""
        if self._ended:
            return b""
        found = []
        try:
            found.append(self._pieces.get(timeout=WAIT))
            while found[-1] and len(found) < 8:
                found.append(self._pieces.get_nowait())
        except queue.Empty:
            pass
        if found and not found[-1]:
            self._ended = True
        return b"".join(found) if found else None

    def close(self) -> None:
        """See `Incoming`; the thread ends with the program."""


class Lines:
    """Cuts text into whole lines.

    Attributes
    ----------
    taken
        Bytes of text given out or thrown away: the next line begins there.
    too_long
        Lines thrown away because they never seemed to end.
    files
        Files begun: when one takes the place of another, `taken` counts anew, and a line of the
        former that has no end is thrown away.
    ended
        Whether there is no more.
    """

    def __init__(self, text: Incoming, taken: int = 0) -> None:
        self._text = text
        self._rest: list[bytes] = []
        self._waiting = 0  # bytes in it
        self._skipping = False  # inside a line that is too long
        self._unread = b""
        self.endless = text.endless
        self.files = text.files
        self.taken = taken
        self.too_long = 0
        self.ended = False

    def read(self) -> bytes:
        """The lines that have come in, each with its end; empty if there are none at present."""
        if self._unread:
            lines, self._unread = self._unread, b""
            self.taken += len(lines)
            return lines
        data = self._text.read()
        if self._text.files != self.files:
            self.files = self._text.files
            self._rest, self._waiting, self._skipping = [], 0, False
            self.taken = 0
        if data is None:
            return b""
        if not data:
            self.ended = True
            left = b"".join(self._rest)
            self._rest, self._waiting = [], 0
            self.taken += len(left)
            return left + b"\n" if left.strip() else b""
        if self._skipping:
            end = data.find(b"\n") + 1
            self.taken += end or len(data)
            if not end:
                return b""
            self._skipping, data = False, data[end:]
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._rest.append(data)
            self._waiting += len(data)
            if self._waiting > LONGEST_LINE:
                self.taken += self._waiting
                self._rest, self._waiting = [], 0
                self._skipping = True
                self.too_long += 1
            return b""
        lines = b"".join((*self._rest, data[:cut]))
        self._rest = [data[cut:]] if cut < len(data) else []
        self._waiting = len(data) - cut
        self.taken += len(lines)
        return lines

    def close(self) -> None:
        """No more is wanted."""
        self._text.close()

    def unread(self, lines: bytes) -> None:
        """Give back the lines read last."""
        self._unread = lines
        self.taken -= len(lines)
        self.ended = False


def sample_of(path: Path, size: int) -> bytes:
    """The beginning of a text file: about `size` bytes, whole lines."""
    lines, data = Lines(FileText(path)), b""
    with closing(lines):
        while not lines.ended and len(data) < size:
            data += lines.read()
    return data
