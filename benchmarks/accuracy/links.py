"""Are the links right? Precision and recall on random systems, next to tigramite.

Usage: ``python -m benchmarks.accuracy.links [--quick]``. Both programs get the same rows, the same
level and the same kind of test; the truth is the simulated system. A link counts as right if its
source, target and lag are; links of a signal to itself are not counted. A full run takes about five
minutes, writes every single result to ``benchmarks/accuracy/results/links.csv`` and a summary to
``docs/benchmarks.md``. A quick one leaves out the test with nearest neighbours.
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from benchmarks import peers
from benchmarks.common import commit, machine, options, publish, table
from numpy.typing import NDArray

from causewatch.discovery import (
    ConditionalMutualInformation,
    LaggedMoments,
    OneByOne,
    PartialCorrelation,
    normal_scores,
    run_pcmci,
)
from causewatch.simulate import SYSTEM_KINDS, random_system

__all__: list[str] = []

Floats = NDArray[np.float64]
Found = frozenset[tuple[int, int, int]]
"""Links between different signals, by number: source, target, lag."""

RESULTS = Path(__file__).parent / "results" / "links.csv"
ALPHA = 0.05
SIZES = ((5, 500, 2), (10, 1000, 3), (15, 2000, 3))
"""Signals, rows, longest lag; seeds take them in turn."""
SMALL = (4, 200, 1)
"""For the test with nearest neighbours, which takes tigramite half a minute even then."""
PERMUTATIONS = 60
FIRST_SEED = 1000


@dataclass(frozen=True)
class Task:
    """One system, one test, both programs."""

    kind: str
    test: str
    seed: int
    signals: int
    rows: int
    lag: int


@dataclass(frozen=True)
class Row:
    """One line of the results file."""

    commit: str
    kind: str
    test: str
    tool: str
    version: str
    seed: int
    signals: int
    rows: int
    lag: int
    alpha: float
    data: str
    true_links: int
    found: int
    right: int
    differ: int
    """Links that only one of the two programs found."""
    precision: float
    recall: float


def main() -> None:
    quick: bool = options(__doc__).quick
    rows = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for pair in pool.map(run, list(tasks(quick))):
            rows += pair
    if not quick:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(asdict(rows[0])))
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
    text = [machine("tigramite", "numba"), summary(rows)]
    publish("links", "\n\n".join(text), quick=quick)


def tasks(quick: bool) -> Iterable[Task]:
    seeds = 3 if quick else 10
    few = 0 if quick else 3
    for kind in SYSTEM_KINDS:
        for k in range(few):
            yield Task(kind, "knn", FIRST_SEED + 500 + k, *SMALL)
        for k in range(seeds):
            size = SIZES[k % 2 if quick else k % 3]
            for test in ("linear", "rank"):
                yield Task(kind, test, FIRST_SEED + k, *size)


def run(task: Task) -> list[Row]:
    """Both programs on one system."""
    system = random_system(task.signals, max_lag=task.lag, kind=task.kind, seed=task.seed)
    values = system.simulate(task.rows, seed=task.seed).values
    place = {name: k for k, name in enumerate(system.signals)}
    truth = frozenset(
        (place[link.source], place[link.target], link.lag)
        for link in system.graph
        if not link.is_auto
    )
    found = {"causewatch": ours(values, task), "tigramite": theirs(values, task)}
    differ = len(found["causewatch"] ^ found["tigramite"])
    data = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:12]
    rows = []
    for tool, links in found.items():
        right = len(links & truth)
        rows.append(
            Row(
                commit=commit(),
                kind=task.kind,
                test=task.test,
                tool=tool,
                version=version(tool),
                seed=task.seed,
                signals=task.signals,
                rows=task.rows,
                lag=task.lag,
                alpha=ALPHA,
                data=data,
                true_links=len(truth),
                found=len(links),
                right=right,
                differ=differ,
                precision=round(right / len(links), 4) if links else 1.0,
                recall=round(right / len(truth), 4),
            )
        )
    return rows


def ours(values: Floats, task: Task) -> Found:
    names = [f"x{k}" for k in range(task.signals)]
    if task.test == "knn":
        single = ConditionalMutualInformation(
            values, max_lag=task.lag, alpha=ALPHA, permutations=PERMUTATIONS, seed=task.seed
        )
        result = run_pcmci(OneByOne(single, single.windows), names, alpha=ALPHA)
    else:
        taken = LaggedMoments(names, max_lag=task.lag)
        taken.update(normal_scores(values) if task.test == "rank" else values)
        result = run_pcmci(PartialCorrelation(taken), names, alpha=ALPHA)
    return _significant(result.p_value)


def theirs(values: Floats, task: Task) -> Found:
    settings = {"sig_samples": PERMUTATIONS, "seed": task.seed} if task.test == "knn" else {}
    return _significant(peers.tigramite(values, task.lag, ALPHA, task.test, **settings)[1])


def _significant(p_value: Floats) -> Found:
    return frozenset(
        (int(i), int(j), int(lag)) for i, j, lag in np.argwhere(p_value <= ALPHA) if i != j
    )


def summary(rows: list[Row]) -> str:
    """Links pooled over the systems of a kind, and the mean difference between the programs."""
    lines: list[list[object]] = []
    for test in ("linear", "rank", "knn"):
        for kind in (*SYSTEM_KINDS, "all"):
            part = [r for r in rows if r.test == test and kind in (r.kind, "all")]
            one = [r for r in part if r.tool == "causewatch"]
            other = [r for r in part if r.tool == "tigramite"]
            if not one:
                continue
            cells: list[object] = [test, kind, len(one)]
            for field, of in (("precision", "found"), ("recall", "true_links")):
                for tool in (one, other):
                    right = sum(r.right for r in tool)
                    cells.append(f"{right / max(1, sum(getattr(r, of) for r in tool)):.3f}")
                apart = np.array(
                    [getattr(a, field) - getattr(b, field) for a, b in zip(one, other, strict=True)]
                )
                error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
                cells.append(f"{apart.mean():+.3f} ± {error:.3f}")
            cells.append(sum(r.differ for r in one))
            lines.append([f"**{cell}**" for cell in cells] if kind == "all" else cells)
    head = ["test", "systems", "how many", "precision", "tigramite", "mean difference"]
    head += ["recall", "tigramite", "mean difference", "links that differ"]
    return table(head, lines)


if __name__ == "__main__":
    main()
