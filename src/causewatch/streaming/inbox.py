"""`Inbox`: a bounded queue between a connector's own thread and the watch."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Inbox"]

T = TypeVar("T")

MOST_BYTES = 1 << 27
"""Of all items that wait, however few they are."""


class Inbox(Generic[T]):
    """What has come in and was not yet taken.

    A connector that can make the plant wait asks for `room` before it reads on; one that cannot
    uses `offer`. Either way it shows that the watch is slower than the plant.

    Parameters
    ----------
    most
        Items that may wait.
    spare
        Further ones that `put` takes without waiting, for a connector that has asked for room.
    size
        Bytes of an item, of which there may be `MOST_BYTES` and one item over all.

    Attributes
    ----------
    turned_away
        Items that `offer` had to leave out.
    waits
        How often somebody had to wait because the watch was slower than the plant.
    """

    def __init__(
        self, most: int, *, spare: int = 0, size: Callable[[T], int] = lambda item: 0
    ) -> None:
        self._most, self._spare, self._size = most, spare, size
        self._items: deque[T] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._closed = False
        self._held_up = False  # whether somebody waits
        self.turned_away = 0
        self.waits = 0

    def __len__(self) -> int:
        return len(self._items)

    def room(self) -> int:
        """For how many more items there is room; if for none, whoever asks is held up."""
        with self._changed:
            room = self._room()
            if not room:
                self._hold_up()
            return room

    def hold_up(self) -> None:
        """Note that somebody waits for the watch; once until something is taken again."""
        with self._changed:
            self._hold_up()

    def put(self, item: T) -> bool:
        """Add an item, waiting while the inbox is full; False if it was closed meanwhile."""
        with self._changed:
            while len(self._items) >= self._most + self._spare and not self._closed:
                self._hold_up()
                self._changed.wait()
            if not self._closed:
                self._add(item)
            return not self._closed

    def offer(self, item: T) -> bool:
        """Add an item; one that finds the inbox full is left out and counted."""
        with self._changed:
            if self._closed:
                return False
            if not self._room():
                self.turned_away += 1
                return False
            self._add(item)
            return True

    def take(self, wait: float, most: int = 4096) -> list[T]:
        """The oldest items, at most `most`; waits for the first one at most `wait` seconds."""
        until = time.monotonic() + wait
        with self._changed:
            while not self._items and not self._closed:
                left = until - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            taken = [self._items.popleft() for _ in range(min(most, len(self._items)))]
            if taken:
                self._bytes -= sum(map(self._size, taken))
                self._held_up = False
                self._changed.notify_all()
            return taken

    def clear(self) -> None:
        """Forget what waits."""
        with self._changed:
            self._items.clear()
            self._bytes = 0
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody wait any longer; what is inside can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _room(self) -> int:
        return max(0, self._most - len(self._items)) if self._bytes < MOST_BYTES else 0

    def _hold_up(self) -> None:
        if not self._held_up:
            self._held_up = True
            self.waits += 1

    def _add(self, item: T) -> None:
        self._items.append(item)
        self._bytes += self._size(item)
        self._changed.notify_all()
