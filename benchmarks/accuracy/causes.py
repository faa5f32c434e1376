"""Does the explanation name the right signal? Faults put into simulated plants, and a real one.

Usage: ``python -m benchmarks.accuracy.causes [--quick] [--seeds 400-449] [--tep dev|te|no]``.

A model is learnt from a normal recording of a random system, the default detector watches a second
recording with one fault of every kind (but dropout, which is a matter of signal health), and every
alarm raised inside a fault is explained some ticks later. Half of the sensor faults feed back, as
in a control loop. Compared are: the largest evidence first; the evidence when the alarm is
raised; the published criterion (re-estimated from 150 ticks before the fault on); the explanation.

Constants of the ranking and its confidence were fitted on the systems with seeds 300 to 339; the
figures are reported for seeds 400 to 449 only. Tennessee Eastman: learnt from ``d00``, limits from
the first half of ``d00_te``; developed on ``dNN.dat`` (``--tep dev``), whose faults begin with the
file, and reported on ``dNN_te.dat`` (``--tep te``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from benchmarks.common import data_folder, machine, options, table
from numpy.typing import NDArray

from causewatch.detectors import PublishedDetector
from causewatch.explain.explanation import Explanation, explain
from causewatch.model import NormalModel, learn
from causewatch.monitor import Monitor
from causewatch.simulate import Fault, RandomSystem, random_faults, random_system

__all__: list[str] = []

Floats = NDArray[np.float64]

FITTED, REPORTED = range(300, 340), range(400, 450)
KINDS = ("linear", "nonlinear", "binary", "heavy")
FAULTS = (
    "mechanism", "bias", "drift", "stuck", "noise", "actuator_stuck", "new_link", "broken_link",
)  # fmt: skip
SIGNALS, NORMAL, CALIBRATION, SLOT = 12, 3000, 2000, 500
BEFORE, AFTER = 150, (8, 25)
"""Normal ticks before a fault, and ticks after the alarm when it is explained."""
FALSE_ALARM_EVERY = 2000.0
SENSOR_FAULTS = ("bias", "drift", "stuck", "noise")
TEP_PLACES = {
    1: (4, 44, 45, 1), 2: (10, 30, 47), 4: (9, 51), 5: (11, 22, 52), 6: (1, 44), 7: (4, 45, 16),
    8: (4, 16, 20), 10: (18, 50), 11: (9, 51), 12: (11, 22, 52), 14: (9, 21, 51),
}  # fmt: skip
"""Columns, counted from 1, where each fault acts."""
METHODS = ("largest evidence first", "evidence when raised", "published criterion", "explanation")


@dataclass(frozen=True)
class Result:
    """One alarm: where each method has the true origin, and how sure the explanation was."""

    system: str
    fault: str
    after: int
    ranks: tuple[float, ...]
    signals: int
    confidence: float
    abstained: bool
    first: tuple[str, ...] = ()
    delay: int = 0


def main() -> None:
    given = options(
        __doc__,
        seeds={"default": f"{REPORTED.start}-{REPORTED.stop - 1}", "help": "first-last"},
        tep={"default": "dev", "choices": ["dev", "te", "no"], "help": "which files"},
    )
    first, last = (int(part) for part in given.seeds.split("-"))
    seeds = range(first, min(last + 1, first + 5) if given.quick else last + 1)
    print(machine())
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(one_system, [(kind, seed) for kind in KINDS for seed in seeds]))
    results = [result for part in found for result in part]
    print(f"\nSimulated systems, seeds {seeds.start} to {seeds.stop - 1}\n")
    print(compared(results), by_fault(results), calibration(results), sep="\n\n")
    folder = data_folder()
    if folder is not None and given.tep != "no":
        print(f"\nTennessee Eastman, {given.tep}\n")
        print(tennessee(folder / "tep", given.tep))


def one_system(task: tuple[str, int]) -> list[Result]:
    """Every alarm that one system gives rise to."""
    kind, seed = task
    system = random_system(SIGNALS, kind=kind, seed=seed)
    normal = system.simulate(NORMAL, seed=seed + 1000).values
    apart = system.simulate(CALIBRATION, seed=seed + 2000).values
    model = learn(normal, every=1.0, calibrate=apart, false_alarm_every=FALSE_ALARM_EVERY)
    faults = faults_of(system, seed)
    test = system.simulate(SLOT * len(faults), seed=seed + 3000, faults=faults).values
    results = []
    for fault in faults:
        rows = test[max(0, fault.start - BEFORE) : fault.end]
        truth = (f"x{system.signals.index(fault.signal)}",)
        results += judged(
            model, rows, len(rows) - (fault.end - fault.start), truth, kind, fault.kind
        )
    return results


def faults_of(system: RandomSystem, seed: int) -> list[Fault]:
    """One fault of every kind, one after the other; half of the sensor faults feed back."""
    kinds = [kind for kind in FAULTS if kind in system.fault_kinds]
    faults = random_faults(system, SLOT * len(kinds), len(kinds), seed, kinds=kinds)
    random = np.random.default_rng(seed)
    out = []
    for fault in faults:
        looped = random.random() < 0.5 and fault.kind in SENSOR_FAULTS
        other = replace(fault, feeds_back=True) if looped else fault
        out.append(other if system.growth_with(other) < 1 else fault)
    return out


def judged(
    model: NormalModel,
    rows: Floats,
    start: int,
    truth: tuple[str, ...],
    system: str,
    fault: str,
    afters: tuple[int, ...] = AFTER,
) -> list[Result]:
    """Watch `rows`, which are faulty from `start` on, and explain the first alarm raised there."""
    monitor = Monitor(model)
    published = PublishedDetector(model.equations, np.ones(len(model.equations.source)))
    alarm, raised, before, results = None, 0, None, []
    kept = [int(name.removeprefix("x")) for name in model.signals]
    for tick, row in enumerate(rows):
        said = monitor.update(dict(zip([f"x{k}" for k in range(len(row))], row, strict=True)))
        found = [one for one in said.raised if one.kind == "anomaly"]
        if alarm is None and found:
            if tick < start:
                return []  # a false alarm that is still on is not about the fault
            alarm, raised, before = found[0], tick, published.totals()
        published.update(row[kept])
        for after in afters:
            if alarm is not None and tick == min(raised + after, len(rows)) - 1:
                course, links = monitor.course, monitor.broken_links()
                told = explain(alarm, model, course=course, broken_links=links)
                paper = published.ranking(before)
                results.append(judge(told, paper, raised, tick, truth, system, fault, after))
    return results


def judge(
    told: Explanation,
    paper: Floats,
    raised: int,
    tick: int,
    truth: tuple[str, ...],
    system: str,
    fault: str,
    after: int,
) -> Result:
    """See where the truth comes in each ranking."""
    assert told.course is not None
    assert told.ranking is not None
    evidence = np.nan_to_num(told.course.evidence[-(tick - raised + 1) :])
    names = told.course.signals
    paper = np.concatenate([paper, np.zeros(len(names) - len(paper))])
    columns = [names.index(name) for name in truth if name in names]
    scores = (evidence.max(axis=0), evidence[0], paper, told.ranking.total)
    return Result(
        system=system,
        fault=fault,
        after=after,
        ranks=tuple(min(rank_of(score, one) for one in columns) for score in scores),
        signals=len(names),
        confidence=told.causes[0].confidence if told.causes else 0.0,
        abstained=told.abstained,
        first=tuple(cause.signal for cause in told.causes[:3]),
        delay=raised,
    )


def rank_of(scores: Floats, column: int) -> float:
    """Place of a column, 1 being the first; ties share their places."""
    above = int((scores > scores[column]).sum())
    return 1 + above + 0.5 * (int((scores == scores[column]).sum()) - 1)


def compared(results: list[Result]) -> str:
    lines: list[list[object]] = []
    for after in AFTER:
        part = [result for result in results if result.after == after]
        for k, method in enumerate(METHODS):
            ranks = np.array([result.ranks[k] for result in part])
            lines.append([after, method, len(part), *scores_of(ranks)])
        sure = [result for result in part if not result.abstained]
        ranks = np.array([result.ranks[-1] for result in sure])
        lines.append([after, "… where it did not abstain", len(sure), *scores_of(ranks)])
    chance = 1 / results[0].signals
    lines.append(["", "chance", "", f"{chance:.3f}", f"{3 * chance:.3f}", ""])
    return table(["ticks after the alarm", "ranking", "alarms", "AC@1", "AC@3", "MRR"], lines)


def scores_of(ranks: Floats) -> Iterator[str]:
    yield f"{np.mean(ranks < 1.5):.3f}"
    yield f"{np.mean(ranks < 3.5):.3f}"
    yield f"{np.mean(1 / ranks):.3f}"


def by_fault(results: list[Result]) -> str:
    part = [result for result in results if result.after == AFTER[-1]]
    lines: list[list[object]] = []
    for name in (*KINDS, *FAULTS):
        chosen = [result for result in part if name in (result.system, result.fault)]
        shares = [[result.ranks[k] < 1.5 for result in chosen] for k in range(len(METHODS))]
        shares.append([result.abstained for result in chosen])
        cells = [f"{np.mean(share):.2f}" if share else "–" for share in shares]
        lines.append([name, len(chosen), *cells])
    return table(["AC@1 by system and fault", "alarms", *METHODS, "abstained"], lines)


def calibration(results: list[Result]) -> str:
    confidence = np.array([result.confidence for result in results])
    right = np.array([result.ranks[-1] < 1.5 for result in results])
    edges = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.01)
    lines: list[list[object]] = []
    for low, high in pairwise(edges):
        here = (confidence >= low) & (confidence < high)
        if here.any():
            span = f"{low:g}–{min(high, 1):g}"
            said, true = confidence[here].mean(), right[here].mean()
            lines.append([span, int(here.sum()), f"{said:.3f}", f"{true:.3f}"])
    return table(["confidence", "alarms", "mean", "right"], lines)


def tennessee(folder: Path, which: str) -> str:
    """The fault's place among the first three causes, for each fault whose place is known."""
    normal = np.loadtxt(folder / "d00.dat").T
    apart = np.loadtxt(folder / "d00_te.dat")[:480]
    model = learn(normal, calibrate=apart)
    lines: list[list[object]] = []
    results = []
    for fault, columns in TEP_PLACES.items():
        rows, start = tennessee_rows(folder, which, fault)
        truth = tuple(f"x{column - 1}" for column in columns)
        found = judged(model, rows, start, truth, "tep", str(fault), (*AFTER, 100))
        for one in found:
            named = " ".join(f"x{int(name.removeprefix('x')) + 1}" for name in one.first)
            cells = [f"{rank:g}" for rank in one.ranks]
            when = [fault, one.delay - start, one.after]
            lines.append([*when, *cells, named, f"{one.confidence:.2f}"])
        results += found
    text = [table(["fault", "delay", "after", *METHODS, "first three", "confidence"], lines)]
    for after in (*AFTER, 100):
        part = [result for result in results if result.after == after]
        hits = [sum(result.ranks[k] < 3.5 for result in part) for k in range(len(METHODS))]
        said = ", ".join(f"{name} {hit}" for name, hit in zip(METHODS, hits, strict=True))
        text.append(f"In the first three after {after} ticks, of {len(TEP_PLACES)}: {said}.")
    return "\n\n".join(text)


def tennessee_rows(folder: Path, which: str, fault: int) -> tuple[Floats, int]:
    """Ticks, and the first faulty one; the first ticks of a development file cannot be judged."""
    if which == "te":
        return np.loadtxt(folder / f"d{fault:02d}_te.dat"), 160
    return np.loadtxt(folder / f"d{fault:02d}.dat"), 0


if __name__ == "__main__":
    main()
