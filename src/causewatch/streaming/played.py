"""`PlayedSource`: a recording as if it happened now, or faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from causewatch.data import Clock
from causewatch.streaming.source import Batch, Guarantee, Source, nothing

__all__ = ["PlayedSource"]

PICTURE = 0.1
"""Seconds between two batches of a recording that is played at a given speed."""
MOST_ROWS = 600
"""Rows of a batch at most, so that there is something to see in between."""


class PlayedSource:
    """A recording in small batches, at a given speed.

    Rows that it holds back do not count as given out: its position is that of the source before
    they were taken from there, and how many of them were given out since.

    Parameters
    ----------
    source
        Where the rows come from.
    interval
        Seconds between two rows.
    speed
        How many times faster than time they are played; 0 for as fast as possible.
    now, sleep
        The time in seconds, and how to wait.
    """

    def __init__(
        self,
        source: Source,
        interval: float,
        speed: float,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._source = source
        self._interval = interval
        self._speed = speed
        self._size = MOST_ROWS
        if speed > 0:
            self._size = min(MOST_ROWS, max(1, round(speed * PICTURE / interval)))
        self._now, self._sleep = now, sleep
        self._started: float | None = None
        self._rows = 0
        self._left = nothing(0)  # rows taken from the source and not given out, …
        self._before: dict[str, Any] = {}  # … where it stood before them, …
        self._given = 0  # … and how many were given out since
        self._skip = 0  # rows that an earlier run has given out
        self._closed = False

    @property
    def name(self) -> str:
        """See `Source`."""
        return self._source.name

    @property
    def status(self) -> str:
        """See `Source`."""
        return self._source.status

    @property
    def guarantee(self) -> Guarantee:
        """See `Source`."""
        return self._source.guarantee

    @property
    def clock(self) -> Clock | None:
        """See `Source`."""
        return self._source.clock

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Source`."""
        return self._source.missing

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        return self._source.problems

    @property
    def dropped(self) -> int:
        """Rows left out so far."""
        return getattr(self._source, "dropped", 0)

    @property
    def ended(self) -> bool:
        """See `Source`."""
        return self._closed or (self._source.ended and not len(self._left))

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`."""
        self._source.open(after.get("source", {}))
        self._skip = int(after.get("given", 0))

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        if len(self._left):
            return {"source": self._before, "given": self._given}
        return {"source": self._source.position(), "given": self._skip}

    def committed(self) -> None:
        """See `Source`; the rows that are held back are in no checkpoint as yet."""
        if not len(self._left):
            self._source.committed()

    def close(self) -> None:
        """See `Source`."""
        self._closed = True
        self._source.close()

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        if self._started is None:
            self._started = self._now()
        if not len(self._left):
            self._take(wait)
        none = nothing(self._left.values.shape[1])
        if self._closed:
            return none
        if self._speed > 0 and len(self._left):
            # At once for the first rows, then each batch when the last row before it is over.
            due = self._started + self._rows * self._interval / self._speed - self._now()
            if due > wait:
                self._sleep(wait)
                return none
            self._sleep(max(0.0, due))
        batch, self._left = _cut(self._left, self._size)
        self._rows += len(batch)
        self._given += len(batch)
        return batch

    def _take(self, wait: float) -> None:
        """Take rows from the source, without those that an earlier run has given out."""
        self._before = self._source.position()
        old, self._left = _cut(self._source.poll(wait), self._skip)
        self._given = len(old)
        self._skip -= len(old)


def _cut(batch: Batch, rows: int) -> tuple[Batch, Batch]:
    """The first rows of a batch, and the others."""
    named = max(0, rows - len(batch.times))
    return (
        Batch(batch.values[:rows], batch.times[:rows], batch.named[:named]),
        Batch(batch.values[rows:], batch.times[rows:], batch.named[named:]),
    )
