"""`PyodDetector`: the shape of a PyOD detector, without PyOD."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from causewatch.adapters.rows import score_rows
from causewatch.adapters.sklearn import RowLearner
from causewatch.errors import UnknownNameError

__all__ = ["PyodDetector"]

Floats = NDArray[np.float64]


class PyodDetector(RowLearner):
    """Scores as programs written for PyOD expect them: higher is more anomalous, labels 0 and 1.

    The rows of X are consecutive rows of one recording, in order; each call starts with a fresh
    state. PyOD itself is not needed, scikit-learn is. It is the same detector as
    :class:`causewatch.adapters.CausalAnomalyDetector`, and takes the same parameters.

    Attributes
    ----------
    decision_scores_
        Score of each row given to `fit`.
    threshold_
        Scores above it are anomalous: 1.0, the alarm limit of the model, or what `contamination`
        makes it.
    labels_
        1 for the rows given to `fit` that are above the threshold, else 0.
    model_
        The `NormalModel` that was learnt.

    Examples
    --------
    >>> from causewatch.simulate import random_system
    >>> system = random_system(4, seed=1)
    >>> detector = PyodDetector().fit(system.simulate(600, seed=2).values)
    >>> today = system.simulate(200, seed=3).values
    >>> today[150:, 0] += 8.0
    >>> detector.threshold_, detector.predict(today)[[149, 150, 170]].tolist()
    (1.0, [0, 1, 1])
    """

    decision_scores_: Floats
    threshold_: float
    labels_: NDArray[np.int64]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a recording of normal operation; `y` is not used."""
        rows = self._learn(X)
        self.decision_scores_ = score_rows(self.model_, rows)
        self._set_limit(self.decision_scores_)
        self.threshold_ = self.limit_
        self.labels_ = self._labels(self.decision_scores_)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Score of each row: higher is more anomalous."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 for rows above the threshold, 0 for the others."""
        return self._labels(self.decision_function(X))

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """Fit, and give `labels_`."""
        return self.fit(X, y).labels_

    def predict_proba(self, X: Any, method: str = "linear") -> Floats:
        """Scores brought between 0 and 1: a column for normal and one for anomalous.

        They are no probabilities in earnest; PyOD calls them so.

        Parameters
        ----------
        X
            Rows × signals.
        method
            ``linear``: 0 and 1 at the smallest and largest score of the rows given to `fit`;
            ``unify``: by the normal distribution with their mean and spread.
        """
        scores, seen = self._scores(X), self.decision_scores_
        if method == "linear":
            share = (scores - seen.min()) / max(float(np.ptp(seen)), 1e-300)
        elif method == "unify":
            share = erf((scores - seen.mean()) / max(float(seen.std()) * np.sqrt(2.0), 1e-300))
        else:
            raise UnknownNameError(method, "method", ("linear", "unify"))
        odd = np.clip(share, 0.0, 1.0)
        return np.column_stack([1.0 - odd, odd])

    def _labels(self, scores: Floats) -> NDArray[np.int64]:
        return (scores > self.threshold_).astype(np.int64)
