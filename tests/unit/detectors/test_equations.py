"""Mechanisms as arrays: what they leave, and fitting them again."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import Equations
from causewatch.detectors import equations as module


def system(seed, signals=4, max_lag=3, share=0.3, lag_0=False):
    rng = np.random.default_rng(seed)
    links = [
        (source, target, lag)
        for target in range(signals)
        for source in range(signals)
        for lag in range(0 if lag_0 and source != target else 1, max_lag + 1)
        if rng.random() < share
    ]
    array = np.array(links, dtype=np.intp).reshape(-1, 3)
    equations = Equations(
        signals,
        max_lag,
        *array.T,
        coefficient=rng.normal(size=len(links)),
        intercept=rng.normal(size=signals),
        spread=rng.uniform(0.2, 3.0, size=signals),
    )
    return equations, rng


def mixed(rng, rows, signals=4):
    """Rows that hang together, with units far apart."""
    noise = rng.normal(size=(rows, signals)) @ rng.normal(size=(signals, signals))
    return noise * np.array([1.0, 1e4, 1e-3, 10.0])[:signals] + np.array([0, 5e4, 1, -7])[:signals]


@pytest.mark.parametrize("lag_0", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_innovations_are_what_the_sum_leaves(seed, lag_0):
    equations, rng = system(seed, lag_0=lag_0)
    rows = rng.normal(size=(30, 4))
    rows[11, 2] = np.nan
    found = equations.innovations(rows)
    assert found.shape == rows.shape
    assert np.isnan(found[: equations.max_lag]).all()
    for t in range(equations.max_lag, len(rows)):
        for target in range(4):
            expected = equations.intercept[target]
            for k in equations.links_into(target):
                cause = rows[t - equations.lag[k], equations.source[k]]
                expected += equations.coefficient[k] * cause
            left = (rows[t, target] - expected) / equations.spread[target]
            assert_allclose(found[t, target], left, rtol=1e-9, atol=1e-12)
    assert np.isfinite(found[equations.max_lag :]).any(axis=0).all()


def test_innovations_of_too_few_rows_and_without_links():
    equations, _ = system(0)
    for count in range(4):
        assert np.isnan(equations.innovations(np.ones((count, 4)))).all()
    bare, _ = system(0, share=0.0)
    found = bare.innovations(np.ones((5, 4)))
    assert_allclose(found[3:], [(1 - bare.intercept) / bare.spread] * 2)


@pytest.mark.parametrize("ridge", [0.0, module.RIDGE, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_refitting_is_least_squares(seed, ridge, monkeypatch):
    monkeypatch.setattr(module, "RIDGE", ridge)
    equations, rng = system(seed, lag_0=seed % 2 == 1)
    stretches = [mixed(rng, 60), mixed(rng, 3), mixed(rng, 45)]
    stretches[2][20, 1] = np.nan
    fitted = equations.refitted(stretches)
    assert_array_equal(fitted.source, equations.source)
    assert fitted.max_lag == equations.max_lag
    ends = [
        (rows, t)
        for rows in stretches
        for t in range(3, len(rows))
        if np.isfinite(rows[t - 3 : t + 1]).all()
    ]
    for target in range(4):
        links = equations.links_into(target)
        causes = np.array(
            [[rows[t - equations.lag[k], equations.source[k]] for k in links] for rows, t in ends]
        )
        now = np.array([rows[t, target] for rows, t in ends])
        mean, scale, size = causes.mean(axis=0), causes.std(axis=0), now.std()
        # The ridge as rows that ask for zero, of which there are so and so many for each tick. A
        # signal's own past is left alone.
        others = equations.source[links] != target
        pull = np.diag(np.sqrt(ridge * len(now)) * others)
        design = np.concatenate([(causes - mean) / scale, pull])
        wanted = np.concatenate([now - now.mean(), np.zeros(len(links))])
        found = np.linalg.lstsq(design, wanted, rcond=None)[0] / scale if len(links) else []
        left = now - now.mean() - (causes - mean) @ found if len(links) else now - now.mean()
        assert_allclose(fitted.coefficient[links], found, rtol=1e-6, atol=1e-9 * size)
        intercept = now.mean() - mean @ found if len(links) else now.mean()
        assert_allclose(fitted.intercept[target], intercept, rtol=1e-6, atol=1e-6 * size)
        free = len(now) - len(links) - 1
        assert_allclose(fitted.spread[target], np.sqrt(left @ left / free), rtol=1e-6)


def test_refitting_finds_the_mechanism_again():
    rng = np.random.default_rng(0)
    rows = np.zeros((5000, 2))
    for t in range(2, len(rows)):
        rows[t, 0] = 1.0 + 0.5 * rows[t - 1, 0] + 0.3 * rng.normal()
        rows[t, 1] = 2.0 - 0.8 * rows[t - 2, 0] + 0.7 * rng.normal()
    start = Equations(
        2,
        2,
        source=np.array([0, 0], dtype=np.intp),
        target=np.array([0, 1], dtype=np.intp),
        lag=np.array([1, 2], dtype=np.intp),
        coefficient=np.zeros(2),
        intercept=np.zeros(2),
        spread=np.ones(2),
    )
    fitted = start.refitted([rows])
    assert_allclose(fitted.coefficient, [0.5, -0.8], atol=0.08)
    assert_allclose(fitted.intercept, [1.0, 2.0], atol=0.15)
    assert_allclose(fitted.spread, [0.3, 0.7], rtol=0.05)
    assert not start.coefficient.any()  # a new object
    left = fitted.innovations(rows)[2:]
    assert_allclose(left.mean(axis=0), 0.0, atol=1e-6)
    assert_allclose(left.std(axis=0), 1.0, rtol=1e-3)


def test_an_exact_mechanism_keeps_some_spread(monkeypatch):
    monkeypatch.setattr(module, "RIDGE", 0.0)
    rng = np.random.default_rng(1)
    cause = rng.normal(size=300)
    rows = np.column_stack([cause, np.roll(cause, 1) * 3.0])[1:]
    equations = Equations(
        2,
        1,
        source=np.array([0], dtype=np.intp),
        target=np.array([1], dtype=np.intp),
        lag=np.array([1], dtype=np.intp),
        coefficient=np.array([1.0]),
        intercept=np.zeros(2),
        spread=np.ones(2),
    )
    fitted = equations.refitted([rows])
    assert fitted.coefficient[0] == pytest.approx(3.0)
    assert fitted.spread[1] == pytest.approx(1e-4 * rows[1:, 1].std(), rel=1e-3)


def test_a_signal_that_stood_still_keeps_its_old_spread():
    equations, rng = system(1)
    rows = mixed(rng, 80)
    rows[:, 3] = 4.0
    fitted = equations.refitted([rows])
    assert fitted.spread[3] == equations.spread[3]
    assert fitted.intercept[3] == pytest.approx(4.0)
    for array in (fitted.coefficient, fitted.intercept, fitted.spread):
        assert np.isfinite(array).all()
    assert (fitted.spread > 0).all()


def test_refitting_to_too_little_changes_nothing():
    equations, rng = system(1)
    rows = mixed(rng, 80)
    rows[:, 3] = np.nan
    assert equations.refitted([rows]) is equations
    assert equations.refitted([]) is equations
    most = np.bincount(equations.target).max() + module.LEAST_FREE
    rows = mixed(rng, most + equations.max_lag + 1)
    assert equations.refitted([rows[:-1]]) is equations
    assert equations.refitted([rows]) is not equations
