"""Somebody who looks at the dashboard with a real browser, and notices everything that is wrong."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, expect

from causewatch.testing.waiting import PATIENCE

__all__ = ["PHONE", "READY", "TABS", "Onlooker", "drawn", "edges", "views"]

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 800}
TABS = ("quality", "provenance", "limits", "mechanisms", "replay", "api", "audit")

# Seen by the browser, but not an error of the page's own script: told through the console.
WATCH_POLICY = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.effectiveDirective} refused ${event.blockedURI} ${event.sample}`);
});
"""

READY = {
    "": ".verdict-words:not(:empty)",
    "graph": ".graph-status:not(:empty)",
    "signals": ".signals-found:not(:empty), .signal-card, main p.error:not(:empty), .empty",
    "history": ".history tbody tr, .history .view-message p:not(:text('Loading'))",
    "alarm": "#events-title, .alarm-page h1:text('Unknown')",
    "model": "#tab-panel > :not(.loading)",
}
"""What a view holds once it has something to say, by the first part of its address."""


SETTLED = """() => [...document.querySelectorAll("main .loading, main p, main h1")]
  .every((node) => !node.checkVisibility() || !/^Loading/.test(node.textContent))"""


def views(alarm: str) -> tuple[str, ...]:
    """Addresses of everything there is to see, of a plant with the signals T01 and T02."""
    return (
        "/",
        "/graph",
        f"/graph?alarm={alarm}",
        "/graph?signal=T02&hops=1",
        "/signals",
        "/signals?signal=T01&signal=T02",
        f"/signals?alarm={alarm}",
        "/history",
        f"/alarm/{alarm}",
        *(f"/model?tab={tab}" for tab in TABS),
    )


class Onlooker:
    """A browser window of its own: nothing is remembered from others.

    Parameters
    ----------
    browser
        Which one.
    url
        Of the dashboard; nothing else may be asked for anything.
    options
        Of the window, as Playwright's `new_context` takes them.

    Attributes
    ----------
    wrong
        What was noticed: errors in the console, errors of scripts, refusals by the policy, dialogs
        of scripts, and requests to other servers.
    """

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self.wrong: list[str] = []
        self._expected: list[re.Pattern[str]] = []
        options = {"viewport": DESK, "locale": "en-GB", "reduced_motion": "reduce"} | options
        self.context: BrowserContext = browser.new_context(base_url=url, **options)
        self.context.set_default_timeout(1000 * PATIENCE)
        self.context.add_init_script(WATCH_POLICY)
        self.context.on("console", self._console)
        self.context.on("weberror", lambda error: self._note(f"script: {error.error}"))
        self.context.on("request", self._request)
        # Without a listener of ours dialogs would be dismissed unseen.
        self.context.on("dialog", self._dialog)
        expect.set_options(timeout=1000 * PATIENCE)

    def expects(self, *patterns: str) -> None:
        """Things that would be wrong elsewhere belong to what is tested."""
        self._expected += [re.compile(pattern) for pattern in patterns]

    def open(self, path: str = "/", page: Page | None = None) -> Page:
        """Load a view, and wait until it has something to say."""
        page = page or self.context.new_page()
        page.goto(path)
        self.ready(page)
        return page

    def go(self, page: Page, path: str) -> None:
        """Change to another view, as the buttons back and forward do: without loading anything."""
        there = urlsplit(page.url)
        if path == there._replace(scheme="", netloc="", fragment="").geturl():
            self.ready(page)
            return
        page.evaluate(
            """(path) => {
              for (const old of document.querySelector("main").children) old.dataset.old = "";
              history.pushState(null, "", path);
              dispatchEvent(new PopStateEvent("popstate"));
            }""",
            path,
        )
        page.wait_for_function("() => !document.querySelector('main > [data-old]')")
        self.ready(page)

    def ready(self, page: Page) -> None:
        """Wait until the view in the address has something to say."""
        view = urlsplit(page.url).path.split("/")[1]
        page.locator(READY[view]).filter(visible=True).first.wait_for()
        page.wait_for_function(SETTLED)

    def close(self) -> None:
        """Leave; fails if anything was wrong."""
        self.context.close()
        wrong = [
            one for one in self.wrong if not any(known.search(one) for known in self._expected)
        ]
        assert not wrong, "\n".join(wrong)

    def _note(self, sentence: str) -> None:
        self.wrong.append(sentence)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning", "assert"):
            place = message.location.get("url", "") if message.location else ""
            self._note(f"console: {message.text} ({place})")

    def _request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and not request.url.startswith(self.url):
            self._note(f"elsewhere: {request.url}")

    def _dialog(self, dialog: Any) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()


def edges(page: Page) -> list[dict[str, Any]]:
    """Arrows of the graph as they are drawn: ends, label, classes and colour."""
    found: list[dict[str, Any]] = page.evaluate(
        """() => {
          const cy = document.querySelector(".graph-canvas")._cyreg.cy;
          const name = (node) => node.data("label");
          return cy.edges().map((edge) => ({
            source: name(edge.source()), target: name(edge.target()), label: edge.data("label"),
            classes: edge.classes(), colour: edge.style("line-color"),
          }));
        }"""
    )
    return found


def drawn(page: Page, inside: str, colour: str | None = None) -> int:
    """How many pixels on the canvases within an element are painted (in about this colour)."""
    count: int = page.evaluate(
        """([inside, name]) => {
          let wanted = null;
          if (name) {
            const probe = document.createElement("i");
            probe.style.color = `var(${name})`;
            document.body.append(probe);
            wanted = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number);
            probe.remove();
          }
          let count = 0;
          for (const canvas of document.querySelectorAll(`${inside} canvas`)) {
            if (!canvas.width || !canvas.height) continue;
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            for (let k = 0; k < data.length; k += 4) {
              if (data[k + 3] < 200) continue;
              const near = (c) => Math.abs(data[k + c] - wanted[c]) < 12;
              if (!wanted || [0, 1, 2].every(near)) count += 1;
            }
          }
          return count;
        }""",
        [inside, colour],
    )
    return count
