r"""WADI: the water-distribution testbed of iTrust, recorded for 16 days in autumn 2017.

Known versions, both with one row per second and 127 tags:

* A1 of 9 October 2017: ``WADI_14days.csv`` (1,209,601 rows, four lines above the header) and
  ``WADI_attackdata.csv`` (172,801 rows, no labels). Every name has the prefix
  ``\\WIN-25J4RO10SBF\LOG_DATA\SUTD_WADI\LOG_DATA\``, which is taken off.
* A2 of 19 November 2019: ``WADI_14days_new.csv`` (784,571 rows: unstable hours are left out) and
  ``WADI_attackdataLABLE.csv`` (172,803 rows, the last two empty; a line above the header; a column
  ``Attack LABLE (1:No Attack, -1:Attack)``).

Dates are written month first, with years of two and of four digits in one file, and a column of
times of day beside them. Row counts are those users of the data report; no hash is public.

Windows of the attacks are those of two independent public transcriptions of the publisher's list;
attack 9 is dated 10 October in one of them, which is a slip, as it then would lie in attack 3.
Where the attacked tags are not certain (13 to 15), the event has no signals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.checks import read_published
from causewatch.data.datasets.files import find_files, plain_name, read_columns
from causewatch.data.datasets.shaping import (
    event_labels,
    keep_signals,
    label_events,
    moment,
    touches,
)
from causewatch.data.raw import file_name, hash_file
from causewatch.data.table import NANOSECONDS, Note, SourceFile, TimeTable
from causewatch.data.times import TextTimes
from causewatch.errors import TableError, listing

__all__ = ["load"]

SIGNALS = 127
TAG = re.compile(
    r"(1|2|2A|2B|3)_[A-Z]+_\d+_[A-Z]+|LEAK_DIFF_PRESSURE|PLANT_START_STOP_LOG|TOTAL_.*"
)
LABEL = re.compile(r"attack\s+lab(le|el)|^(attack|label)$", re.IGNORECASE)
ROWS = {
    "normal": {1_209_601: "A1 (9 Oct 2017)", 784_571: "A2 (19 Nov 2019)"},
    "attack": {172_801: "A1 (9 Oct 2017)", 172_803: "A2 (19 Nov 2019)"},
}
EXPECTED = (
    "WADI_14days.csv and WADI_attackdata.csv (A1), or WADI_14days_new.csv and "
    "WADI_attackdataLABLE.csv (A2)"
)
MOST_LINES = 20
"""How many lines are searched for the header."""

MOST_BAD_TIMES = 0.001

_CONSUMERS = " ".join(f"2_MCV_{n}01" for n in range(1, 7))
# Number, first and last second, attacked tags without what is measured of them, what was done.
_LIST = f"""
1   | 2017-10-09T19:25:00 | 2017-10-09T19:50:16 | 1_MV_001           | valve opened
2   | 2017-10-10T10:24:10 | 2017-10-10T10:34:00 | 1_FIT_001          | flow reads wrong
3-4 | 2017-10-10T10:55:00 | 2017-10-10T11:24:00 | 2_LT_002 1_AIT_001 | reservoir drained unseen
5   | 2017-10-10T11:30:40 | 2017-10-10T11:44:50 | {_CONSUMERS}       | consumers cut off
6   | 2017-10-10T13:39:30 | 2017-10-10T13:50:40 | 2_MCV_101 2_MCV_201 | two consumer valves opened
7   | 2017-10-10T14:48:17 | 2017-10-10T14:59:55 | 1_AIT_002 2_MV_003 | analyser reads wrong
8   | 2017-10-10T17:40:00 | 2017-10-10T17:49:40 | 2_MCV_007          | valve opened, water leaks
9   | 2017-10-11T10:55:00 | 2017-10-11T10:56:27 | 1_P_006            | pump forced
10  | 2017-10-11T11:17:54 | 2017-10-11T11:31:20 | 1_MV_001           | valve forced
11  | 2017-10-11T11:36:31 | 2017-10-11T11:47:00 | 2_MCV_007          | valve opened
12  | 2017-10-11T11:59:00 | 2017-10-11T12:05:00 | 2_MCV_007          | valve opened slowly
13  | 2017-10-11T12:07:30 | 2017-10-11T12:10:52 |                    |
14  | 2017-10-11T12:16:00 | 2017-10-11T12:25:36 |                    |
15  | 2017-10-11T15:26:30 | 2017-10-11T15:37:00 |                    |
"""


def load(paths: Sequence[Path]) -> Dataset:
    """Load one version of WADI from its folder or from its two files."""
    files = find_files(paths, "WADI", EXPECTED)
    normal = [path for path in files if "14days" in path.name.lower()]
    attacked = [path for path in files if "attackdata" in path.name.lower()]
    if len(normal) > 1 or len(attacked) > 1:
        found = listing(file_name(path) for path in (*normal, *attacked))
        message = f"There is more than one version of WADI ({found}); give the two files of one."
        raise TableError(message)
    if not normal or not attacked:
        found = listing(file_name(path) for path in files)
        message = f"WADI consists of {EXPECTED}; found {found}."
        raise TableError(message)
    learn, test = _read_normal(normal[0]), _read_attacked(attacked[0])
    notes: list[Note] = []
    test, labels = _take_labels(test)
    learn, test = _same_signals(learn, test, notes)
    events = _events(test)
    if labels is None:
        test = replace(test, labels=event_labels(test, events))
        text = (
            f"{file_name(attacked[0])} has no labels; they were made from the published windows "
            f"of {len(events)} attacks."
        )
        notes.append(Note("labels_from_windows", 1, text))
    else:
        test = replace(test, labels=labels)
        events = _labelled(test, events, notes)
    version = " ".join(
        _version(kind, table) for kind, table in (("normal", learn), ("attack", test))
    )
    groups: dict[str, list[str]] = {}
    for signal in learn.signals:
        groups.setdefault(signal.split("_")[0] if signal[0].isdigit() else "plant", []).append(
            signal
        )
    return Dataset(
        "wadi",
        version,
        (Recording(plain_name(normal[0]), learn, category="normal"),),
        (Recording(plain_name(attacked[0]), test, events, "attack"),),
        {group: tuple(signals) for group, signals in sorted(groups.items())},
        tuple(notes),
    )


def _read_normal(path: Path) -> TimeTable:
    """The long file: its first date, 25 September, tells the reader that the month is first."""
    columns = read_columns(path)
    _check(columns, file_name(path))
    table = read_published(path, ignore=[column for column in columns if column.lower() == "row"])
    return _with_short_names(table)


def _read_attacked(path: Path) -> TimeTable:
    """The file with attacks.

    Its first rows are all of 9 October, which does not tell month from day, and the line above its
    header may hold numbers: so header and times are settled here, and the reader does the rest.
    """
    name = file_name(path)
    try:
        frame = pl.read_csv(
            path, skip_rows=_header_line(path, name), infer_schema=False, encoding="utf8-lossy"
        )
    except pl.exceptions.PolarsError as error:
        message = f"{name} cannot be read as CSV ({str(error).splitlines()[0]}); copy it again."
        raise TableError(message) from error
    frame.columns = [" ".join(column.split()) for column in frame.columns]
    _check(frame.columns, name)
    named = {column.lower(): column for column in frame.columns}
    if "date" not in named or "time" not in named:
        message = f"{name} has no columns Date and Time; use the file as published."
        raise TableError(message)
    cells = frame[named["date"]].str.strip_chars() + " " + frame[named["time"]].str.strip_chars()
    times = TextTimes("month first").parse(cells)
    filled = cells.is_not_null().to_numpy() & (cells != " ").fill_null(False).to_numpy()
    if np.sum(filled & ~times.ok) > MOST_BAD_TIMES * len(frame):
        bad = cells[int(np.argmax(filled & ~times.ok))]
        message = f"{name}: {bad!r} is not a date (month first) and time as WADI has them."
        raise TableError(message)
    source = SourceFile(name, hash_file(path), len(frame))
    clock = pl.Series("time", times.ns).cast(pl.Datetime("ns"))
    frame = frame.drop(c for c in frame.columns if c.lower() in ("row", "date", "time"))
    frame = frame.insert_column(0, clock).filter(times.ok)
    if len(frame) < 2:
        message = f"{name} has {len(frame)} usable rows, at least 2 are needed."
        raise TableError(message)
    table = read_published(frame, time="time", keep=[c for c in frame.columns if LABEL.search(c)])
    notes = tuple(replace(n, text=n.text.replace("dataframe", name)) for n in table.notes)
    return _with_short_names(replace(table, files=(source,), notes=notes))


def _header_line(path: Path, name: str) -> int:
    """How many lines stand above the header, which begins with ``Row``."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        for number in range(MOST_LINES):
            if stream.readline().split(",")[0].strip(' "\ufeff').lower() == "row":
                return number
    message = f"{name} has no header that begins with Row, Date, Time; use the file as published."
    raise TableError(message)


def _short(name: str) -> str:
    return name.rsplit("\\", 1)[-1].strip()


def _with_short_names(table: TimeTable) -> TimeTable:
    return replace(table, signals=tuple(_short(signal) for signal in table.signals))


def _check(columns: Sequence[str], name: str) -> None:
    """Raise if the columns are not those of WADI."""
    tags = sum(bool(TAG.fullmatch(_short(column))) for column in columns)
    if tags < len(columns) / 2:
        message = (
            f"{name} does not have the tags of WADI; expected names such as 1_AIT_001_PV, found "
            f"{listing(columns, 4)}."
        )
        raise TableError(message)


def _take_labels(table: TimeTable) -> tuple[TimeTable, NDArray[np.float64] | None]:
    """The table without its label column, and the labels: 1 attacked, 0 not, NaN not known."""
    column = next((signal for signal in table.signals if LABEL.search(signal)), None)
    if column is None:
        return table, None
    marks = table.values[:, table.signals.index(column)]
    attacked = marks == (-1 if np.any(marks == -1) or not np.any(marks == 0) else 1)
    labels = np.where(np.isnan(marks), np.nan, attacked.astype(np.float64))
    return keep_signals(table, [s for s in table.signals if s != column]), labels


def _same_signals(
    learn: TimeTable, test: TimeTable, notes: list[Note]
) -> tuple[TimeTable, TimeTable]:
    """Both tables with the signals they share, in one order."""
    shared = [signal for signal in learn.signals if signal in test.signals]
    only = [s for s in (*learn.signals, *test.signals) if s not in shared]
    if only:
        text = f"Signals that only one of the files has were left out: {listing(only)}."
        notes.append(Note("extra_columns", len(only), text))
    if len(shared) != SIGNALS:
        text = f"Both files share {len(shared)} signals, where WADI as published has {SIGNALS}."
        notes.append(Note("other_columns", 1, text))
    return keep_signals(learn, shared), keep_signals(test, shared)


def _events(table: TimeTable) -> tuple[Event, ...]:
    """The published attacks that lie in the recording, with the columns of the attacked tags."""
    events = []
    for line in _LIST.strip().splitlines():
        name, first, last, tags, what = (cell.strip() for cell in line.split("|"))
        signals = tuple(s for tag in tags.split() for s in table.signals if s.startswith(f"{tag}_"))
        event = Event(name, moment(first), moment(last) + NANOSECONDS, signals, what)
        if touches(event, table):
            events.append(event)
    return tuple(events)


def _labelled(table: TimeTable, known: tuple[Event, ...], notes: list[Note]) -> tuple[Event, ...]:
    """The labelled runs, each with name and signals of the published attack it overlaps most."""
    events = []
    unknown = 0
    for run in label_events(table, lambda number: f"labelled run {number}"):
        best = max(known, key=lambda attack: _overlap(attack, run), default=None)
        if best is None or not _overlap(best, run):
            unknown += 1
            events.append(run)
        else:
            events.append(replace(best, start=run.start, end=run.end))
    if unknown:
        text = f"Labelled runs that are no published attack: {unknown}; they have no signals."
        notes.append(Note("unknown_runs", unknown, text))
    return tuple(events)


def _overlap(one: Event, other: Event) -> int:
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def _version(kind: str, table: TimeTable) -> str:
    file = table.files[0]
    known = ROWS[kind].get(file.rows)
    if known:
        return f"{file.name} is of WADI {known} ({file.rows:,} rows)."
    counts = " or ".join(f"{rows:,} ({version[:2]})" for rows, version in ROWS[kind].items())
    return (
        f"{file.name} has the tags of WADI, but its {file.rows:,} rows are none of the known "
        f"versions: {counts}."
    )
