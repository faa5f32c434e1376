"""What every picture has around and over its nodes: title, colour bars, caption, arrows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.explain.colours import INK, SOFT
from causewatch.explain.routes import Route, label_places
from causewatch.explain.sheet import Scale, Sheet, fill, text_width
from causewatch.explain.view import Arrow, clean

__all__ = ["arrow_head", "arrow_width", "draw_arrows", "framed"]

Floats = NDArray[np.float64]

MARGIN = 0.3
NARROWEST = 6.4
TITLE_SIZE = 14
FOOT_SIZE = 8.5
FOOT_LINE = 0.165
BAR = 2.5
LAG_SIZE = 7.5


def framed(
    boxes: Floats,
    ways: Sequence[Route],
    *,
    title: str | None,
    foot: Sequence[str],
    bars: Sequence[tuple[str, Scale]],
) -> Sheet:
    """A sheet large enough for `boxes` and `ways`, with title, colour bars and footer in place."""
    spread = [boxes[:, :2] - boxes[:, 2:], boxes[:, :2] + boxes[:, 2:]]
    for way in ways:
        spread.append(way.curve[::2])
        spread.append((way.curve[:1] + 2 * way.curve[1:2] + way.curve[2:]) / 4)
    points = np.concatenate(spread)
    low, high = points.min(axis=0), points.max(axis=0)

    width = max(NARROWEST, float(high[0] - low[0]) + 2 * MARGIN)
    left = float(low[0] + high[0] - width) / 2
    heading = fill(clean(title), width - 2 * MARGIN, TITLE_SIZE + 1) if title else ""
    above = MARGIN + (0.27 * (heading.count("\n") + 1) + 0.2 if heading else 0.0)
    text = "\n".join(fill(line, width - 2 * MARGIN, FOOT_SIZE) for line in foot if line)
    below = 0.35 + 0.75 + FOOT_LINE * (text.count("\n") + 1) + 0.2
    top = float(low[1]) - above
    sheet = Sheet((left, top), width, above + float(high[1] - low[1]) + below)

    x, y = left + MARGIN, float(high[1]) + 0.35
    if heading:
        sheet.text(x, top + MARGIN, heading, size=TITLE_SIZE, bold=True, across="left", down="top")
    for k, (label, scale) in enumerate(bars):
        sheet.colour_bar(x + k * (BAR + 0.6), y, BAR, scale, label)
    sheet.text(x, y + 0.75, text, size=FOOT_SIZE, colour=SOFT, across="left", down="top")
    return sheet


def draw_arrows(
    sheet: Sheet,
    arrows: Sequence[Arrow],
    ways: Sequence[Route],
    labels: Sequence[str],
    *,
    widths: Sequence[float],
    scale: Scale,
    boxes: Floats,
) -> None:
    """Draw the arrows, the first on top, with a label on each that has room for it."""
    for k, (arrow, way, width) in enumerate(zip(arrows, ways, widths, strict=True)):
        sheet.arrow(way, scale(arrow.value), width, order=1 + 2 * (1 - k / len(arrows)))
    sizes = [(text_width(label, LAG_SIZE) + 0.05, 0.14) for label in labels]
    places = label_places(ways, boxes, sizes)
    for label, place, (width, height) in zip(labels, places, sizes, strict=True):
        if place is None:
            continue
        sheet.box((*place, width / 2, height / 2), fill_with="white", radius=0.05, order=4)
        sheet.text(*place, label, size=LAG_SIZE, colour=INK)


def arrow_width(share: float) -> float:
    """Width of an arrow in points, `share` being its weight from 0 to 1."""
    return 0.7 + 2.8 * share


def arrow_head(width: float) -> float:
    """Length in inches of the head of an arrow that is `width` points wide."""
    return 0.07 + 0.026 * width
