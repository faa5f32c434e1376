"""The life of alarms: every rule by itself, then any life whatever against a restored one."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import SettingError, UnknownNameError
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Cause, alarm_id
from causewatch.monitor.policy import AlarmPolicy
from causewatch.monitor.state import WRONG_PARTS
from causewatch.monitor.tracks import Track

NAN = float("nan")
NAMES = ("a", "b", "c")


class Stream:
    """A policy fed with the evidence of three signals; time is the number of the tick."""

    def __init__(self, describe=None, **settings):
        # Without merging unless a test asks for it: each rule by itself.
        rules = AlarmSettings(**{"merge_within": 0, "merge_hours": 0, **settings})
        self.policy = AlarmPolicy(rules, NAMES, "model", "line", "rows", describe=describe)
        self.time = 0

    def tick(self, a=0.0, b=0.0, c=0.0, *, score=..., hold=False, times=1):
        """What happened in `times` equal ticks, as a list of (time, event, id)."""
        happened = []
        for _ in range(times):
            self.time += 1
            # As the monitor does: limits widened by feedback, then the largest ratio.
            raw = np.array([a, b, c], dtype=float)
            evidence = raw / self.policy.factors
            value = float(np.fmax.reduce(evidence)) if score is ... else score
            for event, alarm in self.policy.update(self.time, value, evidence, hold, raw):
                happened.append((self.time, event, alarm.id))
        return happened

    def raise_one(self, **evidence):
        events = self.tick(**(evidence or {"a": 2.0}))
        assert [event for _, event, _ in events] == ["raised"]
        return events[0][2]


def what(happened):
    return [event for _, event, _ in happened]


# Raising


def test_the_limit_itself_raises_nothing_and_anything_above_does():
    stream = Stream()
    assert stream.tick(1.0) == []
    assert stream.tick(np.nextafter(1.0, 2.0)) == [(2, "raised", alarm_id("model", "line", 2))]


def again_from(stream, time):
    """The same stream, whose time goes back to `time`, after a kill."""
    other = Stream()
    other.policy = AlarmPolicy(stream.policy._book.settings, NAMES, "model", "line", "rows")
    other.policy.restore(json.loads(json.dumps(stream.policy.snapshot())))
    other.time = time
    other.policy.jump_back()
    return other


def test_a_moment_that_comes_again_gives_another_id():
    stream, ids = Stream(), []
    for _ in range(3):
        ids.append(stream.raise_one())
        stream.tick(times=3)
        stream = again_from(stream, 0)
    assert ids == [alarm_id("model", "line", 1, jumps=jumps) for jumps in range(3)]
    assert ids[0] == alarm_id("model", "line", 1)
    assert len(set(ids)) == 3


@pytest.mark.parametrize("kind", ["anomaly", "health"])
@pytest.mark.parametrize("time", [5, 19, 30])
def test_nothing_is_opened_again_where_time_has_gone_back(kind, time):
    def trouble(stream):
        if kind == "anomaly":
            return stream.tick(2.0)
        stream.policy.health(stream.time, {"a": "stale"})
        happened = stream.tick()
        stream.policy.health(stream.time, {"a": None})
        return happened

    stream = Stream(merge_within=10, merge_hours=4, health_after=1)
    stream.tick(times=20)
    assert what(trouble(stream)) == ["raised"]
    assert what(stream.tick(times=4)) == ["cleared"]
    stream = again_from(stream, time)
    assert what(trouble(stream)) == ["raised"]
    assert what(stream.tick(times=4)) == ["cleared"]
    assert what(trouble(stream)) == ["updated"]  # as ever


def test_a_state_of_before_does_not_say_how_often_time_went_back():
    stream = Stream()
    stream.tick(times=2)
    state = {
        name: part
        for name, part in stream.policy.snapshot().items()
        if name not in ("jumps", "jump_tick")
    }
    stream.policy.restore(state)
    assert stream.raise_one() == alarm_id("model", "line", 3)


def test_raise_after_counts_ticks_in_a_row_and_remembers_the_first():
    stream = Stream(raise_after=3)
    assert stream.tick(2, times=2) == []
    assert stream.tick(0.5) == []
    assert what(stream.tick(2, times=3)) == ["raised"]
    alarm = stream.policy.active[0]
    assert (alarm.onset, alarm.raised_at) == (4, 6)


def test_an_unknown_score_neither_raises_nor_breaks_a_row():
    stream = Stream(raise_after=2)
    assert stream.tick(5, score=None) == []
    assert stream.tick(5, score=NAN) == []
    assert stream.tick(2) == []
    assert stream.tick(score=None, times=3) == []
    assert what(stream.tick(2)) == ["raised"]


def test_a_quiet_tick_breaks_a_row_whatever_else_is_on():
    stream = Stream(raise_after=2, health_after=1)
    stream.policy.health(1, {"c": "stale"})
    stream.tick()
    assert stream.tick(2) + stream.tick(0.5) + stream.tick(2) == []
    stream = Stream(raise_after=2, join_within=5)
    stream.tick(2, times=10)
    assert stream.tick(2, 2) + stream.tick(2, 1) + stream.tick(2, 2) == []
    assert what(stream.tick(2, 2)) == ["raised"]


def test_an_alarm_lists_its_loud_signals_largest_first_with_their_largest_evidence():
    stream = Stream()
    stream.tick(1.5, 3.0, 0.9)
    stream.tick(2.0, 1.2, 0.9)
    alarm = stream.policy.active[0]
    assert list(alarm.signals.items()) == [("b", 3.0), ("a", 2.0)]
    assert alarm.peak_score == 3.0


def test_a_score_beyond_all_evidence_scales_it_and_one_without_any_concerns_all():
    stream = Stream()
    stream.tick(0.4, 0.5, score=3.0)
    assert stream.policy.active[0].signals == pytest.approx({"b": 3.0, "a": 2.4})
    for nothing in (0.0, NAN):
        stream = Stream()
        stream.tick(nothing, nothing, nothing, score=3.0)
        assert stream.policy.active[0].signals == {"a": 3.0, "b": 3.0, "c": 3.0}
        assert what(stream.tick(nothing, nothing, nothing, score=0.5, times=5)) == ["cleared"]


def test_the_peak_is_the_score_to_the_last_digit_although_evidence_is_scaled():
    for top in np.linspace(0.1, 5.0, 200):
        stream = Stream()
        stream.tick(top, score=1.7)
        assert stream.policy.active[0].peak_score == 1.7


def test_an_infinite_score_is_cut_and_still_goes_into_json():
    stream = Stream()
    assert what(stream.tick(np.inf, 2.0)) == ["raised"]
    assert stream.policy.active[0].peak_score == 1e9
    json.dumps(stream.policy.snapshot(), allow_nan=False)


# Clearing


def test_clearing_needs_enough_ticks_strictly_below():
    stream = Stream(clear_below=0.8, clear_after=3)
    id = stream.raise_one()
    assert stream.tick(0.79, times=2) == []
    assert stream.tick(0.8) == []  # the edge does not count, and starts the count anew
    assert stream.tick(0.79, times=2) == []
    assert stream.tick(0.79) == [(7, "cleared", id)]
    assert stream.policy.active == ()
    assert stream.policy.recent[0].cleared_at == 7


def test_between_the_two_limits_an_alarm_stays():
    stream = Stream()
    stream.raise_one()
    assert "cleared" not in what(stream.tick(0.9, times=500))
    assert stream.policy.on


def test_hold_keeps_an_alarm_on_and_the_count_starts_after_it():
    stream = Stream(clear_after=3)
    stream.raise_one()
    stream.tick(0.1, times=2)
    assert stream.tick(0.1, hold=True, times=50) == []
    assert stream.tick(0.1, times=2) == []
    assert what(stream.tick(0.1)) == ["cleared"]


def test_hold_alone_raises_nothing():
    assert Stream().tick(0.9, hold=True, times=20) == []


def test_unknown_ticks_leave_an_alarm_as_it_is():
    stream = Stream(clear_after=2)
    stream.raise_one()
    assert stream.tick(0.1) == []
    assert stream.tick(score=None, times=100) == []
    assert what(stream.tick(0.1)) == ["cleared"]


def test_an_alarm_is_kept_by_its_own_signals_only():
    stream = Stream(clear_after=2)
    stream.raise_one(a=2.0)
    assert what(stream.tick(0.1, 0.95, times=2)) == ["cleared"]


def test_a_member_without_evidence_keeps_its_alarm_on_but_not_for_ever():
    stream = Stream(clear_after=2, lost_after=10, update_every=1000)
    stream.raise_one(a=2.0, b=1.5)
    assert stream.tick(NAN, 0.1, times=10) == []
    assert what(stream.tick(NAN, 0.1, times=2)) == ["cleared"]


# Merging


def test_the_same_trouble_soon_after_clearing_opens_the_same_alarm():
    stream = Stream(clear_after=2, merge_within=4)
    id = stream.raise_one(a=2.0)
    stream.tick(times=2)
    stream.tick(times=3)
    assert stream.tick(a=1.2, b=3.0) == [(7, "updated", id)]
    alarm = stream.policy.active[0]
    assert alarm.cleared_at is None
    assert alarm.raised_at == 1
    assert alarm.merged == 1
    assert set(alarm.signals) == {"a", "b"}
    assert stream.policy.recent == ()
    assert stream.tick(times=2) == [(9, "cleared", id)]


def test_after_the_window_or_elsewhere_it_is_another_alarm():
    late = Stream(clear_after=2, merge_within=4)
    late.raise_one(a=2.0)
    late.tick(times=2)
    late.tick(times=4)
    assert what(late.tick(a=2.0)) == ["raised"]
    other = Stream(clear_after=2, merge_within=4)
    first = other.raise_one(a=2.0)
    other.tick(times=2)
    assert other.raise_one(b=2.0) != first


def test_flapping_is_one_alarm():
    stream = Stream(clear_after=2, merge_within=4)
    happened = [one for _ in range(50) for one in stream.tick(2.0) + stream.tick(times=4)]
    assert what(happened).count("raised") == 1
    assert len({id for _, _, id in happened}) == 1
    assert stream.policy.recent[0].merged == 49


def test_trouble_that_comes_back_within_as_long_as_it_had_lasted_is_the_same_alarm():
    stream = Stream(clear_after=2, merge_hours=4)
    id = stream.raise_one(a=2.0)
    stream.tick(2.0, times=20)
    assert what(stream.tick(times=2)) == ["cleared"]
    stream.tick(times=15)
    assert stream.tick(a=2.0) == [(stream.time, "updated", id)]
    stream.tick(times=2)
    stream.tick(times=30)  # it has lasted for 41 ticks in all
    assert stream.tick(a=2.0) == [(stream.time, "updated", id)]


def test_short_trouble_that_comes_back_much_later_is_another_alarm():
    stream = Stream(clear_after=2, merge_hours=4)
    stream.raise_one(a=2.0)
    stream.tick(2.0, times=3)
    stream.tick(times=10)
    assert what(stream.tick(a=2.0)) == ["raised"]


def test_nothing_is_the_same_alarm_after_the_most_hours():
    hours = 5 / 3600e9  # times count nanoseconds here, one to a tick
    stream = Stream(clear_after=2, merge_hours=hours)
    stream.raise_one(a=2.0)
    stream.tick(2.0, times=20)
    stream.tick(times=10)
    assert what(stream.tick(a=2.0)) == ["raised"]


def test_only_signals_that_raised_an_alarm_open_it_again():
    stream = Stream(clear_after=2, merge_within=10, merge_hours=4)
    first = stream.raise_one(a=2.0)
    stream.tick(2.0, 2.0, times=5)  # b joins
    stream.tick(times=4)
    assert stream.raise_one(b=2.0) != first


# Updates


def test_updates_are_sparse():
    stream = Stream(update_every=5, update_factor=1.5)
    stream.raise_one(a=2.0)
    assert stream.tick(2.0, times=250) == []
    assert stream.tick(3.0, times=20) == []  # grown by the factor, not beyond it
    assert stream.tick(3.1, times=20) == [(272, "updated", stream.policy.active[0].id)]


def test_a_joining_signal_is_an_update_and_updates_keep_their_distance():
    stream = Stream(update_every=5)
    stream.raise_one(a=2.0)
    happened = stream.tick(2.0, 1.1) + stream.tick(2.0, 1.1, 1.1) + stream.tick(2.0, times=20)
    assert [time for time, _, _ in happened] == [6]
    assert set(stream.policy.active[0].signals) == {"a", "b", "c"}


def test_describe_fills_the_explanation_and_nothing_else():
    def describe(alarm):
        return replace(
            alarm,
            id="forged",
            peak_score=99.0,
            onset=alarm.raised_at - 1,
            causes=(Cause("b", 1.0, 0.5),),
            headline="b went first",
            abstained=True,
        )

    stream = Stream(describe)
    id = stream.raise_one(a=2.0)
    alarm = stream.policy.alarm(id)
    assert alarm.peak_score == 2.0
    assert alarm.headline == "b went first"
    assert alarm.causes == (Cause("b", 1.0, 0.5),)
    assert alarm.abstained
    assert alarm.onset == 0


def test_describe_is_asked_ever_more_rarely_and_a_new_cause_is_an_update():
    asked = []

    def describe(alarm):
        asked.append(alarm.updated_at)
        first = "a" if alarm.updated_at < 50 else "b"
        return replace(alarm, causes=(Cause(first, float(len(asked)), 0.5),))

    stream = Stream(describe, update_every=5)
    stream.raise_one(a=2.0)
    happened = stream.tick(2.0, times=1000)
    assert asked == [1, 6, 11, 21, 41, 81, 161, 321, 641]
    assert [(time, event) for time, event, _ in happened] == [(81, "updated")]
    stream.tick(times=5)
    assert asked[-1] == 1004  # and once more at the end


def test_without_describe_there_is_still_a_headline():
    stream = Stream()
    stream.raise_one(a=2.0, b=1.5)
    assert stream.policy.active[0].headline == "a, b above the limit since row 0"


# A second alarm beside a settled one


def test_signals_join_the_alarm_that_is_on():
    stream = Stream(join_within=10)
    id = stream.raise_one(a=2.0)
    assert stream.tick(2.0, times=8) == []
    stream.tick(2.0, 1.1)  # nine ticks after the last one
    stream.tick(2.0, times=8)
    stream.tick(2.0, 0.0, 9.0)
    stream.tick(2.0, 9.0, 9.0, times=50)
    (alarm,) = stream.policy.active
    assert alarm.id == id
    assert set(alarm.signals) == {"a", "b", "c"}


def test_trouble_elsewhere_ten_ticks_after_the_last_has_joined_is_an_alarm_of_its_own():
    stream = Stream(clear_after=2)
    first = stream.raise_one(a=2.0)
    stream.tick(2.0, times=9)
    second = stream.raise_one(a=2.0, b=1.01)
    assert second != first
    assert "raised" not in what(stream.tick(2.0, 2.0, 1.1))  # that joins the second one
    assert [set(alarm.signals) for alarm in stream.policy.active] == [{"a"}, {"b", "c"}]
    assert stream.tick(2.0, times=2)[-1] == (stream.time, "cleared", second)
    assert [alarm.id for alarm in stream.policy.active] == [first]


def test_an_alarm_stuck_for_hours_hides_nothing():
    stream = Stream(clear_after=1)
    stuck = stream.raise_one(a=3.0)
    for _ in range(20):
        assert "raised" not in what(stream.tick(3.0, times=30))
        stream.raise_one(a=3.0, b=1.1)
        stream.tick(3.0)
    assert [alarm.id for alarm in stream.policy.active] == [stuck]
    assert set(stream.policy.active[0].signals) == {"a"}


def test_where_nothing_may_join_every_tick_of_new_trouble_is_an_alarm():
    stream = Stream(join_within=0)
    stream.raise_one(a=2.0)
    stream.raise_one(a=2.0, b=2.0)
    stream.raise_one(a=2.0, b=2.0, c=2.0)
    assert [set(alarm.signals) for alarm in stream.policy.active] == [{"a"}, {"b"}, {"c"}]


def test_trouble_elsewhere_after_acknowledging_is_an_alarm_of_its_own():
    stream = Stream()
    id = stream.raise_one(a=2.0)
    stream.policy.acknowledge(id, by="Ada", at=1)
    stream.raise_one(a=2.0, b=1.1)


def test_the_second_alarm_can_be_a_merge_too():
    stream = Stream(join_within=5, clear_after=2, merge_within=4)
    stream.raise_one(a=2.0)
    stream.tick(2.0, times=9)
    second = stream.raise_one(a=2.0, b=2.0)
    assert what(stream.tick(2.0, times=2)) == ["cleared"]
    assert stream.tick(2.0, 2.0) == [(stream.time, "updated", second)]


# Acknowledging and comments


def test_acknowledging_is_remembered_with_name_time_and_comment():
    stream = Stream()
    id = stream.raise_one()
    events = stream.policy.acknowledge(id, by="Ada", at=7, comment="on it")
    line = events.to_dicts("rows")[0]
    assert (line["event"], line["acknowledged_by"]) == ("acknowledged", "Ada")
    stream.policy.comment(id, by="Bob", at=8, text="valve")
    alarm = stream.policy.alarm(id)
    assert alarm.acknowledged.at == 7
    assert [remark.text for remark in alarm.comments] == ["on it", "valve"]
    with pytest.raises(SettingError, match=r"was acknowledged by Ada already \(row 0\)"):
        stream.policy.acknowledge(id, by="Cy", at=9)
    assert stream.policy.alarm(id).acknowledged.by == "Ada"


def test_an_alarm_that_is_over_can_be_acknowledged():
    stream = Stream()
    id = stream.raise_one()
    stream.tick(times=5)
    assert stream.policy.acknowledge(id, by="Cy", at=9).acknowledged[0].cleared_at == 4


def test_an_alarm_that_is_opened_again_has_to_be_seen_again():
    stream = Stream(clear_after=2, merge_within=4)
    id = stream.raise_one()
    stream.policy.acknowledge(id, by="Ada", at=1)
    stream.tick(times=4)
    assert [one for *_, one in stream.tick(a=2.0)] == [id]
    assert stream.policy.alarm(id).acknowledged is None
    assert stream.policy.acknowledge(id, by="Bob", at=20).acknowledged[0].acknowledged.by == "Bob"


def test_comments_do_not_grow_without_bound():
    stream = Stream()
    id = stream.raise_one()
    for k in range(100):
        stream.policy.comment(id, by="Ada", at=k, text=str(k))
    comments = stream.policy.alarm(id).comments
    assert len(comments) == 20
    assert comments[-1].text == "99"


def test_a_comment_does_not_swallow_an_update():
    stream = Stream(update_every=5)
    id = stream.raise_one(a=2.0)
    stream.tick(2.0, 2.0)
    stream.policy.comment(id, by="Ada", at=2, text="hm")
    assert what(stream.tick(2.0, 2.0, times=10)) == ["updated"]


def test_unknown_ids_and_names_are_refused_and_the_known_ones_listed():
    stream = Stream()
    id = stream.raise_one()
    for act in ("acknowledge", "mark_normal"):
        with pytest.raises(UnknownNameError, match=id):
            getattr(stream.policy, act)("nope", by="Ada", at=1)
    with pytest.raises(UnknownNameError, match=id):
        stream.policy.alarm("nope")
    with pytest.raises(UnknownNameError, match="shelved alarm"):
        stream.policy.unshelve(id, at=1)
    with pytest.raises(UnknownNameError, match="marked as normal"):
        stream.policy.undo_normal(id, by="Ada", at=1)
    with pytest.raises(UnknownNameError, match="a, b, c"):
        stream.policy.shelve(["x"], until=9, by="Ada", at=1)
    with pytest.raises(UnknownNameError, match="shelved signal"):
        stream.policy.unshelve(["a"], at=1)
    with pytest.raises(UnknownNameError, match="a, b, c"):
        stream.policy.health(1, {"x": "missing"})
    with pytest.raises(UnknownNameError, match="a, b, c"):
        stream.policy.release(1, "x")
    with pytest.raises(SettingError, match="say who"):
        stream.policy.acknowledge(id, by=" ", at=1)


# Shelving


def test_a_shelved_alarm_still_on_at_expiry_is_raised_again_under_its_id():
    stream = Stream()
    id = stream.raise_one()
    events = stream.policy.shelve(id, until=20, by="Ada", at=1)
    assert events.shelved[0].shelved_until == 20
    assert not stream.policy.on
    assert stream.tick(9.0, times=18) == []
    assert stream.tick(9.0) == [(20, "raised", id)]
    assert stream.policy.on
    assert stream.policy.alarm(id).raised_at == 1
    assert stream.policy.alarm(id).peak_score == 9.0
    assert stream.policy.shelves == ()


def test_a_shelved_alarm_that_ends_is_cleared_and_its_signals_stay_shelved():
    stream = Stream()
    id = stream.raise_one()
    stream.policy.shelve(id, until=30, by="Ada", at=1)
    assert what(stream.tick(times=5)) == ["cleared"]
    assert stream.tick(9.0, times=23) == []
    other = alarm_id("model", "line", 30)
    assert stream.tick(9.0) == [(30, "raised", other), (30, "updated", id)]
    assert stream.policy.active[0].id == other
    assert stream.policy.alarm(id).shelved_until is None


def test_an_alarm_that_is_over_can_be_shelved_and_taken_off_the_shelf():
    stream = Stream()
    id = stream.raise_one()
    assert what(stream.tick(times=5)) == ["cleared"]
    stream.policy.shelve(id, until=30, by="Ada", at=6)
    assert stream.tick(9.0, times=5) == []
    (alarm,) = stream.policy.unshelve(id, at=11).updated
    assert (alarm.id, alarm.on, alarm.shelved_until) == (id, False, None)
    assert stream.policy.shelves == ()


def test_shelved_signals_raise_nothing_and_others_still_do():
    stream = Stream()
    stream.policy.shelve(["a", "c"], until=30, by="Ada", at=0)
    assert stream.tick(9.0, 1.0, 9.0, times=5) == []
    assert stream.tick(9.0, NAN, 9.0, times=5) == []
    stream.raise_one(a=9.0, b=1.1)
    assert set(stream.policy.active[0].signals) == {"b"}
    assert stream.policy.active[0].peak_score == 1.1


def test_an_alarm_cleared_at_the_very_end_of_its_shelf_is_not_raised_again():
    stream = Stream(clear_after=5)
    id = stream.raise_one()
    stream.policy.shelve(id, until=6, by="Ada", at=1)
    assert stream.tick(times=5) == [(6, "cleared", id)]


def test_one_event_is_enough_at_the_end_of_a_shelf():
    stream = Stream(update_every=1)
    id = stream.raise_one()
    stream.policy.shelve(id, until=4, by="Ada", at=1)
    assert stream.tick(2.0, times=2) == []
    assert stream.tick(9.0) == [(4, "raised", id)]


def test_shelving_one_alarm_does_not_hide_another():
    stream = Stream()
    stream.policy.shelve(stream.raise_one(a=2.0), until=99, by="Ada", at=1)
    stream.raise_one(a=2.0, b=1.1)


def test_shelving_signals_shelves_the_alarms_about_them_alone():
    stream = Stream()
    id = stream.raise_one(a=2.0, b=2.0)
    assert not stream.policy.shelve(["a"], until=9, by="Ada", at=1)
    events = stream.policy.shelve({"a", "b"}, until=50, by="Ada", at=1)
    assert [alarm.id for alarm in events.shelved] == [id]
    events = stream.policy.unshelve(["a", "b"], at=2)
    assert [alarm.id for alarm in events.raised] == [id]
    assert stream.policy.shelves == ()


def test_unshelving_raises_again_what_is_still_on_and_nothing_else():
    stream = Stream()
    id = stream.raise_one()
    stream.policy.shelve(id, until=50, by="Ada", at=1)
    assert [alarm.id for alarm in stream.policy.unshelve(id, at=2).raised] == [id]
    assert stream.policy.alarm(id).shelved_until is None
    stream.policy.shelve(id, until=50, by="Ada", at=3)
    stream.tick(times=5)
    assert not stream.policy.unshelve(id, at=9).raised
    assert what(stream.tick(2.0)) == ["raised"]


def test_shelving_must_end_later():
    with pytest.raises(SettingError, match="later"):
        Stream().policy.shelve(["a"], until=5, by="Ada", at=5)
    with pytest.raises(SettingError, match="at least one"):
        Stream().policy.shelve([], until=6, by="Ada", at=5)


# "This was normal"


def test_marking_as_normal_widens_the_limits_of_exactly_the_signals_named():
    stream = Stream()
    id = stream.raise_one(a=3.0, b=1.2, c=0.9)
    stream.tick(times=5)
    stream.policy.mark_normal(id, by="Ada", at=9, signals=["b", "a"])
    assert stream.policy.factors == pytest.approx([3.3, 1.32, 1.0])
    assert stream.tick(3.0, 1.2, 0.9, times=10) == []
    assert stream.policy.marks[0].factors == pytest.approx({"a": 3.3, "b": 1.32})
    stream.raise_one(c=1.01)


def test_a_mark_that_names_no_signals_is_about_the_causes_or_else_the_loudest():
    def describe(alarm):
        return replace(alarm, causes=(Cause("b", 1.0, 0.5), Cause("c", 0.5, 0.5)))

    for describing, factors in ((describe, [1.0, 1.32, 1.0]), (None, [3.3, 1.0, 1.0])):
        stream = Stream(describing)
        id = stream.raise_one(a=3.0, b=1.2)
        stream.policy.mark_normal(id, by="Ada", at=1)
        assert stream.policy.factors == pytest.approx(factors)
        assert stream.tick(3.0, 1.2, times=5) == []  # it is the event that was normal
        assert stream.tick(times=3) == []  # and it is over
        assert what(stream.tick(3.0, 1.2)) == ["raised"]  # what the mark was not about
        names = {"b": 1.2} if describing is None else {"a": 3.0}
        assert stream.policy.active[0].signals == names


def test_an_event_that_was_normal_does_not_come_back_under_another_name():
    """Its other signals are quiet until it is over, and their limits stay as they were."""
    stream = Stream(merge_within=4)
    id = stream.raise_one(a=3.0)
    stream.tick(3.0, 2.0)  # a follower
    stream.policy.mark_normal(id, by="Ada", at=2)
    factors = stream.policy.factors.copy()
    assert stream.tick(3.0, 2.1, times=50) == []
    assert what(stream.tick(3.0, 2.0, 1.5)) == ["raised"]  # what was not part of it
    assert list(stream.policy.active[0].signals) == ["c"]
    stream.tick(3.0, 2.0, times=9)
    stream.tick(0.0, 0.0, times=3)
    assert stream.tick(0.0, 2.0) == []  # not over
    stream.tick(0.0, 0.0, times=4)
    assert what(stream.tick(0.0, 2.0)) == ["raised"]
    assert (stream.policy.factors == factors).all()


def test_what_gets_louder_than_in_an_event_that_was_normal_raises():
    stream = Stream()
    id = stream.raise_one(a=3.0, b=2.0)
    stream.policy.mark_normal(id, by="Ada", at=1)
    assert stream.tick(3.0, 2.2) == []
    assert what(stream.tick(3.0, 2.3)) == ["raised"]
    assert list(stream.policy.active[0].signals) == ["b"]


def test_signals_that_were_not_chosen_raise_at_once():
    stream = Stream()
    id = stream.raise_one(a=3.0, b=2.0)
    stream.policy.mark_normal(id, by="Ada", at=1, signals=["a"])
    assert what(stream.tick(3.0, 2.0)) == ["raised"]


def test_an_event_is_not_normal_once_that_is_taken_back():
    stream = Stream()
    id = stream.raise_one(a=3.0, b=2.0)
    stream.policy.mark_normal(id, by="Ada", at=1)
    assert stream.tick(3.0, 2.0) == []
    stream.policy.undo_normal(id, by="Ada", at=2)
    assert what(stream.tick(3.0, 2.0)) == ["raised"]


def test_a_mark_is_not_about_causes_that_are_next_to_impossible():
    def describe(alarm):
        return replace(alarm, causes=(Cause("b", 2.0, 0.995), Cause("a", 1.0, 0.005)))

    stream = Stream(describe)
    id = stream.raise_one(a=3.0, b=1.2)
    stream.policy.mark_normal(id, by="Ada", at=1)
    assert stream.policy.factors == pytest.approx([1.0, 1.32, 1.0])


def test_only_signals_of_the_alarm_can_be_marked():
    stream = Stream()
    id = stream.raise_one(a=3.0, b=1.2)
    for names, message in ((["c"], "a, b"), (["x"], "a, b, c"), ([], "at least one")):
        with pytest.raises((SettingError, UnknownNameError), match=message):
            stream.policy.mark_normal(id, by="Ada", at=1, signals=names)
    assert stream.policy.marks == ()
    assert stream.policy.active[0].id == id


def test_a_mark_is_in_units_of_the_limits_of_the_model_however_they_were_widened():
    stream = Stream()
    lifted = np.array([1.5, 0.0, 0.0])
    ((_, alarm),) = stream.policy.update(1, 1.5, lifted, raw=2.0 * lifted)
    assert alarm.signals == {"a": 1.5}
    stream.policy.mark_normal(alarm.id, by="Ada", at=1)
    assert stream.policy.factors[0] == pytest.approx(3.3)


def test_marking_an_alarm_that_is_on_clears_it_and_keeps_it_off():
    stream = Stream(merge_within=10)
    id = stream.raise_one(a=3.0)
    alarm = stream.policy.mark_normal(id, by="Ada", at=1).cleared[0]
    assert alarm.normal
    assert alarm.acknowledged.by == "Ada"
    assert stream.tick(3.0, times=5) == []
    assert stream.raise_one(a=3.4) != id  # beyond: another alarm, not the one called normal


def test_marking_as_normal_does_not_change_who_saw_it_first():
    stream = Stream()
    id = stream.raise_one()
    stream.policy.acknowledge(id, by="Ada", at=1)
    stream.policy.mark_normal(id, by="Bob", at=2)
    assert stream.policy.alarm(id).acknowledged.by == "Ada"


def test_marking_a_shelved_alarm_takes_it_off_the_shelf():
    stream = Stream()
    id = stream.raise_one(a=3.0)
    stream.policy.shelve(id, until=99, by="Ada", at=1)
    stream.policy.mark_normal(id, by="Ada", at=2)
    assert stream.policy.shelves == ()
    stream.raise_one(a=3.4)


def test_marking_twice_never_makes_a_limit_narrower():
    stream = Stream()
    id = stream.raise_one(a=3.0)
    stream.policy.mark_normal(id, by="Ada", at=1)
    stream.policy.mark_normal(id, by="Bob", at=2)
    assert stream.policy.factors[0] == pytest.approx(3.3)
    assert [mark.by for mark in stream.policy.marks] == ["Bob"]


def test_taking_it_back_gives_exactly_the_learnt_limits():
    stream = Stream()
    id = stream.raise_one(a=3.0)
    stream.policy.mark_normal(id, by="Ada", at=1)
    events = stream.policy.undo_normal(id, by="Ada", at=2)
    assert events.updated[0].normal is False
    assert stream.policy.factors.tolist() == [1.0, 1.0, 1.0]
    assert stream.policy.marks == ()
    stream.raise_one(a=1.1)


def test_marks_are_independent_of_each_other():
    stream = Stream()
    first = stream.raise_one(a=2.0)
    stream.policy.mark_normal(first, by="Ada", at=1)
    second = stream.raise_one(a=5.0)
    stream.policy.mark_normal(second, by="Ada", at=2)
    assert stream.policy.factors[0] == pytest.approx(5.5)  # in units of the learnt limit
    stream.policy.undo_normal(first, by="Ada", at=3)
    assert stream.policy.factors[0] == pytest.approx(5.5)
    stream.policy.undo_normal(second, by="Ada", at=4)
    assert stream.policy.factors[0] == 1.0


def test_a_smaller_mark_does_not_narrow_a_limit():
    stream = Stream()
    large = stream.raise_one(a=5.0)
    stream.tick(times=5)
    small = stream.raise_one(a=2.0)
    for id in (large, small):
        stream.policy.mark_normal(id, by="Ada", at=20)
    assert stream.policy.factors[0] == pytest.approx(5.5)


def test_a_mark_can_be_taken_back_after_its_alarm_is_forgotten():
    stream = Stream(remember=2, clear_after=1)
    id = stream.raise_one(a=2.0)
    stream.policy.mark_normal(id, by="Ada", at=1)
    for _ in range(3):
        stream.raise_one(b=2.0)
        stream.tick()
    with pytest.raises(UnknownNameError):
        stream.policy.alarm(id)
    assert not stream.policy.undo_normal(id, by="Ada", at=9)
    assert stream.policy.factors[0] == 1.0


def test_nobody_outside_can_change_the_factors():
    with pytest.raises(ValueError, match="read-only"):
        Stream().policy.factors[0] = 2.0


# Health


def test_a_lasting_health_problem_becomes_an_alarm_and_clears():
    stream = Stream(health_after=3, clear_after=2)
    stream.policy.health(1, {"a": "frozen"})
    assert stream.tick(times=2) == []
    assert stream.tick() == [(3, "raised", alarm_id("model", "line", 3, "a"))]
    alarm = stream.policy.active[0]
    assert (alarm.kind, alarm.problem, alarm.onset) == ("health", "frozen", 1)
    assert alarm.headline == "a: frozen"
    assert alarm.to_dict("raised", "rows")["peak_score"] is None
    assert not stream.policy.on  # health is no anomaly
    stream.policy.health(4, {"a": "missing"})
    assert what(stream.tick(score=None)) == ["updated"]
    stream.policy.health(5, {"a": None})
    assert stream.tick() == []
    assert what(stream.tick(score=None)) == ["cleared"]


def test_a_short_health_problem_is_no_alarm():
    stream = Stream(health_after=3)
    stream.policy.health(1, {"a": "missing"})
    stream.tick(times=2)
    stream.policy.health(3, {"a": None})
    assert stream.tick(times=10) == []


def test_a_health_alarm_clears_after_ticks_in_a_row():
    stream = Stream(health_after=1, clear_after=3)
    stream.policy.health(1, {"a": "missing"})
    stream.tick()
    for _ in range(5):
        stream.policy.health(stream.time, {"a": None})
        assert stream.tick(times=2) == []
        stream.policy.health(stream.time, {"a": "missing"})
        assert stream.tick() == []


def test_health_alarms_are_one_per_signal_and_beside_anomalies():
    stream = Stream(health_after=1)
    stream.policy.health(1, {"a": "missing", "b": "stale"})
    happened = stream.tick(NAN, NAN, 2.0)
    assert what(happened) == ["raised"] * 3
    assert len({id for _, _, id in happened}) == 3


def test_flapping_health_is_one_alarm():
    stream = Stream(health_after=1, clear_after=1, merge_within=5)
    happened = []
    for _ in range(10):
        stream.policy.health(stream.time + 1, {"a": "missing"})
        happened += stream.tick()
        stream.policy.health(stream.time + 1, {"a": None})
        happened += stream.tick(times=3)
    assert what(happened) == ["raised", "cleared"] + ["updated", "cleared"] * 9
    assert len({id for _, _, id in happened}) == 1


def test_health_alarms_can_be_acknowledged_and_shelved_without_hiding_anomalies():
    stream = Stream(health_after=1, clear_after=1)
    stream.policy.health(1, {"a": "stale"})
    id = stream.raise_one(b=0.0)
    stream.policy.acknowledge(id, by="Ada", at=1)
    stream.policy.shelve(id, until=20, by="Ada", at=1)
    stream.policy.health(2, {"a": None})
    assert what(stream.tick()) == ["cleared"]
    stream.policy.health(3, {"a": "stale"})
    assert stream.tick(times=5) == []
    assert what(stream.tick(2.0)) == ["raised"]
    # The shelf is over: what had been cleared is off it, and what is still there is raised.
    assert what(stream.tick(2.0, times=12)) == ["raised", "updated"]
    assert stream.time == 20


def test_names_without_evidence_have_health_alarms_and_take_no_part_in_anomalies():
    rules = AlarmSettings(health_after=1)
    more = {"health_only": ["spare", "(stream)"]}
    policy = AlarmPolicy(rules, NAMES, "model", "line", "rows", **more)
    policy.health(1, {"spare": "missing", "(stream)": "rate_wrong"})
    # No evidence at all: the anomaly is about every signal that could have some.
    events = policy.update(1, 2.0, np.full(3, NAN))
    assert [set(alarm.signals) for alarm in events.raised] == [{"spare"}, {"(stream)"}, set(NAMES)]
    policy.acknowledge(events.raised[0].id, by="Ada", at=1)
    policy.shelve(["spare"], until=9, by="Ada", at=1)
    policy.mark_normal(events.raised[2].id, by="Ada", at=1, signals=NAMES)
    assert policy.factors == pytest.approx([2.2] * 3)
    with pytest.raises(UnknownNameError, match="a, b, c"):
        policy.release(2, "spare")
    state = json.loads(json.dumps(policy.snapshot(), allow_nan=False))
    again = AlarmPolicy(rules, NAMES, "model", "line", "rows", **more)
    again.restore(state)
    assert again.snapshot() == state
    with pytest.raises(SettingError, match="each once"):
        AlarmPolicy(rules, NAMES, "model", "line", "rows", health_only=["a"])


def test_a_health_problem_has_no_limit_to_widen():
    stream = Stream(health_after=1)
    stream.policy.health(1, {"a": "stale"})
    id = stream.raise_one(b=0.0)
    with pytest.raises(SettingError, match="shelve it instead"):
        stream.policy.mark_normal(id, by="Ada", at=1)


# Releasing


def test_releasing_the_only_signal_of_an_alarm_clears_it():
    stream = Stream()
    id = stream.raise_one(a=2.0)
    stream.tick(2.0, times=30)
    ((event, alarm),) = stream.policy.release(stream.time, "a")
    assert (event, alarm.id, alarm.cleared_at) == ("cleared", id, 31)
    assert stream.policy.active == ()
    assert not stream.policy.release(stream.time, "a")  # it is in no alarm any more
    assert stream.tick(0.9, times=200) == []  # under the limit that was lifted over it
    assert stream.raise_one(a=1.1) != id


def test_a_released_signal_that_gets_worse_at_once_opens_its_alarm_again():
    stream = Stream(merge_within=10)
    id = stream.raise_one(a=2.0)
    stream.tick(2.0, times=30)
    stream.policy.release(stream.time, "a")
    stream.tick(0.9, times=5)
    assert stream.tick(1.2) == [(stream.time, "updated", id)]
    assert stream.policy.active[0].merged == 1


def test_releasing_one_of_several_signals_leaves_the_alarm_on():
    stream = Stream(clear_after=2, update_every=1)
    id = stream.raise_one(a=2.0, b=2.0)
    assert not stream.policy.release(1, "a")
    assert set(stream.policy.alarm(id).signals) == {"b"}
    assert stream.tick(0.5, 2.0) == [(2, "updated", id)]
    assert what(stream.tick(0.5, 0.1, times=2)) == ["cleared"]


def test_a_release_starts_no_health_alarm_and_takes_none_away():
    stream = Stream(health_after=1)
    stream.policy.health(1, {"a": "unlike"})
    stream.raise_one(b=0.0)
    stream.tick(2.0)
    stream.policy.release(stream.time, "a")
    (alarm,) = stream.policy.active
    assert (alarm.kind, alarm.problem) == ("health", "unlike")


def test_an_alarm_on_a_shelf_may_be_released():
    stream = Stream()
    id = stream.raise_one(a=2.0)
    stream.policy.shelve(id, until=20, by="Ada", at=1)
    assert [event for event, _ in stream.policy.release(1, "a")] == ["cleared"]
    assert stream.tick(0.9, times=18) == []
    assert stream.tick(0.9) == [(20, "updated", id)]  # off the shelf
    stream.raise_one(a=1.1)


# Accepting


def unlike(**settings):
    stream = Stream(**{"health_after": 1, **settings})
    stream.policy.health(1, {"a": "unlike", "b": "stale"})
    assert what(stream.tick()) == ["raised", "raised"]
    return stream, {next(iter(one.signals)): one.id for one in stream.policy.active}


def test_accepting_clears_the_finding_and_hands_its_signal_on_once():
    stream, ids = unlike()
    alarm = stream.policy.accept(ids["a"], by="Ada", at=2, comment="new valve").cleared[0]
    assert (alarm.id, alarm.acknowledged.by) == (ids["a"], "Ada")
    assert [remark.text for remark in alarm.comments] == ["new valve"]
    assert stream.policy.take_accepted() == ["a"]
    assert stream.policy.take_accepted() == []
    assert stream.policy.factors.tolist() == [1.0, 1.0, 1.0]


def test_only_a_finding_that_is_on_can_be_accepted():
    stream, ids = unlike()
    with pytest.raises(SettingError, match="no longer as learnt"):
        stream.policy.accept(ids["b"], by="Ada", at=2)
    with pytest.raises(SettingError, match="no longer as learnt"):
        stream.policy.accept(stream.raise_one(c=2.0), by="Ada", at=2)
    with pytest.raises(SettingError, match="say who"):
        stream.policy.accept(ids["a"], by="", at=2)
    stream.policy.accept(ids["a"], by="Ada", at=2)
    with pytest.raises(SettingError, match="no longer as learnt"):
        stream.policy.accept(ids["a"], by="Ada", at=3)
    assert stream.policy.take_accepted() == ["a"]


def test_what_was_accepted_on_a_shelf_is_off_it():
    stream, ids = unlike()
    stream.policy.shelve(ids["a"], until=50, by="Ada", at=1)
    stream.policy.accept(ids["a"], by="Ada", at=2)
    assert stream.policy.shelves == ()
    assert stream.policy.alarm(ids["a"]).shelved_until is None


# State

ACTS = "ack shelve signals normal undo release accept unlike ill well".split()
LIVES = st.lists(
    st.tuples(
        st.lists(
            st.one_of(st.floats(0, 4), st.sampled_from([0.0, 0.8, 1.0, NAN])),
            min_size=3,
            max_size=3,
        ),
        st.sampled_from(["", "", "", "", "", "gap", "hold"]),
        st.sampled_from(["", "", "", *ACTS]),
    ),
    min_size=5,
    max_size=60,
)
QUICK = AlarmSettings(
    raise_after=2,
    clear_after=2,
    merge_within=3,
    merge_hours=1e-12,
    join_within=4,
    lost_after=6,
    update_every=2,
    health_after=2,
    remember=3,
)


def first_cause(alarm):
    return replace(alarm, causes=tuple(Cause(name, 1.0, 0.5) for name in alarm.signals))


def lived(policy, life, start):
    """The JSON lines of a life; people act on the first alarm there is."""
    lines = []
    for k, (evidence, gap, act) in enumerate(life, start):
        if act == "release":  # before the update, as the monitor does
            lines += [json.dumps(line) for line in policy.release(k, "a").to_dicts("rows")]
        raw = np.array(evidence)
        values = raw / policy.factors
        score = None if gap == "gap" else float(np.fmax.reduce(values))
        events = [policy.update(k, score, values, gap == "hold", raw)]
        known = [alarm.id for alarm in (*policy.active, *policy.recent)]
        if act == "ill":
            policy.health(k, {"b": "missing"})
        elif act == "well":
            policy.health(k, {"b": None})
        elif act == "unlike":
            policy.health(k, {"c": "unlike"})
        elif act == "accept":
            for alarm in policy.active:
                if alarm.problem == "unlike":
                    events.append(policy.accept(alarm.id, by="Ada", at=k))
                    policy.health(k, dict.fromkeys(policy.take_accepted()))
        elif act == "signals":
            events.append(policy.shelve(["b"], until=k + 4, by="Ada", at=k))
        elif act == "undo" and policy.marks:
            events.append(policy.undo_normal(policy.marks[0].alarm, by="Ada", at=k))
        elif act == "ack" and known:
            with suppress(SettingError):  # it has been already
                events.append(policy.acknowledge(known[0], by="Ada", at=k, comment="seen"))
        elif act == "shelve" and known:
            events.append(policy.shelve(known[0], until=k + 4, by="Ada", at=k))
        elif act == "normal" and known and policy.alarm(known[0]).kind == "anomaly":
            events.append(policy.mark_normal(known[0], by="Ada", at=k))
        lines += [json.dumps(line) for one in events for line in one.to_dicts("rows")]
    return lines


def fresh():
    return AlarmPolicy(QUICK, NAMES, "model", "line", "rows", describe=first_cause)


@given(LIVES, st.integers(0, 60))
def test_a_restored_policy_lives_on_exactly_as_the_uninterrupted_one(life, cut):
    cut = min(cut, len(life))
    straight = fresh()
    lived(straight, life[:cut], 1)
    state = json.dumps(straight.snapshot(), allow_nan=False)
    restored = fresh()
    restored.restore(json.loads(state))
    assert json.dumps(restored.snapshot()) == state
    assert lived(restored, life[cut:], 1 + cut) == lived(straight, life[cut:], 1 + cut)
    assert restored.snapshot() == straight.snapshot()


@given(LIVES)
def test_whatever_happens_every_alarm_has_an_orderly_life(life):
    policy = fresh()
    on = {}
    for text in lived(policy, life, 1):
        line = json.loads(text)
        id, event = line["id"], line["event"]
        if event == "raised" and id not in on:
            on[id] = True
        assert id in on or event == "shelved"  # nothing is told of an alarm never raised
        if event == "cleared":
            assert on[id]
        if event in ("raised", "updated", "cleared"):
            on[id] = line["cleared_at"] is None
    assert {id for id, still in on.items() if still} <= {alarm.id for alarm in policy.active}
    members = [name for alarm in policy.active if alarm.kind == "health" for name in alarm.signals]
    assert len(members) == len(set(members))
    assert len(policy.recent) <= QUICK.remember
    assert (policy.factors >= 1).all()


def test_nothing_of_a_track_is_lost_in_its_state():
    stream = Stream()
    id = stream.raise_one(a=2.0, b=1.5)
    track = Track.new(stream.policy.alarm(id), 3, 0)
    arrays = {"member", "first", "evidence", "raw"}
    words = {"problem": "frozen", "dirty": True}
    kept = set(Track.__slots__) - {"written"}  # which is made of all the others
    counters = sorted(kept - arrays - set(words) - {"alarm"})
    for name, value in (words | {name: k + 1 for k, name in enumerate(counters)}).items():
        setattr(track, name, value)
    track.member[:], track.first[:] = [True, False, True], [False, False, True]
    track.evidence[:], track.raw[:] = [0.1, NAN, NAN], [0.3, NAN, 0.7]
    state = json.loads(json.dumps(track.snapshot(NAMES), allow_nan=False))
    back = Track.restored(state, NAMES)
    assert json.loads(track.remembered(NAMES)) == state
    for name in kept:
        if name in arrays:
            np.testing.assert_array_equal(getattr(back, name), getattr(track, name))
        else:
            assert getattr(back, name) == getattr(track, name)


def test_what_is_kept_of_a_remembered_alarm_follows_what_people_do():
    stream = Stream()
    id = stream.raise_one(a=2.0)
    stream.tick(0.1, times=20)
    policy = stream.policy
    assert policy.recent[0].id == id
    before = policy.snapshot()["recent"]
    assert policy.snapshot()["recent"] == before
    policy.comment(id, by="Ann", at=99, text="valve")
    policy.acknowledge(id, by="Bo", at=100)
    (text,) = policy.snapshot()["recent"]
    other = fresh()
    other.restore(json.loads(json.dumps(policy.snapshot())))
    assert other.alarm(id) == policy.alarm(id)
    assert other.alarm(id).acknowledged.by == "Bo"
    assert "valve" in text


def test_a_state_of_another_model_stream_or_layout_is_refused():
    state = fresh().snapshot()
    for name, value in [
        ("fingerprint", "other"),
        ("stream", "other"),
        ("signals", ["a"]),
        ("version", 99),
    ]:
        with pytest.raises(SettingError, match=name):
            fresh().restore({**state, name: value})


def test_a_damaged_state_is_noticed_by_those_who_restore_it():
    state = fresh().snapshot()
    for name in ("anomalies", "health", "marks", "shelves", "tick"):
        with pytest.raises(WRONG_PARTS):  # of which they make a sentence about the whole state
            fresh().restore({**state, name: [{}]})


def test_the_state_is_bounded_however_long_the_stream():
    stream = Stream(remember=5, clear_after=1)
    sizes = []
    for k in range(600):
        stream.tick(a=2.0) if k % 2 else stream.tick()
        if k in (99, 599):
            sizes.append(len(json.dumps(stream.policy.snapshot())))
    assert sizes[1] < 1.05 * sizes[0]
    assert len(stream.policy.recent) == 5


def test_a_policy_needs_signals_each_once():
    for names in ((), ("a", "a")):
        with pytest.raises(SettingError, match="each once"):
            AlarmPolicy(AlarmSettings(), names, "model", "line", "rows")
