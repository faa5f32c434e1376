"""Slow, obvious twins of the kernels: what the fast code must agree with.

Everything here works on the rows themselves, one test or one sum at a time, in extended precision
(`numpy.longdouble`, 64 bits of mantissa on x86) or in whole fractions. Nothing is shared with
the package, and nothing is done in a clever way.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy import stats

NO_VARIANCE = 1e-16
TIE_DECIMALS = 12


def window_ends(rows, max_lag, starts=(0,)):
    """Row numbers t whose window, rows t − 2·max_lag to t, lies in one stretch and is complete."""
    rows = np.asarray(rows, dtype=float)
    begins = set(starts)
    found = []
    for t in range(2 * max_lag, len(rows)):
        window = range(t - 2 * max_lag, t + 1)
        if any(k in begins for k in window[1:]):
            continue
        if np.isfinite(rows[window]).all():
            found.append(t)
    return np.array(found, dtype=int)


def lagged_columns(rows, max_lag, starts=(0,)):
    """All nodes (signal, lag) with their values over the common window, lag 0 to 2·max_lag."""
    rows = np.asarray(rows, dtype=float)
    ends = window_ends(rows, max_lag, starts)
    return {
        (signal, lag): rows[ends - lag, signal].astype(np.longdouble)
        for signal in range(rows.shape[1])
        for lag in range(2 * max_lag + 1)
    }


def window_products(rows, reach):
    """The sum of u uᵀ over all windows of one stretch, as fractions; see `kernels.lagged`."""
    exact = [[*map(Fraction, map(float, row)), Fraction(1)] for row in rows]
    size = (reach + 1) * len(exact[0])
    total = [[Fraction(0)] * size for _ in range(size)]
    for t in range(reach, len(exact)):
        window = [value for lag in range(reach + 1) for value in exact[t - lag]]
        for i, one in enumerate(window):
            for j, other in enumerate(window):
                total[i][j] += one * other
    return total


def covariance(columns):
    """Covariances of columns given as a list, in extended precision."""
    centred = [column - column.mean() for column in columns]
    return np.array([[(a * b).mean() for b in centred] for a in centred], dtype=float)


def is_constant(column):
    return bool(np.all(column == column[0]))


def partial_correlation(x, y, z):
    """Partial correlation of x and y given the columns z, by sequential projection.

    A column of z with at most `NO_VARIANCE` of its variance left explains nothing more and is
    passed over; an x or y with that little left has no residual, hence correlation 0.
    """
    if is_constant(x) or is_constant(y):
        return 0.0
    columns = [c - c.mean() for c in [*z, x, y]]
    before = [(c * c).sum() for c in columns]
    for k in range(len(columns) - 2):
        pivot = columns[k]
        size = (pivot * pivot).sum()
        if is_constant(z[k]) or size <= NO_VARIANCE * before[k]:
            continue
        for later in range(k + 1, len(columns)):
            for _ in range(2):  # the second pass removes the rounding of the first
                share = (pivot * columns[later]).sum() / size
                columns[later] = columns[later] - share * pivot
    x, y = columns[-2:]
    left_x, left_y = (x * x).sum(), (y * y).sum()
    if left_x <= NO_VARIANCE * before[-2] or left_y <= NO_VARIANCE * before[-1]:
        return 0.0
    return float((x * y).sum() / np.sqrt(left_x * left_y))


def p_value(value, freedom):
    """Two-sided p-value of a partial correlation by Student's t."""
    if freedom < 1 or value == 0.0:
        return 1.0
    if abs(value) >= 1.0:
        return 0.0
    return float(2.0 * stats.t.sf(abs(value) * np.sqrt(freedom / (1.0 - value**2)), freedom))


def benjamini_hochberg(p_values):
    """Each p-value times the number of tests over its rank, made to rise with the p-value."""
    ranks = [sum(other <= one for other in p_values) for one in p_values]
    scaled = [p * len(p_values) / rank for p, rank in zip(p_values, ranks, strict=True)]
    return [
        min(1.0, *(s for s, other in zip(scaled, p_values, strict=True) if other >= one))
        for one in p_values
    ]


class Answers:
    """Answers single questions from lagged columns."""

    def __init__(self, columns):
        self.columns = columns

    def test(self, x, y, z):
        conditions = [self.columns[node] for node in z]
        value = partial_correlation(self.columns[x], self.columns[y], conditions)
        varying = sum(not is_constant(column) for column in conditions)
        return value, p_value(value, len(self.columns[x]) - varying - 2)


def find_parents(test, signals, target, max_lag, alpha):
    """PC stage for one target: drop what is independent given the p strongest others."""
    first = [(signal, lag) for signal in range(signals) for lag in range(1, max_lag + 1)]
    candidates, smallest = list(first), dict.fromkeys(first, np.inf)
    p = 0
    while len(candidates) > p:
        kept = []
        for one in candidates:
            others = [other for other in candidates if other != one][:p]
            value, p_val = test(one, (target, 0), others)
            smallest[one] = min(smallest[one], abs(value))
            if p_val <= alpha:
                kept.append(one)
        candidates = sorted(
            kept, key=lambda node: (-round(smallest[node], TIE_DECIMALS), first.index(node))
        )
        p += 1
    return candidates


def pcmci(rows, max_lag, min_lag=1, alpha=0.05, starts=(0,)):
    """PCMCI, literally.

    Returns
    -------
    value, p_value, parents
    """
    signals = np.asarray(rows).shape[1]
    test = Answers(lagged_columns(rows, max_lag, starts)).test
    parents = [find_parents(test, signals, j, max_lag, alpha) for j in range(signals)]
    value = np.zeros((signals, signals, max_lag + 1))
    p_val = np.ones_like(value)
    for i in range(signals):
        for j in range(signals):
            for lag in range(min_lag, max_lag + 1):
                if i == j and lag == 0:
                    continue
                of_target = [node for node in parents[j] if node != (i, lag)]
                of_source = [(k, back + lag) for k, back in parents[i]]
                z = of_target + [node for node in of_source if node not in of_target]
                value[i, j, lag], p_val[i, j, lag] = test((i, lag), (j, 0), z)
    return value, p_val, parents


def log_wilks(rows, z, x, y):
    """Logarithm of Wilks' Λ of columns x and y given z: from residuals, by determinants."""
    rows = rows - rows.mean(axis=0)

    def left(columns):
        if not z:
            return rows[:, columns]
        fit, *_ = np.linalg.lstsq(rows[:, z], rows[:, columns], rcond=None)
        return rows[:, columns] - rows[:, z] @ fit

    a, b = left(x), left(y)
    both = np.hstack([a, b])
    sizes = [np.linalg.slogdet(part.T @ part)[1] for part in (both, a, b)]
    return sizes[0] - sizes[1] - sizes[2]


def oriented(links, triples, colliders, ambiguous):
    """Directions of the links within a tick: a dict (i, j) → mark, both ways round."""
    marks = {(i, j): "o-o" for i, j, lag in links if lag == 0}

    def turn(wanted):
        wanted = {pair for pair in wanted if marks.get(pair) == "o-o"}
        for i, j in wanted:
            if (j, i) in wanted:
                marks[i, j] = marks[j, i] = "x-x"
            else:
                marks[i, j], marks[j, i] = "-->", "<--"
        return bool(wanted)

    def points(i, j, lag=0):
        return lag > 0 or marks[i, j] == "-->"

    turn(
        {(j, k) for (_, _), k, j in colliders}
        | {(i, k) for (i, lag), k, _ in colliders if lag == 0}
    )
    decided = [t for t in triples if t not in ambiguous and t not in colliders]
    turned = True
    while turned:
        first = turn({(k, j) for (i, lag), k, j in decided if points(i, k, lag)})
        second = turn(
            {(i, j) for i, k in marks for m, j in marks if m == k if points(i, k) and points(k, j)}
        )
        third = turn(
            {
                (i, j)
                for (k, lag), i, m in decided
                if lag == 0 and marks[i, k] == marks[i, m] == "o-o"
                for a, j in marks
                if a == i and marks.get((k, j)) == marks.get((m, j)) == "-->"
            }
        )
        turned = first or second or third
    return marks


def pcmciplus(test, signals, max_lag, alpha):
    """PCMCI+, literally: one test after the other, as the paper and its yardstick have them.

    Returns
    -------
    marks, value, p_value, parents
    """
    every = range(signals)
    value = np.zeros((signals, signals, max_lag + 1))
    p_val = np.ones_like(value)

    def first_stage(x, y, z):
        result = test(x, y, z)
        value[x[0], y[0], x[1]], p_val[x[0], y[0], x[1]] = result
        return result

    parents = [find_parents(first_stage, signals, j, max_lag, alpha) for j in every]

    def momentary(i, j, lag, further):
        z = [*further, *(node for node in parents[j] if node != (i, lag))]
        shifted = [(k, back + lag) for k, back in parents[i]]
        return test((i, lag), (j, 0), z + [node for node in shifted if node not in z])

    links = {(i, j, 0) for i in every for j in every if i != j}
    links |= {(i, j, lag) for j in every for i, lag in parents[j]}
    for link in links:
        p_val[link] = -1.0
    weakest = {}
    size, most = 0, signals
    while size < most:
        near = [
            sorted(
                ((i, 0) for i in every if (i, j, 0) in links),
                key=lambda node: (-round(weakest.get((node[0], j), 0.0), TIE_DECIMALS), node),
            )
            for j in every
        ]
        most = 0
        for i, j, lag in sorted(links):
            others = [node for node in near[j] if node != (i, lag)]
            most = max(most, len(others) + 1)
            for further in combinations(others, size):
                if (i, j, lag) not in links:
                    break
                val, p = momentary(i, j, lag, further)
                if lag == 0:
                    weakest[i, j] = min(weakest.get((i, j), np.inf), abs(val))
                if p >= p_val[i, j, lag]:
                    value[i, j, lag], p_val[i, j, lag] = val, p
                if p > alpha:
                    links.discard((i, j, lag))
                    if lag == 0:
                        links.discard((j, i, 0))
                        p_val[j, i, 0] = p
        size += 1
    for i, j in combinations(every, 2):
        kept = (j, i, 0) if p_val[j, i, 0] > p_val[i, j, 0] else (i, j, 0)
        value[i, j, 0] = value[j, i, 0] = value[kept]
        p_val[i, j, 0] = p_val[j, i, 0] = p_val[kept]

    near = [[(i, 0) for i in every if (i, j, 0) in links] for j in every]
    triples, colliders, ambiguous = [], [], []
    for i, k, lag in sorted(links):
        for j in every:
            if (k, j, 0) not in links or (i, lag) == (j, 0) or (i, j, lag) in links:
                continue
            about = [near[j]] if lag else [near[j], near[i]]
            sets = {
                frozenset(chosen) - {(i, lag), (j, 0)}
                for nodes in about
                for size in range(signals)
                for chosen in combinations(nodes, size)
            }
            apart = [s for s in sets if momentary(i, j, lag, sorted(s))[1] > alpha]
            holding = sum((k, 0) in s for s in apart)
            triple = ((i, lag), k, j)
            triples.append(triple)
            if 2 * holding < len(apart):
                colliders.append(triple)
            elif 2 * holding == len(apart):
                ambiguous.append(triple)
    marks = np.full(value.shape, "", dtype="<U3")
    for i, j, lag in links:
        marks[i, j, lag] = "-->"
    for pair, mark in oriented(links, triples, colliders, ambiguous).items():
        marks[(*pair, 0)] = mark
    return marks, value, p_val, parents
