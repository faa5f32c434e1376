"""Re-learning: new normal data are added to a model, and the result must prove itself.

The rows that a model was learnt from are gone; their lagged moments are not. New rows become ticks
as before (same signals, same ticks, same lags), their moments are added to the old ones, and graph
and mechanisms are learnt again from the sum. Limits come from the new ticks and the old limits.

What this gives is a *candidate*. The last part of the new recording is kept from it, and both
models are run over that part. The candidate is accepted only if

1. the new recording looks like normal operation: no part of it stands out from the rest, and it
   is not far from all that the old model knows;
2. it predicts the part kept from it at least as well as the old model does;
3. it raises no more alarms there than the old model, or no more than chance would.

Then the model is learnt once more from all of the new recording. A rejected candidate is given back
too, for looking at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data import (
    Derived,
    NormalRows,
    TableSource,
    TimeTable,
    format_duration,
    format_time,
    open_table,
    parse_span,
)
from causewatch.detectors import GuardRanges, Limits, habits_of
from causewatch.discovery import LaggedMoments
from causewatch.errors import NotEnoughDataError, SettingError, TableError, listing
from causewatch.graph import CausalGraph
from causewatch.model.account import files_of, findings_of
from causewatch.model.comparing import Comparison, compare, in_favour, unlike_normal, worse
from causewatch.model.learning import (
    discoverer_of,
    fit_links,
    least_lag,
    limits_from,
    usual_false_alarm_every,
)
from causewatch.model.normal import MOST_MOMENTS, NormalModel, Provenance, kept_moments
from causewatch.model.passes import (
    LearnProgress,
    TickPass,
    last_ticks,
    ranges_of,
    survey_of,
    take_moments,
)
from causewatch.preprocess import Believed, SurveyResult

__all__ = ["Comparison", "UpdateResult", "update"]

Floats = NDArray[np.float64]

HELD_OUT = 0.3
"""Share of the new recording that is kept from the candidate."""
LEAST_HELD = 100
"""Fewer ticks than this decide nothing."""


@dataclass(frozen=True)
class UpdateResult:
    """What came of adding new normal data to a model.

    Attributes
    ----------
    candidate
        If accepted, the new model, learnt from everything; otherwise what was rejected.
    accepted
        Whether the candidate may take the old model's place.
    comparison
        Of the two on recent data.
    reasons
        Why it was accepted or rejected, in sentences.
    """

    candidate: NormalModel
    accepted: bool
    comparison: Comparison
    reasons: tuple[str, ...]


def update(
    model: NormalModel,
    normal: Any,
    *,
    recent: Any = None,
    keep_labelled: bool = False,
    progress: LearnProgress | None = None,
    now: datetime | None = None,
    **reading: Any,
) -> UpdateResult:
    """Add a new recording of normal operation to a model; see the top of this module.

    Parameters
    ----------
    model
        The old model; it is not changed.
    normal
        The new recording, in the forms that `learn` takes.
    recent
        A recording on which the two are compared; by default the last part of `normal`.
    keep_labelled
        Learn from rows that are labelled anomalous, too.
    progress
        Told what is being done.
    now
        Time noted in the model; the present one if not given.
    **reading
        Options of :func:`causewatch.open_table`.
    """
    tell = progress or (lambda what, share: None)
    old = _moments_of(model)
    moment = now or datetime.now(UTC)
    source = _opened(model, normal, keep_labelled, reading)
    survey, _ = survey_of(source, tell)
    _refuse_known_files(model, source)
    if recent is None:
        cut = round((1.0 - HELD_OUT) * survey.rows)
        first: TableSource = _Rows(source, 0, cut)
        held = _ticks(model, _Rows(source, cut, survey.rows))
    else:
        first, held = source, _ticks(model, _opened(model, recent, keep_labelled, reading))
    if sum(len(rows) - model.preprocessing.max_lag for rows in held) < LEAST_HELD:
        msg = (
            f"The data to compare the models on have {sum(map(len, held))} ticks; at least"
            f" {LEAST_HELD} are needed: give a longer recording."
        )
        raise NotEnoughDataError(msg)
    candidate = _learnt(model, old, first, moment, tell)
    tell("comparing the models", None)
    comparison = compare(model, candidate, held)
    against = [*unlike_normal(model, _ticks(model, source)), *worse(comparison)]
    if against:
        return UpdateResult(candidate, False, comparison, tuple(against))
    if recent is None:
        candidate = _learnt(model, old, source, moment, tell)
    return UpdateResult(candidate, True, comparison, tuple(in_favour(comparison)))


class _Rows(Derived):
    """Some rows of a source, as a source."""

    def __init__(self, source: TableSource, start: int, stop: int) -> None:
        super().__init__(source)
        self._start, self._stop = start, stop

    def chunks(self, rows: int = 1 << 16) -> Iterator[TimeTable]:
        """The rows in order; the first one begins a stretch."""
        seen = 0
        for chunk in self._source.chunks(rows):
            low, high = max(0, self._start - seen), min(len(chunk), self._stop - seen)
            begins = low > 0 or seen == self._start
            seen += len(chunk)
            if low >= high:
                continue
            inside = chunk.starts[(chunk.starts >= low) & (chunk.starts < high)] - low
            yield replace(
                chunk,
                values=chunk.values[low:high],
                time=chunk.time[low:high],
                starts=np.union1d([0], inside).astype(np.intp) if begins else inside,
                continues=False if begins else chunk.continues,
                labels=None if chunk.labels is None else chunk.labels[low:high],
            )


def _moments_of(model: NormalModel) -> LaggedMoments:
    """What the model can be updated from, or why it cannot."""
    settings = model.provenance.settings
    reason = None
    if model.preset != "default":
        reason = f"the {model.preset} preset fits its links to rows, which a model does not keep"
    elif settings["method"] == "GivenGraph":
        reason = "its links were given, and are not looked for"
    elif settings["test"] != "linear" or settings["method"] not in ("pcmci", "granger"):
        reason = (
            f"its links were found with {settings['method']} and the {settings['test']} test,"
            " which need every row"
        )
    elif model.moments is None:
        reason = f"its moments are larger than {MOST_MOMENTS // 10**6} MB and were not kept"
    if reason is not None or model.moments is None:
        msg = f"This model cannot be updated: {reason}; learn a new one from all recordings."
        raise SettingError(msg)
    return model.moments


def _opened(
    model: NormalModel, normal: Any, keep_labelled: bool, reading: dict[str, Any]
) -> TableSource:
    """The new recording, if it is one of the same signals."""
    keep = (*model.signals, *model.watching.guarded)  # whatever they look like
    source: TableSource = open_table(
        normal, **{"usual": model.provenance.writing, **reading, "keep": keep}
    )
    if not keep_labelled:
        source = NormalRows(source)
    missing = [name for name in model.signals if name not in set(source.signals)]
    if missing:
        msg = (
            f"The new recording lacks {listing(missing)}; a model can only be updated with all of"
            " its signals."
        )
        raise TableError(msg)
    source = Believed(source, model.preprocessing.believed)
    if source.interval > 1.5 * model.preprocessing.every:
        msg = (
            f"Rows of the new recording are {format_duration(source.interval)} apart, but a tick of"
            f" the model is {model.tick}; give a recording with more rows."
        )
        raise TableError(msg)
    return source


def _refuse_known_files(model: NormalModel, source: TableSource) -> None:
    again = model.learnt_from(source.files)
    if again:
        msg = f"The model was learnt from {listing(again)} already; rows must not count twice."
        raise SettingError(msg)


def _ticks(model: NormalModel, source: TableSource) -> list[Floats]:
    """Stretches of ticks long enough to be judged."""
    stretches = last_ticks(source, model.preprocessing)
    return [rows for rows in stretches if len(rows) > model.preprocessing.max_lag]


def _learnt(
    model: NormalModel,
    old: LaggedMoments,
    source: TableSource,
    now: datetime,
    tell: LearnProgress,
) -> NormalModel:
    """A model from the old moments and a new recording."""
    plan, settings = model.preprocessing, model.provenance.settings
    survey, _ = survey_of(source, tell)
    guarded = tuple(name for name in model.watching.guarded if name in set(source.signals))
    new = take_moments(source, plan, guarded, survey.rows, tell)
    tick_pass = replace(new, moments=old.copy().merge(new.moments))
    discoverer = discoverer_of(
        settings["method"], model.preset, settings["alpha"], settings["test"], settings["fdr"],
        settings["seed"],
    )  # fmt: skip
    constraints = model.knowledge.resolve(
        plan.signals, plan.max_lag, least_lag(discoverer), known=source.signals
    )
    fit = fit_links(tick_pass, plan, discoverer, constraints, model.preset, tell)
    lines = replace(
        model,
        graph=fit.graph,
        mechanisms=fit.mechanisms,
        centre=fit.centre,
        scale=fit.scale,
        report=tuple(findings_of(source, survey, plan, tick_pass, fit, settings["alpha"])),
        watching=replace(
            model.watching,
            limits=None,
            spread=fit.spread,
            **_habits(model, guarded, survey, new),
        ),
        provenance=_provenance(model, source, survey, tick_pass, now),
        moments=kept_moments(tick_pass.moments),
    )
    tell("learning alarm limits", None)
    return _with_limits(lines, model, [rows[:, : len(plan.signals)] for rows in new.last], tell)


def _with_limits(
    lines: NormalModel, old: NormalModel, ticks: list[Floats], tell: LearnProgress
) -> NormalModel:
    """Limits for as many false alarms as the old model was meant to have.

    They lie above what the new ticks show and above the old limits.
    """
    before, every = old.watching.limits, old.preprocessing.every
    assert before is not None
    usual = usual_false_alarm_every(every, sum(map(len, ticks)), times=old.clock != "rows")
    asked = old.provenance.settings["false_alarm_every"] is not None
    watching = limits_from(
        lines,
        ticks,
        [],
        false_alarm_every=before.false_alarm_every,
        usual_every=usual / every if asked else None,
        settings=before.settings,
        tell=tell,
    )
    assert watching.limits is not None
    pooled = _pooled(before, watching.limits, old.graph, lines.graph)
    return replace(lines, watching=replace(watching, limits=pooled))


def _pooled(before: Limits, limits: Limits, old: CausalGraph, new: CausalGraph) -> Limits:
    """Limits above what the old and the new recording show, each in its own units."""
    number = {link: k for k, link in enumerate(old)}
    links = limits.links.copy()
    for k, link in enumerate(new):
        if link in number:
            links[k] = max(links[k], before.links[number[link]])
    return replace(
        limits,
        statistics=np.maximum(limits.statistics, before.statistics),
        links=links,
        low=np.fmin(limits.low, before.low),
        high=np.fmax(limits.high, before.high),
        supported=limits.supported + before.supported,
    )


def _habits(
    model: NormalModel, guarded: tuple[str, ...], survey: SurveyResult, tick_pass: TickPass
) -> dict[str, Any]:
    """Habits and guarded ranges over both recordings."""
    old, number = model.watching, len(model.signals)
    low, high, twin = ranges_of(survey, model.signals, old.guarded)
    # Twins that differ in the new recording are twins no more.
    still = np.isnan(low) | (twin == old.ranges.twin)
    ranges = GuardRanges(
        np.fmin(old.ranges.low, low),
        np.fmax(old.ranges.high, high),
        np.where(still, old.ranges.twin, -1),
    )
    # A guarded signal that the new recording lacks was missing all the time; that is no habit.
    wide = [np.full((len(rows), number + len(old.guarded)), np.nan) for rows in tick_pass.last]
    there = [*range(number), *(number + old.guarded.index(name) for name in guarded)]
    for rows, whole in zip(tick_pass.last, wide, strict=True):
        whole[:, there] = rows
    habits = habits_of(wide, survey.rows / max(1, tick_pass.count))
    merged = old.habits.merged(habits)
    absent = np.setdiff1d(np.arange(number + len(old.guarded)), there)
    for name in ("still", "longest_missing", "missing"):
        getattr(merged, name)[absent] = getattr(old.habits, name)[absent]
    return {"ranges": ranges, "habits": merged}


def _provenance(
    model: NormalModel,
    source: TableSource,
    survey: SurveyResult,
    tick_pass: TickPass,
    now: datetime,
) -> Provenance:
    """Where an updated model comes from: all recordings."""
    old = model.provenance
    known = [parse_span(f"{moment}..").bounds(source.clock)[0] for moment in (old.first, old.last)]
    return replace(
        old,
        files=(*old.files, *files_of(source)),
        rows=old.rows + survey.rows,
        ticks=old.ticks + tick_pass.count,
        windows=tick_pass.moments.windows,
        first=format_time(min(survey.first, known[0]), source.clock),
        last=format_time(max(survey.last, known[1]), source.clock),
        created=now.astimezone(UTC).isoformat(timespec="seconds"),
        writing=old.writing or source.writing,
        predecessors=(*old.predecessors, model.fingerprint),
    )
