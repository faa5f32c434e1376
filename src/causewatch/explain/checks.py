"""What to look at next: signals whose readings would tell the candidates for an origin apart.

A signal that has really changed moves those it acts on, by its coefficients and after its lags. If
only its reading is wrong, they stay. So a look at a signal that one candidate would move, and
another one would not, tells which of them it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from causewatch.data import format_duration
from causewatch.explain.ranking import Context, Ranking
from causewatch.explain.words import name_of, number, with_unit
from causewatch.monitor.course import Course

__all__ = ["Check", "Prediction", "checks_of"]

MOST_CHECKS = 3
MOST_CANDIDATES = 2
RIVAL = 0.25
"""A second candidate has at least this share of the weight of the first."""
LEAST_MOVE = 0.2
"""A move of less than so many normal standard deviations cannot be seen."""
MOST_SHIFT = 20.0
"""A candidate is taken to be off by at most so many normal standard deviations."""


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
    """A signal to look at, what each candidate predicts for it, and a sentence."""

    signal: str
    predictions: tuple[Prediction, ...]
    text: str

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        return {
            "signal": self.signal,
            "predictions": [
                {"cause": one.cause, "amount": one.amount, "after_s": one.after}
                for one in self.predictions
            ],
            "text": self.text,
        }


def checks_of(
    course: Course, context: Context, ranking: Ranking, order: Sequence[int]
) -> tuple[Check, ...]:
    """The signals worth a look, the most telling first.

    Parameters
    ----------
    course, context, ranking
        Of the alarm.
    order
        Columns of its candidates, best first.
    """
    law = context.equations
    rivals = [
        k for k in order[:MOST_CANDIDATES] if ranking.total[k] >= RIVAL * ranking.total[order[0]]
    ]
    moves = {k: _moves(course, context, ranking, k) for k in rivals if k < law.signals}
    seen = {target for found in moves.values() for target in found} - set(rivals)
    apart = []
    for target in sorted(seen):
        amounts = [moves.get(k, {}).get(target, (0.0, 0.0))[0] for k in rivals]
        if len(amounts) == 1:
            amounts.append(0.0)  # the other explanation is a wrong reading, which moves nothing
        apart.append((abs(amounts[0] - amounts[1]) / context.scale[target], target))
    apart = [one for one in apart if one[0] >= LEAST_MOVE]
    apart.sort(key=lambda one: (-one[0], one[1]))
    checks = []
    for _, target in apart[:MOST_CHECKS]:
        predictions = tuple(
            Prediction(course.signals[k], *moves.get(k, {}).get(target, (0.0, 0.0))) for k in rivals
        )
        name = course.signals[target]
        checks.append(Check(name, predictions, _text(name, predictions, context)))
    return tuple(checks)


def _moves(
    course: Course, context: Context, ranking: Ranking, column: int
) -> dict[int, tuple[float, float]]:
    """By signal that one acts on: how far that moves it, and after how many seconds."""
    law = context.equations
    look = slice(ranking.raised, ranking.stop)
    off = np.nan_to_num(course.values[look, column] - course.expected[look, column])
    if not len(off):
        return {}
    most = MOST_SHIFT * float(context.scale[column])
    shift = float(np.clip(off[np.abs(off).argmax()], -most, most))
    found: dict[int, tuple[float, float]] = {}
    for link in np.flatnonzero((law.source == column) & (law.target != column)).tolist():
        target, amount = int(law.target[link]), float(law.coefficient[link]) * shift
        if abs(amount) > abs(found.get(target, (0.0, 0.0))[0]):
            found[target] = (amount, float(law.lag[link]) * context.every)
    return found


def _text(signal: str, predictions: Sequence[Prediction], context: Context) -> str:
    """The sentence of a check."""
    parts = [
        f"{_move(one, signal, context)} if {name_of(one.cause, context)} has really changed"
        for one in predictions
    ]
    if len(parts) == 1:
        cause = name_of(predictions[0].cause, context)
        parts.append(f"stays as it is if only the reading of {cause} is wrong")
    return f"{name_of(signal, context)} {', and '.join(parts)}."


def _move(prediction: Prediction, signal: str, context: Context) -> str:
    if prediction.amount == 0.0:
        return "stays as it is"
    way = "rises" if prediction.amount > 0 else "falls"
    amount = with_unit(number(abs(prediction.amount), 2), signal, context)
    when = f" within {format_duration(prediction.after)}" if prediction.after else " at once"
    return f"{way} by about {amount}{when}"
