"""Two hours' worth of rows at high speed through the service: resident memory stays flat.

50 signals at 10 Hz with a fault every minute, from a pipe, with --state, an alarm file, a webhook
that nobody answers, and --metrics. Memory is read after a tenth of the rows and then all along. In
the last fifth of that time it may be 5 % more than in the first.

    python -m benchmarks.proof.memory [--hours 2]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.proof import verdict
from benchmarks.proof.mqtt import free_port
from benchmarks.proof.plant import build

RATE = 10
MOST_GROWTH = 5.0
"""Percent by which memory may be more in the last fifth of a run than in the first."""


def resident(process: int) -> int:
    """Kilobytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def growth(found: Sequence[int]) -> float:
    """Percent by which memory is more in the last fifth than in the first."""
    fifth = max(1, len(found) // 5)
    return 100 * (sum(found[-fifth:]) / sum(found[:fifth]) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = round(given.hours * 3600 * RATE)
        plant = build(folder, 50, rows, 1 / RATE, every=60 * RATE, lasting=8 * RATE)
        test = plant.write(folder / "test.csv")
        command = [
            *(sys.executable, "-m", "causewatch", "watch", str(plant.model), "-", "--json"),
            *("--state", str(folder / "state"), "--alarms", str(folder / "alarms.jsonl")),
            *("--metrics", f"127.0.0.1:{free_port()}"),
            *("--sink", f"http://127.0.0.1:{free_port()}/nobody"),
        ]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert process.stdin is not None
        found = []
        with test.open("rb") as file:
            for number, line in enumerate(file):
                process.stdin.write(line)
                if number > rows / 10 and number % 500 == 0:
                    process.stdin.flush()
                    found.append(resident(process.pid))
        process.stdin.close()
        code = process.wait(600)
        low, high, grown = min(found), max(found), growth(found)
        events = (folder / "alarms.jsonl").read_bytes().count(b"\n")
        print(
            f"{rows:,} rows of 50 signals ({given.hours:g} hours at {RATE} Hz), {events} events,"
            f" exit {code}: resident memory {low / 1024:.1f} to {high / 1024:.1f} MiB, last fifth"
            f" against first fifth {grown:+.1f} %"
        )
    short = verdict.above("growth of memory", grown, MOST_GROWTH, " %")
    if code != 0:
        short.append(f"the watch ended with {code}")
    verdict.end(short)


if __name__ == "__main__":
    main()
