"""Least squares over all rows so far, when rows arrive one at a time.

Each of many problems ``columns · c ≈ value`` is carried as its triangular factor: R and Qᵀy of the
QR factorisation of its rows. A new row is rotated into R (Givens), for all problems at once. That
costs the same at the millionth row as at the first. The normal equations would be quicker still,
but they square the condition number: half of the digits are gone before the solving begins.

The answer is the one that ``numpy.linalg.lstsq(rows, values, rcond=None)`` gives on all rows: of
least norm, singular values below ``eps · max(rows, columns)`` times the largest one counting as
zero. R has the singular values of the rows, so a singular value decomposition of R settles it. Most
of the time none is needed:

- Adding rows never makes a singular value smaller. A smallest one found once stays a lower bound;
  as long as that is well above the cutoff, nothing would be cut and back-substitution is enough.
- Columns that stand still, or copy each other, keep R singular for a long time. Once a
  decomposition has shown the directions N in which no row points, the rows ``s · Nᵀ c = 0`` are
  put into R: with them R is regular, and its solution is the one of least norm. R is then called
  *filled*. This holds as long as no row points along N. Before the first one that does, the filling
  is taken out again: ``R (I − N Nᵀ)`` is a factor of the true rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["GrowingLeastSquares"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

EPSILON = float(np.finfo(np.float64).eps)
CLEAR = 8.0
"""How many times above or below the cutoff a singular value must be to be beyond doubt."""
TURNED = 1e-8
"""How much the directions of a filling may be off, as an angle, before they are found anew."""
SETTLED = 2
"""A problem may be filled when it has had this many times more rows than columns."""
NOTHING = 1e-150
"""Pivots begin with this, far below rounding, so that no rotation divides by zero."""
SIMILAR = 8
"""Problems whose sizes fall into the same class of this width are decomposed together."""


class GrowingLeastSquares:
    """Many least-squares problems whose rows arrive one at a time, one row for each problem.

    Arrays that go in and out have one column for each problem, and as many rows as the largest
    problem has columns; what lies beyond a problem's own columns is padding, and must be zero.

    Parameters
    ----------
    columns
        How many columns each problem has, at least one, **in descending order**: the problems that
        a rotation still concerns are then always the first ones.

    Attributes
    ----------
    rows
        How many rows each problem has seen.
    """

    def __init__(self, columns: Ints) -> None:
        if np.any(np.diff(columns) > 0) or np.any(columns < 1):
            msg = "problems must be given in descending order of size, and none may be empty"
            raise ValueError(msg)
        self.columns = np.asarray(columns, dtype=np.intp)
        problems, width = len(columns), int(self.columns.max(initial=0))
        self._width = width
        # Problems lie along the last axis: every rotation is then a few operations on whole rows.
        # The last column of the second axis holds Qᵀy.
        self._factor = np.zeros((width, width + 1, problems))
        self._spare = np.zeros_like(self._factor)  # the next factor is written here
        self.rows = np.zeros(problems, dtype=np.int64)
        self._least = np.zeros(problems)  # what no singular value that is kept is below
        self._squares = np.zeros(problems)  # of all true entries: its root is above the largest
        # N of each problem, one direction a column, and the squares of all rows along it.
        self._empty = np.zeros((problems, width, width))
        self._along = np.zeros(problems)
        self._gather()
        self._concerned = [int(np.sum(self.columns > k)) for k in range(width)]
        for k, some in enumerate(self._concerned):
            self._factor[k, k, :some] = NOTHING
        self._part = np.empty((width + 1, problems))

    def add(self, row: Floats, present: NDArray[np.bool_] | None = None) -> None:
        """Take in one row of every problem.

        Parameters
        ----------
        row
            One row more than the largest problem has columns: the last one holds the values to be
            explained. It is overwritten.
        present
            Problems that have a row now; the others stay as they are. None: all.
        """
        if present is None:
            self.rows += 1
        else:
            row[:, ~present] = 0.0  # a row of zeros changes nothing
            self.rows += present
        self._squares += np.einsum("ij,ij->j", row[:-1], row[:-1])
        if len(self._filled):
            self._check_filling(row)
        after = self._spare
        for k, some in enumerate(self._concerned):
            ours, new, rotated = self._factor[k, k:, :some], row[k:, :some], after[k, k:, :some]
            length = np.hypot(ours[0], new[0])
            cosine, sine = ours[0] / length, new[0] / length
            part = self._part[k:, :some]
            np.multiply(ours, cosine, out=rotated)
            np.multiply(new, sine, out=part)
            rotated += part
            rotated[0] = length
            np.multiply(ours, sine, out=part)
            new *= cosine
            new -= part
        self._factor, self._spare = after, self._factor

    def solve(self) -> Floats:
        """Coefficients of every problem now; zero in the padding, and before any row."""
        doubtful = np.flatnonzero(self._least <= CLEAR * self._cutoff() * np.sqrt(self._squares))
        if not len(doubtful):
            return self._substituted()
        self._take_out(np.intersect1d(doubtful, self._filled))
        with np.errstate(over="ignore", invalid="ignore"):  # replaced below where R is singular
            answer = self._substituted()
        classes = (self.columns[doubtful] - 1) // SIMILAR
        for size in np.unique(classes):
            self._decompose(doubtful[classes == size], answer)
        self._gather()
        return answer

    def _cutoff(self) -> Floats:
        """Share of the largest singular value below which one counts as zero."""
        cutoff: Floats = EPSILON * np.maximum(self.rows, self.columns)
        return cutoff

    def _substituted(self) -> Floats:
        """Solutions of R c = Qᵀy, from the last row upwards; nonsense where R is singular."""
        left = self._factor[:, -1].copy()
        for k in range(self._width - 1, -1, -1):
            some = self._concerned[k]
            left[k, :some] /= self._factor[k, k, :some]
            left[:k, :some] -= self._factor[:k, k, :some] * left[k, :some]
        return left

    def _decompose(self, problems: Ints, answer: Floats) -> None:
        """Solve some problems by singular values, and fill those that are clearly singular."""
        width = int(self.columns[problems].max())
        factor = np.moveaxis(self._factor[:width, :, problems], -1, 0)
        left, sizes, right = np.linalg.svd(factor[:, :, :width])
        cut = self._cutoff()[problems] * sizes[:, 0]
        kept = sizes > cut[:, None]
        turned = np.einsum("pij,pi->pj", left, factor[:, :, -1])
        turned = np.where(kept, turned / np.where(kept, sizes, 1.0), 0.0)
        answer[:width, problems] = np.einsum("pij,pi->jp", right, turned)

        # Padding adds singular values of next to nothing at the end.
        own, some = self.columns[problems], np.arange(len(problems))
        self._least[problems] = sizes[some, own - 1]
        rank = np.count_nonzero(kept, axis=1)
        smallest = sizes[some, np.maximum(rank, 1) - 1]
        beyond = np.arange(width) >= own[:, None]
        rest = np.where(kept | beyond, 0.0, sizes**2).sum(axis=1)
        # Half of what will be allowed later: a filling that is taken out at once is of no use.
        clear = smallest > 2.0 * CLEAR * (self._cutoff() * np.sqrt(self._squares))[problems]
        clear &= np.sqrt(rest) < 0.5 * self._allowed(smallest, problems)
        clear &= (rank < own) & (self.rows[problems] > SETTLED * own)
        for k in np.flatnonzero(clear).tolist():
            self._fill(int(problems[k]), right[k, rank[k] :, : own[k]], float(sizes[k, 0]))
            self._least[problems[k]] = smallest[k]
            self._along[problems[k]] = rest[k]

    def _allowed(self, least: Floats, problems: Ints) -> Floats:
        """How long all rows together may be along the directions of a filling."""
        largest = np.sqrt(self._squares / self.columns)  # at most the largest singular value
        allowed: Floats = np.minimum((self._cutoff() * largest)[problems] / CLEAR, TURNED * least)
        return allowed

    def _fill(self, problem: int, directions: Floats, size: float) -> None:
        """Put rows into R that forbid the directions in which it has none."""
        own = int(self.columns[problem])
        # The directions of padding come with those of the problem: zero in its own columns.
        lengths = np.linalg.norm(directions, axis=1)
        directions = directions[lengths > 0.5]
        filled = np.zeros((own + len(directions), own + 1))
        filled[:own, :own] = self._factor[:own, :own, problem]
        filled[:own, own] = self._factor[:own, -1, problem]
        filled[own:, :own] = size * directions
        self._write(problem, np.linalg.qr(filled).R)
        self._empty[problem, :own, : len(directions)] = directions.T

    def _write(self, problem: int, triangle: Floats) -> None:
        """Replace the factor of a problem."""
        own = int(self.columns[problem])
        self._factor[:own, :own, problem] = triangle[:own, :own]
        self._factor[:own, -1, problem] = triangle[:own, own]
        pivots = triangle.diagonal()[:own]
        pivots = np.where(np.abs(pivots) > NOTHING, pivots, NOTHING)
        self._factor[np.arange(own), np.arange(own), problem] = pivots

    def _check_filling(self, row: Floats) -> None:
        """Before a row is rotated in: take out fillings along whose directions it points."""
        along = np.matmul(row[:-1, self._filled].T[:, None, :], self._directions)[:, 0]
        self._along[self._filled] += np.einsum("pd,pd->p", along, along)
        length = np.sqrt(self._along[self._filled])
        off = self._filled[length > self._allowed(self._least[self._filled], self._filled)]
        if len(off):
            self._take_out(off)
            self._gather()

    def _take_out(self, problems: Ints) -> None:
        """Take the filling out of some problems: what is left is a factor of the true rows."""
        for problem in problems.tolist():
            own = int(self.columns[problem])
            directions = self._empty[problem, :own]
            pure = np.empty((own, own + 1))
            pure[:, :own] = self._factor[:own, :own, problem]
            pure[:, :own] -= (pure[:, :own] @ directions) @ directions.T
            pure[:, own] = self._factor[:own, -1, problem]
            self._write(problem, np.linalg.qr(pure).R)
            self._empty[problem] = 0.0
            self._least[problem] = 0.0
            self._along[problem] = 0.0

    def _gather(self) -> None:
        """Have the directions of the filled problems at hand."""
        directions = np.count_nonzero(np.abs(self._empty).sum(axis=1), axis=1)
        self._filled = np.flatnonzero(directions)
        most = int(directions.max(initial=0))
        self._directions = np.ascontiguousarray(self._empty[self._filled, :, :most])

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Everything the future depends on."""
        return {
            "factor": self._factor.copy(),
            "rows": self.rows.copy(),
            "least": self._least.copy(),
            "squares": self._squares.copy(),
            "empty": self._empty.copy(),
            "along": self._along.copy(),
        }

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a snapshot of an object with the same problems."""
        for mine, name in (
            (self._factor, "factor"),
            (self.rows, "rows"),
            (self._least, "least"),
            (self._squares, "squares"),
            (self._empty, "empty"),
            (self._along, "along"),
        ):
            mine[...] = state[name]
        self._gather()
