"""The published detector written out: every regression solved again on all ticks so far.

Slow and obvious; nothing is shared with the package. Steps, rows and columns are those of the
published scripts: step k uses the ticks up to k + max_lag, each target begins at its own longest
lag, one column for each link in the order of lags, and a column of ones.
"""

from __future__ import annotations

import numpy as np

from causewatch.detectors.equations import Equations

__all__ = ["coefficients", "equations_of", "limits", "own_doubt", "ranking"]


def equations_of(model):
    """The mechanisms of a `NormalModel` as `Equations`."""
    place = {name: k for k, name in enumerate(model.signals)}
    links = sorted(
        (place[link.target], place[link.source], link.lag, weight)
        for mechanism in model.mechanisms.values()
        for link, weight in mechanism.coefficients.items()
    )
    return Equations(
        signals=len(place),
        max_lag=model.preprocessing.max_lag,
        source=np.array([link[1] for link in links], dtype=np.intp),
        target=np.array([link[0] for link in links], dtype=np.intp),
        lag=np.array([link[2] for link in links], dtype=np.intp),
        coefficient=np.array([link[3] for link in links]),
        intercept=np.array([model.mechanisms[name].intercept for name in model.signals]),
        spread=np.array([model.mechanisms[name].spread for name in model.signals]),
    )


def regression(ticks, equations, target, newest, intercept=True):
    """Columns and values of a target's regression on the ticks up to `newest`, and its links."""
    links = [k for k in range(len(equations.target)) if equations.target[k] == target]
    links.sort(key=lambda k: equations.lag[k])
    begin = max(equations.lag[k] for k in links)
    end = newest + 1
    columns = []
    for k in links:
        lag = equations.lag[k]
        columns.append(ticks[begin - lag : end - lag, equations.source[k]])
    if intercept:
        columns.append(np.ones(end - begin))
    return np.column_stack(columns), ticks[begin:end, target], links


def coefficients(ticks, equations, newest, intercept=True):
    """Of every link, by least squares on the ticks up to number `newest`."""
    found = np.full(len(equations.target), np.nan)
    for target in np.unique(equations.target):
        columns, values, links = regression(ticks, equations, target, newest, intercept)
        solution = np.linalg.lstsq(columns, values, rcond=None)[0]
        found[links] = solution[: len(links)]
    return found


def own_doubt(ticks, equations, newest, exact, seed=0, times=3):
    """How far the literal answer itself moves when the last bit of the ticks does.

    The ticks are multiplied by ``1 ± eps/2`` at random, a few times over. What moves by more than
    the tolerance then is not a number that anybody can reproduce: another processor, another
    LAPACK, or the same columns in another order give another one.
    """
    rng = np.random.default_rng(seed)
    doubt = np.zeros(len(equations.target))
    for _ in range(times):
        sign = rng.choice([-1.0, 1.0], size=ticks.shape)
        shaken = ticks * (1.0 + sign * np.finfo(float).eps)
        doubt = np.maximum(doubt, np.abs(coefficients(shaken, equations, newest) - exact))
    return doubt


def limits(ticks, equations, share=0.7):
    """ē of every link: the steps are those of the first part, but for its last tick."""
    part = ticks[: max(2, int(share * len(ticks)))]
    total = np.zeros(len(equations.target))
    for newest in range(equations.max_lag, len(part) - 1):
        total += (coefficients(part, equations, newest) - equations.coefficient) ** 2
    return np.sqrt(total)


def ranking(ticks, equations, first, last):
    """The paper's criterion of every signal over the ticks from `first` to before `last`."""
    total = np.zeros(equations.signals)
    for newest in range(max(first, equations.max_lag), last):
        squares = (coefficients(ticks, equations, newest) - equations.coefficient) ** 2
        for k, square in enumerate(squares):
            total[equations.target[k]] += square
    return np.sqrt(total)
