"""The independence tests by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from causewatch.data.table import TableSource, TimeTable
from causewatch.discovery.features import BlockCorrelation, FeatureMoments, feature_maps, sampled
from causewatch.discovery.independence import BulkTest, OneByOne, PartialCorrelation
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.nonlinear import ConditionalMutualInformation
from causewatch.errors import SettingError, UnknownNameError

__all__ = ["TESTS", "TestName", "bulk_test", "collected", "normal_scores", "prepared_test"]

Floats = NDArray[np.float64]

TestName = Literal["linear", "features", "rank", "knn"]
TESTS: tuple[TestName, ...] = ("linear", "features", "rank", "knn")


def bulk_test(
    name: TestName,
    ticks: TableSource,
    moments: LaggedMoments,
    *,
    alpha: float,
    seed: int = 0,
    max_samples: int | None = None,
) -> BulkTest:
    """An independence test on a recording.

    Parameters
    ----------
    name
        ``linear``: partial correlation. ``features``: partial canonical correlation of a few bent
        functions of each signal; sees most shapes of dependence. ``rank``: partial correlation of
        normal scores (each value replaced by the normal quantile of its rank), robust to outliers
        and monotone distortion. ``knn``: conditional mutual information from nearest neighbours,
        which sees any dependence; slow.
    ticks
        The recording; ``linear`` does not look at it.
    moments
        Its lagged moments, which hold the names of the signals and the maximum lag.
    alpha
        The highest level that p-values are held against.
    seed, max_samples
        For ``knn``: the shuffles, and how many ticks it looks at.
    """
    if name == "linear":
        return PartialCorrelation(moments)
    if name == "features":
        maps = feature_maps(sampled(chunk.values for chunk in ticks.chunks()))
        features = FeatureMoments(moments.signals, max_lag=moments.max_lag, maps=maps)
        for chunk in ticks.chunks():
            if not chunk.continues:
                features.new_stretch()
            for stretch in chunk.stretches():
                if stretch.start > 0:
                    features.new_stretch()
                features.update(chunk.values[stretch])
        return BlockCorrelation(features)
    values, starts = collected(ticks)
    if name == "rank":
        scores = LaggedMoments(moments.signals, max_lag=moments.max_lag)
        scores.update_stretches(normal_scores(values), starts)
        return PartialCorrelation(scores)
    if name == "knn":
        test = ConditionalMutualInformation(
            values,
            max_lag=moments.max_lag,
            starts=starts,
            permutations=max(200, int(np.ceil(2 / alpha))),
            alpha=alpha,
            seed=seed,
            max_samples=max_samples,
        )
        return OneByOne(test, test.windows)
    raise UnknownNameError(str(name), "independence test", TESTS)


def prepared_test(
    values: ArrayLike | LaggedMoments | FeatureMoments,
    name: TestName,
    max_lag: int | None,
    signals: Sequence[str] | None,
    starts: Sequence[int],
    *,
    alpha: float,
) -> tuple[BulkTest, tuple[str, ...]]:
    """The test on ticks × signals, or on moments, and the signals; see `pcmci`."""
    if isinstance(values, LaggedMoments | FeatureMoments):
        if max_lag is not None and max_lag != values.max_lag:
            msg = f"max_lag is {max_lag}, but the moments were taken for {values.max_lag}."
            raise SettingError(msg)
        if signals is not None or tuple(starts) != (0,):
            msg = "Moments have their signals and stretches already; leave signals and starts out."
            raise SettingError(msg)
        own = "linear" if isinstance(values, LaggedMoments) else "features"
        if name not in ("linear", own):
            msg = f"These moments are those of the test {own!r}; leave test out."
            raise SettingError(msg)
        if isinstance(values, LaggedMoments):
            return PartialCorrelation(values), values.signals
        return BlockCorrelation(values), values.signals
    if max_lag is None:
        msg = "max_lag is needed: how many ticks back may a cause lie?"
        raise SettingError(msg)
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2:
        msg = f"values has {rows.ndim} dimension(s); expected ticks × signals."
        raise SettingError(msg)
    names = tuple(f"x{k}" for k in range(rows.shape[1])) if signals is None else tuple(signals)
    begins = np.unique(np.array([0, *starts], dtype=np.intp))
    table = TimeTable(names, rows, np.arange(len(rows)), begins[begins < len(rows)], 1.0)
    moments = LaggedMoments(names, max_lag=max_lag)
    if name == "linear":
        moments.update_stretches(rows, starts)
    return bulk_test(name, table, moments, alpha=alpha), names


def normal_scores(values: Floats) -> Floats:
    """Each value replaced by the normal quantile of its rank among the values of its signal.

    Ties share their mean rank; missing stays missing.
    """
    ranks = stats.rankdata(values, axis=0, nan_policy="omit")
    count = np.isfinite(values).sum(axis=0)
    return np.asarray(special.ndtri((ranks - 0.5) / np.maximum(count, 1)))


def collected(ticks: TableSource) -> tuple[Floats, Sequence[int]]:
    """All ticks in memory, and where stretches begin."""
    values: list[Floats] = []
    starts: list[int] = []
    size = 0
    for chunk in ticks.chunks():
        values.append(chunk.values)
        starts += (chunk.starts + size).tolist()
        size += len(chunk)
    return np.concatenate(values), starts or [0]
