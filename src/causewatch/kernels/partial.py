"""Partial correlations from one matrix of centred products.

Partial correlation is scale free, so any symmetric matrix proportional to covariances will do.
The fast path factorises small blocks of it in plain floats. Where conditioning leaves less than
`DELICATE` of a variable's variance, plain floats no longer give nine digits, and the test is done
again in double-double, by elimination that passes over columns without variance left. The rule
for exactly singular sets follows from it and does not depend on units: **a residual whose variance
is at most `NO_VARIANCE` of the variable's variance counts as zero, and a zero residual has
correlation 0 with everything**.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import lapack

from causewatch.kernels import doubled
from causewatch.kernels.doubled import Doubled

__all__ = ["DELICATE", "NO_VARIANCE", "critical_value", "given_others", "given_sets", "p_values"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

DELICATE = 1e-5
"""Share of variance left below which a test is repeated in double-double."""
NO_VARIANCE = 1e-16
"""Share of variance left below which a residual counts as zero: a standard deviation of 1e-8."""
MOST_NUMBERS = 1 << 20
"""Numbers gathered at a time: 8 MB, which fits the cache of small machines."""


def p_values(values: Floats, freedom: NDArray[np.int64]) -> Floats:
    """Two-sided p-values of partial correlations by Student's t.

    Parameters
    ----------
    values
        Partial correlations.
    freedom
        Degrees of freedom: windows − conditions − 2. Below 1 the p-value is 1.
    """
    usable = freedom >= 1
    freedom = np.where(usable, freedom, 1)
    with np.errstate(divide="ignore"):
        ratio = np.abs(values) * np.sqrt(freedom / ((1.0 - values) * (1.0 + values)))
    tails = np.asarray(2.0 * special.stdtr(freedom, -ratio), dtype=np.float64)
    tails[~usable] = 1.0
    return tails


@cache
def critical_value(freedom: int, alpha: float) -> float:
    """The smallest partial correlation whose two-sided p-value is at most `alpha`.

    Infinite below one degree of freedom: nothing is significant there.
    """
    if freedom < 1:
        return np.inf
    ratio = float(special.stdtrit(freedom, 1.0 - alpha / 2.0))
    return ratio / float(np.sqrt(freedom + ratio * ratio))


def given_others(matrix: Doubled, target: int, ordered: Ints, depth: int) -> Floats:
    """Partial correlation of each candidate with the target, given the `depth` first *other* ones.

    All candidates beyond the first `depth` share one conditioning set, hence one factorisation;
    those among the first ``depth + 1`` come out of one inverse.

    Parameters
    ----------
    matrix
        Centred products, see `kernels.lagged.scatter`.
    target
        Index of the target.
    ordered
        Indices of the candidates, at least ``depth + 1`` of them.
    """
    high = matrix[0]
    diagonal = high.diagonal()
    if depth == 0:
        scale = np.sqrt(diagonal[ordered] * diagonal[target])
        return np.asarray(np.clip(high[ordered, target] / scale, -1.0, 1.0))
    values = np.zeros(len(ordered))
    first = np.append(ordered[: depth + 1], target)
    factor, failed = lapack.dpotrf(high[first[:, None], first], lower=1)
    delicate = np.ones(len(ordered), dtype=bool)
    if failed == 0:
        inverse, _ = lapack.dpotri(factor, lower=1)
        own = inverse.diagonal()
        values[: depth + 1] = -inverse[-1, :-1] / np.sqrt(own[:-1] * own[-1])
        left = 1.0 / (own * diagonal[first])
        delicate[: depth + 1] = (left[:-1] < DELICATE) | (left[-1] < DELICATE)
    if len(ordered) > depth + 1:
        rest = ordered[depth + 1 :]
        given = ordered[:depth]
        if failed != 0:
            block = high[np.ix_(given, given)]
            factor, failed = lapack.dpotrf(block, lower=1)
        if failed == 0:
            columns = np.append(rest, target)
            factor = np.asfortranarray(factor[:depth, :depth])
            projected, _ = lapack.dtrtrs(factor, high[given[:, None], columns], lower=1)
            variance = diagonal[columns] - np.einsum("ij,ij->j", projected, projected)
            left = variance / diagonal[columns]
            safe = np.maximum(variance, np.finfo(float).tiny)
            shared = high[rest, target] - projected[:, :-1].T @ projected[:, -1]
            values[depth + 1 :] = shared / (np.sqrt(safe[:-1]) * np.sqrt(safe[-1]))
            pivots = np.square(factor.diagonal()) / diagonal[given]
            unsafe = bool(np.any(pivots < DELICATE)) or left[-1] < DELICATE
            delicate[depth + 1 :] = unsafe | (left[:-1] < DELICATE)
    again = np.flatnonzero(delicate)
    if len(again) == 0:
        return np.clip(values, -1.0, 1.0)
    sets = np.empty((len(again), depth + 2), dtype=np.intp)
    for row, place in enumerate(again.tolist()):
        sets[row, :depth] = np.delete(ordered[: depth + 1], min(place, depth))
        sets[row, depth:] = ordered[place], target
    values[again] = _eliminate(matrix, ordered[:0], sets)
    return np.clip(values, -1.0, 1.0)


def given_sets(matrix: Doubled, shared: Ints, sets: Ints) -> Floats:
    """Partial correlations for many conditioning sets that have a part in common.

    The common part is factorised once; what it explains is taken out of each test's own small
    block before that is factorised in turn.

    Parameters
    ----------
    matrix
        Centred products, see `kernels.lagged.scatter`.
    shared
        Conditions common to all tests.
    sets
        Tests × width: each row lists further conditions, then x, then y; -1 is no condition.
    """
    high = matrix[0]
    explained = _explained(high, shared)
    if explained is None:
        return _eliminate(matrix, shared, sets)
    values = np.empty(len(sets))
    for part in _batches(np.arange(len(sets)), sets.shape[1]):
        block = _gather(high, sets[part])
        diagonal = np.einsum("kii->ki", block).copy()
        if len(shared):
            own = explained[sets[part]] * (sets[part] >= 0)[:, :, None]
            block -= own @ own.transpose(0, 2, 1)
        factor = _factorise(block)
        left = np.square(np.einsum("kii->ki", factor)) / diagonal
        across, below = factor[:, -1, -2], factor[:, -1, -1]
        size = np.hypot(across, below)
        # What y has left is counted before x is taken out: across² + below².
        left[:, -1] = size * size / diagonal[:, -1]
        with np.errstate(invalid="ignore", divide="ignore"):
            values[part] = across / size
        delicate = part[~np.all(left >= DELICATE, axis=1)]
        values[delicate] = _eliminate(matrix, shared, sets[delicate])
    return np.clip(values, -1.0, 1.0)


def _explained(high: Floats, shared: Ints) -> Floats | None:
    """Rows whose products are what `shared` explains of all products; None if that is delicate."""
    if len(shared) == 0:
        return np.empty((len(high), 0))
    factor, failed = lapack.dpotrf(high[np.ix_(shared, shared)], lower=1)
    left = np.square(factor.diagonal()) / high.diagonal()[shared]
    if failed != 0 or np.any(left < DELICATE):
        return None
    projected, _ = lapack.dtrtrs(factor, high[shared], lower=1)
    return np.ascontiguousarray(projected.T)


def _batches(positions: Ints, width: int) -> list[Ints]:
    """`positions` in pieces small enough to be gathered at a time."""
    count = max(1, MOST_NUMBERS // (width * width))
    return [positions[start : start + count] for start in range(0, len(positions), count)]


def _gather(values: Floats, sets: Ints) -> Floats:
    """The blocks of a matrix named by `sets`; where an index is -1, a row of the identity."""
    absent = sets < 0
    index = np.where(absent, 0, sets)
    flat = index[:, :, None] * values.shape[1] + index[:, None, :]
    block: Floats = values.ravel().take(flat)
    if absent.any():
        test, place = np.nonzero(absent)
        block[test, place, :] = 0.0
        block[test, :, place] = 0.0
        block[test, place, place] = 1.0
    return block


def _factorise(block: Floats) -> Floats:
    """Cholesky factors; NaN where a block is not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(block), dtype=np.float64)
    except np.linalg.LinAlgError:
        # One singular block spoils the call for all; taken one by one, only it is lost.
        factors = np.empty_like(block)
        for k, one in enumerate(block):
            factor, failed = lapack.dpotrf(one, lower=1)
            factors[k] = factor if failed == 0 else np.nan
        return factors


def _eliminate(matrix: Doubled, shared: Ints, sets: Ints) -> Floats:
    """As :func:`given_sets`, by Gaussian elimination in double-double."""
    if len(sets) == 0:
        return np.empty(0)
    together = np.broadcast_to(shared, (len(sets), len(shared)))
    whole = np.concatenate([together, sets], axis=1)
    values = np.empty(len(whole))
    for part in _batches(np.arange(len(whole)), whole.shape[1]):
        values[part] = _eliminate_some(matrix, whole[part])
    return values


def _eliminate_some(matrix: Doubled, sets: Ints) -> Floats:
    high = _gather(matrix[0], sets)
    low = _gather(matrix[1], sets)
    low[:, np.arange(sets.shape[1]), np.arange(sets.shape[1])] *= sets >= 0
    floor = NO_VARIANCE * np.einsum("kii->ki", high)
    for k in range(sets.shape[1] - 2):
        pivot: Doubled = (high[:, k, k, None], low[:, k, k, None])
        alive = pivot[0] > floor[:, k, None]
        one = np.ones_like(pivot[0])
        row: Doubled = (high[:, k, k + 1 :].copy(), low[:, k, k + 1 :].copy())
        share = doubled.divide(
            row, (np.where(alive, pivot[0], one), np.where(alive, pivot[1], 0.0))
        )
        share = (share[0] * alive, share[1] * alive)
        rest = (slice(None), slice(k + 1, None), slice(k + 1, None))
        taken = doubled.multiply(
            (share[0][:, :, None], share[1][:, :, None]), (row[0][:, None, :], row[1][:, None, :])
        )
        high[rest], low[rest] = doubled.subtract((high[rest], low[rest]), taken)
    x, y = high[:, -2, -2], high[:, -1, -1]
    alive_pair = (x > floor[:, -2]) & (y > floor[:, -1])
    size = np.sqrt(np.where(alive_pair, x, 1.0) * np.where(alive_pair, y, 1.0))
    return np.clip(np.where(alive_pair, high[:, -1, -2] / size, 0.0), -1.0, 1.0)
