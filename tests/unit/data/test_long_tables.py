"""Event lists of a historian."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.data import read_table
from causewatch.errors import SettingError, TableError

nan = np.nan


def test_values_hold_until_the_next_event(write, noted):
    content = """Timestamp,TagName,Value,Quality
2020-01-01 00:00:00Z,P1,1.5,Good
2020-01-01 00:00:05Z,V1,Open,Good
2020-01-01 00:00:10Z,P1,2.5,GOOD
2020-01-01 00:00:20Z,P1,No Data,Good
2020-01-01 00:00:30Z,P1,7,Bad
2020-01-01 00:00:40Z,P1,8,192
2020-01-01 00:00:45Z,V1,closed,0
"""
    table = read_table(write(content))
    assert table.signals == ("P1", "V1")
    assert table.clock == "utc"
    assert table.interval == 10
    np.testing.assert_array_equal(table.values[:, 0], [1.5, 2.5, nan, nan, 8, 8])
    np.testing.assert_array_equal(table.values[:, 1], [nan, 1, 1, 1, 1, 0])
    assert noted(table) == {"bad_quality": 1, "long_format": 1}
    assert table.files[0].rows == 7


def test_tags_exported_one_after_the_other(write):
    rows = [f"{tag},{second},{second}" for tag in ("a", "b") for second in range(0, 30, 3)]
    table = read_table(write("\n".join(["tag,time,value", *rows])))
    assert table.interval == 3
    np.testing.assert_array_equal(table.values[:, 0], np.arange(0, 30, 3))
    np.testing.assert_array_equal(table.values[:, 0], table.values[:, 1])


def test_text_tags_are_left_out(write, noted):
    rows = [f"{i},program,P{i}\n{i},speed,{i}" for i in range(5)]
    table = read_table(write("\n".join(["time_s,node,value", *rows])))
    assert table.signals == ("speed",)
    assert noted(table)["text_column"] == 1


def test_irregular_events_get_a_round_grid(write):
    times = np.cumsum(np.random.default_rng(1).exponential(3.0, 300))
    rows = [f"{time:.3f},a,{i}" for i, time in enumerate(times)]
    table = read_table(write("\n".join(["time,tag,value", *rows])))
    assert table.interval == 2
    assert len(table.starts) == 1


def test_grid_may_be_given(write):
    content = "time,tag,value\n0,a,1\n0,b,2\n1,a,2\n1,b,3\n"
    assert read_table(write(content), grid="500ms").interval == 0.5
    assert read_table(write(content), grid=0.25).interval == 0.25
    for grid in ("soon", -1, 0.0, float("nan"), 1e-12):
        with pytest.raises(SettingError):
            read_table(write(content), grid=grid)
    with pytest.raises(SettingError, match="one row per event"):
        read_table(write("time,a\n0,1\n1,2\n"), grid=1)


def test_several_files_have_the_tags_of_all(write):
    one = write("time,tag,value\n0,a,1\n1,a,2\n2,a,2\n0,b,7\n", "one.csv")
    two = write("time,tag,value\n0,b,1\n1,b,2\n2,c,2\n", "two.csv")
    table = read_table([one, two])
    assert table.signals == ("a", "b", "c")
    assert table.starts.tolist() == [0, 3]
    assert np.isnan(table.values[3:, 0]).all()


def test_long_may_be_said(write):
    content = "time,tag,value\n0,1,1\n0,2,5\n1,1,2\n1,2,6\n"
    assert read_table(write(content)).signals == ("tag", "value")
    table = read_table(write(content), long=True)
    assert table.signals == ("1", "2")
    np.testing.assert_array_equal(table.values, [[1, 5], [2, 6]])
    text = "time,tag,value\n0,x,1\n1,x,5\n2,y,2\n3,y,6\n"
    assert read_table(write(text), long=False).signals == ("value",)
    with pytest.raises(TableError, match="not a list of events"):
        read_table(write("time,a\n0,1\n1,2\n"), long=True)


def test_unreadable_events(write):
    with pytest.raises(TableError, match=r"line 3: 'soon a' is not a time"):
        read_table(write("time,tag,value\n0,a,1\nsoon,a,5\n2,a,2\n"))
    with pytest.raises(TableError, match="two events at different times"):
        read_table(write("time,tag,value\n0,a,1\n0,a,5\n"))
