"""A courier brings every event once and in order, however its sink behaves."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from causewatch.streaming import courier as couriers
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.courier import Courier
from causewatch.streaming.outbox import Outbox
from causewatch.streaming.sink import DeliveryError, Notice, Status
from causewatch.streaming.store.base import Retention
from causewatch.streaming.store.sqlite import MemoryStore
from causewatch.testing import MemorySink, example_event, until
from causewatch.testing.waiting import PATIENCE


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    made = MemoryStore()
    yield made
    made.close()


def quick() -> Backoff:
    return Backoff(0.001, 0.002, random.Random(1))


def numbers(sink: MemorySink) -> list[int]:
    return [notice.number for notice in sink.notices]


def test_events_reach_the_sink(store: MemoryStore) -> None:
    sink = MemorySink()
    courier = Courier(sink, Outbox(store), quick())
    courier.start()
    store.save(None, [example_event(k) for k in range(3)])
    courier.tell()
    assert until(lambda: courier.waiting == 0)
    store.save(None, [example_event(3)])
    courier.tell(Status("watch", score=0.5))
    courier.finish(PATIENCE)
    courier.stop(PATIENCE)
    assert numbers(sink) == [1, 2, 3, 4]
    assert sink.statuses[-1].score == 0.5


def test_a_new_sink_gets_what_happens_from_now_on(store: MemoryStore) -> None:
    store.save(None, [example_event(k) for k in range(3)])
    sink = MemorySink()
    courier = Courier(sink, Outbox(store), quick())
    courier.start()
    store.save(None, [example_event(3)])
    courier.finish(PATIENCE)
    courier.stop(PATIENCE)
    assert numbers(sink) == [4]


def test_a_sink_that_was_down_gets_the_rest_later(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    sink = MemorySink()
    sink.down = True
    courier = Courier(sink, Outbox(store), quick())
    courier.start()
    store.save(None, [example_event(k) for k in range(300)])
    courier.tell()
    assert until(lambda: courier.errors > 3)
    with caplog.at_level(logging.WARNING):
        courier.finish(0.1)
        courier.stop(PATIENCE)
    assert courier.waiting == 300
    assert "300 events are not delivered to memory;" in caplog.text
    later = MemorySink()  # of the next run
    courier = Courier(later, Outbox(store), quick())
    courier.start()
    courier.finish(PATIENCE)
    courier.stop(PATIENCE)
    assert numbers(later) == list(range(1, 301))


class Counted(MemoryStore):
    """Counts how often it is looked at."""

    looks = 0

    def _read(self, *args: Any) -> Any:
        self.looks += 1
        return super()._read(*args)


def test_how_many_wait_is_known_without_a_look_at_the_store() -> None:
    """It is asked for all the time, also while a server is away that keeps the store."""
    store, sink = Counted(), MemorySink()
    store.deliver(sink.name, 1)
    store.save(None, [example_event(k) for k in range(5)])
    courier = Courier(sink, Outbox(store), quick())
    courier._deliver = lambda: 0.0  # type: ignore[method-assign]  # nobody else looks
    courier.start()
    looks = store.looks
    assert courier.waiting == 4
    store.save(None, [example_event(5)])
    assert courier.waiting == 5
    assert store.looks == looks
    courier.stop(PATIENCE)
    store.close()


class Moody(MemorySink):
    """Takes some of what it is given, and raises things that no sink should."""

    def __init__(self) -> None:
        super().__init__("moody")
        self.chance = random.Random(7)

    def send(self, notices: Sequence[Notice]) -> Any:
        mood = self.chance.random()
        if mood < 0.3:
            taken = self.chance.randrange(len(notices))
            self.notices += notices[:taken]
            reason = "Enough for now."
            raise DeliveryError(reason, taken)
        if mood < 0.5:
            raise ZeroDivisionError
        self.notices += notices
        return None


def test_partial_deliveries_and_wild_errors_neither_lose_nor_double(store: MemoryStore) -> None:
    sink = Moody()
    courier = Courier(sink, Outbox(store), quick())
    courier.start()
    for k in range(200):
        store.save(None, [example_event(k)])
        courier.tell()
    assert until(lambda: courier.waiting == 0)
    courier.finish(PATIENCE)
    courier.stop(PATIENCE)
    assert numbers(sink) == list(range(1, 201))
    assert courier.errors


def test_trouble_is_said_once(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    sink = MemorySink()
    sink.down = True
    courier = Courier(sink, Outbox(store), quick())
    with caplog.at_level(logging.INFO):
        courier.start()
        store.save(None, [example_event(1)])
        courier.tell()
        assert until(lambda: courier.errors > 5)
        sink.down = False
        assert until(lambda: courier.waiting == 0)
        courier.finish(PATIENCE)
    courier.stop(PATIENCE)
    said = [record.message for record in caplog.records]
    assert len([one for one in said if "Trying again" in one]) == 1
    assert "memory takes events again." in said


class Slow(MemorySink):
    """Takes a few events in each call."""

    def __init__(self, most: int = 3) -> None:
        super().__init__("slow")
        self.most = most

    def send(self, notices: Sequence[Notice]) -> Any:
        self.notices += notices[: self.most]
        if len(notices) > self.most:
            reason = "slow is slow; the rest goes next."
            raise DeliveryError(reason, self.most)


def test_a_slow_sink_that_works_is_not_made_to_wait(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    sink = Slow()
    courier = Courier(sink, Outbox(store), Backoff(3600.0, 3600.0))
    courier.start()
    store.save(None, [example_event(k) for k in range(100)])
    courier.tell()
    assert until(lambda: courier.waiting == 0)
    assert numbers(sink) == list(range(1, 101))
    assert (courier.errors, courier.trouble) == (0, "")
    store.save(None, [example_event(k) for k in range(100)])
    courier.finish(PATIENCE)  # with all of the patience that there is
    courier.stop(PATIENCE)
    assert courier.waiting == 0
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


class Tired(MemorySink):
    """Takes one event, and then none in the next call."""

    rests = True

    def send(self, notices: Sequence[Notice]) -> Any:
        self.rests = not self.rests
        if not self.rests:
            self.notices += notices[:1]
        if self.rests or len(notices) > 1:
            reason = "Not now."
            raise DeliveryError(reason, int(not self.rests))


def test_pauses_begin_anew_with_whatever_was_delivered(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    backoff, pauses = Backoff(0.001, 3600.0, random.Random(1)), []
    plain = backoff.next

    def noted() -> float:
        pauses.append(plain())
        return pauses[-1]

    backoff.next = noted  # type: ignore[method-assign]
    sink = Tired()
    courier = Courier(sink, Outbox(store), backoff)
    courier.start()
    store.save(None, [example_event(k) for k in range(40)])
    with caplog.at_level(logging.INFO):
        courier.finish(PATIENCE)  # also if it rests just now
        courier.stop(PATIENCE)
    assert numbers(sink) == list(range(1, 41))
    assert len(pauses) == 39
    assert max(pauses) <= 0.001
    assert len([one for one in caplog.messages if "Trying again" in one]) == 1
    assert "memory takes events again." in caplog.messages


class Looked(Outbox):
    """Says when it was found that nothing is left to deliver."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.empty = threading.Event()

    def notices(self, after: int, most: int = 256) -> list[Notice]:
        found = super().notices(after, most)
        if not found:
            self.empty.set()
        return found


class Sluggish(threading.Event):
    """What it says was true a moment ago."""

    def is_set(self) -> bool:
        found = super().is_set()
        time.sleep(0.1)
        return found


def test_what_comes_in_the_last_moment_is_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A courier that has just seen that nothing is left must not say so when there is again."""
    slow = SimpleNamespace(
        Event=Sluggish, Thread=threading.Thread, Condition=threading.Condition, Lock=threading.Lock
    )
    monkeypatch.setattr(couriers, "threading", slow)
    store, sink = MemoryStore(), MemorySink()
    outbox = Looked(store)
    courier = Courier(sink, outbox, quick())
    courier.start()
    for k in range(3):
        outbox.empty.clear()
        courier.tell()
        assert outbox.empty.wait(PATIENCE)
        store.save(None, [example_event(k)])
        courier.finish(PATIENCE)
        assert courier.waiting == 0
    courier.stop(PATIENCE)
    assert numbers(sink) == [1, 2, 3]
    store.close()


def test_events_forgotten_before_they_were_delivered_are_counted(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A sink that stays away does not make the memory grow, and what that costs is known."""
    monkeypatch.setattr(MemoryStore, "_most_waiting", 10)
    sink = MemorySink()
    sink.down = True
    courier = Courier(sink, Outbox(store), quick())
    courier.start()
    assert courier.problems == {"forgotten": 0}
    on, over = example_event(1), [example_event(5 * k + 4) for k in range(29)]
    store.save(None, [on, *over])  # 1 is of an alarm that is on
    assert courier.waiting == 30
    courier.tell()
    assert until(lambda: courier.errors > 0)
    assert store.forget(Retention(events=10), 0.0) == 19
    assert until(lambda: courier.forgotten == 19 or courier.tell())
    assert courier.waiting == 11
    sink.down = False
    courier.finish(PATIENCE)
    assert courier.waiting == 0
    assert courier.problems == {"forgotten": 19}
    store.save(None, [example_event(2)])
    courier.finish(PATIENCE)
    courier.stop(PATIENCE)
    assert numbers(sink) == [1, *range(21, 32)]
    assert courier.problems == {"forgotten": 19}
    assert "19 events were forgotten before memory could take them." in caplog.messages
