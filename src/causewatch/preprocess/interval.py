"""How long a tick should be, and how many ticks back causes may lie (ADR 0006).

Causes show in the order of events: what one signal does now goes with what another one does later.
Rows that come too fast hide that in noise and spread it over more lags than can be looked at; ticks
that are too long hold cause and effect in one. In between there is a length to be found.

Each signal is averaged to ticks of a length and freed of what its own past explains (an
autoregression). What is left of two signals is then correlated only at the delays at which one acts
on the other. The sum of squared correlations over all pairs is the *cross-dependence* at a lag. The
tick is the shortest one at which (1) the lags that discovery can look at, 1 to `MOST_LAGS`, hold
nearly all of the cross-dependence at lags up to `WINDOW`, or it is strongest at the first lag and
fades within these lags, and (2) they hold at least `NEARLY` as much as at the best length, so that
it is not drowned in noise. The maximum lag is the longest one with at least a fifth of the
strongest lag's cross-dependence, reached without a pause longer than itself.

The second half of (1) is for rhythms. What a plant does every day comes back at the lags of a day,
half a day, and so on, whatever the tick; no length short enough to see causes covers that. But
where effects follow at the very next tick and are over soon, a longer tick has nothing to gather:
what comes back later is an echo.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from causewatch.kernels.parallel import spread

__all__ = ["IntervalChoice", "choose_interval", "lags_for"]

Floats = NDArray[np.float64]

MOST_LAGS = 8
"""Longest maximum lag chosen by the rule."""
MOST_NODES = 3000
"""Lagged signals, N·(2·max_lag + 1), that discovery is given to work on: half a gigabyte."""
LEAST_LAGS = 2
"""Shortest: second-order dynamics (a level and its rate) need two ticks of the past."""
LEAST_TICKS = 1000
"""Ticks that must be left after averaging, if the recording has as many rows."""
MOST_TICKS = 20_000
"""Ticks looked at; more would not change the answer."""
MOST_PRODUCTS = 200_000_000
"""Ticks × signals² looked at: with many signals, fewer ticks tell as much."""
WINDOW = 32
"""Lags over which cross-dependence is looked for."""
BLOCK = 4096
"""Consecutive rows taken at a time from a longer recording."""
OWN_PAST = 8
"""Lags of a signal's own past that are taken out of it."""
COVERED, MOSTLY_COVERED = 0.9, 0.6
"""Share of the cross-dependence that the lags up to `MOST_LAGS` must hold; where cycles of the
plant spread it over so many lags that no length does, the lesser share must do."""
ECHO = 0.5
"""What comes back at lags beyond `MOST_LAGS` is an echo, not a delay of its own, if it stays below
this share of the cross-dependence at the first lag."""
NEARLY = 0.5
"""Share of the largest cross-dependence that a shorter tick must show to be preferred."""
SHARE = 0.2
"""Share of the strongest lag's cross-dependence that counts as acting."""
CHANCE = 0.01
"""Chance that one of all the correlations at a length is taken for more than noise by mistake."""


@dataclass(frozen=True, slots=True)
class IntervalChoice:
    """Rows per tick, maximum lag in ticks, and the horizon in rows they were chosen for."""

    rows_per_tick: int
    max_lag: int
    horizon: float
    """Within how many rows causes act; 0 if no signal was seen to act on another one."""


def choose_interval(stretches: list[Floats], *, rows: int | None = None) -> IntervalChoice:
    """Choose from a sample of the recording.

    Parameters
    ----------
    stretches
        Rows × signals each, without gaps; NaN is missing.
    rows
        Rows of the whole recording, if the stretches are only a sample of it.
    """
    total = sum(map(len, stretches)) if rows is None else rows
    signals = stretches[0].shape[1] if stretches else 1
    seen: dict[int, Floats] = {}
    whole: set[int] = set()  # lengths of which a stretch holds enough ticks to see the window
    for length in _lengths(total):
        ticks = _averaged(stretches, length)
        strength = _cross_dependence(ticks)
        if strength is None:
            break
        seen[length] = strength
        if max(map(len, ticks)) >= OWN_PAST + 2 * WINDOW:
            whole.add(length)
    lags = slice(1, MOST_LAGS + 1)
    directed = {length: float(strength[lags].sum()) for length, strength in seen.items()}
    largest = max(directed.values(), default=0.0)
    if largest == 0.0:
        # Nothing acts later than within one row, or nothing acts at all.
        within = any(strength[0] > 0.0 for strength in seen.values())
        return IntervalChoice(1, LEAST_LAGS, 1.0 if within else 0.0)
    share = {
        length: directed[length] / max(float(seen[length][1:].sum()), 1e-300) for length in whole
    }
    fitting = [
        length
        for length in whole
        if directed[length] >= NEARLY * largest
        and (share[length] >= COVERED or _fades(seen[length]))
    ]
    if not fitting:
        mostly = [length for length in whole if share[length] >= MOSTLY_COVERED]
        largest = max((directed[length] for length in mostly), default=0.0)
        fitting = [length for length in mostly if directed[length] >= NEARLY * largest]
    per_tick = min(fitting, default=max(directed, key=lambda length: directed[length]))
    reach = _reach(seen[per_tick][: MOST_LAGS + 1])
    max_lag = lags_for(reach, signals)
    return IntervalChoice(rows_per_tick=per_tick, max_lag=max_lag, horizon=float(reach * per_tick))


def lags_for(horizon: float, signals: int) -> int:
    """Maximum lag that covers a horizon given in ticks, as far as that is affordable."""
    affordable = max(LEAST_LAGS, min(MOST_LAGS, (MOST_NODES // signals - 1) // 2))
    return int(np.clip(np.ceil(horizon), LEAST_LAGS, affordable))


def _lengths(total: int) -> Iterator[int]:
    """Lengths of a tick to try, in rows: 1, 2, 3, 5, 10, 20, 30, 50, … that leave enough ticks."""
    size = 1
    while True:
        for length in (size, 2 * size, 3 * size, 5 * size):
            if length > max(1, total // LEAST_TICKS):
                return
            yield length
        size *= 10


def _averaged(stretches: list[Floats], length: int) -> list[Floats]:
    """Ticks of `length` rows, as many as are looked at, in stretches long enough to be used."""
    blocks = stretches
    signals = stretches[0].shape[1] if stretches else 1
    most = min(MOST_TICKS, max(LEAST_TICKS, MOST_PRODUCTS // signals**2))
    many = sum(map(len, stretches)) // (most * length)
    if many > 0:
        cut = [part[k : k + BLOCK] for part in stretches for k in range(0, len(part), BLOCK)]
        blocks = cut[:: many + 1]
    ticks = []
    for part in blocks:
        count = len(part) // length
        if count > 4 * OWN_PAST:
            cells = part[: count * length].reshape(count, length, part.shape[1])
            ticks.append(cells[:, 0] if length == 1 else cells.mean(axis=1))
    return ticks


def _cross_dependence(stretches: list[Floats]) -> Floats | None:
    """Sum of squared correlations between different signals, by lag from 0 on; None: too little."""
    left = [_without_own_past(ticks) for ticks in stretches]
    count = sum(map(len, left))
    if count <= 2 * WINDOW:
        return None
    signals = stretches[0].shape[1]
    comparisons = max(1, signals * (signals - 1) * (WINDOW + 1))
    noise = float(special.ndtri(CHANCE / (2 * comparisons))) ** 2 / count

    def at(lag: int) -> float:
        products = np.zeros((signals, signals))
        for ticks in left:
            products += ticks[: max(0, len(ticks) - lag)].T @ ticks[lag:]
        strength = np.square(products / count)
        np.fill_diagonal(strength, 0.0)
        return float((strength[strength > noise] - 1.0 / count).sum())

    return np.array(list(spread(at, range(WINDOW + 1))))


def _fades(strength: Floats) -> bool:
    """Whether effects come at the next tick and are soon over, but for echoes."""
    first = float(strength[1])
    return bool(
        first > 0.0
        and first >= strength[1:].max()
        and strength[MOST_LAGS] <= SHARE * first
        and strength[MOST_LAGS + 1 :].max() <= ECHO * first
    )


def _reach(strength: Floats) -> int:
    """The longest lag at which signals act on each other."""
    acting = np.flatnonzero(strength[1:] >= SHARE * strength[1:].max()) + 1
    reached = int(acting[0])
    for lag in acting[1:].tolist():
        if lag - reached > max(2, reached):
            break
        reached = lag
    return reached


def _without_own_past(rows: Floats) -> Floats:
    """What is left of each signal after regression on its own past, with unit variance."""
    present = np.isfinite(rows)
    count = np.maximum(1, present.sum(axis=0))
    mean = np.sum(rows, axis=0, where=present) / count
    rows = np.where(present, rows - mean, 0.0)
    out = np.zeros((len(rows) - OWN_PAST, rows.shape[1]))
    for k, column in enumerate(rows.T):
        past = np.column_stack(
            [column[OWN_PAST - p : len(column) - p] for p in range(1, OWN_PAST + 1)]
        )
        now = column[OWN_PAST:]
        weights = np.linalg.lstsq(past, now, rcond=1e-10)[0]
        left = now - past @ weights
        size = left.std()
        if size > 1e-9 * max(column.std(), np.finfo(float).tiny):
            out[:, k] = np.clip(left / size, -8.0, 8.0)
    return out
