"""A courier brings every event once and in order, however its sink behaves."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from causewatch.streaming.backoff import Backoff
from causewatch.streaming.courier import Courier
from causewatch.streaming.sink import DeliveryError, Notice, Status
from causewatch.streaming.store.sqlite import MemoryStore
from causewatch.testing import MemorySink, example_event, until


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
    courier = Courier(sink, store, quick())
    courier.start()
    store.save(None, [example_event(k) for k in range(3)])
    courier.tell()
    assert until(lambda: courier.waiting == 0)
    store.save(None, [example_event(3)])
    courier.tell(Status("watch", score=0.5))
    courier.finish(5.0)
    courier.stop(5.0)
    assert numbers(sink) == [1, 2, 3, 4]
    assert sink.statuses[-1].score == 0.5


def test_a_new_sink_gets_what_happens_from_now_on(store: MemoryStore) -> None:
    store.save(None, [example_event(k) for k in range(3)])
    sink = MemorySink()
    courier = Courier(sink, store, quick())
    courier.start()
    store.save(None, [example_event(3)])
    courier.finish(5.0)
    courier.stop(5.0)
    assert numbers(sink) == [4]


def test_a_sink_that_was_down_gets_the_rest_later(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    sink = MemorySink()
    sink.down = True
    courier = Courier(sink, store, quick())
    courier.start()
    store.save(None, [example_event(k) for k in range(300)])
    courier.tell()
    assert until(lambda: courier.errors > 3)
    with caplog.at_level(logging.WARNING):
        courier.finish(0.1)
        courier.stop(5.0)
    assert courier.waiting == 300
    assert "300 events are not delivered to memory;" in caplog.text
    later = MemorySink()  # of the next run
    courier = Courier(later, store, quick())
    courier.start()
    courier.finish(5.0)
    courier.stop(5.0)
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
    courier = Courier(sink, store, quick())
    courier._deliver = lambda: 0.0  # type: ignore[method-assign]  # nobody else looks
    courier.start()
    looks = store.looks
    assert courier.waiting == 4
    store.save(None, [example_event(5)])
    assert courier.waiting == 5
    assert store.looks == looks
    courier.stop(5.0)
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
    courier = Courier(sink, store, quick())
    courier.start()
    for k in range(200):
        store.save(None, [example_event(k)])
        courier.tell()
    assert until(lambda: courier.waiting == 0)
    courier.finish(5.0)
    courier.stop(5.0)
    assert numbers(sink) == list(range(1, 201))
    assert courier.errors


def test_trouble_is_said_once(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    sink = MemorySink()
    sink.down = True
    courier = Courier(sink, store, quick())
    with caplog.at_level(logging.INFO):
        courier.start()
        store.save(None, [example_event(1)])
        courier.tell()
        until(lambda: courier.errors > 5)
        sink.down = False
        assert until(lambda: courier.waiting == 0)
        courier.finish(5.0)
    courier.stop(5.0)
    said = [record.message for record in caplog.records]
    assert len([one for one in said if "Trying again" in one]) == 1
    assert "memory takes events again." in said
