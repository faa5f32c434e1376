"""One connection to a Modbus device, and when to ask it."""

from __future__ import annotations

import logging
import math
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from causewatch.errors import SettingError
from causewatch.extras import needed
from causewatch.streaming.address import Address, Seconds
from causewatch.streaming.sources.modbus_registers import Block, Space, WordOrder

__all__ = ["Device", "LostError", "ModbusOptions", "Pace", "Refusal", "Schedule"]

PORT = 502
SERIAL = "modbus+rtu"
TIMEOUT = Seconds(2.0)

FUNCTIONS: dict[Space, tuple[str, int]] = {
    "coil": ("read_coils", 1),
    "discrete": ("read_discrete_inputs", 2),
    "holding": ("read_holding_registers", 3),
    "input": ("read_input_registers", 4),
}
REFUSALS = {
    1: "illegal function",
    2: "illegal data address",
    3: "illegal data value",
    4: "device failure",
    5: "acknowledged only",
    6: "device busy",
    8: "memory parity error",
    10: "gateway path unavailable",
    11: "gateway target does not answer",
}


@dataclass(frozen=True)
class ModbusOptions:
    """Options of ``modbus://`` and ``modbus+rtu://``.

    Attributes
    ----------
    every
        Seconds between two polls; the interval of the model if None.
    unit, word_order
        For registers that do not say.
    holes
        Over how many registers that nobody wants a request may reach.
    timeout
        How long to wait for an answer.
    baud, parity, stop_bits
        How a serial line is set.
    """

    every: Seconds | None = None
    unit: int = 1
    word_order: WordOrder = "big"
    holes: int = 8
    timeout: Seconds = TIMEOUT
    baud: int = 19200
    parity: Literal["N", "E", "O"] = "N"
    stop_bits: Literal[1, 2] = 1


class Pace(Protocol):
    """Says when to poll."""

    def wait(self, stop: threading.Event) -> int:
        """Wait until a poll is due or `stop` is set; gives how many polls were left out before."""


class Schedule:
    """Polls on a grid that begins with the first one, whatever each of them takes.

    Parameters
    ----------
    every
        Seconds between two polls.
    now
        A clock that is never set, in seconds.
    """

    def __init__(self, every: float, now: Callable[[], float] = time.monotonic) -> None:
        self._every = every
        self._now = now
        self._due: float | None = None

    def wait(self, stop: threading.Event) -> int:
        """See `Pace`."""
        now = self._now()
        due = now if self._due is None else self._due
        # Less than an interval late, a poll is still made; those before it are not made up for.
        skipped = max(0, math.floor((now - due) / self._every))
        due += skipped * self._every
        if due > now:
            stop.wait(due - now)
        self._due = due + self._every
        return skipped


class LostError(Exception):
    """The connection cannot be used any more; says why in a few words."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A device answered that it will not."""

    code: int

    @property
    def illegal_address(self) -> bool:
        """Whether it is because an address does not exist."""
        return self.code == 2

    def __str__(self) -> str:
        return REFUSALS.get(self.code, f"exception {self.code}")


class Device:
    """A connection that is made again and again.

    Parameters
    ----------
    address, options
        Where the device is; a `SettingError` if they make no sense.
    """

    def __init__(self, address: Address, options: ModbusOptions) -> None:
        self._address = address
        self._options = options
        self._serial = address.scheme == SERIAL
        self._client: Any = None
        problem = None
        if options.every is not None and options.every <= 0:
            problem = "every is to be longer than 0 s"
        elif options.timeout <= 0:
            problem = "timeout is to be longer than 0 s"
        elif not 0 <= options.unit <= 255:
            problem = "unit is to be 0 to 255"
        elif options.holes < 0:
            problem = "holes is to be 0 or more"
        elif self._serial and not address.path:
            problem = "it names no serial line, such as modbus+rtu:///dev/ttyUSB0"
        elif not self._serial and not address.host:
            problem = "it names no host, such as modbus://10.0.0.5:502"
        if problem:
            msg = f"The address {address.name} cannot be used: {problem}."
            raise SettingError(msg)

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._client is not None

    def prepare(self) -> None:
        """Load the library; raises if it is not installed."""
        needed("pymodbus", "modbus")
        if self._serial:
            needed("serial", "modbus")
        quiet = logging.getLogger("pymodbus.logging")
        if quiet.level == logging.NOTSET:
            # It would tell of every failed try with a dump of bytes; the source tells once.
            quiet.setLevel(logging.CRITICAL)

    def connect(self) -> None:
        """Connect once; raises `LostError` if that does not work."""
        clients: Any = needed("pymodbus.client", "modbus")
        options, address = self._options, self._address
        client: Any
        if self._serial:
            client = clients.ModbusSerialClient(
                f"/{address.path}",
                baudrate=options.baud,
                parity=options.parity,
                stopbits=options.stop_bits,
                timeout=options.timeout,
                retries=0,
            )
            if not client.connect():
                msg = "the serial line cannot be opened"
                raise LostError(msg)
        else:
            where = address.host, address.port or PORT
            client = clients.ModbusTcpClient(
                where[0], port=where[1], timeout=options.timeout, retries=0
            )
            try:  # connected here, because the library does not tell why it could not
                client.socket = socket.create_connection(where, options.timeout)
                client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                client.close()
                raise LostError(_reason(error)) from error
        self._client = client

    def ask(self, block: Block) -> list[int] | Refusal | None:
        """The words or bits of one answer, or what it says instead; None if nobody answered."""
        method, function = FUNCTIONS[block.space]
        began = time.monotonic()
        try:
            answer = getattr(self._client, method)(
                block.address, count=block.count, device_id=block.unit
            )
        except Exception as error:
            # The library raises the same for silence and for an answer that it cannot read, and
            # for the latter lets other errors through.
            if not self._client.connected:
                msg = "the connection was closed"
                raise LostError(msg) from error
            if time.monotonic() - began < 0.9 * self._options.timeout:
                msg = "an answer cannot be read"  # and where the next one begins is not known
                raise LostError(msg) from error
            return None
        if answer.isError():
            return Refusal(int(answer.exception_code))
        if answer.function_code != function:
            msg = "an answer is not to what was asked"
            raise LostError(msg)
        bits = block.space in ("coil", "discrete")
        return list(map(int, answer.bits if bits else answer.registers))

    def interrupt(self) -> None:
        """Let another thread no longer wait for an answer."""
        line = getattr(self._client, "socket", None)
        if isinstance(line, socket.socket):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._client is not None:
            with suppress(Exception):
                self._client.close()
            self._client = None


def _reason(error: OSError) -> str:
    """Why a connection failed, in a few words."""
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return (error.strerror or type(error).__name__).lower()
