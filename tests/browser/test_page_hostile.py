"""Names and comments that would be code if anything took them for more than text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from onlooker import PHONE, TABS
from playwright.sync_api import Page, expect

from services.dashboard import Dashboard, Plant

pytestmark = pytest.mark.xdist_group("browser")

IMG = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(1)</script>'
NAMES = ("T01", IMG, SCRIPT, "javascript:alert(1)", "=HYPERLINK('x')", 'a&amp;b\\"%00{{7*7}}')
BY = "<b onmouseover=alert(2)>Eve</b>"
TURNED = "\u202eevE\u202d\u2066"
"""Signs that turn the direction of writing."""
COMMENT = "</textarea></script><svg onload=alert(3)>\n=cmd|' /C calc'!A0"

# Elements that only a name or a comment taken for markup could have made.
CREATED = """() => {
  const made = document.querySelectorAll(
    "img, script:not([src^='/static/']), iframe, object, embed, b,"
    + "[onerror], [onload], [onmouseover]");
  const links = [...document.querySelectorAll("[href], [src]")]
    .map((node) => String(node.getAttribute("href") ?? node.getAttribute("src")))
    .filter((to) => /^\\s*javascript:/i.test(to));
  return [...[...made].map((node) => node.outerHTML.slice(0, 100)), ...links];
}"""


class Hostile(Dashboard):
    """An alarm about a signal with a hostile name, and a hostile comment on it."""

    alarm: str


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    plant = Plant(NAMES)
    with Hostile(plant, tmp_path_factory.mktemp("hostile"), keep=True) as shown:
        shown.send(plant.rows(200))
        shown.alarm = shown.raise_alarm(1)
        with shown.client() as client:
            for action, body in (
                ("comment", {"by": BY, "text": COMMENT}),
                ("ack", {"by": BY, "text": SCRIPT}),
            ):
                answer = client.post(f"/api/alarms/{shown.alarm}/{action}", json=body)
                assert answer.status_code == 200, answer.text
        yield shown


def addresses(alarm: str) -> tuple[str, ...]:
    quoted = [str(httpx.QueryParams({"signal": name})) for name in (IMG, SCRIPT)]
    return (
        "/",
        "/graph",
        f"/graph?alarm={alarm}",
        f"/graph?{quoted[0]}&hops=1",
        "/signals",
        f"/signals?{quoted[0]}&{quoted[1]}",
        f"/signals?alarm={alarm}&{quoted[0]}",
        "/history",
        f"/history?{quoted[0]}",
        f"/alarm/{alarm}",
        *(f"/model?tab={tab}" for tab in TABS),
    )


def created(page: Page) -> list[str]:
    found: list[str] = page.evaluate(CREATED)
    return found


def test_names_and_comments_stay_text_on_every_view(
    hostile: Hostile, look: Callable[..., Any]
) -> None:
    window = look(hostile)
    page = window.open("/")
    for path in addresses(hostile.alarm):
        window.go(page, path)
        assert created(page) == [], path
        if "tab=" not in path or "mechanisms" in path:
            text = page.locator("main").evaluate("node => node.textContent")
            assert IMG in text, f"{path} does not show the name as it is"
    # Pointing at things writes titles and tooltips.
    window.go(page, "/")
    page.locator("a.tile").nth(1).hover()
    expect(page.locator("a.tile").nth(1)).to_have_attribute("title", re.compile(re.escape(IMG)))
    card = page.locator("article.card")
    expect(card.locator(".comments")).to_contain_text("<svg onload=alert(3)>")
    expect(card.locator(".comments")).to_contain_text(BY)
    assert created(page) == []


def test_nobody_turns_the_sentences_of_others(hostile: Hostile, look: Callable[..., Any]) -> None:
    with httpx.Client(base_url=hostile.url, timeout=20) as client:
        body = {"by": TURNED, "text": f"{TURNED} was here"}
        answer = client.post(f"/api/alarms/{hostile.alarm}/comment", json=body)
        assert answer.status_code == 200, answer.text
    page = look(hostile).open(f"/alarm/{hostile.alarm}")
    line = page.locator(".event-log .comment").filter(has_text="was here")
    expect(line).to_have_count(1)
    # Where it stands, "said" follows it, to the right.
    name, said = line.locator("bdi"), line.locator(".what")
    edge = name.evaluate("node => node.getBoundingClientRect().right")
    after = said.evaluate(
        """(node) => {
          const range = document.createRange();
          range.selectNodeContents(node.lastChild);
          return range.getBoundingClientRect();
        }"""
    )
    assert after["left"] >= edge - 1
    assert said.evaluate("node => node.lastChild.textContent") == " said"
    for path in ("/", "/history"):
        page.goto(path)
        page.locator("main").wait_for()
        assert created(page) == []


def test_hostile_words_in_the_address(hostile: Hostile, look: Callable[..., Any]) -> None:
    window = look(hostile)
    window.expects("status of 4")  # an alarm or signal that does not exist is asked for
    page = window.context.new_page()
    evil = str(httpx.QueryParams({"x": "<img src=y onerror=alert(4)>"}))[2:]
    for path in (
        f"/graph?signal={evil}&stage={evil}",
        f"/signals?signal={evil}",
        f"/signals?alarm={evil}",
        f"/history?text={evil}&signal={evil}&kind={evil}",
        f"/alarm/{evil}",
        f"/model?tab={evil}",
    ):
        window.open(path, page)
        assert created(page) == [], path


def test_a_hostile_comment_can_be_written(hostile: Hostile, look: Callable[..., Any]) -> None:
    page = look(hostile, viewport=PHONE).open(f"/alarm/{hostile.alarm}")
    page.locator(".action-bar").get_by_role("button", name="Comment").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("textarea").fill(IMG)
    dialog.locator("[name=by]").fill(BY)
    dialog.get_by_role("button", name="Add comment").click()
    expect(page.locator(".event-log .comment").filter(has_text=IMG)).to_have_count(1)
    assert created(page) == []


def test_the_report_holds_text(hostile: Hostile, look: Callable[..., Any]) -> None:
    window = look(hostile)
    page = window.context.new_page()
    page.goto(f"/api/alarms/{hostile.alarm}/report")
    expect(page.locator("h1").first).to_contain_text(IMG)
    # Its pictures may be drawings within the page; none may come from a name.
    assert page.locator("img:not([src^='data:']), script, iframe, b[onmouseover]").count() == 0
    assert page.locator("[onerror], [onload], [onmouseover]").count() == 0


def test_files_hold_text(hostile: Hostile) -> None:
    with hostile.client() as client:
        graph = client.get("/api/graph.json").json()
        assert IMG in json.dumps(graph, ensure_ascii=False)
        for kind in ("json", "gml", "dot"):
            answer = client.get(f"/api/graph.{kind}")
            assert "attachment" in answer.headers["content-disposition"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert not answer.headers["content-type"].startswith("text/html")
        import networkx as nx

        again = nx.parse_gml(client.get("/api/graph.gml").text, label="label")
        assert set(NAMES) <= {str(node) for node in again.nodes}, sorted(again.nodes)
        dot = client.get("/api/graph.dot").text
        assert '\\"><script>' in dot  # a quote within a name is escaped
        rows = list(csv.DictReader(io.StringIO(client.get("/api/alarms.csv").text)))
        assert any(IMG in row["headline"] for row in rows)
        # A spreadsheet takes what begins so for a formula.
        for row in rows:
            for cell in row.values():
                assert not str(cell).startswith(("=", "+", "@", "\t", "\r")), cell
