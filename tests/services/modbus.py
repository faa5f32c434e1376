"""A real Modbus server: the one of pymodbus, on loopback, in a thread of its own."""

from __future__ import annotations

import asyncio
import os
import select
import struct
import threading
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from causewatch.testing.waiting import PATIENCE

from .ports import free_port

FUNCTIONS = {"coil": 1, "discrete": 2, "holding": 3, "input": 4}
NAMES = {number: name for name, number in FUNCTIONS.items()}
HOLE = range(200, 210)
"""Holding registers that do not exist."""


def words(value: float, layout: str, order: str = "big") -> list[int]:
    """A value as registers hold it."""
    data = struct.pack(f">{layout}", value)
    found = [word for (word,) in struct.iter_unpack(">H", data)]
    return found if order == "big" else found[::-1]


class ModbusPlant:
    """Devices 1 and 2 with 400 words and 64 bits of each kind, all 0.

    Parameters
    ----------
    serial
        A serial line to answer on instead of TCP.

    Attributes
    ----------
    port
        Where it listens, also after it was stopped and started again.
    requests
        What was asked for so far: unit, space, address, count.
    refuse
        Which exception code to answer with, by unit, space and an address inside the request.
    silent
        Units that do not answer.
    answers
        How many were sent.
    """

    def __init__(self, serial: str | None = None) -> None:
        self.port = free_port()
        self.requests: list[tuple[int, str, int, int]] = []
        self.refuse: dict[tuple[int, str, int], int] = {}
        self.silent: set[int] = set()
        self.answers = 0
        self._serial = serial
        self._kept: dict[tuple[int, str, int], list[int]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Any = None
        self._thread: threading.Thread | None = None

    def set(self, space: str, address: int, values: Sequence[int], unit: int = 1) -> None:
        """Write registers, or bits; they outlive a restart."""
        self._kept[unit, space, address] = list(values)
        if self._loop is not None:
            self._call(self._write(unit, space, address, list(values)))

    def start(self) -> None:
        """Listen; comes back when it does."""
        up = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(up),), daemon=True)
        self._thread.start()
        assert up.wait(PATIENCE), "the Modbus server did not start"

    def stop(self) -> None:
        """Close all connections and listen no longer."""
        if self._loop is not None and self._thread is not None:
            self._call(self._server.shutdown())
            self._thread.join(PATIENCE)
            self._loop = None

    def drop(self) -> None:
        """Close the connections, and go on listening."""
        assert self._loop is not None

        async def close() -> None:
            for one in list(self._server.active_connections.values()):
                one.close()

        self._call(close())

    def _call(self, what: Any) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(what, self._loop).result(PATIENCE)

    async def _write(self, unit: int, space: str, address: int, values: list[int]) -> None:
        bits = space in ("coil", "discrete")
        await self._server.async_setValues(
            unit, FUNCTIONS[space], address, [bool(one) for one in values] if bits else values
        )

    async def _serve(self, up: threading.Event) -> None:
        from pymodbus.server import ModbusSerialServer, ModbusTcpServer

        devices = [self._device(unit) for unit in (1, 2)]
        if self._serial:
            self._server = ModbusSerialServer(
                devices, port=self._serial, baudrate=19200, trace_pdu=self._note
            )
        else:
            self._server = ModbusTcpServer(
                devices, address=("127.0.0.1", self.port), trace_pdu=self._note
            )
        lines: list[Any] = []
        made = self._server.callback_new_connection

        def make() -> Any:
            protocol = made()
            begin = protocol.connection_made

            def note(transport: Any) -> None:
                lines.append(transport)
                begin(transport)

            protocol.connection_made = note
            return protocol

        self._server.callback_new_connection = make
        await self._server.serve_forever(background=True)
        for (unit, space, address), values in self._kept.items():
            await self._write(unit, space, address, values)
        self._loop = asyncio.get_running_loop()
        up.set()
        await self._server.serving
        # The library forgets connections that were being made or closed while it was.
        making = asyncio.all_tasks() - {asyncio.current_task()}
        if making:
            await asyncio.wait(making, timeout=PATIENCE)
        for one in lines:
            one.abort()
        await asyncio.sleep(0.02)  # a transport closes its socket when the loop comes round

    def _note(self, sending: bool, pdu: Any) -> Any:
        self.answers += sending
        if not sending:
            space = NAMES[pdu.function_code]
            self.requests.append((pdu.dev_id, space, pdu.address, pdu.count))
        return pdu

    def _device(self, unit: int) -> Any:
        from pymodbus.constants import ExcCodes
        from pymodbus.simulator import DataType, SimData, SimDevice

        async def look(
            function: int, first: int, address: int, count: int, current: Any, written: Any
        ) -> Any:
            if written is not None:
                return None
            space = NAMES[function]
            while unit in self.silent:
                await asyncio.sleep(0.01)
            for (other, where, inside), code in self.refuse.items():
                if (other, where) == (unit, space) and address <= inside < address + count:
                    return ExcCodes(code)
            return None

        def all_words() -> list[Any]:
            return [SimData(0, count=400, values=0, datatype=DataType.REGISTERS)]

        holding = [
            SimData(0, count=HOLE.start, values=0, datatype=DataType.REGISTERS),
            SimData(HOLE.start, count=len(HOLE), datatype=DataType.INVALID),
            SimData(HOLE.stop, count=400 - HOLE.stop, values=0, datatype=DataType.REGISTERS),
        ]

        def bits() -> list[Any]:
            return [SimData(0, values=[False] * 64, datatype=DataType.BITS)]

        return SimDevice(unit, simdata=(bits(), bits(), holding, all_words()), action=look)


@contextmanager
def serial_line() -> Iterator[tuple[str, str]]:
    """Two ends of a serial line: a pair of pseudo-terminals."""
    pairs = [os.openpty() for _ in range(2)]
    for _, end in pairs:
        tty.setraw(end)
    masters = [master for master, _ in pairs]
    stop = threading.Event()

    def carry() -> None:
        while not stop.is_set():
            for ready in select.select(masters, [], [], 0.02)[0]:
                os.write(masters[1 - masters.index(ready)], os.read(ready, 1024))

    thread = threading.Thread(target=carry)
    thread.start()
    try:
        yield os.ttyname(pairs[0][1]), os.ttyname(pairs[1][1])
    finally:
        stop.set()
        thread.join()
        for pair in pairs:
            for one in pair:
                os.close(one)


@contextmanager
def modbus_plant(serial: str | None = None) -> Iterator[ModbusPlant]:
    """A running server, on TCP or a serial line; stopped at the end."""
    pytest.importorskip("pymodbus", reason="pymodbus is not installed")
    plant = ModbusPlant(serial)
    plant.start()
    try:
        yield plant
    finally:
        plant.silent.clear()
        plant.stop()
