"""Detectors: evidence and limits from innovations and links."""

from causewatch.detectors.calibration import Judged, calibrate, scores_of
from causewatch.detectors.equations import Equations
from causewatch.detectors.evidence import Detector, Evidence, LinkChanges
from causewatch.detectors.guards import GuardRanges, Guards
from causewatch.detectors.habits import NormalHabits, habits_of
from causewatch.detectors.innovation import InnovationDetector
from causewatch.detectors.limits import Limits
from causewatch.detectors.published import (
    PublishedDetector,
    PublishedOptions,
    published_limits,
)
from causewatch.detectors.statistics import FAMILIES, Layout

__all__ = [
    "FAMILIES",
    "Detector",
    "Equations",
    "Evidence",
    "GuardRanges",
    "Guards",
    "InnovationDetector",
    "Judged",
    "Layout",
    "Limits",
    "LinkChanges",
    "NormalHabits",
    "PublishedDetector",
    "PublishedOptions",
    "calibrate",
    "habits_of",
    "published_limits",
    "scores_of",
]
