"""The text of one file, known again by its beginning.

Whatever a file is written in, its text is UTF-8, and places in it are counted in bytes of that.
"""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from causewatch.data.files import unreadable
from causewatch.data.raw import file_name
from causewatch.data.records import Unpacked
from causewatch.streaming.sources.lines import BLOCK

__all__ = ["Text"]

HEAD = 4096
"""Bytes by which a file is known again."""
MOSTLY_ZERO = 0.9
"""Every other byte of UTF-16 is 0 in at least this share of Western signs."""


class Text:
    """The text of one open file: plain or gzipped, UTF-8 (or nearly) or UTF-16.

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    at
        Bytes of text given out so far.
    grows
        Whether it can be read while somebody writes to it.
    """

    endless = False
    files = 1

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._raw = path.open("rb", buffering=0)
        except OSError as error:
            raise unreadable(file_name(path), error) from error
        self._file: IO[bytes] | Unpacked = self._raw
        self.inode = os.fstat(self._raw.fileno()).st_ino
        try:
            self.rewind()
        except BaseException:
            self.close()
            raise

    def rewind(self) -> None:
        """Begin again."""
        self._raw.seek(0)
        first = self._raw.read(HEAD)
        self._raw.seek(0)
        self._file, packed = self._raw, first.startswith(b"\x1f\x8b")
        if packed:
            first = self._unpacked().read(HEAD)
            self._raw.seek(0)
            self._file = self._unpacked()
        wide = _wide(first)
        self._decoder = None if wide is None else codecs.getincrementaldecoder(wide)("replace")
        # Macs of old end lines with a carriage return alone.
        self._returns = b"\r" in first and b"\n" not in first
        self.grows = not packed and wide is None
        self.at = self._end = 0
        self._start = b""  # the first bytes of text, as far as they are known
        self._pending = b""  # text that was read and not given out
        while len(self._start) < HEAD and (data := self._more(HEAD)):
            self._pending += data

    def read(self, wait: float = 0.0) -> bytes:
        """See `Incoming`; raises `TableError` where the file is damaged."""
        data, self._pending = self._pending or self._more(BLOCK), b""
        self.at += len(data)
        return data

    def _more(self, size: int) -> bytes:
        """Text that was not read so far."""
        data = self._file.read(size)
        if self._decoder is not None:
            text = self._decoder.decode(data)
            while data and not text:  # half a sign, for example
                data = self._file.read(size)
                text = self._decoder.decode(data)
            data = text.encode("utf-8", "replace")
        if self._returns:
            data = data.replace(b"\r", b"\n")
        if self._end == len(self._start) < HEAD:
            self._start += data[: HEAD - self._end]
        self._end += len(data)
        return data

    def _unpacked(self) -> Unpacked:
        return Unpacked(self._raw, self._raw.tell, file_name(self.path))

    def skip(self, size: int) -> bool:
        """Go on after `size` bytes of text; False if there are not as many."""
        while self.at + len(self._pending) < size:
            self.at += len(self._pending)
            if self.grows and not self._returns:
                if os.fstat(self._raw.fileno()).st_size < size:
                    return False
                self._pending = b""
                self._raw.seek(size)
                self.at = self._end = size
                return True
            self._pending = self._more(BLOCK)
            if not self._pending:
                return False
        self._pending = self._pending[size - self.at :]
        self.at = size
        return True

    def mark(self) -> dict[str, Any]:
        """By what the text is known again: a checksum of its beginning, as far as it is known."""
        return {"seen": len(self._start), "head": hashlib.sha256(self._start).hexdigest()}

    def goes_on(self, size: int, mark: Mapping[str, Any], lines: int = 0) -> bool:
        """Go on after `size` bytes if the text begins as it did then; else at its beginning.

        So many `lines` must be part of that beginning.
        """
        first = self._start[: int(mark.get("seen", min(size, HEAD)))]
        same = hashlib.sha256(first).hexdigest() == mark["head"]
        if same and first.count(b"\n") >= lines and self.skip(size):
            return True
        self.rewind()
        return False

    def is_cut(self) -> bool:
        """Whether the file became shorter than what was read of it, or begins otherwise now."""
        if not self.grows:
            return False
        here = self._raw.tell()
        if os.fstat(self._raw.fileno()).st_size < here:
            return True
        self._raw.seek(0)
        first = self._raw.read(len(self._start))
        self._raw.seek(here)
        return (first.replace(b"\r", b"\n") if self._returns else first) != self._start

    def close(self) -> None:
        """See `Incoming`."""
        self._file.close()
        self._raw.close()  # which closing a gzip file leaves open


def _wide(start: bytes) -> str | None:
    """Which UTF-16 a file is that begins like this, with a mark or without; None for others."""
    marks = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    if start[:2] in marks or len(start) < 4:
        return marks.get(start[:2])
    for form, zeros, signs in (
        ("utf-16-le", start[1::2], start[0::2]),
        ("utf-16-be", start[0::2], start[1::2]),
    ):
        if zeros.count(0) > MOSTLY_ZERO * len(zeros) and 0 not in signs:
            return form
    return None
