"""Models in files (``.cwm``): JSON and arrays in one checked zip, validated before use."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from causewatch.archive import read_archive, write_archive
from causewatch.data import Writing
from causewatch.data.cells import LARGEST
from causewatch.data.raw import check_name
from causewatch.discovery import Knowledge, LaggedMoments
from causewatch.errors import HIDDEN, CausewatchError, ModelFileError, listing, shorten
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.model.normal import Mechanism, NormalModel, Provenance
from causewatch.model.store_watching import read_watching, watching_arrays, watching_content
from causewatch.preprocess import Finding, Preprocessing

__all__ = ["load", "save"]

log = logging.getLogger(__name__)

KIND, VERSION = "model", 5
OLDEST = 5
MOST_HOLD = 1000
"""Ticks for which a missing value is replaced by the last one."""
"""Models of earlier formats hold the limits of another detector."""

Positive = Annotated[float, Field(gt=0, le=1e12)]
Factor = Annotated[float, Field(ge=1e-3, le=1e3)]
Seconds = Annotated[float, Field(ge=1e-9, le=1e9)]
Finite = Annotated[float, Field(ge=-1e100, le=1e100)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=10_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Preprocessing(_Strict):
    signals: Annotated[list[Name], Field(min_length=1)]
    dropped: dict[str, str]
    every: Seconds
    max_lag: Annotated[int, Field(ge=1, le=1000)]
    step: Annotated[int, Field(ge=1, le=10**9)] | None
    hold: Annotated[int, Field(ge=0, le=MOST_HOLD)]
    reason: str


class _Finding(_Strict):
    kind: str
    severity: Literal["info", "warning", "problem"]
    text: str
    meaning: str
    remedy: str
    signals: list[str]
    span: list[str] | None


class _File(_Strict):
    name: str
    sha256: str
    rows: Count


class _Settings(_Strict):
    preset: str
    method: str
    test: str
    alpha: Finite
    fdr: bool
    keep_start_up: bool = False
    seed: int
    every: Finite | None
    max_lag: int | None
    false_alarm_every: Finite | None


class _Limits(_Strict):
    moving: Annotated[float, Field(ge=0, le=1e6)]
    false_alarm_every: Positive
    supported: Positive
    settings: dict[str, Any]


class _Fared(_Strict):
    ticks: Count
    alarms: Count
    share: Share
    factor: Finite


class _Watching(_Strict):
    limits: _Limits | None
    published: bool
    guarded: list[Name]
    gap: Seconds
    ticks: Count
    rows_per_tick: Positive
    fared: _Fared | None
    factor: Factor


class _Writing(_Strict):
    time: Name | None
    time_format: Name | None
    separator: Name | None
    decimal: Name | None
    guessed: bool
    date_sign: Name | None = None


class _Provenance(_Strict):
    files: list[_File]
    rows: Count
    ticks: Count
    windows: Count
    first: str
    last: str
    created: str
    versions: dict[str, str]
    settings: _Settings
    writing: _Writing | None = None


class _Moments(_Strict):
    windows: Count
    open: bool
    started: bool


class _Content(_Strict):
    preset: Literal["default", "paper"]
    preprocessing: _Preprocessing
    interval: Seconds
    clock: Literal["naive", "utc", "elapsed", "rows"]
    knowledge: dict[str, Any]
    report: list[_Finding]
    watching: _Watching
    provenance: _Provenance
    moments: _Moments | None = None


def save(model: NormalModel, path: str | os.PathLike[str]) -> None:
    """Write `model` to a file: it is there whole or not at all."""
    place = {name: k for k, name in enumerate(model.signals)}
    links = list(model.graph)
    content = {
        "preset": model.preset,
        "preprocessing": model.preprocessing.to_dict(),
        "interval": model.interval,
        "clock": model.clock,
        "knowledge": model.knowledge.to_dict(),
        "report": [finding.to_dict() for finding in model.report],
        "watching": watching_content(model.watching),
        "provenance": asdict(model.provenance),
        "moments": None,
    }
    mechanisms = [model.mechanisms[name] for name in model.signals]
    arrays = {
        "links": np.array(
            [[place[link.source], place[link.target], link.lag] for link in links], dtype=np.int32
        ).reshape(-1, 3),
        "value": np.array([model.graph[link].value for link in links]),
        "p_value": np.array([model.graph[link].p_value for link in links]),
        "coefficient": np.array([model.mechanisms[k.target].coefficients[k] for k in links]),
        "intercept": np.array([one.intercept for one in mechanisms]),
        "spread": np.array([one.spread for one in mechanisms]),
        "explained": np.array([one.explained for one in mechanisms]),
        "centre": np.array([model.centre[name] for name in model.signals]),
        "scale": np.array([model.scale[name] for name in model.signals]),
        "positions": np.array([model.positions[name] for name in model.signals]),
        **watching_arrays(model.watching),
    }
    if model.moments is not None:
        about, sums = model.moments.to_arrays()
        content["moments"] = {name: about[name] for name in ("windows", "open", "started")}
        arrays |= {f"moments_{name}": array for name, array in sums.items()}
    write_archive(path, KIND, VERSION, content, arrays)


def load(path: str | os.PathLike[str]) -> NormalModel:
    """Read a model; a damaged or foreign file is a `ModelFileError`, and nothing in it is run."""
    content, arrays = read_archive(
        path,
        KIND,
        VERSION,
        oldest=OLDEST,
        remedy="its detector was another one; learn the model again from its recordings with"
        " 'causewatch learn'",
    )
    name = shorten(Path(path).name)
    try:
        _check_text(content)
        checked = _Content.model_validate(content)
        for signal in (*checked.preprocessing.signals, *checked.watching.guarded):
            check_name(signal, "it")
        _check_arrays(arrays, checked.preprocessing)
        model = _build(checked, arrays)
        _tell_unreachable(model, name)
        return model
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = f"{where}: {first['msg']}"
    except (CausewatchError, KeyError, TypeError, ValueError, AttributeError) as error:
        reason = str(error)
    msg = f"{name!r} is not a usable model ({shorten(reason, 120)})."
    raise ModelFileError(msg)


def _tell_unreachable(model: NormalModel, name: str) -> None:
    """Say for which signals nothing can raise an alarm."""
    deaf = model.watching.unreachable(model.signals)
    if deaf:
        log.warning(
            "%s has no limit that can be reached for %s of its %s signals: %s. Nothing they do"
            " raises an alarm; learn the model again.",
            name,
            len(deaf),
            len(model.signals) + len(model.watching.guarded),
            listing(deaf),
        )


def _check_text(content: object) -> None:
    """Raise if a text, wherever it is, holds what cannot be seen."""
    if isinstance(content, str):
        if HIDDEN.search(content.replace("\n", " ").replace("\t", " ")):
            msg = f"the text {shorten(content)!r} holds control characters"
            raise ValueError(msg)
    elif isinstance(content, Mapping):
        for key, value in content.items():
            _check_text(key)
            _check_text(value)
    elif isinstance(content, list):
        for value in content:
            _check_text(value)


def _origin(written: _Provenance) -> Provenance:
    plain = written.model_dump()
    writing = None if plain["writing"] is None else Writing(**plain["writing"])
    return Provenance(**(plain | {"files": tuple(plain["files"]), "writing": writing}))


def _check_arrays(arrays: Mapping[str, NDArray[Any]], plan: _Preprocessing) -> None:
    signals, links = len(plan.signals), len(arrays["links"])
    if len(set(plan.signals)) != signals:
        msg = "a signal is named twice"
        raise ValueError(msg)
    shapes: dict[str, tuple[int, ...]] = {
        "links": (links, 3),
        "positions": (signals, 2),
        **dict.fromkeys(("value", "p_value", "coefficient"), (links,)),
        **dict.fromkeys(("intercept", "spread", "explained", "centre", "scale"), (signals,)),
    }
    for name, shape in shapes.items():
        array = arrays[name]
        kind = np.int32 if name == "links" else np.float64
        if array.shape != shape or array.dtype != kind or not np.all(np.abs(array) <= LARGEST):
            msg = f"array {name} has an unexpected shape, type or value"
            raise ValueError(msg)
    source, target, lag = arrays["links"].T
    inside = (source >= 0) & (source < signals) & (target >= 0) & (target < signals)
    if not np.all(inside & (lag >= 0) & (lag <= plan.max_lag)):
        msg = "a link lies outside the signals or lags of the model"
        raise ValueError(msg)
    if len(np.unique(arrays["links"], axis=0)) != links:
        msg = "a link is listed twice"
        raise ValueError(msg)


def _build(content: _Content, arrays: Mapping[str, NDArray[Any]]) -> NormalModel:
    plan = content.preprocessing
    names = tuple(plan.signals)
    links = [Link(names[i], names[j], lag) for i, j, lag in arrays["links"].tolist()]
    graph = CausalGraph(
        names,
        {
            link: Strength(value, p_value)
            for link, value, p_value in zip(
                links, arrays["value"].tolist(), arrays["p_value"].tolist(), strict=True
            )
        },
    )
    coefficients: dict[str, dict[Link, float]] = {name: {} for name in names}
    for link, coefficient in zip(links, arrays["coefficient"].tolist(), strict=True):
        coefficients[link.target][link] = coefficient
    numbers = zip(
        names,
        arrays["intercept"].tolist(),
        arrays["spread"].tolist(),
        arrays["explained"].tolist(),
        strict=True,
    )
    return NormalModel(
        preset=content.preset,
        preprocessing=Preprocessing(**(plan.model_dump() | {"signals": names})),
        graph=graph,
        mechanisms={
            name: Mechanism(name, coefficients[name], intercept, spread, explained)
            for name, intercept, spread, explained in numbers
        },
        centre=dict(zip(names, arrays["centre"].tolist(), strict=True)),
        scale=dict(zip(names, arrays["scale"].tolist(), strict=True)),
        interval=content.interval,
        clock=content.clock,
        knowledge=Knowledge.from_dict(content.knowledge),
        report=tuple(Finding.from_dict(one.model_dump()) for one in content.report),
        watching=read_watching(content.watching.model_dump(), arrays, len(names), len(links)),
        positions={
            name: (x, y) for name, (x, y) in zip(names, arrays["positions"].tolist(), strict=True)
        },
        provenance=_origin(content.provenance),
        moments=_moments(content, arrays),
    )


def _moments(content: _Content, arrays: Mapping[str, NDArray[Any]]) -> LaggedMoments | None:
    if content.moments is None:
        return None
    plan = content.preprocessing
    sums = {
        name.removeprefix("moments_"): array
        for name, array in arrays.items()
        if name.startswith("moments_")
    }
    if not all(np.isfinite(array).all() for array in sums.values()):
        msg = "the moments hold a value that is not a number"
        raise ValueError(msg)
    about = {"signals": plan.signals, "max_lag": plan.max_lag}
    return LaggedMoments.from_arrays(about | content.moments.model_dump(), sums)
