"""`Thinned`: a score over time in few points, whatever the number of ticks."""

from __future__ import annotations

import math

from causewatch.data.table import NANOSECONDS

__all__ = ["Thinned"]

Point = tuple[int, float | None]


class Thinned:
    """Takes in tick by tick, and keeps the highest of neighbours when there are too many.

    Parameters
    ----------
    most
        Points that are kept at most, an even number.
    """

    def __init__(self, most: int = 2000) -> None:
        self._most = most
        self._points: list[Point] = []
        self._step = 1  # ticks that share a point
        self._open: Point | None = None  # the highest of those that have come so far …
        self._count = 0  # … and how many these are

    def add(self, time: int, score: float | None) -> None:
        """One more tick, at a time in nanoseconds."""
        point = (time, score if score is not None and math.isfinite(score) else None)
        self._open = point if self._open is None else _higher(self._open, point)
        self._count += 1
        if self._count < self._step:
            return
        if len(self._points) == self._most:
            pairs = zip(self._points[::2], self._points[1::2], strict=True)
            self._points = [_higher(one, other) for one, other in pairs]
            self._step *= 2
            if self._count < self._step:  # what was a whole group is half of one now
                return
        self._points.append(self._open)
        self._open, self._count = None, 0

    def to_dict(self) -> dict[str, list[float | None]]:
        """Times in seconds, and scores."""
        points = [*self._points, *([] if self._open is None else [self._open])]
        if len(points) > self._most:
            points[-2:] = [_higher(*points[-2:])]
        return {
            "t": [time / NANOSECONDS for time, _ in points],
            "score": [score for _, score in points],
        }


def _higher(one: Point, other: Point) -> Point:
    """The point with the higher score; what is unknown is lower than anything."""
    if one[1] is None:
        return one if other[1] is None else other
    return other if other[1] is not None and other[1] > one[1] else one
