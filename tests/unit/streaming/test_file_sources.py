"""Files that are read as tables: Parquet, spreadsheets, lists of events."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from causewatch.errors import CausewatchError, SettingError, TableError
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.files import open_file_source
from causewatch.streaming.tags import Tag, TagMap

COLUMNS = ("a", "b")
WANTED = Wanted(COLUMNS, 1.0)


def table(first, last):
    times = pl.datetime_range(
        pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 2), "1s", eager=True
    ).slice(first, last - first)
    rows = np.arange(first, last)
    return pl.DataFrame({"time": times, "b": -1.0 * rows, "a": rows + 0.5})


def drained(source):
    found = []
    while not source.ended:
        found += source.poll(0.0).values.tolist()
    return found


def expected(first, last):
    return [[k + 0.5, -k] for k in range(first, last)]


def opened(path, after=None, wanted=WANTED, **options):
    source = open_file_source(str(path), wanted, **options)
    source.open(after or {})
    return source


def write(path, frame):
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".xlsx":
        frame.write_excel(path)
    else:
        events = frame.unpivot(list(COLUMNS), index="time", variable_name="tag")
        events.sort("time", maintain_order=True).write_csv(path)


@pytest.mark.parametrize("name", ["log.parquet", "log.xlsx", "events.csv"])
def test_tables_give_rows_and_go_on(name, tmp_path):
    if name.endswith("xlsx"):
        pytest.importorskip("xlsxwriter")
    path = tmp_path / name
    write(path, table(0, 40))
    source = opened(path)
    assert drained(source) == expected(0, 40)
    assert (source.clock, source.missing, source.status) == ("naive", (), "ended")
    after = json.loads(json.dumps(source.position()))
    write(path, table(0, 60))
    source = opened(path, after)
    assert source.position() == after
    assert drained(source) == expected(40, 60)
    write(path, table(50, 70))  # another one under the same name
    source = opened(path, after)
    assert drained(source) == expected(50, 70)
    with pytest.raises(SettingError, match="not a text file that grows"):
        opened(path, follow=True)


def test_a_signal_of_the_model_is_no_label_whatever_it_looks_like(tmp_path):
    path = tmp_path / "log.parquet"
    rows = table(0, 40)
    rows.with_columns(attack=pl.Series(np.arange(40) % 2)).write_parquet(path)
    wanted = replace(WANTED, columns=(*COLUMNS, "attack"))
    source = opened(path, wanted=wanted)
    assert source.missing == ()


@pytest.mark.parametrize("name", ["log.parquet", "log.xlsx"])
def test_another_table_without_times_is_read_from_its_beginning(name, tmp_path):
    if name.endswith("xlsx"):
        pytest.importorskip("xlsxwriter")
    path = tmp_path / name
    write(path, table(0, 150).drop("time"))
    source = opened(path)
    assert drained(source) == expected(0, 150)
    after = json.loads(json.dumps(source.position()))
    write(path, table(0, 180).drop("time"))  # the same one, which became longer
    source = opened(path, after)
    assert source.position() == after
    assert drained(source) == expected(150, 180)
    write(path, table(1000, 1180).drop("time"))
    assert drained(opened(path, after)) == expected(1000, 1180)
    write(path, table(0, 100).drop("time"))  # fewer rows than were read
    assert drained(opened(path, after)) == expected(0, 100)


def test_another_list_of_events_that_begins_at_the_same_time(tmp_path):
    path = tmp_path / "events.csv"
    write(path, table(0, 40))
    source = opened(path)
    drained(source)
    after = source.position()
    write(path, table(0, 60).with_columns(-pl.col("a", "b")))
    assert drained(opened(path, after)) == [[-a, -b] for a, b in expected(0, 60)]


def test_positions_of_earlier_releases_are_understood(tmp_path):
    """They hold the time of the first row alone."""
    path = tmp_path / "log.parquet"
    write(path, table(0, 60))
    first = int(np.datetime64("2026-01-01", "ns").astype(np.int64))
    after = {"name": "log.parquet", "rows": 40, "first": first}
    source = opened(path, after)
    assert source.position() == after
    assert drained(source) == expected(40, 60)
    after["first"] += 1
    assert drained(opened(path, after)) == expected(0, 60)


def test_a_table_in_the_place_of_a_text_is_read_from_its_beginning(tmp_path):
    path = tmp_path / "log"
    table(0, 40).write_csv(path)
    source = opened(path)
    drained(source)
    after = source.position()
    source.close()
    table(0, 60).write_parquet(path)
    assert drained(opened(path, after)) == expected(0, 60)
    table_position = opened(path)
    drained(table_position)
    table(0, 50).write_csv(path)
    source = opened(path, table_position.position())
    assert drained(source) == expected(0, 50)
    source.close()


def test_large_tables_come_in_pieces_and_go_on_inside(tmp_path):
    path = tmp_path / "log.parquet"
    write(path, table(0, 10_000))
    source = opened(path)
    first = source.poll(0.0)
    assert len(first) == 4096
    rest = opened(path, source.position())
    assert first.values.tolist() + drained(rest) == expected(0, 10_000)
    source.close()
    assert len(source.poll(0.0)) == 0


def test_tags_of_a_table_have_other_names_and_units(tmp_path):
    path = tmp_path / "log.parquet"
    write(path, table(0, 10).rename({"a": "TI 7"}))
    tags = TagMap({"TI 7": Tag("TI 7", "a", factor=2.0, offset=-1.0)})
    assert drained(opened(path, wanted=Wanted(COLUMNS, 1.0, tags=tags))) == [
        [2 * k, -k] for k in range(10)
    ]
    large = TagMap({"TI 7": Tag("TI 7", "a", factor=1e200), "b": Tag("b", "x")})
    source = opened(path, wanted=Wanted(COLUMNS, 1.0, tags=large))
    assert np.isnan(drained(source)).all()
    assert (source.missing, source.problems) == (("b",), {"infinite": 10})
    with pytest.raises(TableError, match="none of the model's signals"):
        opened(path, wanted=Wanted(("x", "y"), 1.0))


def test_rows_of_a_table_are_counted_where_the_model_counts(tmp_path):
    path = tmp_path / "log.parquet"
    write(path, table(0, 6))
    source = opened(path, wanted=Wanted(COLUMNS, 2.0, counted=True))
    assert source.poll(0.0).times.tolist() == [k * 2_000_000_000 for k in range(6)]
    assert source.clock == "rows"
    table(0, 6).drop("time").write_parquet(path)
    source = opened(path)
    assert source.poll(0.0).times.tolist() == [k * 1_000_000_000 for k in range(6)]
    assert source.clock == "elapsed"


def test_what_is_damaged_is_an_error_or_counted(tmp_path):
    path = tmp_path / "log.parquet"
    write(path, table(0, 100))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        opened(path)
    path = tmp_path / "log.csv.gz"
    noise = np.random.default_rng(0).normal(size=(100_000, 2))
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in noise.tolist())
    path.write_bytes(gzip.compress(text.encode(), 1)[:-100_000])
    try:  # far behind what is looked at when it is opened
        source = opened(path)
    except CausewatchError as error:
        pytest.fail(str(error))
    assert len(drained(source)) > 50_000
    assert source.problems == {"damaged": 1}
    source.close()
