"""PCMCI+ next to tigramite on random systems: the same values, p-values and marks, or not.

Usage: ``python -m benchmarks.accuracy.within_tick [--quick]``. Systems have 2 to 20 signals that
act on each other within one tick and across ticks. A full run takes minutes of processor time,
nearly all of them tigramite's, and writes its table to ``docs/benchmarks.md``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from benchmarks import peers
from benchmarks.common import machine, options, publish, table
from tests.recordings import within_tick

from causewatch.discovery import pcmciplus

__all__: list[str] = []

SYSTEMS, QUICK_SYSTEMS = 120, 12
TOLERANCE = 1e-9
SIZES = ((2, 5), (6, 10), (11, 15), (16, 20))
"""Fewest and most signals of the systems in a line."""


@dataclass
class Count:
    """What was compared in systems of about one size."""

    systems: int = 0
    equal: int = 0
    lagged: int = 0
    directed: int = 0
    open: int = 0
    conflicts: int = 0
    differ: int = 0
    value: float = 0.0
    p_value: float = 0.0
    ours: float = 0.0
    theirs: float = 0.0


def main() -> None:
    quick: bool = options(__doc__).quick
    counts = {size: Count() for size in SIZES}
    for seed in range(QUICK_SYSTEMS if quick else SYSTEMS):
        random = np.random.default_rng(seed)
        fewest, most = SIZES[seed % len(SIZES)]
        signals = int(random.integers(fewest, most + 1))
        lag = int(random.integers(1, 4))
        values = within_tick(
            seed,
            signals,
            int(random.choice([200, 500, 1000])),
            lag,
            now=random.choice([0.5, 1.0, 1.5]),
            later=random.choice([0.3, 1.0]),
            own=random.choice([0.2, 0.8]),
        )
        compare(values, lag, float(random.choice([0.01, 0.05])), counts[fewest, most])
        print(f"{seed}: {signals} signals, lag {lag}", flush=True)
    head = ["signals", "systems", "equal", "marks that differ", "largest difference of a value"]
    head += ["of a p-value", "lagged links", "directed within a tick", "open", "in conflict"]
    head += ["ratio of processor time"]
    lines = [
        [
            f"{fewest}–{most}",
            count.systems,
            count.equal,
            count.differ,
            f"{count.value:.0e}",
            f"{count.p_value:.0e}",
            f"{count.lagged:,}",
            count.directed,
            count.open,
            count.conflicts,
            f"{count.theirs / count.ours:,.0f}",
        ]
        for (fewest, most), count in counts.items()
    ]
    publish("within-tick", machine("tigramite") + "\n\n" + table(head, lines), quick=quick)


def compare(values: np.ndarray, lag: int, alpha: float, count: Count) -> None:
    """Run both and add up how they compare."""
    began = time.process_time()
    result = pcmciplus(values, max_lag=lag, alpha=alpha)
    between = time.process_time()
    marks, value, p_value = peers.tigramite_plus(values, lag, alpha)
    count.ours += between - began
    count.theirs += time.process_time() - between
    differ = int((result.marks != marks).sum())
    of_value = float(np.abs(result.value - value).max())
    of_p_value = float(np.abs(result.p_value - p_value).max())
    count.systems += 1
    count.equal += differ == 0 and max(of_value, of_p_value) <= TOLERANCE
    count.differ += differ
    count.value = max(count.value, of_value)
    count.p_value = max(count.p_value, of_p_value)
    within = marks[:, :, 0]
    count.lagged += int((marks[:, :, 1:] != "").sum())
    count.directed += int((within == "-->").sum())
    count.open += int((within == "o-o").sum()) // 2
    count.conflicts += int((within == "x-x").sum()) // 2


if __name__ == "__main__":
    main()
