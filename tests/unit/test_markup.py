"""What notebooks show: models, graphs, alarms and explanations as HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import causewatch as cw
from causewatch.simulate import Fault, random_system

EVIL = "<img src=x onerror=alert(1)>"
NAMES = ["a", "b", EVIL, "d", "e", "flat"]
SYSTEM = random_system(5, seed=1)


class Page(HTMLParser):
    """Tags and text of a piece of HTML; every tag that is opened is closed."""

    def __init__(self, content):
        super().__init__()
        self.tags, self.text, self._open = set(), "", []
        self.feed(content)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data + "\n"


def rows(count, seed, faults=()):
    values = SYSTEM.simulate(count, seed=seed, faults=faults).values
    return pl.DataFrame(np.column_stack([values, np.full(count, 3.0)]), schema=NAMES)


@pytest.fixture(scope="module")
def model():
    return cw.learn(rows(2000, 2))


@pytest.fixture(scope="module")
def alarm(model):
    fault = Fault("bias", "S03", start=200, end=300, size=9.0)
    by_id = cw.watch(model, rows(400, 3, [fault])).by_id
    return next(one for one in by_id.values() if one.kind == "anomaly")


def test_a_notebook_shows_names_as_text_and_never_as_markup(model, alarm):
    for shown in (model, model.graph, alarm, cw.explain(alarm)):
        page = Page(shown._repr_html_())
        assert EVIL in page.text
        assert page.tags <= {"p", "strong", "table", "thead", "tbody", "tr", "th", "td"}


def test_a_notebook_shows_what_matters(model, alarm):
    shown = Page(model._repr_html_()).text
    assert repr(model) in shown
    assert "flat" in shown
    assert all(finding.text in shown for finding in model.report)
    for one in (alarm, cw.explain(alarm)):
        shown = Page(one._repr_html_()).text
        assert one.headline in shown
        assert "row 200" in shown
        assert alarm.id in shown
        assert str(one.broken_links[0].link) in shown
    assert cw.explain(alarm).checks[0].text in shown


def test_a_large_graph_shows_its_strongest_links_and_counts_the_rest():
    links = {cw.Link("a", "b", k): cw.Strength((-1) ** k * k / 100, 0.0) for k in range(1, 31)}
    shown = Page(cw.CausalGraph(["a", "b"], links)._repr_html_()).text
    assert "and 10 more" in shown
    assert "0.3" in shown.split()
    assert "-0.11" in shown.split()
    assert "0.1" not in shown.split()


def test_an_alarm_read_back_shows_what_it_has():
    bare = cw.Alarm("a1b2", "health", 10**9, 10**9, 10**9, signals={"F1": None}, problem="missing")
    assert "health alarm about F1" in Page(bare._repr_html_()).text
    assert "raised" not in Page(bare._repr_html_()).text
