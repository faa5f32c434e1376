"""Every detector that can be compared, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from causewatch.errors import UnknownNameError
from causewatch.evaluation.baselines.base import Detector

__all__ = ["DETECTORS", "Entry", "make"]

EXTRA = "baselines"
"""Installs scikit-learn, river and torch."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A detector that can be made.

    Attributes
    ----------
    what
        What it is, in a line.
    module, factory
        Where its class is; imported when it is made, since some need libraries that are extras.
    extra
        The extra of causewatch that it needs, or None.
    """

    what: str
    module: str
    factory: str
    extra: str | None = None

    def make(self) -> Detector:
        """A fresh detector."""
        module = import_module(f"causewatch.evaluation.baselines.{self.module}")
        factory: Callable[[], Detector] = getattr(module, self.factory)
        return factory()


DETECTORS: Mapping[str, Entry] = {
    "default": Entry("causewatch, default preset", "causal", "Default"),
    "paper": Entry("the published method, as its scripts do it", "causal", "Paper"),
    "plain": Entry("innovations given causes against their normal extremes", "plain", "Plain"),
    "p2": Entry("plain, with squares, standing still and lifted limits", "plain", "P2"),
    "pca": Entry("principal components: T² and Q", "linear", "Pca"),
    "dynamic_pca": Entry("principal components of ticks and their past", "linear", "DynamicPca"),
    "var": Entry("each signal from all signals' past, no causes chosen", "linear", "Var"),
    "own_past": Entry("each signal from its own past alone", "linear", "OwnPast"),
    "isolation_forest": Entry(
        "isolation forest over single ticks", "forests", "IsolationForest", EXTRA
    ),
    "half_space_trees": Entry(
        "half-space trees over single ticks", "forests", "HalfSpaceTrees", EXTRA
    ),
    "rnn": Entry("recurrent network that forecasts", "neural.forecasters", "Rnn", EXTRA),
    "tcn": Entry("convolutional network that forecasts", "neural.forecasters", "Tcn", EXTRA),
    "tce": Entry("convolutional autoencoder", "neural.autoencoder", "Tce", EXTRA),
    "random": Entry("a random number per tick", "trivial", "Random"),
    "always_on": Entry("one alarm that never ends", "trivial", "AlwaysOn"),
    "switch": Entry("on in any recording but the normal one", "trivial", "Switch"),
}
"""Detectors by name: causewatch, the published method, then what they are compared with."""


def make(name: str) -> Detector:
    """A fresh detector of that name."""
    if name not in DETECTORS:
        raise UnknownNameError(name, "detector", DETECTORS)
    return DETECTORS[name].make()
