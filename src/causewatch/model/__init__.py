"""The model of normal behaviour: learning it, saving and loading it."""

from causewatch.model.difference import Difference, LinkChange, diff
from causewatch.model.learning import METHODS, PRESETS, learn
from causewatch.model.normal import Mechanism, NormalModel, Provenance
from causewatch.model.passes import LearnProgress
from causewatch.model.store import load

__all__ = [
    "METHODS",
    "PRESETS",
    "Difference",
    "LearnProgress",
    "LinkChange",
    "Mechanism",
    "NormalModel",
    "Provenance",
    "diff",
    "learn",
    "load",
]
