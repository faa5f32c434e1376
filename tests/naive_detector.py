"""A slow, obvious twin of the default detector: one signal, one statistic, one number at a time.

Written from the rules at the top of `causewatch.detectors.innovation`, `statistics`, `guards` and
`lifts`, without their arrays. The numbers that make it up (where memories are cut, how long they
are, what leans, what widens, what lifts) are repeated here: a change of one of them should be
noticed.
"""

from __future__ import annotations

import math
import sys

NAN = math.nan
MEANS, SQUARES = (1, 8), (8,)
CLIP, CUT, WIDEST = 9.0, 3.0, 2.0
CAUSE_CLIP, LEANS, ROUNDING = 8.0, 0.5, 1e-12
LARGEST = math.sqrt(sys.float_info.max)
ACCEPT, STILL_MOST = 16, 2.0
OUTSIDE, OUTSIDE_LEAST, APART, FARTHEST = 0.5, 5e-4, 0.05, 1e12
HOURS, TICKS, RAISE, LEAK, FADE = 4.0, 500.0, 0.25, 1 / 3, 1 / 24
OVER, MOST, COMPANY = 1.3, 2.0, 1
QUIET, QUIET_SHARE = 6, 1 / 30


def between(value, most):
    """`value`, or the end of −most … most that it lies beyond."""
    return max(-most, min(most, value))


def median(numbers):
    numbers = sorted(numbers)
    half = len(numbers) // 2
    return numbers[half] if len(numbers) % 2 else (numbers[half - 1] + numbers[half]) / 2


def cut_at(multiple, clip):
    """A multiple of a limit, if there is a limit."""
    return multiple if math.isfinite(multiple) else clip


class NaiveDetector:
    """Judges ticks as `InnovationDetector` does, or as the first run of a calibration does."""

    def __init__(self, equations, limits, calibrating=False):
        self.signals = range(equations.signals)
        self.links = [
            (int(i), int(j), int(lag), float(c))
            for i, j, lag, c in zip(
                equations.source,
                equations.target,
                equations.lag,
                equations.coefficient,
                strict=True,
            )
        ]
        self.intercept = [float(x) for x in equations.intercept]
        self.spread = [float(x) for x in equations.spread]
        self.centre = [float(x) for x in limits.centre]
        self.scale = [float(x) for x in limits.scale]
        self.limit = limits.statistics.tolist()
        assert len(self.limit) == len(MEANS) + len(SQUARES) + 1
        self.mean_cut, self.square_cut = {}, {}
        for row, memory in enumerate(MEANS):
            for j in self.signals:
                most = CLIP if calibrating else cut_at(CUT * self.limit[row][j], CLIP)
                self.mean_cut[memory, j] = most if memory > 1 else math.inf
        for row, memory in enumerate(SQUARES, len(MEANS)):
            for j in self.signals:
                most = CLIP**2 if calibrating else cut_at(CUT * self.limit[row][j] ** 2, CLIP**2)
                self.square_cut[memory, j] = most
        self.low, self.high = limits.low.tolist(), limits.high.tolist()
        self.stands = [math.isfinite(limit) for limit in self.limit[-1]]
        self.usual = max(limits.moving, 1.0)
        self.shift = [0.0 for _ in self.signals]
        self.lately = []  # innovations, oldest first
        self.shown = []  # values, oldest first, NaN where missing
        self.begin()

    def begin(self):
        """Forget everything but what operators called normal."""
        self.past = []  # rows, newest first: by signal, value and whether it stands in for one
        self.beyond = []  # rows, newest first: how far each signal was beyond its range
        self.mean = {(memory, j): 0.0 for memory in MEANS for j in self.signals}
        self.square = {(memory, j): 1.0 for memory in SQUARES for j in self.signals}
        self.still = [0.0 for _ in self.signals]
        self.last = [NAN for _ in self.signals]

    def leans(self, link):
        """Whether the target cannot be judged without the source."""
        source, target, _, coefficient = link
        return abs(coefficient) * self.scale[source] / self.spread[target] > LEANS

    def expect(self, j, rows):
        """What the causes of a signal say of it, and whether they can be relied on."""
        total, certain = self.intercept[j] + self.shift[j], True
        for link in self.links:
            source, target, lag, coefficient = link
            if target != j:
                continue
            value, missing = rows[lag][source] if lag < len(rows) else (NAN, False)
            total += coefficient * value
            certain = certain and not (missing and self.leans(link))
        return total, certain

    def outside(self, j, value):
        """How far a value is beyond where the signal was in normal operation."""
        if value < self.low[j]:
            return min(self.low[j] - value, LARGEST)
        if value > self.high[j]:
            return min(value - self.high[j], LARGEST)
        return 0.0  # within it, missing, or of a signal that was never seen

    def widening(self, j):
        """How many times its spread a mechanism is taken to have where its causes are by now."""
        added = [
            coefficient * self.beyond[lag][source] / self.spread[j]
            for source, target, lag, coefficient in self.links
            if target == j and source != j and lag < len(self.beyond)
        ]
        return min(math.hypot(1.0, *added), WIDEST)

    def instead(self, j, expected):
        """What stands in for a missing value: what its causes say, within the usual."""
        if math.isnan(expected):
            return self.centre[j]
        return self.centre[j] + between(expected - self.centre[j], CAUSE_CLIP * self.scale[j])

    def update(self, values, new_stretch=False, fresh=None):
        """Score, evidence by signal and expected values of one tick."""
        values = [float(x) for x in values]
        if new_stretch:
            self.begin()
        bare = [(value if math.isfinite(value) else NAN, False) for value in values]
        first = [self.expect(j, [bare, *self.past])[0] for j in self.signals]
        row = [
            (values[j], False) if math.isfinite(values[j]) else (self.instead(j, first[j]), True)
            for j in self.signals
        ]
        self.past.insert(0, row)
        self.beyond.insert(0, [self.outside(j, bare[j][0]) for j in self.signals])
        expected, innovation = [], []
        for j in self.signals:
            total, certain = self.expect(j, self.past)
            left = (values[j] - total) / self.spread[j]
            expected.append(total)
            innovation.append(left if certain and math.isfinite(left) else NAN)
        self.innovation = innovation
        self.lately.append(innovation)
        self.shown.append([value for value, _ in bare])
        self.taken = [innovation[j] / self.widening(j) for j in self.signals]
        shown = [math.isfinite(values[j]) and (fresh is None or fresh[j]) for j in self.signals]
        self.sizes = [
            *([self.mean_of(memory, j) for j in self.signals] for memory in MEANS),
            *([self.square_of(memory, j) for j in self.signals] for memory in SQUARES),
            self.stood(values, shown),
        ]
        evidence = [
            self.evidence_of(j) if math.isfinite(innovation[j]) else NAN for j in self.signals
        ]
        known = [height for height in evidence if not math.isnan(height)]
        return max(known) if known else None, evidence, expected

    def evidence_of(self, j):
        """The largest statistic in units of its limit; standing still counts only so much."""
        ratios = [
            size[j] / limit[j] if math.isfinite(limit[j]) else 0.0
            for size, limit in zip(self.sizes, self.limit, strict=True)
        ]
        return min(max(*ratios[:-1], min(ratios[-1], STILL_MOST)), LARGEST)

    def mean_of(self, memory, j):
        if math.isfinite(self.taken[j]):
            left = between(self.taken[j], self.mean_cut[memory, j])
            self.mean[memory, j] = self.mean[memory, j] * (1 - 1 / memory) + left / memory
        return abs(self.mean[memory, j])

    def square_of(self, memory, j):
        if math.isfinite(self.taken[j]):
            square = min(self.taken[j] * self.taken[j], self.square_cut[memory, j])
            self.square[memory, j] += (square - self.square[memory, j]) / memory
        return math.sqrt(self.square[memory, j])

    def stood(self, values, shown):
        """For how long each signal has shown the same value while others moved."""
        moved = [
            shown[j]
            and math.isfinite(self.last[j])
            and abs(values[j] - self.last[j]) > ROUNDING * abs(values[j])
            for j in self.signals
        ]
        sizes = []
        for j in self.signals:
            if not shown[j]:
                sizes.append(0.0)
                continue
            others = sum(moved[i] and self.stands[i] for i in self.signals if i != j)
            if moved[j] or math.isnan(self.last[j]):
                self.still[j] = 0.0
            else:
                self.still[j] += min(others / self.usual, 1.0)
            sizes.append(self.still[j])
        self.last = [values[j] if shown[j] else self.last[j] for j in self.signals]
        return sizes

    def accept(self, j):
        """Where a signal was lately is normal from now on."""
        seen = [row[j] for row in self.lately[-ACCEPT:] if math.isfinite(row[j])]
        if seen:
            self.shift[j] += median(seen) * self.spread[j]
            moved = median(seen)
            self.lately = [[*row[:j], row[j] - moved, *row[j + 1 :]] for row in self.lately]
        for row in self.shown[-ACCEPT:]:
            if row[j] < self.low[j]:
                self.low[j] = row[j]
            if row[j] > self.high[j]:
                self.high[j] = row[j]
        for memory in MEANS:
            self.mean[memory, j] = 0.0
        for memory in SQUARES:
            self.square[memory, j] = 1.0
        self.still[j], self.last[j] = 0.0, NAN


class NaiveGuard:
    """Holds one signal against its range, and against its twin."""

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.margin = max(OUTSIDE * (high - low), OUTSIDE_LEAST * max(1.0, abs(low), abs(high)))
        self.apart = max(APART * (high - low), self.margin / FARTHEST)
        self.begun, self.unlike = False, False

    def update(self, value, twin=NAN):
        """Evidence of one tick."""
        self.unlike = False
        if not math.isfinite(value):
            return NAN
        if not self.begun:
            self.begun = True
            self.unlike = self.outside(value) > 1.0
            if self.unlike:
                self.low, self.high = min(self.low, value), max(self.high, value)
        outside = max(0.0, self.outside(value))
        if math.isfinite(twin):
            outside = max(outside, abs(value - twin) / self.apart)
        return outside if outside <= 1.0 else 1.0 + math.log(min(outside, FARTHEST))

    def outside(self, value):
        return max(self.low - value, value - self.high) / self.margin


class NaiveLifts:
    """Lifts the limits of signals that are loud alone for long, or raise again and again."""

    def __init__(self, equations, guarded, every):
        self.model = equations.signals
        self.signals = range(equations.signals + guarded)
        pairs = list(zip(equations.source.tolist(), equations.target.tolist(), strict=True))
        self.near = [
            {b for a, b in pairs if a == j} | {a for a, b in pairs if b == j} for j in self.signals
        ]
        self.capacity = max(HOURS * 3600.0 / every, TICKS)
        self.apart = max(QUIET, QUIET_SHARE * self.capacity)
        self.level = [0.0 for _ in self.signals]
        self.peak = [0.0 for _ in self.signals]
        self.lift = [1.0 for _ in self.signals]
        self.quiet = [math.inf for _ in self.signals]

    def step(self, evidence):
        """Evidence in units of the lifted limits, and which limits were lifted by this tick."""
        heights = [float(evidence[j]) / self.lift[j] for j in self.signals]
        loud = {j for j in self.signals if heights[j] > 1.0}
        full = set()
        for j in self.signals:
            if not evidence[j] > 1.0:
                self.lift[j] = max(1.0, self.lift[j] * math.exp(-FADE / self.capacity))
            if j not in loud:
                self.quiet[j] += 1
                self.level[j] = max(0.0, self.level[j] - LEAK)
                if self.level[j] == 0.0:
                    self.peak[j] = 0.0
                continue
            alone = not (loud - {j}) & self.near[j] and len(loud) - 1 <= COMPANY
            raised = self.quiet[j] > self.apart
            self.level[j] += (1 if alone else 0) + (RAISE * self.capacity if raised else 0)
            self.quiet[j] = 0
            if self.level[j] > 0.0:
                self.peak[j] = max(self.peak[j], evidence[j])
            if self.level[j] >= self.capacity:
                full.add(j)
                lifted = OVER * self.peak[j]
                if j < self.model:
                    lifted = min(lifted, MOST * self.lift[j])
                self.lift[j] = max(lifted, 1.0)
                self.level[j] = self.peak[j] = 0.0
        return heights, full
