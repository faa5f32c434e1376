"""What does not change while a watch runs: its signals, where they stand, and what links them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from causewatch.data.table import NANOSECONDS, read_time
from causewatch.explain.view import later
from causewatch.model import NormalModel

__all__ = ["SPREADS", "finite", "plant_of", "seconds_in", "seconds_of", "shortened"]

SPREADS = 3.0
"""Half width of the band around what is expected, in spreads of a mechanism; as in reports."""
WIDTH = 2.5
"""Room for a stage beside the others."""


def plant_of(model: NormalModel) -> dict[str, Any]:
    """The signals and links of a model, in the order in which ticks hold them, as plain data."""
    names = model.signals
    stages = model.knowledge.groups_for(model.watched)
    stage_of = {name: k for k, members in enumerate(stages.values()) for name in members}
    places = _places(model, stages)
    ranges = model.watching.ranges
    spread = model.watching.spread.tolist()
    signals: list[dict[str, Any]] = []
    for k, name in enumerate(model.watched):
        guarded = k >= len(names)
        x, y = places[name]
        signals.append(
            {
                "name": name,
                "label": model.knowledge.label_of(name) or None,
                "unit": model.knowledge.unit_of(name) or None,
                "stage": stage_of.get(name),
                "guarded": guarded,
                "x": round(x, 3),
                "y": round(y, 3),
                "spread": None if guarded else finite(spread[k]),
                "low": finite(float(ranges.low[k - len(names)])) if guarded else None,
                "high": finite(float(ranges.high[k - len(names)])) if guarded else None,
                "explained": None if guarded else finite(model.mechanisms[name].explained),
            }
        )
    index = {name: k for k, name in enumerate(names)}
    links = [
        [
            index[link.source],
            index[link.target],
            link.lag,
            shortened(strength.value),
            shortened(strength.p_value),
            shortened(model.mechanisms[link.target].coefficients[link]),
        ]
        for link, strength in model.graph.links.items()
    ]
    return {
        "every": model.preprocessing.every,
        "tick": model.tick,
        "interval": model.interval,
        "max_lag": model.preprocessing.max_lag,
        "lags": [_later(model, lag) for lag in range(model.preprocessing.max_lag + 1)],
        "preset": model.preset,
        "stages": list(stages),
        "signals": signals,
        "links": links,
    }


def _later(model: NormalModel, lag: int) -> str:
    """How much later an effect with this lag follows, as sentences and reports say it."""
    every = model.preprocessing.every
    if lag and model.clock == "rows":
        rows = round(lag * every / model.interval)
        return f"{rows} row{'s' * (rows != 1)}"
    return later(lag, every)


def _places(
    model: NormalModel, stages: Mapping[str, Sequence[str]]
) -> dict[str, tuple[float, float]]:
    """Where signals stand; guarded ones, which no link reaches, in rows below their stage."""
    places = dict(model.positions)
    below = max((y for _, y in places.values()), default=0.0) + 1.5
    guarded = model.watching.guarded
    known = {name for members in stages.values() for name in members}
    right = max((x for x, _ in places.values()), default=-WIDTH)
    for members in (*stages.values(), [name for name in guarded if name not in known]):
        at = [places[name][0] for name in members if name in places]
        waiting = [name for name in members if name not in places]
        if not at and waiting:  # nothing of this stage has a place yet
            at = [right + WIDTH, right + WIDTH + 2.0]
            right = at[1]
        for k, name in enumerate(waiting):
            columns = int(max(at) - min(at)) + 1
            places[name] = (min(at) + k % columns, below + k // columns)
    return places


def finite(value: float | None) -> float | None:
    """`value` for JSON, which has no word for NaN and infinity."""
    return None if value is None or not math.isfinite(value) else float(value)


def shortened(value: float | None) -> float | None:
    """`value` to six digits, which is enough for looking at; None if it is no number."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def seconds_of(time: int | None) -> float | None:
    """Nanoseconds as seconds, for charts."""
    return None if time is None else time / NANOSECONDS


def seconds_in(text: str | None) -> float | None:
    """The time that `format_time` wrote, in seconds; None for none, or no time at all.

    >>> seconds_in("90s"), seconds_in("row 5"), seconds_in("1970-01-01T00:01:00Z")
    (90.0, 5.0, 60.0)
    """
    try:
        return read_time(text) / NANOSECONDS if text else None
    except (ValueError, OverflowError):
        return None
