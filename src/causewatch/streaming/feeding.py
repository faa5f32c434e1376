"""From a source into a monitor."""

from __future__ import annotations

from collections.abc import Iterator

from causewatch.monitor import Monitor, Tick
from causewatch.streaming.source import Batch, Source

__all__ = ["take", "ticks_of"]

WAIT = 0.2
"""Seconds to wait for rows at a time."""


def take(monitor: Monitor, source: Source, batch: Batch) -> Iterator[Tick]:
    """Give a batch to the monitor, row by row; gives the ticks that this completes."""
    if len(batch.times):
        if source.clock is not None:
            monitor.use_clock(source.clock)
        for row, when in zip(batch.values, batch.times.tolist(), strict=True):
            tick = monitor.update_ns(row, when)
            if tick.complete:
                yield from tick.all
    for values, time in batch.named:
        tick = monitor.update(values, time)
        if tick.complete:
            yield from tick.all


def ticks_of(monitor: Monitor, source: Source) -> Iterator[Tick]:
    """Every tick of a source that is open, to its end."""
    while not source.ended:
        yield from take(monitor, source, source.poll(WAIT))
    tick = monitor.flush()
    if tick.complete:
        yield from tick.all
