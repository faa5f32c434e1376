"""Which columns look like labels, and which are signals of the plant all the same."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from causewatch.data import open_table, read_table
from causewatch.data.label_columns import looks_like_labels

FLAGS = ["0", "0", "1", "0"]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("label", FLAGS),
        ("Label_1", FLAGS),
        ("anomaly", ["0.0", "1.0", "0.0"]),
        ("changepoint", FLAGS),
        ("is_anomaly", ["False", "True"]),
        ("isAnomaly", FLAGS),
        ("attack_P1", FLAGS),
        ("Normal/Attack", ["Normal", "A ttack", "Attack"]),
        ("ATT_FLAG", ["-999", "1"]),
        ("ATT_FLAG", ["0", "0"]),
        ("EVENT", ["False", "True"]),
        ("class", ["0", "101", "1", ""]),
        ("Fault Detection Ground Truth", FLAGS),
        ("Robot_ProtectiveStop", ["False", "False"]),
        ("grip_lost", ["False", "True"]),
        ("faultNumber", ["0", "13"]),
        ("Attack LABLE (1:No Attack, -1:Attack)", ["1", "-1"]),
        ("machine_status", ["NORMAL", "BROKEN", "RECOVERING"]),
    ],
)
def test_labels(name, cells):
    assert looks_like_labels(name, pl.Series(cells))


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("alarm_horn", FLAGS),
        ("alarm", FLAGS),
        ("fault_reset_valve", FLAGS),
        ("P101_FAULT", FLAGS),
        ("fault_1", FLAGS),
        ("fault_code", ["0", "7"]),
        ("pump_stop", ["False", "True"]),
        ("EventCounter", ["1", "2"]),
        ("label_printer", FLAGS),
        ("attack_angle", ["1", "2"]),
        ("AngleOfAttack", ["1", "2"]),
        ("anomaly", ["0.25", "0.5", "0.1"]),
        ("label", [str(number) for number in range(100)]),
        ("fault", ["on", "off"]),
        ("class", ["open", "closed"]),
        ("mode", ["Normal", "Manual"]),
        ("mode", ["Normal"]),
        ("FIT101", FLAGS),
    ],
)
def test_signals_of_the_plant(name, cells):
    assert not looks_like_labels(name, pl.Series(cells))


def test_cells_that_are_no_text():
    assert looks_like_labels("label", pl.Series([True, False, None]))
    assert looks_like_labels("label", pl.Series([0.0, 1.0, float("nan")]))
    assert looks_like_labels("class", pl.Series(np.arange(32)))
    assert not looks_like_labels("class", pl.Series(np.arange(100)))
    assert not looks_like_labels("label", pl.Series([0.5, 1.0]))


def test_a_column_of_labels_is_left_out_unless_it_is_to_be_kept(write, noted):
    path = write("time,a,EVENT\n0,1,False\n1,2,True\n2,1,True\n3,1,False\n")
    table = read_table(path)
    assert table.signals == ("a",)
    assert table.labels is None
    assert noted(table) == {"possible_label": 1, "labelled_rows": 2}
    texts = {note.kind: note.text for note in table.notes}
    assert "'EVENT' was left out" in texts["possible_label"]
    assert "--keep" in texts["possible_label"]
    assert texts["labelled_rows"].endswith("'EVENT' holds labels: 2 of 4.")
    kept = read_table(path, keep="EVENT")
    assert kept.signals == ("a", "EVENT")
    assert kept.values[:, 1].tolist() == [0, 1, 1, 0]
    assert noted(kept) == {}
    assert noted(read_table(path, ignore=["EVENT"], keep=["EVENT"])) == {}
    assert read_table(path, keep="no such column").signals == ("a",)


def test_a_second_column_of_labels_is_to_be_ignored(write, noted):
    path = write("time,a,label,EVENT\n0,1,0,False\n1,2,0,True\n2,1,1,True\n3,1,0,False\n")
    table = read_table(path, labels="label")
    assert noted(table) == {"second_label": 1, "second_labelled_rows": 2}
    (text,) = (note.text for note in table.notes if note.kind == "second_label")
    assert "--ignore" in text
    assert "--labels" not in text
    assert noted(read_table(path, labels="label", ignore=["EVENT"])) == {}


def test_rows_that_are_excluded_do_not_count_as_labelled(write, noted):
    path = write("time,a,label\n0,1,0\n1,2,1\n2,1,1\n3,1,0\n")
    assert noted(read_table(path, exclude="0..2"))["labelled_rows"] == 1
    named = read_table(path, labels="label")
    assert named.labels is not None
    assert named.labels.tolist() == [0, 1, 1, 0]
    assert noted(named) == {}


def test_a_further_file_may_lack_what_looks_like_labels(write, noted):
    one = write("time,a,label\n0,1,0\n1,2,1\n", "one.csv")
    two = write("time,a\n10,1\n11,2\n", "two.csv")
    both = read_table([one, two])
    assert both.signals == ("a",)
    assert noted(both)["labelled_rows"] == 1
    assert noted(read_table([two, one])) == {"extra_columns": 1}
    assert len(list(open_table([one, two]).chunks(1))) == 4
