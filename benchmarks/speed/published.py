"""One step of the published method, next to solving every regression again.

Usage: ``python -m benchmarks.speed.published [--quick]``. The simulated plant at the size of SWaT's
recording with attacks (2,170 steps of 206 s, lags up to 2) and the simulated robot with a step of
40 rows and a lag of 1 (as ``causewatch reproduce pepper --quick`` has it) and with step and lag of
the published rule. Both ways take turns on the same steps: the fast one at each of them, the
literal one (`numpy.linalg.lstsq` on all ticks so far, with one BLAS thread) at every so-manieth. A
full run takes about five minutes and writes its table to ``docs/benchmarks.md``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from benchmarks.common import machine, options, publish, table
from numpy.typing import NDArray
from tests import literal_paper

import causewatch
from causewatch.detectors import PublishedDetector
from causewatch.detectors.equations import Equations
from causewatch.kernels.parallel import one_thread
from causewatch.simulate import (
    PAPER_ATTACKS,
    PepperRobot,
    RobotAttack,
    WaterPlant,
    plant_attacks,
)

__all__: list[str] = []

Floats = NDArray[np.float64]

SEED = 701
BLOCK = 50
"""Steps of one turn, before the other way has its turn."""


@dataclass(frozen=True)
class Size:
    """What is watched.

    Attributes
    ----------
    name
        For the table.
    rows
        Makes the rows to learn from and the rows to watch.
    step, max_lag
        Of the published method.
    every
        The literal solution is made at every so-manieth step.
    """

    name: str
    rows: Callable[[], tuple[Floats, Floats]]
    step: int
    max_lag: int
    every: int


def plant(normal: int, attacked: int) -> tuple[Floats, Floats]:
    """Rows of the simulated water plant."""
    other = WaterPlant(SEED + 100)
    attacks = plant_attacks(attacked, PAPER_ATTACKS, other.seed)
    return (
        WaterPlant(SEED).simulate(normal, start_up=True).values,
        other.simulate(attacked, attacks).values,
    )


def robot(normal: int, attacked: int) -> tuple[Floats, Floats]:
    """Rows of the simulated robot, its wheels attacked throughout."""
    machine = PepperRobot(SEED)
    attack = RobotAttack("wheels", 0, attacked)
    return (
        machine.simulate(normal, seed=SEED).values,
        machine.simulate(attacked, attacks=[attack], seed=SEED + 100).values,
    )


def main() -> None:
    quick: bool = options(__doc__).quick
    days, steps = (1, 300) if quick else (5, 2_170)
    sizes = [
        Size(
            "plant",
            lambda: plant(days * 86_400, (steps + 1) * 206),
            step=206,
            max_lag=2,
            every=10,
        ),
        Size("robot", lambda: robot(2_000, 2_000), step=40, max_lag=1, every=2),
    ]
    if not quick:
        rows = lambda: robot(14_000, 1_415)  # noqa: E731
        sizes.append(Size("robot, published rule", rows, step=20, max_lag=3, every=8))
    lines = [measured(size) for size in sizes]
    head = ["", "signals", "links", "steps", "a step", "literal", "ratio of the means"]
    publish("published", f"{machine('scipy')}\n\n{table(head, lines)}", quick=quick)


def measured(size: Size) -> list[object]:
    """One line of the table."""
    normal, watched = (rows[:: size.step] for rows in size.rows())
    model = causewatch.learn(normal, preset="paper", every=1.0, max_lag=size.max_lag)
    kept = [int(name.removeprefix("x")) for name in model.signals]
    equations, limits = literal_paper.equations_of(model), model.watching.published
    assert limits is not None
    ticks = np.nan_to_num(watched[:, kept])
    detector, again = PublishedDetector(equations, limits), Literal(equations)
    fast, literal = [], []
    for first in range(0, len(ticks), BLOCK):
        block = range(first, min(first + BLOCK, len(ticks)))
        fast += [seconds(lambda: detector.update(ticks[number])) for number in block]  # noqa: B023
        with one_thread():
            literal += [
                seconds(lambda: again.solve(ticks[: number + 1]))  # noqa: B023
                for number in block[size.max_lag :: size.every]
            ]
    fast = fast[size.max_lag :]  # nothing is estimated before
    line = [size.name, len(model.signals), f"{len(model.graph):,}", f"{len(fast):,}"]
    line += [spread(fast), spread(literal), f"**{np.mean(literal) / np.mean(fast):,.0f}**"]
    print(line, flush=True)
    return list(line)


class Literal:
    """Every regression solved again on all ticks; what does not change is prepared before."""

    def __init__(self, equations: Equations) -> None:
        self.coefficients = np.full(len(equations.source), np.nan)
        self.targets = []
        for target in np.unique(equations.target).tolist():
            links = np.flatnonzero(equations.target == target)
            links = links[np.argsort(equations.lag[links], kind="stable")]
            self.targets.append((target, links, equations.source[links], equations.lag[links]))

    def solve(self, ticks: Floats) -> None:
        """Least squares of every target on all of `ticks`."""
        for target, links, sources, lags in self.targets:
            rows = np.arange(lags.max(), len(ticks))
            columns = np.ones((len(rows), len(links) + 1))
            columns[:, :-1] = ticks[rows[:, None] - lags, sources]
            answer = np.linalg.lstsq(columns, ticks[rows, target], rcond=None)[0]
            self.coefficients[links] = answer[:-1]


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def spread(times: list[float]) -> str:
    """Mean ± standard deviation in milliseconds."""
    mean, deviation = 1e3 * np.mean(times), 1e3 * np.std(times)
    return f"{mean:.3g} ± {deviation:.2g} ms"


if __name__ == "__main__":
    main()
