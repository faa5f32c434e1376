"""`ScoreOutput`: the file of scores of a watch, which goes on while it cannot be written."""

from __future__ import annotations

import logging

from causewatch.data import Clock
from causewatch.errors import StreamError
from causewatch.monitor import Tick
from causewatch.streaming.scores import ScoreFile
from causewatch.streaming.store.base import Checkpoint

__all__ = ["ScoreOutput"]

log = logging.getLogger(__name__)


class ScoreOutput:
    """Scores, if any are wanted. What cannot be written waits, as far as there is room.

    Parameters
    ----------
    file
        Where to; None for nowhere.
    saved
        The state to go on from, which may know some of it.

    Attributes
    ----------
    trouble
        Why scores cannot be written, in a sentence; empty while they can.
    """

    def __init__(self, file: ScoreFile | None, saved: Checkpoint | None) -> None:
        self._file = file
        # Bytes of the file that belong to the state, if it knows it, and what comes behind them.
        self._kept = None if saved is None else saved.outputs.get(self.place)
        self._unwritten = "" if saved is None or self._kept is None else saved.unwritten
        self.trouble = ""

    @property
    def place(self) -> str:
        """What the file is called in a state."""
        return "" if self._file is None else str(self._file.path.absolute())

    @property
    def is_new(self) -> bool:
        """Whether a file is to be begun that the state does not know."""
        return self._file is not None and self._kept is None

    @property
    def lost(self) -> int:
        """Rows that could not be written, and had no room to wait either."""
        return 0 if self._file is None else self._file.lost

    @property
    def unwritten(self) -> str:
        """What waits."""
        if self._file is None or not self._file.begun:
            return self._unwritten
        return self._file.unwritten

    def begin(self, again: bool) -> None:
        """Begin the file, or go on with it; `again` as in `ScoreFile.begin`."""
        if self._file is not None:
            self._file.begin(self._kept, again, self._unwritten)

    def add(self, tick: Tick, clock: Clock) -> None:
        """One complete tick."""
        if self._file is not None:
            self._file.add(tick, clock)

    def flush(self) -> bool:
        """Write what waits; gives whether nothing waits any longer."""
        self._write(settle=False)
        return not self.trouble

    def settle(self) -> dict[str, int]:
        """Write what waits and see it on the disk; gives what a checkpoint says of the file."""
        return {} if self._file is None else {self.place: self._write(settle=True)}

    def _write(self, settle: bool) -> int:
        file = self._file
        if file is None or not file.begun:
            return self._kept or 0
        try:
            size = file.flush(settle)
        except StreamError as error:
            if not self.trouble:
                log.warning("%s Watching goes on; they are written as soon as that can be.", error)
            self.trouble = str(error)
            return file.settled()
        if self.trouble:
            log.warning("%s can be written to again.", file.path)
            self.trouble = ""
        return size

    def close(self, kept: bool) -> None:
        """Finish the file; what waits is not missed if a state has `kept` it."""
        if self._file is None:
            return
        try:
            self._file.close()
        except StreamError:
            if not (kept and self.trouble):
                raise
