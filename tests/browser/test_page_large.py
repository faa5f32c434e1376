"""A plant of 240 signals stays usable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from onlooker import edges
from playwright.sync_api import Page, expect

from services.dashboard import Dashboard, Plant

pytestmark = pytest.mark.xdist_group("browser")

MOST_WORK = 2.0
"""Seconds of its processor that a page may use until a view is there; it needs a fifth of one."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("services.dashboard.NORMAL", 1000)  # enough to learn from, in half the time
        plant = Plant([f"T{k + 1:02}" for k in range(240)], 400)
    with Dashboard(plant, tmp_path_factory.mktemp("large")) as shown:
        shown.send(plant.rows(100))
        yield shown


def opened(window: Any, path: str, ready: str) -> Page:
    """A view, without too much work."""
    page: Page = window.context.new_page()
    session = window.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    window.open(path, page)
    page.locator(ready).first.wait_for()
    metrics = session.send("Performance.getMetrics")["metrics"]
    work = next(one["value"] for one in metrics if one["name"] == "TaskDuration")
    assert work < MOST_WORK, path
    return page


def no_sideways(page: Page) -> bool:
    fits: bool = page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    return fits


def test_now(large: Dashboard, look: Callable[..., Any]) -> None:
    page = opened(look(large), "/", "a.tile")
    expect(page.locator("a.tile")).to_have_count(240)
    assert no_sideways(page)
    # Ticks come in and the page keeps up: the last one is shown.
    large.send(large.plant.rows(50, seed=93))
    expect(page.locator(".status-line")).to_contain_text("Rows")
    rows = large.watch.counts.rows
    expect(page.locator(".status-line div", has_text="Rows").first).to_contain_text(str(rows))
    page.get_by_label("Only those that stand out").check()
    expect(page.locator("a.tile[data-state=ok]").first).to_be_hidden()


def test_the_graph_is_cut_to_a_neighbourhood(large: Dashboard, look: Callable[..., Any]) -> None:
    page = opened(look(large), "/graph", ".graph-canvas canvas")
    expect(page.locator(".graph-status")).to_contain_text("Shown:")
    assert len(edges(page)) <= 300
    search = page.get_by_role("combobox", name="Signal", exact=True)
    search.fill("T100")
    search.press("Enter")
    expect(page).to_have_url(re.compile("signal=T100"))
    page.get_by_role("button", name="Only neighbours").click()
    expect(page).to_have_url(re.compile("hops=1"))
    graph = large.plant.model.graph
    near = {"T100"}
    for link in graph:
        if "T100" in (link.source, link.target):
            near |= {link.source, link.target}
    names = "document.querySelector('.graph-canvas')._cyreg.cy.nodes('.signal')"
    page.wait_for_function(f"() => {names}.length === {len(near)}")
    shown = page.evaluate(f"{names}.map((node) => node.data('label').split('\\n')[0])")
    assert {one.strip("▲◎⚠ \ufe0e") for one in shown} == near
    page.go_back()
    page.wait_for_function(f"() => {names}.length !== {len(near)}")
    assert no_sideways(page)


def test_the_list_of_signals_is_searched(large: Dashboard, look: Callable[..., Any]) -> None:
    page = opened(look(large), "/signals", ".signals-table")
    expect(page.locator(".signals-table tbody tr")).to_have_count(240)
    assert no_sideways(page)
    page.get_by_role("searchbox").fill("T23")
    expect(page.locator(".signals-table tbody tr:visible")).to_have_count(11)
    page.get_by_role("link", name="T235", exact=True).click()
    expect(page.locator("article.signal-card canvas")).to_be_visible()


def test_six_charts_together(large: Dashboard, look: Callable[..., Any]) -> None:
    names = "&".join(f"signal=T{k:02}" for k in range(1, 8))
    page = opened(look(large), f"/signals?{names}", "article.signal-card canvas")
    expect(page.locator("article.signal-card")).to_have_count(6)
    expect(page.get_by_text("The first 6 of 7 signals")).to_be_visible()
