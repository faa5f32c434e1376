"""Least squares on lagged columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["fit_from_covariance", "fit_from_rows", "lagged_columns"]

Floats = NDArray[np.float64]

SINGULAR = 1e-10
"""Eigenvalues of a correlation matrix below this share of the largest count as zero."""


def fit_from_covariance(
    covariance: Floats, target: int, columns: NDArray[np.intp]
) -> tuple[Floats, float]:
    """Coefficients of a regression, and the variance it leaves.

    Solved in standardised units, so that the answer does not depend on the units of the columns;
    where columns are collinear, the solution of least norm there.
    """
    variance = float(covariance[target, target])
    if len(columns) == 0:
        return np.empty(0), variance
    size = np.sqrt(covariance.diagonal()[columns])
    size = np.where(size > 0, size, 1.0)
    block = covariance[np.ix_(columns, columns)] / np.outer(size, size)
    shared = covariance[columns, target] / size
    weights = np.linalg.lstsq(block, shared, rcond=SINGULAR)[0]
    left = variance - float(weights @ shared)
    return weights / size, max(0.0, left)


def fit_from_rows(now: Floats, columns: Floats) -> tuple[Floats, float]:
    """Coefficients and intercept of a regression on rows in raw units, of least norm.

    This is what the published scripts compute; it depends on units where columns are collinear.
    """
    design = np.column_stack([columns, np.ones(len(now))])
    solution = np.asarray(np.linalg.lstsq(design, now, rcond=None)[0], dtype=np.float64)
    return solution[:-1], float(solution[-1])


def lagged_columns(
    rows: Floats, sources: NDArray[np.intp], lags: NDArray[np.intp], start: int
) -> Floats:
    """``rows[t - lag, source]`` for every t from `start` on, one column for each pair."""
    stop = len(rows)
    return np.column_stack(
        [
            rows[start - lag : stop - lag, source]
            for source, lag in zip(sources.tolist(), lags.tolist(), strict=True)
        ]
        or [np.empty((stop - start, 0))]
    )
