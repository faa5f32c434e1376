"""`LaggedMoments`: all that linear discovery needs to know of a recording, and no row of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.archive import read_archive, write_archive
from causewatch.errors import ModelFileError, SettingError, shorten
from causewatch.kernels import doubled, lagged
from causewatch.kernels.doubled import Doubled

__all__ = ["LaggedMoments"]

Floats = NDArray[np.float64]

LARGEST = 1e150
"""Magnitude above which products of values would overflow."""
MOST_WAITING = 256
"""Ends of stretches that are summed at a time."""
KIND, VERSION = "moments", 1


class LaggedMoments:
    """Sums of lagged products over any number of rows, stretches, files and machines.

    A window is a row with the ``2·max_lag`` rows before it; windows that hold a missing value or
    reach across two stretches are left out. Feeding rows in pieces of any size gives the same
    result as feeding them at once. Merging two objects means *separate stretches*; to cut one
    stretch into pieces for several machines, start each later piece with the ``2·max_lag`` rows
    before it: the pieces then merge to the whole.

    Parameters
    ----------
    signals
        Number of signals, or their names.
    max_lag
        Longest lag, in ticks, that discovery will look at.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(1).normal(size=(100, 3))
    >>> whole = LaggedMoments(3, max_lag=2).update(rows)
    >>> first = LaggedMoments(3, max_lag=2).update(rows[:60])
    >>> second = LaggedMoments(3, max_lag=2).update(rows[60 - 4 :])
    >>> first.merge(second).windows == whole.windows == 96
    True
    """

    def __init__(self, signals: int | Sequence[str], *, max_lag: int) -> None:
        if isinstance(signals, int):
            signals = [f"x{k}" for k in range(signals)]
        if max_lag < 1:
            msg = f"max_lag is {max_lag}; it must be at least 1."
            raise SettingError(msg)
        self.signals: tuple[str, ...] = tuple(signals)
        if not self.signals:
            msg = "There are no signals to take moments of."
            raise SettingError(msg)
        if len(set(self.signals)) < len(self.signals):
            twice = next(name for name in self.signals if self.signals.count(name) > 1)
            msg = f"The signal {twice!r} is named twice; names must differ."
            raise SettingError(msg)
        self.max_lag = max_lag
        self.windows = 0
        width = len(self.signals) + 1  # a constant 1 is carried along, so that sums are products
        self._width = width
        self._shift: Floats | None = None  # set by the first complete row
        self._scale = np.ones(width)
        self._rows: Doubled = _zeros((self.reach + 1, width, width))
        self._ends: Doubled = _zeros((self.reach * width, self.reach * width))
        self._context = np.empty((0, width))  # the last rows of the open stretch
        self._waiting: list[tuple[float, Floats]] = []  # ends of stretches still to be summed
        self._open = False  # whether the open stretch has windows already

    @property
    def reach(self) -> int:
        """How many rows before its own a window reaches back: ``2·max_lag``."""
        return 2 * self.max_lag

    def update(self, rows: ArrayLike) -> LaggedMoments:
        """Take in rows that follow the ones before without a gap.

        Parameters
        ----------
        rows
            Rows × signals, or one row; NaN is missing.

        Returns
        -------
        LaggedMoments
            This object.
        """
        values = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        if values.ndim != 2 or values.shape[1] != len(self.signals):
            msg = (
                f"Rows have shape {values.shape}; expected any number of rows"
                f" × {len(self.signals)} signals."
            )
            raise SettingError(msg)
        complete: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1))
        if np.abs(values[complete]).max(initial=0.0) > LARGEST:
            msg = (
                f"A value is larger than {LARGEST:g}; give the signal another unit or leave it out."
            )
            raise SettingError(msg)
        bounds = np.flatnonzero(np.diff(complete, prepend=False, append=False))
        runs = bounds.reshape(-1, 2)
        # A run can matter only if it holds a window, goes on from the rows before, or reaches
        # the end of what is known so far.
        runs = runs[
            (runs[:, 1] - runs[:, 0] > self.reach) | (runs[:, 0] == 0) | (runs[:, 1] == len(values))
        ]
        for start, stop in runs.tolist():
            if start > 0:
                self.new_stretch()
            self._extend(values[start:stop])
        if len(values) and not complete[-1]:
            self.new_stretch()
        return self

    def update_stretches(self, rows: ArrayLike, starts: Sequence[int] = (0,)) -> LaggedMoments:
        """Take in one or several new stretches, which begin at row numbers `starts`.

        Returns
        -------
        LaggedMoments
            This object.
        """
        values = np.asarray(rows, dtype=np.float64)
        for start, stop in pairwise(sorted({0, *starts, len(values)})):
            self.new_stretch()
            self.update(values[start:stop])
        return self

    def new_stretch(self) -> None:
        """Say that the next row does not follow the last one."""
        if self._open:
            self._note_end(self._context, -1.0)
        self._context = self._context[:0]
        self._open = False

    def merge(self, other: LaggedMoments) -> LaggedMoments:
        """Take in everything `other` has seen, as separate stretches.

        Returns
        -------
        LaggedMoments
            This object; `other` is left as it is.
        """
        if other.signals != self.signals or other.max_lag != self.max_lag:
            msg = (
                f"Moments of {len(other.signals)} signals with max_lag {other.max_lag} cannot be"
                f" merged into moments of {len(self.signals)} signals with max_lag {self.max_lag};"
                " names, order and lag must be the same."
            )
            raise SettingError(msg)
        if other._shift is None:
            return self
        if self._shift is None:
            self._shift, self._scale = other._shift, other._scale
        rows, ends = other._moved_to(self._shift, self._scale)
        self._rows = doubled.add(self._rows, rows)
        self._ends = doubled.add(self._ends, ends)
        self.windows += other.windows
        return self

    def scatter(self) -> tuple[Doubled, NDArray[np.bool_]]:
        """Centred products of all lagged signals, and which of them vary.

        See `causewatch.kernels.lagged.scatter`; index ``lag·N + signal``.
        """
        matrix, scale = self._scatter()
        return matrix, scale > 0

    def covariance(self) -> Floats:
        """Covariances of all lagged signals, in the signals' units; index ``lag·N + signal``."""
        matrix, scale = self._scatter()
        unit = np.where(scale > 0, scale, 1.0) * np.tile(self._scale[:-1], self.reach + 1)
        return np.asarray(matrix[0] / unit[:, None] / unit[None, :] / max(1, self.windows))

    def means(self) -> Floats:
        """Mean of each signal over the windows, ``[lag, signal]``, in the signals' units."""
        ones, ends = self._width - 1, self._all_ends()[0]
        sums = np.empty((self.reach + 1, self._width))
        sums[0] = self._rows[0][0][:, ones]
        for lag in range(self.reach):
            part = slice(lag * self._width, (lag + 1) * self._width)
            sums[lag + 1] = sums[lag] + ends[part, lag * self._width + ones]
        mean = sums[:, :-1] / max(1, self.windows)
        shift = np.zeros(self._width) if self._shift is None else self._shift
        return np.asarray(mean / self._scale[:-1] + shift[:-1])

    @property
    def bytes(self) -> int:
        """Size of the arrays that :meth:`to_arrays` gives."""
        products = (self.reach + 1) * self._width**2 + (self.reach * self._width) ** 2
        return 8 * (2 * products + 2 * self._width + self._context.size)

    def copy(self) -> LaggedMoments:
        """The same moments, to be added to without changing these."""
        content, arrays = self.to_arrays()
        return LaggedMoments.from_arrays(content, {k: one.copy() for k, one in arrays.items()})

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Everything as plain data and arrays, from which :meth:`from_arrays` goes on."""
        self._settle()
        content = {
            "signals": list(self.signals),
            "max_lag": self.max_lag,
            "windows": self.windows,
            "open": self._open,
            "started": self._shift is not None,
        }
        return content, {
            "shift": np.zeros(self._width) if self._shift is None else self._shift,
            "scale": self._scale,
            "rows_high": self._rows[0],
            "rows_low": self._rows[1],
            "ends_high": self._ends[0],
            "ends_low": self._ends[1],
            "context": self._context,
        }

    @classmethod
    def from_arrays(cls, content: Mapping[str, Any], arrays: Mapping[str, Any]) -> LaggedMoments:
        """The opposite of :meth:`to_arrays`; what does not fit together is a `ModelFileError`."""
        try:
            moments = cls([str(name) for name in content["signals"]], max_lag=content["max_lag"])
            width, reach = moments._width, moments.reach
            expected = {
                "shift": (width,),
                "scale": (width,),
                "rows_high": (reach + 1, width, width),
                "rows_low": (reach + 1, width, width),
                "ends_high": (reach * width, reach * width),
                "ends_low": (reach * width, reach * width),
                "context": (len(arrays["context"]), width),
            }
            for name, shape in expected.items():
                if arrays[name].shape != shape or arrays[name].dtype != np.float64:
                    msg = f"The moments file is damaged: array {name} has an unexpected shape."
                    raise ModelFileError(msg)
            moments.windows = int(content["windows"])
            moments._open = bool(content["open"])
            moments._shift = arrays["shift"] if content["started"] else None
        except (SettingError, KeyError, TypeError, ValueError) as error:
            msg = f"The moments file is damaged ({shorten(str(error), 80)})."
            raise ModelFileError(msg) from error
        moments._scale = arrays["scale"]
        moments._rows = (arrays["rows_high"], arrays["rows_low"])
        moments._ends = (arrays["ends_high"], arrays["ends_low"])
        moments._context = arrays["context"]
        return moments

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to a file; they go on as if never interrupted after :meth:`load`."""
        write_archive(path, KIND, VERSION, *self.to_arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LaggedMoments:
        """Read moments written by :meth:`save`."""
        return cls.from_arrays(*read_archive(path, KIND, VERSION))

    def _extend(self, values: Floats) -> None:
        """Take in complete rows that go on with the open stretch."""
        if self._shift is None:
            self._shift, self._scale = _frame(values)
        rows = np.ones((len(values), self._width))
        rows[:, :-1] = (values - self._shift[:-1]) * self._scale[:-1]
        rows = np.concatenate([self._context, rows]) if len(self._context) else rows
        if len(rows) > self.reach:
            if not self._open:
                self._open = True
                self._note_end(rows[: self.reach], 1.0)
            self._rows = doubled.add(self._rows, lagged.row_products(rows, self.reach))
            self.windows += len(rows) - self.reach
        self._context = rows[-self.reach :].copy()

    def _note_end(self, rows: Floats, sign: float) -> None:
        """Remember the first (+1) or last (−1) rows of a stretch, to be summed many at a time."""
        self._waiting.append((sign, rows[::-1].copy()))
        if len(self._waiting) >= MOST_WAITING:
            self._settle()

    def _settle(self) -> None:
        """Sum the ends that wait."""
        if self._waiting:
            signs, ends = zip(*self._waiting, strict=True)
            added = lagged.end_products(np.stack(ends), np.array(signs))
            self._ends = doubled.add(self._ends, added)
            self._waiting = []

    def _all_ends(self) -> Doubled:
        """First rows minus last rows of all stretches, the open one closed where it stands."""
        if not self._open:
            self._settle()
            return self._ends
        waiting, ends = list(self._waiting), self._ends
        self._waiting.append((-1.0, self._context[::-1]))
        self._settle()
        closed, self._ends, self._waiting = self._ends, ends, waiting
        return closed

    def _scatter(self) -> tuple[Doubled, Floats]:
        products = lagged.window_products(self._rows, self._all_ends())
        return lagged.scatter(products, max(1, self.windows), self._width)

    def _moved_to(self, shift: Floats, scale: Floats) -> tuple[Doubled, Doubled]:
        """Row and end products as if they had been taken with another shift and scale."""
        assert self._shift is not None
        ratio = scale / self._scale  # powers of two: exact
        offset = (self._shift - shift) * scale
        offset[-1] = 0.0
        reach = self.reach
        ends = self._all_ends()
        if not offset.any() and np.all(ratio == 1.0):
            return self._rows, ends
        blocks = [
            _move((self._rows[0][d], self._rows[1][d]), ratio, offset) for d in range(reach + 1)
        ]
        rows = (np.stack([b[0] for b in blocks]), np.stack([b[1] for b in blocks]))
        moved = _zeros(ends[0].shape)
        parts = [slice(a, b) for a, b in pairwise(range(0, ends[0].shape[0] + 1, self._width))]
        for one in parts:
            for two in parts:
                block = _move((ends[0][one, two], ends[1][one, two]), ratio, offset)
                moved[0][one, two], moved[1][one, two] = block
        return rows, moved


def _zeros(shape: tuple[int, ...]) -> Doubled:
    return np.zeros(shape), np.zeros(shape)


def _frame(values: Floats) -> tuple[Floats, Floats]:
    """A shift near the centre and a power-of-two scale near the spread, both with the constant 1.

    Nothing is scaled up: a signal that starts out tiny may grow to `LARGEST` without overflow.
    """
    shift = np.append(values.mean(axis=0), 0.0)
    spread = np.abs(values - shift[:-1]).max(axis=0)
    _, exponent = np.frexp(np.maximum(spread, 0.5))
    return shift, np.append(np.ldexp(1.0, -exponent), 1.0)


def _move(block: Doubled, ratio: Floats, offset: Floats) -> Doubled:
    """``Σ (r·x + o)(r·y + o)ᵀ`` from ``Σ x yᵀ``, the last column being the constant 1."""
    high, low = block[0] * ratio[:, None] * ratio, block[1] * ratio[:, None] * ratio
    for axis in (0, 1):
        ones = (np.take(high, [-1], axis), np.take(low, [-1], axis))
        factor = offset[:, None] if axis == 0 else offset[None, :]
        added = doubled.multiply(ones, (factor, np.zeros_like(factor)))
        high, low = doubled.add((high, low), added)
    return high, low
