"""What do curved links and switches add to straight lines? Faults in simulated plants.

Usage: ``python -m benchmarks.accuracy.curves [--quick] [--seeds 520-539]``.

A model is learnt from a normal recording of a random system. Its mechanisms are used as straight
lines, with curves, with switches, and with both. The limits come from a second normal recording,
and the score's limit from a third one, such that 0.5 % of its ticks are above it: all variants
raise false alarms equally often, and what is left to compare is the share of the ticks with a fault
that are above the limit.

``warped`` is a linear system of which every third signal is measured through an exponential curve,
as by a sensor with a bent characteristic. In ``binary`` systems, faults of the switches themselves
are shown apart. Constants were chosen on the systems with seeds 500 to 519; the figures are
reported for seeds 520 to 539 only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from benchmarks.common import machine, options, table
from numpy.typing import NDArray

from causewatch.detectors.calibration import Judged, calibrate, scores_of
from causewatch.detectors.curves import choose_curves
from causewatch.detectors.equations import Equations
from causewatch.detectors.switches import find_switches
from causewatch.explain.explanation import context_of
from causewatch.model import learn
from causewatch.simulate import Fault, RandomSystem, random_faults, random_system

__all__: list[str] = []

Floats = NDArray[np.float64]

REPORTED = range(520, 540)
KINDS = ("nonlinear", "warped", "binary", "modes", "linear", "heavy")
VARIANTS = ("lines", "curves", "switches", "both")
FAULTS = (
    "mechanism", "bias", "drift", "stuck", "noise", "actuator_stuck", "new_link", "broken_link",
)  # fmt: skip
STUCK = ("actuator_stuck", "stuck")
SIGNALS, NORMAL, LIMITS, SLOT = 12, 4000, 4000, 500
FALSE_TICKS = 0.005
WARP = 1.5
"""Standard deviations of a warped signal over which its measured value grows e-fold."""


@dataclass(frozen=True)
class Result:
    """One fault: share of its ticks above the limit, by variant."""

    system: str
    fault: str
    on_switch: bool
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Chosen:
    """What was chosen for one system, and what it left of ticks never seen."""

    system: str
    signals: int
    curved: int
    switches: int
    two_valued: int
    left: tuple[float, ...]
    """Variance left by each curve as a share of what the line left."""


def main() -> None:
    given = options(
        __doc__,
        seeds={"default": f"{REPORTED.start}-{REPORTED.stop - 1}", "help": "first-last"},
    )
    first, last = (int(part) for part in given.seeds.split("-"))
    seeds = range(first, min(last + 1, first + 3) if given.quick else last + 1)
    print(machine())
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(one_system, [(kind, seed) for kind in KINDS for seed in seeds]))
    print(
        f"\nSeeds {seeds.start} to {seeds.stop - 1}: share of ticks with a fault above the limit\n"
    )
    results = [result for part, _ in found for result in part]
    print(detected(results), chosen_table(choice for _, choice in found), sep="\n\n")


def one_system(task: tuple[str, int]) -> tuple[list[Result], Chosen]:
    """Every fault in one system, under every variant."""
    kind, seed = task
    system = random_system(SIGNALS, kind="linear" if kind == "warped" else kind, seed=seed)

    def recorded(rows: int, seed: int, faults: Iterable[Fault] = ()) -> Floats:
        values = system.simulate(rows, seed=seed, faults=faults).values
        if kind == "warped":
            values[:, ::3] = np.exp(values[:, ::3] / (WARP * system.scales[::3]))
        return values

    normal = recorded(NORMAL, seed + 1000)
    model = learn(normal, every=1.0)
    kept = [int(name.removeprefix("x")) for name in model.signals]
    normal = normal[:, kept]
    lines = replace(context_of(model).equations, curves=None, switches=None).refitted([normal])
    second, third = (recorded(LIMITS, seed + k)[:, kept] for k in (2000, 3000))
    tests = [
        (recorded(SLOT * (len(faults) + 1), seed + 4000 + k, faults)[:, kept], faults)
        for k, faults in enumerate(faults_of(system, seed))
    ]
    variants = variants_of(lines, normal)
    # Where nothing was chosen, a variant is the same mechanisms once more.
    judged: dict[tuple[object, object], list[float]] = {}
    for equations in variants:
        key = equations.curves, equations.switches
        if key not in judged:
            judged[key] = shares_above(equations, normal, second, third, tests)
    shares = [judged[equations.curves, equations.switches] for equations in variants]
    every_fault = [fault for _, faults in tests for fault in faults]
    two_valued = dict(zip(system.signals, system.two_valued.tolist(), strict=True))
    results = [
        Result(kind, fault.kind, two_valued[fault.signal], tuple(part))
        for fault, *part in zip(every_fault, *shares, strict=True)
    ]
    return results, chosen(kind, system, variants, third)


def shares_above(
    equations: Equations,
    normal: Floats,
    second: Floats,
    third: Floats,
    tests: list[tuple[Floats, list[Fault]]],
) -> list[float]:
    """Share of the ticks of each fault above a limit that normal ticks rarely pass."""
    limits = calibrate(
        [Judged(equations, [second])],
        centre=normal.mean(axis=0),
        scale=normal.std(axis=0),
        false_alarm_every=LIMITS / 4,
    )
    limit = np.nanquantile(scores_of(Judged(equations, [third]), limits), 1 - FALSE_TICKS)
    found = []
    for rows, faults in tests:
        above = scores_of(Judged(equations, [rows]), limits) > limit
        found += [float(above[fault.start : fault.end].mean()) for fault in faults]
    return found


def faults_of(system: RandomSystem, seed: int) -> list[list[Fault]]:
    """Faults of every kind anywhere; where there are switches, more of them there."""
    anywhere = list(random_faults(system, SLOT * len(FAULTS), len(FAULTS), seed, kinds=FAULTS))
    switches = [n for n, two in zip(system.signals, system.two_valued, strict=True) if two]
    if not switches:
        return [anywhere]
    wanted: list[tuple[str, str, float | None, str | None, int | None]] = []
    for name in switches:
        wanted += [(kind, name, size, None, None) for kind in STUCK for size in (0.0, 1.0)]
        wanted += [("mechanism", name, None, None, None)]
        wanted += [
            ("broken_link", name, None, link.source, link.lag)
            for link in system.graph.parents(name)
            if not link.is_auto
        ]
    there = [
        Fault(kind, name, k * SLOT + SLOT // 2, (k + 1) * SLOT - SLOT // 4, size, source, lag)
        for k, (kind, name, size, source, lag) in enumerate(wanted)
    ]
    return [anywhere, there]


def variants_of(lines: Equations, normal: Floats) -> list[Equations]:
    """The mechanisms as lines, with curves, with switches, with both."""
    curves, switches = choose_curves(lines, [normal]), find_switches(lines, [normal])
    curved = lines if curves is None else replace(lines, curves=curves, spread=curves.spread)
    return [lines, curved, replace(lines, switches=switches), replace(curved, switches=switches)]


def chosen(kind: str, system: RandomSystem, variants: list[Equations], rows: Floats) -> Chosen:
    lines, curved, switched, _ = variants
    ratio = np.nanvar(curved.innovations(rows) * curved.spread, axis=0) / np.nanvar(
        lines.innovations(rows) * lines.spread, axis=0
    )
    bent = np.flatnonzero(curved.spread != lines.spread)
    return Chosen(
        kind,
        lines.signals,
        len(bent),
        0 if switched.switches is None else len(switched.switches.target),  # type: ignore[attr-defined]
        int(system.two_valued.sum()),
        tuple(ratio[bent].tolist()),
    )


def detected(results: list[Result]) -> str:
    rows = []
    for kind in KINDS:
        of_kind = [r for r in results if r.system == kind]
        rows.append(line(kind, "all", of_kind))
        if any(r.on_switch for r in of_kind):
            rows.append(line(kind, "elsewhere", [r for r in of_kind if not r.on_switch]))
            for fault in sorted({r.fault for r in of_kind if r.on_switch}):
                there = [r for r in of_kind if r.on_switch and r.fault == fault]
                rows.append(line(kind, f"{fault} of a switch", there))
    return table(["system", "faults", "number", *VARIANTS], rows)


def line(kind: str, name: str, results: list[Result]) -> list[object]:
    means = np.mean([r.shares for r in results], axis=0)
    return [kind, name, len(results), *(f"{mean:.3f}" for mean in means)]


def chosen_table(choices: Iterable[Chosen]) -> str:
    rows = []
    seen = list(choices)
    for kind in KINDS:
        mine = [c for c in seen if c.system == kind]
        left = [share for c in mine for share in c.left]
        rows.append(
            [
                kind,
                len(mine),
                f"{sum(c.curved for c in mine)} of {sum(c.signals for c in mine)}",
                f"{np.mean(left):.3f} ({min(left):.3f} to {max(left):.3f})" if left else "",
                f"{sum(c.switches for c in mine)} of {sum(c.two_valued for c in mine)}",
            ]
        )
    return table(["system", "systems", "curved", "variance left", "switches found"], rows)


if __name__ == "__main__":
    main()
