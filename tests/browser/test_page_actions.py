"""What operators do about an alarm, seen by two of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onlooker import Onlooker
from playwright.sync_api import Locator, Page, expect

from causewatch.testing import until
from services.dashboard import Dashboard, a_plant

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def alarm(dashboard: Dashboard) -> str:
    dashboard.send(a_plant().rows(200))
    return dashboard.raise_alarm(1)


def card(page: Page, id: str) -> Locator:
    return page.locator(f"article[data-alarm='{id}']")


def events(dashboard: Dashboard, id: str, kind: str) -> list[dict[str, Any]]:
    return [one for one in dashboard.watch.store.events(id) if one["event"] == kind]


def kept(dashboard: Dashboard, id: str) -> dict[str, Any]:
    found = dashboard.watch.store.alarm(id)
    assert found is not None
    return dict(found)


def act(page: Page, place: Locator, button: str, verb: str, **fields: str) -> None:
    """Press a button, fill its dialog in and go ahead."""
    page.bring_to_front()  # those behind are drawn once a second
    place.get_by_role("button", name=button).click()
    dialog = page.get_by_role("dialog")
    for name, value in fields.items():
        field = dialog.locator(f"[name='{name}']")
        if name == "seconds":
            field.select_option(value)
        else:
            field.fill(value)
    dialog.get_by_role("button", name=verb, exact=True).click()
    expect(dialog).to_have_count(0)


def test_two_acknowledge_at_once(
    dashboard: Dashboard, alarm: str, look: Callable[..., Any]
) -> None:
    pages: list[Page] = []
    windows: list[Onlooker] = []
    for name in ("Ada", "Bob"):
        window = look(dashboard)
        window.expects("409")  # the one who comes second may be told so
        page = window.open("/")
        card(page, alarm).get_by_role("button", name="Acknowledge").click()
        page.get_by_role("dialog").locator("[name='by']").fill(name)
        windows.append(window)
        pages.append(page)
    # Both requests leave before either answer is looked at.
    for page in pages:
        page.get_by_role("dialog").locator("form").evaluate("form => form.requestSubmit()")
    assert until(lambda: kept(dashboard, alarm)["acknowledged_by"] is not None)
    who = kept(dashboard, alarm)["acknowledged_by"]
    assert who in ("Ada", "Bob")
    for page in pages:
        expect(card(page, alarm).locator(".card-head")).to_contain_text(f"Acknowledged by {who}")
        expect(card(page, alarm).get_by_role("button", name="Acknowledge")).to_have_count(0)
    assert len(events(dashboard, alarm, "acknowledged")) == 1
    assert kept(dashboard, alarm)["acknowledged_by"] == who
    # Whoever was second reads why, and can go on.
    second = pages[1] if who == "Ada" else pages[0]
    dialog = second.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("acknowledged")
    second.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_an_alarm_is_shelved_and_taken_off(
    dashboard: Dashboard, alarm: str, look: Callable[..., Any]
) -> None:
    window = look(dashboard)
    first, second = window.open("/"), window.open("/")
    act(first, card(first, alarm), "Shelve", "Shelve", by="Ada", text="being mended", seconds="900")
    for page in (first, second):
        expect(page.locator(".shelf summary")).to_have_text("Shelved (1)")
        expect(page.locator("details.shelf")).to_be_visible()
        expect(page.get_by_text("None but what is shelved.")).to_be_visible()
        expect(page).not_to_have_title("▲")
    second.bring_to_front()
    second.locator(".shelf summary").click()
    expect(card(second, alarm)).to_contain_text("being mended")
    # The name is known to this browser by now, also after loading anew: no question any more.
    second.reload()
    look_again = second.locator("header .who-button")
    expect(look_again).to_have_attribute("aria-label", "You act as Ada: change")
    second.locator(".shelf summary").click()
    card(second, alarm).get_by_role("button", name="Take off the shelf").click()
    for page in (first, second):
        expect(page.locator("details.shelf")).to_be_hidden()
        expect(card(page, alarm).get_by_role("button", name="Shelve")).to_be_visible()
    assert kept(dashboard, alarm)["shelved_until"] is None


def test_a_comment_reaches_everybody(
    dashboard: Dashboard, alarm: str, look: Callable[..., Any]
) -> None:
    window = look(dashboard)
    now, page = window.open("/"), window.open(f"/alarm/{alarm}")
    act(now, card(now, alarm), "Comment", "Add comment", by="Ada", text="valve V2\nwas stuck")
    expect(card(now, alarm).locator(".comments")).to_contain_text("was stuck")
    log = page.locator(".event-log .comment")
    expect(log).to_have_count(1)
    expect(log).to_contain_text("Ada said")
    expect(log).to_contain_text("was stuck")
    # An empty one is refused on the spot.
    card(now, alarm).get_by_role("button", name="Comment").click()
    dialog = now.get_by_role("dialog")
    dialog.locator("textarea").fill("   ")
    dialog.get_by_role("button", name="Add comment").click()
    expect(dialog.get_by_role("alert")).to_contain_text("empty")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert len(kept(dashboard, alarm)["comments"]) == 1


def test_this_was_normal_and_undo(
    dashboard: Dashboard, alarm: str, look: Callable[..., Any]
) -> None:
    window = look(dashboard)
    now, page = window.open("/"), window.open(f"/alarm/{alarm}")
    act(now, card(now, alarm), "This was normal", "Widen the limits", by="Ada", text="a new recipe")
    expect(card(now, alarm)).to_have_count(0)
    expect(page.locator(".alarm-head .tags")).to_contain_text("said to be normal")
    expect(page.locator(".alarm-head .tags")).to_contain_text("cleared")
    expect(now.locator(".recent")).to_contain_text("T02")
    assert kept(dashboard, alarm)["normal"] is True
    page.bring_to_front()
    page.locator(".action-bar").get_by_role("button", name="Was not normal after all").click()
    expect(page.locator(".alarm-head .tags")).not_to_contain_text("normal")
    expect(
        page.locator(".action-bar").get_by_role("button", name="This was normal")
    ).to_be_visible()
    assert until(lambda: kept(dashboard, alarm)["normal"] is False)
