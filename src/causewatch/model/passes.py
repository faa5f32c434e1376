"""Passes over a recording: what learning gathers of its rows and ticks.

A recording is read in pieces and never held in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from causewatch.data import TableSource, format_tick
from causewatch.discovery import LaggedMoments
from causewatch.errors import NotEnoughDataError
from causewatch.preprocess import (
    BlockSample,
    LastRows,
    Preprocessing,
    Survey,
    SurveyResult,
    TickSource,
)

__all__ = [
    "LearnProgress",
    "TickPass",
    "guarded_signals",
    "last_ticks",
    "most_ticks",
    "ranges_of",
    "survey_of",
    "take_moments",
]

Floats = NDArray[np.float64]

CALIBRATION_TICKS = 500_000
CALIBRATION_VALUES = 16_000_000
"""At most so many of the last ticks, and values in them, decide the alarm limits. Too few of them
are no matter of detail: an oil well's limits from the last two thirds of its 141,000 ticks cover a
third of each event, those from all of them cover it whole."""
LearnProgress = Callable[[str, float | None], None]
"""Told what is being done, and the share of it that is done (None: not known)."""


@dataclass(frozen=True)
class TickPass:
    """What the pass over the ticks gives.

    Attributes
    ----------
    ticks
        The ticks themselves, to be read again.
    moments
        Their lagged moments.
    sample
        Stretches of ticks, spread over the recording.
    last
        The last ticks, guarded signals included, for alarm limits and habits.
    count, missing
        How many ticks there are, and how many of their values are missing.
    """

    ticks: TickSource
    moments: LaggedMoments
    sample: list[Floats]
    last: list[Floats]
    count: int
    missing: int


def survey_of(source: TableSource, tell: LearnProgress) -> tuple[SurveyResult, list[Floats]]:
    """First pass: the survey, and a sample of rows."""
    survey = Survey(source.signals, source.interval, source.clock)
    sample = BlockSample(len(source.signals))
    rows = 0
    for chunk in source.chunks():
        survey.update(chunk)
        sample.update(chunk)
        rows += len(chunk)
        tell(f"reading: {rows:,} rows", None)
    return survey.finish(), sample.stretches()


def last_ticks(source: TableSource, plan: Preprocessing, most: int = 1 << 62) -> list[Floats]:
    """The last ticks of a recording, at most so many, stretch by stretch."""
    last = LastRows(most)
    for chunk in TickSource(source, plan).chunks():
        last.update(chunk)
    return last.stretches()


def most_ticks(columns: int) -> int:
    """How many of the last ticks decide the alarm limits, by number of columns."""
    return min(CALIBRATION_TICKS, CALIBRATION_VALUES // max(1, columns))


def guarded_signals(survey: SurveyResult, plan: Preprocessing) -> tuple[str, ...]:
    """Signals without a mechanism whose range can be watched."""
    seen = {signal.name for signal in survey.signals if signal.count > 0}
    return tuple(name for name in plan.dropped if name in seen)


def ranges_of(
    survey: SurveyResult, signals: Sequence[str], guarded: Sequence[str]
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Lowest and highest value of guarded signals, NaN where there is none, and their twins.

    A twin is the signal that always had the same value, by its place, or -1.
    """
    seen = {signal.name: signal for signal in survey.signals if signal.count > 0}
    first = {seen[name].digest: place for place, name in enumerate(signals) if name in seen}
    known = [seen.get(name) for name in guarded]
    return (
        np.array([np.nan if signal is None else signal.low for signal in known]),
        np.array([np.nan if signal is None else signal.high for signal in known]),
        np.array([first.get(signal.digest, -1) if signal else -1 for signal in known], np.int64),
    )


def take_moments(
    source: TableSource,
    plan: Preprocessing,
    guarded: tuple[str, ...],
    rows: int,
    tell: LearnProgress,
) -> TickPass:
    """Second pass: ticks and their lagged moments."""
    number = len(plan.signals)
    ticks = TickSource(source, plan)
    # Guarded signals come along, but no moments are taken of them.
    wide = TickSource(source, replace(plan, signals=(*plan.signals, *guarded)))
    moments = LaggedMoments(plan.signals, max_lag=plan.max_lag)
    whole = plan.step is not None  # the published fit needs every tick
    sample = BlockSample(number, most=1 << 40 if whole else 16)
    last = LastRows(1 << 62 if whole else most_ticks(number + len(guarded)))
    expected = max(1.0, rows * source.interval / plan.every)
    count = missing = 0
    for chunk in wide.chunks():
        last.update(chunk)
        narrow = replace(chunk, signals=plan.signals, values=chunk.values[:, :number])
        for piece in narrow.stretches():
            if not (narrow.continues and piece.start == 0):
                moments.new_stretch()
            moments.update(narrow.values[piece])
        sample.update(narrow)
        count += len(narrow)
        missing += int(np.isnan(narrow.values).sum())
        tell("taking moments", min(1.0, count / expected))
    ticks.held = wide.held[:number]
    if moments.windows == 0:
        tick = format_tick(plan.every, source.interval, source.clock)
        msg = (
            f"No {moments.reach + 1} ticks in a row are free of gaps and missing values"
            f" ({count:,} ticks of {tick}, {missing:,} missing values); give a longer"
            " recording, a shorter --max-lag, or --ignore the signals that are mostly missing."
        )
        raise NotEnoughDataError(msg)
    return TickPass(ticks, moments, sample.stretches(), last.stretches(), count, missing)
