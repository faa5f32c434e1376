"""Makes `alarm.png` and `report.png` from the report of ``causewatch demo``.

Run ``python docs/pictures/make.py`` with causewatch installed; it needs Chromium or Chrome, which
takes pictures of two pages of the report: an alarm of one attack, and the overview.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
ATTACK = "27"
"""The attack that the README tells of."""
ALARM, REPORT = (1000, "figure ~ *"), (1120, "section:has(.timeline) ~ *")
"""Width of the pictures, and what of the page is left out of them."""
HEIGHT, MARGIN = 3000, 24
"""Of the browser's window, and of the picture below what it shows."""


def demo(folder: Path) -> list[str]:
    """Run the demo; gives the ids of the alarms raised during the attack of the README."""
    command = [sys.executable, "-m", "causewatch", "demo", "--out", str(folder), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    alarms = json.loads(done.stdout)["outcome"]["alarms"]
    return [one["id"] for one in alarms if one["was"] == "attack" and one["attack"] == ATTACK]


def clearest(folder: Path, ids: list[str]) -> Path:
    """Page of the alarm with the highest peak."""
    lines = (folder / "alarms.jsonl").read_text(encoding="utf-8").splitlines()
    last = {alarm["id"]: alarm for alarm in map(json.loads, lines)}
    best = max(ids, key=lambda one: last[one]["peak_score"], default=None)
    if best is None:
        sys.exit(f"No alarm was raised during attack {ATTACK}; the README needs another picture.")
    return folder / "alarms" / f"{best}.html"


def picture(page: Path, path: Path, width: int, hidden: str) -> None:
    """What a page looks like in a browser, down to where it is hidden."""
    from matplotlib import image

    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"No browser was found; install one of {', '.join(BROWSERS)}.")
    text = page.read_text(encoding="utf-8")
    page.write_text(text + f"<style>{hidden} {{ display: none; }}</style>", encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
    flags += ["--disable-background-networking", "--blink-settings=preferredColorScheme=1"]
    target = [f"--window-size={width},{HEIGHT}", f"--screenshot={path}", page.as_uri()]
    subprocess.run([browser, *flags, *target], check=True, capture_output=True)
    pixels = image.imread(path)[:, :, :3]
    last = (pixels < 1.0).any(axis=(1, 2)).nonzero()[0][-1]
    image.imsave(path, pixels[: last + MARGIN].copy(order="C"))


def main() -> None:
    """Make both pictures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "demo"
        ids = demo(folder)
        picture(clearest(folder, ids), HERE / "alarm.png", *ALARM)
        picture(folder / "index.html", HERE / "report.png", *REPORT)


if __name__ == "__main__":
    main()
