"""The counting behind the published 100 / 100 / 100, and the strict one over the same steps.

The published scripts (Meli, IEEE CASE 2024) take every `step`-th row. What they count:

- *hits and misses*: steps inside the chosen attack windows only. A window reaches from first row /
  step to last row / step, both rounded down, its end exclusive;
- *false alarms*: steps of the last 30 % of the **normal** recording;
- alarms between attacks: never.

Files that are attacked as a whole (Pepper) are one window each, without their last step.

So an alarm that is silent in the normal recording and on throughout the one with attacks is perfect
by this counting. The strict one looks at every step of the recordings with attacks: a step is
attacked if any of its rows is labelled so. Where those recordings hold no normal step at all, the
normal test steps stand in: otherwise nothing could ever be a false alarm.

What the difference between the two means is said by `causewatch.evaluation.paper_words`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets.base import Recording
from causewatch.data.datasets.shaping import event_labels
from causewatch.errors import SettingError
from causewatch.evaluation.truth import rows_of
from causewatch.evaluation.verdicts import Verdicts

__all__ = [
    "LEARNT_SHARE",
    "Counts",
    "PaperCount",
    "WindowCount",
    "attack_windows",
    "attacked_steps",
    "count_as_published",
    "count_steps",
    "count_strictly",
    "count_verdicts",
    "normal_test_steps",
    "verdicts_by_step",
]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

LEARNT_SHARE = 0.7
"""First part of the normal recording, to learn from; the rest counts as normal test data."""


@dataclass(frozen=True, slots=True)
class PaperCount:
    """Steps, counted in one of the two ways.

    Attributes
    ----------
    counting
        ``paper`` or ``strict``.
    hits, missed
        Attacked steps with and without alarm.
    false_alarms, silent
        Normal steps with and without alarm.

    Examples
    --------
    >>> count = PaperCount("paper", hits=8, missed=2, false_alarms=2, silent=88)
    >>> count.precision, count.recall, count.f1
    (0.8, 0.8, 0.8)
    """

    counting: Literal["paper", "strict"]
    hits: int
    missed: int
    false_alarms: int
    silent: int

    @property
    def precision(self) -> float:
        """Share of the steps with alarm that were attacked; 0 without any alarm."""
        return self.hits / max(1, self.hits + self.false_alarms)

    @property
    def recall(self) -> float:
        """Share of the attacked steps that had an alarm; 0 if none was attacked."""
        return self.hits / max(1, self.hits + self.missed)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.hits / max(1, 2 * self.hits + self.false_alarms + self.missed)

    @property
    def steps(self) -> int:
        """All steps that were looked at."""
        return self.hits + self.missed + self.false_alarms + self.silent

    @property
    def attacked_share(self) -> float:
        """Share of them that was attacked: the precision of an alarm at random times."""
        return (self.hits + self.missed) / max(1, self.steps)

    @property
    def alarm_share(self) -> float:
        """Share of them with alarm."""
        return (self.hits + self.false_alarms) / max(1, self.steps)

    def to_dict(self) -> dict[str, float]:
        """Precision, recall and F1, and what they were made from."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "hits": self.hits,
            "missed": self.missed,
            "false_alarms": self.false_alarms,
            "silent": self.silent,
        }


@dataclass(frozen=True, slots=True)
class WindowCount:
    """One attack: how many steps its window has, and how many of them had an alarm."""

    name: str
    steps: int
    alarmed: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Both countings of one detector.

    Attributes
    ----------
    published, strict
        The two.
    windows
        The attacks that the published counting looks at; one that is shorter than a step has none.
    whole_files
        Whether the recordings with attacks hold no normal step, so that the strict count, too, has
        its normal steps from the normal recording.
    """

    published: PaperCount
    strict: PaperCount
    windows: tuple[WindowCount, ...]
    whole_files: bool = False

    @property
    def alarm_share(self) -> float:
        """Share of the steps of the recordings with attacks that had an alarm."""
        return self.strict.recall if self.whole_files else self.strict.alarm_share


def verdicts_by_step(alarm: Bools, step: int) -> Bools:
    """Verdicts by step from verdicts by row: a step is the one row that plain decimation keeps."""
    if step < 1:
        msg = f"A step of {step} rows was asked for; it must be at least 1."
        raise SettingError(msg)
    return np.asarray(alarm, dtype=np.bool_)[::step]


def normal_test_steps(alarm: Bools, learnt: float = LEARNT_SHARE) -> Bools:
    """The steps of a normal recording after the part that was learnt from."""
    return alarm[int(learnt * len(alarm)) :]


def attack_windows(
    recording: Recording,
    step: int,
    steps: int,
    *,
    chosen: Collection[str] | None = None,
    whole_files: bool = False,
) -> list[tuple[str, slice]]:
    """Steps of each attack, as the published scripts count them.

    Parameters
    ----------
    recording
        With its events.
    step
        Rows per step.
    steps
        How many steps the recording has.
    chosen
        Names of the events that count; all if not given.
    whole_files
        Each event is the whole recording but its last step.
    """
    windows = []
    for event in recording.events:
        if chosen is not None and event.name not in chosen:
            continue
        start, end = rows_of(event, recording.table)
        window = slice(start // step, min(end // step, steps))
        windows.append((event.name, slice(0, steps - 1) if whole_files else window))
    return windows


def attacked_steps(recording: Recording, step: int, steps: int) -> Floats:
    """By step: 1 if any of its rows is labelled anomalous, 0 if none is, NaN if no row counts.

    Without labels the events tell.
    """
    table = recording.table
    labels = table.labels if table.labels is not None else event_labels(table, recording.events)
    truth = np.full(steps, np.nan)
    padded = np.full(-(-len(labels) // step) * step, np.nan)
    padded[: len(labels)] = labels
    found = padded.reshape(-1, step)[:steps]
    truth[: len(found)] = np.where(
        (found == 1).any(axis=1), 1.0, np.where(np.isnan(found).all(axis=1), np.nan, 0.0)
    )
    return truth


def count_as_published(normal: Bools, attacks: Sequence[Bools]) -> PaperCount:
    """The published counting.

    Parameters
    ----------
    normal
        Whether each normal test step had an alarm.
    attacks
        The same for the steps of each attack window; a step in two windows counts twice, as in
        the scripts.
    """
    hits = sum(int(np.count_nonzero(alarm)) for alarm in attacks)
    false = int(np.count_nonzero(normal))
    return PaperCount(
        "paper", hits, sum(map(len, attacks)) - hits, false_alarms=false, silent=len(normal) - false
    )


def count_strictly(alarm: Bools, truth: Floats) -> PaperCount:
    """Every step: `truth` is 1 where it was attacked, 0 where not, NaN where it does not count."""
    if len(alarm) != len(truth):
        msg = f"There are {len(alarm)} verdicts and {len(truth)} labels; one for each step."
        raise SettingError(msg)
    on = np.asarray(alarm, dtype=np.bool_)
    attacked, calm = np.asarray(truth) == 1, np.asarray(truth) == 0
    return PaperCount(
        "strict",
        hits=int(np.count_nonzero(on & attacked)),
        missed=int(np.count_nonzero(~on & attacked)),
        false_alarms=int(np.count_nonzero(on & calm)),
        silent=int(np.count_nonzero(~on & calm)),
    )


def count_steps(
    normal: Bools,
    tests: Sequence[tuple[Recording, Bools]],
    step: int,
    *,
    chosen: Collection[str] | None = None,
    whole_files: bool = False,
) -> Counts:
    """Both countings from verdicts by step.

    Parameters
    ----------
    normal
        Whether each normal *test* step had an alarm; see `normal_test_steps`.
    tests
        The recordings with attacks, and whether each of their steps had an alarm.
    step, chosen, whole_files
        See `attack_windows`.
    """
    inside: list[tuple[str, Bools]] = []
    for recording, alarm in tests:
        for name, window in attack_windows(
            recording, step, len(alarm), chosen=chosen, whole_files=whole_files
        ):
            inside.append((name, alarm[window]))
    on = [alarm for _, alarm in tests]
    truth = [attacked_steps(recording, step, len(alarm)) for recording, alarm in tests]
    bare = not any((labels == 0).any() for labels in truth)
    if bare:
        on, truth = [*on, normal], [*truth, np.zeros(len(normal))]
    return Counts(
        count_as_published(normal, [alarm for _, alarm in inside]),
        count_strictly(np.concatenate(on), np.concatenate(truth)),
        tuple(WindowCount(name, len(one), int(np.count_nonzero(one))) for name, one in inside),
        bare,
    )


def count_verdicts(
    normal: Verdicts,
    tests: Sequence[tuple[Recording, Verdicts]],
    step: int,
    *,
    learnt: float = LEARNT_SHARE,
    chosen: Collection[str] | None = None,
    whole_files: bool = False,
) -> Counts:
    """Both countings from verdicts by row.

    Parameters
    ----------
    normal
        What was said of the normal recording.
    tests
        The recordings with attacks, and what was said of them.
    step
        Rows per step.
    learnt
        First part of the normal recording, which is not counted because it was learnt from; 0 if
        `normal` is a recording that nothing was learnt from.
    chosen, whole_files
        See `attack_windows`.
    """
    for recording, verdicts in tests:
        if len(verdicts.alarm) != len(recording.table):
            msg = (
                f"There are {len(verdicts.alarm)} verdicts for the {len(recording.table)} rows of"
                f" {recording.name!r}; there must be one for each."
            )
            raise SettingError(msg)
    return count_steps(
        normal_test_steps(verdicts_by_step(normal.alarm, step), learnt),
        [(recording, verdicts_by_step(one.alarm, step)) for recording, one in tests],
        step,
        chosen=chosen,
        whole_files=whole_files,
    )
