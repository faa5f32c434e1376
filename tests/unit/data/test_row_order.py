"""Gaps, late rows, jumps of the clock and daylight saving."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from causewatch.data import format_time, read_table


def table_of(write, moments, **options):
    lines = [f"{moment.isoformat()},{i}" for i, moment in enumerate(moments)]
    return read_table(write("\n".join(["time,row", *lines])), **options)


def run(start, count, seconds=1.0):
    return [start + timedelta(seconds=seconds * i) for i in range(count)]


START = datetime(2021, 6, 1)


def test_gaps_begin_stretches(write, noted):
    five, six = timedelta(seconds=5), timedelta(seconds=6)
    first = run(START, 20)
    second = run(first[-1] + five, 20)
    third = run(second[-1] + six, 20)
    table = table_of(write, first + second + third)
    assert table.starts.tolist() == [0, 40]
    assert noted(table) == {"gaps": 1}
    assert [s.stop - s.start for s in table.stretches()] == [40, 20]


def test_duplicates_are_kept(write, noted):
    moments = run(START, 10)
    table = table_of(write, [*moments[:5], moments[4], *moments[5:]])
    assert len(table) == 11
    assert noted(table) == {"duplicate_times": 1}


def test_late_rows_are_dropped(write, noted):
    moments = run(START, 30)
    late = [moments[2], moments[3]]
    table = table_of(write, [*moments[:20], *late, *moments[20:]])
    assert len(table) == 30
    assert noted(table) == {"late_rows": 2}
    assert (np.diff(table.time) > 0).all()


def test_a_lasting_jump_back_begins_a_stretch(write, noted):
    table = table_of(write, run(START, 30) + run(START - timedelta(hours=5), 30))
    assert len(table) == 60
    assert table.starts.tolist() == [0, 30]
    assert noted(table) == {"clock_jumps": 1}


@pytest.mark.parametrize("seconds", [1.0, 60.0, 400.0])
def test_clocks_set_back_in_autumn(write, noted, seconds):
    before = run(datetime(2021, 10, 31, 2, 59, 59) - timedelta(seconds=30 * seconds), 31, seconds)
    after = run(before[-1] + timedelta(seconds=seconds) - timedelta(hours=1), 30, seconds)
    table = table_of(write, before + after)
    assert len(table) == 61
    assert table.starts.tolist() == [0]
    assert (np.diff(table.time) == seconds * 10**9).all()
    assert noted(table) == {"daylight_saving": 1}


def test_an_hour_of_empty_rows_is_no_change_of_the_clock(write, noted):
    moments = run(datetime(2016, 10, 30, 0, 0), 200, 60)
    cells = ["," if 95 <= row < 155 else f"{row},1" for row in range(200)]
    lines = [f"{moment},{cell}" for moment, cell in zip(moments, cells, strict=True)]
    table = read_table(write("time,a,b\n" + "\n".join(lines) + "\n"))
    assert noted(table) == {"empty_rows": 60, "gaps": 1}
    assert table.starts.tolist() == [0, 95]
    assert format_time(int(table.time[-1]), "naive") == moments[-1].isoformat()


def test_clocks_set_forward_in_spring_and_back_in_autumn(write, noted):
    hour = timedelta(hours=1)
    winter = run(datetime(2021, 3, 28, 1, 10), 10, 300)
    summer = run(winter[-1] + timedelta(minutes=5) + hour, 64_000, 300)
    switch = next(i for i, m in enumerate(summer) if m >= datetime(2021, 10, 31, 3))
    moments = [*winter, *summer[:switch], *[m - hour for m in summer[switch : switch + 100]]]
    table = table_of(write, moments)
    assert table.starts.tolist() == [0]
    assert (np.diff(table.time) == 300 * 10**9).all()
    assert noted(table) == {"daylight_saving": 2}
    assert format_time(int(table.time[-1]), "naive") == moments[-1].isoformat()


@pytest.mark.parametrize(
    ("moment", "why"),
    [(datetime(2021, 10, 30, 3), "a Saturday"), (datetime(2021, 10, 31, 15), "by day"),
     (datetime(2021, 6, 27, 3), "in June")],
)  # fmt: skip
def test_an_hour_at_other_times_is_a_gap_or_a_jump(write, noted, moment, why):
    before = run(moment - timedelta(seconds=30), 30)
    table = table_of(write, before + run(moment + timedelta(hours=1), 30))
    assert noted(table) == {"gaps": 1}, why
    table = table_of(write, before + run(moment - timedelta(hours=1), 30))
    assert noted(table) == {"clock_jumps": 1}, why


def test_zone_aware_times_know_no_daylight_saving(write, noted):
    before = run(datetime(2021, 10, 31, 2, 59), 60)
    after = run(datetime(2021, 10, 31, 2), 60)
    lines = [f"{moment.isoformat()}Z,1" for moment in before + after]
    table = read_table(write("\n".join(["time,a", *lines])))
    assert noted(table) == {"clock_jumps": 1}


def test_one_row_an_hour_late_in_the_night_is_late(write, noted):
    moments = run(datetime(2021, 10, 31, 2, 30), 60)
    moments[30] -= timedelta(hours=1)
    table = table_of(write, moments)
    assert noted(table) == {"late_rows": 1}


def test_irregular_recordings_do_not_fall_apart(write, noted):
    rng = np.random.default_rng(0)
    steps = np.where(rng.random(500) < 0.4, 60.0, 1.0)
    moments = [START + timedelta(seconds=float(s)) for s in np.cumsum(steps)]
    table = table_of(write, moments)
    assert table.starts.tolist() == [0]
    assert table.interval == 1
    assert noted(table) == {"irregular": 1}


def test_a_recording_that_changes_its_interval_is_noted(write, noted, monkeypatch):
    monkeypatch.setattr("causewatch.data.text.HEAD_BYTES", 500)
    fast = run(START, 600)
    table = table_of(write, fast + run(fast[-1] + timedelta(seconds=60), 300, 60))
    assert noted(table) == {"gaps": 300, "short_stretches": 300}


@pytest.mark.parametrize("row", [1, 10, 19])
def test_a_single_time_in_the_far_future_is_dropped(write, noted, row):
    moments = run(START, 20)
    moments[row] = datetime(2100, 1, 1)
    table = table_of(write, moments)
    assert table.values[:, 0].tolist() == [k for k in range(20) if k != row]
    assert table.starts.tolist() == [0]
    assert noted(table) == {"odd_times": 1}


def test_a_recording_that_goes_on_years_later_is_kept(write, noted):
    table = table_of(write, run(START, 20) + run(START + timedelta(days=800), 20))
    assert len(table) == 40
    assert table.starts.tolist() == [0, 20]
    assert noted(table) == {"gaps": 1}


def test_years_between_rows_that_come_yearly_are_no_odd_times(write, noted):
    years = [*range(1930, 1970), 1972, *range(1973, 1990)]
    table = table_of(write, [datetime(year, 1, 1) for year in years])
    assert len(table) == len(years)
    assert noted(table) == {}
