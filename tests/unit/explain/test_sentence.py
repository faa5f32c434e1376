"""The sentence says what happened, in plain words and few of them."""

import numpy as np
import pytest
from alarm_story import (
    NAMES,
    ONSET,
    alarm,
    at,
    biased_sensor,
    broken,
    changed_mechanism,
    context,
    course,
    frozen_signal,
    rows,
)
from hypothesis import given
from hypothesis import strategies as st

from causewatch.explain.explanation import explain
from causewatch.explain.sentence import LONGEST, Change, burst, cannot_tell, headline


def said(change, follow=(), **more):
    return headline([change], follow, context(**more))


@pytest.mark.parametrize(
    ("observed", "words"),
    [
        (0.05, "stopped following P101 (20 s)"),
        (-0.9, "began to follow P101 (20 s) the other way round"),
        (1.9, "began to follow P101 (20 s) more strongly"),
        (0.6, "began to follow P101 (20 s) more weakly"),
    ],
)
def test_broken_links(observed, words):
    link = broken("P101", "LIT301", 2, 1.0, observed)
    text = said(Change("LIT301", "link", at(73), link=link), ["FIT201", "MV201"])
    assert text == f"LIT301 {words} at 10:12:10; FIT201 and MV201 follow from it."


def test_other_changes():
    assert said(Change("LIT301", "level", at(0), amount=-12.34), units={"LIT301": "mm"}) == (
        "LIT301 reads 12.3 mm below what its causes say since 10:00:00."
    )
    assert said(Change("LIT301", "jump", at(0), amount=50.0), units={"LIT301": "mm"}) == (
        "LIT301 jumped 50 mm above what its causes say at 10:00:00."
    )
    assert said(Change("A", "noise", at(0), amount=3.21)) == (
        "A has been 3.21 times as noisy as usual since 10:00:00."
    )
    assert said(Change("A", "frozen", at(0), after=-0.5), ["B"]) == (
        "A has stood still at −0.5 since 10:00:00; B follows from it."
    )
    assert said(Change("P203", "guard", at(0), before=1.0, after=2.0)) == (
        "P203, constant in normal operation, moved from 1 to 2 at 10:00:00."
    )
    own = broken("A", "A", 1, 0.9, 0.1)
    assert said(Change("A", "link", at(0), link=own)) == (
        "A stopped following its own past (10 s) at 10:00:00."
    )
    assert said(Change("A", "other", at(0)), labels={"A": "Tank level"}) == (
        "Tank level stopped behaving as its causes say at 10:00:00."
    )


def test_several_at_once_and_cannot_tell():
    both = [Change("A", "level", at(0), amount=3.0), Change("B", "noise", at(0), amount=2.5)]
    assert headline(both, ["C"], context()) == (
        "A reads 3 above what its causes say since 10:00:00, and B changed as well; C follows from"
        " them."
    )
    assert cannot_tell(["A", "B", "C"], at(6), context()) == (
        "The plant left its normal behaviour at 10:01:00, but where it starts cannot be told:"
        " A, B or C."
    )


@given(
    st.lists(st.text(max_size=80), min_size=1, max_size=12),
    st.sampled_from(["guard", "frozen", "link", "level", "jump", "noise", "other"]),
    st.floats(allow_nan=True, allow_infinity=True),
)
def test_it_is_never_long_and_always_one_line(names, kind, number):
    link = broken(names[-1], names[0], 3, 1.0, number)
    change = Change(names[0], kind, at(1), link=link, before=number, after=number, amount=number)
    for text in (
        headline([change], names, context()),
        headline([change, change], names, context()),
        cannot_tell(names, at(1), context()),
    ):
        assert len(text) <= LONGEST
        assert text.isprintable()
        assert text[-1] in ".…"


@pytest.mark.parametrize(
    ("seen", "raised", "words"),
    [
        (biased_sensor(), ONSET, "LIT301 reads"),
        (biased_sensor(), ONSET, "above what its causes say since 10:13:20; P101 follows from it."),
        (changed_mechanism(), ONSET, "LIT301 reads"),
        (changed_mechanism(), ONSET, "P101 follows from it."),
        (frozen_signal(), ONSET + 12, "AIT202 has stood still at"),
    ],
)
def test_stories(seen, raised, words):
    assert words in explain(alarm(raised), course=seen, context=context()).headline


def test_the_offset_of_a_sensor_is_named():
    told = explain(alarm(), course=biased_sensor(12.0), context=context())
    assert told.changes[0].kind == "level"
    assert told.changes[0].amount == pytest.approx(12.0, abs=2.5)


def test_noise_is_called_noise():
    values = rows()
    values[ONSET:, 3] += np.random.default_rng(3).normal(size=len(values) - ONSET) * 6
    links = [broken("AIT202", "AIT202", 1, 0.5, 0.0)]
    told = explain(alarm(ONSET + 3), course=course(values), context=context(), broken_links=links)
    assert "times as noisy as usual" in told.headline


def test_a_surprise_or_two_are_no_noise():
    quiet = np.random.default_rng(5).normal(size=12)
    assert burst(np.append(quiet, 40.0)) == slice(12, 13)
    assert burst(np.append(quiet, [20.0, 25.0])) == slice(12, 14)
    assert burst(np.array([0.3, np.nan, -9.0, np.nan])) == slice(2, 3)
    assert burst(np.array([5.0, -6.0, 7.0])) is None
    assert burst(6.0 * quiet) is None
    assert burst(np.zeros(4)) is None


def test_the_beginning_of_an_offset_is_a_jump():
    """The trouble may seem to have begun some ticks before; the jump is told with its own time."""
    values = rows()[: ONSET + 1]
    values[ONSET, 3] += 60.0
    values[ONSET - 8 : ONSET, 3] *= 2.2
    told = explain(alarm(ONSET), course=course(values), context=context()).changes[0]
    assert (told.kind, told.at) == ("jump", at(ONSET))
    assert 50 < told.amount < 70


def test_a_guard_that_moved_is_told_with_its_values():
    values = np.column_stack([rows(), np.ones(110)])
    values[ONSET + 1 :, 4] = 2.0
    seen = course(values, names=(*NAMES, "P203"))
    told = explain(alarm(ONSET + 1), course=seen, context=context())
    assert told.headline == "P203, constant in normal operation, moved from 1 to 2 at 10:13:30."
    assert told.causes[0].signal == "P203"
    assert not told.abstained
