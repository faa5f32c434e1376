"""Rows in the wrong order would turn causes into effects; they are refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from causewatch.data import read_table
from causewatch.errors import TableError


def recording(rows=300):
    rng = np.random.default_rng(5)
    time = np.datetime64("2026-01-01T00:00:00", "ms") + 1000 * np.arange(rows)
    return pl.DataFrame({"Timestamp": time, "a": rng.normal(size=rows), "b": rng.normal(size=rows)})


@pytest.mark.parametrize("suffix", ["csv", "parquet", "frame"])
def test_the_newest_row_first_is_refused(tmp_path, suffix):
    table = recording().reverse()
    source = table if suffix == "frame" else tmp_path / f"newest.{suffix}"
    if suffix == "csv":
        table.write_csv(source)
    elif suffix == "parquet":
        table.write_parquet(source)
    with pytest.raises(TableError, match="run backwards in time") as error:
        read_table(source)
    assert "oldest first" in str(error.value)


def test_rows_without_an_order_are_refused(tmp_path):
    path = tmp_path / "shuffled.csv"
    recording().sample(fraction=1.0, shuffle=True, seed=1).write_csv(path)
    with pytest.raises(TableError, match="are not in order"):
        read_table(path)


def test_a_few_rows_out_of_order_are_not(tmp_path):
    path = tmp_path / "late.csv"
    table = recording()
    order = np.arange(300)
    order[[50, 51]] = order[[51, 50]]
    table[order.tolist()].write_csv(path)
    assert len(read_table(path)) == 299
