"""NATS source and sink on a real nats-server: what happens to servers, streams and connections."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import shutil
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from causewatch.errors import SettingError
from causewatch.streaming import nats_client
from causewatch.streaming.address import parse_address
from causewatch.streaming.sink import DeliveryError, Notice
from causewatch.streaming.sinks.nats import NatsSink
from causewatch.streaming.source import Limits, Wanted
from causewatch.streaming.sources import nats_pull
from causewatch.streaming.sources.nats import NatsSource
from causewatch.streaming.store.sqlite import MemoryStore
from causewatch.streaming.tags import Tag, TagMap
from causewatch.testing import example_event, until
from causewatch.testing.waiting import PATIENCE
from services.certificates import make_certificates
from services.nats import NatsServer, nats_server
from services.proxy import proxy


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as found:
        yield found


def rows(numbers: Sequence[int], subject: str = "plant") -> list[tuple[str, bytes]]:
    return [(subject, json.dumps({"time": k, "a": k}).encode()) for k in numbers]


def source_of(where: NatsServer | int, path: str = "plant", **limits: int) -> NatsSource:
    port = where if isinstance(where, int) else where.port
    address = parse_address(f"nats://127.0.0.1:{port}/{path}")
    return NatsSource(address, Wanted(("a",), 1.0, limits=Limits(**limits)))


class Reader:
    """A source, and the numbers of the rows that came out of it."""

    def __init__(self, source: NatsSource, after: dict[str, Any] | None = None) -> None:
        self.source = source
        self.numbers: list[int] = []
        source.open(after or {})

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def poll(self, wait: float = 0.02) -> None:
        self.numbers += [int(row["a"]) for row, _ in self.source.poll(wait).named]

    def until(self, count: int) -> list[int]:
        assert until(lambda: self.poll() or len(self.numbers) >= count), self.source.status
        self.poll()  # more than that is an error, too
        return self.numbers

    def says(self, word: str) -> bool:
        return until(lambda: self.poll() or word in self.source.status)

    def saved(self) -> dict[str, Any]:
        return dict(json.loads(json.dumps(self.source.position())))


def test_a_server_killed_in_mid_stream_costs_no_row_and_doubles_none(server: NatsServer) -> None:
    server.add_stream("PLANT", ["plant"])
    count, kills = 1000, 3
    plant = threading.Thread(target=_send_whatever_happens, args=(server, count))
    plant.start()
    try:
        with Reader(source_of(server)) as reader:
            for turn in range(kills):
                reader.until((turn + 1) * count // (kills + 2))
                server.kill()
                assert reader.says("trying again")
                server.start()
                assert reader.says("connected")
            assert reader.until(count) == list(range(count))
            assert reader.source.problems == {"reconnects": kills}
    finally:
        plant.join(PATIENCE)


def _send_whatever_happens(server: NatsServer, count: int) -> None:
    """Send rows one after the other, each until the server has acknowledged it."""
    import nats

    async def ignore(error: Exception) -> None:
        pass

    async def work() -> None:
        sent = 0
        while sent < count:
            try:
                client = await nats.connect(
                    f"nats://{server.address}",
                    allow_reconnect=False,
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    error_cb=ignore,
                )
                jetstream = client.jetstream(timeout=1.0)
                while sent < count:
                    ((subject, data),) = rows([sent])
                    # The server knows by it what it has, if it was killed before it could say so.
                    await jetstream.publish(subject, data, headers={"Nats-Msg-Id": str(sent)})
                    sent += 1
                await client.close()
            except (nats.errors.Error, OSError):
                await client.close()
                await asyncio.sleep(0.02)

    asyncio.run(work())


def test_a_server_that_is_away_at_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with nats_server(tmp_path, start=False) as server, caplog.at_level(logging.INFO):
        with Reader(source_of(server)) as reader:
            assert reader.says("trying again: Connect call failed")
            assert reader.saved() == {}
            server.start()
            assert reader.says("there is no stream with the subject plant yet")
            server.add_stream("PLANT", ["plant"])
            server.publish(rows(range(3)))
            assert reader.until(3) == [0, 1, 2]
            assert reader.source.status == "connected"
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]  # once each


def test_a_connection_that_is_cut_or_silent(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nats_pull, "HEARTBEAT", 0.2)
    monkeypatch.setattr(nats_client, "PATIENCE", 1.0)
    server.add_stream("PLANT", ["plant"])
    with proxy(server.port) as between, Reader(source_of(between.port)) as reader:
        server.publish(rows(range(10)))
        reader.until(10)
        between.cut()
        assert reader.says("trying again")
        server.publish(rows(range(10, 20)))
        between.mend()
        reader.until(20)
        between.hold()  # nobody closes the connection, nothing comes through
        server.publish(rows(range(20, 30)))
        assert reader.says("trying again")
        between.mend()
        assert until(lambda: reader.source.problems == {"reconnects": 2})
        assert reader.until(30) == list(range(30))


def test_killed_at_any_moment_it_goes_on_from_the_last_checkpoint(server: NatsServer) -> None:
    server.add_stream("PLANT", ["plant"])
    chance = random.Random(3)
    saved: dict[str, Any] = {}
    kept: list[int] = []  # rows that are in a checkpoint
    abandoned: list[NatsSource] = []
    for turn in range(8):
        server.publish(rows(range(10 * turn, 10 * turn + 10)))
        reader = Reader(source_of(server), saved)
        abandoned.append(reader.source)
        assert until(lambda reader=reader: reader.poll() or bool(reader.numbers))
        if chance.random() < 0.6:
            kept += reader.numbers
            saved = reader.saved()
            reader.source.committed()
        reader.poll()
    try:
        with Reader(source_of(server), saved) as reader:
            kept += reader.until(80 - len(kept))
        assert kept == list(range(80))
    finally:
        for source in abandoned:
            source.close()


def test_the_first_run_may_begin_with_new_rows(server: NatsServer) -> None:
    server.add_stream("PLANT", ["plant"])
    server.publish(rows(range(5)))
    with Reader(source_of(server, "plant?start=new")) as reader:
        assert reader.says("connected")
        reader.poll()
        saved = reader.saved()
        assert saved["sequence"] == 5  # known before any row has come
    server.publish(rows(range(5, 8)))
    with Reader(source_of(server, "plant?start=new"), saved) as reader:
        assert reader.until(3) == [5, 6, 7]


def test_rows_that_a_stream_has_dropped_unread_are_counted(server: NatsServer) -> None:
    server.add_stream("PLANT", ["plant"], max_msgs=5)
    server.publish(rows(range(5)))
    with Reader(source_of(server)) as reader:
        reader.until(5)
        saved = reader.saved()
    server.publish(rows(range(5, 17)))  # of which the stream keeps five
    with Reader(source_of(server), saved) as reader:
        assert reader.until(5) == [12, 13, 14, 15, 16]
        assert reader.source.problems == {"lost_rows": 7}


def test_messages_of_others_are_no_lost_rows(server: NatsServer) -> None:
    server.add_stream("ALL", ["plant", "other"])
    for k in range(4):
        server.publish([*rows([k]), ("other", b"x"), ("other", b"x")])
    with Reader(source_of(server)) as reader:
        assert reader.until(4) == [0, 1, 2, 3]
        assert reader.source.problems == {}
        saved = reader.saved()
    server.publish([("other", b"x")] * 5 + rows([4]))
    with Reader(source_of(server, "plant?stream=ALL"), saved) as reader:
        assert reader.until(1) == [4]
        assert reader.source.problems == {}


def test_a_stream_shared_with_others_may_have_dropped_rows(server: NatsServer) -> None:
    server.add_stream("ALL", ["plant", "other"], max_msgs=4)
    server.publish(rows(range(2)))
    with Reader(source_of(server)) as reader:
        reader.until(2)
        saved = reader.saved()
    server.publish([*rows(range(2, 5)), *([("other", b"x")] * 3), *rows([5])])
    with Reader(source_of(server), saved) as reader:
        assert reader.until(1) == [5]
        assert reader.source.problems == {"perhaps_lost_rows": 3}


@pytest.mark.parametrize("count", [2, 9])
def test_a_stream_made_anew_is_read_from_its_start(server: NatsServer, count: int) -> None:
    server.add_stream("PLANT", ["plant"])
    server.publish(rows(range(5)))
    with Reader(source_of(server)) as reader:
        reader.until(5)
        saved = reader.saved()
        server.delete_stream("PLANT")
        server.add_stream("PLANT", ["plant"])
        server.publish(rows(range(100, 100 + count)))
        # The reader finds out by itself, and so does a later run.
        assert reader.until(5 + count)[5:] == list(range(100, 100 + count))
        assert reader.source.problems["stream_reset"] == 1
    with Reader(source_of(server), saved) as reader:
        assert reader.until(count) == list(range(100, 100 + count))
        assert reader.source.problems == {"stream_reset": 1}


@pytest.mark.parametrize("count", [2, 8])
def test_a_server_that_lost_its_latest_messages(tmp_path: Path, count: int) -> None:
    """As after a power cut: sequence numbers come again, with other rows."""
    store, copy = tmp_path / "store", tmp_path / "copy"
    store.mkdir()
    with nats_server(store) as server:
        server.add_stream("PLANT", ["plant"])
        server.publish(rows(range(4)))
        server.stop()
        shutil.copytree(store, copy)
        server.start()
        server.publish(rows(range(4, 9)))
        with Reader(source_of(server)) as reader:
            reader.until(9)
            saved = reader.saved()
        server.kill()
        shutil.rmtree(store / "jetstream")
        shutil.copytree(copy / "jetstream", store / "jetstream")
        server.start()
        server.publish(rows(range(9, 9 + count)))
        with Reader(source_of(server), saved) as reader:
            assert reader.until(count) == list(range(9, 9 + count))
            assert reader.source.problems["stream_reset"] == 1
            saved = reader.saved()
        server.publish(rows([50]))
        with Reader(source_of(server), saved) as reader:
            assert reader.until(1) == [50]
            assert reader.source.problems == {}


def test_a_slow_watch_holds_the_connector_back(server: NatsServer) -> None:
    server.add_stream("PLANT", ["plant"])
    server.publish(rows(range(2000)))
    source = source_of(server, queue=50)
    with Reader(source) as reader:
        assert until(lambda: len(source.inbox) >= 50)
        for _ in range(20):
            assert len(source.inbox) <= 51  # and the word where the stream begins
            reader.poll()
        assert source.inbox.waits >= 1
        assert reader.until(2000) == list(range(2000))
        assert reader.source.problems == {}


def test_large_messages_come_through_in_smaller_requests(server: NatsServer) -> None:
    server.add_stream("PLANT", ["plant"])
    filling = "x" * 900_000
    server.publish(
        [("plant", json.dumps({"time": k, "a": k, "b": filling}).encode()) for k in range(24)]
    )
    with Reader(source_of(server)) as reader:  # 22 MB, and 18 MB are asked for at once
        assert reader.until(24) == list(range(24))
    with Reader(source_of(server, payload=100_000)) as reader:
        assert until(lambda: reader.poll() or reader.source.problems == {"too_large": 24})


def test_requests_without_answer_are_made_again(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nats_pull, "EXPIRES", 0.2)
    monkeypatch.setattr(nats_pull, "HEARTBEAT", 0.1)
    server.add_stream("PLANT", ["plant"])
    with Reader(source_of(server)) as reader:
        for k in range(3):
            reader.poll(0.3)
            server.publish(rows([k]))
        assert reader.until(3) == [0, 1, 2]
        assert reader.source.problems == {}


def test_a_trickle_of_rows_is_no_silence(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nats_pull, "HEARTBEAT", 0.4)
    server.add_stream("PLANT", ["plant"])

    async def work(client: Any, js: Any) -> None:
        for k in range(30):
            await js.publish(*rows([k])[0])
            await asyncio.sleep(0.08)  # so often that the server sees no need to say anything

    with Reader(source_of(server)) as reader:
        assert reader.says("connected")
        server.do(work)
        assert reader.until(30) == list(range(30))
        assert reader.source.problems == {}


def test_an_address_may_ask_for_more_than_the_stream_has(server: NatsServer) -> None:
    server.add_stream("PLANT", ["plant.rows"])
    server.publish(rows(range(3), "plant.rows"))
    with Reader(source_of(server, "plant.>")) as reader:
        assert reader.until(3) == [0, 1, 2]


def test_tags_are_what_subjects_end_with(server: NatsServer) -> None:
    server.add_stream("PLANT", ["line1.>"])
    begin = 1_767_225_600
    tags = TagMap({"pump.speed": Tag("pump.speed", "a", factor=0.5)})
    server.publish(
        [
            (f"line1.{tag}", json.dumps({"value": k, "timestamp": begin + k}).encode())
            for k in range(5)
            for tag in ("pump.speed", "pump.noise")
        ]
    )
    address = parse_address(f"nats://{server.address}/line1.>?format=tags&every=2s")
    source = NatsSource(address, Wanted(("a",), 1.0, tags=tags))
    source.open({})
    found: list[tuple[int, float]] = []

    def read() -> bool:
        batch = source.poll(0.02)
        found.extend(zip(batch.times.tolist(), batch.values[:, 0].tolist(), strict=True))
        return len(found) >= 2 and source.problems.get("unknown_tags") == 5

    try:
        assert until(read)
        assert found[:2] == [(begin * 10**9, 0.0), ((begin + 2) * 10**9, 1.0)]
        assert source.clock == "utc"
    finally:
        source.close()


def test_users_passwords_and_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIGHT", "s3cret")
    monkeypatch.setenv("WRONG", "guess")
    config = 'authorization { user: "me", password: "s3cret" }'
    with nats_server(tmp_path, config) as server:
        login = {"user": "me", "password": "s3cret"}

        async def work(client: Any, js: Any) -> None:
            await js.add_stream(name="PLANT", subjects=["plant"])
            await js.publish("plant", rows([7])[0][1])

        server.do(work, **login)
        with Reader(source_of(server, "plant?user=me&password_env=RIGHT")) as reader:
            assert reader.until(1) == [7]
        with Reader(source_of(server, "plant?user=me&password_env=WRONG")) as reader:
            assert reader.says("trying again: Authorization Violation")
    with nats_server(tmp_path, 'authorization { token: "s3cret" }') as server:
        (tmp_path / "token").write_text("s3cret\n")
        path = f"plant?token_file={tmp_path / 'token'}"
        with Reader(source_of(server, path)) as reader:
            assert reader.until(1) == [7]
    with pytest.raises(SettingError, match="'ABSENT', which is not set"):
        source_of(1, "plant?token_env=ABSENT").open({})


def test_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = make_certificates(tmp_path)
    config = (
        f'tls {{ cert_file: "{files.cert}", key_file: "{files.key}", ca_file: "{files.ca}",'
        " verify: true }"
    )
    mine = f"cert={files.client_cert}&key={files.client_key}"
    with nats_server(tmp_path, config) as server:
        for ca, word in ((files.ca, "there is no stream"), (files.stranger, "not trusted")):
            address = parse_address(f"tls://{server.address}/plant?ca={ca}&{mine}")
            source = NatsSource(address, Wanted(("a",), 1.0))
            with Reader(source) as reader:
                assert reader.says(word), source.status
    absent = parse_address(f"tls://127.0.0.1:1/plant?ca={tmp_path / 'absent.pem'}")
    with pytest.raises(SettingError, match=r"absent\.pem"):
        NatsSource(absent, Wanted(("a",), 1.0)).open({})


@pytest.mark.parametrize(("scheme", "tells"), [("tls", False), ("nats", True)])
def test_a_server_without_tls_gets_no_password_if_tls_was_asked_for(
    scheme: str, tells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORD", "s3cret")
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        url = f"{scheme}://127.0.0.1:{port}/plant?user=me&password_env=WORD"
        with Reader(NatsSource(parse_address(url), Wanted(("a",), 1.0))) as reader:
            taken, _ = stranger.accept()
            with taken:
                taken.settimeout(PATIENCE)
                taken.sendall(b'INFO {"auth_required": true, "max_payload": 1048576}\r\n')
                heard = b""
                while b"PING" not in heard and (more := taken.recv(4096)):
                    heard += more
            assert reader.says("trying again" if tells else "the server does not offer TLS")
    assert (b"s3cret" in heard) is tells


@contextmanager
def _sink(server: NatsServer, path: str) -> Iterator[NatsSink]:
    sink = NatsSink(parse_address(f"nats://{server.address}/{path}"))
    sink.open(None)
    try:
        yield sink
    finally:
        sink.close()


def test_repeated_events_are_left_out_by_the_server(server: NatsServer) -> None:
    server.add_stream("ALARMS", ["alarms.>"])
    notices = [Notice(k, "line 1", example_event(k)) for k in (1, 2)]
    with _sink(server, "alarms.line1?stream=ALARMS") as sink:
        sink.send(notices)
        sink.send(notices)
    assert [json.loads(data)["id"][-1] for data in server.messages("ALARMS")] == ["1", "2"]


def test_events_of_another_watch_are_no_repetitions(server: NatsServer) -> None:
    """Nor are those of one that was started anew, without a state or with a new one."""
    server.add_stream("ALARMS", ["alarms.>"])
    with _sink(server, "alarms.line1") as sink:
        for k in (1, 2):
            with closing(MemoryStore("watch")) as store:
                store.save(None, [example_event(k)])
                for _ in range(2):
                    sink.send(store.notices(0))
    assert [json.loads(data)["id"][-1] for data in server.messages("ALARMS")] == ["1", "2"]


def test_events_that_no_stream_takes_are_not_delivered(server: NatsServer) -> None:
    notices = [Notice(1, "line 1", example_event(1))]
    with _sink(server, "alarms") as sink:
        with pytest.raises(DeliveryError, match="did not take an event") as caught:
            sink.send(notices)
        assert caught.value.sent == 0
        server.add_stream("ALARMS", ["alarms"])
        sink.send(notices)
    with _sink(server, "alarms?stream=OTHER") as sink, pytest.raises(DeliveryError):
        sink.send([Notice(2, "line 1", example_event(2))])
    assert len(server.messages("ALARMS")) == 1


def test_plain_events_reach_those_who_listen(server: NatsServer) -> None:
    async def work(client: Any, js: Any) -> list[Any]:
        listening = await client.subscribe("alarms")
        await client.flush()
        await asyncio.to_thread(send)
        return [await listening.next_msg(PATIENCE) for _ in range(2)]

    def send() -> None:
        with _sink(server, "alarms?plain=true&format=json") as sink:
            sink.send([Notice(k, "line 1", example_event(k), "a5") for k in (1, 2)])

    found = server.do(work)
    assert [json.loads(message.data)["id"][-1] for message in found] == ["1", "2"]
    assert found[0].headers == {"Nats-Msg-Id": "line 1/a5/1-ae51d93a"}


def test_a_server_killed_between_events(server: NatsServer) -> None:
    server.add_stream("ALARMS", ["alarms"])
    with _sink(server, "alarms?timeout=2s") as sink:
        sink.send([Notice(1, "line 1", example_event(1))])
        server.kill()
        with pytest.raises(DeliveryError):
            sink.send([Notice(2, "line 1", example_event(2))])
        server.start()
        sink.send([Notice(2, "line 1", example_event(2))])
    assert len(server.messages("ALARMS")) == 2


@pytest.mark.parametrize(
    "url",
    ["nats://host", "nats://host/a..b", "nats://host/a b", "nats://host/>.a", "nats:///plant"],
)
def test_an_address_names_a_subject(url: str) -> None:
    with pytest.raises(SettingError, match="names no subject"):
        NatsSource(parse_address(url), Wanted(("a",), 1.0))


def test_events_go_to_one_subject() -> None:
    with pytest.raises(SettingError, match="stands for several"):
        NatsSink(parse_address("nats://host/alarms.*"))
