"""The paths of arrows: gentle curves that keep clear of the boxes they do not belong to.

Plain geometry on arrays, in whatever unit the caller draws in; a curve is a quadratic Bézier of
shape ``(3, 2)``, a box a row ``(x, y, half width, half height)`` with rounded corners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Route", "label_places", "route"]

Floats = NDArray[np.float64]

_SIDE = np.array([0.04, 0.08, 0.12, 0.17, 0.22, 0.28, 0.36, 0.46, 0.6, 0.8, 1.1])
BENDS = np.concatenate([-_SIDE[::-1], [0.0], _SIDE])
"""How far a curve's control point may lie off the straight line, in lengths of that line."""

SHARES = np.array([0.2, 0.5, 0.8])
"""How far along that line the control point may lie."""

SAMPLES = 33
"""Points on a curve at which it is tested against the boxes."""


@dataclass(frozen=True, slots=True)
class Route:
    """The visible part of an arrow, from the rim of one box to the rim of another.

    Attributes
    ----------
    curve
        The line, shape ``(3, 2)``.
    head
        Corners of the arrow head, shape ``(3, 2)``, tip first; None for a line.
    """

    curve: Floats
    head: Floats | None


def route(
    boxes: Floats,
    ends: Sequence[tuple[int, int]],
    *,
    heads: Sequence[float],
    clearance: float,
    radius: float,
    centre: tuple[float, float] | None = None,
) -> list[Route]:
    """Find a curve for each pair of boxes, in the order given.

    Parameters
    ----------
    boxes
        Every box; the arrows join some and keep clear of all others.
    ends
        Source and target of each arrow, as rows of `boxes`.
    heads
        Length of each arrow's head, 0 for none.
    clearance
        Room to leave around boxes.
    radius
        Radius of the boxes' corners.
    centre
        If given, curves bend towards this point (a ring of boxes) where they are free to.

    Notes
    -----
    The gentlest curve wins among those with the fewest boxes in the way that stay within the
    drawing, do not run along an earlier arrow, and keep apart from others between the same boxes.
    """
    bends, shares = (grid.ravel() for grid in np.meshgrid(BENDS, SHARES, indexing="ij"))
    t = np.linspace(0.0, 1.0, SAMPLES)
    twins: dict[frozenset[int], list[float]] = {}
    taken: list[Floats] = []
    routes: list[Route] = []
    for (source, target), head in zip(ends, heads, strict=True):
        start, stop = boxes[source, :2], boxes[target, :2]
        along = stop - start
        length = max(float(np.hypot(*along)), 1e-9)
        curves = np.empty((len(bends), 3, 2))
        curves[:, 0], curves[:, 2] = start, stop
        curves[:, 1] = start + shares[:, None] * along
        curves[:, 1] += bends[:, None] * np.array([-along[1], along[0]])
        points = _points(curves, t)
        cost = 10.0 * _boxes_hit(points, boxes, (source, target), clearance)
        cost += _outside(points, boxes) / (3 * clearance)
        cost += 3.0 * np.abs(np.abs(bends) - (0.08 if head > 0 else 0.0))
        cost += np.abs(shares - 0.5)
        if centre is not None:
            reach = np.hypot(*(points[:, SAMPLES // 2] - np.asarray(centre)).T)
            cost += 1.5 * reach / length
        sign = 1.0 if source < target else -1.0
        near = twins.setdefault(frozenset((source, target)), [])
        for bend in near:
            cost += 8.0 * (np.abs(sign * bends - bend) < max(0.15, 4 * clearance / length))
        few = np.argsort(np.round(cost, 9), kind="stable")[:6]
        cost = cost[few] + 1.5 * _crowding(points[few], taken, clearance)
        best = few[int(np.argmin(np.round(cost, 9)))]
        near.append(sign * float(bends[best]))
        taken.append(points[best])
        routes.append(_clipped(curves[best], boxes[source], boxes[target], head, radius))
    return routes


def label_places(
    routes: Sequence[Route], boxes: Floats, sizes: Sequence[tuple[float, float]]
) -> list[tuple[float, float] | None]:
    """A place on each curve for a label, clear of boxes, heads and earlier labels; else None."""
    taken = [tuple(box) for box in boxes]
    for way in routes:
        if way.head is not None:
            low, high = way.head.min(axis=0), way.head.max(axis=0)
            taken.append((*((low + high) / 2), *((high - low) / 2)))
    places: list[tuple[float, float] | None] = []
    tries = np.array([0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8])
    for way, (width, height) in zip(routes, sizes, strict=True):
        spots = _points(way.curve[None], tries)[0]
        rim = np.asarray(taken)
        off = np.abs(spots[:, None, :] - rim[None, :, :2])
        free = ((off[..., 0] > rim[:, 2] + width / 2) | (off[..., 1] > rim[:, 3] + height / 2)).all(
            axis=1
        )
        if not free.any():
            places.append(None)
            continue
        x, y = (float(v) for v in spots[int(np.argmax(free))])
        places.append((x, y))
        taken.append((x, y, width / 2, height / 2))
    return places


def _points(curves: Floats, t: Floats) -> Floats:
    """Points of the curves, shape ``(curves, t, 2)``."""
    a, b, c = ((1 - t) ** 2)[:, None], (2 * t * (1 - t))[:, None], (t**2)[:, None]
    points: Floats = a * curves[:, None, 0] + b * curves[:, None, 1] + c * curves[:, None, 2]
    return points


def _boxes_hit(points: Floats, boxes: Floats, ends: tuple[int, int], clearance: float) -> Floats:
    """How many boxes, other than its ends, each curve runs through, and how far."""
    other = np.delete(boxes, ends, axis=0)
    off = np.abs(points[:, :, None, :] - other[None, None, :, :2])
    inside = np.all(off < other[:, 2:] + clearance, axis=-1)
    hit: Floats = np.any(inside, axis=1).sum(axis=1) + inside.sum(axis=(1, 2)) / SAMPLES
    return hit


def _outside(points: Floats, boxes: Floats) -> Floats:
    """How far each curve leaves the rectangle around all boxes."""
    low = (boxes[:, :2] - boxes[:, 2:]).min(axis=0)
    high = (boxes[:, :2] + boxes[:, 2:]).max(axis=0)
    far: Floats = np.maximum(low - points, points - high).clip(min=0.0).max(axis=(1, 2))
    return far


def _crowding(points: Floats, taken: list[Floats], clearance: float) -> Floats:
    """Share of each curve that runs along an earlier one."""
    if not taken:
        return np.zeros(len(points))
    earlier = np.concatenate([way[4:-4] for way in taken[-400:]])
    middle = points[:, 6:-6:2]
    gap = np.abs(middle[:, :, None, :] - earlier[None, None]).max(axis=-1).min(axis=-1)
    share: Floats = (gap < clearance).mean(axis=1)
    return share


def _clipped(curve: Floats, source: Floats, target: Floats, head: float, radius: float) -> Route:
    t = np.linspace(0.0, 1.0, 257)
    points = _points(curve[None], t)[0]
    left = np.flatnonzero(_beyond_rim(points, source, radius))
    outside = np.flatnonzero(_beyond_rim(points, target, radius))
    first = int(left[0]) if len(left) else 0
    last = int(outside[-1]) if len(outside) else len(t) - 1
    last = max(last, first + 1)
    if head <= 0:
        return Route(_part(curve, t[first], t[last]), None)
    tip = points[last]
    far = np.flatnonzero(np.hypot(*(points[first : last + 1] - tip).T) >= head)
    neck = first + int(far[-1]) if len(far) else first
    back = points[neck] - tip
    back *= head / max(float(np.hypot(*back)), 1e-9)
    side = 0.5 * np.array([-back[1], back[0]])
    triangle = np.stack([tip, tip + back + side, tip + back - side])
    return Route(_part(curve, t[first], t[max(neck, first)]), triangle)


def _beyond_rim(points: Floats, box: Floats, radius: float) -> NDArray[np.bool_]:
    """Whether the points lie outside a box with rounded corners."""
    corner = min(radius, float(box[2:].min()))
    off = (np.abs(points - box[:2]) - (box[2:] - corner)).clip(min=0.0)
    beyond: NDArray[np.bool_] = np.hypot(off[:, 0], off[:, 1]) > corner
    return beyond


def _part(curve: Floats, t0: float, t1: float) -> Floats:
    """The piece of a quadratic Bézier between two parameters."""
    start, stop = _points(curve[None], np.array([t0, t1]))[0]
    tangent = 2 * ((1 - t0) * (curve[1] - curve[0]) + t0 * (curve[2] - curve[1]))
    return np.stack([start, start + tangent * (t1 - t0) / 2, stop])
