"""The default detector: innovations of every mechanism, and statistics of them.

The *innovation* of a signal is what it did minus what its causes' actual values say it should do,
in units of what is normally left over. A signal downstream of a fault has odd causes and so no odd
innovation: the innovation is large where the mechanism changed. Each statistic of it
(`causewatch.detectors.statistics`) is divided by its limit; the largest ratio is the evidence
against the signal, and the largest evidence is the score.

Rules
-----
- A missing value is replaced, as a cause of others, by what its own causes say. A mechanism that
  leans on such a value more than a little is not judged, nor is one whose own value is missing;
  its statistics stay as they are.
- After a gap the statistics start again from nothing. A mechanism is judged once all its causes
  have been seen.
- A mechanism is exact only where it was learnt. Where other causes are beyond their normal range,
  its spread is widened by what they add to the expectation out there, but not without bound.
- A mechanism is as noisy as the noisiest of the ticks that it looks at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations
from causewatch.detectors.evidence import Evidence, LinkChanges
from causewatch.detectors.limits import Limits
from causewatch.detectors.reestimate import reestimate
from causewatch.detectors.statistics import Observed, statistics_of

__all__ = ["InnovationDetector"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LARGEST = float(np.sqrt(np.finfo(np.float64).max))
"""Nothing is larger: what is multiplied or squared later must not overflow."""


class InnovationDetector:
    """Judges ticks by the innovations of their mechanisms; see the top of this module.

    Parameters
    ----------
    equations
        The mechanisms.
    limits
        Of the statistics.
    """

    def __init__(self, equations: Equations, limits: Limits) -> None:
        self._equations, self._limits = equations, limits
        self._settings = settings = limits.settings
        number = equations.signals
        self._number = number
        self._places = equations.lag * number + equations.source
        self._at_once = bool((equations.lag == 0).any())
        self._linked, self._firsts = np.unique(equations.target, return_index=True)
        self._inverse = 1.0 / equations.spread
        self._leans = _leaning(equations, limits)
        self._low, self._high = limits.low.copy(), limits.high.copy()
        self._leverage = np.abs(equations.coefficient) * self._inverse[equations.target]
        self._leverage[equations.source == equations.target] = 0.0
        statistics, self._standstill = statistics_of(limits)
        self._all = (*statistics, self._standstill)
        self._shift = np.zeros(number)  # by how much operators have moved what is expected
        self._history = np.full((equations.max_lag + 1) * number, np.nan)
        self._doubt = np.zeros((equations.max_lag + 1) * number, dtype=np.bool_)
        self._doubtful = 0  # ticks for which a replaced value stays in the history
        self._beyond = np.zeros((equations.max_lag + 1) * number)
        self._outside = 0  # ticks for which a value beyond its range stays in the history
        self._noise = np.ones(equations.max_lag + 1)  # of the values in the history
        self._recent = np.full((2, settings.link_window + equations.max_lag, number), np.nan)
        self._count = 0
        self.innovation: Floats = np.full(number, np.nan)
        self.observed: Observed | None = None
        """The last tick as the statistics saw it."""
        self.sizes: Floats = np.zeros((len(self._all), number))
        """Size of each statistic (row) of each signal at the last tick."""

    def update(
        self,
        values: Floats,
        new_stretch: bool = False,
        fresh: Flags | None = None,
        noise: float = 1.0,
    ) -> Evidence:
        """See `Detector`.

        `fresh` says which values are not held from an earlier tick, and `noise` how many times
        noisier than usual the values may be.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not known
            return self._update(values, new_stretch, fresh, noise)

    def _update(
        self, values: Floats, new_stretch: bool, fresh: Flags | None, noise: float
    ) -> Evidence:
        if new_stretch:
            self._begin()
        number, history = self._number, self._history
        history[number:] = history[:-number]
        seen = np.isfinite(values)
        if not seen.all():
            values = np.where(seen, values, np.nan)
        history[:number] = values
        expected = self._expected()
        if self._doubtful or not seen.all():
            expected = self._replace_missing(values, ~seen, expected)
        innovation = (values - expected) * self._inverse
        known = np.isfinite(innovation)
        if self._doubtful:
            known[self._equations.target[self._doubt[self._places] & self._leans]] = False
            self._doubtful -= 1
        complete = bool(known.all())
        if not complete:
            innovation[~known] = np.nan
        self._keep(values, innovation)
        widened = self._widened(values)
        if widened is not None:
            innovation = innovation / widened
        self._noise[1:] = self._noise[:-1]
        self._noise[0] = noise
        innovation = innovation / self._noise.max()
        self._step(values, innovation, known, seen if fresh is None else fresh)
        if not known.any():
            return Evidence(None, np.full(number, np.nan), expected)
        ratios = self.sizes / self._limits.statistics
        np.minimum(ratios[-1], self._settings.still_most, out=ratios[-1])
        np.minimum(ratios, LARGEST, out=ratios)
        evidence = ratios.max(axis=0)
        if complete:
            return Evidence(float(evidence.max()), evidence, expected)
        evidence[~known] = np.nan
        return Evidence(float(np.nanmax(evidence)), evidence, expected)

    def _step(self, values: Floats, innovation: Floats, known: Flags, fresh: Flags) -> None:
        """Let all statistics take in the tick."""
        self.observed = tick = Observed(values, fresh, np.where(known, innovation, 0.0), known)
        for row, statistic in enumerate(self._all):
            self.sizes[row] = statistic.step(tick)

    def links(self) -> LinkChanges:
        """See `Detector`."""
        order = np.arange(self._count - self._recent.shape[1], self._count) % self._recent.shape[1]
        values, innovation = self._recent[0, order], self._recent[1, order]
        limits = self._limits
        change = reestimate(
            self._equations, values, innovation, limits.centre, limits.scale, self._settings
        )
        observed = self._equations.coefficient + change
        return LinkChanges(observed, np.abs(change) / limits.links)

    def accept(self, signal: int) -> None:
        """Take where a signal is now for normal: what is expected of it moves there."""
        size = self._recent.shape[1]
        ticks = np.arange(self._count - min(self._settings.accept_ticks, size), self._count) % size
        seen = self._recent[1, ticks, signal]
        seen = seen[np.isfinite(seen)]
        if len(seen):
            shift = float(np.median(seen))
            self._shift[signal] += shift * self._equations.spread[signal]
            self._recent[1, :, signal] -= shift
        now = self._recent[0, ticks, signal]
        if np.isfinite(now).any():
            self._low[signal] = min(self._low[signal], np.nanmin(now))
            self._high[signal] = max(self._high[signal], np.nanmax(now))
        mine = np.arange(self._number) == signal
        for statistic in self._all:
            statistic.reset(mine)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """See `Detector`."""
        return {
            "statistics": np.stack([s.state for s in self._all]),
            "last": self._standstill.last.copy(),
            "shift": self._shift.copy(),
            "history": self._history.copy(),
            "doubt": self._doubt.copy(),
            "range": np.stack([self._low, self._high]),
            "beyond": self._beyond.copy(),
            "noise": self._noise.copy(),
            "innovation": self.innovation.copy(),
            "recent": self._recent.copy(),
            "counters": np.array([self._doubtful, self._outside, self._count], dtype=np.int64),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """See `Detector`."""
        for statistic, row in zip(self._all, state["statistics"], strict=True):
            statistic.state[:] = row
        self._standstill.last = state["last"].copy()
        self._shift[:] = state["shift"]
        self._history[:] = state["history"]
        self._doubt[:] = state["doubt"]
        self._low, self._high = np.asarray(state["range"]).copy()
        self._beyond[:] = state["beyond"]
        self._noise[:] = state["noise"]
        self.innovation = state["innovation"].copy()
        self._recent[:] = state["recent"]
        self._doubtful, self._outside, self._count = (int(k) for k in state["counters"])

    def _begin(self) -> None:
        """A gap: what was before says nothing about what comes."""
        self._history[:] = np.nan
        self._doubt[:] = False
        self._doubtful = 0
        self._beyond[:] = 0.0
        self._outside = 0
        self._noise[:] = 1.0
        everything = np.ones(self._number, dtype=np.bool_)
        for statistic in self._all:
            statistic.reset(everything)

    def _expected(self) -> Floats:
        equations = self._equations
        expected = equations.intercept + self._shift
        if len(self._places):
            terms = self._history[self._places] * equations.coefficient
            expected[self._linked] += np.add.reduceat(terms, self._firsts)
        return expected

    def _widened(self, values: Floats) -> Floats | None:
        """What each spread is multiplied by, since causes are beyond their range; None: nothing."""
        number, beyond = self._number, self._beyond
        beyond[number:] = beyond[:-number]
        outside = np.fmax(np.fmax(self._low - values, values - self._high), 0.0)
        beyond[:number] = np.minimum(outside, LARGEST)  # infinite times nothing would be unknown
        if beyond[:number].any():
            self._outside = self._equations.max_lag + 1
        if not self._outside or not len(self._places):
            return None
        self._outside -= 1
        widened = np.ones(number)
        most = self._settings.widen_most
        terms = np.minimum(self._leverage * beyond[self._places], most) ** 2
        widened[self._linked] += np.add.reduceat(terms, self._firsts)
        return np.minimum(np.sqrt(widened), most)

    def _replace_missing(self, values: Floats, missing: Flags, expected: Floats) -> Floats:
        """Replace missing values in the history; what is expected with them."""
        number, limits = self._number, self._limits
        self._doubt[number:] = self._doubt[:-number]
        self._doubt[:number] = missing
        if not missing.any():
            return expected
        # Nobody knows better than the causes, but not out of all proportion.
        reach = self._settings.cause_clip * limits.scale
        instead = np.where(np.isnan(expected), limits.centre, expected)
        instead = np.clip(instead, limits.centre - reach, limits.centre + reach)
        self._history[:number] = np.where(missing, instead, values)
        self._doubtful = self._equations.max_lag + 1
        return self._expected() if self._at_once else expected

    def _keep(self, values: Floats, innovation: Floats) -> None:
        self.innovation = innovation
        at = self._count % self._recent.shape[1]
        self._recent[0, at] = values
        self._recent[1, at] = innovation
        self._count += 1


def _leaning(equations: Equations, limits: Limits) -> Flags:
    """Which links matter so much that the target cannot be judged while the source is missing."""
    usual = limits.scale[equations.source]
    moved = np.abs(equations.coefficient) * usual / equations.spread[equations.target]
    return np.asarray(moved > limits.settings.lean)
