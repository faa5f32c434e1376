"""Double-double arithmetic: numbers as an unevaluated sum of two floats, good to about 31 digits.

Sums of products lose half of their digits where signals are nearly collinear, because what is
left after conditioning is the small difference of large numbers. Carrying every moment as a pair
``(high, low)`` with ``|low| <= ulp(high) / 2`` keeps the digits that matter. The operations are the
classical error-free transformations (Knuth 1969, Dekker 1971; see Ogita, Rump and Oishi,
"Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005), written for whole arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Doubled",
    "add",
    "divide",
    "multiply",
    "product",
    "products_of_slices",
    "slices",
    "subtract",
]

Floats = NDArray[np.float64]
Doubled = tuple[Floats, Floats]
"""A pair ``(high, low)`` of arrays of equal shape, standing for their exact sum."""

SPLITTER = 134217729.0  # 2**27 + 1: splits a float into two halves of at most 26 bits
GRID_BITS = 20
"""Bits of each of the first two slices of a number in :func:`slices`."""
MOST_ROWS = 1 << (52 - 2 * GRID_BITS)
"""Rows whose sliced products can be summed without any rounding: 2·20 + 12 bits < 53 bits."""


def _two_sum(a: Floats, b: Floats) -> Doubled:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _quick_two_sum(a: Floats, b: Floats) -> Doubled:
    """As `_two_sum`, for ``|a| >= |b|``."""
    total = a + b
    return total, b - (total - a)


def product(a: Floats, b: Floats) -> Doubled:
    """The exact product of two arrays of plain floats (broadcast)."""
    total = a * b
    stretched = SPLITTER * a
    a_high = stretched - (stretched - a)
    a_low = a - a_high
    stretched = SPLITTER * b
    b_high = stretched - (stretched - b)
    b_low = b - b_high
    low = ((a_high * b_high - total) + a_high * b_low + a_low * b_high) + a_low * b_low
    return total, low


def add(a: Doubled, b: Doubled) -> Doubled:
    """``a + b``."""
    high, low = _two_sum(a[0], b[0])
    return _quick_two_sum(high, low + (a[1] + b[1]))


def subtract(a: Doubled, b: Doubled) -> Doubled:
    """``a - b``."""
    return add(a, (-b[0], -b[1]))


def multiply(a: Doubled, b: Doubled) -> Doubled:
    """``a * b`` (broadcast)."""
    high, low = product(a[0], b[0])
    return _quick_two_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


def divide(a: Doubled, b: Doubled) -> Doubled:
    """``a / b`` (broadcast); `b` must not be zero."""
    first = a[0] / b[0]
    rest = subtract(a, multiply((first, np.zeros_like(first)), b))
    second = rest[0] / b[0]
    return _quick_two_sum(first, second)


def slices(columns: Floats) -> Floats:
    """Each column cut into two slices of `GRID_BITS` bits and the exact rest, side by side.

    Returns
    -------
    Floats
        Rows × four times the columns: all coarse slices, all middle ones, all rests, and all
        sums of a middle slice and its rest.
    """
    largest = np.max(np.abs(columns), axis=0, initial=0.0)
    _, exponent = np.frexp(largest)
    grid = np.ldexp(1.0, exponent - GRID_BITS)
    coarse = np.rint(columns / grid) * grid
    rest = columns - coarse
    grid = np.ldexp(grid, -GRID_BITS)
    middle = np.rint(rest / grid) * grid
    return np.concatenate([coarse, middle, rest - middle, rest], axis=1)


def products_of_slices(left: Floats, right: Floats) -> Doubled:
    """``left.T @ right`` to nearly twice the precision of floats, at the speed of BLAS.

    Products of coarse and middle slices are whole multiples of a power of two, and few enough to
    be summed without rounding; all other products are a million million times smaller, so their
    rounding is too: what is lost is about 2⁻⁹⁴ of the product of the largest values.
    The idea is that of Ozaki, Ogita, Oishi and Rump, Numerical Algorithms 59 (2012).

    Parameters
    ----------
    left, right
        From :func:`slices`, at most `MOST_ROWS` rows.
    """
    rows, columns = left.shape[1] // 4, right.shape[1] // 4
    across = left[:, :rows].T @ right[:, : 3 * columns]
    down = left[:, rows : 3 * rows].T @ right[:, :columns]
    rest = left[:, 3 * rows :].T @ right[:, 3 * columns :]
    rest += across[:, 2 * columns :] + down[rows:]
    middle, lost = _two_sum(across[:, columns : 2 * columns], down[:rows])
    high, low = _two_sum(across[:, :columns], middle)
    return _quick_two_sum(high, low + (lost + rest))
