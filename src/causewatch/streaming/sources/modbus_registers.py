"""Registers of a Modbus device: how they are written, which are read together, what they hold.

A register is written ``[unit/]space:address[.bit][:type]``: ``holding:100``, ``input:7:float32``,
``2/holding:40.3``, ``coil:3``. Addresses are those of the protocol and begin at 0, so what a manual
calls 40001 is ``holding:0``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from causewatch.errors import SettingError, shorten

__all__ = [
    "LIMITS",
    "Block",
    "Register",
    "Space",
    "WordOrder",
    "is_register",
    "narrower",
    "parse_register",
    "plan",
    "together",
]

Space = Literal["coil", "discrete", "holding", "input"]
WordOrder = Literal["big", "little"]

LIMITS: dict[Space, int] = {"coil": 2000, "discrete": 2000, "holding": 125, "input": 125}
"""How much the protocol allows to be read with one request."""

FORMATS = {
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
LOGICAL = ("bool", "bit")
ORDERS: dict[str, WordOrder] = {"be": "big", "le": "little"}
LAST_ADDRESS = 0xFFFF
LAST_UNIT = 255

_SYNTAX = re.compile(
    r"(?:(?P<unit>\d{1,3})/)?(?P<space>coil|discrete|holding|input):(?P<address>\d{1,5})"
    r"(?:\.(?P<bit>\d{1,2}))?(?::(?P<kind>[a-z]+\d*)(?:-(?P<order>be|le))?)?"
)


@dataclass(frozen=True, slots=True)
class Register:
    """One value of a device.

    Attributes
    ----------
    unit
        Which device behind the address answers.
    space
        Coils and discrete inputs are bits, holding and input registers words of 16 bits.
    address
        Of the first word or of the bit, from 0.
    kind
        How words are read: a key of `FORMATS`, or ``bool``.
    bit
        Which bit of the word alone counts, the lowest being 0; None for the whole.
    order
        Whether the first of several words is the most significant one (``big``) or the least.
    """

    unit: int
    space: Space
    address: int
    kind: str = "uint16"
    bit: int | None = None
    order: WordOrder = "big"

    @property
    def width(self) -> int:
        """How many words, or bits, it takes."""
        return struct.calcsize(FORMATS[self.kind]) // 2 if self.kind in FORMATS else 1

    @property
    def end(self) -> int:
        """The address after its last one."""
        return self.address + self.width

    def value(self, words: Sequence[int]) -> float:
        """What its words, or its bit, say."""
        if self.bit is not None:
            return float(words[0] >> self.bit & 1)
        if self.kind == "bool":
            return float(bool(words[0]))
        ordered = words if self.order == "big" else words[::-1]
        # Inside a word the protocol itself says which byte comes first.
        data = struct.pack(f">{len(ordered)}H", *ordered)
        return float(struct.unpack(f">{FORMATS[self.kind]}", data)[0])


@dataclass(frozen=True, slots=True)
class Block:
    """One request, and which registers its answer holds (their numbers in the list planned)."""

    unit: int
    space: Space
    address: int
    count: int
    members: tuple[int, ...]

    def __str__(self) -> str:
        last = self.address + self.count - 1
        return f"{self.unit}/{self.space}:{self.address}" + ("" if self.count == 1 else f"-{last}")


def is_register(text: str) -> bool:
    """Whether a name is written like a register."""
    return _SYNTAX.fullmatch(text.strip().lower()) is not None


def parse_register(text: str, unit: int = 1, order: WordOrder = "big") -> Register:
    """A register as it is written; `unit` and `order` are for those that do not say.

    >>> parse_register("2/input:7:float32-le")
    Register(unit=2, space='input', address=7, kind='float32', bit=None, order='little')
    """
    found = _SYNTAX.fullmatch(text.strip().lower())
    if found is None:
        msg = (
            f"{shorten(text)!r} is no Modbus register; one is written like holding:100,"
            " input:7:float32, holding:40.3, coil:3 or 2/holding:100."
        )
        raise SettingError(msg)
    space: Space = found["space"]  # type: ignore[assignment]
    bits = LIMITS[space] == LIMITS["coil"]
    kind = found["kind"] or ("bool" if bits or found["bit"] else "uint16")
    kind = "bool" if kind in LOGICAL else kind
    register = Register(
        unit if found["unit"] is None else int(found["unit"]),
        space,
        int(found["address"]),
        kind,
        None if found["bit"] is None else int(found["bit"]),
        ORDERS[found["order"]] if found["order"] else order,
    )
    problem = None
    if kind != "bool" and kind not in FORMATS:
        problem = f"the type {kind!r} is unknown; it is one of {', '.join((*FORMATS, 'bool'))}"
    elif register.unit > LAST_UNIT:
        problem = f"units go up to {LAST_UNIT}"
    elif register.end > LAST_ADDRESS + 1:
        problem = f"addresses go up to {LAST_ADDRESS}"
    elif bits and (kind != "bool" or register.bit is not None):
        problem = f"a {space} is one bit; leave out what follows its address"
    elif register.bit is not None and (register.bit > 15 or kind != "bool"):
        problem = "a bit is 0 to 15, of a word that has no other type"
    if problem:
        msg = f"The Modbus register {shorten(text)!r} cannot be read: {problem}."
        raise SettingError(msg)
    return register


def plan(
    registers: Sequence[Register], hole: int = 0, numbers: Iterable[int] | None = None
) -> list[Block]:
    """As few requests as will do.

    A value is never torn between two requests. Taking registers by their address and beginning a
    new request only where one must be begun is the best there is: whatever else is done, no request
    can hold more of what comes first.

    Parameters
    ----------
    registers
        What is to be read.
    hole
        Over how many registers that nobody wants a request may reach.
    numbers
        Which of the registers; all if None.
    """
    wanted = range(len(registers)) if numbers is None else numbers
    blocks: list[Block] = []
    for number in sorted(wanted, key=lambda k: _place(registers[k])):
        one = registers[number]
        last = blocks[-1] if blocks else None
        if last is not None and (one.unit, one.space) == (last.unit, last.space):
            end = last.address + last.count
            count = max(end, one.end) - last.address
            if one.address - end <= hole and count <= LIMITS[one.space]:
                blocks[-1] = replace(last, count=count, members=(*last.members, number))
                continue
        blocks.append(Block(one.unit, one.space, one.address, one.width, (number,)))
    return blocks


def narrower(block: Block, registers: Sequence[Register]) -> list[Block]:
    """Smaller requests for the same registers; none if it holds only one.

    Devices refuse a whole request if a single address of it does not exist. First the holes are
    left out, then the registers are halved until the one that does not exist stands alone.
    """
    found = plan(registers, numbers=block.members)
    if len(found) > 1:
        return found
    half = len(block.members) // 2
    if not half:
        return []
    return [
        *plan(registers, numbers=block.members[:half]),
        *plan(registers, numbers=block.members[half:]),
    ]


def together(blocks: Iterable[Block]) -> list[Block]:
    """Neighbouring requests as one, where the protocol allows; all are known to be answered."""
    found: list[Block] = []
    for one in sorted(blocks, key=lambda block: (block.unit, block.space, block.address)):
        last = found[-1] if found else None
        if (
            last is not None
            and (one.unit, one.space) == (last.unit, last.space)
            and one.address == last.address + last.count
            and last.count + one.count <= LIMITS[one.space]
        ):
            found[-1] = replace(
                last, count=last.count + one.count, members=last.members + one.members
            )
        else:
            found.append(one)
    return found


def _place(register: Register) -> tuple[int, str, int, int]:
    return register.unit, register.space, register.address, register.end
