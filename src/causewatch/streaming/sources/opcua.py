"""`OpcuaSource`: rows from the variables of an OPC UA server, by subscription.

A server sends values when they change. Rows are made of them by
`causewatch.streaming.assembly.RowAssembler`: a value counts until the next one comes, for as long
as the connection lives. So that a plant in which nothing changes still gives rows, the server's own
time moves them on: every message has it, also the empty ones that only say that the server is
alive. `causewatch.streaming.sources.opcua_values.PlantClock` makes the plant's time of it.

When a connection is lost, rows end with the last message. They begin anew with the values as they
stand when the next subscription is made; between the two is a gap, for the monitor to see.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from causewatch.data import Clock
from causewatch.errors import SettingError
from causewatch.extras import needed
from causewatch.streaming.address import Address, options_of
from causewatch.streaming.assembly import RowAssembler
from causewatch.streaming.background import BackgroundLoop
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.inbox import Inbox
from causewatch.streaming.opcua_security import check_files
from causewatch.streaming.source import Batch, Guarantee, Wanted, nothing
from causewatch.streaming.sources.opcua_channel import Channel
from causewatch.streaming.sources.opcua_nodes import is_node_id, path_of
from causewatch.streaming.sources.opcua_options import OpcuaOptions, check, pace_of
from causewatch.streaming.sources.opcua_values import (
    Began,
    Ended,
    Message,
    PlantClock,
    Value,
    in_company,
)
from causewatch.streaming.tags import Tag

__all__ = ["OpcuaOptions", "OpcuaSource"]

AT_ONCE = 64
"""Messages taken from the inbox by one poll."""

MOST_HELD = 100_000
"""Values kept while a server says that there is more to come."""


class OpcuaSource:
    """Rows from an OPC UA server. See the module and `causewatch.streaming.source.Source`.

    Parameters
    ----------
    address
        ``opc.tcp://host:4840/path`` with `OpcuaOptions`.
    wanted
        What the watch wants. Tags are node ids or browse paths; without a tag map the server is
        browsed for variables that are called like the signals.
    backoff
        Pauses between tries.
    """

    guarantee: Guarantee = "lost"
    clock: Clock | None = "utc"

    def __init__(self, address: Address, wanted: Wanted, backoff: Backoff | None = None) -> None:
        needed("asyncua", "opcua")
        self._address = address
        self._columns = wanted.columns
        options = self._options = options_of(address, OpcuaOptions)
        check(address, options)
        known = frozenset(wanted.columns)
        tags = [tag for tag in wanted.tags if tag.signal in known]
        if wanted.tags and not tags:
            msg = "The tag map names none of the model's signals; is it of another plant?"
            raise SettingError(msg)
        for tag in tags:
            if not is_node_id(tag.tag):
                path_of(tag.tag)
        self._every = options.every if options.every is not None else wanted.interval
        self._late = self._every if options.late is None else options.late
        self._stale = {tag.signal: tag.stale for tag in tags if tag.stale is not None}
        self._assembler = self._new_assembler()
        self.inbox: Inbox[Began | Ended | Message] = Inbox(wanted.limits.queue)
        self._channel = Channel(
            address,
            options,
            tags or [Tag(name, name) for name in wanted.columns],
            bool(tags),
            pace_of(options, self._every),
            self.inbox,
            wanted.limits.queue,
            backoff or Backoff(),
        )
        self._mapped = frozenset(tag.signal for tag in tags) if tags else known
        self._loop: BackgroundLoop | None = None
        self._running = False
        self._closed = False
        self._counts: Counter[str] = Counter()
        self._plant = PlantClock()
        self._held: list[Value] = []
        self._began: int | None = None  # when rows of this session begin
        self._given: int | None = None  # time of the last row given out

    @property
    def name(self) -> str:
        """See `Source`."""
        return self._address.name

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Source`: signals that the tag map or the server does not have."""
        absent = self._channel.missing
        if absent is None:
            return ()
        return tuple(name for name in self._columns if name not in self._mapped or name in absent)

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        found = self._counts + Counter(self._assembler.problems)
        found["reconnects"] += self._channel.reconnects
        found["unknown_tags"] += self._channel.unknown
        return dict(+found)

    @property
    def status(self) -> str:
        """See `Source`."""
        return "closed" if self._closed else self._channel.status

    @property
    def ended(self) -> bool:
        """See `Source`."""
        return self._closed

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`."""
        if after:
            self._assembler.restore(after["assembler"])
            self._plant = PlantClock(after["lag"])
            self._given = after["given"]
        self._loop = BackgroundLoop("opcua-source")
        try:
            self._loop.run(check_files(self._options), 10.0)
        except BaseException:
            self.close()
            raise
        self._loop.start(self._channel.run())
        self._running = True

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        if self._closed:
            return nothing(len(self._columns))
        batches = [self._new_rows()]
        if not len(batches[0]):
            for one in self.inbox.take(wait, AT_ONCE):
                if isinstance(one, Message):
                    self._hear(one)
                    batches.append(self._new_rows())
                else:
                    batches += self._start_anew()
        if len(batches) == 1:
            return batches[0]
        return Batch(
            np.concatenate([batch.values for batch in batches]),
            np.concatenate([batch.times for batch in batches]),
        )

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        return {
            "assembler": self._assembler.snapshot(),
            "lag": self._plant.lag,
            "given": self._given,
        }

    def committed(self) -> None:
        """See `Source`; there is nobody to acknowledge anything to."""

    def close(self) -> None:
        """See `Source`."""
        self._closed = True
        self.inbox.close()
        if self._loop is not None:
            if self._running:
                with suppress(TimeoutError):
                    self._loop.run(self._channel.stop(), 5.0)
            self._loop.close()
            self._loop = None

    def _new_assembler(self) -> RowAssembler:
        return RowAssembler(
            self._columns,
            self._every,
            stale=self._stale,
            default_stale=self._options.stale,
            late=self._late,
        )

    def _hear(self, message: Message) -> None:
        """Make rows of what the server said."""
        self._counts.update(message.counts)
        self._channel.given += len(message.values)
        self._held += message.values
        if message.more and len(self._held) < MOST_HELD:
            return  # the next message may have values that are older than some of this one
        values, self._held = sorted(self._held, key=_by_time), []
        if self._began is None:
            self._began = self._begin(values, message.time)
            if self._began is None:
                self._held = values
                return
        for value in values:
            if not value.first:
                self._plant.saw(value)
        now = self._plant.at(message.time)
        self._take(values, self._began)
        if now is not None:
            self._assembler.alive(now)

    def _take(self, values: Sequence[Value], began: int) -> None:
        for value in values:
            # As they stand: since who knows when if their source does not say, and not at all yet
            # if they are missing.
            time = began if value.first and not value.timed else value.time
            if not (value.first and math.isnan(value.value)):
                self._assembler.take(value.signal, value.value, time)

    def _begin(self, values: Sequence[Value], time: int | None) -> int | None:
        """Tell the assembler when rows of this session begin; None if that is not known yet.

        Values as they stand may be hours old and do not tell which time it is; the first one that
        changes does, or what is known from an earlier session.
        """
        now = self._plant.at(time)
        times = in_company([value for value in values if not value.first])
        times += [] if now is None else [now]
        if not times:
            return None
        self._assembler.alive(min(times))
        return min(times)

    def _start_anew(self) -> list[Batch]:
        """A session ended or begins: give out what is left of the one before, and forget it."""
        if self._began is not None:  # of messages that were to go on
            self._take(sorted(self._held, key=_by_time), self._began)
        self._held = []
        latest = self._assembler.snapshot()["latest"]
        if latest is not None:
            # Nothing late will come any more: the watermark may go up to the latest time.
            self._assembler.alive(latest + round(self._late * 1e9) + 1)
        batches = []
        while len(batch := self._assembler.rows()):
            batches.append(self._after_given(batch))
        self._counts.update(self._assembler.problems)
        self._assembler = self._new_assembler()
        self._began = None
        return batches

    def _new_rows(self) -> Batch:
        return self._after_given(self._assembler.rows())

    def _after_given(self, batch: Batch) -> Batch:
        """Rows later than the last one given out; others are counted and left out."""
        if self._given is not None and len(batch):
            later = batch.times > self._given
            if not later.all():
                self._counts["late_rows"] += int(len(later) - later.sum())
                batch = Batch(batch.values[later], batch.times[later])
        if len(batch):
            self._given = int(batch.times[-1])
        return batch


def _by_time(value: Value) -> int:
    return value.time
