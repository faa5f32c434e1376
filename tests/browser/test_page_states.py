"""Nothing there yet, nothing there any more, not found, failed: each says so in a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from services.dashboard import Dashboard, a_plant

pytestmark = pytest.mark.xdist_group("browser")

NOBODY = "000000000000"


def test_before_anything_happens_and_after_the_end(
    dashboard: Dashboard, look: Callable[..., Any]
) -> None:
    window = look(dashboard)
    now = window.open("/")
    words, more = now.locator(".verdict-words"), now.locator(".verdict-more")
    expect(words).to_have_text("Waiting for rows")
    expect(more).to_contain_text("No tick has come yet")
    expect(now.locator(".tiles-summary")).to_have_text("No signal can be judged yet.")
    history = window.open("/history")
    expect(history.locator(".view-message")).to_contain_text("No alarm has been raised yet.")
    graph = window.open("/graph")
    expect(graph.locator(".graph-panel")).to_contain_text("too few ticks")
    signals = window.open("/signals?signal=T02")
    expect(signals.locator(".chart-note")).to_have_text(re.compile(r"\w.*[.…]$"))

    rows = a_plant().rows(100)
    dashboard.send(rows[:1])
    expect(words).to_have_text("Warming up")
    expect(more).to_contain_text("too few ticks")
    dashboard.send(rows[1:])
    expect(words).to_have_text("Healthy")
    expect(graph.locator(".graph-panel")).to_contain_text("No alarm is on.")

    dashboard.source.finish()
    expect(words).to_have_text("The recording has ended")
    expect(more).to_contain_text("no alarm was on then")
    expect(now.locator(".verdict-label")).to_have_text("Last score")
    # It can be looked at all the same.
    later = window.open("/signals?signal=T02")
    expect(later.locator("article.signal-card canvas")).to_be_visible()
    later.get_by_role("button", name="Table of T02").click()
    expect(later.locator(".chart-table tbody tr").first).to_contain_text("08:01:3")


MISSING = (
    (f"/alarm/{NOBODY}", f"No alarm with the number {NOBODY} is kept here"),
    ("/alarm/odd", "No alarm with the number odd is kept here"),
    (f"/graph?alarm={NOBODY}", f"There is no alarm {NOBODY}"),
    (f"/signals?alarm={NOBODY}", f"There is no alarm {NOBODY}"),
    ("/signals?signal=T99", "This plant has no signal T99"),
    ("/graph?signal=T99", "There is no signal named “T99”"),
    ("/graph?stage=cellar", "There is no stage named “cellar”"),
    ("/history?signal=T99", "No alarm fits these filters"),
)


def test_what_does_not_exist(story: Any, look: Callable[..., Any]) -> None:
    window = look(story)
    window.expects("status of (404|422)")
    page = window.open("/")
    for path, sentence in MISSING:
        window.go(page, path)
        expect(page.locator("main").get_by_text(sentence).first, path).to_be_visible()


def failing(page: Page, asked: str) -> Callable[[], None]:
    """Let requests fail as they do if the server is unwell; gives how to mend it."""
    where: Any = re.compile(asked)

    def refuse(route: Route) -> None:
        route.fulfill(status=500, json={"error": "The store is away; the log says why."})

    page.route(where, refuse)
    return lambda: page.unroute(where, refuse)


FAILING = (
    ("/history", r"/api/alarms\?"),
    ("/alarm/{on}", r"/api/alarms/\w+$"),
    ("/model?tab=limits", r"/api/model$"),
    ("/", r"/api/alarms\?"),
)


def test_a_failing_server_is_told_and_tried_again(story: Any, look: Callable[..., Any]) -> None:
    window = look(story)
    window.expects("status of 500")
    page = window.open("/graph")
    said = page.locator("main").get_by_text("The store is away; the log says why.")
    for path, asked in FAILING:
        mend = failing(page, asked)
        page.evaluate("(path) => history.pushState(null, '', path)", path.format(on=story.on))
        page.evaluate("() => dispatchEvent(new PopStateEvent('popstate'))")
        expect(said, path).to_be_visible()
        mend()
        page.locator("main").get_by_role("button", name="Try again").click()
        expect(said, path).to_have_count(0)
        window.ready(page)
    # Charts tell it where they would be.
    failing(page, "/api/series")
    window.go(page, "/signals?signal=T02")
    expect(said.first).to_be_visible()


def test_a_failed_action_is_told(story: Any, look: Callable[..., Any]) -> None:
    window = look(story)
    window.expects("status of 500")
    page = window.open("/")
    failing(page, "/api/alarms/.*/ack$")
    card = page.locator(f"article[data-alarm='{story.on}']")
    card.get_by_role("button", name="Acknowledge").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("[name=by]").fill("Ada")
    dialog.get_by_role("button", name="Acknowledge", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text("The store is away; the log says why.")
    page.keyboard.press("Escape")
    # The name is known now, so there is no dialog to tell it.
    card.get_by_role("button", name="Acknowledge").click()
    expect(card.get_by_role("alert")).to_have_text("The store is away; the log says why.")


def test_a_server_that_does_not_answer(story: Any, look: Callable[..., Any]) -> None:
    window = look(story)
    window.expects("ERR_FAILED", "ERR_CONNECTION")
    page = window.context.new_page()
    page.route("**/api/live", lambda route: route.abort())
    page.goto("/")
    expect(page.locator("main")).to_contain_text("Waiting for the server.")
    page.unroute("**/api/live")
    window.ready(page)  # by itself


def test_a_full_server(story: Any, look: Callable[..., Any]) -> None:
    window = look(story)
    window.expects("status of 503")
    page = window.context.new_page()
    page.route("**/api/live", lambda route: route.fulfill(status=503, json={"error": "No room."}))
    page.goto("/")
    # It can be looked at all the same; see test_page_reconnect.
    expect(page.locator(".verdict-words")).to_have_text("1 alarm is on")
    expect(page.locator("article.card")).to_contain_text("T02")
