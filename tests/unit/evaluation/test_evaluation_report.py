"""The HTML reports of an evaluation and of a comparison."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import fields, replace
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.data.datasets.base import Event, Recording
from causewatch.data.table import TimeTable
from causewatch.errors import SettingError
from causewatch.evaluation.card import EventOutcome, ReportCard, report_card
from causewatch.evaluation.comparison import ComparisonRow
from causewatch.evaluation.judging import judge, noticed_by_chance
from causewatch.evaluation.paper_counting import count_verdicts
from causewatch.evaluation.report import (
    evaluation_page,
    write_comparison,
    write_evaluation,
)
from causewatch.evaluation.report.chart import cause_places, curve_chart, dots, recording_chart
from causewatch.evaluation.report.comparison import comparison_page
from causewatch.evaluation.report.figures import figure_groups
from causewatch.evaluation.report.words import outcome, percent, rate, warnings
from causewatch.evaluation.verdicts import AlarmSpan, Verdicts

SECOND = 1_000_000_000
START = 1_767_355_200 * SECOND  # 2026-01-02T12:00:00
ROWS = 3600
EVIL = "<img src=x onerror=alert(1)>"
SIGNALS = ("LIT101", "P101", "FIT101", "MV101", "AIT201", EVIL)


def at(row):
    return START + int(row) * SECOND


def recording(events, name="test", rows=ROWS, labels=None, clock="naive", interval=1.0):
    step = round(interval * SECOND)
    time = START + step * np.arange(rows, dtype=np.int64)
    if labels is None:
        labels = np.zeros(rows)
        for one in events:
            labels[(time >= one.start) & (time < one.end)] = 1.0
    values = np.zeros((rows, len(SIGNALS)))
    table = TimeTable(
        SIGNALS, values, time, np.array([0], dtype=np.intp), interval, clock, labels=labels
    )
    return Recording(name, table, tuple(events))


def verdicts(spans, rows=ROWS, score=None):
    alarm = np.zeros(rows, dtype=bool)
    for one in spans:
        end = rows if one.cleared_at is None else (one.cleared_at - START) // SECOND
        alarm[(one.raised_at - START) // SECOND : end] = True
    given = np.where(alarm, 3.0, 0.2) if score is None else score
    return Verdicts(given, alarm, tuple(spans))


def span(start, end, causes=(), headline="", abstained=False):
    return AlarmSpan(at(start), None if end is None else at(end), causes, abstained, headline)


EVENTS = (
    Event("first", at(600), at(900), ("LIT101",), "LIT101 is held."),
    Event("second", at(1500), at(1800), ("P101", "FIT101")),
    Event("third", at(2400), at(2700), ("MV101",)),
    Event("unknown", at(3300), at(3400)),
)
SPANS = (
    span(100, 130, ("AIT201",), "AIT201 jumped."),
    span(610, 950, ("LIT101", "P101"), "LIT101 reads too much."),
    span(1530, 1700, ("MV101", "AIT201", "LIT101", EVIL, "x", "y", "P101"), abstained=True),
    span(2300, 2500, ("AIT201",)),
    span(3350, None),
)


@pytest.fixture
def told():
    one, said = recording(EVENTS), verdicts(SPANS)
    return {
        "title": "Report card of plant.cwm",
        "subtitle": "test.csv",
        "card": report_card([one], [said]),
        "recordings": [one],
        "verdicts": [said],
    }


class Page(HTMLParser):
    """Tags, attributes and the words of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self._style = [], [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._style = tag == "style"

    def handle_endtag(self, tag):
        self._style = False

    def handle_data(self, data):
        if not self._style:
            self.words.append(data.strip())

    def values(self, name):
        return [value for key, value in self.attributes if key == name]

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(word for word in self.words if word))


def section(text, start, end):
    return text[text.rindex(start) : text.rindex(end)]


def test_the_outcome_comes_first_and_in_words(told):
    assert outcome(told["card"]) == (
        "3 of 4 events were noticed, half of them within 30 s; 33 false alarms a day; the alarm was"
        f" on for {percent(told['card'].false_alarm_time_share)} of the normal time; a true cause"
        " was named first for 33 %."
    )
    text = Page(evaluation_page(**told)).text
    assert text.index("3 of 4 events were noticed") < text.index("Figures")


@pytest.mark.parametrize(
    ("events", "spans", "said"),
    [
        (EVENTS[:1], SPANS[1:2], "The one event was noticed after 10 s; no false alarm; "),
        (EVENTS[:1], (), "The one event was missed; no false alarm; the alarm was on for 0 %"),
        (EVENTS[:2], (), "None of 2 events was noticed; "),
        (EVENTS[:2], SPANS[1:2], "1 of 2 events was noticed, after 10 s; "),
    ],
)
def test_few_events_read_well(events, spans, said):
    card = report_card([recording(events)], [verdicts(spans)])
    assert outcome(card).startswith(said)


def test_every_event_is_told(told):
    text = section(Page(evaluation_page(**told)).text, "Named causes, best first", "False alarms")
    assert re.search(
        r"first LIT101 is held\. 2026-01-02 12:10:00 for 5 min ✓ after 10 s LIT101 LIT101 ✓ , P101"
        r" LIT101 reads too much\. 1 ",
        text,
    )
    # The first true cause comes seventh: five are shown, and that one.
    assert re.search(r"cannot tell; candidates MV101 .* x , … P101 ✓ 7 ", text)
    assert " y " not in text
    assert re.search(r"third 2026-01-02 12:40:00 for 5 min ✗ missed an alarm was already on", text)
    assert re.search(r"unknown 2026-01-02 12:55:00 for 1 min 40 s ✓ after 50 s not known – –", text)


def test_every_false_alarm_is_told(told):
    text = section(Page(evaluation_page(**told)).text, "What it named", "Precision and recall")
    assert "1 2026-01-02 12:01:40 30 s AIT201 AIT201 jumped." in text
    assert text.count("2026-01-02") == told["card"].false_alarms == 1


def test_many_false_alarms_are_folded_away_and_all_counted():
    spans = [span(k, k + 1) for k in range(0, 1200, 2)]
    one, said = recording(EVENTS[3:]), verdicts(spans)
    card = report_card([one], [said])
    assert card.false_alarms == 600
    page = evaluation_page(title="x", subtitle="", card=card, recordings=[one], verdicts=[said])
    assert "<details>" in page
    assert "600 alarms that overlap no event" in Page(page).text
    assert "100 more are not listed." in page


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 199), st.integers(0, 40), st.booleans()), max_size=8),
    st.sampled_from([0.0, 7.0]),
    st.integers(0, 199),
)
def test_false_alarms_are_those_of_the_card(found, grace, gone):
    events = [Event("a", at(50), at(70)), Event("b", at(120), at(125))]
    one = recording(events, rows=200)
    one.table.labels[gone : gone + 30] = np.nan
    one.table.labels[60] = 1.0  # something must be left to find
    spans = [span(start, start + more if ends else None) for start, more, ends in found]
    said = verdicts(spans, rows=200)
    card = report_card([one], [said], grace=grace)
    kinds = [alarm.kind for alarm in judge(one, said, grace)]
    assert kinds.count("false") == card.false_alarms


def test_kinds_of_alarms():
    one = recording(EVENTS)
    one.table.labels[:200] = np.nan
    kinds = [alarm.kind for alarm in judge(one, verdicts(SPANS), 0.0)]
    assert kinds == ["uncounted", "attack", "attack", "before", "attack"]


def test_chance_of_noticing_grows_with_the_number_of_alarms():
    one = recording(EVENTS[:1])  # a twelfth of the recording
    assert noticed_by_chance([one], [verdicts(SPANS[:1])], 0.0) == pytest.approx(1 / 12)
    two = noticed_by_chance([one], [verdicts(SPANS[:2])], 0.0)
    assert two == pytest.approx(1 - (11 / 12) ** 2)
    assert noticed_by_chance([recording(())], [verdicts(SPANS)], 0.0) is None


def hits(score, spans=None):
    """Verdicts with an alarm wherever the score reaches its limit."""
    on = score >= 1.0
    if spans is None:
        edges = np.flatnonzero(np.diff(on.astype(int), prepend=0, append=0)).reshape(-1, 2)
        spans = [span(a, b, ("AIT201",)) for a, b in edges.tolist()]
    return Verdicts(score, on, tuple(spans))


def card_of(score, spans=None, events=EVENTS):
    return report_card([recording(events)], [hits(score, spans)])


def test_a_good_alarm_needs_no_warning():
    one = recording(EVENTS[:3])
    spans = [span(605, 900, ("LIT101",)), span(1505, 1800, ("P101",)), span(2405, 2700, ("MV101",))]
    card = report_card([one], [verdicts(spans)])
    assert warnings(card, 0.1) == []


def test_an_alarm_that_is_always_on_is_called_worthless():
    said = " ".join(warnings(card_of(np.full(ROWS, 2.0))))
    assert "on for 100 % of the normal time" in said
    assert "hardly better than one at random times" in said
    assert "the score is no better than chance" in said


def test_a_random_score_is_called_random():
    score = np.random.default_rng(1).uniform(0.0, 1.1, ROWS)
    card = card_of(score)
    said = " ".join(warnings(card, noticed_by_chance([recording(EVENTS)], [hits(score)], 0.0)))
    for words in (
        "hardly better than one at random times",
        "the score is no better than chance",
        "no nearer to events than alarms at random places",
        "as many alarms at random moments notice over 99.9 %: as far as 4 events can tell",
        "causes were named no better than by chance",
    ):
        assert words in said


def test_silence_is_no_merit():
    card = card_of(np.zeros(ROWS))
    assert any("those of silence" in text for text in warnings(card))
    precision = next(
        one for group in figure_groups(card) for one in group.figures if one.name == "Precision"
    )
    assert (precision.value, precision.about) == ("–", "Not defined: no row was under alarm.")


def test_guessed_causes_depend_on_how_many_events_there_are():
    def known(hits, events, apart=True):
        outcomes = [
            EventOutcome(f"r{k}" if apart else "r", EVENTS[0], "naive",
                         span(610, 620, ("LIT101" if k < hits else "x",)), False, 1.0)
            for k in range(events)
        ]  # fmt: skip
        return replace(
            card_of(np.zeros(ROWS)),
            ac_at_1=hits / events,
            chance_ac_at_1=0.2,
            events_detected=events,
            recall=1.0,
            precision=1.0,
            auc_pr=1.0,
            per_event=tuple(outcomes),
        )

    assert "no better than by chance" in " ".join(warnings(known(2, 4)))
    assert warnings(known(20, 40)) == []
    # Events that overlap are hit together: forty of them are one piece of evidence.
    assert "no better than by chance" in " ".join(warnings(known(20, 40, apart=False)))


def test_figures_stand_beside_their_chance(told):
    card = told["card"]
    shown = {one.name: one for group in figure_groups(card, signals=6) for one in group.figures}
    base = card.anomalous_rows / card.rows
    assert shown["Precision"].chance == f"{base:.3f}"
    assert shown["F1"].chance == f"{2 * base / (1 + base):.3f}"
    assert shown["Affiliation precision"].chance == f"{card.affiliation_chance:.3f}"
    assert shown["AC@1"].chance == f"{(1 / 6 + 2 / 6 + 1 / 6) / 3:.3f}"
    assert shown["AC@3"].chance == f"{(0.5 + 0.8 + 0.5) / 3:.3f}"
    assert [name for name, one in shown.items() if one.hindsight] == ["Best F1"]


def test_every_figure_of_the_card_is_in_the_table(told):
    """A figure that is added to the card must not be forgotten here."""
    page = Page(evaluation_page(**told, signals=6)).text
    for field in fields(ReportCard):
        value = getattr(told["card"], field.name)
        if isinstance(value, float) and field.name not in ("days", "grace_s", "median_delay_s"):
            ways = {f"{value:.3f}", percent(value), rate(value)}
            assert any(way in page for way in ways), field.name


def test_what_is_not_defined_says_why():
    one = recording([Event("a", at(0), at(ROWS))])
    card = report_card([one], [verdicts([span(10, 20)])])
    shown = {one.name: one for group in figure_groups(card) for one in group.figures}
    for name, reason in (
        ("VUS-PR", "every row is anomalous"),
        ("Best F1", "every row is anomalous"),
        ("Affiliation precision", "every row is anomalous"),
        ("Normal time under alarm", "no row is normal"),
        ("AC@1", "of no event the true cause is known"),
        ("MRR", "of no event the true cause is known"),
        ("Cannot tell", "of no event the true cause is known"),
    ):
        assert shown[name].value == "–"
        assert reason in shown[name].about
    page = Page(
        evaluation_page(
            title="x", subtitle="", card=card, recordings=[one], verdicts=[verdicts([])]
        )
    )
    assert "Every row is anomalous, so there is no curve." in page.text
    assert "Upright marks" not in page.text  # no ranking to show


@pytest.mark.parametrize("grace", [0.0, 90.0])
def test_how_it_was_counted_is_said(grace):
    labels = np.zeros(ROWS)
    labels[600:900] = 1.0
    labels[:100] = np.nan
    one, said = recording(EVENTS[:1], labels=labels, clock="rows"), verdicts(SPANS)
    card = report_card([one], [said], grace=grace)
    text = Page(
        evaluation_page(
            title="x", subtitle="", card=card, recordings=[one], verdicts=[said], notes=["A note."]
        )
    ).text
    assert "3,500 rows were counted" in text
    assert "100 rows have no label and were not counted." in text
    assert "not counted: rows without a label" in text
    assert "a row counts as one second" in text
    assert ("up to 1 min 30 s after its end" in text) == bool(grace)
    assert text.endswith("A note.")


def hostile():
    event = Event(EVIL, at(600), at(900), (EVIL,), EVIL)
    one = recording([event], name=EVIL)
    said = verdicts([span(100, 130, (EVIL,), EVIL), span(610, 900, (EVIL,), EVIL)])
    return one, said


def test_names_are_text_whatever_they_are():
    one, said = hostile()
    card = report_card([one, one], [said, said])
    text = evaluation_page(
        title=EVIL, subtitle=EVIL, card=card, recordings=[one, one], verdicts=[said, said],
        notes=[EVIL], paper=SimpleNamespace(
            published=SimpleNamespace(precision=1.0, recall=1.0, f1=1.0),
            strict=SimpleNamespace(precision=0.137, recall=1.0, f1=0.242), meaning=EVIL),
    )  # fmt: skip
    row = ComparisonRow(EVIL, EVIL, card, 1.0, 1.0, 1.0, 1.0)
    other = comparison_page(title=EVIL, subtitle=EVIL, rows=[row, row], notes=[EVIL])
    for page in (Page(text), Page(other)):
        assert not {"img", "script"} & set(page.tags)
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert page.text.count(EVIL) >= 8


@pytest.mark.parametrize("kind", ["evaluation", "comparison"])
def test_pages_need_nothing_else_and_allow_nothing_else(told, kind):
    row = ComparisonRow("default", "", told["card"], 1.0, 1.0, 1.0, 1.0)
    text = (
        evaluation_page(**told)
        if kind == "evaluation"
        else comparison_page(title="x", subtitle="", rows=[row])
    )
    page = Page(text)
    style = re.search(r"<style>(.*)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(value for value in page.values("content") if "default-src" in value)
    assert policy.startswith("default-src 'none'")
    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not page.values("style")  # the policy would refuse them
    assert not page.values("src")
    assert "url(" not in style
    assert "@import" not in style
    targets = set(page.values("id"))
    assert all(one[0] == "#" and one[1:] in targets for one in page.values("href"))


def test_every_recording_has_its_timeline_up_to_twenty(told):
    recordings = [recording(EVENTS, name=f"run{k}") for k in range(23)]
    said = [verdicts(SPANS)] * 23
    card = report_card(recordings, said)
    page = Page(
        evaluation_page(title="x", subtitle="", card=card, recordings=recordings, verdicts=said)
    )
    assert page.values("class").count("timeline") == 20
    assert "Not drawn: run20, run21, run22." in page.text
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert "event-92" in ids  # events of all recordings are listed
    assert "false-23" in ids
    hrefs = page.values("href")
    assert "#event-80" in hrefs
    assert "#event-81" not in hrefs


def chart_of(one, said, **more):
    count = len(one.events)
    judged = judge(one, said, 0.0)
    false = [alarm for alarm in judged if alarm.kind == "false"]
    return recording_chart(
        one,
        said,
        judged,
        range(1, count + 1),
        more.get("labels", [str(k) for k in range(count)]),
        [True] * count,
        range(1, len(false) + 1),
    )


def test_false_alarms_have_a_row_of_their_own():
    chart = chart_of(recording(EVENTS), verdicts(SPANS))
    rows = {row["name"]: row["bars"] for row in chart["rows"]}
    assert [bar["kind"] for bar in rows["Alarms"]] == ["attack", "attack", "before", "attack"]
    assert [(bar["kind"], bar["page"]) for bar in rows["False"]] == [("false", "#false-1")]
    last = rows["Alarms"][-1]  # never cleared: it reaches the end
    assert last["x"] + last["width"] == pytest.approx(chart["right"], abs=0.2)


def test_the_shorter_of_overlapping_events_is_drawn_over_the_longer_one():
    events = [Event("long", at(600), at(1800)), Event("inner", at(600), at(900))]
    chart = chart_of(recording(events), verdicts([]), labels=["long", "inner"])
    assert [(bar["text"], bar["label"]) for bar in chart["attacks"]] == [
        ("long", "long"),
        ("inner", ""),
    ]
    assert chart["attacks"][0]["width"] > chart["attacks"][1]["width"]
    swapped = chart_of(recording(events[::-1]), verdicts([]), labels=["inner", "long"])
    assert [bar["text"] for bar in swapped["attacks"]] == ["long", "inner"]


def test_a_label_never_stands_in_another_one():
    events = [Event(str(k), at(30 * k), at(30 * k + 10)) for k in range(100)]
    chart = chart_of(recording(events), verdicts([]), labels=[f"{k:03}" for k in range(100)])
    shown = [band for band in chart["attacks"] if band["label"]]
    assert 10 < len(shown) < 60
    middles = [band["x"] + band["width"] / 2 for band in shown]
    assert min(np.diff(middles)) > 20


@pytest.mark.parametrize(("days", "words"), [(3, "3 Jan"), (365, "Jan"), (4000, " 2030")])
def test_a_long_recording_has_dates(days, words):
    rows = 500
    one = recording([], rows=rows, interval=days * 86_400 / rows)
    chart = chart_of(one, Verdicts(np.zeros(rows), np.zeros(rows, dtype=bool), ()))
    texts = [mark["text"] for mark in chart["marks"]]
    assert 2 <= len(texts) <= 14
    assert any(words in text for text in texts)


def test_any_score_can_be_drawn():
    score = np.full(ROWS, -5.0)
    score[10], score[20], score[30] = np.inf, np.nan, 1e300
    chart = chart_of(recording(EVENTS), Verdicts(score, score >= 1, ()))
    assert "nan" not in chart["score"]
    assert "inf" not in chart["score"]
    numbers = [float(one) for one in re.findall(r"[ ML](-?[\d.]+)", chart["score"])]
    assert all(0 <= one <= 1000 for one in numbers)
    short = recording([], rows=1)
    assert chart_of(short, Verdicts(np.zeros(1), np.zeros(1, dtype=bool), ())) is None


def test_the_curve_is_thinned_and_marks_the_shipped_limit():
    rng = np.random.default_rng(3)
    one = recording(EVENTS)
    score = rng.uniform(0.0, 0.9, ROWS) + 0.5 * one.table.labels
    said = Verdicts(score, score >= 1.0, tuple(SPANS))
    card = report_card([one], [said])
    chart = curve_chart(card, [one], [said])
    assert chart["path"].count("L") < 750
    points = [tuple(map(float, part.split())) for part in re.split("[ML]", chart["path"]) if part]
    assert points[-1] == (chart["right"], chart["base"])  # the lowest limit takes every row
    assert all(a[0] <= b[0] for a, b in pairwise(points))
    height = chart["floor"] - chart["top"]
    assert chart["shipped"]["y"] == pytest.approx(chart["floor"] - card.precision * height, abs=0.1)
    wide = chart["right"] - chart["left"]
    assert chart["shipped"]["x"] == pytest.approx(chart["left"] + card.recall * wide, abs=0.1)
    assert (chart["best"]["x"], chart["best"]["y"]) in points or chart["best"]["y"] < chart["base"]


def test_places_of_causes(told):
    bars = {one["name"]: one for one in cause_places(told["card"], 6)}
    assert {name: one["count"] for name, one in bars.items() if one["count"]} == {
        "first": 1, "later": 1, "event missed": 1,
    }  # fmt: skip
    assert sum(one["count"] for one in bars.values()) == 3  # the unknown one is left out
    assert sum(one["chance"] for one in bars.values() if one["chance"] is not None) == (
        pytest.approx(100.0, abs=0.1)
    )
    nothing = replace(told["card"], per_event=())
    assert cause_places(nothing, 6) == []


def test_the_published_counting_stands_beside_the_strict_one(told):
    calm = Verdicts(np.zeros(1000), np.zeros(1000, dtype=bool), ())
    on = Verdicts(np.full(ROWS, 2.0), np.ones(ROWS, dtype=bool), (span(0, None),))
    paper = count_verdicts(calm, [(told["recordings"][0], on)], 10)
    text = Page(evaluation_page(**told, paper=paper)).text
    assert "published 1.000 1.000 1.000 strict 0.278 1.000 0.435" in text
    assert "a switch that is off in the normal recording" in text
    assert "published 1.000" not in Page(evaluation_page(**told)).text


def row_of(name, score, spans=None):
    return ComparisonRow(name, f"about {name}", card_of(score, spans), 12.0, 0.5, 0.1, 1000.0)


@pytest.fixture
def rows():
    good = np.where(recording(EVENTS).table.labels > 0, 2.0, 0.1)
    poor = good.copy()
    poor[::100] = 2.0
    causes = [span(one.start // SECOND - START // SECOND, one.end // SECOND - START // SECOND,
                   one.signals) for one in EVENTS]  # fmt: skip
    return [
        row_of("ours", good, [*causes, span(0, 10)]),
        row_of("poor", poor),
        row_of("silent", np.zeros(ROWS)),
        row_of("always_on", np.full(ROWS, 2.0)),
    ]


def stars(text, start):
    """Detectors marked as best in the panel with this title."""
    part = text[text.index(start) :]
    part = part[: part.index("</table>")]
    return [
        Page(f"<tr{row}").text.split()[0] for row in part.split("<tr")[1:] if 'class="star"' in row
    ]


def test_the_best_of_each_figure_is_marked(rows):
    text = comparison_page(title="x", subtitle="", rows=rows)
    for panel in ("VUS-PR", "F1 at the shipped limit", "True cause among the first three"):
        assert stars(text, f"<h3>{panel}") == ["ours"]
    words = Page(text).text
    assert "ours has the highest VUS-PR" in words
    assert "ours has the highest F1 at its shipped limit" in words
    assert re.search(r"★ best: 100 %", words)


def test_silence_does_not_win_the_false_alarms(rows):
    words = Page(comparison_page(title="x", subtitle="", rows=rows)).text
    assert rows[2].card.false_alarms == 0 < rows[0].card.false_alarms
    fewest = rate(rows[0].card.false_alarms_per_day)
    assert f"the fewest false alarms a day of those that notice something ({fewest})." in words
    assert not re.search(r"silent ★", words)
    # Raised nothing, seen and covered everything, no delay, no false alarm, on all the time.
    assert "always_on 0 % 100 % 100 % – 0 100 %" in words


def test_figures_chosen_with_the_labels_are_marked(rows):
    words = Page(comparison_page(title="x", subtitle="", rows=rows)).text
    assert "Best F1 †" in words
    assert "† chosen with the labels" in words


def test_a_comparison_without_known_causes_has_no_panel_for_them(rows):
    nameless = tuple(replace(one, signals=()) for one in EVENTS)
    score = np.where(recording(EVENTS).table.labels > 0, 2.0, 0.1)
    row = replace(rows[0], card=card_of(score, events=nameless))
    words = Page(comparison_page(title="x", subtitle="", rows=[row, row])).text
    assert "True cause among the first three" not in words
    assert "ours – – – – – – –" in words
    assert "ours and ours have the highest VUS-PR" in words


def test_an_axis_shows_few_beside_thousands():
    axis = dots([0.0, 0.2, 3.0, None, 5000.0], logarithmic=True)
    places = axis["places"]
    assert places[0] == 0.0
    assert places[3] is None
    assert 0 < places[1] < places[2] < places[4] < 100
    assert [tick["text"] for tick in axis["ticks"]] == ["0", "1", "100", "10,000"]
    assert dots([0.25, float("nan")])["places"] == [25.0, None]
    assert dots([None], logarithmic=True)["ticks"][-1]["text"] == "1"


def test_pages_are_written_whole_or_not_at_all(told, rows, tmp_path):
    write_evaluation(tmp_path / "card.html", **told)
    assert (tmp_path / "card.html").read_text(encoding="utf-8") == evaluation_page(**told)
    write_comparison(tmp_path / "rows.html", title="x", subtitle="y", rows=rows)
    assert "ours" in (tmp_path / "rows.html").read_text(encoding="utf-8")
    with pytest.raises(SettingError, match=r"Cannot write .*choose a place that can be written to"):
        write_evaluation(tmp_path / "no" / "card.html", **told)


def test_recordings_and_verdicts_must_match(told):
    with pytest.raises(SettingError, match="1 recordings and 0 verdicts"):
        evaluation_page(**told | {"verdicts": []})
    with pytest.raises(SettingError, match="has 4 events and the recordings have 1;"):
        evaluation_page(**told | {"recordings": [recording(EVENTS[:1])]})
