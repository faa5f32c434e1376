"""What each part of the default detector contributes, and what the automatic interval costs.

Usage: ``python -m benchmarks.accuracy.ablation [--quick] [--settings]``. The detector is run with
one part left out at a time, on recordings of plants (see ``plants.py`` for what was developed on
what; of BATADAL, ``dataset04``) and on random systems with faults (simulation; seeds 600–605 were
not used to develop it).
With ``--settings``: fixed intervals and lags against the automatic ones.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from benchmarks.accuracy import batadal, plants
from benchmarks.common import data_folder, machine, options, publish, table

import causewatch as cw
from causewatch.detectors import calibration, innovation, statistics
from causewatch.discovery import Pcmci
from causewatch.graph import CausalGraph
from causewatch.model import watching
from causewatch.monitor import settling
from causewatch.simulate import random_faults, random_system

__all__: list[str] = []

SEEDS = range(600, 606)
ROWS, TEST_ROWS, FAULTS = 4000, 9000, 9


class OwnPast:
    """Discovery that keeps only the links of a signal to its own past."""

    def discover(self, ticks, moments, *, constraints=None, progress=None):  # type: ignore[no-untyped-def]
        graph = Pcmci(alpha=0.001, parents_alpha=0.2, above_mean=True).discover(
            ticks, moments, constraints=constraints, progress=progress
        )
        return CausalGraph(
            graph.signals, {k: v for k, v in graph.links.items() if k.source == k.target}
        )


def without(family: str) -> Callable[[int], dict[str, tuple[int, ...]]]:
    """Memories with one family left out."""
    return lambda ticks: statistics.memories_for(ticks) | {family: ()}


@contextlib.contextmanager
def ablated(part: str) -> Iterator[dict[str, object]]:
    """The detector with one part left out; gives options for `learn`."""
    how: dict[str, object] = {}
    with contextlib.ExitStack() as stack:
        swap = partial(patch.object)
        if part == "one memory (1 tick)":
            only = {"mean": (1,), "variance": (), "coefficient": ()}
            stack.enter_context(swap(calibration, "memories_for", lambda ticks: only))
        elif part in ("no variance", "no coefficients"):
            family = {"no variance": "variance", "no coefficients": "coefficient"}[part]
            stack.enter_context(swap(calibration, "memories_for", without(family)))
        elif part == "no level":
            stack.enter_context(
                swap(calibration, "Layout", partial(statistics.Layout, level=False))
            )
        elif part == "no drift following":
            for place in (innovation, calibration):
                stack.enter_context(swap(place, "DRIFT_RATE", 0.0))
            defaults = innovation.InnovationDetector.__init__.__kwdefaults__
            stack.enter_context(patch.dict(defaults, drift_rate=0.0))
            for function in (calibration.calibrate, calibration.scores_of):
                stack.enter_context(patch.dict(function.__kwdefaults__, drift_rate=0.0))
        elif part == "no settling":
            stack.enter_context(swap(settling, "SHARE", 0.0))
        elif part == "no curves, no switches":
            stack.enter_context(swap(watching, "choose_curves", lambda *given: None))
            stack.enter_context(swap(watching, "find_switches", lambda *given: None))
        elif part == "own past only":
            how["method"] = OwnPast()
        yield how


PARTS = (
    "everything",
    "one memory (1 tick)",
    "no variance",
    "no coefficients",
    "no level",
    "no drift following",
    "no settling",
    "no curves, no switches",
    "own past only",
)


def random_systems(**how: object) -> plants.Counted:
    """Random systems of all kinds with nine faults each, counted row by row."""
    verdicts = []
    for kind, seed in zip(("linear", "binary", "heavy") * 2, SEEDS, strict=True):
        system = random_system(10, max_lag=3, kind=kind, seed=seed)
        normal = cw.read_table(system.simulate(ROWS, seed=seed + 1000).values)
        faults = random_faults(system, TEST_ROWS, FAULTS, seed + 2000)
        test = system.simulate(TEST_ROWS, seed=seed + 3000, faults=faults)
        model = cw.learn(normal, **how)  # type: ignore[arg-type]
        seen = plants.watch(model, cw.read_table(test.values))
        verdicts.append((seen.alarm, test.labels.astype(float)))
    return plants.count(verdicts)


def measure(part: str) -> list[str]:
    """One row of the table."""
    folder = data_folder()
    with ablated(part) as how, contextlib.redirect_stdout(io.StringIO()):
        found = [part]
        if folder is not None:
            rate = tep_rates(**how)
            found.append(f"{rate[0]:.3f} at {rate[1]:.3f}")
            one = plants.skab(folder, False, **how)["all"]
            found.append(f"{one.f1:.3f} at {one.far:.3f}")
            two = batadal.measure(folder, learnt(folder, **how), "dataset04")
            found.append(f"{two.f1:.3f} at {two.far:.3f}")
        three = random_systems(**how)
        found.append(f"{three.f1:.3f} at {three.far:.3f}")
    return found


def learnt(folder: Path, **how: object) -> cw.NormalModel:
    """A model of BATADAL's normal year."""
    return cw.learn(batadal.normal_year(folder), **how)  # type: ignore[arg-type]


def tep_rates(**how: object) -> tuple[float, float]:
    """Mean detection rate and share of normal ticks above the limit."""
    folder = data_folder()
    assert folder is not None
    model = plants.tep_model(folder, **how)
    normal = [plants.watch(model, plants.rows_of(plants.tep_table(folder, "d00_te"), 480, 960))]
    quiet = [np.nan_to_num(normal[0].score)]
    rates = []
    for fault in range(1, 22):
        seen = plants.watch(model, plants.tep_table(folder, f"d{fault:02d}_te"))
        score = np.nan_to_num(seen.score)
        quiet.append(score[: plants.TEP_ONSET])
        if fault not in plants.TEP_UNDETECTABLE:
            rates.append(float(np.mean(score[plants.TEP_ONSET :] > 1.0)))
    return float(np.mean(rates)), float(np.mean(np.concatenate(quiet) > 1.0))


SETTINGS: dict[str, list[tuple[object, int | None]]] = {
    "skab": [(None, None), (1.0, 1), (1.0, 2), (1.0, 5), (2.0, 2), (5.0, 2)],
    "batadal": [(None, None), ("1h", 2), ("1h", 6), ("2h", 3), ("4h", 2)],
    "random": [(None, None), (1.0, 1), (1.0, 3), (1.0, 5), (2.0, 2), (4.0, 2)],
}


def setting(task: tuple[str, object, int | None]) -> list[str]:
    """One row of the table of settings."""
    what, every, max_lag = task
    folder = data_folder()
    how = {"every": every, "max_lag": max_lag}
    with contextlib.redirect_stdout(io.StringIO()):
        if what == "random":
            one = random_systems(**how)
        else:
            assert folder is not None
            if what == "skab":
                one = plants.skab(folder, False, **how)["all"]
            else:
                one = batadal.measure(folder, learnt(folder, **how), "dataset04")
    name = "automatic" if every is None else f"{every}, lag {max_lag}"
    return [what, name, f"{one.f1:.3f}", f"{one.far:.3f}"]


def main() -> None:
    """Print the table."""
    given = options(__doc__, settings={"action": "store_true"})
    with ProcessPoolExecutor(2) as pool:
        if given.settings:
            tasks = [(what, *one) for what, grid in SETTINGS.items() for one in grid]
            rows = list(pool.map(setting, tasks))
            text = table(["recordings", "interval and lag", "F1", "false alarm rate"], rows)
            publish("settings", text + f"\n\n{machine()}", quick=given.quick)
            return
        rows = list(pool.map(measure, PARTS[:2] if given.quick else PARTS))
    head = ["left out", "Tennessee Eastman", "SKAB", "BATADAL test", "random systems"]
    text = table(head, rows) + (
        "\n\nTennessee Eastman: mean detection rate of 18 faults at the share of normal ticks above"
        " the limit. Others: F1 of rows under alarm at the false alarm rate. Random systems are"
        f" simulation.\n\n`python -m benchmarks.accuracy.ablation`; {machine()}"
    )
    publish("ablation", text, quick=given.quick)


if __name__ == "__main__":
    main()
