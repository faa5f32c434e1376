"""`CausalAnomalyDetector`: the shape of a scikit-learn outlier detector."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from causewatch.adapters.rows import Rows, index_times, learn_rows, score_rows
from causewatch.data.notes import Tally
from causewatch.data.raw import clean_names
from causewatch.detectors import DetectorSettings
from causewatch.discovery import Discoverer, Knowledge
from causewatch.errors import SettingError
from causewatch.extras import needed
from causewatch.model import NormalModel
from causewatch.model.watching import LEAST_TICKS

__all__ = ["CausalAnomalyDetector", "RowLearner"]

Floats = NDArray[np.float64]

_base = needed("sklearn.base", extra="sklearn")
_validation = needed("sklearn.utils.validation", extra="sklearn")

ALARM_LIMIT = 1.0
"""The score of a monitor at its alarm limit."""


class RowLearner(_base.BaseEstimator):  # type: ignore[misc, name-defined]
    """What detectors with `fit(X)` have in common: a model learnt from X, a score for every row.

    Parameters
    ----------
    preset, every, max_lag, alpha, knowledge, false_alarm_every
        As for :func:`causewatch.learn`.
    method, test, fdr, keep_start_up, keep_wild, confidence, seed, detector
        As for :func:`causewatch.learn`. Rows count as one second each, unless the index of a
        pandas frame says when they were taken.
    contamination
        Share of the rows given to `fit` that are anomalous: the limit is then such that this share
        of them is beyond it. None: the alarm limit of the model, which follows from
        `false_alarm_every`.

    Attributes
    ----------
    model_
        What was learnt.
    limit_
        Scores above it are anomalous.
    n_features_in_, feature_names_in_
        Number of columns, and their names if X had any.
    """

    model_: NormalModel
    limit_: float
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        preset: str = "default",
        every: float | str | None = None,
        max_lag: int | None = None,
        alpha: float | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        false_alarm_every: float | str | None = None,
        method: str | Discoverer = "pcmci",
        test: str = "linear",
        fdr: bool = False,
        keep_start_up: bool = False,
        keep_wild: bool = False,
        confidence: int = 0,
        seed: int = 0,
        detector: DetectorSettings | None = None,
        contamination: float | None = None,
    ) -> None:
        self.preset = preset
        self.every = every
        self.max_lag = max_lag
        self.alpha = alpha
        self.knowledge = knowledge
        self.false_alarm_every = false_alarm_every
        self.method = method
        self.test = test
        self.fdr = fdr
        self.keep_start_up = keep_start_up
        self.keep_wild = keep_wild
        self.confidence = confidence
        self.seed = seed
        self.detector = detector
        self.contamination = contamination

    def _learn(self, X: Any) -> Rows:
        """Learn the model; gives the rows back as numbers."""
        share = self.contamination
        if share is not None and not 0.0 < share <= 0.5:
            msg = f"contamination is {share:g}; it must be None or lie above 0 and not above 0.5."
            raise SettingError(msg)
        rows = self._rows(X, reset=True)
        # Only now: a table of one column is to be told that, not that it is short.
        _validation.check_array(
            rows.values,
            ensure_min_samples=LEAST_TICKS,
            ensure_all_finite=False,
            estimator=self,
        )
        settings = self.get_params(deep=False)
        del settings["contamination"]
        self.model_ = learn_rows(rows, settings)
        return rows

    def _set_limit(self, scores: Floats | None) -> None:
        """The limit; the scores of the rows learnt from are needed where it is a share of them."""
        if self.contamination is None or scores is None:
            self.limit_ = ALARM_LIMIT
        else:
            self.limit_ = float(np.percentile(scores, 100.0 * (1.0 - self.contamination)))

    def _scores(self, X: Any) -> Floats:
        """Score of every row of one recording: higher is more anomalous."""
        _validation.check_is_fitted(self, "model_")
        return score_rows(self.model_, self._rows(X, reset=False))

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        """X as numbers, checked as scikit-learn does; missing values are welcome."""
        values = _validation.validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_features=2 if reset else 1,  # afterwards the number learnt from is asked for
        )
        given = getattr(self, "feature_names_in_", None)
        names = [f"x{k}" for k in range(values.shape[1])] if given is None else list(given)
        return Rows(clean_names(names, "The table", Tally()), values, index_times(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class CausalAnomalyDetector(_base.OutlierMixin, RowLearner):  # type: ignore[misc, name-defined]
    """Learns which signals cause which others, and scores rows by how far they depart from that.

    The rows of X are consecutive rows of one recording, in order. Each call starts with a fresh
    state: rows are judged by the rows before them in the same call, and the first few rows cannot
    be judged at all (they count as normal). To watch a stream row by row, use
    :class:`causewatch.Monitor`.

    Parameters
    ----------
    preset, every, max_lag, alpha, knowledge, false_alarm_every
        As for :func:`causewatch.learn`.
    method, test, fdr, keep_start_up, keep_wild, confidence, seed, detector
        As for :func:`causewatch.learn`. Rows count as one second each, unless the index of a
        pandas frame says when they were taken.
    contamination
        Share of the rows given to `fit` that are anomalous: the limit is then such that this share
        of them is beyond it. None: the alarm limit of the model, which follows from
        `false_alarm_every`.

    Attributes
    ----------
    model_
        The `NormalModel` that was learnt.
    offset_
        What `score_samples` gives at the limit.
    n_features_in_, feature_names_in_
        Number of columns, and their names if X had any.

    Examples
    --------
    >>> from causewatch.simulate import random_system
    >>> system = random_system(4, seed=1)
    >>> detector = CausalAnomalyDetector().fit(system.simulate(600, seed=2).values)
    >>> today = system.simulate(200, seed=3).values
    >>> today[150:, 0] += 8.0
    >>> flagged = detector.predict(today) == -1
    >>> bool(flagged[:150].any()), bool(flagged[150])
    (False, True)
    """

    offset_: float

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a recording of normal operation.

        Parameters
        ----------
        X
            Rows × signals: an array or a dataframe; NaN where a value is missing.
        y
            Not used.
        """
        rows = self._learn(X)
        self._set_limit(None if self.contamination is None else score_rows(self.model_, rows))
        self.offset_ = -self.limit_
        return self

    def score_samples(self, X: Any) -> Floats:
        """Minus the score of each row: 0 is wholly normal, −1 the alarm limit of the model."""
        return -self._scores(X)

    def decision_function(self, X: Any) -> Floats:
        """`score_samples` minus `offset_`: negative beyond the limit, 0 at it."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """−1 for rows beyond the limit, +1 for the others."""
        return np.where(self.decision_function(X) < 0.0, -1, 1)
