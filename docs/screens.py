"""Takes the pictures of the dashboard for the documentation, from the demo in a real browser.

Run by ``make docs``; needs chromium. About five minutes: the afternoon is played at its own pace.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).parent / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SPEED = "60"
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


def wait_for_alarm(url: str, signal_: str, seconds: float = 400) -> dict[str, Any]:
    """The alarm that names this signal first, once it has been on for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with urllib.request.urlopen(f"{url}api/now") as answer:
            now = json.load(answer)
        for alarm in now["alarms"]:
            causes = [one["signal"] for one in alarm["causes"][:1]]
            if alarm["kind"] == "anomaly" and signal_ in causes and alarm["broken_links"]:
                return dict(alarm)
        time.sleep(0.2)
    msg = f"no alarm named {signal_}"
    raise TimeoutError(msg)


def shoot(page: Page, url: str, path: str, name: str, seconds: float = 1.5) -> None:
    """One picture."""
    page.goto(f"{url}{path}")
    page.wait_for_timeout(1000 * seconds)
    page.screenshot(path=HERE / f"dashboard-{name}.png")
    print(f"dashboard-{name}.png")


def a_page(browser: Browser, size: dict[str, int], scheme: str = "light") -> Page:
    """A page of a size and a theme."""
    return browser.new_context(viewport=size, color_scheme=scheme).new_page()  # type: ignore[arg-type]


def take(url: str) -> None:
    """All pictures, while the attacks play."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        wide, dark, phone = (
            a_page(browser, WIDE), a_page(browser, WIDE, "dark"), a_page(browser, PHONE),
        )  # fmt: skip
        alarm = wait_for_alarm(url, "LIT101")
        shoot(wide, url, "", "now")
        shoot(wide, url, "graph", "graph")
        shoot(dark, url, "", "now-dark")
        shoot(phone, url, "", "phone")
        shoot(phone, url, "graph", "phone-graph")
        beside = [one["source"] for one in alarm["broken_links"] if one["source"] != one["target"]]
        shown = dict.fromkeys([alarm["causes"][0]["signal"], *beside])
        names = "&".join(f"signal={name}" for name in list(shown)[:2])
        shoot(wide, url, f"signals?alarm={alarm['id']}&{names}", "signals")
        shoot(wide, url, f"alarm/{alarm['id']}", "alarm")
        shoot(wide, url, "model", "model")
        wait_for_alarm(url, "LIT401")
        shoot(wide, url, "history", "history")
        shoot(dark, url, "graph", "graph-dark")
        browser.close()


def main() -> None:
    """Play the demo, and take the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "causewatch", "demo", "--serve", "--port", "0"]
        process = subprocess.Popen(
            [*command, "--speed", SPEED, "--out", f"{folder}/demo"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if found := re.search(r"The page is at (\S+)", line):
                    take(found[1])
                    break
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


if __name__ == "__main__":
    main()
