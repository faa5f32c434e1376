"""What a model says about itself: the report and where it comes from."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data import (
    Clock,
    Note,
    TableSource,
    Writing,
    format_duration,
    format_time,
    parse_span,
)
from causewatch.errors import listing, plural
from causewatch.graph import CausalGraph
from causewatch.model.assumptions import nonlinearity_findings, residual_findings
from causewatch.model.fitting import Fit, causes_of, residuals_of
from causewatch.model.normal import Mechanism, Provenance
from causewatch.model.passes import TickPass
from causewatch.model.watching import Watching
from causewatch.preprocess import (
    Finding,
    Preprocessing,
    SurveyResult,
    enough_rows,
    quality_findings,
)

__all__ = [
    "files_of",
    "findings_of",
    "limit_findings",
    "provenance_of",
    "start_up_of",
]

Floats = NDArray[np.float64]

CURVE_TICKS = 2048
"""Ticks in which links are checked for being straight lines."""
MOST_LEFT_OUT = 0.4
"""Share of a recording that may be left out as its start-up."""
READER_WARNINGS = {
    "possible_label": (
        "A label among the signals would be learnt as part of the plant.",
        "Name it with --labels, or with --keep.",
    ),
    "second_label": (
        "A label among the signals would be learnt as part of the plant.",
        "Name it with --ignore, or with --keep.",
    ),
    "labelled_rows": (
        "They were learnt as normal operation.",
        "Name the column with --labels, so that they are left out.",
    ),
    "second_labelled_rows": (
        "They were learnt as normal operation where the column of --labels does not label them.",
        "Name the column with --ignore if the labels that were given tell it all.",
    ),
    "anomalous_rows": (
        "The others are taken for normal; causes are not looked for across the gaps.",
        "If these rows are normal, learn again with --keep-labelled.",
    ),
    "not_labelled": (
        "They were taken for normal operation.",
        "Leave them out with --exclude if they may not be.",
    ),
    "bad_lines": (
        "What stood there was not learnt.",
        "See how the file came to be, if there are many.",
    ),
    "text_column": (
        "A column of words, or of numbers with thousands separators (1.300,000), cannot be a"
        " signal.",
        "Write plain numbers instead if it matters, or --ignore it.",
    ),
    "perhaps_serial_days": (
        "Ticks and lags are far too short if these are days.",
        "Give --time-format excel if they are.",
    ),
    "late_rows": (
        "A part of the recording was not used.",
        "Sort the recording by time, oldest row first.",
    ),
}
"""Meaning and remedy of what the reader notes that may spoil the result."""
ODD_SHARE, ODD_FACTOR = 0.05, 1.5
"""A second recording above the limits for longer, or that moves them further, may not be normal."""


def findings_of(
    source: TableSource,
    survey: SurveyResult,
    plan: Preprocessing,
    tick_pass: TickPass,
    fit: Fit,
    alpha: float,
) -> list[Finding]:
    """Data quality and assumptions, most serious first."""
    findings = [_of_reading(note, survey.rows) for note in source.notes]
    findings += _repeated_files(source)
    moments = tick_pass.moments
    reach = round(moments.reach * plan.every / source.interval)
    findings += quality_findings(survey, max_lag_rows=reach)
    findings += _filling(plan, tick_pass)
    graph, mechanisms = fit.graph, fit.mechanisms
    largest = max((len(mechanism.coefficients) for mechanism in mechanisms.values()), default=0)
    findings.append(
        enough_rows(moments.windows, len(plan.signals), plan.max_lag, largest, alpha=alpha)
    )
    residuals, starts = residuals_of(graph, mechanisms, tick_pass.sample, plan.max_lag)
    within_a_tick = any(link.lag == 0 for link in graph)
    findings += [
        finding
        for finding in residual_findings(
            plan.signals, residuals, starts, plan.every, source.interval, source.clock
        )
        if not (within_a_tick and finding.kind == "residual_shared")
    ]
    findings += _nonlinearity(graph, mechanisms, tick_pass.sample, plan.max_lag)
    order = {"problem": 0, "warning": 1, "info": 2}
    return sorted(findings, key=lambda finding: order[finding.severity])


def start_up_of(survey: SurveyResult) -> Finding | None:
    """The start-up that a recording begins with, as a finding that it was left out."""
    for finding in quality_findings(survey, max_lag_rows=1):
        if finding.kind == "startup" and finding.span is not None:
            begin, end = parse_span("..".join(finding.span)).bounds(survey.clock)
            if end - begin > MOST_LEFT_OUT * (survey.last - survey.first):
                return None  # too much of the recording to do without; the report warns of it
            return replace(
                finding,
                text=f"{finding.text[:-1]}; it was left out.",
                meaning="What is learned from a start-up does not hold later.",
                remedy="If it is normal operation, learn again with --keep-start-up.",
            )
    return None


def limit_findings(
    watching: Watching, aim: float, every: float, clock: Clock, *, asked: bool
) -> list[Finding]:
    """Findings about the alarm limits."""
    findings = []
    limits, second = watching.limits, watching.second
    if limits is not None and aim > 1.01 * limits.supported:
        supported = format_duration(limits.supported * every, clock)
        used = format_duration(limits.false_alarm_every * every, clock)
        findings.append(
            Finding(
                kind="false_alarm_every",
                severity="warning" if asked else "info",
                text=f"One false alarm in {format_duration(aim * every, clock)}"
                f" {'was asked for' if asked else 'is the aim'}, but the normal recording supports"
                f" at most one in {supported}; the limits are set for one in {used}.",
                meaning="The limits are extrapolated; false alarms may come more often.",
                remedy="Give a longer recording, or a second one with --calibrate.",
            )
        )
    if second is not None:
        lasted = format_duration(second.ticks * every, clock)
        odd = second.share > ODD_SHARE or second.factor > ODD_FACTOR
        findings.append(
            Finding(
                kind="calibration",
                severity="warning" if odd else "info",
                text=f"In the second recording ({lasted}) limits from"
                f" the first one alone would have raised {plural(second.alarms, 'alarm')} and been"
                f" passed {second.share:.1%} of the time; it moved them by a factor of"
                f" {second.factor:.2f}.",
                meaning="Limits lie above what both recordings show; if the second one is not"
                " normal, what is wrong in it will not be noticed."
                if odd
                else "Limits lie above what both recordings show.",
                remedy="Make sure that it is normal operation; if it is, learn from both."
                if odd
                else "",
            )
        )
    return findings


def _filling(plan: Preprocessing, tick_pass: TickPass) -> list[Finding]:
    """How many missing values were filled, and what is still missing."""
    held, moments = int(tick_pass.ticks.held.sum()), tick_pass.moments
    if held == 0 and tick_pass.missing == 0:
        return []
    total = tick_pass.count * len(plan.signals)
    serious = tick_pass.missing > 0.01 * total
    return [
        Finding(
            kind="filled",
            severity="warning" if serious else "info",
            text=(
                f"{held:,} of {total:,} tick values were missing and filled with the signal's last"
                f" value (at most {plan.hold} ticks long); {tick_pass.missing:,} stay missing, and"
                f" {moments.windows:,} windows of {moments.reach + 1} ticks are whole."
            ),
            meaning="Windows with a missing value are left out of learning.",
            remedy="--ignore the signals that are missing most, or give a better recording."
            if serious
            else "",
        )
    ]


def _of_reading(note: Note, rows: int) -> Finding:
    """What the reader noted; what may spoil the result is a warning."""
    meaning, remedy = READER_WARNINGS.get(note.kind, ("", ""))
    if note.kind == "late_rows" and note.count <= 0.01 * rows:
        meaning = remedy = ""
    return Finding(
        kind=note.kind,
        severity="warning" if meaning else "info",
        text=note.text,
        meaning=meaning,
        remedy=remedy,
    )


def _repeated_files(source: TableSource) -> list[Finding]:
    """Files that were given twice."""
    seen: dict[str, str] = {}
    again = []
    for file in source.files:
        if file.sha256 in seen:
            again.append(f"{file.name} is the same as {seen[file.sha256]}")
        seen.setdefault(file.sha256, file.name)
    if not again:
        return []
    return [
        Finding(
            kind="repeated_file",
            severity="warning",
            text=f"{listing(again)}.",
            meaning="Rows that count twice make links look more certain than they are.",
            remedy="Give each file once.",
        )
    ]


def provenance_of(
    source: TableSource,
    survey: SurveyResult,
    tick_pass: TickPass,
    now: datetime,
    settings: dict[str, Any],
    writing: Writing | None,
) -> Provenance:
    """Where a model comes from."""
    names = ("causewatch", "numpy", "scipy", "polars")
    return Provenance(
        files=files_of(source),
        rows=survey.rows,
        ticks=tick_pass.count,
        windows=tick_pass.moments.windows,
        first=format_time(survey.first, source.clock),
        last=format_time(survey.last, source.clock),
        created=now.astimezone(UTC).isoformat(timespec="seconds"),
        versions={name: version(name) for name in names} | {"python": platform.python_version()},
        settings=settings,
        writing=writing,
    )


def files_of(source: TableSource) -> tuple[dict[str, Any], ...]:
    """The files that a recording comes from, for a provenance."""
    return tuple(
        {"name": file.name, "sha256": file.sha256, "rows": file.rows} for file in source.files
    )


def _nonlinearity(
    graph: CausalGraph, mechanisms: Mapping[str, Mechanism], sample: list[Floats], max_lag: int
) -> list[Finding]:
    """Links that are not straight lines, from as many ticks as that takes."""
    longest = max(sample, key=len)[: CURVE_TICKS + max_lag]
    if len(longest) <= max_lag:
        return []
    residuals, _ = residuals_of(graph, mechanisms, [longest], max_lag)
    parents = {}
    for target, mechanism in mechanisms.items():
        columns = causes_of(graph, mechanism, longest, max_lag)
        links = enumerate(mechanism.coefficients)
        parents[target] = [(link.source, columns[:, k]) for k, link in links]
    return nonlinearity_findings(graph.signals, residuals, parents)
