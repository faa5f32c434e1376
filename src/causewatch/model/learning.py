"""From a recording of normal operation to a `NormalModel`.

The recording is read three times, each time in pieces, and never held in memory as a whole (except
by the `paper` preset, whose rule for the interval needs all rows at once, and by independence
tests other than the linear one):

1. a *survey*: what each signal is like, whether the recording looks normal, a sample of its rows
   from which interval and lag are chosen;
2. *moments*: rows become ticks, ticks become lagged moments, from which graph and coefficients
   follow;
3. nothing more is read for the linear test: what the report says about residuals comes from a
   sample of ticks kept during the second pass.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.data import TableSource, TimeTable, format_time, open_table
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
from causewatch.graph import CausalGraph
from causewatch.kernels.regression import fit_from_covariance, fit_from_rows, lagged_columns
from causewatch.model.assumptions import nonlinearity_findings, residual_findings
from causewatch.model.layout import positions
from causewatch.model.normal import Mechanism, NormalModel, Provenance
from causewatch.preprocess import (
    BlockSample,
    Finding,
    Preprocessing,
    Survey,
    SurveyResult,
    TickSource,
    default_preprocessing,
    enough_rows,
    paper_preprocessing,
    quality_findings,
)

__all__ = ["METHODS", "PRESETS", "LearnProgress", "learn"]

Floats = NDArray[np.float64]
Preset = Literal["default", "paper"]
PRESETS: tuple[Preset, ...] = ("default", "paper")
METHODS = ("pcmci", "granger")

DEFAULT_ALPHA = 0.001
PAPER_ALPHA = 0.05
TRAINING_SHARE = 0.7
"""Part of the recording on which the published scripts fit the normal coefficients."""

LearnProgress = Callable[[str, float | None], None]
"""Told what is being done, and the share of it that is done (None: not known)."""


def learn(
    normal: Any,
    *,
    preset: str = "default",
    every: float | None = None,
    max_lag: int | None = None,
    alpha: float | None = None,
    knowledge: Knowledge | str | None = None,
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
        Length of a tick in seconds; chosen from the data if not given.
    max_lag
        How many ticks back causes may lie; chosen from the data if not given.
    alpha
        A link needs a p-value of at most this; 0.001 (``paper``: 0.05) if not given.
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
    NormalModel(5 signals, 12 links, every 1 s, max_lag 6)
    """
    if preset not in PRESETS:
        raise UnknownNameError(preset, "preset", PRESETS)
    tell = progress or (lambda what, share: None)
    known = load_knowledge(knowledge) if isinstance(knowledge, str) else (knowledge or Knowledge())
    discoverer = _discoverer(method, preset, alpha, test, fdr, seed)
    source = open_table(normal, **reading)

    survey, sample, whole = _survey(source, preset, tell)
    if whole is not None:
        plan = paper_preprocessing(whole, every=every, max_lag=max_lag)
        source = whole
    else:
        plan = default_preprocessing(survey, sample, every=every, max_lag=max_lag)
    constraints = known.resolve(
        plan.signals, plan.max_lag, _min_lag(discoverer), known=source.signals
    )

    taken = _take_moments(source, plan, survey.rows, tell)
    graph = discoverer.discover(
        taken.ticks,
        taken.moments,
        constraints=constraints,
        progress=lambda share: tell("finding causes", share),
    )
    tell("fitting mechanisms", None)
    if preset == "paper":
        mechanisms = _fit_as_published(graph, taken.sample)
    else:
        mechanisms = _fit(graph, taken.moments)
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
            _report(source, survey, plan, taken, graph, mechanisms, _alpha(preset, alpha))
        ),
        positions=positions(graph, groups),
        provenance=_provenance(
            source,
            survey,
            taken,
            now or datetime.now(UTC),
            {
                "preset": preset,
                "method": method if isinstance(method, str) else type(method).__name__,
                "test": test,
                "alpha": _alpha(preset, alpha),
                "fdr": fdr,
                "seed": seed,
                "every": every,
                "max_lag": max_lag,
            },
        ),
    )


@dataclass(frozen=True)
class _Taken:
    """What the second pass brings home."""

    ticks: TickSource
    moments: LaggedMoments
    sample: list[Floats]
    count: int
    missing: int


def _alpha(preset: str, alpha: float | None) -> float:
    if alpha is not None:
        return alpha
    return PAPER_ALPHA if preset == "paper" else DEFAULT_ALPHA


def _discoverer(
    method: str | Discoverer, preset: str, alpha: float | None, test: str, fdr: bool, seed: int
) -> Discoverer:
    if not isinstance(method, str):
        return method
    level = _alpha(preset, alpha)
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
) -> _Taken:
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
    return _Taken(ticks, moments, sample.stretches(), count, missing)


def _fit(graph: CausalGraph, moments: LaggedMoments) -> dict[str, Mechanism]:
    """Coefficients of every signal on its causes, from the moments."""
    covariance, means = moments.covariance(), moments.means()
    number = len(graph.signals)
    place = {name: k for k, name in enumerate(graph.signals)}
    mechanisms = {}
    for target in graph.signals:
        links = graph.parents(target)
        columns = np.array(
            [link.lag * number + place[link.source] for link in links], dtype=np.intp
        )
        weights, left = fit_from_covariance(covariance, place[target], columns)
        variance = float(covariance[place[target], place[target]])
        explained = sum(
            weight * means[link.lag, place[link.source]]
            for weight, link in zip(weights.tolist(), links, strict=True)
        )
        mechanisms[target] = Mechanism(
            target=target,
            coefficients=dict(zip(links, weights.tolist(), strict=True)),
            intercept=float(means[0, place[target]] - explained),
            spread=float(np.sqrt(left)),
            explained=1.0 - left / variance if variance > 0 else 0.0,
        )
    return mechanisms


def _fit_as_published(graph: CausalGraph, sample: list[Floats]) -> dict[str, Mechanism]:
    """Least squares on the first part of the ticks, in raw units, as the published scripts do."""
    ticks = np.concatenate(sample)
    ticks = ticks[: max(2, int(TRAINING_SHARE * len(ticks)))]
    place = {name: k for k, name in enumerate(graph.signals)}
    mechanisms = {}
    for target in graph.signals:
        links = sorted(graph.parents(target), key=lambda link: link.lag)
        lags = np.array([link.lag for link in links], dtype=np.intp)
        sources = np.array([place[link.source] for link in links], dtype=np.intp)
        start = int(lags.max(initial=0))
        now = ticks[start:, place[target]]
        columns = lagged_columns(ticks, sources, lags, start)
        weights, intercept = fit_from_rows(now, columns)
        left = now - columns @ weights - intercept
        mechanisms[target] = Mechanism(
            target=target,
            coefficients=dict(zip(links, weights.tolist(), strict=True)),
            intercept=intercept,
            spread=float(left.std()),
            explained=1.0 - float(left.var() / now.var()) if now.std() > 0 else 0.0,
        )
    return mechanisms


def _residuals(
    graph: CausalGraph, mechanisms: dict[str, Mechanism], sample: list[Floats], max_lag: int
) -> tuple[Floats, list[int], dict[str, list[tuple[str, Floats]]]]:
    """What mechanisms leave of a sample of ticks, where stretches begin, and parents' values."""
    place = {name: k for k, name in enumerate(graph.signals)}
    parts = [rows for rows in sample if len(rows) > max_lag]
    starts = np.cumsum([0] + [len(rows) - max_lag for rows in parts])[:-1].tolist()
    residuals = np.empty((sum(len(rows) - max_lag for rows in parts), len(graph.signals)))
    parents: dict[str, list[tuple[str, Floats]]] = {}
    for target, mechanism in mechanisms.items():
        links = list(mechanism.coefficients)
        sources = np.array([place[link.source] for link in links], dtype=np.intp)
        lags = np.array([link.lag for link in links], dtype=np.intp)
        weights = np.array([mechanism.coefficients[link] for link in links])
        columns = [lagged_columns(rows, sources, lags, max_lag) for rows in parts]
        joined = np.concatenate(columns) if columns else np.empty((0, len(links)))
        now = np.concatenate([rows[max_lag:, place[target]] for rows in parts] or [np.empty(0)])
        residuals[:, place[target]] = now - joined @ weights - mechanism.intercept
        parents[target] = [(link.source, joined[:, k]) for k, link in enumerate(links)]
    return residuals, starts, parents


def _report(
    source: TableSource,
    survey: SurveyResult,
    plan: Preprocessing,
    taken: _Taken,
    graph: CausalGraph,
    mechanisms: dict[str, Mechanism],
    alpha: float,
) -> list[Finding]:
    """Data quality and assumptions, most serious first."""
    findings = [
        Finding(kind=note.kind, severity="info", text=note.text, meaning="")
        for note in source.notes
    ]
    findings += quality_findings(survey)
    findings += _filling(plan, taken)
    largest = max((len(one.coefficients) for one in mechanisms.values()), default=0)
    findings.append(
        enough_rows(taken.moments.windows, len(plan.signals), plan.max_lag, largest, alpha=alpha)
    )
    residuals, starts, parents = _residuals(graph, mechanisms, taken.sample, plan.max_lag)
    findings += residual_findings(plan.signals, residuals, starts, plan.every)
    findings += nonlinearity_findings(plan.signals, residuals, parents)
    order = {"problem": 0, "warning": 1, "info": 2}
    return sorted(findings, key=lambda finding: order[finding.severity])


def _filling(plan: Preprocessing, taken: _Taken) -> list[Finding]:
    """How many missing values were filled, and what is still missing."""
    held = int(taken.ticks.held.sum())
    if held == 0 and taken.missing == 0:
        return []
    total = taken.count * len(plan.signals)
    serious = taken.missing > 0.01 * total
    return [
        Finding(
            kind="filled",
            severity="warning" if serious else "info",
            text=(
                f"{held:,} of {total:,} tick values were missing and filled with the signal's last"
                f" value (at most {plan.hold} ticks long); {taken.missing:,} stay missing, and"
                f" {taken.moments.windows:,} windows of {taken.moments.reach + 1} ticks are whole."
            ),
            meaning="Windows with a missing value are left out of learning.",
            remedy="--ignore the signals that are missing most, or give a better recording."
            if serious
            else "",
        )
    ]


def _provenance(
    source: TableSource,
    survey: SurveyResult,
    taken: _Taken,
    now: datetime,
    settings: dict[str, Any],
) -> Provenance:
    names = ("causewatch", "numpy", "scipy", "polars")
    blocks = survey.blocks
    return Provenance(
        files=tuple(
            {"name": file.name, "sha256": file.sha256, "rows": file.rows} for file in source.files
        ),
        rows=survey.rows,
        ticks=taken.count,
        windows=taken.moments.windows,
        first=format_time(int(blocks.first[0]), source.clock),
        last=format_time(int(blocks.last[-1]), source.clock),
        created=now.astimezone(UTC).isoformat(timespec="seconds"),
        versions={name: version(name) for name in names} | {"python": platform.python_version()},
        settings=settings,
    )
