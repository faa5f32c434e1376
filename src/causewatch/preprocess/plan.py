"""`Preprocessing`: how rows become the ticks that a model is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data import format_duration
from causewatch.data.table import TimeTable
from causewatch.errors import NotEnoughDataError, SettingError, listing, plural
from causewatch.preprocess.believed import bounds_of
from causewatch.preprocess.decimator import Decimator
from causewatch.preprocess.interval import choose_interval, lags_for
from causewatch.preprocess.paper import paper_choice
from causewatch.preprocess.survey import SurveyResult
from causewatch.preprocess.survey_quality import (
    is_constant,
    is_mostly_missing,
    is_near_constant,
)
from causewatch.preprocess.ticks import MOST_HELD, Averager, Ticker

__all__ = ["Preprocessing", "default_preprocessing", "paper_preprocessing"]

Floats = NDArray[np.float64]

LEAST_RANGE = 1e-100
"""Signals that vary by less are left out: their squares are too small for a float."""
DUPLICATE = 1.0 - 1e-7
"""Correlation from which on a signal is another one in other units; exports round both."""
LONGEST_TICK = 10.0
"""Seconds: a tick that is chosen is not longer, unless rows are. Causes of a slow plant are seen
best with long ticks, but faults with short ones: on three months of drinking water, a row a minute,
ticks of ten minutes, as the causes suggest, find half of the events that ticks of a minute find."""
ALIKE = 1e-3
"""How far the spreads and ranges of two such signals may differ over the whole recording."""


@dataclass(frozen=True)
class Preprocessing:
    """How rows become ticks: which signals, how long a tick, how far back causes may lie.

    Attributes
    ----------
    signals
        Signals kept, in the order of the recording.
    dropped
        Signals left out, with the reason.
    every
        Length of a tick in seconds (the *working interval*).
    max_lag
        Longest lag in ticks.
    step
        Rows per tick if every `step`-th row is taken as it is (`paper`); None: rows are averaged.
    hold
        For how many ticks a missing value is replaced by the last one.
    reason
        Why this interval and lag, in a sentence.
    columns
        All signals of the recording in its order, kept or left out: that of rows without names.
    believed
        Smallest and largest value that is believed of signals, kept or left out, whose measurement
        failed in the recording: what is beyond counts as missing.
    """

    signals: tuple[str, ...]
    dropped: Mapping[str, str]
    every: float
    max_lag: int
    step: int | None
    hold: int
    reason: str
    columns: tuple[str, ...]
    believed: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def ticker(self, interval: float) -> Ticker:
        """A fresh ticker for rows that are `interval` seconds apart."""
        if self.step is not None:
            return Decimator(len(self.signals), step=self.step)
        return Averager(
            len(self.signals),
            every=self.every,
            interval=interval,
            hold=self.hold,
            believed=bounds_of(self.believed, self.signals),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "signals": list(self.signals),
            "dropped": dict(self.dropped),
            "every": self.every,
            "max_lag": self.max_lag,
            "step": self.step,
            "hold": self.hold,
            "reason": self.reason,
            "columns": list(self.columns),
            **(
                {"believed": {n: list(b) for n, b in self.believed.items()}}
                if self.believed
                else {}
            ),
        }


def default_preprocessing(
    survey: SurveyResult,
    sample: Sequence[Floats],
    *,
    every: float | None = None,
    max_lag: int | None = None,
) -> Preprocessing:
    """The default rule: average rows; choose interval and lag from the data (ADR 0006).

    Parameters
    ----------
    survey
        Of the whole recording.
    sample
        Stretches of rows of it, all signals.
    every, max_lag
        Given by the user instead of chosen, in seconds and ticks.
    """
    dropped = _unusable(survey, sample)
    names = [one.name for one in survey.signals]
    kept = [k for k, name in enumerate(names) if name not in dropped]
    _check_some_left([names[k] for k in kept], dropped)
    choice = choose_interval([rows[:, kept] for rows in sample], rows=survey.rows)
    interval, clock = survey.interval, survey.clock
    if choice.horizon == 0:
        found = "no signal was seen to act on another one in the rows looked at"
    else:
        found = f"causes act within about {format_duration(choice.horizon * interval, clock)}"
    if every is None:
        rows = choice.rows_per_tick
        if clock != "rows":
            rows = min(rows, max(1, int(LONGEST_TICK / interval)))
        every = rows * interval
        pace = "" if clock == "rows" else f"; rows come every {format_duration(interval)}"
        reason = found + pace
    else:
        _check_every(every, interval, survey.rows)
        reason = f"the interval was given; {found}"
    if max_lag is None:
        max_lag = lags_for(choice.horizon * interval / every, len(kept))
    else:
        reason += ", the maximum lag was given"
        _check_lag(max_lag)
        max_lag = int(max_lag)
    if choice.horizon * interval > 1.01 * every * max_lag:
        reason += f"; {max_lag} ticks cover that only in part"
    return Preprocessing(
        signals=tuple(names[k] for k in kept),
        dropped=dropped,
        every=every,
        max_lag=max_lag,
        step=None,
        hold=MOST_HELD,
        reason=reason,
        columns=tuple(names),
    )


def paper_preprocessing(
    table: TimeTable, *, every: float | None = None, max_lag: int | None = None
) -> Preprocessing:
    """The published rule, as its scripts do it (see `causewatch.preprocess.paper`)."""
    if max_lag is not None:
        _check_lag(max_lag)
    step = _step(every, table.interval, len(table))
    choice = paper_choice(table.values, step=step, max_lag=max_lag)
    if choice.max_lag < 1:
        msg = (
            f"The published rule gives a maximum lag of {choice.max_lag} for this recording;"
            " give --max-lag, or use the default preset."
        )
        raise NotEnoughDataError(msg)
    dropped = {
        name: "nearly constant: std is not above 0.01 of the mean"
        for name, keep in zip(table.signals, choice.kept, strict=True)
        if not keep
    }
    kept = tuple(name for name in table.signals if name not in dropped)
    _check_some_left(kept, dropped)
    return Preprocessing(
        signals=kept,
        dropped=dropped,
        every=choice.step * table.interval,
        max_lag=choice.max_lag,
        step=choice.step,
        hold=0,
        reason=f"published rule: highest main frequency {choice.frequency:.3g} per row",
        columns=tuple(table.signals),
    )


def _unusable(survey: SurveyResult, sample: Sequence[Floats]) -> dict[str, str]:
    """Signals that no link can be learnt for, with the reason, in the order of the recording."""
    dropped: dict[str, str] = {}
    seen: dict[str, str] = {}
    for one in survey.signals:
        if one.count == 0:
            dropped[one.name] = "empty"
        elif is_mostly_missing(one):
            share = one.missing / (one.count + one.missing)
            dropped[one.name] = f"{share:.0%} of its values are missing"
        elif is_constant(one):
            dropped[one.name] = "constant"
        elif one.high - one.low < LEAST_RANGE:
            dropped[one.name] = f"it varies by less than {LEAST_RANGE:g}"
        elif is_near_constant(one):
            dropped[one.name] = f"nearly constant: {plural(one.changes, 'change')} of value"
        elif one.digest in seen:
            dropped[one.name] = f"a duplicate of {seen[one.digest]}"
        else:
            seen[one.digest] = one.name
    names = [one.name for one in survey.signals]
    whole = {one.name: one for one in survey.signals}
    for first, second, factor in _same_in_other_units(sample, names, dropped):
        # Outside the sample too: spread and range must have the same ratio there, and what has
        # few values, which rounding leaves alone, must change equally often.
        one, two = whole[first], whole[second]
        ratios = np.array([two.std / one.std, (two.high - two.low) / (one.high - one.low)])
        as_often = one.values is None or one.changes == two.changes
        if as_often and np.all(np.abs(ratios / factor - 1.0) < ALIKE):
            dropped.setdefault(second, f"a duplicate of {first} in other units")
    return {name: dropped[name] for name in names if name in dropped}


def _same_in_other_units(
    sample: Sequence[Floats], names: Sequence[str], dropped: Mapping[str, str]
) -> list[tuple[str, str, float]]:
    """Pairs of signals that are linear functions of each other, and the size of the factor."""
    kept = [k for k, name in enumerate(names) if name not in dropped]
    rows = np.concatenate([part[:, kept] for part in sample])
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 3 or len(kept) < 2:
        return []
    centred = rows - rows.mean(axis=0)
    size = np.abs(centred).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    norm = np.sqrt(np.einsum("ij,ij->j", centred / size, centred / size))
    norm = np.where(norm > 0, norm, 1.0)
    centred = centred / size / norm
    alike = np.abs(centred.T @ centred) >= DUPLICATE
    return [
        (names[kept[i]], names[kept[j]], float(size[j] / size[i] * (norm[j] / norm[i])))
        for i, j in np.argwhere(np.triu(alike, 1))
    ]


def _check_some_left(kept: Sequence[str], dropped: Mapping[str, str]) -> None:
    if len(kept) < 2:
        reasons = listing(f"{name} ({reason})" for name, reason in dropped.items())
        msg = (
            f"{len(kept)} usable signal(s) are left, and at least 2 are needed;"
            f" left out: {reasons}."
        )
        raise NotEnoughDataError(msg)


def _check_every(every: float, interval: float, rows: int) -> None:
    if every < interval * (1 - 1e-9):
        msg = (
            f"--every is {format_duration(every)}, but rows come only every"
            f" {format_duration(interval)}; give at least that."
        )
        raise SettingError(msg)
    if every * 10 > interval * rows:
        msg = (
            f"--every {format_duration(every)} leaves fewer than 10 ticks of a recording of"
            f" {format_duration(interval * rows)}; give a shorter one."
        )
        raise SettingError(msg)


def _check_lag(max_lag: int) -> None:
    if not 1 <= max_lag <= 100:
        msg = f"--max-lag is {max_lag}; it must lie between 1 and 100 ticks."
        raise SettingError(msg)


def _step(every: float | None, interval: float, rows: int) -> int | None:
    if every is None:
        return None
    _check_every(every, interval, rows)
    return max(1, round(every / interval))
