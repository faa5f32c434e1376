"""TSB-AD: a collection of labelled time series for comparing detectors.

One file is one series. Its name says what it holds, as in
``001_NAB_id_1_Facility_tr_1007_1st_2014.csv``: running number, source, number within the source,
domain, how many rows are for training, and the row (from 0) of the first anomaly. There is one
column per signal and a last column ``Label``; rows are counted, there are no times.

As its publisher scores it, a detector learns from the first rows and is judged on the whole series,
so the recording to watch begins with the rows to learn from. In some series (``tr_500_1st_17``)
these hold anomalies already; a note says so. Names of before its first release (``…_624_2087``) are
refused. No hash of single files is public.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from causewatch.data.datasets.base import Dataset, Recording
from causewatch.data.datasets.checks import read_published
from causewatch.data.datasets.files import find_files, plain_name, read_columns
from causewatch.data.datasets.shaping import keep_rows, label_events
from causewatch.data.raw import file_name
from causewatch.data.table import Note, TimeTable
from causewatch.errors import TableError, listing

__all__ = ["load"]

NAME = re.compile(r"(\d+)_(.+)_id_(\d+)_(.+)_tr_(\d+)_1st_(\d+)")
EXPECTED = "files named like 001_NAB_id_1_Facility_tr_1007_1st_2014.csv"


def load(paths: Sequence[Path]) -> Dataset:
    """Load some series of TSB-AD; each is a system of its own."""
    files = find_files(paths, "TSB-AD", EXPECTED)
    named = [path for path in files if NAME.fullmatch(plain_name(path))]
    other = [path for path in paths if path.is_file() and path not in named]
    if other or not named:
        found = listing((file_name(path) for path in other or files), 3)
        message = f"TSB-AD consists of {EXPECTED}; found {found}."
        raise TableError(message)
    notes: list[Note] = []
    normal, test = [], []
    sources: Counter[str] = Counter()
    early: list[str] = []
    for path in named:
        learn, watch = _series(path, notes)
        normal.append(learn)
        test.append(watch)
        sources[NAME.sub(r"\2", watch.name)] += 1
        if learn.events:
            early.append(learn.name)
    if early:
        text = f"Series whose rows to learn from hold anomalies: {listing(early, 3)}."
        notes.append(Note("labelled_training", len(early), text))
    if len(named) > 1:
        text = "Every series is a system of its own: learn from and watch one at a time."
        notes.append(Note("many_systems", len(named), text))
    widths = {len(recording.table.signals) > 1 for recording in test}
    kind = (
        "TSB-AD-U and TSB-AD-M" if len(widths) > 1 else f"TSB-AD-{'M' if True in widths else 'U'}"
    )
    counts = listing(f"{source} {count}" for source, count in sorted(sources.items()))
    version = f"{kind} by their names: {len(named)} series ({counts})."
    return Dataset("tsb-ad", version, tuple(normal), tuple(test), notes=tuple(notes))


def _series(path: Path, notes: list[Note]) -> tuple[Recording, Recording]:
    """What to learn from and what to watch."""
    name = file_name(path)
    found = NAME.fullmatch(plain_name(path))
    assert found is not None
    rows, first = int(found[5]), int(found[6])
    table = _read(path, name, notes)
    assert table.labels is not None
    if len(table) <= max(rows, first):
        message = (
            f"{name} has {len(table):,} rows, but by its name {rows:,} are for training and row "
            f"{first:,} is anomalous; it is cut short."
        )
        raise TableError(message)
    if rows < 2:
        message = f"{name} has {rows} rows for training by its name; at least 2 are needed."
        raise TableError(message)
    anomalous = np.flatnonzero(table.labels == 1)
    begin = int(anomalous[0]) if len(anomalous) else None
    if begin != first:
        text = (
            f"The first anomaly of {name} is in row {begin}, not in row {first} as its name says."
            if begin is not None
            else f"No row of {name} is labelled anomalous, though its name says row {first} is."
        )
        notes.append(Note("other_first_anomaly", 1, text))
    title = plain_name(path)
    train = keep_rows(table, 0, rows)
    return (
        Recording(f"{title}-train", train, label_events(train), found[4]),
        Recording(title, table, label_events(table), found[4]),
    )


def _read(path: Path, name: str, notes: list[Note]) -> TimeTable:
    columns = read_columns(path)
    label = next((column for column in columns if column.lower() == "label"), None)
    if label is None:
        message = f"{name} has no column Label; found {listing(columns, 4)}."
        raise TableError(message)
    table = read_published(path, labels=label)
    if table.clock != "rows":
        lost = [column for column in columns if column not in (*table.signals, label)]
        text = f"Column {listing(lost, 1)} of {name} looks like times and was read as such."
        notes.append(Note("unexpected_time", 1, text))
    return replace(table, notes=tuple(note for note in table.notes if note.kind != "no_time"))
