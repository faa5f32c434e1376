"""One cell: one detector on one part of one column, as plain data in one file.

A file is named after everything the cell depends on: the source code, the recordings, the detector
as it was set. An interrupted league goes on where it stopped, and no cell of other code or data is
taken for one of these.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
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

__all__ = ["LeagueError", "Task", "code_hash", "computed", "measure", "stored"]

NOT_COUNTED = ("cli", "server", "streaming", "adapters", "testing")
"""Layers of the product that no figure depends on."""
NOT_MEASURING = ("page.py", "__main__.py")
"""Files of the league that only show what was measured."""
LIBRARIES = ("numpy", "scipy", "polars", "scikit-learn")


class LeagueError(Exception):
    """What keeps the league from going on, in one sentence."""


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

    def path(self, folder: Path, code: str, data: str) -> Path:
        """The file of the cell; `code` and `data` are the hashes of what it depends on."""
        key = hashlib.sha256(f"{self.name}\n{code}\n{data}".encode()).hexdigest()[:12]
        plain = self.name.replace(", ", "_").replace(" ", "-")
        return folder / f"{plain}_{key}.json"


def code_hash() -> str:
    """Of every source file and library that a cell depends on, as they are on disk now."""
    product, league = ROOT / "src" / "causewatch", ROOT / "benchmarks" / "league"
    files = [
        path
        for path in product.rglob("*.py")
        if path.relative_to(product).parts[0] not in NOT_COUNTED
    ]
    files += [path for path in league.glob("*.py") if path.name not in NOT_MEASURING]
    digest = hashlib.sha256()
    for path in sorted((*files, ROOT / "benchmarks" / "common.py")):
        digest.update(f"{path.relative_to(ROOT).as_posix()} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    for name in LIBRARIES:
        try:
            digest.update(f"{name} {version(name)}\n".encode())
        except PackageNotFoundError as error:
            msg = (
                f"The league needs {name}; install it with: pip install 'causewatch[baselines]', or"
                " use 'make league'."
            )
            raise LeagueError(msg) from error
    return digest.hexdigest()[:16]


@lru_cache(maxsize=2)
def loaded(column: str, part: str, folder: Path | None) -> tuple[list[Case], str]:
    """The cases of a column and the hash of their data; the last ones are kept."""
    cases = cases_of(COLUMNS[column], folder, part)
    return cases, data_hash(cases)


def stored(task: Task, path: Path, code: str, data: str) -> dict[str, Any] | None:
    """A cell that was measured before; None where there is none or it is damaged."""
    try:
        cell = json.loads(path.read_text(encoding="utf-8"))
        whole = cell.pop("digest") == digest_of(cell)
        known = {key: cell[key] for key in ("task", "code", "data")}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        known, whole = {}, False
    if not whole or known != {"task": task.name, "code": code, "data": data}:
        print(f"{path} is damaged; the cell is measured anew.", file=sys.stderr)
        return None
    measured: dict[str, Any] = cell
    return measured


def digest_of(cell: Mapping[str, Any]) -> str:
    """What tells whether a cell is as it was written."""
    return hashlib.sha256(json.dumps(cell, sort_keys=True).encode()).hexdigest()[:16]


def computed(task: Task, cells: Path, folder: Path | None, code: str) -> dict[str, Any]:
    """The cell of a task: from its file, or measured now and written there.

    `code` is the hash of the code that runs. No cell is written once the files on disk are others:
    it would be taken for one of theirs.
    """
    cases, data = loaded(task.column, task.part, folder)
    path = task.path(cells, code, data)
    cell = stored(task, path, code, data)
    if cell is None:
        with threadpool_limits(1):
            cell = {"task": task.name, "code": code, "data": data} | measure(task, cases)
        if code_hash() != code:
            msg = "The source code changed while the league ran; start it again."
            raise LeagueError(msg)
        part = path.with_suffix(f".{os.getpid()}.part")
        text = json.dumps(cell | {"digest": digest_of(cell)}, indent=1, allow_nan=False)
        part.write_text(text + "\n", encoding="utf-8")
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
        return {"skipped": True, "wall_s": 0.0}
    for case in cases:
        asked.append(case.split.false_alarm_every)
        ticks.append(case.split.every * task.stretched(case.split))
        recordings += case.recordings
        detector = task.variant.make()
        start = time.perf_counter()
        try:
            detector.fit(_with_ticks(case.split, task))
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


def _with_ticks(split: Split, task: Task) -> Split:
    """The split with ticks of the length that the task asks for."""
    stretched = task.stretched(split)
    return split if stretched == 1.0 else other_ticks(split, stretched)


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
    false, normal_seconds = 0, 0.0
    for recording, said in zip(recordings, verdicts, strict=True):
        table = recording.table
        assert table.labels is not None
        false += sum(judged.kind == "false" for judged in judge(recording, said, 0.0))
        normal_seconds += int((table.labels == 0).sum()) * table.interval
    figures: dict[str, Any] = {
        "normal_days": normal_seconds / 86_400,
        "false_alarms": false,
        "false_alarms_per_day": (
            false_alarms_per_day(false, normal_seconds) if normal_seconds else None
        ),
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
    """The recording with the rows of the other half not counted; what lies across is cut."""
    table = recording.table
    assert table.labels is not None
    known = np.flatnonzero(np.isfinite(table.labels))
    middle = int(known[len(known) // 2]) if len(known) else len(table)
    rows = np.arange(len(table)) >= middle
    labels = np.where(rows == second, table.labels, np.nan)
    last = int(table.time[-1]) + 1
    cut = int(table.time[middle]) if middle < len(table) else last
    since, until = (cut, last) if second else (int(table.time[0]), cut)
    events = tuple(
        replace(event, start=max(event.start, since), end=min(event.end, until) if not second
                else event.end)
        for event in recording.events
        if event.start < until and event.end > since
    )  # fmt: skip
    alarms = tuple(
        replace(alarm, raised_at=max(alarm.raised_at, since))
        for alarm in said.alarms
        if alarm.raised_at < until and (alarm.cleared_at is None or alarm.cleared_at > since)
    )
    half = replace(recording, table=replace(table, labels=labels), events=events)
    return [half], [replace(said, alarms=alarms)]
