"""The OPC UA source against a real server: the contract, and what goes wrong in plants."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.services.opcua import URI, Plant, certificate, plant
from tests.services.proxy import proxy

from causewatch.errors import StreamError
from causewatch.streaming.address import parse_address
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.opcua_security import MODES, POLICIES
from causewatch.streaming.source import Limits, Wanted
from causewatch.streaming.sources import opcua_subscription
from causewatch.streaming.sources.opcua import OpcuaSource
from causewatch.streaming.tags import Tag, TagMap
from causewatch.testing import SourceContract, collect, until
from causewatch.testing.sources import Row

NAMES = ("a", "b", "c", *(f"T{number:02}" for number in range(50)))
ABC = ("a", "b", "c")
FAST: Mapping[str, Any] = {"publishing": 0.05, "every": 0.1, "keep_alive": 0.1, "timeout": 2.0}


@pytest.fixture(scope="module")
def shared() -> Iterator[Plant]:
    with plant(NAMES) as found:
        yield found


@pytest.fixture
def site(shared: Plant) -> Plant:
    """A plant of which no value is known yet."""
    for name in ABC:
        shared.write(name, None, None, status=0x80320000)
    return shared


def opened(source: OpcuaSource, after: Mapping[str, Any] | None = None) -> OpcuaSource:
    source.open(after or {})
    assert until(lambda: not len(source.poll(0.01)) and "connected" in source.status)
    return source


def source_of(
    site: Plant, columns: Sequence[str] = ABC, *, port: int | None = None, **options: Any
) -> OpcuaSource:
    url = site.url.replace(str(site.port), str(port or site.port))
    tags = TagMap({site.tag(name): Tag(site.tag(name), name) for name in columns})
    wanted = Wanted(tuple(columns), 0.1, tags=tags)
    quick = Backoff(0.05, 0.2)
    return OpcuaSource(parse_address(url, {**FAST, **options}), wanted, quick)


def rows_until(source: OpcuaSource, columns: Sequence[str], done: Any) -> list[Row]:
    """Rows until one of them satisfies `done`."""
    found: list[Row] = []

    def enough() -> bool:
        new = collect(source, columns, 1, patience=0.05)
        found.extend(new)
        return any(done(row) for row in new)

    assert until(enough), (source.status, source.problems, found[-3:])
    return found


class Rig:
    """Three variables of a server; the time of the plant is not that of this computer."""

    columns = ABC
    behind = 2
    whole = False

    def __init__(self, site: Plant) -> None:
        self.site = site
        self._last = datetime(2026, 1, 1, tzinfo=UTC)

    def source(self) -> OpcuaSource:
        tags = TagMap({f"nsu={URI};s={name}": Tag(f"nsu={URI};s={name}", name) for name in ABC})
        # Rows of a second come far faster than that, so silence must not move the time on.
        options = {"publishing": 0.05, "keep_alive": 60, "ahead": "10000d"}
        return OpcuaSource(parse_address(self.site.url, options), Wanted(ABC, 1.0, tags=tags))

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        self.site.send(rows, times)
        self._last = times[-1]

    def nonsense(self) -> int:
        for number, value in enumerate(("no number", [1.0, 2.0], None, b"\x00", float("inf"))):
            self.site.write("b", value, self._last + timedelta(milliseconds=100 + number))
        return 5

    def finish(self) -> None:
        pass


class TestOpcuaSource(SourceContract):
    """The server sends what changes."""

    @pytest.fixture
    def rig(self, site: Plant) -> Rig:
        return Rig(site)


def test_fifty_tags_at_ten_hertz(site: Plant) -> None:
    """None is lost, and each is in the row of its time."""
    columns, seconds = NAMES[3:], 4
    source = opened(source_of(site, columns))
    start = datetime.now(UTC).replace(microsecond=0)
    try:
        ticking = threading.Thread(target=site.tick, args=(10.0, seconds, start, columns))
        ticking.start()
        found = rows_until(source, columns, lambda row: row[1][0] == 10 * seconds - 1)
        ticking.join()
    finally:
        source.close()
    first = round(start.timestamp()) * 1_000_000_000
    rows = {time: values for time, values in found}
    for number in range(10 * seconds):
        wanted = tuple(number + place / 1000 for place in range(50))
        assert rows[first + number * 100_000_000] == wanted
    assert set(source.problems) <= {"bad_status", "uncertain"}


def test_status_codes_and_odd_values(site: Plant) -> None:
    """Good and uncertain values count, bad ones are missing; all is counted."""
    source = opened(source_of(site, keep_alive=60, ahead="1min"))
    now = datetime.now(UTC).replace(microsecond=0)
    at = [now + timedelta(milliseconds=100 * k) for k in range(12)]
    try:
        # The values as they stand, none of which is known, may come after the connection.
        assert until(lambda: not len(source.poll(0.01)) and source.problems["bad_status"] == 3)
        site.send([{"a": 0.0, "b": 0.0, "c": 0.0}], at[:1])
        site.write("a", 1.0, at[1], status=0x40920000)  # uncertain
        site.write("b", True, at[1])
        site.write("c", 7, at[1])
        site.write("a", 2.0, at[2], status=0x80000000)  # bad
        site.write("b", 2.0, at[2], status=0x00000480)  # good, after others that were lost
        site.write("c", "seven", at[2])
        site.write("a", 3.0, at[3])
        site.write("b", float("nan"), at[3])
        site.write("c", [1.0, 2.0], at[3])
        site.write("a", 4.0, None, server_time=at[4])
        site.write("b", 4.0, at[4] + timedelta(hours=2), server_time=at[4])
        site.write("c", 4.0, at[4])
        site.send([{"a": 5.0, "b": 5.0, "c": 5.0}, {"a": 6.0, "b": 6.0, "c": 6.0}], at[5:7])
        site.send([{"a": 7.0, "b": 7.0, "c": 7.0}], at[8:9])
        found = rows_until(source, ABC, lambda row: row[1] == (6.0, 6.0, 6.0))
    finally:
        source.close()
    nan = float("nan")
    wanted = [(0, 0, 0), (1, 1, 7), (nan, 2, nan), (3, nan, nan), (4, 4, 4), (5, 5, 5), (6, 6, 6)]
    np.testing.assert_array_equal([row for _, row in found], wanted)
    said = source.problems
    assert said["bad_status"] == 3 + 1
    assert {k: said[k] for k in ("uncertain", "overflow", "bad_values", "no_source_time")} == {
        "uncertain": 1,
        "overflow": 1,
        "bad_values": 3,
        "no_source_time": 1,
    }
    assert said["bad_times"] == 1
    assert source.missing == ()


def test_a_quiet_plant_still_gives_rows_in_its_own_time(site: Plant) -> None:
    """The server's clock moves rows on, less what the plant's clock is behind it."""
    source = opened(source_of(site))
    try:
        behind = datetime.now(UTC) - timedelta(hours=5)
        site.send([{"a": 1.0, "b": 2.0, "c": 3.0}], [behind])
        found = collect(source, ABC, 12)
    finally:
        source.close()
    assert len(found) >= 12
    assert {values for _, values in found} == {(1.0, 2.0, 3.0)}
    assert np.all(np.diff([time for time, _ in found]) == 100_000_000)
    assert abs(found[0][0] / 1e9 - behind.timestamp()) < 0.2


def test_old_values_do_not_make_old_rows(site: Plant) -> None:
    """Values as they stand may be days old; rows begin when something changes."""
    now = datetime.now(UTC)
    days = [now - timedelta(days=3), now - timedelta(days=2)]
    site.send([{"a": 1.0, "b": 1.0}], days[:1])
    site.send([{"c": 1.0}], days[1:])
    source = opened(source_of(site))
    try:
        assert not collect(source, ABC, 1, patience=0.5)
        now = datetime.now(UTC)
        site.write("a", 2.0, now)
        found = collect(source, ABC, 3)
    finally:
        source.close()
    assert found[0][1] == (2.0, 1.0, 1.0)
    assert 0 <= found[0][0] / 1e9 - now.timestamp() < 0.2


def test_a_dead_network_is_a_gap(site: Plant) -> None:
    """Nobody says that the connection is dead; it is noticed, and made anew."""
    with proxy(site.port) as network:
        source = opened(source_of(site, port=network.port, timeout=1.0))
        try:
            site.send([{"a": 1.0, "b": 1.0, "c": 1.0}], [datetime.now(UTC)])
            before = rows_until(source, ABC, lambda row: row[1] == (1.0, 1.0, 1.0))
            network.hold()
            assert until(lambda: len(source.poll(0.01)) == 0 and "trying" in source.status)
            site.write("a", 2.0, datetime.now(UTC))
            network.mend()
            after = rows_until(source, ABC, lambda row: row[1] == (2.0, 1.0, 1.0))
        finally:
            source.close()
    assert source.problems["reconnects"] >= 1
    steps = np.diff([time for time, _ in before + after])
    assert np.all(steps > 0)
    assert steps.max() > 500_000_000  # rows of that time are not made up


def test_it_goes_on_later_without_repeating_rows(site: Plant) -> None:
    """After a restart of the watch rows begin with the values as they stand, at once."""
    source = opened(source_of(site))
    site.send([{"a": 1.0, "b": 1.0, "c": 1.0}], [datetime.now(UTC)])
    first = collect(source, ABC, 5)
    saved = source.position()
    collect(source, ABC, 3)
    source.close()
    assert not len(source.poll(0.0))
    source = opened(source_of(site), saved)
    try:
        second = collect(source, ABC, 10)
    finally:
        source.close()
    assert {values for _, values in second} == {(1.0, 1.0, 1.0)}
    assert np.all(np.diff([time for time, _ in first + second]) > 0)


def test_a_slow_watch_leaves_values_with_the_server(site: Plant) -> None:
    """Nothing is lost while the server's queues can hold it."""
    tags = TagMap({site.tag(name): Tag(site.tag(name), name) for name in ABC})
    wanted = Wanted(ABC, 0.1, tags=tags, limits=Limits(queue=6))
    address = parse_address(site.url, {**FAST, "queue": 500, "keep_alive": 60})
    source = opened(OpcuaSource(address, wanted))
    start = datetime.now(UTC).replace(microsecond=0)
    try:
        for number in range(40):
            row = dict.fromkeys(ABC, float(number))
            site.send([row], [start + timedelta(milliseconds=100 * number)])
        assert until(lambda: source._channel.taken - source._channel.given >= 6)
        site.send([dict.fromkeys(ABC, 40.0)], [start + timedelta(seconds=4)])
        assert until(lambda: source.inbox.waits >= 1)  # this one is held up
        found = collect(source, ABC, 38)
    finally:
        source.close()
    assert [values[0] for _, values in found] == [float(k) for k in range(len(found))]


def test_variables_are_found_by_their_names(site: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a tag map the server is browsed; what comes later is found later."""
    monkeypatch.setattr(opcua_subscription, "AGAIN", 0.2)
    columns = ("T07", f"new{site.port}", "nowhere")
    address = parse_address(site.url, {**FAST, "root": f"{site.index}:Plant"})
    source = opened(OpcuaSource(address, Wanted(columns, 0.1)))
    try:
        assert source.missing == columns[1:]
        assert source.problems["unknown_tags"] == 2
        assert source.status == "connected; 2 of 3 tags are not there"
        site.add(columns[1])
        assert until(lambda: source.missing == ("nowhere",))
        now = datetime.now(UTC)
        site.write("T07", 70.0, now)
        site.write(columns[1], 71.0, now)
        rows_until(source, columns, lambda row: row[1][:2] == (70.0, 71.0))
    finally:
        source.close()


def test_browse_paths_and_units(site: Plant) -> None:
    """A tag may be a path; its unit is not the model's."""
    path = f"{site.index}:Plant/{site.index}:a"
    tags = TagMap(
        {path: Tag(path, "level", factor=0.001, offset=1.0), "i=2258": Tag("i=2258", "b")}
    )
    source = opened(OpcuaSource(parse_address(site.url, FAST), Wanted(("level",), 0.1, tags=tags)))
    try:
        site.write("a", 2500.0, datetime.now(UTC))
        rows_until(source, ("level",), lambda row: row[1] == (3.5,))
    finally:
        source.close()
    assert source.missing == ()


def test_a_server_without_the_tags_is_tried_again(site: Plant) -> None:
    """It may still be starting; the status says what is the matter."""
    for options in ({}, {"root": "9:Nowhere"}):
        address = parse_address(site.url, {**FAST, **options})
        source = OpcuaSource(address, Wanted(("nowhere",), 0.1), Backoff(0.05, 0.1))
        source.open({})
        try:
            assert until(lambda s=source: "the server has no" in s.status)
            assert source.problems.get("reconnects", 0) == 0
        finally:
            source.close()


def test_a_server_that_starts_anew(shared: Plant) -> None:
    """Rows go on with the next server, whatever number its namespace has now."""
    tag = f"nsu={URI};s=a"
    wanted = Wanted(("a",), 0.1, tags=TagMap({tag: Tag(tag, "a")}))
    source = OpcuaSource(parse_address(shared.url, FAST), wanted, Backoff(0.05, 0.2))
    source = opened(source)
    try:
        shared.write("a", 1.0, datetime.now(UTC))
        before = rows_until(source, ("a",), lambda row: row[1] == (1.0,))
        shared.stop()
        assert until(lambda: not len(source.poll(0.01)) and "trying" in source.status)
        shared.extra += 1
        shared.start()
        assert until(lambda: not len(source.poll(0.01)) and source.status == "connected")
        shared.write("a", 2.0, datetime.now(UTC))
        after = rows_until(source, ("a",), lambda row: row[1] == (2.0,))
    finally:
        source.close()
    assert source.problems["reconnects"] == 1
    assert np.all(np.diff([time for time, _ in before + after]) > 0)
    assert not [values for _, values in after if values == (1.0,)]


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plant, dict[str, str]]]:
    """A plant that wants protected messages, and the files to talk to it."""
    pytest.importorskip("asyncua", reason="asyncua is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    cert, key = certificate(folder, "server", "urn:causewatch:test:server")
    own, own_key = certificate(folder, "watch", "urn:causewatch:test:watch")
    files = {"cert": str(own), "key": str(own_key), "server_cert": str(cert)}
    with plant(ABC, cert=cert, key=key) as found:
        yield found, files


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_way_to_protect_messages(
    protected: tuple[Plant, dict[str, str]], policy: str, mode: str
) -> None:
    """Rows come, and the server sees the policy and the mode that were asked for."""
    site, files = protected
    source = opened(source_of(site, security=f"{policy},{mode}", **files))
    try:
        assert site.protection == [(policy, mode)]
        now = datetime.now(UTC)
        value = now.timestamp()  # another one each time: only what changes is sent
        site.send([dict.fromkeys(ABC, value)], [now])
        rows_until(source, ABC, lambda row: row[1] == (value, value, value))
    finally:
        source.close()


def test_certificates_and_passwords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Encrypted, with a user's password or certificate; everybody else is turned away."""
    cert, key = certificate(tmp_path, "server", "urn:causewatch:test:server")
    own, own_key = certificate(tmp_path, "watch", "urn:causewatch:test:watch")
    user_cert, user_key = certificate(tmp_path, "user", "urn:causewatch:test:user")
    other, _ = certificate(tmp_path, "other", "urn:causewatch:test:server")
    monkeypatch.setenv("PLANT_PASSWORD", "open sesame")
    monkeypatch.setenv("WRONG_PASSWORD", "open barley")
    safe = {
        "security": "Basic256Sha256,SignAndEncrypt",
        "cert": str(own),
        "key": str(own_key),
        "server_cert": str(cert),
    }
    password = {"user": "watch", "password_env": "PLANT_PASSWORD"}
    with plant(
        ABC, user="watch", password="open sesame", cert=cert, key=key, user_cert=user_cert
    ) as site:
        by_cert = {"user_cert": str(user_cert), "user_key": str(user_key)}
        unknown = {"server_cert": "", "any_server": True}
        ways = (safe | password, safe | by_cert, safe | password | unknown)
        for number, options in enumerate(ways):
            source = opened(source_of(site, **options))
            try:
                site.send([dict.fromkeys(ABC, float(number))], [datetime.now(UTC)])
                rows_until(source, ABC, lambda row, n=number: row[1] == (n, n, n))
                assert "sesame" not in f"{source.name} {source.status} {source.position()}"
            finally:
                source.close()
        wrong = {"user": "watch", "password_env": "WRONG_PASSWORD"}
        for options in (
            safe | wrong,
            safe,
            password,
            safe | password | {"server_cert": str(other)},
        ):
            source = source_of(site, **options)
            source.open({})
            try:
                assert until(lambda s=source: "trying again" in s.status), options
                assert "barley" not in source.status
            finally:
                source.close()
    broken = tmp_path / "broken.der"
    broken.write_bytes(b"nonsense")
    source = source_of(site, **(safe | {"cert": str(broken)}))
    with pytest.raises(StreamError, match="certificate"):
        source.open({})
