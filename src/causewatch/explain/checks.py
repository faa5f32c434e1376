"""What to look at next: signals whose readings would tell the candidates for an origin apart.

A signal that has really changed moves those it acts on, directly or not, by the coefficients and
lags of the mechanisms. If only its reading is wrong, they stay. So a look at a signal that one
candidate would move, and another one would not, tells which of them it is. Candidates without a
mechanism are passed over: what they act on is not known.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.explain.kinds import SignalKind, kind_of
from causewatch.explain.ranking import Context, Ranking
from causewatch.explain.view import interval
from causewatch.explain.words import name_of, names_of, number, with_unit
from causewatch.monitor.alarms import Cause
from causewatch.monitor.course import Course

__all__ = ["Check", "Prediction", "checks_of"]

Floats = NDArray[np.float64]

MOST_CHECKS = 3
MOST_CANDIDATES = 3
RIVAL = 0.05
"""Candidates to be told from the first have at least this confidence."""
LEAST_MOVE = 1.0
"""Predictions tell candidates apart if they differ by so many normal standard deviations …"""
STAYS = 0.25
"""… and a move of less than so many is none."""
MOST_SHIFT = 10.0
"""A candidate is taken to be off by at most so many normal standard deviations."""
SWITCHES = 0.5
"""A switch is moved if it should go at least so much of its way."""
ARRIVED = 0.5
"""A move is said to take until so much of it is there."""
BASE, LEAST_SEEN = 10, 3
"""Ticks before and after the trouble began that are compared, at most and at least."""
STILL = "stays as it is"
DOES = ("rises", "falls", "opens", "closes", "goes", STILL, "about ")
DONE = ("risen", "fallen", "opened", "closed", "gone", "stayed", "")


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a signal should do if `cause` has changed.

    `amount` is by how much it moves, in its units, and `after` in how many seconds; 0: it stays.
    """

    cause: str
    amount: float
    after: float


@dataclass(frozen=True, slots=True)
class Check:
    """A signal to look at, what each candidate predicts for it, and a sentence.

    `seen` is by how much it has moved since the trouble began; NaN where it is too early to say.
    """

    signal: str
    predictions: tuple[Prediction, ...]
    seen: float
    text: str

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        return {
            "signal": self.signal,
            "predictions": [
                {
                    "cause": prediction.cause,
                    "amount": prediction.amount,
                    "after_s": prediction.after,
                }
                for prediction in self.predictions
            ],
            "seen": self.seen if np.isfinite(self.seen) else None,
            "text": self.text,
        }


def checks_of(
    course: Course, context: Context, ranking: Ranking, candidates: Sequence[Cause]
) -> tuple[Check, ...]:
    """The signals worth a look, the most telling first.

    Parameters
    ----------
    course, context, ranking
        Of the alarm.
    candidates
        Where it may have started, best first.
    """
    law = context.equations
    index = {name: k for k, name in enumerate(course.signals)}
    near = [cause for cause in candidates[:MOST_CANDIDATES] if cause.confidence >= RIVAL]
    rivals = [index[cause.signal] for cause in near if index[cause.signal] < law.signals]
    if not rivals or candidates[0] != near[0] or index[near[0].signal] != rivals[0]:
        return ()
    onset = min(int(ranking.onset[rivals[0]]), ranking.raised)
    room = _room(course, context, onset)
    courses = [
        np.clip(_response(context, k, _shift(course, context, ranking, k)), *room) for k in rivals
    ]
    moves = np.array([path[-1] for path in courses]) / context.scale
    # Beside a single candidate, the other explanation is a wrong reading, which moves nothing.
    if len(rivals) == 1:
        moves = np.vstack([moves, np.zeros_like(moves)])
    apart = np.ptp(moves, axis=0)
    apart[rivals] = 0.0
    checks: list[Check] = []
    for target in np.argsort(-apart, kind="stable").tolist():
        if not apart[target] >= LEAST_MOVE or len(checks) == MOST_CHECKS:
            break
        name, what = course.signals[target], kind_of(course, context, target)
        least = STAYS * float(context.scale[target])
        if what in ("switch", "valve"):  # it goes all the way or not at all
            least = SWITCHES * float(room[1][target] - room[0][target])
        predictions = tuple(
            _prediction(course.signals[k], path[:, target], least, context.every)
            for k, path in zip(rivals, courses, strict=True)
        )
        if {prediction.amount for prediction in predictions} == {0.0}:
            continue
        due = onset + round(max(prediction.after for prediction in predictions) / context.every)
        seen = _seen(course.values[:, target], onset, due, least)
        checks.append(Check(name, predictions, seen, _text(name, what, predictions, seen, context)))
    return tuple(checks)


def _room(course: Course, context: Context, onset: int) -> tuple[Floats, Floats]:
    """How far each signal can fall and rise within its normal range.

    What mechanisms say beyond that was never learnt.
    """
    size = context.equations.signals
    if len(context.low) < size:
        return np.full(size, -np.inf), np.full(size, np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a signal without any value
        now = np.nanmedian(course.values[max(0, onset - BASE) : max(onset, 1), :size], axis=0)
    now = np.where(np.isnan(now), context.centre, now)
    return np.minimum(0.0, context.low[:size] - now), np.maximum(0.0, context.high[:size] - now)


def _shift(course: Course, context: Context, ranking: Ranking, column: int) -> float:
    """How far a candidate is off what its causes say, at most."""
    look = slice(ranking.raised, ranking.stop)
    off = np.nan_to_num(course.values[look, column] - course.expected[look, column])
    most = MOST_SHIFT * float(context.scale[column])
    return float(np.clip(off[np.abs(off).argmax()], -most, most)) if len(off) else 0.0


def _response(context: Context, column: int, shift: float) -> Floats:
    """How far every signal moves if one is off by `shift` from now on, until all lags have acted.

    Rows are ticks from now.
    """
    law = context.equations
    moved = np.zeros((law.max_lag + 1, law.signals))
    moved[0, column] = shift
    for tick in range(1, len(moved)):
        acts = (law.lag > 0) & (law.lag <= tick)
        source = moved[tick - law.lag[acts], law.source[acts]]
        np.add.at(moved[tick], law.target[acts], law.coefficient[acts] * source)
        moved[tick, column] = shift
    return moved


def _prediction(cause: str, moved: Floats, least: float, every: float) -> Prediction:
    amount = float(moved[-1])
    if abs(amount) < least:
        return Prediction(cause, 0.0, 0.0)
    arrived = int(np.argmax(moved * np.sign(amount) >= ARRIVED * abs(amount)))
    return Prediction(cause, amount, arrived * every)


def _seen(values: Floats, onset: int, due: int, least: float) -> float:
    """By how much a signal has moved by when it should have."""
    before, since = values[:onset][-BASE:], values[due:][:BASE]
    before, since = before[np.isfinite(before)], since[np.isfinite(since)]
    if len(before) < LEAST_SEEN or len(since) < LEAST_SEEN:
        return float("nan")
    moved = float(np.median(since) - np.median(before))
    return moved if abs(moved) >= least else 0.0


def _text(
    signal: str,
    what: SignalKind,
    predictions: Sequence[Prediction],
    seen: float,
    context: Context,
) -> str:
    """The sentence of a check."""
    causes: dict[str, list[str]] = {}
    for prediction in predictions:
        causes.setdefault(_move(prediction, signal, what, context), []).append(prediction.cause)
    first = predictions[0].cause
    parts = [
        f"{move} if {'' if first in names else 'it is '}{names_of(names, 'or', context)}"
        f"{' has really changed' if first in names else ''}"
        for move, names in causes.items()
    ]
    if len(predictions) == 1:
        parts.append(f"{STILL} if only the reading of {name_of(first, context)} is wrong")
    text = f"{name_of(signal, context)} {', '.join(parts[:-1])}, and {parts[-1]}."
    if np.isnan(seen):
        return text
    return f"{text} So far it has {_moved(seen, signal, what, context, DONE)}."


def _move(prediction: Prediction, signal: str, what: SignalKind, context: Context) -> str:
    move = _moved(prediction.amount, signal, what, context, DOES)
    return (
        f"{move} within {interval(prediction.after, context.clock)}" if prediction.amount else move
    )


def _moved(
    amount: float, signal: str, what: SignalKind, context: Context, words: tuple[str, ...]
) -> str:
    """A move in words of the kind of signal."""
    rises, falls, opens, closes, goes, stays, about = words
    if amount == 0.0:
        return stays
    if what == "valve":
        return opens if amount > 0 else closes
    if what == "switch":
        return f"{goes} {'on' if amount > 0 else 'off'}"
    size = with_unit(number(abs(amount), 2), signal, context)
    return f"{rises if amount > 0 else falls} by {about}{size}"
