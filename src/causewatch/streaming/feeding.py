"""From a source into a monitor."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from causewatch.data import format_time
from causewatch.monitor import Monitor, Tick
from causewatch.streaming.source import Batch, Source

__all__ = ["take", "ticks_of"]

WAIT = 0.2
"""Seconds to wait for rows at a time."""


def take(
    monitor: Monitor,
    source: Source,
    batch: Batch,
    came: Callable[[int], None] = lambda rows: None,
) -> Iterator[Tick]:
    """Give a batch to the monitor, row by row; gives the ticks that this completes.

    Before each of them, and at the end, `came` is told how many rows have been taken since it was
    told last.

    Where the model counts rows and the source has not done so, the monitor numbers them, whatever
    their times. Its state holds the last number, and is saved together with the position of the
    source: so rows that come again after a kill get the numbers that they had.
    """
    before = 0
    if len(batch.times):
        clock = source.clock
        if clock is not None:
            monitor.use_clock(clock)
        number = monitor.model.clock == "rows" and clock != "rows"
        # Given with the first row, for the monitor to say once that dates are not used.
        date = format_time(int(batch.times[0]), clock) if clock in ("utc", "naive") else None
        rows = zip(batch.values, batch.times.tolist(), strict=True)
        for taken, (row, when) in enumerate(rows, 1):
            if number:
                tick = monitor.update(row, date)
                date = None
            else:
                tick = monitor.update_ns(row, when)
            if tick.complete:
                came(taken - before)
                before = taken
                yield from tick.all
    for taken, (values, time) in enumerate(batch.named, len(batch.times) + 1):
        tick = monitor.update(values, time)
        if tick.complete:
            came(taken - before)
            before = taken
            yield from tick.all
    came(len(batch) - before)


def ticks_of(monitor: Monitor, source: Source) -> Iterator[Tick]:
    """Every tick of a source that is open, to its end."""
    while not source.ended:
        yield from take(monitor, source, source.poll(WAIT))
    tick = monitor.flush()
    if tick.complete:
        yield from tick.all
