"""Where trouble starts: the signals by their evidence when the alarm is raised.

The innovation of a signal is what it did minus what its causes' actual values say it should do. A
signal downstream of a fault has odd causes and so no odd innovation; a changed mechanism shows at
its own signal. So the signal with the largest evidence is the origin most of the time, and most of
all at the tick at which the alarm is raised: control loops and whatever a straight line does not
describe spread trouble to others soon after. Evidence that comes later counts a quarter: it adds
suspects, and takes the first place only if it is four times stronger.

A signal without a mechanism is another matter: that it left its range is a fact and not a matter of
spreading, so its evidence fades only slowly with time.

What people know about causes is applied afterwards: see :mod:`causewatch.explain.known`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from causewatch.data import Clock
from causewatch.detectors.equations import Equations
from causewatch.explain.known import follow_known
from causewatch.monitor.course import Course

__all__ = ["Context", "Ranking", "confidences", "rank"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

BEFORE = 60
"""Ticks before the raising of the alarm that are looked at, for when trouble began."""
OVER = 3
"""Trouble has ended after so many ticks below the limit: it had an alarm of its own."""
OPENING = 12
"""Ticks of the alarm that are looked at, the first one included."""
LATER = 0.25
"""What evidence of later ticks counts."""
GUARDED, FADING = 40, 24.0
"""Ticks of the alarm that are looked at for signals without a mechanism, and those after which
their evidence counts for a third."""
MOST_EVIDENCE = 1e9
USUAL_SQUARE = 2.0
"""Squared innovations above this speak for trouble, those below against it."""
MOST_SQUARE = 25.0
SHARPNESS = 4.2
"""Power of the evidence that a signal's confidence is proportional to …"""
ELSEWHERE = 0.03
"""… beside this much for an origin that is not among the signals. Both are fitted on the develop
files of the league: ``python -m benchmarks.accuracy.explanations``."""


@dataclass(frozen=True, eq=False)
class Context:
    """What explaining an alarm takes beside its course; see `context_of`.

    Attributes
    ----------
    equations
        The mechanisms; their columns are the first ones of the course, guarded signals follow.
    centre, scale
        Mean and standard deviation of each signal of the equations.
    every
        Length of a tick in seconds.
    clock
        What times count.
    low, high
        By column of the course: the range in normal operation. Empty if not known.
    longest_still
        By column: the longest run of ticks without a change in normal operation. Empty if not
        known.
    labels, units
        Names for people and units, where known.
    twins
        Guarded signals that always equalled another one, and that one.
    causes
        By column of the course: the columns known to act on it, by what people said.
    unwatched
        By column: signals known to act on it that are not in the course.
    """

    equations: Equations
    centre: Floats
    scale: Floats
    every: float
    clock: Clock
    low: Floats = field(default_factory=lambda: np.empty(0))
    high: Floats = field(default_factory=lambda: np.empty(0))
    longest_still: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    labels: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    unwatched: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Ranking:
    """How much speaks for each signal as the origin of an alarm, by column of the course.

    Attributes
    ----------
    total
        Its evidence, later ticks counted less, after what people know about causes.
    own
        The same before that.
    onset
        Tick of the course at which each signal's trouble began.
    start, raised, stop
        The ticks looked at, and the one at which the alarm was raised.
    unwatched
        What speaks for signals that are not in the course, but known to act on some that are.
    """

    total: Floats
    own: Floats
    onset: Ints
    start: int
    raised: int
    stop: int
    unwatched: Mapping[str, float] = field(default_factory=dict)

    @property
    def order(self) -> Ints:
        """Columns, the best explanation first."""
        return np.argsort(-self.total, kind="stable")


def rank(course: Course, context: Context, raised_at: int) -> Ranking:
    """Say how much speaks for each signal as the origin of the alarm raised at `raised_at`.

    Parameters
    ----------
    course
        The ticks around the alarm.
    context
        The mechanisms.
    raised_at
        When the alarm was raised, in nanoseconds.
    """
    raised = min(int(np.searchsorted(course.time, raised_at)), max(0, len(course) - 1))
    start, stop = max(0, raised - BEFORE), min(len(course), raised + OPENING)
    linked = context.equations.signals
    seen = np.clip(np.nan_to_num(course.evidence[raised : raised + GUARDED]), 0.0, MOST_EVIDENCE)
    age = np.arange(len(seen))[:, None]
    seen[OPENING:, :linked] = 0.0
    weight = np.where(age > 0, LATER, np.ones(seen.shape))
    weight[:, linked:] = np.exp(-age / FADING)
    own = (seen * weight).max(axis=0, initial=0.0)
    # What was over before the alarm belongs to an earlier one.
    over = start + _over(course.evidence[start:raised])
    onset = np.maximum(start + _onsets(course.innovation[start:stop]), over)
    late = course.evidence[: raised + GUARDED, linked:]
    onset[linked:] = _departures(late, onset[linked:], start)
    trouble = seen.max(axis=0, initial=0.0) > 1.0
    total, unwatched = follow_known(
        own,
        trouble,
        onset,
        context.causes,
        context.unwatched,
        linked,
    )
    return Ranking(total, own, onset, start, raised, stop, unwatched)


def confidences(total: Floats) -> Floats:
    """How likely each signal is to be the origin; the sum is below 1, the rest is elsewhere."""
    weight = np.maximum(total, 0.0) ** SHARPNESS
    shares: Floats = weight / (weight.sum() + ELSEWHERE)
    return shares


def _onsets(innovation: Floats) -> Ints:
    """Tick from which on the sum of surprise of each signal rises highest."""
    surprise = np.minimum(np.nan_to_num(innovation) ** 2, MOST_SQUARE) - USUAL_SQUARE
    total = np.vstack([np.zeros(surprise.shape[1]), np.cumsum(surprise, axis=0)])
    rise = total - np.minimum.accumulate(total, axis=0)
    peak = rise.argmax(axis=0)
    ahead = np.arange(len(total))[:, None] <= peak
    return np.asarray(np.where(ahead, total, np.inf).argmin(axis=0), dtype=np.intp)


def _over(evidence: Floats) -> Ints:
    """The tick after the last trouble of each signal that had ended by now; 0 if there was none."""
    loud = np.nan_to_num(evidence) > 1.0
    ended = loud[: max(0, len(loud) - OVER)].copy()
    for later in range(1, OVER + 1):
        ended &= ~loud[later : later + len(ended)]
    ticks = np.arange(1, len(ended) + 1)[:, None]
    return np.asarray((ended * ticks).max(axis=0, initial=0), dtype=np.intp)


def _departures(evidence: Floats, onset: Ints, start: int) -> Ints:
    """Tick at which each signal without a mechanism left its range, from `start` on."""
    out = np.nan_to_num(evidence[start:]) > 1.0
    first = start + out.argmax(axis=0) if len(out) else onset
    return np.asarray(np.where(out.any(axis=0), first, onset), dtype=np.intp)
