"""What a survey counts."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.data.table import TimeTable
from causewatch.preprocess.survey import BLOCKS, Survey, SurveyResult

SECOND = 1_000_000_000


def surveyed(values: np.ndarray, starts: tuple[int, ...] = (0,)) -> SurveyResult:
    values = np.asarray(values, dtype=float)
    names = tuple(f"s{k}" for k in range(values.shape[1]))
    time = np.arange(len(values)) * SECOND
    for start in starts[1:]:
        time[start:] += 60 * SECOND
    table = TimeTable(names, values, time, np.array(starts), 1.0, "elapsed")
    survey = Survey(names, 1.0, "elapsed")
    for chunk in table.chunks(1000):
        survey.update(chunk)
    return survey.finish()


def test_counts_of_a_signal() -> None:
    column = np.array([[1.0], [1.0], [2.5], [np.nan], [2.5], [-np.inf], [3.0], [1.0]])
    signal = surveyed(column, starts=(0, 7)).signals[0]
    assert (signal.count, signal.missing) == (6, 2)
    assert signal.values == ((1.0, 3), (2.5, 2), (3.0, 1))
    assert signal.changes == 1  # not over a gap, not over missing values
    assert signal.fractional == 2
    assert (signal.low, signal.high) == (1.0, 3.0)
    present = column[np.isfinite(column)]
    assert signal.mean == pytest.approx(present.mean(), rel=1e-14)
    assert signal.std == pytest.approx(present.std(), rel=1e-14)


def test_more_than_eight_values_are_not_listed() -> None:
    result = surveyed(np.column_stack([np.arange(16) % 8, np.arange(16) % 9]))
    assert result.signals[0].values == tuple((float(k), 2) for k in range(8))
    assert result.signals[1].values is None


def test_exact_duplicates_share_a_digest() -> None:
    x = np.random.default_rng(1).standard_normal(3000)
    x[5] = 0.0
    other = x.copy()
    other[5] = -0.0
    nearly = x.copy()
    nearly[2999] = np.nextafter(x[2999], 9)
    a, b, c = surveyed(np.column_stack([x, other, nearly])).signals
    assert a.digest == b.digest != c.digest


@pytest.mark.parametrize("rows", [1, 1023, 1024, 1025, 5000, 300_000])
def test_blocks_stay_few_and_cover_every_row(rows: int) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, 1))
    blocks = surveyed(x).blocks
    assert len(blocks.rows) <= BLOCKS
    assert blocks.rows.sum() == rows
    assert len(set(blocks.rows[:-1].tolist())) <= 1
    length = int(blocks.rows[0])
    np.testing.assert_allclose(blocks.mean[1:-1, 0] if rows > 2 else [], _means(x, length))


def _means(x: np.ndarray, length: int) -> np.ndarray:
    whole = (len(x) - 1) // length
    return x[: whole * length, 0].reshape(whole, length).mean(axis=1)[1:]


def test_large_offsets_and_huge_values_keep_their_spread() -> None:
    rng = np.random.default_rng(3)
    noise = rng.standard_normal(20_000)
    offset = 1e9 + 1e-3 * noise
    result = surveyed(np.column_stack([offset, 1e300 * noise, np.full(20_000, 0.1)]))
    near, huge, constant = result.signals
    assert near.std == pytest.approx((offset - 1e9).std(), rel=1e-6)
    assert huge.std == pytest.approx(1e300 * noise.std(), rel=1e-12)
    assert constant.std == 0
    assert constant.mean == 0.1


def test_stretches_and_gaps() -> None:
    result = surveyed(np.zeros((5000, 1)), starts=(0, 1500, 4000))
    assert result.stretches == 3
    assert result.longest_stretch == 2500
    assert result.longest_gap == (1499 * SECOND, 1560 * SECOND)


def test_first_and_last_are_those_of_the_rows_in_whatever_order_they_come() -> None:
    seconds = np.r_[50:60, 10:20, 55:58, 0:5].astype(np.int64)
    survey = Survey(["a"], 1.0, "elapsed")
    rows = TimeTable(
        signals=("a",),
        values=np.zeros((len(seconds), 1)),
        time=seconds * 10**9,
        starts=np.array([0, 10, 20, 23], dtype=np.intp),
        interval=1.0,
        clock="elapsed",
    )
    for chunk in rows.chunks(7):
        survey.update(chunk)
    result = survey.finish()
    assert (result.first, result.last) == (0, 59 * 10**9)


def test_nothing_at_all() -> None:
    result = Survey(("a",), 1.0, "rows").finish()
    assert result.rows == 0
    assert result.signals[0].count == 0
    assert np.isnan(result.signals[0].mean)


def test_rows_handed_in_are_left_alone() -> None:
    values = np.array([[np.inf, -0.0], [1.0, 2.0]])
    before = values.copy()
    surveyed(values)
    np.testing.assert_array_equal(values, before)
