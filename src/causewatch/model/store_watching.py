"""The part of a model's file that watching needs: limits, habits, guards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors import GuardRanges, Layout, Limits, NormalHabits
from causewatch.detectors.curves import Curves
from causewatch.detectors.switches import Switches
from causewatch.model.watching import Fared, Watching

__all__ = ["read_watching", "watching_arrays", "watching_content"]

Arrays = Mapping[str, NDArray[Any]]

HABITS = ("low", "high", "longest_still", "still", "longest_missing", "missing")
LIMITS = ("statistics", "links", "centre", "scale")


def watching_content(watching: Watching) -> dict[str, Any]:
    """What goes into the file as JSON."""
    limits = watching.limits
    return {
        "limits": None
        if limits is None
        else {
            "memories": {
                "means": list(limits.layout.means),
                "variances": list(limits.layout.variances),
                "coefficients": list(limits.layout.coefficients),
                "level": limits.layout.level,
            },
            "overall": limits.overall,
            "false_alarm_every": limits.false_alarm_every,
            "supported": limits.supported,
            "recent": limits.recent,
        },
        "published": watching.published is not None,
        "curves": watching.curves is not None,
        "switches": watching.switches is not None,
        "guarded": list(watching.guarded),
        "gap": watching.gap,
        "ticks": watching.habits.ticks,
        "rows_per_tick": watching.habits.rows_per_tick,
        "fared": None if watching.fared is None else asdict(watching.fared),
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
    for prefix, bent in (("curve", watching.curves), ("switch", watching.switches)):
        if bent is not None:
            assert isinstance(bent, Curves | Switches)  # the only ones there are
            arrays |= {f"{prefix}_{name}": array for name, array in bent.arrays().items()}
    return arrays


def read_watching(content: dict[str, Any], arrays: Arrays, signals: int, links: int) -> Watching:
    """The part of a model that `watching_content` and `watching_arrays` wrote, checked."""
    guarded = tuple(content["guarded"])
    columns = signals + len(guarded)
    written = content["limits"]
    layout = None
    if written is not None:
        memories = {
            name: tuple(one) for name, one in written["memories"].items() if name != "level"
        }
        layout = Layout(signals, links, level=written["memories"]["level"], **memories)
    shapes = {
        "watch_spread": signals,
        "guard_low": len(guarded),
        "guard_high": len(guarded),
        **{f"habit_{name}": columns for name in HABITS},
    }
    if layout is not None:
        shapes |= {"limit_statistics": layout.size, "limit_links": links}
        shapes |= {"limit_centre": signals, "limit_scale": signals}
    if content["published"]:
        shapes["limit_published"] = links
    for name, size in shapes.items():
        array = arrays[name]
        numbers = array.dtype in (np.dtype(np.float64), np.dtype(np.int64))
        if array.shape != (size,) or not numbers or not _sound(name, array):
            msg = f"array {name} has an unexpected shape, type or value"
            raise ValueError(msg)
    # Models of earlier versions know no twins.
    twin = arrays.get("guard_twin", np.full(len(guarded), -1, dtype=np.int64))
    if twin.shape != (len(guarded),) or twin.dtype != np.dtype(np.int64):
        msg = "array guard_twin has an unexpected shape or type"
        raise ValueError(msg)
    if len(twin) and not (twin.min() >= -1 and twin.max() < signals):
        msg = "array guard_twin points to a signal that is not there"
        raise ValueError(msg)
    if (layout is None) != content["published"]:
        msg = "a model has either limits or published limits"
        raise ValueError(msg)
    return Watching(
        limits=None
        if layout is None
        else Limits(
            layout,
            overall=written["overall"],
            false_alarm_every=written["false_alarm_every"],
            supported=written["supported"],
            recent=written["recent"],
            **{name: arrays[f"limit_{name}"] for name in LIMITS},
        ),
        published=arrays["limit_published"] if content["published"] else None,
        curves=_curves(arrays, signals, links) if content["curves"] else None,
        switches=_switches(arrays, signals, links) if content["switches"] else None,
        spread=arrays["watch_spread"],
        guarded=guarded,
        ranges=GuardRanges(arrays["guard_low"], arrays["guard_high"], twin),
        habits=NormalHabits(
            ticks=content["ticks"],
            rows_per_tick=content["rows_per_tick"],
            **{name: arrays[f"habit_{name}"] for name in HABITS},
        ),
        gap=content["gap"],
        fared=None if content["fared"] is None else Fared(**content["fared"]),
    )


def _curves(arrays: Arrays, signals: int, links: int) -> Curves:
    curves = Curves.from_arrays(_taken(arrays, "curve"))
    features, targets = curves.features, len(curves.target)
    _check_steps(curves.first, targets, len(curves.weight))
    _check_places("curve_target", curves.target, signals)
    _check_places("curve_link", features.link, links)
    _check_places("curve_gate", features.gate + 1, links + 1)  # -1: none
    shapes = {
        "curve_spread": (curves.spread, signals),
        "curve_constant": (curves.constant, targets),
    }
    for name in ("link", "knot", "upper", "gate", "gate_low", "gate_size"):
        shapes[f"curve_{name}"] = (getattr(features, name), len(curves.weight))
    _check_sizes(shapes)
    return curves


def _switches(arrays: Arrays, signals: int, links: int) -> Switches:
    switches = Switches.from_arrays(_taken(arrays, "switch"))
    targets, steps = len(switches.target), len(switches.gap)
    _check_steps(switches.first, targets, steps)
    _check_steps(switches.first_term, steps, len(switches.link))
    _check_places("switch_target", switches.target, signals)
    _check_places("switch_link", switches.link, links)
    by_target = ("low", "size", "unsure", "factor")
    shapes = {f"switch_{name}": (getattr(switches, name), targets) for name in by_target}
    shapes |= {"switch_offset": (switches.offset, steps), "switch_gap": (switches.gap, steps)}
    _check_sizes(shapes | {"switch_weight": (switches.weight, len(switches.link))})
    return switches


def _taken(arrays: Arrays, prefix: str) -> dict[str, NDArray[Any]]:
    """Arrays under their own names."""
    start = f"{prefix}_"
    return {name.removeprefix(start): one for name, one in arrays.items() if name.startswith(start)}


def _check_places(name: str, places: NDArray[Any], number: int) -> None:
    if not np.all((places >= 0) & (places < number)):
        msg = f"array {name} points outside the model"
        raise ValueError(msg)


def _check_steps(first: NDArray[Any], targets: int, total: int) -> None:
    """Whether the pieces that begin at `first` are one for each target, and none is empty."""
    ends = np.append(first, total)
    if targets == 0 or len(first) != targets or ends[0] != 0 or not np.all(np.diff(ends) > 0):
        msg = "the pieces of a curve or switch do not fit together"
        raise ValueError(msg)


def _check_sizes(shapes: Mapping[str, tuple[NDArray[Any], int]]) -> None:
    for name, (array, size) in shapes.items():
        if array.shape != (size,) or not np.isfinite(array).all():
            msg = f"array {name} has an unexpected shape or value"
            raise ValueError(msg)


def _sound(name: str, array: NDArray[Any]) -> bool:
    """Whether the numbers are such as could be used."""
    if name in ("watch_spread", "limit_statistics", "limit_links", "limit_scale"):
        return bool(np.isfinite(array).all() and (array > 0).all())
    if name in ("habit_low", "habit_high"):
        return not bool(np.isinf(array).any())  # NaN: never seen
    return bool(np.isfinite(array).all())
