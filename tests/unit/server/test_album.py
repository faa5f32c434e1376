"""Alarms with their ticks: written in time, never too often, bounded, and read with care."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.errors import StreamError
from causewatch.explain import explain
from causewatch.model import NormalModel
from causewatch.monitor import Alarm, Course
from causewatch.monitor.alarms import Event
from causewatch.server import album as module
from causewatch.server.album import EVERY, MOST, Album, from_bytes, to_bytes
from causewatch.streaming.store.sqlite import SqliteStore
from services.dashboard import Plant, a_plant

SECOND = 1_000_000_000
NAMES = tuple(f"T{k + 1:02}" for k in range(6))


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Shelf:
    """A store that keeps what is attached in memory, and may be away."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.writes: list[tuple[str, float]] = []
        self.away = False
        self.forgotten: set[str] = set()
        self.clock = Clock()

    def attach(self, id: str, content: bytes) -> None:
        if self.away or id in self.forgotten:
            msg = "The store takes nothing."
            raise StreamError(msg)
        self.kept[id] = content
        self.writes.append((id, self.clock.now))

    def attached(self, id: str) -> bytes | None:
        return self.kept.get(id)

    def alarm(self, id: str) -> dict[str, Any] | None:
        if self.away:
            msg = "The store cannot be read."
            raise StreamError(msg)
        return None if id in self.forgotten else {"id": id}


def a_course(first: int = 0, count: int = 20, names: tuple[str, ...] = NAMES) -> Course:
    rng = np.random.default_rng(first)
    tables = rng.normal(size=(4, count, len(names)))
    tables[:, :1, 0] = np.nan  # missing is kept as missing
    time = (first + np.arange(count)) * SECOND
    return Course(names, time, *tables, np.abs(rng.normal(size=count)))


def an_alarm(id: str = "0" * 12, at: int = 10, **changes: Any) -> Alarm:
    alarm = Alarm(
        id, "anomaly", raised_at=at * SECOND, onset=(at - 2) * SECOND, updated_at=at * SECOND,
        peak_score=float("inf"), signals={NAMES[0]: 2.5, NAMES[1]: None}, course=a_course(),
    )  # fmt: skip
    return replace(alarm, **changes)


def an_album(shelf: Shelf) -> Album:
    return Album(shelf, a_plant().model, shelf.clock)  # type: ignore[arg-type]


def same(one: Course | None, other: Course | None) -> bool:
    assert one is not None
    assert other is not None
    mine, yours = one.to_state(), other.to_state()
    return one.signals == other.signals and all(
        np.array_equal(mine[name], yours[name], equal_nan=True) for name in mine
    )


class TestWriting:
    """An alarm is written when it is raised and cleared, and now and then between."""

    def test_one_that_goes_on(self) -> None:
        shelf = Shelf()
        album = an_album(shelf)
        album.add("raised", an_alarm())
        for _ in range(60):  # an update each second
            album.write()
            shelf.clock.now += 1.0
            album.add("updated", an_alarm(updated_at=int(shelf.clock.now) * SECOND))
        times = [when for _, when in shelf.writes]
        assert times[0] == 1000.0  # as soon as it was raised
        assert all(b - a >= EVERY for a, b in pairwise(times))
        assert 60 / EVERY - 2 <= len(times) <= 60 / EVERY + 1

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["raised", "updated", "cleared", "acknowledged", "shelved"]),
                st.sampled_from("abc"),
                st.sampled_from([0.0, 0.3, 1.0, 4.0, 7.0]),
            ),
            max_size=40,
        )
    )
    @settings(max_examples=60, deadline=None)
    def test_whatever_happens(self, story: list[tuple[Event, str, float]]) -> None:
        shelf = Shelf()
        album = an_album(shelf)
        latest: dict[str, Alarm] = {}
        changes: dict[str, list[tuple[float, Event]]] = {}
        for number, (event, id, pause) in enumerate(story):
            over = number * SECOND if event == "cleared" else None
            alarm = an_alarm(id * 12, cleared_at=over, merged=number)
            album.add(event, alarm)
            latest[alarm.id] = alarm
            changes.setdefault(alarm.id, []).append((shelf.clock.now, event))
            album.write()
            # What is known last is what is found, written or not.
            found = album.find(alarm.id)
            assert found is not None
            assert found.merged == number
            shelf.clock.now += pause
            album.write()
        album.write(everything=True)
        for id, alarm in latest.items():
            read = from_bytes(shelf.kept[id], NAMES)
            assert read is not None
            assert read[0] == alarm
            written = [when for one, when in shelf.writes if one == id]
            prompt = {when for when, event in changes[id] if event in ("raised", "cleared")}
            assert prompt <= set(written)
            # Other writes keep their distance from the one before.
            for before, after in pairwise(written):
                assert after in prompt or after - before >= EVERY or after == shelf.clock.now
        assert not album._due
        assert all(alarm.on for alarm in album._alarms.values())

    def test_nothing_without_ticks(self) -> None:
        shelf = Shelf()
        album = an_album(shelf)
        album.add("raised", an_alarm(course=None))
        album.add("raised", an_alarm(course=a_course(count=0)))
        album.write(everything=True)
        assert not shelf.writes
        assert album.find("0" * 12) is None

    def test_a_store_that_is_away(self, caplog: pytest.LogCaptureFixture) -> None:
        shelf = Shelf()
        album = an_album(shelf)
        shelf.away = True
        album.add("raised", an_alarm())
        album.add("cleared", an_alarm(cleared_at=15 * SECOND))
        with caplog.at_level(logging.WARNING):
            for _ in range(30):
                album.write()
                shelf.clock.now += 1.0
        assert len(caplog.records) == 1  # said once
        assert album.find("0" * 12) is not None  # it is over, and not lost
        shelf.away = False
        shelf.clock.now += EVERY
        album.write()
        assert list(shelf.kept) == ["0" * 12]
        assert not album._alarms

    def test_one_that_was_forgotten_meanwhile(self) -> None:
        shelf = Shelf()
        album = an_album(shelf)
        shelf.forgotten.add("0" * 12)
        album.add("cleared", an_alarm(cleared_at=15 * SECOND))
        album.write()
        assert not album._due  # and is not tried again for ever
        assert not album._alarms

    def test_one_that_cannot_be_written_at_all(self, caplog: pytest.LogCaptureFixture) -> None:
        shelf = Shelf()
        album = an_album(shelf)
        album.add("raised", an_alarm("a" * 12, headline=object()))
        album.add("raised", an_alarm("b" * 12))
        with caplog.at_level(logging.ERROR):
            album.write()
        assert "aaaaaaaaaaaa" in caplog.text
        assert list(shelf.kept) == ["b" * 12]

    def test_one_that_is_too_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "LARGEST", 100)
        shelf = Shelf()
        album = an_album(shelf)
        album.add("cleared", an_alarm(cleared_at=15 * SECOND))
        album.write()
        assert not shelf.kept
        assert not album._due

    def test_how_it_began_stays(self) -> None:
        shelf = Shelf()
        album = an_album(shelf)
        begun = an_alarm()
        album.add("cleared", replace(begun, cleared_at=15 * SECOND))
        album.write()
        # Opened again, when its beginning is no longer among the ticks that the monitor keeps.
        album.add("updated", replace(begun, course=a_course(5000), merged=1))
        album.write(everything=True)
        read = from_bytes(shelf.kept[begun.id], NAMES)
        assert read is not None
        assert read[0].merged == 1
        assert same(read[0].course, begun.course)
        found = album.find(begun.id)
        assert found is not None
        assert same(found.course, begun.course)


class TestMemory:
    """However many alarms there are, few are held."""

    def test_it_is_bounded(self) -> None:
        shelf = Shelf()
        album = an_album(shelf)
        for k in range(5 * MOST):
            album.add("raised", an_alarm(f"{k:012x}"))
            if k % 10 == 9:
                album.write()
        assert len(album._alarms) <= MOST
        assert set(album._due) <= set(album._alarms)
        album.write()
        # All of them are on, and those that are not held can be read back.
        assert all(album.find(f"{k:012x}") is not None for k in range(5 * MOST))

    def test_what_is_not_written_stays_longer_than_what_is(self) -> None:
        shelf = Shelf()
        album = an_album(shelf)
        shelf.away = True
        album.add("raised", an_alarm("f" * 12))
        album.write()
        shelf.away = False
        for k in range(2 * MOST):  # all of them newer, and written before it is tried again
            album.add("raised", an_alarm(f"{k:012x}"))
            album.write()
        assert "f" * 12 not in shelf.kept
        assert album.find("f" * 12) is not None
        shelf.clock.now += EVERY
        album.write()
        assert "f" * 12 in shelf.kept


def test_while_one_adds_others_look_and_write() -> None:
    shelf = Shelf()
    album = an_album(shelf)
    ids = [f"{k:012x}" for k in range(8)]
    over = threading.Event()
    wrong: list[BaseException] = []
    lost: list[str] = []
    seen: set[str] = set()

    def repeat(work: Any) -> None:
        try:
            while not over.is_set():
                work()
        except BaseException as error:
            wrong.append(error)

    def look() -> None:
        for id in ids:
            before = id in seen
            if album.find(id) is None and before:
                lost.append(id)

    threads = [threading.Thread(target=repeat, args=(one,)) for one in (album.write, look, look)]
    for thread in threads:
        thread.start()
    for k in range(300):
        id = ids[k % len(ids)]
        cleared = k % 3 == 2
        over_at = k * SECOND if cleared else None
        album.add("cleared" if cleared else "raised", an_alarm(id, cleared_at=over_at, merged=k))
        seen.add(id)
    over.set()
    for thread in threads:
        thread.join()
    album.write(everything=True)
    assert wrong == []
    assert lost == []  # between memory and store there is no gap
    for k, id in enumerate(ids):
        read = from_bytes(shelf.kept[id], NAMES)
        assert read is not None
        assert read[0].merged == max(n for n in range(300) if n % len(ids) == k)


class TestBytes:
    """What was written can be read back, and what is no such thing is none."""

    def test_there_and_back(self) -> None:
        alarm = an_alarm(headline='<b>"T01"</b> \ud800 é', cleared_at=15 * SECOND)
        read = from_bytes(to_bytes(alarm, "model"), NAMES)
        assert read is not None
        assert read[0] == alarm
        assert read[1] == "model"
        assert same(read[0].course, alarm.course)

    def test_other_signals(self) -> None:
        content = to_bytes(an_alarm(), "model")
        others = tuple(f"x{name}" for name in NAMES)  # as many
        assert from_bytes(content, others) is None
        assert from_bytes(content, NAMES[::-1]) is None  # another order
        assert from_bytes(content, NAMES[:-1]) is None

    @pytest.mark.parametrize("name", ["time", "score", "values", "expected", "innovation"])
    @pytest.mark.parametrize("how", ["short", "gone", "flat", "texts"])
    def test_parts_that_do_not_fit(self, name: str, how: str) -> None:
        course = a_course()
        part = getattr(course, name)
        changed = {
            "short": part[:-1], "gone": part[:0], "flat": part.ravel()[:, None, None],
            "texts": part.astype(str),
        }[how]  # fmt: skip
        alarm = an_alarm(course=replace(course, **{name: changed}))
        assert from_bytes(to_bytes(alarm, "model"), NAMES) is None

    @given(st.binary(max_size=200))
    def test_what_is_nothing_at_all(self, content: bytes) -> None:
        assert from_bytes(content, NAMES) is None

    @given(st.data())
    @settings(max_examples=300, deadline=None)
    @pytest.mark.filterwarnings("ignore")
    def test_damage(self, data: st.DataObject) -> None:
        content = bytearray(whole())
        if data.draw(st.booleans(), label="cut"):
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        for _ in range(data.draw(st.integers(1, 4))):
            if content:
                place = data.draw(st.integers(0, len(content) - 1))
                content[place] = data.draw(st.integers(0, 255))
        read = from_bytes(bytes(content), NAMES)  # raises nothing, whatever it is
        if read is not None:
            assert read[0].course is not None
            assert read[0].course.values.shape == (len(read[0].course), len(NAMES))

    def test_what_would_take_all_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert from_bytes(whole(), NAMES) is not None
        monkeypatch.setattr(module, "UNPACKED", 1000)
        assert from_bytes(whole(), NAMES) is None


@cache
def whole() -> bytes:
    return to_bytes(an_alarm(), "model")


@cache
def another_plant() -> Plant:
    """Signals of the same names, and other links."""
    return Plant(NAMES, seed=17)


def test_alarms_of_another_model_in_the_same_store(tmp_path: Path) -> None:
    first, second = a_plant().model, another_plant().model
    assert first.signals == second.signals
    store = SqliteStore(tmp_path / "state", "watch")
    try:
        with store.lock():
            alarm = an_alarm(model=first, cleared_at=15 * SECOND)
            store.save(None, [alarm.to_dict("cleared", "utc")], None)
            written = Album(store, first)
            written.add("cleared", alarm)
            written.write()
            again = Album(store, first).find(alarm.id)
            assert again is not None
            assert again.model is first
            assert explain(again).headline
            other = Album(store, second).find(alarm.id)
            assert other is not None
            assert same(other.course, alarm.course)  # what was seen is what was seen
            assert other.model is None  # but these mechanisms had no part in it
            few = Album(store, with_signals(second, NAMES[:-1])).find(alarm.id)
            assert few is None
    finally:
        store.close()


def with_signals(model: NormalModel, names: tuple[str, ...]) -> NormalModel:
    """A model of some signals."""
    return Plant(names, seed=19).model
