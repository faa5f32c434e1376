"""LBNL: days with and without a fault, US dates, blanks in names and errors in numbers."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
import pytest

from causewatch.data import format_time
from causewatch.data.datasets import lbnl
from causewatch.errors import TableError

HEADER = "Datetime,AHU: Supply Air Temperature,AHU: Damper  ,Fault Detection Ground Truth"
DAYS = {6: 0, 7: 1, 8: 0, 11: 1}  # of September 2017, none above 12: month or day first?
CAUSES = [
    {
        "name": "damper stuck",
        "start": "9/7/2017 0:00",
        "end": "9/8/2017 0:00",
        "start_row": 144,
        "signals": ["AHU: Damper  "],
        "file": "SZVAV.csv",
    }
]


def write(path, days=DAYS, header=HEADER, known=CAUSES):
    """A file as published, every ten minutes, and the list of causes beside it."""
    (path.parent / "causes.json").write_text(json.dumps(list(known)))
    lines = [header]
    for day, fault in days.items():
        for row, value in enumerate(np.random.default_rng(day).normal(70, 1, 144).round(2)):
            moment = datetime(2017, 9, day) + timedelta(minutes=10 * row)
            time = f"{moment.month}/{moment.day}/{moment.year} {moment.hour}:{moment.minute:02}"
            cell = "#VALUE!" if (day, row) == (8, 5) else value
            lines.append(f"{time},{cell},{row % 7},{fault}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "SZVAV.csv")
    return tmp_path


def test_days_are_recordings(folder):
    dataset = lbnl.load([folder])
    assert [recording.name for recording in dataset.normal] == [
        "SZVAV 2017-09-06",
        "SZVAV 2017-09-08",
    ]
    assert [recording.category for recording in dataset.test] == ["damper stuck", "fault"]
    known, unknown = dataset.test
    (event,) = known.events
    assert format_time(event.start, "naive") == "2017-09-07T00:00:00"
    assert format_time(event.end, "naive") == "2017-09-08T00:00:00"
    assert event.signals == ("AHU: Damper",)
    assert unknown.events[0].signals == ()
    for recording in dataset.test:
        assert len(recording.table) == 144
        assert recording.table.labels.all()
    for recording in dataset.normal:
        assert not recording.table.labels.any()
        assert recording.table.starts.tolist() == [0]
    assert np.isnan(dataset.normal[1].table.values).sum() == 1
    notes = {note.kind: note.count for note in dataset.notes}
    assert notes == {"padded_names": 1, "failed_cells": 1, "gaps": 1, "no_causes": 1}


def test_days_without_a_label_are_not_learnt_from(folder):
    write(folder / "SZVAV.csv", dict(sorted({**DAYS, 9: "", 10: -999}.items())))
    dataset = lbnl.load([folder])
    assert [r.name[-2:] for r in (*dataset.normal, *dataset.test)] == ["06", "08", "07", "11"]
    (note,) = (note for note in dataset.notes if "left out" in note.text)
    assert note.text == "Days of SZVAV.csv without a label, left out: 2."


def test_the_only_file_needs_no_name_in_the_list(folder):
    (folder / "causes.json").write_text(wrong(file=None))
    assert lbnl.load([folder]).test[0].category == "damper stuck"


def wrong(**parts):
    return json.dumps([{**CAUSES[0], **parts}])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: write(f / "SZVAV.csv", {6: 0, 8: 0}, known=()), "No day with a fault was found"),
        (lambda f: write(f / "SZVAV.csv", {6: 1, 7: 1}), "No day without a fault was found"),
        (
            lambda f: write(f / "SZVAV.csv", header=HEADER.replace("Ground", "My")),
            "is not a file of the LBNL inventory: it lacks the columns Fault Detection Ground Tr",
        ),
        (
            lambda f: (f / "causes.json").write_text(wrong(signals=["x"])),
            "names x of SZVAV.csv, which has no such",
        ),
        (
            lambda f: (f / "causes.json").write_text(wrong(start="9/8/2017 0:00")),
            "of SZVAV.csv on 2017-09-08, which has no row labelled faulty",
        ),
        (
            lambda f: (f / "causes.json").write_text(json.dumps([*CAUSES, *CAUSES])),
            "a fault of SZVAV.csv on 2017-09-07, twice",
        ),
        (lambda f: (f / "causes.json").write_text(wrong(start=3)), "no time such as 9/18/2017"),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder)
    with pytest.raises(TableError, match=words) as caught:
        lbnl.load([folder])
    assert "\n" not in str(caught.value)


@pytest.mark.data
def test_the_published_file(data_folder):
    dataset = lbnl.load([data_folder / "lbnl"])
    unfaulted = json.loads((data_folder / "lbnl" / "normal.json").read_text())
    days = [format_time(int(recording.table.time[0]), "naive")[:10] for recording in dataset.normal]
    assert days == [entry["day"] for entry in unfaulted]
    assert len(dataset.test) == 7
    assert all(recording.events[0].signals for recording in dataset.test)
    assert dataset.test[4].category == "OA damper stuck minimum"
