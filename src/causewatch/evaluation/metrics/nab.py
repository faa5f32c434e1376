"""The score of the Numenta Anomaly Benchmark: early is better, and false alarms cost by the row."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from causewatch.errors import NotEnoughDataError
from causewatch.evaluation.metrics.points import flags_of, runs_of, truth_of
from causewatch.evaluation.metrics.ranges import check_option, check_share

__all__ = ["NabProfile", "nab"]

NabProfile = Literal["standard", "reward_low_fp", "reward_low_fn"]
"""What matters most to a user of the detector."""

WEIGHTS: dict[NabProfile, tuple[float, float]] = {
    "standard": (0.11, 1.0),
    "reward_low_fp": (0.22, 1.0),
    "reward_low_fn": (0.11, 2.0),
}
"""Cost of a row of false alarm far from any window, and of a missed window; a hit is worth 1."""
FAR = 3.0
"""In window widths: a false alarm further behind a window than this costs its full weight."""
LONGEST = 5000
"""Rows of a recording that the probation is a share of, at most."""


def nab(
    labels: ArrayLike,
    alarm: ArrayLike,
    *,
    profile: NabProfile = "standard",
    probation: float = 0.15,
) -> float:
    """NAB score (Lavin, Ahmad, ICMLA 2015): 0 for no alarm at all, 100 for every event at once.

    Each run of anomalous rows is a window. Only its first row under alarm counts: with p the share
    of the window that is left, that row included, it is worth tanh(2.5 p) / tanh(2.5), so 1 at the
    start and nearly 0 at the end. A missed window costs its weight. Every row under alarm outside
    windows costs its weight times tanh(2.5 d), d being the distance behind the window before it in
    widths of that window; the full weight beyond 3 widths or before the first window. The sum is
    scaled so that no alarm gives 0 and every window found at its first row gives 100.

    The score may be far below 0: the benchmark was made for alarms of single rows, and an alarm
    that stays on for a thousand rows outside windows costs a thousand times.

    Parameters
    ----------
    labels
        By row: 1 or True if anomalous. The benchmark widens its labels to windows of a tenth of the
        recording; here the labels are the windows.
    alarm
        By row: whether an alarm was on.
    profile
        `"standard"`; `"reward_low_fp"`: false alarms cost twice as much; `"reward_low_fn"`: missed
        windows do.
    probation
        Share of the recording at its start, of at most 5000 rows, in which nothing is counted: in
        the benchmark, detectors learn there. Use 0 for detectors that learnt elsewhere. A window
        that lies in it altogether is left out.

    Notes
    -----
    Agrees with `Sweeper` of the benchmark's own program, scaled as its `Runner.normalize` does.
    That program divides by zero for false alarms after a window of one row; here they cost their
    full weight. And it counts windows within the probation among those that could be found.

    Examples
    --------
    >>> nab([0, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 0], probation=0)
    100.0
    """
    check_option(profile, "profile", NabProfile)
    check_share(probation, "probation")
    told = flags_of(alarm, "alarm")
    truth = truth_of(labels, told.size, "alarm")
    from_row = math.ceil(min(math.floor(probation * len(truth)), probation * LONGEST))
    starts, stops = runs_of(truth)
    counted = stops > from_row
    if not counted.any():
        msg = (
            f"All {len(starts)} runs of anomalous rows lie in the probation, the first {from_row}"
            " rows; set probation to 0 if the detector learnt elsewhere."
        )
        raise NotEnoughDataError(msg)
    vain, missed = WEIGHTS[profile]

    told = told & (np.arange(len(told)) >= from_row)
    rows = np.flatnonzero(told)
    first = np.searchsorted(rows, starts[counted])
    row = np.append(rows, len(told))[first]  # the row after the last stands for "never"
    found = row < stops[counted]
    left = (stops[counted] - row)[found] / (stops - starts)[counted][found]
    gain = (np.tanh(2.5 * left) / math.tanh(2.5)).sum() - missed * (~found).sum()

    false = rows[~truth[rows]]
    before = np.searchsorted(stops, false, side="right") - 1
    past = false - (stops[before] - 1)
    width = (stops - starts - 1)[before]
    with np.errstate(divide="ignore"):
        distance = np.where(before >= 0, past / width, np.inf)
    cost = vain * np.where(distance > FAR, 1.0, np.tanh(2.5 * distance)).sum()

    windows = int(counted.sum())
    return float(100 * (gain - cost + missed * windows) / (windows * (1 + missed)))
