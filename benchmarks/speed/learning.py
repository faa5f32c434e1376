"""How long discovery takes, next to tigramite and jax-pcmci in the same run.

Usage: ``python -m benchmarks.speed.learning [--quick|--headline]``. A full run takes about ten
minutes on two idle cores and writes its tables to ``docs/benchmarks.md``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import peers
from benchmarks.common import (
    GIB,
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
from benchmarks.recordings import plant_like, random_linear
from numpy.typing import NDArray

import causewatch

__all__: list[str] = []

Floats = NDArray[np.float64]
Maker = Callable[[int, int, int], Floats]
Case = tuple[str, Maker, tuple[int, int, int], int, int]
"""Recording, its maker, size, and how often tigramite and causewatch are run."""
ALPHA = 0.05


def main() -> None:
    about = "only 33 × 2,000 × 5 next to tigramite; does not write the docs page"
    chosen = options(__doc__, headline={"action": "store_true", "help": about})
    quick: bool = chosen.quick
    if chosen.headline:
        print(machine("tigramite"))
        next_to_peers(True, [("random", random_linear, (33, 2000, 5), 2, 10)])
        return
    parts = [
        machine("tigramite", "jax-pcmci", "jax"),
        "### Next to tigramite and jax-pcmci",
        next_to_peers(quick),
        "### On its own",
        alone(quick),
        "### How the cost grows",
        growth(quick),
        "### The first run",
        first_run(),
    ]
    publish("learning", "\n\n".join(parts), quick=quick)


def next_to_peers(quick: bool, only: list[Case] | None = None) -> str:
    """Times and ratios on the same rows."""
    grid: list[Case] = [
        ("random", random_linear, (10, 1000, 3), 3, 10),
        ("random", random_linear, (33, 2000, 5), 2, 10),
        ("plant-like", plant_like, (33, 2000, 5), 1, 10),
        ("random", random_linear, (50, 10_000, 3), 1, 5),
    ]
    if quick:
        grid = [
            ("random", random_linear, (10, 1000, 3), 2, 5),
            ("random", random_linear, (20, 1000, 3), 1, 5),
        ]
    grid = only or grid
    lines, others = [], []
    causewatch.pcmci(random_linear(5, 200, 2), max_lag=2)
    for name, make, (signals, rows, lag), theirs, ours in grid:
        values = make(signals, rows, lag)
        size = f"{signals} × {rows:,} × {lag}"
        timed = interleaved(
            {
                "ours": _discover(values, lag),
                "one thread": _tigramite(values, lag, 1),
                "as it comes": _tigramite(values, lag, None),
            },
            {"ours": ours, "one thread": theirs, "as it comes": 1},
        )
        one, single, plain = timed["ours"], timed["one thread"], timed["as it comes"]
        value, p_value = single.result
        apart = float(np.abs(one.result.value - value).max())
        differ = int(((one.result.p_value <= ALPHA) != (p_value <= ALPHA)).sum())
        lines.append(
            [
                name,
                size,
                f"{seconds(one.wall)} ({seconds(one.cpu)})",
                f"{seconds(single.wall)} ({seconds(single.cpu)})",
                f"**{single.wall / one.wall:,.0f}** ({single.cpu / one.cpu:,.0f})",
                f"{seconds(plain.wall)} ({seconds(plain.cpu)})",
                f"**{plain.wall / one.wall:,.0f}** ({plain.cpu / one.cpu:,.0f})",
                f"{apart:.0e}",
                differ,
            ]
        )
        print(lines[-1], flush=True)
        if not quick and name == "random" and signals < 50:
            others += _jax_lines(values, lag, size, one.wall, one.result)
    head = ["recording", "signals × rows × lag", "causewatch (CPU)"]
    head += ["tigramite, one BLAS thread (CPU)", "ratio (of CPU)"]
    head += ["tigramite as it comes (CPU)", "ratio (of CPU)"]
    head += ["largest difference of a value", "links that differ"]
    parts = [table(head, lines)]
    if others:
        head = ["signals × rows × lag", "setting", "first call", "later calls", "CPU"]
        head += ["peak memory", "ratio of later calls to causewatch", "links that differ"]
        head += ["largest difference of a value"]
        parts += ["jax-pcmci on the same rows, in a process of its own:", table(head, others)]
    return "\n\n".join(parts)


def _discover(values: Floats, lag: int) -> Callable[[], Any]:
    return lambda: causewatch.pcmci(values, max_lag=lag, alpha=ALPHA)


def _tigramite(values: Floats, lag: int, threads: int | None) -> Callable[[], Any]:
    return lambda: peers.tigramite(values, lag, ALPHA, threads=threads)


def _jax_lines(
    values: Floats, lag: int, size: str, ours: float, result: causewatch.discovery.DiscoveryResult
) -> list[list[object]]:
    lines: list[list[object]] = []
    for setting, batch in (("as it comes", None), ("64 links at a time", 64)):
        run = peers.jax_pcmci(values, lag, batch=batch, double=False, timeout=60.0)
        peak = f"{run.peak / MIB:,.0f} MiB"
        if run.first is None or run.again is None or run.again_cpu is None:
            lines.append([size, setting, run.failure, "–", "–", peak, "–", "–", "–"])
            continue
        differ = int(((run.p_value <= ALPHA) != (result.p_value <= ALPHA))[:, :, 1:].sum())
        apart = float(np.abs(run.value - result.value)[:, :, 1:].max())
        lines.append(
            [
                size,
                setting,
                seconds(run.first),
                seconds(run.again),
                seconds(run.again_cpu),
                peak,
                f"{run.again / ours:,.0f}",
                f"{differ} ({len(result.graph)} found by causewatch)",
                f"{apart:.2f}",
            ]
        )
        break
    return lines


def alone(quick: bool) -> str:
    """Sizes that are out of reach of the others, with peak memory."""
    grid: list[tuple[str, Maker, tuple[int, int, int], str]] = [
        ("random", random_linear, (243, 9800, 5), "10 s, 2 GiB"),
        ("plant-like", plant_like, (243, 9800, 5), "10 s, 2 GiB"),
        ("random", random_linear, (50, 500_000, 3), "5 s"),
    ]
    if quick:
        grid = [("random", random_linear, (60, 5000, 3), "–")]
    lines: list[list[object]] = []
    limited = ""
    for name, make, (signals, rows, lag), goal in grid:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npy"
            np.save(path, make(signals, rows, lag))
            cost, told = _one(path, lag, 1 if quick else 2)
            lines.append(
                [
                    name,
                    f"{signals} × {rows:,} × {lag}",
                    seconds(told["wall"]),
                    seconds(told["cpu"]),
                    f"{cost.peak / MIB:,.0f} MiB",
                    told["links"],
                    goal,
                ]
            )
            print(lines[-1], flush=True)
            if not limited:
                limited = _limited(path, lag, told["idle_address_space"])
    head = ["recording", "signals × rows × lag", "time", "CPU", "peak memory of the process"]
    return table([*head, "links", "goal"], lines) + "\n\n" + limited


def _one(path: Path, lag: int, repeats: int, limit: int | None = None) -> tuple[Cost, Any]:
    command = [sys.executable, "-m", "benchmarks.speed.one", str(path), str(lag), str(repeats)]
    cost = launch(command, address_space=limit)
    return cost, json.loads(cost.output) if cost.code == 0 else None


def _limited(path: Path, lag: int, idle: int | None) -> str:
    """The first of these once more, with the address space of the process limited."""
    if idle is None:
        return "This system does not say how much address space a process has; no limit was tried."
    said = []
    for limit, what in (
        (idle + 2 * GIB, f"2 GiB more than the {idle / MIB:,.0f} MiB it takes up before learning"),
        (2 * GIB, "2 GiB in all, libraries and thread stacks included"),
    ):
        cost, told = _one(path, lag, 1, limit)
        if told is None:
            last = (cost.errors.strip().splitlines() or [f"exit code {cost.code}"])[-1]
            said.append(f"with {what}, it fails ({last})")
        else:
            said.append(f"with {what}, it takes {seconds(told['wall'])}")
    return (
        "The first of these with the address space of the process limited (`RLIMIT_AS`, which"
        " counts reserved memory, not only memory in use): " + "; ".join(said) + "."
    )


def growth(quick: bool) -> str:
    """Each of signals, rows and lag doubled, the others held."""
    base = {"signals": 20, "rows": 2000, "lag": 3}
    most = {"signals": 2, "rows": 2, "lag": 2} if quick else {"signals": 4, "rows": 7, "lag": 3}
    lines: list[list[object]] = []
    for what, doublings in most.items():
        last = 0.0
        for power in range(doublings):
            size = {**base, what: base[what] * 2**power}
            # The systems have lags up to 3 throughout: only the lags looked at grow.
            values = random_linear(size["signals"], size["rows"], base["lag"])
            timed = interleaved({"ours": _discover(values, size["lag"])}, {"ours": 4})["ours"]
            lines.append(
                [
                    what,
                    f"{size['signals']} × {size['rows']:,} × {size['lag']}",
                    seconds(timed.wall),
                    seconds(timed.cpu),
                    f"{timed.cpu / last:.1f}" if last else "",
                ]
            )
            last = timed.cpu
    head = ["doubled", "signals × rows × lag", "time", "CPU", "CPU, times the line before"]
    return table(head, lines)


def first_run() -> str:
    """A new process with empty cache folders, and the same once more."""
    code = (
        "import numpy, causewatch;"
        "rows = numpy.random.default_rng(0).normal(size=(2000, 33));"
        "causewatch.pcmci(rows, max_lag=5)"
    )
    command = [sys.executable, "-c", code]
    lines = []
    for what, compiled in (("caches in the home folder", False), ("Python's bytecode too", True)):
        with tempfile.TemporaryDirectory() as folder:
            names = ["HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR"]
            environment = dict.fromkeys([*names, *["PYTHONPYCACHEPREFIX"] * compiled], folder)
            cold = launch(command, environment=environment)
            warm = [launch(command, environment=environment) for _ in range(3)]
        wall, cpu = min(w.wall for w in warm), min(w.cpu for w in warm)
        lines.append(
            [
                what,
                seconds(cold.wall),
                seconds(wall),
                f"{cold.wall - wall:.2f} s",
                f"{cold.cpu - cpu:.2f} s",
            ]
        )
    head = ["empty at first", "first process", "later ones", "difference", "difference in CPU"]
    return table(head, lines)


if __name__ == "__main__":
    main()
