"""The paper's tables again, from the user's own files or on the simulated machines."""

from causewatch.evaluation.reproduction.case import REPRODUCED, Case, load_case, simulate_case
from causewatch.evaluation.reproduction.figures import PUBLISHED, SOURCE
from causewatch.evaluation.reproduction.others import available
from causewatch.evaluation.reproduction.outcome import (
    AttackOutcome,
    MethodOutcome,
    Reproduction,
    Timing,
)
from causewatch.evaluation.reproduction.paper_method import PaperRun, run_paper
from causewatch.evaluation.reproduction.run import reproduce

__all__ = [
    "PUBLISHED",
    "REPRODUCED",
    "SOURCE",
    "AttackOutcome",
    "Case",
    "MethodOutcome",
    "PaperRun",
    "Reproduction",
    "Timing",
    "available",
    "load_case",
    "reproduce",
    "run_paper",
    "simulate_case",
]
