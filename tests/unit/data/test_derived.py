"""A table without the rows of some spans."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.data import NormalRows, TimeTable, Without, parse_span
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


def labelled(labels):
    times = np.arange(len(labels)) * 1_000_000_000
    values = np.arange(len(labels), dtype=float)[:, None]
    return TimeTable(("x",), values, times, np.array([0]), 1.0, "elapsed", labels=labels)


@pytest.mark.parametrize("rows", [1, 7, 40, 1000])
def test_rows_labelled_anomalous_are_gone_and_those_without_a_label_stay(rows):
    labels = np.zeros(100)
    labels[:10] = labels[40:60] = labels[70] = 1.0
    labels[20:25] = np.nan
    left = NormalRows(labelled(labels))
    chunks = list(left.chunks(rows))
    seen = np.concatenate([chunk.values[:, 0] for chunk in chunks])
    assert seen.tolist() == [*range(10, 40), *range(60, 70), *range(71, 100)]
    begins = np.concatenate([chunk.values[chunk.starts, 0] for chunk in chunks])
    assert begins.tolist() == [10, 60, 71]
    assert [note.text for note in left.notes] == [
        "Rows labelled anomalous, left out: 31 of 100 (31.0%)."
    ]


def test_a_table_without_labels_stays_as_it_is():
    left = NormalRows(table())
    assert [len(chunk) for chunk in left.chunks(40)] == [40, 40, 20]
    assert left.notes == ()


def test_a_table_without_normal_rows_is_refused():
    with pytest.raises(TableError, match="3 of 3 rows are labelled anomalous"):
        list(NormalRows(labelled(np.ones(3))).chunks())
