"""The plant of the proofs: a random lagged system with a fault now and then. A simulation.

Seeds 901 (the system), 902 (its normal recording), 903 (what is watched) and 904 (where faults are)
are used for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import causewatch as cw
from causewatch.simulate import random_system

START = np.datetime64("2026-03-01T00:00:00", "ns")


@dataclass(frozen=True)
class Plant:
    """A model, and rows to watch with it."""

    signals: tuple[str, ...]
    interval: float
    model: Path
    rows: NDArray[np.float64]

    def times(self) -> NDArray[np.datetime64]:
        """One for each row."""
        step = np.timedelta64(round(self.interval * 1e9), "ns")
        return START + np.arange(len(self.rows)) * step

    def write(self, path: Path) -> Path:
        """The rows as CSV."""
        names = ",".join(("time", *self.signals))
        with path.open("w", encoding="utf-8") as file:
            file.write(names + "\n")
            for when, row in zip(self.times(), self.rows, strict=True):
                file.write(f"{when}Z," + ",".join(f"{value:.5f}" for value in row) + "\n")
        return path


def build(
    folder: Path,
    signals: int,
    rows: int,
    interval: float,
    every: int,
    lasting: int,
    per_tick: int = 1,
    tick: float | None = None,
) -> Plant:
    """Learn the system, and let it run with a biased signal for `lasting` of each `every` rows.

    Where a plant is sampled faster than it moves, `per_tick` rows show the same with some noise,
    and make one tick. Otherwise a tick has `tick` seconds, or as many as are found to be right.
    """
    system = random_system(signals, seed=901)
    names = tuple(f"S{k:02d}" for k in range(signals))
    chance = np.random.default_rng(904)

    def sampled(count: int, seed: int) -> NDArray[np.float64]:
        values = system.simulate(-(-count // per_tick), seed=seed).values
        if per_tick > 1:
            values = np.repeat(values, per_tick, axis=0)[:count]
            values = values + chance.normal(0.0, 0.1, values.shape)
        return values

    normal = sampled(20_000 * min(per_tick, 10), 902)
    step = np.timedelta64(round(interval * 1e9), "ns")
    times = np.datetime64("2026-02-01T00:00:00", "ns") + np.arange(len(normal)) * step
    import polars as pl

    frame = pl.DataFrame({"time": times, **dict(zip(names, normal.T, strict=True))})
    model = cw.learn(frame, every=tick if per_tick == 1 else interval * per_tick)
    path = folder / "plant.cwm"
    model.save(path)
    values = sampled(rows, 903)
    spread = normal.std(axis=0)
    for first in range(every, rows - lasting, every):
        which = int(chance.integers(signals))
        values[first : first + lasting, which] += 8.0 * spread[which]
    return Plant(names, interval, path, values)
