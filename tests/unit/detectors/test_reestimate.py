"""Re-estimated links against a literal weighted ridge regression, and the published difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import DetectorSettings, Equations
from causewatch.detectors.reestimate import reestimate

SETTINGS = DetectorSettings()


def system(seed, signals=4, max_lag=3, share=0.35, lag_0=False):
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


def literal(equations, values, innovation, centre, scale, pull, memory):
    """Least squares on weighted rows and on `pull` rows that ask for no change, link by link."""
    change = np.zeros(len(equations.source))
    for target in range(equations.signals):
        links = [k for k in range(len(equations.source)) if equations.target[k] == target]
        rows, left = [], []
        for t in range(equations.max_lag, len(values)):
            row = [1.0]
            for k in links:
                source = equations.source[k]
                cause = values[t - equations.lag[k], source]
                row.append(float(np.clip((cause - centre[source]) / scale[source], -8.0, 8.0)))
            if np.isnan(row).any() or np.isnan(innovation[t, target]):
                continue
            weight = np.exp(-(len(values) - 1 - t) / memory) ** 0.5
            rows.append(weight * np.array(row))
            left.append(weight * innovation[t, target])
        if not rows or not links:
            continue
        width = len(links) + 1
        design = np.concatenate([rows, np.sqrt(pull) * np.eye(width)])
        found = np.linalg.lstsq(design, np.concatenate([left, np.zeros(width)]), rcond=None)[0]
        for place, k in enumerate(links):
            change[k] = found[place + 1] * equations.spread[target] / scale[equations.source[k]]
    return change


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_a_weighted_ridge_regression(seed, missing):
    equations, rng = system(seed, lag_0=seed % 2 == 0)
    values = rng.normal(size=(60, 4)) * 2 + 1
    values[rng.random(values.shape) < 0.01] = 300.0  # clipped
    innovation = rng.normal(size=(60, 4))
    if missing:
        values[rng.random(values.shape) < 0.03] = np.nan
        innovation[rng.random(values.shape) < 0.1] = np.nan
        innovation[:, 0] = np.nan
    centre, scale = rng.normal(size=4), rng.uniform(0.5, 2.0, size=4)
    found = reestimate(equations, values, innovation, centre, scale, SETTINGS)
    expected = literal(equations, values, innovation, centre, scale, 5.0, 32.0)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    assert found[equations.target != 0].all()


@pytest.mark.parametrize("seed", range(6))
def test_without_pull_and_forgetting_it_is_the_published_difference(seed):
    plain = DetectorSettings(link_pull=0.0, link_memory=1e15)
    equations, rng = system(seed)
    values = rng.normal(size=(90, 4)) * [1.0, 10.0, 0.1, 3.0] + [5.0, -30.0, 0.0, 100.0]
    centre, scale = values.mean(axis=0) + 0.3 * values.std(axis=0), 0.7 * values.std(axis=0)
    found = reestimate(equations, values, equations.innovations(values), centre, scale, plain)
    now = np.arange(equations.max_lag, len(values))
    for target in range(4):
        links = equations.links_into(target)
        columns = [values[now - equations.lag[k], equations.source[k]] for k in links]
        design = np.column_stack([*columns, np.ones(len(now))])
        live = np.linalg.lstsq(design, values[now, target], rcond=None)[0][:-1]
        assert_allclose(found[links], live - equations.coefficient[links], rtol=1e-7, atol=1e-9)


def test_no_innovation_is_no_change():
    equations, rng = system(1)
    values = rng.normal(size=(60, 4))
    found = reestimate(equations, values, np.zeros((60, 4)), np.zeros(4), np.ones(4), SETTINGS)
    assert_array_equal(found, 0.0)


@pytest.mark.parametrize("memory", [4.0, 200.0])
def test_memory_pull_and_clip_are_settings(memory):
    equations, rng = system(1)
    values, left = rng.normal(size=(2, 60, 4)) * 3
    centre, scale = np.zeros(4), np.ones(4)
    chosen = DetectorSettings(link_memory=memory, link_pull=0.5, cause_clip=4.0)
    change = reestimate(equations, values, left, centre, scale, chosen)
    clipped = np.clip(values, -4.0, 4.0)
    assert_allclose(change, literal(equations, clipped, left, centre, scale, 0.5, memory))


def test_nothing_seen_is_no_change():
    equations, _ = system(1)
    unseen = np.full((60, 4), np.nan)
    assert_array_equal(
        reestimate(equations, unseen, unseen, np.zeros(4), np.ones(4), SETTINGS), 0.0
    )
    for ticks in range(equations.max_lag + 1):
        short = np.ones((ticks, 4))
        assert_array_equal(
            reestimate(equations, short, short, np.zeros(4), np.ones(4), SETTINGS), 0.0
        )


def test_no_links():
    equations, _ = system(0, share=0.0)
    rows = np.ones((10, 4))
    assert reestimate(equations, rows, rows, np.zeros(4), np.ones(4), SETTINGS).shape == (0,)


def test_collinear_and_constant_causes_do_not_break_it():
    equations = Equations(
        3,
        1,
        source=np.array([0, 1], dtype=np.intp),
        target=np.array([2, 2], dtype=np.intp),
        lag=np.array([1, 1], dtype=np.intp),
        coefficient=np.ones(2),
        intercept=np.zeros(3),
        spread=np.ones(3),
    )
    rng = np.random.default_rng(0)
    cause = rng.normal(size=100)
    values = np.column_stack([cause, cause, rng.normal(size=100)])
    left = np.zeros((100, 3))
    left[1:, 2] = cause[:-1]
    found = reestimate(equations, values, left, np.zeros(3), np.ones(3), SETTINGS)
    assert found[0] == pytest.approx(found[1])  # they share it
    assert found.sum() == pytest.approx(1.0, abs=0.15)
    still = reestimate(equations, np.ones((100, 3)), left, np.ones(3), np.ones(3), SETTINGS)
    assert_array_equal(still, 0.0)


def test_an_offset_goes_into_the_constant():
    equations, rng = system(3)
    values = rng.normal(size=(160, 4))
    plain = rng.normal(size=(160, 4))
    before = reestimate(equations, values, plain, np.zeros(4), np.ones(4), SETTINGS)
    after = reestimate(equations, values, plain + 3.0, np.zeros(4), np.ones(4), SETTINGS)
    assert np.abs(after - before).max() < 0.5  # of 3, and spreads are up to 3


def test_old_ticks_fade():
    equations, rng = system(3)
    values, left = rng.normal(size=(2, 400, 4))
    recent = reestimate(equations, values[-300:], left[-300:], np.zeros(4), np.ones(4), SETTINGS)
    whole = reestimate(equations, values, left, np.zeros(4), np.ones(4), SETTINGS)
    assert_allclose(recent, whole, atol=2e-3)
    left[-40:] = 0.0
    faded = reestimate(equations, values, left, np.zeros(4), np.ones(4), SETTINGS)
    assert np.abs(faded).mean() < 0.6 * np.abs(whole).mean()


def test_it_does_not_touch_what_it_is_given():
    equations, rng = system(2)
    values, left = rng.normal(size=(2, 50, 4)) * 20
    kept = values.copy(), left.copy()
    reestimate(equations, values, left, np.zeros(4), np.ones(4), SETTINGS)
    assert_array_equal(values, kept[0])
    assert_array_equal(left, kept[1])


def test_an_infinite_cause_is_missing():
    equations, rng = system(2)
    values, left = rng.normal(size=(2, 50, 4))
    found = []
    for value in (np.nan, np.inf, -np.inf):
        values[30] = value
        found.append(reestimate(equations, values, left, np.zeros(4), np.ones(4), SETTINGS))
    assert found[0].any()
    assert_array_equal(found[1], found[0])
    assert_array_equal(found[2], found[0])


def test_a_cause_that_never_moved_says_nothing_until_it_moves():
    equations, rng = system(2)
    large = replace(equations, spread=equations.spread * 1e20)
    values, left = rng.normal(size=(2, 50, 4))
    values[:, 0] = 7.0
    centre, scale = np.array([7.0, 0, 0, 0]), np.array([1e-300, 1, 1, 1])
    change = reestimate(large, values, left, centre, scale, SETTINGS)
    assert_array_equal(change[large.source == 0], 0.0)
    assert change[large.source != 0].all()
    values[40:, 0] = 8.0
    assert np.isfinite(reestimate(large, values, left, centre, scale, SETTINGS)).all()


def test_the_largest_numbers_do_not_overflow():
    equations, rng = system(2)
    values, left = rng.normal(size=(2, 50, 4))
    values[30], values[40] = 1.7e308, -1.7e308
    change = reestimate(equations, values, left, np.full(4, 1e3), np.full(4, 1e-3), SETTINGS)
    assert np.isfinite(change).all()
