"""`Outbox`: events on their way to the sinks, also while the store does not take them.

Events have the number that the store gives them, or will give them: it numbers them in the order in
which they come, and nobody else writes there. So what was told ahead of the store is not told
again, and after a kill rows that are read again lead to the same events with the same keys.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from causewatch.errors import StreamError
from causewatch.streaming.sink import Notice
from causewatch.streaming.store.base import Store

__all__ = ["MOST_BYTES", "MOST_EVENTS", "Outbox"]

MOST_EVENTS, MOST_BYTES = 10_000, 32 << 20
"""Events, and bytes of them, that may wait for the store."""


class Outbox:
    """What sinks are told. Safe to use from several threads.

    Parameters
    ----------
    store
        Where events are kept.

    Attributes
    ----------
    bulletin
        What sinks are told beside the events, as long as it holds: that these cannot be kept.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()  # guards what stands from here to the next blank line
        self._waiting: list[Mapping[str, Any]] = []  # events that the store does not have yet
        self._sizes: list[int] = []  # their bytes
        self._shown = 0  # how many of them may be told
        self._before = 0  # number of the last event before them
        self._marks: dict[str, tuple[int, Any]] = {}  # deliveries that the store does not know

        self._noting = threading.Lock()  # so that an older delivery is never noted after a newer
        self.bulletin: Notice | None = None

    # For the watch

    def add(self, events: Sequence[Mapping[str, Any]]) -> None:
        """More events; nobody is told of them before they are kept, or `show` says so."""
        with self._lock:
            if not self._waiting:
                self._before = self._store.newest
            self._waiting += events
            self._sizes += [len(json.dumps(event)) for event in events]

    def show(self) -> None:
        """Let sinks have what the store does not take."""
        with self._lock:
            self._shown = len(self._waiting)

    @property
    def waiting(self) -> list[Mapping[str, Any]]:
        """Events that the store does not have yet."""
        with self._lock:
            return list(self._waiting)

    @property
    def full(self) -> bool:
        """Whether no more events should wait."""
        with self._lock:
            return len(self._waiting) >= MOST_EVENTS or sum(self._sizes) >= MOST_BYTES

    def kept(self, count: int) -> None:
        """The store has the first of the events that wait; deliveries can be noted there."""
        with self._lock:
            del self._waiting[:count], self._sizes[:count]
            self._shown = max(0, self._shown - count)
            self._before += count
        with self._noting, suppress(StreamError):  # then with what is kept next
            for sink, (number, mark) in list(self._marks.items()):
                if number <= self._store.newest:
                    self._store.deliver(sink, number, mark)
                    del self._marks[sink]

    def announce(self, body: Mapping[str, Any]) -> None:
        """Tell sinks at once, beside the events."""
        self.bulletin = Notice(0, self._store.watch, body, self._store.series)

    # For couriers

    @property
    def last(self) -> int:
        """Number of the last event that is kept."""
        return self._store.last

    @property
    def newest(self) -> int:
        """Number of the last event that may be told."""
        with self._lock:
            return self._before + self._shown if self._shown else self._store.newest

    def notices(self, after: int, most: int = 256) -> list[Notice]:
        """Events after this number that may be told, oldest first."""
        with self._lock:
            first = after - self._before
            ahead = self._waiting[first : min(self._shown, first + most)] if first >= 0 else []
        if ahead:
            return [
                Notice(number, self._store.watch, body, self._store.series)
                for number, body in enumerate(ahead, after + 1)
            ]
        # Who has them all needs no look at a database, which may be locked.
        return self._store.notices(after, most) if after < self._store.newest else []

    def delivered(self, sink: str) -> tuple[int, Any] | None:
        """Number of the last event that a sink has got, and its mark; None if it is new here."""
        return self._store.delivered(sink)

    def deliver(self, sink: str, number: int, mark: Any = None) -> None:
        """Remember that; the store never holds a delivery of what it does not hold itself."""
        with self._noting:
            self._marks[sink] = (number, mark)
            if number <= self._store.newest:
                with suppress(StreamError):  # then it is noted with what is kept next
                    self._store.deliver(sink, number, mark)
                    del self._marks[sink]
