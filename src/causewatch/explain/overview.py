"""The picture of a large graph: a ring of stages, and arrows that stand for many links."""

from __future__ import annotations

import math
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
from causewatch.explain.view import View, bundle, clean
from causewatch.graph import CausalGraph

__all__ = ["overview_sheet"]

Floats = NDArray[np.float64]

DOT = 0.1
DOT_PITCH = 0.135
NAME_SIZE = 10.5
NOTE_SIZE = 8
ARROWS_PER_STAGE = 3


def overview_sheet(
    graph: CausalGraph,
    view: View,
    stages: Mapping[str, Sequence[str]],
    auto: Mapping[str, float],
    title: str | None,
) -> Sheet:
    """Draw each stage as a card, one dot per signal, and bundle the links between stages."""
    node_of = {name: stage for stage, names in stages.items() for name in names}
    every = bundle(graph, view.links, node_of)
    arrows = every[: ARROWS_PER_STAGE * len(stages)]
    inside = dict.fromkeys(stages, 0)
    for link in view.links:
        if node_of[link.source] == node_of[link.target]:
            inside[node_of[link.source]] += 1

    cards = [_Card(stage, names, inside[stage]) for stage, names in stages.items()]
    boxes = _ring([card.size for card in cards])
    index = {stage: k for k, stage in enumerate(stages)}
    most = max((arrow.links for arrow in arrows), default=1)
    widths = [arrow_width(1.6 * arrow.links / most) for arrow in arrows]
    ways = route(
        boxes,
        [(index[arrow.source], index[arrow.target]) for arrow in arrows],
        heads=[
            arrow_head(width) * arrow.directed for arrow, width in zip(arrows, widths, strict=True)
        ],
        clearance=0.1,
        radius=0.1,
        centre=(0.0, 0.0),
    )
    cross, node = Scale.cross(arrow.value for arrow in arrows), Scale.auto(auto.values())
    foot = [
        f"{len(graph.signals)} signals in {len(stages)} groups. {view.caption}.",
        f"{sum(inside.values())} of these links are within a group, "
        f"{sum(arrow.links for arrow in every)} between groups, of which the arrows stand for "
        f"{sum(arrow.links for arrow in arrows)} ({len(arrows)} of {len(every)} arrows).",
        "Number on an arrow and its width: links it stands for; its colour: the strongest of them;"
        " line without head: lag 0, no direction.",
    ]
    sheet = framed(
        boxes,
        ways,
        title=title,
        foot=foot if arrows else foot[:1],
        bars=[
            ("strongest cross-dependence (arrows)", cross),
            ("auto-dependence (one dot per signal)", node),
        ][0 if arrows else 1 :],
    )
    for card, box in zip(cards, boxes, strict=True):
        card.draw(sheet, box, [node(auto[name]) for name in card.signals])
    draw_arrows(
        sheet,
        arrows,
        ways,
        [str(arrow.links) for arrow in arrows],
        widths=widths,
        scale=cross,
        boxes=boxes,
    )
    return sheet


class _Card:
    """A stage as a card: its name, what is in it, and a dot for each signal."""

    def __init__(self, stage: str, signals: Sequence[str], links: int) -> None:
        self.signals = signals
        self.name = two_lines(clean(stage), 22)
        self.note = f"{len(signals)} signals" if len(signals) > 1 else "1 signal"
        if links:
            self.note += f", {links} links"
        self.across = max(3, math.ceil(math.sqrt(2.2 * len(signals))))
        self.rows = math.ceil(len(signals) / self.across)
        self.heading = 0.2 * (self.name.count("\n") + 1)

    @property
    def size(self) -> tuple[float, float]:
        """Half width and half height in inches."""
        width = max(
            text_width(self.name, NAME_SIZE, bold=True),
            text_width(self.note, NOTE_SIZE),
            self.across * DOT_PITCH,
        )
        return width / 2 + 0.14, (self.heading + 0.2 + self.rows * DOT_PITCH) / 2 + 0.1

    def draw(self, sheet: Sheet, box: Floats, colours: Sequence[object]) -> None:
        """Draw the card into `box`."""
        x, top = float(box[0]), float(box[1] - box[3]) + 0.1
        sheet.box(box, fill_with=BAND, edge=RIM, radius=0.1)
        sheet.text(x, top, self.name, size=NAME_SIZE, bold=True, down="top")
        sheet.text(x, top + self.heading, self.note, size=NOTE_SIZE, colour=SOFT, down="top")
        k = np.arange(len(self.signals))
        column = k % self.across - (min(self.across, len(k)) - 1) / 2
        row = k // self.across
        y = top + self.heading + 0.2 + DOT_PITCH * (row + 0.5)
        sheet.dots(np.column_stack([x + DOT_PITCH * column, y]), colours, DOT)


def _ring(sizes: Sequence[tuple[float, float]]) -> Floats:
    """Boxes of these half sizes clockwise on an ellipse about (0, 0), the first at the left."""
    half = np.array(sizes)
    if len(half) == 1:
        return np.column_stack([np.zeros((1, 2)), half])
    angle = math.pi + 2 * math.pi * np.arange(len(half)) / len(half)
    unit = np.column_stack([1.7 * np.cos(angle), np.sin(angle)])
    if len(half) == 2:
        unit = np.array([[-1.0, 0.0], [1.0, 0.0]])
    off = np.abs(unit[:, None] - unit[None, :])
    need = half[:, None] + half[None, :] + 0.6
    ratio = np.divide(need, off, out=np.full_like(need, np.inf), where=off > 1e-9).min(axis=-1)
    np.fill_diagonal(ratio, 0.0)
    radius = max(1.3, float(ratio.max()))
    return np.column_stack([unit * radius, half])
