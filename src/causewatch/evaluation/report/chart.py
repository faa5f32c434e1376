"""The charts of an evaluation: where everything stands, for drawings in a page.

Templates draw them, so that colours follow the page. Coordinates are those of SVG: x to the right,
y downwards; those of bars and dots are percentages, so that text beside them stays text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets.base import Recording
from causewatch.data.table import EPOCH, NANOSECONDS, Clock, format_time
from causewatch.evaluation.card import ReportCard, counted_rows
from causewatch.evaluation.judging import JudgedAlarm
from causewatch.evaluation.metrics import chance_ac_at_k, precision_recall_curve
from causewatch.evaluation.report.words import base_rate, number, percent
from causewatch.evaluation.verdicts import Verdicts
from causewatch.explain.story_chart import Bar, timeline
from causewatch.explain.view import clean

__all__ = ["cause_places", "curve_chart", "dots", "recording_chart"]

Floats = NDArray[np.float64]

DAY = 86_400
LONG_STEPS = tuple(DAY * k // 4 for k in (1, 2, 4, 8, 28, 56, 120, 364, 1460))
"""Seconds between two marks on the axis of a recording that is longer than a day."""
MONTHS = 60 * DAY * NANOSECONDS
"""Marks that are further apart than this name month and year."""
MOST_MARKS = 9
HIGHEST = 1e6
"""Scores are drawn up to here; above it nobody needs to know by how much."""
DIGIT = 7.5
"""Width of a digit in a timeline."""
MOST_SHADED = 200
"""Stretches of uncounted rows that are shaded at most."""

MOST_DECADES = 3
"""Decades that have a mark of their own on a logarithmic axis."""

CURVE_WIDTH, CURVE_HEIGHT = 440.0, 330.0
CURVE_LEFT, CURVE_RIGHT, CURVE_TOP, CURVE_BOTTOM = 46.0, 10.0, 10.0, 42.0
CURVE_COLUMNS = 240
"""Points along the precision–recall curve; each keeps its lowest and its highest precision."""


def recording_chart(
    recording: Recording,
    said: Verdicts,
    judged: Sequence[JudgedAlarm],
    places: Sequence[int],
    labels: Sequence[str],
    found: Sequence[bool],
    false_numbers: Sequence[int],
) -> dict[str, Any] | None:
    """Truth, score and alarms of one recording; None if it is too short to draw.

    Parameters
    ----------
    recording, said, judged
        The recording, the score, and what the alarms were.
    places, labels, found
        Of its events: their places in the table of events, what is written over them, and whether
        they were noticed.
    false_numbers
        Places of its false alarms in their table.
    """
    table = recording.table
    if len(table) < 2 or table.time[0] == table.time[-1]:
        return None
    events = [
        Bar(one.start, one.end, clean(one.name), "found" if hit else "missed", f"#event-{place}")
        for one, place, hit in zip(recording.events, places, found, strict=True)
    ]
    vain = iter(false_numbers)
    bars: dict[bool, list[Bar]] = {False: [], True: []}
    for one in judged:
        page = f"#false-{next(vain)}" if one.kind == "false" else None
        text = clean(one.span.headline) or clean(", ".join(one.span.causes[:3])) or "alarm"
        bar = Bar(one.span.raised_at, one.end, text, one.kind, page)
        bars[one.kind in ("false", "uncounted")].append(bar)
    # False alarms have a row of their own: place tells them from the others where colour cannot.
    score = np.clip(said.score, 0.0, HIGHEST)
    chart = timeline(table.time, score, table.clock, events, bars[False], bars[True])
    for row in chart["rows"]:
        row["name"] = "False" if row["name"] == "Health" else "Alarms"
    _label_events(chart["attacks"], labels)
    # Of events that overlap, the shorter one is drawn over the longer one, so that both can be hit.
    chart["attacks"].sort(key=lambda band: -band["width"])
    first, last = int(table.time[0]), int(table.time[-1])
    if last - first > DAY * NANOSECONDS:
        chart["marks"] = _long_marks(first, last, table.clock, chart["left"], chart["right"])
    chart["uncounted"] = _uncounted(recording, chart["left"], chart["right"])
    return chart


def _label_events(bands: Sequence[dict[str, Any]], labels: Sequence[str]) -> None:
    """Write over each event what it is called, unless it would stand in another one."""
    free = -math.inf
    for band, label in zip(bands, labels, strict=True):
        middle, half = band["x"] + band["width"] / 2, DIGIT * len(label) / 2
        band["label"] = label if middle - half >= free else ""
        if band["label"]:
            free = middle + half + 2.0


def _long_marks(
    first: int, last: int, clock: Clock, left: float, right: float
) -> list[dict[str, Any]]:
    """Marks for an axis that needs dates."""
    seconds = (last - first) / NANOSECONDS
    step = next((one for one in LONG_STEPS if seconds / one <= MOST_MARKS), None)
    size = (step or DAY * math.ceil(seconds / DAY / MOST_MARKS)) * NANOSECONDS
    return [
        {
            "x": round(left + (moment - first) / (last - first) * (right - left), 1),
            "text": _date(moment, clock, with_year=size > MONTHS),
        }
        for moment in range(-(-first // size) * size, last + 1, size)
    ]


def _date(moment: int, clock: Clock, *, with_year: bool) -> str:
    if clock not in ("naive", "utc"):
        return format_time(moment, clock)
    when = EPOCH + timedelta(seconds=moment // NANOSECONDS)
    if with_year:
        return f"{when:%b %Y}"
    if when.hour or when.minute:
        return f"{when:%H:%M}"
    return f"{when.day} {when:%b}"


def _uncounted(recording: Recording, left: float, right: float) -> list[dict[str, float]]:
    """Where rows have no label, so that nothing there is counted."""
    table = recording.table
    if table.labels is None:
        return []
    gone = np.concatenate([[False], ~np.isfinite(table.labels), [False]])
    edges = np.flatnonzero(gone[1:] != gone[:-1]).reshape(-1, 2)[:MOST_SHADED]
    first, last = int(table.time[0]), int(table.time[-1])
    shades = []
    for start, stop in edges.tolist():
        low, high = int(table.time[start]), int(table.time[min(stop, len(table) - 1)])
        x = left + (low - first) / (last - first) * (right - left)
        width = (high - low) / (last - first) * (right - left)
        shades.append({"x": round(x, 1), "width": round(max(width, 1.0), 1)})
    return shades


def curve_chart(
    card: ReportCard, recordings: Sequence[Recording], verdicts: Sequence[Verdicts]
) -> dict[str, Any] | None:
    """Precision against recall over all limits; None if every row is anomalous."""
    labels, score, _ = counted_rows(recordings, verdicts)
    truth = labels > 0
    if truth.all() or not truth.any():
        return None
    precision, recall, limit = precision_recall_curve(truth, score)
    # The last point belongs to no limit; from the highest limit down recall grows.
    precision, recall, limit = precision[-2::-1], recall[-2::-1], limit[::-1]
    total = 2.0 * precision * recall / np.maximum(precision + recall, 1e-300)
    best = int(np.argmax(total))
    base = base_rate(card)
    at_limit = None
    if card.precision is not None:
        at_limit = {"x": _across(card.recall), "y": _up(card.precision)}
    return {
        "width": CURVE_WIDTH,
        "height": CURVE_HEIGHT,
        "left": CURVE_LEFT,
        "right": CURVE_WIDTH - CURVE_RIGHT,
        "top": CURVE_TOP,
        "floor": CURVE_HEIGHT - CURVE_BOTTOM,
        "path": _curve(recall, precision),
        "base": _up(base),
        "base_text": number(base),
        "shipped": at_limit,
        "best": {"x": _across(float(recall[best])), "y": _up(float(precision[best]))},
        "best_text": f"{limit[best]:.3g}".replace("-", "−"),
        "across": [{"x": _across(k / 5), "text": f"{k / 5:g}"} for k in range(6)],
        "up": [{"y": _up(k / 5), "text": f"{k / 5:g}"} for k in range(6)],
    }


def _across(share: float) -> float:
    return round(CURVE_LEFT + share * (CURVE_WIDTH - CURVE_LEFT - CURVE_RIGHT), 1)


def _up(share: float) -> float:
    floor = CURVE_HEIGHT - CURVE_BOTTOM
    return round(floor - share * (floor - CURVE_TOP), 1)


def _curve(recall: Floats, precision: Floats) -> str:
    """The curve, with at most two points for each column it crosses."""
    column = np.minimum((recall * CURVE_COLUMNS).astype(np.int64), CURVE_COLUMNS - 1)
    edges = [0, *(np.flatnonzero(np.diff(column)) + 1).tolist(), len(column)]
    kept: list[int] = []
    for start, stop in pairwise(edges):
        part = precision[start:stop]
        ends = {start + int(np.argmin(part)), start + int(np.argmax(part)), stop - 1}
        kept += sorted(ends)
    return "".join(
        f"{'L' if k else 'M'}{_across(float(recall[at]))} {_up(float(precision[at]))}"
        for k, at in enumerate(kept)
    )


def cause_places(card: ReportCard, signals: int) -> list[dict[str, Any]]:
    """At which place the first true cause was named, over events whose cause is known.

    Parameters
    ----------
    card
        The events.
    signals
        From how many signals a cause is picked, for the chance levels.
    """
    known = [one for one in card.per_event if one.event.signals]
    if not known:
        return []
    sizes = [len(one.event.signals) for one in known]
    reached = [0.0, *(chance_ac_at_k(sizes, signals, k) for k in (1, 2, 3, 5)), 1.0]
    ranks = [one.rank for one in known if one.rank is not None]
    names = ("first", "second", "third", "fourth or fifth", "later")
    bounds = (0, 1, 2, 3, 5, math.inf)
    bars = [
        (name, sum(low < rank <= high for rank in ranks), after - before)
        for name, (low, high), (before, after) in zip(
            names, pairwise(bounds), pairwise(reached), strict=True
        )
    ]
    unnamed = sum(one.detected and one.rank is None for one in known)
    missed = sum(not one.detected for one in known)
    return [
        {
            "name": name,
            "count": count,
            "share": percent(count / len(known)),
            "width": round(100.0 * count / len(known), 2),
            "chance": None if chance is None else round(100.0 * chance, 2),
            "kind": kind,
        }
        for name, count, chance, kind in (
            *((name, count, chance, "named") for name, count, chance in bars),
            ("not named", unnamed, None, "unnamed"),
            ("event missed", missed, None, "unnamed"),
        )
    ]


def dots(values: Sequence[float | None], *, logarithmic: bool = False) -> dict[str, Any]:
    """Places of some figures on one axis, in percent of its length; None where there is none.

    Shares have an axis from 0 to 1. A logarithmic one begins with 0 and is straight below 0.1, so
    that none and few can both be seen beside thousands.
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    steps = [0.0, 0.5, 1.0]
    place: Callable[[float], float] = float
    high = 1.0
    if logarithmic:
        decades = max(0, math.ceil(math.log10(max([*known, 1.0]))))
        apart = -(-decades // MOST_DECADES) or 1
        steps = [0.0, *sorted(10.0**k for k in range(decades, -1, -apart))]
        place = _bent
        high = _bent(10.0**decades)
    return {
        "places": [
            None if v is None or not math.isfinite(v) else round(100.0 * place(v) / high, 2)
            for v in values
        ],
        "ticks": [{"x": round(100.0 * place(s) / high, 2), "text": f"{s:,g}"} for s in steps],
    }


def _bent(value: float) -> float:
    """Straight up to 0.1, logarithmic above it."""
    return 10.0 * value if value <= 0.1 else 2.0 + math.log10(value)
