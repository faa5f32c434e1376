"""How good the rule for working interval and maximum lag is (ADR 0006).

Usage: ``python -m benchmarks.accuracy.interval [--quick]``. Random systems of all kinds, as they
are and slowed down, are learned from at the interval and lag that the rule chooses and at fixed
ones. What counts is the F1 of *summary links*: which signal acts on which other one, whatever the
lag. A full run takes about three minutes, writes every single result to
``benchmarks/accuracy/results/interval.csv`` and a summary to ``docs/benchmarks.md``.
"""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from benchmarks.common import commit, data_folder, machine, options, publish, table
from numpy.typing import NDArray

import causewatch
from causewatch.model.learning import DEFAULT_ALPHA, PARENTS_ALPHA
from causewatch.preprocess.interval import choose_interval
from causewatch.simulate import SYSTEM_KINDS, random_system

__all__: list[str] = []

Floats = NDArray[np.float64]
Setting = tuple[int, int]
"""Rows per tick and longest lag."""

RESULTS = Path(__file__).parent / "results" / "interval.csv"
SIGNALS, ROWS = 10, 2000
TRUE_LAGS = (1, 3, 6)
SLOWED = (1, 5, 7, 20, 60)
SEEDS = range(7500, 7502)
"""Take new ones after changing the rule: 7100–7101 and 7300–7301 have served to improve it."""
FIXED: tuple[Setting, ...] = tuple(
    (every, lag) for every in (1, 2, 5, 10, 20, 50) for lag in (1, 2, 3, 5, 8)
)
LEAST_TICKS = 200
"""A fixed setting that leaves fewer ticks is not tried."""
NOISE = 0.05
"""Measurement noise of slowed recordings, in standard deviations."""


@dataclass(frozen=True)
class Task:
    """One recording."""

    kind: str
    true_lag: int
    slowed: int
    seed: int


@dataclass(frozen=True)
class Row:
    """One line of the results file."""

    commit: str
    kind: str
    true_lag: int
    slowed: int
    how: str
    seed: int
    chosen: bool
    """Whether this is the rule's setting, or a fixed one."""
    rows_per_tick: int
    max_lag: int
    f1: float


def main() -> None:
    quick: bool = options(__doc__).quick
    tasks = [
        Task(kind, true_lag, slowed, seed)
        for slowed in (SLOWED[:3] if quick else SLOWED)
        for kind in SYSTEM_KINDS
        for true_lag in TRUE_LAGS
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        rows = [row for part in pool.map(run, tasks) for row in part]
    if not quick:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(asdict(rows[0])))
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
    text = [
        machine(),
        f"Seeds {SEEDS[0]}–{SEEDS[-1]}; {SIGNALS} signals, {ROWS:,} rows before slowing down.",
        summary(rows, "slowed down by", lambda row: row.slowed),
        summary(rows, "kind", lambda row: row.kind),
        summary(rows, "true lags up to", lambda row: row.true_lag),
        "Choices for real recordings:",
        real_recordings(),
    ]
    publish("interval", "\n\n".join(text), quick=quick)


def run(task: Task) -> list[Row]:
    """Learn from one recording at all settings."""
    system = random_system(SIGNALS, max_lag=task.true_lag, kind=task.kind, seed=task.seed)
    held = task.seed % 2 == 0
    values = slowed_down(
        system.simulate(ROWS, seed=task.seed).values, task.slowed, held=held, seed=task.seed
    )
    place = {name: k for k, name in enumerate(system.signals)}
    truth = np.zeros((SIGNALS, SIGNALS), dtype=bool)
    for link in system.graph:
        truth[place[link.source], place[link.target]] = not link.is_auto
    choice = choose_interval([values])
    settings = [(True, (choice.rows_per_tick, choice.max_lag))]
    settings += [(False, one) for one in FIXED if len(values) // one[0] >= LEAST_TICKS]
    how = "as it is" if task.slowed == 1 else "held" if held else "interpolated"
    return [
        Row(
            commit=commit(),
            kind=task.kind,
            true_lag=task.true_lag,
            slowed=task.slowed,
            how=how,
            seed=task.seed,
            chosen=chosen,
            rows_per_tick=setting[0],
            max_lag=setting[1],
            f1=round(_f1(found(values, setting), truth), 4),
        )
        for chosen, setting in settings
    ]


def slowed_down(values: Floats, factor: int, *, held: bool, seed: int) -> Floats:
    """`factor` rows for each: held or interpolated, with measurement noise.

    The recording starts somewhere within a held row, so that ticks do not fall into step with it.
    """
    if factor == 1:
        return values
    random = np.random.default_rng(seed)
    if held:
        slow = np.repeat(values, factor, axis=0)
    else:
        at = np.arange((len(values) - 1) * factor + 1) / factor
        low = np.minimum(at.astype(np.intp), len(values) - 2)
        share = (at - low)[:, None]
        slow = (1 - share) * values[low] + share * values[low + 1]
    slow = slow + NOISE * values.std(axis=0) * random.normal(size=slow.shape)
    return slow[int(random.integers(factor)) :]


def found(values: Floats, setting: Setting) -> NDArray[np.bool_]:
    """Summary links, found as ``causewatch learn`` does by default."""
    every, lag = setting
    whole = len(values) // every * every
    ticks = values[:whole].reshape(-1, every, values.shape[1]).mean(axis=1)
    result = causewatch.pcmci(ticks, max_lag=lag, alpha=DEFAULT_ALPHA, parents_alpha=PARENTS_ALPHA)
    strength = np.abs(result.value)
    kept = (result.p_value <= DEFAULT_ALPHA) & (strength > strength.mean())
    kept = kept.any(axis=2)
    np.fill_diagonal(kept, False)
    return np.asarray(kept)


def _f1(kept: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    return float(2 * (kept & truth).sum() / max(1, kept.sum() + truth.sum()))


def summary(rows: list[Row], by: str, key: Callable[[Row], object]) -> str:
    """The rule against the fixed setting that is best for the group, and best for each recording.

    The first could be known only to someone who has seen many such systems; the second to nobody.
    """
    groups: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    head = [by, "recordings", "rows per tick × lag, most often", "F1", "best fixed setting", "F1"]
    head += ["loss", "best for each recording, F1", "loss", "largest loss"]
    lines = [_line(str(name), part) for name, part in groups.items()]
    return table(head, [*lines, _line("**all**", rows)])


def _line(name: str, rows: Iterable[Row]) -> list[object]:
    recordings: dict[Task, dict[Setting, float]] = defaultdict(dict)
    chosen: dict[Task, tuple[Setting, float]] = {}
    for row in rows:
        task = Task(row.kind, row.true_lag, row.slowed, row.seed)
        setting = (row.rows_per_tick, row.max_lag)
        if row.chosen:
            chosen[task] = (setting, row.f1)
        else:
            recordings[task][setting] = row.f1
    common = [one for one in FIXED if all(one in scores for scores in recordings.values())]
    means = {one: np.mean([scores[one] for scores in recordings.values()]) for one in common}
    best = max(common, key=lambda one: means[one])
    ours = np.array([chosen[task][1] for task in recordings])
    hindsight = np.array([max(scores.values()) for scores in recordings.values()])
    settings = [chosen[task][0] for task in recordings]
    often = max(set(settings), key=settings.count)
    return [
        name,
        len(ours),
        f"{often[0]} × {often[1]}",
        f"{ours.mean():.3f}",
        f"{best[0]} × {best[1]}",
        f"{means[best]:.3f}",
        f"{means[best] - ours.mean():+.3f}",
        f"{hindsight.mean():.3f}",
        f"{(hindsight - ours).mean():+.3f}",
        f"{(hindsight - ours).max():+.3f}",
    ]


def real_recordings() -> str:
    """What the rule chooses for recordings of real plants, where they are present."""
    folder = data_folder()
    if folder is None:
        return "(not present)"
    lines: list[list[object]] = []
    for name, path, row in (
        ("SKAB, anomaly-free", "skab/anomaly-free/anomaly-free.csv", "1 s"),
        ("BATADAL, dataset 03", "batadal/dataset03.csv", "1 h"),
        ("Tennessee Eastman, d00", "tep/d00.dat", "3 min"),
        ("Tennessee Eastman, d00_te", "tep/d00_te.dat", "3 min"),
    ):
        if not (folder / path).exists():
            continue
        if path.endswith(".dat"):
            numbers = np.loadtxt(folder / path)
            stretches = [numbers.T if len(numbers) < numbers.shape[1] else numbers]
        else:
            recording = causewatch.read_table(folder / path, labels=_labels(path))
            stretches = [recording.values[piece] for piece in recording.stretches()]
        values = np.concatenate(stretches)
        moving = np.nanstd(values, axis=0) > 0
        choice = choose_interval([part[:, moving] for part in stretches])
        lines.append(
            [
                name,
                row,
                f"{len(values):,} × {int(moving.sum())}",
                choice.rows_per_tick,
                choice.max_lag,
                f"{choice.horizon:g}",
            ]
        )
    head = ["recording", "one row is", "rows × moving signals", "rows per tick", "longest lag"]
    return table([*head, "horizon, rows"], lines)


def _labels(path: str) -> str | None:
    return "ATT_FLAG" if path.startswith("batadal") else None


if __name__ == "__main__":
    main()
