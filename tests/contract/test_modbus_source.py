"""`ModbusSource` against a real server keeps the contract of sources.

A device has no rows, only registers that hold what they hold. The plant here writes one row into
them, lets one poll be made, and writes the next.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import pytest
from tests.services.modbus import ModbusPlant, modbus_plant, serial_line, words

from causewatch.streaming.address import parse_address
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.source import Source, Wanted
from causewatch.streaming.sources.modbus import ModbusSource
from causewatch.streaming.tags import Tag, TagMap
from causewatch.testing import SourceContract, until
from causewatch.testing.waiting import PATIENCE


class Rig:
    """See `causewatch.testing.SourceRig`."""

    columns = ("a", "b", "c")
    behind = 0
    whole = False

    def __init__(self, plant: ModbusPlant, url: str) -> None:
        self._plant = plant
        self._url = url
        self._now = 0
        self._go = threading.Semaphore(0)
        self._waiting = threading.Semaphore(0)

    def source(self) -> Source:
        """See `SourceRig`; nobody waits for a poll of an earlier one."""
        self._go, self._waiting = threading.Semaphore(0), threading.Semaphore(0)
        tags = {
            f"holding:{4 * k}:float64": Tag(f"holding:{4 * k}:float64", name)
            for k, name in enumerate(self.columns)
        }
        return ModbusSource(
            parse_address(self._url),
            Wanted(self.columns, 1.0, tags=TagMap(tags)),
            clock=lambda: self._now,
            pace=self,
            backoff=Backoff(0.01, 0.05, random.Random(1)),
        )

    def wait(self, stop: threading.Event) -> int:
        """See `Pace`; a poll is made for each row."""
        self._waiting.release()
        while not stop.is_set() and not self._go.acquire(timeout=0.01):
            pass
        return 0

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        """See `SourceRig`."""
        for row, when in zip(rows, times, strict=True):
            assert self._waiting.acquire(timeout=PATIENCE)
            for k, name in enumerate(self.columns):
                self._plant.set("holding", 4 * k, words(row[name], "d"))
            self._now = int(when.timestamp()) * 1_000_000_000
            self._go.release()
        # The last row is polled once the source waits for another one.
        assert self._waiting.acquire(timeout=PATIENCE)
        self._waiting.release()

    def nonsense(self) -> int:
        """See `SourceRig`; a connection that breaks off, which costs a poll."""
        self._plant.drop()
        assert self._waiting.acquire(timeout=PATIENCE)
        self._go.release()
        return 1

    def finish(self) -> None:
        """See `SourceRig`."""


class TestModbusSource(SourceContract):
    """Rows in registers."""

    @pytest.fixture
    def rig(self) -> Iterator[Rig]:
        """A server, and a hand that writes rows."""
        with modbus_plant() as plant:
            yield Rig(plant, f"modbus://127.0.0.1:{plant.port}")


class SerialRig(Rig):
    """The same over a serial line."""

    def nonsense(self) -> int:
        """See `SourceRig`; a device that does not answer in time, which costs a poll."""
        self._plant.silent.add(1)
        self._go.release()
        assert self._waiting.acquire(timeout=PATIENCE)
        assert self._waiting.acquire(timeout=PATIENCE)
        self._waiting.release()
        before = self._plant.answers
        self._plant.silent.clear()
        # Its answer comes when nobody waits for it.
        assert until(lambda: self._plant.answers > before)
        time.sleep(0.1)  # until it has come through the line
        return 1


class TestModbusSerialSource(SourceContract):
    """Rows in registers, over a serial line."""

    @pytest.fixture
    def rig(self) -> Iterator[Rig]:
        """A server at the other end of a pair of pseudo-terminals."""
        pytest.importorskip("serial", reason="pyserial is not installed")
        with serial_line() as (far, near), modbus_plant(far) as plant:
            yield SerialRig(plant, f"modbus+rtu://{near}?baud=19200&timeout=1500ms")
