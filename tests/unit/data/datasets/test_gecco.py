"""GECCO 2018: events from labels, and a recording to learn from with holes where they were."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from causewatch.data import format_time
from causewatch.data.datasets import gecco
from causewatch.errors import TableError

START = datetime(2016, 8, 3, 9, 49)
HEADER = "Time,Tp,Cl,pH,Redox,Leit,Trueb,Cl_2,Fm,Fm_2,EVENT"
DAY = 24 * 60
EVENTS = ((300, 320), (29 * DAY, 29 * DAY + 12), (31 * DAY, 31 * DAY + 30))
EMPTY = (2000, 2100)


def write(path, days=32, header=HEADER, text=None):
    """A file as published: truth values in words, rows without any value, one a minute."""
    lines = [header]
    cells = np.random.default_rng(3).normal(8, 0.1, size=(days * DAY, 9)).round(3).tolist()
    for row, values in enumerate(cells):
        event = any(first <= row < last for first, last in EVENTS)
        numbers = "," * 8 if EMPTY[0] <= row < EMPTY[1] else ",".join(map(str, values))
        numbers = numbers if text is None else ",".join([text, *numbers.split(",")[1:]])
        lines.append(f"{START + timedelta(minutes=row)},{numbers},{event}")
    path.write_text("\n".join(lines) + "\n")
    return path


def append_to_itself(path):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, *lines[1:]]))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return gecco.load([write(tmp_path_factory.mktemp("gecco") / "geccoIC2018Train.csv")])


def test_events_are_runs_of_the_labels(dataset):
    (test,) = dataset.test
    assert test.table.signals == gecco.SIGNALS
    assert [event.name for event in test.events] == ["event 1", "event 2", "event 3"]
    for event, (first, last) in zip(test.events, EVENTS, strict=True):
        begin, end = (START + timedelta(minutes=row) for row in (first, last))
        assert format_time(event.start, "naive") == begin.isoformat()
        assert format_time(event.end, "naive") == end.isoformat()
        assert event.signals == ()
    assert {note.kind for note in dataset.notes} == {"learnt_part", "no_causes"}
    assert {note.kind: note.count for note in test.table.notes} == {"empty_rows": 100, "gaps": 1}
    assert "not as published: 45,980 rows with values, 3 events" in dataset.version


def test_lags_never_reach_across_the_holes_of_events(dataset):
    (normal,) = dataset.normal
    table = normal.table
    assert len(table) == 30 * DAY - 20 - 12 - 100
    assert table.labels is not None
    assert not table.labels.any()
    assert table.starts.tolist() == [0, 300, 2000 - 20, 29 * DAY - 20 - 100]
    steps = np.diff(table.time) // (60 * 10**9)
    assert np.flatnonzero(steps > 1).tolist() == [start - 1 for start in table.starts[1:]]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_text("a,b\n1,2\n3,4\n"), "not a file of GECCO 2018: it lacks"),
        (lambda path: path.write_text(""), "is empty"),
        (lambda path: write(path, days=29), "was cut short, download it again"),
        (lambda path: write(path, text="none of it"), "no numbers in Tp"),
        (append_to_itself, "The times of 'geccoIC2018Train.csv' go back after row"),
        (lambda path: write(path.with_name("b.csv")), "2 tables were found; name one"),
    ],
)
def test_wrong_files_get_one_clear_sentence(tmp_path, spoil, words):
    write(tmp_path / "geccoIC2018Train.csv")
    spoil(tmp_path / "geccoIC2018Train.csv")
    with pytest.raises(TableError, match=words) as caught:
        gecco.load([tmp_path])
    assert "\n" not in str(caught.value)


@pytest.mark.data
def test_the_published_file(data_folder):
    dataset = gecco.load([data_folder / "gecco"])
    assert "training file, complete" in dataset.version
    (test,), (normal,) = dataset.test, dataset.normal
    minutes = [(event.end - event.start) // (60 * 10**9) for event in test.events]
    assert len(minutes) == 51
    assert (min(minutes), max(minutes)) == (10, 253)
    after = test.table.time[0] + 30 * DAY * 60 * 10**9
    assert sum(event.start >= after for event in test.events) == 40
    assert normal.table.time[-1] < after
    # an hour of empty rows in a night of autumn is no change of the clock
    assert format_time(int(test.table.time[-1]), "naive") == "2016-11-08T07:54:00"
