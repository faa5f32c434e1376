"""The page about a watched recording."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from causewatch.explain.story import Chapter, Entry, Story, lasting, story, write_story
from causewatch.explain.story_chart import COLUMNS, Bar, Lane, timeline
from causewatch.monitor.alarms import Alarm

SECOND = 1_000_000_000
START = 1_767_355_200 * SECOND  # 2026-01-02T12:00:00
HOSTILE = "<script>alert('x')</script> & $x_1$ \"quoted\""


def at(minutes):
    return START + round(minutes * 60) * SECOND


def alarm(number, raised, cleared=None, headline="LIT101 has stood still.", kind="anomaly"):
    end = None if cleared is None else at(cleared)
    return Alarm(
        f"{number:012x}", kind, at(raised), at(raised), at(raised), end, 4.5, headline=headline
    )


@pytest.fixture
def told():
    time = START + 10 * SECOND * np.arange(1, 721, dtype=np.int64)  # two hours
    score = np.full(720, 0.4)
    score[:5] = np.nan
    score[70:100] = 30.0
    found = Chapter(
        "21", "MV101 is held open.", ("LIT101", "MV101"), at(10), at(20), f"{1:012x}", 65.0,
        ("LIT101", "P101", "P203", "P205"),
    )  # fmt: skip
    missed = Chapter(
        "drift", "LIT301 drifts.", ("LIT301",), at(60), at(70), note="an alarm came 2 min late"
    )
    entries = [
        Entry(alarm(1, 11, 21), "attack", "21"),
        Entry(alarm(2, 30, 31, headline="P101 is noisy."), "false"),
        Entry(alarm(3, 72, headline="LIT301 follows nothing."), "aftermath", "drift"),
        Entry(alarm(4, 12, 13, headline="FIT101 stands still.", kind="health"), "health", "21"),
    ]
    return Story(
        title="An afternoon",
        lead=["One of two attacks was found."],
        facts=[("seed", "1")],
        chapters=[found, missed],
        entries=entries,
        rules=["Detected: raised while it lasted."],
        time=time,
        score=score,
        clock="naive",
        lanes={"LIT101": np.linspace(500.0, 800.0, 720)},
        units={"LIT101": "mm"},
        pages={one.alarm.id: f"alarms/{one.alarm.id}.html" for one in entries},
        more=[("test.csv", "the recording")],
    )


class Page(HTMLParser):
    """Tags, addresses and the words of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data):
        self.words.append(data.strip())

    @property
    def text(self):
        return " ".join(word for word in self.words if word)


def test_found_missed_false_and_aftermath_are_all_told(told):
    text = Page(story(told)).text
    assert "One of two attacks was found." in text
    assert re.search(r"21 MV101 is held open. 12:10:00 for 10 min 1 min 5 s LIT101 ✓ , P101", text)
    assert re.search(r"drift LIT301 drifts. .* missed an alarm came 2 min late – LIT301", text)
    assert re.search(r"12:30:00 1 min 4.5 false alarm P101 is noisy.", text)
    assert re.search(r"still on at the end 4.5 aftermath drift LIT301 follows nothing.", text)
    assert "P205" not in text  # the first three causes only


def test_health_stands_apart(told):
    alarms, health = Page(story(told)).text.split("Signal health About")
    assert "FIT101 stands still." not in alarms.split("What it said")[1]
    assert "FIT101 stands still." in health
    without = replace(told, entries=told.entries[:3])
    assert "Signal health" not in Page(story(without)).text


def test_every_alarm_has_its_link_and_nothing_leads_elsewhere(told):
    page = Page(story(told))
    for one in told.entries:
        assert f"alarms/{one.alarm.id}.html" in page.addresses
    assert "test.csv" in page.addresses
    assert not [one for one in page.addresses if re.match(r"[a-z]+:|//|/", one)]
    assert "script" not in page.tags
    assert "default-src 'none'" in story(told)


def test_names_are_text_whatever_they_are(told):
    hostile = replace(
        told,
        title=HOSTILE,
        lead=[HOSTILE],
        chapters=[
            replace(
                told.chapters[0],
                name=HOSTILE,
                description=HOSTILE,
                signals=(HOSTILE,),
                causes=(HOSTILE,),
                note=HOSTILE,
            )
        ],
        entries=[Entry(alarm(1, 11, 21, headline=HOSTILE), "attack", HOSTILE)],
        lanes={HOSTILE: np.zeros(720)},
        units={HOSTILE: HOSTILE},
    )
    page = Page(story(hostile))
    assert "script" not in page.tags
    assert page.text.count("<script>alert('x')</script> & $x_1$") >= 9


def test_an_abstaining_alarm_gives_candidates(told):
    unsure = replace(told, chapters=[replace(told.chapters[0], abstained=True)])
    assert "cannot tell; candidates LIT101 ✓" in Page(story(unsure)).text


def test_a_recording_without_alarms_or_attacks(told):
    empty = replace(told, chapters=[], entries=[], lanes={}, time=told.time[:1])
    page = Page(story(empty))
    assert "None was raised." in page.text
    assert "Truth" not in page.text
    assert "svg" not in page.tags


def test_the_graph_follows_the_page(told):
    svg = b'<?xml version="1.0"?><svg viewBox="0 0 9 7" width="9pt"><path fill="#1f2933"/></svg>'
    text = story(replace(told, graph=svg, graph_caption="Arrows point from cause to effect."))
    assert 'fill="currentColor"' in text
    assert "<?xml" not in text
    assert "Arrows point from cause to effect." in text


def test_the_page_is_written(told, tmp_path):
    write_story(told, tmp_path / "index.html")
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == story(told)


def test_place_of_the_attacked_signal():
    chapter = Chapter("x", "", ("B", "C"), 0, 1, causes=("A", "C", "B"))
    assert chapter.place == 2
    assert replace(chapter, causes=("A",)).place is None


def chart(time, score, **more):
    return timeline(time, score, "naive", more.get("attacks", ()), more.get("alarms", ()))


def points(path):
    return [tuple(map(float, one.split())) for one in re.split("[ML]", path) if one]


def test_bars_stand_where_they_belong(told):
    bars = [Bar(at(30), at(60), "x", "found"), Bar(at(-10), at(0.5), "y", "found")]
    found = chart(told.time, told.score, attacks=bars)
    left, right = found["left"], found["right"]
    wide = right - left
    first, last = told.time[0], told.time[-1]
    bar = found["attacks"][0]
    assert bar["x"] == pytest.approx(left + wide * (at(30) - first) / (last - first), abs=0.1)
    assert bar["width"] == pytest.approx(wide * (at(60) - at(30)) / (last - first), abs=0.1)
    assert found["attacks"][1]["x"] == left  # cut at the edge


def test_a_short_alarm_can_be_seen(told):
    found = chart(told.time, told.score, alarms=[Bar(at(30), at(30), "x", "false")])
    assert found["rows"][0]["bars"][0]["width"] >= 2.0


def test_no_peak_is_lost_in_a_long_recording():
    time = START + SECOND * np.arange(50_000, dtype=np.int64)
    score = np.full(50_000, 0.5)
    score[31_234] = 80.0
    found = chart(time, score)
    drawn = points(found["score"])
    assert len(drawn) <= 2 * COLUMNS
    highest = min(drawn, key=lambda point: point[1])
    share = (highest[0] - found["left"]) / (found["right"] - found["left"])
    assert share == pytest.approx(31_234 / 50_000, abs=1e-3)
    assert highest[1] < found["limit"] < drawn[0][1]


def test_where_there_is_no_score_there_is_no_line(told):
    score = told.score.copy()
    score[300:400] = np.nan
    path = chart(told.time, score)["score"]
    assert path.count("M") == 2
    nothing = chart(told.time, np.full(720, np.nan))
    assert nothing["score"] == ""


def test_times_on_the_axis_are_round(told):
    found = chart(told.time, told.score)
    texts = [mark["text"] for mark in found["marks"]]
    assert texts == ["12:15", "12:30", "12:45", "13:00", "13:15", "13:30", "13:45", "14:00"]


def test_a_signal_that_stands_still_has_a_lane():
    time = START + SECOND * np.arange(10, dtype=np.int64)
    lanes = [Lane("A", np.full(10, 5.0)), Lane("B", np.full(10, np.nan))]
    found = timeline(time, np.zeros(10), "naive", (), (), (), lanes)
    assert [lane["high"] for lane in found["lanes"]] == ["5", "0"]
    assert [bool(lane["path"]) for lane in found["lanes"]] == [True, False]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(9, "9 s"), (60, "1 min"), (65, "1 min 5 s"), (3600, "1 h"), (5430, "1 h 30 min")],
)
def test_durations_for_people(seconds, text):
    assert lasting(seconds) == text
