"""Modbus RTU over a pair of pseudo-terminals, with the serial server of pymodbus."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.services.modbus import ModbusPlant, serial_line, words

from causewatch.streaming.address import parse_address
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.modbus import ModbusSource
from causewatch.testing import until

pytest.importorskip("pymodbus", reason="pymodbus is not installed")
pytest.importorskip("serial", reason="pyserial is not installed")


@pytest.fixture
def line() -> Iterator[tuple[str, str]]:
    """Two ends of a serial line."""
    with serial_line() as ends:
        yield ends


def test_registers_over_a_serial_line(line: tuple[str, str]) -> None:
    """Several units on one line; a line that is not there is tried again."""
    plant = ModbusPlant(serial=line[0])
    plant.set("holding", 3, words(-1.5, "f"))
    plant.set("coil", 5, [1], unit=2)
    plant.start()
    source = ModbusSource(
        parse_address(f"modbus+rtu://{line[1]}?every=50ms&timeout=1s&baud=19200"),
        Wanted(("holding:3:float32", "2/coil:5"), 1.0),
    )
    absent = ModbusSource(
        parse_address("modbus+rtu:///dev/no-such-line"), Wanted(("holding:3",), 1.0)
    )
    try:
        source.open({})
        absent.open({})
        found: list[list[float]] = []
        assert until(lambda: found.extend(source.poll(0.1).values.tolist()) or len(found) > 3)
        assert found[0] == [-1.5, 1.0]
        assert source.status == "connected"
        assert until(lambda: absent.status == "trying again: the serial line cannot be opened")
    finally:
        source.close()
        absent.close()
        plant.stop()
