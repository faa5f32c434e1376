"""Averages that forget against their definition, spelled out tick by tick."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.kernels.averages import weighted_mean

cells = st.one_of(st.just(float("nan")), st.sampled_from([0.0, 1.0, -3.0, 7.5]))


def slow_mean(column, memory):
    mean, means = 0.0, []
    for value in column:
        if not np.isnan(value):
            mean += (value - mean) / memory
        means.append(mean)
    return means


@given(st.lists(st.tuples(cells, cells), max_size=40), st.sampled_from([1, 2, 8]))
def test_a_weighted_mean_follows_its_definition(rows, memory):
    values = np.array(rows, dtype=np.float64).reshape(len(rows), 2)
    for column in range(2):
        means = weighted_mean(values, memory)[:, column]
        assert means == pytest.approx(slow_mean(values[:, column], memory), abs=1e-12)
