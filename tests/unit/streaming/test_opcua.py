"""The OPC UA source without a server: values, clocks, names of nodes, options."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import SettingError, UnknownNameError
from causewatch.streaming.address import parse_address
from causewatch.streaming.opcua_security import quiet
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.opcua import OpcuaSource
from causewatch.streaming.sources.opcua_nodes import is_node_id, path_of
from causewatch.streaming.sources.opcua_options import OpcuaOptions, pace_of
from causewatch.streaming.sources.opcua_subscription import Subscription
from causewatch.streaming.sources.opcua_values import (
    Began,
    Ended,
    Message,
    Pace,
    PlantClock,
    Value,
    nanoseconds,
    read_value,
)
from causewatch.streaming.tags import Tag, TagMap
from causewatch.streaming.tls import is_loopback
from causewatch.testing import until

pytest.importorskip("asyncua", reason="asyncua is not installed")

SECOND = 1_000_000_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOW_NS = int(NOW.timestamp()) * SECOND
PACE = Pace(1.0, 0.5, 1.0, 4.0, 100, 60 * SECOND, by_source=True)
URL = "opc.tcp://127.0.0.1:4840/"


def told(value: Any, status: int | None = 0, source: Any = NOW, server: Any = NOW) -> Any:
    """What asyncua gives for a value."""
    return SimpleNamespace(
        Value=None if value is ... else SimpleNamespace(Value=value),
        StatusCode=None if status is None else SimpleNamespace(value=status),
        SourceTimestamp=source,
        ServerTimestamp=server,
    )


@pytest.mark.parametrize(
    ("value", "status", "wanted", "kinds"),
    [
        (2.5, 0, 2.5, ()),
        (2.5, None, 2.5, ()),
        (True, 0, 1.0, ()),
        (7, 0, 7.0, ()),
        (2.5, 0x40920000, 2.5, ("uncertain",)),
        (2.5, 0x80000000, None, ("bad_status",)),
        (2.5, 0xC0000000, None, ("bad_status",)),
        (2.5, 0x00000480, 2.5, ("overflow",)),
        (2.5, 0x80000480, None, ("overflow", "bad_status")),
        (2.5, 0x00000080, 2.5, ()),
        ("2.5", 0, None, ("bad_values",)),
        ([2.5], 0, None, ("bad_values",)),
        (math.inf, 0, None, ("bad_values",)),
        (1.5e308, 0, None, ("bad_values",)),
        (None, 0, None, ("bad_values",)),
        (..., 0, None, ("bad_values",)),
    ],
)
def test_status_codes(value: Any, status: int | None, wanted: Any, kinds: tuple[str, ...]) -> None:
    """What counts is a number; all else is missing and counted."""
    counts = Counter[str]()
    found = read_value(
        Tag("t", "s", factor=2.0, offset=1.0), told(value, status), 0, False, PACE, counts
    )
    if wanted is None:
        assert math.isnan(found.value)
    else:
        assert found.value == 2.0 * wanted + 1.0
    assert counts == Counter(kinds)
    assert (found.time, found.timed) == (NOW_NS, True)


@pytest.mark.parametrize(
    ("source", "server", "wanted", "kinds"),
    [
        (None, NOW, NOW_NS, ("no_source_time",)),
        (datetime(1601, 1, 1, tzinfo=UTC), NOW, NOW_NS, ("no_source_time",)),
        (None, None, 5, ("no_source_time",)),
        (NOW + timedelta(hours=1), NOW, NOW_NS, ("bad_times",)),
        (NOW + timedelta(seconds=59), NOW, NOW_NS + 59 * SECOND, ()),
        (NOW - timedelta(days=9), NOW, NOW_NS - 9 * 86_400 * SECOND, ()),
        (NOW.replace(tzinfo=None), None, NOW_NS, ("bad_times",)),
    ],
)
def test_times(source: Any, server: Any, wanted: int, kinds: tuple[str, ...]) -> None:
    """The source's timestamp, else the server's, else when it was published."""
    counts = Counter[str]()
    found = read_value(Tag("t", "s"), told(1.0, 0, source, server), 5, False, PACE, counts)
    if server is None and source is not None:
        wanted = 5
    assert found.time == wanted
    assert found.timed == (not kinds)
    assert counts == Counter(kinds)


def test_the_servers_times_if_wanted() -> None:
    """Then nothing is wrong with the sources'."""
    pace = Pace(1.0, 0.5, 1.0, 4.0, 100, 60 * SECOND, by_source=False)
    counts = Counter[str]()
    for source in (None, NOW - timedelta(days=9), NOW + timedelta(days=9)):
        found = read_value(Tag("t", "s"), told(1.0, 0, source), 0, False, pace, counts)
        assert (found.time, found.timed) == (NOW_NS, False)
    assert not counts


@given(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.text(),
        st.binary(),
    ),
    st.integers(0, 2**32 - 1),
    st.one_of(st.none(), st.text(), st.datetimes(), st.datetimes(timezones=st.just(UTC))),
)
def test_any_value_is_read(value: Any, status: int, source: Any) -> None:
    """Whatever a server says is a number or missing."""
    found = read_value(Tag("t", "s"), told(value, status, source), 0, False, PACE, Counter())
    assert math.isnan(found.value) or math.isfinite(found.value)
    assert isinstance(found.time, int)


def test_times_are_exact() -> None:
    """To the microsecond, which a float could not hold."""
    moment = datetime(2026, 1, 1, 0, 0, 0, 123457, tzinfo=UTC)
    assert nanoseconds(moment) == NOW_NS + 123_457_000
    assert nanoseconds(moment.replace(tzinfo=None)) == NOW_NS + 123_457_000
    assert nanoseconds(datetime(1601, 1, 1)) is None


def change(signal: str, time: float, server: float, value: float = 0.0) -> Value:
    return Value(signal, value, round(time * SECOND), round(server * SECOND), True, False)


def test_the_plants_time_waits_for_the_slowest() -> None:
    """The lag rises at once and falls slowly; a clock that is far off is not waited for."""
    clock = PlantClock()
    assert clock.at(0) is None
    clock.saw(change("a", 99.5, 100.0))
    clock.saw(change("b", 98.0, 100.0))
    assert clock.at(101 * SECOND) == 99 * SECOND
    clock.saw(change("c", -1e6, 100.0))
    assert clock.at(101 * SECOND) == 99 * SECOND
    clock.saw(change("b", 102.0, 102.0))
    assert clock.lag is not None
    assert 1.8 * SECOND < clock.lag < 2.0 * SECOND
    for _ in range(200):
        clock.saw(change("b", 102.0, 102.0))
    assert clock.lag == SECOND // 2
    assert PlantClock(7).at(10) == 3
    assert PlantClock(7).at(None) is None


@pytest.fixture
def source() -> Iterator[OpcuaSource]:
    """One that talks to nobody; a test says what its server said."""
    found = OpcuaSource(parse_address(URL, {"late": 1}), Wanted(("a", "b"), 1.0))
    yield found
    found.close()


def say(source: OpcuaSource, *items: Began | Ended | Message) -> list[tuple[int, tuple[Any, ...]]]:
    for item in items:
        source.inbox.put(item)
    batch = source.poll(0.0)
    return [
        (int(time) // SECOND, tuple(None if math.isnan(v) else v for v in row))
        for time, row in zip(batch.times, batch.values.tolist(), strict=True)
    ]


def first(signal: str, value: float, time: float | None, server: float) -> Value:
    at = round((server if time is None else time) * SECOND)
    return Value(signal, value, at, round(server * SECOND), time is not None, True)


def message(server: float, *values: Value, more: bool = False) -> Message:
    return Message(list(values), round(server * SECOND), more, {})


def test_rows_of_a_session(source: OpcuaSource) -> None:
    """They begin with the first change, hold what did not change, and end with the session."""
    assert not say(source, Began(), message(1000, first("a", 1.0, 500, 1000)))
    assert not say(source, message(1001))  # nothing tells yet which time it is in the plant
    assert not say(source, message(1002, change("b", 1000, 1002, 5.0)))  # two seconds behind
    assert say(source, message(1005)) == [(1000, (1.0, 5.0)), (1001, (1.0, 5.0))]
    assert say(source, Ended()) == [(1002, (1.0, 5.0)), (1003, (1.0, 5.0))]
    # A later session begins at once, since it is known how far the plant is behind.
    new = [first("a", 2.0, 1050, 1102), first("b", 5.0, None, 1102)]
    assert not say(source, Began(), message(1102, *new))
    assert say(source, message(1104)) == [(1100, (2.0, 5.0))]


def test_rows_are_never_given_twice(source: OpcuaSource) -> None:
    """Neither after a restart nor if the plant's clock went back meanwhile."""
    say(source, Began(), message(1000, change("a", 1000, 1000, 1.0)))
    assert say(source, message(1003)) == [(1000, (1.0, None)), (1001, (1.0, None))]
    saved = source.position()
    later = OpcuaSource(parse_address(URL, {"late": 1}), Wanted(("a", "b"), 1.0))
    later._assembler.restore(saved["assembler"])
    later._plant, later._given = PlantClock(saved["lag"]), saved["given"]
    again = say(later, Began(), message(900, first("a", 1.0, 1000, 900)))
    assert again == [(1002, (1.0, None)), (1003, (1.0, None))]
    rows = say(later, message(1005, change("a", 1005, 1005, 2.0)), message(1007))
    assert rows[0][0] == 1004
    assert later.problems["late_rows"] > 0
    later.close()


def test_messages_that_belong_together(source: OpcuaSource) -> None:
    """A server that has more to say may say older values last."""
    say(source, Began(), message(1000, change("a", 1000, 1000, 1.0), change("b", 1000, 1000, 1.0)))
    ahead = [change("a", 1000 + k, 1009, float(k)) for k in range(1, 9)]
    behind = [change("b", 1000 + k, 1009, float(k)) for k in range(1, 9)]
    assert not say(source, message(1009, *ahead, more=True))
    rows = say(source, message(1009, *behind))
    assert rows[1:] == [(1000 + k, (float(k), float(k))) for k in range(1, len(rows))]
    assert len(rows) > 5
    assert not source.problems


def test_a_clock_of_1970_does_not_move_the_rows(source: OpcuaSource) -> None:
    """Its values count all the same."""
    base = 1_800_000_000
    rows = say(
        source,
        Began(),
        message(base, change("a", 5, base, 1.0), change("b", base, base, 2.0)),
        message(base + 1, change("a", 6, base + 1, 3.0), change("b", base + 1, base + 1, 4.0)),
        message(base + 3),
    )
    assert rows == [(base, (3.0, 2.0)), (base + 1, (3.0, 4.0))]
    assert not source.problems


def test_a_connection_lost_between_two_messages_that_belong_together(source: OpcuaSource) -> None:
    """What has come of them is not thrown away."""
    say(source, Began(), message(1000, change("a", 1000, 1000, 1.0), change("b", 1000, 1000, 1.0)))
    assert not say(source, message(1003, change("a", 1002, 1003, 2.0), more=True))
    rows = say(source, Ended())
    assert rows == [(1000, (1.0, 1.0)), (1001, (1.0, 1.0)), (1002, (2.0, 1.0))]


def test_messages_that_never_came_are_counted() -> None:
    """A server numbers its messages; an empty one has the number of the next."""
    subscription = Subscription(SimpleNamespace(), None)  # type: ignore[arg-type]
    counts = Counter[str]()
    for number, filled in ((1, False), (1, True), (2, True), (3, False), (3, True)):
        subscription._count_lost(number, filled, counts)
    assert not counts
    subscription._count_lost(6, True, counts)  # 4 and 5 could not be read
    subscription._count_lost(9, False, counts)  # nor could 7 and 8
    assert counts == {"lost_messages": 4}
    subscription._number = 0xFFFFFFFF
    for number in (0xFFFFFFFF, 1, 2):
        subscription._count_lost(number, True, counts)
    assert counts == {"lost_messages": 4}


def test_what_the_library_itself_says_is_no_message() -> None:
    """It has the time of this computer, which must not move the plant's on."""
    given: list[Any] = []

    async def hand_over(message: Any, first: bool) -> None:
        given.append(message)

    link = SimpleNamespace(hand_over=hand_over, pace=PACE)
    subscription = Subscription(link, None)  # type: ignore[arg-type]
    for number in (0, 1):
        note = SimpleNamespace(SequenceNumber=number, PublishTime=NOW, NotificationData=[])
        told = SimpleNamespace(NotificationMessage=note, MoreNotifications=False)
        asyncio.run(subscription._on_message(told))
    assert given == [Message([], NOW_NS, False, {})]
    assert subscription._over == "the connection was lost"


def test_names_of_nodes() -> None:
    """Node ids and browse paths are told apart."""
    for tag in ("ns=2;s=LIT101", "i=2258", "nsu=urn:plant;s=a;b=c", "ns=1;g=0-0", "s=x/y"):
        assert is_node_id(tag)
    for tag in ("2:Plant/2:LIT101", "LIT101", "ns=x;s=a"):
        assert not is_node_id(tag)
    assert path_of("2:Plant/3:LIT101.PV") == [(2, "Plant"), (3, "LIT101.PV")]
    assert path_of("/2:A&/B/C:D") == [(2, "A/B"), (0, "C:D")]
    with pytest.raises(SettingError, match="browse path"):
        path_of("2:Plant//2:LIT101")


def test_how_often() -> None:
    """Defaults follow from the interval of the rows."""
    for every, publishing in ((0.01, 0.1), (0.5, 0.5), (60.0, 1.0)):
        pace = pace_of(OpcuaOptions(), every)
        assert pace.publishing == publishing
        assert pace.sampling <= every / 2
        assert 0.1 <= pace.keep_alive <= 5.0
        assert pace.queue >= 100
    given = OpcuaOptions(publishing=2.0, sampling=0.0, queue=7)  # type: ignore[arg-type]
    assert (pace_of(given, 1.0).publishing, pace_of(given, 1.0).sampling) == (2.0, 0.0)
    assert pace_of(given, 1.0).queue == 7


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    """They are refused at once, with what to do instead."""
    wanted = Wanted(("a",), 1.0)
    file = tmp_path / "a.pem"
    file.write_text("x")
    safe = {"security": "Basic256Sha256", "cert": str(file), "key": str(file)}
    for options, match in (
        ({"security": "Basic128Rsa15,Sign"}, "policy"),
        ({"security": "Basic256Sha256"}, "cert=FILE"),
        ({**safe, "key": "/nowhere"}, "no file"),
        (safe, "server_cert"),
        ({**safe, "server_cert": "/nowhere"}, "no file"),
        ({"user_cert": str(file)}, "user_key"),
        ({"user_cert": str(file), "user_key": str(file)}, "protected"),
        ({"root": "a//b"}, "browse path"),
        ({"timeout": 0}, "more than nothing"),
        ({"depth": 0}, "depth"),
        ({"queue": -1}, "queue"),
        ({"every": 0}, "time between two rows"),
        ({"password_env": "NOT_SET_ANYWHERE"}, "not set"),
    ):
        with pytest.raises(SettingError, match=match):
            OpcuaSource(parse_address(URL, options), wanted)
    with pytest.raises(UnknownNameError, match="publishing"):
        OpcuaSource(parse_address(URL, {"publshing": 1}), wanted)
    with pytest.raises(SettingError, match="host"):
        OpcuaSource(parse_address("opc.tcp:///plant"), wanted)
    with pytest.raises(SettingError, match="none of the model's signals"):
        OpcuaSource(parse_address(URL), Wanted(("a",), 1.0, tags=TagMap({"i=1": Tag("i=1", "b")})))
    with pytest.raises(SettingError, match="browse path"):
        OpcuaSource(parse_address(URL), Wanted(("a",), 1.0, tags=TagMap({"": Tag("", "a")})))


def test_a_server_that_is_not_there_is_tried_again() -> None:
    """Opening does not fail, and the status says why there are no rows."""
    source = OpcuaSource(parse_address("opc.tcp://127.0.0.1:9/"), Wanted(("a",), 1.0))
    source.open({})
    try:
        assert until(lambda: source.status == "trying again: connection refused")
        assert not len(source.poll(0.01))
        assert source.missing == ()
    finally:
        source.close()
    assert source.ended


def test_the_librarys_chatter_is_not_printed() -> None:
    """Unless somebody has asked for it."""
    chatter = logging.getLogger("asyncua")
    level, handlers = chatter.level, chatter.handlers[:]
    try:
        chatter.setLevel(logging.NOTSET)
        quiet()
        assert not logging.getLogger("asyncua.client.client").isEnabledFor(logging.CRITICAL)
        assert chatter.handlers
        chatter.setLevel(logging.INFO)
        quiet()
        assert chatter.level == logging.INFO
    finally:
        chatter.setLevel(level)
        chatter.handlers[:] = handlers


def test_loopback() -> None:
    """Only this computer reaches these."""
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "plc.example")))
