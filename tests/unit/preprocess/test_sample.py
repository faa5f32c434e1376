"""A sample of rows of any recording."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.data.table import TimeTable
from causewatch.preprocess import BlockSample


def table(rows, starts=(0,)):
    """Row numbers as values, so that it can be seen which rows were kept."""
    return TimeTable(
        signals=("x",),
        values=np.arange(float(rows))[:, None],
        time=np.arange(rows, dtype=np.int64),
        starts=np.asarray(starts, dtype=np.intp),
        interval=1.0,
    )


def kept(rows, chunk, starts=(0,), **settings):
    sample = BlockSample(1, **settings)
    for piece in table(rows, starts).chunks(chunk):
        sample.update(piece)
    return [part[:, 0].astype(int).tolist() for part in sample.stretches()]


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_a_recording_that_fits_is_kept_whole(chunk):
    assert kept(100, chunk, block=10, most=16) == [list(range(100))]


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_stretches_are_kept_apart(chunk):
    parts = kept(100, chunk, starts=[0, 33, 40], block=10, most=16)
    assert parts == [list(range(33)), list(range(33, 40)), list(range(40, 100))]


@pytest.mark.parametrize("chunk", [13, 5000])
@pytest.mark.parametrize("rows", [161, 1000, 12_345])
def test_a_long_recording_leaves_blocks_spread_evenly(rows, chunk):
    parts = kept(rows, chunk, block=10, most=16)
    size = sum(map(len, parts))
    assert 70 <= size <= 160
    assert all(part == list(range(part[0], part[-1] + 1)) for part in parts)
    middles = [np.mean(part) for part in parts]
    gaps = np.diff([part[0] for part in parts])
    assert len(set(gaps.tolist())) <= 1
    assert middles[0] < rows / 8
    assert middles[-1] > rows * 7 / 8 - 10


def test_the_cut_into_chunks_plays_no_part():
    starts = [0, 17, 900, 903, 2000]
    one = kept(5000, 5000, starts, block=10, most=16)
    assert kept(5000, 37, starts, block=10, most=16) == one
    assert kept(5000, 1, starts, block=10, most=16) == one


def test_many_short_stretches_are_bounded_too():
    parts = kept(6000, 100, starts=range(0, 6000, 3), block=10, most=16)
    assert sum(map(len, parts)) <= 160
    assert all(len(part) <= 3 for part in parts)
    assert parts[-1][0] > 5000


def test_no_rows_no_sample():
    assert BlockSample(3).stretches() == []
