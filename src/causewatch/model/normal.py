"""`NormalModel`: an immutable account of healthy behaviour."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from causewatch.data import Clock, SourceFile, Writing, format_tick
from causewatch.detectors import Equations
from causewatch.discovery import Knowledge, LaggedMoments, LinkConfidence
from causewatch.errors import listing
from causewatch.graph import CausalGraph, Link
from causewatch.markup import bold, facts, grid
from causewatch.model.watching import Watching
from causewatch.preprocess import Finding, Preprocessing

__all__ = ["MOST_MOMENTS", "Mechanism", "NormalModel", "Provenance", "kept_moments"]

MOST_MOMENTS = 40_000_000
"""Bytes of moments that a model carries at most."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """How one signal follows from its causes: ``intercept + Σ coefficient · source[lag ago]``.

    Attributes
    ----------
    target
        The signal.
    coefficients
        By link into the target, in the signals' own units.
    intercept
        What is added.
    spread
        Standard deviation of what the causes leave unexplained.
    explained
        Share of the signal's variance that the causes explain.
    """

    target: str
    coefficients: Mapping[Link, float]
    intercept: float
    spread: float
    explained: float


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a model comes from.

    Attributes
    ----------
    files
        Name, SHA-256 and number of rows of every file.
    rows, ticks, windows
        Rows read, ticks made of them, and windows that discovery rests on.
    first, last
        Times of the first and the last row.
    created
        When the model was learnt, ISO 8601 in UTC.
    versions
        Of causewatch, Python and the libraries that compute.
    settings
        What was asked for.
    writing
        How the files are written, which decides what later ones leave open; None if not known.
    predecessors
        Fingerprints of the models that this one came of by updates, the first one first.
    """

    files: tuple[Mapping[str, Any], ...]
    rows: int
    ticks: int
    windows: int
    first: str
    last: str
    created: str
    versions: Mapping[str, str]
    settings: Mapping[str, Any]
    writing: Writing | None = None
    predecessors: tuple[str, ...] = ()


@dataclass(frozen=True)
class NormalModel:
    """What was learnt from a recording of normal operation.

    Attributes
    ----------
    preset
        ``default`` or ``paper``.
    preprocessing
        How rows become ticks.
    graph
        Which signals cause which others.
    mechanisms
        By signal: the regression on its causes.
    centre, scale
        Mean and standard deviation of each signal.
    interval
        Usual time between two rows of the recording, in seconds.
    clock
        What its times count.
    knowledge
        What was known about the plant beforehand.
    report
        Data quality and assumptions: what was found, what it means, what to do.
    positions
        Where each signal stands in pictures of the graph.
    watching
        Alarm limits, habits of the signals, and what else watching needs.
    provenance
        Where the model comes from.
    moments
        Lagged moments of the recordings it was learnt from, to which later ones can be added; None
        where they would be too large to keep, or not enough (`paper`).
    confidence
        How the links fare in replicas of the recording; empty unless that was asked for.
    """

    preset: str
    preprocessing: Preprocessing
    graph: CausalGraph
    mechanisms: Mapping[str, Mechanism]
    centre: Mapping[str, float]
    scale: Mapping[str, float]
    interval: float
    clock: Clock
    knowledge: Knowledge
    report: tuple[Finding, ...]
    positions: Mapping[str, tuple[float, float]]
    watching: Watching
    provenance: Provenance
    moments: LaggedMoments | None = None
    confidence: Mapping[Link, LinkConfidence] = field(default_factory=dict)

    def learnt_from(self, files: Iterable[SourceFile]) -> list[str]:
        """Names of those files that the model was learnt from, by their content."""
        known = {file["sha256"] for file in self.provenance.files}
        return [file.name for file in files if file.sha256 in known]

    @cached_property
    def fingerprint(self) -> str:
        """What identifies the model: equal models have equal ones."""
        digest = hashlib.sha256()
        equations = self.equations
        digest.update("\0".join([self.preset, *self.signals, self.provenance.created]).encode())
        for array in (equations.source, equations.target, equations.lag, equations.coefficient):
            digest.update(np.ascontiguousarray(array).tobytes())
        if self.watching.limits is not None:
            digest.update(self.watching.limits.statistics.tobytes())
        if self.watching.factor != 1.0:
            digest.update(repr(self.watching.factor).encode())
        return digest.hexdigest()[:16]

    def succeeds(self, fingerprint: str) -> bool:
        """Whether it came, by updates, of the model with this fingerprint."""
        return fingerprint in self.provenance.predecessors

    @cached_property
    def equations(self) -> Equations:
        """The mechanisms as arrays, for code that runs at every tick."""
        place = {name: k for k, name in enumerate(self.signals)}
        links = list(self.graph)
        return Equations(
            signals=len(self.signals),
            max_lag=self.preprocessing.max_lag,
            source=np.array([place[link.source] for link in links], dtype=np.intp),
            target=np.array([place[link.target] for link in links], dtype=np.intp),
            lag=np.array([link.lag for link in links], dtype=np.intp),
            coefficient=np.array([self.mechanisms[k.target].coefficients[k] for k in links]),
            intercept=np.array([self.mechanisms[name].intercept for name in self.signals]),
            spread=self.watching.spread,
        )

    @property
    def signals(self) -> tuple[str, ...]:
        """Signals in the model."""
        return self.preprocessing.signals

    @property
    def columns(self) -> tuple[str, ...]:
        """Signals of the recording learnt from, in its order: that of rows without names."""
        return self.preprocessing.columns

    @property
    def watched(self) -> tuple[str, ...]:
        """Signals that a monitor watches: those in the model, then the guarded ones."""
        return (*self.signals, *self.watching.guarded)

    @property
    def tick(self) -> str:
        """Length of a tick for people: ``10 s``, or ``20 rows of 499 ms``."""
        return format_tick(self.preprocessing.every, self.interval, self.clock)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a ``.cwm`` file: it is there whole or not at all."""
        from causewatch.model.store import save

        save(self, path)

    def __reduce__(self) -> tuple[Callable[[bytes], NormalModel], tuple[bytes]]:
        """Pickled and copied is the content of the model's file, checked when it comes back."""
        from causewatch.model.store import pack, unpack

        return unpack, (pack(self),)

    def _repr_html_(self) -> str:
        origin = self.provenance
        weights = ("problem", "warning", "info")
        return (
            bold(repr(self))
            + facts(
                [
                    ("learnt from", f"{origin.rows:,} rows, {origin.first} to {origin.last}"),
                    ("ticks", f"{origin.ticks:,} of {self.tick}"),
                    ("signals", listing(self.signals)),
                    ("left out", listing(self.preprocessing.dropped)),
                ]
            )
            + self.graph._repr_html_()
            + grid(
                ("", "finding", "what to do"),
                sorted(
                    ((one.severity, one.text, one.remedy) for one in self.report),
                    key=lambda row: weights.index(row[0]),
                ),
            )
        )

    def __repr__(self) -> str:
        return (
            f"NormalModel({len(self.signals)} signals, {len(self.graph)} links,"
            f" every {self.preprocessing.every:g} s, max_lag {self.preprocessing.max_lag})"
        )


def kept_moments(moments: LaggedMoments) -> LaggedMoments | None:
    """The moments, if they are small enough for a model to carry."""
    return moments if moments.bytes <= MOST_MOMENTS else None
