"""`NormalHabits`: how each signal usually behaves, for judging its health later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNCHANGED", "NormalHabits", "habits_of", "unchanged"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

UNCHANGED = 1e-12
"""Two values are the same if they differ by no more than this share of their size: a mean over
nine rows and one over ten differ in the last digit even if all rows are the same."""

FULL = 0.98
"""Ticks have fewer rows than this where it is usual that some have none."""


@dataclass(frozen=True, eq=False)
class NormalHabits:
    """How signals behave in normal operation, by column number.

    Attributes
    ----------
    ticks
        How many ticks were looked at.
    low, high
        Smallest and largest value; NaN for a signal without any.
    longest_still
        Longest run of ticks at which a signal did not change, 0 if it always did.
    still
        Share of the ticks at which it did not change.
    longest_missing
        Longest run of ticks without a value.
    missing
        Share of the ticks without a value.
    rows_per_tick
        Rows that usually make a tick; NaN if unknown.
    """

    ticks: int
    low: Floats
    high: Floats
    longest_still: Ints
    still: Floats
    longest_missing: Ints
    missing: Floats
    rows_per_tick: float = float("nan")

    @property
    def least_rows(self) -> int:
        """Rows that a tick must have to be judged.

        Fewer than half of the usual ones make other ticks than those learnt. Where ticks without a
        row are usual, they were learnt as they are held, and none is left out.
        """
        return max(1, int(self.rows_per_tick / 2.0)) if self.rows_per_tick > FULL else 0

    def merged(self, other: NormalHabits) -> NormalHabits:
        """The habits over both recordings; the rows per tick are weighted by ticks."""
        total = max(1, self.ticks + other.ticks)

        def mean(one: Floats, two: Floats) -> Floats:
            return (one * self.ticks + two * other.ticks) / total

        known = [one for one in (self, other) if np.isfinite(one.rows_per_tick)]
        weight = sum(one.ticks for one in known)
        rows = sum(one.rows_per_tick * one.ticks for one in known) / weight if weight else np.nan
        return NormalHabits(
            ticks=self.ticks + other.ticks,
            low=np.fmin(self.low, other.low),
            high=np.fmax(self.high, other.high),
            longest_still=np.maximum(self.longest_still, other.longest_still),
            still=mean(self.still, other.still),
            longest_missing=np.maximum(self.longest_missing, other.longest_missing),
            missing=mean(self.missing, other.missing),
            rows_per_tick=float(rows),
        )


def habits_of(stretches: Sequence[Floats], rows_per_tick: float = float("nan")) -> NormalHabits:
    """The habits that a normal recording shows.

    Parameters
    ----------
    stretches
        Ticks × signals each, at least one; NaN is a missing value.
    rows_per_tick
        Rows of the recording by ticks made of them.
    """
    signals = stretches[0].shape[1]
    ticks = sum(len(stretch) for stretch in stretches)
    low, high = np.full(signals, np.nan), np.full(signals, np.nan)
    longest_still, longest_missing = np.zeros((2, signals), dtype=np.int64)
    still, missing = np.zeros((2, signals), dtype=np.int64)
    for stretch in stretches:
        if not len(stretch):
            continue
        low = np.fmin(low, np.fmin.reduce(stretch, axis=0))
        high = np.fmax(high, np.fmax.reduce(stretch, axis=0))
        same, gone = unchanged(stretch[1:], stretch[:-1]), np.isnan(stretch)
        still += np.count_nonzero(same, axis=0)
        missing += np.count_nonzero(gone, axis=0)
        longest_still = np.maximum(longest_still, _longest_runs(same))
        longest_missing = np.maximum(longest_missing, _longest_runs(gone))
    return NormalHabits(
        ticks=ticks,
        low=low,
        high=high,
        longest_still=longest_still,
        still=still / max(1, ticks),
        longest_missing=longest_missing,
        missing=missing / max(1, ticks),
        rows_per_tick=rows_per_tick,
    )


def unchanged(values: Floats, before: Floats) -> Bools:
    """Where a value is the same as before; never where one of them is missing."""
    return np.asarray(np.abs(values - before) <= UNCHANGED * np.abs(values))


def _longest_runs(flags: Bools) -> Ints:
    """Length of the longest run of True in each column."""
    place = np.arange(1, len(flags) + 1)[:, None]
    last_false = np.maximum.accumulate(np.where(flags, 0, place), axis=0)
    longest: Ints = np.max(place - last_false, axis=0, initial=0)
    return longest
