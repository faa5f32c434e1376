"""How fast a whole recording is scored, next to a monitor that is given row after row.

Usage: ``python -m benchmarks.speed.batch [--quick]``. A full run takes about ten minutes and
writes its table to ``docs/benchmarks.md``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from benchmarks.common import interleaved, machine, options, publish, seconds, table
from benchmarks.speed.watching import LAGS, NORMAL_TICKS, START, Network
from numpy.typing import NDArray

import causewatch as cw

__all__: list[str] = []

Floats = NDArray[np.float64]

SIGNALS, LINKS = 50, 250
ROWS = 1_000_000
PER_TICK = (1, 10, 60)
GOAL = "100,000"


def main() -> None:
    quick: bool = options(__doc__).quick
    lines = [line(per, ROWS // 50 if quick else ROWS) for per in PER_TICK]
    head = ["rows per tick", "`cw.score`", "rows per second", "row by row", "ratio", "scores"]
    note = (
        f"{SIGNALS} signals, {LINKS} links, {ROWS:,} rows; processor time of one core. *Row by"
        f" row* is `Monitor.update` of every row as an array. The goal is {GOAL} rows per second."
    )
    publish("batch", "\n\n".join([machine("polars"), table(head, lines), note]), quick=quick)


def line(per: int, rows: int) -> list[object]:
    """Both ways on the same rows, in turn."""
    network = Network.drawn(SIGNALS, LINKS)
    normal = recording(network, NORMAL_TICKS, per, 1)
    model = cw.learn(normal, every=float(per), max_lag=LAGS, method=network)
    today = recording(network, rows // per, per, 2)
    values = today.drop("time").to_numpy()
    ways = {
        "score": lambda: cw.score(model, today)["score"].to_numpy(),
        "rows": lambda: row_by_row(model, values, per),
    }
    timed = interleaved(ways, dict.fromkeys(ways, 1 if rows > 100_000 else 3))
    whole, single = timed["score"], timed["rows"]
    same = np.array_equal(whole.result, single.result, equal_nan=True)
    found: list[object] = [
        per,
        seconds(whole.cpu),
        f"{len(today) / whole.cpu:,.0f}",
        seconds(single.cpu),
        f"{single.cpu / whole.cpu:.2f}",
        "equal to the last bit" if same else "**differ**",
    ]
    print(found, flush=True)
    return found


def recording(network: Network, ticks: int, per: int, seed: int) -> pl.DataFrame:
    """Rows a second apart, with a little noise within each tick."""
    values = network.simulate(ticks, seed).repeat(per, axis=0)
    values += 0.1 * np.random.default_rng(seed).normal(size=values.shape)
    times = START + (np.arange(len(values)) * 1000).astype("timedelta64[ms]")
    return pl.DataFrame(
        {"time": times, **{f"S{k:02d}": column for k, column in enumerate(values.T)}}
    )


def row_by_row(model: cw.NormalModel, values: Floats, per: int) -> Floats:
    """The score of every row, from a monitor that knows no more than the rows so far."""
    monitor = cw.Monitor(model)
    said = [one.score for row in values for one in monitor.update(row).all if one.complete]
    said += [one.score for one in monitor.flush().all if one.complete]
    return np.array(said, dtype=np.float64).repeat(per)


if __name__ == "__main__":
    main()
