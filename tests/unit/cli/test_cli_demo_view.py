"""Playing a recording, and looking on."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from causewatch.cli.demo_view import Collected, PlainView, PlayedView, sparks
from causewatch.explain.story import Chapter
from causewatch.monitor.alarms import Alarm

SECOND = 1_000_000_000


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
        last=last,
        monitor=monitor,
        name="test.csv",
        counts=SimpleNamespace(rows=5),
        source=feed,
        trouble="",
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
    out = io.StringIO()
    console = Console(file=out, width=120, markup=False, force_terminal=True, color_system=None)
    with PlayedView(console, CHAPTERS, "elapsed", {"A": "mm", "Z": ""}, now=lambda: 0.0) as view:
        for k in range(4):
            for second in (0, 150):
                values = {"A": 999.0 * k, "B": 7.0}
                view.tick(
                    session(), SimpleNamespace(time=(300 * k + second) * SECOND, values=values)
                )
        view.event(session(), "raised", alarm(120), "")
        view.look(session(150, [alarm(120)], SimpleNamespace(status="reading", name="test.csv")))
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
