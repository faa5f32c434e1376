"""How much later an effect follows is said as a time on every view, the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from onlooker import edges
from playwright.sync_api import expect

from services.dashboard import Dashboard, a_plant

pytestmark = pytest.mark.xdist_group("browser")

TICKS = re.compile(r"\b\d+ ticks?\b|\bsame tick\b")


IN_TITLES = re.compile(r"ticks?, \d|after \d+ tick|same tick")


class Alarmed(Dashboard):
    """A plant with an alarm that is on, whose broken links are known."""

    alarm: str
    source: str
    target: str
    lag: int


@pytest.fixture(scope="module")
def alarmed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alarmed]:
    plant = a_plant()
    with Alarmed(plant, tmp_path_factory.mktemp("alarmed"), keep=True) as shown:
        shown.send(plant.rows(200))
        shown.alarm = shown.raise_alarm(1)
        known = shown.watch.store.alarm(shown.alarm)
        assert known is not None
        link = next(one for one in known["broken_links"] if one["source"] != one["target"])
        shown.source, shown.target, shown.lag = link["source"], link["target"], link["lag"]
        yield shown


def test_lags_are_times_on_every_view(alarmed: Alarmed, look: Callable[..., Any]) -> None:
    window = look(alarmed)
    page = window.open("/")
    lag = f"{alarmed.lag} s"
    pair = f"signal={alarmed.source}&to={alarmed.target}"
    places = {
        "/": ".broken-lag",
        "/graph": ".graph-broken .graph-under",
        f"/graph?signal={alarmed.target}": ".graph-list .graph-link",
        f"/graph?{pair}": ".graph-panel",
        f"/signals?signal={alarmed.target}": ".kin-link",
        f"/alarm/{alarmed.alarm}": ".broken-table .keep-line",
        "/model?tab=mechanisms": ".cause-list",
    }
    for path, place in places.items():
        window.go(page, path)
        found = page.locator(place).filter(has_text=lag)
        expect(found.first, path).to_be_visible()
        words = page.locator("main").inner_text()
        assert not TICKS.search(words), (path, TICKS.search(words))
        titles = page.locator("main [title]").evaluate_all("nodes => nodes.map((n) => n.title)")
        assert not [one for one in titles if IN_TITLES.search(one)], path


def test_lags_in_the_picture(alarmed: Alarmed, look: Callable[..., Any]) -> None:
    page = look(alarmed).open("/graph")
    labels = {edge["label"].split("\n")[0] for edge in edges(page) if edge["label"]}
    assert labels
    assert all(re.fullmatch(r"[\d, ]+ s( \(\+\d+\))?", label) for label in labels), labels


def test_list_page_file_and_dashboard_say_the_same(
    alarmed: Alarmed, look: Callable[..., Any]
) -> None:
    known = alarmed.watch.store.alarm(alarmed.alarm)
    assert known is not None
    sentence, first = known["headline"], known["causes"][0]["signal"]
    window = look(alarmed)
    page = window.open("/")
    expect(page.locator(f"article[data-alarm='{alarmed.alarm}'] h3")).to_have_text(sentence)
    expect(page.locator(".verdict-start a").first).to_have_text(first)
    expect(page.locator(".causes li a").first).to_have_text(first)
    window.go(page, "/history")
    row = page.locator(".alarms tbody tr").first
    expect(row.locator(".headline")).to_have_text(sentence)
    expect(row.locator(".cell-cause .name")).to_have_text(first)
    window.go(page, "/graph")
    expect(page.locator(".graph-alarms a").first).to_have_text(sentence)
    window.go(page, f"/alarm/{alarmed.alarm}")
    expect(page.locator("h1")).to_have_text(sentence)
    expect(page.locator(".cause-table .first th a")).to_have_text(first)
    story = page.request.get(f"/api/alarms/{alarmed.alarm}").json()
    assert story["explanation"]["headline"] == story["alarm"]["headline"] == sentence
    assert story["explanation"]["causes"] == story["alarm"]["causes"]
    page.goto(f"/api/alarms/{alarmed.alarm}/report")
    expect(page.locator("h1").first).to_have_text(sentence)


def test_what_an_alarm_names_comes_before_what_is_unwell_beside_it(
    alarmed: Alarmed, look: Callable[..., Any]
) -> None:
    page = look(alarmed).open("/model")
    found = page.evaluate(
        """async () => {
          const { live } = await import("/static/js/live.js");
          const { lookFirst } = await import("/static/js/now/first.js");
          live.now.status.unwell = { T01: { state: "missing" }, T03: { state: "missing" } };
          const signals = { T01: null, T02: 3, T03: null };
          const causes = [{ signal: "T02", confidence: 0.6 }, { signal: "T01", confidence: 0.4 }];
          const alarm = { id: "a", kind: "anomaly", abstained: false, causes, signals };
          return lookFirst([alarm]).map(({ signal, state }) => [signal, state]);
        }"""
    )
    assert found == [["T02", ""], ["T01", "no value"], ["T03", "no value"]]
