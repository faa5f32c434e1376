"""On a phone: one column, nothing to scroll sideways, everything within reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onlooker import PHONE, views
from playwright.sync_api import Page, expect

from services.dashboard import Dashboard, a_plant

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


FITTED = """() => {
  const cy = document.querySelector(".graph-canvas")._cyreg.cy;
  const box = cy.elements().renderedBoundingBox();
  const letters = 12.5 * cy.zoom();
  return [box.x1, box.y1, cy.width() - box.x2, cy.height() - box.y2, letters];
}"""


@pytest.mark.parametrize("signals", [6, 60])
def test_the_graph_opens_fitted(
    serve: Callable[..., Dashboard], look: Callable[..., Any], signals: int
) -> None:
    plant = a_plant(signals, links=signals)
    shown = serve(plant)
    shown.send(plant.rows(200))
    shown.raise_alarm(1)
    page = look(shown, viewport=PHONE, has_touch=True, is_mobile=True).open("/graph")
    page.wait_for_function("() => document.querySelector('.graph-canvas')?._cyreg?.cy.zoom()")
    left, top, right, bottom, letters = page.evaluate(FITTED)
    assert min(left, top, right, bottom) >= 0  # all of it is seen
    assert letters >= 7.5, "too small to be read"


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
