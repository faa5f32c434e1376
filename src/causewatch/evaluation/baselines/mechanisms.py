"""Causes and straight-line mechanisms as the default preset learns them, without its detector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.split import joined
from causewatch.evaluation.baselines.ticks import StretchTicks, ticks_of
from causewatch.evaluation.verdicts import Progress
from causewatch.graph import CausalGraph
from causewatch.model.learning import discoverer_of
from causewatch.model.passes import guarded_signals, survey_of, take_moments
from causewatch.preprocess import default_preprocessing

__all__ = ["Mechanisms", "learn_mechanisms"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mechanisms:
    """What is normal, from all of normal operation.

    Attributes
    ----------
    signals, guarded
        Signals with a mechanism, and those held against their range.
    every
        Length of a tick in seconds.
    equations
        The mechanisms.
    spread
        Unit of what `equations.innovations` gives.
    neighbours
        Which signals are cause or effect of which others (signals × signals).
    low, high
        Normal ranges of the guarded signals.
    ticks
        Normal operation, signals first, then guarded ones.
    """

    signals: tuple[str, ...]
    guarded: tuple[str, ...]
    every: float
    equations: Equations
    spread: Floats
    neighbours: NDArray[np.bool_]
    low: Floats
    high: Floats
    ticks: list[StretchTicks]


def learn_mechanisms(split: Split, tell: Progress) -> Mechanisms:
    """Learn from ``split.learn`` and ``split.limits`` together."""
    whole = joined((*split.learn, *split.limits))
    survey, sample = survey_of(whole, tell)
    plan = default_preprocessing(survey, sample, every=split.every, max_lag=split.max_lag)
    guarded = guarded_signals(survey, plan)
    taken = take_moments(whole, plan, guarded, survey.rows, tell)
    discoverer = discoverer_of("pcmci", "default", None, "linear", False, split.seed)
    graph = discoverer.discover(
        taken.ticks, taken.moments, progress=lambda share: tell("finding causes", share)
    )
    ticks = ticks_of(whole, (*plan.signals, *guarded), plan.every)
    number = len(plan.signals)
    equations = _unfitted(graph, plan.max_lag, taken.moments.means()[0])
    equations = equations.refitted([part.values[:, :number] for part in ticks])
    neighbours = np.zeros((number, number), dtype=np.bool_)
    neighbours[equations.source, equations.target] = True
    ranges = {entry.name: entry for entry in survey.signals}
    return Mechanisms(
        plan.signals,
        guarded,
        plan.every,
        equations,
        equations.spread,
        neighbours | neighbours.T,
        np.array([ranges[name].low for name in guarded], dtype=np.float64),
        np.array([ranges[name].high for name in guarded], dtype=np.float64),
        ticks,
    )


def _unfitted(graph: CausalGraph, max_lag: int, means: Floats) -> Equations:
    """The links of a graph, with coefficients of 0: every signal is expected at its mean."""
    place = {name: k for k, name in enumerate(graph.signals)}
    links = list(graph)
    return Equations(
        signals=len(graph.signals),
        max_lag=max_lag,
        source=np.array([place[link.source] for link in links], dtype=np.intp),
        target=np.array([place[link.target] for link in links], dtype=np.intp),
        lag=np.array([link.lag for link in links], dtype=np.intp),
        coefficient=np.zeros(len(links)),
        intercept=means,
        spread=np.ones(len(graph.signals)),
    )
