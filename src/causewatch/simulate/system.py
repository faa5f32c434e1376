"""A random lagged system whose causes are known, and the recordings it produces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.simulate.faults import FAULT_KINDS, SENSOR_FAULTS, Fault, check_faults
from causewatch.simulate.recursion import Edge, Hold, Reading, growth, run

__all__ = ["RandomSystem", "Simulation"]

Floats = NDArray[np.float64]

NOISE, MODES, FAULTS = 1, 2, 3
"""Spawn keys of the random streams of a simulation; the structure of a system has key 0."""

REFERENCE_ROWS = 10_000
"""Rows from which the normal standard deviation of a signal is taken."""

SHORTEST_SOJOURN, EXTRA_SOJOURN = 100, 200
"""Fewest rows in one operating mode, and the mean of what comes on top."""


def stream(seed: int, *key: int) -> np.random.Generator:
    """A random generator of its own for every `seed` and `key`."""
    if seed < 0:
        message = f"The seed is {seed}, but it must be 0 or larger."
        raise SettingError(message)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


@dataclass(frozen=True, eq=False)
class Simulation:
    """What was recorded, and the truth about it.

    Attributes
    ----------
    signals
        Column names.
    values
        Rows × signals as measured; NaN where a sensor dropped out.
    labels
        One number per row: 1 while a fault is on, 0 otherwise.
    faults
        The faults that were put in, by start.
    modes
        Operating mode by row; 0 throughout for systems with one mode.
    """

    signals: tuple[str, ...]
    values: Floats
    labels: NDArray[np.int8]
    faults: tuple[Fault, ...]
    modes: NDArray[np.intp]

    @property
    def causes(self) -> list[dict[str, Any]]:
        """The faults as ``causes.json`` has them: name, start, end (half-open rows), signals."""
        return [fault.cause for fault in self.faults]


@dataclass(frozen=True, eq=False)
class RandomSystem:
    """Signals that cause each other with lags, drawn at random; see `random_system`.

    Attributes
    ----------
    signals
        Names: ``S01`` … for numbers, ``A01`` … for two-valued signals (0 and 1).
    kind
        What sort of system it is.
    seed
        What it was drawn from.
    max_lag
        Largest lag a link may have.
    edges
        The links by column number, with function and coefficients.
    intercepts
        Modes × signals.
    two_valued
        Which signals only take 0 and 1.
    heavy_tailed
        Whether the noise is Student's t with 3 degrees of freedom instead of Gaussian (both with
        unit variance).
    """

    signals: tuple[str, ...]
    kind: str
    seed: int
    max_lag: int
    edges: tuple[Edge, ...]
    intercepts: Floats
    two_valued: NDArray[np.bool_]
    heavy_tailed: bool = False

    def __repr__(self) -> str:
        return (
            f"RandomSystem({self.kind}, {len(self.signals)} signals, {len(self.edges)} links,"
            f" seed {self.seed})"
        )

    @cached_property
    def graph(self) -> CausalGraph:
        """The true links, auto links included, each with its coefficient.

        With several operating modes it is the union over the modes, each link with the coefficient
        of largest size.
        """
        names = self.signals
        return CausalGraph(
            names,
            {
                Link(names[e.source], names[e.target], e.lag): Strength(e.strongest, 0.0)
                for e in self.edges
            },
        )

    @cached_property
    def scales(self) -> Floats:
        """Normal standard deviation of every signal, from a reference run."""
        normal = self.simulate(REFERENCE_ROWS, seed=self.seed).values
        spread: Floats = normal.std(axis=0)
        return np.where(self.two_valued, 0.5, spread)

    @property
    def fault_kinds(self) -> tuple[str, ...]:
        """The kinds of faults this system can have; most need links, or room for a new one."""
        between = {(link.source, link.target) for link in self.graph if not link.is_auto}
        size = len(self.signals)
        impossible = {
            "mechanism": not self.edges,
            "broken_link": not between,
            "new_link": len(between) == size * (size - 1),
        }
        return tuple(kind for kind in FAULT_KINDS if not impossible.get(kind, False))

    def simulate(
        self, rows: int, *, seed: int, faults: Iterable[Fault] = (), burn_in: int = 500
    ) -> Simulation:
        """Record `rows` rows.

        The same `seed` always gives the same numbers. A fault changes nothing before its start, and
        the noise is the same with and without it.

        Parameters
        ----------
        rows
            How many rows to record.
        seed
            Of noise, operating modes and noisy faults.
        faults
            What goes wrong and when.
        burn_in
            Rows computed and thrown away before the first one, so that the start is forgotten.
        """
        if rows < 1 or burn_in < 0:
            message = (
                f"A simulation needs at least 1 row and a burn-in of 0 or more, not {rows} rows"
                f" and a burn-in of {burn_in}."
            )
            raise SettingError(message)
        noise_stream = stream(seed, NOISE)
        ordered = tuple(sorted(faults, key=lambda fault: (fault.start, fault.signal)))
        self._check(ordered, rows)
        first = self.max_lag
        skipped = first + burn_in
        size = (skipped + rows, len(self.signals))
        modes = self._modes(len(self.intercepts), size[0], stream(seed, MODES))
        if self.heavy_tailed:
            drive = noise_stream.standard_t(3, size) / np.sqrt(3)
        else:
            drive = noise_stream.standard_normal(size)
        drive += self.intercepts[modes]
        drive[:first] = 0.0

        shifted = [replace(f, start=f.start + skipped, end=f.end + skipped) for f in ordered]
        readings = {
            fault: self._reading(fault, stream(seed, FAULTS, k))
            for k, fault in enumerate(shifted)
            if fault.kind in SENSOR_FAULTS
        }
        with np.errstate(over="ignore", invalid="ignore"):
            values = run(
                drive,
                first=first,
                edges=lambda row: self._edges([f for f in shifted if f.start <= row < f.end]),
                changes=[row for fault in shifted for row in (fault.start, fault.end)],
                modes=modes,
                two_valued=self.two_valued,
                max_lag=self.max_lag,
                holds=[self._hold(f) for f in shifted if f.kind == "actuator_stuck"],
                readings=[reading for fault, reading in readings.items() if fault.feeds_back],
            )
        if not np.isfinite(values).all():
            message = "The faults together let the system grow without bound; use smaller sizes."
            raise SettingError(message)
        measured = [(reading, reading(values)) for reading in readings.values()]
        for reading, wrong in measured:
            values[reading.start : reading.end, reading.column] = wrong
        labels = np.zeros(rows, dtype=np.int8)
        for fault in ordered:
            labels[fault.start : fault.end] = 1
        return Simulation(self.signals, values[skipped:], labels, ordered, modes[skipped:])

    def growth_with(self, fault: Fault) -> float:
        """By what factor the system grows per row while `fault` is on; it is stable below 1."""
        edges = self._edges([fault])
        if fault.kind == "actuator_stuck" or (fault.kind == "stuck" and fault.feeds_back):
            edges = tuple(e for e in edges if self.signals[e.source] != fault.signal)
        return growth(edges, self.two_valued, self.max_lag)

    def _check(self, faults: tuple[Fault, ...], rows: int) -> None:
        switches = [n for n, two in zip(self.signals, self.two_valued, strict=True) if two]
        check_faults(faults, self.signals, switches, rows)
        for fault in faults:
            self._check_links(fault)
            if fault.kind not in SENSOR_FAULTS or fault.feeds_back:
                factor = self.growth_with(fault)
                if factor >= 1:
                    message = (
                        f"Fault {fault.title!r} would let the system grow {factor:.2f}-fold per"
                        " row; use a smaller size or another link."
                    )
                    raise SettingError(message)

    def _check_links(self, fault: Fault) -> None:
        parents = self.graph.parents(fault.signal)
        listed = ", ".join(str(link) for link in parents) or "none"
        if fault.kind == "mechanism" and not parents:
            message = f"{fault.signal} has no links into it, so no mechanism that could change."
            raise SettingError(message)
        if fault.kind == "broken_link" and not any(
            link.source == fault.source and fault.lag in (None, link.lag) for link in parents
        ):
            lag = "" if fault.lag is None else f" at lag {fault.lag}"
            message = (
                f"There is no link from {fault.source} to {fault.signal}{lag} that could break."
                f" Links into {fault.signal}: {listed}."
            )
            raise SettingError(message)
        if fault.kind == "new_link":
            lag_number = 1 if fault.lag is None else fault.lag
            if not 1 <= lag_number <= self.max_lag:
                message = (
                    f"The new link from {fault.source} to {fault.signal} has lag {lag_number},"
                    f" but this system takes lags from 1 to {self.max_lag}."
                )
                raise SettingError(message)
            if any(k.source == fault.source and k.lag == lag_number for k in parents):
                message = (
                    f"The link from {fault.source} to {fault.signal} at lag {lag_number} cannot be"
                    f" new, it exists already. Links into {fault.signal}: {listed}."
                )
                raise SettingError(message)

    def _edges(self, faults: list[Fault]) -> tuple[Edge, ...]:
        """The links while `faults` are on."""
        edges = self.edges
        for fault in faults:
            target = self.signals.index(fault.signal)
            if fault.kind == "mechanism":
                factor = 1 - fault.amount
                edges = tuple(e.times(factor) if e.target == target else e for e in edges)
            elif fault.kind == "broken_link":
                edges = tuple(
                    e.times(0.0)
                    if (self.signals[e.source], e.target) == (fault.source, target)
                    and fault.lag in (None, e.lag)
                    else e
                    for e in edges
                )
            elif fault.kind == "new_link":
                edges = (*edges, self._new_edge(fault, target))
        return edges

    def _new_edge(self, fault: Fault, target: int) -> Edge:
        source = self.signals.index(str(fault.source))
        coefficient = fault.amount
        if not self.two_valued[target]:
            coefficient *= float(self.scales[target])
        if not self.two_valued[source]:
            coefficient /= float(self.scales[source])
        function = "switch" if self.two_valued[source] else "linear"
        lag = 1 if fault.lag is None else fault.lag
        return Edge(source, target, lag, function, (coefficient,) * len(self.intercepts))

    def _moved(self, fault: Fault, before: float) -> float:
        """Where a signal whose value was `before` is when it gets stuck."""
        column = self.signals.index(fault.signal)
        if self.two_valued[column]:
            return 1.0 - before if fault.amount else before
        return before + fault.amount * float(self.scales[column])

    def _hold(self, fault: Fault) -> Hold:
        column = self.signals.index(fault.signal)
        return Hold(column, fault.start, fault.end, lambda before: self._moved(fault, before))

    def _reading(self, fault: Fault, random: np.random.Generator) -> Reading:
        """What the sensor shows during a sensor fault."""
        column = self.signals.index(fault.signal)
        rows = fault.end - fault.start
        if fault.kind == "stuck":
            return Reading(
                column,
                fault.start,
                fault.end,
                0.0,
                lambda before: np.full(rows, self._moved(fault, before)),
            )
        if fault.kind == "dropout":
            return Reading(column, fault.start, fault.end, np.nan, lambda _: np.zeros(rows))
        shape = {
            "bias": np.ones(rows),
            "drift": np.arange(1, rows + 1) / rows,
            "noise": random.standard_normal(rows),
        }[fault.kind]
        added = fault.amount * float(self.scales[column]) * shape
        return Reading(column, fault.start, fault.end, 1.0, lambda _: added)

    @staticmethod
    def _modes(count: int, rows: int, random: np.random.Generator) -> NDArray[np.intp]:
        """A mode for every row: each is kept for a while, then another one is taken."""
        out = np.zeros(rows, dtype=np.intp)
        mode, row = 0, 0
        while count > 1 and row < rows:
            stay = SHORTEST_SOJOURN + int(random.geometric(1 / EXTRA_SOJOURN))
            out[row : row + stay] = mode
            row += stay
            mode = (mode + int(random.integers(1, count))) % count
        return out
