"""From a recording of normal operation to a `NormalModel`.

The recording is read twice (three times if a start-up is left out), each time in pieces, and never
held in memory as a whole (except by the `paper` preset, whose rule for the interval needs all rows
at once, and by independence tests other than the linear one):

1. a *survey*: what each signal is like, whether the recording looks normal, a sample of its rows
   from which interval and lag are chosen;
2. *moments*: rows become ticks, ticks become lagged moments, from which graph and coefficients
   follow; a sample of ticks is kept for what the report says about residuals, and the last ones
   for the alarm limits.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.data import (
    NormalRows,
    TableSource,
    Without,
    format_tick,
    in_memory,
    open_together,
    parse_duration,
    parse_span,
)
from causewatch.detectors import DetectorSettings, GuardRanges, habits_of, published_limits
from causewatch.detectors.equations import LEAST_SPREAD
from causewatch.discovery import (
    TESTS,
    Constraints,
    Discoverer,
    Granger,
    Knowledge,
    LinkConfidence,
    Pcmci,
    TestName,
    confidence_of_links,
    load_knowledge,
)
from causewatch.errors import NotEnoughDataError, SettingError, UnknownNameError
from causewatch.graph import CausalGraph, Link
from causewatch.model.account import (
    findings_of,
    limit_findings,
    provenance_of,
    start_up_of,
)
from causewatch.model.fitting import Fit, fit_as_published, fit_mechanisms
from causewatch.model.layout import positions
from causewatch.model.normal import NormalModel, kept_moments
from causewatch.model.passes import (
    LearnProgress,
    TickPass,
    guarded_signals,
    last_ticks,
    most_ticks,
    ranges_of,
    survey_of,
    take_moments,
)
from causewatch.model.watching import Watching, prepare
from causewatch.preprocess import (
    Believed,
    Finding,
    Preprocessing,
    SurveyResult,
    default_preprocessing,
    paper_preprocessing,
    plausible,
    wild_findings,
)

__all__ = [
    "METHODS",
    "PRESETS",
    "check_kept",
    "discoverer_of",
    "fit_links",
    "learn",
    "least_lag",
    "limits_from",
    "usual_false_alarm_every",
]

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Preset = Literal["default", "paper"]
PRESETS: tuple[Preset, ...] = ("default", "paper")
METHODS = ("pcmci", "granger")

DEFAULT_ALPHA = 0.001
KNN_ALPHA = 0.01  # a p-value from shuffles as small as the default would take thousands of them
PAPER_ALPHA = 0.05
PARENTS_ALPHA = 0.2
"""Level of PCMCI's first stage: generous, so that no true parent is lost (ADR 0007)."""
FALSE_ALARM_EVERY = 86_400.0
"""Seconds between two false alarms where times are known; else half of the recording."""
FALSE_ALARM_TICKS = 1000
"""Ticks between two false alarms at least, where the recording supports it: a false alarm can last
as long as the longest memory of the detector, 128 ticks. With ticks of an hour, one a day would
leave the alarm on most of the time."""
MOST_EXTRAPOLATED = 10.0
"""Limits are set for a time of at most so many times the length of the normal recording."""
GAP = 5.0
"""A new stretch begins after so many intervals without a row."""


def learn(
    normal: Any,
    *,
    preset: str = "default",
    every: float | str | None = None,
    max_lag: int | None = None,
    alpha: float | None = None,
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    calibrate: Any = None,
    false_alarm_every: float | str | None = None,
    method: str | Discoverer = "pcmci",
    test: str = "linear",
    fdr: bool = False,
    keep_start_up: bool = False,
    keep_labelled: bool = False,
    confidence: int = 0,
    keep_wild: bool = False,
    seed: int = 0,
    detector: DetectorSettings | None = None,
    progress: LearnProgress | None = None,
    now: datetime | None = None,
    **reading: Any,
) -> NormalModel:
    """Learn a model from a recording of normal operation.

    Parameters
    ----------
    normal
        A path or several (separate stretches), a dataframe, an array, or what
        :func:`causewatch.open_table` or :func:`causewatch.read_table` returned.
    preset
        ``default``, or ``paper`` for the published method.
    every
        Length of a tick in seconds or as text (``"10s"``); chosen from the data if not given.
    max_lag
        How many ticks back causes may lie; chosen from the data if not given.
    alpha
        A link needs a p-value of at most this; 0.001 (``knn``: 0.01, ``paper``: 0.05) if not
        given.
    knowledge
        What is known about the plant, or the path of a knowledge file.
    calibrate
        A second recording of normal operation, in the same forms as `normal`: alarm limits lie
        above what it shows, too.
    false_alarm_every
        Expected time between two false alarms, in seconds or as text (``"1d"``). If not given, a
        day, but at least 1,000 ticks or half of the recording, whichever is shorter; half of the
        recording where rows have no times.
    method
        ``pcmci``, ``granger``, or any `Discoverer`: `GivenGraph` takes links as they are given.
    test
        Independence test of PCMCI: ``linear``, ``features``, ``rank`` or ``knn``.
    fdr
        Correct p-values for the number of tests (Benjamini–Hochberg).
    keep_start_up
        Learn from the beginning of the recording even if it looks like a start-up; else that is
        left out, and the report says so. The ``paper`` preset always keeps it.
    keep_labelled
        Learn from rows that are labelled anomalous, too (`labels`); else they are left out, and the
        report says how many.
    confidence
        In how many replicas of the recording links are looked for again, to say how sure each of
        them is (`NormalModel.confidence`); 0: none. Needs the linear test.
    keep_wild
        Learn from values far from all others, too; else they are taken for failed measurements and
        count as missing, here and in watching, and the report names them. The ``paper`` preset
        always keeps them.
    seed
        For tests that draw random numbers, and the replicas.
    detector
        The numbers of the default detector; those that are shipped if not given.
    progress
        Told what is being done.
    now
        Time noted in the model; the present one if not given.
    **reading
        Options of :func:`causewatch.open_table`: `time`, `labels`, `ignore`, `keep`, `exclude`, …

    Examples
    --------
    >>> from causewatch.simulate import random_system
    >>> rows = random_system(5, seed=1).simulate(2000, seed=2).values
    >>> learn(rows)
    NormalModel(5 signals, 13 links, every 1 s, max_lag 4)
    """
    if preset not in PRESETS:
        raise UnknownNameError(preset, "preset", PRESETS)
    every = parse_duration(every) if isinstance(every, str) else every
    if isinstance(false_alarm_every, str):
        false_alarm_every = parse_duration(false_alarm_every)
    if false_alarm_every is not None and not 0 < false_alarm_every < float("inf"):
        msg = f"--false-alarm-every is {false_alarm_every:g} s; it must be a positive time."
        raise SettingError(msg)
    tell = progress or (lambda what, share: None)
    known = knowledge or Knowledge()
    if not isinstance(known, Knowledge):
        known = load_knowledge(known)
    discoverer = discoverer_of(method, preset, alpha, test, fdr, seed)
    level = _alpha(preset, test, alpha)
    opened = open_together([normal, *([] if calibrate is None else [calibrate])], reading)
    check_kept(opened[0], reading)
    source, *others = opened if keep_labelled else map(NormalRows, opened)
    second = others[0] if others else None
    writing = source.writing
    if writing is not None and second is not None and second.writing is not None:
        writing = replace(writing, guessed=writing.guessed and second.writing.guessed)

    table = in_memory(source) if preset == "paper" else None
    source = source if table is None else table
    survey, sample = survey_of(source, tell)
    believed = plausible(survey) if preset != "paper" and not keep_wild else {}
    wild = wild_findings(survey, kept=False) if believed else []
    if believed:
        source = Believed(source, believed)
        survey, sample = survey_of(source, tell)
    # The times of several files that each count from zero do not tell them apart.
    apart = source.clock != "elapsed" or len(source.files) <= 1
    start_up = start_up_of(survey) if apart and preset != "paper" and not keep_start_up else None
    if start_up is not None:
        source = Without(source, [parse_span("..".join(start_up.span or ()))])
        survey, sample = survey_of(source, tell)
    log.info("read %d rows in %d stretches", survey.rows, survey.stretches)
    if table is not None:
        plan = paper_preprocessing(table, every=every, max_lag=max_lag)
    else:
        plan = default_preprocessing(survey, sample, every=every, max_lag=max_lag)
        plan = replace(plan, believed=believed)
    log.info("%d of %d signals kept", len(plan.signals), len(source.signals))
    tick = format_tick(plan.every, source.interval, survey.clock)
    log.info("ticks of %s, lags up to %d: %s", tick, plan.max_lag, plan.reason)
    constraints = known.resolve(
        plan.signals, plan.max_lag, least_lag(discoverer), known=source.signals
    )

    guarded = guarded_signals(survey, plan)
    tick_pass = take_moments(source, plan, guarded, survey.rows, tell)
    log.info("%d ticks, %d whole windows", tick_pass.count, tick_pass.moments.windows)
    fit = fit_links(tick_pass, plan, discoverer, constraints, preset, tell)
    sure = _confidence(confidence, test, fit.graph, tick_pass, plan, level, seed, tell)
    tell("checking assumptions", None)
    findings = [*wild, *findings_of(source, survey, plan, tick_pass, fit, level)]
    if start_up is not None:
        findings.insert(0, start_up)
    lines = NormalModel(
        preset=preset,
        preprocessing=plan,
        graph=fit.graph,
        mechanisms=fit.mechanisms,
        centre=fit.centre,
        scale=fit.scale,
        interval=source.interval,
        clock=source.clock,
        knowledge=known,
        report=tuple(findings),
        positions=positions(fit.graph, known.groups_for(plan.signals)),
        watching=_bare_watching(source, survey, plan, guarded, tick_pass, fit.spread),
        provenance=provenance_of(
            source,
            survey,
            tick_pass,
            now or datetime.now(UTC),
            {
                "preset": preset,
                "method": method if isinstance(method, str) else type(method).__name__,
                "test": test,
                "alpha": level,
                "fdr": fdr,
                "keep_start_up": keep_start_up,
                "seed": seed,
                "every": every,
                "max_lag": max_lag,
                "false_alarm_every": false_alarm_every,
            },
            writing,
        ),
        moments=kept_moments(tick_pass.moments) if preset == "default" else None,
        confidence=sure,
    )
    tell("learning alarm limits", None)
    ticks = [rows[:, : len(plan.signals)] for rows in tick_pass.last]
    if preset == "paper":
        limits = published_limits(np.concatenate(ticks), lines.equations)
        return replace(lines, watching=replace(lines.watching, published=limits))
    return _with_limits(lines, ticks, second, false_alarm_every, detector, tell)


def _confidence(
    replicas: int,
    test: str,
    graph: CausalGraph,
    tick_pass: TickPass,
    plan: Preprocessing,
    alpha: float,
    seed: int,
    tell: LearnProgress,
) -> dict[Link, LinkConfidence]:
    """How sure the links are, if that is asked for."""
    if replicas == 0:
        return {}
    if test != "linear":
        msg = f"--confidence needs the linear test; the {test} test would need every row."
        raise SettingError(msg)
    return confidence_of_links(
        [rows[:, : len(plan.signals)] for rows in tick_pass.last],
        graph,
        max_lag=plan.max_lag,
        alpha=alpha,
        replicas=replicas,
        seed=seed,
        progress=lambda share: tell("resampling links", share),
    )


def _with_limits(
    model: NormalModel,
    ticks: Sequence[Floats],
    second: TableSource | None,
    false_alarm_every: float | None,
    settings: DetectorSettings | None,
    tell: LearnProgress,
) -> NormalModel:
    """The model with the limits of the default detector."""
    plan = model.preprocessing
    apart: list[Floats] = []
    if second is not None:
        for name in plan.signals:
            if name not in second.signals:
                raise UnknownNameError(name, "signal in the --calibrate recording", second.signals)
        apart = last_ticks(second, plan, most_ticks(len(plan.signals)))
        if not any(len(rows) > plan.max_lag for rows in apart):
            msg = "--calibrate: the second recording is too short to learn alarm limits from."
            raise NotEnoughDataError(msg)
    length = sum(map(len, [*ticks, *apart]))
    usual = usual_false_alarm_every(plan.every, length, times=model.clock != "rows")
    wanted = usual if false_alarm_every is None else false_alarm_every
    aim, most = wanted / plan.every, MOST_EXTRAPOLATED * length
    watching = limits_from(
        model,
        ticks,
        apart,
        false_alarm_every=max(2.0, min(aim, most)),
        usual_every=max(2.0, min(usual / plan.every, most)),
        settings=settings,
        tell=tell,
    )
    added = limit_findings(
        watching, aim, plan.every, model.clock, asked=false_alarm_every is not None
    )
    if false_alarm_every is None and model.clock != "rows" and wanted > 1.01 * FALSE_ALARM_EVERY:
        added.insert(0, _longer_than_a_day(model, wanted))
    return replace(model, watching=watching, report=(*model.report, *added))


def limits_from(
    model: NormalModel,
    ticks: Sequence[Floats],
    apart: Sequence[Floats],
    *,
    false_alarm_every: float,
    usual_every: float | None,
    settings: DetectorSettings | None,
    tell: LearnProgress,
) -> Watching:
    """What watching with a model needs, with limits from normal ticks; see `prepare`."""
    equations, limits, second = prepare(
        model.equations,
        ticks,
        apart,
        centre=np.array([model.centre[name] for name in model.signals]),
        scale=np.array([max(model.scale[name], 1e-300) for name in model.signals]),
        false_alarm_every=false_alarm_every,
        usual_every=usual_every,
        settings=settings,
        progress=lambda share: tell("learning alarm limits", share),
    )
    return replace(model.watching, limits=limits, spread=equations.spread, second=second)


def usual_false_alarm_every(every: float, ticks: int, *, times: bool = True) -> float:
    """Seconds between two false alarms that are aimed at if none are asked for.

    Parameters
    ----------
    every
        Length of a tick in seconds.
    ticks
        Normal ticks that the limits come from.
    times
        Whether times are known; without them a day means nothing.
    """
    supported = ticks / 2
    if not times:
        return every * supported
    return max(FALSE_ALARM_EVERY, every * min(FALSE_ALARM_TICKS, supported))


def _longer_than_a_day(model: NormalModel, wanted: float) -> Finding:
    """The finding that ticks are so long that a day is only a few of them."""
    ticks = FALSE_ALARM_EVERY / model.preprocessing.every
    return Finding(
        kind="false_alarm_every",
        severity="info",
        text=f"The aim is one false alarm in {wanted / FALSE_ALARM_EVERY:.3g} days: with ticks of"
        f" {model.tick}, a day is only {ticks:.3g} of them.",
        meaning="Limits are higher than for one false alarm a day; alarms are rarer and later.",
        remedy="Give --false-alarm-every if another time is wanted.",
    )


def check_kept(source: TableSource, reading: Mapping[str, Any]) -> None:
    """Raise if a column that is to be a signal whatever it looks like is none."""
    keep = reading.get("keep", ())
    for name in [keep] if isinstance(keep, str) else keep:
        if " ".join(name.split()) not in source.signals:
            raise UnknownNameError(name, "column of numbers to keep", source.signals)


def _alpha(preset: str, test: str, alpha: float | None) -> float:
    if alpha is not None:
        return alpha
    if preset == "paper":
        return PAPER_ALPHA
    return KNN_ALPHA if test == "knn" else DEFAULT_ALPHA


def discoverer_of(
    method: str | Discoverer, preset: str, alpha: float | None, test: str, fdr: bool, seed: int
) -> Discoverer:
    """What finds the links, from the options of `learn`."""
    if not isinstance(method, str):
        return method
    level = _alpha(preset, test, alpha)
    if not 0.0 < level < 1.0:
        msg = f"--alpha is {level:g}; it must lie between 0 and 1."
        raise SettingError(msg)
    if method == "granger":
        if test != "linear":
            msg = "--test is for the method pcmci; leave it out with --method granger."
            raise SettingError(msg)
        return Granger(alpha=level)
    if method != "pcmci":
        raise UnknownNameError(method, "method", METHODS)
    if test not in TESTS:
        raise UnknownNameError(test, "independence test", TESTS)
    name: TestName = next(known for known in TESTS if known == test)
    return Pcmci(
        alpha=level,
        parents_alpha=None if preset == "paper" or test == "knn" else max(level, PARENTS_ALPHA),
        test=name,
        min_lag=0 if preset == "paper" else 1,
        fdr=fdr,
        above_mean=True,
        seed=seed,
    )


def least_lag(discoverer: Discoverer) -> int:
    """The shortest lag that a discoverer looks at."""
    return discoverer.min_lag if isinstance(discoverer, Pcmci) else 1


def fit_links(
    tick_pass: TickPass,
    plan: Preprocessing,
    discoverer: Discoverer,
    constraints: Constraints,
    preset: str,
    tell: LearnProgress,
) -> Fit:
    """The links that a discoverer finds in ticks, and the mechanisms that follow from them."""
    graph = discoverer.discover(
        tick_pass.ticks,
        tick_pass.moments,
        constraints=constraints,
        progress=lambda share: tell("finding causes", share),
    )
    log.info("%d links", len(graph))
    tell("fitting mechanisms", None)
    if preset == "paper":
        mechanisms = fit_as_published(graph, tick_pass.sample)
    else:
        mechanisms = fit_mechanisms(graph, tick_pass.moments)
    means = tick_pass.moments.means()[0]
    spreads = np.sqrt(tick_pass.moments.covariance().diagonal()[: len(plan.signals)])
    left = np.array([mechanisms[name].spread for name in plan.signals])
    return Fit(
        graph,
        mechanisms,
        centre=dict(zip(plan.signals, means.tolist(), strict=True)),
        scale=dict(zip(plan.signals, spreads.tolist(), strict=True)),
        spread=np.maximum(left, np.maximum(LEAST_SPREAD * spreads, 1e-300)),
    )


def _bare_watching(
    source: TableSource,
    survey: SurveyResult,
    plan: Preprocessing,
    guarded: tuple[str, ...],
    tick_pass: TickPass,
    spread: Floats,
) -> Watching:
    """What watching needs, as far as it does not depend on the detector."""
    return Watching(
        limits=None,
        published=None,
        spread=spread,
        guarded=guarded,
        ranges=GuardRanges(*ranges_of(survey, plan.signals, guarded)),
        habits=habits_of(tick_pass.last, survey.rows / max(1, tick_pass.count)),
        gap=GAP * source.interval,
    )
