"""The explanation as a whole, its charts, and the report in one file."""

import re
from dataclasses import replace

import numpy as np
import pytest
from alarm_story import (
    NAMES,
    ONSET,
    alarm,
    biased_sensor,
    broken,
    context,
    course,
    equations,
    rows,
)

from causewatch import Knowledge, learn
from causewatch.detectors import Equations
from causewatch.errors import SettingError
from causewatch.explain.around import links_chart
from causewatch.explain.charts import evidence_chart, signal_chart
from causewatch.explain.described import describe, retold
from causewatch.explain.explanation import context_of, explain
from causewatch.explain.report import report, write_report
from causewatch.explain.sentence import HEALTH
from causewatch.explain.sheet import text_width
from causewatch.monitor import Tick
from causewatch.monitor.alarms import Cause
from causewatch.monitor.course import Course
from causewatch.simulate import random_system

EVIL = "<img src=x onerror=alert(1)>"


def told(**more):
    links = [broken("LIT301", "P101", 2, 2.0, 0.1), broken("LIT301", "LIT301", 1, 0.5, 0.9, 1.5)]
    return explain(alarm(), course=biased_sensor(), context=context(), broken_links=links, **more)


def renamed(seen, names):
    return Course(
        names, seen.time, seen.values, seen.expected, seen.innovation, seen.evidence, seen.score
    )


def test_what_an_explanation_says():
    found = told(published={"P101": 0.2, "LIT301": 0.4})
    assert found.causes[0].signal == "LIT301"
    assert sum(cause.confidence for cause in found.causes) == pytest.approx(1.0, abs=0.05)
    assert not found.abstained
    assert found.consequences == ("P101",)
    assert found.broken_links[0].deviation == 3.0
    assert found.published_ranking == (("LIT301", 0.4), ("P101", 0.2))
    assert found.to_dict()["causes"][0]["signal"] == "LIT301"


def test_it_abstains_where_nothing_stands_out():
    seen = course(rows())
    evidence = np.full_like(seen.evidence, 1.01)
    flat = Course(
        seen.signals,
        seen.time,
        seen.values,
        seen.expected,
        0 * seen.innovation,
        evidence,
        seen.score,
    )
    found = explain(alarm(), course=flat, context=context())
    assert found.abstained
    assert len(found.causes) == 4
    assert "cannot be told: FIT101, LIT301 or P101." in found.headline
    assert "Candidates" in report(found)


def test_without_ticks_the_evidence_is_what_is_left():
    found = explain(alarm(signals={"A": 3.0, "B": 1.0, "C": None}))
    assert [cause.signal for cause in found.causes] == ["A", "B", "C"]
    assert found.abstained
    assert "A, B, C" in found.headline
    assert found.headline in report(found)
    with pytest.raises(SettingError, match="carries no ticks"):
        evidence_chart(found)


def test_without_ticks_an_alarm_is_explained_as_it_was():
    before = (Cause("B", 2.0, 0.8), Cause("A", 1.0, 0.2))
    kept = alarm(signals={"A": 3.0, "B": 1.0}, causes=before, headline="B fell.", abstained=False)
    found = explain(kept, context=context())
    assert (found.causes, found.headline, found.abstained) == (before, "B fell.", False)
    assert "B fell." in report(found)


def test_a_dead_sensor_is_no_puzzle():
    sick = replace(alarm(signals={"A": None}), kind="health", problem="missing for 3 min")
    found = explain(sick)
    assert found.headline == "A: missing for 3 min."
    assert not found.abstained
    assert "Signal health" in report(found)


@pytest.mark.parametrize("problem", [*HEALTH, "odd", None])
def test_a_health_alarm_has_one_sentence_whoever_asks(problem):
    sick = replace(alarm(signals={"A": None}), kind="health", problem=problem)
    assert explain(sick).headline == describe(sick).headline
    told = replace(sick, headline="A began with a value that it did not have.")
    assert explain(told).headline == describe(told).headline == told.headline


def test_what_was_told_of_an_alarm_is_told_again():
    """What is kept of a long alarm ends early: what that says by itself is not told."""
    sick = alarm(
        signals={"A": 3.0, "B": 1.0},
        headline="B was switched off (1 → 0).",
        causes=(Cause("B", 9.0, 0.8),),
        broken_links=(broken("B", "A", 1, 2.0, 0.1),),
    )
    again = retold(sick)
    assert again.headline == sick.headline
    assert again.causes == sick.causes
    assert again.broken_links == sick.broken_links
    assert not again.abstained
    assert "B was switched off" in report(again)
    untold = replace(sick, headline="", causes=())
    assert retold(untold).headline == explain(untold).headline


@pytest.mark.parametrize("wrong", [None, "a1b2c3d4e5f6", Tick(0, complete=True), [alarm()]])
def test_what_is_no_alarm_is_told_so(wrong):
    with pytest.raises(SettingError, match=rf"takes an alarm, .* type {type(wrong).__name__}\."):
        explain(wrong)


def test_mechanisms_come_from_the_model_or_are_asked_for():
    with pytest.raises(SettingError, match="pass the one that watched"):
        explain(alarm(), course=biased_sensor())
    known = Knowledge.from_dict({"units": {"x0": "mm"}, "labels": {"x1": "Pump"}})
    values = random_system(4, seed=1).simulate(800, seed=2).values
    model = learn(values, every=1.0, knowledge=known)
    found = context_of(model)
    assert (found.every, found.clock) == (1.0, "rows")
    assert (found.units, found.labels) == ({"x0": "mm"}, {"x1": "Pump"})
    assert len(found.equations.source) == len(model.graph)
    left = found.equations.innovations(values)[found.equations.max_lag :]
    np.testing.assert_allclose(left.std(axis=0), 1.0, atol=0.1)


def test_the_report_is_one_file_without_requests(tmp_path):
    write_report(told(published={"P101": 0.2}), tmp_path / "alarm.html")
    text = (tmp_path / "alarm.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"<script|<img|<link|<iframe|@import|\ssrc=|\shref=\"http", text)
    assert all(place.startswith("#") for place in re.findall(r"url\((.)", text))
    assert text.count("<svg") == 3 + 2  # three pictures, and a bar for each likely cause
    for words in ("LIT301 has read", "Where it starts", "Broken links", "20 s", "not yet"):
        assert words in text


def test_names_are_text():
    names = (EVIL, "a & b", "$x^2$", "</svg>")
    seen = renamed(biased_sensor(), names)
    links = [broken("a & b", "$x^2$", 2, 2.0, 0.1)]
    found = explain(alarm(), course=seen, context=context(), broken_links=links)
    text = report(replace(found, consequences=(EVIL, "$x^2$")))
    assert "<img" not in text
    assert "&lt;img src=x" in text
    assert "a &amp; b" in text
    assert "$x^2$" in text
    assert text.count("</svg>") == text.count("<svg")


def test_charts_are_the_same_every_time_and_in_both_formats():
    found = told()
    for draw in (evidence_chart, links_chart, lambda told: signal_chart(told, "LIT301")):
        first = draw(found)
        assert first.startswith(b"<?xml")
        assert first == draw(found)
    assert evidence_chart(found, "png").startswith(b"\x89PNG")
    assert links_chart(found, "png").startswith(b"\x89PNG")


def test_broken_links_are_red():
    some, none = links_chart(told()), links_chart(replace(told(), broken_links=()))
    assert some.count(b"#d1242f") > none.count(b"#d1242f") > 0
    assert b"broken link" in some
    assert b"broken link" not in none


def thicket(size=40):
    """An alarm of a plant in which every signal acts on every other one."""
    source, target = (part.ravel() for part in np.meshgrid(range(size), range(size)))
    coefficient = np.random.default_rng(2).uniform(0.11, 0.2, size=len(source))
    law = Equations(size, 1, source, target, np.ones_like(source), coefficient, np.zeros(size),
                    np.ones(size))  # fmt: skip
    values = np.random.default_rng(3).normal(size=(110, size))
    values[ONSET:, 7] += 30.0
    names = tuple(f"Area {k:02d}: temperature of the return line, averaged" for k in range(size))
    known = replace(context(), equations=law, centre=np.zeros(size), scale=np.ones(size))
    return explain(alarm(), course=course(values, names, law), context=known)


def test_the_links_around_a_cause_stay_readable():
    """At most twelve signals, each once, with an arrow each; no name or lag covers another one."""
    found = thicket()
    text = links_chart(found).decode()
    words = re.findall(
        r'<text style="([^"]*)" x="([-\d.]+)" y="([-\d.]+)"[^>]*>([^<]*)</text>', text
    )
    lags = [one for one in words if one[3] == "10 s"]
    ends = [one for one in words if "averaged" in one[3]]
    starts = [one for one in words if one[3].startswith("Area ")]
    assert len(starts) == len(ends) == len({one[3] for one in starts}) == len(lags) + 1 <= 12
    assert len(starts) >= 7
    boxes = []
    for style, x, y, said in words:
        size = float(re.search(r"([\d.]+)px", style).group(1))
        wide = 72 * text_width(said, size)
        left = float(x) - (wide / 2 if "middle" in style else 0.0)
        boxes.append((left, left + wide, float(y) - 0.7 * size, float(y)))
    for k, one in enumerate(boxes):
        for other in boxes[:k]:
            apart = (
                one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
            )
            assert apart


def test_causes_stand_left_of_the_cause_and_effects_right():
    text = links_chart(told()).decode()
    at = {
        said: float(x)
        for x, said in re.findall(r'<text [^>]*x="([-\d.]+)"[^>]*>([^<]*)</text>', text)
    }
    assert at["FIT101"] < at["LIT301"] < at["P101"]


def test_links_into_the_cause_come_first_and_its_own_past_last():
    links = [
        broken("LIT301", "LIT301", 1, 0.5, 0.9, 9.0),
        broken("LIT301", "P101", 2, 2.0, 0.1, 8.0),
        broken("FIT101", "LIT301", 1, 0.9, 0.1, 2.0),
        broken("FIT101", "LIT301", 2, 0.9, 0.1, 3.0),
    ]
    found = explain(alarm(), course=biased_sensor(), context=context(), broken_links=links)
    assert found.broken_links == (links[3], links[2], links[1], links[0])


def test_what_rounds_to_nothing_is_not_shown():
    found = told()
    small = Cause("AIT202", 0.3, 0.004)
    found = replace(found, causes=(found.causes[0], small))
    assert found.likely == found.causes[:1]
    assert "AIT202" not in report(found)


def test_what_was_watched_with_which_model_is_told():
    text = report(told(), about={"watched": "today.csv", "model": "<plant>.cwm"})
    assert "<dt>watched</dt><dd>today.csv</dd>" in text
    assert "&lt;plant&gt;.cwm" in text


@pytest.mark.parametrize(
    ("every", "word"), [(0.01, "milliseconds"), (1, "seconds"), (60, "minutes"), (3600, "days")]
)
def test_a_time_axis_has_one_unit(every, word):
    seen = biased_sensor()
    time = seen.time[0] + (seen.time - seen.time[0]) // 10 * round(every * 1e3) // 1000
    raised = replace(alarm(), raised_at=int(time[ONSET]))
    found = explain(raised, course=replace(seen, time=time), context=context())
    for chart in (evidence_chart(found), signal_chart(found, "LIT301")):
        assert f"{word} from the alarm" in chart.decode()


def test_a_guarded_signal_has_a_chart_but_no_links():
    values = np.column_stack([rows(), np.ones(110)])
    values[ONSET + 1 :, 4] = 2.0
    seen = course(values, names=(*NAMES, "P203"))
    found = explain(alarm(ONSET + 1), course=seen, context=context())
    text = report(found)
    assert "P203 was switched on (1 → 2)" in text
    assert "Links around it" not in text


def test_a_place_that_cannot_be_written_to(tmp_path):
    with pytest.raises(SettingError, match="Cannot write"):
        write_report(told(), tmp_path / "nowhere" / "alarm.html")


def test_what_follows_stands_right_of_the_cause_even_if_its_link_back_is_broken():
    law = equations()
    law = replace(
        law,
        source=np.append(law.source, 2),
        target=np.append(law.target, 1),
        lag=np.append(law.lag, 1),
        coefficient=np.append(law.coefficient, 0.01),
    )
    links = [broken("P101", "LIT301", 1, 0.01, 2.0)]
    known = replace(context(), equations=law)
    found = explain(alarm(), course=biased_sensor(), context=known, broken_links=links)
    assert "P101" in found.consequences
    text = links_chart(found).decode()
    at = {
        said: float(x)
        for x, said in re.findall(r'<text [^>]*x="([-\d.]+)"[^>]*>([^<]*)</text>', text)
    }
    assert at["FIT101"] < at["LIT301"] < at["P101"]
    assert "broken link" in text


def test_a_page_about_health_names_no_place_where_trouble_starts():
    sick = replace(
        alarm(ONSET), kind="health", problem="missing", causes=(), signals={"LIT301": None}
    )
    page = report(explain(sick, context=context()))
    assert "LIT301 sends no value." in page
    assert "Where it starts" not in page
    assert "%" not in page.partition("<main>")[2]
