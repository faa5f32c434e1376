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

FIRST_SEED = 8_000
ALPHA = 0.01
KINDS = ("linear", "heavy", "nonlinear", "binary")


def main() -> None:
    quick = options(__doc__).quick
    seeds = 3 if quick else 50
    lines: list[list[object]] = []
    for kind in KINDS:
        for rows in (2_000, 5_000):
            false, seen, only = 0, 0, 0
            for seed in stable(kind, seeds):
                false += bool(changed(kind, seed, rows, planted=False)[0])
                found, link = changed(kind, seed, rows, planted=True)
                seen += link in found
                only += found == {link}
            lines.append([kind, rows, seeds, *(f"{n / seeds:.0%}" for n in (false, seen, only))])
    print(f"{machine()} Simulated systems; level {ALPHA:g}; seeds {FIRST_SEED} and on.\n")
    head = ["systems", "rows each", "how many", "stationary: any change", "planted: reported"]
    print(table([*head, "planted: it alone"], lines))


def stable(kind: str, count: int) -> list[int]:
    """The first seeds whose systems do not run away."""
    seeds: list[int] = []
    for seed in itertools.count(FIRST_SEED):
        try:
            random_system(8, max_lag=2, kind=kind, seed=seed).simulate(5_000, seed=seed + 1)
        except SettingError:
            continue
        seeds.append(seed)
        if len(seeds) == count:
            break
    return seeds


def changed(
    kind: str, seed: int, rows: int, *, planted: bool
) -> tuple[set[tuple[int, int, int]], tuple[int, int, int]]:
    """The links reported, and the link whose coefficient was halved if one was."""
    system = random_system(8, max_lag=2, kind=kind, seed=seed)
    between = [k for k, edge in enumerate(system.edges) if edge.source != edge.target]
    number = between[int(np.random.default_rng(seed).integers(len(between)))]
    edge = system.edges[number]
    other = system
    if planted:
        weaker = replace(edge, coefficients=tuple(c / 2 for c in edge.coefficients))
        edges = (*system.edges[:number], weaker, *system.edges[number + 1 :])
        other = replace(system, edges=edges)
    old = cw.learn(system.simulate(rows, seed=seed + 1).values, every=1.0, max_lag=2)
    new = cw.learn(other.simulate(rows, seed=seed + 2).values, every=1.0, max_lag=2)
    place = {name: k for k, name in enumerate(old.signals)}
    found = {
        (place[k.link.source], place[k.link.target], k.link.lag)
        for k in diff(old, new, alpha=ALPHA).changes
    }
    return found, (edge.source, edge.target, edge.lag)


if __name__ == "__main__":
    main()
