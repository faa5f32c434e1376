"""From rows to ticks: working interval, usable signals, and what the data are like."""

from causewatch.preprocess.believed import Believed
from causewatch.preprocess.decimator import Decimator
from causewatch.preprocess.findings import Finding, Severity, enough_rows
from causewatch.preprocess.interval import IntervalChoice, choose_interval
from causewatch.preprocess.paper import PaperChoice, paper_choice
from causewatch.preprocess.plan import (
    Preprocessing,
    default_preprocessing,
    paper_preprocessing,
)
from causewatch.preprocess.sample import BlockSample, LastRows
from causewatch.preprocess.survey import SignalSummary, Survey, SurveyResult
from causewatch.preprocess.survey_quality import quality_findings
from causewatch.preprocess.survey_wild import plausible, wild_findings
from causewatch.preprocess.tick_source import TickSource
from causewatch.preprocess.ticks import MOST_HELD, Averager, Ticker

__all__ = [
    "MOST_HELD",
    "Averager",
    "Believed",
    "BlockSample",
    "Decimator",
    "Finding",
    "IntervalChoice",
    "LastRows",
    "PaperChoice",
    "Preprocessing",
    "Severity",
    "SignalSummary",
    "Survey",
    "SurveyResult",
    "TickSource",
    "Ticker",
    "choose_interval",
    "default_preprocessing",
    "enough_rows",
    "paper_choice",
    "paper_preprocessing",
    "plausible",
    "quality_findings",
    "wild_findings",
]
