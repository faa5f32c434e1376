"""The picture of single signals: pills in columns, one per stage, and the arrows among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from causewatch.explain.colours import BAND, RIM, SOFT
from causewatch.explain.frame import (
    arrow_head,
    arrow_width,
    draw_arrows,
    framed,
)
from causewatch.explain.routes import route
from causewatch.explain.sheet import Scale, Sheet, text_width, two_lines
from causewatch.explain.view import View, clean, lags_text, listing

__all__ = ["signal_sheet"]

Floats = NDArray[np.float64]

ROW = 0.68
PILL_HEIGHT = 0.29
BETWEEN = 0.6
NAME_SIZE = 9.5
STAGE_SIZE = 10.5
BAND_PAD = 0.14
HEADER = 0.36
MOST_LISTED = 500


def signal_sheet(
    view: View,
    places: Mapping[str, tuple[float, float]],
    stages: Mapping[str, Sequence[str]],
    auto: Mapping[str, float],
    labels: Mapping[str, str],
    title: str | None,
    every: float | None,
) -> Sheet:
    """Draw the signals of `places`, in the unit of the layout, and the arrows of `view`.

    Lags are said as times if the length of a tick, `every`, is known.
    """
    names = list(places)
    index = {name: k for k, name in enumerate(names)}
    texts = [two_lines(clean(labels.get(name, name))) for name in names]
    crowd = len(view.arrows) / len(names)
    boxes = _pills(
        np.array(list(places.values()), dtype=np.float64), texts, BETWEEN * max(1, crowd)
    )
    bands = _bands(boxes, [[index[n] for n in part if n in index] for part in stages.values()])
    headers = bands.copy()
    headers[:, 1] -= bands[:, 3] - HEADER / 2
    headers[:, 3] = HEADER / 2 - 0.06

    cross, node = Scale.cross(arrow.value for arrow in view.arrows), Scale.auto(auto.values())
    widths = [arrow_width(abs(arrow.value) / cross.high) for arrow in view.arrows]
    solid = np.concatenate([boxes, headers])
    ways = route(
        solid,
        [(index[arrow.source], index[arrow.target]) for arrow in view.arrows],
        heads=[
            arrow_head(width) * arrow.directed
            for arrow, width in zip(view.arrows, widths, strict=True)
        ],
        clearance=0.06,
        radius=PILL_HEIGHT / 2,
    )
    sheet = framed(
        np.concatenate([boxes, bands]),
        ways,
        title=title,
        foot=_foot(view, labels, every),
        bars=[("cross-dependence (arrows)", cross), ("auto-dependence (nodes)", node)][
            0 if view.arrows else 1 :
        ],
    )
    for band, header, stage in zip(bands, headers, stages, strict=False):
        sheet.box(band, fill_with=BAND, radius=0.12, order=0)
        name = _fitting(clean(stage), 2 * band[2])
        sheet.text(header[0], header[1], name, size=STAGE_SIZE, bold=True, colour=SOFT)
    for name, text, box in zip(names, texts, boxes, strict=True):
        sheet.box(box, fill_with=node(auto[name]), edge=RIM, radius=PILL_HEIGHT / 2)
        sheet.text(box[0], box[1], text, size=NAME_SIZE - text.count("\n"))
    draw_arrows(
        sheet,
        view.arrows,
        ways,
        [lags_text(arrow.lags, every) for arrow in view.arrows],
        widths=widths,
        scale=cross,
        boxes=solid,
    )
    return sheet


def _foot(view: View, labels: Mapping[str, str], every: float | None) -> list[str]:
    if not view.arrows:
        return [f"{view.caption}."]
    known = "Number on an arrow: lag in ticks"
    if every is not None:
        known = "Time on an arrow: how long the effect takes"
    key = f"{known}, where there is room"
    if not all(arrow.directed for arrow in view.arrows):
        key += "; line without head: lag 0, no direction"
    lines = [f"{view.caption}. {key}."]
    if view.alone:
        count = "1 signal" if len(view.alone) == 1 else f"{len(view.alone)} signals"
        listed = listing([labels.get(name, name) for name in view.alone], MOST_LISTED)
        lines.append(f"{count} without such a link: {listed}.")
    return lines


def _pills(places: Floats, texts: Sequence[str], between: float) -> Floats:
    """Boxes in inches: rows at a fixed distance, columns as far apart as the names need."""
    half = np.array(
        [
            [text_width(t, NAME_SIZE) / 2 + 0.12, PILL_HEIGHT * (1 + 0.4 * t.count("\n")) / 2]
            for t in texts
        ]
    )
    y = places[:, 1] * ROW * max(1.0, half[:, 1].max() / 0.18)
    off = np.abs(places[:, None, 0] - places[None, :, 0])
    beside = np.abs(y[:, None] - y[None, :]) < half[:, None, 1] + half[None, :, 1] + 0.1
    need = half[:, None, 0] + half[None, :, 0] + between
    apart = np.where(beside & (off > 1e-6), need / np.maximum(off, 1e-6), 0.0)
    scale = max(float(apart.max(initial=0.0)), 0.8)
    return np.column_stack([places[:, 0] * scale, y, half])


def _bands(boxes: Floats, members: Sequence[Sequence[int]]) -> Floats:
    """The ground of each stage; none at all if the stages do not stand side by side."""
    top = (boxes[:, 1] - boxes[:, 3]).min() - BAND_PAD - HEADER
    bottom = (boxes[:, 1] + boxes[:, 3]).max() + BAND_PAD
    rows = []
    for part in members:
        if not part:
            continue
        left = (boxes[part, 0] - boxes[part, 2]).min() - BAND_PAD
        right = (boxes[part, 0] + boxes[part, 2]).max() + BAND_PAD
        rows.append(
            [(left + right) / 2, (top + bottom) / 2, (right - left) / 2, (bottom - top) / 2]
        )
    bands = np.array(rows).reshape(-1, 4)
    edges = bands[:, 0] + bands[:, 2]
    if (edges[:-1] > (bands[:, 0] - bands[:, 2])[1:]).any():
        return np.empty((0, 4))
    return bands


def _fitting(text: str, width: float) -> str:
    """`text`, cut short to what fits into `width` inches."""
    short = text
    while len(short) > 1 and text_width(short, STAGE_SIZE, bold=True) > width:
        short = short.rstrip("…")[:-1] + "…"
    return short
