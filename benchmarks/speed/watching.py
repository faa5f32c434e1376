"""How long watching takes, next to river and to the paper's way of solving everything again.

Usage: ``python -m benchmarks.speed.watching [--quick]``. A full run takes about fifteen minutes on
two idle cores and writes its tables to ``docs/benchmarks.md``.
"""

from __future__ import annotations

import csv
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.common import (
    MIB,
    Cost,
    interleaved,
    launch,
    machine,
    options,
    publish,
    seconds,
    table,
)
from numpy.typing import NDArray
from tests import literal_paper

import causewatch as cw
from causewatch.detectors import PublishedDetector
from causewatch.discovery import LaggedMoments
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.monitor.state import pack

__all__: list[str] = []

Floats = NDArray[np.float64]

LAGS = 5
NORMAL_TICKS = 4000
BLOCK = 50
"""Rows of one turn, before the next program has its turn."""
START = np.datetime64("2026-01-01T00:00:00", "ms")


@dataclass(frozen=True, eq=False)
class Network:
    """A stable linear system with a given number of links; `weights` is lag × target × source."""

    weights: Floats

    @classmethod
    def drawn(cls, signals: int, links: int) -> Network:
        """Every signal follows its own past and as many others as make up `links`."""
        random = np.random.default_rng(signals)
        weights = np.zeros((LAGS, signals, signals))
        sizes = np.full(signals, links // signals)
        sizes[: links % signals] += 1
        for target, size in enumerate(sizes.tolist()):
            places = random.permutation(LAGS * signals)
            places = places[places != target][: size - 1]
            weights[places // signals, target, places % signals] = random.normal(
                scale=0.5 / np.sqrt(size), size=size - 1
            )
            weights[0, target, target] = 0.4
        return cls(weights)

    def simulate(self, ticks: int, seed: int) -> Floats:
        signals = self.weights.shape[1]
        flat = np.concatenate(list(self.weights), axis=1)
        values = np.random.default_rng(seed).normal(size=(ticks + 100, signals))
        for tick in range(LAGS, len(values)):
            values[tick] += flat @ values[tick - LAGS : tick][::-1].ravel()
        return values[100:]

    def discover(
        self,
        ticks: object,
        moments: LaggedMoments,
        constraints: object = None,
        progress: object = None,
    ) -> CausalGraph:
        """A discoverer that knows the links, so that there are as many as asked for."""
        names = moments.signals
        return CausalGraph(
            names,
            {
                Link(names[source], names[target], lag + 1): Strength(0.5, 0.0)
                for lag, target, source in np.argwhere(self.weights).tolist()
            },
        )


def main() -> None:
    quick: bool = options(__doc__).quick
    parts = [
        machine("river", "polars"),
        "### One update",
        updates(quick),
        "### A long stream",
        long_stream(quick),
        "### The command",
        command(quick),
        "### The published method",
        published(quick),
    ]
    publish("watching", "\n\n".join(parts), quick=quick)


def learnt(network: Network) -> cw.NormalModel:
    return cw.learn(network.simulate(NORMAL_TICKS, 1), every=1.0, max_lag=LAGS, method=network)


def updates(quick: bool) -> str:
    """Median time of one complete update, next to river's on the same rows."""
    grid = [(51, 1300, 2_000), (243, 5000, 1_000)]
    if quick:
        grid = [(51, 1300, 200), (243, 5000, 100)]
    lines: list[list[object]] = []
    for signals, links, ticks in grid:
        network = Network.drawn(signals, links)
        model = learnt(network)
        rows = network.simulate(ticks, 2)
        found = in_turns(_programs(model, rows), ticks)
        peer = found["river"]
        for name, goal in (
            ("update", {51: "100 µs", 243: "2 ms"}[signals]),
            ("update, values in order", "–"),
            ("update and every link", {51: "300 µs", 243: "–"}[signals]),
            ("river", "–"),
        ):
            lines.append(
                [
                    f"{signals} / {len(model.graph):,}",
                    name if name != "river" else "river, HalfSpaceTrees: score and learn",
                    micro(np.median(found[name])),
                    micro(np.quantile(found[name], 0.9)),
                    f"{np.median(found[name]) / np.median(peer):.2f}",
                    goal,
                ]
            )
            print(lines[-1], flush=True)
    head = ["signals / links", "what", "median", "nine in ten below", "ratio to river", "goal"]
    note = (
        "*Update* is a whole `Monitor.update` of a row given as a mapping, one row per tick; *every"
        " link* asks for `Monitor.broken_links()` after each of them, which a monitor does by"
        " itself only when an alarm has something to tell. river's rows were scaled to 0–1 before."
    )
    return table(head, lines) + "\n\n" + note


def _programs(model: cw.NormalModel, rows: Floats) -> dict[str, Callable[[int], Any]]:
    from river.anomaly import HalfSpaceTrees

    names = model.signals
    mappings = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    span = rows.max(axis=0) - rows.min(axis=0)
    scaled = ((rows - rows.min(axis=0)) / span).tolist()
    features = [dict(zip(names, row, strict=True)) for row in scaled]
    plain, ordered, linked = cw.Monitor(model), cw.Monitor(model), cw.Monitor(model)
    trees = HalfSpaceTrees(seed=1)

    def with_links(number: int) -> None:
        linked.update(mappings[number])
        linked.broken_links()

    def river(number: int) -> None:
        trees.score_one(features[number])
        trees.learn_one(features[number])

    return {
        "update": lambda number: plain.update(mappings[number]),
        "update, values in order": lambda number: ordered.update(rows[number]),
        "update and every link": with_links,
        "river": river,
    }


def in_turns(programs: dict[str, Callable[[int], Any]], rows: int) -> dict[str, Floats]:
    """Wall time of every call after the first tenth; the programs take turns block by block."""
    spent: dict[str, list[float]] = {name: [] for name in programs}
    clock = time.perf_counter
    for first in range(0, rows, BLOCK):
        for name, call in programs.items():
            times = spent[name]
            for number in range(first, min(first + BLOCK, rows)):
                before = clock()
                call(number)
                times.append(clock() - before)
    return {name: np.array(times[rows // 10 :]) for name, times in spent.items()}


def long_stream(quick: bool) -> str:
    """Time, memory and state at the beginning and at the end of a long stream."""
    ticks = 10_000 if quick else 1_000_000
    part = ticks // 10
    network = Network.drawn(51, 1300)
    model = learnt(network)
    monitor = cw.Monitor(model)
    recording = network.simulate(min(20_000, ticks), 3).tolist()
    rows = [dict(zip(model.signals, row, strict=True)) for row in recording]
    spent, alarmed = np.empty(ticks), np.empty(ticks, dtype=np.bool_)
    lines: list[list[object]] = []
    clock = time.perf_counter
    for number in range(ticks):
        before = clock()
        tick = monitor.update(rows[number % len(rows)])
        spent[number], alarmed[number] = clock() - before, tick.alarm
        if number + 1 in (part, ticks // 2, ticks):
            gc.collect()
            last = slice(number + 1 - part, number + 1)
            calm = spent[last][~alarmed[last]]
            lines.append(
                [
                    f"{last.start + 1:,} to {last.stop:,}",
                    micro(np.median(spent[last])),
                    micro(np.median(calm)) if len(calm) else "–",
                    f"{alarmed[last].mean():.0%}",
                    f"{resident() / MIB:,.1f} MiB",
                    f"{size_of(monitor.snapshot()) / 1024:,.0f} KiB",
                ]
            )
            print(lines[-1], flush=True)
    head = ["ticks", "median update", "without an alarm", "ticks under alarm"]
    return table([*head, "memory of the process", "state"], lines)


def command(quick: bool) -> str:
    """Rows per second of ``causewatch watch`` on a CSV file, ten rows per tick."""
    sizes = (2_000, 12_000) if quick else (10_000, 210_000)
    network = Network.drawn(51, 1300)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "model.cwm"
        cw.learn(rows_of(network, NORMAL_TICKS, 1), every=10.0, max_lag=LAGS, method=network).save(
            model
        )
        files = []
        for rows in sizes:
            files.append(folder / f"{rows}.csv")
            rows_of(network, rows // 10, 2).write_csv(files[-1], float_precision=5)
        timed = interleaved(
            {
                "short": lambda: _watch(model, files[0]),
                "long": lambda: _watch(model, files[1]),
                "csv": lambda: _only_read(files[1]),
            },
            dict.fromkeys(("short", "long", "csv"), 1 if quick else 3),
        )
    codes = {timed[name].result.code for name in ("short", "long")}
    if codes != {0}:
        return f"`causewatch watch` failed: {timed['long'].result.errors[-300:]}"
    short, long = timed["short"].result.wall, timed["long"].result.wall
    net = (sizes[1] - sizes[0]) / (long - short)
    reading = sizes[1] / timed["csv"].wall
    lines = [
        ["`causewatch watch`, start-up included", seconds(long), f"{sizes[1] / long:,.0f}"],
        ["the same without start-up", seconds(long - short), f"**{net:,.0f}** (goal 10,000)"],
        ["Python's csv module and float() alone", seconds(timed["csv"].wall), f"{reading:,.0f}"],
    ]
    head = [f"{sizes[1]:,} rows of 51 signals, ten to a tick", "time", "rows per second"]
    return table(head, lines)


def rows_of(network: Network, ticks: int, seed: int) -> pl.DataFrame:
    """Ten rows for every tick, with a little noise, one second apart."""
    values = network.simulate(ticks, seed).repeat(10, axis=0)
    values += 0.1 * np.random.default_rng(seed).normal(size=values.shape)
    times = START + (np.arange(len(values)) * 1000).astype("timedelta64[ms]")
    columns = {f"S{k:03d}": column for k, column in enumerate(values.T)}
    return pl.DataFrame({"time": times, **columns})


def _watch(model: Path, rows: Path) -> Cost:
    alarms = rows.with_suffix(".jsonl")
    words = ["watch", str(model), str(rows), "--alarms", str(alarms), "--force"]
    return launch([sys.executable, "-m", "causewatch", *words])


def _only_read(path: Path) -> int:
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        next(lines)
        return sum(len([float(cell) for cell in line[1:]]) for line in lines)


def published(quick: bool) -> str:
    """One tick of the published detector late in a stream, next to solving it all again."""
    moments = (500, 1_000) if quick else (1_000, 10_000, 50_000)
    network = Network.drawn(51, 1300)
    equations = learnt(network).equations
    ticks = network.simulate(max(moments) + 1, 4)
    detector = PublishedDetector(equations, np.ones(len(equations.source)))
    spent = np.empty(len(ticks))
    lines: list[list[object]] = []
    for number, row in enumerate(ticks):
        before = time.perf_counter()
        detector.update(row)
        spent[number] = time.perf_counter() - before
        if number + 1 not in moments:
            continue
        ours = float(np.median(spent[number - 99 : number + 1]))
        again = interleaved(
            {"again": lambda: literal_paper.coefficients(ticks, equations, number)},  # noqa: B023
            {"again": 1 if quick else 3},
        )["again"]
        apart = np.abs(detector.links().observed - again.result)
        relative = float((apart / np.abs(equations.coefficient)).max())
        lines.append(
            [
                f"{number + 1:,}",
                micro(ours),
                seconds(again.wall),
                f"**{again.wall / ours:,.0f}**",
                f"{relative:.0e}",
            ]
        )
        print(lines[-1], flush=True)
    head = ["ticks so far", "`PublishedDetector.update`", "`numpy.linalg.lstsq` for every target"]
    return table([*head, "ratio", "largest relative difference of a coefficient"], lines)


def micro(value: float | np.floating[Any]) -> str:
    """A duration in microseconds, or in milliseconds from one on."""
    value = float(value)
    return f"{value * 1e6:.0f} µs" if value < 1e-3 else seconds(value)


def size_of(state: dict[str, Any]) -> int:
    """Bytes of the arrays of a state."""
    arrays: dict[str, NDArray[Any]] = {}
    pack(state, arrays)
    return sum(array.nbytes for array in arrays.values())


def resident() -> int:
    """Bytes of memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
