"""No view keeps anybody out: axe-core, light and dark, while an alarm is on."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from onlooker import PHONE, Onlooker, views
from playwright.sync_api import Page

pytestmark = pytest.mark.xdist_group("browser")

SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def axe() -> str:
    package = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    return str((files(package) / "axe.min.js").read_text(encoding="utf-8"))


def violations(page: Page, rules: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with a page that holds axe-core, by all rules or only these."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    found: list[dict[str, Any]] = page.evaluate(
        "async (options) => (await axe.run(options)).violations", options
    )
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]} ({len(one['nodes'])} times;"
        f" {one['nodes'][0]['failureSummary'].splitlines()[-1].strip()})"
        for one in found
        if one["impact"] in SERIOUS
    ]


def inspect(page: Page) -> dict[str, list[str]]:
    """What is wrong in light and in dark; only the colours change between the two."""
    page.emulate_media(color_scheme="light")
    wrong = {"light": violations(page)}
    page.emulate_media(color_scheme="dark")
    wrong["dark"] = violations(page, ("color-contrast", "link-in-text-block"))
    return {scheme: found for scheme, found in wrong.items() if found}


def inspect_all(window: Onlooker, paths: tuple[str, ...], axe: str) -> dict[str, Any]:
    """What is wrong, by address."""
    window.context.add_init_script(axe)
    page = window.open("/")
    wrong = {}
    for path in paths:
        window.go(page, path)
        if found := inspect(page):
            wrong[path] = found
    return wrong


def test_every_view(story: Any, look: Callable[..., Any], axe: str) -> None:
    # The policy of the page would refuse axe-core, which is no part of it.
    assert not inspect_all(look(story, bypass_csp=True), views(story.on), axe)


def test_on_a_phone(story: Any, look: Callable[..., Any], axe: str) -> None:
    window = look(story, bypass_csp=True, viewport=PHONE, has_touch=True, is_mobile=True)
    paths = ("/", "/graph", f"/alarm/{story.on}")
    assert not inspect_all(window, paths, axe)


def test_a_dialog(story: Any, look: Callable[..., Any], axe: str) -> None:
    window = look(story, bypass_csp=True)
    window.context.add_init_script(axe)
    page = window.open("/")
    wrong = {}
    for button in ("Shelve", "Comment", "This was normal"):
        page.locator("article.card").get_by_role("button", name=button).click()
        page.get_by_role("dialog").wait_for()
        if found := inspect(page):
            wrong[button] = found
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
    assert not wrong
