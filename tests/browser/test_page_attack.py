"""An attack, as an operator sees it: Now, then the graph, then the signals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from onlooker import drawn, edges
from playwright.sync_api import expect

from services.dashboard import Dashboard, a_plant

pytestmark = pytest.mark.xdist_group("browser")


def test_an_attack_is_seen_where_it_starts(dashboard: Dashboard, look: Callable[..., Any]) -> None:
    plant = a_plant()
    dashboard.send(plant.rows(200))
    window = look(dashboard)
    page = window.open("/")
    verdict = page.locator(".verdict-words")
    expect(verdict).to_have_text("Healthy")
    expect(page.locator("article.card")).to_have_count(0)
    expect(page.get_by_text("No alarm is on.", exact=True)).to_be_visible()
    graph = window.open("/graph")
    expect(graph.get_by_text("No link is broken.", exact=True)).to_be_visible()
    graph.wait_for_function(
        "() => document.querySelector('.graph-canvas')._cyreg.cy.nodes('.signal').length === 6"
    )
    assert not [edge for edge in edges(graph) if "broken" in edge["classes"]]

    id = dashboard.raise_alarm(1)
    alarm = dashboard.watch.store.alarm(id)
    assert alarm is not None
    assert alarm["causes"][0]["signal"] == "T02"

    # Now says so by itself.
    expect(verdict).to_have_text("1 alarm is on")
    card = page.locator(f"article[data-alarm='{id}']")
    expect(card.locator("h3")).to_contain_text("T02")
    expect(card.locator(".causes li").first).to_contain_text("T02")
    expect(page.locator(".verdict-start")).to_contain_text("T02")
    expect(page).to_have_title(re.compile("▲ 1"))
    expect(page.locator("#announcer")).to_contain_text("T02")
    tile = page.locator("a.tile", has_text="T02")
    expect(tile).to_have_attribute("data-state", "above")
    expect(card.locator(".broken li").first).to_contain_text("→")

    # The graph that was open all the time draws the broken link, in red and with its figures.
    link = next(one for one in alarm["broken_links"] if one["source"] != one["target"])
    row = graph.locator(".graph-broken tbody tr", has_text=f"{link['source']} → {link['target']}")
    expect(row).to_contain_text(f"{link['lag']} s")
    change = f"{link['normal']:.2f} → {link['observed']:.2f}".replace("-", "−")
    expect(row).to_contain_text(change)
    expect(graph.locator(".graph-status")).to_contain_text("broken")
    broken = [edge for edge in edges(graph) if "broken" in edge["classes"]]
    labels = {edge["label"] for edge in broken}
    assert len(broken) == len({(one["source"], one["target"]) for one in alarm["broken_links"]})
    assert any(change in label for label in labels)
    assert all(re.search(r"^\d+ s\b", label) for label in labels)
    healthy = {edge["colour"] for edge in edges(graph) if "broken" not in edge["classes"]}
    assert not healthy & {edge["colour"] for edge in broken}
    assert drawn(graph, ".graph-canvas", "--bad") > 50

    # From the card to the course of the signal.
    page.bring_to_front()
    card.get_by_role("link", name="See the signals").click()
    page.wait_for_url("**/signals?alarm=*")
    chart = page.locator("article.signal-card").filter(has=page.get_by_role("heading", name="T02"))
    expect(chart.locator("canvas")).to_be_visible()
    expect(page.locator("h1")).to_contain_text("T02")
    chart.get_by_role("button", name="Table of T02").click()
    last = chart.locator(".chart-table tbody tr").first
    expect(last.locator("td").first).not_to_be_empty()
    assert drawn(page, "article.signal-card") > 500


def test_charts_follow_the_plant(dashboard: Dashboard, look: Callable[..., Any]) -> None:
    plant = a_plant()
    dashboard.send(plant.rows(60))
    page = look(dashboard).open("/signals?signal=T02")
    page.get_by_role("button", name="Table of T02").click()
    last = page.locator(".chart-table tbody tr").first.locator("th")
    expect(last).to_contain_text("08:00:5")
    rows = plant.rows(40, seed=91)
    dashboard.send(rows)
    expect(last).to_contain_text("08:01:3")
    # What stands there is what was sent.
    shown = page.locator(".chart-table tbody tr").first.locator("td").first
    expect(shown).to_contain_text(f"{abs(rows[-1, 1]):.2f}")
