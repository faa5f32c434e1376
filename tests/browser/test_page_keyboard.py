"""Without a mouse: skip link, navigation, dialogs, tabs; and the themes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.xdist_group("browser")


def focused(page: Page) -> str:
    """Words of what has the focus."""
    words: str = page.evaluate(
        "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
    )
    return words.strip()


def tab_to(page: Page, words: str, most: int = 60) -> None:
    """Press Tab until something with these words has the focus."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        passed.append(focused(page)[:30])
        if words in focused(page):
            return
    pytest.fail(f"{words!r} is not reached by Tab: {passed}")


def test_skip_link_and_navigation_by_keys(story: Any, look: Callable[..., Any]) -> None:
    page = look(story).open("/")
    page.keyboard.press("Tab")
    skip = page.locator(".skip-link")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main#view")).to_be_focused()
    expect(page.locator(".verdict-words")).to_have_text("1 alarm is on")  # still the same view
    # What comes next is inside the content.
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
    # And the views are reached from the header.
    for name, path in (("Graph", "/graph"), ("Signals", "/signals"), ("History", "/history")):
        page.locator(".brand").focus()
        tab_to(page, name, 8)
        # Whoever cannot see where the focus is cannot use the keys.
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        shadow = page.evaluate("getComputedStyle(document.activeElement).boxShadow")
        assert outline != "none" or shadow != "none", f"the focus on {name} cannot be seen"
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"{path}$"))
        expect(page.locator("main#view")).to_be_focused()
        expect(page.locator("#announcer")).to_contain_text(name)
        expect(page.locator("nav a[aria-current=page]")).to_contain_text(name)


def test_a_dialog_keeps_the_focus_and_gives_it_back(story: Any, look: Callable[..., Any]) -> None:
    page = look(story).open("/")
    page.locator(f"article[data-alarm='{story.on}'] h3 a").focus()
    tab_to(page, "Comment …")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Comment on the alarm")
    expect(dialog).to_be_visible()
    expect(dialog.locator("textarea")).to_be_focused()
    for key in ["Tab"] * 9 + ["Shift+Tab"] * 9:
        page.keyboard.press(key)
        # The browser itself counts as the body here; nothing of the page behind may be reached.
        assert page.evaluate(
            "document.activeElement === document.body"
            " || Boolean(document.activeElement.closest('dialog'))"
        )
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert focused(page) == "Comment …"


def test_tabs_of_the_model_by_arrows(story: Any, look: Callable[..., Any]) -> None:
    page = look(story).open("/model")
    page.get_by_role("tab", name="Data quality").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Provenance")).to_be_focused()
    expect(page).to_have_url(re.compile("tab=provenance"))
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Audit")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Home")
    expect(page.get_by_role("tab", name="Data quality")).to_be_focused()


def test_the_graph_by_keys(story: Any, look: Callable[..., Any]) -> None:
    page = look(story).open("/graph")
    zoom = "document.querySelector('.graph-canvas')._cyreg.cy.zoom()"
    before = page.evaluate(zoom)
    page.locator(".graph-frame").focus()
    page.keyboard.press("+")
    page.wait_for_function(f"() => {zoom} > {before}")
    # Everything drawn is in the panel, too: a broken link is chosen there.
    page.locator(".graph-broken button").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("signal=T0"))
    expect(page.locator(".graph-panel")).to_contain_text("Broken")
    expect(page.locator(".graph-panel h2")).to_be_focused()


def test_themes(story: Any, look: Callable[..., Any]) -> None:
    window = look(story, color_scheme="light")
    page = window.open("/")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    button = page.get_by_role("button", name=re.compile("^Colours"))
    button.click()  # light
    assert page.evaluate(paper) == light
    button.click()  # dark
    dark = page.evaluate(paper)
    assert brightness(dark) < 0.3 < 0.7 < brightness(light)
    # It is remembered, and there from the first paint on.
    page.reload(wait_until="commit")
    page.wait_for_function(
        "() => document.documentElement.dataset.theme === 'dark' && document.body"
    )
    window.ready(page)
    assert page.evaluate(paper) == dark
    button.click()  # as the system says
    assert page.evaluate(paper) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) == dark


def brightness(colour: str) -> float:
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return (red + green + blue) / 3 / 255
