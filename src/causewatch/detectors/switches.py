"""Signals with two or a few values: how surprising a value is, given what was expected.

A straight line through the causes of a switch says how likely it is to be on, and its error is not
the same size throughout: near certainty a switch is rarely wrong, half-way it often is. So the
line's expectation is turned into a probability (a logistic curve for each step from one value to
the next), and the innovation becomes what the switch did minus that probability, in units of the
standard deviation that belongs to it. A switch nobody expected is then a surprise, and so is one
that stays away although it was expected; one that could go either way is none.

Averaging rows to ticks gives such a signal values between its levels. They count as shares of the
way from one level to the next, which the same curves describe; only the size of the error differs,
and that is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations

__all__ = ["Switches", "find_switches", "levels_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

MOST_TICKS = 20_000
"""Ticks looked at, at most."""
MOST_LEVELS = 4
ATOM = 0.02
"""Share of the ticks at one value that makes it a level."""
AT_LEVELS = 0.6
"""Share of the ticks that must be at a level; the others lie between."""
DIGITS = 9
"""Values that agree to this many digits of the range are one: averages are not exact."""
LEAST_EACH = 8
"""Ticks needed on either side of a step."""
SURE = 0.002
"""Nothing counts as more certain than this: the curve is not known better."""
STEEPEST = 30.0
"""Largest exponent of the logistic curve."""
PULL = 1.0
"""Weight, in ticks, that pulls a curve towards flat: it stays finite where nothing is uncertain."""
ROUNDS = 30
BETTER = 0.01
"""Gain in log-likelihood per tick that both halves of the recording must show."""


@dataclass(frozen=True, eq=False)
class Switches:
    """Which signals are switches, and the curve of each step between two of their levels.

    One entry of `target`, `first`, `low`, `spread`, `factor` and `least` for each switch, by
    column; one of `column`, `offset`, `slope`, `gap` and `square` for each step, by column and from
    the lowest level up.

    Attributes
    ----------
    target
        Columns of the switches.
    first
        Number of the first step of each.
    low
        Lowest level.
    spread
        Of the straight line: the unit in which innovations arrive.
    factor
        What brings the result to unit variance on normal ticks.
    least
        Smallest variance that is taken for true.
    column
        The switch's column, for each step.
    offset, slope
        The probability of being above a step is ``1 / (1 + exp(−offset − slope · expected))``.
    gap, square
        How much the value, and its square, both counted from `low`, grow at the step.
    """

    target: Ints
    first: Ints
    low: Floats
    spread: Floats
    factor: Floats
    least: Floats
    column: Ints
    offset: Floats
    slope: Floats
    gap: Floats
    square: Floats

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything by name, for storing."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Switches:
        """The opposite of `arrays`."""
        whole = ("target", "first", "column")
        return cls(
            **{
                field.name: np.asarray(
                    arrays[field.name], dtype=np.intp if field.name in whole else np.float64
                )
                for field in fields(cls)
            }
        )

    def probable(self, expected: Floats) -> Floats:
        """Mean value of each switch, between its levels, where a line expects `expected`."""
        return self._moments(expected)[0] + self.low

    def rescale(self, innovation: Floats, expected: Floats) -> Floats:
        """Innovations with those of the switches in units that depend on what was expected.

        Parameters
        ----------
        innovation
            In spreads, one tick or many; it is not changed.
        expected
            What the mechanisms expected, of the same shape.
        """
        mean, variance = self._moments(expected)
        at = expected[..., self.target]
        left = innovation[..., self.target] * self.spread + at - self.low - mean
        rescaled = innovation.copy()
        rescaled[..., self.target] = left * self.factor / np.sqrt(variance)
        return rescaled

    def refitted(self, equations: Equations, stretches: Sequence[Floats]) -> Switches:
        """The same switches with curves fitted to other ticks and mechanisms.

        Parameters
        ----------
        equations
            The mechanisms as they will be used, curves included.
        stretches
            Ticks × signals.
        """
        values, expected = _expectations(equations, stretches)
        found = []
        for number, target in enumerate(self.target.tolist()):
            stop = self.first[number + 1] if number + 1 < len(self.first) else len(self.gap)
            steps = self.gap[self.first[number] : stop]
            levels = self.low[number] + np.concatenate([[0.0], np.cumsum(steps)])
            found.append(
                _fit(target, levels, values[:, target], expected[:, target], equations.spread)
            )
        return _join(found)

    def _moments(self, expected: Floats) -> tuple[Floats, Floats]:
        """Mean above the lowest level, and variance, of each switch."""
        exponent = expected[..., self.column] * self.slope
        exponent += self.offset
        np.minimum(exponent, STEEPEST, out=exponent)
        np.maximum(exponent, -STEEPEST, out=exponent)
        chance = 1.0 / (1.0 + np.exp(-exponent))
        np.minimum(chance, 1.0 - SURE, out=chance)
        np.maximum(chance, SURE, out=chance)
        mean = np.add.reduceat(chance * self.gap, self.first, axis=-1)
        square = np.add.reduceat(chance * self.square, self.first, axis=-1)
        return mean, np.maximum(square - mean * mean, self.least)


def find_switches(equations: Equations, stretches: Sequence[Floats]) -> Switches | None:
    """The signals that are better described as switches, by their fit to ticks held out.

    Parameters
    ----------
    equations
        The mechanisms, with curves if there are any, without switches.
    stretches
        Normal ticks × signals; lags do not reach from one stretch into the next.

    Returns
    -------
    Switches | None
        None if there are none.
    """
    values, expected = _expectations(equations, stretches)
    found = []
    for target in range(equations.signals):
        levels = levels_of(values[:, target])
        if levels is None:
            continue
        now, line = values[:, target], expected[:, target]
        known = np.isfinite(now) & np.isfinite(line)
        now, line = now[known], line[known]
        if not _each_side(now, levels):
            continue
        half = len(now) // 2
        halves = (slice(0, half), slice(half, None))
        if all(
            _gain(target, levels, now, line, equations.spread, fitted, held)
            for fitted, held in (halves, halves[::-1])
        ):
            found.append(_fit(target, levels, now, line, equations.spread))
    return _join(found) if found else None


def levels_of(values: Floats) -> Floats | None:
    """The two or few values that a signal takes, in order; None if it is not a switch.

    Values between the levels are fine (they come from averaging), values beyond them are not.
    """
    seen = values[np.isfinite(values)]
    if len(seen) == 0:
        return None
    low, size = float(seen.min()), float(np.ptp(seen))
    if size == 0:
        return None
    places, counts = np.unique(np.round((seen - low) / size, DIGITS), return_counts=True)
    if len(places) > MOST_LEVELS:
        heavy = counts >= ATOM * len(seen)
        if not (heavy[0] and heavy[-1]) or counts[heavy].sum() < AT_LEVELS * len(seen):
            return None
        places = places[heavy]
    if len(places) > MOST_LEVELS:
        return None
    return np.asarray(low + places * size)


def _expectations(equations: Equations, stretches: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Values and what the mechanisms expected of them, at `MOST_TICKS` ticks or fewer."""
    reach = equations.max_lag
    total = sum(max(0, len(rows) - reach) for rows in stretches)
    every = max(1, -(-total // MOST_TICKS))
    values, expected = [np.empty((0, equations.signals))], [np.empty((0, equations.signals))]
    bounds = np.flatnonzero(np.diff(equations.target, prepend=-1))
    for rows in stretches:
        at = np.arange(reach, len(rows), every)
        if not len(at):
            continue
        causes = rows[at[:, None] - equations.lag, equations.source]
        line = np.tile(equations.intercept, (len(at), 1))
        if len(bounds):
            terms = np.add.reduceat(causes * equations.coefficient, bounds, axis=1)
            line[:, equations.target[bounds]] += terms
        values.append(rows[at])
        expected.append(equations.bend(line, causes))
    return np.concatenate(values), np.concatenate(expected)


def _each_side(now: Floats, levels: Floats) -> bool:
    """Whether both halves show enough ticks on either side of every step."""
    middles = (levels[1:] + levels[:-1]) / 2
    half = len(now) // 2
    return all(
        LEAST_EACH <= int((part > middle).sum()) <= len(part) - LEAST_EACH
        for part in (now[:half], now[half:])
        for middle in middles
    )


def _gain(
    target: int,
    levels: Floats,
    now: Floats,
    line: Floats,
    spread: Floats,
    fitted: slice,
    held: slice,
) -> bool:
    """Whether a switch fitted to some ticks describes others better than a line does."""
    switch = _fit(target, levels, now[fitted], line[fitted], spread)
    wide = np.zeros((len(now[held]), len(spread)))
    wide[:, target] = line[held]
    mean, variance = switch._moments(wide)
    size = variance[:, 0] / switch.factor[0] ** 2
    left = now[held] - mean[:, 0] - switch.low[0]
    plain = float(np.var(now[fitted] - line[fitted]))
    lost = np.log(size) + left**2 / size
    before = np.log(plain) + (now[held] - line[held]) ** 2 / plain
    return bool(np.mean(before - lost) / 2 > BETTER)


def _fit(target: int, levels: Floats, now: Floats, line: Floats, spread: Floats) -> Switches:
    """One switch from its values and what the line expected."""
    known = np.isfinite(now) & np.isfinite(line)
    now, line = now[known], line[known]
    gap = np.diff(levels)
    above = levels - levels[0]
    curves = [
        _logistic(line, np.clip((now - low) / step, 0.0, 1.0))
        for low, step in zip(levels[:-1].tolist(), gap.tolist(), strict=True)
    ]
    steps = len(gap)
    switch = Switches(
        target=np.array([target], dtype=np.intp),
        first=np.zeros(1, dtype=np.intp),
        low=levels[:1].copy(),
        spread=spread[[target]],
        factor=np.ones(1),
        least=np.array([SURE * (1.0 - SURE) * float(gap.min()) ** 2]),
        column=np.zeros(steps, dtype=np.intp),
        offset=np.array([offset for offset, _ in curves]),
        slope=np.array([slope for _, slope in curves]),
        gap=gap,
        square=np.diff(above**2),
    )
    mean, variance = switch._moments(line[:, None])
    left = (now - levels[0] - mean[:, 0]) / np.sqrt(variance[:, 0])
    size = float(np.sqrt(np.mean(left**2))) if len(left) else 1.0
    made = switch.arrays()
    made["factor"] = np.array([1.0 / size if size > 0 else 1.0])
    made["column"] = np.full(steps, target, dtype=np.intp)
    return Switches.from_arrays(made)


def _logistic(line: Floats, share: Floats) -> tuple[float, float]:
    """Offset and slope of the logistic curve from a line's expectation to a share."""
    if not len(line):
        return 0.0, 0.0
    centre, size = float(line.mean()), float(line.std()) or 1.0
    design = np.column_stack([np.ones(len(line)), (line - centre) / size])
    pull = np.diag([1e-3, PULL])
    beta, step = np.zeros(2), np.zeros(2)
    worst = np.inf
    for _ in range(ROUNDS):
        exponent = np.clip(design @ beta, -STEEPEST, STEEPEST)
        lost = float(np.sum(np.logaddexp(0.0, exponent) - share * exponent)) + 0.5 * float(
            beta @ pull @ beta
        )
        if lost > worst:
            # Newton went too far: half the step.
            step = step / 2
            beta = beta - step
            continue
        if worst - lost < 1e-9 * len(line):
            break
        worst = lost
        chance = 1.0 / (1.0 + np.exp(-exponent))
        weight = chance * (1.0 - chance)
        curvature = (design * weight[:, None]).T @ design + pull
        step = np.linalg.solve(curvature, design.T @ (share - chance) - pull @ beta)
        beta = beta + step
    slope = float(beta[1]) / size
    return float(beta[0]) - slope * centre, slope


def _join(parts: Sequence[Switches]) -> Switches:
    """Several switches as one set."""
    joined = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Switches)
    }
    joined["first"] = np.cumsum([0] + [len(part.gap) for part in parts], dtype=np.intp)[:-1]
    return Switches.from_arrays(joined)
