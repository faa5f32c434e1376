"""For tests of stores: places to keep them in, what to keep, and processes that use them."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from causewatch.streaming.store.base import Checkpoint
from causewatch.streaming.store.postgres import PostgresStore
from causewatch.streaming.store.sql import SqlStore
from causewatch.streaming.store.sqlite import MemoryStore, SqliteStore
from causewatch.testing.waiting import PATIENCE

__all__ = [
    "FilePlace",
    "MemoryPlace",
    "Place",
    "ServerPlace",
    "alike",
    "ask_often",
    "checkpoint",
    "event",
    "look_often",
    "save_often",
    "take_and_hang",
    "whole",
    "worker",
]


def event(id: str = "a", event: str = "raised", **more: Any) -> dict[str, Any]:
    """An event as a watch writes it."""
    return {
        "id": id,
        "event": event,
        **dict.fromkeys(("time", "raised_at"), "2026-01-01T00:00:00Z"),
        "kind": "process",
        "headline": "LIT301 is not itself – Größe \udc80 'x' \0",
        **dict.fromkeys(("cleared_at", "acknowledged_by", "shelved_until", "peak_score")),
        **dict.fromkeys(("abstained", "normal"), False),
        **{name: [] for name in ("causes", "broken_links", "comments")},
        "cleared_at": "2026-01-01T00:01:00Z" if event == "cleared" else None,
    } | more


def checkpoint(number: int, rows: int = 40) -> Checkpoint:
    """A state with a number in all of its parts, so that one can see whether they belong together.

    Most of the arrays stays the same from one number to the next, as in a real state.
    """
    values = np.zeros((rows, 256))
    values[number % rows] = number
    values[:, 0] = np.nan
    return Checkpoint(
        monitor={"number": number, "values": values, "flags": np.array([True, False])},
        clock="utc",
        settings={"clear_below": 0.5},
        source={"address": "file:x", "rows": number, "odd": [float("inf"), "array:0"]},
        outputs={"alarms": number},
        counts={"rows": number},
        saved_at=float(number),
    )


def alike(one: Any, other: Any) -> bool:
    """Whether two states are the same to the last bit and type."""
    if isinstance(one, Checkpoint):
        return isinstance(other, Checkpoint) and alike(vars(one), vars(other))
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and (one == other or one != one)


class FilePlace:
    """A folder."""

    shared = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def store(self, now: Callable[[], float] = time.time) -> SqlStore:
        """A store here, with a connection of its own."""
        return SqliteStore(self.folder, "plant", now=now)

    def sql(self, statement: str) -> None:
        """Do what somebody else might do to the tables."""
        connection = sqlite3.connect(self.folder / "watch.db")
        with connection:
            connection.execute(statement.format(watch=""))
        connection.close()


class MemoryPlace:
    """The memory of this process: all stores here are the same one."""

    shared = False

    def __init__(self) -> None:
        self._store: MemoryStore | None = None
        self._now: Callable[[], float] = time.time

    def store(self, now: Callable[[], float] = time.time) -> SqlStore:
        """The store."""
        self._now = now
        if self._store is None:
            self._store = MemoryStore("plant", now=lambda: self._now())
        return self._store

    def sql(self, statement: str) -> None:
        """Do what somebody else might do to the tables."""
        self.store()._write(lambda talk: talk.run(statement.format(watch="")))


class ServerPlace:
    """One watch on a server."""

    shared = True

    def __init__(self, url: str) -> None:
        self.url = url
        self.watch = f"plant {uuid.uuid4().hex[:8]}"

    def store(self, now: Callable[[], float] = time.time, **more: Any) -> PostgresStore:
        """A store here, with a connection of its own."""
        return PostgresStore(self.url, self.watch, now=now, **more)

    def sql(self, statement: str) -> None:
        """Do what somebody else might do to the tables."""
        store = self.store()
        store._write(lambda talk: talk.run(statement.format(watch=self.watch)))
        store.close()


Place = FilePlace | ServerPlace

# Processes

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["causewatch.streaming.store.sqlite", "causewatch.streaming.store.postgres", "psycopg"]
)


def worker(work: Callable[..., None], *arguments: Any) -> Any:
    """A process that does `work`, started."""
    process = PROCESSES.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def whole(store: SqlStore) -> int:
    """Number of the state, which is that of the last event, and of all its parts."""
    found, last = store.load(), store.last
    number = 0 if found is None else int(found.monitor["number"])
    assert found is None or alike(found, checkpoint(number, found.monitor["values"].shape[0]))
    assert last == number, f"{last} events, but a state of {number}"
    notices = []
    while page := store.notices(notices[-1].number if notices else 0):
        notices += page
    assert [one.number for one in notices] == list(range(1, number + 1))
    assert [one.body["peak_score"] for one in notices] == list(range(1, number + 1))
    newest = {one.body["id"]: one.number for one in notices}
    assert {one["id"]: one["peak_score"] for one in store.alarms()} == newest
    return number


def save_often(place: Place, seed: int, steps: int | None, saves: Any) -> None:
    """Save numbered states, each with one event, until somebody ends it; `saves` counts them.

    With `steps` this process ends itself, without a warning, after so many steps of SQLite's
    machine: within a save, and often within its transaction.
    """
    chance = random.Random(seed)
    store = place.store()
    with store.lock():
        number = whole(store)
        if steps is not None:
            left = iter(range(steps))
            store._connection.set_progress_handler(
                lambda: next(left, None) is None and os.kill(os.getpid(), signal.SIGKILL), 1
            )
        while True:
            number += 1
            rows = chance.choice([40, 40, 40, 60])
            store.save(
                checkpoint(number, rows),
                [event(str(number % 5), chance.choice(["raised", "cleared"]), peak_score=number)],
            )
            saves.value += 1


def look_often(place: Place, done: Any, looks: Any) -> None:
    """Look on while another process saves."""
    store, last = place.store(), 0
    while not done.is_set():
        found = store.load()
        number = 0 if found is None else int(found.monitor["number"])
        assert found is None or alike(found, checkpoint(number, found.monitor["values"].shape[0]))
        assert number >= last
        last = store.last
        assert last >= number  # a save may have come in between, never the other way round
        numbers = [one.number for one in store.notices(max(0, last - 20))]
        assert numbers[: min(20, last)] == list(range(max(0, last - 20) + 1, last + 1))
        assert len(store.alarms()) <= 5
        with looks.get_lock():
            looks.value += 1
    store.close()


def take_and_hang(place: Place, taken: Any) -> None:
    """Take what was asked for, as a watch does, and never get round to doing it."""
    store = place.store()
    with store.lock():
        if store.asked():
            taken.value = 1
        time.sleep(600)


def ask_often(place: Place, me: int, times: int, right: Any) -> None:
    """Ask and wait for the answers; every third question is taken back."""
    store = place.store()
    for time_ in range(times):
        number = store.ask({"from": me, "time": time_})
        if time_ % 3 == 2 and store.withdraw(number):
            continue
        until = time.monotonic() + PATIENCE
        while (found := store.answer(number)) is None:
            assert time.monotonic() < until
            time.sleep(0.002)
        assert found == {"events": [me, time_]}
        assert store.answer(number) is None
        with right.get_lock():
            right.value += 1
    store.close()
