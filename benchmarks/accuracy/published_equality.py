"""The fast published detector against the slow, literal one: the same coefficients, or not.

Usage: ``python -m benchmarks.accuracy.published_equality [--quick]``. The literal twin
(``tests/literal_paper.py``) solves every regression again with ``numpy.linalg.lstsq`` on all ticks
so far. The fast detector runs over every tick; the two are compared at every tick of the first
hundred, and then at every k-th. A full run compares more than 20,000 ticks and takes about five
minutes.

A difference counts relative to the larger of the literal coefficient and the normal one: a
coefficient that happens to pass through zero has no relative precision of its own, and what is
judged is its distance from the normal one. Where a difference exceeds the tolerance, the literal
answer is computed again from ticks whose last bit was changed at random. If it moves by a tenth of
the difference or more, nobody's answer is the right one there, and the link is counted as
*undetermined* instead of *different*.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.common import data_folder, machine, options, table
from numpy.typing import NDArray
from tests import literal_paper

import causewatch
from causewatch.detectors.equations import Equations
from causewatch.detectors.published import PublishedDetector, published_limits
from causewatch.simulate import SYSTEM_KINDS, random_system

__all__: list[str] = []

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
DENSE = 100
"""Ticks at the beginning of a stream that are all compared: the under-determined ones are there."""


@dataclass(frozen=True)
class Stream:
    """Ticks to be watched with a model."""

    dataset: str
    equations: Equations
    normal: Floats
    live: Floats
    every: int


@dataclass
class Count:
    """What was compared on one dataset."""

    streams: int = 0
    watched: int = 0
    compared: int = 0
    coefficients: int = 0
    largest: float = 0.0
    undetermined: int = 0
    largest_undetermined: float = 0.0
    different: int = 0
    verdicts: int = 0
    """Ticks at which fast and literal disagree on whether a link is broken."""
    fast: float = 0.0
    literal: float = 0.0


def main() -> None:
    quick: bool = options(__doc__).quick
    counts: dict[str, Count] = {}
    for stream in streams(quick):
        compare(stream, counts.setdefault(stream.dataset, Count()))
    head = ["dataset", "streams", "ticks watched", "ticks compared", "coefficients"]
    head += ["largest relative difference", "undetermined", "different", "verdicts that differ"]
    head += ["fast, ms a tick", "literal"]
    lines = [
        [
            name,
            one.streams,
            f"{one.watched:,}",
            f"{one.compared:,}",
            f"{one.coefficients:,}",
            f"{one.largest:.1e}",
            f"{one.undetermined} (up to {one.largest_undetermined:.1e})",
            one.different,
            one.verdicts,
            f"{1e3 * one.fast / one.watched:.2f}",
            f"{1e3 * one.literal / one.compared:.1f}",
        ]
        for name, one in counts.items()
    ]
    print(machine())
    print()
    print(table(head, lines))
    print(f"\n{sum(one.compared for one in counts.values()):,} ticks compared.")


def streams(quick: bool) -> Iterator[Stream]:
    folder = data_folder()
    if folder is not None:
        yield from tennessee(folder, quick)
        yield from skab(folder, quick)
        yield from batadal(folder, quick)
    for k in range(3 if quick else 12):
        kind = SYSTEM_KINDS[k % len(SYSTEM_KINDS)]
        system = random_system(5 + k, max_lag=1 + k % 4, kind=kind, seed=900 + k)
        normal = system.simulate(1500, seed=1).values
        live = system.simulate(600 if quick else 3000, seed=2).values
        yield prepared("random systems", normal, [live], every=3, max_lag=1 + k % 4)[0]


def tennessee(folder: Path, quick: bool) -> list[Stream]:
    normal = np.loadtxt(folder / "tep" / "d00.dat").T
    faults = [0, 1, 4] if quick else range(22)
    live = [np.loadtxt(folder / "tep" / f"d{fault:02}_te.dat") for fault in faults]
    return prepared("Tennessee Eastman", normal, live, every=20 if quick else 4)


def skab(folder: Path, quick: bool) -> list[Stream]:
    normal = causewatch.read_table(folder / "skab" / "anomaly-free" / "anomaly-free.csv").values
    files = sorted((folder / "skab").glob("[ov]*/*.csv"))
    live = [
        causewatch.read_table(path, labels="anomaly", ignore=["changepoint"]).values
        for path in (files[:3] if quick else files)
    ]
    return prepared("SKAB", normal, live, every=10 if quick else 2)


def batadal(folder: Path, quick: bool) -> list[Stream]:
    tables = [
        causewatch.read_table(folder / "batadal" / name, labels="ATT_FLAG").values
        for name in ("dataset03.csv", "dataset04.csv")
    ]
    return prepared("BATADAL", tables[0], tables[1:], every=100 if quick else 20)


def prepared(
    dataset: str, normal: Floats, live: list[Floats], every: int, max_lag: int | None = None
) -> list[Stream]:
    """Learn with the `paper` preset, and take ticks from rows as it says."""
    model = causewatch.learn(normal, preset="paper", max_lag=max_lag)
    # Rows without names are called x0, x1, …: the number is the column.
    kept = [int(name.removeprefix("x")) for name in model.signals]
    step = model.preprocessing.step or 1
    equations = literal_paper.equations_of(model)
    rows = [np.nan_to_num(part[::step, kept]) for part in (normal, *live)]
    return [Stream(dataset, equations, rows[0], part, every) for part in rows[1:]]


def compare(stream: Stream, count: Count) -> None:
    equations, live = stream.equations, stream.live
    limits = published_limits(stream.normal, equations)
    detector = PublishedDetector(equations, limits)
    count.streams += 1
    count.watched += len(live)
    for newest, values in enumerate(live):
        began = time.perf_counter()
        evidence = detector.update(values)
        count.fast += time.perf_counter() - began
        if newest < equations.max_lag or (newest >= DENSE and newest % stream.every):
            continue
        began = time.perf_counter()
        literal = literal_paper.coefficients(live, equations, newest)
        count.literal += time.perf_counter() - began
        count.compared += 1
        count.coefficients += len(literal)
        distance = np.abs(detector.links().observed - literal)
        size = np.maximum(np.abs(literal), np.abs(equations.coefficient))
        relative = distance / np.where(size > 0.0, size, 1.0)
        off = relative > TOLERANCE
        if off.any():
            doubt = literal_paper.own_doubt(live[: newest + 1], equations, newest, literal)
            excused = off & (distance <= 10.0 * doubt)
            count.undetermined += int(excused.sum())
            largest = float(relative[excused].max(initial=0.0))
            count.largest_undetermined = max(count.largest_undetermined, largest)
            count.different += int((off & ~excused).sum())
            relative = relative[~excused]
        count.largest = max(count.largest, float(relative.max(initial=0.0)))
        broken = bool(np.any(np.abs(literal - equations.coefficient) > limits))
        count.verdicts += broken != (evidence.score is not None and evidence.score > 1.0)


if __name__ == "__main__":
    main()
