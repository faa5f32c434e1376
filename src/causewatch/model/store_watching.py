"""The part of a model's file that watching needs: limits, habits, guards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from causewatch.data.cells import LARGEST
from causewatch.detectors import DetectorSettings, GuardRanges, Limits, NormalHabits
from causewatch.model.watching import SecondRecording, Watching

__all__ = [
    "Count",
    "Finite",
    "Name",
    "Positive",
    "Seconds",
    "Strict",
    "WatchingContent",
    "read_watching",
    "watching_arrays",
    "watching_content",
]

Arrays = Mapping[str, NDArray[Any]]

HABITS = ("low", "high", "longest_still", "still", "longest_missing", "missing")
LIMITS = ("statistics", "links", "centre", "scale", "low", "high")
MOST_TICKS = 100_000
"""Kept for re-estimating links at most: a forged file must not fill the memory."""


Positive = Annotated[float, Field(gt=0, le=1e12)]
Factor = Annotated[float, Field(ge=1e-3, le=1e3)]
Seconds = Annotated[float, Field(ge=1e-9, le=1e9)]
Finite = Annotated[float, Field(ge=-1e100, le=1e100)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=10_000)]


class Strict(BaseModel):
    """A part of a file that holds these fields, of these types, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class LimitsContent(Strict):
    """The numbers of limits; the arrays are beside them."""

    moving: Annotated[float, Field(ge=0, le=1e6)]
    false_alarm_every: Positive
    supported: Positive
    settings: dict[str, Any]


class SecondContent(Strict):
    """How a second recording fared; see `SecondRecording`."""

    ticks: Count
    alarms: Count
    share: Share
    factor: Finite


class WatchingContent(Strict):
    """What watching needs, without the arrays."""

    limits: LimitsContent | None
    published: bool
    guarded: list[Name]
    gap: Seconds
    ticks: Count
    rows_per_tick: Positive
    fared: SecondContent | None
    factor: Factor


def watching_content(watching: Watching) -> dict[str, Any]:
    """What goes into the file as JSON."""
    limits = watching.limits
    return {
        "limits": None
        if limits is None
        else {
            "moving": limits.moving,
            "false_alarm_every": limits.false_alarm_every,
            "supported": limits.supported,
            "settings": asdict(limits.settings),
        },
        "published": watching.published is not None,
        "guarded": list(watching.guarded),
        "gap": watching.gap,
        "ticks": watching.habits.ticks,
        "rows_per_tick": watching.habits.rows_per_tick,
        "fared": None if watching.second is None else asdict(watching.second),
        "factor": watching.factor,
    }


def watching_arrays(watching: Watching) -> dict[str, NDArray[Any]]:
    """What goes into the file as arrays."""
    arrays: dict[str, NDArray[Any]] = {
        "watch_spread": watching.spread,
        "guard_low": watching.ranges.low,
        "guard_high": watching.ranges.high,
        "guard_twin": watching.ranges.twin,
    }
    arrays |= {f"habit_{name}": getattr(watching.habits, name) for name in HABITS}
    if watching.limits is not None:
        arrays |= {f"limit_{name}": getattr(watching.limits, name) for name in LIMITS}
    if watching.published is not None:
        arrays["limit_published"] = watching.published
    return arrays


def read_watching(content: WatchingContent, arrays: Arrays, signals: int, links: int) -> Watching:
    """The part of a model that `watching_content` and `watching_arrays` wrote, checked."""
    fared = content.fared
    guarded, written = tuple(content.guarded), content.limits
    columns = signals + len(guarded)
    shapes: dict[str, tuple[int, ...]] = {
        "watch_spread": (signals,),
        "guard_low": (len(guarded),),
        "guard_high": (len(guarded),),
        "guard_twin": (len(guarded),),
        **{f"habit_{name}": (columns,) for name in HABITS},
    }
    settings = None
    if written is not None:
        settings = _settings(written.settings)
        rows = len(settings.means) + len(settings.squares) + 1
        shapes |= {"limit_statistics": (rows, signals), "limit_links": (links,)}
        shapes |= {f"limit_{name}": (signals,) for name in ("centre", "scale", "low", "high")}
    if content.published:
        shapes["limit_published"] = (links,)
    for name, shape in shapes.items():
        array = arrays[name]
        numbers = array.dtype in (np.dtype(np.float64), np.dtype(np.int64))
        if array.shape != shape or not numbers or not _sound(name, array):
            msg = f"array {name} has an unexpected shape, type or value"
            raise ValueError(msg)
    for kind in ("guard", "habit", "limit"):
        low, high = f"{kind}_low", f"{kind}_high"
        if low in shapes and np.any(arrays[low] > arrays[high]):  # NaN: never seen
            msg = f"array {low} lies above {high}"
            raise ValueError(msg)
    twin = arrays["guard_twin"]
    if twin.dtype != np.dtype(np.int64):
        msg = "array guard_twin has an unexpected type"
        raise ValueError(msg)
    if len(twin) and not (twin.min() >= -1 and twin.max() < signals):
        msg = "array guard_twin points to a signal that is not there"
        raise ValueError(msg)
    if (written is None) != content.published:
        msg = "a model has either limits or published limits"
        raise ValueError(msg)
    return Watching(
        limits=None
        if written is None or settings is None
        else Limits(
            moving=written.moving,
            false_alarm_every=written.false_alarm_every,
            supported=written.supported,
            settings=settings,
            **{name: arrays[f"limit_{name}"] for name in LIMITS},
        ),
        published=arrays["limit_published"] if content.published else None,
        spread=arrays["watch_spread"],
        guarded=guarded,
        ranges=GuardRanges(arrays["guard_low"], arrays["guard_high"], twin),
        habits=NormalHabits(
            ticks=content.ticks,
            rows_per_tick=content.rows_per_tick,
            **{name: arrays[f"habit_{name}"] for name in HABITS},
        ),
        gap=content.gap,
        second=None if fared is None else SecondRecording(**fared.model_dump()),
        factor=content.factor,
    )


def _settings(content: Mapping[str, Any]) -> DetectorSettings:
    """The settings of a detector, checked; lists of JSON are tuples again."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    settings = DetectorSettings(**values)
    if settings.link_window > MOST_TICKS:
        msg = f"link_window is {settings.link_window}; it must be at most {MOST_TICKS}"
        raise ValueError(msg)
    return settings


def _sound(name: str, array: NDArray[Any]) -> bool:
    """Whether the numbers are such as could be used."""
    if name == "limit_statistics":
        return bool((array > 0).all())  # infinite: says nothing
    if name in ("watch_spread", "limit_links", "limit_scale"):
        return bool((array > 0).all() and (array <= LARGEST).all())
    if name in ("habit_low", "habit_high", "limit_low", "limit_high"):
        return bool((np.isnan(array) | (np.abs(array) <= LARGEST)).all())  # NaN: never seen
    if name in ("habit_still", "habit_missing"):
        return bool(((array >= 0) & (array <= 1)).all())
    if name in ("habit_longest_still", "habit_longest_missing"):
        return bool((array >= 0).all())
    return bool((np.abs(array) <= LARGEST).all())
