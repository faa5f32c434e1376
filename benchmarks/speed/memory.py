"""How much memory ``causewatch learn`` needs for files of growing size.

Usage: ``python -m benchmarks.speed.memory [--quick] [--folder DIR]``. One CSV file of 50 signals
grows in a temporary folder (which needs 3 GB of room) and is learned from at each size; a full run
takes about five minutes and writes its table to ``docs/benchmarks.md``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.common import MIB, Cost, launch, machine, options, publish, seconds, table
from numpy.typing import NDArray
from scipy.signal import lfilter

__all__: list[str] = []

Floats = NDArray[np.float64]
MB = 1_000_000
SIGNALS = 50
BLOCK = 20_000
START = np.datetime64("2026-01-01T00:00:00", "ms")


class Growing:
    """A CSV file, one row per second, to which rows are added.

    Five signals each make a chain: every one follows its own past and, but for the first, what the
    one before it did two rows ago.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self._random = np.random.default_rng(20)
        self._keep = self._random.uniform(0.6, 0.95, SIGNALS)
        self._state = np.zeros((SIGNALS, 1))
        self._tail = np.zeros((2, SIGNALS))
        self._names = [f"S{k:02d}" for k in range(1, SIGNALS + 1)]

    def reach(self, size: int) -> None:
        """Add rows until the file has about `size` bytes."""
        with self.path.open("ab") as file:
            while file.tell() < size:
                seconds_since = np.arange(self.rows, self.rows + BLOCK) * 1000
                columns = [pl.Series("time", START + seconds_since.astype("timedelta64[ms]"))]
                for name, values in zip(self._names, self._block().T, strict=True):
                    columns.append(pl.Series(name, values))
                pl.DataFrame(columns).write_csv(
                    file,
                    include_header=self.rows == 0,
                    datetime_format="%Y-%m-%dT%H:%M:%S",
                    float_precision=5,
                )
                self.rows += BLOCK

    def _block(self) -> Floats:
        noise = self._random.standard_normal((BLOCK, SIGNALS))
        values = np.empty((2 + BLOCK, SIGNALS))
        values[:2] = self._tail
        for k in range(SIGNALS):
            drive = noise[:, k] + (0.4 * values[:-2, k - 1] if k % 5 else 0.0)
            values[2:, k], self._state[k] = lfilter(
                [1.0], [1.0, -self._keep[k]], drive, zi=self._state[k]
            )
        self._tail = values[-2:]
        return values[2:]


def main() -> None:
    chosen = options(__doc__, folder={"help": "where to put the file; a temporary folder if not"})
    sizes = [50, 150] if chosen.quick else [100, 300, 1000, 2500]
    lines: list[list[object]] = []
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        file = Growing(folder / "normal.csv")
        for size in sizes:
            file.reach(size * MB)
            cost, told = learn(file.path, folder / "model.cwm")
            lines.append(
                [
                    f"{file.path.stat().st_size / MB:,.0f} MB",
                    f"{file.rows:,}",
                    f"{cost.peak / MIB:,.0f} MiB",
                    seconds(cost.wall),
                    seconds(cost.cpu),
                    told,
                ]
            )
            print(lines[-1], flush=True)
    idle = launch([sys.executable, "-m", "causewatch", "learn", "--help"])
    head = ["CSV file", "rows", "peak memory", "time", "CPU", "model"]
    text = [
        machine("polars"),
        table(head, lines),
        f"`causewatch learn` with its defaults; {SIGNALS} signals. The bare command with `--help`"
        f" takes {idle.peak / MIB:,.0f} MiB.",
    ]
    publish("memory", "\n\n".join(text), quick=chosen.quick)


def learn(recording: Path, model: Path) -> tuple[Cost, str]:
    """Learn from the file in a fresh process; what came of it, in a few words."""
    command = [sys.executable, "-m", "causewatch", "learn", str(recording), "--out", str(model)]
    cost = launch([*command, "--force", "--json"])
    if cost.code != 0:
        msg = f"causewatch learn ended with exit code {cost.code}: {cost.errors.strip()}"
        raise SystemExit(msg)
    told: dict[str, Any] = json.loads(cost.output)
    links = told["links"]
    return cost, f"{links if isinstance(links, int) else len(links)} links"


if __name__ == "__main__":
    main()
