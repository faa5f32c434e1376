"""SWaT: the water-treatment plant of iTrust, recorded for eleven days in December 2015.

Known versions: ``SWaT_Dataset_Normal_v0`` (496,800 rows), ``SWaT_Dataset_Normal_v1`` (495,000: the
first 30 minutes are left out) and ``SWaT_Dataset_Attack_v0`` (449,919 rows), one row per second. No
hash of them is public.

Known shapes: XLSX with a title row above the header; CSV with ``,``, or with ``;`` and a decimal
comma; names and times with leading blanks; times such as ``28/12/2015 10:00:00 AM``; labels
``Normal``, ``Attack`` and ``A ttack``. The reader of tables understands all of these.

Later releases (2017, 2019 and after) have other columns and other attacks and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.checks import read_published
from causewatch.data.datasets.files import find_files, is_spreadsheet, plain_name, read_columns
from causewatch.data.datasets.shaping import (
    event_labels,
    keep_signals,
    label_events,
    moment,
    touches,
)
from causewatch.data.datasets.swat_attacks import attacks
from causewatch.data.raw import file_name
from causewatch.data.table import Note, TimeTable, format_time
from causewatch.errors import TableError, UnknownNameError, listing

__all__ = ["STAGES", "TAGS", "load"]

TAGS = tuple(
    """
    FIT101 LIT101 MV101 P101 P102
    AIT201 AIT202 AIT203 FIT201 MV201 P201 P202 P203 P204 P205 P206
    DPIT301 FIT301 LIT301 MV301 MV302 MV303 MV304 P301 P302
    AIT401 AIT402 FIT401 LIT401 P401 P402 P403 P404 UV401
    AIT501 AIT502 AIT503 AIT504 FIT501 FIT502 FIT503 FIT504 P501 P502 PIT501 PIT502 PIT503
    FIT601 P601 P602 P603
    """.split()
)
"""The 51 signals, in the order of the files."""

STAGES = {
    stage: tuple(tag for tag in TAGS if re.sub(r"\D", "", tag)[0] == stage) for stage in "123456"
}
"""The six stages of the plant: the first digit of a tag."""

LABELS = ("normal/attack", "label", "labels", "attack")
"""Names of the label column in lower case: the publisher's, then those of copies."""

ROWS = {
    "normal": {496_800: "SWaT_Dataset_Normal_v0", 495_000: "SWaT_Dataset_Normal_v1"},
    "attack": {449_919: "SWaT_Dataset_Attack_v0"},
}
EXPECTED = "a normal recording (SWaT_Dataset_Normal_v1) and one with attacks (…_Attack_v0)"
FIRST_DAY = (moment("2015-12-22T16:00:00"), moment("2015-12-22T21:00:00"))
"""The plant starts empty; it takes about five hours until it runs as usual."""


def load(paths: Sequence[Path]) -> Dataset:
    """Load SWaT from a folder or from its two files, in any order.

    Which of them is the normal one is told by the labels, else by the names. Of several versions in
    a folder the newest is taken, and CSV rather than XLSX.
    """
    files, notes = _choose(find_files(paths, "SWaT", EXPECTED), [p for p in paths if p.is_file()])
    found: dict[str, tuple[Path, TimeTable]] = {}
    for path in files:
        table, more = _read(path)
        notes += more
        kind = _kind(table, path)
        if kind in found:
            names = f"{file_name(found[kind][0])} and {file_name(path)}"
            what = "hold attacks" if kind == "attack" else "are normal recordings"
            message = f"Both {names} {what}; SWaT consists of {EXPECTED}: give one of each."
            raise TableError(message)
        found[kind] = (path, table)
    for kind, other in (("normal", "attack"), ("attack", "normal")):
        if kind not in found:
            what = "is a normal recording" if other == "normal" else "holds attacks"
            message = (
                f"{file_name(found[other][0])} {what}, and there is no other file; SWaT consists "
                f"of {EXPECTED}."
            )
            raise TableError(message)
    version = " ".join(_version(kind, found[kind][1]) for kind in ("normal", "attack"))
    test, more = _test(*found["attack"])
    notes += _start_up(found["normal"][1]) + more
    normal = Recording(plain_name(found["normal"][0]), found["normal"][1], category="normal")
    return Dataset("swat", version, (normal,), (test,), STAGES, tuple(notes))


def _choose(files: list[Path], given: list[Path]) -> tuple[list[Path], list[Note]]:
    """The files to read: of each kind the newest version, CSV rather than a spreadsheet."""
    named = [path for path in files if _name_kind(path)]
    files = [path for path in files if path in named or path in given or not named]
    chosen: dict[str, Path] = {}
    for path in files:
        key = _name_kind(path) or str(path)
        if key not in chosen or _rank(path) > _rank(chosen[key]):
            chosen[key] = path
    left = [file_name(path) for path in files if path not in chosen.values()]
    notes = []
    if left:
        text = f"Other versions of the same recordings were left out: {listing(left)}."
        notes.append(Note("other_versions", len(left), text))
    return list(chosen.values()), notes


def _name_kind(path: Path) -> str:
    name = path.name.lower()
    if re.search(r"list.?of.?attack", name):
        return ""
    kinds = [kind for kind in ROWS if kind in name]
    return kinds[0] if len(kinds) == 1 else ""


def _rank(path: Path) -> tuple[int, bool]:
    version = re.search(r"v(\d+)", path.name.lower())
    return int(version[1]) if version else -1, not is_spreadsheet(path)


def _read(path: Path) -> tuple[TimeTable, list[Note]]:
    """One file with the 51 tags in their order, and what is odd about its columns."""
    name = file_name(path)
    if is_spreadsheet(path):  # as a whole, and slowly: not twice if it is as it should be
        try:
            table = read_published(path, labels="Normal/Attack")
        except UnknownNameError:
            table = _read_text(path)
    else:
        table = _read_text(path)
    _check_tags(table.signals, name)
    missing = [tag for tag in TAGS if tag not in table.signals]
    more = [signal for signal in table.signals if signal not in TAGS]
    notes = []
    if missing:
        text = f"Tags that {name} does not have: {listing(missing)}."
        notes.append(Note("missing_tags", len(missing), text))
    if more:
        text = f"Columns of {name} that are none of the 51 tags were left out: {listing(more)}."
        notes.append(Note("extra_columns", len(more), text))
    if table.clock != "naive":
        message = f"{name} has no column of dates; the column Timestamp of SWaT is needed."
        raise TableError(message)
    return keep_signals(table, [tag for tag in TAGS if tag in table.signals]), notes


def _read_text(path: Path) -> TimeTable:
    columns = read_columns(path)
    _check_tags(columns, file_name(path))
    plain = {column.lower(): column for column in columns}
    labels = next((plain[label] for label in LABELS if label in plain), None)
    return read_published(path, labels=labels)


def _check_tags(columns: Sequence[str], name: str) -> None:
    """Raise if the columns are not those of December 2015."""
    if sum(tag in columns for tag in TAGS) > len(TAGS) / 2:
        return
    # 'FIT 101', 'FIT101.Pv': how later releases write the same tags.
    later = {re.sub(r"[^A-Z0-9]|\.PV$|\.STATUS$", "", column.upper()) for column in columns}
    if len(later.intersection(TAGS)) > 10:
        message = (
            f"{name} is of a later release of SWaT (its columns are {listing(columns, 4)}); only "
            "that of December 2015 is known: read it as an ordinary table."
        )
    else:
        message = (
            f"{name} does not have the tags of SWaT; expected FIT101, LIT101, MV101 and 48 more, "
            f"found {listing(columns, 4)}."
        )
    raise TableError(message)


def _kind(table: TimeTable, path: Path) -> str:
    """Whether a table is the normal recording or that with attacks."""
    if table.labels is None:
        kind = _name_kind(path)
        if not kind:
            message = (
                f"{file_name(path)} has no column Normal/Attack and neither word in its name; "
                f"SWaT consists of {EXPECTED}."
            )
            raise TableError(message)
        return kind
    anomalous = table.labels == 1
    if anomalous.all():
        message = (
            f"Every row of {file_name(path)} is labelled an attack: it is an extract; use the "
            "complete recording of 449,919 rows, SWaT_Dataset_Attack_v0."
        )
        raise TableError(message)
    return "attack" if anomalous.any() else "normal"


def _version(kind: str, table: TimeTable) -> str:
    """What the number of rows says, as a sentence."""
    file = table.files[0]
    known = ROWS[kind].get(file.rows)
    if known:
        return f"{file.name} is {known} of December 2015 ({file.rows:,} rows)."
    counts = " or ".join(f"{rows:,} ({name[-2:]})" for rows, name in ROWS[kind].items())
    return (
        f"{file.name} has the tags of SWaT of December 2015, but its {file.rows:,} rows are none "
        f"of the known versions: {counts}."
    )


def _test(path: Path, table: TimeTable) -> tuple[Recording, list[Note]]:
    """The recording with attacks: the published ones, and labelled runs that are none of them."""
    known = [event for event in attacks() if touches(event, table)]
    notes = []
    if table.labels is None:
        table = replace(table, labels=event_labels(table, known))
        text = (
            f"{file_name(path)} has no labels; they were made from the published windows of "
            f"{len(known)} attacks."
        )
        notes.append(Note("labels_from_windows", 1, text))
        return Recording(plain_name(path), table, tuple(known), "attack"), notes
    runs = [
        run
        for run in label_events(table, lambda number: f"labelled run {number}")
        if not any(run.start < event.end and event.start < run.end for event in known)
    ]
    inside, labelled = event_labels(table, known) == 1, table.labels == 1
    differ = int(np.sum(inside != labelled)) - int(np.sum(event_labels(table, runs)))
    if known and differ:
        text = (
            f"Rows whose label and the published windows disagree: {differ:,}; labels are as in "
            "the file, events as published."
        )
        notes.append(Note("labels_differ", differ, text))
    if runs:
        text = f"Labelled runs that are no published attack: {len(runs)}; they have no signals."
        notes.append(Note("unknown_runs", len(runs), text))
    events: list[Event] = sorted([*known, *runs], key=lambda event: event.start)
    return Recording(plain_name(path), table, tuple(events), "attack"), notes


def _start_up(table: TimeTable) -> list[Note]:
    begin = int(table.time[0])
    if not FIRST_DAY[0] <= begin < FIRST_DAY[1]:
        return []
    span = f"{format_time(begin, 'naive')}..{format_time(FIRST_DAY[1], 'naive')}"
    text = (
        "The plant starts empty, its first hours are a start-up; leave them out when learning, "
        f"e.g. --exclude {span}."
    )
    return [Note("start_up", 1, text)]
