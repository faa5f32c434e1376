"""The server goes away and comes back while somebody looks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from causewatch.server import ServeSettings
from services.dashboard import Dashboard, a_plant
from services.proxy import proxy

pytestmark = pytest.mark.xdist_group("browser")

GONE = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_EMPTY_RESPONSE", "ERR_SOCKET_NOT_CONNECTED")  # fmt: skip


def mark(page: Page) -> None:
    """Something that a reload would wipe out."""
    page.evaluate("window.untouched = true")


def seconds_apart(page: Page) -> set[int]:
    """Between the ticks that the table of a chart lists: {1} where none is missing."""
    times = page.locator(".chart-table tbody th").all_text_contents()
    assert len(times) == 20
    clocks = [int(text.split(" (")[0][-2:]) for text in times]
    return {(later - earlier) % 60 for later, earlier in itertools.pairwise(clocks)}


def test_it_comes_back_by_itself_and_fills_the_gap(
    dashboard: Dashboard, look: Callable[..., Any]
) -> None:
    plant = a_plant()
    dashboard.send(plant.rows(120))
    window = look(dashboard)
    window.expects(*GONE)
    now, signals = window.open("/"), window.open("/signals?signal=T02")
    history, graph = window.open("/history"), window.open("/graph")
    pages = (now, signals, history, graph)
    for page in pages:
        mark(page)
    expect(now.locator(".verdict-words")).to_have_text("Healthy")
    signals.bring_to_front()
    signals.get_by_role("button", name="Table of T02").click()
    last = signals.locator(".chart-table tbody tr").first
    expect(last).to_contain_text("08:01:5")

    dashboard.stop()
    for page in pages:
        expect(page.locator("#banner")).to_contain_text("Disconnected: what you see may be old.")
    expect(now.locator(".verdict-words")).to_have_text("Disconnected")
    expect(now.locator(".verdict-more")).to_contain_text("Healthy")

    # Things go on meanwhile: what happens before anybody is connected again must not be lost.
    dashboard.start()
    id = dashboard.raise_alarm(1)

    for page in pages:
        expect(page.locator("#banner")).to_be_empty()
    expect(now.locator(".verdict-words")).to_have_text("1 alarm is on")
    expect(now.locator(f"article[data-alarm='{id}']")).to_contain_text("T02")
    expect(history.locator("table.alarms tbody tr")).to_have_count(1)
    expect(graph.locator(".graph-broken tbody tr").first).to_be_visible()
    expect(signals.get_by_role("button", name="Table of T02")).to_be_visible()
    if not last.is_visible():  # the view is built anew for another run of the server
        signals.get_by_role("button", name="Table of T02").click()
    expect(last).to_contain_text("08:03:5")
    # No hole: the twenty latest ticks stand there, one a second.
    assert seconds_apart(signals) == {1}
    for page in pages:
        assert page.evaluate("window.untouched") is True, "the page was loaded again"


def test_one_can_ask_it_to_try_at_once(dashboard: Dashboard, look: Callable[..., Any]) -> None:
    dashboard.send(a_plant().rows(30))
    window = look(dashboard)
    window.expects(*GONE)
    page = window.open("/model")
    dashboard.stop()
    again = page.get_by_role("button", name="Try now")
    expect(again).to_be_visible()
    dashboard.start()
    again.click()
    expect(page.locator("#banner")).to_be_empty()


def test_a_broken_network_leaves_no_hole(dashboard: Dashboard, look: Callable[..., Any]) -> None:
    """The server goes on all the time: what it saw meanwhile is filled in, nothing is rebuilt."""
    plant = a_plant()
    dashboard.send(plant.rows(60))
    with proxy(dashboard.settings.port) as between:
        window = look(f"http://127.0.0.1:{between.port}")
        window.expects(*GONE)
        page = window.open("/signals?signal=T02&range=all")
        mark(page)
        page.get_by_role("button", name="Table of T02").click()
        last = page.locator(".chart-table tbody tr").first
        expect(last).to_contain_text("08:00:5")
        between.cut()
        expect(page.locator("#banner")).to_contain_text("Disconnected")
        dashboard.send(plant.rows(12, seed=95))
        between.mend()
        expect(page.locator("#banner")).to_be_empty()
        expect(last).to_contain_text("08:01:1")
        assert seconds_apart(page) == {1}
        assert page.evaluate("window.untouched") is True
        window.context.close()


def test_after_a_long_absence_charts_are_loaded_anew(
    dashboard: Dashboard, look: Callable[..., Any]
) -> None:
    """A short gap is filled; of a long one rows would come thinned, and look like gaps."""
    page = look(dashboard).open("/model")
    done = page.evaluate(
        """async () => {
            const { SeriesFeed } = await import("/static/js/chart/feed.js");
            const done = [];
            const chart = { rows: { first: 0, last: 100, cut: false }, append() {},
                setData: () => done.push("anew"), extend: () => done.push("filled") };
            const group = { every: 1, live: true, width: null, wanted: () => [null, null] };
            const feed = new SeriesFeed({ group, charts: () => [chart], most: 1000,
                ask: async () => ({ t: [101, 102], kept_from: 0 }) });
            feed.span = { from: 0, to: 100, tail: true, coarse: false, kept: 0 };
            await feed.hello({ t: 160 });
            await feed.hello({ t: 1101 });
            return done;
        }"""
    )
    assert done == ["filled", "anew"]


def test_a_page_without_a_live_view_asks_instead(tmp_path: Path, look: Callable[..., Any]) -> None:
    """All live views are taken: the plant can be seen and operated all the same."""
    plant = a_plant()
    with Dashboard(plant, tmp_path, settings=ServeSettings(port=0, viewers=1)) as shown:
        first = look(shown)
        expect(first.open("/").locator(".verdict-words")).to_have_text("Waiting for rows")
        second = look(shown)
        second.expects("503")
        page = second.open("/")
        expect(page.locator(".verdict-words")).to_have_text("Waiting for rows")
        shown.send(plant.rows(200))
        expect(page.locator(".verdict-words")).to_have_text("Healthy")
        shown.raise_alarm(0)
        card = page.locator("article.card").first
        expect(card).to_contain_text("T01")
