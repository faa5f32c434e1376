"""What programs written for PyOD rely on, held against PyOD itself."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from pyod.models.base import BaseDetector
from sklearn.base import clone

from causewatch.adapters import CausalAnomalyDetector, PyodDetector
from causewatch.errors import SettingError, UnknownNameError
from recordings import stable


class Twin(BaseDetector):
    """PyOD's own code over our scores: it decides what threshold, labels and shares must be."""

    def __init__(self, ours):
        super().__init__(ours.contamination)
        self._ours = ours

    def fit(self, X, y=None):
        self._set_n_classes(y)
        self.decision_scores_ = self._ours.decision_function(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X):
        return self._ours.decision_function(X)


@pytest.fixture(scope="module")
def normal():
    return stable(3, 4, 400)


@pytest.fixture(scope="module")
def odd():
    """Normal until row 200."""
    values = stable(3, 4, 1000)[700:]
    values[200:, 1] += 6.0
    return values


@pytest.fixture(scope="module")
def fitted(normal):
    return PyodDetector().fit(normal)


def test_scores_are_those_of_the_scikit_learn_detector(fitted, normal, odd):
    other = CausalAnomalyDetector().fit(normal)
    np.testing.assert_array_equal(fitted.decision_function(odd), -other.score_samples(odd))
    np.testing.assert_array_equal(fitted.predict(odd) == 1, other.predict(odd) == -1)
    np.testing.assert_array_equal(fitted.decision_scores_, -other.score_samples(normal))


def test_the_threshold_is_the_alarm_limit(fitted, odd):
    assert fitted.threshold_ == 1.0
    assert fitted.decision_scores_.shape == fitted.labels_.shape == (400,)
    assert fitted.labels_.mean() < 0.02
    assert set(fitted.predict(odd).tolist()) == {0, 1}
    np.testing.assert_array_equal(fitted.predict(odd), fitted.decision_function(odd) > 1.0)


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_with_a_contamination_all_is_as_in_pyod(normal, odd, share):
    ours = PyodDetector(contamination=share).fit(normal)
    theirs = Twin(ours).fit(normal)
    assert ours.threshold_ == pytest.approx(theirs.threshold_, rel=1e-12)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.predict(odd), theirs.predict(odd))
    for method in ("linear", "unify"):
        mine = ours.predict_proba(odd, method=method)
        np.testing.assert_allclose(mine, theirs.predict_proba(odd, method=method), atol=1e-12)
        assert mine.shape == (300, 2)


def test_what_pyod_promises_is_there(fitted):
    """Every public thing of PyOD's base class, but for what is listed."""
    left_out = {
        "predict_confidence",  # about the share of outliers among the rows learnt from
        "predict_with_rejection",
        "compute_rejection_stats",
        "fit_predict_score",  # no longer to be used, says PyOD
        "metadata_routing",
    }
    promised = {name for name, _ in inspect.getmembers(BaseDetector) if name[0] != "_"} - left_out
    absent = {name for name in promised if not hasattr(fitted, name)}
    assert {name for name in absent if not name.endswith("_request")} == set()
    assert {"decision_scores_", "labels_", "threshold_", "contamination"} <= set(vars(fitted))


def test_fit_predict_gives_the_labels(normal):
    detector = PyodDetector(contamination=0.1)
    labels = detector.fit_predict(normal)
    assert labels is detector.labels_
    assert labels.sum() == 40


def test_settings_that_make_no_sense_are_told(fitted, normal, odd):
    with pytest.raises(SettingError, match="contamination is 0;"):
        PyodDetector(contamination=0.0).fit(normal)
    with pytest.raises(UnknownNameError, match="linear, unify"):
        fitted.predict_proba(odd, method="lineal")


def test_it_can_be_cloned_and_pickled(fitted, odd):
    assert clone(fitted).get_params() == fitted.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(odd), fitted.decision_function(odd))
