"""Detectors as the league runs them: as shipped, or with one part left out.

The parts of the default detector have no settings; they are left out by replacing what they are
made of in the modules that use it. `plain` and `p2` have settings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest.mock import patch

from causewatch.detectors import calibration, innovation, statistics
from causewatch.discovery import Pcmci
from causewatch.evaluation.baselines import causal
from causewatch.evaluation.baselines.base import Detector
from causewatch.evaluation.baselines.catalogue import make
from causewatch.evaluation.baselines.causal import Default
from causewatch.evaluation.baselines.plain import P2, Plain
from causewatch.graph import CausalGraph
from causewatch.model import learn, watching
from causewatch.monitor import AlarmSettings, monitor, patience, settling

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

    @contextlib.contextmanager
    def ready(self) -> Iterator[Detector]:
        """A fresh detector; the part is left out as long as the context lasts."""
        if not self.without:
            yield make(self.detector)
        elif self.detector == "default":
            with contextlib.ExitStack() as stack:
                yield _DEFAULT[self.without](stack)
        else:
            yield _PLAIN[self.detector][self.without]()


# The parts of the default detector

Ablation = Callable[[contextlib.ExitStack], Detector]


def _memories(**changed: tuple[int, ...]) -> Ablation:
    """Memories of some families of statistics replaced."""

    def leave_out(stack: contextlib.ExitStack) -> Detector:
        usual = statistics.memories_for
        stack.enter_context(
            patch.object(calibration, "memories_for", lambda ticks: usual(ticks) | changed)
        )
        return make("default")

    return leave_out


def _no_level(stack: contextlib.ExitStack) -> Detector:
    layout = partial(statistics.Layout, level=False)
    stack.enter_context(patch.object(calibration, "Layout", layout))
    return make("default")


def _no_drift(stack: contextlib.ExitStack) -> Detector:
    for place in (innovation, calibration):
        stack.enter_context(patch.object(place, "DRIFT_RATE", 0.0))
    for function in (
        innovation.InnovationDetector.__init__,
        calibration.calibrate,
        calibration.scores_of,
    ):
        stack.enter_context(patch.dict(function.__kwdefaults__, drift_rate=0.0))
    return make("default")


def _no_settling(stack: contextlib.ExitStack) -> Detector:
    stack.enter_context(patch.object(settling, "SHARE", 0.0))
    return make("default")


def _no_letting_go(stack: contextlib.ExitStack) -> Detector:
    options = innovation.InnovationDetector.__init__.__kwdefaults__
    stack.enter_context(patch.dict(options, lets_go=False))
    return make("default")


def _no_patience(stack: contextlib.ExitStack) -> Detector:
    stack.enter_context(patch.object(patience.Patience, "update", lambda *given: None))
    return make("default")


def _no_curves(stack: contextlib.ExitStack) -> Detector:
    stack.enter_context(patch.object(watching, "choose_curves", lambda *given: None))
    return make("default")


def _no_switches(stack: contextlib.ExitStack) -> Detector:
    stack.enter_context(patch.object(watching, "find_switches", lambda *given: None))
    return make("default")


def _no_guards(stack: contextlib.ExitStack) -> Detector:
    stack.enter_context(
        patch.object(monitor.Guards, "update", lambda self, values, others=None: 0.0 * self._low)
    )
    return make("default")


class _OwnLinks:
    """Discovery that keeps only the links of a signal to its own past."""

    def discover(self, ticks, moments, *, constraints=None, progress=None):  # type: ignore[no-untyped-def]
        graph = Pcmci(alpha=0.001, parents_alpha=0.2, above_mean=True).discover(
            ticks, moments, constraints=constraints, progress=progress
        )
        links = {link: facts for link, facts in graph.links.items() if link.source == link.target}
        return CausalGraph(graph.signals, links)


def _no_other_causes(stack: contextlib.ExitStack) -> Detector:
    stack.enter_context(patch.object(causal, "learn", partial(learn, method=_OwnLinks())))
    return make("default")


def _no_cool_down(stack: contextlib.ExitStack) -> Detector:
    del stack
    return Default(settings=AlarmSettings(cool_down=0, merge_within=0))


_DEFAULT: dict[str, Ablation] = {
    "memory 8": _memories(mean=(1, 32, 128)),
    "memories over 8": _memories(mean=(1, 8), variance=(8,), coefficient=()),
    "variances": _memories(variance=()),
    "coefficients": _memories(coefficient=()),
    "level": _no_level,
    "letting go": _no_letting_go,
    "drift following": _no_drift,
    "settling": _no_settling,
    "patience": _no_patience,
    "curves": _no_curves,
    "switches": _no_switches,
    "guards": _no_guards,
    "other signals": _no_other_causes,
    "cool-down and merging": _no_cool_down,
}


def _plain(kind: type[Plain], **changed: Any) -> Callable[[], Detector]:
    return lambda: kind(replace(kind().settings, **changed))


_PLAIN: dict[str, dict[str, Callable[[], Detector]]] = {
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

ABLATED: dict[str, tuple[str, ...]] = {
    "default": tuple(_DEFAULT),
    "plain": tuple(_PLAIN["plain"]),
    "p2": tuple(_PLAIN["p2"]),
}
"""What can be left out of which detector."""
