"""Values far from all else that a signal ever was: failed measurements among normal rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from causewatch.data.cells import LARGEST
from causewatch.data.table import NANOSECONDS
from causewatch.errors import phrases, plural
from causewatch.preprocess.findings import Finding, Period, exclude_option, number
from causewatch.preprocess.survey import SignalSummary, SurveyResult
from causewatch.preprocess.survey_values import LEVELS, Far

__all__ = ["Wild", "plausible", "wild_findings", "wild_values"]

FAR = 5.0
"""Wild values are apart from the others by so many times the range of these."""
SPELL_FAR = 100.0
"""The same, if they are `LEVELS` different values or more (and of a range of `LEAST_CONSTANT` at
least): a pump that runs for a hundredth of the time is none."""
LEAST_RANGE = 0.05
"""That range counts as at least this share of its larger end: a step from 16 to 15 is not wild."""
LEAST_CONSTANT = 20.0
"""The range of a constant is its size, at least this: a valve may open from 0 to 100 % once."""
FEW, SHARE, CONSTANT_SHARE = 3, 0.01, 0.001
"""Wild values make up so many rows, or such a share of them, at most; more is another mode."""


class Wild(NamedTuple):
    """The wild values of a signal: of those above the others, and those below."""

    above: tuple[Far, ...]
    below: tuple[Far, ...]
    low: float
    """The smallest and the largest of the others …"""
    high: float
    reach: float
    """… and how far beyond these wild values begin."""

    @property
    def all(self) -> tuple[Far, ...]:
        """Both."""
        return (*self.above, *self.below)


def wild_values(signal: SignalSummary) -> Wild | None:
    """The wild values of a signal; None if there are none."""
    high, low = signal.highest, signal.lowest
    kinds = len(high)
    if kinds < 2:
        return None
    # By how many are wild above (axis 0) and below (axis 1).
    number = np.arange(kinds)
    above, below = number[:, None], number[None]
    top, bottom = np.array([far.value for far in high])[:, None], np.array([f.value for f in low])
    width = np.maximum(top - bottom, LEAST_RANGE * np.maximum(np.abs(top), np.abs(bottom)))
    share = np.where(top == bottom, CONSTANT_SHARE, SHARE)
    width = np.where(top == bottom, np.maximum(np.abs(top), LEAST_CONSTANT), width)
    many = above + below >= LEVELS
    reach = np.where(many, SPELL_FAR * np.maximum(width, LEAST_CONSTANT), FAR * width)
    rows_above = np.cumsum([0, *(far.rows for far in high[:-1])])[:, None]
    rows = rows_above + np.cumsum([0, *(far.rows for far in low[:-1])])
    apart_above = np.vstack([[np.inf], top[:-1] - top[1:]])
    apart_below = np.append(np.inf, bottom[1:] - bottom[:-1])
    wild = (
        (above + below > 0)
        & (above + below < kinds)
        & (apart_above > reach)
        & (apart_below > reach)
        & (rows <= np.maximum(FEW, share * signal.count))
    )
    if not wild.any():
        return None
    # As many as are wild.
    most = int(np.argmax(np.where(wild, (above + below) * kinds + above, -1)))
    a, b = divmod(most, kinds)
    return Wild(high[:a], low[:b], low[b].value, high[a].value, float(reach[a, b]))


def plausible(result: SurveyResult) -> dict[str, tuple[float, float]]:
    """Between which values a signal that has wild ones shows what it measures.

    There is no bound on a side without wild values.
    """
    bounds = {}
    for signal in result.signals:
        wild = wild_values(signal)
        if wild is not None:
            bounds[signal.name] = (
                wild.low - wild.reach if wild.below else -LARGEST,
                wild.high + wild.reach if wild.above else LARGEST,
            )
    return bounds


def wild_findings(result: SurveyResult, *, kept: bool = True) -> list[Finding]:
    """A sentence about the wild values of all signals; `kept` if they are learnt from."""
    known = [(signal.name, wild) for signal in result.signals if (wild := wild_values(signal))]
    if not known:
        return []
    words, spans = [], []
    for name, wild in known:
        out, low, high = wild.all, wild.low, wild.high
        start = min(far.first for far in out)
        spans.append(Period(start, start + round(result.interval * NANOSECONDS), result.clock))
        begin, rows = spans[-1].bounds[0], sum(far.rows for far in out)
        values = number(out[0].value) + (f" and {len(out) - 1} more" if len(out) > 1 else "")
        when = f"once, {begin}" if rows == 1 else f"{rows:,} rows, the first {begin}"
        usual = number(low) if low == high else f"{number(low)} to {number(high)}"
        words.append(f"{name} is {values} ({when}), otherwise {usual}")
    verb = "has" if len(known) == 1 else "have"
    text = f"{plural(len(known), 'signal')} {verb} values far from all others: {phrases(words, 5)}."
    if kept:
        meaning = "Failed measurements are learnt as normal: ranges and limits reach that far."
        remedy = f"If they are, leave their rows out with {exclude_option(spans[0])}, or empty the"
        remedy += " cells."
    else:
        meaning = "They are taken for failed measurements and count as missing, also in watching."
        remedy = "If they are normal operation, learn again with --keep-wild."
    return [
        Finding(
            kind="wild_values",
            severity="warning",
            text=text,
            meaning=meaning,
            remedy=remedy,
            signals=tuple(name for name, _ in known),
            span=spans[0].bounds,
        )
    ]
