"""Looked at for long: nothing jumps, nothing piles up; sick signals; another recording."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from onlooker import READY
from playwright.sync_api import Page, expect

from services.dashboard import START, Dashboard, a_plant

pytestmark = pytest.mark.xdist_group("browser")

# What was moved without anybody having touched anything: the sum of shifts, and what moved.
SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const node = entry.sources?.[0]?.node;
    const name = node?.className || node?.parentElement?.className || node?.nodeName;
    if (!entry.hadRecentInput) window.shifts.push([entry.value, String(name)]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""


def test_nothing_jumps_while_ticks_come(dashboard: Dashboard, look: Callable[..., Any]) -> None:
    rows = a_plant().rows(240)
    dashboard.send(rows[:120])
    window = look(dashboard)
    window.context.add_init_script(SHIFTS)
    page = window.open("/")
    sent = 120
    for path in ("/", "/signals?signal=T02", "/signals", "/graph"):
        window.go(page, path)
        for _ in range(3):
            dashboard.send(rows[sent : sent + 10])
            sent += 10
            until_drawn(page, sent - 1)
        moved = page.evaluate("() => window.shifts.splice(0)")
        assert sum(value for value, _ in moved) < 0.01, (path, moved)
    # It would have been noticed.
    page.evaluate("() => { document.querySelector('main').style.paddingTop = '200px'; }")
    page.wait_for_function("() => window.shifts.length > 0")


def until_drawn(page: Page, last: int) -> None:
    """Wait until the page has been told of a tick, and has been drawn after that."""
    page.wait_for_function(
        """async (t) => {
          const { live } = await import("/static/js/live.js");
          if (live.now.t < t) return false;
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          return frame().then(frame).then(() => true);
        }""",
        arg=START.timestamp() + last,
    )


def test_many_windows_at_once(story: Any, look: Callable[..., Any]) -> None:
    """A browser opens six connections to a server; windows that stream must leave some."""
    window = look(story)
    pages = [window.context.new_page() for _ in range(7)]
    for page in pages:
        page.goto("/", wait_until="commit")
    for page in pages:
        page.locator(READY[""]).wait_for()


def test_going_about_leaves_nothing_behind(story: Any, look: Callable[..., Any]) -> None:
    window = look(story)
    page = window.open("/")
    session = window.context.new_cdp_session(page)
    session.send("Performance.enable")

    def held() -> dict[str, float]:
        session.send("HeapProfiler.collectGarbage")
        found = session.send("Performance.getMetrics")["metrics"]
        return {one["name"]: one["value"] for one in found}

    def walk() -> None:
        for path in ("/graph", "/signals?signal=T02", "/history", f"/alarm/{story.on}"):
            window.go(page, path)
        window.go(page, "/")

    walk()
    before = held()
    for _ in range(2):
        walk()
    after = held()
    # Views that stayed behind would hold thousands of nodes.
    assert after["Nodes"] < before["Nodes"] + 400, (before["Nodes"], after["Nodes"])
    assert after["JSEventListeners"] < before["JSEventListeners"] + 100, (before, after)


def test_a_signal_that_falls_silent(dashboard: Dashboard, look: Callable[..., Any]) -> None:
    plant = a_plant()
    dashboard.send(plant.rows(120))
    page = look(dashboard).open("/")
    rows = plant.rows(120, seed=94)
    rows[:, 2] = np.nan
    dashboard.send(rows)
    card = page.locator("article.card[data-kind=health]")
    expect(card).to_contain_text("T03")
    expect(card).to_contain_text("Signal unwell")
    expect(page.locator("a.tile", has_text="T03")).to_have_attribute("data-state", "unwell")
    # There is no evidence whose limit could be widened.
    expect(card.get_by_role("button", name="Acknowledge")).to_be_visible()
    expect(card.get_by_role("button", name="This was normal")).to_have_count(0)


def test_another_recording_is_held_against_the_model(
    story: Any, look: Callable[..., Any], tmp_path: Path
) -> None:
    values = a_plant().rows(240, seed=97, attacked=1)
    times = [START + timedelta(seconds=k) for k in range(len(values))]
    table = {"time": [one.isoformat() for one in times]}
    table |= dict(zip(a_plant().names, values.T.tolist(), strict=True))
    file = tmp_path / "<b>what if<b>.csv"
    pl.DataFrame(table).write_csv(file)
    page = look(story).open("/model?tab=replay")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.locator("ul.replays li")).to_contain_text("done")
    expect(page).to_have_url(re.compile("replay="))
    result = page.locator("#tab-panel")
    expect(result).to_contain_text("T02 rose to")
    expect(result.locator("canvas").first).to_be_visible()
    # A file that is none is told as such.
    (tmp_path / "empty.csv").write_text("nothing\n", encoding="utf-8")
    page.locator("input[type=file]").set_input_files(tmp_path / "empty.csv")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.locator("ul.replays li", has_text="empty.csv")).to_contain_text("failed")
    expect(page.locator("ul.replays li", has_text="empty.csv").locator(".error")).not_to_be_empty()
    for name in ("what if", "empty.csv"):
        page.get_by_role("button", name=re.compile(f"Delete the replay of .*{name}")).click()
    expect(page.get_by_text("No recording has been replayed yet.")).to_be_visible()
