"""Playing a recording, and looking on."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from causewatch.cli.batches import Batch
from causewatch.cli.demo_view import Collected, PlainView, PlayedFeed, PlayedView, sparks
from causewatch.explain.story import Chapter
from causewatch.monitor.alarms import Alarm

SECOND = 1_000_000_000
COLUMNS = ("A", "B", "C")


class Rows:
    """A feed of two batches."""

    clock, missing, problems = "naive", ("C",), {"late_rows": 1}

    def __init__(self, rows=1000):
        self.values = np.arange(rows * 3, dtype=float).reshape(rows, 3)
        self.times = np.arange(rows, dtype=np.int64) * SECOND
        self.closed = False

    def batches(self):
        half = len(self.values) // 2
        for part in (slice(0, half), slice(half, None)):
            yield Batch(self.values[part], self.times[part])

    def position(self):
        return {"rows": 7}

    def close(self):
        self.closed = True


class FakeClock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.time, self.naps = 0.0, []

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.naps.append(seconds)
        self.time += seconds


def played(rows, speed, clock=None, **more):
    clock = clock or FakeClock()
    return PlayedFeed(
        rows, COLUMNS, ("A", "C", "Z"), 1.0, speed, now=clock.now, sleep=clock.sleep, **more
    )


@pytest.mark.parametrize("speed", [0.0, 100.0, 1e6, 1.0])
def test_no_row_is_lost_or_changed(speed):
    rows = Rows()
    batches = list(played(rows, speed).batches())
    np.testing.assert_array_equal(np.concatenate([one.values for one in batches]), rows.values)
    np.testing.assert_array_equal(np.concatenate([one.times for one in batches]), rows.times)


def test_it_takes_as_long_as_the_speed_says():
    clock = FakeClock()
    for _ in played(Rows(1000), 100.0, clock).batches():
        pass
    assert clock.time == pytest.approx(10.0)
    assert max(clock.naps) <= 0.11  # small steps: it can be seen, and be stopped


def test_as_fast_as_possible_never_waits():
    clock = FakeClock()
    for _ in played(Rows(), 0.0, clock).batches():
        pass
    assert clock.naps == []


def test_time_lost_in_between_is_caught_up():
    clock = FakeClock()
    for _ in played(Rows(1000), 100.0, clock).batches():
        clock.time += 0.05  # somebody works on the rows
    assert clock.time == pytest.approx(10.0, abs=0.1)


def test_it_remembers_how_signals_went():
    feed = played(Rows(1000), 1e3, every=250.0)
    for _ in feed.batches():
        pass
    assert set(feed.course) == {"A", "C"}
    assert list(feed.course["A"]) == [0.0, 750.0, 1500.0, 2250.0]
    assert feed.last == {"A": 2997.0, "C": 2999.0}


def test_the_rest_is_the_feeds_own():
    rows = Rows()
    feed = played(rows, 0.0)
    assert (feed.clock, feed.missing, feed.problems) == ("naive", ("C",), {"late_rows": 1})
    assert feed.position() == {"rows": 7}
    feed.close()
    assert rows.closed


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        ([0, 7, 3.5], "▁█▅"),
        ([2, 2], "▁▁"),
        ([0, float("nan"), 1], "▁ █"),
        ([float("nan")] * 3, "   "),
        ([], ""),
    ],
)
def test_little_bars(values, bars):
    assert sparks(values) == bars


def alarm(raised, kind="anomaly", cleared=None, name="LIT101"):
    now = raised if cleared is None else cleared
    return Alarm(
        "0" * 12, kind, raised * SECOND, raised * SECOND, now * SECOND,
        None if cleared is None else cleared * SECOND, 3.0, headline=f"{name} is odd.",
    )  # fmt: skip


class Ticks(SimpleNamespace):
    """As much of a course as is needed to know when it begins."""

    def __len__(self):
        return len(self.time)


def session(time=None, active=(), feed=None):
    last = None if time is None else SimpleNamespace(time=time * SECOND, score=0.5)
    monitor = SimpleNamespace(
        clock="elapsed", alarms=SimpleNamespace(active=active), health={}, problems={}
    )
    return SimpleNamespace(
        last=last, monitor=monitor, name="test.csv", counts=SimpleNamespace(rows=5), feed=feed
    )


CHAPTERS = (Chapter("21", "MV101 is held open.", ("MV101",), 100 * SECOND, 200 * SECOND),)


def test_lines_come_in_the_order_of_time():
    out = io.StringIO()
    view = PlainView(Console(file=out, width=200, markup=False), CHAPTERS, "elapsed")
    view.look(session())
    view.event(session(), "raised", alarm(120), "")  # before the batch with 100 s was looked at
    view.event(session(), "updated", alarm(130), "")
    view.look(session(150))
    view.event(session(), "raised", alarm(160, kind="health"), "")
    view.event(session(), "cleared", alarm(120, cleared=230), "")
    view.event(session(), "cleared", alarm(160, kind="health", cleared=240), "")
    lines = [line.split(maxsplit=1) for line in out.getvalue().splitlines()]
    assert [when for when, _ in lines] == ["100s", "120s", "160s", "200s", "230s"]
    assert lines[0][1] == "attack begins  21: MV101 is held open."
    assert lines[1][1].startswith("raised")
    assert lines[1][1].endswith("LIT101 is odd.")
    assert lines[2][1].startswith("health raised")
    assert lines[3][1] == "attack ends    21"


def test_the_picture_shows_signals_alarms_and_the_truth():
    feed = played(Rows(), 0.0, every=250.0)
    for _ in feed.batches():
        pass
    out = io.StringIO()
    console = Console(file=out, width=120, markup=False, force_terminal=True, color_system=None)
    with PlayedView(console, CHAPTERS, "elapsed", {"A": "mm"}, now=FakeClock().now) as view:
        view.event(session(), "raised", alarm(120), "")
        view.look(session(150, [alarm(120)], feed))
    text = out.getvalue()
    assert text.index("attack begins") < text.index("raised")
    assert "▁▃▆█" in text
    assert "2997 mm" in text
    assert "attack 21 is going on (the watch does not know)" in text
    assert "since 120s" in text


def test_an_alarm_keeps_the_ticks_of_its_beginning():
    early = Ticks(time=np.array([90, 100]) * SECOND)
    late = Ticks(time=np.array([900, 1000]) * SECOND)
    collected = Collected()
    collected.event(session(), "raised", replace(alarm(100), course=early), "")
    collected.event(session(), "cleared", replace(alarm(100, cleared=1000), course=late), "")
    collected.look(session())
    (kept,) = collected.alarms.values()
    assert kept.cleared_at == 1000 * SECOND
    assert kept.course is early
