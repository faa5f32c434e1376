"""Comparing a candidate with the model it is to replace, on data that neither was learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrik

from causewatch.detectors import InnovationDetector, count_alarms
from causewatch.graph import Link
from causewatch.model.normal import NormalModel
from causewatch.model.watching import MERGE

__all__ = ["Comparison", "compare", "in_favour", "unlike_normal", "worse"]

Floats = NDArray[np.float64]

WORSE = 0.02
"""Mean growth of the prediction errors (as a logarithm) from which on a candidate is worse."""
SURE = 0.99
"""A candidate may raise as many alarms as chance does not exceed with this probability."""
OFTEN = 0.2
"""Share of ticks above the old model's limit that people should think about."""
BLOCKS = 20
"""Parts of the new recording that are compared with each other."""
SHORTEST_BLOCK = 20
STANDS_OUT = 2.0
"""A part stands out if its usual score is above the limit and so many times that of the others."""
FAR = 2.0
"""Usual score of the whole new recording, under the old model, that is no slow change any more."""


@dataclass(frozen=True)
class Comparison:
    """How the old model and the candidate did on ticks that neither was learnt from.

    Attributes
    ----------
    ticks
        How many.
    error_before, error_after
        By signal: root mean square of what the old model, and the candidate, predicted wrongly, in
        the signal's unit.
    growth
        Mean over the signals of log(error after / error before): below zero is better.
    above_before, above_after
        Share of the ticks above the limit.
    alarms_before, alarms_after
        How often the limit was passed; excursions close to each other count once.
    alarms_expected
        How often that is to be expected of normal data.
    gained, lost
        Links of the candidate that the old model did not have, and the other way round.
    """

    ticks: int
    error_before: dict[str, float]
    error_after: dict[str, float]
    growth: float
    above_before: float
    above_after: float
    alarms_before: int
    alarms_after: int
    alarms_expected: float
    gained: tuple[Link, ...]
    lost: tuple[Link, ...]


def compare(old: NormalModel, new: NormalModel, held: Sequence[Floats]) -> Comparison:
    """Both models on the same stretches of ticks."""
    assert new.watching.limits is not None
    scores_before, scores_after = _scores(old, held)[0], _scores(new, held)[0]
    before, after = _errors(old, held), _errors(new, held)
    known = (before > 0) & (after > 0)
    growth = float(np.mean(np.log(after[known] / before[known]))) if known.any() else 0.0
    return Comparison(
        ticks=sum(map(len, held)),
        error_before=dict(zip(old.signals, before.tolist(), strict=True)),
        error_after=dict(zip(new.signals, after.tolist(), strict=True)),
        growth=growth,
        above_before=float(np.mean(scores_before > 1.0)),
        above_after=float(np.mean(scores_after > 1.0)),
        alarms_before=count_alarms(scores_before, MERGE),
        alarms_after=count_alarms(scores_after, MERGE),
        alarms_expected=len(scores_after) / new.watching.limits.false_alarm_every,
        gained=tuple(link for link in new.graph if link not in old.graph),
        lost=tuple(link for link in old.graph if link not in new.graph),
    )


def _errors(model: NormalModel, stretches: Sequence[Floats]) -> Floats:
    """Root mean square of what was predicted wrongly, by signal; 0 where nothing was predicted."""
    equations = model.equations
    left = np.concatenate([equations.innovations(rows) for rows in stretches]) * equations.spread
    known = np.isfinite(left)
    squares = np.where(known, left, 0.0) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=0) / np.maximum(1, known.sum(axis=0))))


def _scores(model: NormalModel, stretches: Sequence[Floats]) -> tuple[Floats, NDArray[np.intp]]:
    """Score of every tick that can be judged, and the signal it comes from."""
    assert model.watching.limits is not None
    detector = InnovationDetector(model.equations, model.watching.limits)
    scores, places = [], []
    for rows in stretches:
        for k, row in enumerate(rows):
            evidence = detector.update(row, new_stretch=k == 0)
            if evidence.score is not None:
                scores.append(evidence.score / model.watching.factor)
                places.append(int(np.nanargmax(evidence.signals)))
    return np.array(scores), np.array(places, dtype=np.intp)


def unlike_normal(model: NormalModel, stretches: Sequence[Floats]) -> list[str]:
    """What in a new recording does not look like normal operation to the old model."""
    scores, places = _scores(model, stretches)
    if not len(scores):
        return []
    usual = float(np.median(scores))
    if usual > FAR:
        name = model.signals[int(np.bincount(places).argmax())]
        return [
            f"The new recording is far from all that the model knows: its usual score is"
            f" {usual:.1f} times the limit, mostly because of {name}. If it is normal, learn a new"
            " model from it."
        ]
    blocks = max(1, min(BLOCKS, len(scores) // SHORTEST_BLOCK))
    parts = np.array_split(np.arange(len(scores)), blocks)
    heights = np.array([np.median(scores[part]) for part in parts])
    odd = (heights > 1.0) & (heights > STANDS_OUT * np.median(heights))
    if not odd.any():
        return []
    within = np.concatenate([part for part, out in zip(parts, odd, strict=True) if out])
    name = model.signals[int(np.bincount(places[within]).argmax())]
    first, last = within[0] / len(scores), (within[-1] + 1) / len(scores)
    return [
        f"The new recording does not look normal: between {first:.0%} and {last:.0%} of its length"
        f" the usual score is up to {heights.max():.1f} times the limit, mostly because of {name},"
        f" and {np.median(heights):.2f} times the limit in the rest. Leave that part out with"
        " --exclude."
    ]


def worse(comparison: Comparison) -> list[str]:
    """Where the candidate is worse than the old model."""
    reasons = []
    if comparison.growth > WORSE:
        reasons.append(
            f"It predicts recent data worse than the old model: errors are larger by"
            f" {np.expm1(comparison.growth):.1%} on average."
        )
    likely = float(pdtrik(SURE, max(comparison.alarms_expected, 1e-9)))
    if comparison.alarms_after > max(comparison.alarms_before, np.ceil(likely)):
        reasons.append(
            f"It raises {comparison.alarms_after} alarms in recent data, the old model"
            f" {comparison.alarms_before}; {comparison.alarms_expected:.1f} are to be expected."
        )
    return reasons


def in_favour(comparison: Comparison) -> list[str]:
    """What speaks for a candidate that is not worse, and what is to be borne in mind."""
    change = np.expm1(comparison.growth)
    how = "smaller" if change < 0 else "larger"
    reasons = [
        f"On recent data its errors are {abs(change):.1%} {how} than the old model's on average;"
        f" it raises {comparison.alarms_after} alarms there, the old model"
        f" {comparison.alarms_before}."
    ]
    if comparison.above_before > OFTEN:
        reasons.append(
            f"The old model is above its limit in {comparison.above_before:.0%} of recent ticks:"
            " make sure that the plant was changed on purpose, for it is normal from now on."
        )
    return reasons
