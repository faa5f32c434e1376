"""The explanation as a whole, its charts, and the report in one file."""

import re
from dataclasses import replace

import numpy as np
import pytest
from alarm_story import NAMES, ONSET, alarm, biased_sensor, broken, context, course, rows

from causewatch import Knowledge, learn
from causewatch.errors import SettingError
from causewatch.explain.charts import evidence_chart, links_chart, signal_chart
from causewatch.explain.described import describe
from causewatch.explain.explanation import context_of, explain
from causewatch.explain.report import report, write_report
from causewatch.explain.sentence import HEALTH
from causewatch.monitor import Tick
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
