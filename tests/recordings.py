"""Small recordings for tests: ordinary ones, and ones that are awkward in a single respect."""

from __future__ import annotations

import numpy as np


def stable(seed, signals, rows, lag=2, density=0.15):
    """A random stable vector autoregression with links up to `lag`, rounded to six decimals.

    The rounding makes the recording the same wherever it is generated, whatever the last bit of
    a logarithm or a sum.
    """
    rng = np.random.default_rng(seed)
    size = (lag, signals, signals)
    links = rng.uniform(-0.5, 0.5, size) * (rng.random(size) < density)
    links[0] += np.diag(rng.uniform(0.2, 0.7, signals))
    links /= max(1.0, np.abs(links).sum(axis=(0, 2)).max() / 0.9)
    warm_up = 50
    values = rng.normal(size=(rows + warm_up, signals))
    for t in range(lag, len(values)):
        for back in range(lag):
            values[t] += (links[back] * values[t - back - 1]).sum(axis=1)
    return np.round(values[warm_up:], 6)


def within_tick(seed, signals, rows, lag=2, now=1.0, later=1.0, own=0.8):
    """A random stable system whose signals also act on each other within one tick.

    There are about `now` such links and `later` lagged ones per signal; `own` is the share of
    signals that depend on their own past. Rounded as in `stable`.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(signals)
    past = np.zeros((lag, signals, signals))
    past[0] = np.diag(rng.uniform(0.2, 0.8, signals) * (rng.random(signals) < own))
    for _ in range(round(later * signals)):
        source, target = rng.choice(signals, 2, replace=False)
        past[rng.integers(lag), target, source] = rng.choice([-1, 1]) * rng.uniform(0.15, 0.4)
    same = np.zeros((signals, signals))
    for _ in range(round(now * signals)):
        source, target = order[np.sort(rng.choice(signals, 2, replace=False))]
        same[target, source] = rng.choice([-1, 1]) * rng.uniform(0.2, 0.6)
    effect = np.linalg.inv(np.eye(signals) - same)
    past = effect @ past
    past /= max(1.0, np.abs(past).sum(axis=(0, 2)).max() / 0.9)
    warm_up = 50
    values = rng.normal(size=(rows + warm_up, signals)) @ effect.T
    for t in range(lag, len(values)):
        for back in range(lag):
            values[t] += past[back] @ values[t - back - 1]
    return np.round(values[warm_up:], 6)


def two_valued(seed, signals, rows):
    """On/off signals that drive each other."""
    return (stable(seed, signals, rows) > 0.2).astype(float)


def nearly(seed, eps, *, kind, rows=300):
    """One signal is all but a function of others: a copy, their sum, or their sum a tick ago."""
    values = stable(seed, 5, rows)
    noise = eps * np.random.default_rng(seed + 1).normal(size=rows)
    if kind == "copy":
        values[:, 2] = values[:, 0] + noise
    elif kind == "sum":
        values[:, 2] = values[:, 0] + values[:, 1] + noise
    elif kind == "late copy":
        values[1:, 2] = values[:-1, 0] + noise[1:]
    elif kind == "late sum":
        values[1:, 2] = values[:-1, 0] + values[:-1, 1] + noise[1:]
    else:
        raise ValueError(kind)
    return values


def singular(seed, kind, rows=200):
    """One signal is exactly a function of others, up to the rounding of floats."""
    values = stable(seed, 5, rows)
    if kind == "duplicate":
        values[:, 2] = values[:, 0]
    elif kind == "other unit":
        values[:, 2] = 3.7 * values[:, 0] + 273.15
    elif kind == "sum":
        values[:, 2] = values[:, 0] + values[:, 1]
    elif kind == "balance":
        values[:, 3] = 1000.0 - 0.1 * values[:, 0] - 0.2 * values[:, 1] + 0.7 * values[:, 2]
    elif kind == "complement":
        values[:, 0] = values[:, 0] > 0
        values[:, 2] = 1 - values[:, 0]
    elif kind == "own past":
        values[1:, 2] = values[:-1, 0]
    elif kind == "past in other unit":
        values[2:, 2] = 1.8 * values[:-2, 0] + 32.0
    elif kind == "counter":
        values[:, 2] = np.arange(rows)
    elif kind == "alternating":
        values[:, 2] = np.arange(rows) % 2
    else:
        raise ValueError(kind)
    return values


SINGULAR = (
    "duplicate",
    "other unit",
    "sum",
    "balance",
    "complement",
    "own past",
    "past in other unit",
    "counter",
    "alternating",
)


def odd_units(seed, rows=300):
    """Units twelve powers of ten apart."""
    return stable(seed, 6, rows) * 10.0 ** np.array([-6, 0, 3, -3, 6, 1])


def offsets(seed, rows=300):
    """Small movements on top of a large level."""
    return 1e5 + 1e-2 * stable(seed, 5, rows)


def quiet(seed, rows=200, noisy=0, level=0.0, spike=1.0):
    """One signal stands still, but for its first `noisy` rows."""
    values = stable(seed, 4, rows)
    values[:, 1] = level
    values[:noisy, 1] = spike * np.arange(1, noisy + 1)
    return values


def with_gaps(seed, rows=400, share=0.01):
    """Missing values here and there."""
    values = stable(seed, 4, rows)
    values[np.random.default_rng(seed + 1).random(values.shape) < share] = np.nan
    return values
