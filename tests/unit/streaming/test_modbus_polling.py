"""Polling a real Modbus server."""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.services.modbus import ModbusPlant, modbus_plant, words
from tests.services.ports import free_port

from causewatch.errors import SettingError, UnknownNameError
from causewatch.streaming.address import parse_address
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.source import Limits, Wanted
from causewatch.streaming.sources.modbus import ModbusSource
from causewatch.streaming.tags import Tag, TagMap
from causewatch.testing import until
from causewatch.testing.waiting import PATIENCE


@pytest.fixture
def plant() -> Iterator[ModbusPlant]:
    """A server."""
    with modbus_plant() as one:
        yield one


class Hand:
    """A pace that is given by hand: `poll` lets one poll be made and waits for its end."""

    def __init__(self) -> None:
        self._go = threading.Semaphore(0)
        self.waiting = threading.Semaphore(0)

    def wait(self, stop: threading.Event) -> int:
        """See `Pace`."""
        self.waiting.release()
        while not stop.is_set() and not self._go.acquire(timeout=0.01):
            pass
        return 0

    def poll(self) -> None:
        """Let one poll be made."""
        assert self.waiting.acquire(timeout=PATIENCE)
        self._go.release()


def build(
    plant: ModbusPlant, tags: dict[str, str], query: str = "", **more: Any
) -> tuple[ModbusSource, Hand]:
    """A source of signals by their register, with a pace by hand."""
    hand = Hand()
    known = {tag: Tag(tag, signal) for signal, tag in tags.items()}
    source = ModbusSource(
        parse_address(f"modbus://127.0.0.1:{plant.port}{query}"),
        Wanted(tuple(tags), 1.0, tags=TagMap(known)),
        pace=more.pop("pace", hand),
        backoff=Backoff(0.01, 0.05, random.Random(1)),
        **more,
    )
    return source, hand


def one_row(source: ModbusSource, hand: Hand) -> list[float]:
    """The next row."""
    hand.poll()
    batch = source.poll(10)
    assert len(batch) == 1
    return [float(value) for value in batch.values[0]]


@pytest.fixture
def opened() -> Iterator[Callable[[ModbusSource], ModbusSource]]:
    """Opens sources, and closes them at the end."""
    sources = []

    def open_one(source: ModbusSource) -> ModbusSource:
        sources.append(source)
        source.open({})
        return source

    yield open_one
    for source in sources:
        source.close()


def test_values_of_all_spaces_types_and_units(plant: ModbusPlant, opened: Any) -> None:
    """Read with as few requests as there are units and spaces."""
    plant.set("holding", 10, words(-5, "h"))
    plant.set("holding", 11, words(1.5, "f", "little"))
    plant.set("holding", 13, words(2**40 + 1, "q"))
    plant.set("input", 0, words(-0.25, "d"), unit=2)
    plant.set("coil", 3, [1])
    plant.set("discrete", 17, [0, 1])
    source, hand = build(
        plant,
        {
            "a": "holding:10:int16",
            "b": "holding:11:float32-le",
            "c": "holding:13:int64",
            "d": "2/input:0:float64",
            "e": "coil:3",
            "f": "discrete:17",
            "g": "discrete:18",
            "h": "holding:10.15",
        },
    )
    opened(source)
    assert one_row(source, hand) == [-5, 1.5, 2.0**40 + 1, -0.25, 1, 0, 1, 1]
    assert sorted(plant.requests) == [
        (1, "coil", 3, 1),
        (1, "discrete", 17, 2),
        (1, "holding", 10, 7),
        (2, "input", 0, 4),
    ]
    assert source.problems == {}
    assert source.missing == ()


def test_units_of_the_plant_become_those_of_the_model(plant: ModbusPlant, opened: Any) -> None:
    """Factor and offset of the tag map; signals without a tag are missing."""
    plant.set("holding", 0, [250])
    tags = TagMap({"holding:0": Tag("holding:0", "t", 0.1, -10.0)})
    hand = Hand()
    source = ModbusSource(
        parse_address(f"modbus://127.0.0.1:{plant.port}"),
        Wanted(("t", "u"), 1.0, tags=tags),
        pace=hand,
    )
    opened(source)
    row = one_row(source, hand)
    assert row[0] == pytest.approx(15.0)
    assert np.isnan(row[1])
    assert source.missing == ("u",)


def test_rows_have_the_time_of_the_middle_of_their_poll(plant: ModbusPlant, opened: Any) -> None:
    """By the clock that was passed in."""
    source, hand = build(plant, {"a": "holding:0"}, clock=lambda: 1_700_000_000_000_000_000)
    opened(source)
    hand.poll()
    batch = source.poll(10)
    assert 0 <= int(batch.times[0]) - 1_700_000_000_000_000_000 < 1_000_000_000
    assert source.clock == "utc"


def test_the_position_counts_rows_over_all_runs(plant: ModbusPlant) -> None:
    """So that a watch can tell that it goes on."""
    source, hand = build(plant, {"a": "holding:0"})
    source.open({"rows": 7})
    try:
        assert source.position() == {"rows": 7}
        one_row(source, hand)
        assert source.position() == {"rows": 8}
    finally:
        source.close()


def test_without_tags_signals_written_like_registers_are_read(
    plant: ModbusPlant, opened: Any
) -> None:
    """And if there are none, opening says so."""
    plant.set("input", 4, [7])
    hand = Hand()
    address = parse_address(f"modbus://127.0.0.1:{plant.port}")
    source = ModbusSource(address, Wanted(("input:4", "LIT301"), 1.0), pace=hand)
    opened(source)
    assert one_row(source, hand)[0] == 7
    assert source.missing == ("LIT301",)
    with pytest.raises(SettingError, match=r"signals \(LIT301\) has a register"):
        ModbusSource(address, Wanted(("LIT301",), 1.0)).open({})


def test_a_register_that_does_not_exist_leaves_only_itself_missing(
    plant: ModbusPlant, opened: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Though the device refuses the whole request; the search for it is made once."""
    plant.set("holding", 196, list(range(196, 200)))
    plant.set("holding", 210, [210, 211])
    tags = {f"r{k}": f"holding:{k}" for k in (196, 197, 198, 199, 200, 210, 211)}
    source, hand = build(plant, tags, "?holes=20")
    opened(source)
    with caplog.at_level(logging.WARNING):
        row = one_row(source, hand)
        assert row[:4] + row[5:] == [196, 197, 198, 199, 210, 211]
        assert np.isnan(row[4])
        assert source.problems == {"bad_status": 1}
        plant.requests.clear()
        one_row(source, hand)
    assert sorted(plant.requests) == [
        (1, "holding", 196, 4),
        (1, "holding", 200, 1),
        (1, "holding", 210, 2),
    ]
    assert source.problems == {"bad_status": 2}
    assert [one.getMessage() for one in caplog.records] == [
        f"{source.name} refuses 1/holding:200: illegal data address."
    ]


def test_a_hole_that_cannot_be_read_costs_nothing(plant: ModbusPlant, opened: Any) -> None:
    """The request that reached over it is cut there."""
    plant.set("holding", 199, [5])
    plant.set("holding", 210, [6])
    source, hand = build(plant, {"a": "holding:199", "b": "holding:210"}, "?holes=10")
    opened(source)
    assert one_row(source, hand) == [5, 6]
    assert source.problems == {}
    assert len(source.requests) == 2


def test_a_refused_block_is_missing_and_the_others_are_not(plant: ModbusPlant, opened: Any) -> None:
    """Whatever the code is, and only for as long as it is refused."""
    plant.set("holding", 0, [1])
    plant.set("input", 0, [2])
    source, hand = build(plant, {"a": "holding:0", "b": "input:0"})
    opened(source)
    plant.refuse[1, "holding", 0] = 6  # busy
    row = one_row(source, hand)
    assert np.isnan(row[0])
    assert row[1] == 2
    plant.refuse.clear()
    assert one_row(source, hand) == [1, 2]
    assert source.problems == {"bad_status": 1}
    assert source.status == "connected"


def test_a_unit_that_does_not_answer_leaves_the_others_alone(
    plant: ModbusPlant, opened: Any
) -> None:
    """As behind a gateway: it is asked once in a poll, and the connection stays."""
    plant.set("holding", 0, [1])
    source, hand = build(
        plant,
        {"a": "1/holding:0", "b": "2/holding:0", "c": "2/input:0"},
        "?timeout=1s",
    )
    opened(source)
    one_row(source, hand)
    plant.silent.add(2)
    row = one_row(source, hand)
    assert row[0] == 1
    assert np.isnan(row[1:]).all()
    assert source.problems == {"no_answer": 1}
    assert source.status == "connected"


def test_numbers_that_are_none_are_missing(plant: ModbusPlant, opened: Any) -> None:
    """A float that says "not a number" or "infinite"."""
    plant.set("holding", 0, words(float("nan"), "f") + words(float("inf"), "f"))
    plant.set("holding", 4, words(2.5, "f"))
    source, hand = build(
        plant, {name: f"holding:{k}:float32" for name, k in (("a", 0), ("b", 2), ("c", 4))}
    )
    opened(source)
    row = one_row(source, hand)
    assert np.isnan(row[:2]).all()
    assert row[2] == 2.5
    assert source.problems == {"bad_values": 2}


def test_a_server_that_goes_and_comes_back(
    plant: ModbusPlant, opened: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """On the same port; said once each, and what could not be polled is counted."""
    plant.set("holding", 0, [1])
    source, _ = build(plant, {"a": "holding:0"}, "?every=20ms", pace=None)
    opened(source)
    assert until(lambda: len(source.poll(0.1)) > 0)
    with caplog.at_level(logging.INFO, logger="causewatch"):
        plant.stop()
        assert until(lambda: source.status.startswith("trying again"))
        began = time.monotonic()
        plant.set("holding", 0, [2])
        time.sleep(0.2)  # how long it is away
        away = time.monotonic() - began  # at least
        plant.start()
        assert until(lambda: source.status == "connected")
        assert until(lambda: bool((source.poll(0.1).values == 2).any()))
    said = [one.getMessage() for one in caplog.records]
    assert sum("is lost" in one for one in said) == 1
    assert sum("is back" in one for one in said) == 1
    assert source.problems["reconnects"] == 1
    assert source.problems["missed_polls"] >= int(away / 0.02) - 1


def test_a_device_that_is_slow_makes_rows_rarer_and_never_old(
    plant: ModbusPlant, opened: Any
) -> None:
    """Polls that could not be made are counted, and not made up for."""
    source, _ = build(plant, {"a": "holding:0"}, "?every=10ms&timeout=5s", pace=None)
    opened(source)
    times: list[int] = []
    assert until(lambda: times.extend(source.poll(0.1).times) or len(times) > 1)
    plant.silent.add(1)
    time.sleep(0.3)
    plant.silent.clear()
    assert until(lambda: times.extend(source.poll(0.05).times) or len(times) > 20)
    steps = np.diff(times) / 10_000_000
    assert (steps > 0).all()
    # The middle of the slow poll is at least 15 polls after the row before.
    assert steps.max() > 14
    missed = source.problems["missed_polls"]
    assert missed >= 25
    # Rows and missed polls together are the schedule; some may have been made since.
    assert steps.sum() <= len(steps) + missed + 2


def test_a_server_that_is_not_there_yet_is_no_error(opened: Any) -> None:
    """Opening works, the status says why, and closing does not wait."""
    plant = ModbusPlant()
    source, _ = build(plant, {"a": "holding:0"})
    opened(source)
    assert until(lambda: source.status == "trying again: connection refused")
    assert not len(source.poll(0.0))
    before = threading.active_count()
    source.close()  # which gives up waiting for a thread that does not end
    assert threading.active_count() < before


def test_answers_that_make_no_sense(opened: Any) -> None:
    """From something that speaks no Modbus: the connection is made anew, nothing is believed."""
    port = free_port()
    stop = threading.Event()
    answers = [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\x01\x00\x00\x00\x03\x01\x03\x00",  # no registers at all
        b"\x00\x01\x00\x00\x00\x05\x01\x04\x02\x00\x07",  # of another space
        b"\x00\x01\x00\x00\x00\x04\x01\x03\x09\x00",  # announces more than it holds
        b"",
    ]

    def serve() -> None:
        with socket.create_server(("127.0.0.1", port)) as server:
            server.settimeout(0.05)
            number = 0
            while not stop.is_set():
                try:
                    line, _ = server.accept()
                except TimeoutError:
                    continue
                with line:
                    line.settimeout(PATIENCE)
                    if line.recv(100):
                        line.sendall(answers[number % len(answers)])
                    number += 1

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        plant = ModbusPlant()
        plant.port = port
        source, _ = build(plant, {"a": "holding:0"}, "?every=10ms&timeout=0.3s", pace=None)
        opened(source)
        assert until(lambda: source.problems.get("reconnects", 0) > 6)
        batch = source.poll(0.0)
        assert np.isnan(batch.values).all()
    finally:
        stop.set()
        thread.join()


def test_a_watch_that_is_too_slow_is_told_what_it_missed(plant: ModbusPlant, opened: Any) -> None:
    """The queue is bounded, and what does not fit is counted."""
    hand = Hand()
    source = ModbusSource(
        parse_address(f"modbus://127.0.0.1:{plant.port}"),
        Wanted(("holding:0",), 1.0, limits=Limits(queue=3)),
        pace=hand,
    )
    opened(source)
    for _ in range(6):
        hand.poll()
    assert hand.waiting.acquire(timeout=PATIENCE)
    assert len(source.poll(0.0)) == 3
    assert source.problems == {"overflow": 3}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("modbus://host?unit=256", "unit is to be 0 to 255"),
        ("modbus://host?holes=-1", "holes is to be 0 or more"),
        ("modbus://host?word_order=middle", "one of big, little"),
        ("modbus:///path", "names no host"),
        ("modbus+rtu://", "names no serial line"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(url: str, said: str) -> None:
    """Before anything is connected."""
    with pytest.raises(SettingError, match=said):
        ModbusSource(parse_address(url), Wanted(("holding:0",), 1.0))


def test_other_mistakes_are_refused_at_once() -> None:
    """No time at all, unknown options, tags that are no registers, two for one signal."""
    for name in ("every", "timeout"):
        with pytest.raises(SettingError, match=f"{name} is to be longer than 0 s"):
            ModbusSource(parse_address("modbus://host", {name: 0}), Wanted(("holding:0",), 1.0))
    address = parse_address("modbus://host")
    with pytest.raises(UnknownNameError, match="option of modbus://"):
        ModbusSource(parse_address("modbus://host?speed=9"), Wanted(("holding:0",), 1.0))
    with pytest.raises(SettingError, match="is no Modbus register"):
        ModbusSource(address, Wanted(("a",), 1.0, tags=TagMap({"x": Tag("x", "a")})))
    both = TagMap({name: Tag(name, "a") for name in ("holding:0", "holding:1")})
    with pytest.raises(SettingError, match="has two registers"):
        ModbusSource(address, Wanted(("a",), 1.0, tags=both))
