"""The one shape of everything that is compared: it learns from normal operation, then watches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from causewatch.data.table import TimeTable
from causewatch.evaluation.verdicts import Progress, Verdicts

__all__ = ["Detector", "Split"]


@dataclass(frozen=True)
class Split:
    """Normal operation, cut once and in the same way for every detector.

    Attributes
    ----------
    learn
        What models are learnt from: the first part of the normal recording.
    limits
        What alarm limits are learnt from: the rest of it. No detector sees anything else before
        its limits are frozen.
    every
        Length of a tick in seconds, for detectors that average rows.
    max_lag
        How many ticks back a detector may look, where it has no idea of its own.
    false_alarm_every
        Expected time between two false alarms, in seconds.
    seed
        For everything random.
    """

    learn: tuple[TimeTable, ...]
    limits: tuple[TimeTable, ...]
    every: float
    max_lag: int
    false_alarm_every: float
    seed: int = 0


class Detector(Protocol):
    """Something that can tell normal operation from the rest.

    `fit` is called once, then `watch` for each recording; a recording is watched from a fresh
    start, and what was seen in one never changes what is said of another.
    """

    @property
    def name(self) -> str:
        """Short name, as on the command line."""

    def fit(self, split: Split, progress: Progress | None = None) -> None:
        """Learn, and freeze the alarm limit on ``split.limits``."""

    def watch(self, table: TimeTable, progress: Progress | None = None) -> Verdicts:
        """Judge a recording; what is said of a row depends on that row and earlier ones only."""
