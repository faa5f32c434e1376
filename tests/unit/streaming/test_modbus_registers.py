"""Registers: how they are written, what they hold, and which are read together."""

from __future__ import annotations

import math
import struct
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import SettingError
from causewatch.streaming.sources.modbus_registers import (
    FORMATS,
    LIMITS,
    Register,
    is_register,
    narrower,
    parse_register,
    plan,
    together,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("holding:100", Register(1, "holding", 100)),
        ("input:7:float32", Register(1, "input", 7, "float32")),
        ("input:7:float32-le", Register(1, "input", 7, "float32", None, "little")),
        ("HOLDING:7:Float64-BE", Register(1, "holding", 7, "float64")),
        ("coil:3", Register(1, "coil", 3, "bool")),
        ("discrete:0:bit", Register(1, "discrete", 0, "bool")),
        ("holding:100.3", Register(1, "holding", 100, "bool", 3)),
        ("holding:100:bool", Register(1, "holding", 100, "bool")),
        (" 2/holding:65535:int16 ", Register(2, "holding", 65535, "int16")),
        ("0/holding:1", Register(0, "holding", 1)),
    ],
)
def test_registers_are_read_as_written(text: str, wanted: Register) -> None:
    """Unit, space, address, bit, type and order of words."""
    assert is_register(text)
    assert parse_register(text) == wanted


def test_what_a_register_does_not_say_comes_from_the_options() -> None:
    """Unit and order of words; what it says itself is stronger."""
    assert parse_register("holding:1:int32", 7, "little") == Register(
        7, "holding", 1, "int32", None, "little"
    )
    assert parse_register("3/holding:1:int32-be", 7, "little") == Register(3, "holding", 1, "int32")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("holding", "is no Modbus register"),
        ("holding:-1", "is no Modbus register"),
        ("LIT301", "is no Modbus register"),
        ("", "is no Modbus register"),
        ("holding:1:float16", "type 'float16' is unknown"),
        ("holding:65535:int32", "addresses go up to 65535"),
        ("holding:99999", "addresses go up to 65535"),
        ("256/holding:1", "units go up to 255"),
        ("coil:1:int16", "a coil is one bit"),
        ("discrete:1.0", "a discrete is one bit"),
        ("holding:1.16", "a bit is 0 to 15"),
        ("holding:1.3:int16", "a bit is 0 to 15"),
    ],
)
def test_what_is_no_register_is_refused_with_a_sentence(text: str, said: str) -> None:
    """It names what was written and what would have worked."""
    with pytest.raises(SettingError, match=said):
        parse_register(text)


@given(
    kind=st.sampled_from(sorted(FORMATS)),
    little=st.booleans(),
    data=st.binary(min_size=8, max_size=8),
)
def test_all_types_and_orders_are_read_as_struct_does(kind: str, little: bool, data: bytes) -> None:
    """Big order is the bytes as they come; little order has the last word first."""
    size = struct.calcsize(FORMATS[kind])
    words = [int.from_bytes(data[k : k + 2], "big") for k in range(0, size, 2)]
    register = Register(1, "holding", 0, kind, None, "little" if little else "big")
    pieces = [data[k : k + 2] for k in range(0, size, 2)]
    wanted = struct.unpack(">" + FORMATS[kind], b"".join(reversed(pieces) if little else pieces))[0]
    assert register.width == size // 2
    found = register.value(words)
    assert found == float(wanted) or (math.isnan(found) and math.isnan(wanted))


@given(word=st.integers(0, 0xFFFF), bit=st.integers(0, 15))
def test_a_bit_of_a_word(word: int, bit: int) -> None:
    """The lowest is bit 0."""
    assert Register(1, "holding", 0, "bool", bit).value([word]) == float(f"{word:016b}"[15 - bit])
    assert Register(1, "holding", 0, "bool").value([word]) == float(word != 0)


registers = st.builds(
    Register,
    unit=st.integers(1, 2),
    space=st.sampled_from(sorted(LIMITS)),
    address=st.one_of(st.integers(0, 400), st.integers(0, 5000)),
    kind=st.sampled_from(["uint16", "int32", "float64"]),
).map(
    lambda one: (
        Register(one.unit, one.space, one.address, "bool") if LIMITS[one.space] > 125 else one
    )
)


def fewest_requests(wanted: list[Register], hole: int) -> int:
    """The slow, obvious way: try every way of cutting the sorted registers into requests."""
    total = 0
    for unit, space in {(one.unit, one.space) for one in wanted}:
        here = sorted(
            (one.address, one.end) for one in wanted if (one.unit, one.space) == (unit, space)
        )

        def allowed(part: list[tuple[int, int]], limit: int = LIMITS[space]) -> bool:
            read = {k for first, end in part for k in range(first, end)}
            low, high = min(read), max(read)
            longest = run = 0
            for k in range(low, high + 1):
                run = 0 if k in read else run + 1
                longest = max(longest, run)
            return high - low + 1 <= limit and longest <= hole

        @cache
        def best(begin: int, here: tuple[tuple[int, int], ...] = tuple(here)) -> int:
            if begin == len(here):
                return 0
            return 1 + min(
                best(end)
                for end in range(begin + 1, len(here) + 1)
                if allowed(list(here[begin:end]))
            )

        total += best(0)
    return total


@given(wanted=st.lists(registers, max_size=9), hole=st.sampled_from([0, 1, 8, 60]))
def test_the_plan_is_the_best_there_is(wanted: list[Register], hole: int) -> None:
    """Every register whole in one request, none too long, no hole too wide, none too many."""
    blocks = plan(wanted, hole)
    assert sorted(k for block in blocks for k in block.members) == list(range(len(wanted)))
    for block in blocks:
        assert block.count <= LIMITS[block.space]
        covered = set()
        for k in block.members:
            one = wanted[k]
            assert (one.unit, one.space) == (block.unit, block.space)
            assert block.address <= one.address < one.end <= block.address + block.count
            covered |= set(range(one.address, one.end))
        assert min(covered) == block.address
        assert max(covered) == block.address + block.count - 1
    assert len(blocks) == fewest_requests(wanted, hole)


def test_the_limits_of_the_protocol_are_used_to_the_full() -> None:
    """125 words and 2000 bits go into one request, one more does not; 4 words stay together."""
    assert len(plan([Register(1, "holding", k) for k in range(125)])) == 1
    assert len(plan([Register(1, "holding", k) for k in range(126)])) == 2
    assert len(plan([Register(1, "coil", k, "bool") for k in range(2000)])) == 1
    assert len(plan([Register(1, "coil", k, "bool") for k in range(2001)])) == 2
    torn = [Register(1, "input", k) for k in range(123)] + [Register(1, "input", 123, "float64")]
    assert [(block.address, block.count) for block in plan(torn)] == [(0, 123), (123, 4)]


@given(wanted=st.lists(registers, min_size=1, max_size=12), hole=st.sampled_from([0, 8]))
def test_a_request_that_is_refused_becomes_smaller_until_each_register_is_alone(
    wanted: list[Register], hole: int
) -> None:
    """No register is forgotten on the way, and it comes to an end."""
    waiting, alone = plan(wanted, hole), []
    while waiting:
        block = waiting.pop()
        smaller = narrower(block, wanted)
        if smaller:
            assert sorted(k for one in smaller for k in one.members) == sorted(block.members)
            waiting += smaller
        else:
            alone.append(block.members)
    assert sorted(alone) == [(k,) for k in range(len(wanted))]


@given(wanted=st.lists(registers, min_size=1, max_size=12))
def test_neighbours_are_put_together_again(wanted: list[Register]) -> None:
    """Nothing is forgotten, nothing is torn, and no two are left that fit together."""
    alone = [block for k in range(len(wanted)) for block in plan(wanted, numbers=[k])]
    found = together(alone)
    assert sorted(k for block in found for k in block.members) == list(range(len(wanted)))
    for block in found:
        assert block.count <= LIMITS[block.space]
        for k in block.members:
            assert block.address <= wanted[k].address < wanted[k].end <= block.address + block.count
