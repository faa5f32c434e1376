"""The sentence says what happened, in plain words and few of them."""

import math
from typing import get_args

import pytest
from alarm_story import (
    ONSET,
    alarm,
    at,
    biased_sensor,
    broken,
    changed_mechanism,
    context,
    frozen_signal,
)
from hypothesis import given
from hypothesis import strategies as st

from causewatch.explain.changes import Change, ChangeKind
from causewatch.explain.explanation import explain
from causewatch.explain.kinds import SignalKind
from causewatch.explain.sentence import LONGEST, WORDS, cannot_tell, headline
from causewatch.explain.words import name_of, number, numbers


def said(change, follow=(), **more):
    return headline(change, follow, context(**more))


@pytest.mark.parametrize(
    ("observed", "words"),
    [
        (0.05, "has not followed P101 (after 20 s)"),
        (-0.9, "has followed P101 (after 20 s) the other way round"),
        (1.9, "has followed P101 (after 20 s) more strongly"),
        (0.6, "has followed P101 (after 20 s) more weakly"),
    ],
)
def test_broken_links(observed, words):
    link = broken("P101", "LIT301", 2, 1.0, observed)
    text = said(Change("LIT301", "link", at(73), link=link), ["FIT201", "MV201"])
    assert text == (f"LIT301 {words} since 2015-12-28 10:12:10; FIT201 and MV201 follow from it.")


NOW = "2015-12-28 10:00:00"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            Change("L", "level", at(0), amount=-12.34),
            "L has read 12.3 mm below what its causes say since",
        ),
        (
            Change("L", "drift", at(0), amount=0.5),
            "L has drifted to 0.5 mm above what its causes say since",
        ),
        (Change("L", "jump", at(0), amount=-50.0), "L jumped down by 50 mm at"),
        (
            Change("L", "noise", at(0), amount=3.21),
            "L has been 3.21 times noisier than usual since",
        ),
        (Change("L", "stuck", at(0), after=-0.5), "L has been stuck at −0.5 mm since"),
        (
            Change("C", "stuck", at(0), what="counter", after=1e6),
            "C has stopped counting at 1,000,000 since",
        ),
        (Change("C", "jump", at(0), what="counter", amount=7.0), "C jumped by 7 at"),
        (
            Change("P", "stuck", at(0), what="switch", after=1.0),
            "P has stayed at 1 for longer than ever since",
        ),
        (
            Change("P", "switched", at(0), what="switch", before=0.0, after=1.0),
            "P was switched on (0 → 1) at",
        ),
        (
            Change("MV", "switched", at(0), what="valve", before=2.0, after=1.0),
            "MV was closed (2 → 1) at",
        ),
        (
            Change("P", "switched", at(0), what="switch", after=1.0),
            "P has stayed at 1, against what its causes say, since",
        ),
        (
            Change("P", "value", at(0), what="switch", before=1.0, after=0.0),
            "P was switched off (1 → 0) at",
        ),
        (
            Change("S", "value", at(0), what="setting", before=30000.0, after=60000.0),
            "S was changed from 30000 to 60000 at",
        ),
        (
            Change("S", "value", at(0), what="setting", before=1.12e9, after=1.12e9 + 8),
            "S was changed from 1,120,000,000 to 1,120,000,008 at",
        ),
        (
            Change("S", "value", at(0), what="setting", low=3.0, high=3.0, after=5.0),
            "S has been at 5 instead of 3 since",
        ),
        (
            Change("S", "value", at(0), what="setting", low=3.0, high=4.0, after=5.0),
            "S has been at 5 instead of 3 to 4 since",
        ),
        (
            Change("L", "value", at(0), low=18.0, high=18.0, before=18.0, after=35.9),
            "L rose from 18, where it hardly ever moved, to 35.9 mm at",
        ),
        (
            Change("L", "range", at(0), after=78.61, low=67.7, high=77.8),
            "L rose to 78.6 mm, above its normal range (67.7 to 77.8) at",
        ),
        (
            Change("L", "range", at(0), after=2.0, low=67.7, high=77.8),
            "L fell to 2 mm, below its normal range (67.7 to 77.8) at",
        ),
        (Change("A", "other", at(0)), "A has not behaved as its causes say since"),
        (Change("B", "twin", at(0)), "B has differed from A, which it always equalled, since"),
    ],
)
def test_what_happened(change, text):
    assert said(change, units={"L": "mm"}, twins={"B": "A"}) == f"{text} {NOW}."


def test_every_kind_has_words():
    assert set(WORDS) == set(get_args(ChangeKind))


def test_what_cannot_be_told():
    assert cannot_tell(["A", "B", "C"], at(6), context()) == (
        "The plant left its normal behaviour at 2015-12-28 10:01:00, but where it starts cannot be"
        " told: A, B or C."
    )


@given(
    st.lists(st.text(max_size=80), min_size=1, max_size=12),
    st.sampled_from(get_args(ChangeKind)),
    st.sampled_from(get_args(SignalKind)),
    st.floats(allow_nan=True, allow_infinity=True),
)
def test_it_is_never_long_and_always_one_line(names, kind, what, value):
    link = broken(names[-1], names[0], 3, 1.0, value)
    values = dict.fromkeys(("before", "after", "low", "high", "amount"), value)
    change = Change(names[0], kind, at(1), what, link, **values)
    known = context(twins={names[0]: names[-1]})
    for text in (
        headline(change, names, known),
        cannot_tell(names, at(1), known),
    ):
        assert len(text) <= LONGEST
        assert text.isprintable()
        assert text[-1] in ".…"


def test_a_name_cannot_turn_the_sentence_round():
    assert name_of("P\u202e101", context()) == "P�101"
    assert name_of("\u2066P\u2069\x1b[2J", context()) == "�P��[2J"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.03456, "0.0346"), (12.0, "12"), (2606.4, "2606"), (379593.4, "379600"),
        (1.39e6, "1,390,000"), (-0.5, "−0.5"), (1e-5, "1e−05"), (3e13, "3e+13"),
        (float("nan"), "nan"), (float("-inf"), "−inf"), (0.0, "0"),
    ],
)  # fmt: skip
def test_numbers_have_sensible_digits(value, text):
    assert number(value) == text


def test_numbers_are_told_apart():
    assert numbers(1.12e9, 1.12e9 + 8) == ["1,120,000,000", "1,120,000,008"]
    assert numbers(0.5, 0.50001) == ["0.50000", "0.50001"]
    assert numbers(2.98, 2.98072) == ["2.9800", "2.9807"]
    assert numbers(65.0, 58.001, 58.002) == ["65", "58.001", "58.002"]
    assert numbers(-2.98049, -2.98051, -2.98049) == ["−2.98049", "−2.98051", "−2.98049"]
    assert numbers(3.0, 3.0) == ["3", "3"]
    assert numbers(math.nan, math.inf, math.inf) == ["nan", "inf", "inf"]


@pytest.mark.parametrize(
    ("seen", "raised", "words"),
    [
        (biased_sensor(), ONSET, "LIT301 has read"),
        (biased_sensor(), ONSET, "above what its causes say since 2015-12-28 10:13:20;"),
        (changed_mechanism(), ONSET, "LIT301 has read"),
        (changed_mechanism(), ONSET, "P101 follows from it."),
        (frozen_signal(), ONSET + 12, "AIT202"),
    ],
)
def test_stories(seen, raised, words):
    assert words in explain(alarm(raised), course=seen, context=context()).headline
