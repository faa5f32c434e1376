"""The published counting and the strict one: against a literal twin, by hand, and in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.data.datasets import Event, Recording
from causewatch.data.datasets.shaping import moment
from causewatch.data.datasets.swat_attacks import attacks
from causewatch.data.table import TimeTable
from causewatch.errors import SettingError
from causewatch.evaluation.paper_counting import (
    Counts,
    PaperCount,
    attack_windows,
    attacked_steps,
    count_as_published,
    count_steps,
    count_strictly,
    count_verdicts,
    normal_test_steps,
    verdicts_by_step,
)
from causewatch.evaluation.paper_words import in_words, share
from causewatch.evaluation.verdicts import Verdicts
from causewatch.simulate import PAPER_ATTACKS

SECOND = 1_000_000_000
SWAT_ROWS, SWAT_STEP, SWAT_STEPS = 449_919, 206, 2_182


def recording(rows, windows, labels=None, start=0):
    """A recording of `rows` seconds with an event for each (name, first row, row after it)."""
    table = TimeTable(
        ("x",),
        np.zeros((rows, 1)),
        start + np.arange(rows, dtype=np.int64) * SECOND,
        np.zeros(1, dtype=np.intp),
        1.0,
        "elapsed",
        labels=None if labels is None else np.asarray(labels, dtype=float),
    )
    events = [Event(name, start + a * SECOND, start + b * SECOND) for name, a, b in windows]
    return Recording("r", table, tuple(events))


def verdicts(alarm):
    alarm = np.asarray(alarm, dtype=bool)
    return Verdicts(np.where(alarm, 2.0, 0.0), alarm, ())


def literal(normal, alarm, windows, chosen, step, learnt):
    """Both countings written out row by row: nothing is shared with the package."""
    tp = fn = fp = 0
    steps = [alarm[row] for row in range(0, len(alarm), step)]
    for name, first, after in windows:
        if name in chosen:
            for k in range(len(steps)):
                if int(first / step) <= k < int(after / step):
                    tp += steps[k]
                    fn += not steps[k]
    calm = [normal[row] for row in range(0, len(normal), step)]
    for k in range(len(calm)):
        if k >= int(learnt * len(calm)):
            fp += calm[k]
    strict = {"hits": 0, "missed": 0, "false_alarms": 0, "silent": 0}
    for k in range(len(steps)):
        rows = range(k * step, min((k + 1) * step, len(alarm)))
        attacked = any(first <= row < after for row in rows for _, first, after in windows)
        word = {
            (True, True): "hits",
            (True, False): "missed",
            (False, True): "false_alarms",
            (False, False): "silent",
        }
        strict[word[attacked, bool(steps[k])]] += 1
    return tp, fn, fp, strict


@st.composite
def cases(draw):
    rows = draw(st.integers(20, 120))
    edges = sorted(draw(st.lists(st.integers(0, rows), min_size=2, max_size=6, unique=True)))
    edges = edges[: len(edges) // 2 * 2]
    windows = [(str(k), a, b) for k, (a, b) in enumerate(zip(edges[::2], edges[1::2], strict=True))]
    chosen = draw(st.sets(st.sampled_from([name for name, _, _ in windows])))
    alarm = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    normal = draw(st.lists(st.booleans(), min_size=10, max_size=80))
    return rows, windows, chosen, alarm, normal, draw(st.integers(1, 9))


@given(cases(), st.sampled_from([0.0, 0.5, 0.7]))
def test_against_the_literal_twin(case, learnt):
    rows, windows, chosen, alarm, normal, step = case
    counts = count_verdicts(
        verdicts(normal),
        [(recording(rows, windows), verdicts(alarm))],
        step,
        learnt=learnt,
        chosen=chosen,
    )
    tp, fn, fp, strict = literal(normal, alarm, windows, chosen, step, learnt)
    paper = counts.published
    assert (paper.hits, paper.missed, paper.false_alarms) == (tp, fn, fp)
    if counts.whole_files:  # no normal step: the normal recording's stand in
        calm = normal_test_steps(verdicts_by_step(np.array(normal), step), learnt)
        strict["false_alarms"] += int(calm.sum())
        strict["silent"] += int((~calm).sum())
    found = counts.strict.to_dict()
    assert {name: found[name] for name in strict} == strict
    assert sum(one.alarmed for one in counts.windows) == tp
    assert sum(one.steps for one in counts.windows) == tp + fn


def test_by_hand():
    # Steps of 10 rows: 0..9. The window 25..67 is steps 2, 3, 4, 5; rows 60..66 of it are lost.
    test = recording(100, [("a", 25, 67), ("b", 81, 88)])
    alarm = np.zeros(100, dtype=bool)
    alarm[[30, 40, 50, 60, 90]] = True  # step 6 holds attacked rows, step 9 does not
    normal = np.zeros(100, dtype=bool)
    normal[[0, 10, 80]] = True  # 0 and 10 are learnt from
    counts = count_verdicts(verdicts(normal), [(test, verdicts(alarm))], 10)
    assert counts.published == PaperCount("paper", 3, 1, false_alarms=1, silent=2)
    assert counts.published.precision == 3 / 4
    assert counts.published.recall == 3 / 4
    assert counts.strict == PaperCount("strict", 4, 2, false_alarms=1, silent=3)
    assert [(one.name, one.steps, one.alarmed) for one in counts.windows] == [
        ("a", 4, 3),
        ("b", 0, 0),  # shorter than a step: counts for nothing
    ]


def switched(normal_on: bool) -> Counts:
    """An alarm that is on throughout the attack recording."""
    test = recording(10_000, [("a", 2_000, 2_500), ("b", 7_000, 7_500)])
    normal = np.full(5_000, normal_on)
    return count_verdicts(verdicts(normal), [(test, verdicts(np.ones(10_000)))], 10)


def test_the_switch_is_perfect_as_published_and_chance_strictly():
    counts = switched(normal_on=False)
    paper, strict = counts.published, counts.strict
    assert (paper.precision, paper.recall, paper.f1) == (1.0, 1.0, 1.0)
    assert (strict.precision, strict.recall) == (0.1, 1.0)
    assert strict.precision == strict.attacked_share
    assert strict.alarm_share == 1.0
    [said] = in_words(counts)
    assert said.startswith("The alarm was on for 100 % of the attack recording; the published")
    assert "a switch that is off in the normal recording" in said


def test_always_on_is_punished_by_the_normal_recording():
    counts = switched(normal_on=True)
    assert counts.published.recall == 1.0
    assert counts.published.precision == 100 / (100 + 150)
    said = in_words(counts)
    assert "In normal operation the alarm was on for 100 % of the test steps (150 of 150)." in said
    assert "switch" not in " ".join(said)


def test_whole_files_lose_their_last_step():
    files = [recording(95, [(name, 0, 95)], labels=np.ones(95)) for name in "ab"]
    on = [np.ones(10, dtype=bool), np.arange(10) < 9]
    normal = np.array([False, True, False, False])
    counts = count_steps(normal, list(zip(files, on, strict=True)), 10, whole_files=True)
    assert counts.whole_files
    assert counts.published == PaperCount("paper", 18, 0, false_alarms=1, silent=3)
    # Strictly, the last step counts as well; false alarms can only come from the normal recording.
    assert counts.strict == PaperCount("strict", 19, 1, false_alarms=1, silent=3)
    assert counts.alarm_share == 0.95  # of the files, without the normal recording
    assert "either counting" in in_words(counts)[0]


def test_labels_not_events_make_the_strict_truth():
    labels = np.zeros(40)
    labels[12:15] = 1
    labels[20:30] = np.nan
    labels[30:33] = np.nan
    test = recording(40, [("a", 0, 10)], labels)
    truth = attacked_steps(test, 10, 4)
    np.testing.assert_array_equal(truth, [0, 1, np.nan, 0])
    counted = count_strictly(np.ones(4, dtype=bool), truth)
    assert (counted.hits, counted.false_alarms, counted.steps) == (1, 2, 3)
    # The published count knows nothing of labels.
    assert attack_windows(test, 10, 4) == [("a", slice(0, 1))]


def test_windows_of_the_real_recording():
    """SWaT: 449,919 rows from 10:00 on; the published rule takes every 206th."""
    start = moment("2015-12-28T10:00:00")
    table = TimeTable(
        ("x",),
        np.zeros((SWAT_ROWS, 1)),
        start + np.arange(SWAT_ROWS, dtype=np.int64) * SECOND,
        np.zeros(1, dtype=np.intp),
        1.0,
        "naive",
    )
    whole = Recording("attack", table, attacks())
    found = attack_windows(whole, SWAT_STEP, SWAT_STEPS, chosen=PAPER_ATTACKS)
    assert [(name, one.start, one.stop) for name, one in found] == [
        ("8", 55, 60),
        ("17", 500, 503),
        ("21", 567, 571),
        ("23", 693, 697),
        ("25", 839, 842),
        ("26", 962, 969),
        ("27", 1105, 1114),
        ("28", 1114, 1280),
        ("30", 1359, 1365),
    ]
    always = np.ones(SWAT_STEPS, dtype=bool)
    silent = np.zeros(721, dtype=bool)
    counts = count_steps(silent, [(whole, always)], SWAT_STEP, chosen=PAPER_ATTACKS)
    assert counts.published == PaperCount("paper", 207, 0, false_alarms=0, silent=721)
    assert counts.strict.precision == pytest.approx(0.136, abs=0.001)


def test_a_step_in_two_windows_counts_twice():
    both = [np.array([True, False]), np.array([True])]
    assert count_as_published(np.zeros(3, dtype=bool), both) == PaperCount("paper", 2, 1, 0, 3)


def test_nothing_to_count_is_zero_not_an_error():
    count = PaperCount("strict", 0, 0, 0, 0)
    assert (count.precision, count.recall, count.f1, count.alarm_share) == (0.0, 0.0, 0.0, 0.0)


def test_words_for_what_lies_between():
    some = Counts(PaperCount("paper", 90, 10, 0, 50), PaperCount("strict", 90, 10, 810, 90), ())
    said = " ".join(in_words(some))
    assert "for 90 % of the attack recording (810 of 900 steps)" in said
    assert "With them the precision is 0.100, not 1.000." in said
    assert "That is no more than the share of attacked time (0.100)" in said
    good = Counts(PaperCount("paper", 90, 10, 0, 50), PaperCount("strict", 90, 10, 10, 890), ())
    assert "little more" not in " ".join(in_words(good))
    clean = Counts(PaperCount("paper", 90, 10, 0, 50), PaperCount("strict", 90, 10, 0, 900), ())
    assert "would change nothing" in in_words(clean)[0]
    mute = Counts(PaperCount("paper", 0, 10, 0, 50), PaperCount("strict", 0, 10, 0, 900), ())
    assert in_words(mute)[0].startswith("There was no alarm in any attack")
    short = Counts(PaperCount("paper", 0, 0, 0, 50), PaperCount("strict", 1, 1, 0, 9), ())
    assert in_words(short)[0].startswith("No attack is as long as a step")


def test_a_share_is_never_rounded_to_all_or_nothing():
    assert share(1, 5000) == "less than 0.1 %"
    assert share(4999, 5000) == "more than 99.9 %"
    assert share(0, 10) == "0 %"
    assert share(10, 10) == "100 %"
    assert share(125, 1000) == "12.5 %"


def test_verdicts_of_another_length_are_refused():
    test = recording(100, [("a", 0, 50)])
    with pytest.raises(SettingError, match="99 verdicts for the 100 rows of 'r'"):
        count_verdicts(verdicts([0]), [(test, verdicts(np.ones(99)))], 10)
    with pytest.raises(SettingError, match="4 verdicts and 3 labels"):
        count_strictly(np.ones(4, dtype=bool), np.ones(3))
    with pytest.raises(SettingError, match="step of 0 rows"):
        verdicts_by_step(np.ones(4, dtype=bool), 0)
