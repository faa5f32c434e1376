"""A slow, obvious twin of the default detector: one signal, one memory, one number at a time.

Written from the definitions at the top of `causewatch.detectors.innovation` and
`causewatch.detectors.statistics`, without their arrays. The numbers that make it up (where clips
lie, what counts as near, what leans) are repeated here: a change of one of them should be noticed.
Only straight-line mechanisms.
"""

from __future__ import annotations

import math

NAN = math.nan
CLIP, SQUARE_CLIP, LEVEL_CLIP, CAUSE_CLIP = 8.0, 16.0, 1e5, 4.0
BRIEF, FADES, LONG, UNDOING = 8, 16, 32, 3
NEAR, LEANS, MOST_PERSISTENCE = 0.7, 0.5, 0.99
FAMILIES = ("mean", "variance", "coefficient", "level")


def between(value, most):
    """`value`, or the end of −most … most that it lies beyond."""
    return max(-most, min(most, value))


class NaiveDetector:
    """Judges ticks as `InnovationDetector` does."""

    def __init__(self, equations, limits, drift_rate):
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
        self.into = {
            j: [k for k, one in enumerate(self.links) if one[1] == j] for j in self.signals
        }
        self.intercept = [float(x) for x in equations.intercept]
        self.spread = [float(x) for x in equations.spread]
        self.centre = [float(x) for x in limits.centre]
        self.scale = [float(x) for x in limits.scale]
        self.rate = drift_rate
        self.drift = [0.0 for _ in self.signals]
        self.limit = self.limits_by_name(limits)
        self.begin()

    def limits_by_name(self, limits):
        """Limit of each statistic by family, memory and signal (or link)."""
        layout, numbers = limits.layout, iter(limits.statistics.tolist())
        plan = [("mean", memory, self.signals) for memory in layout.means]
        plan += [("variance", memory, self.signals) for memory in layout.variances]
        plan += [("level", 1, self.signals)] if layout.level else []
        plan += [("coefficient", memory, range(len(self.links))) for memory in layout.coefficients]
        found = {
            (family, memory, one): next(numbers) * limits.overall
            for family, memory, whole in plan
            for one in whole
        }
        assert next(numbers, None) is None
        return found

    def begin(self):
        """Forget everything but the drift."""
        self.past = []  # rows, newest first: by signal, value and whether it stands in for one
        self.levels = {j: [] for j in self.signals}  # newest first
        self.statistic = dict.fromkeys(self.limit, 0.0)
        self.brief = dict.fromkeys(self.limit, 0.0)
        self.lately = dict.fromkeys(self.limit, 0.0)
        self.offset = dict.fromkeys(self.signals, 0)  # its side, and ticks left to undo it
        self.undoing = dict.fromkeys(self.signals, 0)

    def cause(self, source, lag, values):
        """Value of a cause, and whether it was missing; NaN where the stretch had not begun."""
        if lag == 0:
            return values[source], not math.isfinite(values[source])
        if lag > len(self.past):
            return NAN, False
        return self.past[lag - 1][source]

    def leans(self, link):
        """Whether the target cannot be judged without the source."""
        source, target, _, coefficient = self.links[link]
        return abs(coefficient) * self.scale[source] / self.spread[target] > LEANS

    def instead(self, signal, expected):
        """What stands in for a missing value: what its causes say, within the usual."""
        if math.isnan(expected):
            return self.centre[signal]
        away = expected - self.centre[signal]
        return self.centre[signal] + between(away, CAUSE_CLIP * self.scale[signal])

    def update(self, values, new_stretch=False):
        """Score, evidence by signal and expected values of one tick."""
        values = [float(x) for x in values]
        if new_stretch:
            self.begin()
        causes, expected, innovation = {}, [], []
        for j in self.signals:
            total, certain = self.intercept[j], True
            for k in self.into[j]:
                source, _, lag, coefficient = self.links[k]
                causes[k], missing = self.cause(source, lag, values)
                total += coefficient * causes[k]
                certain = certain and not (missing and self.leans(k))
            expected.append(total)
            left = (values[j] - total) / self.spread[j] - self.drift[j]
            innovation.append(left if certain and math.isfinite(left) else NAN)
        self.innovation = innovation
        self.past.insert(
            0,
            [
                (values[j], False)
                if math.isfinite(values[j])
                else (self.instead(j, expected[j]), True)
                for j in self.signals
            ],
        )
        if all(math.isnan(one) for one in innovation):
            return None, [NAN for _ in self.signals], expected
        for j in self.signals:
            self.take_in(j, innovation[j], causes)
        evidence = [
            NAN if math.isnan(innovation[j]) else max(self.ratios(j).values()) for j in self.signals
        ]
        score = max(one for one in evidence if not math.isnan(one))
        self.follow(innovation, evidence, score)
        return score, evidence, expected

    def take_in(self, j, left, causes):
        """One step of the statistics of one signal; none of them moves where it is unknown."""
        if math.isnan(left):
            level = self.levels[j][0] if self.levels[j] else 0.0
            self.levels[j].insert(0, self.undone(j, level))
            return
        own = [(lag, c) for i, target, lag, c in self.links if i == j == target and lag > 0]
        size = sum(abs(c) for _, c in own)
        shrink = MOST_PERSISTENCE / size if size > MOST_PERSISTENCE else 1.0
        level = between(left, LEVEL_CLIP)
        for lag, coefficient in own:
            if lag <= len(self.levels[j]):
                level += shrink * coefficient * self.levels[j][lag - 1]
        level = self.undone(j, level)
        self.levels[j].insert(0, level)
        left = between(left, CLIP)
        for family, memory, one in self.statistic:
            if family == "coefficient":
                if self.links[one][1] != j:
                    continue
                source = self.links[one][0]
                cause = (causes[one] - self.centre[source]) / self.scale[source]
                given = left * between(cause, CAUSE_CLIP)
            elif one != j:
                continue
            elif family == "mean":
                given = left
            elif family == "variance":
                given = min(left * left, SQUARE_CLIP) - 1.0
            else:
                given = level
            before = self.statistic[family, memory, one]
            self.statistic[family, memory, one] = before + (given - before) / memory
            if memory >= LONG:
                self.let_go((family, memory, one), given)

    def let_go(self, which, given):
        """A long memory that the last ticks no longer bear out stands at its limit at most."""
        self.brief[which] += (given - self.brief[which]) / BRIEF
        self.lately[which] = max(abs(self.brief[which]), self.lately[which] * (1 - 1 / FADES))
        most = max(self.limit[which], self.lately[which])
        self.statistic[which] = between(self.statistic[which], most)

    def undone(self, j, level):
        """A level that a jump back would take across zero stays there."""
        if ("level", 1, j) not in self.limit:
            return level
        if self.offset[j] * level < 0:
            level = 0.0
            self.undoing[j] = self.undoing[j] or UNDOING
        if self.undoing[j] > 0:
            self.undoing[j] -= 1
            if self.undoing[j] == 0:
                self.offset[j] = 0
        if abs(level) > self.limit["level", 1, j]:
            self.offset[j] = 1 if level > 0 else -1
            self.undoing[j] = 0
        return level

    def ratios(self, j):
        """Each statistic of a signal in units of its limit."""
        return {
            (family, memory, one): abs(value) / self.limit[family, memory, one]
            for (family, memory, one), value in self.statistic.items()
            if (self.links[one][1] if family == "coefficient" else one) == j
        }

    def families(self):
        """Evidence by family and signal."""
        return [
            [
                max([r for (name, _, _), r in self.ratios(j).items() if name == family] or [0.0])
                for j in self.signals
            ]
            for family in FAMILIES
        ]

    def follow(self, innovation, evidence, score):
        """Let centres follow drift: not in an alarm of several signals, not beside a loud one."""
        loud = [j for j in self.signals if evidence[j] > NEAR]
        if score >= 1.0 and len(loud) > 1:
            return
        for j in self.signals:
            if math.isnan(innovation[j]) or innovation[j] == 0.0:
                continue
            beside = {i for i, target, _, _ in self.links if target == j}
            beside |= {target for i, target, _, _ in self.links if i == j}
            if not (beside - {j}).intersection(loud):
                self.drift[j] += math.copysign(self.rate, innovation[j])
