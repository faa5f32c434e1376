"""The timeline of a watched recording: where everything stands, for an SVG in a page.

The template draws it, so that bars can link to pages and colours follow the page. Coordinates are
those of the SVG: x to the right, y downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data import Clock, format_time

__all__ = ["Bar", "Lane", "timeline"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WIDTH, LEFT, RIGHT = 1000.0, 92.0, 8.0
TOP = 26.0
"""Room for the names of attacks."""
SCORE, ALARMS, HEALTH, LANE, GAP = 150.0, 20.0, 8.0, 58.0, 16.0
"""Heights of the score, of the rows of alarms and health, of a signal, and the room between two."""
COLUMNS = 900
"""Points along a line at most; what lies between two is summed up by its extremes."""
THINNEST = 3.0
"""Width of the thinnest bar: a short alarm must be seen, too."""
STEPS = (60, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)
"""Seconds between two marks on the time axis."""
MOST_MARKS = 9
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that lasted from `start` to `end`, with its text, kind and address."""

    start: int
    end: int
    text: str
    kind: str
    page: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """A signal to show: one value per tick."""

    name: str
    values: Floats
    unit: str = ""


def timeline(
    time: Ints,
    score: Floats,
    clock: Clock,
    attacks: Sequence[Bar],
    alarms: Sequence[Bar],
    health: Sequence[Bar] = (),
    lanes: Sequence[Lane] = (),
) -> dict[str, Any]:
    """What the template draws; `time` needs two ticks or more."""
    first, last = int(time[0]), int(time[-1])

    def x_of(moment: float) -> float:
        share = (moment - first) / (last - first)
        return LEFT + min(max(share, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)

    x = np.array([x_of(moment) for moment in time.tolist()])
    top = float(np.nanmax(score, initial=2.0))
    high = _bent(top) * 1.05
    floor = TOP + SCORE

    def y_of(value: float) -> float:
        return floor - SCORE * _bent(value) / high

    levels = [level for level in (0.0, 1.0, 10.0, 100.0, 1000.0) if level <= top]
    heights = np.array([y_of(value) if value == value else np.nan for value in score.tolist()])
    at = floor + GAP
    rows = []
    for name, height, bars in (("Alarms", ALARMS, alarms), ("Health", HEALTH, health)):
        if bars or name == "Alarms":
            drawn_bars = [_bar(one, x_of) for one in bars]
            rows.append({"name": name, "y": round(at, 1), "height": height, "bars": drawn_bars})
            at += height + GAP
    drawn = []
    for lane in lanes:
        drawn.append(_lane(lane, x, at))
        at += LANE + GAP
    return {
        "width": WIDTH,
        "height": round(at + 14, 1),
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "top": TOP,
        "floor": floor,
        "bottom": round(at - GAP, 1),
        "attacks": [_bar(one, x_of) for one in attacks],
        "rows": rows,
        "score": _path(x, heights),
        "limit": round(y_of(1.0), 1),
        "levels": [{"y": round(y_of(level), 1), "text": f"{level:g}"} for level in levels],
        "lanes": drawn,
        "marks": [
            {"x": round(x_of(moment), 1), "text": _short(moment, clock)}
            for moment in _marks(first, last)
        ],
    }


def _bent(score: float) -> float:
    """Straight up to the limit, logarithmic above it: both have to be seen."""
    return score if score <= 1.0 else 1.0 + float(np.log(score))


def _bar(one: Bar, x_of: Any) -> dict[str, Any]:
    low, high = x_of(one.start), x_of(one.end)
    return {
        "x": round(low, 1),
        "width": round(max(high - low, THINNEST), 1),
        "text": one.text,
        "kind": one.kind,
        "page": one.page,
    }


def _lane(lane: Lane, x: Floats, at: float) -> dict[str, Any]:
    known = lane.values[np.isfinite(lane.values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    size = high - low or 1.0
    return {
        "name": lane.name,
        "unit": lane.unit,
        "y": round(at, 1),
        "height": LANE,
        "low": _number(low),
        "high": _number(high),
        "path": _path(x, at + LANE - LANE * (lane.values - low) / size),
    }


def _number(value: float) -> str:
    text = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return text.replace("-", "−")


def _path(x: Floats, y: Floats) -> str:
    """A line through the points, interrupted where there are none.

    Where there are many more points than columns, each column keeps its lowest and highest one in
    their order, so that no peak is lost.
    """
    step = max(1, -(-len(x) // COLUMNS))
    words, broken = [], True
    for start in range(0, len(x), step):
        part = y[start : start + step]
        known = np.flatnonzero(np.isfinite(part))
        if not len(known):
            broken = True
            continue
        ends = {int(known[np.argmin(part[known])]), int(known[np.argmax(part[known])])}
        for k in sorted(ends):
            words.append(f"{'M' if broken else 'L'}{x[start + k]:.1f} {part[k]:.1f}")
            broken = False
    return "".join(words)


def _marks(first: int, last: int) -> list[int]:
    """Times for the axis: round ones, not too many."""
    seconds = (last - first) / NANOSECONDS
    step = next((one for one in STEPS if seconds / one <= MOST_MARKS), STEPS[-1])
    size = step * NANOSECONDS
    return list(range(-(-first // size) * size, last + 1, size))


def _short(moment: int, clock: Clock) -> str:
    text = format_time(moment, clock)
    return text.split("T", 1)[1][:5] if "T" in text else text
