"""Bent dependence: the features test beside the linear one and tigramite's nearest neighbours.

Usage: ``python -m benchmarks.accuracy.features [--quick] [--minutes 10] [--write]``. Systems are
random: each signal has a link from an earlier one, through a square, an absolute value, a sine or a
hinge, and depends on its own last value. A link counts as right if its source, target and lag are;
links of a signal to itself are not counted. tigramite's `CMIknn` (100 shuffles) gets small systems,
as many as it can do in the minutes given; each of them is done by the others, too. With ``--write``
the tables go to ``docs/results/features.md``.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from benchmarks import peers
from benchmarks.common import ROOT, machine, options, seconds, table
from numpy.typing import NDArray

from causewatch.discovery import TestName, pcmci
from causewatch.simulate import random_system

__all__: list[str] = []

Floats = NDArray[np.float64]
Link = tuple[int, int, int]

PAGE = ROOT / "docs" / "results" / "features.md"
COMMAND = "python -m benchmarks.accuracy.features"
ALPHA = 0.01
SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "square": lambda x: 0.5 * (x**2 - 1.0),
    "absolute value": lambda x: 0.8 * (np.abs(x) - 0.8),
    "sine": lambda x: 0.7 * np.sin(2.0 * x),
    "hinge": lambda x: np.maximum(x - 0.5, 0.0),
}
MOST = 4.0
"""What goes through a shape is cut here, so that no system runs away."""
LEVELS = (0.05, 0.01)
FIRST_SEED = 7_000


@dataclass(frozen=True)
class System:
    """Rows, and the links between different signals with their shapes."""

    rows: Floats
    links: dict[Link, str]


@dataclass
class Tally:
    """What one program made of some systems."""

    right: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SHAPES, 0))
    links: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SHAPES, 0))
    wrong: int = 0
    tested: int = 0
    took: float = 0.0
    systems: int = 0

    def add(self, system: System, p_value: Floats, took: float) -> None:
        """Count one system."""
        signals = len(p_value)
        truth = np.zeros(p_value.shape, dtype=bool)
        for link, shape in system.links.items():
            truth[link] = True
            self.links[shape] += 1
            self.right[shape] += int(p_value[link] <= ALPHA)
        others = ~truth
        others[:, :, 0] = False
        others[np.arange(signals), np.arange(signals)] = False
        self.wrong += int((p_value[others] <= ALPHA).sum())
        self.tested += int(others.sum())
        self.took += took
        self.systems += 1

    def line(self, name: str) -> list[object]:
        """A row of the table."""
        whole = sum(self.right.values()) / max(1, sum(self.links.values()))
        shapes = [f"{self.right[shape]}/{self.links[shape]}" for shape in SHAPES]
        rate = self.wrong / max(1, self.tested)
        each = seconds(self.took / max(1, self.systems))
        return [name, self.systems, f"{whole:.2f}", *shapes, f"{rate:.3f}", each]


def main() -> None:
    given = options(
        __doc__,
        minutes={"type": float, "default": 10.0, "help": "for tigramite"},
        write={"action": "store_true", "help": "write the page"},
    )
    few = given.quick
    text = [
        "# Bent dependence: the features test",
        f"Made by `{COMMAND} --minutes {given.minutes:g} --write`; {machine('tigramite')}",
        "All figures are those of simulated systems.",
        "## Links of four shapes",
        f"Level {ALPHA:g}; *false*: share of the links that are not there and were reported.",
        "### 10 signals, 1,500 rows, lags up to 3\n",
        large(4 if few else 30),
        "### 5 signals, 500 rows, lags up to 2, beside tigramite\n",
        small(0.0 if few else given.minutes),
        "## False links of independent signals",
        "Six signals, each driven by its own past, lags up to 2; share of the links reported"
        " between different signals, in units of the level. The range is two standard errors of"
        " the exact level.\n",
        calibration(3 if few else 40),
        "## False links of dependent signals",
        "Random systems of 8 signals with lags up to 3, own links included; share of the links that"
        " are not there and were reported, in units of the level 0.001.\n",
        dependent(1 if few else 10, (2_000,) if few else (2_000, 20_000)),
        "## Width\n",
        width((10, 2_000) if few else (50, 20_000)),
    ]
    page = "\n\n".join(part.rstrip() for part in text) + "\n"
    print(page)
    if given.write and not given.quick:
        PAGE.write_text(page, encoding="utf-8")


def system(seed: int, signals: int, rows: int, max_lag: int) -> System:
    """A random system, each signal but the first with one bent link from an earlier one."""
    random = np.random.default_rng(seed)
    shapes = list(SHAPES)
    links = {
        (int(random.integers(target)), target, int(random.integers(1, max_lag + 1))): shapes[
            int(random.integers(len(shapes)))
        ]
        for target in range(1, signals)
    }
    values = np.zeros((rows, signals))
    noise = random.normal(size=values.shape)
    for now in range(max_lag, rows):
        values[now] = 0.5 * values[now - 1] + noise[now]
        for (source, target, lag), shape in links.items():
            cause = np.clip(values[now - lag, source], -MOST, MOST)
            values[now, target] += SHAPES[shape](cause)
    return System(values, links)


def ours(rows: Floats, max_lag: int, test: TestName) -> tuple[Floats, float]:
    start = time.perf_counter()
    result = pcmci(rows, max_lag=max_lag, alpha=ALPHA, test=test)
    return result.p_value, time.perf_counter() - start


HEAD = ["test", "systems", "recall", *SHAPES, "false", "a system"]


def large(count: int) -> str:
    tests: tuple[TestName, ...] = ("linear", "rank", "features")
    tallies = {test: Tally() for test in tests}
    for k in range(count):
        drawn = system(FIRST_SEED + k, 10, 1_500, 3)
        for test in tests:
            tallies[test].add(drawn, *ours(drawn.rows, 3, test))
    return table(HEAD, [tallies[test].line(test) for test in tests])


def small(minutes: float) -> str:
    tallies = {"linear": Tally(), "features": Tally(), "tigramite CMIknn": Tally()}
    peers_took, count = 0.0, 0
    while peers_took < 60.0 * minutes or count == 0:
        drawn = system(FIRST_SEED + 500 + count, 5, 500, 2)
        tallies["linear"].add(drawn, *ours(drawn.rows, 2, "linear"))
        tallies["features"].add(drawn, *ours(drawn.rows, 2, "features"))
        count += 1
        if minutes:
            start = time.perf_counter()
            settings = {"sig_samples": 100, "sig_blocklength": 1, "seed": count}
            p_value = peers.tigramite(drawn.rows, 2, ALPHA, "knn", **settings)[1]
            took = time.perf_counter() - start
            tallies["tigramite CMIknn"].add(drawn, p_value, took)
            peers_took += took
    lines = [tally.line(name) for name, tally in tallies.items() if tally.systems]
    text = table(HEAD, lines)
    if minutes:
        ratio = peers_took / tallies["features"].took
        text += f"\n\ntigramite takes **{ratio:,.0f}** times as long as the features test."
    return text


def independent(kind: str, random: np.random.Generator, rows: int) -> Floats:
    """Signals that know nothing of each other, but depend on their own past."""
    signals = 6
    values = np.zeros((rows, signals))
    heavy = kind == "heavy tails"
    noise = random.standard_t(2, values.shape) if heavy else random.normal(size=values.shape)
    chance, states = random.random(values.shape), random.integers(0, 4, values.shape)
    for now in range(1, rows):
        before = values[now - 1]
        if kind == "two values":
            values[now] = np.where(chance[now] < 0.1, 1.0 - before, before)
        elif kind == "four values":
            values[now] = np.where(chance[now] < 0.2, states[now], before)
        else:
            values[now] = 0.8 * before + noise[now]
    return values


def calibration(count: int) -> str:
    lines: list[list[object]] = []
    for kind in ("normal", "heavy tails", "two values", "four values"):
        for rows in (300, 1_000):
            cells: list[object] = [kind, rows]
            for test in ("linear", "features"):
                p_values: list[Floats] = []
                for k in range(count):
                    values = independent(kind, np.random.default_rng(FIRST_SEED + 900 + k), rows)
                    name: TestName = "linear" if test == "linear" else "features"
                    result = pcmci(values, max_lag=2, alpha=0.05, test=name)
                    p_values.append(result.p_value[:, :, 1:][~np.eye(6, dtype=bool)].ravel())
                pooled = np.concatenate(p_values)
                cells += [f"{(pooled <= level).mean() / level:.2f}" for level in LEVELS]
            lines.append(cells)
    error = [2 * np.sqrt((1 - level) / level / (60 * count)) for level in LEVELS]
    names = [
        f"{test}, {level:g} (± {around:.2f})"
        for test in ("linear", "features")
        for level, around in zip(LEVELS, error, strict=True)
    ]
    return table(["signals", "rows", *names], lines)


def dependent(count: int, sizes: tuple[int, ...]) -> str:
    level, tests = 0.001, ("linear", "features")
    lines: list[list[object]] = []
    for kind in ("linear", "heavy", "nonlinear"):
        for rows in sizes:
            cells: list[object] = [kind, f"{rows:,}"]
            for name in tests:
                wrong = tested = 0
                for seed in range(FIRST_SEED, FIRST_SEED + count):
                    drawn = random_system(8, max_lag=3, kind=kind, seed=seed)
                    values = drawn.simulate(rows, seed=seed + 1).values
                    test: TestName = "linear" if name == "linear" else "features"
                    result = pcmci(values, max_lag=3, alpha=level, parents_alpha=0.2, test=test)
                    others = np.ones(result.p_value.shape, dtype=bool)
                    others[:, :, 0] = False
                    for edge in drawn.edges:
                        others[edge.source, edge.target, edge.lag] = False
                    wrong += int((result.p_value[others] <= level).sum())
                    tested += int(others.sum())
                cells.append(f"{wrong / tested / level:.1f} ({wrong} of {tested:,})")
            lines.append(cells)
    return table(["systems", "rows", *tests], lines)


def width(size: tuple[int, int]) -> str:
    signals, rows = size
    values = random_system(signals, max_lag=3, kind="nonlinear", seed=1).simulate(rows, seed=2)
    lines: list[list[object]] = []
    tests: tuple[TestName, ...] = ("linear", "features")
    for test in tests:
        took = ours(values.values, 3, test)[1]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        lines.append([test, f"{signals} × {rows:,} × lag 3", seconds(took), f"{peak:.2f} GiB"])
    return table(["test", "size", "time", "peak memory of the whole run"], lines)


if __name__ == "__main__":
    main()
