"""Signals with two or a few values: what to expect of them, and how surprising a value is.

A straight line through the causes of a switch expects values that it never takes, and its errors
are not the same size throughout. So each step from one level to the next gets a logistic curve of
the same causes: how likely the signal is above it. What is expected is then a mean between the
levels. Near certainty a switch is rarely wrong, half-way it often is, and the innovation is divided
accordingly: one that nobody expected is a surprise, one that could go either way is none.

Averaging rows to ticks gives such a signal values between its levels. They count as shares of the
way from one level to the next, which the same curves describe; only the size of the error differs,
and that is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations

__all__ = ["Switches", "find_switches", "levels_of", "thinned"]

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
"""Ticks needed on either side of a step, in each half of the recording."""
UNSURE = (0.002, 0.01, 0.03, 0.1, 0.3)
"""How far from certain a switch is at least; what suits its normal ticks best is taken. Averages of
rows over a change are between the levels however certain the change was."""
POWER = 0.35
"""Power of the variance by which innovations are divided. One half would give them the same
variance throughout, but then rare surprises drown everything else; with nothing, they drown."""
STEEPEST = 30.0
"""Largest exponent of a logistic curve."""
PULL = 1.0
"""Weight, in ticks, that pulls a curve towards flat: it stays finite where nothing is uncertain."""
ROUNDS = 25
BETTER = 0.01
"""Gain in log-likelihood per tick that both halves of the recording must show."""


@dataclass(frozen=True, eq=False)
class Switches:
    """Which signals are switches, and the curve of each step between two of their levels.

    Attributes
    ----------
    target
        Columns of the switches, in order.
    first
        Number of the first step of each.
    low, size
        Lowest level of each, and the way to the highest.
    unsure
        Of each: no share of that way below this, or as close to one, counts as more certain.
    factor
        Of each: what brings its innovations to unit variance on normal ticks.
    gap
        Height of each step, by switch and from the lowest up.
    offset
        Of each step: its probability is ``1 / (1 + exp(−offset − Σ weight · cause))``.
    first_term
        Number of the first term of each step.
    link, weight
        Of each term, by step: the link from the cause, and its weight.
    """

    target: Ints
    first: Ints
    low: Floats
    size: Floats
    unsure: Floats
    factor: Floats
    gap: Floats
    offset: Floats
    first_term: Ints
    link: Ints
    weight: Floats

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything by name, for storing."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Switches:
        """The opposite of `arrays`."""
        whole = ("target", "first", "first_term", "link")
        given: dict[str, Any] = {
            field.name: np.asarray(
                arrays[field.name], dtype=np.intp if field.name in whole else np.float64
            )
            for field in fields(cls)
        }
        return cls(**given)

    def add(self, expected: Floats, causes: Floats) -> Floats:
        """`expected` with the switches' own in place of what lines expect, in place.

        Parameters
        ----------
        expected
            What the other mechanisms expect: one value for each signal, for one tick or many.
        causes
            The value of each link's source at its lag; where one is missing (NaN), so is what is
            expected of its target.
        """
        expected[..., self.target] = self._means(causes)
        return expected

    def rescale(self, innovation: Floats, expected: Floats) -> Floats:
        """Innovations with those of the switches in units that depend on what was expected.

        Parameters
        ----------
        innovation
            In spreads, one tick or many; it is not changed.
        expected
            What `add` said, of the same shape.
        """
        rescaled = innovation.copy()
        rescaled[..., self.target] *= self._scales(expected[..., self.target])
        return rescaled

    def refitted(self, equations: Equations, stretches: Sequence[Floats]) -> Switches:
        """The same switches with curves fitted to other ticks.

        Parameters
        ----------
        equations
            The same links, with the spreads in which innovations will be given.
        stretches
            Ticks × signals.
        """
        found = []
        stops = [*self.first[1:].tolist(), len(self.gap)]
        for k, (first, stop) in enumerate(zip(self.first.tolist(), stops, strict=True)):
            target = int(self.target[k])
            levels = self.low[k] + np.cumsum([0.0, *self.gap[first:stop]])
            now, causes = thinned(equations, stretches, target)
            links = equations.links_into(target)
            found.append(_fit(levels, now, causes, float(equations.spread[target]), links, target))
        return _join(found)

    def _means(self, causes: Floats) -> Floats:
        """What is expected of each switch."""
        terms = causes.take(self.link, axis=-1, mode="clip")
        terms *= self.weight
        exponent = np.add.reduceat(terms, self.first_term, axis=-1)
        exponent += self.offset
        np.minimum(exponent, STEEPEST, out=exponent)
        np.maximum(exponent, -STEEPEST, out=exponent)
        chance = self.gap / (1.0 + np.exp(-exponent))
        means = np.add.reduceat(chance, self.first, axis=-1)
        means += self.low
        return np.asarray(means)

    def _scales(self, mean: Floats) -> Floats:
        """What innovations are multiplied by where these means were expected."""
        share = mean - self.low
        share /= self.size
        np.maximum(share, self.unsure, out=share)
        np.minimum(share, 1.0 - self.unsure, out=share)
        share *= 1.0 - share
        share **= -POWER
        share *= self.factor
        return share


def find_switches(equations: Equations, stretches: Sequence[Floats]) -> Switches | None:
    """The signals that are better described as switches, by their fit to ticks held out.

    Parameters
    ----------
    equations
        The mechanisms, without switches.
    stretches
        Normal ticks × signals; lags do not reach from one stretch into the next.

    Returns
    -------
    Switches | None
        None if there are none.
    """
    found = []
    for target in np.unique(equations.target).tolist():
        now, causes = thinned(equations, stretches, target)
        levels = levels_of(now)
        if levels is None or not _each_side(now, levels):
            continue
        links = equations.links_into(target)
        line = causes @ equations.coefficient[links] + equations.intercept[target]
        given = levels, now, causes, float(equations.spread[target]), links, target
        half = len(now) // 2
        halves = slice(0, half), slice(half, None)
        if all(_better(*given[:4], line, a, b) for a, b in (halves, halves[::-1])):
            found.append(_fit(*given))
    return _join(found) if found else None


def levels_of(values: Floats) -> Floats | None:
    """The two or few values that a signal takes, in order; None if it is not a switch.

    Values between the levels are fine (they come from averaging), values beyond them are not.
    """
    seen = values[np.isfinite(values)]
    size = float(np.ptp(seen)) if len(seen) else 0.0
    if size == 0:
        return None
    low = float(seen.min())
    places, counts = np.unique(np.round((seen - low) / size, DIGITS), return_counts=True)
    if len(places) > MOST_LEVELS:
        heavy = counts >= ATOM * len(seen)
        ends = np.zeros_like(heavy)
        ends[[0, -1]] = True
        if not heavy[ends].all():
            return None
        # Averages of a switch crowd at certain shares of the way, too: two levels are tried first.
        enough = [at for at in (ends, heavy) if counts[at].sum() >= AT_LEVELS * len(seen)]
        if not enough or enough[0].sum() > MOST_LEVELS:
            return None
        places = places[enough[0]]
    return np.asarray(low + places * size)


def thinned(
    equations: Equations, stretches: Sequence[Floats], target: int
) -> tuple[Floats, Floats]:
    """Values of a signal and of its causes at the same ticks, `MOST_TICKS` or fewer.

    If there are more, every second, third … one is taken; ticks with missing values are left out.
    """
    reach, links = equations.max_lag, equations.links_into(target)
    every = max(1, -(-sum(max(0, len(rows) - reach) for rows in stretches) // MOST_TICKS))
    now, causes = [np.empty(0)], [np.empty((0, len(links)))]
    for rows in stretches:
        at = np.arange(reach, len(rows), every)
        now.append(rows[at, target])
        causes.append(rows[at[:, None] - equations.lag[links], equations.source[links]])
    values, sources = np.concatenate(now), np.concatenate(causes)
    known = np.isfinite(values) & np.isfinite(sources).all(axis=1)
    return values[known], sources[known]


def _each_side(now: Floats, levels: Floats) -> bool:
    """Whether both halves show enough ticks on either side of every step."""
    half = len(now) // 2
    return all(
        LEAST_EACH <= int((part > middle).sum()) <= len(part) - LEAST_EACH
        for part in (now[:half], now[half:])
        for middle in (levels[1:] + levels[:-1]) / 2
    )


def _better(
    levels: Floats,
    now: Floats,
    causes: Floats,
    spread: float,
    line: Floats,
    fitted: slice,
    held: slice,
) -> bool:
    """Whether a switch fitted to some ticks describes others better than the line does."""
    links = np.arange(causes.shape[1])
    switch = _fit(levels, now[fitted], causes[fitted], spread, links, 0)
    after = _lost(switch, now[held], switch._means(causes[held]), spread)
    plain = float(np.var(now[fitted] - line[fitted]))
    before = float(np.mean(np.log(plain) + (now[held] - line[held]) ** 2 / plain))
    return before - after > 2.0 * BETTER


def _fit(
    levels: Floats, now: Floats, causes: Floats, spread: float, links: Ints, target: int
) -> Switches:
    """One switch from its values and those of its causes."""
    gap, steps, terms = np.diff(levels), len(levels) - 1, causes.shape[1]
    curves = [
        _logistic(causes, np.clip((now - low) / step, 0.0, 1.0))
        for low, step in zip(levels[:-1].tolist(), gap.tolist(), strict=True)
    ]
    local = Switches(
        target=np.array([target], dtype=np.intp),
        first=np.zeros(1, dtype=np.intp),
        low=levels[:1].copy(),
        size=levels[-1:] - levels[0],
        unsure=np.zeros(1),
        factor=np.ones(1),
        gap=gap,
        offset=np.array([offset for offset, _ in curves]),
        first_term=np.arange(steps, dtype=np.intp) * terms,
        link=np.tile(np.arange(terms, dtype=np.intp), steps),
        weight=np.concatenate([weight for _, weight in curves]),
    )
    mean = local._means(causes)
    tried = [
        _sized(replace(local, unsure=np.array([least])), now, mean, spread) for least in UNSURE
    ]
    best = min(tried, key=lambda one: _lost(one, now, mean, spread))
    return replace(best, link=links[local.link])


def _sized(switch: Switches, now: Floats, mean: Floats, spread: float) -> Switches:
    """A switch with the factor that gives its innovations unit variance."""
    left = (now - mean[:, 0]) / spread * switch._scales(mean)[:, 0]
    size = float(np.sqrt(np.mean(left**2))) if len(left) else 0.0
    return replace(switch, factor=np.array([1.0 / size if size > 0 else 1.0]))


def _lost(switch: Switches, now: Floats, mean: Floats, spread: float) -> float:
    """Twice the negative log-likelihood per tick, but for a constant."""
    if not len(now):
        return 0.0
    scale = switch._scales(mean)[:, 0] / spread
    return float(np.mean(((now - mean[:, 0]) * scale) ** 2 - 2.0 * np.log(scale)))


def _logistic(causes: Floats, share: Floats) -> tuple[float, Floats]:
    """Offset and weights of the logistic curve from causes to a share, by Newton's method."""
    if not len(share):
        return 0.0, np.zeros(causes.shape[1])
    centre, size = causes.mean(axis=0), causes.std(axis=0)
    size = np.where(size > 0, size, 1.0)
    design = np.column_stack([np.ones(len(share)), (causes - centre) / size])
    pull = np.full(design.shape[1], PULL)
    pull[0] = 1e-3

    def lost(beta: Floats) -> float:
        exponent = design @ beta
        return float(np.sum(np.logaddexp(0.0, exponent) - share * exponent) + pull @ beta**2 / 2)

    beta = np.zeros(design.shape[1])
    now = lost(beta)
    for _ in range(ROUNDS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ beta, -STEEPEST, STEEPEST)))
        curvature = (design * (chance * (1.0 - chance))[:, None]).T @ design + np.diag(pull)
        step = np.linalg.solve(curvature, design.T @ (share - chance) - pull * beta)
        # A whole step can go too far; a small enough one never does.
        after = lost(beta + step)
        while after > now and np.abs(step).max() > 1e-9:
            step /= 2
            after = lost(beta + step)
        if not after < now:
            break
        beta, gained, now = beta + step, now - after, after
        if gained < 1e-9 * len(share):
            break
    weight = beta[1:] / size
    return float(beta[0] - weight @ centre), weight


def _join(parts: Sequence[Switches]) -> Switches:
    """Several switches as one set."""
    joined = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Switches)
    }
    joined["first"] = np.cumsum([0] + [len(part.gap) for part in parts])[:-1]
    shifts = np.cumsum([0] + [len(part.link) for part in parts])[:-1]
    joined["first_term"] = np.concatenate(
        [part.first_term + shift for part, shift in zip(parts, shifts.tolist(), strict=True)]
    )
    return Switches.from_arrays(joined)
