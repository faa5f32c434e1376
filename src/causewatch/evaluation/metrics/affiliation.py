"""Affiliation: how close alarms come to events in time, next to what luck alone would give.

Huet, Navarro, Rossi (KDD 2022). Row `i` is the time from `i` to `i + 1`. Each moment belongs to the
zone of the event that is nearest to it. With a moment `X` drawn uniformly from a zone,

- precision of a zone: averaged over its alarmed moments, the probability that `X` is farther from
  the event than that moment is (1 inside the event),
- recall of a zone: averaged over the moments of its event, the probability that `X` is farther from
  that moment than the nearest alarm of the zone is (0 if the zone has no alarm).

Precision is the mean over the zones with an alarm, recall the mean over all of them.

**Luck is worth a lot here.** One alarmed moment at a uniformly random place of a zone gets an
expected recall of 1/2 and an expected precision of (1 + q²) / 2, where q is the share of the zone
that the event takes up; and a few random moments bring recall close to 1. So neither figure means
anything without its chance level, which is given with it: **the mean over circular shifts of the
very same alarms**, that is, what alarms of the same number, lengths and gaps get at a uniformly
random time. An always-on alarm is the same after any shift and gets exactly its chance level.

With no alarm at all the reference implementation gives a precision of NaN, and so does this: what
was never claimed is neither right nor wrong. Recall and F1 are then 0, and so is chance recall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causewatch.errors import SettingError
from causewatch.evaluation.metrics.points import flags_of, runs_of, truth_of

__all__ = ["Affiliation", "affiliation"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_RUNS, FEWEST_SHIFTS = 2_000_000, 20
"""Runs of alarmed rows that are judged for the chance levels, over all shifts; and shifts."""
GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, are even and in step with no period that the events may have."""


@dataclass(frozen=True, slots=True)
class Affiliation:
    """How close alarms come to events.

    Attributes
    ----------
    precision
        NaN if there is no alarm.
    recall
        0 if there is no alarm.
    f1
        Harmonic mean of the two; 0 if there is no alarm.
    chance_precision, chance_recall
        Mean of the same over circular shifts of the same alarms; NaN and 0 if there is no alarm.
    """

    precision: float
    recall: float
    f1: float
    chance_precision: float
    chance_recall: float


def affiliation(labels: ArrayLike, alarm: ArrayLike, *, shifts: int = 200) -> Affiliation:
    """Affiliation precision and recall with their chance levels (Huet et al. 2022).

    Parameters
    ----------
    labels
        By row: 1 where the row is anomalous, else 0.
    alarm
        By row: whether an alarm was on.
    shifts
        How many circular shifts the chance levels are averaged over. A recording with no more rows
        than that is shifted by every number of rows, which makes them exact; else the shifts are
        spread evenly and are the same each time. 200 of them were seen to be right to 0.003. An
        alarm that comes and goes more than 10,000 times is shifted less often, to save time.

    Examples
    --------
    >>> near = affiliation([0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0])
    >>> near.precision, near.recall
    (0.625, 0.75)
    >>> near.chance_precision  # (1 + q²) / 2, for a quarter of the rows is anomalous
    0.53125
    """
    on = flags_of(alarm, "alarm")
    truth = truth_of(labels, on.size, "alarm")
    if not isinstance(shifts, (int, np.integer)) or shifts < 1:
        msg = f"Chance was to be averaged over {shifts!r} shifts; give a whole number, 1 or more."
        raise SettingError(msg)
    starts, stops = runs_of(on)
    if not starts.size:
        return Affiliation(float("nan"), 0.0, 0.0, float("nan"), 0.0)
    zones = _Zones.of(truth)
    precision, recall = zones.judge(starts, stops)
    rows = on.size
    if rows <= shifts:
        offsets = np.arange(rows, dtype=np.int64)
    else:
        # Alarms that flicker are many runs, whose average one shift changes little.
        count = min(int(shifts), max(FEWEST_SHIFTS, MOST_RUNS // starts.size))
        offsets = np.floor(np.arange(1, count + 1) * GOLDEN % 1 * rows).astype(np.int64)
    chance = [zones.judge(*_shifted(starts, stops, by, rows)) for by in offsets.tolist()]
    both = precision + recall
    return Affiliation(
        precision,
        recall,
        2 * precision * recall / both if both else 0.0,
        float(np.mean([one[0] for one in chance])),
        float(np.mean([one[1] for one in chance])),
    )


def _shifted(starts: Ints, stops: Ints, by: int, rows: int) -> tuple[Ints, Ints]:
    """Runs moved by so many rows; what leaves at the end comes in at the start."""
    begin = (starts + by) % rows
    end = begin + (stops - starts)
    over = end > rows
    if over.any():
        begin = np.append(begin, 0)
        end = np.append(np.minimum(end, rows), end[over] - rows)
    return np.sort(begin), np.sort(end)  # runs are disjoint: both sort in the same order


@dataclass(frozen=True, slots=True, eq=False)
class _Zones:
    """Events and the zones around them.

    Attributes
    ----------
    starts, stops
        Of the events.
    borders
        Of the zones: one more than there are events.
    """

    starts: Floats
    stops: Floats
    borders: Floats

    @classmethod
    def of(cls, truth: Bools) -> _Zones:
        """Zones end half-way between events."""
        starts, stops = (one.astype(np.float64) for one in runs_of(truth))
        return cls(starts, stops, np.r_[0.0, (stops[:-1] + starts[1:]) / 2, float(truth.size)])

    def judge(self, on: Ints, off: Ints) -> tuple[float, float]:
        """Precision and recall of alarms between `on` and `off`; there must be one at least.

        Time is cut wherever anything begins or ends, so that each piece lies in one zone, and is
        all inside or all outside of an event, and all alarmed or not at all.
        """
        # A stable sort is quick here, since each of these is sorted already.
        cuts = np.sort(
            np.concatenate([self.borders, self.starts, self.stops, on, off]), kind="stable"
        )
        cuts = cuts[np.append(True, cuts[1:] > cuts[:-1])]
        left, right = cuts[:-1], cuts[1:]
        sizes = np.diff(np.searchsorted(cuts, self.borders))
        zone = np.repeat(np.arange(sizes.size), sizes)
        event = (left >= self.starts[zone]) & (left < self.stops[zone])
        last = np.searchsorted(on, left, side="right") - 1
        alarmed = (last >= 0) & (left < off[np.maximum(last, 0)])
        found = np.where(event & alarmed, right - left, 0.0)
        missed = event & ~alarmed
        # The alarms before and after each missed piece, if they reach into its zone.
        lasted = np.append(off.astype(np.float64), -np.inf)[last[missed]]
        begins = np.append(on.astype(np.float64), np.inf)[last[missed] + 1]
        lasted[lasted <= self.borders[zone[missed]]] = -np.inf
        begins[begins >= self.borders[zone[missed] + 1]] = np.inf
        found[missed] = self._recall(left[missed], right[missed], zone[missed], lasted, begins)
        recall = np.bincount(zone, found) / (self.stops - self.starts)
        return (
            self._precision(left[alarmed], right[alarmed], zone[alarmed], event[alarmed]),
            float(recall.mean()),
        )

    def _precision(self, left: Floats, right: Floats, zone: Ints, event: Bools) -> float:
        """Of alarmed pieces."""
        length = right - left
        start, stop = self.starts[zone], self.stops[zone]
        before, after = self.borders[zone], self.borders[zone + 1]
        # At distance d from the event, a share of (event + d + min(d, shorter side)) / zone is as
        # near or nearer. Integrated from `near` to `near + length`, with a kink at `shorter`.
        near = np.maximum(start - right, left - stop)
        far = near + length
        shorter = np.minimum(start - before, after - stop)
        kink = np.clip(shorter, near, far)
        capped = (kink - near) * (near + kink) / 2 + (far - kink) * shorter
        nearer = (stop - start) * length + length * (near + far) / 2 + capped
        worth = np.where(event, length, length - nearer / (after - before))
        total = np.bincount(zone, weights=length)
        seen = total > 0
        return float(np.mean(np.bincount(zone, weights=worth)[seen] / total[seen]))

    def _recall(
        self, left: Floats, right: Floats, zone: Ints, lasted: Floats, begins: Floats
    ) -> Floats:
        """What missed pieces of events are worth: by piece, in rows."""
        low, high = self.borders[zone], self.borders[zone + 1]
        alone = np.isinf(lasted) & np.isinf(begins)
        lasted = np.where(alone, low, lasted)  # any finite value: such a piece is worth nothing
        # At distance d from the nearest alarm, a share of (d + min(d, nearer border)) / zone is as
        # near or nearer: straight lines between the kinks, so that trapezoids are exact.
        kinks = np.stack(
            [
                left,
                (lasted + begins) / 2,
                (lasted + high) / 2,
                (begins + low) / 2,
                (low + high) / 2,
                right,
            ]
        )
        y = np.sort(np.clip(kinks, left, right), axis=0)
        distance = np.minimum(y - lasted, begins - y)
        nearer = distance + np.minimum(distance, np.minimum(y - low, high - y))
        integral = np.sum(np.diff(y, axis=0) * (nearer[1:] + nearer[:-1]) / 2, axis=0)
        return np.where(alone, 0.0, right - left - integral / (high - low))
