"""Mechanisms that are not straight lines: what curved links add to a line.

A straight line through the causes of a signal is what people are shown. Where the data ask for it,
a curve of the same causes is added to it:

- *hinges* ``max(0, cause − knot)`` at a few quantiles of the cause: a curve of straight pieces;
- *products* of a cause with a two-valued cause of the same signal: another slope while that one
  is on.

The curve is fitted to what the line leaves, with the line taken out of it, so the line stays the
best line. A mechanism is curved only if that leaves clearly less of ticks it was not fitted to,
both ways between the two halves of the recording. Outside the range a cause was seen in, a curve
goes on straight for half of that range and then stays where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations
from causewatch.detectors.switches import MOST_TICKS, levels_of, thinned

__all__ = ["Curves", "Features", "choose_curves"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

CHUNK = 2048
"""Ticks bent at a time."""
KNOTS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles of a cause at which its curve bends."""
EDGE = 0.001
"""Quantile that counts as the end of the range a cause was seen in."""
BEYOND = 0.5
"""How far a curve goes on outside that range, as a share of it."""
PULL = 0.01
"""Ridge: pulls towards no curve with this share of each feature's own variance."""
MOST_BENDS = 8
"""Curved causes and products per signal."""
MOST_LINKS = 8
"""A signal with more links than this stays a straight line: a curve in many causes has many ways to
be wrong in the next recording."""
FALLS = 0.03
"""Share by which a curve must lower the variance that is left, on ticks held out."""
SURE = 2.5
"""The fall must be this many of its own standard errors, too."""
BATCHES = 10
"""Pieces of the held-out ticks from which that error is taken."""
LEAST_LEFT = 1e-9
"""Share of a feature's variance that counts as nothing."""
LEAST_TICKS = 100
"""Fewer ticks than this in one half say nothing about a curve."""


@dataclass(frozen=True, eq=False)
class Features:
    """Functions of causes: ``clip(cause, knot, upper) − knot``, some times the state of a switch.

    Attributes
    ----------
    link
        Number of the link whose cause the feature is a function of.
    knot, upper
        Where it begins and where it ends.
    gate
        Number of the link from the switch; −1 without one.
    gate_low, gate_size
        The lower level of the switch, and the way to the upper one.
    """

    link: Ints
    knot: Floats
    upper: Floats
    gate: Ints
    gate_low: Floats
    gate_size: Floats

    @cached_property
    def gated(self) -> Ints:
        """Numbers of the features with a switch."""
        return np.flatnonzero(self.gate >= 0)

    @cached_property
    def _gates(self) -> tuple[Ints, Floats, Floats]:
        return self.gate[self.gated], self.gate_low[self.gated], self.gate_size[self.gated]

    def values(self, causes: Floats) -> Floats:
        """Value of each feature, from one value for each link; for one tick or many."""
        values = causes.take(self.link, axis=-1, mode="clip")
        np.minimum(values, self.upper, out=values)
        np.maximum(values, self.knot, out=values)
        values -= self.knot
        gated = self.gated
        if len(gated):
            link, low, size = self._gates
            state = causes.take(link, axis=-1, mode="clip")
            state -= low
            state /= size
            np.minimum(state, 1.0, out=state)
            np.maximum(state, 0.0, out=state)
            values[..., gated] *= state
        return values

    def taken(self, which: Ints) -> Features:
        """Some of the features."""
        return Features(*(getattr(self, field.name)[which] for field in fields(self)))

    def renumbered(self, numbers: Ints) -> Features:
        """The same with the number of each link looked up in `numbers`."""
        gate = np.where(self.gate >= 0, numbers[np.maximum(self.gate, 0)], -1)
        return Features(
            numbers[self.link], self.knot, self.upper, gate, self.gate_low, self.gate_size
        )


@dataclass(frozen=True, eq=False)
class Curves:
    """What curved links add to the straight lines of `Equations`.

    Attributes
    ----------
    spread
        Of every signal, curved or not: standard deviation of what is left.
    target
        Columns of the curved signals, in order.
    first
        Number of the first feature of each.
    constant
        What is added to each throughout.
    weight
        Coefficient of each feature, in the signals' own units.
    features
        By signal: first those that take the line out of the curve, one for each link into the
        signal, then those that bend.
    """

    spread: Floats
    target: Ints
    first: Ints
    constant: Floats
    weight: Floats
    features: Features

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything by name, for storing."""
        own = {name: getattr(self, name) for name in _names(Curves) if name != "features"}
        return own | {name: getattr(self.features, name) for name in _names(Features)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Curves:
        """The opposite of `arrays`."""
        whole = ("target", "first", "link", "gate")
        given: dict[str, Any] = {
            name: np.asarray(array, dtype=np.intp if name in whole else np.float64)
            for name, array in arrays.items()
        }
        features = Features(**{name: given[name] for name in _names(Features)})
        own = {name: given[name] for name in _names(cls) if name != "features"}
        return cls(**own, features=features)

    def add(self, expected: Floats, causes: Floats) -> Floats:
        """`expected` with the curves added, in place.

        Parameters
        ----------
        expected
            What the straight lines expect: one value for each signal, for one tick or many.
        causes
            The value of each link's source at its lag; where one is missing (NaN), so is what is
            expected of its target.
        """
        if expected.ndim == 1:
            expected[self.target] += self._sums(causes)
            return expected
        for start in range(0, len(expected), CHUNK):
            piece = slice(start, start + CHUNK)
            expected[piece, self.target] += self._sums(causes[piece])
        return expected

    def refitted(self, equations: Equations, stretches: Sequence[Floats]) -> Curves:
        """The same features with weights fitted to other ticks and lines.

        Parameters
        ----------
        equations
            The straight lines, with the spread they leave.
        stretches
            Ticks × signals.
        """
        found = []
        stops = [*self.first[1:].tolist(), len(self.weight)]
        local = np.empty(len(equations.source), dtype=np.intp)
        for target, first, stop in zip(self.target, self.first, stops, strict=True):
            links = equations.links_into(int(target))
            local[links] = np.arange(len(links))
            features = self.features.taken(np.arange(first, stop)).renumbered(local)
            left, causes = _gather(equations, stretches, int(target))
            found.append(_fitted(int(target), features, left, causes))
        return _join(found, equations)

    def _sums(self, causes: Floats) -> Floats:
        """What is added to each curved signal."""
        values = self.features.values(causes)
        values *= self.weight
        sums = np.add.reduceat(values, self.first, axis=-1)
        sums += self.constant
        return np.asarray(sums)


def choose_curves(
    equations: Equations, stretches: Sequence[Floats], *, falls: float = FALLS
) -> Curves | None:
    """Curves for the mechanisms that are better off with one, by their fit to ticks held out.

    Parameters
    ----------
    equations
        The straight lines.
    stretches
        Normal ticks × signals; lags do not reach from one stretch into the next.
    falls
        Share by which a curve must lower the variance that is left.

    Returns
    -------
    Curves | None
        None if all are straight lines.
    """
    switches = [levels_of(_column(stretches, k)) for k in range(equations.signals)]
    found = []
    for target in range(equations.signals):
        links = equations.links_into(target)
        if not 1 <= len(links) <= MOST_LINKS or switches[target] is not None:
            continue
        left, causes = _gather(equations, stretches, target)
        half = len(left) // 2
        if half < LEAST_TICKS:
            continue
        levels = [switches[source] for source in equations.source[links]]
        features, blocks = _candidates(causes, levels)
        if not blocks:
            continue
        values = features.values(causes)
        first, last = slice(0, half), slice(half, None)
        if all(
            _pays(_Sums.of(values[a], left[a], len(links)), values[b], left[b], blocks, falls)
            for a, b in ((first, last), (last, first))
        ):
            bends = _chosen(_Sums.of(values, left, len(links)), blocks)
            if not len(bends):
                continue
            used = features.taken(np.concatenate([np.arange(len(links)), bends]))
            found.append(_fitted(target, used, left, causes))
    return _join(found, equations) if found else None


@dataclass(frozen=True, eq=False)
class _Curve:
    """The curve of one signal; its features count the links into it from 0."""

    target: int
    features: Features
    constant: float
    weight: Floats
    spread: float


def _names(of: type) -> list[str]:
    return [field.name for field in fields(of)]


def _column(stretches: Sequence[Floats], column: int) -> Floats:
    """Values of a signal, `MOST_TICKS` or fewer."""
    every = max(1, -(-sum(map(len, stretches)) // MOST_TICKS))
    return np.concatenate([rows[::every, column] for rows in stretches] or [np.empty(0)])


def _gather(
    equations: Equations, stretches: Sequence[Floats], target: int
) -> tuple[Floats, Floats]:
    """What the line leaves of a signal, and its causes, at a bounded number of ticks."""
    now, causes = thinned(equations, stretches, target)
    links = equations.links_into(target)
    return now - causes @ equations.coefficient[links] - equations.intercept[target], causes


def _is_gate(levels: Floats | None) -> bool:
    """Whether a cause with these levels can switch the slope of another one."""
    return levels is not None and len(levels) == 2


def _candidates(causes: Floats, levels: Sequence[Floats | None]) -> tuple[Features, list[Ints]]:
    """Features that a curve could use, and which of them only make sense together.

    The first ones, one for each cause, are straight and belong to every curve.
    """
    low, high = np.quantile(causes, [EDGE, 1.0 - EDGE], axis=0)
    beyond = BEYOND * (high - low)
    bottom, top = low - beyond, high + beyond
    rows = [(k, bottom[k], -1, 0.0, 1.0) for k in range(causes.shape[1])]
    blocks = []
    for k, steps in enumerate(levels):
        start = len(rows)
        if steps is None:
            knots = np.unique(np.quantile(causes[:, k], KNOTS))
            rows += [(k, knot, -1, 0.0, 1.0) for knot in knots if low[k] < knot < high[k]]
            blocks.append(np.arange(start, len(rows)))
        elif _is_gate(steps):
            for other in range(causes.shape[1]):
                # Of two switches the product is the same either way.
                if other == k or (other < k and _is_gate(levels[other])):
                    continue
                blocks.append(np.array([len(rows)]))
                rows.append((other, bottom[other], k, steps[0], steps[1] - steps[0]))
    link, knot, gate, gate_low, gate_size = (np.array(part) for part in zip(*rows, strict=True))
    features = Features(link, knot, top[link], gate, gate_low, gate_size)
    return features, [block for block in blocks if len(block)]


@dataclass(frozen=True, eq=False)
class _Sums:
    """What a fit needs to know of the features, without the ticks.

    Attributes
    ----------
    ticks
        How many there were.
    straight
        How many of the features are straight; the others bend.
    means, sizes
        Mean and standard deviation of each feature.
    slopes
        Straight × bent, in standard units: the best line through each bent feature.
    inner, shared, variance
        Products of the bent features without that line, of them with what is left, and of that
        with itself.
    """

    ticks: int
    straight: int
    means: Floats
    sizes: Floats
    slopes: Floats
    inner: Floats
    shared: Floats
    variance: float

    @classmethod
    def of(cls, values: Floats, left: Floats, straight: int) -> _Sums:
        """From the value of each feature, and what is left, at each tick."""
        ticks, means, sizes = len(left), values.mean(axis=0), values.std(axis=0)
        sizes = np.where(sizes > 0, sizes, 1.0)
        standard = (values - means) / sizes
        products = standard.T @ standard / ticks
        with_left = standard.T @ left / ticks
        lines, across = products[:straight, :straight], products[:straight, straight:]
        slopes = np.linalg.lstsq(lines, across, rcond=1e-10)[0]
        return cls(
            ticks,
            straight,
            means,
            sizes,
            slopes,
            inner=products[straight:, straight:] - across.T @ slopes,
            shared=with_left[straight:] - slopes.T @ with_left[:straight],
            variance=float(left @ left) / ticks,
        )

    def fit(self, which: Ints) -> tuple[Floats, float]:
        """Coefficients of the straight features and of some bent ones, and the constant."""
        bent = which - self.straight
        inner = self.inner[np.ix_(bent, bent)]
        weights = np.linalg.solve(inner + np.diag(_pull(inner.diagonal())), self.shared[bent])
        used = np.concatenate([np.arange(self.straight), which])
        found = np.concatenate([-self.slopes[:, bent] @ weights, weights]) / self.sizes[used]
        return found, -float(found @ self.means[used])


def _pull(variances: Floats) -> Floats:
    # A feature that is itself a line has nothing left; what rounding leaves must not be fitted.
    return PULL * variances + LEAST_LEFT


def _chosen(sums: _Sums, blocks: Sequence[Ints]) -> Ints:
    """Features that bend, block by block as long as the next one is worth its number of features.

    Worth is measured as in Bayes' information criterion. What a block explains is taken out of
    the others, so that every step is a look at small matrices.
    """
    inner, shared = sums.inner + np.diag(_pull(sums.inner.diagonal())), sums.shared.copy()
    bent = [block - sums.straight for block in blocks]
    widths = np.array([len(block) for block in blocks])
    waiting = np.ones(len(blocks), dtype=np.bool_)
    variance = sums.variance
    taken: list[Ints] = []
    while waiting.any() and len(taken) < MOST_BENDS:
        gain = np.zeros(len(blocks))
        for width in np.unique(widths[waiting]):
            alike = np.flatnonzero(waiting & (widths == width))
            places = np.stack([bent[k] for k in alike])
            own = inner[places[:, :, None], places[:, None, :]]
            given = shared[places]
            gain[alike] = (given * np.linalg.solve(own, given[..., None])[..., 0]).sum(axis=1)
        remains = np.maximum(variance - gain, 1e-12 * sums.variance)
        worth = sums.ticks * np.log(max(variance, 1e-300) / np.maximum(remains, 1e-300))
        worth -= widths * np.log(sums.ticks) + 2.0 * np.log(len(blocks))
        best = int(np.argmax(np.where(waiting, worth, -np.inf)))
        if not worth[best] > 0:
            break
        taken.append(blocks[best])
        waiting[best] = False
        variance = float(remains[best])
        mine = bent[best]
        shares = np.linalg.solve(inner[np.ix_(mine, mine)], inner[mine])
        shared = shared - shares.T @ shared[mine]
        inner = inner - inner[:, mine] @ shares
        # Rounding could leave what was just explained a little below zero.
        inner[np.diag_indices_from(inner)] += LEAST_LEFT
    return np.concatenate(taken) if taken else np.empty(0, dtype=np.intp)


def _pays(
    sums: _Sums, held: Floats, held_left: Floats, blocks: Sequence[Ints], falls: float
) -> bool:
    """Whether a curve chosen and fitted on some ticks clearly leaves less of others."""
    bends = _chosen(sums, blocks)
    if not len(bends):
        return False
    weight, constant = sums.fit(bends)
    used = np.concatenate([np.arange(sums.straight), bends])
    gained = held_left**2 - (held_left - held[:, used] @ weight - constant) ** 2
    pieces = np.array([piece.mean() for piece in np.array_split(gained, BATCHES)])
    error = float(pieces.std(ddof=1)) / np.sqrt(BATCHES)
    fall = float(gained.mean())
    return fall > falls * float(np.mean(held_left**2)) and fall > SURE * error


def _fitted(target: int, features: Features, left: Floats, causes: Floats) -> _Curve:
    """The curve of one signal from its features."""
    straight, size = causes.shape[1], len(features.link)
    if not len(left):
        return _Curve(target, features, 0.0, np.zeros(size), 0.0)
    values = features.values(causes)
    weight, constant = _Sums.of(values, left, straight).fit(np.arange(straight, size))
    remains = left - values @ weight - constant
    free = max(1, len(left) - size - 1)
    return _Curve(target, features, constant, weight, float(np.sqrt(remains @ remains / free)))


def _join(found: Sequence[_Curve], equations: Equations) -> Curves:
    """Curves of single signals as one set."""
    spread = equations.spread.copy()
    features = []
    for curve in found:
        features.append(curve.features.renumbered(equations.links_into(curve.target)))
        if curve.spread > 0:
            spread[curve.target] = curve.spread
    sizes = [len(curve.weight) for curve in found]
    return Curves(
        spread=spread,
        target=np.array([curve.target for curve in found], dtype=np.intp),
        first=np.cumsum([0, *sizes], dtype=np.intp)[:-1],
        constant=np.array([curve.constant for curve in found]),
        weight=np.concatenate([curve.weight for curve in found]),
        features=Features(
            *(
                np.concatenate([getattr(part, name) for part in features])
                for name in _names(Features)
            )
        ),
    )
