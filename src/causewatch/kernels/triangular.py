"""Least squares over all rows so far, when rows arrive one at a time.

The answer of each of many problems ``A c ≈ y`` is the one that
``numpy.linalg.lstsq(A, y, rcond=None)`` gives on all its rows: of least norm, singular values below
``eps · max(rows, columns)`` times the largest one counting as zero. A problem is carried as

    A = Q R V

where the rows of V are an orthonormal basis of what the rows of A span, and R is triangular and
regular. Only R, V and Qᵀy are kept. The solution of least norm is ``Vᵀ R⁻¹ Qᵀy``, and a new row
costs the same at any time:

- A row within the span is rotated into R (LAPACK's ``tpqrt``).
- A row that leaves the span adds a direction to V and a column to R. This happens once per column
  at most, while there are fewer rows than columns or when a signal first moves.
- When V has as many directions as there are columns, it is multiplied into R and dropped.

Nothing is decomposed, as long as no singular value of R is near the cutoff. A lower bound of the
smallest one settles that: rows within the span never make it smaller, and after a new direction
LAPACK's condition estimate (``trcon``) gives it again. Where the bound is too close to the cutoff,
a singular value decomposition of R decides what is cut. If the values on both sides of the cutoff
are beyond doubt, the directions that are cut leave V and R.

The normal equations would be quicker still, but they square the condition number: half of the
digits are gone before the solving begins.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from causewatch.kernels.parallel import one_thread

__all__ = ["GrowingLeastSquares"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

EPSILON = float(np.finfo(np.float64).eps)
CLEAR = 8.0
"""How many times above or below the cutoff a singular value must be to be beyond doubt."""
TURNED = 1e-8
"""How far all rows together may leave the span, as a share of the smallest singular value."""
ROUNDING = 4.0
"""How far they may leave it in any case, in units of eps · norm of A: the rounding of a product."""
BLOCK = 8
"""Columns that ``tpqrt`` rotates together; the quickest size for 10 to 900 columns."""


class GrowingLeastSquares:
    """Many least-squares problems whose rows arrive one at a time, one row for each problem.

    What goes in and out holds all problems one after the other.

    Parameters
    ----------
    columns
        How many columns each problem has, at least one.

    Attributes
    ----------
    rows
        How many rows each problem has seen.
    """

    def __init__(self, columns: Ints) -> None:
        self.columns = np.asarray(columns, dtype=np.intp)
        if np.any(self.columns < 1):
            msg = "every problem needs at least one column"
            raise ValueError(msg)
        problems = len(self.columns)
        self._starts = np.cumsum(self.columns) - self.columns
        # Where the coefficients of a problem stand in the answer, and its cells in a row.
        self._answers = _slices(self.columns)
        self._cells = _slices(self.columns + 1)
        self._is_column = np.ones(int(np.sum(self.columns + 1)), dtype=np.bool_)
        self._is_column[np.cumsum(self.columns + 1) - 1] = False
        self.rows = np.zeros(problems, dtype=np.int64)
        self._sums = np.zeros(int(self.columns.sum()))  # of squares, by column
        self._least = np.full(problems, np.inf)  # no singular value of R is below this
        self._outside = np.zeros(problems)  # squares of what the rows have outside of the span
        # R with one column more: −Qᵀy, above a pivot of 1. Then the solution of ``triangle · x =
        # (0, …, 0, 1)`` begins with that of ``R c = Qᵀy``. In the order of Fortran, so that LAPACK
        # works in place.
        self._triangles = [np.ones((1, 1), order="F") for _ in range(problems)]
        # The directions of V as rows; None where they are the columns themselves.
        self._bases: list[Floats | None] = [np.zeros((0, size)) for size in self.columns.tolist()]

    def add(self, row: Floats, present: NDArray[np.bool_] | None = None) -> None:
        """Take in one row of every problem.

        Parameters
        ----------
        row
            For each problem its columns, then the value to be explained.
        present
            Problems that have a row now; the others stay as they are. None: all.
        """
        if present is None:
            present = np.ones(len(self.columns), dtype=np.bool_)
        row = np.where(np.repeat(present, self.columns + 1), row, 0.0)
        self.rows += present
        self._sums += row[self._is_column] ** 2
        np.negative(row, out=row, where=~self._is_column)
        if not len(self.columns):
            return
        allowed = (self._allowed() ** 2).tolist()
        with one_thread():
            for k in np.flatnonzero(present).tolist():
                self._take(k, row[self._cells[k]], allowed[k])

    def solve(self) -> Floats:
        """Coefficients of every problem now; zero before any row."""
        answer = np.zeros(len(self._sums))
        if not len(self.columns):
            return answer
        limit = CLEAR * self._cutoff() * self._norm()
        with one_thread():
            for k in np.flatnonzero(self._least <= limit).tolist():
                self._least[k] = max(self._least[k], _smallest(self._triangles[k]))
            doubtful = (self._least <= limit).tolist()
            for k, (triangle, basis) in enumerate(zip(self._triangles, self._bases, strict=True)):
                if doubtful[k]:
                    inner = self._decompose(k)
                else:
                    last = np.zeros(len(triangle))
                    last[-1] = 1.0
                    inner = lapack.dtrtrs(triangle, last, overwrite_b=1)[0][:-1]
                answer[self._answers[k]] = inner if basis is None else inner @ basis
        return answer

    def _cutoff(self) -> Floats:
        """Share of the largest singular value below which one counts as zero."""
        cutoff: Floats = EPSILON * np.maximum(self.rows, self.columns)
        return cutoff

    def _norm(self) -> Floats:
        """The Frobenius norm of A, above its largest singular value."""
        norm: Floats = np.sqrt(np.add.reduceat(self._sums, self._starts))
        return norm

    def _allowed(self) -> Floats:
        """How far all rows of a problem together may leave the span without a new direction.

        As far as `numpy.linalg.lstsq` would cut it beyond doubt, and as it hardly turns the
        directions that are kept; and always as far as rounding goes.
        """
        largest = np.sqrt(np.maximum.reduceat(self._sums, self._starts))  # singular value, or less
        cut = self._cutoff() * largest / CLEAR
        least = np.where(np.isinf(self._least), 0.0, self._least)
        allowed: Floats = np.minimum(cut, TURNED * least)
        return np.maximum(allowed, ROUNDING * EPSILON * self._norm())

    def _take(self, k: int, row: Floats, allowed: float) -> None:
        """Take in a row of problem `k`; it may leave the span by the root of `allowed`."""
        basis = self._bases[k]
        if basis is None:
            _rotate(self._triangles[k], row)
            return
        cause = row[:-1]
        inside = basis @ cause
        rest = cause - inside @ basis
        # Once more, since rounding has left a little of the span in the rest.
        more = basis @ rest
        rest -= more @ basis
        inside += more
        outside = float(self._outside[k] + rest @ rest)
        if outside <= allowed or not rest.any():
            self._outside[k] = outside
            _rotate(self._triangles[k], np.append(inside, row[-1]))
            return
        length = float(np.sqrt(rest @ rest))
        basis = np.concatenate([basis, rest[None] / length])
        triangle = _wider(self._triangles[k])
        _rotate(triangle, np.concatenate([inside, [length, row[-1]]]))
        if len(basis) == len(cause):
            # As many directions as columns: the columns themselves do.
            whole = np.column_stack([triangle[:-1, :-1] @ basis, triangle[:-1, -1]])
            self._triangles[k], self._bases[k] = _closed(np.linalg.qr(whole).R), None
        else:
            self._triangles[k], self._bases[k] = triangle, basis
        self._least[k] = self._outside[k] = 0.0

    def _decompose(self, k: int) -> Floats:
        """Solve problem `k` by singular values, in the directions that it had before.

        What is cut beyond doubt leaves the basis, for the rows to come.
        """
        triangle, basis = self._triangles[k], self._bases[k]
        factor, turned = triangle[:-1, :-1], -triangle[:-1, -1]
        left, sizes, right = np.linalg.svd(factor)
        cutoff = self._cutoff()[k]
        rank = int(np.count_nonzero(sizes > cutoff * sizes[0]))
        inner: Floats = (turned @ left[:, :rank] / sizes[:rank]) @ right[:rank]
        if rank < len(sizes) and sizes[rank - 1] > 2.0 * CLEAR * cutoff * self._norm()[k]:
            self._least[k] = sizes[rank - 1]
            if np.linalg.norm(sizes[rank:]) <= self._allowed()[k]:
                kept = right[:rank]
                rotated = np.column_stack([factor @ kept.T, -turned])
                self._triangles[k] = _closed(np.linalg.qr(rotated).R[:rank])
                self._bases[k] = kept if basis is None else kept @ basis
                self._outside[k] = 0.0
                return inner
        self._least[k] = sizes[-1]
        return inner

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Everything the future depends on."""
        bases = [basis.ravel() for basis in self._bases if basis is not None]
        return {
            "rows": self.rows.copy(),
            "rank": np.array([len(triangle) - 1 for triangle in self._triangles], dtype=np.intp),
            "triangles": np.concatenate([np.empty(0), *(t.ravel("F") for t in self._triangles)]),
            "bases": np.concatenate([np.empty(0), *bases]),
            "squares": self._sums.copy(),
            "least": self._least.copy(),
            "outside": self._outside.copy(),
        }

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a snapshot of an object with the same problems."""
        for mine, name in (
            (self.rows, "rows"),
            (self._sums, "squares"),
            (self._least, "least"),
            (self._outside, "outside"),
        ):
            mine[...] = state[name]
        ranks = np.asarray(state["rank"], dtype=np.intp)
        triangles = np.asarray(state["triangles"], dtype=np.float64)
        bases = np.asarray(state["bases"], dtype=np.float64)
        sizes = np.where(ranks < self.columns, ranks * self.columns, 0)
        parts = zip(ranks.tolist(), _slices((ranks + 1) ** 2), _slices(sizes), strict=True)
        for k, (rank, triangle, basis) in enumerate(parts):
            own = int(self.columns[k])
            self._triangles[k] = triangles[triangle].reshape((rank + 1,) * 2, order="F").copy("F")
            self._bases[k] = bases[basis].reshape(rank, own).copy() if rank < own else None


def _rotate(triangle: Floats, row: Floats) -> None:
    """Rotate a row into a triangle, in place; its last pivot stays 1."""
    lapack.dtpqrt(0, min(BLOCK, len(triangle)), triangle, row[None], overwrite_a=1, overwrite_b=1)
    triangle[-1, -1] = 1.0


def _wider(triangle: Floats) -> Floats:
    """The triangle with a column of zeros before its last one."""
    size = len(triangle)
    wider = np.zeros((size + 1, size + 1), order="F")
    wider[: size - 1, : size - 1] = triangle[:-1, :-1]
    wider[: size - 1, -1] = triangle[:-1, -1]
    wider[-1, -1] = 1.0
    return wider


def _closed(rows: Floats) -> Floats:
    """A triangle from all its rows but the last."""
    triangle = np.zeros((len(rows) + 1, len(rows) + 1), order="F")
    triangle[:-1] = rows
    triangle[-1, -1] = 1.0
    return triangle


def _smallest(triangle: Floats) -> float:
    """A lower bound of the smallest singular value of R, from its estimated condition number."""
    size = len(triangle) - 1
    if not size:
        return np.inf
    regular = np.asfortranarray(triangle[:-1, :-1])
    norm = np.abs(regular).sum(axis=0).max()
    return float(lapack.dtrcon(regular, norm="1")[0] * norm / np.sqrt(size))


def _slices(sizes: Ints) -> list[slice]:
    """Consecutive parts of the given sizes."""
    ends = np.cumsum(sizes)
    return [slice(*part) for part in zip((ends - sizes).tolist(), ends.tolist(), strict=True)]
