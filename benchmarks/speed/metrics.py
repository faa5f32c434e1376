"""How long VUS takes, next to TSB-AD in the same run.

Usage: ``python -m benchmarks.speed.metrics [--quick]``. A full run takes a few minutes on two idle
cores and writes its tables to ``docs/benchmarks.md``. TSB-AD is found by import; nothing of it is
needed but its ``evaluation`` package, so it may be installed without its dependencies. Without it
only our own times are told.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.common import MIB, interleaved, machine, options, publish, seconds, table
from numpy.typing import NDArray

from causewatch.evaluation.metrics.affiliation import affiliation
from causewatch.evaluation.metrics.volume import vus_pr, vus_roc

__all__: list[str] = []

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Curve = Callable[..., Any]

WINDOW, LIMITS = 100, 250
LONG, SHORT = 36, 3000
"""Events as in the water plant's recording, and so many of them that buffers overlap."""


def main() -> None:
    quick: bool = options(__doc__).quick
    sizes = [50_000] if quick else [50_000, 450_000]
    parts = [
        machine("TSB-AD", "scikit-learn"),
        "### VUS next to TSB-AD",
        next_to_reference(sizes),
        "### On its own",
        alone(sizes),
    ]
    publish("metrics", "\n\n".join(parts), quick=quick)


def judged(rows: int, events: int) -> tuple[Bools, Floats]:
    """Labels with so many events of all lengths, an eighth of all rows, and a fair score."""
    random = np.random.default_rng(rows + events)
    every = rows // events
    lengths = random.integers(1, every // 4, events)
    labels = np.zeros(rows, dtype=np.bool_)
    for k, length in enumerate(lengths.tolist()):
        first = k * every + int(random.integers(0, every - length))
        labels[first : first + length] = True
    return labels, random.normal(size=rows) + 1.5 * labels


def both(labels: Bools, score: Floats) -> tuple[float, float]:
    """What TSB-AD computes in one go takes us two calls."""
    how = {"window": WINDOW, "thresholds": LIMITS}
    return vus_roc(labels, score, **how), vus_pr(labels, score, **how)


def next_to_reference(sizes: list[int]) -> str:
    """Both volumes, by both programs, on the same rows."""
    curve = _reference()
    if curve is None:
        return "TSB-AD is not installed here, so there is nothing to compare with."
    lines: list[list[object]] = []
    for rows in sizes:
        labels, score = judged(rows, LONG)
        timed = interleaved(
            {
                "ours": lambda labels=labels, score=score: both(labels, score),
                "theirs": lambda labels=labels, score=score: curve(
                    labels.astype(int), score, WINDOW, "opt", LIMITS
                )[6:8],
            },
            {"ours": 5, "theirs": 1},
        )
        ours, theirs = timed["ours"], timed["theirs"]
        apart = max(abs(a - b) for a, b in zip(ours.result, theirs.result, strict=True))
        lines.append(
            [
                f"{rows:,}",
                f"{seconds(ours.wall)} ({seconds(ours.cpu)})",
                f"{seconds(theirs.wall)} ({seconds(theirs.cpu)})",
                f"**{theirs.wall / ours.wall:,.0f}** ({theirs.cpu / ours.cpu:,.0f})",
                f"{apart:.0e}",
            ]
        )
        print(lines[-1], flush=True)
    head = ["rows", "causewatch (CPU)", "TSB-AD (CPU)", "ratio (of CPU)", "largest difference"]
    note = (
        f"VUS-PR and VUS-ROC, window {WINDOW}, {LIMITS} limits, {LONG} events; best of five for"
        " causewatch, one run of TSB-AD."
    )
    return table(head, lines) + "\n\n" + note


def alone(sizes: list[int]) -> str:
    """What we take on few long and on many short events."""
    lines: list[list[object]] = []
    for rows in sizes:
        for events in (LONG, SHORT):
            labels, score = judged(rows, events)
            calls: dict[str, Callable[[], Any]] = {
                "VUS-PR": lambda labels=labels, score=score: vus_pr(labels, score),
                "affiliation with chance levels": lambda labels=labels, score=score: affiliation(
                    labels, score > 2.5
                ),
            }
            for name, timed in interleaved(calls).items():
                peak = _peak(calls[name])
                line = [name, f"{rows:,}", f"{events:,}", seconds(timed.wall), seconds(timed.cpu)]
                lines.append([*line, f"{peak / MIB:,.0f} MiB"])
                print(lines[-1], flush=True)
    return table(["figure", "rows", "events", "time", "CPU", "memory on top"], lines)


def _reference() -> Curve | None:
    try:
        from TSB_AD.evaluation.basic_metrics import generate_curve
    except ImportError:
        return None
    found: Curve = generate_curve
    return found


def _peak(call: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    main()
