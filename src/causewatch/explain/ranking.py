"""Where trouble starts: origins told from consequences.

The innovation of a signal is what it did minus what its causes' actual values say it should do. A
signal downstream of a fault has odd causes and so no odd innovation; a changed mechanism shows at
its own signal. That is why the detector's evidence names the origin most of the time. It fails in
four ways, and each has a remedy here:

- A **wrong sensor** makes the signals it acts on look odd too, because their equations use the
  wrong reading. The innovations of a sensor imply by how much it is off, and that says what its
  followers should show. As far as they do, their evidence counts for the sensor.
- **Trouble spreads.** Control loops and bent mechanisms sooner or later make everything odd. So
  evidence counts the less, the later after the alarm it comes and the worse it was before.
- **Some changes are quiet.** A frozen signal and a changed coefficient leave innovations of usual
  size. Both are looked for by themselves.
- **Some signals have no mechanism.** One that never moved in normal work has no learnt causes, so
  nothing says what follows from what among such signals. What people know does, where it is given:
  see :mod:`causewatch.explain.known`. That one of them leaves its range is a fact, not a matter of
  spreading; so it counts in full even if others did before it.

Everything is in natural units of log-likelihood (roughly): evidence at its limit counts `AT_LIMIT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from causewatch.data import Clock
from causewatch.detectors.equations import Equations
from causewatch.explain.known import follow_known
from causewatch.monitor.course import Course

__all__ = ["Context", "Ranking", "confidences", "rank"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

BEFORE, AFTER = 60, 40
"""Ticks before and after the raising of the alarm that are looked at."""
FADING = 24.0
"""Ticks after which evidence counts for a third."""
SPREADING = 15.0
"""The same for the sum of scores, in excess of the limit, since the alarm was raised."""
FAINT, LEAST_AFTER = 0.05, 5
"""Ticks that count less than this are not looked at, except for the first few."""
AT_LIMIT = 6.0
"""What evidence at its limit counts."""
LARGE = 4.0
"""Evidence, in units of its limit, from which on it counts in proportion, not by its square."""
CLIP = 8.0
"""Innovations and standardised causes beyond this count as this."""
COEFFICIENTS = 2.0
"""What a unit of likelihood gained by changed coefficients counts."""
MOST_COEFFICIENTS, MOST_FROZEN = 30.0, 200.0
PULL = 3.0
"""Weight, in ticks, that pulls re-estimated coefficients towards no change."""
TAIL = 6.0
"""Degrees of freedom of the tail by which single innovations are judged: a spike proves little."""
LEAST_SHARED = 2.0
"""Likelihood that must be explained before a follower's evidence counts for the sensor."""
MOSTLY = 0.7
"""A follower that the best sensor explains to more than this share is no longer a suspect."""
LEAST = 3.0
"""Signals with less than this are not asked what they explain."""
USUAL_SQUARE = 2.0
"""Squared innovations above this speak for trouble, those below against it."""
SHARPNESS = 1.73
"""Fitted on simulated faults so that a confidence of 0.8 is right four times out of five."""


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
    spikes
        By signal of the equations: the innovation that is evidence 1 by itself; infinite where it
        never is. Empty if nothing is known of that.
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
    spikes: Floats = field(default_factory=lambda: np.empty(0))
    labels: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    unwatched: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Ranking:
    """How far each signal explains an alarm, by column of the course.

    Attributes
    ----------
    total
        What the signal explains: its own trouble and its followers'.
    own
        Its own trouble alone.
    frozen, coefficients
        Parts of it: standing still, and changed coefficients.
    explained
        By (sensor, follower): the share of the follower's trouble that is the sensor's.
    onset
        Tick of the course at which each signal's trouble began.
    start, raised, stop
        The ticks looked at, and the one at which the alarm was raised.
    unwatched
        What signals explain that are not in the course, but known to act on some that are.
    """

    total: Floats
    own: Floats
    frozen: Floats
    coefficients: Floats
    explained: Mapping[tuple[int, int], float]
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
    """Say how far each signal explains the alarm raised at `raised_at` (nanoseconds).

    Parameters
    ----------
    course
        The ticks around the alarm. Those before it say what is usual; of those after it the
        first few matter most.
    context
        The mechanisms.
    raised_at
        When the alarm was raised.
    """
    raised = min(int(np.searchsorted(course.time, raised_at)), max(0, len(course) - 1))
    start, end = max(0, raised - BEFORE), min(len(course), raised + AFTER)
    evidence = _in_full(course, context)
    # The coefficients and the followers are looked at for as long as evidence counts.
    counting = int((_weights(evidence[raised:end]) > FAINT).sum())
    stop = min(end, raised + max(LEAST_AFTER, counting))
    look = slice(start, stop)
    onset = start + _onsets(course.innovation[look])
    frozen = np.minimum(_frozen(course.values[look], raised - start), MOST_FROZEN)
    changed = np.zeros(len(course.signals))
    linked = slice(context.equations.signals)
    changed[linked] = _coefficients(course, context, start, raised, stop)
    seen = evidence[raised:stop]
    own = np.maximum(_evidence(seen, _weights(seen)) + changed, frozen)
    guarded = slice(context.equations.signals, None)
    late = course.evidence[raised:end, guarded]
    fading = np.exp(-np.arange(end - raised) / FADING)
    own[guarded] = np.maximum(_evidence(late, fading), frozen[guarded])
    onset[guarded] = _departures(course.evidence[:end, guarded], onset[guarded], start)
    explained = _explained(course, context, own, onset, stop)
    total, unwatched = follow_known(
        _explained_away(own, explained),
        onset,
        course.values[:end],
        context.causes,
        context.unwatched,
        context.equations.signals,
    )
    return Ranking(total, own, frozen, changed, explained, onset, start, raised, stop, unwatched)


def confidences(total: Floats) -> Floats:
    """How likely each signal is to be the origin; the sum is 1, or 0 if nothing is odd."""
    largest = float(total.max(initial=0.0))
    if largest <= 0.0:
        return np.zeros(len(total))
    weight = (np.maximum(total, 0.0) / largest) ** SHARPNESS
    shares: Floats = weight / weight.sum()
    return shares


def offsets(innovation: Floats, equations: Equations, signal: int) -> Floats:
    """By how much a sensor is off, tick by tick, if its innovations come from nothing else.

    A reading that is off is also off in the signal's own past, which its equation uses; this takes
    that into account. The first tick is taken to follow a sound one.
    """
    feedback = np.zeros(equations.max_lag + 1)
    feedback[0] = 1.0
    for link in equations.links_into(signal):
        if equations.source[link] == signal and equations.lag[link] > 0:
            feedback[equations.lag[link]] -= equations.coefficient[link]
    given = np.nan_to_num(innovation) * equations.spread[signal]
    off: Floats = lfilter([1.0], feedback, given)
    return off


def _in_full(course: Course, context: Context) -> Floats:
    """Evidence by tick and signal, in which large innovations count in full.

    The detector cuts them, so that one wild value does not fill its memories. But where trouble
    starts it is often larger by far than where it has spread.
    """
    evidence = course.evidence.copy()
    number = len(context.spikes)
    alone = np.abs(course.innovation[:, :number]) / context.spikes
    evidence[:, :number] = np.fmax(evidence[:, :number], alone)
    return evidence


def _explained_away(own: Floats, explained: Mapping[tuple[int, int], float]) -> Floats:
    """Give sensors what they explain of their followers, and take it from those."""
    total = own.copy()
    for (sensor, follower), share in explained.items():
        total[sensor] += share * own[follower]
    best = int(total.argmax()) if len(total) else 0
    left = np.ones(len(own))
    for (sensor, follower), share in explained.items():
        # Only the best explanation takes: otherwise signals that explain each other all vanish.
        if sensor == best and share > MOSTLY:
            left[follower] = 1.0 - share
    return total * left


def _evidence(evidence: Floats, fading: Floats) -> Floats:
    """What the evidence of each signal counts, the later the less."""
    seen = np.maximum(np.nan_to_num(evidence, posinf=0.0), 0.0)
    square = np.where(seen < LARGE, seen**2, LARGE * (2.0 * seen - LARGE))
    counts: Floats = AT_LIMIT * (square * fading[:, None]).max(axis=0, initial=0.0)
    return counts


def _weights(evidence: Floats) -> Floats:
    """What each tick after the raising of the alarm counts.

    It falls with time, and the faster the worse the trouble is: large trouble spreads at once.
    """
    worst = np.nan_to_num(evidence, posinf=0.0).max(axis=1, initial=0.0)
    excess = np.clip(worst - 1.0, 0.0, 50.0)
    spread = np.cumsum(excess) - excess  # up to the tick before
    weights: Floats = np.exp(-np.arange(len(worst)) / FADING - spread / SPREADING)
    return weights


def _onsets(innovation: Floats) -> Ints:
    """Tick from which on the sum of surprise of each signal rises highest."""
    surprise = np.minimum(np.nan_to_num(innovation) ** 2, 25.0) - USUAL_SQUARE
    total = np.vstack([np.zeros(surprise.shape[1]), np.cumsum(surprise, axis=0)])
    rise = total - np.minimum.accumulate(total, axis=0)
    peak = rise.argmax(axis=0)
    ahead = np.arange(len(total))[:, None] <= peak
    return np.asarray(np.where(ahead, total, np.inf).argmin(axis=0), dtype=np.intp)


def _departures(evidence: Floats, onset: Ints, start: int) -> Ints:
    """Tick at which each signal without a mechanism left its range, from `start` on."""
    out = np.nan_to_num(evidence[start:]) > 1.0
    first = start + out.argmax(axis=0) if len(out) else onset
    return np.asarray(np.where(out.any(axis=0), first, onset), dtype=np.intp)


def _frozen(values: Floats, raised: int) -> Floats:
    """How unlikely the longest standstill of each signal is, judged by how it moved before it."""
    count, signals = values.shape
    out = np.zeros(signals)
    if not 0 <= raised < count:
        return out
    still = np.zeros((count, signals), dtype=np.bool_)
    still[1:] = np.diff(values, axis=0) == 0
    row = np.arange(count)[:, None]
    runs = row - np.maximum.accumulate(np.where(still, -1, row), axis=0)  # ticks it has stood
    late = raised + np.argmax(runs[raised:], axis=0)
    length = runs[late, np.arange(signals)]
    begin = late - length
    for signal in np.flatnonzero((length >= 3) & (begin >= 3)).tolist():
        first, lasting = int(begin[signal]), int(length[signal])
        usual = int(runs[:first, signal].max())
        if lasting > usual:
            stood = int(still[1 : first + 1, signal].sum())
            out[signal] = -(lasting - usual) * np.log((stood + 0.5) / (first + 1.0))
    return out


def _coefficients(course: Course, context: Context, start: int, raised: int, stop: int) -> Floats:
    """What changed coefficients would explain of each signal's innovations, beyond chance."""
    equations = context.equations
    standard = np.clip(
        (course.values[:, : equations.signals] - context.centre) / context.scale, -CLIP, CLIP
    )
    gain = np.zeros(equations.signals)
    mechanisms = equations.mechanisms
    firsts = sorted(
        {max(first, start, equations.max_lag) for first in (raised - 15, raised - 5, raised)}
    )
    ticks = np.arange(firsts[0], stop)
    if not len(ticks) or not len(mechanisms.target):
        return gain
    causes, known = mechanisms.causes(standard, ticks)
    left = np.clip(course.innovation[ticks][:, mechanisms.target].T, -CLIP, CLIP)
    known &= np.isfinite(left)
    causes[~known] = 0.0
    left = np.where(known, left, 0.0)[:, :, None]
    size = mechanisms.there.sum(axis=1) + 1
    for first in firsts:
        late = causes[:, first - firsts[0] :]
        moments = mechanisms.pulled(late.transpose(0, 2, 1) @ late, PULL)
        shared = late.transpose(0, 2, 1) @ left[:, first - firsts[0] :]
        found = (shared * np.linalg.solve(moments, shared)).sum(axis=(1, 2))
        # Under no change this is about chi-squared with one degree for each column.
        beyond = 0.5 * (found - size - 2.0 * np.sqrt(2.0 * size))
        gain[mechanisms.target] = np.maximum(gain[mechanisms.target], beyond)
    return COEFFICIENTS * np.minimum(gain, MOST_COEFFICIENTS)


def _explained(
    course: Course, context: Context, own: Floats, onset: Ints, stop: int
) -> dict[tuple[int, int], float]:
    """Shares of the followers' trouble that a wrong sensor explains, by (sensor, follower)."""
    equations = context.equations
    shares = {}
    for sensor in np.flatnonzero(own[: equations.signals] > LEAST).tolist():
        out = np.flatnonzero((equations.source == sensor) & (equations.target != sensor))
        first = int(onset[sensor])
        if not len(out) or first >= stop:
            continue
        off = offsets(course.innovation[first:stop, sensor], equations, sensor)
        for follower in np.unique(equations.target[out]).tolist():
            push = np.zeros(stop - first)
            for link in out[equations.target[out] == follower].tolist():
                lag = int(equations.lag[link])
                late = off[: max(0, len(off) - lag)]
                push[lag:] += equations.coefficient[link] / equations.spread[follower] * late
            left = np.clip(np.nan_to_num(course.innovation[first:stop, follower]), -20, 20)
            # The equation of the follower expects `push` too much.
            weight = float(np.clip(-(left @ push) / (push @ push + 1.0), 0.0, 1.2))
            before, after = _surprise(left), _surprise(left + weight * push)
            if before - after > LEAST_SHARED:
                shares[sensor, follower] = (before - after - LEAST_SHARED) / before
    return shares


def _surprise(innovation: Floats) -> float:
    """Twice the negative log-likelihood of innovations, against none at all."""
    return float((TAIL * np.log1p(innovation**2 / TAIL)).sum())
