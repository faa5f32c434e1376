"""What a watch tells those who look on: at once, in order, bounded, and without waiting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.monitor import Alarm
from causewatch.monitor.tick import Named, Tick
from causewatch.server.feed import LOOK_EVERY, MOST_WAITING, PACE_OVER, Feed
from causewatch.server.schemas import Standing
from causewatch.streaming.sink import Status
from causewatch.testing import until
from services.dashboard import Dashboard, a_plant

SECOND = 1_000_000_000
NAMES = {"a": 0, "b": 1}


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Album:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def add(self, event: str, alarm: Alarm) -> None:
        self.told.append((event, alarm.id))


class Rig:
    """A feed, and a watch that stands as it is told to."""

    def __init__(self) -> None:
        self.time, self.album = Clock(), Album()
        self.feed = Feed(tuple(NAMES), self.album, self.time)  # type: ignore[arg-type]
        self.woken = 0
        self.feed.wake = self._wake
        self.health: dict[str, Any] = {}
        self.active: tuple[Alarm, ...] = ()
        self.clock = "elapsed"
        self.rows = 0
        self.source = "connected"
        self.looks = 0
        self.last_time: int | None = None

    def _wake(self) -> None:
        self.woken += 1

    @property
    def watch(self) -> Any:
        def status() -> Status:
            self.looks += 1
            return Status(
                watch="w", time=None, score=None, alarms=[], unwell={}, rows=self.rows, ticks=7,
                lag=1.23456, signals={}, problems={"bad_values": 2}, source=self.source,
            )  # fmt: skip

        alarms = SimpleNamespace(active=self.active)
        monitor = SimpleNamespace(clock=self.clock, alarms=alarms, health=self.health)
        counts = SimpleNamespace(rows=self.rows)
        return SimpleNamespace(
            monitor=monitor,
            counts=counts,
            status=status,
            trouble="",
            ended=False,
            last_time=self.last_time,
        )

    def tick(self, number: int) -> None:
        named = Named(NAMES, np.array([number, np.nan]))
        tick = Tick(number * SECOND, True, 0.5, False, named, named, values=named)
        self.feed.tick(self.watch, tick)

    def event(self, event: Any, alarm: Alarm) -> None:
        line = json.dumps(alarm.to_dict(event, "utc"))
        self.feed.event(self.watch, event, alarm, line)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def an_alarm(id: str, at: int, cleared: bool = False) -> Alarm:
    over = (at + 5) * SECOND if cleared else None
    return Alarm(id, "anomaly", at * SECOND, at * SECOND, at * SECOND, cleared_at=over)


def shown(rig: Rig) -> list[str]:
    return [one["id"] for one in rig.feed.alarms]


class TestTimes:
    """What times count is known with the first row, and not before."""

    def test_a_tick_settles_it(self, rig: Rig) -> None:
        rig.feed.look(rig.watch)
        assert rig.feed.moment(SECOND) == "1s"
        assert rig.feed.status["clock"] == "elapsed"
        rig.clock = "utc"  # rows have come
        rig.tick(1)
        assert rig.feed.moment(SECOND) == "1970-01-01T00:00:01Z"
        rig.time.now += LOOK_EVERY
        rig.feed.look(rig.watch)
        assert rig.feed.status["clock"] == "utc"
        assert rig.feed.moment(None) is None

    def test_in_a_real_watch(self, tmp_path: Path) -> None:
        with Dashboard(a_plant(), tmp_path) as dashboard:
            feed = next(view for view in dashboard.watch.views if isinstance(view, Feed))
            assert until(lambda: feed.age is not None)  # it has looked before there were rows
            dashboard.send(a_plant().rows(5))
            assert until(lambda: feed.trail.count > 0)
            assert feed.clock == "utc"
            assert until(lambda: feed.status["clock"] == "utc")


class TestEarlierRun:
    """When the last tick was is known before there is one."""

    def test_its_last_tick(self, rig: Rig) -> None:
        rig.last_time = 5 * SECOND
        assert rig.feed.last_time is None
        rig.feed.look(rig.watch)
        assert rig.feed.last_time == 5 * SECOND
        rig.tick(9)
        assert rig.feed.last_time == 9 * SECOND

    def test_whoever_came_before_it_was_known_is_told_anew(self, rig: Rig) -> None:
        rig.feed.look(rig.watch)
        assert not rig.feed.anew  # there was none
        for last, active in ((SECOND, ()), (None, (an_alarm("a", 1),))):
            again = Rig()
            again.last_time, again.active = last, active
            again.feed.look(again.watch)
            assert again.feed.anew
            assert again.woken

    def test_in_a_real_watch(self, tmp_path: Path) -> None:
        with Dashboard(a_plant(), tmp_path, keep=True) as dashboard:
            assert dashboard.watch.last_time is None
            dashboard.send(a_plant().rows(20))
            last = dashboard.watch.last_time
            assert last is not None
            dashboard.restart()
            assert dashboard.watch.last is None
            assert dashboard.watch.last_time == last


class TestAlarms:
    """Those that are on, latest raised first."""

    @given(
        st.lists(
            st.tuples(st.integers(0, 5), st.sampled_from(["raised", "updated", "cleared"])),
            max_size=40,
        )
    )
    def test_whatever_happens(self, story: list[tuple[int, Any]]) -> None:
        rig = Rig()
        on: dict[str, int] = {}
        for number, event in story:
            alarm = an_alarm(f"{number:012x}", 10 * number, event == "cleared")
            rig.event(event, alarm)
            on.pop(alarm.id, None)
            if event != "cleared":
                on[alarm.id] = number
            # The event is never there before what it leads to.
            assert shown(rig) == sorted(on, key=lambda id: -on[id])
            assert rig.feed.waiting[-1][0][1] == alarm.id
            assert json.loads(rig.feed.waiting[-1][1])["id"] == alarm.id
        assert len(rig.album.told) == len(story) == len(rig.feed.waiting) == rig.woken

    def test_those_of_an_earlier_run(self, rig: Rig) -> None:
        rig.active = (an_alarm("a", 1), an_alarm("b", 2))
        rig.feed.look(rig.watch)
        assert shown(rig) == ["b", "a"]
        rig.event("cleared", an_alarm("a", 1, cleared=True))
        assert shown(rig) == ["b"]

    def test_a_list_that_somebody_reads_does_not_change(self, rig: Rig) -> None:
        rig.event("raised", an_alarm("a", 1))
        read = rig.feed.alarms
        rig.event("raised", an_alarm("b", 2))
        assert [one["id"] for one in read] == ["a"]

    def test_hundreds_at_once_do_not_hold_the_watch_up(
        self, rig: Rig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        described, plain = [], Alarm.to_dict

        def describe(alarm: Alarm, *how: Any) -> dict[str, Any]:
            described.append(alarm.id)
            return plain(alarm, *how)

        monkeypatch.setattr(Alarm, "to_dict", describe)
        for k in range(500):
            rig.event("raised", an_alarm(f"{k:012x}", k))
        # To tell all of them anew for each would take 125 000 descriptions; one is for the line.
        assert len(described) == 2 * 500
        assert len(rig.feed.alarms) == 500


class TestEvents:
    """They wait for being sent, but not without bound."""

    def test_too_many(self, rig: Rig) -> None:
        for k in range(MOST_WAITING):
            rig.event("raised", an_alarm("x", k))
        assert not rig.feed.anew
        rig.event("raised", an_alarm("last", MOST_WAITING))
        assert rig.feed.anew
        assert len(rig.feed.waiting) == MOST_WAITING
        assert shown(rig)[0] == "last"  # so that it can be told anew

    def test_order(self, rig: Rig) -> None:
        for k in range(20):
            rig.event("raised", an_alarm(f"{k}", k))
        assert [json.loads(line)["id"] for _, line in rig.feed.waiting] == [
            str(k) for k in range(20)
        ]


class TestStanding:
    """How the watch stands, now and then."""

    def test_it_fits_its_description(self, rig: Rig) -> None:
        Standing.model_validate({**rig.feed.status, "viewers": 0})
        rig.health = {
            "a": SimpleNamespace(state="stale", since=5 * SECOND, detail="no value"),
            "b": SimpleNamespace(state="missing", since=None, detail=""),
        }
        rig.feed.look(rig.watch)
        status = rig.feed.status
        Standing.model_validate({**status, "viewers": 0})
        assert status["unwell"]["a"]["since"] == "5s"
        assert status["unwell"]["a"]["t"] == 5.0
        assert status["unwell"]["b"]["since"] is None
        assert status["lag"] == 1.235

    def test_it_is_not_looked_at_more_often_than_needed(self, rig: Rig) -> None:
        for _ in range(1000):
            rig.feed.look(rig.watch)
            rig.time.now += LOOK_EVERY / 100
        assert 9 <= rig.looks <= 11

    def test_sign_of_life(self, rig: Rig) -> None:
        assert rig.feed.age is None
        rig.feed.look(rig.watch)
        assert rig.feed.age == 0.0
        rig.time.now += 75.0
        assert rig.feed.age == 75.0

    def test_pace(self, rig: Rig) -> None:
        rig.feed.look(rig.watch)
        for _ in range(10):
            rig.time.now += PACE_OVER / 2
            rig.rows += 40
            rig.feed.look(rig.watch)
        assert rig.feed.status["pace"] == 40 / (PACE_OVER / 2)
        for _ in range(4):  # nothing comes any more
            rig.time.now += PACE_OVER
            rig.feed.look(rig.watch)
        assert rig.feed.status["pace"] == 0.0

    def test_a_source_that_is_away(self, rig: Rig) -> None:
        rig.feed.look(rig.watch)
        assert rig.feed.status["away"] is False


class TestTicks:
    """They go into the trail, and whoever sends them is woken."""

    def test_each_is_kept_and_told(self, rig: Rig) -> None:
        for k in range(50):
            rig.tick(k)
        assert rig.woken == 50
        assert rig.feed.trail.count == 50
        last = rig.feed.trail.after(49, 1, range(2))
        assert last.time.tolist() == [49 * SECOND]
        assert last.parts["values"][0, 0] == 49.0
        assert np.isnan(last.parts["values"][0, 1])

    def test_memory_does_not_grow(self, rig: Rig) -> None:
        before = held(rig.feed)
        for k in range(2000):
            rig.tick(k)
        assert held(rig.feed) == before


def held(feed: Feed) -> int:
    """Bytes of the arrays in a trail."""
    return sum(one.nbytes for one in arrays(feed.trail))


def arrays(trail: Any) -> Iterator[np.ndarray[Any, Any]]:
    for value in vars(trail).values():
        if isinstance(value, np.ndarray):
            yield value
