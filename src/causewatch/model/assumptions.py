"""Whether what a model assumes holds on the data it was learned from.

The learned model is linear, reaches a limited number of ticks into the past and knows no effect
faster than a tick. What it leaves unexplained, the residuals, should then be noise: without
memory, unrelated between signals, unrelated to the parents. A finding needs both significance,
shared among all comparisons, and an effect large enough to matter. Residuals are clipped at five
robust standard deviations first, so that a few wild ticks do not decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from causewatch.data.spans import format_duration, format_tick
from causewatch.data.table import Clock
from causewatch.errors import listing, plural
from causewatch.preprocess.findings import Finding, number, percent

__all__ = ["nonlinearity_findings", "residual_findings"]

ALPHA = 0.001
"""Chance of one false finding of a kind per model."""

LAGS = 10
"""Ticks over which leftover memory is looked for."""

MEMORY = 0.2
"""Smallest autocorrelation worth reporting."""

SHARED = 0.3
"""Smallest correlation between two signals' residuals worth reporting."""

CURVED = 0.05
"""Smallest share of a residual's variance, explained by a bent term, worth reporting."""

WILD = 5.0
"""Robust standard deviations beyond which a residual is clipped and counted as wild."""

WILD_SHARE = 0.001
"""Share of wild residuals worth reporting; with normal noise it would be one in two million."""

FEWEST = 50
"""Ticks below which nothing is said."""

Floats = NDArray[np.float64]


def residual_findings(
    signals: Sequence[str],
    residuals: Floats,
    starts: ArrayLike,
    every: float,
    interval: float,
    clock: Clock | None = None,
) -> list[Finding]:
    """What the residuals say about lags, working interval and noise.

    Parameters
    ----------
    signals
        Column names.
    residuals
        Ticks × signals; NaN where there is none.
    starts
        Row numbers at which a stretch begins; memory is not looked for across them.
    every, interval
        Length of a tick, and usual time between two rows, in seconds.
    clock
        What times count.
    """
    calm, wild = _calmed(np.asarray(residuals, dtype=float))
    return [
        *_memory(signals, calm, _stretch_numbers(len(calm), starts), every, clock),
        *_shared(signals, calm, every, interval, clock),
        *_tails(signals, wild),
    ]


def nonlinearity_findings(
    signals: Sequence[str],
    residuals: Floats,
    parents: Mapping[str, list[tuple[str, Floats]]],
) -> list[Finding]:
    """Whether a bent relation to a parent explains what the straight one left over.

    Parameters
    ----------
    signals
        Column names.
    residuals
        Ticks × signals; NaN where there is none.
    parents
        For each signal its parents: name and value at each tick (already at the parent's lag).

    Notes
    -----
    For each parent the residual is regressed on a straight line, and on a straight line with a
    square and a kink at the parent's median; the partial F test of the two extra terms decides.
    """
    calm, _ = _calmed(np.asarray(residuals, dtype=float))
    place = {name: k for k, name in enumerate(signals)}
    tests = max(sum(len(causes) for causes in parents.values()), 1)
    bends = []
    for target, causes in parents.items():
        for source, values in causes:
            gain, p_value = _bend(calm[:, place[target]], np.asarray(values, dtype=float))
            if gain > CURVED and p_value < ALPHA / tests:
                bends.append((gain, source, target))
    if not bends:
        return []
    bends.sort(reverse=True)
    gain, source, target = bends[0]
    others = [f"{s} → {t} ({percent(g)})" for g, s, t in bends[1:]]
    return [
        Finding(
            kind="nonlinear",
            severity="warning",
            text=f"{target} does not follow {source} in a straight line: a bent relation explains "
            f"{percent(gain)} of what the model leaves over"
            + (f"; likewise {listing(others, most=4)}." if others else "."),
            meaning="The strength of such a link is an average over its range, and a test of "
            "linear partial correlation may miss other links of this kind.",
            remedy="Learn again with --test features, and compare the links.",
            signals=tuple(dict.fromkeys(name for _, s, t in bends for name in (t, s))),
        )
    ]


def _memory(
    signals: Sequence[str],
    calm: Floats,
    stretch: NDArray[np.intp],
    interval: float,
    clock: Clock | None,
) -> list[Finding]:
    lasting = []
    for k, name in enumerate(signals):
        lag, value, p_value = _autocorrelation(calm[:, k], stretch)
        if abs(value) > MEMORY and p_value < ALPHA / len(signals):
            lasting.append((abs(value), value, lag, name))
    if not lasting:
        return []
    lasting.sort(reverse=True)
    _, value, lag, name = lasting[0]
    others = [f"{other} ({v:.2f})" for _, v, _, other in lasting[1:]]
    earlier = format_duration(lag * interval, clock)
    return [
        Finding(
            kind="residual_memory",
            severity="warning",
            text=f"What the model leaves over of {name} still depends on itself "
            f"{plural(lag, 'tick')} ({earlier}) earlier, with correlation "
            f"{value:.2f}" + (f"; likewise {listing(others, most=5)}." if others else "."),
            meaning="The mechanism remembers more than the lags allow; links may be too weak, "
            "and the p-values of links too small.",
            remedy="Learn again with a larger --max-lag, or with a longer --every.",
            signals=tuple(name for *_, name in lasting),
        )
    ]


def _shared(
    signals: Sequence[str], calm: Floats, every: float, interval: float, clock: Clock | None
) -> list[Finding]:
    there = np.isfinite(calm)
    x = np.where(there, calm, 0.0)
    mask = there.astype(float)
    n = mask.T @ mask
    square = (x * x).T @ mask
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.nan_to_num((x.T @ x) / np.sqrt(square * square.T))
    r = np.clip(r, -1, 1)
    pairs = [
        (abs(float(r[i, j])), float(r[i, j]), signals[i], signals[j])
        for i, j in combinations(range(len(signals)), 2)
        if abs(r[i, j]) > SHARED
        and n[i, j] >= FEWEST
        and _correlation_p(float(r[i, j]), float(n[i, j])) < ALPHA / len(signals) ** 2
    ]
    if not pairs:
        return []
    pairs.sort(reverse=True)
    _, value, first, second = pairs[0]
    others = [f"{a} and {b} ({v:.2f})" for _, v, a, b in pairs[1:]]
    return [
        Finding(
            kind="residual_shared",
            severity="warning",
            text=f"What the model leaves over of {first} and {second} moves together within one "
            f"tick of {format_tick(every, interval, clock)}, with correlation {value:.2f}"
            + (f"; likewise {listing(others, most=4)}." if others else "."),
            meaning="One acts on the other faster than a tick, or something unrecorded acts on "
            "both; such links are not in the graph.",
            remedy=f"Learn again with --every shorter than {format_duration(every, clock)} if the "
            "recording allows.",
            signals=tuple(dict.fromkeys(name for _, _, a, b in pairs for name in (a, b))),
        )
    ]


def _tails(signals: Sequence[str], wild: Floats) -> list[Finding]:
    heavy = sorted(
        ((float(share), name) for share, name in zip(wild, signals, strict=True)), reverse=True
    )
    heavy = [(share, name) for share, name in heavy if share > WILD_SHARE]
    if not heavy:
        return []
    shown = [f"{name} ({percent(share)})" for share, name in heavy]
    return [
        Finding(
            kind="residual_tails",
            severity="info",
            text=f"Ticks more than {number(WILD)} standard deviations away from what the model "
            f"expects are frequent in {listing(shown, most=5)}.",
            meaning="The noise is not normal, or rare events belong to normal operation; limits "
            "are taken from the data and allow for it.",
            signals=tuple(name for _, name in heavy),
        )
    ]


def _calmed(residuals: Floats) -> tuple[Floats, Floats]:
    """Residuals centred, scaled and clipped; and the share that had to be clipped, by signal."""
    calm = np.full(residuals.shape, np.nan)
    wild = np.zeros(residuals.shape[1])
    for k in range(residuals.shape[1]):
        there = np.isfinite(residuals[:, k])
        x = residuals[there, k]
        if len(x) < FEWEST:
            continue
        low, middle, high = np.quantile(x, [0.1, 0.5, 0.9])
        scale = max(float(np.median(np.abs(x - middle))) * 1.4826, float(high - low) / 2.563)
        if not 0 < scale < np.inf:
            continue
        z = (x - middle) / scale
        wild[k] = np.mean(np.abs(z) > WILD)
        z = np.clip(z, -WILD, WILD)
        calm[there, k] = z - z.mean()
    return calm, wild


def _stretch_numbers(rows: int, starts: ArrayLike) -> NDArray[np.intp]:
    return np.searchsorted(np.unique(np.asarray(starts, dtype=np.intp)), np.arange(rows), "right")


def _autocorrelation(x: Floats, stretch: NDArray[np.intp]) -> tuple[int, float, float]:
    """Lag and value of the largest autocorrelation, and the p-value of all of them together."""
    there = np.isfinite(x)
    if np.count_nonzero(there) < FEWEST:
        return 1, 0.0, 1.0
    power = float(np.mean(x[there] ** 2))
    values, statistic = [], 0.0
    for lag in range(1, min(LAGS, len(x) - 1) + 1):
        product = (x[lag:] * x[:-lag])[stretch[lag:] == stretch[:-lag]]
        product = product[np.isfinite(product)]
        r = float(product.mean()) / power if len(product) >= FEWEST else 0.0
        values.append(r)
        statistic += len(product) * r * r
    lag = int(np.argmax(np.abs(values)))
    return lag + 1, values[lag], float(stats.chi2.sf(statistic, len(values)))


def _correlation_p(r: float, n: float) -> float:
    return float(2 * stats.norm.sf(abs(np.arctanh(min(abs(r), 1 - 1e-12))) * np.sqrt(n - 3)))


def _bend(residual: Floats, parent: Floats) -> tuple[float, float]:
    """Share of the residual's variance that a square and a kink explain, and its p-value."""
    there = np.isfinite(residual) & np.isfinite(parent)
    y, x = residual[there], parent[there]
    n = len(y)
    if n < FEWEST:
        return 0.0, 1.0
    low, middle, high = np.quantile(x, [0.01, 0.5, 0.99])
    spread = high - low
    if not 0 < spread < np.inf:
        return 0.0, 1.0
    x = (np.clip(x, low, high) - middle) / spread
    straight = np.column_stack([np.ones(n), x])
    bent = np.column_stack([straight, x**2, np.maximum(x, 0)])
    before, _ = _left_over(straight, y)
    after, rank = _left_over(bent, y)
    extra = rank - 2
    if extra <= 0 or before <= 0 or n <= rank:
        return 0.0, 1.0
    gain = (before - after) / before
    ratio = (before - after) / extra / max(after / (n - rank), 1e-300)
    return float(gain), float(stats.f.sf(ratio, extra, n - rank))


def _left_over(design: Floats, y: Floats) -> tuple[float, int]:
    solution, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    return float(np.sum((y - design @ solution) ** 2)), int(rank)
