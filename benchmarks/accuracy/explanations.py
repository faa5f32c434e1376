"""Whether explanations name the right signal, and are as sure as they should be.

Usage: ``python -m benchmarks.accuracy.explanations [--part develop|report|both] [--only COLUMN,…]
[--write]``.

The default watches the columns of the league whose events have known causes, learnt and counted as
there. The first alarm raised in an event is explained twice: at the raise, and when it is over or
its first ticks are complete. Compared are the order of the causes at both times, and the
confidence of the first one with how often it is right. ``SHARPNESS`` and ``ELSEWHERE`` of
`causewatch.explain.ranking` are fitted on the develop files (``--fit`` prints them); report files
are only reported on. With ``--write`` the tables go to ``docs/results/explanations.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from benchmarks.common import ROOT, data_folder, machine, options, table
from benchmarks.league.recordings import COLUMNS, PARTS, cases_of
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from causewatch.data.datasets.base import Event, Recording
from causewatch.errors import NotEnoughDataError
from causewatch.evaluation.baselines.causal import Default
from causewatch.evaluation.metrics import ac_at_k, first_alarms
from causewatch.explain.described import describe, with_beginning
from causewatch.explain.ranking import ELSEWHERE, SHARPNESS
from causewatch.model import NormalModel
from causewatch.monitor import Alarm, Monitor
from causewatch.monitor.recorded import ticks_of_table

__all__ = ["Explained", "in_events"]

Floats = NDArray[np.float64]
PAGE = ROOT / "docs" / "results" / "explanations.md"
NAMES = (
    "3w well 3", "3w well 4", "3w own", "cranfield", "alfa", "lbnl", "batadal", "tep", "causrca",
    "plant", "plant sparse", "robot",
)  # fmt: skip
"""Columns of the league whose events have known causes."""
COMMAND = "python -m benchmarks.accuracy.explanations"
ABOUT = """Events of the [league](league.md) with known causes in which the default raised an alarm
of its own, and what its explanation names. *At the raise* is the line with which the alarm comes;
*in the end* its last one. `plant`, `plant sparse`, `robot` are a simulation."""
BINS = (0.0, 0.4, 0.5, 0.6, 0.8, 0.95, 1.0)


@dataclass(frozen=True)
class Explained:
    """An event in which an alarm was raised: what was named at the raise, and in the end."""

    column: str
    recording: str
    event: Event
    first: Alarm
    last: Alarm

    def right(self, alarm: Alarm) -> bool:
        """Whether the first cause is a true one."""
        return bool(alarm.causes) and alarm.causes[0].signal in self.event.signals

    @property
    def sure(self) -> float:
        """The confidence of the first cause in the end."""
        return self.last.causes[0].confidence if self.last.causes else 0.0


def main() -> None:
    given = options(
        __doc__,
        part={"default": "both", "choices": [*PARTS, "both"], "help": "which files"},
        only={"default": ",".join(NAMES), "help": "columns by name"},
        fit={"action": "store_true", "help": "fit the confidence on what was watched"},
        write={"action": "store_true", "help": "write the page"},
    )
    folder = data_folder()
    parts = PARTS if given.part == "both" else (given.part,)
    made = f"Made by `{COMMAND} --write`; {machine()}"
    page = ["# Explanations", made, ABOUT]
    for part in parts:
        found = [
            one
            for name in given.only.split(",")
            if part in COLUMNS[name].parts
            for one in explained(name, part, folder)
        ]
        tables = [f"## {part.capitalize()} files", by_column(found), calibration(found)]
        print(*tables, sep="\n\n", flush=True)
        page += tables
        if given.fit:
            print(fitted(found))
    if given.write:
        PAGE.write_text("\n\n".join(page) + "\n", encoding="utf-8")


def explained(name: str, part: str, folder: object) -> Iterator[Explained]:
    """The events of a column in which an alarm was raised."""
    with threadpool_limits(1):
        for case in cases_of(COLUMNS[name], folder, part):  # type: ignore[arg-type]
            detector = Default()
            try:
                detector.fit(case.split)
            except NotEnoughDataError:
                continue
            for recording in case.recordings:
                if any(event.signals for event in recording.events):
                    for one in in_events(name, detector.model, recording):
                        if one.event.signals:
                            yield one


def in_events(name: str, model: NormalModel, recording: Recording) -> Iterator[Explained]:
    """The events of a recording in which an alarm was raised."""
    monitor = Monitor(model, describe=describe)
    first: dict[str, Alarm] = {}
    last: dict[str, Alarm] = {}
    for tick in ticks_of_table(monitor, recording.table):
        for _, alarm in tick.events:
            if alarm.kind == "anomaly":
                first.setdefault(alarm.id, alarm)
                last[alarm.id] = with_beginning(alarm, last.get(alarm.id))
    raised = sorted(first.values(), key=lambda alarm: alarm.raised_at)
    events = recording.events
    places = first_alarms(
        [alarm.raised_at for alarm in raised],
        [event.start for event in events],
        [event.end for event in events],
    )
    for event, place in zip(events, places.tolist(), strict=True):
        if place >= 0:
            yield Explained(name, recording.name, event, raised[place], last[raised[place].id])


def by_column(found: Sequence[Explained]) -> str:
    """AC@1 and AC@3 at the raise and in the end, and how stable the first cause is."""
    rows: list[list[object]] = []
    for name in [*dict.fromkeys(one.column for one in found), "all"]:
        part = [one for one in found if name in (one.column, "all")]
        truths = [one.event.signals for one in part]
        cells: list[object] = [name, len(part)]
        for alarms in ([one.first for one in part], [one.last for one in part]):
            named = [tuple(cause.signal for cause in alarm.causes) for alarm in alarms]
            cells += [f"{ac_at_k(named, truths, k):.0%}" for k in (1, 3)]
        changed = [one for one in part if _first(one.first) != _first(one.last)]
        better = sum(one.right(one.last) and not one.right(one.first) for one in changed)
        worse = sum(one.right(one.first) and not one.right(one.last) for one in changed)
        unsure = sum(one.last.abstained for one in part) / len(part)
        rows.append(
            [*cells, f"{1 - len(changed) / len(part):.0%}", f"{better} / {worse}", f"{unsure:.0%}"]
        )
    head = [
        "column", "events with an alarm", "AC@1 at the raise", "AC@3", "AC@1 in the end", "AC@3",
        "first cause the same", "better / worse later", "abstains",
    ]  # fmt: skip
    return table(head, rows)


def _first(alarm: Alarm) -> str:
    return alarm.causes[0].signal if alarm.causes else ""


def calibration(found: Sequence[Explained]) -> str:
    """How often the first cause is right, by its confidence."""
    sure = np.array([one.sure for one in found])
    right = np.array([one.right(one.last) for one in found])
    rows: list[list[object]] = []
    for low, high in pairwise(BINS):
        inside = (sure >= low) & ((sure < high) | (high == BINS[-1]))
        if inside.any():
            cells = [f"{sure[inside].mean():.2f}", f"{right[inside].mean():.2f}"]
            rows.append([f"{low:.2f}–{high:.2f}", int(inside.sum()), *cells])
    return table(["confidence of the first cause", "events", "mean", "right"], rows)


def fitted(found: Sequence[Explained]) -> str:
    """The constants of `confidences` that make what was seen most likely."""
    weights = [np.array([cause.score for cause in one.last.causes]) for one in found]
    right = np.array([one.right(one.last) for one in found])

    def surprise(logarithms: Floats) -> float:
        sharpness, elsewhere = np.exp(logarithms)
        sure = np.array([w[0] ** sharpness / ((w**sharpness).sum() + elsewhere) for w in weights])
        sure = np.clip(sure, 1e-6, 1 - 1e-6)
        return float(-np.log(np.where(right, sure, 1 - sure)).sum())

    best = minimize(surprise, np.log([SHARPNESS, ELSEWHERE]), method="Nelder-Mead")
    sharpness, elsewhere = np.exp(best.x)
    return f"SHARPNESS {sharpness:.2f}, ELSEWHERE {elsewhere:.3f}"


if __name__ == "__main__":
    main()
