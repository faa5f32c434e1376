"""What happens to rows when the watch, the network or the broker goes away: on a real mosquitto."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from causewatch.streaming.address import parse_address
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.source import Limits, Wanted
from causewatch.streaming.sources.mqtt import MqttSource
from causewatch.testing import until
from causewatch.testing.waiting import PATIENCE
from services.mosquitto import Mosquitto, mosquitto, publisher
from services.mqtt_consumer import nursery
from services.proxy import proxy

COLUMNS = ("a", "b", "c")
TOPIC = "plant/rows"


def source_of(
    port: int, options: str = "", *, scheme: str = "mqtt", queue: int = 10_000, topic: str = TOPIC
) -> MqttSource:
    url = f"{scheme}://127.0.0.1:{port}/{topic}?{options or 'version=5'}"
    wanted = Wanted(COLUMNS, 1.0, limits=Limits(payload=100_000, queue=queue))
    return MqttSource(parse_address(url), wanted, backoff=Backoff(0.05, 0.05))


def opened(source: MqttSource, after: dict[str, Any] | None = None) -> MqttSource:
    source.open(after or {})
    assert until(lambda: source.status == "connected"), source.status
    return source


def messages(numbers: Sequence[int]) -> list[tuple[str, bytes]]:
    return [
        (TOPIC, json.dumps({"time": 1_767_225_600 + n, "a": n, "b": 0.5, "c": 1}).encode())
        for n in numbers
    ]


def polled(source: MqttSource, wait: float = 0.05) -> list[int]:
    return [row["a"] for row, _ in source.poll(wait).named]


def gathered(source: MqttSource, count: int, *, spare: float = 0.15) -> list[int]:
    """Rows until there are so many, with a checkpoint whenever the broker waits for one."""
    found: list[int] = []

    def more() -> bool:
        new = polled(source)
        found.extend(new)
        if not new and source.pressing:
            source.position()
            source.committed()
        return len(found) >= count

    until(more)
    end = time.monotonic() + spare
    while time.monotonic() < end:
        more()
    return found


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path, persistent=False) as running:
        yield running


def test_a_watch_killed_at_random_moments_loses_and_doubles_nothing(
    broker: Mosquitto, tmp_path: Path
) -> None:
    opened(source_of(broker.port)).close()  # the session is there before the first row
    chance, calm, sent = random.Random(5), threading.Event(), 0

    def publish() -> None:
        nonlocal sent
        with publisher(broker.port) as client:
            while not calm.is_set():
                for topic, payload in messages(range(sent, sent + 10)):
                    said = client.publish(topic, payload, qos=1)
                sent += 10
                time.sleep(0.01)
            said.wait_for_publish(PATIENCE)

    with nursery(f"mqtt://{broker.address}/{TOPIC}?version=5", tmp_path / "state") as watches:
        thread = threading.Thread(target=publish)
        thread.start()
        for _ in range(6):
            before, watch = watches.saved["rows"], watches.run()
            assert until(lambda before=before: watches.saved["rows"] > before)  # type: ignore[misc]
            time.sleep(chance.uniform(0.0, 0.15))
            watches.kill(watch)
        calm.set()
        thread.join(PATIENCE)
        watch = watches.run()
        assert until(lambda: watches.saved["rows"] >= sent)
        time.sleep(0.1)  # for more than there should be
        watches.kill(watch)
        assert watches.saved["rows"] == sent
        assert watches.saved["wrong"] == []


def test_killed_between_the_checkpoint_and_the_acknowledgements(broker: Mosquitto) -> None:
    source = opened(source_of(broker.port))
    broker.publish(messages(range(10)))
    first = polled(source, 5.0)
    assert until(lambda: first.extend(polled(source)) or len(first) == 10)  # type: ignore[func-returns-value]
    saved = json.loads(json.dumps(source.position()))
    source.close()
    again = opened(source_of(broker.port), saved)
    broker.publish(messages([10]))
    assert gathered(again, 1) == [10]
    assert again.problems["duplicates"] == 10
    assert until(lambda: polled(again, 0.01) == [] and again.position()["known"] == "")
    again.close()
    # Now the broker has the acknowledgements, and nothing comes again.
    third = opened(source_of(broker.port), again.position())
    broker.publish(messages([11]))
    assert gathered(third, 1) == [11]
    assert third.problems == {}
    third.close()


def test_the_position_stays_small(broker: Mosquitto) -> None:
    source = opened(source_of(broker.port))
    for start in range(0, 60, 20):
        broker.publish(messages(range(start, start + 20)))
        assert len(gathered(source, 20, spare=0.0)) == 20
        source.position()
        source.committed()
        assert until(lambda: polled(source, 0.01) == [] and source.position()["known"] == "")
    source.close()


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_network_cut(broker: Mosquitto, version: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with proxy(broker.port) as wire:
        source = opened(source_of(wire.port, f"version={version}"))
        broker.publish(messages(range(10)))
        found: list[int] = []
        assert until(lambda: found.extend(polled(source)) or len(found) == 10)  # type: ignore[func-returns-value]
        source.position()
        wire.requests = False  # the acknowledgements do not get through
        source.committed()
        broker.publish(messages(range(10, 20)))
        assert until(lambda: found.extend(polled(source)) or len(found) >= 15)  # type: ignore[func-returns-value]
        wire.cut()
        assert until(lambda: "trying again" in source.status)
        broker.publish(messages(range(20, 30)))
        wire.mend()
        found += gathered(source, 30 - len(found))
        assert found == list(range(30))
        assert source.problems["reconnects"] >= 1
        assert source.problems["duplicates"] >= 10
        source.close()
    lost = [one for one in caplog.records if "trying again" in one.getMessage()]
    back = [one for one in caplog.records if "connected again" in one.getMessage()]
    assert len(lost) == len(back) == 1  # once for each loss, however many tries


def test_a_network_that_says_nothing_is_noticed(broker: Mosquitto) -> None:
    with proxy(broker.port) as wire:
        source = opened(source_of(wire.port, "keepalive=1s"))
        wire.hold()
        assert until(lambda: "trying again" in source.status)
        wire.cut()
        broker.publish(messages(range(5)))
        wire.mend()
        assert gathered(source, 5) == list(range(5))
        source.close()


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_without_a_session_every_connection_subscribes(tmp_path: Path, version: str) -> None:
    with mosquitto(tmp_path, persistent=False) as broker:
        source = opened(source_of(broker.port, f"qos=0&version={version}"))
        broker.publish(messages([1]))
        assert gathered(source, 1, spare=0.0) == [1]
        for number in (2, 3):
            broker.kill()
            assert until(lambda: "trying again" in source.status)
            broker.start()
            assert until(lambda: source.status == "connected")
            broker.publish(messages([number]))
            assert gathered(source, 1) == [number]
        assert "session_lost" not in source.problems
        source.close()


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_cut_before_the_subscription_is_granted(
    broker: Mosquitto, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe, welcome = MqttSource._subscribe, threading.Event()
    with proxy(broker.port) as wire:

        def cut_off(source: MqttSource, client: Any, connection: Any) -> None:
            if not welcome.is_set():
                wire.requests = False
                welcome.set()
            subscribe(source, client, connection)

        monkeypatch.setattr(MqttSource, "_subscribe", cut_off)
        source = source_of(wire.port, f"version={version}")
        source.open({})
        assert welcome.wait(PATIENCE)
        assert source.status == "connecting"
        wire.cut()
        assert until(lambda: "trying again" in source.status)
        wire.mend()  # the broker has the session, and no subscription in it
        assert until(lambda: source.status == "connected")
        broker.publish(messages(range(3)))
        assert gathered(source, 3) == [0, 1, 2]
        assert "session_lost" not in source.problems
        source.close()


def test_a_subscription_that_the_session_has_is_not_made_again(broker: Mosquitto) -> None:
    broker.publish(messages([1]), retain=True)
    with proxy(broker.port) as wire:
        source = opened(source_of(wire.port, "version=3.1.1"))
        assert until(lambda: polled(source) == [] and source.problems.get("retained") == 1)
        wire.cut()
        assert until(lambda: "trying again" in source.status)
        wire.mend()
        assert until(lambda: source.status == "connected")
        broker.publish(messages([2]))
        assert gathered(source, 1) == [2]
        assert source.problems["retained"] == 1
        source.close()


def test_a_clean_restart_of_the_broker(tmp_path: Path) -> None:
    with mosquitto(tmp_path) as broker:
        source = opened(source_of(broker.port))
        broker.publish(messages(range(20)))
        found: list[int] = []
        assert until(lambda: found.extend(polled(source)) or len(found) == 20)  # type: ignore[func-returns-value]
        broker.stop()  # with all of them unacknowledged
        source.position()
        source.committed()
        broker.start()
        assert until(lambda: source.status == "connected")
        broker.publish(messages(range(20, 40)))
        found += gathered(source, 20)
        assert found == list(range(40))
        assert source.problems["duplicates"] == 20
        assert "session_lost" not in source.problems
        source.close()


def test_a_killed_broker_loses_rows_and_that_is_noticed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def counted(numbers: Sequence[int]) -> list[tuple[str, bytes]]:
        return [(TOPIC, json.dumps({"time": n, "a": n, "n": n}).encode()) for n in numbers]

    with mosquitto(tmp_path) as broker:
        source = opened(source_of(broker.port, "sequence=n"))
        broker.publish(counted(range(10)))
        found: list[int] = []
        assert until(lambda: found.extend(polled(source)) or len(found) == 10)  # type: ignore[func-returns-value]
        source.position()
        source.close()  # nobody is there when …
        broker.publish(counted(range(10, 25)))
        broker.kill()  # … the broker forgets
        broker.start()
        source = opened(source_of(broker.port, "sequence=n"), source.position())
        assert source.problems["session_lost"] == 1
        broker.publish(counted(range(25, 30)))
        assert gathered(source, 5) == list(range(25, 30))
        assert source.problems["lost_rows"] == 15
        source.close()
    assert "no longer knows the session" in caplog.text


def test_what_waits_is_kept_when_the_session_is_lost(tmp_path: Path) -> None:
    with mosquitto(tmp_path, persistent=False) as broker:
        source = opened(source_of(broker.port))
        broker.publish(messages(range(10)))
        assert until(lambda: len(source.inbox) == 10)
        broker.kill()
        broker.start()
        assert until(lambda: source.problems.get("session_lost") == 1)
        assert until(lambda: source.status == "connected")
        broker.publish(messages(range(10, 12)))
        assert gathered(source, 12) == list(range(12))
        source.close()


def test_a_small_window_is_no_deadlock(tmp_path: Path) -> None:
    with mosquitto(tmp_path, persistent=False) as broker:  # sends 20 at once in MQTT 3.1.1
        source = opened(source_of(broker.port, "version=3.1.1"))
        broker.publish(messages(range(50)))
        found: list[int] = []
        assert until(lambda: found.extend(polled(source)) or len(found) == 20)  # type: ignore[func-returns-value]
        assert source.pressing
        assert polled(source, 0.05) == []
        found += gathered(source, 30)
        assert found == list(range(50))
        assert not source.pressing
        source.close()


def test_messages_that_are_no_rows_are_pressing_too(broker: Mosquitto) -> None:
    source = opened(source_of(broker.port))
    broker.publish([(TOPIC, b"nonsense")])
    assert until(lambda: polled(source) == [] and source.pressing)
    source.committed()
    assert not source.pressing
    source.close()


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_full_inbox_stops_reading(broker: Mosquitto, version: str) -> None:
    options = f"keepalive=1s&version={version}"
    source = opened(source_of(broker.port, options, queue=5))
    broker.publish(messages(range(300)))
    # Nobody polls for longer than the broker waits for a sign of life.
    assert until(lambda: source.problems.get("hung_up", 0) >= 1)
    assert len(source.inbox) == 5
    assert source.inbox.waits >= 1
    assert gathered(source, 300) == list(range(300))
    source.close()


def test_it_closes_soon_while_the_inbox_is_full(broker: Mosquitto) -> None:
    source = opened(source_of(broker.port, queue=5))
    broker.publish(messages(range(50)))
    assert until(lambda: len(source.inbox) == 5)
    before = threading.active_count()
    source.close()  # which gives up waiting for a thread that does not end
    assert threading.active_count() < before


def test_a_broker_that_is_not_there(tmp_path: Path) -> None:
    with mosquitto(tmp_path, start=False) as broker:
        source = source_of(broker.port)
        source.open({})
        assert until(lambda: source.status == "trying again: connection refused")
        assert polled(source, 0.0) == []
        broker.start()
        assert until(lambda: source.status == "connected")
        source.close()
        assert source.status == "closed"


def test_two_watches_with_one_session(broker: Mosquitto, caplog: pytest.LogCaptureFixture) -> None:
    first, second = source_of(broker.port), source_of(broker.port)
    opened(first)
    second.open({})
    assert until(lambda: "give each its own with session=" in caplog.text)
    first.close()
    second.close()


def test_rows_of_quality_0(broker: Mosquitto, caplog: pytest.LogCaptureFixture) -> None:
    source = opened(source_of(broker.port))
    broker.publish(messages(range(3)), qos=0)
    assert gathered(source, 3) == [0, 1, 2]
    assert not source.pressing
    assert caplog.text.count("quality of service 0") == 1
    source.close()


def test_quality_0_counts_what_it_cannot_hold(broker: Mosquitto) -> None:
    source = opened(source_of(broker.port, "qos=0", queue=5))
    assert source.guarantee == "lost"
    broker.publish(messages(range(20)), qos=1)
    assert until(lambda: source.problems.get("overflow") == 15)
    assert gathered(source, 5) == [0, 1, 2, 3, 4]
    source.close()


def test_retained_rows_are_old_rows(broker: Mosquitto) -> None:
    broker.publish(messages([1]), retain=True)
    source = opened(source_of(broker.port))
    broker.publish(messages([2]))
    assert gathered(source, 1) == [2]
    assert source.problems["retained"] == 1
    source.close()


def test_another_topic_in_the_same_session(broker: Mosquitto) -> None:
    source = opened(source_of(broker.port, "session=line1"))
    source.close()
    source = opened(source_of(broker.port, "session=line1", topic="plant/other"), source.position())
    broker.publish([*messages([1]), ("plant/other", messages([2])[0][1])])
    assert gathered(source, 1) == [2]
    source.close()


def test_2000_rows_of_50_signals(broker: Mosquitto) -> None:
    columns = tuple(f"s{k}" for k in range(50))
    source = MqttSource(
        parse_address(f"mqtt://{broker.address}/{TOPIC}?sequence=n"), Wanted(columns, 1.0)
    )
    opened(source)
    rows = [
        (TOPIC, json.dumps({"time": n, "n": n} | {name: n + 0.25 for name in columns}).encode())
        for n in range(2000)
    ]
    broker.publish(rows)
    found: list[Any] = []

    def more() -> bool:
        found.extend(source.poll(0.05).named)
        source.position()
        source.committed()
        return len(found) >= 2000

    assert until(more)
    assert [when for _, when in found] == list(range(2000))
    assert found[7][0] == dict.fromkeys(columns, 7.25)
    assert source.problems == {}
    source.close()
