"""Detectors side by side: same split, same rule for limits, same counting."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from causewatch.data.datasets.base import Recording
from causewatch.errors import NotEnoughDataError
from causewatch.evaluation.baselines.base import Detector, Split
from causewatch.evaluation.baselines.catalogue import DETECTORS, make
from causewatch.evaluation.card import ReportCard, report_card
from causewatch.evaluation.verdicts import Progress, Verdicts

__all__ = ["Case", "ComparisonRow", "Refused", "compare", "compare_one"]


@dataclass(frozen=True)
class Case:
    """A plant: what is known of its normal operation, and recordings with known truth."""

    split: Split
    recordings: Sequence[Recording]


@dataclass(frozen=True, slots=True)
class Refused:
    """A detector that cannot learn from these recordings, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class ComparisonRow:
    """What one detector did.

    Attributes
    ----------
    name, description
        Which one.
    card
        Its report card.
    learn_s
        Seconds that learning took, limits included.
    step_ms_mean, step_ms_std
        Milliseconds of one online step (a tick), over all steps that were timed.
    rows_per_s
        Rows watched in a second, all told.
    """

    name: str
    description: str
    card: ReportCard
    learn_s: float
    step_ms_mean: float
    step_ms_std: float
    rows_per_s: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "description": self.description,
            "learn_s": round(self.learn_s, 3),
            "step_ms_mean": self.step_ms_mean,
            "step_ms_std": self.step_ms_std,
            "rows_per_s": self.rows_per_s,
            **self.card.to_dict(),
        }


def compare(
    names: Sequence[str],
    cases: Sequence[Case],
    *,
    grace: float = 0.0,
    progress: Progress | None = None,
) -> Iterator[ComparisonRow | Refused]:
    """Learn and count one detector after the other; each row is given as soon as it is known.

    What a detector cannot learn from does not keep the others from it.

    Parameters
    ----------
    names
        Of the detectors, as in the catalogue. A wrong name or a missing library is told before the
        first one learns.
    cases
        What to learn from, and what to hold that against; counted together.
    grace
        As for `report_card`.
    progress
        Told what is being done.
    """
    for name in names:
        make(name)
    for name in names:
        try:
            yield compare_one(name, cases, grace, progress)[0]
        except NotEnoughDataError as error:
            yield Refused(name, str(error))


def compare_one(
    name: str, cases: Sequence[Case], grace: float = 0.0, progress: Progress | None = None
) -> tuple[ComparisonRow, list[Detector]]:
    """Let one detector learn, watch and be counted; gives it as it is after each case, too."""

    def tell(what: str, share: float | None) -> None:
        if progress is not None:
            progress(f"{name}: {what}", share)

    learn_s = 0.0
    verdicts: list[Verdicts] = []
    detectors: list[Detector] = []
    for case in cases:
        detector = make(name)
        detectors.append(detector)
        began = time.perf_counter()
        detector.fit(case.split, tell)
        learn_s += time.perf_counter() - began
        verdicts += [detector.watch(one.table, tell) for one in case.recordings]
    recordings = [one for case in cases for one in case.recordings]
    steps = 1000.0 * np.concatenate([one.step_seconds for one in verdicts])
    seconds = sum(one.seconds for one in verdicts)
    row = ComparisonRow(
        name,
        DETECTORS[name].what,
        report_card(recordings, verdicts, grace=grace),
        learn_s,
        float(steps.mean()) if len(steps) else 0.0,
        float(steps.std()) if len(steps) else 0.0,
        sum(len(one.table) for one in recordings) / max(seconds, 1e-9),
    )
    return row, detectors
