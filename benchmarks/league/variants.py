"""Detectors as the league runs them: as shipped, or with one part left out by its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from causewatch.detectors import DetectorSettings
from causewatch.discovery import Pcmci
from causewatch.evaluation.baselines.base import Detector
from causewatch.evaluation.baselines.catalogue import make
from causewatch.evaluation.baselines.causal import Default
from causewatch.evaluation.baselines.plain import P2, Plain
from causewatch.graph import CausalGraph
from causewatch.monitor import AlarmSettings

__all__ = ["ABLATED", "DETECTORS", "Variant"]

DETECTORS = (
    "default", "plain", "p2", "var", "own_past", "pca", "dynamic_pca", "isolation_forest", "random",
)  # fmt: skip
"""The rows of the league."""


@dataclass(frozen=True)
class Variant:
    """A detector, and what is left out of it.

    Attributes
    ----------
    detector
        Its name.
    without
        The part that is left out; empty: none.
    """

    detector: str
    without: str = ""

    @property
    def name(self) -> str:
        """For tables and files."""
        return f"{self.detector} without {self.without}" if self.without else self.detector

    def make(self) -> Detector:
        """A fresh detector."""
        if not self.without:
            return make(self.detector)
        return _PARTS[self.detector][self.without]()


# The parts of the default detector


class _OwnLinks:
    """Discovery that keeps only the links of a signal to its own past."""

    def discover(self, ticks, moments, *, constraints=None, progress=None):  # type: ignore[no-untyped-def]
        graph = Pcmci(alpha=0.001, parents_alpha=0.2, above_mean=True).discover(
            ticks, moments, constraints=constraints, progress=progress
        )
        links = {link: facts for link, facts in graph.links.items() if link.source == link.target}
        return CausalGraph(graph.signals, links)


def _default(**changed: Any) -> Callable[[], Detector]:
    return lambda: Default(detector=DetectorSettings(**changed))


_DEFAULT: dict[str, Callable[[], Detector]] = {
    "memory 1": _default(means=(8,)),
    "memory 8": _default(means=(1,)),
    "squares": _default(squares=()),
    "standstill": _default(standstill=False),
    "guards": _default(guards=False),
    "lifts": _default(lifts=False),
    "cut memories": _default(memory_cut=1e6),
    "widened spreads": _default(widen_most=1.0),
    "own alarms": lambda: Default(settings=AlarmSettings(join_within=100_000)),
    "other signals": lambda: Default(method=_OwnLinks()),
}


def _plain(kind: type[Plain], **changed: Any) -> Callable[[], Detector]:
    return lambda: kind(replace(kind().settings, **changed))


_PARTS: dict[str, dict[str, Callable[[], Detector]]] = {
    "default": _DEFAULT,
    "plain": {
        "memory 8": _plain(Plain, means=(1,)),
        "guards": _plain(Plain, guards=False),
        "hold": _plain(Plain, hold=0),
    },
    "p2": {
        "memory 8": _plain(P2, means=(1,)),
        "squares": _plain(P2, squares=()),
        "standstill": _plain(P2, standstill=False),
        "bucket": _plain(P2, bucket=False),
        "guards": _plain(P2, guards=False),
        "hold": _plain(P2, hold=0),
    },
}

ABLATED: dict[str, tuple[str, ...]] = {name: tuple(parts) for name, parts in _PARTS.items()}
"""What can be left out of which detector."""
