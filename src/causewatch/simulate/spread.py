"""Faults spread at random over a recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate.faults import ADDING_FAULTS, FAULT_KINDS, Fault
from causewatch.simulate.system import RandomSystem, stream

__all__ = ["random_faults"]

CHOICE = 4
"""Spawn key of the random stream faults are drawn from."""

SHORTEST_SLOT = 20
"""Fewest rows for a fault together with the normal stretches around it."""

ATTEMPTS = 100
"""How many faults of a kind are drawn before it is said that none fits."""


def random_faults(
    system: RandomSystem,
    rows: int,
    count: int,
    seed: int,
    *,
    kinds: Sequence[str] | None = None,
) -> tuple[Fault, ...]:
    """Draw `count` faults, one after the other, with normal stretches before, between and after.

    Parameters
    ----------
    system
        Where the faults will be put in.
    rows
        How many rows the recording will have. Every fault takes a fifth to two fifths of its
        equal share of them.
    count
        How many faults. Each kind comes once before any comes a second time.
    seed
        The same seed draws the same faults.
    kinds
        The kinds to draw from; by default all that the system can have.
    """
    possible = system.fault_kinds
    kinds = possible if kinds is None else kinds
    for kind in kinds:
        if kind not in FAULT_KINDS:
            raise UnknownNameError(kind, "fault kind", FAULT_KINDS)
        if kind not in possible:
            message = (
                f"{system!r} cannot have a fault of kind {kind!r};"
                f" choose from {', '.join(possible)}."
            )
            raise SettingError(message)
    if count < 0 or (count and not kinds):
        message = (
            f"{count} faults of {len(kinds)} kinds cannot be drawn; ask for 0 faults or more, and"
            " name at least one kind."
        )
        raise SettingError(message)
    if count * SHORTEST_SLOT > rows:
        message = (
            f"{count} faults need at least {count * SHORTEST_SLOT} rows, but there are {rows};"
            " use more rows or fewer faults."
        )
        raise SettingError(message)
    random = stream(seed, CHOICE)
    rounds = -(-count // max(len(kinds), 1))
    order = [str(kind) for _ in range(rounds) for kind in random.permutation(kinds)][:count]
    edges = np.linspace(0, rows, count + 1).astype(int)
    faults = []
    for kind, low, high in zip(order, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        length = max(1, int((high - low) * random.uniform(0.2, 0.4)))
        start = int(random.integers(low + (high - low) // 4, high - length - (high - low) // 8))
        faults.append(_draw(system, kind, start, start + length, random))
    return tuple(faults)


def _draw(
    system: RandomSystem, kind: str, start: int, end: int, random: np.random.Generator
) -> Fault:
    """A fault of this kind that suits the system and leaves it stable."""
    names = [
        name
        for name, two in zip(system.signals, system.two_valued, strict=True)
        if not (two and kind in ADDING_FAULTS)
    ]
    between = [link for link in system.graph if not link.is_auto]
    pairs = {(link.source, link.target) for link in system.graph}
    for _ in range(ATTEMPTS):
        signal = str(random.choice(names))
        source, lag = None, None
        if kind == "broken_link":
            link = between[int(random.integers(len(between)))]
            signal, source, lag = link.target, link.source, link.lag
        elif kind == "new_link":
            source, lag = (
                str(random.choice(system.signals)),
                int(random.integers(1, system.max_lag + 1)),
            )
            if (source, signal) in pairs or source == signal:
                continue
        elif kind == "mechanism" and not system.graph.parents(signal):
            continue
        fault = Fault(kind, signal, start, end, source=source, lag=lag)
        if system.growth_with(fault) < 1:
            return fault
    message = f"No fault of kind {kind!r} leaves {system!r} stable; leave this kind out."
    raise SettingError(message)
