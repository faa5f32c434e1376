"""Text files as blocks of whole records: decompressed, decoded, cut at line ends, checked."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from causewatch.data.notes import Tally
from causewatch.data.raw import file_name
from causewatch.errors import TableError

__all__ = [
    "GARBAGE",
    "BlockReader",
    "Unpacked",
    "collapse_blanks",
    "count_cells",
    "record_ends",
    "without_open_quotes",
]

LONGEST_RECORD = 8 << 20
"""A record (line) longer than this many bytes is taken for an unclosed quotation mark."""

MOST_RATIO = 500
"""Compression above which a file is refused; recordings with times in them stay far below."""

UNCHECKED = 16 << 20
"""Bytes that are unpacked before the compression is judged."""

NEWLINE, QUOTE, RETURN = 10, 34, 13

GARBAGE = b"\0"
"""What stands in place of a line that makes no sense, so that lines keep their numbers."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Hashing(io.RawIOBase):
    """A file that computes the checksum of everything read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self.digest.update(data)
        self.size += len(data)
        return len(data)


class Unpacked:
    """The content of a gzip file, as long as it is in proportion to the file.

    Parameters
    ----------
    packed
        The file.
    place
        Says how many bytes of it have been read.
    name
        What messages call it.
    """

    def __init__(self, packed: IO[bytes], place: Callable[[], int], name: str) -> None:
        self._stream = gzip.GzipFile(fileobj=packed)
        self._place = place
        self._name = name
        self._size = 0

    def read(self, size: int, /) -> bytes:
        """Some bytes, at the end none; raises `TableError` for what is damaged or unfolds so."""
        try:
            data = self._stream.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            message = f"{self._name} is damaged ({error}); it cannot be decompressed to its end."
            raise TableError(message) from error
        self._size += len(data)
        if self._size > UNCHECKED and self._size > MOST_RATIO * self._place():
            message = (
                f"{self._name} unfolds to more than {MOST_RATIO} times its size, which no "
                "recording does; unpack it first if it is one."
            )
            raise TableError(message)
        return data

    def close(self) -> None:
        """No more is wanted; the file stays open."""
        self._stream.close()


class BlockReader:
    """Reads a text file as UTF-8 blocks of about `size` bytes that end where a record ends.

    Parameters
    ----------
    path
        The file; gzip, UTF-16 and files that are not UTF-8 are recognised by their content.
    size
        Bytes per block.
    tally
        Where to note what was found.

    Attributes
    ----------
    sha256
        Checksum of the file's bytes, once all blocks have been read.
    """

    def __init__(self, path: Path, size: int, tally: Tally) -> None:
        self._path = path
        self._name = file_name(path)
        self._size = size
        self._tally = tally
        self.sha256 = ""

    def __iter__(self) -> Iterator[bytes]:
        name = self._name
        with self._path.open("rb") as file:
            hashing = _Hashing(file)
            raw = io.BufferedReader(hashing, 1 << 16)
            compressed = raw.peek(2)[:2] == b"\x1f\x8b"
            stream: _Readable = raw
            if compressed:
                stream = Unpacked(raw, lambda: hashing.size, name)
            try:
                yield from self._records(stream)
            except UnicodeDecodeError as error:
                message = f"{name} looks like UTF-16 but does not decode; save it as UTF-8."
                raise TableError(message) from error
            while raw.read(1 << 20):
                pass
            self.sha256 = hashing.digest.hexdigest()

    def _records(self, stream: _Readable) -> Iterator[bytes]:
        line = 1
        rest = b""
        for piece in self._text(stream):
            data = rest + piece
            end = _last_end(data)
            rest = data[end:]
            if len(rest) > LONGEST_RECORD:  # taken for an open quotation mark
                rest = without_open_quotes(rest)
                more = rest.rfind(b"\n") + 1
                data, end, rest = data[:end] + rest, end + more, rest[more:]
                if len(rest) > LONGEST_RECORD:
                    raise self._too_long(line + data.count(b"\n", 0, end))
            if end:
                yield self._utf8(data[:end], line)
                line += data.count(b"\n", 0, end)
        if rest.strip():
            rest = rest.removesuffix(b"\n") + b"\n"
            if _last_end(rest) < len(rest):
                rest = without_open_quotes(rest)
            yield self._utf8(rest, line)

    def _text(self, stream: _Readable) -> Iterator[bytes]:
        """The stream's content in ASCII-compatible pieces with newlines at line ends."""
        piece = stream.read(self._size)
        while 0 < len(piece) < 4096 and (more := stream.read(4096)):
            piece += more
        encoding = _utf16(piece[:4096])
        if encoding:
            text = f"{self._name} is written in UTF-16, not in UTF-8, and was read as such."
            self._tally.add("utf16", text, about=self._name)
        decoder = codecs.getincrementaldecoder(encoding)() if encoding else None
        piece = piece.removeprefix(codecs.BOM_UTF8)
        first = piece[: 1 << 16] if not encoding else piece[: 1 << 16].replace(b"\0", b"")
        old_mac = b"\r" in first and b"\n" not in first
        while piece:
            if decoder:
                piece = decoder.decode(piece).removeprefix("\ufeff").encode("utf-8", "replace")
            yield piece.replace(b"\r", b"\n") if old_mac else piece
            piece = stream.read(self._size)
        if decoder:
            decoder.decode(b"", final=True)

    def _utf8(self, block: bytes, line: int) -> bytes:
        """`block` as valid UTF-8; anything else is taken for Latin-1, as Windows writes it."""
        if block.isascii():
            return block
        try:
            block.decode()
        except UnicodeDecodeError as error:
            at = line + block.count(b"\n", 0, error.start)
            self._tally.add(
                "latin1",
                f"{self._name} is not UTF-8 (first in line {at}) and was read as Latin-1 "
                "(Windows-1252); names with special letters may differ from other files.",
                about=self._name,
            )
            return block.decode("cp1252", "replace").encode()
        return block

    def _too_long(self, line: int) -> TableError:
        return TableError(
            f"{self._name} has a line of many megabytes, line {line}; repair or remove it."
        )


def record_ends(block: bytes) -> NDArray[np.intp]:
    """Positions of the newlines that end a record, i.e. are not inside quotation marks."""
    data = np.frombuffer(block, dtype=np.uint8)
    found = data == NEWLINE
    if b'"' in block:
        found &= _outside(data)
    return np.flatnonzero(found)


def count_cells(
    block: bytes, separator: str
) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.intp]]:
    """Number of cells in each record, which records are blank, and where each ends."""
    data = np.frombuffer(block, dtype=np.uint8)
    ends = data == NEWLINE
    marks = data == ord(separator)
    if b'"' in block:
        outside = _outside(data)
        ends &= outside
        marks &= outside
    stops = np.flatnonzero(ends)
    starts = np.concatenate([[0], stops[:-1] + 1]).astype(np.intp)
    lengths = stops - starts
    blank = (lengths == 0) | ((lengths == 1) & (data[np.minimum(starts, len(data) - 1)] == RETURN))
    cells = np.diff(np.searchsorted(np.flatnonzero(marks), stops), prepend=0) + 1
    return cells.astype(np.intp), blank, stops


def without_open_quotes(data: bytes) -> bytes:
    """`data` with `GARBAGE` for every line with a quotation mark that nothing closes in it."""
    if b'"' not in data:
        return data
    lines = data.split(b"\n")
    return b"\n".join(GARBAGE if line.count(b'"') % 2 else line for line in lines)


def collapse_blanks(block: bytes) -> bytes:
    """`block` with runs of blanks as one blank, none at the ends of a line."""
    return re.sub(rb"(?m)^ +| +(?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", block))


def _outside(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which bytes are outside quotation marks."""
    opened = np.cumsum(data == QUOTE, dtype=np.uint8)
    inside: NDArray[np.bool_] = (opened & 1).astype(np.bool_)
    return ~inside


def _last_end(data: bytes) -> int:
    """Where the last whole record of `data` ends; 0 if there is none."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    ends = record_ends(data)
    return int(ends[-1]) + 1 if len(ends) else 0


def _utf16(start: bytes) -> str | None:
    """The UTF-16 variant of a file that begins with `start`; None if it is something else."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16-le" if start.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    even, odd = start[0::2], start[1::2]
    if len(start) >= 4 and odd.count(0) > 0.9 * len(odd) and 0 not in even:
        return "utf-16-le"
    if len(start) >= 4 and even.count(0) > 0.9 * len(even) and 0 not in odd:
        return "utf-16-be"
    return None
