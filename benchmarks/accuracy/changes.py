"""``causewatch diff`` on simulated systems: nothing where nothing changed, and what was planted.

Usage: ``python -m benchmarks.accuracy.changes [--quick]``. Each system of 8 signals is recorded
twice. *Stationary*: both times the same system. *Planted*: one coefficient between two signals is
halved in the second recording; right is a report of this link and of no other one. A report of the
same cause and effect at another lag counts as another link.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from benchmarks.common import machine, options, table

import causewatch as cw
from causewatch.errors import SettingError
from causewatch.model import diff
from causewatch.simulate import random_system

__all__: list[str] = []

Found = tuple[int, int, int]
"""Source, target and lag of a link."""

FIRST_SEED = 8_000
ALPHA = 0.01
ROWS = 3_000
KINDS = ("linear", "heavy", "nonlinear", "binary")


def main() -> None:
    quick = options(__doc__).quick
    seeds = 3 if quick else 50
    lines: list[list[object]] = []
    for kind in KINDS:
        false, seen, only = 0, 0, 0
        for seed in stable(kind, seeds):
            nothing, found, link = changed(kind, seed)
            false += bool(nothing)
            seen += link in found
            only += found == {link}
        lines.append([kind, ROWS, seeds, *(f"{n / seeds:.0%}" for n in (false, seen, only))])
    print(f"{machine()} Simulated systems; level {ALPHA:g}; seeds {FIRST_SEED} and on.\n")
    head = ["systems", "rows each", "how many", "stationary: any change", "planted: reported"]
    print(table([*head, "planted: it alone"], lines))


def stable(kind: str, count: int) -> list[int]:
    """The first seeds whose systems do not run away."""
    seeds: list[int] = []
    for seed in itertools.count(FIRST_SEED):
        try:
            random_system(8, max_lag=2, kind=kind, seed=seed).simulate(ROWS, seed=seed)
        except SettingError:
            continue
        seeds.append(seed)
        if len(seeds) == count:
            break
    return seeds


def changed(kind: str, seed: int) -> tuple[set[Found], set[Found], Found]:
    """What is reported where nothing changed, where a coefficient was halved, and which it was."""
    system = random_system(8, max_lag=2, kind=kind, seed=seed)
    between = [k for k, edge in enumerate(system.edges) if edge.source != edge.target]
    number = between[int(np.random.default_rng(seed).integers(len(between)))]
    edge = system.edges[number]
    weaker = replace(edge, coefficients=tuple(c / 2 for c in edge.coefficients))
    edges = (*system.edges[:number], weaker, *system.edges[number + 1 :])
    old, same, other = (
        cw.learn(drawn.simulate(ROWS, seed=seed + k).values, every=1.0, max_lag=2)
        for k, drawn in enumerate((system, system, replace(system, edges=edges)))
    )
    place = {name: k for k, name in enumerate(old.signals)}
    nothing, found = (
        {
            (place[k.link.source], place[k.link.target], k.link.lag)
            for k in diff(old, new, alpha=ALPHA).changes
        }
        for new in (same, other)
    )
    return nothing, found, (edge.source, edge.target, edge.lag)


if __name__ == "__main__":
    main()
