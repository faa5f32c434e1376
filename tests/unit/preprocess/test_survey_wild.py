"""Values far from all others: which are told, and which are operation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import causewatch as cw
from causewatch.data.table import TimeTable
from causewatch.preprocess.survey import Survey
from causewatch.preprocess.survey_values import LEVELS, OUTERMOST, Values
from causewatch.preprocess.survey_wild import plausible, wild_findings, wild_values

ROWS = 5000
NOISE = np.random.default_rng(3).normal(250.0, 2.0, ROWS)


def surveyed(**columns):
    values = np.column_stack([np.asarray(column, dtype=float) for column in columns.values()])
    time = np.arange(len(values)) * 1_000_000_000
    table = TimeTable(tuple(columns), values, time, np.array([0]), 1.0, "elapsed")
    survey = Survey(table.signals, 1.0, "elapsed")
    for chunk in table.chunks(700):
        survey.update(chunk)
    return survey.finish()


def with_value(base, value, *rows):
    column = np.array(base, dtype=float)
    column[list(rows)] = value
    return column


def wild(column):
    found = wild_values(surveyed(x=column).signals[0])
    return None if found is None else [(one.value, one.rows, one.first) for one in found.all]


@pytest.mark.parametrize("value", [9999.0, -999.0, 1e9, 0.0])
def test_one_wild_value_among_noise(value):
    assert wild(with_value(NOISE, value, 4321)) == [(value, 1, 4321 * 10**9)]


@pytest.mark.parametrize(
    ("base", "value"), [(0.0, 9999.0), (1.0, -999.0), (250.0, 9999.0), (900.0, 1e9), (0.0, 500.0)]
)
def test_one_wild_value_in_a_constant(base, value):
    assert wild(with_value(np.full(ROWS, base), value, 10, 4000)) == [(value, 2, 10 * 10**9)]


def test_a_switch_and_several_wild_values_at_both_ends():
    switch = np.arange(ROWS) // 100 % 2 + 1.0
    assert wild(with_value(switch, 9999.0, 17)) == [(9999.0, 1, 17 * 10**9)]
    both = with_value(with_value(NOISE, 1e9, 3), -5000.0, 4, 5)
    both[6] = 2e9
    assert wild(both) == [(2e9, 1, 6e9), (1e9, 1, 3e9), (-5000.0, 2, 4e9)]


@pytest.mark.parametrize(
    "column",
    [
        NOISE,
        np.random.default_rng(1).standard_t(3, ROWS),
        np.full(ROWS, 7.0),
        with_value(np.zeros(ROWS), 1.0, 50),  # a switch
        with_value(np.zeros(ROWS), 100.0, 50, 51),  # a valve that opens once
        with_value(np.full(ROWS, 16.0), 15.0, 3),  # a set-point
        with_value(NOISE, 9999.0, *range(0, ROWS, 20)),  # so often that it is another mode
        np.where(np.arange(ROWS) < 4000, NOISE, NOISE + 1000.0),
        np.where(np.arange(ROWS) < 4960, NOISE - 250.0, NOISE),  # a pump that runs now and then
        np.full(ROWS, np.nan),
        [],
    ],
)
def test_operation_is_not_wild(column):
    assert wild(column) is None


def test_spells_of_many_different_values_and_what_is_believed_then():
    spells = NOISE.copy()
    spells[1000:1040] = np.geomspace(1e4, 1e8, 40)
    result = surveyed(x=spells, y=NOISE, z=with_value(NOISE, -1e6, 5))
    assert len(wild_values(result.signals[0]).all) == 40
    believed = plausible(result)
    assert list(believed) == ["x", "z"]
    assert believed["x"][0] == -1e100
    assert spells[:1000].max() < believed["x"][1] < 1e4
    assert -1e6 < believed["z"][0] < NOISE.min()
    assert believed["z"][1] == 1e100


def test_the_finding_names_signal_value_time_and_count():
    result = surveyed(
        flow=with_value(NOISE, 1e9, 100), pump=with_value(np.ones(ROWS), 9999.0, 7, 8), rest=NOISE
    )
    [finding] = wild_findings(result)
    assert (finding.kind, finding.severity) == ("wild_values", "warning")
    assert finding.signals == ("flow", "pump")
    assert finding.span == ("100s", "101s")
    assert "flow is 1e+09 (once, 100s), otherwise 24" in finding.text
    assert "pump is 9999 (2 rows, the first 7s), otherwise 1." in finding.text
    assert "--exclude 100s..101s" in finding.remedy


def test_the_report_of_a_model_names_them_for_guarded_signals_too():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(800, 3))
    values[1:, 1] += values[:-1, 0]
    frame = pl.DataFrame({name: values[:, k] for k, name in enumerate("abc")})
    model = cw.learn(frame.with_columns(pump=pl.Series(with_value(np.ones(800), 9999.0, 300))))
    assert "pump" in model.watching.guarded
    texts = {finding.kind: finding.text for finding in model.report}
    assert "pump is 9999 (once, row 300), otherwise 1." in texts["wild_values"]


@pytest.mark.parametrize("size", [1, 7, 100, 3000])
@pytest.mark.parametrize("levels", [3, 9, 30, 400, 100_000])
def test_the_outermost_values_are_counted_whatever_the_cuts(size, levels):
    column = np.random.default_rng(levels).integers(0, levels, 3000).astype(float)
    time = np.arange(3000)
    seen = Values()
    for begin in range(0, 3000, size):
        seen.add(column[begin : begin + size], time[begin : begin + size])
    found, first, counts = np.unique(column, return_index=True, return_counts=True)
    whole = list(zip(found.tolist(), counts.tolist(), first.tolist(), strict=True))
    most = min(OUTERMOST, len(whole))
    assert [tuple(far) for far in seen.lowest[:most]] == whole[:most]
    assert [tuple(far) for far in seen.highest[:most]] == whole[::-1][:most]
    assert (seen.known is None) == (len(whole) > LEVELS)
