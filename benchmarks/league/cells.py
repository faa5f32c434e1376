"""One cell: one detector on one part of one column, as plain data in one file.

A file is named after everything the cell depends on: the source code, the recordings, the detector
as it was set. An interrupted league goes on where it stopped, and no cell of other code or data is
taken for one of these.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import ROOT
from benchmarks.league.case import data_hash, other_ticks
from benchmarks.league.recordings import COLUMNS, cases_of
from benchmarks.league.variants import Variant
from threadpoolctl import threadpool_limits

from causewatch.data.datasets.base import Recording
from causewatch.errors import NotEnoughDataError
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.card import ReportCard, counted_rows, report_card
from causewatch.evaluation.comparison import Case
from causewatch.evaluation.judging import judge
from causewatch.evaluation.metrics import false_alarms_per_day
from causewatch.evaluation.verdicts import Verdicts

__all__ = ["Task", "code_hash", "computed", "measure", "stored"]

LAYERS = (
    "kernels", "data", "simulate", "preprocess", "discovery", "detectors", "model", "monitor",
    "explain", "evaluation",
)  # fmt: skip
"""Layers of the product that a cell depends on."""
SOURCES = (*(f"src/causewatch/{layer}" for layer in LAYERS), "benchmarks/league")


@dataclass(frozen=True)
class Task:
    """What one cell is about.

    Attributes
    ----------
    column, part
        Of the league.
    variant
        The detector, and how it is set.
    interval
        The working interval is multiplied by this.
    factor
        The alarm limit is multiplied by this.
    every
        Length of a tick in seconds, where it is not the one chosen.
    """

    column: str
    part: str
    variant: Variant
    interval: float = 1.0
    factor: float = 1.0
    every: float | None = None

    @property
    def name(self) -> str:
        """For people and for the file."""
        words = [self.column, self.part, self.variant.name]
        if self.interval != 1.0:
            words.append(f"interval x{self.interval:g}")
        if self.factor != 1.0:
            words.append(f"limit x{self.factor:g}")
        if self.every is not None:
            words.append(f"every {self.every:g} s")
        return ", ".join(words)

    def stretched(self, split: Split) -> float:
        """By what a tick of this split is longer than the one chosen."""
        return self.interval if self.every is None else self.every / split.every

    def path(self, folder: Path, data: str) -> Path:
        """The file of the cell; `data` is the hash of its recordings."""
        key = hashlib.sha256(f"{self.name}\n{code_hash()}\n{data}".encode()).hexdigest()[:12]
        plain = self.name.replace(", ", "_").replace(" ", "-")
        return folder / f"{plain}_{key}.json"


@cache
def code_hash() -> str:
    """Of every source file that a cell depends on."""
    digest = hashlib.sha256()
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            if "page" not in path.name and path.name != "__main__.py":
                digest.update(path.relative_to(ROOT).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=2)
def loaded(column: str, part: str, folder: Path | None) -> tuple[list[Case], str]:
    """The cases of a column and the hash of their data; the last ones are kept."""
    cases = cases_of(COLUMNS[column], folder, part)
    return cases, data_hash(cases)


def stored(task: Task, cells: Path, data: str) -> dict[str, Any] | None:
    """A cell that was computed before."""
    path = task.path(cells, data)
    if not path.exists():
        return None
    cell: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return cell


def computed(task: Task, cells: Path, folder: Path | None) -> dict[str, Any]:
    """The cell of a task: from its file, or measured now and written there."""
    cases, data = loaded(task.column, task.part, folder)
    cell = stored(task, cells, data)
    if cell is None:
        with threadpool_limits(1):
            cell = measure(task, cases) | {"data": data}
        path = task.path(cells, data)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(cell, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        part.replace(path)
    return cell


def measure(task: Task, cases: Sequence[Case]) -> dict[str, Any]:
    """Let the detector learn and watch every case, and count.

    What a detector refuses to learn from it watches in silence, and the cell counts such cases. A
    cell whose ticks would be shorter than a row is skipped.
    """
    recordings: list[Recording] = []
    verdicts: list[Verdicts] = []
    refused: list[str] = []
    learn_s, asked, ticks = 0.0, [], []
    began = time.perf_counter()
    if any(_too_short(case.split, task.stretched(case.split)) for case in cases):
        return {"task": task.name, "code": code_hash(), "skipped": True, "wall_s": 0.0}
    for case in cases:
        stretched = task.stretched(case.split)
        split = case.split if stretched == 1.0 else other_ticks(case.split, stretched)
        asked.append(split.false_alarm_every)
        ticks.append(split.every)
        recordings += case.recordings
        with task.variant.ready() as detector:
            start = time.perf_counter()
            try:
                detector.fit(split)
            except NotEnoughDataError as error:
                refused.append(str(error))
                verdicts += [_silence(recording) for recording in case.recordings]
                continue
            learn_s += time.perf_counter() - start
            if task.factor != 1.0:
                detector.move_limit(task.factor)  # type: ignore[attr-defined]
            verdicts += [detector.watch(recording.table) for recording in case.recordings]
    steps = np.concatenate([said.step_seconds for said in verdicts])
    return {
        "task": task.name,
        "code": code_hash(),
        "figures": figures_of(recordings, verdicts),
        "asked_a_day": 86_400.0 / float(np.median(asked)),
        "tick_s": float(np.median(ticks)),
        "row_s": float(np.median([case.split.learn[0].interval for case in cases])),
        "cases": len(cases),
        "refused": refused,
        "halves": [figures_of(*half) for half in halves(recordings, verdicts)],
        "learn_s": learn_s,
        "tick_us": 1e6 * float(steps.mean()) if len(steps) else None,
        "wall_s": time.perf_counter() - began,
    }


def _too_short(split: Split, factor: float) -> bool:
    """Whether ticks of `factor` times the length would be shorter than a row."""
    return factor * split.every < split.learn[0].interval * (1.0 - 1e-9)


def _silence(recording: Recording) -> Verdicts:
    rows = len(recording.table)
    return Verdicts(np.zeros(rows), np.zeros(rows, dtype=np.bool_), ())


FIGURES = (
    "f1", "vus_pr", "events", "events_detected", "events_seen", "coverage", "median_delay_s",
    "ac_at_1", "ac_at_3",
)  # fmt: skip
"""Of the report card; without events they are not defined."""


def figures_of(recordings: Sequence[Recording], verdicts: Sequence[Verdicts]) -> dict[str, Any]:
    """The figures of the league. Without any anomalous row only those of false alarms."""
    labels, _, alarm = counted_rows(recordings, verdicts)
    quiet = labels == 0
    false, seconds, normal_seconds = 0, 0.0, 0.0
    for recording, said in zip(recordings, verdicts, strict=True):
        table = recording.table
        assert table.labels is not None
        false += sum(judged.kind == "false" for judged in judge(recording, said, 0.0))
        seconds += int(np.isfinite(table.labels).sum()) * table.interval
        normal_seconds += int((table.labels == 0).sum()) * table.interval
    figures: dict[str, Any] = {
        "normal_days": normal_seconds / 86_400,
        "false_alarms": false,
        "false_alarms_per_day": false_alarms_per_day(false, seconds),
        "false_alarm_time_share": float(alarm[quiet].mean()) if quiet.any() else None,
    }
    card: ReportCard | None = report_card(recordings, verdicts) if (labels > 0).any() else None
    return figures | {name: getattr(card, name, None) for name in FIGURES}


def halves(
    recordings: Sequence[Recording], verdicts: Sequence[Verdicts]
) -> list[tuple[list[Recording], list[Verdicts]]]:
    """Two halves of what was watched: every other recording, or a single one cut in the middle."""
    if len(recordings) > 1:
        return [(list(recordings[first::2]), list(verdicts[first::2])) for first in (0, 1)]
    return [_labelled_half(recordings[0], verdicts[0], second) for second in (False, True)]


def _labelled_half(
    recording: Recording, said: Verdicts, second: bool
) -> tuple[list[Recording], list[Verdicts]]:
    """The recording with the other half of its rows not counted; events belong by their start."""
    table = recording.table
    assert table.labels is not None
    known = np.flatnonzero(np.isfinite(table.labels))
    middle = int(known[len(known) // 2])
    cut = int(table.time[middle])
    rows = np.arange(len(table)) >= middle
    labels = np.where(rows == second, table.labels, np.nan)
    events = tuple(event for event in recording.events if (event.start >= cut) == second)
    return [replace(recording, table=replace(table, labels=labels), events=events)], [said]
