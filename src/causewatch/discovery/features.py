"""An independence test that sees bent dependence as fast as the linear one sees straight lines.

Each signal is represented by a few fixed *features*: its value, and its rank with the square and
the cube of it, or, for a signal with few values, one for each of them but one. Whether x acts on y
is tested by all features of x against the *value* of y, given all features of the conditions:
partial canonical correlation, with Wilks' Λ. So y may be any sum of bent functions of its causes.
All of it comes from the lagged moments of the features, which are sums: they can be updated, merged
and stored, and no row is needed again.

Two other forms were tried. Hermite polynomials of normal scores are unbounded, and so few extreme
ticks decide: independent signals were linked three to thirty times as often as they should be.
All features of y as well as of x: the square of a sum of causes holds their products, which no
features of single conditions explain; in long recordings of linear systems fifty times as many
links as the level allows were false.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.archive import read_archive, write_archive
from causewatch.discovery.moments import LaggedMoments
from causewatch.errors import ModelFileError, NotEnoughDataError, SettingError, shorten
from causewatch.kernels import blocks

__all__ = ["BlockCorrelation", "FeatureMap", "FeatureMoments", "feature_maps", "sampled"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
NONE = np.empty(0, dtype=np.intp)

MOST_STATES = 6
"""A signal with at most so many values is represented by its values."""
FEWEST_TICKS = 10
"""A value that was seen less often has no feature of its own."""
MOST_KNOTS = 513
"""Values of a signal at which its features are stored."""
MOST_SAMPLED = 1 << 16
"""Rows from which feature maps are made; of longer recordings, evenly spaced ones."""
NO_VARIANCE = 1e-6
"""A feature of which the ones before it leave no more than this share is left out."""
KIND, VERSION = "feature moments", 1
WIDEST = 3.0
"""A value is cut at so many interquartile ranges from the median."""
LINEAR_ALPHA = 0.01
"""A value is negative where the straight part of a dependence is, at this level."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """The features of one signal as functions of its value.

    Attributes
    ----------
    knots
        Values, growing.
    table
        Knots × features: straight lines in between, constant beyond. On the data that the map was
        made from, features have mean 0, variance 1 and are uncorrelated. The first one is the
        value, cut where it is far from all others, or grows with it.
    """

    knots: Floats
    table: Floats

    def __call__(self, values: Floats) -> Floats:
        """Values × features; missing stays missing."""
        columns = [np.interp(values, self.knots, column) for column in self.table.T]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))


def feature_maps(rows: ArrayLike) -> list[FeatureMap]:
    """The feature map of each column.

    Parameters
    ----------
    rows
        Rows × signals; NaN is missing. What is not seen here gets the features of the nearest
        values that are.
    """
    values = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2:
        msg = f"Rows have {values.ndim} dimension(s); expected rows × signals."
        raise SettingError(msg)
    return [_feature_map(column[np.isfinite(column)]) for column in values.T]


def _feature_map(values: Floats) -> FeatureMap:
    knots, counts = np.unique(values, return_counts=True)
    if len(knots) < 2:
        return FeatureMap(knots, np.empty((len(knots), 0)))
    # Ties share their mean rank.
    rank = 2.0 * (np.cumsum(counts) - counts / 2.0) / len(values) - 1.0
    if len(knots) <= MOST_STATES:
        states = np.eye(len(knots))[:, counts >= FEWEST_TICKS]
        return FeatureMap(knots, _orthonormal(np.column_stack([rank, states]), counts))
    table = _orthonormal(np.column_stack([_cut(knots, counts), rank, rank**2, rank**3]), counts)
    if len(knots) > MOST_KNOTS:
        wanted = np.linspace(rank[0], rank[-1], MOST_KNOTS)
        kept = np.unique(np.searchsorted(rank, wanted).clip(0, len(knots) - 1))
        knots, table = knots[kept], table[kept]
    return FeatureMap(knots, table)


def _cut(knots: Floats, counts: NDArray[np.integer]) -> Floats:
    """Values, cut where they are far from all others: no few of them shall decide."""
    reached = np.cumsum(counts) / counts.sum()
    low, middle, high = (knots[np.searchsorted(reached, q)] for q in (0.25, 0.5, 0.75))
    reach = WIDEST * (high - low)
    return np.clip(knots, middle - reach, middle + reach) if reach > 0 else knots


def _orthonormal(table: Floats, counts: NDArray[np.integer]) -> Floats:
    """Columns without their mean and without what the ones before them say, of variance 1."""
    weights = counts / counts.sum()
    columns: list[Floats] = []
    for column in table.T:
        centred = column - weights @ column
        size = weights @ centred**2
        for before in columns:
            centred = centred - (weights @ (centred * before)) * before
        centred = centred - weights @ centred
        left = weights @ centred**2
        if left > NO_VARIANCE * size:
            columns.append(centred / np.sqrt(left))
    return np.column_stack(columns) if columns else np.empty((len(table), 0))


class FeatureMoments:
    """Lagged moments of the features of signals: all that the test needs of a recording.

    Parameters
    ----------
    signals
        Number of signals, or their names.
    max_lag
        Longest lag, in ticks.
    maps
        The features of each signal. Moments merge if they have the same maps.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(1).normal(size=(200, 2))
    >>> maps = feature_maps(rows)
    >>> FeatureMoments(2, max_lag=1, maps=maps).update(rows).windows
    198
    """

    def __init__(
        self, signals: int | Sequence[str], *, max_lag: int, maps: Sequence[FeatureMap]
    ) -> None:
        names = [f"x{k}" for k in range(signals)] if isinstance(signals, int) else signals
        self.signals: tuple[str, ...] = tuple(names)
        self.maps = tuple(maps)
        if len(self.maps) != len(self.signals):
            msg = f"There are {len(self.maps)} feature maps for {len(self.signals)} signals."
            raise SettingError(msg)
        self.max_lag = max_lag
        self.sizes = np.array([feature.table.shape[1] for feature in self.maps], dtype=np.intp)
        # A constant has no feature; the one added keeps a row's gaps, and never varies.
        columns = [f"{k}.{number}" for k, size in enumerate(self.sizes) for number in range(size)]
        self.moments = LaggedMoments([*columns, "gap"], max_lag=max_lag)

    @property
    def windows(self) -> int:
        """Number of samples."""
        return self.moments.windows

    def update(self, rows: ArrayLike) -> FeatureMoments:
        """Take in rows that follow the ones before without a gap; see `LaggedMoments.update`."""
        self.moments.update(self._features(rows))
        return self

    def update_stretches(self, rows: ArrayLike, starts: Sequence[int] = (0,)) -> FeatureMoments:
        """Take in new stretches; see `LaggedMoments.update_stretches`."""
        self.moments.update_stretches(self._features(rows), starts)
        return self

    def new_stretch(self) -> None:
        """Say that the next row does not follow the last one."""
        self.moments.new_stretch()

    def merge(self, other: FeatureMoments) -> FeatureMoments:
        """Take in everything `other` has seen, as separate stretches."""
        same = self.signals == other.signals and all(
            np.array_equal(mine.knots, theirs.knots) and np.array_equal(mine.table, theirs.table)
            for mine, theirs in zip(self.maps, other.maps, strict=True)
        )
        if not same:
            msg = "Moments of other features cannot be merged; signals and maps must be the same."
            raise SettingError(msg)
        self.moments.merge(other.moments)
        return self

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Everything as plain data and arrays, from which :meth:`from_arrays` goes on."""
        content, arrays = self.moments.to_arrays()
        for k, feature in enumerate(self.maps):
            arrays |= {f"knots_{k}": feature.knots, f"table_{k}": feature.table}
        return {"signals": list(self.signals), "moments": content}, arrays

    @classmethod
    def from_arrays(cls, content: Mapping[str, Any], arrays: Mapping[str, Any]) -> FeatureMoments:
        """The opposite of :meth:`to_arrays`; what does not fit together is a `ModelFileError`."""
        try:
            moments = LaggedMoments.from_arrays(content["moments"], arrays)
            signals = [str(name) for name in content["signals"]]
            maps = [
                FeatureMap(arrays[f"knots_{k}"], arrays[f"table_{k}"]) for k in range(len(signals))
            ]
            whole = cls(signals, max_lag=moments.max_lag, maps=maps)
        except (SettingError, KeyError, IndexError, TypeError, ValueError) as error:
            msg = f"The moments file is damaged ({shorten(str(error), 80)})."
            raise ModelFileError(msg) from error
        if whole.moments.signals != moments.signals:
            msg = "The moments file is damaged: its features are not those of its signals."
            raise ModelFileError(msg)
        whole.moments = moments
        return whole

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to a file; they go on as if never interrupted after :meth:`load`."""
        write_archive(path, KIND, VERSION, *self.to_arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FeatureMoments:
        """Read moments written by :meth:`save`."""
        return cls.from_arrays(*read_archive(path, KIND, VERSION))

    def _features(self, rows: ArrayLike) -> Floats:
        values = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        if values.ndim != 2 or values.shape[1] != len(self.signals):
            msg = (
                f"Rows have shape {values.shape}; expected any number of rows"
                f" × {len(self.signals)} signals."
            )
            raise SettingError(msg)
        columns = [feature(values[:, k]) for k, feature in enumerate(self.maps)]
        gap = np.where(np.isfinite(values).all(axis=1), 0.0, np.nan)
        return np.column_stack([*columns, gap])


class BlockCorrelation:
    """The test of a cause by all its features at once: partial canonical correlation.

    Parameters
    ----------
    moments
        Of the features.

    Notes
    -----
    All features of x stand against the first one of y; against all of them where y has few values.
    A cause that changes only how noisy y is is not seen. The value is ``√(1 − Λ)``: the size of
    the partial correlation that would hold as much information. It is negative where the partial
    correlation of the first features is so, significantly. The p-value is that of Rao's F
    approximation; with one feature for each signal it is Student's t, and the value the partial
    correlation.
    """

    def __init__(self, moments: FeatureMoments) -> None:
        self.signals = number = len(moments.signals)
        self.max_lag = moments.max_lag
        self.windows = moments.windows
        if self.windows < 3:
            msg = (
                f"Only {self.windows} windows of {2 * moments.max_lag + 1} ticks without a gap or"
                " missing value are left; give a longer recording or a shorter --max-lag."
            )
            raise NotEnoughDataError(msg)
        (matrix, _), varies = moments.moments.scatter()
        self._matrix = matrix
        self._width = width = max(1, int(moments.sizes.max(initial=0)))
        columns = len(moments.moments.signals)
        first = np.cumsum(moments.sizes) - moments.sizes
        feature = np.arange(width)
        block = np.where(feature < moments.sizes[:, None], first[:, None] + feature, -1)
        lags = np.arange(2 * self.max_lag + 1)[:, None, None] * columns
        nodes = np.where(block >= 0, lags + block, -1).reshape(-1, width)
        nodes[(nodes >= 0) & ~varies[nodes]] = -1
        # The last block is that of no node.
        self._columns = np.vstack([nodes, np.full((1, width), -1)])
        self._sizes = (self._columns >= 0).sum(axis=1)
        # Of an effect the first feature is looked at, or all of them if it has few values.
        seen = np.array([width if len(k.knots) <= MOST_STATES else 1 for k in moments.maps])
        seen = np.append(np.tile(seen, 2 * self.max_lag + 1), 0)
        self._effects = np.where(feature < seen[:, None], self._columns, -1)
        self._effect_sizes = (self._effects >= 0).sum(axis=1)
        assert len(nodes) == number * (2 * self.max_lag + 1)

    def test(
        self, x: tuple[int, int], y: tuple[int, int], z: Sequence[tuple[int, int]]
    ) -> tuple[float, float]:
        """See `IndependenceTest`."""
        row = [lag * self.signals + signal for signal, lag in [*z, x, y]]
        values, p_values = self.given_sets(NONE, np.array([row], dtype=np.intp))
        return float(values[0]), float(p_values[0])

    def given_others(
        self, target: int, ordered: Ints, depth: int, alpha: float
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """See `BulkTest`."""
        values, p_values = np.zeros(len(ordered)), np.ones(len(ordered))
        if depth:  # each of the first ones is given the others of them and the next
            first = ordered[: depth + 1]
            others = np.array([np.delete(first, k) for k in range(depth)])
            sets = np.column_stack([others, first[:-1], np.full(depth, target)])
            values[:depth], p_values[:depth] = self.given_sets(NONE, sets)
        rest = np.column_stack([ordered[depth:], np.full(len(ordered) - depth, target)])
        values[depth:], p_values[depth:] = self.given_sets(ordered[:depth], rest)
        return values, p_values <= alpha

    def given_sets(self, shared: Ints, sets: Ints) -> tuple[Floats, Floats]:
        """See `BulkTest`."""
        common = self._columns[shared].ravel()
        columns = np.concatenate(
            [
                self._columns[sets[:, :-2]].reshape(len(sets), -1),
                self._columns[sets[:, -2]],
                self._effects[sets[:, -1]],
            ],
            axis=1,
        )
        logarithms, linear = blocks.log_wilks(
            self._matrix, common[common >= 0], columns, self._width
        )
        x, y = self._sizes[sets[:, -2]], self._effect_sizes[sets[:, -1]]
        given = self._sizes[shared].sum() + self._sizes[sets[:, :-2]].sum(axis=1)
        freedom = self.windows - 1 - given
        p_values = blocks.wilks_p_values(logarithms, x, y, freedom)
        values = np.where((x > 0) & (y > 0), np.sqrt(-np.expm1(logarithms)), 0.0)
        single = np.ones_like(x)
        with np.errstate(divide="ignore"):  # a correlation of 1 leaves nothing
            left = np.log1p(-(linear**2))
        straight = blocks.wilks_p_values(left, single, single, freedom)
        negative = (linear < 0) & (straight <= LINEAR_ALPHA)
        return np.where(negative, -values, values), p_values


def sampled(chunks: Iterable[Floats]) -> Floats:
    """At most about `MOST_SAMPLED` evenly spaced rows of a recording that is read in pieces."""
    rows: list[Floats] = []
    step, offset, held = 1, 0, 0
    for chunk in chunks:
        piece = chunk[(-offset) % step :: step]
        offset += len(chunk)
        rows.append(piece)
        held += len(piece)
        if held > 2 * MOST_SAMPLED:
            whole = np.concatenate(rows)[::2]
            rows, held, step = [whole], len(whole), 2 * step
    return np.concatenate(rows) if rows else np.empty((0, 0))
