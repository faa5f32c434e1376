"""`Courier`: brings events from the store to one sink, in a thread of its own.

The store is the queue: what could not be delivered stays there, also over restarts, and goes out in
order as soon as the sink takes it. So a slow or absent receiver holds up nobody and loses nothing.
While the store takes nothing, events come from memory (`causewatch.streaming.outbox`).
Only a store in memory keeps no more than so much for it; what went is counted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from causewatch.errors import CausewatchError
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.outbox import Outbox
from causewatch.streaming.sink import DeliveryError, Notice, Sink, Status

__all__ = ["Courier", "stop_all"]

log = logging.getLogger(__name__)

IDLE = 1.0
"""Seconds after which the store is looked at even if nobody said that there is something new."""
HOPELESS = 0.5
"""Seconds to wait at the end for a sink that is away."""
CLOSING = 3.0
"""Seconds that sinks have to close."""
BATCH = 64
"""Events handed over at once."""


class Courier:
    """One sink, and how far it has got.

    Parameters
    ----------
    sink
        Where to.
    outbox
        Where from.
    backoff
        How long to wait after a failure.

    Attributes
    ----------
    errors
        Failed deliveries so far.
    trouble
        Why the last one failed; empty when something was delivered since.
    """

    def __init__(self, sink: Sink, outbox: Outbox, backoff: Backoff | None = None) -> None:
        self.sink = sink
        self._outbox = outbox
        self._backoff = backoff or Backoff()
        self.errors = 0
        self.trouble = ""
        self._changed = threading.Condition()  # guards what stands from here to the next blank line
        self._sent = 0  # number of the last event that is done with
        self._passed = 0  # events before it that were gone when their turn came
        self._ahead = 0  # events after it that are known to be gone
        self._news = False  # whether there may be something that was not looked at
        self._idle = False  # whether everything so far is delivered
        self._read: Notice | None = None  # the bulletin that the sink has got
        self._status: Status | None = None

        self._complained = False  # whether trouble was said, and not yet that it is over
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Open the sink and begin; a sink that is new here gets what happens from now on."""
        known, last = self._outbox.delivered(self.sink.name), self._outbox.last
        if known is None:
            known = (last, None)
            self._outbox.deliver(self.sink.name, *known)
        self._sent, mark = known
        self.sink.open(mark)
        self._thread = threading.Thread(target=self._run, name=f"to {self.sink.name}", daemon=True)
        self._thread.start()

    def tell(self, status: Status | None = None) -> None:
        """There are new events in the store, or the watch stands differently."""
        with self._changed:
            if status is not None:
                self._status = status
            self._idle, self._news = False, True
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """Events that are not delivered yet; known without a look at the store."""
        with self._changed:
            return max(0, self._outbox.newest - self._sent - self._ahead)

    @property
    def forgotten(self) -> int:
        """Events that the store no longer had when they could be delivered."""
        with self._changed:
            return self._passed + self._ahead

    @property
    def problems(self) -> dict[str, int]:
        """What the sink has not got, or not whole, and never will: counted by kind."""
        return {**getattr(self.sink, "problems", {}), "forgotten": self.forgotten}

    def finish(self, patience: float) -> None:
        """Deliver what is left, within `patience` seconds."""
        if self._thread is None:
            return
        self.tell()
        end = time.monotonic() + patience
        with self._changed:
            if self.trouble:
                # Whoever was away until now will hardly be back within seconds.
                hopeless = min(patience, HOPELESS)
                self._changed.wait_for(lambda: self._idle or not self.trouble, hopeless)
            if not self.trouble:
                self._changed.wait_for(lambda: self._idle, max(0.0, end - time.monotonic()))

    def hurry(self) -> None:
        """Do not begin anything new."""
        self._ending.set()
        with self._changed:
            self._changed.notify_all()

    def stop(self, patience: float) -> None:
        """Close the sink, within `patience` seconds."""
        self.hurry()
        if self._thread is None:
            self.sink.close()
            return
        self._thread.join(patience)
        if self.waiting:
            log.warning(
                "%s not delivered to %s; with --state they are sent by the next run.",
                "1 event is" if self.waiting == 1 else f"{self.waiting} events are",
                self.sink.name,
            )

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                with self._changed:
                    self._changed.wait_for(lambda: self._news or self._ending.is_set(), IDLE)
                    self._news = False
                pause = self._deliver()
                if pause:
                    self._ending.wait(pause)
                    with self._changed:
                        self._news = True
        finally:
            self.sink.close()

    def _deliver(self) -> float:
        """Bring all there is; gives seconds to wait before the next try, 0 if all went well."""
        try:
            self._look()
            while not self._ending.is_set() and self._bring():
                self._look()
        except CausewatchError as error:
            return self._failed(str(error))
        except Exception as error:
            # A sink of whatever make must not end the watching, nor be silent about it.
            log.exception("Unexpected trouble with %s", self.sink.name)
            return self._failed(f"{self.sink.name} failed ({type(error).__name__}: {error}).")
        self._works()
        if self._complained:
            self._complained = False
            log.info("%s takes events again.", self.sink.name)
        with self._changed:
            # Whoever tells of something new while this is said is not overheard.
            self._idle = not self._news
            self._changed.notify_all()
        return 0.0

    def _look(self) -> None:
        """Let the sink see how the watch stands, if that is new."""
        with self._changed:
            status, self._status = self._status, None
        if status is not None:
            self.sink.look(status)

    def _bring(self) -> bool:
        """Bring some events; gives whether there were any. Raises if the sink took none of them."""
        bulletin = self._outbox.bulletin
        if bulletin is not None and bulletin is not self._read:
            self.sink.send([bulletin])
            self._read = bulletin
        notices = self._outbox.notices(self._sent, BATCH)
        if not notices:
            return False
        self._look_for_gaps(notices)
        try:
            mark = self.sink.send(notices)
        except DeliveryError as error:
            if error.sent <= 0:
                raise
            # Slow, but at work: the rest goes at once.
            self._remember(notices[: error.sent], None)
        else:
            self._remember(notices, mark)
        self._works()
        return True

    def _look_for_gaps(self, notices: Sequence[Notice]) -> None:
        """Count the events before the last of these that are no longer there."""
        gone = notices[-1].number - self._sent - len(notices)
        if gone > self._ahead:
            log.warning(
                "%s forgotten before %s could take %s.",
                "1 event was" if gone == 1 else f"{gone:,} events were",
                self.sink.name,
                "it" if gone == 1 else "them",
            )
        with self._changed:
            self._ahead = gone

    def _remember(self, notices: Sequence[Notice], mark: object) -> None:
        """The sink has these."""
        number = notices[-1].number
        self._outbox.deliver(self.sink.name, number, mark)
        with self._changed:
            gone = number - self._sent - len(notices)
            self._passed += gone
            self._ahead -= gone
            self._sent = number

    def _works(self) -> None:
        """Something was delivered, or there was nothing to deliver."""
        self._backoff.reset()
        with self._changed:
            self.trouble = ""
            self._changed.notify_all()

    def _failed(self, reason: str) -> float:
        self.errors += 1
        if not self._complained:
            self._complained = True
            log.warning("%s Trying again.", reason)
        with self._changed:
            self.trouble = reason
            self._idle = False
        return self._backoff.next()


def stop_all(couriers: Sequence[Courier], patience: float) -> None:
    """Finish and stop several, with the patience shared among them."""
    end = time.monotonic() + patience
    for courier in couriers:
        courier.finish(max(0.0, end - time.monotonic()))
    for courier in couriers:
        courier.hurry()
    end = time.monotonic() + CLOSING
    for courier in couriers:
        courier.stop(max(0.1, end - time.monotonic()))
