"""The room the robot drives in: walls, places to drive to, a door, and how far a beam goes.

The room is a convex polygon. That keeps every straight way between two points free, so that the
robot needs no path planner, and makes casting a ray one division per wall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["DOOR", "PLACES", "ROOM", "Room", "person_distance"]

Floats = NDArray[np.float64]

PERSON_RADIUS = 0.2
"""Of the legs of a visitor, which is what the lasers see, in metres."""


@dataclass(frozen=True, eq=False)
class Room:
    """A convex room.

    Attributes
    ----------
    corners
        Corners × 2 in metres, anticlockwise.
    """

    corners: Floats

    @property
    def normals(self) -> Floats:
        """For each wall, the unit vector that points into the room."""
        along = np.roll(self.corners, -1, axis=0) - self.corners
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        return np.stack([-along[:, 1], along[:, 0]], axis=1)

    @property
    def offsets(self) -> Floats:
        """``normals @ point - offsets`` is how far a point is from each wall."""
        return np.asarray((self.normals * self.corners).sum(axis=1))

    def clearance(self, points: Floats) -> Floats:
        """How far `points` (… × 2) are from the nearest wall; negative outside."""
        return np.asarray((points @ self.normals.T - self.offsets).min(axis=-1))

    def within(self, point: Floats, margin: float) -> Floats:
        """`point` moved to where it is at least `margin` away from every wall."""
        out = point.copy()
        # Walls meet at blunt angles, so a few rounds settle a point that is close to a corner.
        for _ in range(8):
            for normal, offset in zip(self.normals, self.offsets, strict=True):
                out += normal * max(0.0, margin - (float(normal @ out) - float(offset)))
        return out

    def wall_distance(self, origin: Floats, angle: Floats) -> Floats:
        """How far a beam goes until it meets a wall.

        Parameters
        ----------
        origin
            Rows × beams × 2, inside the room.
        angle
            Rows × beams, in the frame of the room.
        """
        nearest = np.full(angle.shape, np.inf)
        cosine, sine = np.cos(angle), np.sin(angle)
        for (nx, ny), offset in zip(self.normals, self.offsets, strict=True):
            gap = origin[..., 0] * nx + origin[..., 1] * ny - offset
            approach = -(cosine * nx + sine * ny)
            # A beam that runs away from a wall or along it never meets it.
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = np.where(approach > 1e-12, np.maximum(gap, 0.0) / approach, np.inf)
            nearest = np.minimum(nearest, reach)
        return nearest


def person_distance(origin: Floats, angle: Floats, person: Floats) -> Floats:
    """How far a beam goes until it meets the visitor; infinite if it misses.

    Parameters
    ----------
    origin, angle
        As for `Room.wall_distance`.
    person
        Rows × 2; NaN where nobody is there.
    """
    away = person[:, None, :] - origin
    along = away[..., 0] * np.cos(angle) + away[..., 1] * np.sin(angle)
    beside = np.square(away).sum(axis=-1) - along**2
    # Comparisons with NaN are false: nobody there means nothing met.
    met = (along > 0) & (beside < PERSON_RADIUS**2)
    depth = np.sqrt(np.maximum(PERSON_RADIUS**2 - np.where(met, beside, 0.0), 0.0))
    return np.where(met, np.maximum(along - depth, 0.0), np.inf)


ROOM = Room(
    np.array([(0.0, 0.0), (6.0, 0.0), (6.0, 3.4), (4.8, 4.6), (0.8, 4.6), (0.0, 3.6)]),
)
"""Six metres by four and a half, with two corners cut off so that no two views are the same."""

PLACES: tuple[tuple[float, float, float], ...] = (
    (3.0, 2.2, 1.6),
    (1.2, 1.1, 0.6),
    (4.9, 0.9, 2.5),
    (1.3, 3.4, -0.5),
    (4.4, 3.6, -2.2),
    (5.4, 2.0, 0.0),
)
"""Where the robot works: x, y and where it looks on arrival. The last one is close to a wall."""

DOOR = (3.0, 4.3)
"""Where visitors come in and go out."""
