"""The history, the page of an alarm, what can be taken away, and the report."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

pytestmark = pytest.mark.xdist_group("browser")


def rows(page: Page) -> Any:
    return page.locator("table.alarms tbody tr")


def test_filters_live_in_the_address_and_bars_lead_on(story: Any, look: Callable[..., Any]) -> None:
    window = look(story)
    page = window.open("/history")
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first).to_contain_text("T02")
    page.locator("select[name=on]").select_option("false")
    expect(page).to_have_url(re.compile(r"on=false"))
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("cleared")
    page.locator("select[name=on]").select_option("")
    page.get_by_role("searchbox", name="Text").fill("T02 rose to")
    expect(page).to_have_url(re.compile(r"text=T02"))
    expect(rows(page)).to_have_count(1)
    page.locator("select[name=kind]").select_option("health")
    expect(rows(page)).to_have_count(0)
    expect(page.get_by_text("No alarm fits these filters")).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    expect(rows(page)).to_have_count(2)
    # The timeline shows the same.
    bar = page.locator(f"a.alarm-bar[href='/alarm/{story.on}']")
    bar.hover()
    expect(page.locator(".timeline-note")).to_contain_text("T02")
    bar.click()
    expect(page).to_have_url(re.compile(f"/alarm/{story.on}$"))
    # Somebody who is given the address sees the same.
    other = window.open("/history?kind=anomaly&on=true&signal=T02")
    expect(rows(other)).to_have_count(1)
    expect(other.locator("select[name=kind]")).to_have_value("anomaly")
    expect(other.locator("input[list=history-signals]")).to_have_value("T02")


def test_a_filter_that_is_being_typed_does_not_follow_to_the_next_view(
    story: Any, look: Callable[..., Any]
) -> None:
    """Typing is waited for; by then another view may be on its way, with its own address."""
    held: list[Route] = []
    window = look(story)
    page = window.context.new_page()
    page.clock.install()
    window.open("/history", page)
    expect(rows(page)).to_have_count(2)
    page.route("**/js/views/graph.js", lambda route: held.append(route))
    page.locator("input[list=history-signals]").press_sequentially("T0")
    page.get_by_role("link", name="Graph", exact=True).click()
    expect(page).to_have_url(re.compile("/graph$"))
    page.clock.run_for(600)
    expect(page).to_have_url(re.compile("/graph$"))
    held[0].continue_()
    expect(page.locator(".graph-status")).not_to_be_empty()
    page.clock.run_for(600)
    expect(page).to_have_url(re.compile("/graph$"))


def test_from_the_list_to_an_alarm_and_back(story: Any, look: Callable[..., Any]) -> None:
    page = look(story).open("/history?kind=anomaly")
    rows(page).nth(1).get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"/alarm/{story.over}$"))
    expect(page.locator("h1")).to_contain_text("T01")
    expect(page.locator(".cause-table tbody tr").first).to_contain_text("T01")
    expect(page.locator(".broken-table tbody tr").first).to_contain_text("T01")
    expect(page.locator(".event-log li").first).to_contain_text("raised")
    expect(page.locator(".course-chart canvas").first).to_be_visible()
    page.get_by_role("link", name="Next →").click()
    expect(page).to_have_url(re.compile(f"/alarm/{story.on}$"))
    expect(page.locator("h1")).to_contain_text("T02")
    page.go_back()
    expect(page.locator("h1")).to_contain_text("T01")
    page.go_back()
    expect(page).to_have_url(re.compile(r"/history\?kind=anomaly$"))
    expect(rows(page)).to_have_count(2)


def test_exports_hold_what_is_filtered(
    story: Any, look: Callable[..., Any], tmp_path: Path
) -> None:
    mine, others = (set(story.watch.store.alarm(id)["signals"]) for id in (story.on, story.over))
    page = look(story).open(f"/history?signal={min(mine - others)}")
    expect(rows(page)).to_have_count(1)
    for kind in ("CSV", "JSON"):
        with page.expect_download() as started:
            page.get_by_role("link", name=f"Export {kind}").click()
        file = started.value
        assert file.suggested_filename == f"alarms.{kind.lower()}"
        file.save_as(tmp_path / file.suggested_filename)
    with (tmp_path / "alarms.csv").open(encoding="utf-8", newline="") as lines:
        assert [row["id"] for row in csv.DictReader(lines)] == [story.on]
    exported = json.loads((tmp_path / "alarms.json").read_text(encoding="utf-8"))
    assert [one["id"] for one in exported] == [story.on]


def test_the_report_opens_beside(story: Any, look: Callable[..., Any]) -> None:
    page = look(story).open(f"/alarm/{story.over}")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Full report").click()
    report = opened.value
    report.wait_for_load_state()
    assert report.url.endswith(f"/api/alarms/{story.over}/report")
    expect(report.locator("h1").first).to_contain_text("T01")
    expect(report.locator("svg, img").first).to_be_visible()
    expect(page.locator("h1")).to_contain_text("T01")  # the page itself stays


def test_the_graph_can_be_taken_away(story: Any, look: Callable[..., Any]) -> None:
    page = look(story).open("/graph")
    for name, begins in (
        ("JSON", b"{"),
        ("GML", b"graph"),
        ("DOT", b"digraph"),
        ("PNG", b"\x89PNG"),
    ):
        with page.expect_download() as started:
            page.locator(".graph-downloads").get_by_text(name, exact=True).click()
        content = Path(started.value.path()).read_bytes()
        assert content.lstrip().startswith(begins), (name, content[:40])
        if name in ("JSON", "GML", "DOT"):
            assert b"T02" in content
