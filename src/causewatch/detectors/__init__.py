"""Detectors: evidence and limits from innovations and links."""

from causewatch.detectors.calibration import (
    Judged,
    calibrate,
    count_alarms,
    cross_fitted,
    scores_of,
)
from causewatch.detectors.equations import Equations
from causewatch.detectors.evidence import Detector, Evidence, LinkChanges
from causewatch.detectors.guards import GuardRanges, Guards
from causewatch.detectors.habits import NormalHabits, habits_of
from causewatch.detectors.innovation import InnovationDetector
from causewatch.detectors.lifts import Lifts
from causewatch.detectors.limits import Limits
from causewatch.detectors.published import (
    PublishedDetector,
    PublishedOptions,
    published_limits,
)
from causewatch.detectors.settings import DetectorSettings

__all__ = [
    "Detector",
    "DetectorSettings",
    "Equations",
    "Evidence",
    "GuardRanges",
    "Guards",
    "InnovationDetector",
    "Judged",
    "Lifts",
    "Limits",
    "LinkChanges",
    "NormalHabits",
    "PublishedDetector",
    "PublishedOptions",
    "calibrate",
    "count_alarms",
    "cross_fitted",
    "habits_of",
    "published_limits",
    "scores_of",
]
