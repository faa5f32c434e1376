"""Mechanisms: each signal regressed on its causes, and what that leaves over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import ridge_of
from causewatch.discovery import LaggedMoments
from causewatch.graph import CausalGraph
from causewatch.kernels.regression import fit_from_covariance, fit_from_rows, lagged_columns
from causewatch.model.normal import Mechanism

__all__ = ["Fit", "causes_of", "fit_as_published", "fit_mechanisms", "residuals_of"]

Floats = NDArray[np.float64]

TRAINING_SHARE = 0.7
"""Part of the recording on which the published scripts fit the normal coefficients."""


@dataclass(frozen=True)
class Fit:
    """Links and mechanisms learnt from ticks.

    Attributes
    ----------
    graph
        Which signals cause which others.
    mechanisms
        By signal: the regression on its causes.
    centre, scale
        Mean and standard deviation of each signal.
    spread
        Standard deviation of what each mechanism leaves, never nothing.
    """

    graph: CausalGraph
    mechanisms: dict[str, Mechanism]
    centre: dict[str, float]
    scale: dict[str, float]
    spread: Floats


def fit_mechanisms(graph: CausalGraph, moments: LaggedMoments) -> dict[str, Mechanism]:
    """Coefficients of every signal on its causes, from the moments."""
    covariance, means = moments.covariance(), moments.means()
    number = len(graph.signals)
    place = {name: k for k, name in enumerate(graph.signals)}
    mechanisms = {}
    for target in graph.signals:
        links = graph.parents(target)
        columns = np.array(
            [link.lag * number + place[link.source] for link in links], dtype=np.intp
        )
        ridge = ridge_of(np.array([link.is_auto for link in links], dtype=np.bool_))
        weights, left = fit_from_covariance(covariance, place[target], columns, ridge)
        variance = float(covariance[place[target], place[target]])
        explained = sum(
            weight * means[link.lag, place[link.source]]
            for weight, link in zip(weights.tolist(), links, strict=True)
        )
        mechanisms[target] = Mechanism(
            target=target,
            coefficients=dict(zip(links, weights.tolist(), strict=True)),
            intercept=float(means[0, place[target]] - explained),
            spread=float(np.sqrt(left)),
            explained=1.0 - left / variance if variance > 0 else 0.0,
        )
    return mechanisms


def fit_as_published(graph: CausalGraph, sample: list[Floats]) -> dict[str, Mechanism]:
    """Least squares on the first part of the ticks, in raw units, as the published scripts do."""
    ticks = np.concatenate(sample)
    ticks = ticks[: max(2, int(TRAINING_SHARE * len(ticks)))]
    place = {name: k for k, name in enumerate(graph.signals)}
    mechanisms = {}
    for target in graph.signals:
        links = sorted(graph.parents(target), key=lambda link: link.lag)
        lags = np.array([link.lag for link in links], dtype=np.intp)
        sources = np.array([place[link.source] for link in links], dtype=np.intp)
        start = int(lags.max(initial=0))
        now = ticks[start:, place[target]]
        columns = lagged_columns(ticks, sources, lags, start)
        weights, intercept = fit_from_rows(now, columns)
        left = now - columns @ weights - intercept
        mechanisms[target] = Mechanism(
            target=target,
            coefficients=dict(zip(links, weights.tolist(), strict=True)),
            intercept=intercept,
            spread=float(left.std()),
            explained=1.0 - float(left.var() / now.var()) if now.std() > 0 else 0.0,
        )
    return mechanisms


def residuals_of(
    graph: CausalGraph, mechanisms: Mapping[str, Mechanism], sample: list[Floats], max_lag: int
) -> tuple[Floats, list[int]]:
    """What the mechanisms leave of a sample of ticks, and where stretches begin."""
    parts = [rows for rows in sample if len(rows) > max_lag]
    starts = np.cumsum([0] + [len(rows) - max_lag for rows in parts])[:-1].tolist()
    residuals = np.empty((sum(len(rows) - max_lag for rows in parts), len(graph.signals)))
    place = {name: k for k, name in enumerate(graph.signals)}
    for target, mechanism in mechanisms.items():
        weights = np.array(list(mechanism.coefficients.values()))
        now = [rows[max_lag:, place[target]] for rows in parts]
        expected = [causes_of(graph, mechanism, rows, max_lag) @ weights for rows in parts]
        residuals[:, place[target]] = np.concatenate(now or [np.empty(0)]) - (
            np.concatenate(expected or [np.empty(0)]) + mechanism.intercept
        )
    return residuals, starts


def causes_of(graph: CausalGraph, mechanism: Mechanism, rows: Floats, max_lag: int) -> Floats:
    """Values of a mechanism's causes at each tick from `max_lag` on, one column for each link."""
    place = {name: k for k, name in enumerate(graph.signals)}
    sources = np.array([place[link.source] for link in mechanism.coefficients], dtype=np.intp)
    lags = np.array([link.lag for link in mechanism.coefficients], dtype=np.intp)
    return lagged_columns(rows, sources, lags, max_lag)
