"""The text of a file that grows, and is replaced, cut or rotated while it does."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from causewatch.data.files import unreadable
from causewatch.data.raw import file_name
from causewatch.errors import SettingError, TableError
from causewatch.streaming.sources.file_text import Text
from causewatch.streaming.sources.lines import Lines

__all__ = ["FileText", "rotated"]

log = logging.getLogger(__name__)

PROOF = 2
"""Lines of a beginning that prove something: all files of one program have the same header."""


def rotated(path: Path) -> list[Path]:
    """Files that were `path` once, such as ``log.csv.1`` or ``log.csv-20260101.gz``, oldest first.

    Names may be numbered or dated, after the ending or before it. The time of the last change says
    which is older: programs that rename or compress keep it. Among equals, numbers count backwards.
    """
    name, stem, end = (re.escape(part) for part in (path.name, path.stem, path.suffix))
    mark = r"[-._][-._:TZ0-9]*?([0-9]+)[-._:TZ0-9]*"
    known = re.compile(rf"(?:{name}{mark}|{stem}{mark}{end})(?:\.gz)?")
    found = []
    try:
        with os.scandir(path.parent) as entries:
            for entry in entries:
                match = known.fullmatch(entry.name)
                if match is not None and entry.is_file():
                    number = int(match[1] or match[2])
                    found.append((entry.stat().st_mtime_ns, -number, Path(entry.path)))
    except OSError:
        pass  # one of them went away meanwhile; the next look will tell
    return [one for _, _, one in sorted(found)]


class FileText:
    """The text of a file.

    Parameters
    ----------
    path
        The file.
    follow
        Whether to wait for more at its end. A file that is replaced or cut is begun again, after
        the rest of the former one, also if that has another name by now (`rotated`).
    after
        Where an earlier run stopped: ``bytes``, ``inode``, and what `mark` gave.
    rotates
        Whether to look for such other names.

    Attributes
    ----------
    known
        Whether this goes on where the earlier run stopped.
    lost
        Whether it should, and what the earlier run had read is nowhere to be found.
    inode
        Number of the file as it was first seen; together with the head it is known again by it.
    damaged
        Files that could not be read to their end.
    """

    def __init__(
        self,
        path: Path,
        follow: bool = False,
        after: Mapping[str, Any] | None = None,
        *,
        rotates: bool = True,
    ) -> None:
        self._path = path
        self.endless = follow
        self.files = 1
        self.damaged = 0
        self.known = self.lost = False
        self.inode: int | None = None
        self._rotates = follow and rotates
        self._broken = False
        self._one = self._find(after or {})
        if follow and self._one.path == path and not self._one.grows:
            self.close()
            msg = (
                f"{file_name(path)!r} is compressed or UTF-16 and cannot be followed while it"
                " grows; watch it without --follow."
            )
            raise SettingError(msg)

    def _find(self, after: Mapping[str, Any]) -> Text:
        """The file an earlier run stopped in; the one at the path if that is not found."""
        size, inode = int(after.get("bytes", 0)), after.get("inode")
        if "head" in after:
            there = [self._path, *reversed(self._older())]
            # Names change, the number of a file stays, unless it is copied.
            for path in sorted(there, key=lambda one: _inode(one) != inode):
                sure = path == self._path or _inode(path) == inode
                text = _opened(path, size, after, 0 if sure else PROOF)
                if text is not None:
                    self.known = True
                    self.inode = text.inode if inode is None else inode
                    return text
            self.lost = self.endless
        text = Text(self._path)
        self.inode = text.inode
        return text

    def _older(self) -> list[Path]:
        return rotated(self._path) if self._rotates else []

    @property
    def at(self) -> int:
        """Bytes of text of the present file given out so far."""
        return self._one.at

    def mark(self) -> dict[str, Any]:
        """See `Text.mark`; of the file that is read: at its path there may be another by now."""
        return self._one.mark() | {"inode": self.inode}

    def sample(self, size: int) -> bytes:
        """The beginning of the present file: about `size` bytes, whole lines."""
        at = self._one.at
        self._one.rewind()
        lines, data = Lines(self._one), b""
        while not lines.ended and len(data) < size:
            data += lines.read()
        self._one.rewind()
        self._one.skip(at)
        if self.endless and lines.unfinished:  # somebody is still writing the last line
            data = data[: data.rfind(b"\n", 0, -1) + 1]
        return data

    def read(self, wait: float = 0.0) -> bytes | None:
        """See `Incoming`; never waits."""
        if self.endless and self._one.is_cut():
            self._find_rest()
        data = self._read()
        if data or not self.endless:
            return data
        following = self._following()
        if following is None:
            return None
        data = self._read()  # what was added before it was replaced
        if not data:
            self._go_to(*following)
        return data or None

    def _read(self) -> bytes:
        if self._broken:
            return b""
        try:
            return self._one.read()
        except TableError as error:
            log.warning("%s", error)
        except OSError as error:
            log.warning("%s", unreadable(file_name(self._one.path), error))
        self._broken = True
        self.damaged += 1
        return b""

    def _find_rest(self) -> None:
        """The file was cut: what was not yet read of it is in its copy, if there is one."""
        one = self._one
        for path in reversed(self._older()):
            text = _opened(path, one.at, one.mark(), PROOF)
            if text is not None:
                log.info("%s was cut; its rest is in %s.", self._path.name, path.name)
                self._use(text)
                self.inode = text.inode
                return
        one.rewind()
        self.inode = one.inode
        self.files += 1

    def _following(self) -> tuple[Path, bool] | None:
        """The file to read after the present one; None as long as that may still grow.

        Also whether the present one is still there under another name.
        """
        one, there = self._one, False
        with suppress(OSError):  # between two files
            now = os.stat(self._path)
            if now.st_ino == one.inode:
                return None
            there = now.st_size > 0  # an empty file may be there long before it is written to
        older = self._older()
        mine = [k for k, path in enumerate(older) if _inode(path) == one.inode]
        if there and not mine:  # compressed or copied meanwhile, perhaps
            mine = [k for k, path in enumerate(older) if _is(path, one.at, one.mark())]
        later = older[mine[-1] + 1 :] if mine else []
        if there:
            later.append(self._path)
        return (later[0], bool(mine)) if later else None

    def _go_to(self, path: Path, renamed: bool) -> None:
        """Read on in another file."""
        one = self._one
        text = None if renamed else _opened(path, one.at, one.mark(), PROOF)
        if text is not None:  # the same text, written anew with more in it, as some programs do
            self._use(text)
            return
        try:
            text = Text(path)
        except TableError:  # away again; the next look will tell
            return
        log.info("%s goes on in a new file.", self._path.name)
        self._use(text)
        self.inode = text.inode
        self.files += 1

    def _use(self, text: Text) -> None:
        self._one.close()
        self._one, self._broken = text, False

    def close(self) -> None:
        """See `Incoming`."""
        self._one.close()


def _opened(path: Path, size: int, mark: Mapping[str, Any], lines: int) -> Text | None:
    """A file after `size` bytes of its text, if it begins as told."""
    text = None
    try:
        text = Text(path)
        if text.goes_on(size, mark, lines):
            return text
    except (TableError, OSError):
        pass
    if text is not None:
        text.close()
    return None


def _is(path: Path, size: int, mark: Mapping[str, Any]) -> bool:
    text = _opened(path, size, mark, PROOF)
    if text is not None:
        text.close()
    return text is not None


def _inode(path: Path) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None
