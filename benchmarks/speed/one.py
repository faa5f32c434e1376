"""Learn from a stored recording in this process and print what it took, as JSON.

Usage: ``python -m benchmarks.speed.one rows.npy LAG REPEATS``. The first thing done is a tiny
discovery, so that imports are not counted as learning.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import numpy as np

import causewatch

__all__: list[str] = []


def address_space() -> int | None:
    """Largest address space of this process so far, bytes; None where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"VmPeak:\s*(\d+) kB", status)
    return 1024 * int(found[1]) if found else None


def main() -> None:
    path, lag, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    tiny = np.random.default_rng(0).normal(size=(200, 5))
    causewatch.pcmci(tiny, max_lag=2)
    before = address_space()
    values = np.load(path)
    walls, cpus, links = [], [], 0
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        links = len(causewatch.pcmci(values, max_lag=lag, alpha=0.05).graph)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    print(
        json.dumps(
            {
                "wall": min(walls, default=0.0),
                "cpu": min(cpus, default=0.0),
                "links": links,
                "idle_address_space": before,
                "address_space": address_space(),
            }
        )
    )


if __name__ == "__main__":
    main()
