"""Partial canonical correlation of blocks of columns, from centred products.

Several columns stand for each variable. Wilks' Λ compares what two blocks have left together, given
the blocks of the conditions, with what each has left alone: 1 where they are independent, 0 where
one says everything about the other. Of two blocks of one column, ``Λ = 1 − r²``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import lapack

__all__ = ["log_wilks", "wilks_p_values"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

RIDGE = 1e-9
"""Added to the variance of each column, as a share of it: what the conditions explain but for this
share has nothing left to depend on."""
MOST_NUMBERS = 1 << 20
"""Numbers gathered at a time: 8 MB, which fits the cache of small machines."""


def log_wilks(matrix: Floats, shared: Ints, sets: Ints, width: int) -> tuple[Floats, Floats]:
    """Logarithm of Wilks' Λ for many pairs of blocks, and the correlation of their first columns.

    Parameters
    ----------
    matrix
        Centred products of all columns.
    shared
        Columns of the conditions that all tests have in common.
    sets
        Tests × columns: each row lists the columns of further conditions, then `width` columns of
        x, then `width` of y; −1 is no column.
    width
        Columns of a block, fillings included.

    Returns
    -------
    logarithms, correlations
        Of Λ; and of what the first columns of x and y have left given the conditions.
    """
    explained = _explained(matrix, shared)
    logarithms, correlations = np.empty(len(sets)), np.empty(len(sets))
    step = max(1, MOST_NUMBERS // sets.shape[1] ** 2)
    for start in range(0, len(sets), step):
        part = slice(start, start + step)
        factor = np.linalg.cholesky(_left(matrix, explained, sets[part]))
        across, below = factor[:, -width:, -2 * width : -width], factor[:, -width:, -width:]
        alone = across @ across.transpose(0, 2, 1) + below @ below.transpose(0, 2, 1)
        together = 2.0 * np.log(np.einsum("kii->ki", below)).sum(axis=1)
        logarithms[part] = together - np.linalg.slogdet(alone)[1]
        correlations[part] = across[:, 0, 0] / np.sqrt(alone[:, 0, 0])
    return np.minimum(logarithms, 0.0), np.clip(correlations, -1.0, 1.0)


def wilks_p_values(logarithms: Floats, x: Ints, y: Ints, freedom: Ints) -> Floats:
    """P-values of Wilks' Λ by the F approximation of Rao.

    It is exact where one of the blocks has one or two columns.

    Parameters
    ----------
    logarithms
        Of Λ.
    x, y
        Numbers of columns of the two blocks.
    freedom
        Number of samples less that of the columns conditioned on, and one for the mean.
    """
    both = (x * y).astype(np.float64)
    sizes = (x * x + y * y - 5).astype(np.float64)
    root = np.sqrt(np.maximum(both**2 - 4.0, 1.0) / np.maximum(sizes, 1.0))
    root = np.where((sizes > 0) & (both > 2), root, 1.0)
    second = (freedom - (x + y + 1) / 2.0) * root - both / 2.0 + 1.0
    tested = (both > 0) & (second > 0)
    with np.errstate(over="ignore", divide="ignore"):
        ratio = np.expm1(-logarithms / root) * second / np.maximum(both, 1.0)
    p_values = special.fdtrc(np.where(tested, both, 1.0), np.where(tested, second, 1.0), ratio)
    return np.asarray(np.where(tested, p_values, 1.0))


def _explained(matrix: Floats, shared: Ints) -> Floats:
    """Rows whose products are what `shared` explains of all products."""
    if len(shared) == 0:
        return np.empty((len(matrix), 0))
    block = matrix[np.ix_(shared, shared)]
    block[np.diag_indices(len(shared))] *= 1.0 + RIDGE
    factor = np.linalg.cholesky(block)
    projected, _ = lapack.dtrtrs(factor, matrix[shared], lower=1)
    return np.ascontiguousarray(projected.T)


def _left(matrix: Floats, explained: Floats, sets: Ints) -> Floats:
    """What is left of the products of the columns in each set; of the identity for fillings."""
    there = sets >= 0
    index = np.where(there, sets, 0)
    block: Floats = matrix.ravel().take(index[:, :, None] * len(matrix) + index[:, None, :])
    pulled = RIDGE * np.einsum("kii->ki", block)
    if explained.shape[1]:
        own = explained[index]
        block -= own @ own.transpose(0, 2, 1)
    block *= there[:, :, None] & there[:, None, :]
    diagonal = np.arange(sets.shape[1])
    block[:, diagonal, diagonal] += np.where(there, pulled, 1.0)
    return block
