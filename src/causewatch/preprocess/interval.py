"""How long a tick should be, and how many ticks back causes may lie (ADR 0006).

The question is how long causes take to act. Each signal is freed of what its own past explains
(an autoregression); what is left of one signal then correlates with what is left of another
only at the delays at which one acts on the other. The *horizon* is the longest delay with at
least a fifth of the cross-dependence of the strongest one, reached without a pause longer than
itself (so that a daily rhythm, which comes back after 24 hours, is not taken for a delay).
`MOST_LAGS` ticks have to cover the horizon; ticks are made no longer than that needs, because
averaging for longer blurs the order of events, from which the direction of a link is read.

Delays may span orders of magnitude, so the search runs over rows averaged by 1, 4, 16, … and takes
the first scale at which the horizon lies well inside the window of lags looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

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
MOST_ROWS = 20_000
"""Rows looked at; more would not change the answer."""
BLOCK = 4096
"""Consecutive rows taken at a time from a longer recording."""
WINDOW = 32
"""Lags looked at on each scale."""
OWN_PAST = 8
"""Lags of a signal's own past that are taken out of it."""
SHARE = 0.2
"""Share of the strongest delay's cross-dependence that counts as acting."""
FACTOR = 4
"""Ratio of one scale to the next."""
CHANCE = 0.01
"""Chance that one of all the correlations on a scale is taken for more than noise by mistake."""


@dataclass(frozen=True, slots=True)
class IntervalChoice:
    """Rows per tick, maximum lag in ticks, and the horizon in rows they were chosen for."""

    rows_per_tick: int
    max_lag: int
    horizon: float
    """0 if no signal was seen to act on another one."""


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
    looked_at = _thinned(stretches)
    horizon = 0.0
    scale = 1
    while True:
        averaged = [_averaged(part, scale) for part in looked_at]
        found = _horizon([part for part in averaged if len(part) > 4 * OWN_PAST])
        if found is not None:
            horizon = max(horizon, found * scale)
        settled = found is not None and found <= WINDOW / 2
        if settled or total / (scale * FACTOR) < LEAST_TICKS:
            break
        scale *= FACTOR
    signals = stretches[0].shape[1] if stretches else 1
    per_tick = _round(horizon / _affordable(signals), most=total // LEAST_TICKS)
    max_lag = lags_for(horizon / per_tick, signals)
    return IntervalChoice(rows_per_tick=per_tick, max_lag=max_lag, horizon=horizon)


def lags_for(horizon: float, signals: int) -> int:
    """Maximum lag that covers a horizon given in ticks, as far as that is affordable."""
    return int(np.clip(np.ceil(horizon), LEAST_LAGS, _affordable(signals)))


def _affordable(signals: int) -> int:
    return max(LEAST_LAGS, min(MOST_LAGS, (MOST_NODES // signals - 1) // 2))


def _thinned(stretches: list[Floats]) -> list[Floats]:
    """Blocks of rows, spread evenly, that hold about `MOST_ROWS` rows."""
    total = sum(map(len, stretches))
    if total <= MOST_ROWS:
        return stretches
    blocks = [
        rows[start : start + BLOCK] for rows in stretches for start in range(0, len(rows), BLOCK)
    ]
    return blocks[:: -(-total // MOST_ROWS)]


def _averaged(rows: Floats, scale: int) -> Floats:
    whole = len(rows) // scale * scale
    if scale == 1:
        return rows
    return np.asarray(rows[:whole].reshape(-1, scale, rows.shape[1]).mean(axis=1))


def _horizon(stretches: list[Floats]) -> float | None:
    """The horizon on this scale, in its own rows; None if no signal acts on another one."""
    whitened = [_without_own_past(rows) for rows in stretches]
    count = sum(len(rows) for rows in whitened)
    if count <= 2 * WINDOW:
        return None

    signals = stretches[0].shape[1]
    comparisons = max(1, signals * (signals - 1) * (WINDOW + 1))
    noise = float(stats.norm.isf(CHANCE / (2 * comparisons))) ** 2 / count

    def cross_dependence(lag: int) -> float:
        products = np.zeros((signals, signals))
        for rows in whitened:
            products += rows[: len(rows) - lag].T @ rows[lag:]
        strength = np.square(products / count)
        np.fill_diagonal(strength, 0.0)
        return float(strength[strength > noise].sum())

    energy = np.array(list(spread(cross_dependence, range(WINDOW + 1))))
    acting = np.flatnonzero(energy[1:] >= SHARE * energy[1:].max()) + 1
    if energy.max() == 0.0:
        return None
    if energy[1:].max() == 0.0:
        return 1.0  # all within one row: nothing to be gained by longer ticks
    reached = int(acting[0])
    for lag in acting[1:].tolist():
        if lag - reached > max(2, reached):
            break
        reached = lag
    return float(reached)


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
        spread = left.std()
        if spread > 1e-9 * max(column.std(), np.finfo(float).tiny):
            out[:, k] = np.clip(left / spread, -8.0, 8.0)
    return out


def _round(rows: float, most: int) -> int:
    """The least of 1, 2, 3, 5, 10, 20, 30, 50, … not below `rows`, or the largest up to `most`."""
    chosen, size = 1, 1
    while True:
        for number in (size, 2 * size, 3 * size, 5 * size):
            if number > most or chosen >= rows:
                return chosen
            chosen = number
        size *= 10
