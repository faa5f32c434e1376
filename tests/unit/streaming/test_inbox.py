"""The bounded queue, pauses between tries, and the loop in a thread."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest

from causewatch.streaming.background import BackgroundLoop
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.inbox import MOST_BYTES, Inbox
from causewatch.testing import until


def test_items_come_out_in_order() -> None:
    inbox: Inbox[int] = Inbox(10)
    for k in range(5):
        assert inbox.put(k)
    assert inbox.take(0.0, 3) == [0, 1, 2]
    assert inbox.take(0.0) == [3, 4]
    assert inbox.take(0.0) == []


def test_put_waits_while_it_is_full_and_says_so() -> None:
    inbox: Inbox[int] = Inbox(2)
    done = []

    def run() -> None:
        done.extend(k for k in range(6) if inbox.put(k))

    thread = threading.Thread(target=run)
    thread.start()
    assert until(lambda: inbox.waits == 1)
    assert len(inbox) == 2
    found: list[int] = []
    while len(found) < 6:
        found += inbox.take(1.0)
    thread.join()
    assert found == done == list(range(6))


def test_offer_leaves_out_and_counts() -> None:
    inbox: Inbox[int] = Inbox(2)
    assert [inbox.offer(k) for k in range(4)] == [True, True, False, False]
    assert inbox.turned_away == 2
    assert inbox.take(0.0) == [0, 1]


def test_whoever_asks_for_room_is_held_up_once() -> None:
    inbox: Inbox[int] = Inbox(2, spare=1)
    assert inbox.room() == 2
    for k in range(3):
        assert inbox.put(k)  # the third finds spare room
    assert [inbox.room() for _ in range(3)] == [0, 0, 0]
    assert inbox.waits == 1
    inbox.take(0.0, 2)
    assert inbox.room() == 1
    inbox.put(3)
    assert inbox.room() == 0
    assert inbox.waits == 2


def test_few_items_may_be_too_much() -> None:
    inbox: Inbox[int] = Inbox(100, size=lambda item: item)
    assert inbox.offer(MOST_BYTES - 1)
    assert inbox.offer(MOST_BYTES)  # one of any size finds room if there is any
    assert not inbox.offer(1)
    assert inbox.room() == 0
    assert (inbox.turned_away, inbox.waits) == (1, 1)
    assert len(inbox.take(0.0, 1)) == 1
    assert inbox.room() == 0
    inbox.take(0.0, 1)
    assert inbox.room() == 100
    inbox.offer(MOST_BYTES)
    inbox.clear()
    assert inbox.room() == 100


def test_closing_lets_nobody_wait() -> None:
    inbox: Inbox[int] = Inbox(1)
    inbox.put(1)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(inbox.put(2)))
    thread.start()
    assert until(lambda: inbox.waits == 1)
    inbox.close()
    thread.join()
    assert answers == [False]
    assert not inbox.offer(3)
    assert inbox.take(5.0) == [1]  # what was inside is not lost
    assert inbox.take(5.0) == []  # and nobody waits for more


def test_pauses_double_up_to_the_longest() -> None:
    pauses = Backoff(1.0, 8.0, random.Random(1))
    found = [pauses.next() for _ in range(6)]
    for pause, whole in zip(found, (1.0, 2.0, 4.0, 8.0, 8.0, 8.0), strict=True):
        assert whole / 2 <= pause <= whole
    pauses.reset()
    assert pauses.next() <= 1.0
    pauses.tries = 10_000  # years of trying must not overflow
    assert pauses.next() <= 8.0


def test_a_loop_in_a_thread_runs_and_ends() -> None:
    loop = BackgroundLoop("test")

    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    async def never() -> None:
        await asyncio.sleep(3600)

    assert loop.run(answer(), 5.0) == 42
    with pytest.raises(TimeoutError):
        loop.run(never(), 0.05)
    left = loop.start(never())
    loop.close()
    loop.close()
    assert left.cancelled()
