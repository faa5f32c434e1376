"""Several processes with one store: killed in the middle, looking on, asking at the same time."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time

import pytest

from causewatch.testing.waiting import PATIENCE
from services.postgres import running_postgres
from stores import (
    PROCESSES,
    FilePlace,
    ServerPlace,
    ask_often,
    checkpoint,
    look_often,
    save_often,
    take_and_hang,
    whole,
    worker,
)


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with running_postgres() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", "secret")
        yield running


@pytest.fixture(params=["file", "server"])
def place(request, tmp_path):
    if request.param == "file":
        return FilePlace(tmp_path / "state")
    return ServerPlace(request.getfixturevalue("server").socket_url)


def counter():
    """A number that processes share; without a lock, which a killed one would keep."""
    return PROCESSES.RawValue("i", 0)


def wait_for(saves, many, process):
    until = time.monotonic() + PATIENCE
    while saves.value < many:
        assert process.exitcode is None
        assert time.monotonic() < until
        time.sleep(0.0005)


def killed(place, chance, steps=None):
    """Let a process save until it is killed, after at least one save unless it ends itself."""
    saves = counter()
    process = worker(save_often, place, chance.randrange(1000), steps, saves)
    if steps is None:
        wait_for(saves, chance.randrange(1, 5), process)
        time.sleep(chance.uniform(0.0, 0.01))
        os.kill(process.pid, signal.SIGKILL)
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL
    process.close()


def looked_through(place):
    """Number of the last save, after a look at everything."""
    store = place.store()
    with store.lock():
        number = whole(store)
    store.close()
    if isinstance(place, FilePlace):
        connection = sqlite3.connect(place.folder / "watch.db")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
    return number


def test_a_kill_at_any_moment_leaves_state_and_events_that_belong_together(place):
    chance, numbers = random.Random(7), [0]
    for _ in range(10):
        killed(place, chance)
        numbers.append(looked_through(place))
    assert numbers == sorted(set(numbers))  # each of them has got further


def test_a_kill_within_a_write_leaves_state_and_events_that_belong_together(tmp_path):
    place, chance, numbers = FilePlace(tmp_path), random.Random(8), [0]
    for _ in range(20):
        killed(place, chance, steps=chance.randrange(1, 3000))
        numbers.append(looked_through(place))
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 5
    assert len(set(numbers)) < 21  # and some were killed within their first save


def test_looking_on_while_a_watch_saves(place):
    saves, done, looks = counter(), PROCESSES.Event(), PROCESSES.Value("i", 0)
    writer = worker(save_often, place, 1, None, saves)
    wait_for(saves, 1, writer)
    readers = [worker(look_often, place, done, looks) for _ in range(2)]
    until = time.monotonic() + PATIENCE
    while looks.value < 40:
        assert time.monotonic() < until
        assert all(one.exitcode is None for one in (writer, *readers))
        time.sleep(0.01)
    done.set()
    for one in readers:
        one.join(PATIENCE)
        assert one.exitcode == 0
    os.kill(writer.pid, signal.SIGKILL)
    writer.join(PATIENCE)
    assert looked_through(place) > 1
    if isinstance(place, FilePlace):
        assert sum(one.stat().st_size for one in place.folder.iterdir()) < 12 << 20


def test_many_ask_at_the_same_time(place):
    store = place.store()
    right, times, people = PROCESSES.Value("i", 0), 9, 3
    with store.lock():
        store.save(checkpoint(0), [])
        asking = [worker(ask_often, place, me, times, right) for me in range(people)]
        answered = saves = 0
        until = time.monotonic() + PATIENCE
        while any(one.is_alive() for one in asking):
            assert time.monotonic() < until
            answers = {
                one.number: {"events": [one.action["from"], one.action["time"]]}
                for one in store.asked()
            }
            answered += len(answers)
            saves += 1
            store.save(checkpoint(saves), [], answers)
            time.sleep(0.002)
        assert [one.exitcode for one in asking] == [0] * people
    assert right.value >= people * times * 2 // 3
    assert answered == right.value  # nothing was done that its asker had taken back
    assert store.asked() == []
    rows = store._rows("SELECT COUNT(*) FROM questions WHERE watch = ?", store._key)
    assert rows == [(0,)]  # answers that were read, and questions taken back, are gone
    store.close()


def test_what_a_killed_watch_had_taken_is_done_by_the_next(place):
    store, taken = place.store(), counter()
    store.save(checkpoint(0), [])
    number = store.ask({"n": 1})
    process = worker(take_and_hang, place, taken)
    wait_for(taken, 1, process)
    os.kill(process.pid, signal.SIGKILL)
    process.join(PATIENCE)
    assert store.withdraw(number) is False
    with store.lock():
        assert [(one.number, one.action) for one in store.asked()] == [(number, {"n": 1})]
        store.save(checkpoint(1), [], {number: {"events": []}})
    assert store.answer(number) == {"events": []}
    store.close()
