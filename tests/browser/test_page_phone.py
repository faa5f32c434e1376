"""On a phone: one column, nothing to scroll sideways, everything within reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onlooker import PHONE, views
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.xdist_group("browser")

TOO_WIDE = """() => {
  const width = innerWidth;
  const inside = (node) => {
    for (let up = node.parentElement; up; up = up.parentElement) {
      if (getComputedStyle(up).overflowX !== "visible") return true;
    }
    return false;
  };
  const right = (node) => Math.round(node.getBoundingClientRect().right);
  if (document.scrollingElement.scrollWidth <= width) return [];
  const wide = [...document.body.querySelectorAll("*")]
    .filter((node) => right(node) > width && !inside(node))
    .map((node) => `${node.tagName}.${node.className} ${right(node)}`);
  return [`${document.scrollingElement.scrollWidth} > ${width}`, ...wide.slice(0, 5)];
}"""


def too_wide(page: Page) -> list[str]:
    """What sticks out at the right, if the page can be scrolled sideways."""
    found: list[str] = page.evaluate(TOO_WIDE)
    return found


def test_no_view_is_scrolled_sideways(story: Any, look: Callable[..., Any]) -> None:
    window = look(story, viewport=PHONE, device_scale_factor=2, has_touch=True, is_mobile=True)
    page = window.open("/")
    wrong = {}
    for path in views(story.on):
        window.go(page, path)
        if found := too_wide(page):
            wrong[path] = found
    assert not wrong


def test_every_view_is_reached_by_touch(story: Any, look: Callable[..., Any]) -> None:
    window = look(story, viewport=PHONE, has_touch=True, is_mobile=True)
    page = window.open("/")
    nav = page.get_by_role("navigation", name="Views")
    for name in ("Graph", "Signals", "History", "Model", "Now"):
        link = nav.get_by_role("link", name=name)
        link.tap()
        expect(link).to_have_attribute("aria-current", "page")
        window.ready(page)
        box = link.bounding_box()
        assert box is not None
        assert box["height"] >= 24, f"{name} is too small to hit"
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]


def test_a_dialog_fits(story: Any, look: Callable[..., Any]) -> None:
    page = look(story, viewport=PHONE, has_touch=True, is_mobile=True).open("/")
    page.locator(f"article[data-alarm='{story.on}']").get_by_role("button", name="Shelve").tap()
    dialog = page.get_by_role("dialog")
    box = dialog.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    assert not too_wide(page)
    dialog.get_by_role("button", name="Cancel").tap()
    expect(dialog).to_have_count(0)
