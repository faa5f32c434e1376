"""`monitor_with`: a monitor that holds everything against another limit.

The evidence of mechanisms and guards is divided by the limit where it arises. All that comes after
(the score, settling, alarms and their explanation) is as ever, in units of the other limit. What
detectors do for themselves, such as following drift, stays as it was learnt, so that the scores of
two replays differ by nothing but the ratio of their limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors import (
    Evidence,
    GuardRanges,
    Guards,
    InnovationDetector,
    PublishedDetector,
)
from causewatch.explain.describe import describe
from causewatch.model import NormalModel
from causewatch.monitor import AlarmSettings, Monitor

__all__ = ["monitor_with"]

Floats = NDArray[np.float64]


def monitor_with(model: NormalModel, settings: AlarmSettings, limit: float = 1.0) -> Monitor:
    """A fresh monitor that explains its alarms, and raises them at the score `limit`."""
    if limit == 1.0:
        return Monitor(model, settings=settings, describe=describe)
    return _WhatIf(model, limit, settings=settings, describe=describe)


class _WhatIf(Monitor):
    def __init__(self, model: NormalModel, limit: float, **more: Any) -> None:
        self._at = limit
        super().__init__(model, **more)

    def reset(self) -> None:
        super().reset()
        self._guards = _Guards(self.model.watching.ranges, self._at)

    def _new_detector(self) -> InnovationDetector | PublishedDetector:
        usual = super()._new_detector()  # which says what is wrong with the model
        equations, watching = self.model.equations, self.model.watching
        if isinstance(usual, InnovationDetector):
            assert watching.limits is not None
            innovation = _Innovation(equations, watching.limits)
            innovation.at = self._at
            return innovation
        assert watching.published is not None
        published = _Published(equations, watching.published, self._options)
        published.at = self._at
        return published


class _Innovation(InnovationDetector):
    at = 1.0

    def update(self, values: Floats, new_stretch: bool = False) -> Evidence:
        return _held_against(self.at, super().update(values, new_stretch))


class _Published(PublishedDetector):
    at = 1.0

    def update(self, values: Floats, new_stretch: bool = False) -> Evidence:
        return _held_against(self.at, super().update(values, new_stretch))


class _Guards(Guards):
    def __init__(self, ranges: GuardRanges, limit: float) -> None:
        super().__init__(ranges)
        self._at = limit

    def update(self, values: Floats, others: Floats | None = None) -> Floats:
        return super().update(values, others) / self._at


def _held_against(limit: float, found: Evidence) -> Evidence:
    score = None if found.score is None else found.score / limit
    return Evidence(score, found.signals / limit, found.expected)
