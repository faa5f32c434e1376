"""`Keeper`: writes checkpoints and events to the store while the watch goes on.

Each write has a thread of its own, and there is one at a time. The watch waits for it, but only for
`PATIENCE`: where a disk is full, a database locked or a server away, it goes on judging, sinks are
told what cannot be kept yet, and all of it is written as soon as that can be.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from typing import Any

from causewatch.errors import StreamError
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.outbox import Outbox
from causewatch.streaming.store.base import Asked, Checkpoint, Retention, Store

__all__ = ["GOES_ON", "Keeper"]

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds for which the watch waits for a write; most take milliseconds."""
LATE = 5.0
"""Seconds after which a write that has not ended is trouble."""
LONGEST = 3.0
"""Seconds between two tries at most."""
GOES_ON = "Watching goes on; it is kept as soon as that can be."
"""What a watch does while its store takes nothing."""
FORGET_PARTS = 20
"""Parts in which history is forgotten at a time; the rest waits for the next time."""


class Keeper:
    """Keeps what a watch must not forget. For one thread.

    Parameters
    ----------
    store
        Where.
    outbox
        The events.
    now
        The time in seconds, any that never goes back.

    Attributes
    ----------
    trouble
        Why the store takes nothing, in a sentence; empty while it does.
    meanwhile
        What the watch does while it takes nothing, in a sentence.
    """

    def __init__(
        self, store: Store, outbox: Outbox, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._outbox = outbox
        self._now = now
        self._backoff = Backoff(longest=LONGEST)
        self._job: Future[Callable[[], bool]] | None = None
        self._began = self._again_at = now()
        self._due = False
        self._answers: dict[int, Mapping[str, Any]] = {}
        self.trouble = ""
        self.meanwhile = GOES_ON
        self._asked: list[Asked] = []

    @property
    def waiting(self) -> int:
        """Events that wait to be kept."""
        return len(self._outbox.waiting)

    @property
    def due(self) -> bool:
        """Whether it is time to save, because it did not work before."""
        self.look()
        return self._due and self._job is None and self._now() >= self._again_at

    def answer(self, answers: Mapping[int, Mapping[str, Any]]) -> None:
        """What people asked for has been done; they are told with the next save."""
        self._answers |= answers

    def save(self, checkpoint: Callable[[], Checkpoint] | None, *, at_once: bool = False) -> bool:
        """Write all there is, in one transaction; gives whether everything up to now is kept.

        Parameters
        ----------
        checkpoint
            Makes one that holds everything up to now; None for a watch that keeps no state.
        at_once
            Whether to try although it has just failed.
        """
        self._wait()
        if self._job is not None or (self._now() < self._again_at and not at_once):
            return False
        events, answers = self._outbox.waiting, dict(self._answers)
        made = None if checkpoint is None else checkpoint()
        if made is None and not events and not answers:
            return True

        def work() -> Callable[[], bool]:
            self._store.save(made, events, answers or None)
            self._outbox.kept(len(events))
            return lambda: self._saved(answers)

        self._begin(work)
        return self._wait()

    def ask(self) -> None:
        """Look for what people ask; `take_asked` gives it."""

        def work() -> Callable[[], bool]:
            asked = self._store.asked()
            return lambda: self._has_asked(asked)

        # What is done and not yet answered would be found there again.
        if self._idle():
            self._begin(work)
            self._wait()

    def take_asked(self) -> list[Asked]:
        """What people have asked for; it is to be answered."""
        asked, self._asked = self._asked, []
        return asked

    def forget(self, retention: Retention, now: float, sinks: Collection[str]) -> bool:
        """Forget what is too old and none of these sinks waits for; False if that is for later."""

        def work() -> Callable[[], bool]:
            self._store.expect(sinks)
            for _ in range(FORGET_PARTS):
                if not self._store.forget(retention, now):
                    break
            return lambda: False

        idle = self._idle()
        if idle:
            self._begin(work)
            self._wait()
        return idle

    def look(self) -> bool:
        """Take note of a write that has ended; gives whether it was a save that worked."""
        job = self._job
        if job is None:
            return False
        if not job.done():
            if self._now() - self._began > LATE:
                self._trouble(f"{self._store.name} has not answered for more than {LATE:g} s.")
            return False
        self._job = None
        try:
            end = job.result()
        except StreamError as error:
            self._trouble(str(error))
            self._again_at = self._now() + self._backoff.next()
            return False
        return end()

    def _idle(self) -> bool:
        self.look()
        return not (self._job or self.trouble or self._answers or self._asked)

    def _begin(self, work: Callable[[], Callable[[], bool]]) -> None:
        job: Future[Callable[[], bool]] = Future()

        def run() -> None:
            try:
                job.set_result(work())
            except BaseException as error:
                job.set_exception(error)

        self._job, self._began = job, self._now()
        threading.Thread(target=run, name="to the store", daemon=True).start()

    def _wait(self) -> bool:
        """See `look`; waits a moment for what may soon have ended."""
        if self._job is not None and not self.trouble:
            wait([self._job], PATIENCE)
        return self.look()

    def _saved(self, answers: Mapping[int, Mapping[str, Any]]) -> bool:
        for number in answers:
            del self._answers[number]
        if self.trouble:
            log.warning("%s can be written to again.", self._store.name)
        self.trouble = ""
        self._backoff.reset()
        self._again_at, self._due = self._now(), False
        return True

    def _has_asked(self, asked: list[Asked]) -> bool:
        self._asked = asked
        return False

    def _trouble(self, reason: str) -> None:
        if not self.trouble:
            log.warning("%s %s", reason, self.meanwhile)
        self.trouble, self._due = reason, True
