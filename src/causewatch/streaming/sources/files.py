"""Files, files that grow, folders and standard input as sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from causewatch.data import Clock
from causewatch.data.raw import file_name
from causewatch.errors import SettingError
from causewatch.streaming.source import Batch, Guarantee, Source, Wanted, nothing
from causewatch.streaming.sources.folder import FolderSource
from causewatch.streaming.sources.lines import StdinText
from causewatch.streaming.sources.readers import LOOK, LineReader, Reader, open_reader

__all__ = ["FileSource", "open_file_source"]

STDIN = "standard input"


class FileSource:
    """A file, or standard input, as a `Source`.

    Parameters
    ----------
    source
        Path of a file, or ``-`` for standard input.
    wanted
        What the watch wants.
    follow
        Whether to wait for more at the end of a text file, which may be rotated meanwhile.
    now, sleep
        The time in seconds, and how to let it pass.
    """

    def __init__(
        self,
        source: str,
        wanted: Wanted,
        *,
        follow: bool = False,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if source == "-" and follow:
            msg = "Standard input is followed anyway; --follow is for files."
            raise SettingError(msg)
        self._path = None if source == "-" else Path(source)
        self._wanted = wanted
        self._follow = follow
        self._now, self._sleep = now, sleep
        self._reader: Reader | None = None
        self.name = STDIN if self._path is None else file_name(self._path)
        self.guarantee: Guarantee = "lost" if self._path is None else "replayed"

    @property
    def clock(self) -> Clock | None:
        """See `Source`."""
        return None if self._reader is None else self._reader.clock

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Source`."""
        return () if self._reader is None else self._reader.missing

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        return {} if self._reader is None else self._reader.problems

    @property
    def dropped(self) -> int:
        """Rows left out so far."""
        return getattr(self._reader, "dropped", 0)

    @property
    def ended(self) -> bool:
        """See `Source`."""
        return self._reader is not None and self._reader.ended

    @property
    def status(self) -> str:
        """See `Source`."""
        if self._reader is None:
            return "not open"
        if self._reader.ended:
            return "ended"
        return "waiting for more" if self._reader.idle else "reading"

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`.

        If there is another file under this name now, it is read from its beginning.
        """
        self.close()
        after = after if after.get("name") == self.name else {}
        if self._path is None:
            self._reader = LineReader(StdinText(), STDIN, self._wanted, after)
        else:
            self._reader = open_reader(self._path, self._wanted, after, follow=self._follow)

    def poll(self, wait: float) -> Batch:
        """See `Source`.

        Text of which nothing could be said when it was opened (standard input, a file that was
        empty) raises here if its first lines have nothing to do with the model.
        """
        reader, until = self._reader, self._now() + wait
        if reader is None:
            return nothing(len(self._wanted.columns))
        while True:
            batch = reader.read(max(0.0, until - self._now()))
            left = until - self._now()
            if len(batch) or reader.ended or left <= 0:
                return batch
            if reader.idle:
                self._sleep(min(left, LOOK))

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        return {} if self._reader is None else self._reader.position()

    def committed(self) -> None:
        """See `Source`; a file needs no acknowledgement."""

    def close(self) -> None:
        """See `Source`."""
        if self._reader is not None:
            self._reader.close()


def open_file_source(source: str, wanted: Wanted, *, follow: bool = False) -> Source:
    """Rows of a file, of a folder of files, or of standard input if `source` is ``-``.

    Parameters
    ----------
    source
        Path or ``-``.
    wanted
        What the watch wants.
    follow
        Whether to wait for more: at the end of a text file, and for further files in a folder.
    """
    if source != "-" and Path(source).is_dir():
        return FolderSource(Path(source), wanted, follow=follow)
    return FileSource(source, wanted, follow=follow)
