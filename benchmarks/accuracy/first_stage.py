"""Precision and recall of links by the level of PCMCI's first stage (ADR 0007). A simulation."""

from __future__ import annotations

import numpy as np

import causewatch as cw
from causewatch.simulate import SYSTEM_KINDS, random_system

SEEDS = range(100, 112)
LEVELS = (0.001, 0.01, 0.05, 0.2)


def main() -> None:
    print(f"12 signals, true lags up to 3, 3,000 rows, alpha 0.001, seeds {SEEDS}")
    print("kind lags " + " ".join(f"P({level}) R({level})" for level in LEVELS))
    for kind in SYSTEM_KINDS:
        for max_lag in (3, 6):
            scores = np.zeros((len(LEVELS), 2))
            for seed in SEEDS:
                system = random_system(12, seed=seed, kind=kind, max_lag=3)
                rows = system.simulate(3000, seed=seed).values
                moments = cw.LaggedMoments(system.signals, max_lag=max_lag).update(rows)
                true = set(system.graph)
                for k, level in enumerate(LEVELS):
                    found = set(cw.pcmci(moments, alpha=0.001, parents_alpha=level).graph)
                    hits = len(found & true)
                    scores[k] += hits / max(1, len(found)), hits / len(true)
            scores /= len(SEEDS)
            print(kind, max_lag, " ".join(f"{p:.3f} {r:.3f}" for p, r in scores))


if __name__ == "__main__":
    main()
