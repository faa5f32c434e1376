"""Who may see the page, and who may do something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from onlooker import TABS
from playwright.sync_api import Error, expect

from causewatch.server import ServeSettings, make_token
from services.dashboard import Dashboard, a_plant

pytestmark = pytest.mark.xdist_group("browser")


class Guarded(Dashboard):
    """A watch for those with a token."""

    alarm: str
    looker: dict[str, str]
    operator: dict[str, str]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder: Path = tmp_path_factory.mktemp("guarded")
    file = folder / "tokens"
    tokens = {
        name: {"username": "", "password": make_token(file, name, role)}
        for name, role in (("visitor", "look"), ("control-room", "operate"))
    }
    settings = ServeSettings(port=0, tokens=file)
    with Guarded(a_plant(), folder, settings=settings) as shown:
        shown.looker, shown.operator = tokens["visitor"], tokens["control-room"]
        shown.send(a_plant().rows(200))
        shown.alarm = shown.raise_alarm(1)
        yield shown


def test_without_a_token_there_is_nothing(guarded: Guarded, look: Callable[..., Any]) -> None:
    window = look(guarded)
    window.expects("401")
    for path in ("/", "/graph", "/static/js/main.js", "/api/now", f"/alarm/{guarded.alarm}"):
        answer = window.context.request.get(path)
        assert answer.status == 401
        assert answer.headers["www-authenticate"].startswith("Basic")
        assert "T02" not in answer.text()
    assert window.context.request.get("/healthz").status == 200
    # The browser asks for it, and has nobody here to ask.
    with pytest.raises(Error, match="ERR_INVALID_AUTH_CREDENTIALS"):
        window.context.new_page().goto("/")


def test_a_wrong_token_is_refused(guarded: Guarded, look: Callable[..., Any]) -> None:
    window = look(guarded, http_credentials={"username": "", "password": "x" * 43})
    window.expects("401")
    answer = window.context.new_page().goto("/")
    assert answer is not None
    assert answer.status == 401


def test_those_who_look_see_no_actions(guarded: Guarded, look: Callable[..., Any]) -> None:
    window = look(guarded, http_credentials=guarded.looker)
    page = window.open("/")
    card = page.locator(f"article[data-alarm='{guarded.alarm}']")
    expect(card).to_contain_text("T02")
    expect(card.locator(".action-bar")).to_contain_text("You may look but not act")
    expect(card.locator("button")).to_have_count(0)
    window.go(page, f"/alarm/{guarded.alarm}")
    expect(page.locator(".action-bar")).to_contain_text("visitor")
    expect(page.locator(".action-bar button")).to_have_count(0)
    window.go(page, "/model?tab=audit")  # not for them: another tab is shown
    expect(page.get_by_role("tab", name="Audit")).to_have_count(0)
    expect(page.get_by_role("tab", selected=True)).to_have_text("Data quality")
    window.go(page, "/model?tab=replay")
    expect(page.locator("input[type=file]")).to_have_count(0)
    expect(page.locator("#tab-panel")).to_contain_text("those who may operate")


def test_operators_act_under_the_name_of_their_token(
    guarded: Guarded, look: Callable[..., Any]
) -> None:
    window = look(guarded, http_credentials=guarded.operator)
    page = window.open("/")
    card = page.locator(f"article[data-alarm='{guarded.alarm}']")
    card.get_by_role("button", name="Acknowledge").click()  # nobody asks for a name
    expect(card.locator(".card-head")).to_contain_text("Acknowledged by control-room")
    window.go(page, "/model?tab=audit")
    row = page.locator("#tab-panel tbody tr", has_text=guarded.alarm).first
    expect(row).to_contain_text("control-room")
    # Live events, reports and downloads go through with the same token.
    with page.expect_popup() as opened:
        page.evaluate(f"open('/api/alarms/{guarded.alarm}/report')")
    expect(opened.value.locator("h1").first).to_contain_text("T02")
    assert window.context.cookies() == []
    kept = page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    )
    assert guarded.operator["password"] not in kept


def test_every_tab_of_the_model_opens(story: Any, look: Callable[..., Any]) -> None:
    window = look(story)
    page = window.open("/model")
    for tab in TABS:
        page.locator(f"#tab-{tab}").click()
        expect(page.locator(f"#tab-{tab}")).to_have_attribute("aria-selected", "true")
        # What would be noticed is worked out by a process that gives way to all others.
        expect(page.locator("#tab-panel .loading")).to_have_count(0)
        expect(page.locator("#tab-panel .error:visible")).to_have_count(0)
        expect(page.locator("#tab-panel")).not_to_be_empty()
