"""A table without the rows of some spans."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.data import TimeTable, Without, parse_span
from causewatch.errors import TableError


def table(rows=100):
    values = np.arange(rows, dtype=float)[:, None]
    times = np.arange(rows) * 1_000_000_000
    return TimeTable(("x",), values, times, np.array([0, 50]), 1.0, "elapsed")


@pytest.mark.parametrize("rows", [7, 40, 1000])
def test_rows_of_the_spans_are_gone_and_what_follows_begins_a_stretch(rows):
    left = Without(table(), [parse_span("0s..10s"), parse_span("60s..65s")])
    chunks = list(left.chunks(rows))
    seen = np.concatenate([chunk.values[:, 0] for chunk in chunks])
    assert seen.tolist() == [*range(10, 60), *range(65, 100)]
    begins = np.concatenate([chunk.values[chunk.starts, 0] for chunk in chunks])
    assert begins.tolist() == [10, 50, 65]
    assert sum("excluded" in note.kind for note in left.notes) == 2
    assert (left.signals, left.interval, left.clock) == (("x",), 1.0, "elapsed")


def test_a_span_without_rows_is_refused():
    with pytest.raises(TableError, match="holds no row"):
        list(Without(table(), [parse_span("200s..300s")]).chunks())
