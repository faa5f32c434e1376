"""Models in files (``.cwm``): JSON and arrays in one checked zip, validated before use."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from causewatch.archive import pack_archive, read_archive
from causewatch.data import Writing
from causewatch.data.cells import LARGEST
from causewatch.data.raw import check_name
from causewatch.discovery import Knowledge, LaggedMoments, LinkConfidence
from causewatch.errors import HIDDEN, CausewatchError, ModelFileError, listing, shorten
from causewatch.files import write_atomically
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.model.normal import Mechanism, NormalModel, Provenance
from causewatch.model.store_watching import (
    Count,
    Finite,
    Name,
    Seconds,
    Strict,
    WatchingContent,
    read_watching,
    watching_arrays,
    watching_content,
)
from causewatch.preprocess import Finding, Preprocessing

__all__ = ["load", "pack", "save", "unpack"]

log = logging.getLogger(__name__)

KIND, VERSION = "model", 5
OLDEST = 5
"""Models of earlier formats hold the limits of another detector."""
MOST_PREDECESSORS = 10_000
MOST_HOLD = 1000
"""Ticks for which a missing value is replaced by the last one."""


class _Preprocessing(Strict):
    signals: Annotated[list[Name], Field(min_length=1)]
    dropped: dict[str, str]
    every: Seconds
    max_lag: Annotated[int, Field(ge=1, le=1000)]
    step: Annotated[int, Field(ge=1, le=10**9)] | None
    hold: Annotated[int, Field(ge=0, le=MOST_HOLD)]
    reason: str
    columns: Annotated[list[Name], Field(min_length=1)]
    believed: dict[str, tuple[Finite, Finite]] = Field(default_factory=dict)


class _File(Strict):
    name: str
    sha256: str
    rows: Count


class _Settings(Strict):
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


Fingerprint = Annotated[str, Field(pattern="^[0-9a-f]{16}$")]


class _Provenance(Strict):
    files: list[_File]
    rows: Count
    ticks: Count
    windows: Count
    first: str
    last: str
    created: str
    versions: dict[str, str]
    settings: _Settings
    writing: Writing | None = None
    predecessors: Annotated[tuple[Fingerprint, ...], Field(max_length=MOST_PREDECESSORS)] = ()


class _Moments(Strict):
    windows: Count
    open: bool
    started: bool


class _Content(Strict):
    preset: Literal["default", "paper"]
    preprocessing: _Preprocessing
    interval: Seconds
    clock: Literal["naive", "utc", "elapsed", "rows"]
    knowledge: dict[str, Any]
    report: tuple[Finding, ...]
    watching: WatchingContent
    provenance: _Provenance
    moments: _Moments | None = None


def save(model: NormalModel, path: str | os.PathLike[str]) -> None:
    """Write `model` to a file: it is there whole or not at all."""
    write_atomically(path, pack(model))


def pack(model: NormalModel) -> bytes:
    """The bytes of the file of a model."""
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
        "intercept": np.array([mechanism.intercept for mechanism in mechanisms]),
        "spread": np.array([mechanism.spread for mechanism in mechanisms]),
        "explained": np.array([mechanism.explained for mechanism in mechanisms]),
        "centre": np.array([model.centre[name] for name in model.signals]),
        "scale": np.array([model.scale[name] for name in model.signals]),
        "positions": np.array([model.positions[name] for name in model.signals]),
        **watching_arrays(model.watching),
    }
    if model.confidence:
        arrays["confidence"] = np.array([astuple(model.confidence[k]) for k in links], dtype=float)
    if model.moments is not None:
        about, sums = model.moments.to_arrays()
        content["moments"] = {name: about[name] for name in ("windows", "open", "started")}
        arrays |= {f"moments_{name}": array for name, array in sums.items()}
    return pack_archive(KIND, VERSION, content, arrays)


def load(path: str | os.PathLike[str]) -> NormalModel:
    """Read a model; a damaged or foreign file is a `ModelFileError`, and nothing in it is run."""
    return _read(path, shorten(Path(path).name))


def unpack(data: bytes) -> NormalModel:
    """The model that was packed, checked like a file."""
    return _read(data, KIND)


def _read(source: str | os.PathLike[str] | bytes, name: str) -> NormalModel:
    content, arrays = read_archive(
        source,
        KIND,
        VERSION,
        oldest=OLDEST,
        remedy="its detector was another one; learn the model again from its recordings with"
        " 'causewatch learn'",
    )
    try:
        _check_text(content)
        # As JSON, in which what is a tuple here may strictly be a list.
        checked = _Content.model_validate_json(json.dumps(content))
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
    if "confidence" in arrays:
        shapes["confidence"] = (links, 5)
    for name, shape in shapes.items():
        array = arrays[name]
        kind = np.int32 if name == "links" else np.float64
        if array.shape != shape or array.dtype != kind or not np.all(np.abs(array) <= LARGEST):
            msg = f"array {name} has an unexpected shape, type or value"
            raise ValueError(msg)
    if "confidence" in arrays:
        share, low, high, first, last = arrays["confidence"].T
        sound = (share >= 0) & (share <= 1) & (-1 <= low) & (low <= high) & (high <= 1)
        if not np.all(sound & (first >= 0) & (first <= last) & (last <= plan.max_lag)):
            msg = "the confidence of a link is impossible"
            raise ValueError(msg)
    source, target, lag = arrays["links"].T
    inside = (source >= 0) & (source < signals) & (target >= 0) & (target < signals)
    if not np.all(inside & (lag >= 0) & (lag <= plan.max_lag)):
        msg = "a link lies outside the signals or lags of the model"
        raise ValueError(msg)
    if len(np.unique(arrays["links"], axis=0)) != links:
        msg = "a link is listed twice"
        raise ValueError(msg)


def _columns(plan: _Preprocessing, guarded: list[str]) -> tuple[str, ...]:
    """The columns of the recording in order, which are the signals kept and left out."""
    kept_and_dropped = sorted((*plan.signals, *plan.dropped))
    if sorted(plan.columns) != kept_and_dropped or not plan.dropped.keys() >= set(guarded):
        msg = "the columns of the recording are not the signals kept, left out and guarded"
        raise ValueError(msg)
    return tuple(plan.columns)


def _believed(plan: _Preprocessing) -> dict[str, tuple[float, float]]:
    """The bounds of what is believed, which leave something to believe."""
    for name, (low, high) in plan.believed.items():
        if name not in plan.columns or not low < high:
            msg = f"nothing between {low:g} and {high:g} can be believed of {shorten(name)!r}"
            raise ValueError(msg)
    return plan.believed


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
        preprocessing=Preprocessing(
            **(
                plan.model_dump()
                | {"signals": names, "columns": _columns(plan, content.watching.guarded)}
                | {"believed": _believed(plan)}
            )
        ),
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
        report=content.report,
        watching=read_watching(content.watching, arrays, len(names), len(links)),
        positions={
            name: (x, y) for name, (x, y) in zip(names, arrays["positions"].tolist(), strict=True)
        },
        provenance=Provenance(
            **dict(content.provenance)
            | {
                "files": tuple(file.model_dump() for file in content.provenance.files),
                "settings": content.provenance.settings.model_dump(),
            }
        ),
        moments=_moments(content, arrays),
        confidence={
            link: LinkConfidence(share, low, high, int(first), int(last))
            for link, (share, low, high, first, last) in zip(
                links, arrays.get("confidence", np.empty((0, 5))).tolist(), strict=False
            )
        },
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
