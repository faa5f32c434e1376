"""Streaming ≡ batch: cuts, stretches, merges and restarts change no result."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.pcmci import pcmci
from recordings import stable

ROWS = 70


@st.composite
def plants(draw):
    """Rows with levels, units, missing cells and stretches of many kinds, and a longest lag."""
    signals = draw(st.integers(1, 3))
    values = stable(draw(st.integers(0, 10**6)), signals, ROWS)
    unit = np.array([10.0 ** draw(st.integers(-6, 6)) for _ in range(signals)])
    level = np.array([draw(st.sampled_from([0.0, -3.0, 1e4])) for _ in range(signals)])
    values = (values + level) * unit
    cell = st.tuples(st.integers(0, ROWS - 1), st.integers(0, signals - 1))
    for index in draw(st.lists(cell, max_size=3)):
        values[index] = np.nan
    starts = draw(st.lists(st.integers(1, ROWS - 1), max_size=2))
    return values, draw(st.integers(1, 2)), sorted({0, *starts})


def assert_same(one, two, tolerance=1e-12):
    assert one.windows == two.windows
    if one.windows < 3:
        return
    a, b = pcmci(one, min_lag=0), pcmci(two, min_lag=0)
    np.testing.assert_allclose(a.value, b.value, 0, tolerance)
    assert set(a.graph) == set(b.graph)


def stretches(values, starts):
    return [values[a:b] for a, b in zip(starts, [*starts[1:], len(values)], strict=True)]


@settings(max_examples=25)
@given(plants(), st.lists(st.integers(0, ROWS), max_size=12))
def test_cuts_do_not_matter(plant, cuts):
    values, max_lag, starts = plant
    whole = LaggedMoments(values.shape[1], max_lag=max_lag).update_stretches(values, starts)
    cut = LaggedMoments(values.shape[1], max_lag=max_lag)
    bounds = sorted({0, ROWS, *cuts, *starts})
    for start, stop in pairwise(bounds):
        if start in starts:
            cut.new_stretch()
        cut.update(values[start:stop])
    assert_same(whole, cut)


@settings(max_examples=25)
@given(plants(), st.permutations([0, 1, 2]))
def test_stretches_merge_in_any_order(plant, order):
    values, max_lag, starts = plant
    whole = LaggedMoments(values.shape[1], max_lag=max_lag).update_stretches(values, starts)
    parts = stretches(values, starts)
    merged = LaggedMoments(values.shape[1], max_lag=max_lag)
    for k in order:
        if k < len(parts):
            merged.merge(LaggedMoments(values.shape[1], max_lag=max_lag).update(parts[k]))
    assert_same(whole, merged)


@settings(max_examples=25)
@given(plants(), st.lists(st.integers(1, ROWS - 1), min_size=1, max_size=4))
def test_pieces_with_context_merge_to_the_whole(plant, cuts):
    values, max_lag, _ = plant
    whole = LaggedMoments(values.shape[1], max_lag=max_lag).update(values)
    merged = LaggedMoments(values.shape[1], max_lag=max_lag)
    bounds = sorted({0, ROWS, *cuts})
    for start, stop in pairwise(bounds):
        piece = values[max(0, start - 2 * max_lag) : stop]
        merged.merge(LaggedMoments(values.shape[1], max_lag=max_lag).update(piece))
    assert_same(whole, merged)


@settings(max_examples=25)
@given(plants(), st.integers(0, ROWS))
def test_a_restart_changes_nothing_at_all(plant, cut):
    values, max_lag, _ = plant
    kept = LaggedMoments(values.shape[1], max_lag=max_lag).update(values[:cut])
    with tempfile.TemporaryDirectory() as folder:
        kept.save(Path(folder) / "moments")
        loaded = LaggedMoments.load(Path(folder) / "moments")
    for moments in (kept, loaded):
        moments.update(values[cut:])
    for one, two in zip(kept.scatter()[0], loaded.scatter()[0], strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(kept.means(), loaded.means())
    assert kept.windows == loaded.windows


@settings(max_examples=25)
@given(plants())
def test_windows_and_moments_are_those_of_the_rows(plant):
    values, max_lag, starts = plant
    moments = LaggedMoments(values.shape[1], max_lag=max_lag).update_stretches(values, starts)
    columns = naive.lagged_columns(values, max_lag, starts)
    ordered = [columns[k, lag] for lag in range(2 * max_lag + 1) for k in range(values.shape[1])]
    assert moments.windows == len(ordered[0])
    if moments.windows < 2:
        return
    truth = naive.covariance(ordered)
    size = np.sqrt(np.outer(truth.diagonal(), truth.diagonal()))
    assert np.all(np.abs(moments.covariance() - truth) <= 1e-12 * size)
