"""Forests that isolate odd ticks: the usual first choice of the libraries of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.evaluation.baselines.scored import Judgement, Scored
from causewatch.evaluation.verdicts import Progress
from causewatch.extras import needed

__all__ = ["HalfSpaceTrees", "IsolationForest"]

Floats = NDArray[np.float64]

TREES = 100
"""Trees of the isolation forest; scikit-learn's default."""
HALF_SPACE_TREES, HEIGHT = 25, 8
"""Trees as in the experiments of Tan, Ting and Liu (2011), with river's default height: each level
is walked in Python, and theirs (15) would make trees of 65,535 nodes."""
MOST_FED = 4000
"""Ticks that the half-space trees learn from, at most, spread evenly over what there is. Trees that
forget count their last 250 ticks; frozen ones have one window for all of normal operation."""


class IsolationForest(Scored):
    """scikit-learn's isolation forest over single ticks (``causewatch[baselines]``).

    It names no cause.

    A forest's score has no zero, and even perfectly normal ticks lie not far below the limit. So
    it is counted from its median on ``split.learn``: 0 is as usual, and what "80 % of the limit"
    means for clearing an alarm is comparable.
    """

    name = "isolation_forest"
    saturates = True  # a tick beyond all cuts is as odd as can be

    def _learn(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> None:
        progress("growing trees", None)
        forest = needed("sklearn.ensemble", "baselines").IsolationForest
        rows = np.concatenate(ticks)
        # One thread: what is compared is time per step, and a single tick gains nothing by more.
        self._forest: Any = forest(n_estimators=TREES, random_state=seed, n_jobs=1).fit(rows)
        self._usual = float(np.median(-self._forest.score_samples(rows)))

    def _judge(self, ticks: Floats) -> Judgement:
        score = -np.asarray(self._forest.score_samples(ticks), dtype=np.float64)
        return np.maximum(score - self._usual, 0.0), None


class HalfSpaceTrees(Scored):
    """River's half-space trees over single ticks, of ``causewatch[baselines]``; they name no cause.

    They learn online, and are frozen after `fit`: a detector that goes on learning would learn the
    faults. Signals are scaled to lie between 0 and 1 on ``split.learn``, as the trees want; what
    lies outside is cut. As for the isolation forest, scores count from their median.
    """

    name = "half_space_trees"
    saturates = True

    def _learn(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> None:
        trees = needed("river.anomaly", "baselines").HalfSpaceTrees
        rows = np.concatenate(ticks)
        self._low = rows.min(axis=0)
        span = rows.max(axis=0) - self._low
        self._span = np.where(span > 0.0, span, 1.0)
        fed = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_FED).astype(int))]
        self._trees: Any = trees(
            n_trees=HALF_SPACE_TREES, height=HEIGHT, window_size=len(fed), seed=seed
        )
        for k, row in enumerate(self._scaled(fed)):
            self._trees.learn_one(row)
            if k % 100 == 0:
                progress("growing trees", k / len(fed))
        self._usual = float(np.median(self._raw(fed)))

    def _raw(self, ticks: Floats) -> Floats:
        """-log of the mass found, as a share of the most there could be.

        The order is that of the trees' own score, 1 - mass; but normal operation has a tail in it
        that the rule for limits can follow. No mass is zero: every tick is in the root.
        """
        score = np.array([self._trees.score_one(row) for row in self._scaled(ticks)])
        return np.asarray(-np.log(np.maximum(1.0 - score, 1e-12)))

    def _scaled(self, ticks: Floats) -> list[dict[int, float]]:
        values = np.clip((ticks - self._low) / self._span, 0.0, 1.0)
        return [dict(enumerate(row)) for row in values.tolist()]

    def _judge(self, ticks: Floats) -> Judgement:
        return np.maximum(self._raw(ticks) - self._usual, 0.0), None
