"""The default detector: innovations of every mechanism, and statistics of them.

The *innovation* of a signal is what it did minus what its causes' actual values say it should do,
in units of what is normally left over. A signal downstream of a fault has odd causes and so no odd
innovation: the innovation is large where the mechanism changed. Statistics with several memories
(see `causewatch.detectors.statistics`) are compared with their limits; the score is the largest
ratio.

Rules
-----
- A missing value is replaced, as a cause of others, by what its own causes say. A mechanism that
  leans on such a value more than a little is not judged, nor is one whose own value is missing;
  its statistics stay as they are.
- After a gap the statistics start again from zero, which is below any limit: starting up does not
  alarm. A mechanism is judged once all its causes have been seen.
- A statistic with a long memory stands above its limit only as long as the last few ticks say the
  same: what is over must not linger for as long as the memory reaches back. An offset that is
  undone is over as well, even if the jump back is larger than what is still remembered of it.
- The centre of each innovation follows slow drift at a bounded rate: not while one signal is above
  its limit and another near or above its own, and not while a neighbour in the causal graph is near
  or above its limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations
from causewatch.detectors.evidence import Evidence, LinkChanges
from causewatch.detectors.limits import Limits
from causewatch.detectors.reestimate import reestimate

__all__ = ["DRIFT_RATE", "InnovationDetector", "own_past"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

DRIFT_RATE = 5e-4
"""How fast the centre of an innovation may follow drift, in spreads per tick."""
CLIP = 8.0
"""Innovations beyond this count as this: one wild value must not fill the long memories."""
SQUARE_CLIP = 16.0
LEVEL_CLIP = 1e5
CAUSE_CLIP = 4.0
"""The same for causes: an odd cause alone does not speak against the mechanism."""
ACCEPTED = 16
"""Ticks whose median is taken for a new normal."""
NEAR = 0.7
"""Share of its limit from which on a signal keeps its neighbours from following drift."""
LEANS = 0.5
"""A mechanism leans on a cause whose usual variation moves it by this many spreads."""
BRIEF = 8
"""Memory of what tells whether something that a longer memory remembers is still going on …"""
FADES = 16
"""… and time, in ticks, in which its peaks fade: trouble may come and go …"""
LONG = 32
"""… where this is asked: of memories of this length and longer."""
SPARE = 1.25
"""They are never cut below this many times their limit: what is weak and lasts stays above it."""
UNDOING = 3
"""Ticks over which a jump back may be spread: averaging cuts it in two, sensors lag."""
MOST_PERSISTENCE = 0.99
"""The level of a signal forgets at least one part in a hundred per tick."""


class InnovationDetector:
    """Judges ticks by the innovations of their mechanisms; see the top of this module.

    Parameters
    ----------
    equations
        The mechanisms.
    limits
        Of the statistics.
    drift_rate
        How fast the centre follows drift, in spreads per tick; 0 switches it off.
    lets_go
        Whether what is over is forgotten at once. Not while limits are learnt: how high a
        statistic rises in normal operation must not depend on the limit looked for.
    """

    def __init__(
        self,
        equations: Equations,
        limits: Limits,
        *,
        drift_rate: float = DRIFT_RATE,
        lets_go: bool = True,
    ) -> None:
        self._equations = equations
        self._limits = limits
        self._rate = drift_rate
        layout = limits.layout
        number, links = equations.signals, len(equations.source)
        self._number = number
        self._places = equations.lag * number + equations.source
        self._linked, self._firsts = np.unique(equations.target, return_index=True)
        self._all_linked = len(self._linked) == number
        self._inverse = 1.0 / equations.spread
        self._cause_centre = limits.centre[equations.source]
        self._cause_inverse = 1.0 / limits.scale[equations.source]
        self._own = own_past(equations)
        # A switch has no offset to remember; its surprises can be of any size.
        self._level_clip = np.full(number, LEVEL_CLIP)
        if equations.switches is not None:
            self._level_clip[equations.switches.target] = CLIP
        self._leans = _leaning(equations, limits.scale)
        self._neighbours = _neighbours(equations)
        self._weights = layout.weights
        limit = limits.statistics * limits.overall
        self._allowed = 1.0 / limit
        # What is over is let go of; see `_let_go` and `_undone`.
        self._lets_go = lets_go
        self._long = np.flatnonzero(self._weights <= 1.0 / LONG)
        self._least = SPARE * limit[self._long]  # what long memories are not cut below
        self._brief = np.zeros(len(self._long))
        self._lately = np.zeros(len(self._long))  # its fading peaks
        self._offset = np.zeros(number)  # side of an offset that is on, 0 if there is none
        self._undoing = np.zeros(number, dtype=np.int64)  # ticks left once that has begun
        self._mean_blocks = len(layout.means)
        self._variance_blocks = len(layout.variances)
        self._level_at = self._mean_blocks + self._variance_blocks if layout.level else -1
        self._by_signal = layout.by_signal
        self._first_link = layout.by_signal * number
        self._level_allowed = self._allowed[self._first_link - number : self._first_link]
        self._link_places = [place for name, _, place in layout.blocks if name == "coefficient"]
        # Space for what is computed at every tick; nothing is allocated for it again and again.
        self._causes = np.empty(links)
        self._terms = np.empty(links)
        self._input = np.zeros(layout.size)
        self._scratch = np.empty(layout.size)
        self._ratio = np.zeros(layout.size)
        self._state = np.zeros(layout.size)
        self._history = np.full((equations.max_lag + 1) * number, np.nan)
        self._doubt = np.zeros((equations.max_lag + 1) * number, dtype=np.bool_)
        self._doubtful = 0  # ticks for which a replaced value stays in the history
        self._levels = np.zeros((max(1, equations.max_lag), number))
        self.drift: Floats = np.zeros(number)
        self.innovation: Floats = np.full(number, np.nan)
        self._recent = np.full((2, limits.recent + equations.max_lag, number), np.nan)
        self._count = 0

    def update(self, values: Floats, new_stretch: bool = False) -> Evidence:
        """See `Detector`."""
        with np.errstate(over="ignore", invalid="ignore"):  # wild values are missing values
            return self._update(values, new_stretch)

    def _update(self, values: Floats, new_stretch: bool) -> Evidence:
        if new_stretch:
            self._begin()
        number, history = self._number, self._history
        history[number:] = history[:-number]
        history[:number] = values
        np.take(history, self._places, out=self._causes, mode="clip")
        expected = self._expected()
        raw = self._equations.rescale((values - expected) * self._inverse, expected)
        known = np.isfinite(raw)
        whole = bool(known.all())
        if self._doubtful or not whole:
            known = self._settle_missing(values, expected, known)
            whole = bool(known.all())
        innovation = raw - self.drift
        if not whole:
            innovation[~known] = np.nan
        self._keep(values, innovation)
        if not known.any():
            nothing = np.full(number, np.nan)
            return Evidence(None, nothing, expected)
        self._take_in(innovation, known, whole)
        np.abs(self._state, out=self._ratio)
        self._ratio *= self._allowed
        evidence = self._by_target()
        if not whole:
            evidence[~known] = np.nan
            score = float(np.nanmax(evidence))
        else:
            score = float(evidence.max())
        if self._rate:
            self._follow(innovation, evidence, score)
        return Evidence(score, evidence, expected)

    @property
    def state(self) -> Floats:
        """The statistics as they stand, in the order of the layout."""
        return self._state

    @property
    def given(self) -> Floats:
        """What the last tick added to each statistic."""
        return self._input

    def heights(self) -> Floats:
        """Largest ratio in each block of statistics at the last tick."""
        blocks = self._limits.layout.blocks
        return np.array([self._ratio[place].max(initial=0.0) for _, _, place in blocks])

    def links(self) -> LinkChanges:
        """See `Detector`."""
        order = np.arange(self._count - self._recent.shape[1], self._count) % self._recent.shape[1]
        values, innovation = self._recent[0, order], self._recent[1, order]
        change = reestimate(
            self._equations, values, innovation, self._limits.centre, self._limits.scale
        )
        observed = self._equations.coefficient + change
        return LinkChanges(observed, np.abs(change) / self._limits.links)

    def families(self) -> Floats:
        """Evidence by family of statistics (`FAMILIES`) and signal at the last tick."""
        number, layout = self._number, self._limits.layout
        found = np.zeros((4, number))
        for family, _, place in layout.blocks:
            part = self._ratio[place]
            if family == "coefficient":
                part = self._strongest_link(part)
            row = ("mean", "variance", "coefficient", "level").index(family)
            found[row] = np.maximum(found[row], part)
        return found

    def accept(self, signal: int) -> None:
        """Take where a signal is now for normal: its centre moves there and it starts afresh."""
        size = self._recent.shape[1]
        lately = self._recent[1, np.arange(self._count - ACCEPTED, self._count) % size, signal]
        seen = lately[np.isfinite(lately)]
        if len(seen):
            shift = float(np.median(seen))
            self.drift[signal] += shift
            self._recent[1, :, signal] -= shift
        self._forget(np.arange(self._number) == signal)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """See `Detector`."""
        return {
            "state": self._state.copy(),
            "history": self._history.copy(),
            "doubt": self._doubt.copy(),
            "levels": self._levels.copy(),
            "drift": self.drift.copy(),
            "innovation": self.innovation.copy(),
            "recent": self._recent.copy(),
            "ratio": self._ratio.copy(),
            "brief": self._brief.copy(),
            "lately": self._lately.copy(),
            "offset": self._offset.copy(),
            "undoing": self._undoing.copy(),
            "counters": np.array([self._doubtful, self._count], dtype=np.int64),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """See `Detector`."""
        self._state[:] = state["state"]
        self._history[:] = state["history"]
        self._doubt[:] = state["doubt"]
        self._levels[:] = state["levels"]
        self.drift = state["drift"].copy()
        self.innovation = state["innovation"].copy()
        self._recent[:] = state["recent"]
        self._ratio[:] = state["ratio"]
        self._brief[:] = state["brief"]
        self._lately[:] = state["lately"]
        self._offset[:] = state["offset"]
        self._undoing[:] = state["undoing"]
        self._doubtful, self._count = (int(k) for k in state["counters"])

    def _begin(self) -> None:
        """A gap: what was before says nothing about what comes."""
        self._history[:] = np.nan
        self._doubt[:] = False
        self._doubtful = 0
        self._state[:] = 0.0
        self._ratio[:] = 0.0
        self._levels[:] = 0.0
        self._brief[:] = 0.0
        self._lately[:] = 0.0
        self._offset[:] = 0.0

    def _expected(self) -> Floats:
        np.multiply(self._causes, self._equations.coefficient, out=self._terms)
        sums = np.add.reduceat(self._terms, self._firsts) if len(self._terms) else self._terms
        if self._all_linked:
            expected: Floats = sums + self._equations.intercept
        else:
            expected = self._equations.intercept.copy()
            expected[self._linked] += sums
        return self._equations.bend(expected, self._causes)

    def _settle_missing(self, values: Floats, expected: Floats, known: Flags) -> Flags:
        """Replace missing values in the history, and say which mechanisms can be judged."""
        number = self._number
        self._doubt[number:] = self._doubt[:-number]
        missing = ~np.isfinite(values)
        self._doubt[:number] = missing
        if missing.any():
            # Nobody knows better than the causes, but not out of all proportion.
            centre, reach = self._limits.centre, CAUSE_CLIP * self._limits.scale
            instead = np.where(np.isnan(expected), centre, expected)
            instead = np.clip(instead, centre - reach, centre + reach)
            self._history[:number] = np.where(missing, instead, values)
            self._doubtful = self._equations.max_lag + 1
        self._doubtful = max(0, self._doubtful - 1)
        shaky = self._doubt[self._places] & self._leans
        judged = known.copy()
        judged[self._equations.target[shaky]] = False
        return judged

    def _take_in(self, innovation: Floats, known: Flags, whole: bool) -> None:
        """One step of all statistics."""
        number, given = self._number, self._input
        clipped = np.minimum(np.maximum(innovation, -CLIP), CLIP)
        squares = np.minimum(clipped * clipped, SQUARE_CLIP) - 1.0
        table = given[: self._first_link].reshape(self._by_signal, number)
        table[: self._mean_blocks] = clipped
        table[self._mean_blocks : self._mean_blocks + self._variance_blocks] = squares
        if self._level_at >= 0:
            # Not clipped as the others are: an offset must be remembered at its full size.
            whole_size = np.minimum(np.maximum(innovation, -self._level_clip), self._level_clip)
            level = whole_size + np.add.reduce(self._own * self._levels)
            if not whole:
                level = np.where(known, level, self._levels[0])
            if self._lets_go:
                level = self._undone(level)
            self._levels[1:] = self._levels[:-1]
            self._levels[0] = level
            table[self._level_at] = level
        if self._link_places:
            causes = np.subtract(self._causes, self._cause_centre, out=self._terms)
            causes *= self._cause_inverse
            np.minimum(causes, CAUSE_CLIP, out=causes)
            np.maximum(causes, -CAUSE_CLIP, out=causes)
            causes *= clipped[self._equations.target]
            for place in self._link_places:
                given[place] = causes
        told: Flags | None = None
        if not whole:
            table[:, ~known] = np.nan
            told = np.isfinite(given)
            given[~told] = self._state[~told]
        np.subtract(given, self._state, out=self._scratch)
        self._scratch *= self._weights
        self._state += self._scratch
        if self._lets_go:
            self._let_go(told)

    def _let_go(self, known: Flags | None) -> None:
        """Cut long memories to what the last ticks say, though never to their limits."""
        long, brief = self._long, self._brief
        told: Flags | float = 1.0 if known is None else known[long]
        brief += (self._input[long] - brief) * told * (1.0 / BRIEF)
        self._lately -= self._lately * told * (1.0 / FADES)
        np.maximum(self._lately, np.abs(brief), out=self._lately)
        most = np.maximum(self._lately, self._least)
        self._state[long] = np.minimum(np.maximum(self._state[long], -most), most)

    def _undone(self, level: Floats) -> Floats:
        """Levels, of which none crosses zero when an offset is undone.

        The level forgets; so a jump back to where the signal was would leave an offset to the
        other side, as large as what has been forgotten.
        """
        if self._offset.any():
            crossed = self._offset * level < 0.0
            level = np.where(crossed, 0.0, level)
            self._undoing[crossed & (self._undoing == 0)] = UNDOING
            running = self._undoing > 0
            self._undoing[running] -= 1
            self._offset[running & (self._undoing == 0)] = 0.0
        far = np.abs(level) * self._level_allowed > 1.0
        if far.any():
            self._offset[far] = np.sign(level[far])
            self._undoing[far] = 0
        return level

    def _by_target(self) -> Floats:
        """Largest ratio of each signal."""
        table = self._ratio[: self._first_link].reshape(self._by_signal, self._number)
        evidence: Floats = table.max(axis=0)
        for place in self._link_places:
            np.maximum(evidence, self._strongest_link(self._ratio[place]), out=evidence)
        return evidence

    def _strongest_link(self, ratios: Floats) -> Floats:
        strongest = np.maximum.reduceat(ratios, self._firsts)
        if self._all_linked:
            return np.asarray(strongest)
        whole = np.zeros(self._number)
        whole[self._linked] = strongest
        return whole

    def _keep(self, values: Floats, innovation: Floats) -> None:
        self.innovation = innovation
        at = self._count % self._recent.shape[1]
        self._recent[0, at] = values
        self._recent[1, at] = innovation
        self._count += 1

    def _follow(self, innovation: Floats, evidence: Floats, score: float) -> None:
        """Let the centres follow drift where nothing speaks against it."""
        step = np.sign(innovation) * self._rate
        if score > NEAR:
            loud = evidence > NEAR
            if score >= 1.0 and np.count_nonzero(loud) > 1:
                return
            step[self._neighbours[loud].any(axis=0)] = 0.0
        step[np.isnan(step)] = 0.0
        self.drift += step

    def _forget(self, signals: Flags) -> None:
        """Start the statistics of some signals from zero."""
        table = self._state[: self._first_link].reshape(self._by_signal, self._number)
        table[:, signals] = 0.0
        self._levels[:, signals] = 0.0
        self._offset[signals] = 0.0
        links = signals[self._equations.target]
        for place in self._link_places:
            self._state[place][links] = 0.0


def own_past(equations: Equations) -> Floats:
    """Coefficients of each signal's own past by lag, shrunk where they would never forget."""
    own = np.zeros((max(1, equations.max_lag), equations.signals))
    auto = (equations.source == equations.target) & (equations.lag > 0)
    own[equations.lag[auto] - 1, equations.target[auto]] = equations.coefficient[auto]
    size = np.abs(own).sum(axis=0)
    return own * np.where(size > MOST_PERSISTENCE, MOST_PERSISTENCE / np.maximum(size, 1e-12), 1.0)


def _leaning(equations: Equations, scale: Floats) -> Flags:
    """Which links matter so much that the target cannot be judged while the source is missing."""
    usual = scale[equations.source]
    moved = np.abs(equations.coefficient) * usual / equations.spread[equations.target]
    return np.asarray(moved > LEANS)


def _neighbours(equations: Equations) -> Flags:
    near = np.zeros((equations.signals, equations.signals), dtype=np.bool_)
    near[equations.source, equations.target] = True
    near |= near.T
    np.fill_diagonal(near, False)
    return near
