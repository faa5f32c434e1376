"""From a recording of normal operation to a `NormalModel`.

The recording is read twice, each time in pieces, and never held in memory as a whole (except
by the `paper` preset, whose rule for the interval needs all rows at once, and by independence
tests other than the linear one):

1. a *survey*: what each signal is like, whether the recording looks normal, a sample of its rows
   from which interval and lag are chosen;
2. *moments*: rows become ticks, ticks become lagged moments, from which graph and coefficients
   follow; a sample of ticks is kept for what the report says about residuals.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.data import TableSource, TimeTable, open_table, parse_duration
from causewatch.discovery import (
    TESTS,
    Discoverer,
    Granger,
    Knowledge,
    LaggedMoments,
    Pcmci,
    TestName,
    load_knowledge,
)
from causewatch.errors import NotEnoughDataError, SettingError, UnknownNameError
from causewatch.model.account import Taken, findings_of, provenance_of
from causewatch.model.fitting import fit_as_published, fit_mechanisms
from causewatch.model.layout import positions
from causewatch.model.normal import NormalModel
from causewatch.preprocess import (
    BlockSample,
    Preprocessing,
    Survey,
    SurveyResult,
    TickSource,
    default_preprocessing,
    paper_preprocessing,
)

__all__ = ["METHODS", "PRESETS", "LearnProgress", "learn"]

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
LearnProgress = Callable[[str, float | None], None]
"""Told what is being done, and the share of it that is done (None: not known)."""


def learn(
    normal: Any,
    *,
    preset: str = "default",
    every: float | str | None = None,
    max_lag: int | None = None,
    alpha: float | None = None,
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    method: str | Discoverer = "pcmci",
    test: str = "linear",
    fdr: bool = False,
    seed: int = 0,
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
    method
        ``pcmci``, ``granger``, or any `Discoverer`.
    test
        Independence test of PCMCI: ``linear``, ``rank`` or ``knn``.
    fdr
        Correct p-values for the number of tests (Benjamini–Hochberg).
    seed
        For tests that draw random numbers.
    progress
        Told what is being done.
    now
        Time noted in the model; the present one if not given.
    **reading
        Options of :func:`causewatch.open_table`: `time`, `labels`, `ignore`, `exclude`, …

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
    tell = progress or (lambda what, share: None)
    known = knowledge or Knowledge()
    if not isinstance(known, Knowledge):
        known = load_knowledge(known)
    discoverer = _discoverer(method, preset, alpha, test, fdr, seed)
    source = open_table(normal, **reading)

    survey, sample, whole = _survey(source, preset, tell)
    log.info("read %d rows in %d stretches", survey.rows, survey.stretches)
    if whole is not None:
        plan = paper_preprocessing(whole, every=every, max_lag=max_lag)
        source = whole
    else:
        plan = default_preprocessing(survey, sample, every=every, max_lag=max_lag)
    log.info("%d of %d signals kept", len(plan.signals), len(source.signals))
    log.info("ticks of %g s, lags up to %d: %s", plan.every, plan.max_lag, plan.reason)
    constraints = known.resolve(
        plan.signals, plan.max_lag, _min_lag(discoverer), known=source.signals
    )

    taken = _take_moments(source, plan, survey.rows, tell)
    log.info("%d ticks, %d whole windows", taken.count, taken.moments.windows)
    graph = discoverer.discover(
        taken.ticks,
        taken.moments,
        constraints=constraints,
        progress=lambda share: tell("finding causes", share),
    )
    log.info("%d links", len(graph))
    tell("fitting mechanisms", None)
    if preset == "paper":
        mechanisms = fit_as_published(graph, taken.sample)
    else:
        mechanisms = fit_mechanisms(graph, taken.moments)
    means = taken.moments.means()[0]
    spreads = np.sqrt(taken.moments.covariance().diagonal()[: len(plan.signals)])
    groups = known.groups_for(plan.signals)
    tell("checking assumptions", None)
    return NormalModel(
        preset=preset,
        preprocessing=plan,
        graph=graph,
        mechanisms=mechanisms,
        centre=dict(zip(plan.signals, means.tolist(), strict=True)),
        scale=dict(zip(plan.signals, spreads.tolist(), strict=True)),
        interval=source.interval,
        clock=source.clock,
        knowledge=known,
        report=tuple(
            findings_of(source, survey, plan, taken, graph, mechanisms, _alpha(preset, test, alpha))
        ),
        positions=positions(graph, groups),
        provenance=provenance_of(
            source,
            survey,
            taken,
            now or datetime.now(UTC),
            {
                "preset": preset,
                "method": method if isinstance(method, str) else type(method).__name__,
                "test": test,
                "alpha": _alpha(preset, test, alpha),
                "fdr": fdr,
                "seed": seed,
                "every": every,
                "max_lag": max_lag,
            },
        ),
    )


def _alpha(preset: str, test: str, alpha: float | None) -> float:
    if alpha is not None:
        return alpha
    if preset == "paper":
        return PAPER_ALPHA
    return KNN_ALPHA if test == "knn" else DEFAULT_ALPHA


def _discoverer(
    method: str | Discoverer, preset: str, alpha: float | None, test: str, fdr: bool, seed: int
) -> Discoverer:
    if not isinstance(method, str):
        return method
    level = _alpha(preset, test, alpha)
    if not 0.0 < level < 1.0:
        msg = f"--alpha is {level:g}; it must lie between 0 and 1."
        raise SettingError(msg)
    if method == "granger":
        return Granger(alpha=level)
    if method != "pcmci":
        raise UnknownNameError(method, "method", METHODS)
    if test not in TESTS:
        raise UnknownNameError(test, "independence test", TESTS)
    name: TestName = next(one for one in TESTS if one == test)
    return Pcmci(
        alpha=level,
        parents_alpha=None if preset == "paper" or test == "knn" else max(level, PARENTS_ALPHA),
        test=name,
        min_lag=0 if preset == "paper" else 1,
        fdr=fdr,
        above_mean=True,
        seed=seed,
    )


def _min_lag(discoverer: Discoverer) -> int:
    return discoverer.min_lag if isinstance(discoverer, Pcmci) else 1


def _survey(
    source: TableSource, preset: str, tell: LearnProgress
) -> tuple[SurveyResult, list[Floats], TimeTable | None]:
    """First pass: the survey, a sample of rows, and for `paper` all rows."""
    survey = Survey(source.signals, source.interval, source.clock)
    sample = BlockSample(len(source.signals))
    chunks: list[TimeTable] = []
    rows = 0
    for chunk in source.chunks():
        survey.update(chunk)
        sample.update(chunk)
        if preset == "paper":
            chunks.append(chunk)
        rows += len(chunk)
        tell(f"reading: {rows:,} rows", None)
    whole = _joined(chunks, source) if preset == "paper" else None
    return survey.finish(), sample.stretches(), whole


def _joined(chunks: list[TimeTable], source: TableSource) -> TimeTable:
    sizes = np.cumsum([0] + [len(chunk) for chunk in chunks])
    return TimeTable(
        signals=tuple(source.signals),
        values=np.concatenate([chunk.values for chunk in chunks]),
        time=np.concatenate([chunk.time for chunk in chunks]),
        starts=np.concatenate(
            [chunk.starts + size for chunk, size in zip(chunks, sizes, strict=False)]
        ),
        interval=source.interval,
        clock=source.clock,
        files=source.files,
        notes=source.notes,
    )


def _take_moments(
    source: TableSource, plan: Preprocessing, rows: int, tell: LearnProgress
) -> Taken:
    """Second pass: ticks and their lagged moments."""
    ticks = TickSource(source, plan)
    moments = LaggedMoments(plan.signals, max_lag=plan.max_lag)
    whole = plan.step is not None  # the published fit needs every tick
    sample = BlockSample(len(plan.signals), most=1 << 40 if whole else 16)
    expected = max(1.0, rows * source.interval / plan.every)
    count = missing = 0
    for chunk in ticks.chunks():
        for piece in chunk.stretches():
            if not (chunk.continues and piece.start == 0):
                moments.new_stretch()
            moments.update(chunk.values[piece])
        sample.update(chunk)
        count += len(chunk)
        missing += int(np.isnan(chunk.values).sum())
        tell("taking moments", min(1.0, count / expected))
    if moments.windows == 0:
        msg = (
            f"No {moments.reach + 1} ticks in a row are free of gaps and missing values"
            f" ({count:,} ticks of {plan.every:g} s, {missing:,} missing values); give a longer"
            " recording, a shorter --max-lag, or --ignore the signals that are mostly missing."
        )
        raise NotEnoughDataError(msg)
    return Taken(ticks, moments, sample.stretches(), count, missing)
