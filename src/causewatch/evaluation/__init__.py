"""What a detector is worth: metrics, the report card, baselines, the published tables."""

from causewatch.evaluation.baselines.base import Detector, Split
from causewatch.evaluation.card import EventOutcome, ReportCard, report_card
from causewatch.evaluation.truth import CauseEntry, read_causes, with_truth
from causewatch.evaluation.verdicts import AlarmSpan, Verdicts, watch

__all__ = [
    "AlarmSpan",
    "CauseEntry",
    "Detector",
    "EventOutcome",
    "ReportCard",
    "Split",
    "Verdicts",
    "read_causes",
    "report_card",
    "watch",
    "with_truth",
]
