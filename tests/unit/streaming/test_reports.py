"""Pages about alarms: their index, and what stands in the folder already."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import causewatch as cw
from causewatch.explain.alarm_index import entry_of, read_entry
from causewatch.explain.report import report
from causewatch.model import NormalModel
from causewatch.monitor import Alarm
from causewatch.simulate import random_system
from causewatch.streaming.reports import INDEX, Reports

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def model() -> NormalModel:
    return cw.learn(random_system(3, seed=1).simulate(800, seed=2).values)


def an_alarm(number: int, **more: object) -> Alarm:
    at = number * SECOND
    values = {"kind": "health", "signals": {"x1": None}, "headline": f"x1 <{number}> is missing."}
    return Alarm(f"{number:012x}", raised_at=at, onset=at, updated_at=at, **values | more)  # type: ignore[arg-type]


def listed(folder: Path) -> list[str]:
    return re.findall(r'href="0*(\w+)\.html"', (folder / INDEX).read_text(encoding="utf-8"))


def test_pages_that_are_there_are_listed(model: NormalModel, tmp_path: Path) -> None:
    for number in (1, 2):
        Reports(tmp_path, model).event("raised", an_alarm(number))
    hostile = '<meta name="causewatch-alarm" content="{}">'
    mark = '{"raised_at": "x", "id": "00000000000a", "kind": "", "raised": "", "cleared": "",'
    for name, text in (
        ("a", hostile.format(mark.replace('"', "&#34;") + "&#34;headline&#34;: 1}")),
        ("b", hostile.format("[" * 9000)),
        ("c", ""),
    ):
        (tmp_path / f"{name:0>12}.html").write_text(text)
    (tmp_path / "notes.html").write_text((tmp_path / f"{1:012x}.html").read_text())
    reports = Reports(tmp_path, model, {"watched": "<plant>"})
    reports.begin(())
    assert listed(tmp_path) == ["2", "1"]
    text = (tmp_path / INDEX).read_text()
    assert "Alarms of &lt;plant&gt;" in text
    assert "x1 &lt;2&gt; is missing." in text
    assert "2 of 2 are on" in text
    reports.event("cleared", replace(an_alarm(2), cleared_at=9 * SECOND))
    assert "1 of 2 is on" in (tmp_path / INDEX).read_text()


def test_the_index_is_not_endless(model: NormalModel, tmp_path: Path) -> None:
    reports = Reports(tmp_path, model, most=3)
    for number in (4, 1, 5, 2, 3):
        reports.event("raised", an_alarm(number))
    assert listed(tmp_path) == ["5", "4", "3"]
    assert "Pages of older alarms" in (tmp_path / INDEX).read_text()
    assert len(list(tmp_path.iterdir())) == 6


def test_an_empty_folder_says_so(model: NormalModel, tmp_path: Path) -> None:
    Reports(tmp_path, model).begin([{"id": "nonsense"}])
    assert "No alarm so far." in (tmp_path / INDEX).read_text()


def test_a_page_says_what_the_index_says_of_it(model: NormalModel) -> None:
    explanation = cw.explain(an_alarm(7, headline='"<é>" & more'), model)
    assert read_entry(report(explanation)) == entry_of(explanation)
    assert entry_of(explanation).raised == "row 7"


def test_what_cannot_be_written_is_said_once(
    model: NormalModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / INDEX).mkdir()
    reports = Reports(tmp_path, model)
    reports.begin(())
    reports.event("raised", an_alarm(1))
    (message,) = caplog.messages
    assert message.startswith(f"Cannot write {str(tmp_path / INDEX)!r}: ")
