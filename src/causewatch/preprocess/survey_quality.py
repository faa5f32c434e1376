"""Sentences about the quality of a recording, from its survey."""

from __future__ import annotations

from collections import defaultdict

from causewatch.data.spans import format_duration
from causewatch.data.table import NANOSECONDS
from causewatch.errors import listing, plural
from causewatch.preprocess.findings import (
    Finding,
    Period,
    ignore_option,
    number,
    percent,
)
from causewatch.preprocess.survey import SignalSummary, SurveyResult
from causewatch.preprocess.survey_stationarity import stationarity_findings
from causewatch.preprocess.survey_wild import wild_findings

__all__ = ["is_constant", "is_mostly_missing", "is_near_constant", "quality_findings"]

RARE = 0.001
"""A signal that leaves its usual value in a smaller share of rows is nearly constant."""

LEAST_CHANGES = 10
"""Changes a signal with few values must show: fewer events are no statistics."""

SOME_MISSING, MUCH_MISSING = 0.05, 0.3

MOST_MISSING = 0.5
"""Share of missing values above which a signal is left out."""


def is_constant(signal: SignalSummary) -> bool:
    """Whether the signal has one value and no other."""
    return signal.count > 0 and signal.low == signal.high


def is_near_constant(signal: SignalSummary) -> bool:
    """Whether the signal moves, but hardly ever or by rounding errors only."""
    if not signal.count or is_constant(signal):
        return False
    if signal.std <= 1e-12 * max(abs(signal.low), abs(signal.high)):
        return True
    if signal.values is None:
        return False
    usual = max(count for _, count in signal.values)
    return usual > (1 - RARE) * signal.count or signal.changes < LEAST_CHANGES


def is_mostly_missing(signal: SignalSummary) -> bool:
    """Whether the signal is missing more often than not."""
    return signal.missing > MOST_MISSING * (signal.count + signal.missing)


def quality_findings(result: SurveyResult, *, max_lag_rows: int | None = None) -> list[Finding]:
    """Everything worth saying about the recording before learning from it, the worst first.

    Parameters
    ----------
    result
        What :class:`~causewatch.preprocess.survey.Survey` found.
    max_lag_rows
        How many rows back causes are looked for, if known: so many are lost in each stretch.
    """
    if not result.rows:
        return [
            Finding(
                kind="rows",
                severity="problem",
                text="The recording has no rows.",
                meaning="There is nothing to learn from.",
                remedy="Check the file and the spans left out with --exclude.",
            )
        ]
    moving = [
        k
        for k, signal in enumerate(result.signals)
        if signal.values is None and not is_constant(signal) and not is_near_constant(signal)
    ]
    found = [
        _rows(result),
        *_stretches(result, max_lag_rows),
        *_missing(result),
        *_constant(result.signals),
        *_duplicates(result.signals),
        *_levels(result.signals),
        *wild_findings(result),
        *stationarity_findings(result, moving),
    ]
    order = ("problem", "warning", "info")
    return sorted(found, key=lambda finding: order.index(finding.severity))


def _rows(result: SurveyResult) -> Finding:
    whole = Period(result.first, result.last, result.clock)
    pace = f", one every {format_duration(result.interval)}, {whole.text(within_a_day=False)}"
    pace = "" if result.clock == "rows" else pace
    return Finding(
        kind="rows",
        severity="info",
        text=f"{plural(result.rows, 'row')} of {plural(len(result.signals), 'signal')} were"
        f" used{pace}.",
        meaning="Everything below is about these rows.",
    )


def _stretches(result: SurveyResult, max_lag_rows: int | None) -> list[Finding]:
    if result.stretches < 2:
        return []
    text = f"The recording has {plural(result.stretches, 'stretch')[:-1]}es without a gap; "
    text += f"the longest has {plural(result.longest_stretch, 'row')}"
    span = None
    if result.longest_gap is not None:
        gap = Period(*result.longest_gap, result.clock)
        seconds = (gap.end - gap.start) / NANOSECONDS
        text += (
            f", the largest gap lasts {format_duration(seconds, result.clock)} ({gap.text(False)})"
        )
        span = gap.bounds
    lost = min(result.rows, result.stretches * (max_lag_rows or 0)) / result.rows
    meaning = "Causes are never looked for across a gap."
    if lost:
        meaning += f" With lags of {plural(max_lag_rows or 0, 'row')}, {percent(lost)} of the rows "
        meaning += "only serve as the past of others."
    return [
        Finding(
            kind="gaps",
            severity="warning" if lost > 0.2 else "info",
            text=text + ".",
            meaning=meaning,
            remedy="Lower --max-lag, or use a recording with fewer gaps." if lost > 0.2 else "",
            span=span,
        )
    ]


def _missing(result: SurveyResult) -> list[Finding]:
    found = []
    empty = [s.name for s in result.signals if not s.count]
    if empty:
        found.append(
            Finding(
                kind="empty",
                severity="warning",
                text=f"{_are(empty)} empty.",
                meaning="Nothing can be learned about an empty signal, and it gets no links.",
                remedy=f"Leave out with {ignore_option(empty)}, or check why nothing was recorded.",
                signals=tuple(empty),
            )
        )
    gone = [s.name for s in result.signals if s.count and is_mostly_missing(s)]
    if gone:
        found.append(
            Finding(
                kind="mostly_missing",
                severity="warning",
                text=f"{_are(gone)} missing more often than not.",
                meaning="Such a signal is left out.",
                remedy=f"Check why so little was recorded, or say {ignore_option(gone)}.",
                signals=tuple(gone),
            )
        )
    kept = [s for s in result.signals if s.count and not is_mostly_missing(s)]
    gappy = sorted((s for s in kept if s.missing), key=lambda s: -s.missing)
    if not gappy:
        return found
    total = sum(s.missing for s in gappy) / (result.rows * len(kept))
    shares = [(s.name, s.missing / result.rows) for s in gappy]
    bad = [name for name, share in shares if share > MUCH_MISSING]
    worst = shares[0][1]
    shown = listing([f"{name} ({percent(share)})" for name, share in shares], most=5)
    found.append(
        Finding(
            kind="missing",
            severity="problem" if bad else "warning" if worst > SOME_MISSING else "info",
            text=f"{percent(total)} of all values are missing, most of them in {shown}.",
            meaning="Windows with a missing value are not used; what is left may not be typical.",
            remedy=f"Leave the worst out with {ignore_option(bad)}."
            if bad
            else "Check the recording of these signals."
            if worst > SOME_MISSING
            else "",
            signals=tuple(name for name, _ in shares),
        )
    )
    return found


def _constant(signals: tuple[SignalSummary, ...]) -> list[Finding]:
    found = []
    constant = [s for s in signals if is_constant(s)]
    rare = [s for s in signals if is_near_constant(s)]
    guarded = "It cannot have links" if len(constant) + len(rare) == 1 else "They cannot have links"
    guarded += "; a departure from the usual value is guarded separately when watching."
    if constant:
        names = [s.name for s in constant]
        found.append(
            Finding(
                kind="constant",
                severity="info",
                text=f"{plural(len(names), 'signal')} never "
                f"{'changes' if len(names) == 1 else 'change'}: "
                + listing([f"{s.name} ({number(s.low)})" for s in constant])
                + ".",
                meaning=guarded,
                signals=tuple(names),
            )
        )
    if rare:
        names = [s.name for s in rare]
        found.append(
            Finding(
                kind="near_constant",
                severity="info",
                text=f"{_are(names)} nearly constant, with "
                + listing([f"{plural(s.changes, 'change')} in {s.name}" for s in rare], most=5)
                + ".",
                meaning=guarded,
                signals=tuple(names),
            )
        )
    return found


def _duplicates(signals: tuple[SignalSummary, ...]) -> list[Finding]:
    groups: dict[str, list[str]] = defaultdict(list)
    for signal in signals:
        if signal.count and not is_constant(signal):
            groups[signal.digest].append(signal.name)
    same = [names for names in groups.values() if len(names) > 1]
    if not same:
        return []
    sentences = [f"{', '.join(names[:-1])} and {names[-1]} are identical" for names in same]
    return [
        Finding(
            kind="duplicates",
            severity="info",
            text="; ".join(sentences[:5])
            + (f"; and {plural(len(same) - 5, 'more group')}" if len(same) > 5 else "")
            + ".",
            meaning="Which of identical signals is the cause cannot be told; "
            "the first one stands for all of them.",
            signals=tuple(name for names in same for name in names),
        )
    ]


def _levels(signals: tuple[SignalSummary, ...]) -> list[Finding]:
    found = []
    for kind, word, sizes in (
        ("two_valued", "two values", range(2, 3)),
        ("few_valued", "only a few values", range(3, 9)),
    ):
        chosen = [
            (s.name, s.values)
            for s in signals
            if s.values is not None and len(s.values) in sizes and not is_near_constant(s)
        ]
        if not chosen:
            continue
        shown = [
            f"{name} ({', '.join(number(value) for value, _ in values)})" for name, values in chosen
        ]
        verb = "takes" if len(chosen) == 1 else "take"
        found.append(
            Finding(
                kind=kind,
                severity="info",
                text=f"{plural(len(chosen), 'signal')} {verb} {word}: {listing(shown)}.",
                meaning="Switches are not linear with normal noise: their links are found, but "
                "the strength of a link is an average over its states.",
                signals=tuple(name for name, _ in chosen),
            )
        )
    return found


def _are(names: list[str]) -> str:
    return f"{listing(names)} {'is' if len(names) == 1 else 'are'}"
