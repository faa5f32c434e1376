"""Whether false alarms come as often as asked for.

Usage: ``python -m benchmarks.accuracy.false_alarms [--quick]``. Models are learnt from simulated
normal operation, asked for one false alarm in half of its length, and watch a long normal stream of
the same system; alarms are counted as the monitor raises them. Systems: random ones with Gaussian,
heavy-tailed and two-valued signals, and a vector autoregression fitted to the normal Tennessee
Eastman recording. Everything here is simulation. Seeds 200–207 served to develop the limits; those
below did not.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from benchmarks.accuracy.plants import tep_table
from benchmarks.common import data_folder, machine, options, publish, table
from numpy.typing import NDArray

import causewatch as cw
from causewatch.simulate import random_system

__all__: list[str] = []

Floats = NDArray[np.float64]

SEEDS = range(900, 920)
NORMAL_TICKS = 3000
ASKED = 1500.0
EXPECTED = 30
"""Expected number of alarms in the stream."""
KINDS = ("linear", "heavy", "binary", "tep")
NAMES = {
    "linear": "random, Gaussian",
    "heavy": "random, heavy-tailed (Student's t, 3)",
    "binary": "random, two-valued signals among them",
    "tep": "VAR fitted to Tennessee Eastman normal",
}


class FittedVar:
    """A vector autoregression of order 1 fitted to a recording, to simulate from."""

    def __init__(self, rows: Floats) -> None:
        scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        before, now = scaled[:-1], scaled[1:]
        size = rows.shape[1]
        weights = np.linalg.solve(before.T @ before + 5.0 * np.eye(size), before.T @ now).T
        growth = np.abs(np.linalg.eigvals(weights)).max()
        self.weights = weights * min(1.0, 0.98 / growth)
        left = now - before @ self.weights.T
        self.noise = np.linalg.cholesky(np.cov(left.T) + 1e-6 * np.eye(size))

    def simulate(self, rows: int, seed: int) -> Floats:
        """Rows of the system in standard units."""
        drive = np.random.default_rng(seed).normal(size=(rows + 200, len(self.weights)))
        drive = drive @ self.noise.T
        values = np.zeros_like(drive)
        for t in range(1, len(values)):
            values[t] = self.weights @ values[t - 1] + drive[t]
        return values[200:]


def recording(kind: str, rows: int, system: int, seed: int) -> Floats:
    """Normal rows of the system drawn from `system`."""
    if kind == "tep":
        folder = data_folder()
        if folder is None:
            msg = "The real recordings are absent: set CAUSEWATCH_DATA."
            raise SystemExit(msg)
        return FittedVar(tep_table(folder, "d00").values).simulate(rows, seed)
    return random_system(10, max_lag=3, kind=kind, seed=system).simulate(rows, seed=seed).values


def observed(kind: str, seed: int, expected: int) -> float:
    """Observed time between alarms in units of the asked one."""
    os.environ["OMP_NUM_THREADS"] = "1"
    normal = recording(kind, NORMAL_TICKS, seed, seed + 10_000)
    model = cw.learn(normal, every=1.0, false_alarm_every=ASKED)
    monitor = cw.Monitor(model)
    alarms = 0
    rows = recording(kind, int(expected * ASKED), seed, seed + 20_000)
    for row in rows:
        alarms += sum(one.kind == "anomaly" for one in monitor.update(row).raised)
    return len(rows) / ASKED / max(alarms, 0.5)


def main() -> None:
    """Run all systems and print the table."""
    given = options(__doc__)
    seeds = list(SEEDS)[:4] if given.quick else list(SEEDS)
    rows = []
    with ProcessPoolExecutor(2) as pool:
        for kind in KINDS:
            found = np.array(list(pool.map(partial(observed, kind, expected=EXPECTED), seeds)))
            within = [np.mean((found > 1 / k) & (found < k)) for k in (2, 3)]
            rows.append(
                [
                    NAMES[kind],
                    len(seeds),
                    f"{np.median(found):.2f}",
                    f"{found.min():.2f} – {found.max():.2f}",
                    f"{within[0]:.0%}",
                    f"{within[1]:.0%}",
                ]
            )
            print(rows[-1], flush=True)
    head = ["system", "seeds", "median", "range", "within 2×", "within 3×"]
    text = (
        f"Observed time between alarms in units of the asked one ({ASKED:.0f} ticks, half of the"
        f" {NORMAL_TICKS} normal ticks; streams of {EXPECTED} × that). Simulation.\n\n"
        + table(head, rows)
        + f"\n\n`python -m benchmarks.accuracy.false_alarms`; {machine()}"
    )
    publish("false_alarms", text, quick=given.quick)


if __name__ == "__main__":
    main()
