"""Drawing the structure of a random system."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate.recursion import Edge, growth
from causewatch.simulate.system import RandomSystem, stream

__all__ = ["SYSTEM_KINDS", "random_system"]

SYSTEM_KINDS = ("linear", "nonlinear", "heavy", "binary", "modes")
"""Every kind of random system."""

STRUCTURE = 0
"""Spawn key of the random stream the structure is drawn from."""

LARGEST_GROWTH = 0.95
TWO_VALUED_SHARE = 0.3
BENT_SHARE = 0.5
"""Share of the links of a nonlinear system that are not linear."""

ABSENT_SHARE = 0.3
"""Share of the links of a system with modes that are absent in one of them."""


def random_system(
    signals: int = 10,
    *,
    links: int | None = None,
    max_lag: int = 3,
    kind: str = "linear",
    seed: int = 0,
    auto: bool = True,
    contemporaneous: float = 0.0,
) -> RandomSystem:
    """Draw a system of signals that cause each other with lags.

    Parameters
    ----------
    signals
        How many signals.
    links
        How many links between different signals, each pair linked at one lag at most; by default
        one and a half per signal.
    max_lag
        Largest lag.
    kind
        ``linear`` (stable, Gaussian noise), ``nonlinear`` (half of the links through bounded
        functions), ``heavy`` (linear, noise with heavy tails), ``binary`` (nearly a third of the
        signals are two-valued and switch with a probability that depends on their causes), or
        ``modes`` (two or three operating modes that differ in levels and coefficients).
    seed
        The same seed draws the same system.
    auto
        Whether every signal depends on its own last value.
    contemporaneous
        Share of the links with lag 0; these never form a circle.

    Examples
    --------
    >>> system = random_system(5, links=4, seed=1)
    >>> system.simulate(100, seed=2).values.shape
    (100, 5)
    """
    count = _check(signals, links, max_lag, kind, contemporaneous)
    random = stream(seed, STRUCTURE)
    switches = max(1, round(TWO_VALUED_SHARE * signals)) if kind == "binary" else 0
    two_valued = np.arange(signals) >= signals - switches
    modes = int(random.integers(2, 4)) if kind == "modes" else 1

    edges = []
    for source, target, lag in _places(random, two_valued, count, max_lag, contemporaneous):
        bent = kind == "nonlinear" and random.random() < BENT_SHARE
        function = str(random.choice(["tanh", "bend", "sine"])) if bent else "linear"
        low, high = (0.25, 0.5)
        if bent or two_valued[source] or two_valued[target]:
            low, high = (0.5, 0.8)
        size = float(random.choice([-1, 1]) * random.uniform(low, high))
        function = "switch" if two_valued[source] else function
        edges.append(Edge(source, target, lag, function, _by_mode(random, size, modes)))
    if auto:
        for k in range(signals):
            low, high = (0.9, 1.4) if two_valued[k] else (0.3, 0.7)
            size = float(random.uniform(low, high))
            function = "switch" if two_valued[k] else "linear"
            edges.append(Edge(k, k, 1, function, (size,) * modes))
    # A coefficient scaled by s to the power of its lag scales all growth by s.
    shrink = min(1.0, LARGEST_GROWTH / max(growth(edges, two_valued, max_lag), 1e-12))
    intercepts = np.zeros((modes, signals))
    if modes > 1:
        intercepts[1:] = random.normal(0.0, 1.0, (modes - 1, signals))
    return RandomSystem(
        signals=_names(two_valued),
        kind=kind,
        seed=seed,
        max_lag=max_lag,
        edges=tuple(edge.times(shrink**edge.lag) for edge in edges),
        intercepts=intercepts,
        two_valued=two_valued,
        heavy_tailed=kind == "heavy",
    )


def _check(signals: int, links: int | None, max_lag: int, kind: str, contemporaneous: float) -> int:
    """Number of links between different signals; raise if a setting makes no sense."""
    if kind not in SYSTEM_KINDS:
        raise UnknownNameError(kind, "kind of random system", SYSTEM_KINDS)
    if kind == "binary" and signals < 2:
        message = f"A binary system needs at least 2 signals, not {signals}."
        raise SettingError(message)
    if signals < 1:
        message = f"A random system needs at least 1 signal, not {signals}."
        raise SettingError(message)
    if max_lag < 1:
        message = f"The largest lag is {max_lag}, but it must be 1 or more."
        raise SettingError(message)
    most = signals * (signals - 1)
    count = min(round(1.5 * signals), most) if links is None else links
    if not 0 <= count <= most:
        message = f"{signals} signals can have 0 to {most} links between them, not {count}."
        raise SettingError(message)
    if not 0 <= contemporaneous <= 1 or round(contemporaneous * count) > most // 2:
        message = (
            f"The share of contemporaneous links is {contemporaneous}, but it must be between 0 and"
            f" 1 and give at most {most // 2} of the {count} links, for they must form no circle."
        )
        raise SettingError(message)
    return count


def _places(
    random: np.random.Generator,
    two_valued: NDArray[np.bool_],
    count: int,
    max_lag: int,
    contemporaneous: float,
) -> list[tuple[int, int, int]]:
    """Source, target and lag of `count` links, no pair twice.

    Two-valued signals come first, so that each of them has a cause and an effect if `count` allows.
    """
    size = len(two_valued)
    rank = random.permutation(size)
    pairs = random.permutation([(a, b) for a in range(size) for b in range(size) if a != b])
    instant = round(contemporaneous * count)
    chosen = [(int(a), int(b), 0) for a, b in pairs if rank[a] < rank[b]][:instant]
    taken = {(a, b) for a, b, _ in chosen}
    numbers = np.flatnonzero(~two_valued)
    wanted = [
        pair
        for k in np.flatnonzero(two_valued)
        for pair in ((k, random.choice(numbers)), (random.choice(numbers), k))
    ]
    for a, b in [*wanted, *pairs]:
        pair = (int(a), int(b))
        if len(chosen) < count and pair not in taken:
            taken.add(pair)
            chosen.append((*pair, int(random.integers(1, max_lag + 1))))
    return chosen


def _by_mode(random: np.random.Generator, size: float, modes: int) -> tuple[float, ...]:
    """Coefficients by mode: full in the first, possibly weaker or, in one of them, absent later."""
    if modes == 1:
        return (size,)
    factors = random.choice([1.0, random.uniform(0.3, 0.9)], modes)
    factors[0] = 1.0
    if random.random() < ABSENT_SHARE:
        factors[random.integers(1, modes)] = 0.0
    return tuple((size * factors).tolist())


def _names(two_valued: NDArray[np.bool_]) -> tuple[str, ...]:
    width = max(2, len(str(len(two_valued))))
    numbers = int((~two_valued).sum())
    return tuple(
        f"A{k - numbers + 1:0{width}d}" if two else f"S{k + 1:0{width}d}"
        for k, two in enumerate(two_valued)
    )
