"""`Courier`: brings events from the store to one sink, in a thread of its own.

The store is the queue: what could not be delivered stays there, also over restarts, and goes out in
order as soon as the sink takes it. So a slow or absent receiver holds up nobody and loses nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from causewatch.errors import CausewatchError
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.sink import DeliveryError, Sink, Status
from causewatch.streaming.store.base import Store

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
    store
        Where from.
    backoff
        How long to wait after a failure.

    Attributes
    ----------
    errors
        Failed deliveries so far.
    trouble
        Why the last one failed; empty when all is well.
    """

    def __init__(self, sink: Sink, store: Store, backoff: Backoff | None = None) -> None:
        self.sink = sink
        self._store = store
        self._backoff = backoff or Backoff()
        self.errors = 0
        self.trouble = ""
        self._sent = 0
        self._news = threading.Event()
        self._ending = threading.Event()
        self._idle = threading.Event()  # everything so far is delivered
        self._status: Status | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Open the sink and begin; a sink that is new here gets what happens from now on."""
        known, last = self._store.delivered(self.sink.name), self._store.last
        if known is None:
            known = (last, None)
            self._store.deliver(self.sink.name, *known)
        self._sent, mark = known
        self.sink.open(mark)
        self._thread = threading.Thread(target=self._run, name=f"to {self.sink.name}", daemon=True)
        self._thread.start()

    def tell(self, status: Status | None = None) -> None:
        """There are new events in the store, or the watch stands differently."""
        if status is not None:
            self._status = status
        self._idle.clear()
        self._news.set()

    @property
    def waiting(self) -> int:
        """Events that are not delivered yet; known without a look at the store."""
        return max(0, self._store.newest - self._sent)

    def finish(self, patience: float) -> None:
        """Deliver what is left, within `patience` seconds."""
        if self._thread is not None:
            self.tell()
            # Whoever was away until now will hardly be back within seconds.
            self._idle.wait(min(patience, HOPELESS) if self.trouble else patience)

    def hurry(self) -> None:
        """Do not begin anything new."""
        self._ending.set()
        self._news.set()

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
                self._news.wait(IDLE)
                self._news.clear()
                pause = self._deliver()
                if pause:
                    self._ending.wait(pause)
                    self._news.set()
        finally:
            self.sink.close()

    def _deliver(self) -> float:
        """Bring all there is; gives seconds to wait before the next try, 0 if all went well."""
        try:
            if self._status is not None:
                status, self._status = self._status, None
                self.sink.look(status)
            while not self._ending.is_set():
                notices = self._store.notices(self._sent, BATCH)
                if not notices:
                    break
                try:
                    mark = self.sink.send(notices)
                except DeliveryError as error:
                    if error.sent:
                        self._remember(notices[error.sent - 1].number, None)
                    raise
                self._remember(notices[-1].number, mark)
        except CausewatchError as error:
            return self._failed(str(error))
        except Exception as error:
            # A sink of whatever make must not end the watching, nor be silent about it.
            log.exception("Unexpected trouble with %s", self.sink.name)
            return self._failed(f"{self.sink.name} failed ({type(error).__name__}: {error}).")
        if self.trouble:
            log.info("%s takes events again.", self.sink.name)
        self.trouble = ""
        self._backoff.reset()
        if not self._news.is_set():
            self._idle.set()
        return 0.0

    def _remember(self, number: int, mark: object) -> None:
        self._store.deliver(self.sink.name, number, mark)
        self._sent = number

    def _failed(self, reason: str) -> float:
        self.errors += 1
        if not self.trouble:
            log.warning("%s Trying again.", reason)
        self.trouble = reason
        self._idle.clear()
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
