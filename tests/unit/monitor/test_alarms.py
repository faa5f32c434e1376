"""The value types: what an alarm looks like outside, and that its state is lossless."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from causewatch.errors import SettingError
from causewatch.graph import Link
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import (
    Alarm,
    AlarmEvents,
    BrokenLink,
    Cause,
    Remark,
    alarm_id,
)

SECOND = 1_000_000_000
START = 1_451_296_800 * SECOND  # 2015-12-28T10:00:00


def full_alarm(**more):
    values = {
        "id": "0123456789ab",
        "kind": "anomaly",
        "raised_at": START,
        "onset": START - SECOND,
        "updated_at": START + 2 * SECOND,
        "peak_score": 0.1 + 0.2,
        "signals": {"LIT301": 0.1 + 0.2, "P101": None},
        "causes": (Cause("LIT301", 2.5, 0.75),),
        "broken_links": (BrokenLink(Link("P101", "LIT301", 2), 0.5, 0.1, 4.0),),
        "headline": "LIT301 stopped following P101",
        "acknowledged": Remark("Ada", START + SECOND, "seen"),
        "shelved_until": START + 60 * SECOND,
        "comments": (Remark("Ada", START + SECOND, "seen"),),
        "merged": 1,
    }
    return Alarm(**{**values, **more})


def test_the_json_line_has_the_promised_fields():
    line = full_alarm().to_dict("updated", "naive")
    assert line["id"] == "0123456789ab"
    assert line["event"] == "updated"
    assert line["time"] == "2015-12-28T10:00:02"
    assert line["kind"] == "anomaly"
    assert line["raised_at"] == "2015-12-28T10:00:00"
    assert line["cleared_at"] is None
    assert line["peak_score"] == 0.1 + 0.2
    assert line["headline"] == "LIT301 stopped following P101"
    assert line["abstained"] is False
    assert line["causes"] == [{"signal": "LIT301", "score": 2.5, "confidence": 0.75}]
    assert line["broken_links"] == [
        {
            "source": "P101",
            "target": "LIT301",
            "lag": 2,
            "normal": 0.5,
            "observed": 0.1,
            "deviation": 4.0,
        }
    ]
    assert line["acknowledged_by"] == "Ada"
    assert line["shelved_until"] == "2015-12-28T10:01:00"
    assert line["comments"] == [{"by": "Ada", "time": "2015-12-28T10:00:01", "text": "seen"}]


def test_times_follow_the_clock_of_the_stream():
    alarm = full_alarm(cleared_at=START + 5 * SECOND)
    assert alarm.to_dict("cleared", "utc")["cleared_at"] == "2015-12-28T10:00:05Z"
    assert alarm.to_dict("cleared", "rows")["cleared_at"].startswith("row ")


def test_a_line_is_json_even_where_a_number_is_not_finite():
    link = BrokenLink(Link("a", "b", 1), 0.5, math.nan, math.inf)
    alarm = full_alarm(broken_links=(link,), causes=(Cause("a", math.inf, math.nan),))
    line = json.loads(json.dumps(alarm.to_dict("raised", "naive"), allow_nan=False))
    assert line["broken_links"][0]["observed"] is None
    assert line["broken_links"][0]["deviation"] is None
    assert line["causes"] == [{"signal": "a", "score": None, "confidence": None}]


@pytest.mark.parametrize("clock", ["naive", "utc", "elapsed", "rows"])
def test_a_line_holds_the_alarm_without_what_people_said(clock):
    alarm = full_alarm(cleared_at=START + 5 * SECOND)
    line = json.loads(json.dumps(alarm.to_dict("cleared", clock)))
    silent = replace(alarm, acknowledged=None, shelved_until=None, comments=())
    assert Alarm.from_dict(line) == silent
    odd = full_alarm(causes=(Cause("a", math.inf, 0.5),))
    back = Alarm.from_dict(odd.to_dict("raised", clock))
    assert math.isnan(back.causes[0].score)


def test_the_state_of_an_alarm_is_lossless_through_json():
    for alarm in (full_alarm(), Alarm("a", "health", 1, 1, 1, problem="frozen")):
        state = json.loads(json.dumps(alarm.to_state(), allow_nan=False))
        assert Alarm.from_state(state) == alarm
    odd = full_alarm(causes=(Cause("a", math.inf, math.nan),))
    back = Alarm.from_state(json.loads(json.dumps(odd.to_state(), allow_nan=False)))
    assert back.causes[0].score == math.inf
    assert math.isnan(back.causes[0].confidence)


def test_ids_follow_from_model_stream_and_time_and_differ_when_one_of_them_does():
    one = alarm_id("model", "line 1", 5)
    assert one == alarm_id("model", "line 1", 5)
    assert len(one) == 12
    assert int(one, 16) >= 0
    others = {
        alarm_id("Model", "line 1", 5),
        alarm_id("model", "line 2", 5),
        alarm_id("model", "line 1", 6),
        alarm_id("modell", "ine 1", 5),
        alarm_id("model", "line 1", 5, "a"),
    }
    assert len(others | {one}) == 6


def test_ids_stay_the_same_over_releases():
    # Alarms are found again by their id in files written long ago.
    assert alarm_id("model", "line 1", 5) == "109cfefe79d6"


def test_events_are_false_when_nothing_happened_and_tell_clearing_first():
    assert not AlarmEvents()
    one, two = full_alarm(id="1"), full_alarm(id="2")
    events = AlarmEvents.of([("raised", one), ("cleared", two)])
    assert events
    assert events.raised == (one,)
    assert [(event, alarm.id) for event, alarm in events] == [("cleared", "2"), ("raised", "1")]
    assert [line["event"] for line in events.to_dicts("naive")] == ["cleared", "raised"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("raise_after", 0),
        ("raise_after", 1.5),
        ("raise_after", True),
        ("clear_after", 0),
        ("clear_below", 0.0),
        ("clear_below", 1.01),
        ("clear_below", math.nan),
        ("merge_within", -1),
        ("merge_hours", -0.1),
        ("merge_hours", math.nan),
        ("join_within", -1),
        ("lost_after", 0),
        ("update_factor", 0.9),
        ("update_factor", math.inf),
        ("update_factor", math.nan),
        ("remember", 0),
        ("raise_after", 99999999999999999999),
        ("join_within", 100_000_001),
        ("remember", 10_001),
        ("update_factor", 1e7),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(name, value):
    with pytest.raises(SettingError, match=name):
        AlarmSettings(**{name: value})


def test_every_setting_is_documented_with_its_default():
    text = (Path(__file__).parents[3] / "docs" / "alarms.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", text, re.MULTILINE))
    assert listed == {one.name: str(one.default) for one in fields(AlarmSettings)}
