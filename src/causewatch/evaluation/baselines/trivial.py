"""Detectors that know nothing: what any figure has to be held against."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import TimeTable
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.scored import Judgement, Scored
from causewatch.evaluation.verdicts import AlarmSpan, Progress, Verdicts
from causewatch.monitor.recorded import columns_of

__all__ = ["AlwaysOn", "Random", "Switch"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Random(Scored):
    """A random number per tick, whatever the signals do; the limit follows the rule of all others.

    The number is uniform, taken through -log(1 - u): that changes no order, so no figure that
    depends on order alone, but gives it a tail that the rule for limits can follow. It names no
    cause. A recording gets the same numbers every time.
    """

    name = "random"

    def _learn(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> None:
        del ticks, progress
        self._seed = seed
        self._random = np.random.default_rng(seed)

    def _begin(self, table: TimeTable) -> None:
        # Numbers of its own for every recording: one that gets those of the limits' part would
        # hardly ever pass the limit. The first row tells recordings apart.
        first = table.time[:1].tobytes() + table.values[:1].tobytes()
        self._random = np.random.default_rng([self._seed, zlib.crc32(first)])

    def _judge(self, ticks: Floats) -> Judgement:
        # Ticks come in order and each once (`reach` is 0), and this way of drawing takes one number
        # of the generator for each: how a recording is cut into pieces changes nothing.
        return self._random.standard_exponential(len(ticks), method="inv"), None


class AlwaysOn:
    """One alarm, raised at the first row of every recording, and never cleared.

    An event counts as detected only if an alarm is raised within it, so this detects an event only
    where that begins with the first row; counts by row credit it with every one.
    """

    name = "always_on"

    def fit(self, split: Split, progress: Progress | None = None) -> None:
        """Learn nothing."""
        del split, progress

    def watch(self, table: TimeTable, progress: Progress | None = None) -> Verdicts:
        """The alarm is on at every row; a score of 2 is above the limit."""
        del progress
        began = time.perf_counter()
        return _verdicts(table, np.ones(len(table), dtype=np.bool_), began)


class Switch:
    """Off at every row that it was shown in `fit`, on at all others.

    It cannot see a fault, only that this is not the recording it was fitted on: in any other one
    its alarm is raised at the first row and stays. That is what is rewarded where precision is
    counted on the normal recording and recall on the other one. Rows are told by their time and
    values; a start-up that was left out of the split was not shown.
    """

    name = "switch"

    def fit(self, split: Split, progress: Progress | None = None) -> None:
        """Remember the rows of normal operation."""
        del progress
        self._signals = split.learn[0].signals
        self._shown = {
            row for table in (*split.learn, *split.limits) for row in _marks(table, self._signals)
        }

    def watch(self, table: TimeTable, progress: Progress | None = None) -> Verdicts:
        """On at every row that is new; a score of 2 is above the limit, 0 below it."""
        del progress
        began = time.perf_counter()
        new = [row not in self._shown for row in _marks(table, self._signals)]
        return _verdicts(table, np.array(new, dtype=np.bool_), began)


def _marks(table: TimeTable, signals: tuple[str, ...]) -> Iterator[int]:
    """A number for every row that tells it from others."""
    values = np.ascontiguousarray(columns_of(table, signals))
    for when, row in zip(table.time.tolist(), values, strict=True):
        yield hash((when, row.tobytes()))


def _verdicts(table: TimeTable, on: Bools, began: float) -> Verdicts:
    """An alarm for each run of rows at which it is on."""
    edges = np.diff(on.astype(np.int8), prepend=0)
    ends = np.flatnonzero(edges < 0).tolist()
    spans = []
    for start in np.flatnonzero(edges > 0).tolist():
        end = next((row for row in ends if row > start), None)
        cleared = None if end is None else int(table.time[end])
        spans.append(AlarmSpan(int(table.time[start]), cleared, abstained=True))
    score = np.where(on, 2.0, 0.0)
    return Verdicts(score, on, tuple(spans), seconds=time.perf_counter() - began)
