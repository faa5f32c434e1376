"""What the robot does and when: a sequence of nominal behaviours, drawn before anything moves.

The plan does not look at what happens. An attack therefore changes what the robot achieves, never
what it tries next, and a run with an attack can be laid beside the run without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import atan2, hypot, pi

import numpy as np

from causewatch.simulate.robot.columns import INTERVAL
from causewatch.simulate.robot.room import PLACES

__all__ = ["BEHAVIOURS", "Segment", "plan", "wrapped"]

BEHAVIOURS = ("idle", "look", "greet", "listen", "talk", "drive", "turn", "rest")
"""Every behaviour; its place in this list is its number in ``Run.hidden["behaviour"]``."""

DECK = {"idle": 5, "look": 4, "meet": 4, "trip": 5, "turn": 1, "rest": 1}
"""How often each scene comes in a round. Rounds are shuffled: none goes missing for long."""

CRUISE, TURN_SPEED = 0.35, 0.8
"""Speeds a trip is planned with, in m/s and rad/s."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One behaviour during rows `start` to `end` (half-open).

    Attributes
    ----------
    kind
        One of `BEHAVIOURS`.
    start, end
        Rows.
    goal
        x, y and heading to reach, for ``drive``; only the heading counts for ``turn``.
    visit
        Rows during which a visitor is there, if this segment begins a meeting.
    taps
        Rows at which the visitor touches the tablet.
    """

    kind: str
    start: int
    end: int
    goal: tuple[float, float, float] | None = None
    visit: tuple[int, int] | None = None
    taps: tuple[int, ...] = ()


def wrapped(angle: float) -> float:
    """The same direction between -π and π."""
    return (angle + pi) % (2 * pi) - pi


def plan(rows: int, random: np.random.Generator) -> list[Segment]:
    """Behaviours for at least `rows` rows; the last one may end later."""
    planner = _Planner(random)
    while planner.row < rows:
        planner.scene()
    return planner.segments


class _Planner:
    """Draws scenes and keeps track of where the robot should then be."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.row = 0
        self.segments: list[Segment] = []
        self.place = 0
        self.heading = PLACES[0][2]
        self.scenes = self._scenes()

    def _scenes(self) -> Iterator[str]:
        """Scenes for ever: the robot starts idle, then comes one shuffled round after the other."""
        yield "idle"
        cards = [scene for scene, count in DECK.items() for _ in range(count)]
        while True:
            yield from (cards[k] for k in self.random.permutation(len(cards)))

    def scene(self) -> None:
        """Add the behaviours of the next scene."""
        scene = next(self.scenes)
        if scene == "idle":
            self._add("idle", self._seconds(8, 22))
        elif scene == "look":
            self._add("look", self._seconds(6, 14))
        elif scene == "rest":
            self._add("rest", self._seconds(25, 45))
            self._add("idle", self._seconds(4, 6))
        elif scene == "trip":
            self._trip()
        elif scene == "turn":
            self._turn(wrapped(self.heading + self.random.uniform(0.6, 2.4) * self._sign()))
        else:
            self._meet()

    def _seconds(self, low: float, high: float) -> float:
        return float(self.random.uniform(low, high))

    def _sign(self) -> int:
        return 1 if self.random.random() < 0.5 else -1

    def _add(
        self,
        kind: str,
        seconds: float,
        goal: tuple[float, float, float] | None = None,
        visit: tuple[int, int] | None = None,
        taps: tuple[int, ...] = (),
    ) -> None:
        end = self.row + max(1, round(seconds / INTERVAL))
        self.segments.append(Segment(kind, self.row, end, goal, visit, taps))
        self.row = end

    def _turn(self, heading: float) -> None:
        """Turn on the spot, with time to spare."""
        seconds = abs(wrapped(heading - self.heading)) / TURN_SPEED
        x, y, _ = PLACES[self.place]
        self._add("turn", 1.3 * seconds + 2, (x, y, heading))
        self.heading = heading

    def _trip(self) -> None:
        """Drive to another place, with time to spare."""
        place = (self.place + int(self.random.integers(1, len(PLACES)))) % len(PLACES)
        x0, y0, _ = PLACES[self.place]
        x, y, heading = PLACES[place]
        heading = wrapped(heading + self.random.normal(0, 0.1))
        way = atan2(y - y0, x - x0)
        turning = abs(wrapped(way - self.heading)) + abs(wrapped(heading - way))
        seconds = 1.3 * (turning / TURN_SPEED + hypot(x - x0, y - y0) / CRUISE) + 4
        self._add("drive", seconds, (x, y, heading))
        self.place, self.heading = place, heading

    def _meet(self) -> None:
        """Turn to the room; somebody comes, is greeted, speaks, is answered and goes."""
        x, y, _ = PLACES[self.place]
        middle = wrapped(atan2(2.2 - y, 3.0 - x) if self.place else self.heading)
        self._turn(wrapped(middle + self.random.normal(0, 0.15)))
        talks = int(self.random.integers(1, 4))
        seconds = [self._seconds(4, 6)]
        for _ in range(talks):
            seconds += [self._seconds(4, 8), self._seconds(6, 14)]
        seconds.append(self._seconds(4, 6))
        length = sum(max(1, round(s / INTERVAL)) for s in seconds)
        self._add("greet", seconds[0], visit=(self.row, self.row + length))
        for listening, talking in zip(seconds[1:-1:2], seconds[2:-1:2], strict=True):
            taps: tuple[int, ...] = ()
            if self.random.random() < 0.6:
                wait = self.random.uniform(0.3, 0.7) * listening
                taps = (self.row + round(wait / INTERVAL),)
            self._add("listen", listening, taps=taps)
            self._add("talk", talking)
        self._add("greet", seconds[-1])
