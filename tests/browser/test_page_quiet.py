"""No rows come: after a restart, after the end, and where the stream has fallen silent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from causewatch.testing import until
from services.dashboard import Dashboard, a_plant

pytestmark = pytest.mark.xdist_group("browser")

LAST = "2 Mar 2026, 08:0"
DETAIL = re.compile(r"No rows have come from .*\.$")


def test_after_a_restart_the_last_tick_is_that_of_the_run_before(
    dashboard: Dashboard, look: Callable[..., Any]
) -> None:
    plant = a_plant()
    dashboard.send(plant.rows(200))
    dashboard.raise_alarm(0)
    dashboard.send(plant.rows(120, seed=200))
    assert until(lambda: all(one["cleared_at"] for one in dashboard.watch.store.alarms()))
    dashboard.restart()
    window = look(dashboard, timezone_id="UTC")
    page = window.open("/")
    words, more = page.locator(".verdict-words"), page.locator(".verdict-more")
    expect(words).to_have_text("Waiting for rows")
    expect(more).to_contain_text("No rows since this watch was started; the last tick is of")
    expect(more).to_contain_text(LAST)
    expect(page.locator(".recent")).to_contain_text("ended within the last day")
    expect(page.locator(".recent li")).to_contain_text("T01")
    expect(page.locator(".now-chart")).to_contain_text("No ticks since this watch was started.")
    summary = page.locator(".tiles-summary")
    expect(summary).to_have_text("No signal has been judged since this watch was started.")

    dashboard.source.finish()
    expect(words).to_have_text("The recording has ended")
    expect(more).to_contain_text(f"Its last tick is of {LAST}")
    window.expects("ERR_CONNECTION")  # the page may ask while there is no server
    dashboard.restart()
    page = window.open("/")
    expect(page.locator(".verdict-words")).to_have_text("The recording has ended")
    expect(page.locator(".verdict-more")).to_contain_text("no alarm was on then")


def test_alarms_that_an_earlier_run_left_on(dashboard: Dashboard, look: Callable[..., Any]) -> None:
    dashboard.send(a_plant().rows(200))
    id = dashboard.raise_alarm(1)
    dashboard.source.finish()
    dashboard.restart()
    page = look(dashboard, timezone_id="UTC").open("/")
    more = page.locator(".verdict-more")
    expect(more).to_contain_text(f"The recording has ended; its last tick is of {LAST}")
    card = page.locator(f"article[data-alarm='{id}']")
    expect(card.locator(".card-since")).to_have_text(re.compile(r"since 08:.* · .*\d s$"))
    card.get_by_role("button", name="Shelve").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("[name=by]").fill("Ada")
    dialog.get_by_role("button", name="Shelve", exact=True).click()
    expect(page.locator(".verdict-words")).to_have_text("The recording has ended")
    expect(more).to_contain_text(re.compile(r"Its last tick is of .* shelved\.$"))


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A plant whose stream has fallen silent; not to be changed by tests."""
    plant = a_plant()
    with Dashboard(plant, tmp_path_factory.mktemp("silent"), silent_after=1.0) as shown:
        shown.send(plant.rows(100))
        assert until(lambda: bool(shown.watch.store.alarms()))
        (alarm,) = shown.watch.store.alarms()
        assert alarm["problem"] == "silent"
        shown.alarm = alarm["id"]  # type: ignore[attr-defined]
        yield shown


def no_way_to_signals(page: Page) -> None:
    """The stream is no signal: it has no chart, no place in the graph, and no name of its own."""
    main = page.locator("main")
    for part in ("/signals?", "/graph?", "/report"):
        expect(main.locator(f"a[href*='alarm'][href*='{part}']:visible")).to_have_count(0)
    expect(main).not_to_contain_text("(stream)")


def test_silence_on_now(silent: Any, look: Callable[..., Any]) -> None:
    page = look(silent).open("/")
    card = page.locator(f"article[data-alarm='{silent.alarm}']")
    expect(card).to_contain_text("Stream unwell: no rows")
    expect(card.locator(".card-detail")).to_have_text(DETAIL)
    expect(card.locator(".card-since")).to_have_text(re.compile(r"^since [\d:]+$"))
    expect(card.get_by_role("link", name="Everything about it")).to_be_visible()
    no_way_to_signals(page)
    expect(page.locator(".verdict-more")).to_have_text(DETAIL)
    expect(page.locator(".verdict-label")).to_have_text("Last score")


def test_silence_in_the_history(silent: Any, look: Callable[..., Any]) -> None:
    window = look(silent)
    page = window.open("/history")
    row = page.locator("table.alarms tbody tr")
    expect(row).to_contain_text("Stream health")
    expect(row.locator(".cell-lasted")).to_have_text("–")
    page.locator("a.alarm-bar").hover()
    expect(page.locator(".timeline-note")).to_have_text(
        re.compile(r"^Stream health, .*: No rows have come .*\. State: on\.$")
    )
    window.go(page, f"/alarm/{silent.alarm}")
    expect(page.locator(".standing")).to_have_text(DETAIL)
    expect(page.locator(".fact-list")).not_to_contain_text("on for")
    expect(page.get_by_role("button", name="Copy address")).to_be_visible()
    no_way_to_signals(page)


def test_silence_on_the_shelf_is_not_called_healthy(
    tmp_path: Path, look: Callable[..., Any]
) -> None:
    with Dashboard(a_plant(), tmp_path, silent_after=1.0) as shown:
        shown.send(a_plant().rows(100))
        page = look(shown).open("/")
        page.get_by_role("button", name="Shelve").click()
        dialog = page.get_by_role("dialog")
        dialog.locator("[name=by]").fill("Ada")
        dialog.get_by_role("button", name="Shelve", exact=True).click()
        expect(page.locator(".verdict-words")).to_have_text("No rows come")
        expect(page.locator(".verdict-more")).to_contain_text("1 alarm shelved.")


def test_ticks_that_are_not_kept_have_no_report(story: Any, look: Callable[..., Any]) -> None:
    window = look(story)
    page = window.context.new_page()

    def without(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(json={**answer.json(), "explanation": None, "course": False})

    page.route(re.compile(r"/api/alarms/\w+$"), without)
    window.open(f"/alarm/{story.over}", page)
    expect(page.get_by_role("link", name="In the graph")).to_be_visible()
    expect(page.get_by_role("link", name="Full report")).to_be_hidden()


def test_a_peak_is_the_same_everywhere(dashboard: Dashboard, look: Callable[..., Any]) -> None:
    """It goes on while nothing happens to the alarm that would be written down."""
    plant = a_plant()
    dashboard.send(plant.rows(200))
    rows = plant.rows(240, 91, 1)
    rows[150:, 1] += 20.0
    rows[152:, 1] += 12.0  # worse, but not by so much that it is told
    dashboard.send(rows[:150])
    window = look(dashboard)
    history = window.open("/history")
    peak = history.locator("table.alarms tbody tr.anomaly .cell-peak")
    expect(peak).not_to_be_empty()
    id = next(one["id"] for one in dashboard.watch.store.alarms() if one["kind"] == "anomaly")
    now, alarm = window.open("/"), window.open(f"/alarm/{id}")
    dashboard.send(rows[150:153])
    (live,) = (one for one in dashboard.watch.status().alarms if one["id"] == id)
    told = dashboard.watch.store.alarm(id)
    assert told is not None
    assert live["peak_score"] > told["peak_score"]
    shown = f"{live['peak_score']:.3g}"
    expect(now.locator(f"article[data-alarm='{id}']")).to_contain_text(f"Peak {shown}")
    expect(peak).to_have_text(shown)
    expect(alarm.locator(".fact-list div", has_text="peak score")).to_contain_text(shown)
