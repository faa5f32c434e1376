"""Frames to viewers: made once, bounded, and nothing lost without being told anew."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from causewatch.monitor.tick import Named, Tick
from causewatch.server import hub as module
from causewatch.server.feed import MOST_WAITING, Feed
from causewatch.server.hub import Hub, Viewer, frame, numbers
from causewatch.streaming.sink import Status
from causewatch.testing import FakeClock
from causewatch.testing.waiting import PATIENCE

SECOND = 1_000_000_000
NAMES = {"a": 0, "<b>": 1}
OVER: Any = SimpleNamespace(id="x", on=False)


class Silent:
    """An album that keeps nothing."""

    def add(self, event: str, alarm: Any) -> None:
        pass


def a_feed() -> Feed:
    return Feed(tuple(NAMES), Silent())  # type: ignore[arg-type]


def tick(number: int, score: float | None = 0.5) -> Tick:
    values = np.array([number, np.nan])
    named = Named(NAMES, values)
    return Tick(number * SECOND, True, score, False, named, named, values=named)


def a_watch(last_time: int | None = None) -> Any:
    alarms = SimpleNamespace(active=())
    monitor = SimpleNamespace(clock="elapsed", alarms=alarms, health={})
    return SimpleNamespace(
        monitor=monitor,
        counts=SimpleNamespace(rows=0),
        status=lambda: Status("w"),
        trouble="",
        ended=False,
        last_time=last_time,
    )


def events(frames: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in frames.decode().split("\n\n"):
        if block:
            first, _, rest = block.partition("\n")
            found.append((first.removeprefix("event: "), json.loads(rest.removeprefix("data: "))))
    return found


async def following(frames: AsyncGenerator[bytes]) -> list[tuple[str, Any]]:
    return events(await asyncio.wait_for(anext(frames), PATIENCE))


def hub_of(feed: Feed, **how: Any) -> Hub:
    hub = Hub(feed, "boot", 2, **how)
    hub.start(asyncio.get_running_loop())
    return hub


def test_a_viewer_is_told_everything_and_then_what_is_new() -> None:
    async def run() -> None:
        feed = a_feed()
        feed.tick(a_watch(), tick(1))
        hub = hub_of(feed)
        frames = hub.frames(Viewer())
        ((kind, hello),) = await following(frames)
        assert kind == "hello"
        assert hello["n"] == 1
        assert hello["values"] == [1.0, None]
        assert hello["time"] == "1s"
        assert hub.viewers == 1
        feed.tick(a_watch(), tick(2, None))
        ((kind, data),) = await following(frames)
        assert kind == "ticks"
        assert data["n"] == 2
        assert data["ticks"] == [[2.0, None, 0, [2.0, None], [2.0, None], [2.0, None]]]
        await frames.aclose()
        assert hub.viewers == 0

    asyncio.run(run())


def test_until_there_is_a_tick_the_last_one_is_that_of_an_earlier_run() -> None:
    async def run() -> None:
        feed = a_feed()
        hub = hub_of(feed)
        frames = hub.frames(Viewer())
        ((_, hello),) = await following(frames)
        assert hello["t"] is None
        feed.look(a_watch(7 * SECOND))
        ((kind, hello),) = await following(frames)
        assert kind == "hello"
        assert (hello["n"], hello["t"], hello["time"]) == (0, 7.0, "7s")
        assert hello["score"] is None
        feed.tick(a_watch(), tick(9))
        await following(frames)
        assert hub.now()["t"] == 9.0
        await frames.aclose()

    asyncio.run(run())


def test_ticks_come_in_few_frames_however_many_there_are() -> None:
    async def run() -> None:
        feed = a_feed()
        hub = hub_of(feed)
        frames = hub.frames(Viewer())
        await following(frames)
        for number in range(1000):
            feed.tick(a_watch(), tick(number))
        ((_, data),) = await following(frames)
        assert len(data["ticks"]) <= module.MOST_TICKS
        assert data["ticks"][-1][0] == 999.0
        assert data["skipped"] == 1000 - len(data["ticks"])
        await frames.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(("ticks", "gap"), [(1, 0.05), (400, 0.05), (4000, 0.5), (90_000, 1.0)])
def test_frames_are_fewer_where_ticks_come_fast(ticks: int, gap: float) -> None:
    async def run() -> None:
        clock = FakeClock()
        feed = a_feed()
        hub = hub_of(feed, now=clock)
        frames = hub.frames(Viewer())
        await following(frames)
        feed.trail.count = ticks
        clock.sleep(1.0)
        hub._send()
        assert hub._gap == pytest.approx(gap)
        await frames.aclose()

    asyncio.run(run())


def test_events_come_in_order_after_their_ticks() -> None:
    async def run() -> None:
        feed = a_feed()
        hub = hub_of(feed)
        frames = hub.frames(Viewer())
        await following(frames)
        feed.tick(a_watch(), tick(1))
        for id in "xyz":
            alarm: Any = SimpleNamespace(id=id, on=False)
            for number, event in enumerate(("raised", "updated", "cleared", "updated", "raised")):
                line = json.dumps({"id": id, "event": event, "number": number})
                feed.event(a_watch(), event, alarm, line)  # type: ignore[arg-type]
        found = await following(frames)
        assert [kind for kind, _ in found] == ["ticks", *["alarm"] * 9, "status"]
        told = [(data["id"], data["number"]) for kind, data in found if kind == "alarm"]
        # Where the same happened again the last is enough, in its place.
        assert told == [(id, number) for id in "xyz" for number in (2, 3, 4)]
        await frames.aclose()

    asyncio.run(run())


def test_one_who_does_not_keep_up_is_told_everything_anew() -> None:
    async def run() -> None:
        feed = a_feed()
        hub = hub_of(feed)
        slow, quick = hub.frames(Viewer()), hub.frames(Viewer())
        await following(slow)
        await following(quick)
        for number in range(module.QUEUE + 5):
            feed.tick(a_watch(), tick(number))
            hub._send()
            await following(quick)
        (kind, _), *later = await following(slow)
        assert kind == "hello"
        assert later[-1][1]["n"] == module.QUEUE + 5
        await slow.aclose()
        await quick.aclose()

    asyncio.run(run())


def test_too_many_events_are_told_as_a_whole() -> None:
    async def run() -> None:
        feed = a_feed()
        hub = hub_of(feed)
        frames = hub.frames(Viewer())
        await following(frames)
        for _ in range(MOST_WAITING + 1):
            feed.event(a_watch(), "raised", OVER, "{}")
        assert len(feed.waiting) == MOST_WAITING
        found = await following(frames)
        assert [kind for kind, _ in found] == ["hello"]
        assert not feed.waiting
        await frames.aclose()

    asyncio.run(run())


def test_the_end_ends_all() -> None:
    async def run() -> None:
        feed = a_feed()
        hub = hub_of(feed)
        frames = hub.frames(Viewer())
        await following(frames)
        hub.stop()
        assert await asyncio.wait_for(anext(frames, None), PATIENCE) is None
        feed.tick(a_watch(), tick(1))  # nobody is woken any more

    asyncio.run(run())


def test_one_who_hangs_up_is_told_no_more() -> None:
    async def run() -> None:
        hub = hub_of(a_feed())
        viewer = Viewer()
        frames = hub.frames(viewer)
        await following(frames)
        viewer.close()
        assert await asyncio.wait_for(anext(frames, None), PATIENCE) is None
        assert hub.viewers == 0

    asyncio.run(run())


def test_many_who_come_at_once_are_told_everything_once_and_get_no_more_frames() -> None:
    async def run() -> None:
        feed = a_feed()
        hub = hub_of(feed)
        first = hub.frames(Viewer())
        await following(first)
        with pytest.MonkeyPatch.context() as patch:
            made: list[str] = []
            timers: list[Any] = []
            at_once: list[int] = []
            loop = asyncio.get_running_loop()
            later = loop.call_later

            def count(kind: str, data: dict[str, Any]) -> bytes:
                made.append(kind)
                return frame(kind, data)

            def note(seconds: float, call: Any, *given: Any) -> asyncio.TimerHandle:
                if call != hub._send:
                    return later(seconds, call, *given)
                timers.append(call)
                at_once.append(len(timers))
                return later(seconds, lambda: (timers.remove(call), call()))

            patch.setattr(module, "frame", count)
            patch.setattr(loop, "call_later", note)
            feed.tick(a_watch(), tick(1))
            others = [hub.frames(Viewer()) for _ in range(50)]
            greeted = await asyncio.gather(*[following(one) for one in others])
            assert [kind for found in greeted for kind, _ in found] == ["hello"] * 50
            assert made == ["ticks", "hello"]
            for number in range(2, 8):  # and from then on there is one timer, not fifty
                feed.tick(a_watch(), tick(number))
                await asyncio.sleep(0)
            while feed.trail.count > hub._sent:
                await following(first)
            assert set(at_once) == {1}
        for one in (first, *others):
            await one.aclose()

    asyncio.run(run())


def test_hundreds_of_events_at_once_are_told_to_everybody() -> None:
    async def run() -> None:
        feed = a_feed()
        hub = hub_of(feed)
        frames = hub.frames(Viewer())
        await following(frames)
        for number in range(4 * module.QUEUE):
            alarm: Any = SimpleNamespace(id=str(number), on=False)
            feed.event(a_watch(), "raised", alarm, "{}")
        found = await following(frames)
        assert [kind for kind, _ in found] == [*["alarm"] * (4 * module.QUEUE), "status"]
        await frames.aclose()

    asyncio.run(run())


def test_a_queue_is_bounded() -> None:
    async def run() -> None:
        viewer = Viewer(most=3)
        viewer.greet(b"everything")
        assert not viewer.behind
        for _ in range(100):
            viewer.put(b"frame")
            assert len(viewer._frames) <= 3
        assert viewer.behind

    asyncio.run(run())


def test_numbers_for_json() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 0.123456789, 12345678.9, 1e308])
    assert numbers(values, 9) == [None, None, None, 0.123456789, 12345678.9, None]
    assert numbers(values[3:4], 4) == [0.1235]
