"""Sums of lagged products: the one statistic that linear discovery needs.

A *window* is a row together with the `reach` rows before it. Let ``u`` be a window flattened to the
values of all signals at lag 0, then at lag 1, and so on, with a constant 1 appended to each row (so
that sums come along with products). Discovery needs the sum of ``u uᵀ`` over all windows, a matrix
of ``((reach + 1)·(signals + 1))²`` numbers. All blocks with the same difference of lags are nearly
equal: they differ by the rows at the two ends of a stretch only. So it is enough to sum the
products of each row with the `reach` rows before it (`row_products`) and the products among the
`reach` rows at either end (`end_products`); `window_products` puts the matrix together.
Everything is additive over stretches, and carried in double-double (see `kernels.doubled`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from causewatch.kernels import doubled
from causewatch.kernels.doubled import Doubled
from causewatch.kernels.parallel import spread

__all__ = ["end_products", "row_products", "scatter", "window_products"]

Floats = NDArray[np.float64]


def row_products(rows: Floats, reach: int) -> Doubled:
    """Sums of products of each row from number `reach` on with the rows before it.

    Parameters
    ----------
    rows
        Rows × columns, without missing values; the first `reach` rows are context only.

    Returns
    -------
    Doubled
        ``[d, i, j]``: the sum over t >= reach of ``rows[t, i] * rows[t - d, j]``.
    """
    width = rows.shape[1]
    total: Doubled = (np.zeros((reach + 1, width, width)), np.zeros((reach + 1, width, width)))

    # Pieces are short enough for every core to get some, and for sums without rounding.
    length = int(np.clip((len(rows) - reach) // 4, 512, doubled.MOST_ROWS))

    def piece(start: int) -> Doubled:
        stop = min(start + length, len(rows))
        cut = doubled.slices(rows[start - reach : stop])
        now = cut[reach:]
        parts = [
            doubled.products_of_slices(now, cut[reach - d : len(cut) - d]) for d in range(reach + 1)
        ]
        return np.stack([part[0] for part in parts]), np.stack([part[1] for part in parts])

    for part in spread(piece, range(reach, len(rows), length)):
        total = doubled.add(total, part)
    return total


def end_products(ends: Floats, signs: Floats) -> Doubled:
    """Sum of products among the rows at the ends of stretches.

    Parameters
    ----------
    ends
        Ends × reach × columns: rows in the order of *growing lag* (latest row first); at most
        `kernels.doubled.MOST_ROWS` ends.
    signs
        +1 for the first rows of a stretch, −1 for its last rows.
    """
    flat = ends.reshape(len(ends), -1)
    cut = doubled.slices(flat)
    return doubled.products_of_slices(cut * signs[:, None], cut)


def window_products(rows: Doubled, ends: Doubled) -> Doubled:
    """The sum of ``u uᵀ`` over all windows.

    Parameters
    ----------
    rows
        From :func:`row_products`, summed over stretches.
    ends
        From :func:`end_products`, summed over stretches.

    Returns
    -------
    Doubled
        Square and symmetric, ordered by lag, then column.
    """
    reach, width = rows[0].shape[0] - 1, rows[0].shape[1]
    size = (reach + 1) * width
    high, low = np.empty((size, size)), np.empty((size, size))
    for difference in range(reach + 1):
        block: Doubled = (rows[0][difference], rows[1][difference])
        for lag in range(reach + 1 - difference):
            later = slice(lag * width, (lag + 1) * width)
            earlier = slice((lag + difference) * width, (lag + difference + 1) * width)
            high[later, earlier], low[later, earlier] = block
            high[earlier, later], low[earlier, later] = block[0].T, block[1].T
            if lag < reach - difference:
                block = doubled.add(block, (ends[0][later, earlier], ends[1][later, earlier]))
    return high, low


def scatter(windows: Doubled, count: int, width: int) -> tuple[Doubled, Floats]:
    """Centred products of all lagged columns, each column scaled by a power of two to about 1.

    This is the covariance matrix up to factors that no partial correlation depends on; scaling by
    powers of two is exact.

    Parameters
    ----------
    windows
        From :func:`window_products`; the last of every `width` columns is the constant 1.
    count
        Number of windows.

    Returns
    -------
    matrix
        Ordered by lag, then signal; the constant columns are gone.
    scale
        The factor applied to each lagged signal; 0 for those without variance, whose rows and
        columns are zero.
    """
    lags = len(windows[0]) // width
    shape = (lags, width, lags, width)
    blocks: Doubled = (windows[0].reshape(shape), windows[1].reshape(shape))
    each = np.arange(lags)
    sums: Doubled = (
        blocks[0][each, :-1, each, -1].ravel(),
        blocks[1][each, :-1, each, -1].ravel(),
    )
    size = len(sums[0])
    means = doubled.divide(sums, (np.full(size, float(count)), np.zeros(size)))

    own = np.arange(len(windows[0])).reshape(lags, width)[:, :-1].ravel()
    squares: Doubled = (windows[0][own, own], windows[1][own, own])
    left = doubled.subtract(squares, doubled.multiply(sums, means))[0]
    # What is below is rounding: a standard deviation of 1e-10 of the root mean square.
    varies = left > 1e-20 * np.maximum(squares[0], np.finfo(float).tiny)
    _, exponent = np.frexp(np.where(varies, left, 1.0))
    scale = np.where(varies, np.ldexp(1.0, -(exponent // 2)), 0.0)

    high, low = np.empty((size, size)), np.empty((size, size))
    step = max(1, (1 << 15) // size)  # a block of rows that stays in the processor's cache

    def piece(rows: tuple[int, int, int]) -> None:
        lag, start, stop = rows
        stop = min(stop, width - 1)
        part = slice(lag * (width - 1) + start, lag * (width - 1) + stop)
        kept = (lag, slice(start, stop), slice(None), slice(None, -1))
        centred = doubled.subtract(
            (blocks[0][kept].reshape(-1, size), blocks[1][kept].reshape(-1, size)),
            doubled.multiply(
                (sums[0][part, None], sums[1][part, None]), (means[0][None, :], means[1][None, :])
            ),
        )
        factor = scale[part, None] * scale[None, :]
        high[part], low[part] = centred[0] * factor, centred[1] * factor

    pieces = [(lag, k, k + step) for lag in range(lags) for k in range(0, width - 1, step)]
    for _ in spread(piece, pieces, threads=size > 1000):
        pass
    return (high, low), scale
