"""Holding alarms against the truth."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from causewatch.cli.demo_story import chapters_of, judge, print_outcome
from causewatch.evaluation.metrics.alarms import first_alarms
from causewatch.explain.story import Chapter
from causewatch.monitor.alarms import Alarm, Cause
from causewatch.simulate.run import Episode

SECOND = 1_000_000_000
EVERY, GRACE = 10.0, 600.0


def chapter(name, start, end, *signals):
    return Chapter(name, "something is done", signals, start * SECOND, end * SECOND)


ATTACKS = (chapter("one", 1000, 1500, "A", "B"), chapter("two", 4000, 4500, "C"))


def alarm(raised, cleared=None, causes=("A",), kind="anomaly", **more):
    return Alarm(
        f"{raised:012d}",
        kind,
        raised * SECOND,
        raised * SECOND,
        raised * SECOND,
        None if cleared is None else cleared * SECOND,
        2.0,
        causes=tuple(Cause(name, 1.0, 0.5) for name in causes),
        headline=f"raised at {raised}",
        **more,
    )


def outcome(*alarms, attacks=ATTACKS, ticks=()):
    return judge(attacks, alarms, ticks, EVERY, GRACE)


def verdicts(found):
    return [(entry.verdict, entry.chapter) for entry in found.entries]


def test_rows_become_times():
    episodes = [
        Episode("late", 200, 300, ("C",), "x"),
        Episode("early", 100, 150, ("A", "B"), "y"),
    ]
    found = chapters_of(episodes, 50 * SECOND, 0.5)
    assert [one.name for one in found] == ["early", "late"]
    assert (found[0].start, found[0].end) == (100 * SECOND, 125 * SECOND)
    assert found[0].signals == ("A", "B")


def test_an_alarm_raised_during_an_attack_detects_it():
    found = outcome(alarm(1060, 1600, causes=("X", "B")), alarm(1200, causes=("A",)))
    one, two = found.chapters
    assert (one.alarm, one.after, one.causes) == (f"{1060:012d}", 60.0, ("X", "B"))
    assert one.place == 2
    assert two.alarm is None
    assert (found.detected, found.named_within(1), found.named_within(3)) == (1, 0, 1)
    assert verdicts(found) == [("attack", "one"), ("attack", "one")]


def test_the_truth_decides_about_every_other_alarm():
    found = outcome(alarm(500, 510), alarm(1600, 1700), alarm(2200, 2210))
    assert verdicts(found) == [("false", None), ("aftermath", "one"), ("false", None)]
    assert found.detected == 0
    assert found.count("false") == 2
    assert found.chapters[0].note == "an alarm came 1 min 40 s after its end"
    assert found.chapters[1].note == ""


def test_an_alarm_that_was_on_before_detects_nothing():
    found = outcome(alarm(900, 1400))
    assert verdicts(found) == [("false", None)]
    assert found.detected == 0
    assert found.chapters[0].note == "an earlier alarm was still on"
    assert outcome(alarm(900, 999)).chapters[0].note == ""


def test_an_alarm_belongs_to_the_attack_if_it_is_raised_before_the_end():
    assert verdicts(outcome(alarm(1499))) == [("attack", "one")]
    assert verdicts(outcome(alarm(1500))) == [("aftermath", "one")]
    assert verdicts(outcome(alarm(1500 + 600))) == [("false", None)]


@pytest.mark.parametrize("raised", [999, 1000, 1499, 1500, 1504, 4499, 4500])
def test_what_is_detected_is_so_by_the_report_card_as_well(raised):
    """`evaluate` counts an attack as detected if an alarm was raised in it, with no grace."""
    chapters = outcome(alarm(raised)).chapters
    starts, ends = ([getattr(one, end) for one in ATTACKS] for end in ("start", "end"))
    first = first_alarms([raised * SECOND], starts, ends)
    assert [one.alarm is not None for one in chapters] == (first >= 0).tolist()


def test_health_neither_detects_nor_is_false():
    found = outcome(alarm(1100, kind="health"), alarm(3000, kind="health"))
    assert verdicts(found) == [("health", "one"), ("health", None)]
    assert found.detected == 0
    assert found.count("false") == 0
    assert found.chapters[0].note == "reported as signal health: raised at 1100"


def test_overlapping_attacks_are_both_detected_by_one_alarm():
    both = (ATTACKS[0], replace(ATTACKS[1], start=1100 * SECOND, end=1400 * SECOND))
    found = outcome(alarm(1200), attacks=both)
    assert found.detected == 2
    assert verdicts(found) == [("attack", "two")]


def test_the_same_attack_twice_is_judged_twice():
    twice = (ATTACKS[0], replace(ATTACKS[0], start=3000 * SECOND, end=3100 * SECOND))
    found = outcome(alarm(3050), attacks=twice)
    assert [one.alarm is not None for one in found.chapters] == [False, True]


def test_time_under_alarm_is_told_apart():
    on = {900, 1000, 1490, 1600, 2100, 2200, 3000}
    ticks = [(time * SECOND, time in on) for time in range(0, 5000, 10)]
    assert outcome(ticks=ticks).under_alarm == (20.0, 10.0, 40.0)


def test_the_outcome_in_words_hides_nothing():
    found = outcome(
        alarm(500, 510), alarm(1100, 1200), alarm(1700, 1710), alarm(1150, kind="health"),
        ticks=[(500 * SECOND, True)],
    )  # fmt: skip
    text = " ".join(found.sentences)
    assert "1 of 2 attacks detected; an attacked signal is named first in 1" in text
    assert "1 false alarm, 1 alarm in the aftermath of an attack, 1 finding about" in text
    assert "0 s during attacks, 0 s within 10 min after one, 10 s otherwise" in text
    assert any("up to 10 min after an attack" in rule for rule in found.rules)
    assert outcome(attacks=()).sentences[0] == "There was no attack."


def test_the_table_shows_misses_false_alarms_and_candidates():
    found = outcome(alarm(500), alarm(1060, 1600, causes=("X", "B"), abstained=True), alarm(4600))
    out = io.StringIO()
    print_outcome(found, Console(file=out, width=120, markup=False), "elapsed")
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert any(line.startswith("attack detected after named causes truth") for line in lines)
    assert "one something is done 1 min cannot tell: X, B ✓ A, B" in lines
    assert any(line.startswith("two something is done missed") for line in lines)
    assert "False alarm 500s raised at 500" in lines
    assert "Aftermath of two 4600s raised at 4600" in lines


def test_plain_data_agree_with_the_words():
    found = outcome(alarm(500), alarm(1060, 1600))
    plain = found.to_dict("elapsed")
    assert (plain["detected"], plain["missed"], plain["false_alarms"]) == (1, 1, 1)
    assert plain["attacks"][0]["detected_after_s"] == 60.0
    assert plain["attacks"][1]["detected"] is False
    assert [one["was"] for one in plain["alarms"]] == ["false", "attack"]
    assert plain["alarms"][0]["cleared_at"] is None


@pytest.mark.parametrize("name", ["[red]x[/red]", "a\x1b[31mb", "x\ny"])
def test_names_cannot_move_the_cursor(name):
    found = outcome(alarm(1100, causes=(name,)), attacks=(replace(ATTACKS[0], signals=(name,)),))
    out = io.StringIO()
    print_outcome(found, Console(file=out, width=160, markup=False, color_system=None), "elapsed")
    assert "\x1b" not in out.getvalue()
    assert "✓" in out.getvalue()
