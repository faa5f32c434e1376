"""A survey does not depend on how the rows were cut into chunks."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.data.table import TimeTable
from causewatch.preprocess import survey as module
from causewatch.preprocess.survey import Survey, SurveyResult

SIGNALS = ("level", "valve", "big", "gone")


def recording(rows: int, seed: int) -> TimeTable:
    rng = np.random.default_rng(seed)
    values = np.column_stack(
        [
            1e9 + 1e-3 * rng.standard_normal(rows),
            rng.integers(0, 3, rows).astype(float),
            1e300 * rng.standard_normal(rows),
            np.full(rows, np.nan),
        ]
    )
    values[rng.random(values.shape) < 0.05] = np.nan
    starts = np.flatnonzero(rng.random(rows) < 0.01)
    time = np.arange(rows) * 1_000_000_000
    for start in starts:
        time[start:] += 7_000_000_000
    return TimeTable(SIGNALS, values, time, np.union1d(starts, [0]), 1.0, clock="elapsed")


def cut(table: TimeTable, bounds: list[int]) -> list[TimeTable]:
    edges = [0, *bounds, len(table)]
    out = []
    for a, b in pairwise(edges):
        starts = table.starts[(table.starts >= a) & (table.starts < b)] - a
        out.append(
            dataclasses.replace(
                table,
                values=table.values[a:b],
                time=table.time[a:b],
                starts=starts,
                continues=not (len(starts) and starts[0] == 0),
            )
        )
    return out


def surveyed(chunks: list[TimeTable]) -> SurveyResult:
    survey = Survey(SIGNALS, 1.0, "elapsed")
    for chunk in chunks:
        survey.update(chunk)
    return survey.finish()


@settings(deadline=None, max_examples=60)
@given(rows=st.integers(1, 700), seed=st.integers(0, 1000), data=st.data())
def test_cuts_change_nothing(rows: int, seed: int, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:  # small limits, so that a few rows reach them all
        patch.setattr(module, "BLOCKS", 16)
        patch.setattr(module, "DIRECT", 8)
        patch.setattr(module, "PIECE", 32)
        table = recording(rows, seed)
        bounds = sorted(data.draw(st.lists(st.integers(0, rows), max_size=12)))
        expected, found = surveyed([table]), surveyed(cut(table, bounds))
    assert repr(found.signals) == repr(expected.signals)
    assert (found.rows, found.stretches) == (expected.rows, expected.stretches)
    assert found.longest_stretch == expected.longest_stretch
    assert found.longest_gap == expected.longest_gap
    for ours, theirs in zip(found.blocks.arrays(), expected.blocks.arrays(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@settings(deadline=None, max_examples=60)
@given(rows=st.integers(1, 700), seed=st.integers(0, 1000))
def test_agrees_with_plain_numpy(rows: int, seed: int) -> None:
    table = recording(rows, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCKS", 16)
        patch.setattr(module, "DIRECT", 8)
        result = surveyed([table])
    blocks = result.blocks
    assert len(blocks.rows) <= 16
    assert blocks.rows.sum() == rows
    assert len(set(blocks.rows[:-1])) <= 1
    ends = np.cumsum(blocks.rows)
    for b, (begin, end) in enumerate(zip(ends - blocks.rows, ends, strict=True)):
        assert (blocks.first[b], blocks.last[b]) == (table.time[begin], table.time[end - 1])
        for k in range(3):
            column = table.values[begin:end, k]
            column = column[np.isfinite(column)]
            assert blocks.count[b, k] == len(column)
            if len(column):
                shift = column[0]
                unit = max(np.abs(column - shift).max(), 1e-9)
                part = (column - shift) / unit
                assert blocks.low[b, k] == column.min()
                assert blocks.high[b, k] == column.max()
                rounding = 1e-12 + 2 * np.spacing(np.abs(column).max()) / unit
                mean = (blocks.mean[b, k] - shift) / unit
                assert mean == pytest.approx(part.mean(), abs=rounding)
                assert blocks.std[b, k] / unit == pytest.approx(part.std(), abs=rounding)
    for k, summary in enumerate(result.signals):
        column = table.values[:, k]
        assert summary.missing == np.count_nonzero(~np.isfinite(column))
        steps = np.diff(column)
        steps[table.starts[table.starts > 0] - 1] = np.nan
        assert summary.changes == np.count_nonzero(np.nan_to_num(steps))
