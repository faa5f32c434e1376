"""Modbus: registers of a device, read again and again.

A thread of its own asks the device on a steady schedule. A poll for which it is too late is left
out and counted, so a slow device makes rows rarer but never old.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from causewatch.data import Clock
from causewatch.errors import SettingError, listing
from causewatch.streaming.address import Address, options_of
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.inbox import Inbox
from causewatch.streaming.source import Batch, Guarantee, Wanted, nothing
from causewatch.streaming.sources.modbus_device import (
    Device,
    LostError,
    ModbusOptions,
    Pace,
    Refusal,
    Schedule,
)
from causewatch.streaming.sources.modbus_registers import (
    Block,
    Register,
    is_register,
    narrower,
    parse_register,
    plan,
    together,
)
from causewatch.streaming.tags import Tag

__all__ = ["ModbusSource"]

log = logging.getLogger(__name__)

KINDS = (
    "missed_polls",
    "bad_status",
    "no_answer",
    "short_answers",
    "bad_values",
    "reconnects",
    "overflow",
)
"""What is counted; all of them from the start, so that the counts can be read while they grow."""


class ModbusSource:
    """Rows of registers; see `causewatch.streaming.source.Source`.

    Parameters
    ----------
    address
        ``modbus://host:502``, or ``modbus+rtu:///dev/ttyUSB0?baud=19200`` for a serial line.
    wanted
        Its tags say which register is which signal. Without any, signals that are written like
        registers are read.
    clock
        Time of day in nanoseconds since 1970 UTC.
    pace
        When to poll; a `Schedule` if None.
    backoff
        Pauses between two tries to connect.
    """

    guarantee: Guarantee = "lost"
    clock: Clock | None = "utc"
    ended = False

    def __init__(
        self,
        address: Address,
        wanted: Wanted,
        *,
        clock: Callable[[], int] = time.time_ns,
        pace: Pace | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self.name = address.name
        self._options = options = options_of(address, ModbusOptions)
        self._device = Device(address, options)
        self._tags, self._registers = _registers(wanted, options)
        place = {name: k for k, name in enumerate(wanted.columns)}
        self._columns = wanted.columns
        self._places = [place[tag.signal] for tag in self._tags]
        present = {tag.signal for tag in self._tags}
        self.missing = tuple(name for name in wanted.columns if name not in present)
        self._given = 0
        self._now = clock
        self._pace = pace or Schedule(options.every or wanted.interval)
        self._backoff = backoff or Backoff()
        self._blocks: list[Block] = []
        self._refused: set[Block] = set()
        self._counts = dict.fromkeys(KINDS, 0)
        self.inbox: Inbox[tuple[int, list[float]]] = Inbox(wanted.limits.queue)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._status = "not open"

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        self._counts["overflow"] = self.inbox.turned_away
        return {kind: count for kind, count in self._counts.items() if count}

    @property
    def status(self) -> str:
        """See `Source`."""
        return self._status

    @property
    def requests(self) -> tuple[Block, ...]:
        """The requests of one poll, as they were made last."""
        return tuple(self._blocks)

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`; what was there before is gone, so there is nothing to go on after."""
        if not self._tags:
            msg = (
                f"None of the model's signals ({listing(self._columns, 6)}) has a register of"
                f" {self.name}; say in a tag map which is which, such as holding:100:float32."
            )
            raise SettingError(msg)
        self._device.prepare()
        self._given = int(after.get("rows", 0))
        self._status = "connecting"
        self._thread = threading.Thread(target=self._run, name=f"poll {self.name}", daemon=True)
        self._thread.start()

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        rows = self.inbox.take(wait)
        if not rows:
            return nothing(len(self._columns))
        moments, values = zip(*rows, strict=True)
        self._given += len(rows)
        return Batch(np.array(values, dtype=np.float64), np.array(moments, dtype=np.int64))

    def position(self) -> dict[str, Any]:
        """See `Source`; a device keeps nothing of the past, so rows are only counted."""
        return {"rows": self._given}

    def committed(self) -> None:
        """See `Source`."""

    def close(self) -> None:
        """See `Source`."""
        self._stop.set()
        self._device.interrupt()
        if self._thread is not None:
            self._thread.join(self._options.timeout + 5.0)
        self.inbox.clear()
        self.inbox.close()
        self._status = "closed"

    # What follows runs in the thread.

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if not self._device.connected:
                    self._connect()
                self._counts["missed_polls"] += self._pace.wait(self._stop)
                if not self._stop.is_set():
                    self._poll()
                    self._backoff.reset()
            except LostError as error:
                self._lost(str(error))
            except Exception as error:  # the thread must not die in silence, whatever happens
                log.exception("A poll of %s went wrong.", self.name)
                self._lost(type(error).__name__)
        self._device.close()

    def _connect(self) -> None:
        self._device.connect()
        if self._status.startswith("trying"):
            log.info("%s is back.", self.name)
        self._blocks = plan(self._registers, self._options.holes)
        self._refused = set()
        self._status = "connected"

    def _lost(self, why: str) -> None:
        """Wait before the next try."""
        self._device.close()
        if self._stop.is_set():
            return
        if not self._status.startswith("trying"):
            self._counts["reconnects"] += 1
            log.warning("%s is lost: %s; trying again.", self.name, why)
        self._status = f"trying again: {why}"
        self._stop.wait(self._backoff.next())

    def _poll(self) -> None:
        """Ask for all registers once and hand over the row."""
        began = self._now()
        values = [math.nan] * len(self._columns)
        waiting, good, others = deque(self._blocks), [], []
        silent: set[int] = set()
        answered = cut = False
        lost: LostError | None = None
        while waiting:
            block = waiting.popleft()
            if lost or block.unit in silent:  # it would only be waited for once more
                others.append(block)
                continue
            try:
                answer = self._device.ask(block)
            except LostError as error:
                lost = error
                others.append(block)
                continue
            if answer is None:
                self._counts["no_answer"] += 1
                silent.add(block.unit)
                others.append(block)
                continue
            answered = True
            if isinstance(answer, Refusal):
                smaller = narrower(block, self._registers) if answer.illegal_address else []
                if smaller:  # asked for at once, and from now on
                    waiting.extendleft(reversed(smaller))
                    cut = True
                else:
                    self._refuse(block, answer)
                    others.append(block)
            else:
                self._read(block, answer, values)
                good.append(block)
        if cut:
            good = together(good)
        self._blocks = good + others
        if not answered:
            if not self._stop.is_set():  # else it was broken off
                self._counts["missed_polls"] += 1
            raise lost or LostError("it does not answer")
        self.inbox.offer(((began + self._now()) // 2, values))
        if lost:
            raise lost

    def _refuse(self, block: Block, answer: Refusal) -> None:
        self._counts["bad_status"] += 1
        if block not in self._refused:
            self._refused.add(block)
            log.warning("%s refuses %s: %s.", self.name, block, answer)

    def _read(self, block: Block, words: list[int], values: list[float]) -> None:
        """Values of one answer; those of which it has too little stay missing."""
        if block in self._refused:
            self._refused.discard(block)
            log.info("%s answers for %s again.", self.name, block)
        for number in block.members:
            register = self._registers[number]
            first = register.address - block.address
            part = words[first : first + register.width]
            if len(part) < register.width:
                self._counts["short_answers"] += 1
                continue
            value = self._tags[number].convert(register.value(part))
            if math.isfinite(value):
                values[self._places[number]] = value
            else:
                self._counts["bad_values"] += 1


def _registers(wanted: Wanted, options: ModbusOptions) -> tuple[list[Tag], list[Register]]:
    """The tags of the signals that are wanted, and the register of each."""
    tags = list(wanted.tags) or [Tag(name, name) for name in wanted.columns if is_register(name)]
    by_signal: dict[str, Tag] = {}
    for tag in tags:
        if tag.signal in wanted.columns and by_signal.setdefault(tag.signal, tag) is not tag:
            msg = (
                f"The signal {tag.signal!r} has two registers, {by_signal[tag.signal].tag!r} and"
                f" {tag.tag!r}; give it one."
            )
            raise SettingError(msg)
    found = list(by_signal.values())
    return found, [parse_register(tag.tag, options.unit, options.word_order) for tag in found]
