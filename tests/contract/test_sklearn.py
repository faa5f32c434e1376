"""What a scikit-learn outlier detector promises, and what is said where it cannot be kept."""

from __future__ import annotations

import doctest
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    estimator_checks_generator,
)

import causewatch as cw
from causewatch import adapters
from causewatch.adapters import CausalAnomalyDetector
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.extras import needed
from recordings import stable

DOCS = Path(__file__).parents[2] / "docs" / "adapters.md"

SHORT = "fits fewer than the 30 rows from which anything can be learnt about normal operation"
NONE_ODD = "wants rows of the normal recording itself to be anomalous; none need be"
IN_ORDER = "rows are a time series: each is judged by the rows before it"
TOO_SHORT = (
    "check_estimators_overwrite_params",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_readonly_memmap_input",
    "check_n_features_in_after_fitting",
    "check_estimators_dtypes",
    "check_f_contiguous_array_estimator",
    "check_classifier_data_not_an_array",
    "check_dict_unchanged",
    "check_fit2d_predict1d",
)
ORDERED = {
    "check_methods_sample_order_invariance": IN_ORDER,
    "check_methods_subset_invariance": IN_ORDER,
}
EXPECTED = {
    **dict.fromkeys(TOO_SHORT, SHORT),
    **ORDERED,
    "check_outliers_fit_predict": NONE_ODD,
    "check_outliers_train": NONE_ODD,
}


class Lengthened(CausalAnomalyDetector):
    """Repeats the few rows that scikit-learn's checks have: shortness is their only trouble."""

    def fit(self, X, y=None):
        shape = np.shape(np.asarray(X))
        if len(shape) == 2 and shape[1] > 1 and 10 < shape[0] < 30:
            frame = isinstance(X, pd.DataFrame)
            X = pd.concat([X] * 3) if frame else np.vstack([np.asarray(X)] * 3)
        return super().fit(X, y)


def checks(estimator, failing):
    """The checks; one needs an environment variable that is read before any test runs."""
    found = estimator_checks_generator(estimator, expected_failed_checks=failing, mark="xfail")
    for one in found:
        estimator, check = getattr(one, "values", one)
        name = getattr(check, "func", check).__name__
        if name != "check_array_api_input":
            marks = getattr(one, "marks", ())
            yield pytest.param(
                estimator, check, id=f"{type(estimator).__name__}-{name}", marks=marks
            )


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        *checks(CausalAnomalyDetector(), EXPECTED),
        *checks(Lengthened(contamination=0.1), ORDERED),
    ],
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_names_of_columns_are_kept_and_compared():
    check_dataframe_column_names_consistency("detector", Lengthened())


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
    return CausalAnomalyDetector().fit(normal)


def test_scores_are_those_of_a_monitor(fitted, odd):
    monitor = cw.Monitor(fitted.model_)
    scores = [monitor.update(row).score for row in odd]
    warm = sum(score is None for score in scores)
    assert 0 < warm <= fitted.model_.preprocessing.max_lag
    assert fitted.score_samples(odd).tolist() == [0.0] * warm + [-s for s in scores[warm:]]


def test_the_decision_changes_sign_at_the_alarm_limit(fitted, odd):
    decision = fitted.decision_function(odd)
    assert fitted.offset_ == -1.0
    np.testing.assert_array_equal(decision, 1.0 + fitted.score_samples(odd))
    flagged = fitted.predict(odd) == -1
    np.testing.assert_array_equal(flagged, decision < 0)
    assert flagged[200]
    assert flagged[200:].mean() > 0.5 > flagged[:200].mean()


def test_every_call_starts_afresh(fitted, odd):
    first = fitted.score_samples(odd)
    fitted.score_samples(odd[150:])
    np.testing.assert_array_equal(fitted.score_samples(odd), first)


def test_rows_share_the_score_of_their_tick(normal, odd):
    detector = CausalAnomalyDetector(every=4, max_lag=2).fit(normal)
    scores = detector.score_samples(odd[:202])  # fifty ticks, and half of another one
    monitor = cw.Monitor(detector.model_)
    ticks = [tick for tick in map(monitor.update, odd[:202]) if tick.complete]
    assert len(ticks) == 50
    ticks.append(monitor.flush())
    told = [0.0 if tick.score is None else -tick.score for tick in ticks]
    np.testing.assert_array_equal(scores, np.repeat(told, 4)[:202])


def test_a_few_rows_at_the_end_keep_the_last_score(normal, odd):
    detector = CausalAnomalyDetector(every=4, max_lag=2).fit(normal)
    scores = detector.score_samples(odd[:201])
    assert scores[200] == scores[199] != 0


def test_missing_values_are_missing(fitted, odd):
    gappy = odd[:200].copy()
    gappy[50:60, 2] = np.nan
    gappy[120:125] = np.nan
    scores = fitted.score_samples(gappy)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores[:50], fitted.score_samples(odd[:200])[:50])
    zeros = fitted.score_samples(np.nan_to_num(gappy))
    assert not np.array_equal(scores, zeros)
    with pytest.raises(ValueError, match="infinity"):
        fitted.score_samples(np.where(np.isnan(gappy), np.inf, gappy))


def test_where_nothing_is_known_the_score_stays(fitted, odd):
    hidden = odd[:200].copy()
    hidden[100:120] = np.nan
    scores = fitted.score_samples(hidden)
    assert len(set(scores[110:120].tolist())) == 1  # the last values are held for five ticks


def test_frames_of_any_library_give_the_same_scores(fitted, normal, odd):
    names = ["pump", "level", "flow", "valve"]
    plain = fitted.score_samples(odd)
    for frame in (pd.DataFrame, pl.DataFrame):
        make = {"columns": names} if frame is pd.DataFrame else {"schema": names}
        detector = CausalAnomalyDetector().fit(frame(normal, **make))
        assert detector.feature_names_in_.tolist() == names
        assert detector.model_.signals == tuple(names)
        np.testing.assert_array_equal(detector.score_samples(frame(odd, **make)), plain)


def test_names_with_blanks_and_numbered_columns_work(normal):
    padded = CausalAnomalyDetector().fit(pd.DataFrame(normal, columns=["a", " a", "b ", "c"]))
    assert padded.model_.signals == ("a", "a.1", "b", "c")
    numbered = CausalAnomalyDetector().fit(pd.DataFrame(normal))
    assert numbered.model_.signals == ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_the_index_of_a_frame_says_when(normal, odd, zone):
    index = pd.date_range("2024-05-01", periods=400, freq="10s", tz=zone)
    frame = pd.DataFrame(normal, columns=list("abcd"), index=index)
    detector = CausalAnomalyDetector(every="20s", max_lag=2).fit(frame)
    assert detector.model_.interval == 10
    assert detector.model_.clock == ("naive" if zone is None else "utc")
    later = pd.date_range("2024-05-02", periods=300, freq="10s", tz=zone)
    live = pd.DataFrame(odd, columns=list("abcd"), index=later)
    scores = detector.score_samples(live)
    np.testing.assert_array_equal(scores[::2], scores[1::2])  # two rows are a tick
    np.testing.assert_array_equal(detector.score_samples(live.reset_index(drop=True)), scores)
    gap = later[:150].append(later[150:] + pd.Timedelta("1h"))
    broken = detector.score_samples(live.set_axis(gap))
    np.testing.assert_array_equal(broken[:150], scores[:150])
    assert not np.array_equal(broken[150:], scores[150:])  # it starts again after a gap


def test_irregular_times_give_every_row_a_score(normal):
    index = pd.date_range("2024-05-01", periods=400, freq="1s")
    frame = pd.DataFrame(normal, columns=list("abcd"), index=index)
    detector = CausalAnomalyDetector(every="3s", max_lag=2).fit(frame)
    rows = np.arange(400)
    kept = rows[(rows % 4 == 0) | (np.random.default_rng(1).random(400) < 0.5)]  # never a gap
    scores = detector.score_samples(frame.iloc[kept])
    assert (pd.Series(scores).groupby((kept - kept[0]) // 3).nunique() == 1).all()


def test_a_row_without_a_time_is_refused(normal):
    index = pd.date_range("2024-05-01", periods=400, freq="1s")
    frame = pd.DataFrame(normal, index=index)
    detector = CausalAnomalyDetector().fit(frame)
    with pytest.raises(cw.CausewatchError, match="1 rows have no time"):
        detector.predict(frame.set_axis(index[:-1].append(pd.DatetimeIndex([pd.NaT]))))


def test_parameters_are_those_of_learning(normal):
    detector = CausalAnomalyDetector(every=2, max_lag=3, alpha=0.01, false_alarm_every="5min")
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    asked = copy.fit(normal).model_.provenance.settings
    assert (asked["every"], asked["max_lag"], asked["alpha"]) == (2, 3, 0.01)
    assert asked["false_alarm_every"] == 300
    assert CausalAnomalyDetector(preset="paper", max_lag=2).fit(normal).model_.preset == "paper"
    learnable = {
        name
        for name, one in cw.learn.__annotations__.items()
        if name
        not in ("return", "normal", "calibrate", "progress", "now", "reading", "keep_labelled")
    }
    assert set(detector.get_params()) == learnable | {"contamination"}


def test_contamination_moves_the_limit(normal):
    detector = CausalAnomalyDetector(contamination=0.05).fit(normal)
    assert (detector.predict(normal) == -1).sum() == 20
    assert detector.offset_ > -1.0
    with pytest.raises(SettingError, match=r"contamination is 0\.7"):
        CausalAnomalyDetector(contamination=0.7).fit(normal)


def test_a_pickle_holds_the_model_as_its_file(fitted, odd):
    packed = pickle.dumps(fitted)
    assert b"PK\x03\x04" in packed
    assert b"CausalGraph" not in packed
    again = pickle.loads(packed)
    np.testing.assert_array_equal(again.score_samples(odd), fitted.score_samples(odd))
    assert again.model_.provenance == fitted.model_.provenance


def test_it_works_inside_other_tools(normal, odd):
    pipeline = make_pipeline(StandardScaler(), CausalAnomalyDetector(max_lag=2)).fit(normal)
    assert pipeline.predict(odd)[200] == -1
    scores = cross_val_score(
        CausalAnomalyDetector(max_lag=2),
        normal,
        cv=TimeSeriesSplit(3),
        scoring=lambda one, X, y=None: (one.predict(X) == 1).mean(),
        error_score="raise",
    )
    assert (scores > 0.9).all()


def test_what_cannot_be_learnt_from_is_refused():
    still = np.ones((100, 3))
    with pytest.raises(NotEnoughDataError, match="usable signal"):
        CausalAnomalyDetector().fit(still)
    with pytest.raises(ValueError, match="29 sample"):
        CausalAnomalyDetector().fit(still[:29])


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("CausalAnomalyDetector", "sklearn"),
        ("PyodDetector", "sklearn"),
        ("RiverDetector", "river"),
    ],
)
def test_without_the_library_one_sentence_says_what_to_install(monkeypatch, name, module):
    for loaded in ("sklearn", "river", "pyod"):
        monkeypatch.delitem(sys.modules, f"causewatch.adapters.{loaded}", raising=False)
        monkeypatch.delitem(vars(adapters), loaded, raising=False)
    monkeypatch.delitem(vars(adapters), name, raising=False)
    monkeypatch.setitem(sys.modules, f"{module}.base", None)
    with pytest.raises(adapters.MissingExtraError) as caught:
        getattr(adapters, name)
    assert isinstance(caught.value, ImportError)
    assert str(caught.value) == (
        f"{module} is not installed; install it with: pip install 'causewatch[{module}]'."
    )


def test_what_a_library_lacks_itself_is_not_blamed_on_the_library(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        needed("half_there", "sklearn")


def test_the_package_loads_no_other_library():
    code = (
        "import sys, causewatch.adapters\n"
        "print({'sklearn', 'river', 'pyod', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_examples_in_the_documentation_do_what_they_say():
    result = doctest.testfile(str(DOCS), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 10
    assert result.failed == 0


def test_every_check_that_cannot_hold_is_documented():
    text = DOCS.read_text(encoding="utf-8")
    assert {name for name in EXPECTED if f"`{name}`" not in text} == set()
