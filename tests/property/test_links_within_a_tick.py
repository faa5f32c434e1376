"""PCMCI+ is that of the naive twin, whatever the system, and free of units and of order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from causewatch.discovery import LaggedMoments, PartialCorrelation, pcmciplus
from recordings import within_tick

systems = st.builds(
    within_tick,
    seed=st.integers(0, 10**6),
    signals=st.integers(2, 6),
    rows=st.sampled_from([40, 150, 600]),
    lag=st.just(2),
    now=st.sampled_from([0.5, 1.5, 2.5]),
    later=st.sampled_from([0.0, 1.0]),
    own=st.sampled_from([0.0, 0.3, 1.0]),
)
levels = st.sampled_from([0.01, 0.1])


@settings(max_examples=25, deadline=None)
@given(systems, levels)
def test_it_matches_the_naive_twin(values, alpha):
    signals = values.shape[1]
    test = PartialCorrelation(LaggedMoments(signals, max_lag=1).update(values)).test
    marks, value, p_value, _ = naive.pcmciplus(test, signals, 1, alpha)
    result = pcmciplus(values, max_lag=1, alpha=alpha)
    np.testing.assert_array_equal(result.marks, marks)
    np.testing.assert_allclose(result.value, value, 0, 1e-11)
    np.testing.assert_allclose(result.p_value, p_value, 0, 1e-11)


@settings(max_examples=25, deadline=None)
@given(systems, levels, st.randoms(use_true_random=False))
def test_order_and_units_do_not_matter(values, alpha, random):
    signals = values.shape[1]
    order = random.sample(range(signals), signals)
    factor = np.array([random.choice([-1, 1]) * 10.0 ** random.uniform(-4, 4) for _ in order])
    plain = pcmciplus(values, max_lag=1, alpha=alpha)
    moved = pcmciplus((values * factor)[:, order], max_lag=1, alpha=alpha)
    np.testing.assert_array_equal(moved.marks, plain.marks[np.ix_(order, order)])
