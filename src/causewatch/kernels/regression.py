"""Least squares on lagged columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["fit_from_covariance", "fit_from_rows", "lagged_columns", "lagged_scatter"]

Floats = NDArray[np.float64]

PIECE = 2048
"""Windows worked on at a time."""
SINGULAR = 1e-10
"""Eigenvalues of a correlation matrix below this share of the largest count as zero."""


def fit_from_covariance(
    covariance: Floats, target: int, columns: NDArray[np.intp], ridge: Floats | None = None
) -> tuple[Floats, float]:
    """Coefficients of a regression, and the variance it leaves.

    Solved in standardised units, so that the answer does not depend on the units of the columns;
    where columns are collinear, the solution of least norm there. `ridge` is added to the variance
    of each (standardised) column: it keeps coefficients of nearly collinear columns small.
    """
    variance = float(covariance[target, target])
    if len(columns) == 0:
        return np.empty(0), variance
    size = np.sqrt(covariance.diagonal()[columns])
    size = np.where(size > 0, size, 1.0)
    block = covariance[np.ix_(columns, columns)] / np.outer(size, size)
    shared = covariance[columns, target] / size
    matrix = block if ridge is None else block + np.diag(ridge)
    weights = np.linalg.lstsq(matrix, shared, rcond=SINGULAR)[0]
    left = variance - float(weights @ (2.0 * shared - block @ weights))
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


def lagged_scatter(stretches: Sequence[Floats], max_lag: int) -> tuple[Floats, Floats, int]:
    """Centred products and means of all lagged columns (index ``lag·N + column``), and windows.

    Windows with a missing value are left out. Taken in pieces, so that the lagged columns of a long
    recording are never all in memory.
    """
    width = stretches[0].shape[1] * (max_lag + 1) if stretches else 0
    products, sums, count = np.zeros((width, width)), np.zeros(width), 0
    shift: Floats | None = None
    for rows in stretches:
        for start in range(max_lag, len(rows), PIECE):
            now = np.arange(start, min(start + PIECE, len(rows)))
            window = np.concatenate([rows[now - lag] for lag in range(max_lag + 1)], axis=1)
            window = window[np.isfinite(window).all(axis=1)]
            if not len(window):
                continue
            if shift is None:
                shift = window.mean(axis=0)
            window = window - shift
            products += window.T @ window
            sums += window.sum(axis=0)
            count += len(window)
    if shift is None:
        return products, np.zeros(width), 0
    return products - np.outer(sums, sums) / count, shift + sums / count, count
