"""The picture of an alarm: the signal where it starts, what acts on it, and what it acts on.

Causes stand on the left, effects on the right, what follows further on at the far right. Every
signal has one arrow, to or from the named one or an effect of it, so that none crosses another; a
second one, back from an effect, is drawn only where that link is broken. The links among the others
are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.explain.explanation import Explanation, parts_of
from causewatch.explain.frame import arrow_head
from causewatch.explain.ranking import Context
from causewatch.explain.routes import Route, route
from causewatch.explain.sheet import Sheet, text_width, two_lines
from causewatch.explain.view import interval
from causewatch.explain.words import short_names
from causewatch.monitor.course import Course

__all__ = ["links_chart"]

Floats = NDArray[np.float64]

MOST_NAMED, MOST_CAUSES, MOST_EFFECTS, MOST_FURTHER = 3, 4, 4, 2
"""Signals in the columns: 12 at most, one of them in the middle unless several are candidates."""
LEAST_STRENGTH = 0.1
"""A link moves its target by this many standard deviations for one of its source, or is left out,
unless it is broken or leads to something that follows."""
ROW, BETWEEN, PILL, PAD = 0.62, 1.1, 0.3, 0.15
"""Inches: between rows, between columns, height of a signal, margin."""
NAME, LAG, KEY = 9.5, 8.0, 8.0
"""Sizes of text."""
LONGEST, LINE = 36, 18
"""Characters of a name, and of a line of it."""
NEAR = 0.4
"""Where the lag stands on an arrow, from the end that has it for itself."""
RED, GREY, DARK = "#d1242f", "#8a96a2", "#1f2932"
CAUSE, FOLLOWER, OTHER = "#f6b8ba", "#fbdca6", "#e3e7eb"


@dataclass(frozen=True, slots=True)
class _Tie:
    """The link between two signals that is drawn: its lag in ticks, size, and if it is broken."""

    source: int
    target: int
    lag: int
    strength: float
    broken: bool


def links_chart(explanation: Explanation, kind: Literal["svg", "png"] = "svg") -> bytes | None:
    """The signals around the causes and the links that tie them to these, broken ones in red.

    None where no link does.
    """
    course, context, _ = parts_of(explanation)
    ties = _ties(explanation, course, context)
    index = {name: k for k, name in enumerate(course.signals)}
    leading = [change.signal for change in explanation.changes]
    leading = leading or [cause.signal for cause in explanation.likely[:MOST_NAMED]]
    named = [index[name] for name in leading]
    follow = [index[name] for name in explanation.consequences]
    columns, shown = _columns(ties, named, follow)
    if not shown:
        return None
    boxes = _boxes(columns, course, context)
    places = {signal: k for k, signal in enumerate(signal for part in columns for signal in part)}
    ways = route(
        boxes,
        [(places[tie.source], places[tie.target]) for tie in shown],
        heads=[arrow_head(_width(tie)) for tie in shown],
        clearance=0.04,
        radius=PILL / 2,
    )
    sheet = _sheet(boxes, ways)
    for tie, way in sorted(zip(shown, ways, strict=True), key=lambda pair: pair[0].broken):
        sheet.arrow(way, _rgb(RED if tie.broken else GREY), _width(tie), order=1 + tie.broken)
        if tie.source in columns[0] or tie.target not in named:
            _write_lag(sheet, tie, way, tie.target in named, context)
    texts = _texts([s for part in columns for s in part], course, context)
    for signal, text, box in zip(places, texts, boxes, strict=True):
        fill = FOLLOWER if signal in follow else OTHER
        fill = CAUSE if signal in named else fill
        sheet.box(box, fill_with=fill, edge=RED if signal in named else GREY, radius=PILL / 2)
        sheet.text(box[0], box[1], text, size=NAME - text.count("\n"), colour=DARK)
    _write_key(sheet, bool(explanation.changes), bool(set(follow) & set(places)), shown)
    sheet.figure.set_facecolor("none" if kind == "svg" else "white")
    return sheet.save(kind)


def _ties(
    explanation: Explanation, course: Course, context: Context
) -> dict[tuple[int, int], _Tie]:
    """By source and target: the link to draw, the worst broken one or the strongest."""
    law = context.equations
    index = {name: k for k, name in enumerate(course.signals)}
    broken: dict[tuple[int, int], int] = {}
    for broken_link in sorted(
        explanation.broken_links, key=lambda broken_link: -broken_link.deviation
    ):
        pair = (index.get(broken_link.link.source, -1), index.get(broken_link.link.target, -1))
        broken.setdefault(pair, broken_link.link.lag)
    ties: dict[tuple[int, int], _Tie] = {}
    for k in range(len(law.source)):
        pair = source, target = int(law.source[k]), int(law.target[k])
        if source == target:
            continue
        size = abs(float(law.coefficient[k] * context.scale[source] / context.scale[target]))
        if pair not in ties or size > ties[pair].strength:
            lag = broken.get(pair, int(law.lag[k]))
            ties[pair] = _Tie(source, target, lag, size, pair in broken)
    return ties


def _columns(
    ties: dict[tuple[int, int], _Tie], named: Sequence[int], follow: Sequence[int]
) -> tuple[list[list[int]], list[_Tie]]:
    """The columns from left to right, each from top to bottom, and the links that are drawn."""

    def matters(tie: _Tie) -> tuple[bool, bool, float]:
        return (tie.broken, tie.target in follow, tie.strength)

    into: dict[int, _Tie] = {}
    out: dict[int, _Tie] = {}
    for tie in sorted(ties.values(), key=matters, reverse=True):
        strong = tie.broken or tie.strength >= LEAST_STRENGTH
        if tie.target in named and tie.source not in named and strong:
            into.setdefault(tie.source, tie)
        elif tie.source in named and tie.target not in named and (strong or tie.target in follow):
            out.setdefault(tie.target, tie)
    back: dict[int, _Tie] = {}
    for signal in set(into) & set(out):  # one place for each: what follows is an effect
        if signal in follow or matters(into[signal]) < matters(out[signal]):
            back[signal] = into.pop(signal)
        else:
            del out[signal]
    causes = sorted(into, key=lambda one: matters(into[one]), reverse=True)[:MOST_CAUSES]
    effects = sorted(out, key=lambda one: matters(out[one]), reverse=True)[:MOST_EFFECTS]
    there = {*named, *causes, *effects}
    further: dict[int, _Tie] = {}
    for signal in follow:
        known = [ties[pair] for one in effects if (pair := (one, signal)) in ties]
        if signal not in there and known and len(further) < MOST_FURTHER:
            further[signal] = max(known, key=matters)
    causes.sort(key=lambda one: (named.index(into[one].target), -into[one].strength))
    effects.sort(key=lambda one: (named.index(out[one].source), one not in follow))
    last = sorted(further, key=lambda one: effects.index(further[one].source))
    shown = [*(into[one] for one in causes), *(out[one] for one in effects), *further.values()]
    shown += [back[one] for one in effects if one in back and back[one].broken]
    return [part for part in (causes, list(named), effects, last) if part], shown


def _texts(signals: Sequence[int], course: Course, context: Context) -> list[str]:
    labels = [context.labels.get(course.signals[k], course.signals[k]) for k in signals]
    return [two_lines(text, LINE) for text in short_names(labels, LONGEST)]


def _boxes(columns: Sequence[Sequence[int]], course: Course, context: Context) -> Floats:
    """Where each signal stands, in inches: columns are as far apart as the lags need."""
    texts = _texts([signal for part in columns for signal in part], course, context)
    rows, left, at = [], 0.0, 0
    for part in columns:
        inside = texts[at : at + len(part)]
        at += len(part)
        wide = max(text_width(text, NAME - text.count("\n")) for text in inside) / 2 + 0.12
        for place, text in enumerate(inside):
            high = PILL * (1 + 0.4 * text.count("\n")) / 2
            rows.append([left + wide, (place - (len(part) - 1) / 2) * ROW, wide, high])
        left += 2 * wide + BETWEEN
    return np.array(rows)


def _sheet(boxes: Floats, ways: Sequence[Route]) -> Sheet:
    """A sheet with room for the signals, the arrows, and the key below."""
    points = [boxes[:, :2] - boxes[:, 2:], boxes[:, :2] + boxes[:, 2:], *(w.curve for w in ways)]
    low = np.concatenate(points).min(axis=0) - PAD
    high = np.concatenate(points).max(axis=0) + PAD
    width = max(float(high[0] - low[0]), KEY_WIDTH)
    left = float(low[0] + high[0] - width) / 2
    return Sheet((left, float(low[1])), width, float(high[1] - low[1]) + KEY_HEIGHT)


KEY_WIDTH, KEY_HEIGHT = 6.6, 0.42


def _write_key(sheet: Sheet, sure: bool, followers: bool, shown: Sequence[_Tie]) -> None:
    """What colours and numbers mean, below the picture."""
    x, y = sheet.left + PAD, sheet.top + sheet.height - KEY_HEIGHT / 2
    parts = [(CAUSE, RED, "where it starts" if sure else "candidate")]
    parts += [(FOLLOWER, GREY, "follows from it")] if followers else []
    for fill, edge, text in parts:
        sheet.box((x + 0.11, y, 0.11, 0.06), fill_with=fill, edge=edge, radius=0.06)
        x = _write(sheet, x + 0.28, y, text)
    if any(tie.broken for tie in shown):
        line = np.array([[x, y], [x + 0.14, y], [x + 0.28, y]])
        sheet.arrow(Route(line, None), _rgb(RED), 2.4, order=2)
        x = _write(sheet, x + 0.34, y, "broken link")
    _write(sheet, x, y, "time on an arrow: how long the effect takes")


def _write(sheet: Sheet, x: float, y: float, text: str) -> float:
    """Write a word of the key; gives where the next one may begin."""
    sheet.text(x, y, text, size=KEY, across="left")
    return x + text_width(text, KEY) + 0.22


def _write_lag(sheet: Sheet, tie: _Tie, way: Route, at_source: bool, context: Context) -> None:
    """How long the effect takes, near the end that no other arrow has."""
    t = NEAR if at_source else 1.0 - NEAR
    x, y = (1 - t) ** 2 * way.curve[0] + 2 * t * (1 - t) * way.curve[1] + t**2 * way.curve[2]
    text = interval(tie.lag * context.every, context.clock)
    width = text_width(text, LAG) + 0.06
    sheet.box((x, y, width / 2, 0.08), fill_with="white", radius=0.05, order=4)
    sheet.text(x, y, text, size=LAG)


def _width(tie: _Tie) -> float:
    return 2.4 if tie.broken else 1.1


def _rgb(colour: str) -> tuple[float, float, float, float]:
    from matplotlib.colors import to_rgba

    red, green, blue, alpha = to_rgba(colour)
    return red, green, blue, alpha
