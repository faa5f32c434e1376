"""Whether the page stutters while ticks come at 10 Hz: how long its script keeps it busy.

51 simulated signals, one tick for each row, a real `causewatch serve` and Debian's Chromium on the
same machine, without a graphics card. For every view: the tasks of the page's thread that took 50
milliseconds or more (what browsers call a long task), and the time between two frames. A person
notices from about a tenth of a second on; the longest task while nobody touches anything must be
shorter. That the measurement sees such a task is tried first, with one that is made on purpose.

    python -m benchmarks.proof.smooth [--seconds 20]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.proof import verdict
from benchmarks.proof.viewers import RATE, SIGNALS, a_plant, lines_of, served

VIEWS = {
    "Now": "/",
    "Graph": "/graph",
    "Signals, six charts": "/signals?" + "&".join(f"signal=S{k:02}" for k in range(6)),
    "History": "/history",
}
SETTLED = 3.0
"""Seconds that a view has to load."""
MOST = 100.0
"""Milliseconds that a task may take."""
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")

MEASURE = """async ([seconds, disturbed]) => {
    const { live } = await import("/static/js/live.js");
    const tasks = [], frames = [];
    let ticks = 0;
    const count = ({ detail }) => { ticks += detail.ticks.length + detail.skipped; };
    live.addEventListener("ticks", count);
    if (disturbed) {
        setTimeout(() => {
            const end = performance.now() + 120;
            while (performance.now() < end);
        }, 300);
    }
    const observer = new PerformanceObserver((list) => {
        for (const one of list.getEntries()) tasks.push(one.duration);
    });
    observer.observe({ type: "longtask" });
    const end = performance.now() + 1000 * seconds;
    let last = null;
    await new Promise((done) => {
        const next = (now) => {
            if (last !== null) frames.push(now - last);
            last = now;
            if (now < end) requestAnimationFrame(next); else done();
        };
        requestAnimationFrame(next);
    });
    observer.disconnect();
    live.removeEventListener("ticks", count);
    return { tasks, frames, ticks };
}"""


class Feeder:
    """Writes rows into a process at the rate of the plant, until it is over."""

    def __init__(self, process: Any, head: bytes, rows: list[bytes]) -> None:
        self._process, self._head, self._rows = process, head, rows
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        pipe = self._process.stdin
        pipe.write(self._head)
        began = time.monotonic()
        for k, line in enumerate(self._rows):
            if self._over.wait(max(0.0, began + k / RATE - time.monotonic())):
                break
            pipe.write(line)
            pipe.flush()

    def stop(self) -> None:
        """No more rows."""
        self._over.set()
        self._thread.join(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="for each view")
    arguments = parser.parse_args()
    program = shutil.which("chromium")
    if program is None:
        msg = "Chromium is not installed."
        raise SystemExit(msg)
    from playwright.sync_api import sync_playwright

    short: list[str] = []
    enough = round(RATE * (len(VIEWS) * (arguments.seconds + SETTLED) + 60))
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        plant = a_plant(Path(name), enough, every=300)
        head, rows, _ = lines_of(plant)
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        with served(plant, "-") as (process, port):
            feeder = Feeder(process, head, rows)
            time.sleep(10.0)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            for view, path in VIEWS.items():
                page.goto(f"http://127.0.0.1:{port}{path}")
                page.wait_for_timeout(1000 * SETTLED)
                control = page.evaluate(MEASURE, [2.0, True])
                assert max(control["tasks"], default=0.0) > MOST, "a task of 120 ms was not seen"
                found = page.evaluate(MEASURE, [arguments.seconds, False])
                tasks, frames = found["tasks"], sorted(found["frames"])
                longest = max(tasks, default=0.0)
                print(
                    f"{view}: {SIGNALS} signals at {RATE} Hz, {arguments.seconds:g} s,"
                    f" {found['ticks']} ticks shown: {len(tasks)}"
                    f" tasks of 50 ms or more, longest {longest:.0f} ms; between frames p50"
                    f" {frames[len(frames) // 2]:.0f} ms, p99 {frames[int(0.99 * len(frames))]:.0f}"
                    f" ms, longest {frames[-1]:.0f} ms"
                )
                short += verdict.above(f"longest task of {view}", longest, MOST, " ms")
            feeder.stop()
            assert process.stdin is not None
            process.stdin.close()
        browser.close()
    verdict.end(short)


if __name__ == "__main__":
    main()
