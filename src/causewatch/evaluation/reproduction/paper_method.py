"""The published method, run and counted as its scripts do.

The detector runs without the monitor around it: the monitor adds guards of signals that are
constant in normal operation, which the published method does not have.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets import Event, Recording
from causewatch.data.table import TimeTable
from causewatch.detectors import PublishedDetector
from causewatch.errors import SettingError, UnknownNameError
from causewatch.evaluation.paper_counting import LEARNT_SHARE, attack_windows, count_steps
from causewatch.evaluation.reproduction.case import Case
from causewatch.evaluation.reproduction.outcome import AttackOutcome, MethodOutcome, Timing
from causewatch.evaluation.verdicts import Progress
from causewatch.model import NormalModel, learn

__all__ = ["PaperRun", "run_paper"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

GETS = (
    "links from the whole normal recording, coefficients and limits from its first 70 %; the other"
    " 30 % are its normal test data"
)


@dataclass(frozen=True, eq=False)
class PaperRun:
    """The published method on a case.

    Attributes
    ----------
    model, step
        What was learnt, and its rows per step.
    outcome, attacks
        How it did, and what it says of each attack.
    alarms
        By test recording: whether each step had an alarm.
    """

    model: NormalModel
    step: int
    outcome: MethodOutcome
    attacks: tuple[AttackOutcome, ...]
    alarms: tuple[Bools, ...]


@dataclass(frozen=True, eq=False)
class _Watched:
    """One recording: alarm by step, suspects by attack, seconds by step."""

    alarm: Bools
    suspects: Mapping[str, tuple[str, ...]]
    seconds: Floats


def run_paper(
    case: Case,
    *,
    step: int | None = None,
    max_lag: int | None = None,
    progress: Progress | None = None,
) -> PaperRun:
    """Learn, watch and count as published.

    Parameters
    ----------
    case
        The recordings.
    step, max_lag
        Rows per step and longest lag instead of the case's, or what the published rule finds.
    progress
        Told what is being done.
    """
    step = case.step if step is None else step
    max_lag = case.max_lag if max_lag is None else max_lag
    tell = progress or (lambda what, share: None)
    normal = case.normal.table
    if step is not None and step < 1:
        msg = f"--step is {step} rows; it must be at least 1."
        raise SettingError(msg)
    began = time.perf_counter()
    model = learn(
        normal,
        preset="paper",
        every=None if step is None else step * normal.interval,
        max_lag=max_lag,
        progress=lambda what, share: tell(f"paper: {what}", share),
    )
    learnt = time.perf_counter() - began
    rows = model.preprocessing.step
    assert rows is not None  # the preset always takes every so-manieth row

    def watched(table: TimeTable, what: str, recording: Recording | None = None) -> _Watched:
        return _watch(model, rows, table, case, recording, lambda s: tell(f"paper: {what}", s))

    calm = watched(normal, "normal recording")
    # Number of the first step whose last tick is not in the learnt part; the scripts stop one tick
    # before the end of that part, as they do at the end of every recording.
    first = max(0, int(LEARNT_SHARE * len(normal.values[::rows])) - 1 - model.preprocessing.max_lag)
    tests = [(one, watched(one.table, "attacks", one)) for one in case.tests]
    untouched = [watched(table, "without attacks").alarm for table in case.untouched]
    counts = count_steps(
        calm.alarm[first:],
        [(recording, one.alarm) for recording, one in tests],
        rows,
        chosen=case.chosen,
        whole_files=case.whole_files,
    )
    seconds = 1000.0 * np.concatenate([one.seconds for _, one in tests])
    timing = Timing(learnt, float(seconds.mean()), float(seconds.std()))
    outcome = MethodOutcome(
        "paper",
        counts,
        timing,
        GETS,
        float(np.concatenate(untouched).mean()) if untouched else None,
    )
    suspects = {name: top for _, one in tests for name, top in one.suspects.items()}
    attacks = tuple(
        _attack(case, model, event, window.steps, window.alarmed, suspects.get(event.name, ()))
        for event, window in zip(case.events, counts.windows, strict=True)
    )
    return PaperRun(model, rows, outcome, attacks, tuple(one.alarm for _, one in tests))


def _watch(
    model: NormalModel,
    step: int,
    table: TimeTable,
    case: Case,
    recording: Recording | None,
    tell: Callable[[float], None],
) -> _Watched:
    """Show a recording to a fresh detector, step by step."""
    limits = model.watching.published
    assert limits is not None  # the preset always has them
    detector = PublishedDetector(model.equations, limits)
    ticks = _ticks(model, step, table)
    steps = max(0, len(ticks) - model.preprocessing.max_lag)
    starting, ending = defaultdict[int, list[str]](list), defaultdict[int, list[str]](list)
    if recording is not None:
        for name, window in attack_windows(
            recording, step, steps, chosen=case.chosen, whole_files=case.whole_files
        ):
            if window.start < window.stop:
                starting[window.start].append(name)
                ending[window.stop - 1].append(name)
    sums: dict[str, Floats] = {}
    suspects: dict[str, tuple[str, ...]] = {}
    alarm, seconds = np.zeros(steps, dtype=np.bool_), np.zeros(steps)
    every = max(1, len(ticks) // 100)
    for tick, values in enumerate(ticks):
        number = detector.step + 1
        for name in starting[number]:
            sums[name] = detector.totals()
        began = time.perf_counter()
        score = detector.update(values).score
        if number >= 0:
            seconds[number] = time.perf_counter() - began
            alarm[number] = score is not None and score > 1.0
        for name in ending[number]:
            suspects[name] = tuple(model.signals[k] for k in detector.suspects(sums[name]))
        if tick % every == 0:
            tell(tick / len(ticks))
    return _Watched(alarm, suspects, seconds)


def _ticks(model: NormalModel, step: int, table: TimeTable) -> Floats:
    """Every `step`-th row with zeros for what is missing, but for the last: as the scripts do."""
    place = {name: k for k, name in enumerate(table.signals)}
    for name in model.signals:
        if name not in place:
            raise UnknownNameError(name, "signal in the recording to watch", table.signals)
    rows = table.values[::step, [place[name] for name in model.signals]]
    return np.nan_to_num(rows, posinf=0.0, neginf=0.0)[:-1]


def _attack(
    case: Case,
    model: NormalModel,
    event: Event,
    steps: int,
    alarmed: int,
    top: tuple[str, ...],
) -> AttackOutcome:
    stages = tuple(dict.fromkeys(filter(None, map(case.stage_of, event.signals))))
    return AttackOutcome(
        event.name,
        event.signals,
        tuple(name for name in event.signals if name in model.signals),
        steps,
        alarmed,
        top,
        stages,
        stage_hit=any(case.stage_of(name) in stages for name in top),
        signal_hit=any(name in event.signals for name in top),
    )
