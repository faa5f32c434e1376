"""The last rows of a recording, however it is cut into chunks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from causewatch.data.table import TimeTable
from causewatch.preprocess.sample import LastRows


def table(rows, starts, continues=False):
    """Rows numbered from `rows.start` on, in one column."""
    return TimeTable(
        signals=("x",),
        values=np.array(rows, dtype=float).reshape(-1, 1),
        time=np.array(rows, dtype=np.int64),
        starts=np.array(starts, dtype=np.intp),
        interval=1.0,
        continues=continues,
    )


def chunked(total, starts, cuts):
    """The recording in chunks that end at `cuts`."""
    for first, stop in pairwise([0, *sorted(cuts), total]):
        inside = [start - first for start in starts if first <= start < stop]
        yield table(range(first, stop), inside, continues=0 not in inside)


def expected(total, starts, most):
    """Row numbers of the last rows, stretch by stretch."""
    kept = range(max(0, total - most), total)
    found = []
    for row in kept:
        if row in starts or not found:
            found.append([])
        found[-1].append(float(row))
    return found


def kept_of(last):
    return [rows[:, 0].tolist() for rows in last.stretches()]


@st.composite
def recordings(draw):
    total = draw(st.integers(1, 60))
    inside = st.integers(0, total)
    starts = sorted({0, *draw(st.lists(st.integers(0, total - 1), max_size=8))})
    return total, starts, draw(st.lists(inside, max_size=10)), draw(st.integers(0, 70))


@given(recordings())
def test_exactly_the_last_rows_are_kept(recording):
    total, starts, cuts, most = recording
    last = LastRows(most)
    for chunk in chunked(total, starts, cuts):
        last.update(chunk)
    assert kept_of(last) == expected(total, starts, most)
    assert kept_of(last) == expected(total, starts, most)  # looking changes nothing


@given(recordings())
def test_it_can_be_looked_at_at_any_time(recording):
    total, starts, cuts, most = recording
    last = LastRows(most)
    seen = 0
    for chunk in chunked(total, starts, cuts):
        last.update(chunk)
        seen += len(chunk)
        assert kept_of(last) == expected(seen, [s for s in starts if s < seen], most)


def test_a_table_in_its_own_chunks():
    whole = table(range(100), [0, 30, 31, 90])
    for size in (1, 7, 30, 100, 1000):
        last = LastRows(25)
        for chunk in whole.chunks(size):
            last.update(chunk)
        assert kept_of(last) == expected(100, [0, 30, 31, 90], 25)


def test_nothing_was_read():
    assert LastRows(10).stretches() == []
    last = LastRows(10)
    last.update(table([], []))
    assert last.stretches() == []


def test_all_columns_and_missing_values_are_kept():
    values = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 4.0]])
    last = LastRows(2)
    last.update(
        TimeTable(("x", "y"), values, np.arange(3), np.zeros(1, dtype=np.intp), interval=1.0)
    )
    assert_array_equal(last.stretches()[0], values[1:])
