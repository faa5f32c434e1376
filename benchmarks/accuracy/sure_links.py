"""Whether links that most replicas show are true, and what replicas cost.

Usage: ``python -m benchmarks.accuracy.sure_links [--quick]``. Random systems of 10 signals and
1,000 rows, lags up to 3; then 33 signals, 2,000 rows, lags up to 5 for the cost of 200 replicas in
units of one discovery as `learn` runs it, in processor time of the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

from benchmarks.common import machine, options, table

from causewatch.discovery import confidence_of_links, pcmci
from causewatch.graph import Link
from causewatch.simulate import SYSTEM_KINDS, random_system

__all__: list[str] = []

Result = TypeVar("Result")

ALPHA, PARENTS_ALPHA = 0.001, 0.2
"""Levels of `learn`."""
BINS = ((0.0, 0.5), (0.5, 0.9), (0.9, 1.01))
FIRST_SEED = 9_000


def main() -> None:
    quick = options(__doc__).quick
    lines = [kind_line(kind, 3 if quick else 20) for kind in SYSTEM_KINDS]
    names = [f"true of those seen in {low:.0%}–{min(high, 1):.0%}" for low, high in BINS]
    print(f"{machine()} Simulated systems.\n")
    print(table(["systems", *names, "true links seen in 90 % or more"], lines))
    print(f"\n{cost(1 if quick else 5)}")


def kind_line(kind: str, count: int) -> list[object]:
    right, every = [0] * len(BINS), [0] * len(BINS)
    true = sure = 0
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        system = random_system(10, max_lag=3, kind=kind, seed=seed)
        values = system.simulate(1_000, seed=seed + 1).values
        names = [f"x{k}" for k in range(10)]
        truth = {Link(names[e.source], names[e.target], e.lag) for e in system.edges}
        graph = pcmci(values, max_lag=3, alpha=ALPHA, parents_alpha=PARENTS_ALPHA).graph
        shares = confidence_of_links([values], graph, max_lag=3, alpha=ALPHA)
        for link, about in shares.items():
            number = next(k for k, (low, high) in enumerate(BINS) if low <= about.share < high)
            every[number] += 1
            right[number] += link in truth
            sure += number == len(BINS) - 1 and link in truth
        true += len(truth)
    cells = [f"{r / n:.0%} of {n}" if n else "none" for r, n in zip(right, every, strict=True)]
    return [kind, *cells, f"{sure / true:.0%} of {true}"]


def cost(times: int) -> str:
    values = random_system(33, max_lag=5, seed=FIRST_SEED).simulate(2_000, seed=1).values
    ratios = []
    for _ in range(times):
        result, once = timed(
            lambda: pcmci(values, max_lag=5, alpha=ALPHA, parents_alpha=PARENTS_ALPHA)
        )
        _, replicas = timed(
            lambda graph=result.graph: confidence_of_links([values], graph, max_lag=5, alpha=ALPHA)
        )
        ratios.append(replicas / once)
    return f"200 replicas of 33 × 2,000 × lag 5 cost {median(ratios):.1f} times one discovery."


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


if __name__ == "__main__":
    main()
